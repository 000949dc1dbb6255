"""bayesianbandits' agent with one learner for all arms, by Thompson sampling as its pages do."""

from typing import Any

import numpy as np
from bayesianbandits import (
    Arm,
    FunctionArmFeaturizer,
    LipschitzContextualAgent,
    NormalRegressor,
    ThompsonSampling,
)
from common import ARMS, DIM, report, rounds

arms, rewards = rounds()
contexts = arms.reshape(-1, 1, ARMS * DIM)  # a context is the features of all arms


def features(context: Any, tokens: Any) -> Any:
    return np.asarray(context).reshape(-1, ARMS, DIM)[:, tokens].transpose(0, 2, 1)


agent = LipschitzContextualAgent(
    [Arm(k) for k in range(ARMS)],
    ThompsonSampling(),
    FunctionArmFeaturizer(features),
    learner=NormalRegressor(alpha=1.0, beta=1.0),
    random_seed=0,
)


def step(t: int) -> None:
    (arm,) = agent.pull(contexts[t])
    agent.select_for_update(arm).update(contexts[t], rewards[t, arm : arm + 1])


report("bayesianbandits", "LipschitzContextualAgent, Thompson sampling", step)
