"""Where cells run: what a worker does with one cell, and the backends that have workers.

A worker computes a cell, stores it at once and reports how it went. A backend takes a call and
returns a future; all backends give the same results. We drive the executors themselves, loky's from
joblib, Dask's and Ray's, and not `joblib.Parallel`: it loses every result in flight when one worker
is killed, over Dask it then never returns, and over Ray it returns nothing before everything is
done.
"""

import copy
import ctypes
import functools
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, PartError, SweepError, optional
from .._utils.files import write_failure
from .._utils.progress import announce_compilation
from .._utils.threads import available_cores
from .._utils.validation import one_of, whole
from ..core.sources import closure, current_digest, imports, is_users, loaded_users, origin
from .cell import Cell, resolve, stamp
from .store import IMPORTED, OPAQUE, cell_path, write_cell

# HALTED: nothing more can be computed here, so the whole sweep must stop.
DONE, RAISED, CRASHED, HALTED = "done", "raised", "crashed", "halted"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
PATIENCE = 30.0  # seconds to wait for loky to end its workers
_PR_SET_PDEATHSIG = 1


# ---- one cell


@dataclass(frozen=True)
class Report:
    """The status of a computed cell; the result itself is on the disk."""

    status: str
    text: str = ""


def compute(cell: Cell, folder: str) -> Report:
    """Compute a cell, store it and report; every exception becomes a report."""
    stale = other_sources(cell)
    if stale:
        return Report(HALTED, stale)
    before, started = frozenset(sys.modules), time.thread_time()
    try:
        result = dict(resolve(cell.function)(**copy.deepcopy(cell.settings)))
    except PartError as error:
        return Report(RAISED, f"{error.details}\n{in_one_line(str(error))}")
    except (Exception, SystemExit) as error:
        only = in_one_line("".join(traceback.format_exception_only(error)))
        return Report(RAISED, f"{traceback.format_exc()}{only}")
    seconds = time.thread_time() - started
    stale = edited_meanwhile(cell, before)
    if stale:
        return Report(HALTED, stale)
    return store(cell, folder, result, seconds, imported_meanwhile(cell, before))


def in_one_line(text: str) -> str:
    """Return a message as the last line of a report, which is the one that is shown.

    >>> in_one_line("Mine.clean, line 7: it makes an array\\n  write instead: sorted(...)")
    'Mine.clean, line 7: it makes an array; write instead: sorted(...)'
    """
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())


def store(
    cell: Cell,
    folder: str,
    result: dict[str, Any],
    seconds: float,
    imported: dict[str, str] | None = None,
) -> Report:
    """Store the result of a cell, with the files that it imported and their hashes."""
    facts = {"cpu_seconds": seconds, "machine": machine(), IMPORTED: imported or {}}
    try:
        write_cell(folder, cell, result, **facts)
    except OSError as error:
        return Report(HALTED, write_failure(cell_path(folder, cell), error))
    except SweepError as error:
        return Report(HALTED, str(error))
    except Exception:
        return Report(RAISED, traceback.format_exc())
    return Report(DONE)


def other_sources(cell: Cell) -> str:
    """Return why this process has other sources than the key of the cell; empty if it has not."""
    try:
        here = stamp(cell.function, cell.settings, again=False)
    except InvalidInputError:
        return ""  # not to be found here: that the call itself will say
    if here.sources != cell.sources:
        return (
            f"{cell.name}: this worker has other sources than the process that asks: they were "
            "edited in between (start again), or differ between machines"
        )
    if here.doubtful is not None:
        return (
            f"{cell.name}: {here.doubtful} was written after this process had started, which may "
            "run an older version of it: start again, or compute in new processes (loky)"
        )
    return ""


def edited_meanwhile(cell: Cell, before: frozenset[str]) -> str:
    """Return why a module that the cell was the first to import is not the one in its key."""
    for name, known in stamp(cell.function, cell.settings, again=False).later:
        if name in sys.modules and name not in before and current_digest(name) != known:
            return f"{cell.name}: {origin(name)} was edited while the sweep ran: start again"
    return ""


_imported: dict[str, set[str]] = {}  # by function: modules of the user's that its cells imported


def imported_meanwhile(cell: Cell, before: frozenset[str]) -> dict[str, str]:
    """Return the files that cells of this function imported and that no key knows of.

    Their names were computed, or they were in a folder that the function itself put on the path.
    """
    here = stamp(cell.function, cell.settings, again=False)
    found = _imported.setdefault(cell.function, set())
    found |= {name for name in frozenset(sys.modules) - before if is_users(name)}
    names = found | set(loaded_users()) if here.dynamic else found
    unknown = {*closure(names - here.modules)} - here.modules if names else set()
    return {
        str(origin(name)): OPAQUE if imports(name).opaque else current_digest(name)
        for name in sorted(unknown)
        if is_users(name)
    }


def machine() -> dict[str, str]:
    """Return the machine that computes a cell; it is stored with the timings."""
    return {"host": platform.node(), "system": platform.platform(), "python": sys.version}


# ---- no worker outlives the run


def attach(parent: int) -> None:
    """Called in a fresh worker: die with the process that started it, leave Ctrl-C to that one."""
    announce_compilation(silently=True)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not _die_with_parent():
        threading.Thread(target=watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def _die_with_parent() -> bool:
    """Ask the kernel to kill this process when its parent dies; only Linux can."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def watch(parent: int, every: float = 1.0) -> None:
    """Check on the parent from time to time, and leave when it is gone."""
    while os.getppid() == parent:
        time.sleep(every)
    os._exit(1)


# ---- backends


class Backend(NamedTuple):
    """Workers that run calls: `submit` takes a function and its arguments and returns a future.

    `close(kill)` releases the workers or, if `kill` is True, kills them and what they compute.
    `address` is that of a cluster that was started here. `is_lost` returns True if workers have
    died and nothing says so to those who wait for them; `discard` then gives all of them up.
    """

    workers: int
    submit: Callable[..., "Future[Any]"]
    close: Callable[[bool], None]
    address: str | None = None
    is_lost: Callable[[], bool] = lambda: False
    discard: Callable[[], None] = lambda: None


def start_sequential(jobs: int | None, address: str | None) -> Backend:
    """Run one cell after the other, in this process."""

    def submit(function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    return Backend(1, submit, lambda kill: None)


def start_threads(jobs: int | None, address: str | None) -> Backend:
    """Start threads of this process: enough for compiled cells, which hold no lock."""
    workers = jobs or available_cores()
    pool = ThreadPoolExecutor(workers)
    return Backend(
        workers, pool.submit, lambda kill: pool.shutdown(wait=not kill, cancel_futures=True)
    )


def start_loky(jobs: int | None, address: str | None) -> Backend:
    """Start processes of this machine, through joblib's loky; they are kept for the next sweep."""
    optional("joblib", "lab")
    from joblib.externals.loky import get_reusable_executor, reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    workers = jobs or available_cores()

    def pool() -> Any:
        """Return the pool; a new one if a worker of the last one died."""
        found = reusable_executor._executor
        if found is not None and found._flags.broken:
            discard()
        settings = {"env": ONE_THREAD, "initializer": attach, "initargs": (os.getpid(),)}
        return get_reusable_executor(workers, **settings)

    def submit(function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        try:
            return pool().submit(function, *arguments)
        except BrokenProcessPool:  # it broke after it was returned
            return pool().submit(function, *arguments)

    def close(kill: bool) -> None:
        if kill:
            time.sleep(0.1)  # loky fails on a call that it has taken but not handed out yet
            discard()

    def is_lost() -> bool:
        processes = _processes(reusable_executor._executor)
        return not processes or not all(process.is_alive() for process in processes)

    def discard() -> None:
        """End the pool with a time limit: loky can wait without end if a worker was killed."""
        found, reusable_executor._executor = reusable_executor._executor, None
        if found is not None:
            processes = _processes(found)
            end = functools.partial(found.shutdown, wait=True, kill_workers=True)
            ending = threading.Thread(target=end, daemon=True)
            ending.start()
            ending.join(PATIENCE)
            for process in processes if ending.is_alive() else ():
                process.terminate()

    return Backend(workers, submit, close, None, is_lost, discard)


def _processes(pool: Any) -> list[Any]:
    """Return the workers of a pool of loky."""
    return [] if pool is None else list((pool._processes or {}).values())


DASK = {
    "distributed.scheduler.allowed-failures": 0,  # what to try again is our decision
    "distributed.logging.distributed": "critical",
}


def start_dask(jobs: int | None, address: str | None) -> Backend:
    """Use the Dask cluster at `address`, or start one that only this machine can reach."""
    distributed, cluster = optional("distributed", "dask"), None
    if not address:
        import dask

        own: dict[str, Any] = {"n_workers": jobs or available_cores(), "threads_per_worker": 1}
        own |= {"host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
        with dask.config.set(DASK):
            cluster = distributed.LocalCluster(memory_limit=0, silence_logs="CRITICAL", **own)
    client = distributed.Client(address or cluster, set_as_default=False)
    pool = client.get_executor(pure=False)

    def close(kill: bool) -> None:
        pool.shutdown(wait=False)
        client.close()
        if cluster is not None:
            cluster.close()

    started = None if cluster is None else cluster.scheduler_address
    return Backend(jobs or sum(client.ncores().values()) or 1, pool.submit, close, started)


def start_ray(jobs: int | None, address: str | None) -> Backend:
    """Use the Ray cluster at `address`, or start one that only this machine can reach.

    If the run is killed, its workers end at once; two idle agents of Ray end within a minute.
    """
    if not address:  # read when Ray is imported: a local cluster listens on the loopback alone
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = optional("ray", "ray")
    ours = not ray.is_initialized()
    if ours:
        settings = {"address": address} if address else _local_ray(jobs or available_cores())
        ray.init(log_to_driver=False, configure_logging=False, **settings)

    def submit(function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        task = ray.remote(function).options(num_cpus=1, max_retries=0)
        return task.remote(*arguments).future()

    def close(kill: bool) -> None:
        if ours:
            ray.shutdown()

    return Backend(jobs or int(ray.cluster_resources().get("CPU", 1)), submit, close)


def _local_ray(jobs: int) -> dict[str, Any]:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {
        "address": "local",
        "num_cpus": jobs,
        "include_dashboard": False,
        "object_store_memory": 100_000_000,  # results are written to the disk
        "runtime_env": {"env_vars": ONE_THREAD | {"PYTHONPATH": path}},
    }


BACKENDS: dict[str, Callable[[int | None, str | None], Backend]] = {
    "loky": start_loky,
    "sequential": start_sequential,
    "threads": start_threads,
    "dask": start_dask,
    "ray": start_ray,
}


def check_backend(backend: str, jobs: int | None, address: str | None) -> None:
    """Raise an error for an unknown backend, or jobs or address that do not fit it."""
    one_of("backend", backend, BACKENDS)
    if jobs is not None:
        whole("jobs", jobs)
    if address is not None and backend not in ("dask", "ray"):
        raise InvalidInputError(f"address is for dask and ray, got {address!r} with {backend!r}")
