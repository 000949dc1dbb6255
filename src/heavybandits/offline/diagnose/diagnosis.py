"""Diagnosis of rewards: sales, mean, fit, tails, moments, symmetry, and the policy to use."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..._utils.display import Card, show_html, show_text
from ..._utils.drawing import Axes, Figure
from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate, bootstrap_rows
from ..._utils.validation import fraction, whole
from ...core.arrays import Floats
from ...features.tables import standardise
from ..log import FeatureColumns, LogLike
from .advice import Advice, advise
from .asymmetry import Asymmetry, estimate_asymmetry
from .candidates import make_candidates
from .columns import Sample, read_sample
from .figures import plot_diagnosis
from .fit import Bin, Fit, check_mean, check_rate, make_design
from .sales import MOSTLY, OFTEN, Amounts, Base, examine_amounts, find_base, group_sample
from .tail_index import Tail, estimate_tail, square_shares
from .text import make_card, write_dict, write_text

# The next three numbers were set on one set of seeds and tested on others
# (benchmarks/diagnose_errors.py): shape is the mean of 1 / Hill's index and the generalised
# Pareto's xi, so 0.29 is a tail index of 3.4.
HEAVY_SHAPE = 0.29
SKEWED = 0.05  # largest distance of trimmed mean and median of symmetric noise, in scales
LEAST_ROWS = 100
MOST_TESTED = 50_000  # rows on which a lack of fit is tested; of more rows a random sample

ORDERS = (1, 2, 3, 4)


class Symmetry(NamedTuple):
    """How symmetric the noise is.

    `shift` is (trimmed mean - median) / scale, `distance` that of Kolmogorov and Smirnov between
    both sides, `error` the least distance that is significant at 1%.
    """

    symmetric: bool
    shift: float
    distance: float
    error: float


class Units(NamedTuple):
    """The feature columns with the smallest and the largest root mean square."""

    smallest: str
    least: float
    largest: str
    most: float


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The result of `diagnose`; `print` shows a page of text.

    Attributes
    ----------
    base : Base
        The most common reward and its share, such as 0 and 97% in a shop.
    amounts : Amounts or None
        If a fifth of the rewards or more equal the base value: do the amounts of the others depend
        on the action, and how often do the most expensive actions sell?
    level : float
        |median| of the rewards (their base value, if half of them equal it) divided by the typical
        distance from it. Large if all rewards are near 1,000, say.
    units : Units or None
        The feature columns of the smallest and of the largest size. None with an encoder.
    mean : Fit or None
        Is the mean reward linear in the features? None without features.
    rate : Fit or None
        If half of the rewards or more equal the base value: does a logistic model of the others'
        rate fit? `rate_bins` compares its predictions with what happened.
    asymmetry : Asymmetry
        C of `cral`, if the law of the noise were the sample.
    tail_index : Estimate
        The smaller tail index of both sides, with a 90% interval.
    heavy : bool
        True if the rewards are heavy-tailed.
    moments : dict
        For the orders 1 to 4: does E|y|^p exist ("yes", "doubtful", "no")? If half of the
        rewards or more equal the base value, the tail of the others decides.
    epsilon, raw_moment, central_moment : Estimate
        The parameters of `crtm` (u) and `crmm` (v), for rewards divided by `scale`.
    square_shares : dict
        The share of the sum of squares in the largest rows.
    symmetry : Symmetry
        How symmetric the noise is.
    upper, lower : Tail or None
        Both tails of the noise.
    dim : int or None
        The number of features without the intercept.
    """

    rows: int
    dim: int | None
    horizon: int
    delta: float
    zeros: float
    scale: float
    upper: Tail | None
    lower: Tail | None
    tail_index: Estimate
    heavy: bool
    moments: dict[int, str]
    symmetry: Symmetry
    square_shares: dict[str, float]
    epsilon: Estimate
    raw_moment: Estimate
    central_moment: Estimate
    base: Base
    amounts: Amounts | None
    level: float
    units: Units | None
    mean: Fit | None
    rate: Fit | None
    rate_bins: list[Bin]
    asymmetry: Asymmetry
    rewards: Floats
    noise: Floats

    @property
    def advice(self) -> Advice:
        """The recommended algorithm, and what the assumptions of others mean for these rewards."""
        return advise(self)

    __repr__, _repr_html_ = show_text, show_html

    def _card(self) -> Card:
        return make_card(self)

    def __str__(self) -> str:
        return write_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the rewards themselves.

        Returns
        -------
        dict
            None replaces a number that is not finite.
        """
        return write_dict(self)

    def plot(self, path: str | Path | None = None, *, axes: Sequence[Axes] | None = None) -> Figure:
        """Draw survival on log axes, the Hill plot, and quantiles against normal quantiles.

        Parameters
        ----------
        path : str or Path, optional
            Write the figure to this PNG, SVG or PDF file.
        axes : sequence of three Axes, optional
            Draw in these axes instead of in a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return plot_diagnosis(self, path, axes)


def diagnose(
    data: "ArrayLike | LogLike",
    *,
    features: ArrayLike | FeatureColumns | None = None,
    reward: str | None = None,
    action: str | ArrayLike | None = None,
    horizon: int | None = None,
    delta: float = 0.01,
    drop_missing: bool = False,
    resamples: int = 200,
    seed: int = 0,
) -> Diagnosis:
    """Examine rewards and features, and recommend a policy.

    The result says how heavy the tails are; whether rewards are mostly one value and the amounts of
    the others depend on the action, as in a shop; whether the mean is linear in the features; and
    what the assumptions of each algorithm mean for these rewards.

    Parameters
    ----------
    data : array of shape (n,), table or Log
        The rewards; or a mapping of columns, pandas, polars, pyarrow, a CSV or Parquet file, or a
        `Log`.
    features : array of shape (n, d), sequence of str or FeatureMap, optional
        Numbers, columns of the table, or an `Encoder`. With features the noise is the residual of
        a linear fit, without them the distance from the median.
    reward : str, default "reward"
        Column of the rewards, if the data is a table.
    action : str or array of shape (n,), optional
        Column of the action taken, or the actions themselves if `data` is an array. Default: that
        of the `Log` or of the encoder, else the column "action" if the table has one.
    horizon : int, optional
        Planned number of plays. Default: the number of rewards.
    delta : float, default 0.01
        Probability with which the bounds of the theorems may fail.
    drop_missing : bool, default False
        Leave out rows with a missing value instead of raising an error.
    resamples : int, default 200
        Number of bootstrap samples for the intervals.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InvalidInputError
        A column is not valid, there are fewer than 100 rewards, or more than half as many features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> diagnose(rng.normal(size=5000)).heavy, diagnose(rng.standard_t(2, size=5000)).heavy
    (False, True)
    >>> price = rng.choice([5.0, 10.0, 20.0, 40.0], size=8000)
    >>> sold = rng.random(8000) < 1.0 / price
    >>> found = diagnose(sold * price, features=price[:, None])
    >>> round(found.base.share, 2), found.amounts.depends, found.rate.fits, found.rate.columns
    (0.9, True, False, ('log(feature 0)',))
    """
    sample = read_sample(data, features, reward, action, drop_missing)
    values, matrix = sample.rewards, sample.features
    if values.size < LEAST_ROWS:
        raise InvalidInputError(f"data must have at least {LEAST_ROWS} rewards, got {values.size}")
    rng = np.random.default_rng(whole("seed", seed, least=0))
    resamples = whole("resamples", resamples, least=20)
    noise = _noise(values, matrix)
    scale = _scale(values)
    upper, lower = (estimate_tail(side, rng, resamples) for side in (noise, -noise))
    index = _index([tail for tail in (upper, lower) if tail is not None])
    epsilon = _epsilon(index)
    base = find_base(values)
    moments = index if base.share < MOSTLY else _index_of_sales(values, base, rng, resamples)
    power = 1.0 + epsilon.value
    amounts = examine_amounts(sample, base) if base.share >= OFTEN else None
    groups = group_sample(sample, amounts and amounts.column)
    mean, rate, rate_bins = _check_fit(sample, base, seed)
    return Diagnosis(
        rows=values.size,
        dim=None if matrix is None else matrix.shape[1] - sample.encoded,
        horizon=values.size if horizon is None else whole("horizon", horizon),
        delta=fraction("delta", delta),
        zeros=float(np.mean(values == 0.0)),
        scale=scale,
        upper=upper,
        lower=lower,
        tail_index=index,
        heavy=index.value < 1.0 / HEAVY_SHAPE,
        moments={order: _exists(order, moments) for order in ORDERS},
        symmetry=_symmetry(noise),
        square_shares=square_shares(noise),
        epsilon=epsilon,
        raw_moment=_moment(values / scale, power, rng, resamples),
        central_moment=_moment(noise / scale, power, rng, resamples),
        base=base,
        amounts=amounts,
        level=_level(values, base),
        units=None if matrix is None or sample.encoded else _units(sample),
        mean=mean,
        rate=rate,
        rate_bins=rate_bins,
        asymmetry=estimate_asymmetry(noise, groups, rng, resamples),
        rewards=values,
        noise=noise,
    )


def _check_fit(sample: Sample, base: Base, seed: int) -> tuple[Fit | None, Fit | None, list[Bin]]:
    """Check the linear model of the mean and, if most rewards are equal, that of the rate."""
    if sample.features is None or base.share == 1.0:
        return None, None, []
    rows: Any = slice(None)
    if sample.rewards.size > MOST_TESTED:
        rng = np.random.default_rng([seed, 1])
        rows = np.sort(rng.choice(sample.rewards.size, MOST_TESTED, replace=False))
    design = make_design(sample.features[rows])
    given = sample.rewards[rows], design, make_candidates(sample, rows), base
    mean = check_mean(*given)
    return (mean, *check_rate(*given)) if base.share >= MOSTLY else (mean, None, [])


def _level(rewards: Floats, base: Base) -> float:
    """Return the size of the middle of the rewards, in units of their distances from it."""
    middle = base.value if base.share >= MOSTLY else float(np.median(rewards))
    apart = np.abs(rewards - middle)
    apart = apart[apart > 0.0]
    return abs(middle) / float(np.median(apart)) if apart.size else 0.0


def _units(sample: Sample) -> Units | None:
    """Return the smallest and the largest column; columns of zeros do not count."""
    sizes = [(_size(column.values), column.column) for column in sample.numbers]
    sizes = [one for one in sizes if one[0] > 0.0]
    if len(sizes) < 2:
        return None
    (least, smallest), (most, largest) = min(sizes), max(sizes)
    return Units(smallest, least, largest, most)


def _size(values: Floats) -> float:
    """Return the root mean square, without squaring large numbers."""
    largest = float(np.abs(values).max())
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest > 0.0 else 0.0


def _noise(rewards: Floats, features: Floats | None) -> Floats:
    """Return the residuals of a linear fit to rewards clipped at 1%, minus their median."""
    if features is None:
        return rewards - float(np.median(rewards))
    design = np.column_stack([np.ones(rewards.size), standardise(features)])
    clipped = np.clip(rewards, *np.quantile(rewards, (0.005, 0.995)))
    theta, _, rank, _ = np.linalg.lstsq(design, clipped, rcond=None)
    if 2 * rank > rewards.size:
        raise InvalidInputError(
            f"features must leave half of the {rewards.size} rows unexplained, got {rank} "
            "directions with the intercept: pass fewer features or more rows"
        )
    left = rewards - design @ theta
    return left - float(np.median(left))


def _scale(rewards: Floats) -> float:
    """Return the mean |reward|: dividing by it makes S about one."""
    largest = float(np.abs(rewards).max()) or 1.0
    return float(np.mean(np.abs(rewards) / largest)) * largest or 1.0


def _index(tails: list[Tail]) -> Estimate:
    """Return the smaller index of both sides, with an interval that contains both estimates."""
    if not tails:
        return Estimate(np.inf, np.inf, np.inf)
    worst = max(tails, key=lambda tail: tail.shape)
    shape = max(worst.shape, 1e-9)
    error = 1.645 * worst.error
    low = np.nanmax([1.0 / worst.low, worst.pareto + error, shape])
    high = np.nanmin([1.0 / worst.high, worst.pareto - error, shape])
    return Estimate(1.0 / shape, float(1.0 / low), float(1.0 / high) if high > 1e-9 else np.inf)


def _index_of_sales(
    rewards: Floats, base: Base, rng: np.random.Generator, resamples: int
) -> Estimate:
    """Return the tail index of the rewards off the base value; anything if they are few.

    Among all rewards a few sales look like a tail, and the gap between them and the base value like
    a very heavy one.
    """
    amounts = rewards[rewards != base.value] - base.value
    tails = [estimate_tail(side, rng, resamples) for side in (amounts, -amounts)]
    found = [tail for tail in tails if tail is not None]
    return _index(found) if found else Estimate(np.inf, 0.0, np.inf)


def _exists(order: int, index: Estimate) -> str:
    if index.low > order:
        return "yes"
    return "doubtful" if index.high > order else "no"


def _epsilon(index: Estimate) -> Estimate:
    """Return the largest epsilon in (0, 1] with 1 + epsilon at most nine tenths of the index."""

    def below(tail: float) -> float:
        return float(min(1.0, max(0.05, 0.9 * tail - 1.0)))

    return Estimate(below(index.value), below(index.low), below(index.high))


def _moment(values: Floats, power: float, rng: np.random.Generator, resamples: int) -> Estimate:
    """Return E|y|^power with a bootstrap interval; fewer resamples if there are many rows."""
    powers = np.abs(values) ** power
    return bootstrap_rows(powers, rng, max(20, min(resamples, 20_000_000 // values.size)))


def _symmetry(noise: Floats) -> Symmetry:
    """Compare both sides of the noise, and its trimmed mean with its median."""
    scale = float(np.median(np.abs(noise))) or float(np.mean(np.abs(noise))) or 1.0
    low, high = np.quantile(noise, (0.05, 0.95))
    shift = float(np.mean(noise[(noise >= low) & (noise <= high)])) / scale
    above, below = np.sort(noise[noise > 0.0]), np.sort(-noise[noise < 0.0])
    if min(above.size, below.size) == 0:
        return Symmetry(not noise.any(), shift, float(bool(noise.any())), 0.0)
    points = np.concatenate([above, below])
    first = np.searchsorted(above, points, side="right") / above.size
    second = np.searchsorted(below, points, side="right") / below.size
    distance = float(np.abs(first - second).max())
    error = 1.63 * float(np.sqrt(1.0 / above.size + 1.0 / below.size))
    even = abs(above.size - below.size) <= 0.05 * noise.size
    symmetric = even and (distance <= error or (distance <= SKEWED and abs(shift) <= SKEWED))
    return Symmetry(symmetric, shift, distance, error)
