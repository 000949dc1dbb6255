"""Functions that are `vectorised` promise arrays that lie apart: nobody breaks the promise."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from types import FrameType
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.numba_internals import VECTORISED
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL

PLAYS = 120
MORE = {
    "crcm, many plays": hb.crcm(
        dim=3, horizon=PLAYS, central_moment=1.0, plays=12, radius_scale=1.0
    ),
    "crmm, projected": hb.crmm(dim=3, horizon=PLAYS, central_moment=1.0, plays=4, radius_scale=1.0),
}
ARMS = [
    hb.arms.PerRound(5, 3),
    hb.arms.PerDecision(5, 3),
    hb.arms.FromArray(np.eye(3)),
    hb.arms.UnitBall(3),
    hb.arms.Box(-np.ones(3), np.ones(3)),
]


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    return [a for part in value for a in arrays_in(part)] if isinstance(value, tuple) else []


@contextmanager
def watching(met: set[str]) -> Iterator[None]:
    """Within, every call of a vectorised function is looked at, and its name put down."""

    def look(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        ours = "heavybandits" in code.co_filename and code.co_qualname in VECTORISED
        if event != "call" or not ours:
            return
        met.add(code.co_qualname)
        given = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]]
        for one, other in combinations(arrays_in(tuple(given)), 2):
            if np.shares_memory(one, other):
                shared.append(code.co_qualname)

    shared: list[str] = []
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)
    assert not shared, f"arrays that overlap were given to {set(shared)}"


def play_watched(policy: Any, arms: Any) -> set[str]:
    met: set[str] = set()
    noise = 3.0 * np.random.default_rng(1).standard_t(1.5, size=PLAYS)
    setting = (policy, policy.init(), arms, hb.links.Identity(), np.full(policy.dim, 0.4))
    run = (arms.make_buffer(), stream_key(3, 0, 0), noise, make_episode(policy.plays))
    trace: Any = make_trace(np.array([PLAYS]))
    with watching(met), np.errstate(over="ignore"):
        play(*setting, *run, trace, Unobserved(), STILL)
    return met


@pytest.mark.parametrize("name", [*POLICIES, *DRAWING, *MORE])
def test_vectorised_functions_are_given_arrays_that_lie_apart(name):
    policy = (POLICIES | DRAWING | MORE)[name]
    assert "combine" in play_watched(policy, hb.arms.Fixed(5, 3)) or name == "uniform"


@pytest.mark.parametrize("arms", ARMS, ids=lambda arms: type(arms).__name__)
def test_whatever_the_arms(arms):
    assert "combine" in play_watched(POLICIES["crtm"], arms)


def test_all_of_them_are_met():
    """So that the tests above cannot pass by never meeting one."""
    some = ("crtm", "crcm, many plays", "supbtc", "cral", "auto")
    met = set().union(
        *(play_watched((POLICIES | MORE)[name], hb.arms.Fixed(5, 3)) for name in some)
    )
    met |= play_watched(POLICIES["crtm"], hb.arms.PerRound(5, 3))
    assert met == VECTORISED


def test_the_watch_sees_an_overlap():
    from heavybandits.core.linalg import add_outer

    square = np.eye(3)
    with pytest.raises(AssertionError, match="add_outer"), watching(set()):
        add_outer(square, 1.0, square[0])
