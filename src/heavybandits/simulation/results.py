"""What `simulate` returns: tidy rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.loop import Trace
from ..support.optional import optional
from ..support.tables import write_parquet
from .figures import plot_regret


class Result:
    """One row per policy, repetition and checkpoint, held by column.

    `regret` is the pseudo-regret up to `play`; `truncated` the rewards the filter cut so far and
    `truncated_share` that over the plays. Of the whole run are `fallbacks`, the updates in which
    rounding may have spoiled V^-1 and it was mended (normally 0), and `cpu_seconds`.

    >>> Result({"policy": ["a"], "play": [3], "regret": [0.5]}).rows()
    [{'policy': 'a', 'play': 3, 'regret': 0.5}]
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = {name: np.asarray(column) for name, column in data.items()}

    @classmethod
    def from_runs(
        cls, runs: Sequence[tuple[str, int]], outcomes: Sequence[tuple[Trace, float]]
    ) -> "Result":
        """Rows from the runs (policy, repetition), and the trace and seconds of each of them."""
        traces, seconds = zip(*outcomes, strict=True)
        size, whole = traces[0].plays.size, Trace(*map(np.concatenate, zip(*traces, strict=True)))
        return cls(
            {
                "policy": np.repeat([name for name, _ in runs], size),
                "repetition": np.repeat([repetition for _, repetition in runs], size),
                "play": whole.plays,
                "regret": whole.regret,
                "updates": whole.updates,
                "projections": whole.projections,
                "truncated": whole.truncated,
                "truncated_share": whole.truncated / whole.plays,
                "fallbacks": whole.fallbacks,
                "cpu_seconds": np.repeat(seconds, size),
            }
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.data)

    @property
    def policies(self) -> list[str]:
        """The names of the policies, in the order they were given."""
        return list(dict.fromkeys(self.data["policy"].tolist()))

    def __len__(self) -> int:
        return len(self.data["policy"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __repr__(self) -> str:
        return f"Result({len(self)} rows: {', '.join(self.policies)})"

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of plain Python values."""
        columns = [column.tolist() for column in self.data.values()]
        return [dict(zip(self.data, row, strict=True)) for row in zip(*columns, strict=True)]

    def curves(self, policy: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The checkpoints, and the regret of a policy: one row per repetition."""
        mine = self.data["policy"] == policy
        if not mine.any():
            raise KeyError(f"no policy {policy!r} here; there are {', '.join(self.policies)}")
        plays = np.unique(self.data["play"][mine])
        return plays, self.data["regret"][mine].reshape(-1, plays.size)

    def final(self, policy: str) -> NDArray[np.float64]:
        """The regret of a policy at the last checkpoint: one number per repetition."""
        return self.curves(policy)[1][:, -1]

    def summary(self) -> list[dict[str, Any]]:
        """Mean, standard error, median and quartiles of the final regret of each policy."""
        return [{"policy": name, **_summarise(self.final(name))} for name in self.policies]

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        pandas = optional("pandas", "lab")
        return pandas.DataFrame(dict(self.data))

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a Parquet file, at once or not at all."""
        write_parquet(self.data, Path(path))

    def plot(self, axes: Any = None, band: tuple[float, float] = (0.1, 0.9)) -> Any:
        """Mean regret against plays, with a band between two quantiles of the repetitions."""
        optional("matplotlib", "lab")
        return plot_regret(self, axes, band)


def _summarise(values: NDArray[np.float64]) -> dict[str, float]:
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return {
        "mean": float(values.mean()),
        "standard_error": error,
        "median": float(middle),
        "lower_quartile": float(low),
        "upper_quartile": float(high),
    }
