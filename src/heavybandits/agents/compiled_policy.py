"""The compiled verbs of one policy, and what is offered to it: checked, then put in its place."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, warn_caller
from .._utils.validation import bounded_array
from ..core.arm_buffer import View, make_view
from ..core.arrays import Floats
from ..core.compile import Function, compiled, rehearse_once
from ..core.dispatch import tally
from ..core.dry_run import first_plays
from ..core.kernels import (
    choose_kernel,
    choose_many_kernel,
    draw_many_kernel,
    learn_kernel,
    play_kernel,
    predict_kernel,
    teach_kernel,
)
from ..core.loop import Unobserved, make_episode, make_trace
from ..core.part import check_part, is_part, own_classes, walk
from ..core.protocols import ArmSet
from ..parts.arms import PerRound
from ..parts.links import Identity
from ..parts.policies.checks import check_finite, check_room
from ..parts.policies.time_discounted import NOW, TimeDiscountedState
from .batches import Batch, row_orders
from .events import Lesson, Revision
from .revise import revised_arrays
from .state import AgentState, kept
from .tickets import Choices, Decision

Allowed = NDArray[np.bool_] | None

MOST_BYTES = 1 << 26  # views of sizes that come and go must not pile up


class Offers:
    """Views for arms of this dimension: one for each number of rows, used again and again.

    any_norm: the policy takes arms of any length, so that none is worth a warning.
    """

    def __init__(self, dim: int, any_norm: bool = False) -> None:
        self._dim = dim
        self._sets: dict[int, tuple[Any, View]] = {}
        self._bytes = 0
        self._warned = any_norm

    def check(self, arms: Any, mask: Any) -> tuple[Any, Allowed]:
        """The arms as an arm set or (K, d) floats, and the mask as K booleans or None."""
        if not is_part(arms):
            offered = bounded_array("arms", arms, (None, self._dim))
            return offered, None if mask is None else _check_mask(mask, offered.shape[0])
        if mask is not None:
            raise InvalidInputError("mask must be None for an arm set without rows")
        part = check_part("arms", arms, ArmSet)
        if part.dim != self._dim:
            raise InvalidInputError(f"arms must have dim {self._dim}, got {part.dim}")
        return part, None

    def check_rows(self, arms: Any, mask: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """The same for what must be rows; the mask is a copy."""
        offered, allowed = self.check(arms, mask)
        if is_part(offered):
            raise InvalidInputError(
                "arms must be rows of features, (K, d), to choose several of them"
            )
        return offered, np.ones(len(offered), np.bool_) if allowed is None else allowed.copy()

    def show_many(self, batch: Batch) -> tuple[Any, View]:
        """The arm set and the view that the decisions of a batch are made in, one after another."""
        self._warn_norm(batch.rows.reshape(-1, self._dim))
        part, view = self._rows(batch.rows.shape[1])
        return part, view

    def show(self, arms: Any, allowed: Allowed, order: Any) -> tuple[Any, View]:
        """The arm set, and its view filled; rows in this order, if one is given."""
        if is_part(arms):
            view = arms.view()
            arms.refresh(view, np.uint64(0), 0)
            return arms, view
        self._warn_norm(arms)
        part, view = self._rows(arms.shape[0])
        view.features[:, : arms.shape[0]] = arms.T if order is None else arms[order].T
        view.penalty[: arms.shape[0]] = 0.0
        if allowed is not None:
            hidden = ~(allowed if order is None else allowed[order])
            view.penalty[: arms.shape[0]][hidden] = np.inf
        return part, view

    def _rows(self, size: int) -> tuple[Any, View]:
        if size not in self._sets:
            view = make_view(self._dim, size)
            self._bytes += _bytes_of(view)
            while self._sets and self._bytes > MOST_BYTES:
                _, oldest = self._sets.pop(next(iter(self._sets)))
                self._bytes -= _bytes_of(oldest)
            self._sets[size] = PerRound(size, self._dim, 0.0), view
        return self._sets[size]

    def _warn_norm(self, arms: Floats) -> None:
        if self._warned:
            return
        squares = np.vecdot(arms, arms)
        longest = math.sqrt(squares[squares.argmax()])  # max takes twice as long
        if longest > 1.0 + 1e-6:  # unit vectors in single precision are no news
            self._warned = True
            warn_caller(
                f"an arm has norm {longest:.3g}; the theory assumes at most 1. Divide all features "
                "by the largest norm you expect (and multiply `norm` by it)"
            )


def _bytes_of(view: View) -> int:
    return sum(array.nbytes for array in view)


def _check_mask(mask: Any, size: int) -> NDArray[np.bool_]:
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != (size,):
        raise InvalidInputError(
            f"mask must be {size} booleans, got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any():
        raise InvalidInputError("mask must leave at least one arm, got none")
    return allowed


def takes_noise_scale(policy: Any, learned: Any) -> bool:
    """Whether a reward may come with a spread of its own, as those of `crhl` may."""
    return policy.plays == 1 and hasattr(getattr(learned, "estimate", None), "spread")


def clock_of(learned: Any) -> Any:
    """Return the clock array of `policies.TimeDiscounted`, or None for other policies."""
    return next(
        (part.clock for part in walk(learned) if isinstance(part, TimeDiscountedState)), None
    )


class Kernels:
    """What an agent calls to let its policy work, resolved once for each kind of argument."""

    def __init__(self, policy: Any, learned: Any) -> None:
        self.offers = Offers(policy.dim, getattr(policy, "any_norm", False))
        self.takes_noise_scale = takes_noise_scale(policy, learned)
        self._policy = policy
        self._functions: dict[Any, Function] = {}
        self._lessons = np.zeros(1, np.int64)
        self._bounded = getattr(policy, "capacity", None) is not None
        self._draws = hasattr(policy, "propensity")
        self._quiet = getattr(policy, "choice_writes", None) == ()
        self._own = bool(own_classes(policy))
        self._fades = clock_of(learned) is not None

    def check_room(self, state: AgentState, arms: Any, more: int = 1) -> None:
        """Refuse what this policy cannot play: a set without end, or more than it has room for."""
        if is_part(arms):
            check_finite("policy", self._policy, arms)
        if self._bounded:
            waiting = len({id(decision) for decision in state.tickets.decisions()})
            learned = int(tally(self._policy, state.learned)[0])
            check_room("policy", self._policy, learned + waiting + more)

    def leaves_traces(self, state: AgentState) -> bool:
        """Whether a choice changes anything that matters later."""
        return state.generator is not None or not self._quiet

    def choose(self, state: AgentState, arms: Any, allowed: Allowed) -> Decision:
        """What the policy chooses; ties between rows go to chance if there is a generator."""
        generator, rows = state.generator, 0 if is_part(arms) else arms.shape[0]
        order = generator.permutation(rows) if generator is not None and rows else None
        part, view = self.offers.show(arms, allowed, order)
        if self._own:
            self._try_out(state.learned, part, view)
        arm, estimate, width = self._call(choose_kernel, state.learned, part, view)
        if order is not None and arm >= 0:
            arm = order[arm]
        # + 0.0: a database does not tell -0.0 from 0.0
        return Decision(
            int(arm),
            view.chosen.copy(),
            float(estimate) + 0.0,
            float(width) + 0.0,
            self._policy.plays,
            self._policy.propensity(state.learned) if self._draws else 1.0,
        )

    def choose_many(self, state: AgentState, batch: Batch) -> Choices:
        """What the policy chooses in every decision of a batch, in one compiled call."""
        part, view = self.offers.show_many(batch)
        if self._own:
            self._try_out(state.learned, part, view)
        order = row_orders(batch, state.generator)
        chosen, numbers = np.zeros(batch.size, np.int64), np.ones((batch.size, 3))
        kernel = draw_many_kernel if self._draws else choose_many_kernel
        told = (part, view, batch.rows, batch.hidden, order, chosen, numbers)
        self._call(kernel, state.learned, *told)
        view.penalty[: order.shape[1]] = 0.0
        features = batch.rows[np.arange(batch.size), chosen]
        numbers += 0.0  # a database does not tell -0.0 from 0.0
        arms, (means, widths, chances) = chosen.tolist(), numbers.T.tolist()
        offers = batch.names_of(arms)
        return Choices(arms, features, means, widths, chances, offers)

    def _try_out(self, learned: Any, arms: Any, view: View) -> None:
        """Before the first event: a part of your own that cannot learn must not have decided.

        A fresh state plays some rounds uncompiled, and what learns is compiled.
        """
        policy, plays = self._policy, first_plays(self._policy, arms)
        world = (policy, policy.init(), arms, Identity(), np.ones(policy.dim), view, np.uint64(0))
        rewards = np.sin(np.arange(float(plays)))  # of both signs, around nothing
        episode, trace = make_episode(policy.plays), make_trace(np.array([plays]))
        rehearse_once(play_kernel, *world, rewards, episode, trace, Unobserved())
        x, rewards = view.chosen, np.zeros(policy.plays)
        self._compiled(learn_kernel, learned, x, rewards, self._lessons)
        self._own = False

    def try_out_rows(self, state: AgentState, rows: Floats) -> None:
        """The same before rows are learned: a part of your own that cannot must not have begun."""
        if self._own and len(rows):
            self._try_out(state.learned, *self.offers.show(rows[:1], np.ones(1, np.bool_), None))

    def learn(self, learned: Any, decision: Decision) -> None:
        """Teach a decision whose rewards are all in: once, however often it is called.

        Compiled code counts the lessons, so that no signal can come between the two.
        """
        if decision.lessons is None:
            decision.lessons = self._lessons.item()
        elif decision.lessons != self._lessons.item():
            return
        if self.takes_noise_scale:
            usual, given = self._policy.estimator.spread, decision.noise_scale
            learned.estimate.spread[0] = usual if given is None else given
        if self._fades:
            clock_of(learned)[NOW] = max(decision.times.values())
        rewards = np.fromiter(decision.rewards.values(), np.float64, decision.plays)
        self._call(learn_kernel, learned, decision.features, rewards, self._lessons)

    def teach(self, learned: Any, lesson: Lesson, time: float) -> None:
        """Learn rows one after another in one compiled call: once, as `learn` does."""
        if lesson.lessons is None:
            lesson.lessons = self._lessons.item()
        elif lesson.lessons != self._lessons.item():
            return
        if self.takes_noise_scale:
            learned.estimate.spread[0] = self._policy.estimator.spread
        if self._fades:
            clock_of(learned)[NOW] = time
        self._call(teach_kernel, learned, lesson.rows, lesson.rewards.copy(), self._lessons)

    def revise(self, learned: Any, revision: Revision, reward: float) -> None:
        """Put another reward in the place of one that was learned: once, however often called."""
        if revision.after is None:
            revision.after = revised_arrays(self._policy, learned, revision, reward)
        for name, array in kept(learned).items():
            array[...] = revision.after[name]

    def predict(self, learned: Any, rows: Floats) -> Floats:
        """The mean rewards expected of the rows, and below them the widths."""
        out = np.empty((2, rows.shape[0]))
        self._call(predict_kernel, learned, rows, out)
        return out

    def _compiled(self, factory: Any, learned: Any, *arguments: Any) -> Function:
        kernel = compiled(factory, self._policy, learned, *arguments)
        self._functions[factory, *map(type, arguments)] = kernel
        return kernel

    def _call(self, factory: Any, learned: Any, *arguments: Any) -> Any:
        kernel = self._functions.get((factory, *map(type, arguments)))
        if kernel is None:
            kernel = self._compiled(factory, learned, *arguments)
        return kernel(self._policy, learned, *arguments)
