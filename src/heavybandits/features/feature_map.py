"""What anything must have that makes features out of rows."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Features(Protocol):
    """What makes features x out of a context and an offer: an `Encoder`, or a wrapped transformer.

    `columns` are the names that a row must have, `names` those of the `dim` features.

    >>> import heavybandits as hb
    >>> isinstance(hb.Encoder(offer=[hb.features.Number("price")]), hb.features.Features)
    True
    """

    @property
    def dim(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def encode(
        self, context: Mapping[str, Any] | None, offers: Mapping[str, Mapping[str, Any]]
    ) -> NDArray[np.float64]:
        """The features of every offer in this context, (len(offers), dim), in their order."""
        ...

    def encode_rows(self, rows: Any) -> NDArray[np.float64]:
        """The features of logged rows, each of a context and one offer, (n, dim)."""
        ...
