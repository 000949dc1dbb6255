"""Rewards: validated, then applied, counted as duplicates or late, or rejected."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, positive
from .events import Cancelled, Expired, Rewarded
from .pending import TicketTable
from .state import AgentState, Plan, make_plan
from .tickets import Owners, TicketLike, ticket_number


class Given(NamedTuple):
    """A reward as it was given: with its own noise scale, or None for the policy's."""

    reward: float
    noise_scale: float | None = None

    def __str__(self) -> str:
        scale = "" if self.noise_scale is None else f" with noise_scale {self.noise_scale}"
        return f"{self.reward}{scale}"


class Outcome(NamedTuple):
    """How a ticket was settled: the kind of the event, and the reward given, if there is one."""

    kind: str | None = None
    given: Given | None = None


Receipt = Literal["applied", "duplicate", "late"]  # what happened to a reward
APPLIED: Receipt = "applied"
DUPLICATE: Receipt = "duplicate"
LATE: Receipt = "late"

RewardLike = tuple[TicketLike, float] | tuple[TicketLike, float, float | None]


def check_given(takes_noise_scale: bool, reward: Any, noise_scale: Any = None) -> Given:
    """Validate a reward and, for policies that take one, its noise scale.

    >>> check_given(False, 3)
    Given(reward=3.0, noise_scale=None)
    """
    number = finite_number("reward", reward) + 0.0  # a database has no -0.0
    if noise_scale is None:
        return Given(number)
    if not takes_noise_scale:
        raise InvalidInputError(
            "noise_scale must be left out: this policy has one for all rewards, or none"
        )
    return Given(number, positive("noise_scale", noise_scale))


def check_rewards(
    rewards: Iterable[RewardLike], owners: Owners, takes_noise_scale: bool
) -> list[tuple[int, Given]]:
    """Validate the rewards of several tickets.

    >>> from .tickets import Owner
    >>> check_rewards([(3, 1), (4, 0.5, 2)], (Owner("6b1f", 0),), takes_noise_scale=True)
    [(3, Given(reward=1.0, noise_scale=None)), (4, Given(reward=0.5, noise_scale=2.0))]
    """
    try:
        rows: list[tuple[Any, ...]] = [(ticket, y, *rest) for ticket, y, *rest in rewards]
        shaped = all(len(row) <= 3 for row in rows)
    except (TypeError, ValueError):
        shaped = False
    if not shaped:
        raise InvalidInputError(
            "rewards must be pairs (ticket, reward), or (ticket, reward, noise_scale), "
            f"got {rewards!r}"
        )
    return [
        (ticket_number(ticket, owners), check_given(takes_noise_scale, *given))
        for ticket, *given in rows
    ]


def plan_rewards(
    state: AgentState,
    rewards: Sequence[tuple[int, Given]],
    now: float,
    *,
    outcome_of: Callable[[int], Outcome] | None,
) -> tuple[Plan | None, list[Receipt]]:
    """Plan the rewards of pending tickets, and say what happens to each reward.

    The plan is None if all of them are duplicates or late. `outcome_of` asks the ledger how a
    ticket was settled; None without a ledger.
    """
    pending, learned = state.tickets.pending, state.tickets.counts["learned"]
    fresh: dict[int, Given] = {}
    planned: list[Rewarded] = []
    receipts: list[Receipt] = []
    for number, given in rewards:
        if number in pending and number not in fresh:
            fresh[number], lesson = given, learned + len(planned)
            planned.append(Rewarded(number, now, given.reward, given.noise_scale, lesson))
            receipts.append(APPLIED)
        else:
            outcome = _outcome(state.tickets, number, fresh.get(number), outcome_of)
            same = outcome_of is not None and outcome == (Rewarded.kind, given)
            other = None if same else given
            receipts.append(_count_repeated(state.tickets, number, outcome, other))
    return make_plan(state, planned) if planned else None, receipts


def _outcome(
    tickets: TicketTable,
    number: int,
    earlier: Given | None,
    outcome_of: Callable[[int], Outcome] | None,
) -> Outcome:
    """Return how a ticket was settled, as far as it is known; `earlier` in the same call."""
    if earlier is not None:
        return Outcome(Rewarded.kind, earlier)
    tickets.check_issued(number)
    if number in tickets.expired:
        return Outcome(Expired.kind)
    return Outcome() if outcome_of is None else outcome_of(number)


def _count_repeated(
    tickets: TicketTable, number: int, outcome: Outcome, other: Given | None
) -> Receipt:
    """Count a reward of a settled ticket; raise InvalidInputError if it is neither late nor the
    same. `other` is the reward if it is another one."""
    if outcome.kind == Expired.kind:
        tickets.counts["late"] += 1
        return LATE
    if outcome.given is None:
        tickets.reject(number)
    tickets.counts["duplicate"] += 1
    if other is not None:
        raise InvalidInputError(
            f"ticket {number} must have one reward, got {outcome.given} and {other}"
        )
    return DUPLICATE


def plan_cancel(state: AgentState, number: int, now: float) -> Plan:
    """Plan the cancellation of a pending ticket."""
    if number not in state.tickets.pending:
        state.tickets.reject(number)
    return make_plan(state, [Cancelled(number, now)])
