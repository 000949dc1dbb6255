"""Off-policy evaluation: the value that a policy would have had on the decisions of a log."""

import sys
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate
from ..._utils.validation import epsilon as check_epsilon
from ..._utils.validation import fraction, one_of, positive, whole
from ...core.arrays import Floats
from ...core.protocols import Policy
from ..log import Bools, Decisions, FeatureColumns, LogLike, as_log, read_decisions
from .means import AGGREGATES, LEAST_ROWS, bounded_mean, robust_mean
from .models import predict_rewards
from .rejection import accept_rows
from .result import Evaluation, describe_weights
from .targets import Target, read_target

ESTIMATORS = ("dr", "ips", "snips", "rejection")
LARGEST = sys.float_info.max
STEPS = 5  # of the fixed point of self-normalisation; with the plain mean the first is exact


def evaluate(
    data: LogLike,
    *,
    policy: Target,
    features: FeatureColumns | None = None,
    reward: str | None = None,
    estimator: str = "dr",
    aggregate: str = "clipped",
    delta: float = 0.05,
    raw_moment: float | None = None,
    epsilon: float = 1.0,
    model: Policy | None = None,
    folds: int = 4,
    seed: int = 0,
) -> Evaluation:
    """Estimate the mean reward that a policy would have had on the decisions of a log.

    With the weights w_i = pi(a_i | x_i) / p_i, the probability of the logged action under the
    policy over its propensity, and m(x, a) a model of the rewards fitted to other rows, the
    estimators average the terms

        ips    w_i r_i                                    (Horvitz and Thompson 1952)
        snips  the same, the weights divided by their mean  (Swaminathan and Joachims 2015)
        dr     sum_a pi(a | x_i) m(x_i, a) + w_i (r_i - m(x_i, a_i))       (Dudik et al. 2011)
        rejection  r_i of the rows on which a policy that learns chooses the logged action
                                                          (Li, Chu, Langford and Wang 2011)

    Parameters
    ----------
    data : table or Log
        One decision per row. `Log` names all columns; a table has the columns "action" and
        "propensity".
    policy : callable, str, mapping, array or policy
        A function of a row (a dictionary of its features and `available`) that returns an action or
        probabilities by action; a column with the chosen action; a dictionary with the same
        probabilities for every row; an array of probabilities (n, A), actions sorted; or a policy
        such as `linucb(dim=log.dim)`, which learns from the other folds and then chooses. The
        estimator "rejection" needs the last kind: the policy learns while it passes over the log.
    features : sequence of str or FeatureMap, optional
        As in `Log`. With an encoder one model of the rewards serves all actions, else each action
        has its own.
    reward : str, optional
        As in `Log`; default "reward".
    estimator : {"dr", "ips", "snips", "rejection"}, default "dr"
        "rejection" needs a log in which all actions had the same propensity.
    aggregate : {"clipped", "mean", "catoni"}, default "clipped"
        How the terms are averaged: a mean clipped at a threshold that the sample determines, the
        plain mean, or Catoni's mean.
    delta : float, default 0.05
        Probability with which the interval misses the value.
    raw_moment, epsilon : float, optional
        If E|reward|^(1 + epsilon) <= raw_moment is known for every action in every context: use an
        interval that needs no assumption on the tail. Then `aggregate` has no effect.
    model : policy, optional
        Predicts the rewards for "dr" (dim = features + 1, or that of the encoder). Default: ridge
        regression with `AdaptiveClip`.
    folds : int, default 4
        Parts of the log; the model and the policy for one part learn from the others.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    Evaluation
        `value`, `low`, `high`, `diagnostics` and `warnings`.

    Raises
    ------
    InvalidInputError
        An argument or a column is not valid, or the log has no propensities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> taken = rng.choice(["mail", "call"], 2000, p=[0.8, 0.2])
    >>> paid = (taken == "call") + rng.standard_t(1.5, 2000)
    >>> log = {"action": taken, "reward": paid, "propensity": np.where(taken == "call", 0.2, 0.8)}
    >>> always_call = evaluate(log, policy={"call": 1.0})
    >>> always_call.low < 1.0 < always_call.high
    True
    """
    one_of("estimator", estimator, ESTIMATORS)
    one_of("aggregate", aggregate, AGGREGATES)
    delta, folds = fraction("delta", delta), whole("folds", folds, least=2)
    seed = whole("seed", seed, least=0)
    if raw_moment is not None:
        positive("raw_moment", raw_moment)
        check_epsilon(epsilon)
    log = as_log(data, features, reward)
    known = read_decisions(log, every_action=True) if estimator == "rejection" else log.decisions
    if known.taken.size < max(LEAST_ROWS, folds):
        raise InvalidInputError(
            f"data must have at least {max(LEAST_ROWS, folds)} rows, got {known.taken.size}"
        )
    if estimator == "rejection":
        weights, terms = make_accepted(known, accept_rows(known, policy, log.action_vectors))
    else:
        probabilities = read_target(policy, log, folds, seed)
        terms = make_terms(
            known, probabilities, estimator=estimator, model=model, folds=folds, seed=seed
        )
        weights = terms.weights
    settings: dict[str, Any] = {"estimator": estimator, "aggregate": aggregate}
    settings |= {"delta": delta, "raw_moment": raw_moment}
    found = judge(terms, epsilon=epsilon, **settings)
    least = 0.0 if raw_moment is None else least_moment(known.rewards, epsilon, delta)
    diagnostics = describe_weights(known, weights, terms.total, least)
    return Evaluation(found, settings, diagnostics, terms.total)


class Terms(NamedTuple):
    """The terms that are averaged, row by row: direct + weights (rewards - expected)."""

    direct: Floats  # sum_a pi m, zero without a model
    weights: Floats
    rewards: Floats
    expected: Floats  # m of the action taken, zero without a model

    @classmethod
    def plain(cls, weights: Floats, rewards: Floats) -> "Terms":
        """Terms without a model."""
        return cls(np.zeros(weights.size), weights, rewards, np.zeros(weights.size))

    @property
    def total(self) -> Floats:
        with np.errstate(over="ignore"):
            residual = np.clip(self.rewards - self.expected, -LARGEST, LARGEST)
            return np.clip(self.direct + self.weights * residual, -LARGEST, LARGEST)


def make_accepted(log: Decisions, accepted: Bools) -> tuple[Floats, Terms]:
    """Return the weights of all rows, A or 0, and the terms of the accepted ones."""
    weights = np.where(accepted, float(len(log.actions)), 0.0)
    return weights, Terms.plain(np.ones(int(accepted.sum())), log.rewards[accepted])


def make_terms(
    log: Decisions,
    probabilities: Floats,
    *,
    estimator: str = "dr",
    model: Policy | None = None,
    folds: int = 4,
    seed: int = 0,
) -> Terms:
    """Return the weights and, for "dr", the predictions of the model."""
    rows = np.arange(log.taken.size)
    weights = probabilities[rows, log.taken] / log.propensities
    if estimator != "dr":
        return Terms.plain(weights, log.rewards)
    predicted = predict_rewards(log, model, folds, seed)
    direct = (probabilities * predicted).sum(axis=1)
    return Terms(direct, weights, log.rewards, predicted[rows, log.taken])


def judge(
    terms: Terms,
    *,
    estimator: str = "dr",
    aggregate: str = "clipped",
    delta: float = 0.05,
    raw_moment: float | None = None,
    epsilon: float = 1.0,
) -> Estimate:
    """Return the value and its interval."""
    if estimator == "snips":
        terms = normalise(terms, aggregate, delta)
    if raw_moment is None:
        return robust_mean(terms.total, aggregate, delta)
    # Minkowski: the residual's root moment is at most the reward's plus the prediction
    root = raw_moment ** (1.0 / (1.0 + epsilon))
    sizes = terms.weights * (1.0 + np.abs(terms.expected) / root)
    residual = terms.weights * (terms.rewards - terms.expected)
    return bounded_mean(
        residual, sizes, terms.direct, raw_moment=raw_moment, epsilon=epsilon, delta=delta
    )


def least_moment(rewards: Floats, epsilon: float, delta: float) -> float:
    """Return a lower bound of E|reward|^(1 + epsilon), from the log.

    >>> least_moment(np.full(100, 3.0), 1.0, 0.05)
    9.0
    """
    with np.errstate(over="ignore"):
        sizes = np.minimum(np.abs(rewards) ** (1.0 + epsilon), LARGEST)
    return robust_mean(sizes, "clipped", delta).low


def normalise(terms: Terms, aggregate: str, delta: float) -> Terms:
    """Write SNIPS as a mean of terms: the v at which v + w (r - v) / mean(w) has mean v.

    >>> one, two = np.ones(40), np.r_[np.zeros(20), np.full(20, 4.0)]
    >>> normalise(Terms.plain(two, 3.0 * one), "mean", 0.05).total.mean().item()
    3.0
    """
    average = float(terms.weights.mean())
    if average == 0.0:
        raise InvalidInputError(
            "policy must choose the logged action in some row, and does in none: the log contains "
            "no information about it"
        )
    weights, value = terms.weights / average, float(np.median(terms.rewards))
    for _ in range(STEPS):
        made = Terms(
            np.full(weights.size, value), weights, terms.rewards, np.full(weights.size, value)
        )
        value = robust_mean(made.total, aggregate, delta).value
    return made
