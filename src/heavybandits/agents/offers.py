"""What is offered to an agent: checked at the door, and put where the kernels read it."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arms import Fresh
from ..engine.bounds import bounded_array
from ..engine.contracts import ArmSet
from ..engine.parts import check_part, is_part
from ..engine.views import View, make_view
from ..support.errors import InvalidInput

Floats = NDArray[np.float64]
Allowed = NDArray[np.bool_] | None

MOST_BYTES = 1 << 26  # views of sizes that come and go must not pile up


class Offers:
    """Views for arms of this dimension: one for each number of rows, used again and again."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._sets: dict[int, tuple[Any, View]] = {}
        self._bytes = 0
        self._warned = False

    def check(self, arms: Any, mask: Any) -> tuple[Any, Allowed]:
        """The arms as an arm set or (K, d) floats, and the mask as K booleans or None."""
        if not is_part(arms):
            offered = bounded_array("arms", arms, (None, self._dim))
            return offered, None if mask is None else _check_mask(mask, offered.shape[0])
        if mask is not None:
            raise InvalidInput("mask must be None for an arm set without rows")
        part = check_part("arms", arms, ArmSet)
        if part.dim != self._dim:
            raise InvalidInput(f"arms must have dim {self._dim}, got {part.dim}")
        return part, None

    def show(self, arms: Any, allowed: Allowed, order: Any) -> tuple[Any, View]:
        """The arm set, and its view filled; rows in this order, if one is given."""
        if is_part(arms):
            view = arms.view()
            arms.refresh(view, np.uint64(0), 0)
            return arms, view
        self._warn_norm(arms)
        part, view = self._rows(arms.shape[0])
        view.features[:, : arms.shape[0]] = arms.T if order is None else arms[order].T
        view.penalty[: arms.shape[0]] = 0.0
        if allowed is not None:
            hidden = ~(allowed if order is None else allowed[order])
            view.penalty[: arms.shape[0]][hidden] = np.inf
        return part, view

    def _rows(self, size: int) -> tuple[Any, View]:
        if size not in self._sets:
            view = make_view(self._dim, size)
            self._bytes += _bytes_of(view)
            while self._sets and self._bytes > MOST_BYTES:
                _, oldest = self._sets.pop(next(iter(self._sets)))
                self._bytes -= _bytes_of(oldest)
            self._sets[size] = Fresh(size, self._dim, 0.0), view
        return self._sets[size]

    def _warn_norm(self, arms: Floats) -> None:
        if self._warned:
            return
        longest = math.sqrt(np.vecdot(arms, arms).max())
        if longest > 1.0 + 1e-6:  # unit vectors in single precision are no news
            self._warned = True
            warnings.warn(
                f"an arm has norm {longest:.3g}; the theory assumes at most 1. Divide all features "
                "by the largest norm you expect (and multiply `norm` by it)",
                stacklevel=6,  # the caller of select
            )


def _bytes_of(view: View) -> int:
    return sum(array.nbytes for array in view)


def _check_mask(mask: Any, size: int) -> NDArray[np.bool_]:
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != (size,):
        raise InvalidInput(
            f"mask must be {size} booleans, got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any():
        raise InvalidInput("mask must leave at least one arm, got none")
    return allowed
