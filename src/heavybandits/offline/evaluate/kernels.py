"""The compiled pass of `evaluate`: a policy chooses in every row."""

import math
from typing import Any

from ...core.compile import Function, stamped
from ...core.dispatch import choose
from ...core.jit import jitable


@jitable
def choose_rows(
    policy: Any, state: Any, arms: Any, view: Any, contexts: Any, offered: Any, chosen: Any
) -> None:
    """Choose among the actions of every row; an action's features are the context in its place."""
    width = contexts.shape[1]
    for t in range(contexts.shape[0]):
        for k in range(offered.shape[1]):
            view.penalty[k] = 0.0 if offered[t, k] else math.inf
            for j in range(width):
                view.features[k * width + j, k] = contexts[t, j]
        view.synced[0] = -1
        chosen[t] = choose(policy, state, arms, view)


@jitable
def choose_encoded(
    policy: Any, state: Any, arms: Any, view: Any, rows: Any, offered: Any, chosen: Any
) -> None:
    """Choose among the actions of every row, whose features are rows[t, k]."""
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            view.penalty[k] = 0.0 if offered[t, k] else math.inf
            for i in range(rows.shape[2]):
                view.features[i, k] = rows[t, k, i]
        view.synced[0] = -1
        chosen[t] = choose(policy, state, arms, view)


def choose_rows_kernel(stamp: str) -> Function:
    return stamped(choose_rows, stamp)


def choose_encoded_kernel(stamp: str) -> Function:
    return stamped(choose_encoded, stamp)
