"""Colours, the same for an algorithm wherever it appears, and numbers as people read them."""

import math
from typing import Any

# Okabe and Ito's colours, which everyone can tell apart; the second of each pair is for dark pages.
PALETTE = (
    ("#0072B2", "#56B4E9"),
    ("#D55E00", "#FF8C42"),
    ("#009E73", "#2FD3A2"),
    ("#CC79A7", "#E7A1C8"),
    ("#B8860B", "#F0C040"),
    ("#6A4FB3", "#A58CF0"),
    ("#555555", "#BBBBBB"),
    ("#8B5A2B", "#C99A66"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
OWN = {
    "CRTM": 0,
    "CRMM": 1,
    "OL2M": 2,
    "GLOC": 3,
    "OL2M_mom": 4,
    "GLOC_mom": 5,
    "random play": 6,
    "here": 0,
    "paper": 1,
}


def colour_indices(names: list[str]) -> dict[str, int]:
    """A place in the palette for every name: its own if it has one, else the next free one.

    >>> colour_indices(["CRMM", "something"])
    {'CRMM': 1, 'something': 0}
    """
    taken = {OWN[name] for name in names if name in OWN}
    free = [i for i in range(len(PALETTE)) if i not in taken] or list(range(len(PALETTE)))
    found: dict[str, int] = {}
    for name in names:
        fresh = len([n for n in found if n not in OWN])
        found[name] = OWN.get(name, free[fresh % len(free)])
    return found


def shown(value: Any) -> str:
    """A value as a person reads it: four digits, or fewer where they are whole numbers.

    >>> [shown(v) for v in (12345.678, 0.00012345, 3, 0.5, True, "x", float("inf"), float("nan"))]
    ['12,346', '0.0001234', '3', '0.5', 'yes', 'x', '∞', '']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0.0 or 1e-4 <= abs(value) < 1000.0:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.3e}"
