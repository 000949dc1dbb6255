"""One reward of -10^4 early on: whom does it ruin?"""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.policies import Uniform

DIM, ARMS, HORIZON, OUTLIER = 5, 10, 3000, 100
LINK = hb.links.Identity()
SETTING: dict[str, Any] = {"dim": DIM, "horizon": HORIZON, "link": LINK}
POLICIES: dict[str, Any] = {
    "linucb": hb.linucb(dim=DIM, radius=0.3),
    "ol2m": hb.ol2m(dim=DIM, link=LINK, radius_scale=0.03),
    "crtm": hb.crtm(**SETTING, raw_moment=4.0, radius_scale=0.01),
    "crmm": hb.crmm(**SETTING, central_moment=4.0, radius_scale=0.03, plays=5),
    "truncate": hb.linucb(dim=DIM, radius=0.3, filter=hb.filters.Truncate(5.0)),
    "clip": hb.linucb(dim=DIM, radius=0.3, filter=hb.filters.Clip(2.0)),
    "uniform": Uniform(DIM, 1),
}


@pytest.fixture(scope="module")
def later() -> dict[str, dict[str, float]]:
    """Regret a play after the outlier, without and with it: mean over six repetitions."""
    calm = hb.noises.StudentT(3.0)
    noises: dict[str, Any] = {
        "calm": calm,
        "hit": hb.noises.Outlier(calm, play=OUTLIER, value=-1e4),
    }
    found: dict[str, dict[str, float]] = {name: {} for name in POLICIES}
    for label, noise in noises.items():
        problem = hb.Problem(hb.arms.Fixed(ARMS, DIM, -1.0), LINK, noise)
        result = hb.simulate(
            POLICIES,
            problem,
            horizon=HORIZON,
            repetitions=6,
            seed=4,
            checkpoints=[OUTLIER, HORIZON],
        )
        for name in POLICIES:
            regret = result.curves(name)[1]
            rate = (regret[:, 1] - regret[:, 0]) / (HORIZON - OUTLIER)
            found[name][label] = float(np.mean(rate))
    return found


def test_one_reward_ruins_the_linear_bandit(later):
    assert later["linucb"]["calm"] < 0.1 * later["uniform"]["calm"]
    assert later["linucb"]["hit"] > 0.8 * later["uniform"]["hit"]


@pytest.mark.parametrize("name", ["crtm", "crmm", "truncate", "clip"])
def test_the_robust_ones_are_unharmed(name, later):
    chance = later["uniform"]["hit"]
    assert later[name]["hit"] < 0.2 * chance
    assert later[name]["hit"] < later[name]["calm"] + 0.05 * chance


def test_chance_does_not_care(later):
    assert later["uniform"]["hit"] == later["uniform"]["calm"]


def test_a_newton_step_without_a_filter_is_thrown_but_projected(later):
    """OL2M stays in the ball, so it is harmed for a while and not for good."""
    assert later["ol2m"]["hit"] > 2.0 * later["ol2m"]["calm"]
    assert later["ol2m"]["hit"] < later["linucb"]["hit"]
