"""Arm sets and features at the door."""

from typing import Any

import numpy as np

from ..engine.parts import cast, is_part
from ..support.errors import InvalidInput
from ..support.validation import finite_array
from .continuous import Box
from .finite import Given

LARGEST_FEATURE = 1e6  # its square times the plays must leave digits for the small directions


def finite_features(name: str, value: Any, shape: tuple[int | None, ...]) -> Any:
    """Features that arithmetic can bear: one arm of length 1e8 makes an estimate nan for ever."""
    array = finite_array(name, value, shape)
    size = float(np.abs(array).max())
    if size > LARGEST_FEATURE:
        raise InvalidInput(
            f"{name} must lie in [-1e6, 1e6], got {size:.3g} in size: divide all features by the "
            "largest norm you expect"
        )
    return array


def check_arms(arms: Any) -> Any:
    """The arm set with its fields cast, if it is one a policy can play.

    >>> check_arms(Box([0.0], [-1.0]))
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: Box.low must not exceed Box.high, but does at 0
    """
    methods = ("dim", "view", "refresh", "top", "maximise")
    if not is_part(arms) or not all(name in dir(type(arms)) for name in methods):
        raise InvalidInput(f"arms must be an arm set such as Fixed(20, 10), got {arms!r}")
    if isinstance(arms, Given):
        return Given(finite_features("Given.features", arms.features, (None, None)))
    if isinstance(arms, Box):
        low = finite_features("Box.low", arms.low, (None,))
        high = finite_features("Box.high", arms.high, low.shape)
        if (low > high).any():
            place = int((low > high).argmax())
            raise InvalidInput(f"Box.low must not exceed Box.high, but does at {place}")
        return Box(low, high)
    return cast(arms)
