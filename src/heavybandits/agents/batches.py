"""Many decisions at once, as arrays that one compiled call can read."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from .._utils.validation import bounded_array
from ..core.arrays import Booleans, Floats


class Batch(NamedTuple):
    """Decisions to be made: `rows` is (n, K, d), and where `mask` is False there is no arm.

    `sizes` are the rows of each decision, `names` their names, `told` the contexts and offers.
    """

    rows: Floats
    mask: Booleans
    sizes: NDArray[np.int64]
    names: list[tuple[str, ...]] | None = None
    told: list[tuple[Any, Any]] | None = None

    @property
    def size(self) -> int:
        return self.rows.shape[0]

    def names_of(self, arms: list[int]) -> Sequence[str | None]:
        """Return the name of the arm chosen in each decision, None without names."""
        if self.names is None:
            return [None] * self.size
        return [names[arm] for names, arm in zip(self.names, arms, strict=True)]


def make_batch(arms: Any, mask: Any, dim: int) -> Batch:
    """Return the validated arms of many decisions; short ones are padded with masked rows.

    >>> make_batch([[[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]], None, dim=2).mask.tolist()
    [[True, False], [True, True]]
    """
    if isinstance(arms, np.ndarray):
        rows = bounded_array("arms", arms, (None, None, dim))
        return Batch(rows, _check_mask(mask, rows.shape[:2]), np.full(rows.shape[0], rows.shape[1]))
    if mask is not None:
        raise InvalidInputError(
            "mask must be None where arms are a list: leave out what is not on offer"
        )
    try:
        given = list(arms)
    except TypeError:
        given = []
    if not given:
        raise InvalidInputError("arms must hold at least one decision, (n, K, d), got none")
    if _is_uniform(given):
        with suppress(InvalidInputError):  # one by one, the message names the wrong one
            return make_batch(np.array(given), None, dim)
    sets = [bounded_array(f"arms[{n}]", one, (None, dim)) for n, one in enumerate(given)]
    sizes = np.array([len(one) for one in sets])
    rows = np.zeros((len(sets), sizes.max(), dim))
    for n, one in enumerate(sets):
        rows[n, : len(one)] = one
    return Batch(rows, np.arange(sizes.max()) < sizes[:, None], sizes)


def _is_uniform(given: list[Any]) -> bool:
    """Return True for arrays of one shape and type, which can be validated at once."""
    first = given[0]
    return type(first) is np.ndarray and all(
        type(one) is np.ndarray and one.shape == first.shape and one.dtype == first.dtype
        for one in given
    )


def _check_mask(mask: Any, shape: tuple[int, ...]) -> Booleans:
    if mask is None:
        return np.ones(shape, np.bool_)
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InvalidInputError(
            f"mask must be booleans of shape {shape}, got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any(axis=1).all():
        raise InvalidInputError("mask must leave at least one arm of every decision")
    return np.ascontiguousarray(allowed)


def row_orders(batch: Batch, generator: np.random.Generator | None) -> NDArray[np.int64]:
    """Return the order of the rows of each decision: random with a generator, to break ties."""
    size, most = batch.mask.shape
    order = np.tile(np.arange(most), (size, 1))
    if generator is not None:
        for n, rows in enumerate(batch.sizes.tolist()):
            order[n, :rows] = generator.permutation(rows)
    return order
