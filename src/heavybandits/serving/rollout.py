"""Roll-out of a challenger: in the shadow, for a share of the units, with automatic fall-back.

The challenger starts from every reward in the ledger and learns from every later one, of all
groups. In the shadow it only says what it would have done. With a share, a part of the units gets
its decisions, and the rewards of both groups are compared when the smaller group has 100, 200, 400,
... rewards. Look number k uses the interval at delta / (k (k + 1)), so that all looks together are
wrong with probability delta at most, as far as each interval is valid at its own time.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..agents.agent import Agent
from ..agents.decide import Request, choose_one
from ..agents.state import BeforeChoice
from ..agents.tickets import POLICY, Decision
from ..core.arrays import Floats
from .monitor import Difference, compare
from .settings import Description

FIRST_LOOK = 100  # rewards of the smaller group
MOST_LOOKS = 14  # the last at 819,200 rewards
DELTA = 0.05
CANARY = "canary"


class Rollout:
    """A challenger next to the policy in force.

    Parameters
    ----------
    policy : dict
        Name and hyperparameters of the challenger.
    challenger : Agent
        The challenger, without a ledger.
    share : float
        Share of the units that get its decisions; 0 for the shadow.

    Examples
    --------
    >>> import heavybandits as hb
    >>> made = Rollout({}, hb.Agent(hb.linucb(dim=1, radius=1.0)), share=0.5)
    >>> for _ in range(FIRST_LOOK):
    ...     made.compare_reward("canary", 0.0)
    ...     made.compare_reward("policy", 1.0)
    >>> made.stage, made.share
    ('fell back', 0.0)
    """

    def __init__(self, policy: Description, challenger: Agent, share: float) -> None:
        self.policy, self.challenger, self.share = policy, challenger, 0.0
        self.looks, self.stopped = 0, False
        self._share, self._waiting = share, list[tuple[Floats, float, str]]()
        self.loading = True  # the challenger learns the ledger: what comes meanwhile waits
        self._rewards: dict[str, list[float]] = {CANARY: [], POLICY: []}
        self.agreed, self.watched = 0, 0
        self.last: Difference | None = None

    @property
    def stage(self) -> str:
        """Return "shadow", "canary" or "fell back"."""
        return "fell back" if self.stopped else "canary" if self.share else "shadow"

    @property
    def watches(self) -> bool:
        """Return True if the challenger says what it would have done."""
        return not (self.stopped or self.loading)

    def choose(self, request: Request) -> Decision:
        """Return the decision of the challenger, which counts as a draw of its policy."""
        return choose_one(self.challenger.state, self.challenger._policy, request)

    def watch(self, request: Request, action: str) -> None:
        """Count how often the challenger would have done the same; nothing of it changes."""
        before = BeforeChoice(self.challenger.state)
        self.watched += 1
        self.agreed += self.choose(request).action == action
        before.undo()

    def load(self, features: Floats, rewards: list[float]) -> None:
        """Learn what the ledger had when the roll-out began to wait."""
        if rewards:
            self.challenger.warm_start(features, rewards)

    def start(self, compared: Iterable[tuple[str, float]]) -> None:
        """Learn what has come meanwhile, and decide for the share of the units.

        `compared` are the group and the reward of the decisions since the roll-out began.
        """
        for group, reward in compared:
            self.compare_reward(group, reward)
        self.loading = False
        for features, reward, group in self._waiting:
            self.learn(features, reward, group)
        self._waiting.clear()
        self.share = 0.0 if self.stopped else self._share

    def learn(self, features: Floats, reward: float, group: str) -> None:
        """Learn a reward; compare both groups if it is time to look."""
        if self.loading:
            self._waiting.append((features, reward, group))
            return
        self.challenger.warm_start(np.array([features]), [reward])
        self.compare_reward(group, reward)

    def compare_reward(self, group: str, reward: float) -> None:
        """Count a reward of a group, and compare both groups if it is time to look."""
        if group not in self._rewards or self.stopped or self.looks >= MOST_LOOKS:
            return
        self._rewards[group].append(reward)
        canary, policy = self._rewards[CANARY], self._rewards[POLICY]
        if self._share and min(len(canary), len(policy)) >= FIRST_LOOK << self.looks:
            self._look(canary, policy)

    def _look(self, canary: list[float], policy: list[float]) -> None:
        self.looks += 1
        self.last = compare(canary, policy, DELTA / (self.looks * (self.looks + 1)))
        if self.last.high is not None and self.last.high < 0.0:
            self.share, self.stopped = 0.0, True

    def to_dict(self) -> dict[str, Any]:
        """Return the state of the roll-out."""
        last = self.last
        return {
            "policy": self.policy,
            "share": self.share,
            "stage": self.stage,
            "agreed": self.agreed,
            "watched": self.watched,
            "looks": self.looks,
            "difference": None if last is None else last.difference,
            "low": None if last is None else last.low,
            "high": None if last is None else last.high,
        }
