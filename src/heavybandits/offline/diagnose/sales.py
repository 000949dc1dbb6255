"""Rewards that are mostly one value: how many are, and what the amounts of the others depend on."""

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from .columns import Groups, Numbers, Sample

OFTEN, MOSTLY = 0.2, 0.5  # shares of one value from which the others are amounts, and sales
ERROR = 0.01  # probability that independent amounts are reported to depend on a column
STRENGTH = 0.2  # least rank correlation that is reported, however certain it is
LEAST_SALES = 20  # rewards off the base value from which their amounts are tested
LEAST_OF_GROUP = 5  # the same in one group
LEAST_ROWS = 20  # of a group whose rate is reported
MOST_GROUPS = 12  # different numbers that are groups of their own; more are cut into fifths


class Base(NamedTuple):
    """The most common reward, and the `share` of the rewards that equal it."""

    value: float
    share: float


class Group(NamedTuple):
    """Rows of one action: its `rate` of rewards off the base value, and their median `amount`."""

    name: str
    rows: int
    rate: float
    amount: float


class Amounts(NamedTuple):
    """The rewards off the base value: do their amounts depend on the action?

    `depends` is None if there is neither an action nor a column, or if too few rewards differ.
    `column` is the one on which they depend most and `strength` its rank correlation (for groups,
    the square root of the share of the variance of the ranks that they explain). `cheap` and
    `expensive` are the groups with the smallest and the largest median amount; `unsold` groups of
    `groups` have only rewards equal to the base value.
    """

    rows: int
    median: float
    depends: bool | None
    column: str | None
    strength: float
    cheap: Group | None
    expensive: Group | None
    groups: int
    unsold: int


def find_base(rewards: Floats) -> Base:
    """Return the most common reward and its share.

    >>> find_base(np.array([0.0, 5.0, 0.0, 7.0]))
    Base(value=0.0, share=0.5)
    """
    values, counts = np.unique(rewards, return_counts=True)
    most = int(np.argmax(counts))
    return Base(float(values[most]) + 0.0, float(counts[most] / rewards.size))


def examine_amounts(sample: Sample, base: Base) -> Amounts:
    """Test whether the amounts of the rewards off the base value depend on the action.

    The tests use ranks only: Kruskal and Wallis (1952) for groups, Spearman (1904) for numbers.
    All tests together report a dependence among independent amounts with probability 0.01.
    """
    sold = sample.rewards != base.value
    amounts = sample.rewards[sold]
    count = amounts.size
    median = float(np.median(amounts)) if count else math.nan
    found = []
    equal = count > 0 and not np.ptp(amounts) > 0.0  # as 1 for a click
    if count >= LEAST_SALES and not equal:
        ranks = rank(amounts)
        columns = [column for column in _relevant(sample) if _is_testable(column, sold)]
        found = [(column, *_test(column, ranks, sold)) for column in columns]
    certain = [
        (strength, column)
        for column, strength, error in found
        if error < ERROR / len(found) and strength >= STRENGTH
    ]
    described = [one for one in certain if one[1] is not sample.action] or certain
    strength, best = max(described, key=lambda one: one[0], default=(0.0, None))
    groups = group_amounts(sample.rewards, sold, group_sample(sample, best and best.column))
    with_sales = [group for group in groups if group.rate > 0.0]
    return Amounts(
        rows=count,
        median=median,
        depends=best is not None if found or equal else None,
        column=None if best is None else best.column,
        strength=strength,
        cheap=min(with_sales, key=lambda group: group.amount, default=None),
        expensive=max(with_sales, key=lambda group: group.amount, default=None),
        groups=len(groups),
        unsold=len(groups) - len(with_sales),
    )


def _relevant(sample: Sample) -> Iterator[Groups | Numbers]:
    """Yield the action and the columns that may describe it."""
    yield from sample.groups
    if sample.action is None:
        yield from (column for column in sample.numbers if column.of_action is not False)
        return
    yield sample.action
    yield from (column for column in sample.numbers if _describes(column, sample.action))


def _describes(column: Numbers, action: Groups) -> bool:
    """Return True if a column is known to describe the action, or has one value for each action."""
    if column.of_action is not None:
        return column.of_action
    _, first = np.unique(action.places, return_index=True)
    return bool((column.values == column.values[first][action.places]).all())


def _is_testable(column: Groups | Numbers, sold: NDArray[np.bool_]) -> bool:
    """Return True if two groups, or two numbers, have rewards off the base value."""
    if isinstance(column, Groups):
        return int((np.bincount(column.places[sold]) >= LEAST_OF_GROUP).sum()) >= 2
    return bool(np.ptp(column.values[sold]) > 0.0)


def _test(column: Groups | Numbers, ranks: Floats, sold: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the strength of a dependence on a column, and the probability of more by chance."""
    if isinstance(column, Groups):
        return compare_groups(ranks, column.places[sold])
    return correlate_ranks(ranks, rank(column.values[sold]))


def rank(values: Floats) -> Floats:
    """Return the ranks of values, equal ones sharing their mean rank.

    >>> rank(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - 0.5 * (counts - 1.0))[places])


def correlate_ranks(first: Floats, second: Floats) -> tuple[float, float]:
    """Return Spearman's correlation without its sign, and its two-sided p-value.

    >>> strength, error = correlate_ranks(np.arange(50.0), -np.arange(50.0))
    >>> round(strength, 6), error < 1e-6
    (1.0, True)
    """
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    if not size > 0.0:
        return 0.0, 1.0
    strength = abs(float(a @ b)) / size
    return strength, 2.0 * NormalDist().cdf(-strength * math.sqrt(first.size - 1))


def compare_groups(ranks: Floats, places: NDArray[np.int64]) -> tuple[float, float]:
    """Return Kruskal and Wallis's test of equal ranks in groups: strength and p-value.

    Groups with fewer than 5 rows are left out. The strength is the square root of the share of the
    variance that the groups explain beyond randomness.

    >>> strength, error = compare_groups(np.arange(40.0), np.repeat([0, 1], 20))
    >>> round(strength, 2), error < 1e-6
    (0.85, True)
    """
    sizes = np.bincount(places)
    kept = sizes[places] >= LEAST_OF_GROUP
    groups = int((sizes >= LEAST_OF_GROUP).sum())
    if groups < 2:
        return 0.0, 1.0
    ranks, places = ranks[kept] - ranks[kept].mean(), places[kept]
    total = float(ranks @ ranks)
    if not total > 0.0:
        return 0.0, 1.0
    sums = np.bincount(places, ranks, minlength=sizes.size)
    between = float((sums**2 / np.maximum(sizes, 1)).sum()) / total
    statistic, freedom = between * (ranks.size - 1), groups - 1
    beyond = max(0.0, statistic - freedom) / (ranks.size - 1)
    return math.sqrt(beyond), chi_square_tail(statistic, freedom)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Return Pr(chi-square > statistic) by the cube root of Wilson and Hilferty (1931).

    >>> round(chi_square_tail(18.3, 10), 3)
    0.05
    """
    share = 2.0 / (9.0 * freedom)
    root = ((statistic / freedom) ** (1.0 / 3.0) - (1.0 - share)) / math.sqrt(share)
    return NormalDist().cdf(-root)


def group_sample(sample: Sample, name: str | None) -> Groups | None:
    """Return the rows by action or, if that is unknown, by the column of this name."""
    if sample.action is not None or name is None:
        return sample.action
    for groups in sample.groups:
        if groups.column == name:
            return groups
    return next(cut_numbers(column) for column in sample.numbers if column.column == name)


def cut_numbers(column: Numbers) -> Groups:
    """Return a column of numbers as groups: its values if they are few, else fifths of the rows.

    >>> cut_numbers(Numbers("price", np.array([5.0, 8.0, 5.0]), True)).names
    ['price 5', 'price 8']
    """
    different, places = np.unique(column.values, return_inverse=True)
    if different.size <= MOST_GROUPS:
        names = [f"{column.column} {value:.4g}" for value in different]
        return Groups(column.column, names, places)
    edges = np.quantile(column.values, np.linspace(0.0, 1.0, 6))
    places = np.clip(np.searchsorted(edges, column.values, side="right") - 1, 0, 4)
    pairs = itertools.pairwise(edges)
    names = [f"{column.column} {low:.4g} to {high:.4g}" for low, high in pairs]
    return Groups(column.column, names, places)


def group_amounts(rewards: Floats, sold: NDArray[np.bool_], groups: Groups | None) -> list[Group]:
    """Return the groups with at least 20 rows: rate of rewards off the base, median amount."""
    if groups is None:
        return []
    rows = np.bincount(groups.places, minlength=len(groups.names))
    sales = np.bincount(groups.places[sold], minlength=len(groups.names))
    order = np.argsort(groups.places[sold], kind="stable")
    parts = np.split(rewards[sold][order], np.cumsum(sales)[:-1])
    return [
        Group(
            groups.names[place],
            int(rows[place]),
            float(sales[place] / rows[place]),
            float(np.median(parts[place])) if sales[place] else math.nan,
        )
        for place in np.flatnonzero(rows >= LEAST_ROWS)
    ]
