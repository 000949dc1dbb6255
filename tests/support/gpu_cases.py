"""What a device can play, one case per policy: together they have every part that it can play."""

from itertools import cycle
from typing import Any

import numpy as np

import heavybandits as hb
from all_policies import POLICIES
from heavybandits._utils.errors import InvalidInputError
from heavybandits.gpu.supported import check_supported
from heavybandits.simulation.problem import Problem, check_problem

DIM = 3
LINKS: tuple[Any, ...] = (
    hb.links.Logistic(),
    hb.links.Identity(),
    hb.links.Probit(),
    hb.links.Exponential(),
)
NOISES: tuple[Any, ...] = (
    hb.noises.StudentT(3.0),
    hb.noises.Gaussian(),
    hb.noises.Laplace(),
    hb.noises.Pareto(3.0, 0.1),
    hb.noises.SymmetricPareto(3.0, 0.1),
    hb.noises.LogNormal(),
    hb.noises.AlphaStable(1.8),
    hb.noises.Contaminated(hb.noises.Gaussian(), hb.noises.StudentT(2.0), 0.1),
    hb.noises.Outlier(hb.noises.Gaussian(), 5, 100.0),
)


def arm_sets(dim: int) -> tuple[Any, ...]:
    rows = np.random.default_rng(0).normal(size=(9, dim))
    given = hb.arms.FromArray(rows / np.linalg.norm(rows, axis=1)[:, None])
    frozen, fixed = hb.arms.PerDecision(11, dim, -1.0), hb.arms.Fixed(20, dim, -1.0)
    return hb.arms.PerRound(20, dim, -1.0), fixed, given, frozen


def moving(sees: Any = NOISES[0], **changes: Any) -> Problem:
    """A problem that changes while it is played, or whose noise sees the arm."""
    arms = hb.arms.Fixed(11, DIM, -1.0)
    return check_problem(Problem(arms, hb.links.Identity(), sees, **changes))


def worlds() -> dict[str, tuple[Any, Problem]]:
    """Problems that change, which one lane plays: together they have every part that changes one,
    and the shop."""
    small, linucb = hb.noises.StudentT(3.0, 0.3), hb.linucb(dim=DIM, radius=1.0)
    crtm = hb.crtm(dim=DIM, horizon=200, raw_moment=3.5, radius_scale=1e-3)
    w = hb.worlds
    late = w.GeometricDelay(10.0, room=200)
    return {
        "jumps": (
            linucb,
            moving(
                w.Heteroskedastic(small),
                drift=w.Jumps(every=25),
                delay=late,
                adversary=w.FlipMeans(5.0),
            ),
        ),
        "flip": (
            crtm,
            moving(
                w.Multiplicative(small),
                drift=w.Flip(at=30),
                delay=w.ParetoDelay(2.0, 3.0, room=200),
                adversary=w.Spikes(50.0, size=5.0, share=0.05),
            ),
        ),
        "walk": (
            linucb,
            moving(
                w.ZeroInflated(small, 0.3),
                drift=w.RandomWalk(0.01),
                delay=w.LostRewards(0.3, w.ConstantDelay(7)),
                adversary=w.HideBest(10.0),
            ),
        ),
        "cycle": (POLICIES["mom"], moving(drift=w.Cycle(period=40))),
        "shop": (hb.linucb(dim=10, radius=0.1), w.shop(period=20)),
        "shop_auto": (hb.auto(dim=10), w.shop(period=20, delay=late)),
    }


def forgetful() -> dict[str, tuple[Any, Problem]]:
    """`Discounted`, of which no algorithm of the catalogue is made without being asked."""
    problem = check_problem(Problem(hb.arms.Fixed(20, DIM, -1.0), hb.links.Identity(), NOISES[0]))
    return {"auto_forgets": (hb.auto(dim=DIM, half_life=50.0), problem)}


def supported(policy: Any) -> bool:
    try:
        check_supported({"policy": policy}, hb.arms.Fixed(2, DIM))
    except InvalidInputError:
        return False
    return True


def cases() -> dict[str, tuple[Any, Problem]]:
    """Policies by name, each with a problem; arm sets, links and noises take turns."""
    made = {}
    arms, links, noises = cycle(arm_sets(DIM)), cycle(LINKS), cycle(NOISES)
    for name, policy in POLICIES.items():
        if not supported(policy):
            continue
        mine = next(arms)
        if policy.plays > 1 and mine.redraw == "round":
            mine = next(arms)
        made[name] = policy, check_problem(Problem(mine, next(links), next(noises)))
    return made | shapes() | forgetful() | worlds()


def shapes() -> dict[str, tuple[Any, Problem]]:
    """CRTM at other sizes: odd and even, more arms than lanes, with room for all, some and none of
    its matrices; and CRMM and CRCM with many plays per decision."""
    made: dict[str, tuple[Any, Problem]] = {}
    for dim, arms in ((1, 1), (10, 20), (7, 40), (24, 10), (50, 20), (100, 200)):
        policy = hb.crtm(dim=dim, horizon=200, raw_moment=3.5, radius_scale=1e-3)
        problem = Problem(hb.arms.PerRound(arms, dim), LINKS[0], NOISES[0])
        made[f"crtm_{dim}_{arms}"] = policy, check_problem(problem)
    for dim, arms in ((10, 20), (70, 20), (100, 200)):
        policy = hb.crtm(dim=dim, horizon=200, raw_moment=3.5, radius_scale=1e-3)
        problem = Problem(hb.arms.Fixed(arms, dim), LINKS[0], NOISES[0])
        made[f"crtm_fixed_{dim}_{arms}"] = policy, check_problem(problem)
    problem = check_problem(Problem(hb.arms.Fixed(20, DIM, -1.0), LINKS[0], NOISES[0]))
    for make in (hb.crmm, hb.crcm):
        policy = make(dim=DIM, horizon=600, central_moment=3.5, radius_scale=1e-3, plays=30)
        made[f"{make.__name__}_many"] = policy, problem
    return made
