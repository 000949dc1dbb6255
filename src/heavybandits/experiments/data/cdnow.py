"""CDNOW: what the customers of an early music shop spent after their first months."""

from datetime import date
from typing import Any

import numpy as np

from .sets import Dataset, Source

SOURCE = Source(
    package="lifetimes",
    version="0.11.3",
    path="datasets/CDNOW_master.txt",
    sha256="eff6889ed364c5199d6eacbbeb7a6d559971df4406ac876f322c373f00a072ef",
)
SPLIT = date(1997, 10, 1)  # features come from before it, the reward is the spend from it on


def load_cdnow() -> Dataset:
    """23 570 customers; features of their purchases before October 1997, reward what came after."""
    customers, days, units, dollars = _read()
    before = days < SPLIT.toordinal()
    size = int(customers.max()) + 1
    frame: dict[str, Any] = _summarise(
        customers[before], days[before], units[before], dollars[before], size
    )
    frame["spend"] = np.bincount(customers[~before], dollars[~before], size)
    features = [name for name in frame if name != "spend"]
    known = np.bincount(customers[before], minlength=size) > 0
    return Dataset(
        name="cdnow",
        frame={name: values[known] for name, values in frame.items()},
        features=features,
        reward="spend",
        protocols={"rows": {"protocol": "rows", "arms_per_round": 10}},
        about=(
            "a row is a customer; features are from purchases before 1997-10-01, the reward is the "
            "dollars spent from then to 1998-06-30"
        ),
    )


def _read() -> tuple[Any, Any, Any, Any]:
    """Customer (from 0), day, units and dollars of every purchase, in order of customer and day."""
    lines = SOURCE.read().decode("ascii").splitlines()[1:]
    table = np.array([line.split() for line in lines if line.strip()])
    written = table[:, 1]
    ordinal = {text: _ordinal(text) for text in np.unique(written)}
    days = np.array([ordinal[text] for text in written])
    _, customers = np.unique(table[:, 0], return_inverse=True)
    order = np.lexsort((days, customers))
    numbers = table[:, 2:].astype(np.float64)
    return customers[order], days[order], numbers[order, 0], numbers[order, 1]


def _ordinal(text: str) -> int:
    return date(int(text[:4]), int(text[4:6]), int(text[6:8])).toordinal()


def _summarise(customers: Any, days: Any, units: Any, dollars: Any, size: int) -> dict[str, Any]:
    """Frequency, recency, tenure, total, mean, max and last spend, units: one row per customer."""
    count = np.bincount(customers, minlength=size)
    total = np.bincount(customers, dollars, size)
    first, last, most = np.zeros(size), np.zeros(size), np.zeros(size)
    spent_last = np.zeros(size)
    last[customers], spent_last[customers] = days, dollars  # rows are ordered: the last one stays
    first[customers[::-1]] = days[::-1]
    np.maximum.at(most, customers, dollars)
    split = SPLIT.toordinal()
    return {
        "log_frequency": np.log1p(count),
        "recency": split - last,
        "tenure": split - first,
        "log_total": np.log1p(total),
        "mean_spend": total / np.maximum(count, 1),
        "max_spend": most,
        "last_spend": spent_last,
        "log_units": np.log1p(np.bincount(customers, units, size)),
    }
