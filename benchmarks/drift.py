"""How soon `Agent.drift` notices a change, and how often it rings for nothing.

Prints three Markdown tables. The first: alarms per 100,000 rewards in the worlds of
`drift_worlds.py`, in which nothing changes, for `auto`, LinUCB with `AdaptiveClip`, and LinUCB
without a filter; and for an agent whose rewards come late. The second: rewards from a change, after
4000 rewards, to the first alarm (median and 90% of the runs), the share of runs with an alarm
within 6000 rewards, and the kind that was named first. The third: the share of the possible gain
that `auto` and LinUCB lose in the 2000 rewards after a change.

    python benchmarks/drift.py [--runs 10] [--rewards 20000]
"""

import argparse
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import drift_worlds as worlds
import heavybandits as hb
from heavybandits.core.arm_buffer import make_arm_buffer
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import noise_kernel, play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace
from heavybandits.core.rng import ARMS, NOISE, stream_key
from heavybandits.core.world import STILL
from heavybandits.offline.replay.kernels import rounds_kernel
from heavybandits.parts.arms import Rows

DIM, BEFORE, AFTER, STEP, SEED = 5, 4000, 6000, 8, 15
LOST = 2000  # rewards before and after a change in the table of what is lost
NOISES = {  # divided by their median sizes
    "Gauss": hb.noises.Gaussian(1.0 / 0.6745),
    "t 1.5": hb.noises.StudentT(1.5, 1.0 / 0.9170),
    "Pareto 1.5": hb.noises.Pareto(1.5, 1.0 / 1.5874),
}
MONITOR = hb.filters.DriftMonitor
POLICIES: dict[str, Callable[[int], Any]] = {
    "auto": lambda dim: hb.auto(dim=dim),
    "LinUCB, AdaptiveClip": lambda dim: hb.linucb(
        dim=dim, radius=1.0, filter=MONITOR(hb.filters.AdaptiveClip())
    ),
    "LinUCB, no filter": lambda dim: hb.linucb(dim=dim, radius=1.0, filter=MONITOR()),
}


# ---- false alarms and delays


class Player:
    """A policy that plays rounds piece by piece."""

    def __init__(self, make: Callable[[int], Any], rounds: worlds.Rounds, rewards: Any) -> None:
        self.rounds, self.rewards, self.done = rounds, np.ascontiguousarray(rewards), 0
        self.policy = make(rounds.features.shape[1])
        self.state = self.policy.init()

    def play(self, count: int) -> None:
        arms = self.rounds.arms[self.done : self.done + count]
        paid = self.rewards[self.done : self.done + count].ravel()
        dim, size = self.rounds.features.shape[1], arms.shape[1]
        setting = self.policy, self.state, Rows(size, dim), make_arm_buffer(dim, size)
        table = self.rounds.features, np.ascontiguousarray(arms), paid
        payers = np.arange(paid.size).reshape(arms.shape)
        given = (*setting, *table, payers, np.zeros(1), np.zeros(len(arms), np.int64))
        compiled(rounds_kernel, *given)(*given)
        self.done += count

    @property
    def drift(self) -> hb.DriftReport:
        return self.policy.filter.drift(self.state.memory)


def count_alarms(world: worlds.World, make: Callable[[int], Any], seed: int, rewards: int) -> int:
    """Alarms where nothing changes."""
    rounds = world(np.random.default_rng([SEED, seed]), rewards)
    player = Player(make, rounds, rounds.means + rounds.noise)
    player.play(rewards)
    return player.drift.level + player.drift.unit


def count_delayed(world: worlds.World, seed: int, rewards: int) -> int:
    """Alarms of an agent whose rewards come up to 500 decisions late, where nothing changes."""
    rng = np.random.default_rng([SEED, seed])
    rounds = world(rng, rewards)
    agent = hb.Agent(hb.auto(dim=rounds.features.shape[1]))
    paid, waiting = rounds.means + rounds.noise, deque[tuple[Any, float]]()
    for t in range(rewards):
        ticket = agent.select(rounds.features[rounds.arms[t]])
        waiting.append((ticket, float(paid[t, ticket.arm])))
        while len(waiting) > rng.integers(500):
            agent.update(*waiting.popleft())
    return agent.drift.level + agent.drift.unit


Change = Callable[[np.random.Generator, worlds.Rounds], Any]  # the rewards after the change
SHOPS = {
    "shop": worlds.shop,
    "visitors": worlds.visitors(),
    "clicks": worlds.clicks,
}
LINEAR = {"Gauss": worlds.GAUSS, "t 1.5": worlds.STUDENT, "Pareto 1.5": worlds.PARETO}
SCALED: dict[str, Change] = {
    "rewards x 100": lambda rng, rounds: 100.0 * (rounds.means + rounds.noise),
    "rewards / 100": lambda rng, rounds: 0.01 * (rounds.means + rounds.noise),
}
SALES: dict[str, Change] = {
    **SCALED,
    "sales stop": lambda rng, rounds: 0.0 * rounds.noise,
    "a third of the sales": lambda rng, rounds: (
        rounds.noise * (rng.random(rounds.noise.shape) < 1 / 3)
    ),
    "half of the sales": lambda rng, rounds: rounds.noise * (rng.random(rounds.noise.shape) < 0.5),
}
SHIFTS: dict[str, Change] = {
    **SCALED,
    "mean + 1 error": lambda rng, rounds: rounds.means + rounds.noise + 1.0,
    "mean + 3 errors": lambda rng, rounds: rounds.means + rounds.noise + 3.0,
    "effects x -1": lambda rng, rounds: rounds.noise - rounds.means,
}


def delay(
    world: worlds.World, change: Change, make: Callable[[int], Any], seed: int
) -> tuple[float, str]:
    """Rewards from the change to the first alarm, and the kinds that it named."""
    rng = np.random.default_rng([SEED, 1, seed])
    rounds = world(rng, BEFORE + AFTER)
    rewards = np.where(
        np.arange(BEFORE + AFTER)[:, None] < BEFORE,
        rounds.means + rounds.noise,
        change(rng, rounds),
    )
    player = Player(make, rounds, rewards)
    player.play(BEFORE)
    before = player.drift
    for waited in range(STEP, AFTER + 1, STEP):
        player.play(STEP)
        now = player.drift
        if now[:2] > before[:2]:
            kinds = [
                kind for kind in ("level", "unit") if getattr(now, kind) > getattr(before, kind)
            ]
            return float(waited), " and ".join(kinds)
    return np.inf, ""


def describe_delays(found: list[tuple[float, str]]) -> list[str]:
    """Median, 90%, share with an alarm, and the kind named most often."""
    waits = np.sort([waited for waited, _ in found])
    shown = [
        f"{w:g}" if w < np.inf else "-"
        for w in (waits[waits.size // 2], waits[int(0.9 * (waits.size - 1))])
    ]
    named = Counter(kind for _, kind in found if kind)
    return [
        *shown,
        f"{np.isfinite(waits).mean():.0%}",
        named.most_common(1)[0][0] if named else "-",
    ]


# ---- what a change costs


class World(NamedTuple):
    """rewards = scale (x . (sign theta) + shift + noise)"""

    scale: float = 1.0
    shift: float = 0.0
    sign: float = 1.0


COSTS = {
    "no change": World(),
    "rewards x 100": World(scale=100.0),
    "rewards / 100": World(scale=0.01),
    "effects x -1": World(sign=-1.0),
}


class Run:
    """One run of a policy, whose world can be changed between two calls of `play`."""

    def __init__(self, problem: hb.Problem, policy: Any, seed: int, horizon: int) -> None:
        self.policy, self.arms, self.theta = policy, problem.arms, np.asarray(problem.theta)
        noise = problem.noise
        self.state, self.buffer = self.policy.init(), self.arms.make_buffer()
        self.episode = make_episode(1)
        self.trace, self.key, self.done = make_trace(np.array([-1])), stream_key(seed, 0, ARMS), 0
        self.noise, key = np.empty(horizon), stream_key(seed, 0, NOISE)
        compiled(noise_kernel, noise, key, 0, self.noise)(noise, key, 0, self.noise)

    def play(self, rewards: int, world: World = World()) -> float:
        """Go on for so many rewards; the regret of them, in the unit of the start."""
        noise = world.scale * (self.noise[self.done : self.done + rewards] + world.shift)
        theta, before = world.scale * world.sign * self.theta, float(self.episode.numbers[0])
        setting = (self.policy, self.state, self.arms, hb.links.Identity(), theta, self.buffer)
        record = (self.key, noise, self.episode, self.trace, Unobserved(), STILL)
        compiled(play_kernel, *setting, *record)(*setting, *record)
        self.done += rewards
        return (float(self.episode.numbers[0]) - before) / world.scale


def make_run(noise: Any, seed: int, horizon: int, policy: Any = hb.auto(dim=DIM)) -> Run:
    """A run on 10 fresh arms of 5 features."""
    theta = np.random.default_rng([SEED, seed]).normal(size=DIM)
    theta *= 2.0 / np.linalg.norm(theta)
    problem = hb.Problem(hb.arms.PerRound(10, DIM, -1.0), hb.links.Identity(), noise, theta)
    return Run(problem, policy, seed, horizon)


def lost(noise: Any, seed: int, world: World, policy: Any) -> float:
    """Regret of the 2000 rewards after a change."""
    run = make_run(noise, seed, 2 * LOST, policy)
    run.play(LOST)
    return run.play(LOST, world)


def print_table(head: list[str], rows: dict[str, list[str]]) -> None:
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row, cells in rows.items():
        print(f"| {row} | " + " | ".join(cells) + " |", flush=True)
    print(flush=True)


def print_alarms(runs: int, rewards: int) -> None:
    """Print the table of false alarms, and their number over all worlds."""

    def rate(alarms: list[int]) -> str:
        total.update(alarms=sum(alarms), rewards=rewards * len(alarms))
        return f"{sum(alarms) * 1e5 / (rewards * len(alarms)):.2g}"

    total: Counter[str] = Counter()
    rows = {
        name: [
            rate([count_alarms(world, make, seed, rewards) for seed in range(runs)])
            for make in POLICIES.values()
        ]
        for name, world in worlds.QUIET.items()
    }
    late = rate([count_delayed(worlds.shop, seed, rewards) for seed in range(min(runs, 5))])
    rows["shop, rewards up to 500 decisions late"] = [late, "", ""]
    print_table(["alarms per 100,000 rewards", *POLICIES], rows)
    print(f"{total['alarms']} alarms in {total['rewards']:,} rewards\n", flush=True)


def print_delays(runs: int) -> None:
    """Print the table of delays of `auto`."""
    rows, make = {}, POLICIES["auto"]
    for group, changes in ((SHOPS, SALES), (LINEAR, SHIFTS)):
        for name, world in group.items():
            for change, apply in changes.items():
                found = [delay(world, apply, make, seed) for seed in range(runs)]
                rows[f"{name}, {change}"] = describe_delays(found)
    moved = worlds.visitors(0.2, 0.8, BEFORE)
    found = [delay(moved, lambda _, made: made.noise, make, seed) for seed in range(runs)]
    rows["visitors, 80% instead of 20% with the flag"] = describe_delays(found)
    print_table(["change", "median", "90%", "noticed", "as"], rows)


def print_costs(runs: int) -> None:
    """Print the table of what is lost after a change."""

    def share(noise: Any, world: World, policy: Any) -> str:
        players = policy, hb.policies.Uniform(dim=DIM)
        seeds = range(2000, 2000 + runs)
        own, random = (sum(lost(noise, s, world, one) for s in seeds) for one in players)
        return f"{own / random:.2f}"

    policies: dict[str, Any] = {"auto": hb.auto(dim=DIM)}
    policies["LinUCB, radius 1"] = hb.linucb(dim=DIM, radius=1.0, filter=hb.filters.AdaptiveClip())
    rows = {
        f"{player}, {name}": [share(noise, world, policy) for noise in NOISES.values()]
        for player, policy in policies.items()
        for name, world in COSTS.items()
    }
    print_table(["share of the gain that is lost after the change", *NOISES], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rewards", type=int, default=20_000)
    given = parser.parse_args()
    print_alarms(given.runs, given.rewards)
    print_delays(given.runs)
    print_costs(given.runs)


if __name__ == "__main__":
    main()
