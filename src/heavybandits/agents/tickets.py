"""Decisions, the tickets that are issued for them, and the agents that issued these tickets."""

import bisect
import itertools
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .._utils.display import Card, write_html
from .._utils.errors import ForeignTicketError, InvalidInputError
from ..core.arrays import Floats
from ..core.linalg import LARGEST

POLICY = "policy"  # group of the decisions that the policy makes


@dataclass(slots=True, eq=False)
class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in.

    `lessons` counts the decisions learned before this one, set when its turn comes; `noise_scale`
    is that of its reward, if one was given. `event_ids` are those of its tickets that have one.
    """

    arm: int
    features: Floats
    expected: float
    width: float
    plays: int
    propensity: float | None = 1.0
    action: str | None = None
    rewards: dict[int, float | None] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    lessons: int | None = None
    noise_scale: float | None = None
    group: str = POLICY
    version: int = 1
    event_ids: dict[int, str] | None = None

    @property
    def plays_left(self) -> int:
        """Return the number of plays that this decision still needs."""
        return self.plays - len(self.rewards)

    @property
    def complete(self) -> bool:
        """Return True if every play has its reward."""
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Choices(NamedTuple):
    """Decisions of a single play each that were made together, one entry of every column each.

    `first` is the number of the first ticket, `time` that of all of them. A decision becomes an
    object when its reward comes: creating thousands at once costs more than deciding.

    >>> made = Choices([2], np.ones((1, 3)), [0.5], [0.1], [1.0], [None], first=7, time=3.0)
    >>> made.decision(7).arm, made.decision(7).times
    (2, {7: 3.0})
    """

    arms: list[int]
    features: Floats
    expected: list[float]
    widths: list[float]
    propensities: Sequence[float | None]
    actions: Sequence[str | None]
    first: int = 0
    time: float = 0.0
    group: str = POLICY
    version: int = 1
    event_ids: Sequence[str | None] | None = None

    @property
    def numbers(self) -> range:
        """Return the numbers of the tickets."""
        return range(self.first, self.first + len(self.arms))

    def decision(self, number: int) -> Decision:
        """Return the decision of one ticket, which shares no memory with the others."""
        n = number - self.first
        features, numbers = self.features[n].copy(), (self.expected[n], self.widths[n])
        made = Decision(self.arms[n], features, *numbers, 1, self.propensities[n], self.actions[n])
        made.rewards[number], made.times[number] = None, self.time
        made.group, made.version, event_id = self.group, self.version, self.event_id(number)
        made.event_ids = None if event_id is None else {number: event_id}
        return made

    def event_id(self, number: int) -> str | None:
        """Return the caller's id of one ticket; None if it has none."""
        return None if self.event_ids is None else self.event_ids[number - self.first]


def gather(decisions: Sequence[Decision]) -> Choices:
    """Combine decisions that were made one after another.

    >>> gather([Decision(2, np.ones(3), 0.5, 0.1, plays=1)]).arms
    [2]
    """
    return Choices(
        [one.arm for one in decisions],
        np.array([one.features for one in decisions]),
        [one.expected for one in decisions],
        [one.width for one in decisions],
        [one.propensity for one in decisions],
        [one.action for one in decisions],
    )


def join_choices(parts: Sequence[Choices]) -> Choices:
    """Combine decisions that were made block by block, in their order.

    >>> one = gather([Decision(2, np.ones(3), 0.5, 0.1, plays=1)])
    >>> join_choices([one, one]).features.shape
    (2, 3)
    """
    if len(parts) == 1:
        return parts[0]
    chain = itertools.chain.from_iterable
    return Choices(
        list(chain(part.arms for part in parts)),
        np.concatenate([part.features for part in parts]),
        list(chain(part.expected for part in parts)),
        list(chain(part.widths for part in parts)),
        list(chain(part.propensities for part in parts)),
        list(chain(part.actions for part in parts)),
    )


# ---- what the caller says of a decision

LONGEST_ID = 200  # characters of an event id or a group
_KEY = re.compile(r"[0-9a-f]{16}:[0-9]+")


def check_event_id(event_id: Any, name: str = "event_id") -> str | None:
    """Validate the caller's id of a decision.

    >>> check_event_id("order-17")
    'order-17'
    """
    if event_id is None:
        return None
    _check_label(name, event_id)
    if _KEY.fullmatch(event_id):
        raise InvalidInputError(
            f"{name} must not look like the key of a ticket, got {event_id!r}: use another id"
        )
    return str(event_id)


def check_group(group: Any) -> str:
    """Validate the group of a decision.

    >>> check_group("holdout")
    'holdout'
    """
    if group is not POLICY:
        _check_label("group", group)
    return str(group)


def check_mark(name: Any) -> str:
    """Validate the name of a mark.

    >>> check_mark("before the sale")
    'before the sale'
    """
    _check_label("name", name)
    return str(name)


def _check_label(name: str, text: Any) -> None:
    if type(text) is not str or not 0 < len(text) <= LONGEST_ID or not text.isprintable():
        raise InvalidInputError(
            f"{name} must be printable text of 1 to {LONGEST_ID} characters, got {text!r:.80}"
        )


# ---- tickets


class Ticket(NamedTuple):
    """One play of one arm. Return it or its `key` to the agent with the reward.

    Attributes
    ----------
    id : int
        The number of the ticket, counted from 0 for each agent. Store `key` instead: it also names
        the agent.
    arm : int
        The row of the arms given; -1 for an arm set without rows.
    features : ndarray
        The features of the chosen arm.
    expected : float
        The mean reward expected of it.
    width : float
        The confidence width of x.theta.
    plays_left : int
        The plays of this arm that the decision still needs, this one included.
    propensity : float or None
        The probability of the choice: 1 unless the policy draws its arms, as `EpsilonGreedy` does.
        None for one of `k` actions.
    action : str or None
        The name of the chosen action, if the actions had names.
    agent : str
        The `id` of the agent that issued the ticket, the only one that accepts it.
    event_id : str or None
        The caller's id of the decision, if one was given.
    group : str
        The group of the decision: "policy", or what the caller said, such as "holdout".
    version : int
        The version of the agent that made the decision.
    """

    id: int
    arm: int
    features: Floats
    expected: float
    width: float
    plays_left: int
    propensity: float | None = 1.0
    action: str | None = None
    agent: str = ""
    event_id: str | None = None
    group: str = POLICY
    version: int = 1

    def __repr__(self) -> str:
        facts = (f"{name} {text}" for name, text in _ticket_facts(self).items())
        return f"<Ticket {', '.join((self.key, *facts))}>"

    def _repr_html_(self) -> str:
        return write_html(Card(f"Ticket {self.key}", _ticket_facts(self)))

    @property
    def key(self) -> str:
        """Return agent and id as one text, to store or send instead of the ticket.

        Unlike the id alone, every other agent rejects it.
        """
        return f"{self.agent}:{self.id}"


def _ticket_facts(ticket: Ticket) -> dict[str, str]:
    """Return what a person wants to know of a ticket, by name."""
    facts = {"arm": str(ticket.arm)} if ticket.action is None else {"action": ticket.action}
    # Before the first informative reward a region has no bound.
    width = "unknown" if ticket.width >= LARGEST else f"{ticket.width:.4g}"
    facts |= {"expected": f"{ticket.expected:.4g}", "width": width}
    if ticket.propensity is not None:
        facts["propensity"] = f"{ticket.propensity:.4g}"
    if ticket.plays_left > 1:
        facts["plays left"] = str(ticket.plays_left)
    if ticket.event_id is not None:
        facts["event id"] = ticket.event_id
    if ticket.group != POLICY:
        facts["group"] = ticket.group
    return facts


TicketLike = Ticket | int | str  # a ticket, its id or its key

_new_ticket = partial(tuple.__new__, Ticket)  # avoids a Python call per ticket


def make_ticket(decision: Decision, number: int, agent: str, event_id: str | None = None) -> Ticket:
    """Make the next ticket of a decision, with its own features."""
    return _new_ticket(
        (
            number,
            decision.arm,
            decision.features.copy(),
            decision.expected,
            decision.width,
            decision.plays_left,
            decision.propensity,
            decision.action,
            agent,
            event_id,
            decision.group,
            decision.version,
        )
    )


def make_tickets(choices: Choices, agent: str) -> list[Ticket]:
    """Make the tickets of decisions that were made together, each with its own features."""
    arms = choices.numbers, choices.arms, choices.features.copy(), choices.expected, choices.widths
    repeat = itertools.repeat
    ids: Iterable[str | None] = choices.event_ids or repeat(None)
    about = repeat(agent), ids, repeat(choices.group), repeat(choices.version)
    columns = zip(*arms, repeat(1), choices.propensities, choices.actions, *about, strict=False)
    return list(map(_new_ticket, columns))


# ---- the agents that issued them


class Owner(NamedTuple):
    """An agent and the first ticket that it issued.

    A copied or loaded agent continues under its own id, and still accepts the earlier tickets.
    """

    agent: str
    first: int


Owners = tuple[Owner, ...]


def new_owner(owners: Owners, issued: int) -> Owners:
    """Append an agent with a random id that continues after so many tickets."""
    while owners and owners[-1].first >= issued:  # these have issued none
        owners = owners[:-1]
    return (*owners, Owner(secrets.token_hex(8), issued))


def owner_of(owners: Owners, number: int) -> str:
    """Return the agent that issued a ticket, or will."""
    place = bisect.bisect_right(owners, number, key=attrgetter("first"))
    return owners[place - 1].agent if place else "unknown"


def ticket_number(ticket: TicketLike, owners: Owners) -> int:
    """Return the number of a ticket, key or id; raise ForeignTicketError for another agent's.

    >>> ticket_number("6b1f:7", (Owner("6b1f", 0),)), ticket_number(7, (Owner("6b1f", 0),))
    (7, 7)
    """
    if isinstance(ticket, Ticket):
        number, agent = ticket.id, ticket.agent
        if type(number) is int and agent == owners[-1].agent and number >= owners[-1].first:
            return number
    elif isinstance(ticket, str):
        agent, _, digits = ticket.partition(":")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            raise InvalidInputError(f"ticket must be a Ticket, its key or its id, got {ticket!r}")
        number = int(digits)
    else:
        number, agent = ticket, None
    if type(number) is not int and (
        not isinstance(number, np.integer) or isinstance(number, np.timedelta64)
    ):
        raise InvalidInputError(f"ticket must be a Ticket, its key or its id, got {ticket!r}")
    if agent is not None and agent != owner_of(owners, int(number)):
        raise ForeignTicketError(
            f"ticket {number} belongs to agent {agent or 'unknown'}, but this is agent "
            f"{owners[-1].agent}: give it to the agent that issued it"
        )
    return int(number)
