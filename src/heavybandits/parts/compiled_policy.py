"""One policy as compiled functions: choose, learn, predict.

Agents, `evaluate` and `replay` use it. It is not in `core`, because it needs parts: `arms.Rows` for
the rows of features that are given, random arms and a link for the dry run.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, PartError, warn_caller
from .._utils.validation import bounded_array
from ..core.arm_buffer import ArmBuffer, make_arm_buffer
from ..core.arrays import Booleans, Floats, Integers
from ..core.capabilities import (
    accepts_any_norm,
    capacity_of,
    check_propensity,
    choice_writes_of,
    set_noise_scale,
    takes_noise_scale,
)
from ..core.compile import Factory, Function, compiled, rehearse_once
from ..core.dispatch import tally
from ..core.dry_run import first_plays
from ..core.kernels import (
    choose_kernel,
    choose_rows_kernel,
    learn_kernel,
    play_kernel,
    predict_kernel,
    warm_start_kernel,
)
from ..core.loop import Unobserved, make_episode, make_trace
from ..core.part import check_part, is_part, own_classes, separate_streams
from ..core.part_checks import check_arm_set
from ..core.protocols import ArmSet, Policy
from ..core.world import STILL
from .arms import PerRound, Rows
from .links import Identity
from .policies.checks import LONGEST, check_finite, check_room
from .policies.time_discounted import has_clock, set_time

MAX_BYTES = 1 << 26  # of all buffers together: those of sizes no longer used are dropped

Mask = NDArray[np.bool_] | None  # False for an arm that cannot be chosen; None for all arms
State = Any  # of a policy: a NamedTuple of arrays


class Choice(NamedTuple):
    """One decision of a policy.

    `arm` is the row of the arms, -1 for an arm set without rows; `expected` the mean reward
    expected of the arm, `width` the confidence width of x.theta, `propensity` the probability of
    the choice.
    """

    arm: int
    features: Floats
    expected: float
    width: float
    propensity: float


class Choices(NamedTuple):
    """Many decisions of a policy: the fields of `Choice` as arrays, without the features."""

    arms: Integers
    expected: Floats
    widths: Floats
    propensities: Floats


class RowBuffer(NamedTuple):
    """What a decision among so many rows needs, allocated once."""

    arms: Rows
    buffer: ArmBuffer
    mask: Booleans  # (1, K), every row can be chosen
    order: Integers  # (1, K), the rows as they are
    chosen: Integers  # (1,), the row chosen
    numbers: Floats  # (1, 3), its mean, width and propensity


class RowBuffers:
    """One buffer per number of rows, the oldest dropped beyond `MAX_BYTES`."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._buffers: dict[int, RowBuffer] = {}
        self.nbytes = 0

    def get(self, size: int) -> RowBuffer:
        """Return the buffer for this many rows."""
        if size not in self._buffers:
            made = RowBuffer(
                Rows(size, self._dim),
                make_arm_buffer(self._dim, size),
                np.ones((1, size), np.bool_),
                np.arange(size).reshape(1, size),
                np.zeros(1, np.int64),
                np.zeros((1, 3)),
            )
            self.nbytes += _bytes_of(made)
            while self._buffers and self.nbytes > MAX_BYTES:
                self.nbytes -= _bytes_of(self._buffers.pop(next(iter(self._buffers))))
            self._buffers[size] = made
        return self._buffers[size]


def _bytes_of(buffer: RowBuffer) -> int:
    return sum(array.nbytes for array in (*buffer.buffer, buffer.mask, buffer.order))


def check_mask(mask: Any, size: int) -> Booleans:
    """Return the mask of this many arms, one of which at least can be chosen."""
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != (size,):
        raise InvalidInputError(
            f"mask must be {size} booleans, got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any():
        raise InvalidInputError("mask must leave at least one arm, got none")
    return np.ascontiguousarray(allowed)


def check_chosen(policy: Policy, chosen: Integers, mask: Booleans) -> None:
    """Raise PartError if a policy of your own has chosen an arm that it could not choose."""
    size = mask.shape[1]
    for arm, allowed in zip(chosen.tolist(), mask, strict=True):
        if not (0 <= arm < size and allowed[arm]):
            what = "is masked" if 0 <= arm < size else f"is none of the {size} arms"
            raise PartError(
                f"{type(policy).__name__}.choose: it returned arm {arm}, which {what}; arms with "
                "an infinite buffer.penalty cannot be chosen"
            )


class CompiledPolicy:
    """The functions of one policy, compiled at their first call and then called directly.

    It keeps no state of the policy: every method takes the state, which `policy.init()` makes, and
    changes its arrays in place.

    Parameters
    ----------
    policy : Policy
        What an algorithm such as `linucb` returns.

    Attributes
    ----------
    policy : Policy
        The policy, with a stream of its own for every part that draws.
    takes_noise_scale : bool
        True if `learn` may be given the noise scale of a reward.
    has_clock : bool
        True if the time of a decision matters to `learn`.
    has_capacity : bool
        True if the policy has room for a limited number of decisions.
    choice_is_pure : bool
        True if a choice changes nothing that matters later.

    >>> from heavybandits import linucb
    >>> policy = linucb(dim=2, radius=1.0)
    >>> compiled_policy, state = CompiledPolicy(policy), policy.init()
    >>> choice = compiled_policy.choose(state, np.eye(2))
    >>> compiled_policy.learn(state, choice.features, np.array([1.0]))
    >>> choice.arm, compiled_policy.predict(state, np.eye(2))[0].tolist()
    (0, [0.5, 0.0])
    """

    def __init__(self, policy: Policy) -> None:
        check_propensity(policy)
        self.policy = separate_streams(policy)
        self.takes_noise_scale = takes_noise_scale(policy)
        self.choice_is_pure = choice_writes_of(policy) == ()
        self.has_clock = has_clock(policy)
        self.has_capacity = capacity_of(policy) is not None
        self._warned = accepts_any_norm(policy)
        self._is_own = self._own = bool(own_classes(policy))
        self._known_sets: set[type] = set()  # arm sets of your own that are validated
        self._buffers = RowBuffers(policy.dim)
        self._functions: dict[Any, Function] = {}
        self._lessons = np.zeros(1, np.int64)

    # ---- input validation

    def check_arms(self, arms: Any, mask: Any = None) -> tuple[ArmSet | Floats, Mask]:
        """Return the arms as an arm set or as (K, d) floats, and the mask as K booleans or None."""
        if not is_part(arms):
            rows = bounded_array("arms", arms, (None, self.policy.dim))
            return rows, None if mask is None else check_mask(mask, rows.shape[0])
        if mask is not None:
            raise InvalidInputError("mask must be None for an arm set without rows")
        part = check_part("arms", arms, ArmSet)
        if part.dim != self.policy.dim:
            raise InvalidInputError(f"arms must have dim {self.policy.dim}, got {part.dim}")
        return part, None

    def check_rows(self, arms: Any, mask: Any = None) -> tuple[Floats, Booleans]:
        """Return arms that must be rows as (K, d) floats, and a copy of the mask."""
        rows, allowed = self.check_arms(arms, mask)
        if not isinstance(rows, np.ndarray):
            raise InvalidInputError("arms must be rows of features, (K, d), to choose several")
        return rows, np.ones(len(rows), np.bool_) if allowed is None else allowed.copy()

    def check_capacity(self, state: State, more: int) -> None:
        """Raise InvalidInputError if the policy has no room for so many more decisions."""
        if self.has_capacity:
            check_room("policy", self.policy, int(tally(self.policy, state)[0]) + more)

    def check_arm_set(self, arms: ArmSet | Floats | None) -> None:
        """Raise InvalidInputError for a continuous set if the policy needs a finite one."""
        if arms is not None and not isinstance(arms, np.ndarray):
            check_finite("policy", self.policy, arms)

    def warn_norm(self, arms: ArmSet | Floats) -> None:
        """Warn once about a row that is longer than the theory assumes; unless any length is fine.

        `arms` is an arm set, for which there is nothing to warn about, or an array (..., d).
        """
        if self._warned or not isinstance(arms, np.ndarray):
            return
        squares = np.vecdot(arms, arms)
        longest = math.sqrt(squares.item(squares.argmax()))  # max takes twice as long
        if longest > LONGEST:
            self._warned = True
            warn_caller(
                f"an arm has norm {longest:.3g}; the theory assumes at most 1. Divide all features "
                "by the largest norm you expect (and multiply `norm` by it)"
            )

    # ---- choosing

    def choose(
        self,
        state: State,
        arms: ArmSet | Floats,
        mask: Mask = None,
        *,
        order: Integers | None = None,
    ) -> Choice:
        """Choose one arm.

        Parameters
        ----------
        state : NamedTuple of arrays
            The state of the policy.
        arms : ArmSet, or array of shape (K, d)
            The arms, from `check_arms`.
        mask : array of K booleans, optional
            False for a row that cannot be chosen.
        order : array of K integers, optional
            The order in which the policy sees the rows: the first of equally good rows wins. The
            arm in the result is the row itself.
        """
        if not isinstance(arms, np.ndarray):
            return self._choose_from_set(state, arms)
        rows, buffer, known, same, chosen, numbers = self._buffers.get(arms.shape[0])
        self._dry_run(state, rows)
        given, allowed = np.ascontiguousarray(arms)[None], known if mask is None else mask[None]
        shown = same if order is None else order[None]
        self._call(choose_rows_kernel, state, rows, buffer, given, allowed, shown, chosen, numbers)
        if self._is_own:
            check_chosen(self.policy, chosen, allowed)
        return Choice(chosen.item(), buffer.chosen.copy(), *numbers.tolist()[0])

    def _choose_from_set(self, state: State, arms: ArmSet) -> Choice:
        if type(arms) not in self._known_sets and own_classes(arms):
            check_arm_set(arms, norm=math.inf)
            self._known_sets.add(type(arms))
        buffer = arms.make_buffer()
        arms.refresh(buffer, np.uint64(0), 0)
        self._dry_run(state, arms)
        arm, expected, width, chance = self._call(choose_kernel, state, arms, buffer)
        return Choice(int(arm), buffer.chosen.copy(), float(expected), float(width), float(chance))

    def choose_many(
        self, state: State, rows: Floats, mask: Booleans, order: Integers | None = None
    ) -> Choices:
        """Choose one arm in each of n decisions, in one compiled call.

        Parameters
        ----------
        state : NamedTuple of arrays
            The state of the policy.
        rows : array of shape (n, K, d)
            The arms of every decision.
        mask : array of shape (n, K)
            False for a row that cannot be chosen.
        order : array of shape (n, K), optional
            As for `choose`.
        """
        size, most, _ = rows.shape
        arms, buffer, _, same, *_ = self._buffers.get(most)
        self._dry_run(state, arms)
        chosen, numbers = np.zeros(size, np.int64), np.zeros((size, 3))
        if order is None:
            order = np.repeat(same, size, axis=0)
        self._call(choose_rows_kernel, state, arms, buffer, rows, mask, order, chosen, numbers)
        if self._is_own:
            check_chosen(self.policy, chosen, mask)
        return Choices(chosen, *numbers.T)

    # ---- learning

    @property
    def lessons(self) -> int:
        """The calls of `learn` and `warm_start` that are complete.

        Compiled code counts them: an interrupt comes before the whole call or after it.
        """
        return self._lessons.item()

    def learn(
        self,
        state: State,
        x: Floats,
        rewards: Floats,
        *,
        noise_scale: float | None = None,
        time: float = 0.0,
    ) -> None:
        """Learn from the rewards of one decision.

        Parameters
        ----------
        state : NamedTuple of arrays
            The state of the policy.
        x : array of shape (d,)
            The features of the arm.
        rewards : array of `policy.plays` floats
            Its rewards. They are changed in place.
        noise_scale : float, optional
            Noise scale of this reward, if `takes_noise_scale`.
        time : float, default 0
            Time of the decision in seconds, for `policies.TimeDiscounted`.
        """
        self._prepare(state, noise_scale, time)
        self._call(learn_kernel, state, x, rewards, self._lessons)

    def warm_start(self, state: State, rows: Floats, rewards: Floats, *, time: float = 0.0) -> None:
        """Learn from rows (n, d) and their rewards (n, plays), one after another in one call."""
        self._prepare(state, None, time)
        self._call(warm_start_kernel, state, rows, rewards.copy(), self._lessons)

    def _prepare(self, state: State, noise_scale: float | None, time: float) -> None:
        if self.takes_noise_scale:
            set_noise_scale(self.policy, state, noise_scale)
        if self.has_clock:
            set_time(state, time)

    # ---- prediction

    def predict(self, state: State, rows: Floats) -> Floats:
        """Return the mean rewards expected of the rows and their widths, shape (2, n)."""
        out = np.empty((2, rows.shape[0]))
        self._call(predict_kernel, state, rows, out)
        return out

    # ---- compilation

    def compile(self, factory: Factory, state: State, *arguments: Any) -> Function:
        """Return a kernel that begins with a policy and its state, compiled for these arguments."""
        return compiled(factory, self.policy, state, *arguments)

    def dry_run(self, state: State) -> None:
        """Test parts of your own before anything depends on them.

        The policy plays some rounds uncompiled, and the function that learns is compiled. For parts
        of the library there is nothing to test.
        """
        self._dry_run(state, Rows(1, self.policy.dim))

    def _dry_run(self, state: State, arms: ArmSet) -> None:
        if not self._own:
            return
        policy, plays = self.policy, first_plays(self.policy, arms)
        played = PerRound(arms.size, arms.dim, 0.0) if isinstance(arms, Rows) else arms
        theta, buffer = np.ones(policy.dim), played.make_buffer()
        setting = (policy, policy.init(), played, Identity(), theta, buffer)
        rewards = np.sin(np.arange(float(plays)))  # of both signs, around zero
        episode, trace = make_episode(policy.plays), make_trace(np.array([plays]))
        record = (episode, trace, Unobserved(), STILL)
        rehearse_once(play_kernel, *setting, np.uint64(0), rewards, *record)
        x, rewards = np.zeros(policy.dim), np.zeros(policy.plays)
        self._resolve(learn_kernel, state, x, rewards, self._lessons)
        self._own = False

    def _resolve(self, factory: Factory, state: State, *arguments: Any) -> Function:
        kernel = self.compile(factory, state, *arguments)
        self._functions[factory, type(arguments[0])] = kernel
        return kernel

    def _call(self, factory: Factory, state: State, *arguments: Any) -> Any:
        kernel = self._functions.get((factory, type(arguments[0])))  # the rest are arrays
        if kernel is None:
            kernel = self._resolve(factory, state, *arguments)
        return kernel(self.policy, state, *arguments)
