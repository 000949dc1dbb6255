"""The part of an agent that learns without a ticket: from the past, and from second thoughts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._utils.errors import InvalidInputError
from .._utils.validation import bounded_array, finite_array, finite_number
from ..features.tables import is_frame, records
from .decide import Deciding
from .encoders import to_json
from .events import Event, Kind, Lesson, Revision
from .revise import check_revisable
from .tickets import Ticket

MOST_ROWS = 1 << 16  # of one lesson in a ledger


class Teaching(Deciding):
    """The part of an agent that learns without a ticket."""

    def _number(self, ticket: Ticket | int | str) -> int:
        raise NotImplementedError

    def revise(self, ticket: Ticket | int | str, reward: float) -> None:
        """Put another reward in the place of one that was learned: a refund, a late correction.

        For ridge regression without a filter that is exact: the estimate becomes what it would be
        if `reward` had come in the first place. `auto` and the Newton step with local curvature
        take one step more from where they are now, which comes near (the page on refunds says how
        near); what a filter makes of either reward is what it would make of it today. Others
        refuse, and `rebuild` with `corrections` is exact for all. A ticket that expired with an
        assumed reward can be revised too. It needs a ledger, which knows what was learned; there
        the revision is an event of its own, and the same one again is counted as a duplicate and
        otherwise ignored.
        """
        with self._lock:
            number, told = self._number(ticket), finite_number("reward", reward) + 0.0
            if self._ledger is None:
                raise InvalidInputError("revise needs an agent with a ledger, this one has none")
            now, state = self._give_up(), self._state
            check_revisable(state.policy, state.learned)
            state.book.check_issued(number)
            if number in state.book.pending:
                raise InvalidInputError(f"ticket {number} still waits for its reward: update it")
            x, before = self._ledger.learned_from(number)
            if before == told:
                state.book.counts["duplicate"] += 1
                return
            self._commit([Event(Kind.REVISE, number, now, told, lesson=Revision(x, before))])

    def learn(self, rows: ArrayLike | Sequence[Mapping[str, Any]], rewards: ArrayLike) -> None:
        """Learn from the past before there are decisions of its own: a warm start.

        In one compiled call, and to the same bits as so many decisions with these features and
        rewards, taken one by one. All of it is learned, or none.

        Parameters
        ----------
        rows : (n, d) features of what was played; or, for an agent with an encoder, whatever its
            `encode_rows` takes: rows by name, each of a context and its offer.
        rewards : n of them, or (n, plays) for a policy that plays an arm several times.
        """
        with self._lock:
            lesson, raw = self._read_lesson(rows, rewards)
            now, state, size = self._give_up(), self._state, len(lesson.rows)
            self._kernels.check_room(state, None, size)
            self._kernels.dry_run(state)
            pieces = range(0, size, MOST_ROWS)
            self._commit(
                [
                    Event(
                        Kind.LEARN,
                        state.book.issued,
                        now,
                        lesson=Lesson(
                            lesson.rows[i : i + MOST_ROWS], lesson.rewards[i : i + MOST_ROWS]
                        ),
                        raw=None if raw is None else to_json(raw[i : i + MOST_ROWS]),
                    )
                    for i in pieces
                ]
            )

    def _read_lesson(self, rows: Any, rewards: Any) -> tuple[Lesson, list[Any] | None]:
        """What is to be learned, and the rows as they were given, if they are to be kept."""
        policy, encoder, raw = self._state.policy, self._state.encoder, None
        if encoder is not None and not isinstance(rows, np.ndarray):
            given, rows = rows, encoder.encode_rows(rows)
            if self._keeps_offers and isinstance(given, list | tuple):
                raw = list(given)
            elif self._keeps_offers and (is_frame(given) or isinstance(given, str | Path)):
                raw = records(given)
        x = bounded_array("rows", rows, (None, policy.dim))
        shape = (len(x),) if policy.plays == 1 else (len(x), policy.plays)
        told = finite_array("rewards", rewards, shape).reshape(len(x), policy.plays)
        return Lesson(x, told + 0.0), raw
