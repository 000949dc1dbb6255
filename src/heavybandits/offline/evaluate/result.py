"""The result of `evaluate`: a value, its interval, and diagnostics of the log."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._utils.drawing import COLOURS, GREY, Axes, Figure, finish, new_axes
from ..._utils.statistics import Estimate
from ...core.arrays import Floats
from ..diagnose.tail_index import hill
from ..log import Decisions
from .means import AGGREGATES, robust_mean

TOP = 10  # largest rows whose share of the estimate is reported
SMALLEST_SAMPLE = 100.0  # effective sample size without a warning
LARGEST_SHARE = 0.5  # of the sum of |terms| in the TOP rows, without a warning
LARGEST_ERROR = 4.0  # standard errors between the mean weight and 1, without a warning
NO_VARIANCE = 2.0  # tail index


class Diagnostics(NamedTuple):
    """How much information about the policy the log contains.

    Attributes
    ----------
    rows, dropped : int
        Rows that were used, and rows that were left out for a missing value.
    effective_sample_size : float
        (sum w)^2 / sum w^2 of the weights (Kish 1965).
    overlap : float
        Share of the rows in which the policy may choose the logged action.
    largest_weight, smallest_propensity : float
        Extremes of the log.
    mean_weight, weight_error : float
        Mean of the weights, which must be near 1, and its standard error.
    top_share : float
        Share of the sum of |terms| in the ten largest.
    tail_index : float
        Hill's tail index of the terms; below 2 the variance is not finite, and inf if the rewards
        have two values only.
    logged_mean : float
        Plain mean of the rewards of the log.
    least_moment : float
        Lower bound of E|reward|^(1 + epsilon); 0 without a raw_moment to compare it with.
    """

    rows: int
    dropped: int
    effective_sample_size: float
    overlap: float
    largest_weight: float
    smallest_propensity: float
    mean_weight: float
    weight_error: float
    top_share: float
    tail_index: float
    logged_mean: float
    least_moment: float


def describe_weights(
    log: Decisions, weights: Floats, terms: Floats, least_moment: float = 0.0
) -> Diagnostics:
    """Return the diagnostics of a log and a policy."""
    sizes, count = np.abs(terms - np.median(terms)), round(math.sqrt(terms.size))
    square = float(np.sum(weights * weights))
    largest = np.sort(np.abs(terms))[-TOP:]
    return Diagnostics(
        rows=weights.size,
        dropped=log.dropped,
        effective_sample_size=float(weights.sum()) ** 2 / square if square > 0.0 else 0.0,
        overlap=float(np.mean(weights > 0.0)),
        largest_weight=float(weights.max()),
        smallest_propensity=float(log.propensities.min()),
        mean_weight=float(weights.mean()),
        weight_error=float(weights.std()) / math.sqrt(weights.size),
        top_share=float(largest.sum() / (np.abs(terms).sum() or 1.0)),
        tail_index=hill(sizes, count) if np.unique(log.rewards).size > 2 else math.inf,
        logged_mean=float(log.rewards.mean()),
        least_moment=least_moment,
    )


class Evaluation:
    """The value of a policy and its interval, from `evaluate`.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    settings : dict
        `estimator`, `aggregate`, `delta` and `raw_moment`.
    diagnostics : Diagnostics
        How much information about the policy the log contains.
    terms : array
        The numbers of which `value` is a mean.

    Examples
    --------
    >>> import heavybandits as hb
    >>> log = hb.Log({"action": [0, 1] * 50, "reward": [0.0, 1.0] * 50}, propensity="uniform")
    >>> hb.evaluate(log, policy={1: 1.0}, estimator="snips").value
    1.0
    """

    def __init__(
        self, found: Estimate, settings: dict[str, Any], diagnostics: Diagnostics, terms: Floats
    ) -> None:
        self.value, self.low, self.high = found
        self.settings, self.diagnostics, self.terms = settings, diagnostics, terms

    @property
    def warnings(self) -> list[str]:
        """Reasons not to rely on the interval, one sentence each; empty if there are none."""
        d, moment, found = self.diagnostics, self.settings["raw_moment"], []
        if d.effective_sample_size < SMALLEST_SAMPLE:
            found.append(
                f"the effective sample size is {d.effective_sample_size:.0f} of {d.rows} rows: the "
                "log rarely contains the actions of this policy"
            )
        if abs(d.mean_weight - 1.0) > LARGEST_ERROR * d.weight_error + 1e-9:
            found.append(
                f"weights have mean {d.mean_weight:.3g} instead of 1: the propensities are not "
                "those of the log, or the policy chooses actions that the log never took"
            )
        if d.top_share > LARGEST_SHARE and d.rows > 10 * TOP:
            found.append(f"{TOP} of {d.rows} rows carry {d.top_share:.0%} of the estimate")
        if d.tail_index < NO_VARIANCE and moment is None:
            found.append(
                f"the variance does not seem to be finite (tail index {d.tail_index:.2f}): on the "
                "side of the heavier tail the interval assumes that the tail continues as it "
                "begins; only a known moment (raw_moment=, epsilon=) can replace this assumption"
            )
        if moment is not None and d.least_moment > moment:
            found.append(
                f"the rewards of the log have a moment of at least {d.least_moment:.3g}, more than "
                f"the raw_moment of {moment:g} on which the interval is based"
            )
        if d.dropped:
            found.append(f"{d.dropped} rows with a missing value were left out")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name, as plain Python values."""
        interval = {"value": self.value, "low": self.low, "high": self.high}
        return interval | self.settings | self.diagnostics._asdict() | {"warnings": self.warnings}

    def __repr__(self) -> str:
        return f"Evaluation({self.value:.4g}, {self.low:.4g} to {self.high:.4g})"

    def __str__(self) -> str:
        d, settings = self.diagnostics, self.settings
        lines = [
            f"value {self.value:.4g}, {1.0 - settings['delta']:.0%} interval {self.low:.4g} to "
            f"{self.high:.4g} ({settings['estimator']}, {settings['aggregate']}); mean of the log "
            f"{d.logged_mean:.4g}",
            f"{d.rows} rows, effective sample size {d.effective_sample_size:.0f}; overlap "
            f"{d.overlap:.0%}, largest weight {d.largest_weight:.3g}; ten rows carry "
            f"{d.top_share:.0%}; tail index {d.tail_index:.2f}",
        ]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])

    def plot(self, path: str | Path | None = None, *, axes: Sequence[Axes] | None = None) -> Figure:
        """Draw the value by every aggregate, and the share of the estimate in the largest rows.

        Parameters
        ----------
        path : str or Path, optional
            Write the figure to this PNG, SVG or PDF file.
        axes : sequence of two Axes, optional
            Draw in these axes instead of in a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        left, right = new_axes((9.0, 3.4), 2) if axes is None else axes
        _draw_aggregates(left, self)
        _draw_shares(right, self)
        return finish(left.figure, path)


def _draw_aggregates(axes: Axes, evaluation: Evaluation) -> None:
    """Draw one interval per aggregate, that of the evaluation in colour."""
    for place, name in enumerate(AGGREGATES):
        found = robust_mean(evaluation.terms, name, evaluation.settings["delta"])
        colour = COLOURS[0] if name == evaluation.settings["aggregate"] else GREY
        axes.plot([found.low, found.high], [place, place], color=colour, linewidth=2)
        axes.plot(found.value, place, "o", color=colour)
    logged = evaluation.diagnostics.logged_mean
    axes.axvline(logged, color=COLOURS[1], linewidth=0.8, linestyle="--")
    axes.set_yticks(range(len(AGGREGATES)), list(AGGREGATES))
    axes.set_xlabel("value (dashed: mean of the log)")
    axes.invert_yaxis()
    axes.grid(alpha=0.25, axis="x")


def _draw_shares(axes: Axes, evaluation: Evaluation) -> None:
    """Draw the share of the sum of |terms| that lies in the largest rows."""
    sizes = np.sort(np.abs(evaluation.terms))[::-1]
    shares = np.cumsum(sizes) / (sizes.sum() or 1.0)
    axes.plot(np.arange(1, sizes.size + 1), shares, color=COLOURS[0])
    axes.axvline(10, color=GREY, linewidth=0.8)
    axes.set(xscale="log", ylim=(0.0, 1.0), xlabel="largest rows", ylabel="share of the estimate")
    axes.grid(alpha=0.25)
