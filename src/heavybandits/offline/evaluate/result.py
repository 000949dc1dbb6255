"""What `evaluate` returns: the value, how far to believe it, and why not further."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._utils.errors import optional
from ..._utils.statistics import Estimate
from ...core.arrays import Floats
from .plots import plot_evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TOP = 10  # rows whose share of the estimate is told
FEW = 100.0  # rows that weights must be worth
MUCH = 0.5  # of the sum of |terms|, in so few rows
OFF = 4.0  # standard errors by which the mean weight may miss one
NO_VARIANCE = 2.0  # tail index


class Weights(NamedTuple):
    """How much of the log speaks of the policy.

    `effective` is (sum w)^2 / sum w^2, what the rows are worth (Kish 1965); `overlap` the share of
    rows in which the policy may do what the log did; `mean` and `error` of the weights, which must
    be near one; `top_share` the share of the sum of |terms| that lies in the ten largest;
    `tail_index` Hill's index of the terms, below 2 where no variance is in sight, and inf where
    rewards are one of two numbers; `least_moment` a lower bound of E|reward|^(1 + epsilon), 0 where
    no moment was given to compare it with.
    """

    rows: int
    dropped: int
    effective: float
    overlap: float
    largest: float
    smallest_propensity: float
    mean: float
    error: float
    top_share: float
    tail_index: float
    logged: float  # the plain mean of the log's own rewards
    least_moment: float


def describe_weights(log: Any, terms: Any, least_moment: float = 0.0) -> Weights:
    """The diagnostics of a log and a policy."""
    weights, sizes = terms.weights, np.abs(terms.total - np.median(terms.total))
    square = float(np.sum(weights * weights))
    largest = np.sort(np.abs(terms.total))[-TOP:]
    return Weights(
        rows=weights.size,
        dropped=log.dropped,
        effective=float(weights.sum()) ** 2 / square if square > 0.0 else 0.0,
        overlap=float(np.mean(weights > 0.0)),
        largest=float(weights.max()),
        smallest_propensity=float(log.propensities.min()),
        mean=float(weights.mean()),
        error=float(weights.std()) / math.sqrt(weights.size),
        top_share=float(largest.sum() / (np.abs(terms.total).sum() or 1.0)),
        tail_index=hill_index(sizes) if np.unique(log.rewards).size > 2 else math.inf,
        logged=float(log.rewards.mean()),
        least_moment=least_moment,
    )


def hill_index(sizes: Floats) -> float:
    """Hill's index of the largest numbers, as many as the root of all; inf where there is no tail.

    >>> rng = np.random.default_rng(0)
    >>> 1.3 < hill_index(rng.pareto(1.5, 10_000) + 1.0) < 1.7
    True
    """
    count = round(math.sqrt(sizes.size))
    top = np.sort(sizes)[-count - 1 :]
    shape = float(np.mean(np.log(top[1:] / top[0]))) if top[0] > 0.0 else 0.0
    return 1.0 / shape if shape > 0.0 else math.inf


class Evaluation:
    """The value of a policy, `low` and `high` of its interval, and `weights`, the diagnostics.

    `doubts` are sentences on what may be wrong; with none the numbers may be taken as they are.

    >>> import heavybandits as hb
    >>> log = {"action": [0, 1] * 50, "reward": [0.0, 1.0] * 50}
    >>> hb.evaluate(log, {1: 1.0}, propensity="uniform", estimator="snips").value
    1.0
    """

    def __init__(
        self, found: Estimate, how: dict[str, Any], weights: Weights, terms: Floats
    ) -> None:
        self.value, self.low, self.high = found
        self.how, self.weights, self.terms = how, weights, terms

    @property
    def doubts(self) -> list[str]:
        """What speaks against believing the interval."""
        w, found = self.weights, []
        if w.effective < FEW:
            found.append(
                f"the {w.rows} rows are worth {w.effective:.0f}: the log hardly ever did what this "
                "policy does"
            )
        if abs(w.mean - 1.0) > OFF * w.error + 1e-9:
            found.append(
                f"weights have mean {w.mean:.3g} instead of 1: the propensities are not those of "
                "the log, or the policy does what the log never did"
            )
        if w.top_share > MUCH and w.rows > 10 * TOP:
            found.append(f"{TOP} of {w.rows} rows carry {w.top_share:.0%} of the estimate")
        if w.tail_index < NO_VARIANCE and self.how["raw_moment"] is None:
            found.append(
                f"no variance is in sight (tail index {w.tail_index:.2f}): on the side of the "
                "heavier tail the interval rests on the tail going on as it begins; only a known "
                "moment (raw_moment=, epsilon=) can vouch for it"
            )
        if self.how["raw_moment"] is not None and w.least_moment > self.how["raw_moment"]:
            found.append(
                f"the rewards of the log have a moment of {w.least_moment:.3g} at least, and not "
                f"the {self.how['raw_moment']:g} that was given: the interval rests on it"
            )
        if w.dropped:
            found.append(f"{w.dropped} rows with a missing value were left out")
        return found

    def to_dict(self) -> dict[str, Any]:
        """All numbers by name, as plain Python values."""
        interval = {"value": self.value, "low": self.low, "high": self.high}
        return interval | self.how | self.weights._asdict() | {"doubts": self.doubts}

    def __repr__(self) -> str:
        return f"Evaluation({self.value:.4g}, {self.low:.4g} to {self.high:.4g})"

    def __str__(self) -> str:
        w, how = self.weights, self.how
        lines = [
            f"value {self.value:.4g}, {1.0 - how['delta']:.0%} interval {self.low:.4g} to "
            f"{self.high:.4g} ({how['estimator']}, {how['mean']}); the log itself {w.logged:.4g}",
            f"{w.rows} rows worth {w.effective:.0f}; overlap {w.overlap:.0%}, largest weight "
            f"{w.largest:.3g}; ten rows carry {w.top_share:.0%}; tail index {w.tail_index:.2f}",
        ]
        return "\n".join(lines + [f"but {doubt}" for doubt in self.doubts])

    def plot(self, figure: "Figure | None" = None) -> "Figure":
        """The value by every robust mean, and how few rows carry it; a matplotlib figure."""
        optional("matplotlib", "lab")
        return plot_evaluation(self, figure)
