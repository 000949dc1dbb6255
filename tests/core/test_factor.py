"""The Cholesky factor of V: its algebra, and its digits where V^-1 has none left."""

import math

import numpy as np
import pytest
from numba import njit

from heavybandits.core.confidence_region import (
    add_by_factor,
    add_observation,
    make_region,
    measure,
    measure_by_factor,
)
from heavybandits.core.factor import (
    LANES,
    add_to_factor,
    invert_factor,
    measure_columns,
    solve_lower,
    solve_upper,
)


@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_the_factor_follows_v(dim):
    rng, factor = np.random.default_rng(dim), np.sqrt(0.1) * np.eye(dim)
    design = 0.1 * np.eye(dim)
    for _ in range(50):
        x = rng.normal(size=dim)
        design += np.outer(x, x)
        add_to_factor(factor, x.copy())
    np.testing.assert_allclose(factor.T @ factor, design, rtol=1e-12, atol=1e-12)
    half, image, out = np.zeros(dim), np.zeros(dim), np.zeros((dim, dim))
    x = rng.normal(size=dim)
    square = solve_lower(factor, x, half)
    solve_upper(factor, half, image)
    np.testing.assert_allclose(image, np.linalg.solve(design, x), rtol=1e-9)
    assert square == pytest.approx(x @ np.linalg.solve(design, x))
    invert_factor(factor, out, half)
    np.testing.assert_allclose(out, np.linalg.inv(design), rtol=1e-9, atol=1e-12)
    assert (out == out.T).all()
    features, squares = rng.normal(size=(dim, 2 * LANES)), np.zeros(2 * LANES)
    measure_columns(factor, features, squares, np.zeros((dim, LANES)))
    np.testing.assert_allclose(squares, (features * (out @ features)).sum(0), rtol=1e-9)


@njit
def play_one_direction(region, factor, inverted, x, updates):
    for _ in range(updates):
        measure_by_factor(region, factor, x)
        add_by_factor(region, factor, x, 1.0)
        measure(inverted, x)
        add_observation(inverted, x, 1.0)
    return measure_by_factor(region, factor, x) ** 2, measure(inverted, x) ** 2


@pytest.mark.parametrize(("penalty", "digits"), [(1.0, 1e-12), (1e-6, 1e-12), (1e-12, 1e-10)])
def test_the_factor_has_digits_where_the_inverse_has_none(penalty, digits):
    """One oblique direction of two is played: p^2 = ||x||^2 / (lambda + n ||x||^2)."""
    region, inverted = make_region(2, penalty), make_region(2, penalty)
    factor, updates = math.sqrt(penalty) * np.eye(2), 100_000
    x = np.array([0.6, 0.7])
    by_factor, by_inverse = play_one_direction(region, factor, inverted, x, updates)
    length = float(x @ x)
    exact = length / (penalty + updates * length)
    assert by_factor == pytest.approx(exact, rel=digits)
    if penalty == 1e-12:
        assert by_inverse != pytest.approx(exact, rel=0.1)
    other = np.array([0.7, -0.6])
    half = np.zeros(2)
    assert solve_lower(factor, other, half) == pytest.approx(length / penalty, rel=1e-6)
