"""The result of `evaluate`: a value, its interval, and diagnostics of the log."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._utils.display import Card, show_html, show_text
from ..._utils.drawing import COLOURS, GREY, Axes, Figure, finish, new_axes
from ..._utils.statistics import Estimate
from ...core.arrays import Floats
from ..log import Decisions, Log
from .carriers import count_carriers, effective_size, expected_carriers

TOP = 10  # largest rows whose share of the estimate is reported
SMALLEST_SAMPLE = 100.0  # effective sample size without a warning
LARGEST_SHARE = 0.5  # of the sum of |terms| in the TOP rows, without a warning
LARGEST_ERROR = 4.0  # standard errors between the mean weight and 1, without a warning
NO_INTERVAL = -math.inf, math.inf


class Judgement(NamedTuple):
    """A mean with its interval, the reasons if it has none, and doubts if it may not be valid."""

    estimate: Estimate
    reasons: list[str]
    doubts: Sequence[str] = ()

    def withhold(self, reasons: list[str]) -> "Judgement":
        """Return the judgement without its interval, if there are reasons."""
        if not reasons:
            return self
        return Judgement(Estimate(self.estimate.value, *NO_INTERVAL), [*reasons, *self.reasons])

    def times(self, unit: float) -> "Judgement":
        """Return the judgement in units of one."""
        return self._replace(estimate=Estimate(*(unit * number for number in self.estimate)))


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
    carriers : float
        Effective number of rows that carry the estimate, (sum e^2)^3 / (sum |e|^3)^2 with e the
        weight times the distance of the reward from the median reward of its action.
    expected_carriers : float
        The carriers to expect from the rewards of all rows of the log with these weights.
    top_share : float
        Share of the sum of |terms| in the ten largest.
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
    carriers: float
    expected_carriers: float
    top_share: float
    least_moment: float


def describe_weights(
    log: Decisions, weights: Floats, terms: Floats, centred: Floats, least_moment: float = 0.0
) -> Diagnostics:
    """Return the diagnostics of a log and a policy."""
    sizes = np.sort(np.abs(terms / (np.abs(terms).max() or 1.0)))
    return Diagnostics(
        rows=weights.size,
        dropped=log.dropped,
        effective_sample_size=effective_size(weights),
        overlap=float(np.mean(weights > 0.0)),
        largest_weight=float(weights.max()),
        smallest_propensity=float(log.propensities.min()),
        mean_weight=float(weights.mean()),
        weight_error=float(weights.std()) / math.sqrt(weights.size),
        carriers=count_carriers(centred, weights),
        expected_carriers=expected_carriers(weights, centred),
        top_share=float(sizes[-TOP:].sum() / (sizes.sum() or 1.0)),
        least_moment=least_moment,
    )


def describe_rows(log: Log, known: Decisions) -> list[str]:
    """Return what a reader must know about the rows of a log, one sentence each."""
    notes = [
        f"{rows} rows of group {name!r} were left out: no action was drawn at random in this "
        "group; the other rows stand for all if units were assigned to groups at random"
        for name, rows in known.fixed.items()
    ]
    return [*log.notes, *notes]


class Evaluation:
    """The value of a policy and its interval, from `evaluate`.

    Attributes
    ----------
    value, low, high : float
        The estimate and the ends of its interval. Without an interval the ends are -inf and inf.
    reasons : list of str
        Why there is no interval, one sentence each; empty if there is one.
    logged : Estimate
        `value`, `low` and `high` of the policy that wrote the log, by the same aggregate.
    baseline : Estimate or None
        `value`, `low` and `high` of the baseline, if there is one.
    difference : Estimate
        `value`, `low` and `high` of the policy less the baseline, or less the policy that wrote the
        log, from the differences of the terms row by row.
    settings : dict
        `estimator`, `aggregate`, `delta`, `interval`, `raw_moment` and `epsilon`.
    diagnostics : Diagnostics
        How much information about the policy the log contains.
    terms : array
        The numbers of which `value` is a mean.
    notes : list of str
        What must be known about the rows of the log; they are a part of `warnings`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> log = hb.Log({"action": [0, 1] * 50, "reward": [0.0, 1.0] * 50}, propensity="uniform")
    >>> found = hb.evaluate(log, policy={1: 1.0}, estimator="snips")
    >>> found.value, found.low, found.logged.value, found.difference.value
    (1.0, -inf, 0.5, 0.5)
    >>> found.reasons[0][:46]
    'all rewards of an action are the same number, '
    """

    def __init__(
        self,
        found: Mapping[str, Judgement],
        settings: dict[str, Any],
        diagnostics: Diagnostics,
        terms: Floats,
        notes: Sequence[str] = (),
    ) -> None:
        (self.value, self.low, self.high), self.reasons, self._doubts = found["policy"]
        self.logged, self.difference = found["logged"].estimate, found["difference"].estimate
        self.baseline = found["baseline"].estimate if "baseline" in found else None
        self.settings, self.diagnostics, self.terms = settings, diagnostics, terms
        self.notes = list(notes)

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the log or the settings, one sentence each; empty if nothing is."""
        d, moment, found = self.diagnostics, self.settings["raw_moment"], [*self.notes]
        found += [f"the interval may not be valid: {doubt}" for doubt in self._doubts]
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
        if moment is not None and d.least_moment > moment:
            found.append(
                f"the rewards of the log have a moment of at least {d.least_moment:.3g}, more than "
                f"the raw_moment of {moment:g} on which the interval is based"
            )
        if d.dropped:
            found.append(f"{d.dropped} rows with a missing value were left out")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name, as plain Python values for JSON.

        Returns
        -------
        dict
            None replaces a number that is not finite.
        """
        made = {"value": self.value, "low": self.low, "high": self.high}
        for name in ("logged", "difference") + (("baseline",) if self.baseline else ()):
            made |= {f"{name}_{key}": x for key, x in getattr(self, name)._asdict().items()}
        numbers = made | self.settings | self.diagnostics._asdict()
        plain = {name: _finite(number) for name, number in numbers.items()}
        return plain | {"reasons": self.reasons, "warnings": self.warnings}

    __repr__, _repr_html_ = show_text, show_html

    def _card(self) -> Card:
        d, settings = self.diagnostics, self.settings
        size = f"{d.rows:,}, effective sample size {d.effective_sample_size:,.0f}"
        facts = {
            "log": _shown(self.logged),
            "baseline": None if self.baseline is None else _shown(self.baseline),
            "difference": _shown(self.difference),
            "confidence": f"{1.0 - settings['delta']:.9g}",
            "estimator": f"{settings['estimator']}, aggregate {settings['aggregate']}",
            "rows": f"{size}, overlap {d.overlap:.0%}",
            "no interval": "; ".join(self.reasons),
            "warnings": "; ".join(self.warnings),
        }
        value = _shown(Estimate(self.value, self.low, self.high))
        return Card(f"Evaluation: mean reward {value}", facts)

    @property
    def _other(self) -> str:
        """What `difference` compares the policy with, as text."""
        if self.baseline is None:
            return f"the log itself {_shown(self.logged)}"
        return f"the log itself {_shown(self.logged)}; the baseline {_shown(self.baseline)}"

    def __str__(self) -> str:
        d, settings = self.diagnostics, self.settings
        how = f"{settings['estimator']}, {settings['aggregate']}"
        how = how if settings["raw_moment"] is None else f"{settings['estimator']}, known moment"
        lines = [
            f"value {_shown(Estimate(self.value, self.low, self.high))} ({how}; intervals of "
            f"confidence {1.0 - settings['delta']:.9g})",
            f"{self._other}; difference {_shown(self.difference)}",
            f"{d.rows} rows, effective sample size {d.effective_sample_size:.0f}; overlap "
            f"{d.overlap:.0%}, largest weight {d.largest_weight:.3g}; {d.carriers:.0f} rows carry "
            f"the estimate, the ten largest {d.top_share:.0%} of it",
        ]
        lines += [f"no interval: {reason}" for reason in self.reasons]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])

    def plot(self, path: str | Path | None = None, *, axes: Sequence[Axes] | None = None) -> Figure:
        """Draw the values of the policy and of the log, and the share of the largest rows.

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
        _draw_values(left, self)
        _draw_shares(right, self)
        return finish(left.figure, path)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(found: Estimate) -> str:
    """Return a value with its interval as text.

    >>> _shown(Estimate(1.0, 0.5, 2.0)), _shown(Estimate(1.0, *NO_INTERVAL))
    ('1, 0.5 to 2', '1, no interval')
    """
    ends = f"{found.low:.4g} to {found.high:.4g}"
    return f"{found.value:.4g}, {ends if math.isfinite(found.high - found.low) else 'no interval'}"


def _draw_values(axes: Axes, evaluation: Evaluation) -> None:
    """Draw the policy, the log and their difference; a circle is a value without an interval."""
    own = Estimate(evaluation.value, evaluation.low, evaluation.high)
    shown = {"policy": own, "log": evaluation.logged, "difference": evaluation.difference}
    if evaluation.baseline is not None:
        shown |= {"baseline": evaluation.baseline}
    for place, found in enumerate(shown.values()):
        colour, known = COLOURS[place], math.isfinite(found.high - found.low)
        if known:
            axes.plot([found.low, found.high], [place, place], color=colour, linewidth=2)
        axes.plot(found.value, place, "o", color=colour, fillstyle="full" if known else "none")
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(shown)), list(shown))
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlabel("mean reward (circle: no interval)")
    axes.grid(alpha=0.25, axis="x")


def _draw_shares(axes: Axes, evaluation: Evaluation) -> None:
    """Draw the share of the sum of |terms| in the largest rows."""
    sizes = np.sort(np.abs(evaluation.terms))[::-1]
    shares = np.cumsum(sizes) / (sizes.sum() or 1.0)
    axes.plot(np.arange(1, sizes.size + 1), shares, color=COLOURS[0])
    axes.axvline(10, color=GREY, linewidth=0.8)
    axes.set(xscale="log", ylim=(0.0, 1.0), xlabel="largest rows", ylabel="share of the estimate")
    axes.grid(alpha=0.25)
