"""Random numbers by address: the same in Python and compiled, without a warning."""

import numpy as np
import pytest
from numba import njit

import heavybandits as hb
from heavybandits.core.rng import NOISE, seed_of, stream_key, uniform


@njit
def uniform_compiled(key, index):
    return uniform(key, index)


def test_python_and_compiled_code_draw_the_same_numbers() -> None:
    rng = np.random.default_rng(1)
    keys = [*rng.integers(0, 2**64, 200, np.uint64), np.uint64(0), np.uint64(2**64 - 1)]
    for key in keys:
        for index in (0, 1, int(rng.integers(2**40)), 2**62):
            assert uniform(key, index) == uniform_compiled(key, index)


@pytest.mark.parametrize(
    "noise", [hb.noises.StudentT(1.5), hb.noises.Gaussian(), hb.noises.Pareto()]
)
def test_a_noise_drawn_by_hand_warns_of_nothing(noise) -> None:
    """It warned of overflow at nearly every draw; warnings are errors here."""
    key = stream_key(0, 0, NOISE)
    assert np.isfinite([noise.draw(key, play) for play in range(50)]).all()
    assert 0 <= seed_of(key, 2**52) < 2**52
