"""Which policies cope with a world: python benchmarks/worlds.py [--quick] prints a table of regret.

One problem, 10 fixed arms in 5 dimensions with Student's t noise; one thing at a time is changed.
"""

import argparse
from typing import Any

import numpy as np

import heavybandits as hb

DIM, ARMS, HORIZON, REPETITIONS, SEED = 5, 10, 5_000, 20, 0
PROBLEM = hb.Problem(
    hb.arms.Fixed(ARMS, DIM, -1.0), hb.links.Identity(), hb.noises.StudentT(3.0, 0.3)
)


def worlds(horizon: int) -> dict[str, hb.Problem]:
    """Return the problem in every world."""
    w = hb.worlds
    return {
        "nothing changes": PROBLEM,
        "theta jumps 4 times": PROBLEM._replace(drift=w.Jumps(every=horizon // 5)),
        "rewards 100 plays late on average": PROBLEM._replace(delay=w.GeometricDelay(100.0)),
        "1% of the rewards lose 50": PROBLEM._replace(
            adversary=w.Spikes(1e9, size=-50.0, share=0.01)
        ),
    }


def policies(horizon: int) -> dict[str, Any]:
    """Return the policies: without and with clipping, and one that forgets."""
    linucb = hb.linucb(dim=DIM, radius=1.0)
    forgets = linucb._replace(estimator=hb.estimators.Discounted(linucb.estimator, horizon / 10.0))
    return {
        "LinUCB": linucb,
        "LinUCB, clipped": hb.linucb(dim=DIM, radius=1.0, filter=hb.filters.AdaptiveClip()),
        "LinUCB, forgets": forgets,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: tries the script itself")
    horizon, size = (200, 2) if parser.parse_args().quick else (HORIZON, REPETITIONS)
    made = policies(horizon)
    print("| world |", " | ".join(made), "|")
    print("|---|", "|".join("--:" for _ in made), "|")
    for name, problem in worlds(horizon).items():
        settings: dict[str, Any] = {"horizon": horizon, "repetitions": size, "seed": SEED}
        result = hb.simulate(made, problem, **settings, checkpoints=1, jobs=None)
        ends = [result.final(policy) for policy in made]
        shown = [f"{e.mean():,.0f} ± {e.std(ddof=1) / np.sqrt(size):,.0f}" for e in ends]
        print(f"| {name} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    main()
