"""Every algorithm with every argument wrong: InvalidInputError, or a valid policy."""

import inspect
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import algorithms
from heavybandits.agents.state import flatten
from heavybandits.core.allocation import state_bytes

GIVEN: dict[str, Any] = {"dim": 2, "horizon": 50, "arms": 3} | dict.fromkeys(
    ("raw_moment", "central_moment", "noise_scale"), 1.0
)
NUMBERS: list[Any] = [
    0,
    -1,
    1e-320,
    1e-300,
    1e-101,
    1e-99,
    0.5,
    1,
    2,
    3.7,
    1e99,
    1e101,
    1e300,
    1.8e308,
]
NUMBERS += [math.inf, -math.inf, math.nan, 2**62, 2**63, 2**64, 2**70, 2**2000, -(2**2000)]
NUMBERS += [True, np.float64(1e300), np.int8(3), np.uint64(2**63), Fraction(1, 3), Decimal("1e999")]
THINGS: list[Any] = [
    None,
    "1",
    "",
    b"1",
    [],
    [1.0],
    (1,),
    {},
    np.array([1.0, 2.0]),
    np.array(2.0),
    object(),
]
THINGS += [np.ma.masked, np.ma.masked_array([1.0], [True]), np.timedelta64(3, "s"), 1j, print]
THINGS += [np.array("2", dtype=object), np.array(["2"], dtype=object), np.datetime64("2026-01-01")]
THINGS += [
    hb.links.Logistic(),
    hb.filters.Clip(1.0),
    hb.linucb,
    int,
    float("1e-310"),
    np.float16(1),
]
NASTY = NUMBERS + THINGS
ROOM = 1 << 26


def cases() -> Iterator[Any]:
    for name in algorithms.__all__:
        for argument in inspect.signature(getattr(algorithms, name)).parameters:
            yield pytest.param(name, argument, id=f"{name}-{argument}")


@pytest.mark.parametrize(("name", "argument"), list(cases()))
@pytest.mark.filterwarnings("error")
def test_nothing_but_invalid_input_or_a_policy_that_is_finite(name: str, argument: str) -> None:
    """D14: OverflowError, TypeError and ValueError came through; so did time and masked numbers."""
    make = getattr(algorithms, name)
    takes = inspect.signature(make).parameters
    given = {key: value for key, value in GIVEN.items() if key in takes}
    for value in NASTY:
        try:
            policy = make(**{**given, argument: value})
        except hb.InvalidInputError:
            continue
        except Exception as error:
            pytest.fail(f"{name}({argument}={value!r}) raised {error!r}")
        if state_bytes(policy) > ROOM:
            continue
        for field, array in flatten(policy.init()).items():
            assert np.isfinite(array).all(), f"{name}({argument}={value!r}): {field}"
