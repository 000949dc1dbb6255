"""What `replay` returns: a row for every policy and order."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simulation.results import Result
from ..support.optional import optional

RESAMPLES = 2000


class ReplayResult(Result):
    """Tidy rows, one for each policy and order.

    `value` is the mean reward of the pass, `random` that of uniformly random play on the same
    rounds, `oracle` that of the best linear score fitted to all rows with their rewards, `fraction`
    (value - random) / (oracle - random); `truncated` counts rewards that the filter cut. A log has
    `accepted` rows instead of an oracle.

    >>> rows = [{"policy": "a", "order": 0, "value": 2.0, "random": 1.0}]
    >>> ReplayResult.from_rows(rows).summary()[0]["value"]
    2.0
    """

    @classmethod
    def from_rows(cls, rows: Sequence[dict[str, Any]]) -> "ReplayResult":
        return cls({name: [row[name] for row in rows] for name in rows[0]})

    def values(self, policy: str, column: str = "value") -> NDArray[np.float64]:
        """A column of a policy, one number an order."""
        mine = self.data["policy"] == policy
        if not mine.any():
            raise KeyError(f"no policy {policy!r} here; there are {', '.join(self.policies)}")
        return self.data[column][mine].astype(np.float64)

    def summary(self, reference: str | None = None) -> list[dict[str, Any]]:
        """Means over the orders, and paired differences of value from a reference policy.

        The reference is the first policy if not named; `low` and `high` bound the difference at 95%
        (bootstrap over orders), `better` is the share of orders in which the policy made more. The
        interval speaks of other orders of the same rows, not of new data.
        """
        against = self.values(self.policies[0] if reference is None else reference)
        return [self._summarise(name, against) for name in self.policies]

    def _summarise(self, policy: str, against: NDArray[np.float64]) -> dict[str, Any]:
        value = self.values(policy)
        difference = value - against
        low, high = bootstrap_mean(difference)
        means = {
            name: float(self.values(policy, name).mean())
            for name in self.columns
            if name not in ("policy", "order", "value")
        }
        error = float(value.std(ddof=1) / np.sqrt(value.size)) if value.size > 1 else float("nan")
        return {
            "policy": policy,
            "value": float(value.mean()),
            "standard_error": error,
            **means,
            "difference": float(difference.mean()),
            "low": low,
            "high": high,
            "better": float(np.mean(difference > 0.0)),
        }

    def plot(self, axes: Any = None, band: tuple[float, float] = (0.1, 0.9)) -> Any:
        """The fraction of the oracle's gain (or the value) of every policy, a dot an order."""
        optional("matplotlib", "lab")
        from .plots import plot_replay

        return plot_replay(self, axes)


def bootstrap_mean(values: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """A percentile interval of the mean, by the bootstrap with a fixed seed.

    >>> bootstrap_mean(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    means = values[rng.integers(values.size, size=(RESAMPLES, values.size))].mean(axis=1)
    low, high = np.quantile(means, ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
    return float(low), float(high)
