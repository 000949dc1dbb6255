"""The policy of an agent: decisions from the compiled policy, each of them learned once."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from ..core.arrays import Booleans, Floats
from ..core.protocols import ArmSet, Policy
from ..parts.compiled_policy import CompiledPolicy, Mask, State
from .batches import Batch, row_orders
from .events import Book, Lesson, Revision
from .revise import revised_arrays
from .state import AgentState, kept
from .tickets import Choices, Decision


def repeat(
    book: Book, arms: ArmSet | Floats, mask: Mask, names: Sequence[str] | None
) -> Decision | None:
    """Return the decision that still asks for plays, if its arm is among the arms."""
    if not book.open:
        return None
    decision = book.open[0]
    if not isinstance(arms, np.ndarray):
        return decision
    arm = decision.arm
    if names is not None:
        arm = names.index(decision.offer) if decision.offer in names else -1
    here = 0 <= arm < arms.shape[0] and np.array_equal(arms[arm], decision.features)
    if not here or (mask is not None and not mask[arm]):
        raise InvalidInputError(
            f"arms must still offer {decision.offer or f'arm {arm}'}: this policy plays it "
            f"{decision.left} more times before it decides anew. "
            "Keep the arms as they are for a decision, or call abandon()"
        )
    return decision


class AgentPolicy:
    """The compiled policy of an agent, in terms of its decisions, lessons and revisions."""

    def __init__(self, policy: Policy) -> None:
        self._compiled = CompiledPolicy(policy)
        self.takes_noise_scale = self._compiled.takes_noise_scale

    def check_arms(self, arms: Any, mask: Any) -> tuple[ArmSet | Floats, Mask]:
        """Return validated arms and mask, see `CompiledPolicy.check_arms`."""
        return self._compiled.check_arms(arms, mask)

    def check_rows(self, arms: Any, mask: Any) -> tuple[Floats, Booleans]:
        """Return validated rows and mask, see `CompiledPolicy.check_rows`."""
        return self._compiled.check_rows(arms, mask)

    def check_room(self, state: AgentState, arms: ArmSet | Floats | None, more: int = 1) -> None:
        """Raise InvalidInputError for a set without end, or more decisions than there is room for.

        Decisions that wait for their rewards count too.
        """
        self._compiled.check_arm_set(arms)
        if self._compiled.has_capacity:
            waiting = len({id(decision) for decision in state.book.decisions()})
            self._compiled.check_capacity(state.learned, waiting + more)

    def leaves_traces(self, state: AgentState) -> bool:
        """Return True if a choice changes anything that matters later."""
        return state.generator is not None or not self._compiled.choice_is_pure

    def choose(self, state: AgentState, arms: ArmSet | Floats, mask: Mask) -> Decision:
        """Return the decision of the policy; a generator breaks ties between rows at random."""
        generator, order = state.generator, None
        if generator is not None and isinstance(arms, np.ndarray):
            order = generator.permutation(arms.shape[0])
        self._compiled.warn_norm(arms)
        arm, features, expected, width, propensity = self._compiled.choose(
            state.learned, arms, mask, order=order
        )
        # + 0.0: a database does not tell -0.0 from 0.0
        plays = state.policy.plays
        return Decision(arm, features, expected + 0.0, width + 0.0, plays, propensity)

    def choose_many(self, state: AgentState, batch: Batch) -> Choices:
        """Return the decisions of the policy in a batch, made in one compiled call."""
        order = row_orders(batch, state.generator)
        self._compiled.warn_norm(batch.rows)
        made = self._compiled.choose_many(state.learned, batch.rows, batch.mask, order)
        arms = made.arms.tolist()
        return Choices(
            arms,
            batch.rows[np.arange(batch.size), made.arms],
            (made.expected + 0.0).tolist(),  # as in `choose`
            (made.widths + 0.0).tolist(),
            made.propensities.tolist(),
            batch.names_of(arms),
        )

    def dry_run(self, state: AgentState) -> None:
        """Test parts of your own before the agent learns rows, see `CompiledPolicy.dry_run`."""
        self._compiled.dry_run(state.learned)

    def learn(self, learned: State, decision: Decision) -> None:
        """Learn from a decision with all its rewards: once, however often this is called."""
        if not self._is_next(decision):
            return
        rewards = np.fromiter(decision.rewards.values(), np.float64, decision.plays)
        self._compiled.learn(
            learned,
            decision.features,
            rewards,
            noise_scale=decision.noise_scale,
            time=max(decision.times.values(), default=0.0),
        )

    def teach(self, learned: State, lesson: Lesson, time: float) -> None:
        """Learn from the rows of a lesson: once, however often this is called."""
        if self._is_next(lesson):
            self._compiled.warm_start(learned, lesson.rows, lesson.rewards, time=time)

    def _is_next(self, lesson: Decision | Lesson) -> bool:
        """Return False if the lesson is learned already; its number tells."""
        if lesson.lessons is None:
            lesson.lessons = self._compiled.lessons
        return lesson.lessons == self._compiled.lessons

    def revise(self, learned: State, revision: Revision, reward: float) -> None:
        """Replace a reward that was learned: once, however often this is called."""
        if revision.after is None:
            revision.after = revised_arrays(self._compiled.policy, learned, revision, reward)
        for name, array in kept(learned).items():
            array[...] = revision.after[name]

    def predict(self, learned: State, rows: Floats) -> Floats:
        """Return the mean rewards expected of the rows and their widths, shape (2, n)."""
        return self._compiled.predict(learned, rows)
