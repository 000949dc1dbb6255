"""`simulate(..., debug=True)`: the line of a mistake that comes late."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb

PROBLEM = hb.Problem(hb.arms.Fixed(5, 3, -1.0), hb.links.Identity(), hb.noises.StudentT(3.0))
SIZES: dict[str, Any] = {"horizon": 220, "repetitions": 2, "checkpoints": 2}
CALLS = [0]


class Memory(NamedTuple):
    counts: Any
    ring: Any


class Late(NamedTuple):
    """A filter that fails after 150 rewards."""

    kind: int = 0

    @property
    def plays(self):
        return 1

    def init(self):
        return Memory(np.zeros(2, np.int64), np.zeros(150))

    def apply(self, memory, rewards, norm, predicted):
        n = memory.counts[0]
        memory.counts[0] += 1
        if n >= 150 and self.kind == 0:
            memory.ring[n] = rewards[0]
        if n >= 150 and self.kind == 1:
            return "far"
        if n >= 150 and self.kind == 2:
            CALLS[0] += 1
            return rewards[0] + CALLS[0]
        return rewards[0]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (0, "Late.apply, line 36: index 150 is out of bounds"),
        (1, "Late.apply, line 32: it returned 'far', and must return float"),
        (2, "Late: two runs from the same state differ"),
    ],
)
def test_a_mistake_is_found_at_any_play(kind, words):
    policy = hb.linucb(dim=3, radius=1.0, filter=Late(kind))
    with pytest.raises(hb.PartError, match=words):
        hb.simulate(policy, PROBLEM, **SIZES, debug=True)


def test_the_numbers_are_those_of_a_compiled_run():
    policy = {"one": hb.linucb(dim=3, radius=1.0), "own": hb.linucb(dim=3, radius=0.5)}
    found = [hb.simulate(policy, PROBLEM, **SIZES, debug=debug) for debug in (True, False)]
    for name in ("regret", "updates", "truncated"):
        assert found[0].data[name].tobytes() == found[1].data[name].tobytes()
