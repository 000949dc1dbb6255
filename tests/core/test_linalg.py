"""Loops over matrices against numpy; the projection against its KKT conditions and brentq."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import heavybandits as hb
import naive
from heavybandits.core import linalg
from heavybandits.core import order_statistics as selection
from heavybandits.core.confidence_region import (
    add_observation,
    change_penalty,
    discount,
    fallback_count,
    is_valid_region,
    log_volume,
    make_region,
    measure,
    reset_region,
)
from heavybandits.core.projection import ROWS, project_ball

SEEDS = st.integers(0, 2**32 - 1)
DIMS = st.integers(1, 7)


def positive_definite(rng: np.random.Generator, dim: int, decades: float) -> np.ndarray:
    """A random V whose eigenvalues spread over this many powers of ten, from 1 up."""
    basis, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    return basis @ np.diag(10 ** rng.uniform(0, decades, dim)) @ basis.T


# ---- products


@given(seed=SEEDS, dim=DIMS, size=st.integers(1, 9))
def test_products_equal_numpy(seed, dim, size):
    rng = np.random.default_rng(seed)
    a, b, rows = rng.normal(size=dim), rng.normal(size=dim), rng.normal(size=(dim, size))
    matrix = positive_definite(rng, dim, 2)
    assert linalg.dot(a, b) == pytest.approx(a @ b, rel=1e-12, abs=1e-12)
    assert linalg.norm(a) == pytest.approx(np.linalg.norm(a), rel=1e-12)
    out = np.full(size, np.nan)
    linalg.combine(rows, a, out)
    np.testing.assert_allclose(out, a @ rows, rtol=1e-12, atol=1e-12)
    out, above, below = (np.full(size, np.nan) for _ in range(3))
    linalg.squares(rows, matrix, out, above, below)
    np.testing.assert_allclose(out, np.diag(rows.T @ matrix @ rows), rtol=1e-11)
    changed = matrix.copy()
    linalg.add_outer(changed, -0.3, a)
    np.testing.assert_allclose(changed, matrix - 0.3 * np.outer(a, a), rtol=1e-11, atol=1e-12)


@given(seed=SEEDS, dim=DIMS)
def test_inversion_and_eigenvalues_equal_numpy(seed, dim):
    rng = np.random.default_rng(seed)
    matrix = positive_definite(rng, dim, 4)
    inverse, scratch = np.full((dim, dim), np.nan), np.full((max(dim, 5), dim), np.nan)
    linalg.invert(matrix, inverse, scratch)
    np.testing.assert_allclose(inverse @ matrix, np.eye(dim), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)
    values, vectors = np.full(dim, np.nan), np.full((dim, dim), np.nan)
    linalg.eigen(matrix.copy(), values, vectors)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), rtol=1e-9)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(dim), atol=1e-12)


def test_eigen_takes_equal_eigenvalues_and_a_zero():
    matrix = np.diag([2.0, 2.0, 0.0])
    matrix[0, 1] = matrix[1, 0] = 2.0
    values, vectors = np.empty(3), np.empty((3, 3))
    linalg.eigen(matrix.copy(), values, vectors)
    np.testing.assert_allclose(np.sort(values), [0.0, 0.0, 4.0], atol=1e-12)
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-12)


# ---- order statistics


@given(values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30), data=st.data())
def test_ranks_and_medians_of_any_stretch(values, data):
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start + 1, len(values)))
    rank = data.draw(st.integers(0, stop - start - 1))
    work = np.array(values)
    assert selection.select_rank(work, start, stop, rank) == sorted(values[start:stop])[rank]
    assert sorted(work[start:stop]) == sorted(values[start:stop])
    assert list(work[:start]) == values[:start]
    assert list(work[stop:]) == values[stop:]
    assert selection.median(work, start, stop) == np.median(values[start:stop])


@given(values=st.lists(st.sampled_from([-1.0, 0.0, 0.0, 2.0]), min_size=1, max_size=60))
def test_ranks_and_medians_of_many_equal_values(values):
    for rank in range(len(values)):
        work = np.array(values)
        assert selection.select_rank(work, 0, len(values), rank) == sorted(values)[rank]
        assert max(work[:rank], default=-9.0) <= work[rank] <= min(work[rank:])
    assert selection.median(np.array(values), 0, len(values)) == np.median(values)


@given(values=st.lists(st.sampled_from([np.nan, -1.0, 0.0, 2.0]), min_size=1, max_size=30))
def test_a_rank_among_nans_is_found_and_nothing_is_lost(values):
    for rank in range(len(values)):
        work = np.array(values)
        selection.select_rank(work, 0, len(values), rank)
        np.testing.assert_array_equal(np.sort(work), np.sort(values))


# ---- medoids


def definition(gaps: np.ndarray, include_self: bool) -> tuple[int, float]:
    """The first row of the least median distance."""
    squares = np.maximum(np.tril(gaps, -1) + np.tril(gaps, -1).T, 0.0)
    kept = ~np.eye(len(gaps), dtype=bool) | include_self
    medians = [
        np.median(np.sqrt(row[own])) if own.any() else 0.0
        for row, own in zip(squares, kept, strict=True)
    ]
    return int(np.argmin(medians)), float(min(medians))


def found_medoid(gaps: np.ndarray, include_self: bool, limit: float) -> tuple[int, float]:
    row, counts = np.full(len(gaps), np.nan), np.full(len(gaps), np.nan)
    selection.count_near(gaps, limit, counts)
    return selection.medoid(gaps, row, counts, include_self, limit)


compiled_medoid = njit(found_medoid)


@given(seed=SEEDS, size=st.integers(1, 40), ties=st.booleans(), include_self=st.booleans())
def test_a_medoid_is_that_of_the_definition_whatever_the_limit(seed, size, ties, include_self):
    rng = np.random.default_rng(seed)
    points = rng.standard_t(1.5, size=(size, 2))
    points = np.round(points) if ties else points
    gaps = ((points[:, None] - points[None]) ** 2).sum(2) - 1e-18  # of equal points: rounding
    gaps[np.triu_indices(size)] = 1e300  # nobody looks there
    best, least = definition(gaps, include_self)
    for limit in (0.0, 0.5 * least**2, least**2, 1.1 * least**2, 3.0 * least**2, 1e9):
        found = found_medoid(gaps, include_self, limit)
        assert found[0] == best
        assert found[1] == pytest.approx(least, abs=1e-15)
        assert found == compiled_medoid(gaps, include_self, limit)


# ---- the projection onto the ball


def projected(point: np.ndarray, design: np.ndarray, limit: float) -> np.ndarray:
    region = make_region(point.size, 1.0)
    region.centre[:], region.design[:] = point, design
    region.inverse[:] = np.linalg.inv(design)
    region.inverse[:] = (region.inverse + region.inverse.T) / 2
    moved = hb.estimators.BallProjection(limit).project(region)
    assert moved == (linalg.norm(point) > limit)
    return region.centre.copy()


PROJECTIONS = {
    "seed": SEEDS,
    "dim": DIMS,
    "decades": st.floats(0, 6),
    "limit": st.sampled_from([1e-3, 1.0, 50.0]),
    "far": st.floats(-3, 12),
}


@given(**PROJECTIONS)
def test_projection_is_inside_optimal_and_idempotent(seed, dim, decades, limit, far):
    rng = np.random.default_rng(seed)
    design = positive_definite(rng, dim, decades)
    point = rng.normal(size=dim) * limit * 10**far
    near = projected(point, design, limit)
    assert np.linalg.norm(near) <= limit * (1 + 1e-12)
    if linalg.norm(point) <= limit:
        np.testing.assert_array_equal(near, point)
        return
    # The gradient of ||theta - point||_V^2 / 2 points straight inwards: V(point - near) = nu near.
    pull = design @ (point - near)
    nu = (pull @ near) / (near @ near)
    assert nu > 0.0
    assert np.linalg.norm(pull - nu * near) <= 1e-8 * np.linalg.norm(pull)
    np.testing.assert_allclose(projected(near, design, limit), near, rtol=1e-10, atol=1e-12 * limit)


@given(**PROJECTIONS)
def test_projection_equals_the_root_of_the_secular_equation(seed, dim, decades, limit, far):
    rng = np.random.default_rng(seed)
    design = positive_definite(rng, dim, decades)
    point = rng.normal(size=dim) * limit * 10**far
    expected, _ = naive.project(point, design, limit)
    np.testing.assert_allclose(projected(point, design, limit), expected, atol=1e-8 * limit)


@given(seed=SEEDS, dim=DIMS, scale=st.sampled_from([2.0**-8, 4.0, 2.0**20]))
def test_projection_scales(seed, dim, scale):
    """Of c x onto c B it is c times that of x onto B; the scale of V does not matter."""
    rng = np.random.default_rng(seed)
    design, point = positive_definite(rng, dim, 3), 5.0 * rng.normal(size=dim)
    near = projected(point, design, 1.0)
    np.testing.assert_allclose(projected(scale * point, design, scale), scale * near, rtol=1e-9)
    np.testing.assert_allclose(projected(point, scale * design, 1.0), near, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("far", [1e30, 1e60, 1e100, 1e160, 1e250])
def test_projection_from_beyond_the_horizon(far):
    """A reward of 10^100 lands there; what remains is the direction of V x."""
    design = np.diag([1.0, 10.0, 1e6])
    with np.errstate(over="ignore"):  # squares, beyond 1e154
        near = projected(far * np.array([1.0, 1.0, 1.0]), design, 1.0)
    assert np.linalg.norm(near) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(near, np.diag(design) / np.linalg.norm(np.diag(design)), atol=1e-9)


@pytest.mark.parametrize("distinct", [1, 2, 3])
@pytest.mark.parametrize("far", [1e-9, 1e-3, 1.0, 1e6])
def test_projection_where_the_span_ends_early(distinct, far):
    """V has few distinct eigenvalues: x, V^-1 x, ... stop being independent, but for rounding."""
    rng = np.random.default_rng(distinct)
    basis, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    values = rng.choice([1.0, 300.0, 1e5][:distinct], size=40)
    design, point = basis @ np.diag(values) @ basis.T, rng.normal(size=40)
    point *= (1.0 + far) / np.linalg.norm(point)
    expected, _ = naive.project(point, design, 1.0)
    np.testing.assert_allclose(projected(point, design, 1.0), expected, atol=1e-10)


@pytest.mark.parametrize("dim", [40, 100])
def test_projection_in_many_dimensions(dim):
    rng = np.random.default_rng(dim)
    design, point = positive_definite(rng, dim, 4), 2.0 * rng.normal(size=dim)
    expected, _ = naive.project(point, design, 1.0)
    np.testing.assert_allclose(projected(point, design, 1.0), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("far", [1.4, 5.0])
def test_projection_where_the_first_shift_is_far_from_the_last(seed, far):
    """Eigenvalues over seven decades: the tangent's shift is thousands of times too small."""
    rng = np.random.default_rng(seed)
    design, point = np.diag(10 ** rng.uniform(0, 7, 150)), rng.normal(size=150)
    point *= (1.0 + far) / np.linalg.norm(point)
    expected, _ = naive.project(point, design, 1.0)
    np.testing.assert_allclose(projected(point, design, 1.0), expected, atol=1e-9)


def test_projection_of_a_point_on_the_sphere_is_that_point():
    point = np.array([0.6, 0.8])
    np.testing.assert_allclose(projected(point, np.diag([1.0, 9.0]), 1.0), point, atol=1e-15)


def test_projection_where_v_has_no_digits_left_leads_straight_back():
    """V^-1 vanishes along x: nothing is known of where to go but the direction of x."""
    ahead = np.array([0.6, 0.0, 0.8])
    point, inverse = 1e80 * ahead, np.eye(3) - np.outer(ahead, ahead)
    project_ball(inverse, point, 2.0, np.zeros((ROWS + 3, 3)))
    np.testing.assert_allclose(point, 2.0 * ahead, atol=1e-12)


# ---- the inverse after many updates


@njit
def widen_many(region, arms, order, weight):
    for i in order:
        measure(region, arms[i])
        add_observation(region, arms[i], weight)


def exact_design(arms: np.ndarray, counts: np.ndarray, weight: float) -> np.ndarray:
    long = arms.astype(np.longdouble)
    outer = np.einsum("k,ki,kj->ij", counts.astype(np.longdouble), long, long)
    return np.asarray(np.eye(arms.shape[1]) + np.longdouble(weight) * outer, dtype=float)


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6])
def test_the_inverse_is_the_inverse_after_a_million_updates(spread):
    """Arms spread around one direction; at 1e-6 they are collinear to all intents and purposes."""
    rng = np.random.default_rng(7)
    arms = np.ones(6) / np.sqrt(6) + spread * rng.normal(size=(9, 6))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    order = rng.integers(0, 9, size=1_000_000)
    region = make_region(6, 1.0)
    widen_many(region, arms, order, 0.1)
    design = exact_design(arms, np.bincount(order), 0.1)
    exact = np.linalg.inv(design)
    total = region.design + region.recent
    assert np.linalg.norm(total - design) < 1e-9 * np.linalg.norm(design)
    assert np.linalg.norm(region.inverse - exact) < 1e-8 * np.linalg.norm(exact)
    assert np.abs(region.inverse @ design - np.eye(6)).max() < 1e-8
    assert region.counts[0] == 1_000_000
    log_det = np.linalg.slogdet(design)[1]
    assert log_volume(region) == pytest.approx(log_det, rel=1e-9)


def test_the_volume_is_known_however_fast_and_far_it_grows():
    region, total = make_region(5, 1.0), 0.0
    for axis, weight in zip(np.eye(5), [1e90, 1e90, 1e99, 1e101, 1e200], strict=True):
        measure(region, axis)
        add_observation(region, axis, weight)
        total += np.log(weight)
        assert log_volume(region) == pytest.approx(total, rel=1e-12)


@given(seed=SEEDS, dim=st.integers(1, 5), updates=st.integers(0, 60))
def test_the_inverse_is_the_inverse_after_any_number_of_updates(seed, dim, updates):
    rng = np.random.default_rng(seed)
    region, design = make_region(dim, 0.5), 0.5 * np.eye(dim)
    for _ in range(updates):
        x = rng.normal(size=dim)
        width = measure(region, x)
        assert width == pytest.approx(np.sqrt(x @ np.linalg.solve(design, x)), rel=1e-9)
        growth = add_observation(region, x, 0.7)
        assert growth == pytest.approx(1 + 0.7 * width * width, rel=1e-12)
        design += 0.7 * np.outer(x, x)
    np.testing.assert_allclose(region.inverse, np.linalg.inv(design), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(region.design + region.recent, design, rtol=1e-12, atol=1e-12)


def test_a_repair_leaves_the_inverse_where_it_was():
    """Update 1024 inverts V anew: nothing but rounding may change."""
    rng = np.random.default_rng(0)
    region, design = make_region(4, 1.0), np.eye(4)
    for _ in range(1024):
        x = rng.normal(size=4)
        measure(region, x)
        add_observation(region, x, 0.1)
        design += 0.1 * np.outer(x, x)
    np.testing.assert_allclose(region.inverse @ design, np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(region.inverse, region.inverse.T)


# ---- where double precision ends


def exact_width(arms: np.ndarray, counts: np.ndarray, penalty: float, x: np.ndarray) -> float:
    """||x||_{V^-1} by elimination in fractions."""
    dim = x.size
    rows = [[Fraction(float(v)) for v in arm] for arm in arms]
    matrix = [
        [
            Fraction(penalty) * (i == j)
            + sum(int(n) * row[i] * row[j] for n, row in zip(counts, rows, strict=True))
            for j in range(dim)
        ]
        + [Fraction(float(x[i]))]
        for i in range(dim)
    ]
    for i in range(dim):
        for j in range(i + 1, dim):
            factor = matrix[j][i] / matrix[i][i]
            matrix[j] = [a - factor * b for a, b in zip(matrix[j], matrix[i], strict=True)]
    square = sum(matrix[i][dim] ** 2 / matrix[i][i] for i in range(dim))
    return float(square) ** 0.5


COLLINEAR = {  # length, spread, penalty, updates
    "long": (9e5, 1e-8, 1.0, 3000),
    "less long": (1e5, 1e-8, 1.0, 20_000),
    "hardly penalised": (1.0, 1e-8, 1e-12, 20_000),
    "spread out": (1.0, 1e-3, 1e-12, 20_000),
    "hardly spread out": (1.0, 1e-4, 1e-12, 20_000),
    "between": (1.0, 1e-6, 1e-12, 5000),
}


@pytest.mark.parametrize("case", COLLINEAR)
def test_the_inverse_stays_one_where_cholesky_fails(case):
    """D7: the state was nan from update 1024 on, or from 16384 on."""
    length, spread, penalty, updates = COLLINEAR[case]
    rng = np.random.default_rng(0)
    arms = np.ones(5) / np.sqrt(5) + spread * rng.normal(size=(4, 5))
    arms *= length / np.linalg.norm(arms, axis=1)[:, None]
    order = rng.integers(0, 4, size=updates)
    region = make_region(5, penalty)
    widen_many(region, arms, order, 1.0)
    assert all(np.isfinite(array).all() for array in region)
    assert 0 < fallback_count(region) <= updates
    assert np.linalg.eigvalsh(region.inverse)[0] > -1e-14 / penalty
    np.testing.assert_array_equal(region.recent, region.recent.T)
    counts = np.bincount(order)
    for x in (*arms, np.eye(5)[0]):
        assert 0.5 < measure(region, x) / exact_width(arms, counts, penalty, x) < 2.0


EDGES = {  # length, penalty, arms, updates: at the ends of what the documentation allows
    "long arms, one direction": (1e5, 1.0, 1, 3000),
    "the longest arms, one direction": (1e6, 1.0, 1, 1023),
    "a small penalty, one direction": (30.0, 1e-6, 1, 20_000),
    "a small penalty, some directions": (30.0, 1e-6, 4, 20_000),
}


@pytest.mark.parametrize("case", EDGES)
def test_widths_hold_where_few_directions_are_known(case):
    """Rank-one steps made the width of the first arm 2.9 times too large, or V alone 3 times."""
    length, penalty, distinct, updates = EDGES[case]
    rng = np.random.default_rng(1)
    arms = rng.normal(size=(distinct, 8))
    arms *= length / np.linalg.norm(arms, axis=1)[:, None]
    order = rng.integers(0, distinct, size=updates)
    region, counts = make_region(8, penalty), np.bincount(order)
    widen_many(region, arms, order, 1.0)
    assert is_valid_region(region)
    for x in (*arms, *np.eye(8)):
        assert 0.95 < measure(region, x) / exact_width(arms, counts, penalty, x) < 1.05


def test_the_inverse_stays_bounded_where_double_precision_ends():
    """Half of the directions known from the longest arms, and the smallest penalty: it was nan
    after 69 updates. 1e-16 |x|^2 / penalty is far above every known square."""
    rng = np.random.default_rng(0)
    arms = 1e6 * rng.normal(size=(4, 8)) / np.sqrt(8)
    region = make_region(8, 1e-6)
    widen_many(region, arms, rng.integers(0, 4, size=5000), 1.0)
    assert is_valid_region(region)
    unknown = np.linalg.svd(arms)[2][4:]
    np.testing.assert_allclose([measure(region, x) for x in unknown], 1e3, rtol=1e-3)
    for _ in range(50):
        discount(region, 1e-3)
    assert is_valid_region(region)


@pytest.mark.parametrize("penalty", [1e-200, 1e-12, 1e12, 1e200])
def test_a_penalty_from_the_data_keeps_the_region_finite(penalty):
    region, rng = make_region(3, 1.0), np.random.default_rng(0)
    widen_many(region, rng.normal(size=(5, 3)), rng.integers(0, 5, size=20), 1.0)
    for _ in range(3):
        change_penalty(region, penalty)
        assert is_valid_region(region)
        assert all(np.isfinite(array).all() for array in region)
        change_penalty(region, 1.0)
    reset_region(region, penalty)
    assert is_valid_region(region)


def test_arms_that_are_only_long_cost_no_digit():
    """Spread over all directions, V is as well conditioned as with short arms."""
    rng = np.random.default_rng(1)
    arms = 1e6 * rng.normal(size=(9, 6))
    order = rng.integers(0, 9, size=5000)
    region = make_region(6, 1.0)
    widen_many(region, arms, order, 1.0)
    exact = np.linalg.inv(exact_design(arms, np.bincount(order), 1.0))
    np.testing.assert_allclose(region.inverse, exact, rtol=1e-6, atol=1e-6 * exact.max())


def test_ordinary_arms_never_fall_back():
    rng = np.random.default_rng(2)
    arms = rng.uniform(size=(20, 10))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    region = make_region(10, 1.0)
    widen_many(region, np.vstack([arms, np.zeros(10)]), rng.integers(0, 21, size=100_000), 0.1)
    assert fallback_count(region) == 0


@given(seed=SEEDS, dim=DIMS, decades=st.floats(0, 40))
def test_an_inverse_by_pivots_is_positive_definite_whatever_the_matrix(seed, dim, decades):
    rng = np.random.default_rng(seed)
    matrix = positive_definite(rng, dim, decades)
    out, done = np.full((dim, dim), np.nan), np.full(dim, np.nan)
    linalg.invert_pivoted(matrix, 0.5, out, done)
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(out, out.T)
    assert np.linalg.eigvalsh(out)[0] > -1e-14 * np.abs(out).max()
    if decades < 4:
        np.testing.assert_allclose(out @ matrix, np.eye(dim), atol=1e-8)


@given(seed=SEEDS, dim=DIMS, decades=st.floats(0, 40))
def test_a_mended_inverse_is_positive_definite_whatever_the_matrix(seed, dim, decades):
    rng = np.random.default_rng(seed)
    matrix = positive_definite(rng, dim, decades)
    values, vectors = np.linalg.eigh(matrix)
    inverse = vectors / np.maximum(values, 1.0) @ vectors.T
    inverse = (inverse + inverse.T) / 2
    linalg.correct_inverse(matrix, 1.0, inverse, np.empty((dim, dim)), np.empty(dim))
    assert np.isfinite(inverse).all()
    np.testing.assert_array_equal(inverse, inverse.T)
    assert np.linalg.eigvalsh(inverse)[0] > -1e-12 * np.abs(inverse).max()
    if decades < 4:
        np.testing.assert_allclose(inverse @ matrix, np.eye(dim), atol=1e-8)


def test_a_mended_inverse_keeps_the_digits_that_the_matrix_has_lost():
    """V = I + 1e16 u u^T across u is noise by now; an inverse made by steps knows it is 1."""
    matrix = np.array([[5e15 + 1.0, 5e15], [5e15, 5e15 + 4.0]])
    inverse, across = np.array([[0.5, -0.5], [-0.5, 0.5]]), np.array([1.0, -1.0]) / np.sqrt(2)
    linalg.correct_inverse(matrix, 1.0, inverse, np.empty((2, 2)), np.empty(2))
    assert across @ inverse @ across == pytest.approx(1.0, rel=1e-12)
    assert across @ np.linalg.inv(matrix) @ across == pytest.approx(0.4, rel=0.1)
    assert np.linalg.eigvalsh(inverse)[0] >= 0.0


def test_a_pivot_that_is_rounding_is_no_pivot():
    matrix = np.array([[1e16, 1e16], [1e16, 1e16 + 2.0]])
    out, factor = np.full((2, 2), 7.0), np.empty((2, 2))
    assert not linalg.invert(matrix, out, factor)
    np.testing.assert_array_equal(out, np.full((2, 2), 7.0))
