"""Decisions that wait for their rewards; the tickets handed out with them, and what comes back."""

import itertools
import secrets
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import ForeignTicketError, InvalidInputError
from .._utils.validation import finite_number, positive
from ..core.arrays import Floats


class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in.

    `lessons` is how many decisions had been learned from when the turn of this one came,
    `noise_scale` that of its reward, if one was given.
    """

    __slots__ = (
        *("arm", "estimate", "features", "lessons", "offer", "plays", "propensity"),
        *("rewards", "noise_scale", "times", "width"),
    )

    def __init__(
        self,
        arm: int,
        features: Floats,
        estimate: float,
        width: float,
        plays: int,
        propensity: float | None = 1.0,
        offer: str | None = None,
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.propensity, self.offer = propensity, offer
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}
        self.times: dict[int, float] = {}
        self.lessons: int | None = None
        self.noise_scale: float | None = None

    @property
    def left(self) -> int:
        """Plays it still asks for."""
        return self.plays - len(self.rewards)

    @property
    def complete(self) -> bool:
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Choices(NamedTuple):
    """Decisions of a single play each that were made together: one entry of every column each.

    `first` is the number of the first ticket, `time` when all were asked for. A decision becomes an
    object of its own when its reward comes: to make thousands at once costs more than to decide.

    >>> made = Choices([2], np.ones((1, 3)), [0.5], [0.1], [1.0], [None], first=7, time=3.0)
    >>> made.decision(7).arm, made.decision(7).times
    (2, {7: 3.0})
    """

    arms: list[int]
    features: Floats
    estimates: list[float]
    widths: list[float]
    propensities: Sequence[float | None]
    offers: Sequence[str | None]
    first: int = 0
    time: float = 0.0

    @property
    def numbers(self) -> range:
        """Those of the tickets."""
        return range(self.first, self.first + len(self.arms))

    def decision(self, number: int) -> Decision:
        """The one of this ticket, which shares nothing with the others."""
        n = number - self.first
        features, numbers = self.features[n].copy(), (self.estimates[n], self.widths[n])
        made = Decision(self.arms[n], features, *numbers, 1, self.propensities[n], self.offers[n])
        made.rewards[number], made.times[number] = None, self.time
        return made


def gather(decisions: Sequence[Decision]) -> Choices:
    """Decisions that were made one after another, as if they had been made together."""
    return Choices(
        [one.arm for one in decisions],
        np.array([one.features for one in decisions]),
        [one.estimate for one in decisions],
        [one.width for one in decisions],
        [one.propensity for one in decisions],
        [one.offer for one in decisions],
    )


# ---- tickets


class Ticket(NamedTuple):
    """One play that was asked for. Give it, or its `id`, back with the reward.

    `arm` is the row of the arms given (-1 for a set without rows), `features` its features,
    `estimate` the mean reward expected, `width` how uncertain x.theta is, and `plays` how many
    plays of this arm the decision still asks for, this one included. `propensity` is how likely
    the choice was: 1 unless the policy draws its arms, as `EpsilonGreedy` does, and None for one
    of a list. `offer` is the name of what was chosen, if the offers had names; `agent` is the
    agent that issued the ticket, which takes it back and nobody else.
    """

    id: int
    arm: int
    features: Floats
    estimate: float
    width: float
    plays: int
    propensity: float | None = 1.0
    offer: str | None = None
    agent: str = ""

    @property
    def key(self) -> str:
        """Agent and id as one text, to be kept or sent instead of the ticket: unlike the id alone,
        it is refused by every other agent."""
        return f"{self.agent}:{self.id}"


_new_ticket = partial(tuple.__new__, Ticket)  # without a call of Python for each, as _make has


def make_tickets(choices: Choices, agent: str) -> list[Ticket]:
    """The tickets of decisions that were made together, with features of their own."""
    columns = zip(
        choices.numbers,
        choices.arms,
        choices.features.copy(),
        choices.estimates,
        choices.widths,
        itertools.repeat(1),
        choices.propensities,
        choices.offers,
        itertools.repeat(agent),
        strict=False,
    )
    return list(map(_new_ticket, columns))


# ---- whose they are


class Owner(NamedTuple):
    """An agent, and the first ticket that it issued. One that was copied or loaded goes on under a
    name of its own, and still takes the tickets from before."""

    agent: str
    first: int


Owners = tuple[Owner, ...]

MOST_OWNERS = 100  # before this agent whose tickets are still known


def new_owner(owners: Owners, issued: int) -> Owners:
    """The owners once another agent goes on after so many tickets: its name is drawn here."""
    before = tuple(owner for owner in owners if owner.first < issued)
    return (*before[-MOST_OWNERS:], Owner(secrets.token_hex(8), issued))


def owner_of(owners: Owners, number: int) -> str:
    """The agent that issued a ticket, or will."""
    known = [owner.agent for owner in owners if owner.first <= number]
    return known[-1] if known else "unknown"


def ticket_number(ticket: Ticket | int | str, owners: Owners) -> int:
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


# ---- what comes back


class Given(NamedTuple):
    """A reward as it was given: with its own noise scale, or None for the policy's."""

    reward: float
    noise_scale: float | None = None

    def __str__(self) -> str:
        return f"{self.reward}" + (
            "" if self.noise_scale is None else f" with noise_scale {self.noise_scale}"
        )


def check_rewards(rewards: Any, owners: Owners, noise_scales: bool) -> list[tuple[int, Given]]:
    """Tickets and what was given for them, with `noise_scales` also those of a reward.

    >>> check_rewards([(3, 1), (4, 0.5, 2)], (Owner("6b1f", 0),), noise_scales=True)
    [(3, Given(reward=1.0, noise_scale=None)), (4, Given(reward=0.5, noise_scale=2.0))]
    """
    try:
        rows = [(ticket, reward, *rest) for ticket, reward, *rest in rewards]
        shaped = all(len(row) <= 3 for row in rows)
    except (TypeError, ValueError):
        shaped = False
    if not shaped:
        raise InvalidInputError(
            "rewards must be pairs (ticket, reward), or (ticket, reward, noise_scale), "
            f"got {rewards!r}"
        )
    return [(ticket_number(t, owners), check_given(noise_scales, *given)) for t, *given in rows]


def check_given(noise_scales: bool, reward: Any, noise_scale: Any = None) -> Given:
    """What is given for a ticket; with `noise_scales` it may have one of its own.

    >>> check_given(False, 3)
    Given(reward=3.0, noise_scale=None)
    """
    number = finite_number("reward", reward) + 0.0  # a database does not tell -0.0 from 0.0
    if noise_scale is None:
        return Given(number)
    if not noise_scales:
        raise InvalidInputError(
            "noise_scale must be left out: this policy knows one for all, or none"
        )
    return Given(number, positive("noise_scale", noise_scale))
