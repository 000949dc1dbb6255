"""Figures of regret, as plain data."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._utils.drawing import Panel, Series
from .._utils.errors import InvalidInputError
from .._utils.statistics import CONFIDENCE, student_quantile
from .._utils.validation import finite_array, one_of

Band = tuple[float, float] | Literal["interval"]
Curves = tuple[NDArray[np.int64], NDArray[np.float64]]  # the plays; one row per repetition


def check_band(band: Band) -> Band:
    """Return "interval", or two quantiles, the lower first.

    >>> check_band((0.9, 0.1))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: band must be "interval" or two quantiles, the lower first, got
    (0.9, 0.1)
    """
    if band == "interval":
        return band
    try:
        low, high = finite_array("band", band, (2,))
    except InvalidInputError:
        low = high = -1.0
    if not 0.0 <= low < high <= 1.0:
        raise InvalidInputError(
            f'band must be "interval" or two quantiles, the lower first, got {band!r}'
        )
    return low, high


def regret_panel(title: str, curves: Mapping[str, Curves], band: Band, scale: str) -> Panel:
    """Return the mean regret of every policy on one problem, with a band around it."""
    one_of("scale", scale, ("linear", "log"))
    series = []
    for name, (plays, regret) in curves.items():
        low, high = mean_interval(regret) if band == "interval" else np.quantile(regret, band, 0)
        means = regret.mean(axis=0)
        series.append(Series(name, *(a.tolist() for a in (plays, means, low, high))))
    return Panel(title, "plays", "cumulative regret", series, scale, scale)


def mean_interval(regret: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return the ends of Student's 95% interval of the mean of each column.

    >>> [end.round(2).tolist() for end in mean_interval(np.array([[1.0], [2.0], [3.0]]))]
    [[-0.48], [4.48]]
    """
    size, means = len(regret), regret.mean(axis=0)
    if size < 2:
        return means, means
    error = regret.std(axis=0, ddof=1) / math.sqrt(size)
    half = student_quantile(0.5 + CONFIDENCE / 2.0, size - 1) * error
    return means - half, means + half
