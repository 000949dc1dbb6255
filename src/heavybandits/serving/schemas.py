"""Bodies of requests and responses. The OpenAPI document is generated from these classes."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

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


class Settings(Struct):
    """Mode, hold-out share and baseline in force."""

    mode: Mode
    holdout: float
    baseline: str
    version: int


class MakeMark(Struct, forbid_unknown_fields=True):
    """Name this moment, to come back to it."""

    name: Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[\w.\-]+$")]


class Policy(Struct, forbid_unknown_fields=True):
    """A policy by its name and hyperparameters."""

    policy: Name
    parameters: dict[str, float | int | str | bool] = {}
    epsilon: Annotated[float, Meta(gt=0, le=1)] | None = None


class Empty(Struct, forbid_unknown_fields=True):
    """Ask for an operation that takes nothing: send {}."""


class StartRollout(Struct, forbid_unknown_fields=True):
    """Start a challenger: in the shadow (share 0) or for a share of the units."""

    policy: Name
    parameters: dict[str, float | int | str | bool] = {}
    epsilon: Annotated[float, Meta(gt=0, le=1)] | None = None
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


def check_depth(body: bytes, deepest: int = 8) -> bool:
    """Return True if no object or array of the JSON text is nested deeper than this.

    >>> check_depth(b'[[1]]', 2), check_depth(b'[[[1]]]', 2)
    (True, False)
    """
    if body.count(b"[") + body.count(b"{") <= deepest:
        return True
    depth, quoted, escaped = 0, False, False
    for byte in body:
        if quoted:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                quoted = False
        elif byte == 0x22:
            quoted = True
        elif byte in (0x5B, 0x7B):
            depth += 1
            if depth > deepest:
                return False
        elif byte in (0x5D, 0x7D):
            depth -= 1
    return True


decode_decide = msgspec.json.Decoder(Decide).decode
decode_reward = msgspec.json.Decoder(Reward).decode
encode = msgspec.json.Encoder().encode
