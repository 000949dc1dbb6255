"""Links: against their definitions, and kappa, L, U against a fine grid."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
import naive
from heavybandits.links import check_link

LINKS: list[Any] = [
    hb.links.Identity(),
    hb.links.Logistic(),
    hb.links.Probit(),
    hb.links.Exponential(),
]
ids = [type(link).__name__ for link in LINKS]


@pytest.mark.parametrize("link", LINKS, ids=ids)
@given(z=st.floats(-30, 30))
def test_mean_and_slope_equal_their_definitions(link, z):
    mean, slope = naive.LINKS[type(link).__name__]
    assert link.mean(z) == pytest.approx(mean(z), rel=1e-12)
    assert link.slope(z) == pytest.approx(slope(z), rel=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=ids)
@given(norm=st.floats(0.01, 5.0))
def test_kappa_lipschitz_and_bound_are_the_extremes_on_the_interval(link, norm):
    grid = np.linspace(-norm, norm, 201)
    slopes = np.array([link.slope(z) for z in grid])
    means = np.array([link.mean(z) for z in grid])
    assert link.kappa(norm) == pytest.approx(slopes.min(), rel=1e-12)
    assert link.lipschitz(norm) == pytest.approx(slopes.max(), rel=1e-12)
    assert link.bound(norm) == pytest.approx(np.abs(means).max(), rel=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=ids)
@given(z=st.floats(-1e308, 1e308))
def test_no_argument_overflows(link, z):
    assert math.isfinite(link.mean(z))
    assert link.slope(z) >= 0.0


@given(low=st.floats(-700, 700), step=st.floats(1e-3, 10))
def test_links_increase(low, step):
    for link in LINKS:
        assert link.mean(low + step) >= link.mean(low)


class Folded(hb.links.Logistic):
    """Not a link: its slope changes sign."""

    __slots__ = ()

    def slope(self, z):
        return z


def test_a_link_that_does_not_increase_is_refused_with_the_place():
    with pytest.raises(
        hb.InvalidInputError, match=r"positive slope on \[-1, 1\].*Folded.slope\(-1"
    ):
        hb.crtm(dim=2, horizon=10, raw_moment=1.0, link=Folded())


def test_a_link_whose_slope_underflows_is_refused():
    with pytest.raises(hb.InvalidInputError, match="positive slope"):
        check_link(hb.links.Logistic(), 1000.0)


@pytest.mark.parametrize("link", [None, "logistic", 3, object(), hb.filters.NoFilter()])
def test_what_is_no_link_is_refused(link):
    with pytest.raises(hb.InvalidInputError, match="link must be a link"):
        hb.crtm(dim=2, horizon=10, raw_moment=1.0, link=link)
