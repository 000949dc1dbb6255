"""What can be read off an agent."""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.parts import fallbacks_of, walk
from ..engine.regions import Region
from ..engine.verbs import tally
from ..estimators.scale_free import RESTARTS, ScaleFreeEstimate
from ..filters.watching import Drift, Watch, WatchMemory
from ..support.errors import InvalidInput
from ..support.validation import finite_array
from .kernels import Kernels
from .ledger import Ledger
from .state import AgentState

Floats = NDArray[np.float64]


class Readings:
    """What an agent shows of its state: copies, taken between two calls."""

    _lock: AbstractContextManager[Any]
    _kernels: Kernels
    _ledger: Ledger | None = None

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
        learned = self.state.learned
        while hasattr(learned, "inner"):  # of a policy inside a policy
            learned = learned.inner
        try:
            return learned.estimate.region
        except AttributeError:
            name = type(self.policy).__name__
            raise AttributeError(f"{name} keeps no single confidence region") from None

    @property
    def updates(self) -> int:
        """Decisions learned from."""
        state = self.state
        return int(tally(state.policy, state.learned)[0])

    @property
    def fallbacks(self) -> int:
        """Updates in which rounding may have spoiled V^-1, so that it was mended; normally 0."""
        return fallbacks_of(self.state.learned)

    @property
    def truncated_share(self) -> float:
        """The share of the rewards so far that the filter cut."""
        state = self.state
        counts, cut = state.book.counts, int(tally(state.policy, state.learned)[2])
        assumed = 0 if state.limits.missing is None else counts["expired"]
        return cut / max(counts["applied"] + assumed, 1)

    def predict(self, arms: Any, return_width: bool = False) -> Any:
        """The mean rewards expected of the arms; with `return_width` also the widths of x.theta."""
        with self._lock:
            state = self.state
            rows = finite_array("arms", arms, (None, state.policy.dim))
            means, widths = self._kernels.predict(state.learned, rows)
            return (means, widths) if return_width else means

    @property
    def ledger(self) -> Ledger | None:
        """Where every event is written; None for an agent that lives in memory."""
        return self._ledger

    def history(self) -> list[dict[str, Any]]:
        """The plays in the ledger: when, which arm, what was expected, what became of it."""
        with self._lock:
            if self._ledger is None:
                raise InvalidInput("history needs an agent with a ledger, this one has none")
            self.state  # noqa: B018 - what an interrupt left half done is done first
            return self._ledger.history()

    def feedback(self) -> dict[str, Any]:
        """The plays in the ledger that have a reward, by Open Bandit Pipeline's names.

        `action` is the row of the arm, `pscore` its propensity, `context` the features of the arm
        that was played. `evaluate` takes it as it is.
        """
        with self._lock:
            if self._ledger is None:
                raise InvalidInput("feedback needs an agent with a ledger, this one has none")
            self.state  # noqa: B018 - what an interrupt left half done is done first
            return self._ledger.feedback()

    @property
    def restarts(self) -> int:
        """How often an `auto` has met eight rewards in a row that no noise explains, and begun
        anew: another unit, level or world. 0 for every other policy."""
        parts = walk(self.state.learned)
        found = (part for part in parts if isinstance(part, ScaleFreeEstimate))
        return sum(int(estimate.counts[RESTARTS]) for estimate in found)

    @property
    def drift(self) -> Drift:
        """How often a change of level, unit or effect was noticed, and how many rewards ago.

        For an `auto`, and for every policy whose filter is held by `filters.Watch`.
        """
        with self._lock:
            policy, learned = self.state.policy, self.state.learned
            for part in walk(policy):
                if isinstance(part, Watch):
                    found = (memory for memory in walk(learned) if isinstance(memory, WatchMemory))
                    return part.drift(next(found))
            name = type(policy).__name__
            raise AttributeError(f"{name} watches nothing: hold its filter by filters.Watch")

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
