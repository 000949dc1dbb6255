"""The result of `replay`: one row per policy and pass."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._utils import records
from ..._utils.display import Card, show_html, show_text
from ..._utils.drawing import COLOURS, GREY, Axes, Figure, finish, new_axes
from ..._utils.records import Frame, to_frame
from ..._utils.statistics import bootstrap
from ..._utils.validation import did_you_mean
from ...core.arrays import Floats

Row = Mapping[str, Any]


class ReplayResult:
    """Store the result of `replay`: one row per policy and pass.

    Parameters
    ----------
    data : mapping of str to array
        Columns of equal length: `policy` and `pass`; `value`, the mean reward of the pass;
        `clipped_value`, the mean of the rewards clipped at the 99% quantile of the nonzero
        |rewards| of the table, which outliers cannot decide; `random`, the mean of uniformly random
        play on the same rounds; `oracle`, the mean of the best linear score fitted to all rows with
        their rewards; `fraction`, (value - random) / (oracle - random); `truncated`, the number of
        rewards that the filter changed.

    Attributes
    ----------
    data : dict of str to array
        The columns.
    columns : tuple of str
        Names of the columns.
    policies : list of str
        Names of the policies.

    Examples
    --------
    >>> rows = [{"policy": "a", "pass": 0, "value": 2.0, "random": 1.0}]
    >>> ReplayResult.from_rows(rows).values("a").tolist()
    [2.0]
    """

    columns, policies = property(records.column_names), property(records.policy_names)
    names, rows, to_pandas = records.distinct, records.rows, records.to_pandas
    to_polars, to_parquet, to_csv = records.to_polars, records.to_parquet, records.to_csv
    __len__, __iter__ = records.count_rows, records.iterate
    __repr__, _repr_html_ = show_text, show_html

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = records.to_columns(data)

    def _card(self) -> Card:
        wanted = {"value": "mean reward", "standard_error": "standard error"}
        wanted |= {"random": "random play", "oracle": "oracle", "fraction": "fraction"}
        rows = [
            {"policy": row["policy"]} | {wanted[name]: row[name] for name in wanted if name in row}
            for row in summarise(self)
        ]
        count = len(rows)
        policies = "1 policy" if count == 1 else f"{count:,} policies"
        passes = len(self) // max(count, 1)
        times = "1 pass" if passes == 1 else f"{passes:,} passes"
        return Card(f"ReplayResult: {policies}, {times} over the table", {}, rows)

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> "ReplayResult":
        """Make a result from rows with the same columns.

        Parameters
        ----------
        rows : sequence of mapping
            One mapping per row.

        Returns
        -------
        ReplayResult
            The result with these rows.
        """
        return cls({name: [row[name] for row in rows] for name in rows[0]})

    @classmethod
    def from_passes(cls, passes: Sequence[Sequence[Row]]) -> "ReplayResult":
        """Make a result from the rows of every pass.

        Parameters
        ----------
        passes : sequence of sequence of mapping
            For every pass, one row per policy.

        Returns
        -------
        ReplayResult
            The result, ordered by policy.
        """
        return cls.from_rows([row for rows in zip(*passes, strict=True) for row in rows])

    def values(self, policy: str, column: str = "value") -> Floats:
        """Return a column of a policy, one number per pass.

        Parameters
        ----------
        policy : str
            Name of the policy.
        column : str, default "value"
            Name of the column.

        Returns
        -------
        array of shape (passes,)
            The numbers.

        Raises
        ------
        KeyError
            There is no such policy.
        """
        mine = self.data["policy"] == policy
        if not mine.any():
            hint = did_you_mean(policy, self.policies)
            raise KeyError(f"the result has no policy {policy!r}{hint}")
        return self.data[column][mine].astype(np.float64)

    def summary(self, reference: str | None = None) -> Frame:
        """Return means over the passes, and paired differences from a reference policy.

        Parameters
        ----------
        reference : str, optional
            The policy to compare with. Default: the first.

        Returns
        -------
        pandas.DataFrame, or a list of dict without pandas
            One row per policy. `median`, `smallest` and `largest` show how the value varies over
            the passes. `low` and `high` bound the `difference` of the values at 95% (bootstrap over
            passes; infinite for one pass), `better` is the share of passes in which the policy
            earned more. The interval is about other orders of the same rows, not about new data.
        """
        return to_frame(summarise(self, reference))

    def plot(self, path: str | Path | None = None, *, axes: Axes | None = None) -> Figure:
        """Draw the fraction of the oracle's gain of every policy, one dot per pass.

        Parameters
        ----------
        path : str or Path, optional
            Write the figure to this PNG, SVG or PDF file.
        axes : Axes, optional
            Draw in these axes instead of in a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        names = self.policies
        if axes is None:
            (axes,) = new_axes((7.2, 0.5 * len(names) + 1.4))
        for place, name in enumerate(names):
            values, colour = self.values(name, "fraction"), COLOURS[place % len(COLOURS)]
            rows = np.full(values.size, place)
            axes.plot(values, rows, "o", color=colour, alpha=0.3, markersize=4)
            axes.plot(values.mean(), place, "D", color=colour, markersize=8)
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        label = "share of the oracle's gain over random play"
        axes.set(yticks=range(len(names)), yticklabels=names, xlabel=label)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.grid(alpha=0.25, axis="x")
        return finish(axes.figure, path)


def summarise(result: ReplayResult, reference: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of `ReplayResult.summary`.

    >>> rows = [{"policy": "a", "pass": 0, "value": 2.0, "random": 1.0}]
    >>> summarise(ReplayResult.from_rows(rows))[0]["value"]
    2.0
    """
    against = result.values(result.policies[0] if reference is None else reference)
    return [_summarise(result, name, against) for name in result.policies]


def _summarise(result: ReplayResult, policy: str, against: Floats) -> dict[str, Any]:
    value = result.values(policy)
    beyond = bootstrap(value - against)
    means = {
        name: float(result.values(policy, name).mean())
        for name in result.columns
        if name not in ("policy", "pass", "value")
    }
    error = float(value.std(ddof=1) / np.sqrt(value.size)) if value.size > 1 else float("nan")
    return {
        "policy": policy,
        "value": float(value.mean()),
        "standard_error": error,
        "median": float(np.median(value)),
        "smallest": float(value.min()),
        "largest": float(value.max()),
        **means,
        "difference": beyond.value,
        "low": beyond.low,
        "high": beyond.high,
        "better": float(np.mean(value > against)),
    }
