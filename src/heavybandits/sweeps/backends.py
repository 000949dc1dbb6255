"""Where cells run. A backend takes a call and gives a future; all of them give the same results.

We drive the executors themselves, loky's from joblib, Dask's and Ray's, and not `joblib.Parallel`:
it loses every result in flight when one worker is killed, over Dask it then waits forever, and
over Ray it returns nothing before everything is done.
"""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from .._utils.errors import InvalidInputError, optional
from .._utils.validation import whole
from .worker import attach

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


class Backend(Protocol):
    """Runs calls somewhere."""

    workers: int

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]": ...

    def close(self, kill: bool) -> None:
        """Give the workers back, or kill them and what they are at."""


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Sequential:
    """One cell after the other, in this process."""

    workers = 1

    def __init__(self, jobs: int | None, address: str | None) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def close(self, kill: bool) -> None:
        pass


class Threads:
    """Threads of this process: enough for compiled cells, which hold no lock."""

    def __init__(self, jobs: int | None, address: str | None) -> None:
        self.workers = jobs or cores()
        self._pool = ThreadPoolExecutor(self.workers)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        return self._pool.submit(function, *arguments)

    def close(self, kill: bool) -> None:
        self._pool.shutdown(wait=not kill, cancel_futures=True)


class Loky:
    """Processes of this machine, through joblib's loky; they are kept for the next sweep."""

    def __init__(self, jobs: int | None, address: str | None) -> None:
        optional("joblib", "lab")
        self.workers = jobs or cores()

    def _pool(self) -> Any:
        """The pool; a new one if a worker of the last one died."""
        from joblib.externals.loky import get_reusable_executor

        return get_reusable_executor(
            self.workers, env=ONE_THREAD, initializer=attach, initargs=(os.getpid(),)
        )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            return self._pool().submit(function, *arguments)
        except BrokenProcessPool:  # it broke between being asked for and being asked to work
            return self._pool().submit(function, *arguments)

    def close(self, kill: bool) -> None:
        if kill:
            time.sleep(0.1)  # loky trips over a call that it has taken but not handed out yet
            self._pool().shutdown(wait=True, kill_workers=True)


class Dask:
    """A Dask cluster: the one at `address`, or one of our own that only this machine can reach."""

    def __init__(self, jobs: int | None, address: str | None) -> None:
        distributed = optional("distributed", "dask")
        self._cluster = None if address else self._start(distributed, jobs or cores())
        self._client = distributed.Client(address or self._cluster, set_as_default=False)
        self.workers = jobs or sum(self._client.ncores().values()) or 1
        self._pool = self._client.get_executor(pure=False)

    def _start(self, distributed: Any, jobs: int) -> Any:
        import dask

        settings = {
            "distributed.scheduler.allowed-failures": 0,  # what to try again is our decision
            "distributed.logging.distributed": "critical",
        }
        with dask.config.set(settings):
            return distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
                memory_limit=0,
                silence_logs="CRITICAL",
            )

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        return self._pool.submit(function, *arguments)

    def close(self, kill: bool) -> None:
        self._pool.shutdown(wait=False)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


class Ray:
    """A Ray cluster: the one at `address`, or one of our own that only this machine can reach.

    When the run is killed its workers go at once; two idle agents of Ray's follow in a minute.
    """

    def __init__(self, jobs: int | None, address: str | None) -> None:
        if not address:  # read when Ray is imported: a local cluster listens on the loopback alone
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        self._ray = optional("ray", "ray")
        self._ours = not self._ray.is_initialized()
        if self._ours:
            settings = {"address": address} if address else self._local(jobs or cores())
            self._ray.init(log_to_driver=False, configure_logging=False, **settings)
        self.workers = jobs or int(self._ray.cluster_resources().get("CPU", 1))

    def _local(self, jobs: int) -> dict[str, Any]:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        return {
            "address": "local",
            "num_cpus": jobs,
            "include_dashboard": False,
            "object_store_memory": 100_000_000,  # results go by the disk
            "runtime_env": {"env_vars": ONE_THREAD | {"PYTHONPATH": path}},
        }

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        task = self._ray.remote(function).options(num_cpus=1, max_retries=0)
        return task.remote(*arguments).future()

    def close(self, kill: bool) -> None:
        if self._ours:
            self._ray.shutdown()


BACKENDS: dict[str, Callable[[int | None, str | None], Backend]] = {
    "loky": Loky,
    "sequential": Sequential,
    "threads": Threads,
    "dask": Dask,
    "ray": Ray,
}


def check_backend(backend: str, jobs: int | None, address: str | None) -> None:
    """Refuse what makes no sense, before anything is started."""
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if jobs is not None:
        whole("jobs", jobs)
    if address is not None and backend not in ("dask", "ray"):
        raise InvalidInputError(f"address is for dask and ray, got {address!r} with {backend!r}")
