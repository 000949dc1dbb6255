"""Lack of fit: is the mean linear in the features, and the rate of sales logistic in them?

Each candidate column, such as log(price), is tested as an addition to the model. The test statistic
is self-normalised and clips the largest errors, so that heavy tails and errors of unequal size do
not pass for a lack of fit (`benchmarks/diagnose_power.py` measures how often they do).
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from ...core.arrays import Booleans, Floats
from ...features.tables import standardise
from .candidates import Candidates
from .sales import OFTEN, Base

ERROR = 0.01  # probability that a model that fits is reported not to fit
ROWS_PER_FEATURE = 10  # fewer rows than this show nothing
SALES_FOR_MEAN = 100  # rewards other than the base value; fewer do not show the mean of rare sales
SALES_FOR_RATE = (30, 3)  # the same for the rate of sales: this number, and per feature
FEW = 3.0  # fewest rows that carry the sum of squares after clipping, for sales
MANY = (30.0, 0.01)  # the same for other rewards: this number, and this share of the rows
TYPICAL = 0.1  # share of the rows that carry the sum of squares from which a scale is learned
STEPS = 3  # of the robust fit, after each of two estimates of the scale
RIDGE = 1e-3  # penalty of the scale model per row
LARGEST = 5.0  # log of the largest ratio of a variance to the typical one
SMALL = 0.1  # share of the fitted mean's deviation below which a missing column is not reported
BEND = "a curve"  # of the rate of sales in the prediction, no column that a user could add
DOUBTFUL = 0.75  # critical values from which it is unknown whether a model of the rate fits
FACTOR = 1.5  # factor of the rate of sales below which a missing column is not reported
BINS = 8  # of the rows, to compare the predicted and the observed rate of sales


class Fit(NamedTuple):
    """The result of a check of a model.

    `fits` is None if the rows cannot decide, and `reason` says why. `columns` would improve a model
    that does not fit. `excess` is the largest test statistic divided by its critical value, and
    `size` that of the lack of fit: for the mean its share of the deviation of the fitted means, for
    the rate of sales the factor by which it changes 1 in 20 rows or more.
    """

    fits: bool | None
    reason: str
    columns: tuple[str, ...]
    excess: float
    size: float


class Bin(NamedTuple):
    """Rows with similar predictions: the `predicted` and the `observed` rate of sales."""

    rows: int
    predicted: float
    observed: float


class Errors(NamedTuple):
    """Errors of a model in units of their `scale`, clipped except where they are `inside`.

    `square` is their mean square by the model, which is `exact` if no error can have another one,
    as those of a rate.
    """

    values: Floats
    scale: Floats
    inside: Booleans
    square: float
    exact: bool


class Score(NamedTuple):
    """Tests of the candidates: `excess` is each statistic divided by its critical value.

    `steps` are the coefficients of one step towards each candidate, and `added` (n, m) the parts of
    the candidates that the design does not explain.
    """

    names: list[str]
    excess: Floats
    steps: Floats
    added: Floats


def check_mean(rewards: Floats, design: Floats, candidates: Candidates, base: Base) -> Fit:
    """Check whether the mean reward is linear in the design, by a weighted robust fit."""
    too_few = _count_rows(rewards, design, base, SALES_FOR_MEAN)
    if too_few is not None:
        return too_few
    middle = float(np.median(rewards))
    apart = np.abs(rewards - middle)
    y = np.clip((rewards - middle) / float(np.median(apart[apart > 0.0])), -1e60, 1e60)
    theta = _fit(design, np.clip(y, *np.quantile(y, (0.005, 0.995))))
    error, scale = y - design @ theta, np.ones(y.size)
    if not np.abs(error).max() > 1e-9 * np.abs(y).max():
        return Fit(True, "", (), 0.0, 0.0)
    sales = base.share >= OFTEN  # large errors are sales, not outliers
    carriers = FEW if sales else max(MANY[0], MANY[1] * y.size)
    typical = FEW if sales else TYPICAL * y.size
    clip = 0.0
    for _ in range(2):
        limit = find_threshold(error / scale, typical) * scale
        scale = learn_scale(candidates.scales, np.minimum(np.abs(error), limit) ** 2)
        weighted = design / scale[:, None]
        for _ in range(STEPS):
            clip = find_threshold(error / scale, carriers)
            theta = theta + _fit(weighted, np.clip(error / scale, -clip, clip))
            error = y - design @ theta
    clipped = np.clip(error / scale, -clip, clip)
    square = float(clipped @ clipped) / (y.size - design.shape[1])
    errors = Errors(clipped, scale, np.abs(clipped) < clip, square, exact=False)
    score = score_candidates(design, candidates, errors)

    def measure(added: Floats) -> float:
        return float(added.std() / max(float((design @ theta + added).std()), 1e-300))

    return _judge(score, measure, SMALL, doubtful=1.0)[0]


def check_rate(
    rewards: Floats, design: Floats, candidates: Candidates, base: Base
) -> tuple[Fit, list[Bin]]:
    """Check whether a logistic model of "the reward is not the base value" fits.

    The candidates also contain the square of the prediction, which finds a curve of another form
    whatever the columns are (Pregibon 1980). The bins are those of the prediction or, if the model
    does not fit, of what the missing column adds.
    """
    least = max(SALES_FOR_RATE[0], SALES_FOR_RATE[1] * design.shape[1])
    too_few = _count_rows(rewards, design, base, least)
    if too_few is not None:
        return too_few, []
    sold = (rewards != base.value).astype(np.float64)
    score, rate = fit_logistic(design, sold)
    deviation = np.sqrt(np.maximum(rate * (1.0 - rate), 1e-9))
    bend = standardise(standardise(score[:, None]) ** 2)
    tested = candidates.with_column(BEND, bend[:, 0])
    every = np.ones(sold.size, np.bool_)
    errors = Errors((sold - rate) / deviation, 1.0 / deviation, every, 1.0, exact=True)
    found = score_candidates(design, tested, errors)

    def measure(added: Floats) -> float:
        moved = np.log(to_rate(score + added) / rate)
        return math.exp(float(np.quantile(np.abs(moved), 0.95)))

    fit, added = _judge(found, measure, FACTOR, doubtful=DOUBTFUL)
    return fit, _calibrate(score if fit.fits is not False else added, rate, sold)


def _count_rows(rewards: Floats, design: Floats, base: Base, sales: int) -> Fit | None:
    """Return that nothing was checked, and why, if there are too few rows or sales."""
    least = ROWS_PER_FEATURE * design.shape[1]
    different = int(np.count_nonzero(rewards != base.value))
    reason = ""
    if rewards.size < least:
        reason = f"needs {least:,} rows, {ROWS_PER_FEATURE} per feature"
    elif different < sales:
        reason = f"needs {sales} rewards other than {base.value:.4g}, these rows have {different}"
    return Fit(None, reason, (), 0.0, 0.0) if reason else None


def _judge(
    score: Score, measure: Callable[[Floats], float], least: float, doubtful: float
) -> tuple[Fit, Floats]:
    """Return the result of a check, and what the best candidate adds to each row.

    The model does not fit if a statistic exceeds its critical value and the size is `least` or
    more. If that of a logarithm exceeds `doubtful` critical values, it is unknown whether it fits.
    """
    if not score.names:
        return Fit(True, "", (), 0.0, 0.0), np.zeros(0)
    excess = float(score.excess.max())
    ranked = score.excess if excess >= 1.0 else np.where(are_logs(score.names), score.excess, 0.0)
    best = int(np.argmax(ranked))
    added = score.added[:, best] * score.steps[best]
    size = measure(added) if ranked[best] >= doubtful else 0.0
    if size < least:
        return Fit(True, "", (), excess, size), added
    if excess < 1.0:
        reason = f"needs more rows, {score.names[best]} may be missing"
        return Fit(None, reason, (), excess, size), added
    return Fit(False, "", _name_columns(score), excess, size), added


def _name_columns(score: Score) -> tuple[str, ...]:
    """Return the most significant candidate that a user can add, if there is one."""
    ordered = sorted(zip(-score.excess, score.names, strict=True))
    return tuple(name for excess, name in ordered if excess <= -1.0 and name != BEND)[:1]


# ---- models


def make_design(features: Floats) -> Floats:
    """Return an intercept and the standardised features, without features that are constant.

    >>> make_design(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[1.0, -1.0], [1.0, 1.0]]
    """
    varying = features[:, np.ptp(features, axis=0) > 0.0]
    return np.column_stack([np.ones(len(features)), standardise(varying)])


def _fit(design: Floats, y: Floats) -> Floats:
    """Return the least-squares coefficients, by the normal equations: columns are standardised."""
    return np.asarray(np.linalg.lstsq(design.T @ design, design.T @ y, rcond=1e-12)[0])


def find_threshold(errors: Floats, carriers: float) -> float:
    """Return the largest threshold at which as many errors carry the clipped sum of squares.

    It is the largest c with sum of min(e^2 / c^2, 1) >= carriers. So no error has more than one
    part in `carriers` of the sum.

    >>> find_threshold(np.array([1.0, -1.0, 1.0, 1.0, 50.0]), 3.0)
    1.4142135623730951
    """
    sizes = np.sort(np.abs(errors))
    sums = np.cumsum(sizes**2)
    beyond = sizes.size - 1.0 - np.arange(sizes.size)
    carried = np.divide(sums, sizes**2, out=np.full(sizes.size, np.inf), where=sizes > 0.0) + beyond
    enough = np.flatnonzero(carried >= carriers)
    if not enough.size or enough[-1] == sizes.size - 1:
        return float(sizes[-1])
    last = enough[-1]
    if beyond[last] >= carriers:
        return float(sizes[last])
    return math.sqrt(sums[last] / (carriers - beyond[last]))


def learn_scale(columns: Floats, squares: Floats) -> Floats:
    """Return the deviation of each error, exp(linear in the columns), by quasi-likelihood."""
    mean = float(squares.mean())
    if not mean > 0.0:
        return np.ones(squares.size)
    design = np.column_stack([np.ones(squares.size), columns])
    penalty = RIDGE * squares.size * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    theta, wanted = np.zeros(design.shape[1]), squares / mean
    for _ in range(12):
        fitted = np.exp(np.clip(design @ theta, -LARGEST, LARGEST))
        slope = design.T @ (wanted - fitted) - penalty @ theta
        step = np.linalg.solve(design.T @ (design * fitted[:, None]) + penalty, slope)
        longest = float(np.abs(step).max())
        theta = theta + step / max(1.0, longest)
        if longest < 1e-2:
            break
    return np.sqrt(mean * np.exp(np.clip(design @ theta, -LARGEST, LARGEST)))


def fit_logistic(design: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Return the scores and the rates of a logistic regression, by Newton's method.

    A penalty of 0.1 on squared coefficients keeps them finite where a group has no sale.

    >>> x = np.repeat([[1.0, -1.0], [1.0, 1.0]], 50, axis=0)
    >>> _, rate = fit_logistic(x, np.r_[np.ones(10), np.zeros(40), np.ones(30), np.zeros(20)])
    >>> float(rate[0].round(2)), float(rate[-1].round(2))
    (0.2, 0.6)
    """
    penalty = 0.1 * np.eye(design.shape[1])
    penalty[0, 0] = 1e-9
    mean = float(np.clip(outcomes.mean(), 1e-6, 1.0 - 1e-6))
    theta = np.zeros(design.shape[1])
    theta[0] = math.log(mean / (1.0 - mean))
    for _ in range(30):
        rate = to_rate(design @ theta)
        slope = design.T @ (outcomes - rate) - penalty @ theta
        curve = design.T @ (design * (rate * (1.0 - rate))[:, None]) + penalty
        step = np.linalg.solve(curve, slope)
        longest = float(np.abs(step).max())
        theta = theta + step / max(1.0, 0.5 * longest)
        if longest < 1e-4:
            break
    return design @ theta, to_rate(design @ theta)


def to_rate(score: Floats) -> Floats:
    """Return 1 / (1 + exp(-score)), for scores of at most 30.

    >>> to_rate(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(score, -30.0, 30.0))))


def score_candidates(design: Floats, candidates: Candidates, errors: Errors) -> Score:
    """Test each candidate as an addition to a model with these errors.

    The part of a candidate that the design does not explain is multiplied by the errors. The
    variance of the sum is the larger of its empirical value and of that of the model, because
    groups without a sale look certain to the first. The empirical value uses the errors of fits
    without the row (MacKinnon and White 1985).
    """
    values, scale, inside, square, exact = errors
    x, z = design / scale[:, None], candidates.values / scale[:, None]
    kept = x * inside[:, None]
    inverse = np.linalg.pinv(kept.T @ x, rcond=1e-12, hermitian=True)
    left = z - x @ (inverse @ (kept.T @ z))
    left_out = values / np.maximum(1.0 - ((x @ inverse) * x).sum(axis=1), 0.1)
    squares = (left**2).sum(axis=0)
    new = squares > 1e-6 * (z**2).sum(axis=0)
    left, squares = left[:, new], squares[new]
    names = [name for name, each in zip(candidates.names, new, strict=True) if each]
    sums = left.T @ values
    empirical = (left**2).T @ left_out**2
    variance = squares * square if exact else np.maximum(empirical, squares * square)
    statistics = np.divide(sums, np.sqrt(variance), out=np.zeros_like(sums), where=variance > 0.0)
    excess = np.abs(statistics) / critical_values(names)
    return Score(names, excess, sums / squares, left * scale[:, None])


def critical_values(names: Sequence[str]) -> Floats:
    """Return the values that one of the statistics exceeds with probability 0.01 or less.

    Bonferroni's inequality; logarithms, the most frequent lack of fit, share half of the error.

    >>> critical_values(["log(price)", "age^2", "price^2"]).round(2).tolist()
    [2.81, 3.02, 3.02]
    """
    logs = are_logs(names)
    both = logs.any() and not logs.all()
    shared = np.where(logs, logs.sum(), (~logs).sum()) * (2.0 if both else 1.0)
    return np.array([NormalDist().inv_cdf(1.0 - 0.5 * ERROR / count) for count in shared])


def are_logs(names: Sequence[str]) -> Booleans:
    """Return which candidates are logarithms."""
    return np.array([name.startswith("log(") for name in names], np.bool_)


def _calibrate(key: Floats, rate: Floats, sold: Floats) -> list[Bin]:
    """Return bins of equal numbers of rows, in the order of a key."""
    parts = np.array_split(np.argsort(key, kind="stable"), BINS)
    return [Bin(part.size, float(rate[part].mean()), float(sold[part].mean())) for part in parts]
