"""The parts that only the experiments need."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.experiments.coverage import analyse
from heavybandits.experiments.parts import Alternating, GivenScale, Offers, TwoPoint, saturating

KEY = np.uint64(7)


def draws(noise: Any, plays: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.array([noise.draw(KEY, play) for play in range(plays)])


def test_two_points_have_the_moments_they_say() -> None:
    noise = saturating(0.3, 1.3)
    found = draws(noise, 4000)
    assert set(np.sign(found)) == {-1.0, 1.0}
    assert np.mean(np.abs(found) ** 1.3) == pytest.approx(1.0, rel=0.1)
    assert np.mean(np.abs(found + 2.0) ** 2) == pytest.approx(noise.moment(2.0, 2.0), rel=0.1)
    assert abs(found.mean()) < 0.1


def test_two_points_are_refused_without_a_second_one() -> None:
    with pytest.raises(hb.InvalidInputError, match=r"TwoPoint.share must be in \(0, 1\), got 1"):
        hb.simulate(
            hb.linucb(dim=2, radius=1.0),
            hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), TwoPoint(1.0)),
            horizon=5,
        )


def test_every_second_play_is_louder() -> None:
    base = hb.noises.StudentT(3.0, 0.1)
    calm, loud = draws(base, 50), draws(Alternating(base, 10.0), 50)
    assert (loud[::2] == calm[::2]).all()
    assert (loud[1::2] == 10.0 * calm[1::2]).all()
    assert Alternating(base, 10.0).moment(2.0) == pytest.approx(3.0)


def shown(arms: Any, play: int) -> np.ndarray:
    buffer = arms.make_buffer()
    with np.errstate(over="ignore"):
        arms.refresh(buffer, KEY, play)
    return np.array(buffer.features[:, : arms.size])


def test_offers_without_an_intercept_are_frozen_sets() -> None:
    assert (shown(Offers(6, 4), 3) == shown(hb.arms.PerDecision(6, 4, -1.0), 3)).all()


def test_offers_with_an_intercept_are_unit_vectors_that_share_it() -> None:
    features = shown(Offers(6, 4, 0.7), 3)
    assert (features[-1] == 0.7).all()
    assert np.linalg.norm(features, axis=0) == pytest.approx(np.ones(6))
    plain = shown(Offers(6, 4), 3)[:-1]
    assert features[0] / features[1] == pytest.approx(plain[0] / plain[1])


def test_what_is_told_is_the_noise_scale_of_the_reward_to_come() -> None:
    policy: Any = hb.crhl(dim=2, noise_scale=1.0, radius_scale=0.01)
    step = policy.estimator
    told, plain = GivenScale(step, 0.2, 5.0), step
    mine, theirs = told.init(), plain.init()
    rng = np.random.default_rng(0)
    for t in range(6):
        theirs.noise_scale[0] = 1.0 if t % 2 else 0.2
        x, reward = rng.uniform(-0.5, 0.5, 2), rng.normal()
        for part, estimate in ((told, mine), (plain, theirs)):
            norm = hb.authoring.measure(estimate.region, x)
            rewards = np.array([reward])
            part.update(estimate, hb.authoring.Observation(x, reward, rewards, 0.0, norm))
    assert (mine.region.centre == theirs.region.centre).all()


# ---- coverage


def test_regions_of_different_algorithms_stand_in_their_own_columns() -> None:
    """CRTM has a tuned region, CRHL a fiftieth of its own: neither may stand under the other's."""
    seen = {"checks": 9, "covered": 9, "worst": 0.25, "squared_radius": 4.0}
    rows = [
        seen | {"noise": "t3", "algorithm": algorithm, "region": region, "squared_distance": 1.0}
        for algorithm, region in (
            *(("CRTM", "theorem"), ("CRTM", "c = 0.01")),
            *(("CRHL", "theorem"), ("CRHL", "a fiftieth")),
        )
        for _ in range(3)
    ]
    found = analyse(rows)
    (panel,) = found.figures[0].views[0].panels
    assert panel.categories == ["theorem", "c = 0.01", "a fiftieth"]
    assert {series.name: series.x for series in panel.series} == {
        "CRTM": [0.0, 1.0],
        "CRHL": [0.0, 2.0],
    }
    assert [v.claim.partition(":")[0] for v in found.verdicts] == ["Theorem 1", "CRHL's theorem"]
