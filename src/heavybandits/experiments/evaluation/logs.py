"""The cell of this experiment: logs with known truth, and what every method makes of them."""

import functools
from typing import Any, NamedTuple

import numpy as np

from ..._utils.statistics import Estimate
from ...core.arrays import Floats
from ...offline.evaluate.carriers import centre_rewards
from ...offline.evaluate.estimators import Question, Terms, check_settings, judge, make_terms
from ...offline.log import Decisions, Log
from ...parts.noises import Gaussian, Pareto, StudentT
from . import settings
from .settings import BOOTSTRAPS

FOLDS = 4  # the default of `evaluate`


class World(NamedTuple):
    """People by their features; the means, the log's propensities and the policy's, (64, 5)."""

    people: Floats
    means: Floats
    propensities: Floats
    probabilities: Floats

    @property
    def truth(self) -> float:
        """The value of the policy, exactly: all people are equally likely."""
        return float((self.probabilities * self.means).sum(axis=1).mean())


@functools.cache
def make_world() -> World:
    """The one world of this experiment: who is likely to be shown what has little to do with what
    pays, and the policy follows what pays."""
    rng = np.random.default_rng(20)
    people = rng.normal(size=(settings.PEOPLE, settings.FEATURES))
    size = settings.FEATURES, settings.ACTIONS
    means = people @ (0.7 * rng.normal(size=size)) + 0.5 * rng.normal(size=settings.ACTIONS)
    habit = settings.SKEW * people @ rng.normal(size=size) + np.linspace(-1.2, 1.2, size[1])
    floor = settings.FLOOR * settings.ACTIONS
    propensities = (1.0 - floor) * softmax(habit) + settings.FLOOR
    return World(people, means, propensities, softmax(settings.KEEN * means))


def softmax(scores: Floats) -> Floats:
    """exp(s) over its sum, row by row.

    >>> softmax(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    made = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def draw(noise: Any, rng: np.random.Generator, size: int) -> Floats:
    """Many draws of a noise at once.

    >>> draw(Gaussian(1.0), np.random.default_rng(0), 3).shape
    (3,)
    """
    if isinstance(noise, Gaussian):
        return noise.scale * rng.normal(size=size)
    if isinstance(noise, StudentT):
        return noise.scale * rng.standard_t(noise.dof, size)
    if not isinstance(noise, Pareto):
        raise TypeError(f"no draws of {noise!r} here")
    above = rng.pareto(noise.shape, size) - 1.0 / (noise.shape - 1.0)
    return np.asarray(noise.minimum * above)


def make_log(noise: Any, rows: int, rng: np.random.Generator) -> tuple[Decisions, Floats]:
    """Return a log of this many decisions, and the policy's probabilities in its rows."""
    world = make_world()
    who = rng.integers(settings.PEOPLE, size=rows)
    chance = world.propensities[who]
    taken = (chance.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    taken = np.minimum(taken, settings.ACTIONS - 1)  # a sum of chances may end below one
    feedback = {
        "context": world.people[who],
        "action": taken,
        "reward": world.means[who, taken] + draw(noise, rng, rows),
        "pscore": chance[np.arange(rows), taken],
        "n_actions": settings.ACTIONS,
    }
    return Log(feedback).decisions, world.probabilities[who]


def log_of(
    law: str, rows: int, seed: int, run: int
) -> tuple[Decisions, Floats, np.random.Generator]:
    """Yield the log of one run, the policy's probabilities in its rows, and what draws the rest."""
    rng = np.random.default_rng([seed, rows, list(settings.LAWS).index(law), run])
    return *make_log(settings.LAWS[law][1], rows, rng), rng


def moment_of(noise: Any) -> tuple[float, float]:
    """epsilon, and the largest E|reward|^(1 + epsilon) of any action in any context."""
    index = float(noise.tail_index())
    epsilon = 1.0 if index > 2.0 else 0.8 * (index - 1.0)
    extremes = make_world().means.min(), make_world().means.max()
    return epsilon, max(float(noise.moment(1.0 + epsilon, float(m))) for m in extremes)


def evaluation_cell(law: str, rows: int, runs_from: int, runs_to: int, seed: int) -> dict[str, Any]:
    """Value, low and high of every method in every run, (runs, methods)."""
    epsilon, moment = moment_of(settings.LAWS[law][1])
    found = []
    for run in range(runs_from, runs_to):
        log, probabilities, rng = log_of(law, rows, seed, run)
        robust, own = estimate(log, probabilities, run, estimator="dr")
        made = plain_estimates(log, probabilities, robust, rng) | {settings.OURS: own}
        others: dict[str, dict[str, Any]] = {
            settings.CLIPPED: {"estimator": "dr", "aggregate": "clipped"},
            "IPS": {"estimator": "ips"},
            "SNIPS": {"estimator": "snips"},
            settings.BOUNDED: {"raw_moment": moment, "epsilon": epsilon},
        }
        for name, given in others.items():
            made[name] = estimate(log, probabilities, run, **given)[1]
        found.append([made[name] for name in settings.METHODS])
    table = np.array(found)
    return {name: table[:, :, place] for place, name in enumerate(Estimate._fields)}


def estimate(
    log: Decisions,
    probabilities: Floats,
    seed: int,
    estimator: str | None = None,
    aggregate: str = "mean",
    raw_moment: float | None = None,
    epsilon: float = 1.0,
) -> tuple[Terms, Estimate]:
    """Return the terms and the value of one estimator, as in `evaluate`."""
    chosen = check_settings(estimator, aggregate, 0.05, raw_moment, epsilon)
    question = Question(Log({}), log, probabilities, None, FOLDS, seed)
    terms = make_terms(question, chosen)[1]
    return terms, judge(terms, centre_rewards(log), chosen).estimate


def plain_estimates(
    log: Decisions, probabilities: Floats, robust: Terms, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Open Bandit Pipeline's estimators as its formulas say, with its bootstrap intervals.

    `benchmarks/obp_estimators.py` runs the package itself on the same logs, to the same values. Its
    model of the rewards is the user's; here it is ours.
    """
    rows = np.arange(log.taken.size)
    weights = probabilities[rows, log.taken] / log.propensities
    tamed = weights / (1.0 - settings.SHRINK + settings.SHRINK * weights)  # Metelli et al. 2021
    terms = {
        settings.PLAIN: weights * log.rewards,
        "plain SNIPS": weights * log.rewards / weights.mean(),
        "plain DR": robust.total,
        "sub-Gaussian IPS": tamed * log.rewards,
    }
    found = percentiles(np.array([*terms.values()]), rng)
    return dict(zip(terms, found, strict=True))


def percentiles(terms: Floats, rng: np.random.Generator) -> list[Estimate]:
    """Return the mean of each row of terms, and the middle 95% of its means over resampled columns.

    >>> percentiles(np.ones((1, 100)), np.random.default_rng(0))
    [Estimate(value=1.0, low=1.0, high=1.0)]
    """
    size = terms.shape[1]
    counts = (np.bincount(rng.integers(size, size=size), minlength=size) for _ in range(BOOTSTRAPS))
    means = np.array([terms @ count / size for count in counts])
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return [Estimate(*map(float, row)) for row in zip(terms.mean(axis=1), low, high, strict=True)]
