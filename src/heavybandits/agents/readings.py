"""What can be read off an agent."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.regions import Region
from ..engine.verbs import tally
from .state import AgentState

Floats = NDArray[np.float64]


class Readings:
    """What an agent shows of its state: copies, taken between two calls."""

    _lock: AbstractContextManager[Any]

    @property
    def state(self) -> AgentState:
        raise NotImplementedError

    @property
    def policy(self) -> Any:
        return self.state.policy

    @property
    def theta(self) -> Floats:
        """The centre of the confidence region (a copy)."""
        with self._lock:
            return self._region().centre.copy()

    @property
    def design(self) -> Floats:
        """V (a copy)."""
        with self._lock:
            region = self._region()
            return np.asarray(region.design + region.recent)

    @property
    def inverse(self) -> Floats:
        """V^-1 (a copy)."""
        with self._lock:
            return self._region().inverse.copy()

    def _region(self) -> Region:
        try:
            return self.state.learned.estimate.region
        except AttributeError:
            name = type(self.policy).__name__
            raise AttributeError(f"{name} keeps no single confidence region") from None

    @property
    def updates(self) -> int:
        """Decisions learned from."""
        state = self.state
        return int(tally(state.policy, state.learned)[0])

    @property
    def truncated_share(self) -> float:
        """The share of the rewards so far that the filter cut."""
        state = self.state
        counts, cut = state.book.counts, int(tally(state.policy, state.learned)[2])
        assumed = 0 if state.limits.missing is None else counts["expired"]
        return cut / max(counts["applied"] + assumed, 1)

    @property
    def pending(self) -> list[int]:
        """The ids of the tickets that wait for their rewards, the oldest first."""
        with self._lock:
            return list(self.state.book.pending)

    @property
    def counters(self) -> dict[str, int]:
        """Tickets pending, applied, late, duplicate, unknown, expired and cancelled.

        With a ledger the refused ones (late, duplicate, unknown) are kept with each snapshot, the
        others with each event.
        """
        with self._lock:
            book = self.state.book
            return {"pending": len(book.pending), **book.counts}
