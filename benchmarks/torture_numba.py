"""Every algorithm, an agent and a replay with the public API of numba alone: the same bits."""

import random
from collections import Counter

import core_subset


def compare_public(attempts: int, seed: int) -> Counter[str]:
    """Compare so many tasks; each is compiled twice."""
    tasks = list(core_subset.TASKS)
    names = random.Random(seed).sample(tasks, min(attempts, len(tasks)))
    answer = core_subset.run_public(names)
    if answer["internals"] or answer["warned"]:
        return Counter({f"FAULT: {answer['internals']}, {answer['warned'][-300:]}": 1})
    outcomes: Counter[str] = Counter()
    for name in names:
        same = answer["digests"][name] == core_subset.TASKS[name]()
        outcomes["the same bits" if same else f"FAULT: other bits: {name}"] += 1
    return outcomes
