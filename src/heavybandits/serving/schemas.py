"""Bodies of requests and responses. The OpenAPI document is generated from these classes."""

import urllib.parse
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from .problems import ProblemError

MOST_ACTIONS = 1000
MOST_ITEMS = 1000  # of a batch

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Value = str | int | float | bool | None
Values = dict[Annotated[str, Meta(max_length=200)], Value]
Actions = Annotated[dict[Name, Values], Meta(min_length=1, max_length=MOST_ACTIONS)]
Mode = Literal["online", "apprentice", "frozen", "off"]
Scope = Literal["decide", "reward", "read", "admin"]


class Decide(Struct, forbid_unknown_fields=True):
    """Ask for a decision."""

    actions: Actions
    context: Values | None = None
    event_id: Name | None = None
    unit: Name | None = None
    baseline: Name | None = None


class Decided(Struct):
    """A decision. `ticket` is None if nothing was recorded."""

    ticket: str | None
    action: str
    propensity: float | None
    expected: float | None
    width: float | None
    group: str
    version: int
    recorded: bool
    event_id: str | None = None


class Reward(Struct, forbid_unknown_fields=True):
    """Report the reward of a decision, by its ticket or by its event_id."""

    reward: float
    ticket: Name | None = None
    event_id: Name | None = None
    noise_scale: Annotated[float, Meta(gt=0)] | None = None


class Rewarded(Struct):
    """What happened to a reward."""

    outcome: Literal["applied", "duplicate", "late"]


class TicketOnly(Struct, forbid_unknown_fields=True):
    """Name a decision by its ticket or by its event_id."""

    ticket: Name | None = None
    event_id: Name | None = None


class Rewards(Struct, forbid_unknown_fields=True):
    """Report many rewards; each is applied or rejected alone."""

    rewards: Annotated[list[Reward], Meta(min_length=1, max_length=MOST_ITEMS)]


class Decisions(Struct, forbid_unknown_fields=True):
    """Ask for many decisions; each is made or rejected alone."""

    decisions: Annotated[list[Decide], Meta(min_length=1, max_length=MOST_ITEMS)]


class ProblemDocument(Struct):
    """Why a request was rejected (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class Items(Struct):
    """One entry per item of a batch, in its order: its response, or a problem."""

    items: list[dict[str, Any]]


class Done(Struct):
    """Confirm an operation that returns nothing else."""

    done: bool


class SetMode(Struct, forbid_unknown_fields=True):
    """Set mode, hold-out share and baseline; what is left out does not change."""

    mode: Mode | UnsetType = UNSET
    holdout: Annotated[float, Meta(ge=0, lt=1)] | UnsetType = UNSET
    baseline: Name | UnsetType = UNSET
    mark: Name | UnsetType = UNSET  # from which "frozen" decides; now if it is left out


class Settings(Struct):
    """Mode, hold-out share and baseline in force."""

    mode: Mode
    holdout: float
    baseline: str
    version: int


class Page(Struct, forbid_unknown_fields=True):
    """Ask for the decisions after a ticket number."""

    after: Annotated[int, Meta(ge=-1)] = -1


class MakeMark(Struct, forbid_unknown_fields=True):
    """Name this moment, to come back to it."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[\w.\-]+$")]


class Policy(Struct, forbid_unknown_fields=True):
    """A policy by its name and hyperparameters."""

    policy: Name
    parameters: dict[str, float | int | str | bool] = {}
    epsilon: Annotated[float, Meta(gt=0, lt=1)] | None = None


class Empty(Struct, forbid_unknown_fields=True):
    """Ask for an operation that takes nothing: send {}."""


class StartRollout(Struct, forbid_unknown_fields=True):
    """Start a challenger: in the shadow (share 0) or for a share of the units."""

    policy: Name
    parameters: dict[str, float | int | str | bool] = {}
    epsilon: Annotated[float, Meta(gt=0, lt=1)] | None = None
    share: Annotated[float, Meta(ge=0, lt=1)] = 0.0


class Explain(Struct, forbid_unknown_fields=True):
    """Ask what each feature adds to the score of each action, now."""

    actions: Actions
    context: Values | None = None


class Explained(Struct):
    """What each feature adds: one row per action."""

    actions: list[str]
    feature_names: list[str]
    contributions: list[list[float]]
    bonuses: list[list[float]]
    score: list[float]
    mean: list[float]
    width: list[float]


encode = msgspec.json.Encoder().encode


def decode(decoder: Callable[[bytes], Any], body: bytes) -> Any:
    """Return the request in a body; raise ProblemError if it is not one.

    The types bound the depth of a body: no type contains itself.
    """
    try:
        return decoder(body)
    except msgspec.ValidationError as error:
        raise ProblemError(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(400, f"the body must be JSON: {error}") from None


def read_query(query: bytes, kind: Any) -> Any:
    """Return the request in a query string; raise ProblemError if it is not one.

    >>> read_query(b"after=7", Page).after
    7
    """
    given = dict(urllib.parse.parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ProblemError(422, str(error)) from None
