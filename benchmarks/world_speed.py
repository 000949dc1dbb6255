"""Each world next to the same problem without it: CPU time per play."""

from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.simulation.player import run_once
from heavybandits.simulation.problem import check_problem
from measuring import ARMS, DIM, SEED, Outcome, Row, best_of, crtm

PART = "Worlds"
NOISE = hb.noises.StudentT(3.0)
PLAYS, REPEATS = 200_000, 7
WORLDS: dict[str, dict[str, Any]] = {
    "flip": {"drift": hb.worlds.Flip(PLAYS // 2)},
    "jumps": {"drift": hb.worlds.Jumps(1000)},
    "random walk": {"drift": hb.worlds.RandomWalk(0.01)},
    "cycle": {"drift": hb.worlds.Cycle(1000)},
    "constant delay": {"delay": hb.worlds.ConstantDelay(100)},
    "geometric delay": {"delay": hb.worlds.GeometricDelay(100.0)},
    "Pareto delay": {"delay": hb.worlds.ParetoDelay(1.5, 100.0)},
    "lost rewards": {"delay": hb.worlds.LostRewards(0.3)},
    "flipped means": {"adversary": hb.worlds.FlipMeans(1e9)},
    "hidden best": {"adversary": hb.worlds.HideBest(1e9)},
    "spikes": {"adversary": hb.worlds.Spikes(1e9, 5.0)},
    "heteroskedastic": {"noise": hb.worlds.Heteroskedastic(NOISE)},
    "multiplicative": {"noise": hb.worlds.Multiplicative(NOISE)},
    "zero-inflated": {"noise": hb.worlds.ZeroInflated(NOISE)},
}


def measure(folder: Path, quick: bool) -> Outcome:
    """Return a row per world and one for the shop; LinUCB also plays the shop and flipped means.

    With the hyperparameters of these rows, CRTM projects at every play of the shop, and at two of
    three plays while means are flipped, which takes its time and not that of the world. LinUCB
    never projects: its rows show the time of the world itself. The notes count projections.
    """
    plays, repeats = (1000, 1) if quick else (PLAYS, REPEATS)
    names = ["jumps", "flipped means"] if quick else list(WORLDS)
    still = hb.Problem(hb.arms.PerRound(ARMS, DIM), hb.links.Logistic(), NOISE)
    shop = hb.worlds.shop(ARMS)
    policies = {"CRTM": crtm(PLAYS), "LinUCB": hb.linucb(dim=DIM, radius=0.1)}
    problems = {name: still._replace(**WORLDS[name]) for name in names}
    played = [("CRTM", name) for name in names] + [(policy, "the shop") for policy in policies]
    played.append(("LinUCB", "flipped means"))
    takers = {policy: taker(policies[policy], still, plays) for policy in policies}
    takers |= {
        f"{policy}, {name}": taker(policies[policy], problems.get(name, shop), plays)
        for policy, name in played
    }
    times = best_of(repeats, takers)
    rows = [
        Row(
            PART,
            f"{policy}, {name}: time over that of fresh arms",
            times[f"{policy}, {name}"] / times[policy],
            "x",
            most=1.3,
            note=count_projections(policies[policy], [problems.get(name, shop), still], plays),
        )
        for policy, name in played
    ]
    first = Row(PART, "CRTM, fresh arms, nothing changes", times["CRTM"], "us")
    return Outcome([first, *rows], [])


def taker(policy: Any, problem: hb.Problem, plays: int) -> Any:
    """Return a function that plays a run and returns CPU microseconds per play."""
    checked, last = check_problem(problem), np.array([plays], np.int64)
    run_once(policy, checked, 1, np.array([1], np.int64), SEED, 0)  # compiles
    return lambda: run_once(policy, checked, plays, last, SEED, 0)[1] / plays * 1e6


def count_projections(policy: Any, problems: list[hb.Problem], plays: int) -> str:
    """Return how often a policy projects in a world and with fresh arms, as a note."""
    last, rates = np.array([plays], np.int64), []
    for problem in problems:
        trace, _ = run_once(policy, check_problem(problem), plays, last, SEED, 0)
        rates.append(1000.0 * trace.projections[0] / plays)
    return f"projections per 1,000 plays: {rates[0]:.0f}, with fresh arms {rates[1]:.0f}"
