"""Threads of one process.

`jobs` means the same in every function and command: how many workers (threads, or processes where
a backend starts them) share the work; None means one for every core that this process may use. The
results never depend on it.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

from .validation import whole


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_workers(jobs: int | None) -> int:
    """Return the number of workers that `jobs` asks for.

    >>> count_workers(3)
    3
    >>> count_workers(0)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: jobs must be a whole number >= 1, got 0
    """
    return available_cores() if jobs is None else whole("jobs", jobs)


def run_all(
    run: Any, tasks: Sequence[Any], workers: int, halted: threading.Event | None = None
) -> list[Any]:
    """Call run(task) for every task, in threads; an error in one of them stops the rest.

    `halted`, if given, is then set: a task that takes long should look at it.
    """
    if workers == 1:
        return [run(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[Any]] = [pool.submit(run, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            if halted is not None:
                halted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
