"""What it costs that a part of one's own first plays uncompiled: python benchmarks/rehearsal.py"""

import time
from typing import NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.authoring import Floats, Memory, make_memory
from heavybandits.core.compile import rehearse_once
from heavybandits.core.dry_run import first_plays
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace
from heavybandits.core.world import STILL

SIZES = ((4, 5), (10, 20), (78, 6), (100, 1000))


class Cut(NamedTuple):
    """A filter as a user would write it."""

    level: float
    plays: int = 1

    def init(self) -> Memory:
        return make_memory(self.plays)

    def apply(self, memory: Memory, rewards: Floats, norm: float, predicted: float) -> float:
        return min(rewards[0], self.level)


def seconds(dim: int, size: int) -> tuple[int, float]:
    """Plays rehearsed, and the CPU seconds they take."""
    policy, arms = hb.linucb(dim=dim, radius=1.0, filter=Cut(1.0)), hb.arms.PerRound(size, dim)
    plays = first_plays(policy, arms)
    world = (policy, policy.init(), arms, hb.links.Identity(), np.ones(dim), arms.make_buffer())
    rewards, trace = np.sin(np.arange(float(plays))), make_trace(np.array([plays]))
    started = time.process_time()
    record = (make_episode(1), trace, Unobserved(), STILL)
    rehearse_once(play_kernel, *world, np.uint64(0), rewards, *record)
    return plays, time.process_time() - started


if __name__ == "__main__":
    for dim, size in SIZES:
        plays, taken = seconds(dim, size)
        print(f"d = {dim}, K = {size}: {plays} plays, {taken:.3f} s")
