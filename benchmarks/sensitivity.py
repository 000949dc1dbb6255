"""How much the unit of the rewards matters: LinUCB at five radii, and auto.

A shop: 6 offers, 13 features of the visitor (an intercept among them), one block per offer, d = 78;
sales of tail index 1.7, of which 2% come back. Prints a Markdown table of regret, and in brackets
of the share of the possible gain that is lost.

    python benchmarks/sensitivity.py [--horizon 20000] [--runs 10]
"""

import argparse
import math
from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.paper.noconstants.offers import Offers
from heavybandits.parts import uniform

OFFERS, FEATURES, SEED = 6, 13, 15
RADII, SCALES = (0.01, 0.1, 1.0, 10.0, 100.0), (0.01, 1.0, 100.0)
INDEX, REFUNDS = 1.7, 0.02


class Sales(NamedTuple):
    """scale (P - E P), P Pareto's from 1; a share of them is minus P instead, to be centred too."""

    scale: float = 1.0

    def draw(self, key: Any, play: int) -> float:
        size = math.pow(uniform(key, 4 * play), -1.0 / INDEX)
        mean = (1.0 - 2.0 * REFUNDS) * INDEX / (INDEX - 1.0)
        back = uniform(key, 4 * play + 1) < REFUNDS
        return self.scale * ((-size if back else size) - mean)


def make_problem(scale: float) -> hb.Problem:
    """The shop, its rewards times `scale`."""
    dim = OFFERS * FEATURES
    theta = scale * np.random.default_rng(SEED).normal(size=dim) / 2.0
    arms = Offers(OFFERS, dim, True, False)
    return hb.Problem(arms, hb.links.Identity(), Sales(scale), theta)


def make_policies() -> dict[str, Any]:
    """LinUCB with the clip that sets itself at every radius, auto, and random play."""
    dim, clip = OFFERS * FEATURES, hb.filters.AdaptiveClip()
    return {
        **{f"{r:g}": hb.linucb(dim=dim, radius=r, filter=clip) for r in RADII},
        "auto": hb.auto(dim=dim),
        "random play": hb.policies.Uniform(dim=dim),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    told: dict[str, Any] = {"horizon": given.horizon, "repetitions": given.runs, "seed": SEED}
    policies, regret = make_policies(), {}
    for scale in SCALES:
        result = hb.simulate(policies, make_problem(scale), checkpoints=1, **told)
        regret[scale] = {name: result.final(name).mean() / scale for name in policies}
    print("| radius | " + " | ".join(f"rewards x {scale:g}" for scale in SCALES) + " |")
    print("|---|" + "---|" * len(SCALES))
    for name in policies:
        cells = [
            f"{regret[s][name]:.0f} ({regret[s][name] / regret[s]['random play']:.2f})"
            for s in SCALES
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
