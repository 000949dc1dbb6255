"""Threads that stop together."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

from .validation import whole


def count_workers(jobs: int | None) -> int:
    """Return the number of workers: `jobs`, or all cores for None.

    >>> count_workers(3)
    3
    """
    return (os.cpu_count() or 1) if jobs is None else whole("jobs", jobs)


def run_all(run: Any, tasks: Sequence[Any], workers: int) -> list[Any]:
    """run(task) for every task, in threads; an error in one of them stops the rest."""
    if workers == 1:
        return [run(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[Any]] = [pool.submit(run, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
