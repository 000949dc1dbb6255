"""The contracts: the members that each kind of part must have. No other list of them exists.

A part is a NamedTuple: its fields are parameters, its methods are equations. Type checkers read
these Protocols, `check_part` validates parts against them, `dispatch` makes its functions from
them, and `docs/make_tables.py` prints them.
"""

from typing import Any, Literal, NamedTuple, Protocol

from .._utils.validation import Count, Index, NonNegative
from .arm_buffer import ArmBuffer
from .arrays import Floats, Integers, Key
from .confidence_region import Region

Redraw = Literal["never", "decision", "round"]


class Link(Protocol):
    """Model the mean reward of an arm x as mu(x.theta), where mu is increasing."""

    def mean(self, z: float) -> float:
        """Return mu(z), the expected reward at z = x.theta.

        Parameters
        ----------
        z : float
            x.theta.

        Returns
        -------
        float
            mu(z), a finite number.
        """

    def slope(self, z: float) -> float:
        """Return mu'(z), which is positive.

        Parameters
        ----------
        z : float
            x.theta.

        Returns
        -------
        float
            mu'(z), a positive number.
        """

    def kappa(self, norm: float) -> float:
        """Return the smallest slope on [-norm, norm].

        Parameters
        ----------
        norm : float
            S, the half-length of the interval.

        Returns
        -------
        float
            kappa, a positive number.
        """

    def lipschitz(self, norm: float) -> float:
        """Return the largest slope on [-norm, norm].

        Parameters
        ----------
        norm : float
            S, the half-length of the interval.

        Returns
        -------
        float
            L.
        """

    def bound(self, norm: float) -> float:
        """Return the largest |mu| on [-norm, norm].

        Parameters
        ----------
        norm : float
            S, the half-length of the interval.

        Returns
        -------
        float
            U.
        """


class ManyMeans(Link, Protocol):
    """Add an optional member of links, for estimators that evaluate the link often."""

    def means(self: Link, z: Floats, out: Floats) -> None:
        """Write mu of every z into `out`, up to rounding, in a loop that vectorises.

        Parameters
        ----------
        z : array
            Values x.theta.
        out : array of the same shape
            Receives mu(z).
        """


class Noise(Protocol):
    """Draw eta, the noise of a reward y = mu(x.theta) + eta."""

    def draw(self, key: Key, play: int) -> float:
        """Return the noise of a play, from uniforms 4 play, ..., 4 play + 2 of the stream `key`.

        Parameters
        ----------
        key : uint64
            Key of the random stream.
        play : int
            Number of the play, from 0.

        Returns
        -------
        float
            The noise, a finite number in the unit of the reward.
        """


class ArmNoise(Noise, Protocol):
    """Add an optional member of noises that see the arm and its mean reward."""

    def reward(self: Noise, mean: float, x: Floats, noise: float, key: Key, play: int) -> float:
        """Return the reward of an arm, by default mean + noise.

        Regret is measured with `mean`, so the expected reward should be `mean`.

        Parameters
        ----------
        mean : float
            Mean reward of the arm.
        x : array of shape (d,)
            Features of the arm.
        noise : float
            What `draw` returned for this play.
        key : uint64
            Key of another random stream, from which the method may draw any uniform.
        play : int
            Number of the play, from 0.

        Returns
        -------
        float
            The reward, a finite number.
        """


class Drift(Protocol):
    """Move theta while a problem is played."""

    def move(self, theta: Floats, start: Floats, key: Key, play: int) -> bool:
        """Change theta to that of a play, and return True if it differs from the play before.

        The method is called once per play, in order. Policies do not see theta.

        Parameters
        ----------
        theta : array of shape (d,)
            theta of the play before, which changes in place. At play 0 it is `start`.
        start : array of shape (d,)
            theta of the problem.
        key : uint64
            Key of a random stream, from which the method may draw any uniform.
        play : int
            Number of the play, from 0.

        Returns
        -------
        bool
            True if theta changed.
        """


class Delay(Protocol):
    """Delay the rewards of decisions."""

    @property
    def room(self) -> Count:
        """Largest number of decisions that wait for their rewards. One more is an error."""

    def wait(self, key: Key, decision: int) -> int:
        """Return the number of plays after which the rewards of a decision arrive.

        0 delivers them at once. A negative number means that they never arrive.

        Parameters
        ----------
        key : uint64
            Key of a random stream, from which the method may draw any uniform.
        decision : int
            Number of the decision, from 0.

        Returns
        -------
        int
            Plays between the last play of the decision and the arrival.
        """


class Adversary(Protocol):
    """Change the rewards that a policy sees, within a budget."""

    @property
    def budget(self) -> NonNegative:
        """Largest sum of |changes| in one run, in the unit of the reward."""

    def attack(self, reward: float, mean: float, best: float, key: Key, play: int) -> float:
        """Return the reward that the policy should see.

        The loop limits the change to what is left of the budget.

        Parameters
        ----------
        reward : float
            The reward with its noise.
        mean : float
            Mean reward of the chosen arm.
        best : float
            Mean reward of the best available arm.
        key : uint64
            Key of a random stream, from which the method may draw any uniform.
        play : int
            Number of the play, from 0.

        Returns
        -------
        float
            A finite number; `reward` for no attack.
        """


class KnownNoise(Noise, Protocol):
    """Draw noise whose moments are known without drawing."""

    def location(self) -> float:
        """Return E[eta], nan if it does not exist.

        Returns
        -------
        float
            The mean of the noise.
        """

    def moment(self, order: float, shift: float = 0.0) -> float:
        """Return E|shift + eta|^order, inf if it is infinite.

        Parameters
        ----------
        order : float
            Order of the moment, positive.
        shift : float, default 0.0
            Number added to the noise.

        Returns
        -------
        float
            The raw moment.
        """

    def central_moment(self, order: float) -> float:
        """Return E|eta - E eta|^order.

        Parameters
        ----------
        order : float
            Order of the moment, positive.

        Returns
        -------
        float
            The central moment.
        """

    def symmetric(self) -> bool:
        """Return True if eta and -eta have the same distribution.

        Returns
        -------
        bool
            True for noise that is symmetric about zero.
        """

    def tail_index(self) -> float:
        """Return the order from which on moments are infinite.

        Returns
        -------
        float
            The tail index, inf if all moments are finite.
        """


class ArmSet(Protocol):
    """Offer the arms of a play, and find the optimistic arm among them."""

    @property
    def dim(self) -> Count:
        """Dimension d of the arms."""

    @property
    def size(self) -> Index:
        """Number of arms, 0 for a continuous set."""

    @property
    def redraw(self) -> Redraw:
        """When the arms change: "never", with every "decision", or with every "round" (play)."""

    def make_buffer(self) -> ArmBuffer:
        """Make a buffer for the available arms.

        Returns
        -------
        ArmBuffer
            A new buffer.
        """

    def refresh(self, buffer: ArmBuffer, key: Key, play: int) -> bool:
        """Write the arms of this play into the buffer; return True if they are new.

        Parameters
        ----------
        buffer : ArmBuffer
            Receives the arms.
        key : uint64
            Key of the random stream.
        play : int
            Number of the play, from 0.

        Returns
        -------
        bool
            True if the arms differ from those of the play before.
        """

    def top(self, buffer: ArmBuffer, theta: Floats) -> float:
        """Return the largest x.theta of the available arms.

        Parameters
        ----------
        buffer : ArmBuffer
            The available arms.
        theta : array of shape (d,)
            The parameter.

        Returns
        -------
        float
            The largest x.theta.
        """

    def maximise(self, buffer: ArmBuffer, region: Region, width: float) -> int:
        """Return the arm of the largest x.centre + width ||x||_{V^-1}, copied to buffer.chosen.

        Parameters
        ----------
        buffer : ArmBuffer
            The available arms.
        region : Region
            The confidence region, with centre and V^-1.
        width : float
            Radius of the region.

        Returns
        -------
        int
            Number of the arm; -1 for a continuous set.
        """


class Counted(Protocol):
    """Store the counts of a filter.

    counts[0] is the number of plays seen, counts[1] the number of truncated rewards. The functions
    `count_seen`, `count_truncated`, `seen_count` and `truncated_count` read and write them.
    """

    @property
    def counts(self) -> Integers: ...


class Filter(Protocol):
    """Turn the rewards of one decision into one number."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Counted:
        """Make the memory: a NamedTuple of arrays with a field `counts`, as of `make_memory`.

        Returns
        -------
        Counted
            A new memory.
        """

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        """Return the filtered reward of an arm x.

        `norm` is ||x||_{V^-1}, and `predicted` the reward that the estimator expects.

        Parameters
        ----------
        memory : Counted
            The memory, from `init`. It may change.
        rewards : array of shape (plays,)
            Rewards of the decision.
        norm : float
            ||x||_{V^-1}.
        predicted : float
            The reward that the estimator expects.

        Returns
        -------
        float
            The filtered reward, a finite number.
        """


class Projection(Protocol):
    """Move the centre of a region back into the set of possible theta."""

    def project(self, region: Region) -> bool:
        """Move region.centre if it is outside the set; return True if it moved.

        Parameters
        ----------
        region : Region
            The region, whose centre changes in place.

        Returns
        -------
        bool
            True if the centre moved.
        """


class Observation(NamedTuple):
    """Store one decision and its rewards, as an estimator receives it.

    Attributes
    ----------
    x : array of shape (d,)
        Features of the arm.
    reward : float
        The filtered reward.
    rewards : array of shape (plays,)
        All rewards of the decision.
    predicted : float
        The reward that the estimator expected.
    norm : float
        ||x||_{V^-1}.
    """

    x: Floats
    reward: float
    rewards: Floats
    predicted: float
    norm: float


class Estimate(Protocol):
    """Store the state of an estimator: any arrays, and a confidence region."""

    @property
    def region(self) -> Region: ...


class Estimator(Protocol):
    """Estimate theta and its design matrix V from one filtered reward at a time."""

    @property
    def dim(self) -> Count:
        """Dimension d of the arms."""

    def init(self) -> Estimate:
        """Make the state: a NamedTuple of arrays with a field `region`.

        Returns
        -------
        Estimate
            A new state.
        """

    def predict(self, estimate: Any, z: float) -> float:
        """Return the mean reward predicted at z = x.theta.

        Parameters
        ----------
        estimate : Estimate
            The state, from `init`.
        z : float
            x.theta.

        Returns
        -------
        float
            The predicted reward, a finite number.
        """

    def update(self, estimate: Any, observation: Observation) -> None:
        """Learn from one decision.

        `observation` has x, the filtered `reward`, all `rewards`, the `predicted` reward and the
        `norm` ||x||_{V^-1}, which the policy got from `measure_arm`: measure(estimate.region, x),
        unless the estimator defines it.

        Parameters
        ----------
        estimate : Estimate
            The state, which changes in place.
        observation : Observation
            The decision and its rewards.
        """


class ArmMeasure(Estimator, Protocol):
    """Add optional members of an estimator that measures arms itself: in other coordinates, or with
    more digits than V^-1 has."""

    def best_arm(
        self: Estimator, estimate: Any, arms: ArmSet, buffer: ArmBuffer, width: float
    ) -> int:
        """Return the arm of the largest x.centre + width ||x||_{V^-1}, copied to buffer.chosen.

        By default arms.maximise does so, with V^-1.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        arms : ArmSet
            The arm set.
        buffer : ArmBuffer
            The available arms.
        width : float
            Radius of the region.

        Returns
        -------
        int
            Number of the arm.
        """

    def arm_norm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return ||x||_{V^-1}. By default V^-1 is used.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        float
            ||x||_{V^-1}.
        """

    def measure_arm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return ||x||_{V^-1} and prepare the update that follows.

        By default measure(estimate.region, x).

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        float
            ||x||_{V^-1}.
        """

    def score_arm(self: Estimator, estimate: Any, x: Floats) -> float:
        """Return z = x.theta, for `predict`. By default dot(x, estimate.region.centre).

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        float
            x.theta.
        """


class Tally(NamedTuple):
    """Store the counts of a policy.

    Attributes
    ----------
    updates : int
        Updates of the estimator.
    projections : int
        Projections that moved the centre.
    truncated : int
        Rewards that were clipped or truncated.
    """

    updates: int
    projections: int
    truncated: int


class Tallied(Protocol):
    """Count what a part does: a policy or a per-arm estimator."""

    def tally(self, state: Any) -> Tally:
        """Return the numbers of updates, projections and truncated rewards.

        Parameters
        ----------
        state : NamedTuple
            The state, from `init`.

        Returns
        -------
        Tally
            The counts.
        """


class PerArmEstimator(Tallied, Protocol):
    """Estimate the mean and the width of every arm separately, from data kept in stages."""

    @property
    def dim(self) -> Count:
        """Dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    @property
    def stages(self) -> Count:
        """Number of stages."""

    def init(self) -> Any:
        """Make the memory: a NamedTuple of arrays.

        Returns
        -------
        NamedTuple
            A new memory.
        """

    def estimate_arms(
        self,
        memory: Any,
        stage: int,
        features: Floats,
        alive: Floats,
        estimates: Floats,
        widths: Floats,
    ) -> None:
        """Write mean and width of every column of `features` that is alive, from one stage.

        Parameters
        ----------
        memory : NamedTuple
            The memory, from `init`.
        stage : int
            Number of the stage, from 0.
        features : array of shape (d, columns)
            One arm per column.
        alive : array of shape (columns,)
            1 for an arm to estimate, 0 for the others.
        estimates : array of shape (columns,)
            Receives the means.
        widths : array of shape (columns,)
            Receives the widths.
        """

    def arm_width(self, memory: Any, stage: int, x: Floats) -> float:
        """Return the confidence width of one arm, from the data of one stage.

        Parameters
        ----------
        memory : NamedTuple
            The memory, from `init`.
        stage : int
            Number of the stage, from 0.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        float
            The width, in the unit of the reward.
        """

    def remember(self, memory: Any, stage: int, x: Floats, rewards: Floats) -> None:
        """Add the rewards of one decision to the data of one stage.

        Parameters
        ----------
        memory : NamedTuple
            The memory, which changes in place.
        stage : int
            Number of the stage, from 0.
        x : array of shape (d,)
            Features of the arm.
        rewards : array of shape (plays,)
            Rewards of the decision.
        """


class Radius(Protocol):
    """Compute the radius of the confidence region: the square root of the papers' gamma."""

    def radius(self, estimate: Any, t: int) -> float:
        """Return the radius (not squared) after t updates, given the state of the estimator.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        t : int
            Number of updates.

        Returns
        -------
        float
            The radius.
        """


class TimeRadius(Radius, Protocol):
    """Compute a radius that depends on t only and is known by its square."""

    def squared(self, t: int) -> float:
        """Return the square of the radius, gamma, after t updates.

        Parameters
        ----------
        t : int
            Number of updates.

        Returns
        -------
        float
            gamma.
        """


class Policy(Tallied, Protocol):
    """Choose an arm, and learn from its rewards."""

    @property
    def dim(self) -> Count:
        """Dimension d of the arms."""

    @property
    def plays(self) -> Count:
        """Plays of one arm per decision."""

    def init(self) -> Any:
        """Make the state: a NamedTuple of arrays, scratch included.

        Returns
        -------
        NamedTuple
            A new state.
        """

    def choose(self, state: Any, arms: ArmSet, buffer: ArmBuffer) -> int:
        """Choose an arm, copy its features into buffer.chosen, return its number.

        Parameters
        ----------
        state : NamedTuple
            The state, from `init`. It may change.
        arms : ArmSet
            The arm set.
        buffer : ArmBuffer
            The available arms.

        Returns
        -------
        int
            Number of the arm; -1 for a continuous set.
        """

    def learn(self, state: Any, x: Floats, rewards: Floats) -> None:
        """Learn from the rewards of one decision, which may come late.

        Parameters
        ----------
        state : NamedTuple
            The state, which changes in place.
        x : array of shape (d,)
            Features of the arm that was played.
        rewards : array of shape (plays,)
            Rewards of the decision.
        """

    def estimate_arm(self, state: Any, x: Floats) -> tuple[float, float]:
        """Return the expected reward of x, and the confidence width of x.theta.

        Parameters
        ----------
        state : NamedTuple
            The state, from `init`.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        tuple of float
            The expected reward, and the width.
        """


class Recorder(Protocol):
    """Record columns of the result at the checkpoints of a run, without changing it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def record(
        self,
        memory: Any,
        policy: Policy,
        state: Any,
        theta: Floats,
        buffer: ArmBuffer,
        reward: float,
        out: Floats,
    ) -> None:
        """Write the numbers of a checkpoint.

        Parameters
        ----------
        memory : NamedTuple
            The memory, from `start`; `NoMemory` for a recorder without it.
        policy : Policy
            The policy.
        state : NamedTuple
            Its state. It must not change.
        theta : array of shape (d,)
            theta* of this play.
        buffer : ArmBuffer
            The available arms; `buffer.chosen` is the arm that was played. It must not change.
        reward : float
            The reward of this play, as the policy sees it.
        out : array of shape (columns,)
            Receives one number per column.
        """


class Watcher(Recorder, Protocol):
    """Add optional members of recorders that look at every decision."""

    def start(self: Recorder) -> Any:
        """Make the memory: a NamedTuple of arrays of float64 or int64.

        Returns
        -------
        NamedTuple
            A new memory.
        """

    def watch(self: Recorder, memory: Any, policy: Policy, state: Any, theta: Floats) -> None:
        """Change the memory after the policy has learned from a decision.

        Parameters
        ----------
        memory : NamedTuple
            The memory, which changes in place.
        policy : Policy
            The policy.
        state : NamedTuple
            Its state. It must not change.
        theta : array of shape (d,)
            theta* of this play.
        """

    def check_policy(self, name: str, policy: Any) -> None:
        """Raise InvalidInputError if the recorder has nothing to read in a policy.

        Parameters
        ----------
        name : str
            Name of the policy.
        policy : Policy
            The policy.
        """


class Observer(Protocol):
    """Observe a run without changing it. The loop calls it; `Recorder` is the public contract."""

    def observe(self, policy: Policy, state: Any, theta: Floats) -> None:
        """Read the state after the policy learned from a decision.

        Parameters
        ----------
        policy : Policy
            The policy.
        state : NamedTuple
            Its state.
        theta : array of shape (d,)
            The true parameter.
        """


class CheckpointObserver(Observer, Protocol):
    """Add an optional member of observers."""

    def mark(
        self: Observer, policy: Policy, state: Any, theta: Floats, buffer: ArmBuffer, reward: float
    ) -> None:
        """Read the state at a checkpoint.

        Parameters
        ----------
        policy : Policy
            The policy.
        state : NamedTuple
            Its state.
        theta : array of shape (d,)
            The true parameter.
        buffer : ArmBuffer
            The available arms.
        reward : float
            The reward of this play.
        """


class Extras(Protocol):
    """Add optional members of any part; each has a default."""

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
    def learns_noise_scale(self) -> bool:
        """True for a policy that predicts the noise scale of a reward that comes without one; False
        is the default."""

    @property
    def choice_writes(self) -> tuple[str, ...] | None:
        """The arrays, by dotted name, that a policy's choice changes for later decisions, without
        those of a policy inside it; None, the default, for all arrays."""

    def propensity(self, state: Any) -> float:
        """Return the probability of the last choice.

        For a policy that draws its arm or contains such a policy. The default is 1.

        Parameters
        ----------
        state : NamedTuple
            The state, from `init`.

        Returns
        -------
        float
            The propensity, in (0, 1].
        """

    def is_valid(self, state: Any) -> bool:
        """Return True if the indices in a state read from a file are within their arrays.

        Parameters
        ----------
        state : NamedTuple
            The state, read from a file.

        Returns
        -------
        bool
            True for a valid state.
        """

    def threshold_in_force(self, memory: Any) -> float:
        """Return the threshold of the next reward.

        For a filter or estimator that clips or truncates.

        Parameters
        ----------
        memory : NamedTuple
            The memory of the filter, or the state of the estimator.

        Returns
        -------
        float
            The threshold.
        """

    def revise(self, estimate: Any, x: Floats, before: float, after: float) -> None:
        """Change the estimate as if the filtered reward of x had been `after` instead of `before`.

        For an estimator. The change may be exact or approximate. The method runs uncompiled.
        Without it, `Agent.revise` raises.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator, which changes in place.
        x : array of shape (d,)
            Features of the arm.
        before : float
            The filtered reward that the estimator learned from.
        after : float
            The filtered reward that it should have learned from.
        """

    def learned_count(self, estimate: Any) -> int:
        """Return the number of rewards since the last start of an estimator that may restart.

        `Agent.revise` leaves an estimate unchanged that has forgotten the reward.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.

        Returns
        -------
        int
            Number of rewards.
        """

    def split_arm(self, estimate: Any, x: Floats) -> tuple[Floats, Floats]:
        """Return what each feature adds to the score of x and to its squared norm.

        The default is x_i theta_i and x_i (V^-1 x)_i. An additional last entry is the intercept.
        The method runs uncompiled, for `Agent.explain`.

        Parameters
        ----------
        estimate : Estimate
            The state of the estimator.
        x : array of shape (d,)
            Features of the arm.

        Returns
        -------
        array of shape (d,) or (d + 1,)
            Contributions to the score.
        array of the same shape
            Contributions to the squared norm.
        """

    def log_density(self, x: Floats) -> Floats:
        """Return the logarithm of the density of a noise at each x, for moments by quadrature.

        Parameters
        ----------
        x : array
            Values of the noise.

        Returns
        -------
        array of the same shape
            ln of the density.
        """

    def check(self) -> None:
        """Raise InvalidInputError if the fields, each valid alone, contradict each other."""


CONTRACTS: dict[str, type] = {
    "link": Link,
    "noise": Noise,
    "noise with known moments": KnownNoise,
    "noise that sees the arm": ArmNoise,
    "drift": Drift,
    "delay": Delay,
    "adversary": Adversary,
    "recorder": Recorder,
    "arm set": ArmSet,
    "filter": Filter,
    "projection": Projection,
    "estimator": Estimator,
    "per-arm estimator": PerArmEstimator,
    "radius": Radius,
    "policy": Policy,
    "anything else a part may have": Extras,
}
