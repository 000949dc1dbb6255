"""river's LinUCBDisjoint: a context for all arms, a regression for each."""

from common import ARMS, report, rounds
from river import bandit

arms, rewards = rounds()
contexts = [{f"f{i}": value for i, value in enumerate(row)} for row in arms[:, 0].tolist()]
paid = rewards.tolist()
policy, names = bandit.LinUCBDisjoint(alpha=1.0, beta=1.0, seed=0), list(range(ARMS))


def step(t: int) -> None:
    arm = policy.pull(names, context=contexts[t])
    policy.update(arm, contexts[t], paid[t][arm])


report("river", "LinUCBDisjoint (one context, a model an arm)", step)
