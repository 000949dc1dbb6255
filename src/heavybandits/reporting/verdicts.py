"""A claim of the paper, what was measured, and what that says. No verdict without an interval."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..support.statistics import Estimate

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"


@dataclass(frozen=True)
class Verdict:
    """One line of the verdict table.

    >>> verdict = judge("CRTM is lowest", "fixed arms", "margin", Estimate(5.0, 2.0, 9.0))
    >>> verdict.outcome, verdict.interval
    ('holds', (2.0, 9.0))
    """

    claim: str
    reading: str
    quantity: str
    measured: float
    interval: tuple[float, float]
    outcome: str
    note: str = ""

    def as_row(self) -> dict[str, Any]:
        """The verdict as a flat row."""
        row = asdict(self)
        row["low"], row["high"] = row.pop("interval")
        return row


def judge(
    claim: str,
    reading: str,
    quantity: str,
    estimate: Estimate,
    low: float = 0.0,
    high: float = math.inf,
    note: str = "",
) -> Verdict:
    """The claim says that the quantity lies between `low` and `high`.

    It holds if the whole interval lies there, does not hold if none of it does, and is undecided
    at this number of repetitions otherwise.

    >>> [judge("", "", "", Estimate(v, v - 1, v + 1)).outcome for v in (2.0, 0.5, -2.0)]
    ['holds', 'undecided', 'does not hold']
    """
    if math.isnan(estimate.value):
        outcome = UNDECIDED
    elif low < estimate.low and estimate.high < high:
        outcome = HOLDS
    elif estimate.high <= low or estimate.low >= high:
        outcome = FAILS
    else:
        outcome = UNDECIDED
    span = (estimate.low, estimate.high)
    return Verdict(claim, reading, quantity, estimate.value, span, outcome, note)
