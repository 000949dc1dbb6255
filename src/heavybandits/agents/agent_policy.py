"""The policy of an agent: decisions from the compiled policy, each of them learned once."""

from typing import Any, NoReturn

import numpy as np

from .._utils.errors import PartError
from .._utils.validation import SMALLEST
from ..core.arrays import Floats
from ..core.protocols import ArmSet, Policy
from ..parts.compiled_policy import CompiledPolicy, Mask, State
from .events import Lesson, Revision
from .inputs import Batch, row_orders
from .revise import revised_arrays
from .state import AgentState, kept
from .tickets import Choices, Decision


class AgentPolicy:
    """The compiled policy of an agent, in terms of its decisions, lessons and revisions."""

    def __init__(self, policy: Policy) -> None:
        self.compiled = CompiledPolicy(policy)
        self.takes_noise_scale = self.compiled.takes_noise_scale

    def check_room(self, state: AgentState, arms: ArmSet | Floats | None, more: int = 1) -> None:
        """Raise InvalidInputError for a set without end, or more decisions than there is room for.

        Decisions that wait for their rewards count too.
        """
        self.compiled.check_arm_set(arms)
        if self.compiled.has_capacity:
            waiting = len({id(decision) for decision in state.tickets.decisions()})
            self.compiled.check_capacity(state.learned, waiting + more)

    def leaves_traces(self, state: AgentState) -> bool:
        """Return True if a choice changes anything that matters later."""
        return state.generator is not None or not self.compiled.choice_is_pure

    def choose(self, state: AgentState, arms: ArmSet | Floats, mask: Mask) -> Decision:
        """Return the decision of the policy; a generator breaks ties between rows at random."""
        generator, order = state.generator, None
        if generator is not None and isinstance(arms, np.ndarray):
            order = generator.permutation(arms.shape[0])
        self.compiled.warn_norm(arms)
        arm, features, expected, width, propensity = self.compiled.choose(
            state.learned, arms, mask, order=order
        )
        if not (expected == expected and width == width and SMALLEST <= propensity <= 1.0):
            _reject_choice(state.policy, expected, width, propensity)
        # + 0.0: a database does not distinguish -0.0 from 0.0
        plays = state.policy.plays
        return Decision(arm, features, expected + 0.0, width + 0.0, plays, propensity)

    def choose_many(self, state: AgentState, batch: Batch) -> Choices:
        """Return the decisions of the policy in a batch, made in one compiled call."""
        order = row_orders(batch, state.generator)
        self.compiled.warn_norm(batch.rows)
        made = self.compiled.choose_many(state.learned, batch.rows, batch.mask, order)
        arms, propensities = made.arms.tolist(), made.propensities.tolist()
        expected, widths = (made.expected + 0.0).tolist(), (made.widths + 0.0).tolist()
        total = sum(expected) + sum(widths)  # nan if one of them is: the kernel limits the others
        certain = propensities.count(1.0) == len(arms)
        wrong = [] if certain else [p for p in propensities if not SMALLEST <= p <= 1.0]
        if total != total or wrong:
            _reject_choice(state.policy, total, total, (wrong or propensities)[0])
        features = batch.rows[np.arange(batch.size), made.arms]
        names = batch.names_of(arms)
        return Choices(arms, features, expected, widths, propensities, names)

    def learn(self, learned: State, decision: Decision) -> None:
        """Learn from a decision with all its rewards: once, however often this is called."""
        if not self._is_next(decision):
            return
        compiled, x = self.compiled, decision.features
        rewards = np.fromiter(decision.rewards.values(), np.float64, decision.plays)
        time = max(decision.times.values(), default=0.0) if compiled.has_clock else 0.0
        compiled.learn(learned, x, rewards, noise_scale=decision.noise_scale, time=time)

    def teach(self, learned: State, lesson: Lesson, time: float) -> None:
        """Learn from the rows of a lesson: once, however often this is called."""
        if self._is_next(lesson):
            self.compiled.warm_start(learned, lesson.rows, lesson.rewards, time=time)

    def _is_next(self, lesson: Decision | Lesson) -> bool:
        """Return False if the lesson is learned already, by its number."""
        learned = self.compiled.lessons
        if lesson.lessons is None:
            lesson.lessons = learned
        return lesson.lessons == learned

    def revise(self, learned: State, revision: Revision, reward: float) -> None:
        """Replace a reward that was learned: once, however often this is called."""
        if revision.after is None:
            revision.after = revised_arrays(self.compiled.policy, learned, revision, reward)
        for name, array in kept(learned).items():
            array[...] = revision.after[name]


def _reject_choice(policy: Any, expected: float, width: float, propensity: float) -> NoReturn:
    """Raise PartError: a ledger cannot store such a decision, and no evaluation can use it."""
    raise PartError(
        f"{type(policy).__name__} must estimate numbers and choose with a probability in (0, 1], "
        f"got expected {expected}, width {width} and propensity {propensity}: nothing was "
        "recorded. testing.check_policy says which part is wrong"
    )
