"""Roll-out of a challenger: in the shadow, for a share of the units, with automatic fall-back.

The challenger learns from every reward of every group. In the shadow it only says what it would
have done. With a share, a part of the units gets its decisions, and the rewards of both groups are
compared when the smaller group has 100, 200, 400, ... rewards. Look number k uses the interval at
delta / (k (k + 1)), so that all looks together are wrong with probability delta at most, as far as
each interval is valid at its own time.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..agents.agent import Agent
from ..agents.tickets import Decision
from ..core.arrays import Floats
from .monitor import Difference, Monitor, compare
from .peek import peek

FIRST_LOOK = 100  # rewards of the smaller group
DELTA = 0.05


class Rollout:
    """A challenger next to the policy in force.

    Parameters
    ----------
    policy : mapping
        Name and hyperparameters of the challenger.
    challenger : Agent
        The challenger, without a ledger.
    share : float
        Share of the units that get its decisions; 0 for the shadow.
    monitor : Monitor
        Where the rewards of the groups are.
    """

    def __init__(
        self, policy: Mapping[str, Any], challenger: Agent, share: float, monitor: Monitor
    ) -> None:
        self.policy, self.challenger, self.share = dict(policy), challenger, share
        self._monitor, self.looks, self.stopped = monitor, 0, ""
        self._rewards: dict[str, list[float]] = {"canary": [], "policy": []}
        self.agreed, self.watched = 0, 0
        self.last: Difference | None = None

    def choose(self, context: Mapping[str, Any] | None, actions: Any) -> Decision:
        """Return the decision of the challenger."""
        return peek(self.challenger, context, actions)

    def watch(self, context: Mapping[str, Any] | None, actions: Any, action: str) -> None:
        """Count how often the challenger would have done the same."""
        self.watched += 1
        self.agreed += self.choose(context, actions).action == action

    def learn(self, features: Floats, reward: float, group: str) -> None:
        """Learn a reward; compare both groups if it is time to look."""
        self.challenger.warm_start(np.array([features]), [reward])
        if group in self._rewards:
            self._rewards[group].append(reward)
        canary, policy = self._rewards["canary"], self._rewards["policy"]
        if self.share and min(len(canary), len(policy)) >= FIRST_LOOK << self.looks:
            self._look(canary, policy)

    def _look(self, canary: list[float], policy: list[float]) -> None:
        self.looks += 1
        self.last = compare(canary, policy, DELTA / (self.looks * (self.looks + 1)))
        if self.last.high is not None and self.last.high < 0.0:
            self.share, self.stopped = 0.0, "the challenger earned less: its share is 0 now"

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the roll-out."""
        last = self.last
        return {
            "policy": self.policy,
            "share": self.share,
            "stage": "fell back" if self.stopped else "canary" if self.share else "shadow",
            "agreed": self.agreed,
            "watched": self.watched,
            "looks": self.looks,
            "difference": None if last is None else last.difference,
            "low": None if last is None else last.low,
            "high": None if last is None else last.high,
        }
