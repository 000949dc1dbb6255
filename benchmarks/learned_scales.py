"""What learned noise scales gain: CRHL and CRAL with one scale, learned ones and the true ones.

The noise of a reward is proportional to a price, to the mean or to a feature, which vary from 5 to
160. `python benchmarks/learned_scales.py` prints the regret relative to random play.
"""

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.arms import Rows
from heavybandits.core.arm_buffer import fill_rows
from heavybandits.core.capabilities import innermost
from heavybandits.core.dispatch import choose, learn
from heavybandits.parts.compiled_policy import CompiledPolicy

ARMS, DIM = 10, 6
LEAST, MOST = 5.0, 160.0  # prices, and means
SHARE = 0.5  # noise over price or mean
SETTLED = 0.4  # regret of a run that settled on wrong arms
LAWS: dict[str, tuple[Any, float]] = {  # draws, standard deviation
    "Gauss": (lambda rng, size: rng.normal(size=size), 1.0),
    "t3": (lambda rng, size: rng.standard_t(3.0, size), math.sqrt(3.0)),
}


class World(NamedTuple):
    """The rounds of a run, in units in which ||theta|| is about 1."""

    arms: Any  # (T, K, d)
    means: Any  # (T, K)
    scales: Any  # (T, K)


def price_and_margin(rng: Any, horizon: int) -> World:
    """Mean and noise are proportional to a price that is a feature: a margin times the price."""
    prices, odd = np.geomspace(LEAST, MOST, ARMS) / MOST, np.arange(ARMS) % 2
    visitor = rng.normal(size=(horizon, 1)) / 3.0
    columns = (1.0, prices, prices * visitor, visitor, prices * odd, np.arange(ARMS) % 3 == 0)
    shape = horizon, ARMS
    arms = np.stack([np.broadcast_to(column, shape) for column in columns], axis=2)
    means = prices * (0.3 * visitor - 0.05 + 0.1 * odd) + 0.02 * (np.arange(ARMS) % 3 == 0)
    return World(arms / 2.5, means, 0.3 * np.broadcast_to(prices, shape))


def price_alone(rng: Any, horizon: int) -> World:
    """Noise is proportional to a price that says nothing about the mean."""
    prices = np.exp(rng.uniform(math.log(LEAST / MOST), 0.0, (horizon, ARMS)))
    features, theta = rng.uniform(-1.0, 1.0, (horizon, ARMS, DIM - 1)), rng.normal(size=DIM - 1)
    arms = np.concatenate([prices[..., None], features], axis=2) / math.sqrt(DIM)
    return World(arms, 0.4 * features @ (theta / np.linalg.norm(theta)), SHARE * prices)


def mean_alone(rng: Any, horizon: int) -> World:
    """Noise is proportional to the mean."""
    features = rng.random((horizon, ARMS, DIM - 1)) ** 3
    means = (LEAST + (MOST - LEAST) * features @ rng.dirichlet(2.0 * np.ones(DIM - 1))) / MOST
    arms = np.concatenate([np.ones((horizon, ARMS, 1)), features], axis=2) / math.sqrt(DIM)
    return World(arms, means / math.sqrt(DIM), SHARE * means / math.sqrt(DIM))


def one_feature(rng: Any, horizon: int) -> World:
    """Noise is proportional to the size of a feature, which has both signs."""
    features, theta = rng.uniform(-1.0, 1.0, (horizon, ARMS, DIM)), rng.normal(size=DIM)
    arms = features / math.sqrt(DIM)
    scales = SHARE * np.maximum(np.abs(features[..., 0]), LEAST / MOST)
    return World(arms, arms @ (theta / np.linalg.norm(theta)), scales)


WORLDS: dict[str, Callable[[Any, int], World]] = {
    "price, margin": price_and_margin,
    "price alone": price_alone,
    "mean alone": mean_alone,
    "one feature": one_feature,
}


def rounds_kernel(stamp: str) -> Any:
    """Play all rounds; a reward has the scale factor * scales, or `usual` if factor is 0."""

    def kernel(
        policy: Any,
        state: Any,
        rows: Any,
        buffer: Any,
        world: Any,
        noise: Any,
        room: Any,
        factor: float,
        usual: float,
    ) -> None:
        stamp  # noqa: B018
        arms, means, scales, gaps = world
        order, rewards, cell, regret = room
        for t in range(noise.size):
            fill_rows(buffer, arms[t], None, order)
            arm = choose(policy, state, rows, buffer)
            cell[0] = factor * scales[t, arm] if factor > 0.0 else usual
            rewards[0] = means[t, arm] + scales[t, arm] * noise[t]
            regret[0] += gaps[t, arm]
            learn(policy, state, buffer.chosen, rewards)

    return kernel


def play(policy: Any, world: World, noise: Any, factor: float = 0.0) -> float:
    """Return the regret; `factor` over 0 gives the policy the true scale of every reward."""
    compiled, state, rows = CompiledPolicy(policy), policy.init(), Rows(ARMS, DIM)
    cell, regret = innermost(policy, state)[1].estimate.noise_scale, np.zeros(1)
    arrays = (*world, world.means.max(axis=1, keepdims=True) - world.means)
    room = np.arange(ARMS), np.zeros(1), cell, regret
    given = rows, rows.make_buffer(), tuple(map(np.ascontiguousarray, arrays)), noise, room
    numbers = factor, float(cell[0])
    kernel = compiled.compile(rounds_kernel, state, *given, *numbers)
    kernel(compiled.policy, state, *given, *numbers)
    return float(regret[0])


def forms(noise_scale: float, deviation: float, typical: float) -> dict[str, tuple[Any, float]]:
    """Each policy with one scale, with learned and with true scales, and the factor for `play`."""
    crhl = {"dim": DIM, "link": hb.links.Identity(), "noise_scale": noise_scale}
    made: dict[str, tuple[Any, float]] = {}
    for name, make, given, factor in (
        ("CRHL 0.03", hb.crhl, crhl | {"radius_scale": 0.03}, deviation),
        ("CRHL 0.3", hb.crhl, crhl | {"radius_scale": 0.3}, deviation),
        ("CRAL 0.4", hb.cral, {"dim": DIM, "radius_scale": 0.4}, 1.0 / typical),
    ):
        call: Any = make
        made[f"{name}, one scale"] = call(**given), 0.0
        made[f"{name}, learned"] = call(**given, learn_noise_scale=True), 0.0
        made[f"{name}, true"] = call(**given), factor
    return made


def measure(name: str, law: str, horizon: int, runs: int, seed: int) -> dict[str, Any]:
    """Return the regret relative to random play of every run, by policy."""
    (draw, deviation), found = LAWS[law], dict[str, list[float]]()
    for run in range(runs):
        rng = np.random.default_rng([seed, run, len(name)])
        world, noise = WORLDS[name](rng, horizon), draw(rng, horizon)
        random = (world.means.max(axis=1) - world.means.mean(axis=1)).sum()
        pooled = deviation * math.sqrt(np.square(world.scales).mean())
        made = forms(pooled, deviation, math.exp(np.log(world.scales).mean()))
        for label, (policy, factor) in made.items():
            found.setdefault(label, []).append(play(policy, world, noise, factor) / random)
    return {label: np.array(regrets) for label, regrets in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=5000, help="Rounds per run.")
    parser.add_argument("--runs", type=int, default=20, help="Runs per world and law.")
    parser.add_argument("--seed", type=int, default=2026, help="Seed of all runs.")
    chosen = parser.parse_args()
    sizes = chosen.horizon, chosen.runs, chosen.seed
    for name in WORLDS:
        for law in LAWS:
            print(f"{name}, {law}")
            for label, regrets in measure(name, law, *sizes).items():
                error = regrets.std(ddof=1) / math.sqrt(chosen.runs)
                settled = f"{np.mean(regrets > SETTLED):.0%} above {SETTLED}"
                middle = f"median {np.median(regrets):.4f}"
                print(f"  {label:22} {regrets.mean():.4f} +- {error:.4f}, {middle}, {settled}")


if __name__ == "__main__":
    main()
