"""Off-policy evaluation: the value that a policy would have had on the decisions of a log."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.statistics import Estimate
from ..._utils.validation import Interval, bounded_number, one_of, positive, whole
from ..._utils.validation import epsilon as check_epsilon
from ...core.arrays import Floats
from ...core.protocols import Policy
from ..log import Decisions, FeatureColumns, Log, LogLike, as_log, read_decisions
from .carriers import INTERVALS, centre_rewards, find_certainty, find_reasons
from .known_moment import bounded_mean
from .means import AGGREGATES, LEAST_ROWS, mean_interval
from .models import predict_rewards
from .rejection import accept_rows
from .result import NO_INTERVAL, Evaluation, Judgement, describe_rows, describe_weights
from .targets import Target, read_target

LARGEST_REWARD = 1e100  # in the unit of the calculation
STEPS = 5  # of the fixed point of self-normalisation; with the plain mean the first is exact
DELTA = Interval(1e-9, 1.0, "[)")  # quantiles of smaller ones have no digits


def evaluate(
    data: LogLike,
    *,
    policy: Target,
    baseline: Target | None = None,
    features: FeatureColumns | None = None,
    reward: str | None = None,
    estimator: str | None = None,
    aggregate: str = "mean",
    delta: float = 0.05,
    interval: str = "checked",
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

    The result has an interval if `raw_moment` is given, or if enough rows carry the estimate
    (`Diagnostics.carriers`). Otherwise `low` and `high` are infinite, and `Evaluation.reasons` says
    why.

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
        If `action_features` differ from row to row, the row also has `actions`, their values by
        name.
    baseline : as policy, optional
        A second policy. `difference` is then policy less baseline, row by row, instead of policy
        less the policy that wrote the log.
    features : sequence of str or FeatureMap, optional
        As in `Log`. With an encoder one model of the rewards serves all actions, else each action
        has its own.
    reward : str, optional
        As in `Log`; default "reward".
    estimator : {"dr", "ips", "snips", "rejection"}, optional
        Default "dr", and "ips" with a `raw_moment`, which no other estimator accepts. "rejection"
        needs a log in which all actions had the same propensity.
    aggregate : {"mean", "clipped"}, default "mean"
        How the terms are averaged: the plain mean, or a mean clipped at a threshold that the sample
        determines. The clipped mean varies less if both tails are heavy and alike, and is too low
        for skewed rewards. The interval is the same.
    delta : float, default 0.05
        Probability with which the interval misses the value, at least 1e-9.
    interval : {"checked", "always"}, default "checked"
        "checked" reports no interval if too few rows carry the estimate. "always" reports it with
        a warning: it then misses the value more often than `delta` says if the log lacks the
        largest rewards. Without any information in the log, neither reports one.
    raw_moment : float, optional
        Known bound on E|reward|^(1 + epsilon) for every action in every context. With it, the
        estimate is a softly clipped mean, whose interval is valid for every such law and every
        number of rows, if no decision can have a larger weight than the largest one in the log.
    epsilon : float, default 1.0
        Order of `raw_moment` minus 1, in (0, 1].
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
        `value`, `low` and `high`; `logged`, the same for the policy that wrote the log; `baseline`,
        the same for the baseline; `difference`; `reasons`, `diagnostics` and `warnings`.

    Raises
    ------
    InvalidInputError
        An argument or a column is not valid, or the log has no propensities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> taken = rng.choice(["mail", "call"], 2000, p=[0.8, 0.2])
    >>> paid = (taken == "call") + rng.standard_t(5, 2000)
    >>> log = {"action": taken, "reward": paid, "propensity": np.where(taken == "call", 0.2, 0.8)}
    >>> always_call = evaluate(log, policy={"call": 1.0})
    >>> always_call.low < 1.0 < always_call.high
    True
    >>> always_call.difference.low > 0.0
    True
    """
    settings = check_settings(estimator, aggregate, delta, raw_moment, epsilon, interval)
    folds, seed = whole("folds", folds, least=2), whole("seed", seed, least=0)
    log = as_log(data, features, reward)
    every = settings["estimator"] == "rejection"  # also the actions that the log never took
    known = read_decisions(log, every_action=True) if every else log.decisions
    if known.taken.size < max(LEAST_ROWS, folds):
        raise InvalidInputError(
            f"data must have at least {max(LEAST_ROWS, folds)} rows, got {known.taken.size}"
        )
    unit = find_unit(known.rewards) if raw_moment is None else 1.0
    rewards = np.clip(known.rewards / unit, -LARGEST_REWARD, LARGEST_REWARD)  # if a moment is known
    known = known._replace(rewards=rewards)
    question = Question(log, known, policy, model, folds, seed)
    weights, terms = make_terms(question, settings)
    other = None
    if baseline is not None:
        other = make_terms(question._replace(policy=baseline), settings)[1]
    centred = centre_rewards(known)
    found = judge_all(known, terms, other, centred, settings)
    least = 0.0 if raw_moment is None else least_moment(known.rewards, epsilon, settings["delta"])
    diagnostics = describe_weights(known, weights, terms.total, centred, least)
    found = {name: one.times(unit) for name, one in found.items()}
    with np.errstate(over="ignore"):
        return Evaluation(
            found, settings, diagnostics, unit * terms.total, describe_rows(log, known)
        )


def check_settings(
    estimator: str | None,
    aggregate: str,
    delta: float,
    raw_moment: float | None,
    epsilon: float,
    interval: str = "checked",
) -> dict[str, Any]:
    """Validate the settings of the estimate, and choose the estimator."""
    chosen = ("dr" if raw_moment is None else "ips") if estimator is None else estimator
    one_of("estimator", chosen, ESTIMATORS)
    one_of("aggregate", aggregate, AGGREGATES)
    if raw_moment is not None:
        positive("raw_moment", raw_moment)
        check_epsilon(epsilon)
        if chosen != "ips" or aggregate != "mean":
            raise InvalidInputError(
                "raw_moment must be left out, or estimator must be 'ips' and aggregate 'mean', got "
                f"{chosen!r} and {aggregate!r}: the interval of a known moment is that of 'ips'"
            )
    settings: dict[str, Any] = {"estimator": chosen, "aggregate": aggregate}
    settings |= {"interval": one_of("interval", interval, INTERVALS)}
    settings |= {"delta": bounded_number("delta", delta, DELTA), "raw_moment": raw_moment}
    return settings | {"epsilon": None if raw_moment is None else epsilon}


def find_unit(rewards: Floats) -> float:
    """Return 1, or a power of two in which no reward exceeds 1e100: then no weighted reward
    overflows.

    >>> find_unit(np.array([1e99])), find_unit(np.array([1e308])) > 1e207
    (1.0, True)
    """
    largest = float(np.abs(rewards).max())
    return 1.0 if largest <= LARGEST_REWARD else 2.0 ** math.frexp(largest / LARGEST_REWARD)[1]


# ---- the terms of each estimator


class Question(NamedTuple):
    """What an estimator receives."""

    log: Log
    decisions: Decisions
    policy: Target
    model: Policy | None
    folds: int
    seed: int

    def read_target(self) -> tuple[Floats, Floats]:
        """Return the probabilities of the policy, (n, A), and the weights of the rows."""
        target = read_target(self.policy, self.log, self.decisions, self.folds, self.seed)
        rows = np.arange(len(target))
        weights = target[rows, self.decisions.taken] / self.decisions.propensities
        if not weights.any():
            raise InvalidInputError(
                "policy must choose the logged action in some row, and does in none: the log "
                "contains no information about it"
            )
        return target, weights


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
        return self.direct + self.weights * (self.rewards - self.expected)


def subtract(first: Terms, second: Terms) -> Terms:
    """Return the differences of the terms of two policies, row by row.

    The terms of the policy that wrote the log have weight one, and no model.

    >>> rewards, model = np.array([3.0]), np.array([2.0])
    >>> one = Terms(model, np.array([2.0]), rewards, model)
    >>> subtract(one, Terms.plain(np.ones(1), rewards)).total
    array([1.])
    """
    shared = second.direct - second.weights * (second.expected - first.expected)
    weights = first.weights - second.weights
    return Terms(first.direct - shared, weights, first.rewards, first.expected)


def weigh(question: Question) -> Terms:
    """Inverse propensity scoring."""
    return Terms.plain(question.read_target()[1], question.decisions.rewards)


def weigh_residuals(question: Question) -> Terms:
    """Return the doubly robust estimator."""
    log, (target, weights) = question.decisions, question.read_target()
    predicted = predict_rewards(log, question.model, question.folds, question.seed)
    expected = predicted[np.arange(log.taken.size), log.taken]
    return Terms((target * predicted).sum(axis=1), weights, log.rewards, expected)


def reject(question: Question) -> Terms:
    """Rejection sampling: weights A and 0, which are then normalised."""
    log = question.decisions
    accepted = accept_rows(log, question.policy, question.log.action_vectors)
    return Terms.plain(np.where(accepted, float(len(log.actions)), 0.0), log.rewards)


def normalise(terms: Terms, aggregate: str, delta: float) -> Terms:
    """Write SNIPS as a mean of terms: the v at which v + w (r - v) / mean(w) has mean v.

    >>> one, two = np.ones(40), np.r_[np.zeros(20), np.full(20, 4.0)]
    >>> normalise(Terms.plain(two, 3.0 * one), "mean", 0.05).total.mean().item()
    3.0
    """
    weights, value = terms.weights / terms.weights.mean(), float(np.median(terms.rewards))
    for _ in range(STEPS):
        same = np.full(weights.size, value)
        made = Terms(same, weights, terms.rewards, same)
        value = AGGREGATES[aggregate](made.total, delta)
    return made


class Estimator(NamedTuple):
    """How the terms are made, and whether the weights are then divided by their mean."""

    make: Callable[[Question], Terms]
    is_normalised: bool = False


ESTIMATORS: dict[str, Estimator] = {  # a new estimator is one row
    "dr": Estimator(weigh_residuals),
    "ips": Estimator(weigh),
    "snips": Estimator(weigh, is_normalised=True),
    "rejection": Estimator(reject, is_normalised=True),
}


def make_terms(question: Question, settings: dict[str, Any]) -> tuple[Floats, Terms]:
    """Return the weights of the rows, and the terms of the estimator."""
    estimator = ESTIMATORS[settings["estimator"]]
    terms = estimator.make(question)
    if not estimator.is_normalised:
        return terms.weights, terms
    return terms.weights, normalise(terms, settings["aggregate"], settings["delta"])


# ---- from terms to a value with an interval


def judge(
    terms: Terms, centred: Floats, settings: dict[str, Any], mean_weight: float = 1.0
) -> Judgement:
    """Return the mean of the terms, and its interval if there is one.

    `mean_weight` bounds E|weight|: it is 1 for the weights w of a policy, and 2 for w - 1.
    """
    delta = settings["delta"]
    if settings["raw_moment"] is not None:
        known = {name: settings[name] for name in ("raw_moment", "epsilon", "delta")}
        found = bounded_mean(terms.rewards, terms.weights, mean_weight=mean_weight, **known)
        return Judgement(found, [])
    value = AGGREGATES[settings["aggregate"]](terms.total, delta)
    reasons = find_reasons(terms.weights, centred, delta)
    if reasons and (settings["interval"] == "checked" or not centred.any()):
        return Judgement(Estimate(value, *NO_INTERVAL), reasons)
    low, high = mean_interval(terms.total, delta)
    return Judgement(Estimate(min(max(value, low), high), low, high), [], reasons)


def judge_all(
    known: Decisions,
    terms: Terms,
    baseline: Terms | None,
    centred: Floats,
    settings: dict[str, Any],
) -> dict[str, Judgement]:
    """Judge a policy, the policy that wrote the log, a baseline if there is one, and the difference
    of the policy from it, or from the log."""
    logged = Terms.plain(np.ones(known.rewards.size), known.rewards)
    other = logged if baseline is None else baseline
    change = subtract(terms, other)
    found = {
        "policy": judge(terms, centred, settings),
        "difference": judge(change, centred, settings, mean_weight=2.0),
    }
    if baseline is not None:
        found["baseline"] = judge(baseline, centred, settings)
    blind = find_certainty(known, terms.weights) or find_certainty(known, other.weights)
    found = {name: one.withhold(blind) for name, one in found.items()}
    return found | {"logged": judge(logged, centred, settings)}


def least_moment(rewards: Floats, epsilon: float, delta: float) -> float:
    """Return a lower bound of E|reward|^(1 + epsilon), from the log.

    >>> least_moment(np.full(100, 3.0), 1.0, 0.05)
    9.0
    """
    return mean_interval(np.abs(rewards) ** (1.0 + epsilon), delta)[0]
