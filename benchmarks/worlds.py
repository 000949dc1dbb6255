"""Which policies cope with which world: python benchmarks/worlds.py [--jobs 2] prints a table.

One problem, 10 fixed arms in 5 dimensions with Student's t noise; one thing at a time is changed.
The last row is a shop, whose visitors are not repeated: CRMM cannot play it. The radius scale of
each policy that has one is tuned where nothing changes (in the shop: in the shop).
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.simulation.shop import largest_moment

DIM, ARMS, HORIZON, REPETITIONS, SEED = 5, 10, 5_000, 40, 0
NOISE = hb.noises.StudentT(3.0, 0.3)
STILL = hb.Problem(hb.arms.Fixed(ARMS, DIM, -1.0), hb.links.Identity(), NOISE)
SHOP = hb.worlds.shop(conversion=0.2)
TUNED = ("CRTM", "CRMM", "CRHL", "CRAL", "LinUCB", "LinUCB, forgets")


def worlds(horizon: int) -> dict[str, hb.Problem]:
    """Return the problem in every world."""
    w = hb.worlds
    drifts: dict[str, Any] = {
        "theta changes its sign after half the plays": w.Flip(horizon // 2),
        "theta jumps 4 times": w.Jumps(horizon // 5),
        "theta makes a random walk, by 0.01 per play": w.RandomWalk(0.01),
        "theta rotates 5 times": w.Cycle(horizon // 5),
    }
    delays: dict[str, Any] = {
        "rewards 100 plays late": w.ConstantDelay(100),
        "rewards 100 plays late on average": w.GeometricDelay(100.0),
        "rewards late with tail index 1": w.ParetoDelay(1.0, 20.0),
        "30% of the rewards lost": w.LostRewards(0.3),
    }
    attacks: dict[str, Any] = {
        "1% of the rewards lose 50": w.Spikes(1e9, size=-50.0, share=0.01),
        "means reversed, budget 200": w.FlipMeans(200.0),
        "best arm lowered by 1, budget 200": w.HideBest(200.0),
    }
    noises: dict[str, Any] = {
        "noise grows with the mean": w.Heteroskedastic(NOISE, 0.2, 2.0),
        "noise multiplies the mean": w.Multiplicative(hb.noises.StudentT(3.0)),
        "90% of the rewards are 0": w.ZeroInflated(NOISE, 0.1),
    }
    return (
        {"nothing changes": STILL}
        | {name: STILL._replace(drift=part) for name, part in drifts.items()}
        | {name: STILL._replace(delay=part) for name, part in delays.items()}
        | {name: STILL._replace(adversary=part) for name, part in attacks.items()}
        | {name: STILL._replace(noise=part) for name, part in noises.items()}
    )


def makers(problem: hb.Problem, horizon: int) -> dict[str, Any]:
    """Return functions of the radius scale that make the policies, for the noise of a problem."""
    dim, shop = problem.arms.dim, problem.arms.dim != DIM
    link: Any = problem.link
    last: dict[str, Any] = {"dim": problem.arms.dim, "horizon": horizon}
    raw = largest_moment(problem) if shop else hb.noises.reward_moment(NOISE, -1.0, 1.0)
    central = raw if shop else NOISE.central_moment(2.0)

    def forgets(scale: float) -> Any:
        policy: Any = hb.linucb(dim=dim, radius=scale)
        estimator = hb.estimators.Discounted(policy.estimator, horizon / 10.0)
        return policy._replace(estimator=estimator)

    made: dict[str, Any] = {
        "LinUCB": lambda c: hb.linucb(dim=dim, radius=c),
        "LinUCB, forgets": forgets,
        "CRTM": lambda c: hb.crtm(**last, raw_moment=raw, link=link, radius_scale=c),
        "CRMM": lambda c: hb.crmm(**last, central_moment=central, link=link, radius_scale=c),
        "CRHL": lambda c: hb.crhl(**last, noise_scale=central**0.5, link=link, radius_scale=c),
        "CRAL": lambda c: hb.cral(dim=dim, radius_scale=c),
        "auto": hb.auto(dim=dim),
        "auto, forgets": hb.auto(dim=dim, half_life=horizon / 10.0),
        "random": hb.ALGORITHMS["random play"].make(dim=dim),
    }
    return {name: made[name] for name in made if not (shop and name == "CRMM")}


def tune(problem: hb.Problem, size: dict[str, Any]) -> dict[str, float]:
    """Return the radius scales that are best in a problem."""
    made = makers(problem, size["horizon"])
    scaled = {name: made[name] for name in TUNED if name in made}
    found = hb.tune(scaled, problem, **size, tuning_repetitions=size["repetitions"], jobs=1)
    rows: Any = found.summary()
    return {row["policy"]: row["constant"] for row in rows.to_dict("records")}


def play(name: str, scales: dict[str, float], size: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a row: regret ± its standard error; bold are the lowest, and those that
    are tied with it."""
    problem = (worlds(size["horizon"]) | {"a shop": SHOP})[name]
    made = makers(problem, size["horizon"])
    played = {n: made[n](scales[n]) if n in TUNED else made[n] for n in made}
    result = hb.simulate(played, problem, **size, checkpoints=1, progress=False)
    ends = {policy: result.final(policy) for policy in made}
    best = min(ends, key=lambda policy: float(ends[policy].mean()))
    rows: Any = result.compare(best, correction="holm")
    tied = {row["policy"] for row in rows.to_dict("records") if row["outcome"] == "undecided"}
    shown = {
        policy: f"{e.mean():,.0f} ± {e.std(ddof=1) / np.sqrt(e.size):,.0f}"
        for policy, e in ends.items()
    }
    return {n: f"**{text}**" if n in {best, *tied} else text for n, text in shown.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: tries the script itself")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    size: dict[str, Any] = {"horizon": 60 if given.quick else HORIZON, "seed": SEED}
    size["repetitions"] = 2 if given.quick else REPETITIONS
    names = [*worlds(size["horizon"]), "a shop"]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        still, selling = pool.map(tune, (STILL, SHOP), (size, size))
        scales = [selling if name == "a shop" else still for name in names]
        policies = [*makers(STILL, size["horizon"])]
        print(f"Radius scales: {still}; in the shop: {selling}\n")
        print("| world |", " | ".join(policies), "|")
        print("|---|", "|".join("--:" for _ in policies), "|", flush=True)
        sizes = [size] * len(names)
        for name, found in zip(names, pool.map(play, names, scales, sizes), strict=True):
            cells = " | ".join(found.get(policy, "-") for policy in policies)
            print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
