"""Columns of dates."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, flag, one_of, positive
from .columns import LIMIT, Column, Values, check_name, settle
from .values import EPOCH, read_moment

PERIODS = {"day": 86_400.0, "week": 604_800.0, "year": 31_556_952.0}  # seconds
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "trend": flag,
    "centre": finite_number,
    "scale": positive,
    "limit": positive,
    "missing": flag,
}


@dataclass(frozen=True)
class Date(Column):
    """A date: where it stands in each cycle, as sine and cosine, and a trend.

    The cycles are "day" (the time of day), "week" and "year"; the trend is a `Number`, the
    seconds since 1970 with this centre and scale. A date with a zone counts in UTC, any other as
    it is written.

    >>> Date("when", cycles=("day",), trend=False).read("2026-03-01T06:00")
    (1.0, 6.123233995736766e-17)
    """

    name: str
    cycles: Sequence[str] = ("week",)
    trend: bool = True
    centre: float = 0.0
    scale: float = PERIODS["year"]
    limit: float = LIMIT
    missing: bool = False
    kind = "date"

    def __post_init__(self) -> None:
        check_name("name", self.name)
        for field, check in CHECKS.items():
            settle(self, field, check)
        if isinstance(self.cycles, str) or not isinstance(self.cycles, Sequence):
            raise InvalidInputError(
                f"cycles of {self.name!r} must be a list, got {self.cycles!r:.80}"
            )
        object.__setattr__(self, "cycles", tuple(self.cycles))
        for cycle in self.cycles:
            one_of(f"a cycle of {self.name!r}", cycle, PERIODS)
        if len(set(self.cycles)) != len(self.cycles) or not (self.cycles or self.trend):
            raise InvalidInputError(
                f"cycles of {self.name!r} must differ, and be some without a trend, "
                f"got {self.cycles}"
            )

    def labels(self) -> list[str]:
        made = [f"{self.name}: {wave} of {c}" for c in self.cycles for wave in ("sine", "cosine")]
        return made + ([f"{self.name}: trend"] if self.trend else [])

    def bound(self) -> float:
        return max(1.0, math.hypot(self.limit * self.trend, math.sqrt(len(self.cycles))))

    def read(self, value: Any) -> Values:
        seconds = (read_moment(value, self.name) - EPOCH).total_seconds()
        made: list[float] = []
        for cycle in self.cycles:
            period = PERIODS[cycle]
            angle = 2.0 * math.pi * (seconds % period / period)
            made += (math.sin(angle), math.cos(angle))
        if self.trend:
            trend = (seconds - self.centre) / self.scale
            made.append(min(max(trend, -self.limit), self.limit))
        return tuple(made)

    def describe(self) -> str:
        parts = [f"sine and cosine of the {cycle}" for cycle in self.cycles]
        if self.trend:
            middle = f"{np.datetime64(int(self.centre), 's')}"[:10]
            parts.append(f"days since {middle} / {self.scale / 86_400.0:.6g}")
        return ", ".join(parts)
