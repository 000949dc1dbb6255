"""Columns that a model may lack: logarithms, squares, products, and indicators of the action."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Floats
from ...features.tables import standardise
from .columns import Groups, Sample

MOST_NUMBERS, MOST_PRODUCTS, MOST_ACTIONS = 20, 6, 20  # columns that are tried
FARTHEST = 3.0  # standard deviations at which a column is clipped before it is squared
LEAST_RATIO = 2.0  # of the largest to the smallest number of a column whose logarithm is tried
LEAST_VALUES = 3  # different numbers: the square of two numbers is linear in them
LEAST_ROWS = 20  # of an action that gets an indicator
INDICATORS = "an indicator of each action"


class Candidates(NamedTuple):
    """Columns that may be missing, standardised: `names` and `values` (n, m).

    `scales` has the columns on which the size of the errors may depend.
    """

    names: list[str]
    values: Floats
    scales: Floats

    def with_column(self, name: str, values: Floats) -> "Candidates":
        """Return the candidates and one more."""
        joined = np.column_stack([self.values, values])
        return Candidates([*self.names, name], joined, self.scales)


def make_candidates(sample: Sample, rows: NDArray[np.int64] | slice) -> Candidates:
    """Return the candidates of a log, in these rows; no logarithm of a column named log_price.

    >>> from heavybandits.offline.diagnose.columns import Numbers
    >>> price = Numbers("price", np.array([1.0, 2.0, 4.0, 8.0]), True)
    >>> sample = Sample(np.zeros(4), price.values[:, None], False, [price], [], None)
    >>> make_candidates(sample, slice(None)).names
    ['price^2', 'log(price)']
    """
    rest = sample.rewards[rows].size
    names, columns, scales = [], [], []
    clipped = {}
    for number in sample.numbers[:MOST_NUMBERS]:
        values = number.values[rows]
        if not np.ptp(values) > 0.0:
            continue
        z = np.clip(standardise(values[:, None])[:, 0], -FARTHEST, FARTHEST)
        clipped[number.column] = z
        scales.append(z)
        if np.unique(values).size < LEAST_VALUES:
            continue
        names.append(f"{number.column}^2")
        columns.append(z * z)
        logarithm = number.column.lower().startswith(("log", "ln"))
        if not logarithm and values.min() > 0.0 and values.max() > LEAST_RATIO * values.min():
            names.append(f"log({number.column})")
            columns.append(np.log(values))
            scales.append(columns[-1])
    for first, second in combinations(list(clipped)[:MOST_PRODUCTS], 2):
        names.append(f"{first} x {second}")
        columns.append((clipped[first] - clipped[first].mean()) * clipped[second])
    if sample.action is not None:
        indicators = indicate_actions(sample.action, rows)
        names += [INDICATORS] * len(indicators)
        columns += indicators
        scales += indicators
    return Candidates(names, _stack(columns, rest), _stack(scales, rest))


def indicate_actions(action: Groups, rows: NDArray[np.int64] | slice) -> list[Floats]:
    """Return an indicator for each of the most frequent actions.

    >>> action = Groups("action", ["a", "b"], np.repeat([0, 1], 30))
    >>> [int(column.sum()) for column in indicate_actions(action, slice(None))]
    [30, 30]
    """
    places = action.places[rows]
    counts = np.bincount(places, minlength=len(action.names))
    most = np.argsort(-counts, kind="stable")[:MOST_ACTIONS]
    few, many = LEAST_ROWS, places.size - LEAST_ROWS
    return [(places == place).astype(np.float64) for place in most if few <= counts[place] <= many]


def _stack(columns: list[Floats], rows: int) -> Floats:
    return standardise(np.column_stack(columns)) if columns else np.zeros((rows, 0))
