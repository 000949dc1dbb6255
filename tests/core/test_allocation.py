"""Where the arrays of a state lie, and what they take before they are made."""

import threading
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.core.allocation import LINE, PAGE, aligned_zeros, repeated, state_bytes, zeros

POWERED = hb.radii.PowerRadius(1.0, 0.5, 1.0, 1.0)

# Files of a kilobyte or two could ask for all of these.
BOMBS = [
    hb.policies.PerArmUCB(hb.estimators.MedianRegression(50, 3, POWERED, 10**9)),
    hb.policies.PerArmUCB(hb.estimators.TruncatedRegression(50, 10**9, 10**6, 2.0, POWERED, 10)),
    hb.policies.UCB(
        hb.estimators.TruncatedHistory(10**6, 10**9, 1.0, 1.0, 0.5),
        hb.filters.NoFilter(),
        hb.radii.Constant(1.0),
    ),
    hb.policies.UCB(
        hb.estimators.RidgeEnsemble(10, 10**9, 1.0),
        hb.filters.NoFilter(10**9),
        hb.radii.Constant(1.0),
    ),
    hb.policies.UCB(
        hb.estimators.Ridge(2**62, 1.0), hb.filters.Median(2**62), hb.radii.Constant(1.0)
    ),
]


@pytest.mark.parametrize("policy", BOMBS, ids=lambda policy: type(policy[0]).__name__)
def test_a_state_too_large_to_make_is_counted_all_the_same(policy):
    tracemalloc.start()
    size = state_bytes(policy)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 10**13
    assert peak < 1 << 20


def test_counting_leaves_nothing_behind():
    class Broken(NamedTuple):
        def init(self) -> Any:
            zeros(3)
            raise RuntimeError("no state")

    with pytest.raises(RuntimeError, match="no state"):
        state_bytes(Broken())
    assert zeros(2, 3).shape == (2, 3)
    assert [a.shape for a in aligned_zeros((2, 3), (5,))] == [(2, 3), (5,)]
    assert repeated(np.ones(2), 3).tolist() == [[1.0, 1.0]] * 3


class Two(NamedTuple):
    first: Any
    second: Any


def test_another_thread_makes_its_arrays_meanwhile():
    shapes = []

    class Meeting(NamedTuple):
        def init(self) -> Any:
            maker = threading.Thread(target=lambda: shapes.append(zeros(4).shape))
            maker.start()
            maker.join()
            return Two(zeros(4), zeros(1))

    assert state_bytes(Meeting()) == 40
    assert shapes == [(4,)]


def test_arrays_that_numpy_made_are_counted_too():
    class Own(NamedTuple):
        def init(self) -> Any:
            inner = Two(zeros(2, dtype=np.int64), np.zeros(3, np.float32))
            return Two(np.zeros(5), inner)

    assert state_bytes(Own()) == 40 + 16 + 12


def test_every_array_of_a_block_begins_a_line_and_the_first_a_page():
    arrays = list(aligned_zeros((3, 5), (1,), (7,), (2, 2)))
    assert arrays[0].ctypes.data % PAGE == 0
    assert all(array.ctypes.data % LINE == 0 for array in arrays)
    for i, array in enumerate(arrays):
        array[...] = i
    assert [float(array.max()) for array in arrays] == [0.0, 1.0, 2.0, 3.0]
    assert [float(array.min()) for array in arrays] == [0.0, 1.0, 2.0, 3.0]
