"""Numbers and arrays at the door: one typed error for whatever is none."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils.validation import finite_array, finite_number, fraction, positive, whole

NUMBERS = [1, 1.0, np.float32(1), np.int8(1), np.array(1.0), Decimal(1), Fraction(1)]
NOT_NUMBERS = [
    True,
    np.True_,
    "1",
    None,
    1j,
    [1.0],
    np.nan,
    -np.inf,
    10**400,
    Decimal("NaN"),
    np.timedelta64(1, "s"),
    np.datetime64("2020-01-01"),
    np.ma.masked,
    np.ma.array(1.0, mask=True),
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_numbers_of_any_type_are_numbers(value):
    assert finite_number("reward", value) == 1.0
    assert type(finite_number("reward", value)) is float


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: repr(value)[:20])
def test_what_is_no_number_is_refused(value):
    for check in (finite_number, positive, fraction):
        with pytest.raises(hb.InvalidInputError, match=r"^reward must be a finite number, got"):
            check("reward", value)


@pytest.mark.parametrize("value", [1.0, "1", None, True, 10**400, -(10**400), 0, np.timedelta64(1)])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(hb.InvalidInputError, match=r"^plays must be a whole number >= 1"):
        whole("plays", value)


def test_masked_arrays_are_refused_and_plain_ones_in_their_clothes_are_not():
    data = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(hb.InvalidInputError, match="rewards must be an array of numbers"):
        finite_array("rewards", data, (None,))
    assert finite_array("rewards", data[:1], (None,)).tolist() == [1.0]


def test_arrays_of_objects_must_hold_numbers():
    assert finite_array("x", np.array([1, 2.5, Decimal(3)], object), (3,)).tolist() == [1, 2.5, 3]
    for bad in (["1.0", 2.0], [None, 1.0], [True, 1.0]):
        with pytest.raises(hb.InvalidInputError, match="x must be an array of numbers"):
            finite_array("x", np.array(bad, object), (2,))


@pytest.mark.parametrize("delta", [1e-320, 1e-101, 0.0, 1.0, -0.5])
def test_a_probability_too_small_to_divide_by_is_refused(delta):
    for make in (hb.gloc, hb.linucb, hb.ol2m):
        with pytest.raises(hb.InvalidInputError, match=r"^delta must be in (\(0|\[1e-100), 1\)"):
            make(dim=2, delta=delta)
    with pytest.raises(hb.InvalidInputError, match=r"^delta must be in (\(0|\[1e-100), 1\)"):
        hb.crmm(dim=2, horizon=100, central_moment=1.0, delta=delta)


def test_numbers_too_large_for_a_machine_are_refused():
    with pytest.raises(hb.InvalidInputError, match=r"seed must be below 2\^63"):
        hb.Agent(hb.policies.Uniform(dim=2, seed=2**70))
    with pytest.raises(
        hb.InvalidInputError, match=r"horizon must be a whole number .* below 2\^128"
    ):
        hb.crtm(dim=2, horizon=10**400, raw_moment=1.0)


def test_validation_imports_nothing_when_it_is_called() -> None:
    """A thread that imported numpy.ma in its first call while another forked locked the child."""
    code = "import sys, heavybandits._utils.validation as v; before = set(sys.modules)\n"
    code += "v.finite_array('x', [1.0], (1,)); print(sorted(set(sys.modules) - before))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr
