"""What would another policy have earned? An answer from a log that heavy tails cannot fool."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate
from ..._utils.validation import epsilon as check_epsilon
from ..._utils.validation import fraction, one_of, positive, whole
from ...core.arrays import Floats
from ...core.protocols import Policy
from ...features import FeatureMap
from ...features.tables import Row, Table
from .clipped_mean import bounded_mean
from .log import DecisionLog, read_decisions
from .means import METHODS, ROWS, robust_mean
from .models import predict_rewards
from .result import Evaluation, describe_weights
from .targets import Target, read_target

ESTIMATORS = ("dr", "ips", "snips")
LARGEST = sys.float_info.max
STEPS = 5  # of the fixed point of self-normalisation; with the plain mean the first is exact


def evaluate(
    log: Table,
    policy: Target,
    features: Sequence[str] | FeatureMap = (),
    reward: str = "reward",
    *,
    action: str | None = None,
    propensity: str = "pscore",
    offers: str | None = None,
    actions: Mapping[str, Row] | None = None,
    estimator: str = "dr",
    mean: str = "clipped",
    delta: float = 0.05,
    raw_moment: float | None = None,
    epsilon: float = 1.0,
    model: Policy | None = None,
    folds: int = 4,
    drop_missing: bool = False,
    seed: int = 0,
) -> Evaluation:
    """The mean reward a policy would have had on the rows of a log, with an interval.

    With w_i = pi(a_i | x_i) / p_i, the chance that the policy does what the log did over the chance
    that the log did it, and m(x, a) a model of the rewards learned on other rows, the terms are

        ips    w_i r_i                                    (Horvitz and Thompson 1952)
        snips  the same, the weights made to have mean 1  (Swaminathan and Joachims 2015)
        dr     sum_a pi(a | x_i) m(x_i, a) + w_i (r_i - m(x_i, a_i))       (Dudik et al. 2011)

    and the value is a robust mean of them (`mean`).

    Parameters
    ----------
    log : a mapping of columns, pandas, polars, pyarrow, a CSV or Parquet file, or the dictionary of
        the Open Bandit Pipeline. One decision per row.
    policy : a function of a row (a dictionary of its features and `offers`) that gives the name of
        an action, or probabilities by name; a column with the action it chooses; a dictionary
        with the same shares for every row; an array of probabilities, one column per action in
        sorted order; or a policy part, which learns the other folds of the log and then chooses
        (d = actions x (features + 1), or that of the encoder).
    features : names of columns, or an `Encoder` (any `features.FeatureMap`); then one model of the
        rewards serves all actions.
    reward, action : names of columns; actions may be text or numbers. None is "action", but of an
        agent's `feedback()` "offer", if its offers have names.
    propensity : the column with the probability of the action taken, or "uniform" if every offer
        was as likely as the other. A log without either is refused.
    offers : a column of lists, or of text such as "a|b", with what was on offer; None if all
        actions always were.
    actions : with an encoder, the columns of each offer, {name: {column: value}}; None if the log
        has them, the same in all its rows.
    estimator : "dr", "ips" or "snips".
    mean : "clipped", "mean", "median_of_means", "trimmed", "catoni" or "lse".
    delta : the chance that the interval misses the value.
    raw_moment, epsilon : if you know that E|reward|^(1 + epsilon) <= raw_moment for every action in
        every context, an interval that rests on it instead of on the tail of the sample.
    model : a policy part that predicts the reward of an action from its context (d = features + 1,
        or that of the encoder); None for ridge regression with a clip that sets itself.
    folds : parts of the log for the model; each is judged by what the others taught.
    drop_missing : leave out rows with a missing value (and say how many) instead of refusing them.

    >>> rng = np.random.default_rng(0)
    >>> taken = rng.choice(["mail", "call"], 2000, p=[0.8, 0.2])
    >>> paid = (taken == "call") + rng.standard_t(1.5, 2000)
    >>> log = {"action": taken, "reward": paid, "pscore": np.where(taken == "call", 0.2, 0.8)}
    >>> always_call = evaluate(log, {"call": 1.0})
    >>> always_call.low < 1.0 < always_call.high
    True
    """
    one_of("estimator", estimator, ESTIMATORS)
    one_of("mean", mean, METHODS)
    delta, folds = fraction("delta", delta), whole("folds", folds, least=2)
    seed = whole("seed", seed, least=0)
    if raw_moment is not None:
        positive("raw_moment", raw_moment)
        check_epsilon(epsilon)
    choices = policy if isinstance(policy, str) else None
    columns = (reward, action, propensity, offers, drop_missing, choices, actions)
    known = read_decisions(log, features, *columns)
    if known.taken.size < max(ROWS, folds):
        raise InvalidInputError(
            f"log must have at least {max(ROWS, folds)} rows, got {known.taken.size}"
        )
    shares = read_target(policy, known, folds, seed)
    terms = make_terms(known, shares, estimator, model, folds, seed)
    found = judge(terms, estimator, mean, delta, raw_moment, epsilon)
    how = {"estimator": estimator, "mean": mean, "delta": delta, "raw_moment": raw_moment}
    least = 0.0 if raw_moment is None else least_moment(known.rewards, epsilon, delta)
    return Evaluation(found, how, describe_weights(known, terms, least), terms.total)


class Terms(NamedTuple):
    """What is averaged, row by row: direct + weights (rewards - expected)."""

    direct: Floats  # sum_a pi m, zero without a model
    weights: Floats
    rewards: Floats
    expected: Floats  # m of the action taken, zero without a model

    @property
    def total(self) -> Floats:
        with np.errstate(over="ignore"):
            residual = np.clip(self.rewards - self.expected, -LARGEST, LARGEST)
            return np.clip(self.direct + self.weights * residual, -LARGEST, LARGEST)


def make_terms(
    log: DecisionLog, shares: Floats, estimator: str, model: Any, folds: int, seed: int
) -> Terms:
    """Weights and, for "dr", the model's part."""
    rows = np.arange(log.taken.size)
    weights = shares[rows, log.taken] / log.propensities
    if estimator != "dr":
        return Terms(np.zeros(rows.size), weights, log.rewards, np.zeros(rows.size))
    predicted = predict_rewards(log, model, folds, seed)
    direct = (shares * predicted).sum(axis=1)
    return Terms(direct, weights, log.rewards, predicted[rows, log.taken])


def judge(
    terms: Terms, estimator: str, mean: str, delta: float, raw_moment: float | None, epsilon: float
) -> Estimate:
    """The value and its interval."""
    if estimator == "snips":
        terms = normalise(terms, mean, delta)
    if raw_moment is None:
        return robust_mean(terms.total, mean, delta)
    # Minkowski: the residual's root moment is at most the reward's plus what was expected
    root = raw_moment ** (1.0 / (1.0 + epsilon))
    sizes = terms.weights * (1.0 + np.abs(terms.expected) / root)
    residual = terms.weights * (terms.rewards - terms.expected)
    return bounded_mean(residual, sizes, terms.direct, raw_moment, epsilon, delta)


def least_moment(rewards: Floats, epsilon: float, delta: float) -> float:
    """A lower bound of E|reward|^(1 + epsilon), from the log.

    >>> least_moment(np.full(100, 3.0), 1.0, 0.05)
    9.0
    """
    with np.errstate(over="ignore"):
        sizes = np.minimum(np.abs(rewards) ** (1.0 + epsilon), LARGEST)
    return robust_mean(sizes, "clipped", delta).low


def normalise(terms: Terms, mean: str, delta: float) -> Terms:
    """SNIPS as a mean of terms: the v at which v + w (r - v) / mean(w) has mean v.

    >>> one, two = np.ones(40), np.r_[np.zeros(20), np.full(20, 4.0)]
    >>> normalise(Terms(0 * one, two, 3.0 * one, 0 * one), "mean", 0.05).total.mean().item()
    3.0
    """
    average = float(terms.weights.mean())
    if average == 0.0:
        raise InvalidInputError("policy must do what the log did in some row, and does in none")
    weights, value = terms.weights / average, float(np.median(terms.rewards))
    for _ in range(STEPS):
        made = Terms(
            np.full(weights.size, value), weights, terms.rewards, np.full(weights.size, value)
        )
        value = robust_mean(made.total, mean, delta).value
    return made
