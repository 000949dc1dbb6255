"""Estimators of the tail index: Hill's, the generalised Pareto's, and their errors."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._utils.statistics import bootstrap_rows
from ...core.arrays import Floats

LEAST_TAIL = 15  # fewest rows from which a tail is estimated
GAP = 200.0  # typical spacings; a sample from one law had at most 23, one rounded to integers 72
EQUAL = 1e6  # index of a resample with equal rows only
APART = 0.5  # distance of 1 / Hill's index and xi from which two precise estimates contradict


@dataclass(frozen=True)
class Ladder:
    """Hill's `index[i]` from the `count[i]` largest, and the KS `distance[i]` of that fit."""

    count: NDArray[np.int64]
    index: Floats
    distance: Floats


@dataclass(frozen=True)
class Tail:
    """One side of a sample: P(X > x) ~ x^(-index).

    `low` and `high` bound the index at 90%; `count` rows beyond `threshold` were used; `pareto` is
    the generalised Pareto's shape xi (1 / index for a heavy tail, at or below 0 for a light one)
    and `error` its standard error, nan where too many values are equal; `rows` is the size of the
    side, or of what is beyond a gap in it (see `rows_beyond_gap`).
    """

    index: float
    low: float
    high: float
    count: int
    threshold: float
    pareto: float
    error: float
    rows: int
    ladder: Ladder

    @property
    def contradicted(self) -> bool:
        """True if the generalised Pareto tail is precisely much heavier than Hill's.

        A much lighter one is no contradiction: Hill's estimate is too heavy for every tail that
        bends, as that of a Gaussian does.
        """
        far = self.pareto - 1.0 / self.index > APART
        return far and 1.0 / self.low < self.pareto - 1.645 * self.error

    @property
    def shape(self) -> float:
        """1 / index: the mean of 1 / Hill's and xi, or Hill's alone if xi contradicts it.

        Hill's estimate is biased towards heavy tails if the tail bends; the generalised Pareto
        estimate is not, but has more noise. Hill's threshold is where a power law fits best.
        """
        if self.contradicted or not math.isfinite(self.pareto):
            return 1.0 / self.index
        return 0.5 * (1.0 / self.index + self.pareto)


def hill(values: Floats, count: int) -> float:
    """Return Hill's tail index from the `count` largest values (1975); inf without a tail.

        1 / index = mean of ln(X_(i) / X_(count + 1)), i = 1..count

    >>> round(hill(np.array([1.0, 2.0, 4.0, 8.0]), 3), 6)
    0.721348
    """
    top = np.sort(values)[-count - 1 :]
    shape = float(np.mean(np.log(top[1:] / top[0]))) if top[0] > 0.0 else 0.0
    return 1.0 / shape if shape > 0.0 else math.inf


def hill_ladder(values: Floats, rungs: int = 60) -> Ladder:
    """Return Hill's estimate for k from 10 to a fifth of the rows, and the distance of each fit.

    The distance is Kolmogorov and Smirnov's, between the k largest values and the Pareto law fitted
    to them (Clauset, Shalizi and Newman 2009).

    >>> ladder = hill_ladder(np.arange(1.0, 1001.0))
    >>> int(ladder.count[0]), int(ladder.count[-1])
    (10, 200)
    """
    descending = np.sort(values)[::-1]
    most = max(10, values.size // 5)
    counts = np.unique(np.geomspace(10, min(most, values.size - 1), rungs).astype(np.int64))
    sums = np.cumsum(np.log(descending[: counts[-1] + 1]))
    logs = sums[counts - 1] / counts - np.log(descending[counts])
    index = np.divide(1.0, logs, out=np.full(counts.size, np.inf), where=logs > 0.0)
    fits = zip(counts, index, strict=True)
    return Ladder(counts, index, np.array([_distance(descending, k, a) for k, a in fits]))


def _distance(descending: Floats, count: int, index: float) -> float:
    """Return the KS distance of the `count` largest from a Pareto law of this index."""
    if not math.isfinite(index):
        return 1.0
    survival = (descending[:count] / descending[count]) ** -index
    below, above = np.arange(count) / count, np.arange(1, count + 1) / count
    return float(max(np.max(np.abs(survival - below)), np.max(np.abs(above - survival))))


def pareto_shape(excesses: Floats) -> float:
    """Return xi of the generalised Pareto law of these excesses over a threshold.

    Zhang and Stephens (2009): a posterior mean over a grid, as efficient as maximum likelihood and
    without its failures. Positive: a power tail of index 1 / xi; zero: exponential.

    >>> abs(pareto_shape(-np.log((np.arange(1000) + 0.5) / 1000))) < 0.01
    True
    """
    ordered = np.sort(excesses)
    size = ordered.size
    quarter, largest = ordered[int(size / 4 + 0.5) - 1], ordered[-1]
    if not quarter > 0.0:
        return math.nan
    points = 20 + int(math.sqrt(size))
    steps = np.arange(1, points + 1) - 0.5
    grid = 1.0 / largest + (1.0 - np.sqrt(points / steps)) / (3.0 * quarter)
    shapes = np.array([-np.mean(np.log1p(-b * ordered)) for b in grid])
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = size * (np.log(grid / shapes) + shapes - 1.0)
    likelihood[~np.isfinite(likelihood)] = -np.inf
    weights = np.exp(likelihood - likelihood.max())
    best = float(np.sum(grid * weights) / np.sum(weights))
    return float(np.mean(np.log1p(-best * ordered)))


def rows_beyond_gap(descending: Floats) -> int | None:
    """Return the number of largest rows beyond a gap in the largest fifth; None without a gap.

    The spacings i ln(X_(i) / X_(i + 1)) of one law vary little (Renyi 1953). Refunds among sales
    leave a gap as wide as thousands of spacings, and a law fitted across it is meaningless.

    >>> rows_beyond_gap(np.r_[np.linspace(90.0, 50.0, 20), np.linspace(5.0, 0.1, 500)])
    20
    """
    most = min(max(4 * LEAST_TAIL, descending.size // 5), descending.size - 1)
    spacings = np.arange(1, most + 1) * -np.diff(np.log(descending[: most + 1]))
    apart = spacings[spacings > 0.0]
    if apart.size < LEAST_TAIL:
        return None
    widest = LEAST_TAIL - 1 + int(np.argmax(spacings[LEAST_TAIL - 1 :]))
    typical = float(np.median(apart)) / math.log(2.0)
    return widest + 1 if spacings[widest] > GAP * typical else None


def estimate_tail(values: Floats, rng: np.random.Generator, resamples: int = 200) -> Tail | None:
    """Return the tail of a side, from its positive values; None if too few of them differ.

    >>> rng = np.random.default_rng(0)
    >>> tail = estimate_tail(rng.pareto(2.0, 5000) + 1.0, rng)
    >>> tail.low < 2.0 < tail.high
    True
    """
    side = values[values > 0.0]
    if np.unique(side).size < LEAST_TAIL:
        return None
    descending = np.sort(side)[::-1]
    descending = descending[: rows_beyond_gap(descending)]
    if np.unique(descending).size < LEAST_TAIL:
        return None
    ladder = hill_ladder(descending)
    best = int(np.argmin(ladder.distance))
    count = int(ladder.count[best])
    logs = np.log(descending[:count] / descending[count])
    if not logs.any():
        return None
    interval = bootstrap_rows(logs, rng, resamples, lambda m: 1.0 / np.maximum(m, 1e-300))
    many = min(max(4 * LEAST_TAIL, descending.size // 10), descending.size - 1)
    shape = pareto_shape(descending[:many] - descending[many])
    error = (1.0 + max(shape, -0.5)) / math.sqrt(many)
    return Tail(
        index=float(ladder.index[best]),
        low=interval.low,
        high=interval.high if interval.high < EQUAL else math.inf,
        count=count,
        threshold=float(descending[count]),
        pareto=shape,
        error=error,
        rows=descending.size,
        ladder=ladder,
    )


def square_shares(values: Floats, counts: tuple[int, ...] = (1, 10, 100)) -> dict[str, float]:
    """Return the share of the sum of squares in the largest 1, 10, ... and 1 in 1000 rows.

    >>> square_shares(np.array([3.0, 4.0, 0.0]), counts=(1,))
    {'1': 0.64, 'per_mille': 0.64}
    """
    largest = float(np.abs(values).max())
    squares = np.sort((values / (largest or 1.0)) ** 2)[::-1]
    total = float(squares.sum()) or 1.0
    per_mille = max(1, round(values.size / 1000))
    shares = {str(k): float(squares[:k].sum()) / total for k in counts if k <= values.size}
    return {**shares, "per_mille": float(squares[:per_mille].sum()) / total}
