"""Who performs the operations of an agent: one after another, answered when they are on the disk.

`GroupWriter` is a thread. It takes everything that has gathered meanwhile, performs it, flushes the
ledger once and then answers all of it. `InlineWriter` is for agents without a ledger.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from .._utils.errors import LedgerError
from .gate import Answer, Reply
from .problems import ProblemError, problem_of
from .schemas import encode

Operation = Callable[[Any], Any]
MOST_QUEUED = 1000  # requests that may wait; one more gets 503
MOST_TOGETHER = 256  # requests of one commit


class Job(NamedTuple):
    """A request that waits for its turn."""

    operation: Operation
    received: Any
    reply: Reply
    start: float


class Writer(Protocol):
    """Performs operations on an agent one after another."""

    commits: int
    rows: int

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait."""

    def submit(self, operation: Operation, received: Any, reply: Reply) -> None:
        """Perform an operation in its turn; raise ProblemError 503 if too many wait.

        The answer is passed to `reply` in the event loop.
        """

    def call(self, operation: Callable[[], Any]) -> Any:
        """Perform an operation in its turn and return its result, from any thread."""

    def close(self) -> None:
        """Finish what waits."""


def perform(operation: Operation, received: Any) -> Answer:
    """Return the answer to a request: the JSON of the result, or a problem."""
    try:
        result = operation(received)
        return result if isinstance(result, bytes) else encode(result)
    except Exception as error:
        return problem_of(error)


class InlineWriter:
    """Performs operations at once, for agents without a ledger.

    Parameters
    ----------
    answered : callable
        Receives the seconds that each request took.
    """

    def __init__(self, answered: Callable[[float], None]) -> None:
        self.commits, self.rows, self.waiting = 0, 0, 0
        self._answered = answered

    def submit(self, operation: Operation, received: Any, reply: Reply) -> None:
        """Perform an operation and answer it."""
        start = time.perf_counter()
        self.commits, self.rows = self.commits + 1, self.rows + 1
        answer = perform(operation, received)
        self._answered(time.perf_counter() - start)
        reply(answer)

    def call(self, operation: Callable[[], Any]) -> Any:
        """Perform an operation."""
        return operation()

    def close(self) -> None:
        """Do nothing: nothing waits."""


class GroupWriter:
    """Performs operations in a thread and answers them after one flush for all.

    Parameters
    ----------
    batch : callable
        Returns a context: when it ends, all operations in it are on the disk, or it raises
        LedgerError and none of them has happened.
    answered : callable
        Receives the seconds that each request took.
    name : str
        Name of the thread.
    most_queued : int
        Requests that may wait.
    """

    def __init__(
        self,
        batch: Callable[[], AbstractContextManager[None]],
        answered: Callable[[float], None] = lambda _: None,
        name: str = "writer",
        most_queued: int = MOST_QUEUED,
    ) -> None:
        self._batch, self._answered, self._most = batch, answered, most_queued
        self._jobs: deque[Job] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._wake, self._closed = threading.Semaphore(0), False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle = True
        self.commits, self.rows, self.seconds = 0, 0, 0.0
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return the number of requests that wait."""
        return len(self._jobs)

    def submit(self, operation: Operation, received: Any, reply: Reply) -> None:
        """Perform an operation in its turn; raise ProblemError 503 if too many wait."""
        if self._closed:
            raise ProblemError(503, "the service stops; ask another one")
        if len(self._jobs) >= self._most:
            raise ProblemError(503, f"{self._most} requests wait already; try again")
        self._loop = asyncio.get_running_loop()
        self._jobs.append(Job(operation, received, reply, time.perf_counter()))
        self._rouse()

    def call(self, operation: Callable[[], Any]) -> Any:
        """Perform an operation between two groups and return its result, from any thread."""
        done = threading.Event()
        results: list[Any] = []

        def run() -> None:
            try:
                results.append((operation(), None))
            except BaseException as error:
                results.append((None, error))
            done.set()

        if self._closed:
            raise ProblemError(503, "the service stops; ask another one")
        self._calls.append(run)
        self._rouse()
        while not done.wait(1.0):
            if not self._thread.is_alive():
                raise ProblemError(503, "the service stops; ask another one")
        result, error = results[0]
        if error is not None:
            raise error
        return result

    def _rouse(self) -> None:
        if self._idle:
            self._idle = False
            self._wake.release()

    def _run(self) -> None:
        while True:
            self._idle = True
            if not (self._jobs or self._calls):
                self._wake.acquire()
            self._idle = False
            while self._calls:
                self._calls.popleft()()
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
                answers = [perform(job.operation, job.received) for job in jobs]
        except Exception as error:
            failed = error if isinstance(error, LedgerError) else LedgerError(str(error))
            answers = [problem_of(failed)] * len(jobs)
        self.commits, self.rows = self.commits + 1, self.rows + len(jobs)
        self.seconds += time.perf_counter() - start
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._answer, jobs, answers)
        except RuntimeError:  # the loop has ended: no client waits any more
            pass

    def _answer(self, jobs: list[Job], answers: list[Answer]) -> None:
        now = time.perf_counter()
        for job, answer in zip(jobs, answers, strict=True):
            self._answered(now - job.start)
            job.reply(answer)

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self._closed = True
        self._wake.release()
        self._thread.join(30.0)
