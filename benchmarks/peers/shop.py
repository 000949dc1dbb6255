"""A shop for every peer, rewards in any unit: python shop.py PACKAGE SCALE HORIZON SEED

6 actions, 13 features of the visitor (an intercept among them), sales of tail index 1.7 of which 2%
come back. Every peer at the defaults of its documentation, given the raw rewards. Prints the regret
and that of random play, both over the scale, as JSON. Runs in the peers' own environment.
"""

import json
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

OFFERS, FEATURES = 6, 13
INDEX, REFUNDS = 1.7, 0.02

Choose = Callable[[Any], int]
Learn = Callable[[Any, int, float], Any]


def coba() -> tuple[Choose, Learn]:
    import coba as cb

    learner, odds = cb.LinUCBLearner(), [1.0]
    actions = list(range(OFFERS))

    def choose(context: Any) -> int:
        action, odds[0] = learner.predict(tuple(context.tolist()), actions)[:2]
        return int(action)

    return choose, lambda c, arm, y: learner.learn(tuple(c.tolist()), arm, y, odds[0])


def river() -> tuple[Choose, Learn]:
    from river import bandit

    policy, names = bandit.LinUCBDisjoint(alpha=1.0, beta=1.0, seed=0), list(range(OFFERS))

    def named(context: Any) -> dict[str, float]:
        return {f"f{i}": value for i, value in enumerate(context.tolist())}

    return (
        lambda c: int(policy.pull(names, context=named(c))),
        lambda c, arm, y: policy.update(arm, named(c), y),
    )


def mabwiser() -> tuple[Choose, Learn]:
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(list(range(OFFERS)), LearningPolicy.LinUCB(alpha=1.0))
    mab.fit([0], [0.0], np.zeros((1, FEATURES)))
    return (
        lambda c: int(mab.predict(c[None])),
        lambda c, arm, y: mab.partial_fit([arm], [y], c[None]),
    )


def contextualbandits() -> tuple[Choose, Learn]:
    from contextualbandits.online import LinUCB

    policy = LinUCB(OFFERS, alpha=1.0, ucb_from_empty=True, njobs=1, random_state=1)
    return (
        lambda c: int(policy.predict(c[None])[0]),
        lambda c, arm, y: policy.partial_fit(c[None], np.array([arm]), np.array([y])),
    )


def bayesianbandits() -> tuple[Choose, Learn]:
    from bayesianbandits import Arm, ContextualAgent, NormalRegressor, ThompsonSampling

    arms = [Arm(k, learner=NormalRegressor(alpha=1.0, beta=1.0)) for k in range(OFFERS)]
    agent = ContextualAgent(arms, ThompsonSampling(), random_seed=0)
    return (
        lambda c: int(agent.pull(c[None])[0]),
        lambda c, arm, y: agent.select_for_update(arm).update(c[None], np.array([y])),
    )


def vowpalwabbit() -> tuple[Choose, Learn]:
    import vowpalwabbit

    workspace = vowpalwabbit.Workspace(f"--cb_explore {OFFERS} --epsilon 0.1 --quiet")
    chance, odds = random.Random(0), [1.0]

    def written(context: Any) -> str:
        return "| " + " ".join(f"f{i}:{value:.6g}" for i, value in enumerate(context.tolist()))

    def choose(context: Any) -> int:
        shares = workspace.predict(written(context))
        (arm,) = chance.choices(range(OFFERS), shares)
        odds[0] = shares[arm]
        return arm

    def learn(context: Any, arm: int, reward: float) -> None:
        workspace.learn(f"{arm + 1}:{-reward}:{odds[0]} {written(context)}")

    return choose, learn


def play(
    choose: Choose, learn: Learn, scale: float, horizon: int, seed: int
) -> tuple[float, float]:
    """Regret, and that of random play, over the scale."""
    rng, lost, by_chance = np.random.default_rng(seed), 0.0, 0.0
    theta = rng.normal(size=(OFFERS, FEATURES)) / 2.0
    for _ in range(horizon):
        context = np.concatenate([[1.0], rng.normal(size=FEATURES - 1) / FEATURES**0.5])
        size, back = rng.pareto(INDEX) + 1.0, rng.random() < REFUNDS
        noise = (-size if back else size) - (1.0 - 2.0 * REFUNDS) * INDEX / (INDEX - 1.0)
        means = theta @ context
        arm = choose(context)
        lost += means.max() - means[arm]
        by_chance += means.max() - means.mean()
        learn(context, arm, float(scale * (means[arm] + noise)))
    return float(lost), float(by_chance)


if __name__ == "__main__":
    package, scale, horizon, seed = sys.argv[1], *map(float, sys.argv[2:5])
    lost, by_chance = play(*globals()[package](), scale, int(horizon), int(seed))
    print(json.dumps({"regret": lost, "random": by_chance}))
