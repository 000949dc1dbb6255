"""Randomised policies inside randomised policies: do arms come as often as propensities say?

A decision n with arm a and propensity p gives the numbers 1{a = k} / p - 1 of all arms k. If p is
exact, each has mean zero given all that happened before. Their sum divided by its own covariance is
chi-square in the limit, for one decision and for two consecutive ones. Over many nestings the
p-values of these sums must be uniform.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import heavybandits as hb
from heavybandits.authoring import (
    ArmBuffer,
    ArmSet,
    Floats,
    Index,
    Integers,
    Policy,
    Tally,
    choose,
    estimate_arm,
    learn,
    propensity,
    take,
    tally,
    uniform,
)
from heavybandits.policies import EpsilonGreedy, SquareCB, Thompson, Uniform

ARMS, DIM, DECISIONS = 3, 2, 6000
SHAPES = 8  # kinds of nestings in one run: each is compiled
IMPOSSIBLE = 1e-9  # one p-value below it is a fault
LEVEL = 1e-4  # of the Kolmogorov-Smirnov test of all p-values


class OwnState(NamedTuple):
    inner: Any
    draws: Integers
    propensity: Floats


class OwnMixture(NamedTuple):
    """A wrapper as users write one: half of the time, a uniformly drawn arm."""

    policy: Policy
    seed: Index = 0

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    def init(self) -> OwnState:
        return OwnState(self.policy.init(), np.zeros(1, np.int64), np.ones(1))

    def choose(self, state: OwnState, arms: ArmSet, buffer: ArmBuffer) -> int:
        arm = best = choose(self.policy, state.inner, arms, buffer)
        number = uniform(np.uint64(self.seed), state.draws[0])
        state.draws[0] += 1
        if number < 0.5:
            arm = int(2.0 * number * ARMS)
            take(buffer, arm)
        state.propensity[0] = 0.5 / ARMS + (0.5 if arm == best else 0.0)
        return arm

    def learn(self, state: OwnState, x: Floats, rewards: Floats) -> None:
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: OwnState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: OwnState) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: OwnState) -> float:
        return float(state.propensity[0])


class Record(NamedTuple):
    """Arm and propensity of every decision."""

    inner: Any
    made: Integers
    arms: Integers
    propensities: Floats


class Recorder(NamedTuple):
    """A policy that records its decisions, which `simulate` does not return."""

    policy: Policy

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    def init(self) -> Record:
        made, arms = np.zeros(1, np.int64), np.zeros(DECISIONS, np.int64)
        RECORDS[len(RECORDS)] = Record(self.policy.init(), made, arms, np.zeros(DECISIONS))
        return RECORDS[len(RECORDS) - 1]

    def choose(self, state: Record, arms: ArmSet, buffer: ArmBuffer) -> int:
        arm, place = choose(self.policy, state.inner, arms, buffer), state.made[0]
        state.arms[place] = arm
        inner: Any = self.policy
        state.propensities[place] = propensity(inner, state.inner)
        state.made[0] += 1
        return arm

    def learn(self, state: Record, x: Floats, rewards: Floats) -> None:
        learn(self.policy, state.inner, x, rewards)

    def estimate_arm(self, state: Record, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: Record) -> Tally:
        return tally(self.policy, state.inner)

    def propensity(self, state: Record) -> float:
        inner: Any = self.policy
        return propensity(inner, state.inner)


RECORDS: dict[int, Record] = {}  # of the runs so far
WRAPPERS = ("EpsilonGreedy", "EpsilonGreedy", "SquareCB", "OwnMixture")
CORES = ("EpsilonGreedy", "SquareCB", "Thompson", "Uniform")


def draw_shape(dice: random.Random) -> tuple[str, ...]:
    """The names of two to four randomised policies, outermost first."""
    return (*dice.choices(WRAPPERS, k=dice.randint(1, 3)), dice.choice(CORES))


def make_policy(shape: tuple[str, ...], seeds: Sequence[int], dice: random.Random) -> Any:
    """The nesting with random parameters; no propensity is below a tenth or so."""
    name, *inside = shape
    seed = dice.choice(seeds)
    if name == "Uniform":
        return Uniform(DIM, seed)
    inner = make_policy(tuple(inside), seeds, dice) if inside else hb.linucb(dim=DIM, radius=0.3)
    if name == "OwnMixture":
        return OwnMixture(inner, seed)
    if name == "SquareCB":
        return SquareCB(inner, dice.uniform(0.05, 0.2), seed)
    epsilon = dice.uniform(0.3, 0.6)
    if name == "Thompson":
        return Thompson(inner, scale=1.0, epsilon=epsilon, draws=8, seed=seed)
    return EpsilonGreedy(inner, epsilon, seed)


# ---- the ways to decide


Decisions = tuple[Integers, Floats]  # arms and propensities


def by_simulate(policy: Any, rows: Floats, dice: random.Random) -> Decisions:
    noise, theta = hb.noises.Gaussian(0.1), np.array([1.0, -0.5])
    problem = hb.Problem(hb.arms.FromArray(rows), hb.links.Identity(), noise, theta)
    options: Any = {"horizon": DECISIONS, "repetitions": 1, "checkpoints": 1}
    hb.simulate(Recorder(policy), problem, **options, seed=dice.randrange(2**32))
    record = RECORDS[len(RECORDS) - 1]
    RECORDS.clear()
    return record.arms, record.propensities


def taught_agent(policy: Any, rows: Floats, dice: random.Random) -> hb.Agent:
    """An agent that has learned a little."""
    agent = hb.Agent(policy, max_pending=DECISIONS + 1)
    for _ in range(20):
        ticket = agent.select(rows)
        agent.update(ticket, float(rows[ticket.arm] @ [1.0, -0.5]) + dice.gauss(0.0, 0.1))
    return agent


def by_select(policy: Any, rows: Floats, dice: random.Random) -> Decisions:
    agent = taught_agent(policy, rows, dice)
    return columns([agent.select(rows) for _ in range(DECISIONS)])


def by_select_many(policy: Any, rows: Floats, dice: random.Random) -> Decisions:
    agent = taught_agent(policy, rows, dice)
    return columns(agent.select_many(np.broadcast_to(rows, (DECISIONS, *rows.shape))))


def columns(tickets: list[Any]) -> Decisions:
    return np.array([t.arm for t in tickets]), np.array([t.propensity for t in tickets])


WAYS: dict[str, Callable[[Any, Floats, random.Random], Decisions]] = {
    "simulate": by_simulate,
    "select": by_select,
    "select_many": by_select_many,
}


# ---- the test


def test_weights(cells: Integers, propensities: Floats, count: int) -> float:
    """Return the p-value of mean zero for 1{cell = k} / propensity - 1, all k together."""
    numbers = (cells[:, None] == np.arange(count)) / propensities[:, None] - 1.0
    total, covariance = numbers.sum(axis=0), numbers.T @ numbers
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * values[-1]  # propensities that never change fix one combination
    squares = (vectors[:, kept].T @ total) ** 2 / values[kept]
    return float(stats.chi2.sf(squares.sum(), kept.sum()))


def nest_policies(attempts: int, seed: int) -> Counter[str]:
    """Compare the arms of nested randomised policies with their propensities."""
    dice = random.Random(seed)
    shapes = [draw_shape(dice) for _ in range(SHAPES)]
    found: dict[str, list[float]] = defaultdict(list)
    outcomes: Counter[str] = Counter()
    for _ in range(attempts):
        shape, way = dice.choice(shapes), dice.choice(list(WAYS))
        first = dice.randrange(2**40)  # not the same in two attempts: p-values are independent
        policy = make_policy(shape, dice.choice([[first], [first, first + 1]]), dice)
        rows = np.random.default_rng(dice.randrange(2**32)).normal(size=(ARMS, DIM)) / 4.0
        arms, chances = WAYS[way](policy, rows, dice)
        pairs, both = ARMS * arms[::2] + arms[1::2], chances[::2] * chances[1::2]
        values = {
            "decisions": test_weights(arms, chances, ARMS),
            "pairs of decisions": test_weights(pairs, both, ARMS**2),
        }
        for what, value in values.items():
            found[what].append(value)
        impossible = min(values.values()) < IMPOSSIBLE
        outcomes[f"FAULT: wrong propensities by {way}: {policy}" if impossible else way] += 1
    for what, given in found.items():
        level = float(stats.kstest(given, "uniform").pvalue)
        outcomes[f"(p-value of uniform p-values, {what}: {level:.3g})"] += 1
        if level < LEVEL:
            outcomes[f"FAULT: the p-values of {what} are not uniform"] += 1
    return outcomes
