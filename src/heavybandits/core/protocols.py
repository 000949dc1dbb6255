"""The contracts: the members that each kind of part must have. No other list of them exists.

A part is a NamedTuple: its fields are parameters, its methods are equations. Type checkers read
these Protocols, `check_part` validates parts against them, `dispatch` makes its functions from
them, and `docs/make_tables.py` prints them.
"""

from typing import Any, Literal, NamedTuple, Protocol

from .._utils.validation import Count, Index
from .arm_buffer import ArmBuffer
from .arrays import Floats, Integers, Key
from .confidence_region import Region

Redraw = Literal["never", "decision", "round"]


class Link(Protocol):
    """The mean reward of an arm x is mu(x.theta), where mu is increasing."""

    def mean(self, z: float) -> float:
        """Return mu(z), the expected reward at z = x.theta."""

    def slope(self, z: float) -> float:
        """Return mu'(z), which is positive."""

    def kappa(self, norm: float) -> float:
        """Return the smallest slope on [-norm, norm]."""

    def lipschitz(self, norm: float) -> float:
        """Return the largest slope on [-norm, norm]."""

    def bound(self, norm: float) -> float:
        """Return the largest |mu| on [-norm, norm]."""


class ManyMeans(Link, Protocol):
    """An optional member of links, for estimators that evaluate the link often."""

    def means(self: Link, z: Floats, out: Floats) -> None:
        """out = mu of every z, up to rounding, in a loop that vectorises."""


class Noise(Protocol):
    """A reward is y = mu(x.theta) + eta; the noise draws eta."""

    def draw(self, key: Key, play: int) -> float:
        """Return the noise of a play, from uniforms 4 play, ..., 4 play + 2 of the stream `key`."""


class KnownNoise(Noise, Protocol):
    """A noise whose moments are known without drawing."""

    def location(self) -> float:
        """Return E[eta], nan if it does not exist."""

    def moment(self, order: float, shift: float = 0.0) -> float:
        """Return E|shift + eta|^order, inf if it is infinite."""

    def central_moment(self, order: float) -> float:
        """Return E|eta - E eta|^order."""

    def symmetric(self) -> bool:
        """Return True if eta and -eta have the same distribution."""

    def tail_index(self) -> float:
        """Return the order from which on moments are infinite."""


class ArmSet(Protocol):
    """The arms that are available at a play, and the optimistic one among them."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def size(self) -> Index:
        """The number of arms, 0 for a continuous set."""

    @property
    def redraw(self) -> Redraw:
        """When the arms change: "never", with every "decision", or with every "round" (play)."""

    def make_buffer(self) -> ArmBuffer:
        """Make a buffer for the available arms."""

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        """Write the arms of this play into the buffer; return True if they are new."""

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        """Return the largest x.theta of the available arms."""

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        """Return the arm of the largest x.centre + width ||x||_{V^-1}; copy its features into
        buffer.chosen."""


class Counted(Protocol):
    """The memory of a filter: counts[0] is the number of plays seen, counts[1] the number of
    truncated rewards. The functions of `parts.filters.memory` read and write them."""

    @property
    def counts(self) -> Integers: ...


class Filter(Protocol):
    """Turn the rewards of one decision into one number."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Counted:
        """Make the memory: a NamedTuple of arrays with a field `counts`, as `make_memory` makes."""

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        """Return the filtered reward of an arm x; `norm` is ||x||_{V^-1}, `predicted` the reward
        that the estimator expects."""


class Projection(Protocol):
    """Move the centre of a region back into the set of possible theta."""

    def project(self, region: Region) -> bool:
        """Move region.centre if it is outside the set; return True if it moved."""


class Observation(NamedTuple):
    """One decision and its rewards, as an estimator receives it."""

    x: Floats  # features of the arm
    reward: float  # the filtered reward
    rewards: Floats  # all rewards of the decision
    predicted: float  # the reward that the estimator expected
    norm: float  # ||x||_{V^-1}


class Estimate(Protocol):
    """The state of an estimator: any arrays, and a confidence region."""

    @property
    def region(self) -> Region: ...


class Estimator(Protocol):
    """Estimate theta and its design matrix V from one filtered reward at a time."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    def init(self) -> Estimate:
        """Make the state: a NamedTuple of arrays with a field `region`."""

    def predict(self, estimate: Any, z: float) -> float:
        """Return the mean reward predicted at z = x.theta."""

    def update(self, estimate: Any, observation: Observation) -> None:
        """Learn from one decision: `observation` has x, the filtered `reward`, all `rewards`, the
        `predicted` reward and the `norm` ||x||_{V^-1}, which the policy got from
        measure_arm: measure(estimate.region, x), unless the estimator defines it."""


class ArmMeasure(Estimator, Protocol):
    """Optional members of an estimator that measures arms itself, in other coordinates or with more
    digits than V^-1 has."""

    def best_arm(
        self: Estimator, estimate: Any, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        """Return the arm of the largest x.centre + width ||x||_{V^-1}; copy its features into
        buffer.chosen. By default arms.maximise does so, with V^-1."""

    def arm_norm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return ||x||_{V^-1}. By default V^-1 is used."""

    def measure_arm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return ||x||_{V^-1} and prepare the update that follows. By default
        measure(estimate.region, x)."""

    def score_arm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return z = x.theta, for `predict`. By default dot(x, estimate.region.centre)."""


class Tally(NamedTuple):
    """Counts of a policy."""

    updates: int
    projections: int
    truncated: int  # rewards that were clipped or truncated


class Tallied(Protocol):
    """A part that counts what it does: a policy or a per-arm estimator."""

    def tally(self, state: Any) -> Tally:
        """Return the numbers of updates, projections and truncated rewards."""


class PerArmEstimator(Tallied, Protocol):
    """Estimate the mean and the width of every arm separately, from data kept in stages."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    @property
    def stages(self) -> Count:
        """The number of stages."""

    def init(self) -> Any:
        """Make the memory: a NamedTuple of arrays."""

    def estimate_arms(
        self,
        memory: Any,
        stage: int,
        features: Floats,
        alive: Floats,
        estimates: Floats,
        widths: Floats,
    ) -> None:
        """Write mean and width of every column of `features` that is alive, from one stage."""

    def arm_width(self, memory: Any, stage: int, x: Floats) -> float:
        """Return the confidence width of one arm, from the data of one stage."""

    def remember(self, memory: Any, stage: int, x: Floats, rewards: Floats) -> None:
        """Add the rewards of one decision to the data of one stage."""


class Radius(Protocol):
    """The radius of the confidence region: the square root of the papers' gamma."""

    def radius(self, estimate: Any, t: int) -> float:
        """Return the radius (not squared) after t updates, given the state of the estimator."""


class TimeRadius(Radius, Protocol):
    """A radius that depends on t only and is known by its square."""

    def squared(self, t: int) -> float:
        """Return the square of the radius, gamma, after t updates."""


class Policy(Tallied, Protocol):
    """Choose an arm, and learn from its rewards."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Any:
        """Make the state: a NamedTuple of arrays, scratch included."""

    def choose(self, state: Any, arms: ArmSet, buffer: ArmBuffer) -> int:
        """Choose an arm, copy its features into buffer.chosen, return its number."""

    def learn(self, state: Any, x: Floats, rewards: Floats) -> None:
        """Learn from the rewards of one decision, which may come late."""

    def estimate_arm(self, state: Any, x: Floats) -> tuple[float, float]:
        """Return the expected reward of x, and the confidence width of x.theta."""


class Observer(Protocol):
    """Observe a run, for an experiment, without changing it."""

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        """Read the state after the policy learned from a decision; theta is the true one."""


class Extras(Protocol):
    """Optional members of any part; each has a default."""

    @property
    def capacity(self) -> int | None:
        """Decisions a policy or estimator has room for; None, the default, for no limit."""

    @property
    def finite_only(self) -> bool:
        """True for a policy that cannot play continuous arm sets; False is the default."""

    @property
    def any_norm(self) -> bool:
        """True for a policy or estimator that takes arms of any length; False is the default."""

    @property
    def own_rows(self) -> bool:
        """True for an estimator whose theta belongs to rows that it makes of the arms, with one
        number more than features, of which `score_arm` and `measure_arm` know; False is the
        default."""

    @property
    def choice_writes(self) -> tuple[str, ...] | None:
        """The arrays, by dotted name, that a policy's choice changes for later decisions, without
        those of a policy inside it; None, the default, for all arrays."""

    def propensity(self, state: Any) -> float:
        """For a policy that draws its arm, or holds one that does: return the probability of the
        last choice. The default is 1."""

    def is_valid(self, state: Any) -> bool:
        """Return True if the indices in a state read from a file are within their arrays."""

    def threshold_in_force(self, memory: Any) -> float:
        """For a filter or estimator that clips or truncates: return the threshold of the next
        reward."""

    def revise(self, estimate: Any, x: Floats, before: float, after: float) -> None:
        """For an estimator: change the estimate, exactly or nearly, as if the filtered reward of x
        had been `after` instead of `before`. It runs uncompiled. Without it, `Agent.revise`
        raises."""

    def learned_count(self, estimate: Any) -> int:
        """For an estimator that may restart: return the number of rewards since its last start.
        `Agent.revise` leaves an estimate unchanged that has forgotten the reward."""

    def split_arm(self, estimate: Any, x: Floats) -> tuple[Floats, Floats]:
        """For an estimator: return what each feature adds to the score of x, and to its squared
        norm; one entry more is the level. By default x_i theta_i and x_i (V^-1 x)_i. It runs
        uncompiled, for `Agent.explain`."""

    def log_density(self, x: Floats) -> Floats:
        """For a noise: return the logarithm of its density at each x, for moments by quadrature."""

    def check(self) -> None:
        """Raise InvalidInputError if the fields, each valid alone, contradict each other."""


CONTRACTS: dict[str, type] = {
    "link": Link,
    "noise": Noise,
    "noise with known moments": KnownNoise,
    "arm set": ArmSet,
    "filter": Filter,
    "projection": Projection,
    "estimator": Estimator,
    "per-arm estimator": PerArmEstimator,
    "radius": Radius,
    "policy": Policy,
    "anything else a part may have": Extras,
}
