"""What can be read off an agent."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array
from ..core.arrays import Floats
from ..core.capabilities import innermost, threshold_of
from ..core.confidence_region import Region
from ..core.dispatch import tally
from ..core.part import fallbacks_of, walk
from ..features import FeatureMap
from ..ledger.store import Ledger
from ..parts.estimators.auto import ScaleFreeEstimate, restart_count
from ..parts.filters.drift import DriftMemory, DriftMonitor, DriftReport
from .agent_policy import AgentPolicy
from .encoders import encode
from .events import Tally
from .explain import Explanation, explain_rows
from .state import AgentState
from .tickets import Ticket, ticket_number


class Readings:
    """What an agent shows of its state: copies, taken between two calls."""

    _lock: AbstractContextManager[Any]
    _kernels: AgentPolicy
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
        state = self.state
        try:
            region: Region = innermost(state.policy, state.learned)[1].estimate.region
            return region
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
        taught = counts["taught"] * state.policy.plays
        return cut / max(counts["applied"] + taught + assumed, 1)

    @property
    def level(self) -> float | None:
        """The level by which the next reward is judged: that of the filter or, if it has none, of
        the estimator; None where nothing is cut at a level. What it is a level of, and whether it
        opens as an arm becomes known, the part itself says."""
        state = self.state
        return threshold_of(state.policy, state.learned)

    def explain(
        self,
        arms: ArrayLike | Ticket | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        offers: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Explanation:
        """Why an arm scores what it does: what each feature adds to the estimate and to the doubt.

        Parameters
        ----------
        arms : a ticket, or (K, d) features. Everything is told by what the agent knows now; what it
            knew when it chose is on the ticket, as `estimate` and `width`.
        context, offers : instead of arms, for an agent with an encoder.
        """
        with self._lock:
            state = self.state
            if isinstance(arms, Ticket):
                ticket_number(arms, state.owners)
                rows, labels = arms.features[None], [arms.offer or f"arm {arms.arm}"]
            elif isinstance(arms, int | str):
                raise InvalidInputError(
                    "arms must be a ticket or (K, d) features; the id or key of a ticket has none, "
                    f"got {arms!r:.80}"
                )
            elif arms is None:
                rows, names = encode(state.encoder, context, offers)
                labels = list(names)
            else:
                rows = finite_array("arms", arms, (None, state.policy.dim))
                labels = [f"arm {k}" for k in range(len(rows))]
            features = [f"x{i}" for i in range(state.policy.dim)]
            features = features if state.encoder is None else list(state.encoder.names)
            means = self._kernels.predict(state.learned, rows)[0]
            return explain_rows(state.policy, state.learned, rows, means, features, labels)

    @property
    def identity(self) -> str:
        """The name under which this agent issues tickets: 16 hexadecimal digits drawn at random."""
        return self.state.owners[-1].agent

    @property
    def encoder(self) -> FeatureMap | None:
        """What makes features of what is offered by name; None for an agent that takes features."""
        return self.state.encoder

    @property
    def offers(self) -> dict[str, Tally]:
        """How often each offer was chosen, and how many rewards it has had, for those with names.

        An offer that is no longer made stays in the list; `reset` empties it.
        """
        with self._lock:
            return dict(self.state.book.tallies)

    @overload
    def predict(self, arms: ArrayLike, return_width: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, arms: ArrayLike, return_width: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(
        self, arms: ArrayLike, return_width: bool = False
    ) -> Floats | tuple[Floats, Floats]:
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
                raise InvalidInputError("history needs an agent with a ledger, this one has none")
            self.state  # noqa: B018 - what an interrupt left half done is done first
            return self._ledger.history()

    def feedback(self) -> dict[str, Any]:
        """The plays in the ledger that have a reward, by Open Bandit Pipeline's names.

        `action` is the row of the arm, `offer` its name if it has one, `pscore` its propensity,
        `context` the features of the arm that was played. `evaluate` takes it as it is, by names
        where there are names, and no model learns from that context.
        """
        with self._lock:
            if self._ledger is None:
                raise InvalidInputError("feedback needs an agent with a ledger, this one has none")
            self.state  # noqa: B018 - what an interrupt left half done is done first
            return self._ledger.feedback()

    @property
    def restarts(self) -> int:
        """How often an `auto` has begun anew, after eight rewards in a row that no noise explains
        (another unit, level or world), or after two at the very start that dwarf most of the first
        32. 0 for every other policy."""
        parts = walk(self.state.learned)
        found = (part for part in parts if isinstance(part, ScaleFreeEstimate))
        return sum(restart_count(estimate) for estimate in found)

    @property
    def drift(self) -> DriftReport:
        """How often a change of level, unit or effect was noticed, and how many rewards ago.

        For an `auto`, and for every policy whose filter is held by `filters.DriftMonitor`.
        """
        with self._lock:
            policy, learned = self.state.policy, self.state.learned
            for part in walk(policy):
                if isinstance(part, DriftMonitor):
                    found = (memory for memory in walk(learned) if isinstance(memory, DriftMemory))
                    return part.drift(next(found))
            name = type(policy).__name__
            raise AttributeError(f"{name} watches nothing: hold its filter by filters.DriftMonitor")

    @property
    def pending(self) -> list[int]:
        """The ids of the tickets that wait for their rewards, the oldest first."""
        with self._lock:
            return list(self.state.book.pending)

    @property
    def counters(self) -> dict[str, int]:
        """Tickets pending, applied, late, duplicate, unknown, expired, cancelled and revised; and
        the rows taught by `learn`.

        With a ledger the refused ones (late, duplicate, unknown) are kept with each snapshot, the
        others with each event.
        """
        with self._lock:
            book = self.state.book
            return {"pending": len(book.pending), **book.counts}
