"""Agents at the ends of the documented range: saved, loaded, cloned, reopened and rebuilt."""

import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.agents.state import anonymous, kept
from heavybandits.agents.state_file import pack
from heavybandits.features import Category, Number
from heavybandits.policies import EpsilonGreedy, SquareCB, Thompson, TimeDiscounted

Dice = random.Random

# The first number is the dimension, the second the penalty.
MAKERS: dict[str, Callable[[int, float], Any]] = {
    "linucb": lambda d, p: hb.linucb(dim=d, radius=1.0, penalty=p),
    "clip": lambda d, p: hb.linucb(dim=d, radius=1.0, penalty=p, filter=hb.filters.AdaptiveClip()),
    "crtm": lambda d, p: hb.crtm(dim=d, horizon=10**6, raw_moment=1.0, radius_scale=0.1),
    "gloc": lambda d, p: hb.gloc(dim=d, penalty=p, radius_scale=0.1),
    "crhl": lambda d, p: hb.crhl(dim=d, noise_scale=1.0, epsilon=0.5, corruption=1.0, penalty=p),
    "auto": lambda d, p: hb.auto(dim=d),
    "logistic auto": lambda d, p: hb.auto(dim=d, link=hb.links.Logistic()),
    "discounted": lambda d, p: TimeDiscounted(
        hb.linucb(dim=d, radius=1.0, penalty=p), half_life=50.0
    ),
    "discounted auto": lambda d, p: TimeDiscounted(hb.auto(dim=d), half_life=50.0),
    "epsilon": lambda d, p: EpsilonGreedy(hb.linucb(dim=d, radius=1.0, penalty=p), epsilon=0.3),
    "square": lambda d, p: SquareCB(hb.auto(dim=d), radius_scale=5.0),
    "thompson": lambda d, p: Thompson(hb.linucb(dim=d, radius=1.0, penalty=p), draws=8),
}
DIMS = (1, 2, 3, 5, 8, 13)
PENALTIES = (1e-6, 1e-6, 1e-3, 1.0, 1.0, 1e3, 1e6)
SIZES = (1e-80, 1e-9, 1e-3, 1.0, 1.0, 1e3, 1e6, 1e6)
REWARDS = (0.0, 1e-300, 1e-6, 1.0, 1.0, 1.0, 1e6, 1e100, 1e300)
ENCODER = hb.Encoder(
    [Category("city", ["Oslo", "Rome"]), Number("age", 40.0, 10.0)], [Number("price", 20.0, 5.0)]
)


class World(NamedTuple):
    """What an agent meets: arms around a few directions, of sizes that may change, and rewards."""

    rng: np.random.Generator
    base: np.ndarray
    spread: float
    sizes: tuple[float, float]
    rewards: tuple[float, float]

    def arms(self, count: int, late: bool) -> np.ndarray:
        around = self.base[self.rng.integers(len(self.base), size=count)]
        rows = around + self.spread * self.rng.uniform(-1.0, 1.0, around.shape)
        size = self.sizes[late]
        return np.clip(size * rows / max(np.abs(rows).max(), 1e-300), -size, size)

    def reward(self, late: bool) -> float:
        return float(self.rewards[late] * np.tanh(self.rng.standard_t(1.5)))


def make_world(dim: int, dice: Dice) -> World:
    rng = np.random.default_rng(dice.randrange(2**32))
    base = rng.uniform(-1.0, 1.0, (dice.choice([1, 1, 2, max(dim // 2, 1), 20]), dim))
    sizes, rewards = dice.choices(SIZES, k=2), dice.choices(REWARDS, k=2)
    if dice.random() < 0.6:  # else another unit from the middle on
        sizes[1], rewards[1] = sizes[0], rewards[0]
    spread = dice.choice([0.0, 0.0, 1e-9, 1e-6, 1e-3, 1.0])
    return World(rng, base, spread, (sizes[0], sizes[1]), (rewards[0], rewards[1]))


class Twins:
    """An agent with a ledger that is stopped and continued, and one that is never stopped."""

    def __init__(self, folder: Path, dice: Dice) -> None:
        self.dice, self.folder, self.now = dice, folder, 0.0
        named = dice.random() < 0.15
        self.encoder = ENCODER if named else None
        dim = ENCODER.dim if named else dice.choice(DIMS)
        self.kind = dice.choice(list(MAKERS))
        self.policy = MAKERS[self.kind](dim, dice.choice(PENALTIES))
        self.world = make_world(dim, dice)
        self.options: dict[str, Any] = {
            "clock": lambda: self.now,
            "max_pending": dice.choice([6, 100]),
            "expire_after": dice.choice([None, None, 20.0]),
            "expired_reward": dice.choice([None, 0.0, self.world.rewards[0]]),
            "encoder": self.encoder,
        }
        self.rng, self.every = dice.choice([None, 5]), dice.choice([1, 7, 1000])
        self.agent, self.twin = self.open(), hb.Agent(self.policy, self.rng, **self.options)

    def open(self) -> hb.Agent:
        options = {**self.options, "ledger": self.folder / "a.db", "snapshot_every": self.every}
        return hb.Agent(self.policy, self.rng, **options)

    def play(self) -> None:
        """A life: decisions, late rewards, refunds and past rows, with stops in between."""
        calls = self.dice.choice([1, 3, 10, 30, 60])
        for n in range(calls):
            self.now += self.dice.choice([0.0, 0.1, 5.0, 500.0])
            self.act(late=2 * n >= calls)
            if self.dice.random() < 0.1:
                self.stop()

    def act(self, late: bool) -> None:
        self.both("expire_due")
        choice, waiting = self.dice.random(), self.twin.pending
        if choice < 0.04:
            rows = self.world.arms(self.dice.choice([1, 50, 1500]), late)
            rewards = np.array([self.world.reward(late) for _ in rows])
            self.both("warm_start", rows, rewards)
        elif choice < 0.08 and waiting:
            self.both("cancel", self.dice.choice(waiting))
        elif choice < 0.11 and waiting and hasattr(self.policy, "estimator"):
            self.revise(late)
        elif choice < 0.5 and waiting:
            some = self.dice.sample(waiting, min(len(waiting), self.dice.choice([1, 1, 3])))
            self.both("update_many", [(number, self.world.reward(late)) for number in some])
        else:
            self.select(late)

    def select(self, late: bool) -> None:
        count, manner = self.dice.choice([1, 2, 6]), self.dice.random()
        if self.encoder is not None:
            prices = {str(n): {"price": 1e6 * self.dice.uniform(-1, 1)} for n in range(count)}
            self.both("select", context={"city": "Rome", "age": 1e6}, actions=prices)
        elif manner < 0.15:
            self.both("select_many", [self.world.arms(n, late) for n in (count, 1)])
        elif manner < 0.3:
            self.both("select", self.world.arms(count, late), k=self.dice.randrange(count) + 1)
        else:
            self.both("select", self.world.arms(count, late))

    def revise(self, late: bool) -> None:
        """Only the ledger knows what was learned; the twin gets the arrays that come of it."""
        number, first = self.dice.choice(self.twin.pending), self.world.reward(late)
        self.both("update", number, first)
        right = self.world.reward(not late)
        if right == first:
            return  # a duplicate, which is counted until the next snapshot only
        try:
            self.agent.revise(number, right)
        except hb.InvalidInputError:
            return  # an estimator that cannot
        revised, counts = self.agent.state, dict(self.agent.state.tickets.counts)
        for name, array in kept(self.twin.state.learned).items():
            array[...] = kept(revised.learned)[name]
        self.twin.state.tickets.counts = counts

    def both(self, call: str, *arguments: Any, **named: Any) -> None:
        """Make the same call of both, which must answer the same."""
        answers = []
        for agent in (self.agent, self.twin):
            given = getattr(agent, call)(*arguments, **named)
            listed = given if isinstance(given, list) else [] if given is None else [given]
            answers.append([(t.arm, t.expected, t.width, t.propensity) for t in listed])
        if answers[0] != answers[1]:
            raise AssertionError(f"{call} differs: {answers}")
        if not np.isfinite([t[1:3] for t in answers[0]]).all():
            raise AssertionError(f"{call} is not finite: {answers[0]}")

    def stop(self) -> None:
        """Close the ledger, or leave it as a killed process does, and open it again."""
        if self.dice.random() < 0.5:
            self.agent.close()
        elif self.agent.ledger is not None:
            self.agent.ledger.drop()
        self.agent = self.open()

    def differences(self) -> list[str]:
        """What does not equal the agent that was never stopped, bit for bit."""
        wanted = pack(anonymous(self.twin.state))
        self.stop()
        self.agent.save(self.folder / "a.state")
        loaded = hb.Agent.load(self.folder / "a.state", clock=self.options["clock"])
        found = {"reopened": self.agent, "loaded": loaded, "cloned": self.twin.clone()}
        wrong = [name for name, a in found.items() if pack(anonymous(a.state)) != wanted]
        self.agent.close()
        rebuilt = hb.Agent.rebuild(self.folder / "a.db", clock=self.options["clock"])
        arrays, others = kept(self.twin.state.learned), kept(rebuilt.state.learned)
        if any(arrays[name].tobytes() != others[name].tobytes() for name in arrays):
            wrong.append("rebuilt")
        return wrong


def attempt(seed: str) -> str:
    kind = "unknown"
    with tempfile.TemporaryDirectory() as folder:
        try:
            twins = Twins(Path(folder), Dice(seed))
            kind = twins.kind
            twins.play()
            wrong = twins.differences()
        except Exception as error:
            return f"FAULT: {type(error).__name__} of {kind}: {error} (seed {seed!r})"
    return f"FAULT: {', '.join(wrong)} of {kind} (seed {seed!r})" if wrong else "the same"


def restore_edges(attempts: int, seed: int) -> Counter[str]:
    """Features, penalties, rewards, delays at the ends of the range: what was reached is kept."""
    warnings.simplefilter("ignore")
    return Counter(attempt(f"{seed} {n}") for n in range(attempts))
