"""Vowpal Wabbit, action-dependent features, epsilon-greedy: the set-up of its Python tutorial."""

import random

import vowpalwabbit
from common import report, rounds

arms, rewards = rounds()
paid = rewards.tolist()
lines = [  # its own text format, made in advance
    ["| " + " ".join(f"f{i}:{value:.6g}" for i, value in enumerate(arm)) for arm in offered]
    for offered in arms.tolist()
]
workspace = vowpalwabbit.Workspace("--cb_explore_adf --epsilon 0.1 --quiet")
label, choose = vowpalwabbit.LabelType.CONTEXTUAL_BANDIT, random.Random(0)


def step(t: int) -> None:
    offered = lines[t]
    odds = workspace.predict("\n".join(offered))
    (arm,) = choose.choices(range(len(odds)), odds)
    learned = list(offered)
    learned[arm] = f"0:{-paid[t][arm]}:{odds[arm]} {offered[arm]}"
    workspace.learn(workspace.parse("\n".join(learned), label))


report("vowpalwabbit", "cb_explore_adf, epsilon-greedy, text examples", step)
