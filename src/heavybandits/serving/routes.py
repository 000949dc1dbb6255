"""The one table of operations: the application, the OpenAPI document and the tests read it."""

from typing import Any, NamedTuple

from . import schemas

PREFIX = "/v1/agents/{agent}"


class Route(NamedTuple):
    """One operation on an agent: what it takes, what it returns, and who may call it."""

    method: str
    path: str
    operation: str  # method of ServedAgent
    scope: str
    request: Any
    response: Any
    summary: str
    admin: bool = False  # on the port of the administration only

    @property
    def full_path(self) -> str:
        """Return the path of the operation with the place of the agent."""
        return f"{PREFIX}{self.path}"


AnyObject = dict[str, Any]

ROUTES = (
    Route("POST", "/decide", "decide", "decide", schemas.Decide, schemas.Decided, "Decide."),
    Route(
        "POST", "/reward", "reward", "reward", schemas.Reward, schemas.Rewarded, "Report a reward."
    ),
    Route(
        "POST",
        "/decisions",
        "decide_many",
        "decide",
        schemas.Decisions,
        schemas.Items,
        "Decide many times, each alone.",
    ),
    Route(
        "POST",
        "/rewards",
        "reward_many",
        "reward",
        schemas.Rewards,
        schemas.Items,
        "Report many rewards, each alone.",
    ),
    Route(
        "POST",
        "/revise",
        "revise",
        "reward",
        schemas.Reward,
        schemas.Done,
        "Replace a reward that was learned.",
    ),
    Route(
        "POST",
        "/cancel",
        "cancel",
        "reward",
        schemas.TicketOnly,
        schemas.Done,
        "Cancel a decision whose reward will never come.",
    ),
    Route(
        "POST",
        "/explain",
        "explain",
        "read",
        schemas.Explain,
        schemas.Explained,
        "Explain the scores of actions.",
    ),
    Route("GET", "", "summary", "read", None, AnyObject, "State of the agent."),
    Route(
        "GET", "/actions", "action_table", "read", None, AnyObject, "Plays and rewards by action."
    ),
    Route(
        "GET",
        "/history",
        "history",
        "read",
        None,
        AnyObject,
        "Decisions and rewards in the ledger, a page at a time.",
        True,
    ),
    Route(
        "PUT",
        "/mode",
        "set_mode",
        "admin",
        schemas.SetMode,
        schemas.Settings,
        "Set mode, hold-out share and baseline.",
        True,
    ),
    Route(
        "POST",
        "/marks",
        "make_mark",
        "admin",
        schemas.MakeMark,
        schemas.Done,
        "Name this moment.",
        True,
    ),
    Route(
        "POST",
        "/promote",
        "promote",
        "admin",
        schemas.Policy,
        schemas.Settings,
        "Replace the policy.",
        True,
    ),
    Route(
        "POST",
        "/rollback",
        "rollback",
        "admin",
        schemas.Empty,
        schemas.Settings,
        "Return to the policy before the last promotion.",
        True,
    ),
    Route(
        "POST",
        "/rebuild",
        "rebuild",
        "admin",
        schemas.Empty,
        schemas.Settings,
        "Learn the ledger again.",
        True,
    ),
    Route(
        "POST",
        "/rollout",
        "start_rollout",
        "admin",
        schemas.StartRollout,
        AnyObject,
        "Start a challenger, in the shadow or for a share of the units.",
        True,
    ),
    Route(
        "DELETE",
        "/rollout",
        "stop_rollout",
        "admin",
        None,
        schemas.Done,
        "Stop the challenger.",
        True,
    ),
)
