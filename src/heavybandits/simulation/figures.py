"""Figures of regret, as plain data."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .._utils.drawing import Panel, Series
from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array, one_of

Curves = tuple[NDArray[np.int64], NDArray[np.float64]]  # the plays; one row per repetition


def check_band(band: tuple[float, float]) -> tuple[float, float]:
    """Return two quantiles, the lower first.

    >>> check_band((0.9, 0.1))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: band must be two quantiles, the lower first, got (0.9, 0.1)
    """
    low, high = finite_array("band", band, (2,))
    if not 0.0 <= low < high <= 1.0:
        raise InvalidInputError(f"band must be two quantiles, the lower first, got {band!r}")
    return low, high


def regret_panel(
    title: str, curves: Mapping[str, Curves], band: tuple[float, float], scale: str
) -> Panel:
    """Return the mean regret of every policy on one problem, with a band between two quantiles."""
    one_of("scale", scale, ("linear", "log"))
    series = []
    for name, (plays, regret) in curves.items():
        low, high = np.quantile(regret, band, axis=0)
        means = regret.mean(axis=0)
        series.append(Series(name, *(a.tolist() for a in (plays, means, low, high))))
    return Panel(title, "plays", "cumulative regret", series, scale, scale)
