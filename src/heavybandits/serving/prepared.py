"""Requests that are validated and encoded: what the core receives of them.

Everything here needs nothing of an agent's state, so that a front end can do it in a process of its
own: it encodes the features, checks the signatures of tickets and finds the place of a unit.
"""

import hashlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from .._utils.validation import bounded_array
from ..agents import decide
from ..agents.inputs import WrittenInputs, encode
from ..features import FeatureMap
from . import schemas
from .problems import ProblemError, problem_of
from .tokens import Signer

SPACE = 1 << 64  # of the hash of a unit


class PreparedDecision(Struct, array_like=True, tag=True):
    """A decision to make: the features of the actions as bytes, and the inputs as JSON."""

    names: tuple[str, ...]
    arms: bytes
    context: str | None
    actions: str
    place: float  # of the unit in [0, 1): the same for all its requests
    event_id: str | None
    baseline: str | None

    def to_request(self, dim: int) -> decide.Request:
        """Return what an agent with so many features takes."""
        arms = np.frombuffer(bytearray(self.arms)).reshape(-1, dim)
        return decide.Request(arms, None, self.names, WrittenInputs(self.context, self.actions))


class PreparedReward(Struct, array_like=True, tag=True):
    """A reward, by the key of a ticket or by an event_id."""

    reward: float
    key: str | None
    event_id: str | None
    noise_scale: float | None = None


class PreparedTicket(Struct, array_like=True, tag=True):
    """A decision, by the key of a ticket or by an event_id."""

    key: str | None
    event_id: str | None


class Rejected(Struct, array_like=True, tag=True):
    """An item of a batch that is not valid."""

    status: int
    detail: str


class PreparedDecisions(Struct, array_like=True):
    """The items of a batch of decisions."""

    items: list[PreparedDecision | Rejected]


class PreparedRewards(Struct, array_like=True):
    """The items of a batch of rewards."""

    items: list[PreparedReward | Rejected]


class Preparer:
    """Validates and encodes the requests to one agent, by the name of the operation.

    Parameters
    ----------
    name : str
        The name of the agent.
    encoder : FeatureMap
        Its encoder.
    signer : Signer
        Signs its tickets.
    """

    def __init__(self, name: str, encoder: FeatureMap, signer: Signer) -> None:
        self.name, self._encoder, self._signer = name, encoder, signer

    def decide(self, request: schemas.Decide) -> PreparedDecision:
        """Encode the actions of a decision."""
        context, actions, baseline = request.context, request.actions, request.baseline
        if baseline is not None and baseline not in actions:
            raise ProblemError(422, "baseline must be the name of one of the actions")
        rows, names = encode(self._encoder, context, actions)
        arms = bounded_array("arms", rows, (None, self._encoder.dim)).tobytes()
        given = None if context is None else schemas.encode(context).decode()
        shown, place = schemas.encode(actions).decode(), self.place(request)
        return PreparedDecision(names, arms, given, shown, place, request.event_id, baseline)

    def place(self, request: schemas.Decide) -> float:
        """Return a number in [0, 1) that is the same for all requests of a unit."""
        unit = request.unit or request.event_id
        if unit is None:
            return random.random()
        digest = hashlib.blake2b(f"{self.name}\0{unit}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / SPACE

    def decide_many(self, request: schemas.Decisions) -> PreparedDecisions:
        """Encode many decisions, each alone."""
        return PreparedDecisions([_each(self.decide, one) for one in request.decisions])

    def reward(self, request: schemas.Reward) -> PreparedReward:
        """Check the ticket of a reward."""
        key = self._key(request)
        return PreparedReward(request.reward, key, request.event_id, request.noise_scale)

    revise = reward

    def reward_many(self, request: schemas.Rewards) -> PreparedRewards:
        """Check the tickets of many rewards, each alone."""
        return PreparedRewards([_each(self.reward, one) for one in request.rewards])

    def cancel(self, request: schemas.TicketOnly) -> PreparedTicket:
        """Check the ticket of a decision."""
        return PreparedTicket(self._key(request), request.event_id)

    def _key(self, request: schemas.Reward | schemas.TicketOnly) -> str | None:
        if (request.ticket is None) == (request.event_id is None):
            raise ProblemError(422, "give ticket or event_id, one of them")
        if request.ticket is None:
            return None
        return self._signer.verify(self.name, request.ticket)


def _each(prepare: Callable[[Any], Any], request: Any) -> Any:
    try:
        return prepare(request)
    except Exception as error:
        problem = problem_of(error)
        return Rejected(problem.status, problem.detail)
