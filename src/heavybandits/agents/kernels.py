"""The compiled verbs of one policy: choose, learn, predict."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.compiling import Function, compiled
from ..engine.kernels import choose_kernel, learn_kernel, predict_kernel
from ..engine.parts import is_part
from .offers import Allowed, Offers
from .state import AgentState
from .tickets import Decision

Floats = NDArray[np.float64]


class Kernels:
    """What an agent calls to let its policy work, resolved once for each kind of argument."""

    def __init__(self, policy: Any) -> None:
        self.offers = Offers(policy.dim)
        self._policy = policy
        self._functions: dict[Any, Function] = {}
        self._lessons = np.zeros(1, np.int64)
        self._quiet = getattr(policy, "choice_writes", None) == ()

    def leaves_traces(self, state: AgentState) -> bool:
        """Whether a choice changes anything that matters later."""
        return state.generator is not None or not self._quiet

    def choose(self, state: AgentState, arms: Any, allowed: Allowed) -> Decision:
        """What the policy chooses; ties between rows go to chance if there is a generator."""
        generator, rows = state.generator, 0 if is_part(arms) else arms.shape[0]
        order = generator.permutation(rows) if generator is not None and rows else None
        part, view = self.offers.show(arms, allowed, order)
        arm, estimate, width = self._call(choose_kernel, state.learned, part, view)
        if order is not None and arm >= 0:
            arm = order[arm]
        # + 0.0: a database does not tell -0.0 from 0.0
        return Decision(
            int(arm), view.chosen.copy(), estimate + 0.0, width + 0.0, self._policy.plays
        )

    def learn(self, learned: Any, decision: Decision) -> None:
        """Teach a decision whose rewards are all in: once, however often it is called.

        Compiled code counts the lessons, so that no signal can come between the two.
        """
        if decision.lessons is None:
            decision.lessons = self._lessons.item()
        elif decision.lessons != self._lessons.item():
            return
        rewards = np.fromiter(decision.rewards.values(), np.float64, decision.plays)
        self._call(learn_kernel, learned, decision.features, rewards, self._lessons)

    def predict(self, learned: Any, rows: Floats) -> Floats:
        """The mean rewards expected of the rows, and below them the widths."""
        out = np.empty((2, rows.shape[0]))
        self._call(predict_kernel, learned, rows, out)
        return out

    def _call(self, factory: Any, learned: Any, *arguments: Any) -> Any:
        key = (factory, *map(type, arguments))
        if key not in self._functions:
            self._functions[key] = compiled(factory, self._policy, learned, *arguments)
        return self._functions[key](self._policy, learned, *arguments)
