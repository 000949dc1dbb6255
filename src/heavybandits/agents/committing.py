"""How events happen to an agent: written first, then done.

Whatever an interrupt leaves half done is done by the next call.
"""

import math
import threading
from collections.abc import Callable
from functools import partial

from ..support.errors import InvalidInput, LedgerError
from ..support.validation import finite_number
from .book import Event, Kind
from .database import hold_at_fork
from .kernels import Kernels
from .readings import Readings
from .state import AgentState, Step, carry_out, plan


def check_clock(clock: Callable[[], float]) -> None:
    if not callable(clock):
        raise InvalidInput(f"clock must be a function that tells the time, got {clock!r:.80}")


class Committing(Readings):
    """The part of an agent that lets events happen, each whole or not at all."""

    _state: AgentState
    _clock: Callable[[], float]
    _unfinished: Callable[[], None] | None = None

    def _begin(self, state: AgentState, clock: Callable[[], float]) -> None:
        check_clock(clock)
        self._state, self._clock, self._kernels = state, clock, Kernels(state.policy, state.learned)
        self._lock = threading.RLock()
        hold_at_fork(self._lock)

    def _now(self) -> float:
        now = self._clock()
        if type(now) is float and math.isfinite(now):
            return now + 0.0
        return finite_number("clock()", now) + 0.0

    def _give_up(self, room: int = 0) -> float:
        """Let tickets expire, those past their time and those too many; the time it is."""
        self._finish()
        now, state = self._now(), self._state
        due = state.book.due(state.limits, now, room)
        if due:
            self._commit(due)
        return now

    def _happen(self, kind: Kind) -> None:
        with self._lock:
            self._finish()
            self._commit([Event(kind, self._state.book.issued, self._now())])

    def _commit(self, events: list[Event], undo: Callable[[], None] | None = None) -> None:
        step = plan(self._state, events)
        if self._ledger is None:
            self._unfinished = partial(self._do, step)
        else:
            self._unfinished = partial(self._recover, step, self._ledger.length, undo)
            try:
                self._ledger.write(events)
            except LedgerError:  # nothing is on the disk
                self._unfinished = undo
                self._finish()
                raise
        self._do(step)
        self._unfinished = None
        if self._ledger is not None:
            self._ledger.snapshot_if_due(self._state)

    def _do(self, step: Step) -> None:
        self._state = carry_out(self._state, step, self._kernels)

    def _recover(self, step: Step, length: int, undo: Callable[[], None] | None) -> None:
        """After an interrupt: was it written? Then it happened."""
        if self._ledger is not None and self._ledger.wrote_since(length):
            self._do(step)
        elif undo is not None:
            undo()

    def _finish(self) -> None:
        """Finish, or undo, what an interrupt has left half done."""
        if self._unfinished is not None:
            self._unfinished()
            self._unfinished = None

    @property
    def state(self) -> AgentState:
        """All that makes this agent what it is, as a value: to be read, not to be changed."""
        with self._lock:
            self._finish()
            return self._state
