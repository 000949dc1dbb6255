"""Group commit: calls of many threads are written to the ledger together, with one flush.

A call that finds no other at work performs itself. Those that arrive meanwhile wait in a queue; the
first of them then performs all that have gathered in one batch, flushes once and wakes the others.
The main thread takes no part: signals interrupt it, and a call of its own is all that they may
interrupt.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from .._utils.errors import LedgerError

T = TypeVar("T")

MOST_TOGETHER = 256  # calls of one flush


class Call:
    """A call that waits: `turn` is released when it is done, or may lead the next group."""

    __slots__ = ("done", "error", "operation", "result", "turn")

    def __init__(self, operation: Callable[[], Any]) -> None:
        self.operation, self.result = operation, None
        self.error: BaseException | None = None
        self.done, self.turn = False, threading.Lock()
        self.turn.acquire()

    def perform(self) -> None:
        """Perform the operation; its error belongs to the caller."""
        try:
            self.result = self.operation()
        except Exception as error:
            self.error = error
        self.done = True

    def fail(self, error: BaseException) -> None:
        """Let the call end with an error of its own: whatever it did is not stored."""
        kind = type(error) if isinstance(error, LedgerError) else LedgerError
        self.error, self.done = kind(str(error)), True
        self.error.__cause__ = error

    def answer(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


class GroupCommit:
    """Performs the calls of many threads in groups.

    Parameters
    ----------
    batch : function
        Returns a context that locks the agent. When it ends, all calls in it are on the disk, or it
        raises LedgerError and none of them has happened.
    """

    def __init__(self, batch: Callable[[], AbstractContextManager[None]]) -> None:
        self._batch = batch
        self._calls: deque[Call] = deque()
        self._queue, self._led = threading.Lock(), False
        self._process, self._main = os.getpid(), threading.main_thread().ident
        self._inside: int | None = None  # the thread that has a batch
        self._leader: int | None = None  # the thread that leads
        self._size = 0  # of the last group

    def takes(self) -> bool:
        """Return True if a call of this thread is to be performed in a group."""
        thread = threading.get_ident()
        own = thread in (self._main, self._inside, self._leader)
        return not own and os.getpid() == self._process

    def enter(self) -> None:
        """Let this thread, which has locked the agent, perform its calls itself."""
        self._inside = threading.get_ident()

    def leave(self) -> None:
        """End what `enter` began."""
        self._inside = None

    def run(self, operation: Callable[[], T]) -> T:
        """Return what an operation returns, after it is on the disk."""
        with self._queue:
            leads, self._led = not self._led, True
            call = None if leads and self._size == 1 else self._wait_for_turn(operation)
        if call is None:
            return self._run_alone(operation)
        if not leads:
            call.turn.acquire()
        if not call.done:
            self._lead()
        return cast(T, call.answer())

    def _wait_for_turn(self, operation: Callable[[], Any]) -> Call:
        call = Call(operation)
        self._calls.append(call)
        return call

    def _run_alone(self, operation: Callable[[], T]) -> T:
        """Perform a call that, as the one before, has found no other: it needs no batch."""
        self._leader = threading.get_ident()
        try:
            return operation()
        finally:
            self._hand_over([])

    def _lead(self) -> None:
        """Perform the first call, and all that have gathered; then let the next one lead."""
        group, self._leader = [self._calls.popleft()], threading.get_ident()
        try:
            self._perform(group)
        except BaseException as error:
            for call in group:
                call.fail(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._hand_over(group)

    def _perform(self, group: list[Call]) -> None:
        """Perform the group; a caller who is alone, as the one before, needs no batch."""
        if self._size == 1 and not self._calls:
            group[0].perform()
            return
        with self._batch():
            group[0].perform()
            while self._calls and len(group) < MOST_TOGETHER:
                group.append(self._calls.popleft())
                group[-1].perform()

    def _hand_over(self, group: list[Call]) -> None:
        self._size, self._leader = max(len(group), 1), None
        with self._queue:
            following = self._calls[0] if self._calls else None
            self._led = following is not None
        for call in group:
            call.turn.release()
        if following is not None:
            following.turn.release()
