"""Threads that stop together."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any


def run_all(run: Any, cells: Sequence[Any], workers: int) -> list[Any]:
    """run(cell) for every cell, in threads; an error in one of them stops the rest."""
    if workers == 1:
        return [run(cell) for cell in cells]
    with ThreadPoolExecutor(workers) as pool:
        futures: list[Future[Any]] = [pool.submit(run, cell) for cell in cells]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
