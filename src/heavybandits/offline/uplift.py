"""Uplift: how much more one group of decisions earned than another, with an interval."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._utils.display import Card, show_html, show_text
from .._utils.errors import InvalidInputError
from .._utils.statistics import Estimate
from .._utils.validation import bounded_number
from ..core.arrays import Floats
from ..features import tables as frames
from .evaluate.carriers import count_carriers, needed_carriers
from .evaluate.estimators import DELTA
from .evaluate.means import LEAST_ROWS, mean_interval, plain_mean
from .log import LogLike, as_log, read_rewards

METHOD = "difference of means; Student and Hall intervals combined by MOVER"


class GroupMean(NamedTuple):
    """Mean reward of some rows of a log.

    Attributes
    ----------
    name : str
        Name of the group or action.
    rows : int
        Number of rewards.
    mean : Estimate
        `value`, `low` and `high`; the ends are infinite with fewer than 20 rows.
    carriers : float
        Effective number of rows that carry the mean, see `evaluate`.
    """

    name: str
    rows: int
    mean: Estimate
    carriers: float


class Uplift(NamedTuple):
    """The difference of the mean rewards of two groups, from `uplift`.

    Attributes
    ----------
    difference, low, high : float
        Mean of the first group less that of the second, and the ends of its interval.
    groups : tuple of two GroupMean
        The means of both groups with their own intervals.
    delta : float
        Probability with which an interval may miss.
    method : str
        How the interval was computed.
    notes : sequence of str
        Those of the log.

    Examples
    --------
    >>> import heavybandits as hb
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["policy", "holdout"], [900, 100])
    >>> log = {"group": group, "reward": (group == "policy") + rng.standard_t(3, 1000)}
    >>> found = hb.uplift(log, "policy", "holdout")
    >>> found.low < 1.0 < found.high, [part.rows for part in found.groups]
    (True, [900, 100])
    """

    difference: float
    low: float
    high: float
    groups: tuple[GroupMean, GroupMean]
    delta: float
    method: str
    notes: Sequence[str] = ()

    @property
    def warnings(self) -> list[str]:
        """What makes the interval uncertain, one sentence each; empty if nothing does."""
        needed = needed_carriers(self.delta)
        return [*self.notes] + [
            f"{part.carriers:.1f} of {part.rows} rows carry the mean of {part.name!r}, fewer than "
            f"{needed:.0f}: rare large rewards may be missing, and the interval with them"
            for part in self.groups
            if part.carriers < needed
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name, as plain Python values for JSON.

        Returns
        -------
        dict
            None replaces a number that is not finite.
        """
        made = {"difference": self.difference, "low": self.low, "high": self.high}
        parts = [
            {"name": p.name, "rows": p.rows, **p.mean._asdict(), "carriers": p.carriers}
            for p in self.groups
        ]
        return _finite(made) | {
            "groups": [_finite(part) for part in parts],
            "delta": self.delta,
            "method": self.method,
            "warnings": self.warnings,
        }

    def __repr__(self) -> str:
        return show_text(self)

    def _repr_html_(self) -> str:
        return show_html(self)

    def _card(self) -> Card:
        facts = {
            f"group {part.name}": f"{_shown(part.mean)}; {part.rows:,} rows" for part in self.groups
        }
        facts["confidence"] = f"{1.0 - self.delta:.9g}"
        facts["warnings"] = "; ".join(self.warnings)
        found = _shown(Estimate(self.difference, self.low, self.high))
        return Card(f"Uplift: difference {found}", facts)

    def __str__(self) -> str:
        first, second = self.groups
        lines = [
            f"uplift of {first.name} over {second.name} "
            f"{_shown(Estimate(self.difference, self.low, self.high))} "
            f"(confidence {1.0 - self.delta:.9g})"
        ]
        lines += [f"{p.name}: mean {_shown(p.mean)}, {p.rows} rows" for p in self.groups]
        lines += [f"method: {self.method}"]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.warnings])


def uplift(
    data: LogLike,
    treated: str,
    control: str,
    *,
    group: str | None = None,
    reward: str | None = None,
    delta: float = 0.05,
) -> Uplift:
    """Return how much more the decisions of one group earned than those of another.

    Each group has the interval of its mean that `evaluate` uses, l to u around m: the union of
    Student's interval and of Hall's, which corrects for the skewness. The interval of the
    difference combines them by MOVER (Zou and Donner 2008):

        low  = m1 - m2 - sqrt((m1 - l1)^2 + (u2 - m2)^2)
        high = m1 - m2 + sqrt((u1 - m1)^2 + (m2 - l2)^2)

    Parameters
    ----------
    data : table or Log
        One decision per row.
    treated, control : str
        The two values of the column `group` to compare, such as "policy" and "holdout".
    group : str, optional
        Column of the groups, to which units must be assigned at random. Default: that of the `Log`,
        else "group".
    reward : str, optional
        As in `Log`; default "reward".
    delta : float, default 0.05
        Probability with which the interval may miss the difference, at least 1e-9.

    Returns
    -------
    Uplift
        `difference`, `low` and `high`, the means of both groups, and `warnings`.

    Raises
    ------
    InvalidInputError
        A column does not exist, or a group has fewer than 20 rows.

    See Also
    --------
    evaluate : the value of a policy that did not make the decisions.

    Examples
    --------
    >>> log = {"group": ["policy", "holdout"] * 50, "reward": [2.0, 1.0] * 50}
    >>> uplift(log, "policy", "holdout").difference
    1.0
    """
    delta = bounded_number("delta", delta, DELTA)
    if treated == control:
        raise InvalidInputError(f"treated and control must be different groups, got {treated!r}")
    log = as_log(data, reward=reward)
    column = group or log.group or "group"
    rewards, kept = read_rewards(log, {"group": column})
    cells = frames.column(log.frame, column, "group", exact=True)[kept].tolist()
    first, second = (
        describe_mean(name, _rewards_of(name, cells, rewards), delta) for name in (treated, control)
    )
    found = subtract(first.mean, second.mean)
    return Uplift(*found, (first, second), delta, METHOD, tuple(log.notes))


def subtract(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two independent estimates, its interval by MOVER.

    >>> subtract(Estimate(5.0, 2.0, 8.0), Estimate(1.0, -3.0, 5.0))
    Estimate(value=4.0, low=-1.0, high=9.0)
    """
    value = first.value - second.value
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - below, value + above)


def describe_mean(name: str, rewards: Floats, delta: float) -> GroupMean:
    """Return the mean of rewards with its interval, and the number of rows that carry it.

    >>> describe_mean("a", np.arange(100.0), 0.05).mean.value
    49.5
    """
    value = plain_mean(rewards, delta)
    ends = (-math.inf, math.inf)
    if rewards.size >= LEAST_ROWS:
        ends = mean_interval(rewards, delta)
    carriers = count_carriers(rewards - np.median(rewards))
    return GroupMean(name, rewards.size, Estimate(value, *ends), carriers)


def _rewards_of(name: str, cells: list[Any], rewards: Floats) -> Floats:
    mine = rewards[np.array([str(cell) == str(name) for cell in cells], np.bool_)]
    if mine.size < LEAST_ROWS:
        known = sorted({str(cell) for cell in cells})[:20]
        raise InvalidInputError(
            f"group {name!r} must have at least {LEAST_ROWS} rows with a reward, got {mine.size}; "
            f"the log has the groups {known}"
        )
    return mine


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(number, float) and not math.isfinite(number) else number
        for name, number in numbers.items()
    }


def _shown(found: Estimate) -> str:
    return f"{found.value:.4g}, {found.low:.4g} to {found.high:.4g}"
