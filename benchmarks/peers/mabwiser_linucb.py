"""MABWiser's LinUCB: a context for all arms, a regression for each."""

from common import ARMS, report, rounds
from mabwiser.mab import MAB, LearningPolicy

arms, rewards = rounds()
contexts, paid = arms[:, 0], rewards.tolist()
mab = MAB(list(range(ARMS)), LearningPolicy.LinUCB(alpha=1.0))
mab.fit(list(range(ARMS)), paid[0], contexts[:ARMS])


def step(t: int) -> None:
    context = contexts[t : t + 1]
    arm = mab.predict(context)
    mab.partial_fit([arm], [paid[t][arm]], context)


report("mabwiser", "LinUCB (one context, a model an arm)", step)
