"""One thread per ledger, which answers nothing before it is on the disk.

The thread takes everything that has gathered meanwhile, performs it, flushes the ledger once and
then answers all of it.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from .._utils.errors import LedgerError
from .problems import ProblemError

Operation = Callable[[Any], Any]
MOST_QUEUED = 1000  # requests that may wait; one more gets 503
MOST_TOGETHER = 256  # requests of one commit


class Job(NamedTuple):
    """A request that waits for its turn."""

    operation: Operation
    request: Any
    future: "asyncio.Future[Any]"


class Writer(Protocol):
    """Performs operations on an agent one after another."""

    commits: int
    rows: int

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait."""

    def submit(self, operation: Operation, request: Any) -> "asyncio.Future[Any]":
        """Return a future of the result; raise ProblemError 503 if too many wait."""

    def close(self) -> None:
        """Finish what waits."""


class InlineWriter:
    """Performs operations at once, for agents without a ledger."""

    def __init__(self) -> None:
        self.commits, self.rows, self.waiting = 0, 0, 0

    def submit(self, operation: Operation, request: Any) -> "asyncio.Future[Any]":
        """Return a future that has its result already."""
        future = asyncio.get_running_loop().create_future()
        try:
            future.set_result(operation(request))
        except Exception as error:
            future.set_exception(error)
        self.commits, self.rows = self.commits + 1, self.rows + 1
        return future

    def close(self) -> None:
        """Do nothing: nothing waits."""


class GroupWriter:
    """Performs operations in a thread and answers them after one flush for all.

    Parameters
    ----------
    batch : callable
        Returns a context: when it ends, all operations in it are on the disk, or it raises
        LedgerError and none of them has happened.
    name : str
        Name of the thread.
    most_queued : int
        Requests that may wait.
    """

    def __init__(
        self,
        batch: Callable[[], AbstractContextManager[None]],
        name: str = "writer",
        most_queued: int = MOST_QUEUED,
    ) -> None:
        self._batch, self._most = batch, most_queued
        self._jobs: deque[Job] = deque()
        self._wake, self._closed = threading.Semaphore(0), False
        self._idle = True
        self.commits, self.rows, self.seconds = 0, 0, 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait."""
        return len(self._jobs)

    def submit(self, operation: Operation, request: Any) -> "asyncio.Future[Any]":
        """Return a future of the result; raise ProblemError 503 if too many wait."""
        if self._closed:
            raise ProblemError(503, "the service stops; ask another one")
        if len(self._jobs) >= self._most:
            raise ProblemError(503, f"{self._most} requests wait already; try again")
        future = asyncio.get_running_loop().create_future()
        self._jobs.append(Job(operation, request, future))
        if self._idle:
            self._idle = False
            self._wake.release()
        return future

    def _run(self) -> None:
        while True:
            self._idle = True
            if not self._jobs:
                self._wake.acquire()
            self._idle = False
            if self._jobs:
                self._commit()
            elif self._closed:
                return

    def _commit(self) -> None:
        """Perform what has gathered, flush, answer."""
        start = time.perf_counter()
        jobs = [self._jobs.popleft() for _ in range(min(len(self._jobs), MOST_TOGETHER))]
        try:
            with self._batch():
                done = [_perform(job) for job in jobs]
        except Exception as error:
            failed = error if isinstance(error, LedgerError) else LedgerError(str(error))
            done = [(job.future, None, failed) for job in jobs]
        self.commits, self.rows = self.commits + 1, self.rows + len(jobs)
        self.seconds += time.perf_counter() - start
        try:
            jobs[0].future.get_loop().call_soon_threadsafe(_answer, done)
        except RuntimeError:  # the loop has ended: no client waits any more
            pass

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self._closed = True
        self._wake.release()
        self._thread.join(30.0)


Answer = tuple["asyncio.Future[Any]", Any, BaseException | None]


def _perform(job: Job) -> Answer:
    try:
        return job.future, job.operation(job.request), None
    except Exception as error:
        return job.future, None, error


def _answer(done: list[Answer]) -> None:
    for future, result, error in done:
        if future.done():  # its client has left
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
