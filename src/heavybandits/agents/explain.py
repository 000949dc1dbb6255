"""Explanations: what each feature adds to the expected reward and to the bonus of an arm."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array
from ..core.arrays import Floats
from ..core.capabilities import innermost, split_arm
from ..core.confidence_region import update_count
from ..core.dispatch import arm_norm
from ..core.linalg import bounded
from .agent_policy import AgentPolicy
from .inputs import Actions, Context, encode
from .state import AgentState
from .tickets import Ticket, ticket_number

LEVEL = "level"  # name of the column after those of the features
SHOWN = 6  # features of an arm that `str` lists; the rest is one line


class Explanation(NamedTuple):
    """The scores of some arms, split by feature. Every array has one row per arm.

        score = sum_i contributions_i + sum_i bonuses_i
        contributions_i = x_i theta_i,    bonuses_i = radius x_i (V^-1 x)_i / ||x||_{V^-1}

    All of them are on the scale of x.theta, where features add up; the link turns sum_i
    contributions_i into `mean`, the reward expected. The bonuses of an arm sum up to its `width`,
    which optimism adds because the arm is uncertain. A bonus is negative where features that were
    seen together compensate each other.

    For `auto`, contributions_i = theta_i (x_i - m_i), where m_i is the mean of the feature, and
    `contributions` and `bonuses` have one more column, "level": the reward expected of an arm whose
    features are all at their means.

    For a policy that draws its arms these are the numbers of the policy inside: `EpsilonGreedy`
    plays the largest score except with probability epsilon, `Thompson` draws around the
    contributions with a part of the width, `SquareCB` uses the means alone.

    Attributes
    ----------
    feature_names : list of str
        Names of the n features; for `auto` also "level".
    actions : list of str
        Names of the K arms.
    features : array (K, d)
        The features of the arms.
    contributions : array (K, n)
        What each feature adds to the expected reward, on the scale of x.theta.
    bonuses : array (K, n)
        What each feature adds to the width.
    width : array (K,)
        The confidence width of each arm, on the scale of x.theta.
    score : array (K,)
        The sum of contributions and bonuses, by which the policy chooses.
    mean : array (K,)
        The expected mean reward of each arm.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    >>> _ = agent.update(agent.select([[1.0, 0.0], [0.6, 0.8]]), 1.0)
    >>> why = agent.explain([[1.0, 0.0], [0.6, 0.8]])
    >>> why.contributions.tolist()
    [[0.5, 0.0], [0.3, 0.0]]
    >>> bool(np.allclose(why.contributions.sum(1) + why.bonuses.sum(1), why.score))
    True
    """

    feature_names: list[str]
    actions: list[str]
    features: Floats
    contributions: Floats
    bonuses: Floats
    width: Floats
    score: Floats
    mean: Floats

    def __str__(self) -> str:
        return "\n".join(line for arm in self.score.argsort()[::-1] for line in self._lines(arm))

    def _lines(self, arm: int) -> list[str]:
        """Describe one arm, the features that add most first."""
        added = self.contributions[arm] + self.bonuses[arm]
        order = np.abs(added).argsort(kind="stable")[::-1]
        lines = [
            f"{self.actions[arm]}: score {self.score[arm]:.4g} = "
            f"{self.score[arm] - self.width[arm]:.4g} expected of x.theta "
            f"+ {self.width[arm]:.4g} bonus; mean reward {self.mean[arm]:.4g}"
        ]
        lines += [
            f"  {self.feature_names[i]:24} {self.contributions[arm, i]:+11.4g} "
            f"{self.bonuses[arm, i]:+11.4g}"
            for i in order[:SHOWN]
        ]
        rest = order[SHOWN:]
        if rest.size:
            sums = self.contributions[arm, rest].sum(), self.bonuses[arm, rest].sum()
            lines.append(f"  {f'and {rest.size} more':24} {sums[0]:+11.4g} {sums[1]:+11.4g}")
        return lines


def explain(
    state: AgentState,
    policy: AgentPolicy,
    *,
    arms: ArrayLike | Ticket | None,
    context: Context | None,
    actions: Actions | None,
) -> Explanation:
    """Explain the scores of a ticket, of rows of features, or of named actions."""
    rows, labels = _read_rows(state, arms, context, actions)
    inside, learned = innermost(state.policy, state.learned)
    region = getattr(getattr(learned, "estimate", None), "region", None)
    if region is None or not hasattr(inside, "radius"):
        raise InvalidInputError(
            f"explain needs a policy with a confidence region, {type(inside).__name__} has none"
        )
    radius = bounded(inside.radius.radius(learned.estimate, update_count(region)))
    split = [_split(inside.estimator, learned.estimate, row) for row in rows]
    contributions = np.array([scores for scores, _ in split])
    norms = np.array([shares for _, shares in split])
    width = radius * norms.sum(axis=1)
    names = [f"x{i}" for i in range(state.policy.dim)]
    names = names if state.encoder is None else list(state.encoder.names)
    return Explanation(
        feature_names=names + [LEVEL] * (contributions.shape[1] - len(names)),
        actions=labels,
        features=rows,
        contributions=contributions,
        bonuses=radius * norms,
        width=width,
        score=contributions.sum(axis=1) + width,
        mean=policy.compiled.predict(state.learned, rows)[0],
    )


def _split(estimator: Any, estimate: Any, x: Floats) -> tuple[Floats, Floats]:
    """Return what each feature adds to the score of an arm, and to its norm."""
    scores, squares = split_arm(estimator, estimate, x)
    total, norm = float(squares.sum()), arm_norm(estimator, estimate, x)
    return scores, squares * (norm / total) if total > 0.0 else np.zeros_like(squares)


def _read_rows(
    state: AgentState,
    arms: ArrayLike | Ticket | None,
    context: Context | None,
    actions: Actions | None,
) -> tuple[Floats, list[str]]:
    """Return the rows to explain, and what to call them."""
    if isinstance(arms, Ticket):
        ticket_number(arms, state.owners)
        return arms.features[None], [arms.action or f"arm {arms.arm}"]
    if isinstance(arms, int | str):
        raise InvalidInputError(
            "arms must be a ticket or (K, d) features; the id or key of a ticket has none, "
            f"got {arms!r:.80}"
        )
    if arms is None:
        rows, names = encode(state.encoder, context, actions)
        return rows, list(names)
    rows = finite_array("arms", arms, (None, state.policy.dim))
    return rows, [f"arm {k}" for k in range(len(rows))]
