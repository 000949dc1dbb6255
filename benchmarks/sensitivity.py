"""How much the unit of the rewards matters: LinUCB at five radii, and auto.

A shop: 6 actions, 13 features of the visitor (with an intercept), one block per action, d = 78;
sales of tail index 1.7, of which 2% come back. Prints a Markdown table of regret, and in brackets
of the share of the possible gain that is lost. With --switch the mean sale is 3 and not 0, as that
of a shop is, the unit changes midway, and the share is that of the second half alone.

    python benchmarks/sensitivity.py [--horizon 20000] [--runs 10] [--switch]
"""

import argparse
import math
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from drift import Run, World
from heavybandits.authoring import uniform
from heavybandits.experiments.untuned.parts import ShopArms

OFFERS, FEATURES, SEED = 6, 13, 15
RADII, SCALES = (0.01, 0.1, 1.0, 10.0, 100.0), (0.01, 1.0, 100.0)
INDEX, REFUNDS, LEVEL = 1.7, 0.02, 3.0


class Sales(NamedTuple):
    """scale (P - E P), P Pareto's from 1; a share of them is minus P instead, to be centred too."""

    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        size = math.pow(uniform(key, 4 * play), -1.0 / INDEX)
        mean = (1.0 - 2.0 * REFUNDS) * INDEX / (INDEX - 1.0)
        back = uniform(key, 4 * play + 1) < REFUNDS
        return self.scale * ((-size if back else size) - mean)


def make_problem(scale: float, level: float = 0.0) -> hb.Problem:
    """The shop, its rewards times `scale` and about this mean."""
    dim = OFFERS * FEATURES
    theta = scale * np.random.default_rng(SEED).normal(size=dim) / 2.0
    theta[::FEATURES] += scale * level
    arms = ShopArms(OFFERS, dim, True, False)
    return hb.Problem(arms, hb.links.Identity(), Sales(scale), theta)


def make_policies() -> dict[str, Any]:
    """LinUCB with the clip that sets itself at every radius, auto, and random play."""
    dim, clip = OFFERS * FEATURES, hb.filters.AdaptiveClip()
    return {
        **{f"{r:g}": hb.linucb(dim=dim, radius=r, filter=clip) for r in RADII},
        "auto": hb.auto(dim=dim),
        "random play": hb.policies.Uniform(dim=dim),
    }


def tell_units(**told: Any) -> dict[str, list[str]]:
    """One cell per scale of the rewards for every policy."""
    policies = make_policies()
    cells: dict[str, list[str]] = {name: [] for name in policies}
    for scale in SCALES:
        result = hb.simulate(policies, make_problem(scale), checkpoints=1, **told)
        regret = {name: result.final(name).mean() / scale for name in policies}
        for name, lost in regret.items():
            cells[name].append(f"{lost:.0f} ({lost / regret['random play']:.2f})")
    return cells


def tell_switches(horizon: int, repetitions: int, seed: int) -> dict[str, list[str]]:
    """One cell per factor of the second half's rewards for every policy: the share that is lost."""
    half, policies = horizon // 2, make_policies()
    lost = {name: np.zeros(len(SCALES)) for name in policies}
    for name, policy in policies.items():
        for place, scale in enumerate(SCALES):
            for run in range(repetitions):
                shop = Run(make_problem(1.0, LEVEL), policy, seed + run, horizon)
                shop.play(half)
                lost[name][place] += shop.play(horizon - half, World(scale))
    return {
        name: [f"{one:.2f}" for one in sums / lost["random play"]] for name, sums in lost.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--switch", action="store_true", help="change the unit midway")
    given = parser.parse_args()
    told: dict[str, Any] = {"horizon": given.horizon, "repetitions": given.runs, "seed": SEED}
    cells = tell_switches(**told) if given.switch else tell_units(**told)
    when = "then x" if given.switch else "rewards x"
    print("| radius | " + " | ".join(f"{when} {scale:g}" for scale in SCALES) + " |")
    print("|---|" + "---|" * len(SCALES))
    for name, row in cells.items():
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
