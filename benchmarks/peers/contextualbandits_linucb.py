"""contextualbandits' LinUCB: a context for all arms, a regression for each; rewards of 0 or 1."""

import numpy as np
from common import ARMS, report, rounds
from contextualbandits.online import LinUCB

arms, rewards = rounds()
contexts, paid = arms[:, 0].copy(), (rewards > 0.5).astype(float)
policy = LinUCB(ARMS, alpha=1.0, method="sm", ucb_from_empty=True, njobs=1, random_state=1)


def step(t: int) -> None:
    context = contexts[t : t + 1]
    arm = policy.predict(context)
    policy.partial_fit(context, arm, np.array([paid[t, arm[0]]]))


report("contextualbandits", "LinUCB (one context, a model an arm, rewards 0 or 1)", step)
