"""What the study measures: pure functions of the regret of every policy and run of a world."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._utils.statistics import Array, Estimate, bootstrap
from ..._utils.tables import Row, grouped
from ..rows import column
from .policies import CLIP, GRID, PLAIN, RANDOM
from .settings import EASY, LEARNED, WRONG

RECOMMENDED = "recommended"  # by the diagnosis, from logged rows
RADII_OF = {
    filter: [row.name for row in GRID if row.name.startswith(f"{filter},")]
    for filter in (PLAIN, CLIP)
}


class Played(NamedTuple):
    """One world, or one problem at one scale: regret by policy, one number per run."""

    group: str
    world: str
    dim: int
    horizon: int
    gap: float  # mean gap of random play, or the largest gap of a problem
    regret: dict[str, Array]
    late: dict[str, Array]  # regret of the last tenth of the rounds, if it was recorded

    def radii(self, filter: str) -> list[str]:
        """Return the names of LinUCB with this filter that were played."""
        return [name for name in RADII_OF[filter] if name in self.regret]

    def best(self, filter: str) -> str:
        """Return the radius of the smallest mean regret."""
        return min(self.radii(filter), key=lambda name: float(self.regret[name].mean()))

    def has(self, *policies: str) -> bool:
        """Return True if all of these policies were played."""
        return all(policy in self.regret for policy in policies)

    @property
    def runs(self) -> int:
        """The number of runs that every policy has."""
        return min(map(len, self.regret.values()))

    def is_easy(self, filter: str) -> bool:
        """Return True if the best regret is below what the d directions cost."""
        return bool(self.regret[self.best(filter)].mean() < EASY * self.dim * self.gap)

    def columns(self, *policies: str) -> list[Array]:
        """Return the regret of these policies in the runs that all have."""
        return [self.regret[policy][: self.runs] for policy in policies]


def gather_worlds(rows: Sequence[Row]) -> list[Played]:
    """Return the worlds of these rows; "recommended" has the regret of the policies it names."""
    found = []
    for group, world, dim, horizon, mine in grouped(rows, "group", "world", "dim", "horizon"):
        played = [row for row in mine if "regret" in row]
        regret = {policy: in_order(runs) for policy, runs in grouped(played, "policy")}
        late = {policy: in_order(runs, "late") for policy, runs in grouped(played, "policy")}
        advice = sorted((row for row in mine if "advice" in row), key=lambda row: row["run"])
        if advice:
            regret[RECOMMENDED] = follow_advice(regret, [row["advice"] for row in advice])
        gap = float(regret[RANDOM].mean()) / horizon
        found.append(Played(group, world, dim, horizon, gap, regret, late))
    return found


def in_order(rows: Sequence[Row], name: str = "regret") -> Array:
    """Return a column by run."""
    return column(sorted(rows, key=lambda row: row["run"]), name)


def follow_advice(regret: dict[str, Array], advice: Sequence[str]) -> Array:
    """Return the regret of the recommended algorithm of every run; random play if there is none.

    >>> follow_advice({"auto": np.array([3.0, 4.0]), RANDOM: np.ones(2)}, ["auto", "none"]).tolist()
    [3.0, 1.0]
    """
    names = {name.lower(): name for name in regret}
    followed = [names.get(algorithm, RANDOM) for algorithm in advice]
    return np.array([regret[name][run] for run, name in enumerate(followed)])


# ---- one world


def over_random(played: Played, policy: str) -> float:
    """Return mean regret over that of random play."""
    mine, chance = played.columns(policy, RANDOM)
    return float(mine.mean() / chance.mean())


def ratio_error(above: Array, below: Array) -> float:
    """Return the standard error of a ratio of means of paired runs (delta method).

    >>> ratio_error(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    0.0
    """
    if below.mean() == 0.0:
        return math.nan
    ratio = above.mean() / below.mean()
    left = above - ratio * below
    return (
        float(left.std(ddof=1) / np.sqrt(left.size) / abs(below.mean())) if left.size > 1 else 0.0
    )


def relative_share(played: Played, policy: str) -> float | None:
    """Return the share of the possible gain over random, over that of LinUCB's best radius.

    None if LinUCB gains too little for a ratio.
    """
    best = 1.0 - over_random(played, played.best(PLAIN))
    return (1.0 - over_random(played, policy)) / best if best >= LEARNED else None


def over_best(played: Played, policy: str, filter: str) -> float:
    """Return mean regret over that of the best radius in hindsight."""
    mine, best = played.columns(policy, played.best(filter))
    return float(mine.mean() / max(best.mean(), played.gap))


def count_wrong(regret: Array, late: Array | None = None) -> int:
    """Return the number of runs above 3 times the median run.

    With `late`, the regret of the last tenth, only those that still lose at half their mean rate or
    more: they have settled on a wrong arm. The others were slow, or had two arms of almost equal
    mean.

    >>> regret = np.array([1.0, 1.0, 1.2, 9.0, 8.0])
    >>> count_wrong(regret), count_wrong(regret, np.array([0.1, 0.0, 0.0, 0.9, 0.1]))
    (2, 1)
    """
    wrong = regret > WRONG * np.median(regret)
    if late is not None:
        wrong &= late >= 0.05 * regret
    return int(wrong.sum())


# ---- statistics over worlds; the best radius is chosen again in every resample

Statistic = Callable[[list[Array]], Any]  # one array (resamples, policies) per world, to a number


def resample(
    worlds: Sequence[Played], policies: Sequence[str], filter: str, of: Statistic
) -> Estimate:
    """Return the estimate of a statistic of mean regrets.

    `of` receives, for every world, the means of these policies and of the best radius with this
    filter, in the last column, one row per resample.
    """
    runs = min(played.runs for played in worlds)
    names = [[*policies, *played.radii(filter)] for played in worlds]
    tables = [
        np.column_stack([played.regret[name][:runs] for name in mine])
        for played, mine in zip(worlds, names, strict=True)
    ]
    ends = np.cumsum([0, *(table.shape[1] for table in tables)])
    count = len(policies)

    def statistic(means: Array) -> Array:
        parts = [means[:, a:b] for a, b in pairwise(ends)]
        kept = [np.c_[part[:, :count], part[:, count:].min(axis=1)] for part in parts]
        return np.asarray(of(kept))

    return bootstrap(np.column_stack(tables), statistic)


def ratios_to_best(
    worlds: Sequence[Played], policy: str, filter: str, over: Callable[[Array], Array]
) -> Estimate:
    """Estimate a statistic over worlds of regret over that of the best radius.

    A best regret below one gap counts as one gap.
    """

    def of(parts: list[Array]) -> Array:
        floors = [played.gap for played in worlds]
        found = [p[:, 0] / np.maximum(p[:, 1], gap) for p, gap in zip(parts, floors, strict=True)]
        return over(np.column_stack(found))

    return resample(worlds, [policy], filter, of)


def gain_of(worlds: Sequence[Played], policy: str) -> Estimate:
    """Estimate the mean share of the possible gain over that of LinUCB's best radius."""

    def of(parts: list[Array]) -> Array:
        shares = np.array([[1.0 - p[:, i] / p[:, 1] for i in (0, 2)] for p in parts])
        mine, best = shares.mean(axis=0)
        return np.asarray(mine / best)

    return resample(worlds, [policy, RANDOM], PLAIN, of)


def worst_gain_of(worlds: Sequence[Played], policy: str) -> Estimate:
    """Estimate the smallest share over that of LinUCB, over worlds."""

    def of(parts: list[Array]) -> Array:
        shares = [(p[:, 1] - p[:, 0]) / (p[:, 1] - p[:, 2]) for p in parts]
        return smallest(np.column_stack(shares))

    return resample(worlds, [policy, RANDOM], PLAIN, of)


def ratios_to_random(
    worlds: Sequence[Played], policy: str, over: Callable[[Array], Array]
) -> Estimate:
    """Estimate a statistic over worlds of regret over that of random play."""

    def of(parts: list[Array]) -> Array:
        return over(np.column_stack([part[:, 0] / part[:, 1] for part in parts]))

    return resample(worlds, [policy, RANDOM], PLAIN, of)


def ratios_to_plain(
    worlds: Sequence[Played], plain: Played, policy: str, over: Callable[[Array], Array]
) -> Estimate:
    """Estimate a statistic over altered worlds of regret over that in the unaltered one."""

    def of(parts: list[Array]) -> Array:
        *altered, base = parts
        return over(np.column_stack([part[:, 0] / base[:, 0] for part in altered]))

    return resample([*worlds, plain], [policy], PLAIN, of)


def median(found: Array) -> Array:
    """Return the median over worlds of every resample."""
    return np.asarray(np.median(found, axis=1))


def most(found: Array) -> Array:
    """Return the 90% quantile over worlds of every resample."""
    return np.asarray(np.quantile(found, 0.9, axis=1))


def largest(found: Array) -> Array:
    """Return the largest value over worlds of every resample."""
    return np.asarray(found.max(axis=1))


def smallest(found: Array) -> Array:
    """Return the smallest value over worlds of every resample."""
    return np.asarray(found.min(axis=1))


def average(found: Array) -> Array:
    """Return the mean over worlds of every resample."""
    return np.asarray(found.mean(axis=1))
