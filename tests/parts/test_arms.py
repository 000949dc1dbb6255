"""Arm sets: what they offer, and the optimistic arm against brute force."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits.authoring import (
    ARMS,
    ArmSet,
    add_observation,
    check_part,
    make_region,
    measure,
    stream_key,
)

SEEDS = st.integers(0, 2**32 - 1)
KEY = stream_key(0, 0, ARMS)


def make(inverse: np.ndarray, centre: np.ndarray):
    region = make_region(centre.size, 1.0)
    region.inverse[:], region.centre[:] = inverse, centre
    region.design[:] = np.linalg.inv(inverse)
    return region


def random_region(seed: int, dim: int, updates: int = 8):
    """A region as play makes it: eigenvalues of V between 1 and about 10^3, centre in the ball."""
    rng = np.random.default_rng(seed)
    region = make_region(dim, 1.0)
    for _ in range(updates):
        x = rng.normal(size=dim) * 10 ** rng.uniform(-1, 1.5)
        measure(region, x)
        add_observation(region, x, 0.5)
    region.centre[:] = rng.normal(size=dim) / np.sqrt(dim)
    return region


def index(x, region, width):
    return x @ region.centre + width * np.sqrt(x @ region.inverse @ x)


def choose(arms, region, width):
    buffer = arms.make_buffer()
    with np.errstate(over="ignore"):
        arms.refresh(buffer, KEY, 0)
    arm = arms.maximise(buffer, region, width)
    return arm, buffer.chosen.copy()


# ---- finite sets


@given(seed=SEEDS, dim=st.integers(1, 6), size=st.integers(1, 20), width=st.floats(0, 5))
def test_the_optimistic_arm_has_the_largest_index(seed, dim, size, width):
    features = np.random.default_rng(seed).normal(size=(size, dim))
    region = random_region(seed, dim)
    arm, chosen = choose(hb.arms.FromArray(features), region, width)
    np.testing.assert_array_equal(chosen, features[arm])
    best = max(index(x, region, width) for x in features)
    assert index(chosen, region, width) == pytest.approx(best, rel=1e-12, abs=1e-12)


@given(seed=SEEDS, data=st.data())
def test_permuting_arms_permutes_the_choice(seed, data):
    features = np.random.default_rng(seed).normal(size=(7, 3))
    order = data.draw(st.permutations(range(7)))
    region = random_region(seed, 3)
    plain, _ = choose(hb.arms.FromArray(features), region, 0.7)
    mixed, _ = choose(hb.arms.FromArray(features[order]), region, 0.7)
    assert order[mixed] == plain


@given(seed=SEEDS, scale=st.sampled_from([2.0**-6, 4.0, 1024.0]))
def test_scaling_centre_and_width_together_changes_nothing(seed, scale):
    features = np.random.default_rng(seed).normal(size=(7, 3))
    region = random_region(seed, 3)
    plain, _ = choose(hb.arms.FromArray(features), region, 0.7)
    region.centre[:] *= scale
    assert choose(hb.arms.FromArray(features), region, 0.7 * scale)[0] == plain


def test_ties_go_to_the_lowest_arm():
    arm, _ = choose(hb.arms.FromArray(np.ones((5, 2))), make_region(2, 1.0), 1.0)
    assert arm == 0


@pytest.mark.parametrize("kind", [hb.arms.PerRound, hb.arms.PerDecision, hb.arms.Fixed])
@pytest.mark.parametrize("low", [0.0, -1.0, 0.5])
def test_random_arms_are_unit_vectors_drawn_from_a_box(kind, low):
    arms = kind(21, 3, low)
    buffer = arms.make_buffer()
    with np.errstate(over="ignore"):
        arms.refresh(buffer, KEY, 0)
    drawn = buffer.features[:, :21]
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=0), 1.0, rtol=1e-12)
    assert len(np.unique(drawn[0])) == 21
    assert (drawn.min() < 0) == (low < 0)


def test_fresh_sets_change_with_the_play_and_fixed_ones_do_not():
    drawn: dict[type, Any] = {}
    with np.errstate(over="ignore"):
        for kind in (hb.arms.PerRound, hb.arms.PerDecision, hb.arms.Fixed):
            arms = kind(5, 3)
            buffer = arms.make_buffer()
            drawn[kind] = []
            for play in (0, 1, 7):
                arms.refresh(buffer, KEY, play)
                drawn[kind].append(buffer.features.copy())
    assert np.array_equal(drawn[hb.arms.PerRound], drawn[hb.arms.PerDecision])
    assert not np.array_equal(drawn[hb.arms.PerRound][0], drawn[hb.arms.PerRound][1])
    assert np.array_equal(drawn[hb.arms.Fixed][0], drawn[hb.arms.Fixed][2])
    assert np.array_equal(drawn[hb.arms.Fixed][0], drawn[hb.arms.PerRound][0])


@pytest.mark.parametrize("projection", ["exact", "none"])
def test_a_kept_view_follows_the_region(projection):
    """O(Kd) bookkeeping equals starting from scratch, through projections and repairs of V^-1."""
    rng = np.random.default_rng(5)
    arms = hb.arms.FromArray(rng.normal(size=(6, 3)) / 3)
    policy = hb.crtm(dim=3, horizon=1500, raw_moment=1.0, radius_scale=0.1, projection=projection)
    state, kept = policy.init(), arms.make_buffer()
    arms.refresh(kept, KEY, 0)
    for _ in range(1500):
        arm = policy.choose(state, arms, kept)
        fresh = arms.make_buffer()
        arms.refresh(fresh, KEY, 0)
        policy.choose(state, arms, fresh)
        np.testing.assert_allclose(kept.squares[:6], fresh.squares[:6], rtol=1e-8)
        np.testing.assert_allclose(kept.scores[:6], fresh.scores[:6], atol=1e-9)
        reward = arms.features[arm].sum() + rng.standard_t(2)
        policy.learn(state, arms.features[arm].copy(), np.array([reward]))
    assert (policy.tally(state)[1] > 0) == (projection == "exact")


# ---- ball and sphere


def ascend(region, width, starts):
    """Local ascent x <- theta(x) / ||theta(x)||, which never lowers the index, from many starts."""
    best = -np.inf
    for x in starts:
        for _ in range(200):
            theta = region.centre + width * region.inverse @ x / np.sqrt(x @ region.inverse @ x)
            x = theta / np.linalg.norm(theta)
        best = max(best, index(x, region, width))
    return best


@pytest.mark.parametrize("kind", [hb.arms.UnitBall, hb.arms.UnitSphere])
@settings(max_examples=50)
@given(seed=SEEDS, dim=st.integers(1, 5), width=st.sampled_from([1e-6, 0.01, 0.3, 2.0, 1e4]))
def test_ball_and_sphere_beat_every_ascent(kind, seed, dim, width):
    region = random_region(seed, dim)
    arm, chosen = choose(kind(dim), region, width)
    assert arm == -1
    assert np.linalg.norm(chosen) == pytest.approx(1.0, rel=1e-12)
    somewhere = np.random.default_rng(seed).normal(size=(4, dim))
    starts = [*somewhere, *np.linalg.eigh(region.inverse)[1].T]
    found, best = index(chosen, region, width), ascend(region, width, starts)
    assert found >= best - 1e-9 * abs(best)


@given(seed=SEEDS, width=st.floats(0, 3))
def test_ball_in_the_plane_against_every_angle(seed, width):
    region = random_region(seed, 2)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    indices = region.centre @ circle + width * np.sqrt(
        np.einsum("ik,ij,jk->k", circle, region.inverse, circle)
    )
    _, chosen = choose(hb.arms.UnitBall(2), region, width)
    found = index(chosen, region, width)
    assert indices.max() - 1e-9 <= found <= indices.max() + 1e-6


HARD = {
    "no component on the top eigenvector": ([2.0, 1.0, 0.5], [0.0, 0.3, 0.1]),
    "none, and far out": ([2.0, 1.0, 0.5], [0.0, 50.0, 0.1]),
    "centre zero": ([2.0, 1.0, 0.5], [0.0, 0.0, 0.0]),
    "all eigenvalues equal": ([1.0, 1.0, 1.0], [0.1, 0.2, 0.3]),
    "all equal, centre zero": ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    "two on top": ([2.0, 2.0, 0.5], [0.0, 0.0, 0.4]),
    "two on top, one seen": ([2.0, 2.0, 0.5], [0.0, 0.3, 0.4]),
    "nearly no component": ([2.0, 1.0, 0.5], [1e-14, 0.3, 0.1]),
    "tiny": ([2e-12, 1e-12, 1e-13], [0.0, 0.3, 0.1]),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", HARD)
def test_the_hard_cases_of_the_ball(name, width, turned):
    values, centre = (np.array(part) for part in HARD[name])
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0] if turned else np.eye(3)
    inverse = basis @ np.diag(values) @ basis.T
    region = make((inverse + inverse.T) / 2, basis @ centre)
    _, chosen = choose(hb.arms.UnitBall(3), region, width)
    starts = np.random.default_rng(2).normal(size=(30, 3))
    best = ascend(region, width, starts / np.linalg.norm(starts, axis=1)[:, None])
    assert index(chosen, region, width) >= best - 1e-9 * max(1.0, best)
    assert np.linalg.norm(chosen) == pytest.approx(1.0, rel=1e-12)


def test_a_ball_without_width_is_greedy():
    region = make(np.diag([2.0, 1.0]), np.array([0.3, -0.4]))
    np.testing.assert_allclose(choose(hb.arms.UnitBall(2), region, 0.0)[1], [0.6, -0.8], atol=1e-12)
    nothing = choose(hb.arms.UnitBall(2), make_region(2, 1.0), 0.0)[1]
    assert np.linalg.norm(nothing) == pytest.approx(1.0)


# ---- the box


def corners(box):
    return np.array(list(itertools.product(*zip(box.low, box.high, strict=True))))


def make_box(rng, dim):
    low = -rng.uniform(0, 1, dim)
    return hb.arms.Box(low, low + rng.uniform(0.1, 1.5, dim))


def test_the_box_against_all_corners():
    """NP-hard in general: never worse than a local optimum, and exact nearly always at small d."""
    exact, short = 0, 0.0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        dim, width = int(rng.integers(1, 9)), 10 ** rng.uniform(-2, 2)
        box, region = make_box(rng, dim), random_region(seed, dim)
        arm, chosen = choose(box, region, width)
        assert arm == -1
        everywhere = corners(box)
        assert (everywhere == chosen).all(axis=1).any()
        indices = np.array([index(x, region, width) for x in everywhere])
        found = index(chosen, region, width)
        near = everywhere[(everywhere != chosen).sum(axis=1) <= 1]
        assert found >= max(index(x, region, width) for x in near) - 1e-9 * (1 + abs(found))
        exact += found >= indices.max() - 1e-9 * (1 + abs(found))
        short = max(short, (indices.max() - found) / np.ptp(indices))
    assert exact >= 0.97 * 400
    assert short < 0.05


@given(seed=SEEDS, dim=st.integers(1, 8))
def test_the_best_of_a_box_under_a_known_theta(seed, dim):
    rng = np.random.default_rng(seed)
    box, theta = make_box(rng, dim), rng.normal(size=dim)
    assert box.top(box.make_buffer(), theta) == pytest.approx(
        (corners(box) @ theta).max(), rel=1e-12
    )
    region = make_region(dim, 1.0)
    region.centre[:] = theta
    assert choose(box, region, 0.0)[1] @ theta == pytest.approx(box.top(None, theta), rel=1e-12)


@pytest.mark.parametrize("width", [0.0, 1.0, 5417.0, 1e12])
def test_a_symmetric_box_and_a_flat_one_end(width):
    """Corners that tie to the last bit must not be flipped for ever."""
    for dim in range(1, 9):
        for inverse in (np.eye(dim), np.eye(dim) + 1.0, np.eye(dim) - 0.9 / dim):
            region = make(inverse, np.zeros(dim))
            box = hb.arms.Box(-np.ones(dim) / 3, np.ones(dim) / 3)
            _, chosen = choose(box, region, width)
            best = max(index(x, region, width) for x in corners(box))
            assert index(chosen, region, width) == pytest.approx(best, rel=1e-9)
            flat = hb.arms.Box(np.zeros(dim), np.zeros(dim))
            np.testing.assert_array_equal(choose(flat, region, width)[1], np.zeros(dim))


# ---- refusals

kinds: Any = hb.arms  # to be given what their types do not allow

FRACTION: Any = 2.5  # of the wrong type, as a caller without a type checker may have it


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        (kinds.PerRound(0, 3), "PerRound.size must be a whole number >= 1, got 0"),
        (kinds.Fixed(3, 0), "Fixed.dim must be a whole number >= 1, got 0"),
        (kinds.Fixed(FRACTION, 3), "Fixed.size must be a whole number"),
        (kinds.PerRound(3, 3, np.nan), "PerRound.low must be a finite number"),
        (kinds.FromArray(np.zeros((0, 3))), r"features must have shape \(any, any\), got \(0, 3\)"),
        (kinds.FromArray(np.zeros((3, 0))), r"features must have shape \(any, any\), got \(3, 0\)"),
        (kinds.FromArray(np.zeros(3)), "features must have shape"),
        (kinds.FromArray([[1.0, 2.0], [3.0]]), "features must be an array of numbers"),
        (
            kinds.FromArray(np.array([[1.0, np.inf]])),
            r"features must be finite, got inf at \(0, 1\)",
        ),
        (kinds.FromArray([[1e9, 0.0, 0.0]]), r"features must be in \[-1e6, 1e6\], got 1e\+09"),
        (kinds.FromArray("abc"), "features must be an array of numbers"),
        (kinds.UnitBall(0), "UnitBall.dim must be a whole number"),
        (kinds.Box([0.0, 0.0], [1.0]), r"Box.high must have shape \(2,\), got \(1,\)"),
        (kinds.Box([0.0, 2.0], [1.0, 1.0]), "Box.low must not exceed Box.high, but does at 1"),
        (kinds.Box([np.nan], [1.0]), "Box.low must be finite"),
        (hb.links.Logistic(), "arms must be an arm set"),
        (np.eye(3), "arms must be an arm set"),
        (None, "arms must be an arm set"),
    ],
    ids=repr,
)
def test_impossible_arm_sets_are_refused(arms, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        check_part("arms", arms, ArmSet)
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.simulate(
            hb.linucb(dim=3),
            hb.Problem(arms, hb.links.Identity(), hb.noises.Gaussian()),
            horizon=1,
        )
