"""The same work for every peer: 20 arms of 10 features, one decision and one update a round.

Runs in the peers' own environment: numpy and the standard library only. What a peer wants its
data in (lists, tuples, text) is made before the clock starts; what its calls do with it counts.
"""

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

DIM, ARMS, ROUNDS = 10, 20, 10_000
BLOCK = 50  # rounds between two looks at the clock


def rounds() -> tuple[Any, Any]:
    """Arms (T, K, d), rows of length one, and a reward for every arm."""
    rng = np.random.default_rng(0)
    arms = rng.random((ROUNDS, ARMS, DIM))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    theta = np.ones(DIM) / np.sqrt(DIM)
    means = 1.0 / (1.0 + np.exp(-arms @ theta))
    return arms, means + rng.standard_t(3.0, (ROUNDS, ARMS))


def best_block(step: Callable[[int], Any], budget: float) -> tuple[float, int]:
    """CPU microseconds a round of step(t), and the rounds made within the budget of seconds.

    The best block of rounds: other work on the machine slows some of them.
    """
    times, start = [], time.process_time()
    for first in range(0, ROUNDS, BLOCK):
        before = time.process_time()
        for t in range(first, first + BLOCK):
            step(t)
        now = time.process_time()
        times.append((now - before) / BLOCK * 1e6)
        if now - start > budget:
            break
    return min(times), len(times) * BLOCK


def report(package: str, what: str, step: Callable[[int], Any], **more: Any) -> None:
    """Measure, and print what `peers.py` reads."""
    microseconds, made = best_block(step, float(sys.argv[1]))
    version = importlib.metadata.version(package)
    found = {"package": package, "version": version, "what": what, "rounds": made}
    print(json.dumps(found | {"microseconds": microseconds} | more))
