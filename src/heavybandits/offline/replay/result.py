"""What `replay` returns: one row per policy and order."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import optional
from ..._utils.records import Records
from ..._utils.statistics import bootstrap
from .plots import plot_replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReplayResult(Records):
    """Tidy rows, one per policy and order.

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

    @classmethod
    def from_passes(cls, passes: Sequence[Sequence[dict[str, Any]]]) -> "ReplayResult":
        """From the rows of every order, one per policy: sorted by policy, then by order."""
        return cls.from_rows([row for rows in zip(*passes, strict=True) for row in rows])

    def values(self, policy: str, column: str = "value") -> NDArray[np.float64]:
        """A column of a policy, one number per order."""
        mine = self.data["policy"] == policy
        if not mine.any():
            raise KeyError(f"no policy {policy!r} here; there are {', '.join(self.policies)}")
        return self.data[column][mine].astype(np.float64)

    def summary(self, reference: str | None = None) -> list[dict[str, Any]]:
        """Means over the orders, and paired differences of value from a reference policy.

        The reference is the first policy if not named; `low` and `high` bound the difference at 95%
        (bootstrap over orders; one order bounds nothing), `better` is the share of orders in which
        the policy made more. The interval speaks of other orders of the same rows, not of new data.
        """
        against = self.values(self.policies[0] if reference is None else reference)
        return [self._summarise(name, against) for name in self.policies]

    def _summarise(self, policy: str, against: NDArray[np.float64]) -> dict[str, Any]:
        value = self.values(policy)
        beyond = bootstrap(value - against)
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
            "difference": beyond.value,
            "low": beyond.low,
            "high": beyond.high,
            "better": float(np.mean(value > against)),
        }

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """The fraction of the oracle's gain (or the value) of every policy, one dot per order."""
        optional("matplotlib", "lab")
        return plot_replay(self, axes)
