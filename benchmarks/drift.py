"""How soon `Agent.drift` notices a change, and how often it rings for nothing.

`auto` plays 10 fresh arms of 5 features, whose effects make the best arm about 1 better than the
mean; noise of three kinds, its median size 1. After 2000 rewards something changes for good: the
level of all rewards by 1 or 3, their unit by 100 or 1/100, or the sign of every effect. Prints
three Markdown tables: rewards until the first alarm (median and 90% of the runs, and the share of
them that named that kind, among others or alone); alarms per 10^5 rewards if nothing changes; and
the share of the possible gain that `auto` and LinUCB lose in the 2000 rewards after a change.

    python benchmarks/drift.py [--runs 40] [--quiet-rewards 100000]
"""

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import noise_kernel, play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace
from heavybandits.core.rng import ARMS, NOISE, stream_key

DIM, BEFORE, STEP, PATIENCE, SEED = 5, 2000, 10, 2000, 15
NOISES = {  # divided by their median sizes
    "Gauss": hb.noises.Gaussian(1.0 / 0.6745),
    "t 1.5": hb.noises.StudentT(1.5, 1.0 / 0.9170),
    "Pareto 1.5": hb.noises.Pareto(1.5, 1.0 / 1.5874),
}


class World(NamedTuple):
    """rewards = scale (x . (sign theta) + shift + noise)"""

    scale: float = 1.0
    shift: float = 0.0
    sign: float = 1.0


CHANGES = {
    "level + 1": ("level", World(shift=1.0)),
    "level + 3": ("level", World(shift=3.0)),
    "unit x 100": ("unit", World(scale=100.0)),
    "unit x 0.01": ("unit", World(scale=0.01)),
    "effects x -1": ("effect", World(sign=-1.0)),
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
        record = (self.key, noise, self.episode, self.trace, Unobserved())
        compiled(play_kernel, *setting, *record)(*setting, *record)
        self.done += rewards
        return (float(self.episode.numbers[0]) - before) / world.scale

    @property
    def drift(self) -> hb.DriftReport:
        return self.policy.filter.drift(self.state.memory)


def make_run(noise: Any, seed: int, horizon: int, policy: Any = hb.auto(dim=DIM)) -> Run:
    """A run on 10 fresh arms of 5 features."""
    theta = np.random.default_rng([SEED, seed]).normal(size=DIM)
    theta *= 2.0 / np.linalg.norm(theta)
    problem = hb.Problem(hb.arms.PerRound(10, DIM, -1.0), hb.links.Identity(), noise, theta)
    return Run(problem, policy, seed, horizon)


def delay(noise: Any, seed: int, kind: str, world: World) -> tuple[float, bool]:
    """Rewards from the change to the first alarm, in steps of ten, and whether it named it."""
    run = make_run(noise, seed, BEFORE + PATIENCE)
    run.play(BEFORE)
    before = run.drift
    for waited in range(STEP, PATIENCE + 1, STEP):
        run.play(STEP, world)
        if run.drift[:3] > before[:3]:
            return float(waited), getattr(run.drift, kind) > getattr(before, kind)
    return np.inf, False


def alarms(noise: Any, seed: int, rewards: int) -> int:
    """Alarms where nothing changes."""
    run = make_run(noise, seed, rewards)
    run.play(rewards)
    return run.drift.level + run.drift.unit + run.drift.effect


def lost(noise: Any, seed: int, world: World, policy: Any) -> float:
    """Regret of the 2000 rewards after a change."""
    run = make_run(noise, seed, 2 * BEFORE, policy)
    run.play(BEFORE)
    return run.play(BEFORE, world)


def print_table(name: str, rows: dict[str, list[str]]) -> None:
    print(f"| {name} | " + " | ".join(NOISES) + " |\n|---|" + "---|" * len(NOISES))
    for row, cells in rows.items():
        print(f"| {row} | " + " | ".join(cells) + " |")
    print(flush=True)


def over_noises(make: Callable[..., str], *told: Any) -> list[str]:
    return [make(noise, *told) for noise in NOISES.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--quiet-rewards", type=int, default=100_000)
    given = parser.parse_args()
    seeds = range(given.runs)

    def delays(noise: Any, kind: str, world: World) -> str:
        found = [delay(noise, seed, kind, world) for seed in seeds]
        waits = np.sort([waited for waited, _ in found])
        middle, most = waits[waits.size // 2], waits[min(int(0.9 * waits.size), waits.size - 1)]
        return f"{middle:g}, {most:g}; {np.mean([named for _, named in found]):.0%}"

    def rate(noise: Any) -> str:
        total = sum(alarms(noise, 1000 + seed, given.quiet_rewards) for seed in seeds)
        return f"{total * 1e5 / (given.quiet_rewards * given.runs):.2f}"

    def share(noise: Any, world: World, policy: Any) -> str:
        players = policy, hb.policies.Uniform(dim=DIM)
        own, random = (sum(lost(noise, 2000 + s, world, one) for s in seeds) for one in players)
        return f"{own / random:.2f}"

    print_table(
        "change: rewards until noticed (median, 90%; named so)",
        {name: over_noises(delays, *change) for name, change in CHANGES.items()},
    )
    print_table("no change", {"alarms per 10^5 rewards": over_noises(rate)})
    policies: dict[str, Any] = {"auto": hb.auto(dim=DIM)}
    policies["LinUCB, radius 1"] = hb.linucb(dim=DIM, radius=1.0, filter=hb.filters.AdaptiveClip())
    worlds = {"no change": World(), **{name: change[1] for name, change in CHANGES.items()}}
    print_table(
        "share of the gain that is lost after the change",
        {
            f"{player}, {name}": over_noises(share, world, policy)
            for player, policy in policies.items()
            for name, world in worlds.items()
            if "level" not in name
        },
    )


if __name__ == "__main__":
    main()
