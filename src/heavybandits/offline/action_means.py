"""The mean reward of every action of a log, with its interval."""

import numpy as np

from .._utils.validation import bounded_number
from .actions import read_names
from .evaluate.estimators import DELTA
from .log import LogLike, action_column, as_log, read_rewards
from .uplift import GroupMean, describe_mean


def action_means(
    data: LogLike, *, reward: str | None = None, delta: float = 0.05
) -> list[GroupMean]:
    """Return the mean reward of every action in the rows that took it.

    The interval is the one of `uplift`. The means describe the log. They do not compare actions,
    because a policy takes each action in other contexts; `evaluate` does that.

    Parameters
    ----------
    data : table or Log
        One decision per row, with the column "action" unless a `Log` names another.
    reward : str, optional
        As in `Log`; default "reward".
    delta : float, default 0.05
        Probability with which each interval may miss its mean, at least 1e-9.

    Returns
    -------
    list of GroupMean
        `name`, `rows`, `mean` and `carriers` of each action, the most frequent first. The ends of
        the interval are infinite for an action with fewer than 20 rows.

    Raises
    ------
    InvalidInputError
        A column does not exist or has a missing value.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> data = {"action": ["tea", "figs", "tea"] * 50, "reward": 2.0 + rng.normal(size=150)}
    >>> [(one.name, one.rows, one.mean.low < 2.0 < one.mean.high) for one in action_means(data)]
    [('tea', 100, True), ('figs', 50, True)]
    """
    delta, log = bounded_number("delta", delta, DELTA), as_log(data, reward=reward)
    column = action_column(log)
    rewards, kept = read_rewards(log, {"action": column})
    taken = np.array([str(name) for name in read_names(log.frame, column, kept)])
    names, counts = np.unique(taken, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [describe_mean(str(n), rewards[taken == n], delta) for n in names[order]]
