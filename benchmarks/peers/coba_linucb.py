"""coba's LinUCBLearner on features of the arms; and its Experiment, a whole run."""

import sys
import time
from typing import Any

import coba as cb
from common import report, rounds

arms, rewards = rounds()
actions = [[tuple(arm) for arm in offered] for offered in arms.tolist()]
paid = [dict(zip(a, r, strict=True)) for a, r in zip(actions, rewards.tolist(), strict=True)]
learner = cb.LinUCBLearner(features=["a"])


def step(t: int) -> None:
    action, probability = learner.predict(None, actions[t])[:2]
    learner.learn(None, action, paid[t][action], probability)


def whole_run(count: int) -> float:
    """CPU microseconds a round of an Experiment with a simulation of its own making."""
    environment = cb.Environments.from_lambda(
        count, lambda t: None, lambda t, c: actions[t], lambda t, c, a: paid[t][a]
    )
    started = time.process_time()
    cb.Experiment(environment, cb.LinUCBLearner(features=["a"])).run(quiet=True)
    return (time.process_time() - started) / count * 1e6


count: Any = 200 if float(sys.argv[1]) < 5.0 else 5000
report("coba", "LinUCBLearner", step, whole_run=min(whole_run(count) for _ in range(2)))
