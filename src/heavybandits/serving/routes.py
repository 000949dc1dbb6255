"""The one table of operations: gate, core, OpenAPI document and tests read it."""

from typing import Any, Literal, NamedTuple

from . import prepared, schemas

PREFIX = "/v1/agents/{agent}"

Place = Literal["writer", "thread"]
AnyObject = dict[str, Any]


class Route(NamedTuple):
    """One operation on an agent: what it takes, what it returns, and who may call it.

    An operation in the writer has its turn among the decisions and rewards, and is answered when
    they are on the disk. One in a thread runs next to them, and may take long.
    """

    method: str
    path: str
    operation: str  # method of ServedAgent
    scope: str
    request: Any
    response: Any
    summary: str
    admin: bool = False  # on the port of the administration only
    prepared: Any = None  # what the core receives; None for the request itself
    place: Place = "thread"
    query: bool = False  # the request is in the query string

    @property
    def full_path(self) -> str:
        """Return the path of the operation with the place of the agent."""
        return f"{PREFIX}{self.path}"

    @property
    def received(self) -> Any:
        """Return the type that the core receives."""
        return self.prepared or self.request


def _write(path: str, operation: str, scope: str, types: Any, summary: str) -> Route:
    request, received, response = types
    made = Route("POST", path, operation, scope, request, response, summary)
    return made._replace(prepared=received, place="writer")


def _read(path: str, operation: str, summary: str, request: Any = None) -> Route:
    made = Route("GET", path, operation, "read", request, AnyObject, summary)
    return made._replace(query=request is not None, admin=request is not None)


def _manage(
    method: str, path: str, operation: str, request: Any, response: Any, summary: str
) -> Route:
    return Route(method, path, operation, "admin", request, response, summary, True)


DECIDE = schemas.Decide, prepared.PreparedDecision, schemas.Decided
REWARD = schemas.Reward, prepared.PreparedReward, schemas.Rewarded
DECISIONS = schemas.Decisions, prepared.PreparedDecisions, schemas.Items
REWARDS = schemas.Rewards, prepared.PreparedRewards, schemas.Items
REVISE = schemas.Reward, prepared.PreparedReward, schemas.Done
CANCEL = schemas.TicketOnly, prepared.PreparedTicket, schemas.Done
SETTINGS = schemas.Settings

ROUTES = (
    _write("/decide", "decide", "decide", DECIDE, "Decide."),
    _write("/reward", "reward", "reward", REWARD, "Report a reward."),
    _write("/decisions", "decide_many", "decide", DECISIONS, "Decide many times, each alone."),
    _write("/rewards", "reward_many", "reward", REWARDS, "Report many rewards, each alone."),
    _write("/revise", "revise", "reward", REVISE, "Replace a reward that was learned."),
    _write("/cancel", "cancel", "reward", CANCEL, "Cancel a decision without a reward."),
    Route(
        "POST",
        "/explain",
        "explain",
        "read",
        schemas.Explain,
        schemas.Explained,
        "Explain the scores of actions.",
    ),
    _read("", "summary", "State of the agent."),
    _read("/actions", "action_table", "Plays and rewards by action."),
    _read("/history", "history", "Decisions and rewards in the ledger, in pages.", schemas.Page),
    _read("/events.parquet", "events", "Decisions and rewards as Parquet.", schemas.Page),
    _manage("PUT", "/mode", "set_mode", schemas.SetMode, SETTINGS, "Set mode and hold-out share."),
    _manage("POST", "/marks", "make_mark", schemas.MakeMark, schemas.Done, "Name this moment."),
    _manage("POST", "/promote", "promote", schemas.Policy, SETTINGS, "Replace the policy."),
    _manage(
        "POST",
        "/rollback",
        "rollback",
        schemas.Empty,
        SETTINGS,
        "Return to the policy before the last promotion.",
    ),
    _manage("POST", "/rebuild", "rebuild", schemas.Empty, SETTINGS, "Learn the ledger again."),
    _manage(
        "POST",
        "/rollout",
        "start_rollout",
        schemas.StartRollout,
        AnyObject,
        "Start a challenger, in the shadow or for a share of the units.",
    ),
    _manage("DELETE", "/rollout", "stop_rollout", None, schemas.Done, "Stop the challenger."),
)
