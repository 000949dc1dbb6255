"""Why an arm scores what it scores: what each feature adds to the estimate and to the doubt."""

from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from ..core.arrays import Floats
from ..core.capabilities import innermost
from ..core.confidence_region import update_count
from ..core.linalg import bounded

SHOWN = 6  # features of an arm that `str` lists: the rest is one line


class Explanation(NamedTuple):
    """The scores of some arms, taken apart. Every array has one row per arm.

        score = sum_i contributions_i + sum_i doubts_i
        contributions_i = x_i theta_i,    doubts_i = radius x_i (V^-1 x)_i / ||x||_{V^-1}

    All of them are on the scale of x.theta, where features add up; the link turns sum_i
    contributions_i into `mean`, the reward expected. The doubts of an arm sum up to its `width`,
    which is what optimism adds for not knowing it; one of them may be negative, where features
    that were seen together hedge each other.

    Of a policy that draws its arms these are the numbers of the policy inside, before chance:
    `EpsilonGreedy` plays the largest score except with probability epsilon, `Thompson` draws around
    the contributions
    with a part of the width, `SquareCB` looks at the means alone.

    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    >>> agent.update(agent.select([[1.0, 0.0], [0.6, 0.8]]), 1.0)
    >>> why = agent.explain([[1.0, 0.0], [0.6, 0.8]])
    >>> why.contributions.tolist()
    [[0.5, 0.0], [0.3, 0.0]]
    >>> bool(np.allclose(why.contributions.sum(1) + why.doubts.sum(1), why.score))
    True
    """

    names: list[str]
    offers: list[str]
    features: Floats
    contributions: Floats
    doubts: Floats
    width: Floats
    score: Floats
    mean: Floats

    def __str__(self) -> str:
        return "\n".join(line for arm in self.score.argsort()[::-1] for line in self._tell(arm))

    def _tell(self, arm: int) -> list[str]:
        """One arm in words, the features that matter most first."""
        added = self.contributions[arm] + self.doubts[arm]
        order = np.abs(added).argsort(kind="stable")[::-1]
        lines = [
            f"{self.offers[arm]}: score {self.score[arm]:.4g} = "
            f"{self.score[arm] - self.width[arm]:.4g} expected of x.theta "
            f"+ {self.width[arm]:.4g} for doubt; mean reward {self.mean[arm]:.4g}"
        ]
        lines += [
            f"  {self.names[i]:24} {self.contributions[arm, i]:+11.4g} {self.doubts[arm, i]:+11.4g}"
            for i in order[:SHOWN]
        ]
        rest = order[SHOWN:]
        if rest.size:
            sums = self.contributions[arm, rest].sum(), self.doubts[arm, rest].sum()
            lines.append(f"  {f'and {rest.size} more':24} {sums[0]:+11.4g} {sums[1]:+11.4g}")
        return lines


def explain_rows(
    policy: Any, learned: Any, rows: Floats, means: Floats, names: list[str], offers: list[str]
) -> Explanation:
    """The scores of these rows, taken apart."""
    policy, learned = innermost(policy, learned)
    region = getattr(getattr(learned, "estimate", None), "region", None)
    if region is None or not hasattr(policy, "radius"):
        raise InvalidInputError(
            f"explain needs a policy with a confidence region, {type(policy).__name__} has none"
        )
    radius = bounded(policy.radius.radius(learned.estimate, update_count(region)))
    images = rows @ region.inverse
    norms = np.sqrt(np.maximum((rows * images).sum(axis=1), 0.0))
    doubts = radius * rows * images / np.where(norms > 0.0, norms, 1.0)[:, None]
    contributions = rows * region.centre
    width = radius * norms
    score = contributions.sum(axis=1) + width
    return Explanation(names, offers, rows, contributions, doubts, width, score, means)
