"""The contracts: what each kind of part must have. This is the only list there is.

A part is a NamedTuple: its fields are constants, its methods are equations. The type checker reads
these Protocols, `check_part` tests a part against them at the door, the verbs are made from them,
and the docs print them.
"""

from typing import Any, Literal, NamedTuple, Protocol

from .._utils.validation import Count, Index
from .arm_buffer import View
from .arrays import Floats, Integers, Key
from .confidence_region import Region


class Link(Protocol):
    """The mean reward of an arm is mu(x.theta), mu increasing."""

    def mean(self, z: float) -> float:
        """mu(z), the expected reward at z = x.theta."""

    def slope(self, z: float) -> float:
        """mu'(z), positive."""

    def kappa(self, norm: float) -> float:
        """The smallest slope on [-norm, norm]."""

    def lipschitz(self, norm: float) -> float:
        """The largest slope on [-norm, norm]."""

    def bound(self, norm: float) -> float:
        """The largest |mu| on [-norm, norm]."""


class ManyMeans(Link, Protocol):
    """What a link may have besides, for estimators that ask it often."""

    def means(self: Link, z: Floats, out: Floats) -> None:
        """mu of every z, to rounding: in a loop that vectorises, if it can."""


class Noise(Protocol):
    """A reward is y = mu(x.theta) + eta, and this draws eta."""

    def draw(self, key: Key, play: int) -> float:
        """The noise of this play, from the uniforms 4 play, ..., 4 play + 2 of the stream `key`."""


class KnownNoise(Noise, Protocol):
    """A noise that knows its moments without drawing."""

    def location(self) -> float:
        """E[eta], nan if there is none."""

    def moment(self, order: float, shift: float = 0.0) -> float:
        """E|shift + eta|^order, inf if it is infinite."""

    def central_moment(self, order: float) -> float:
        """E|eta - E eta|^order."""

    def symmetric(self) -> bool:
        """Whether eta and -eta have one distribution."""

    def tail_index(self) -> float:
        """The order from which on moments are infinite."""


class ArmSet(Protocol):
    """The arms on offer at a play, and the optimistic one among them."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def size(self) -> Index:
        """The number of arms, 0 for a continuous set."""

    @property
    def changes(self) -> Literal["fixed", "frozen", "fresh"]:
        """When the set changes: never, with every decision, with every play."""

    def view(self) -> View:
        """Room for what is on offer."""

    def refresh(self, view: View, key: Key, play: int) -> bool:
        """Put the arms on offer at this play into the view; True if they are new."""

    def top(self, view: View, theta: Floats) -> float:
        """The largest x.theta on offer."""

    def maximise(self, view: View, region: Region, width: float) -> int:
        """The arm of the largest x.centre + width ||x||_{V^-1}, written into view.chosen."""


class Counted(Protocol):
    """What a filter keeps: counts[0] are the plays seen, counts[1] the rewards cut."""

    @property
    def counts(self) -> Integers: ...


class Filter(Protocol):
    """The rewards of one decision made into one number."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Counted:
        """Its memory: a NamedTuple of arrays, `counts` among them (plays seen, rewards cut)."""

    def clean(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        """The one number; `norm` is ||x||_{V^-1}, `predicted` the reward expected of x."""


class Projection(Protocol):
    """How the centre of a region is brought back where theta may be."""

    def project(self, region: Region) -> bool:
        """Move region.centre if it must; True if it moved."""


class Estimate(Protocol):
    """The state of an estimator: whatever it keeps, and a confidence region."""

    @property
    def region(self) -> Region: ...


class Estimator(Protocol):
    """theta-hat and its design matrix, from one cleaned reward at a time."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    def init(self) -> Estimate:
        """Its state: a NamedTuple of arrays, a `region` among them."""

    def predict(self, estimate: Any, z: float) -> float:
        """The mean reward it predicts at z = x.theta."""

    def update(self, estimate: Any, x: Floats, reward: float, rewards: Floats) -> None:
        """Learn from the cleaned reward of x, or from all rewards of the decision. The policy has
        called measure(region, x) and put what it expected into region.numbers[EXPECTED]."""


class Tally(NamedTuple):
    """What a policy has counted so far."""

    updates: int
    projections: int
    truncated: int  # rewards that the filter cut


class Tallied(Protocol):
    """What counts what it does: policies and base routines."""

    def tally(self, state: Any) -> Tally:
        """Updates, projections and cut rewards so far."""


class PerArmEstimator(Tallied, Protocol):
    """A base routine: mean and width of every arm by itself, from data that lie in stages."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    @property
    def stages(self) -> Count:
        """How many stages there are."""

    def init(self) -> Any:
        """Its memory: a NamedTuple of arrays."""

    def estimate_arms(
        self,
        memory: Any,
        stage: int,
        features: Floats,
        alive: Floats,
        estimates: Floats,
        widths: Floats,
    ) -> None:
        """Mean and width of every living column of `features`, from the data of one stage."""

    def arm_width(self, memory: Any, stage: int, x: Floats) -> float:
        """The confidence width of one arm, from the data of one stage."""

    def remember(self, memory: Any, stage: int, x: Floats, rewards: Floats) -> None:
        """Add the rewards of one decision to the data of one stage."""


class Radius(Protocol):
    """How far the confidence region reaches: the root of the papers' gamma."""

    def radius(self, estimate: Any, t: int) -> float:
        """The radius (not squared) after t updates, given the state of the estimator."""


class TimeRadius(Radius, Protocol):
    """A radius that is a function of t alone, and known by its square."""

    def squared(self, t: int) -> float:
        """The square of the radius, gamma, after t updates."""


class Policy(Tallied, Protocol):
    """Chooses an arm, and learns from its rewards."""

    @property
    def dim(self) -> Count:
        """The dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Any:
        """The state: a NamedTuple of arrays, scratch included."""

    def choose(self, state: Any, arms: ArmSet, view: View) -> int:
        """Pick an arm, put its features into view.chosen, return its number."""

    def learn(self, state: Any, x: Floats, rewards: Floats) -> None:
        """Learn from the rewards of one decision, which may come late."""

    def estimate_arm(self, state: Any, x: Floats) -> tuple[float, float]:
        """The mean reward expected of x, and the confidence width of x.theta."""


class Observer(Protocol):
    """Watches a run from outside, for an experiment; it changes nothing."""

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        """Look at the policy, which has just learned from a decision; theta is the true one."""


class Extras(Protocol):
    """What any part may have besides; each has a default."""

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
    def choice_writes(self) -> tuple[str, ...] | None:
        """The arrays in which a policy's choice leaves something that matters later, by dotted
        name; the default, None, is all of them."""

    def propensity(self, state: Any) -> float:
        """Of a policy that draws its arm: how likely its last choice was. The default is 1."""

    def sound(self, state: Any) -> bool:
        """Whether the numbers that index other arrays of this state, read from a file, can."""

    def threshold_in_force(self, memory: Any) -> float:
        """Of a filter or estimator that cuts rewards: the level by which the next is judged."""

    def revise(self, estimate: Any, x: Floats, before: float, after: float) -> None:
        """Of an estimator: bring it to where it would be if x's cleaned reward had been `after`,
        exactly or nearly. It runs uncompiled. Without it, `Agent.revise` refuses."""

    def log_density(self, x: Floats) -> Floats:
        """The logarithm of the density of a noise at each of x: its moments by quadrature."""

    def check(self) -> None:
        """Raise InvalidInputError if the fields, each allowed by itself, do not fit together."""


CONTRACTS: dict[str, type] = {
    "link": Link,
    "noise": Noise,
    "noise with known moments": KnownNoise,
    "arm set": ArmSet,
    "filter": Filter,
    "projection": Projection,
    "estimator": Estimator,
    "base routine": PerArmEstimator,
    "radius": Radius,
    "policy": Policy,
    "anything else a part may have": Extras,
}
