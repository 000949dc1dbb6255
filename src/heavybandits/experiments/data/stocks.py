"""Daily prices of stocks: arms are stocks, contexts their past returns, reward the next one."""

import gzip
import io
from typing import Any

import numpy as np

from ...core.arrays import Floats
from .sets import Dataset, Source

NYSE_NEW = Source(
    package="universal-portfolios",
    version="0.4.17",
    path="universal/data/nyse_n.csv",
    sha256="5d93272c7571f85a4285dd805c78729091f7d123d918b4a9af0ba778f2d13e62",
)
NYSE_OLD = NYSE_NEW._replace(
    path="universal/data/nyse_o.csv",
    sha256="b2f26e2ce08d12871b631f02c0990637ab7bde02c2a90f4f804b0dd24cb6820d",
)
SP500 = Source(
    package="skfolio",
    version="1.12.2",
    path="datasets/data/sp500_dataset.csv.gz",
    sha256="ee21cac28befb1d0a739a9ceb22184f995394726aa0cfde9a21941d1ac04ac0d",
)
WINDOWS = (1, 2, 3, 5, 10, 20, 60, 120, 250)  # days of past return that the nine scores look at
FIFTHS = ("past_1", "past_20")  # whose fifths make the 25 fixed groups


def load_nyse_new() -> Dataset:
    """23 stocks of the New York exchange, 1985 to 2010."""
    return _make("nyse_n", _read(NYSE_NEW.read()))


def load_nyse_old() -> Dataset:
    """36 stocks of the New York exchange, 1962 to 1984."""
    return _make("nyse_o", _read(NYSE_OLD.read()))


def load_sp500() -> Dataset:
    """20 large stocks, 1990 to 2022: a negative control, in which no signal was found."""
    return _make("sp500", _read(gzip.decompress(SP500.read()), skip=1))


def _read(content: bytes, skip: int = 0) -> Floats:
    """Prices, one row per day; `skip` columns of dates are left out."""
    header = content.split(b"\n", 1)[0].count(b",") + 1
    columns = range(skip, header)
    return np.loadtxt(io.BytesIO(content), delimiter=",", skiprows=1, usecols=columns)


def _make(name: str, prices: Floats) -> Dataset:
    """Long format: one row per day and stock, from the first day on that has all its past."""
    days, stocks = prices.shape
    start = max(WINDOWS)
    today = np.arange(start, days - 1)
    frame: dict[str, Any] = {
        "day": np.repeat(today, stocks),
        "stock": np.tile(np.arange(stocks), today.size),
    }
    for window in WINDOWS:
        past = prices[today] / prices[today - window] - 1.0
        frame[f"past_{window}"] = _score(past).ravel()
    frame["return"] = (prices[today + 1] / prices[today] - 1.0).ravel()
    fifths = [np.minimum((frame[column] + 1.0) * 2.5, 4.0).astype(np.int64) for column in FIFTHS]
    frame["group"] = 5 * fifths[0] + fifths[1]
    return Dataset(
        name=name,
        frame=frame,
        features=[f"past_{window}" for window in WINDOWS],
        reward="return",
        protocols={
            "rounds": {"protocol": "rounds", "group": "day"},
            "groups": {"protocol": "groups", "group": "group"},
        },
        about=(
            f"a row is a stock on a day ({stocks} stocks, {today.size} days); features are the "
            "ranks among the stocks of that day of nine past returns, the reward is the next day's "
            "return; the 25 groups are fifths of the last day's by fifths of the last 20 days' rank"
        ),
    )


def _score(values: Floats) -> Floats:
    """Ranks within each row, evenly spaced over [-1, 1]; equal values are ranked by their place."""
    ranks = values.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return 2.0 * ranks / (values.shape[1] - 1.0) - 1.0
