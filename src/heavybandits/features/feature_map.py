"""The protocol of everything that turns rows into features."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from ..core.arrays import Floats
from .tables import Row, Table


@runtime_checkable
class FeatureMap(Protocol):
    """Anything that turns a context and actions into features: an `Encoder` or `from_sklearn(...)`.

    Attributes
    ----------
    dim : int
        Number of features d.
    names : tuple of str
        Names of the features.
    columns : tuple of str
        Columns that a row of a log must have.

    Examples
    --------
    >>> import heavybandits as hb
    >>> encoder = hb.Encoder(action_columns=[hb.features.Number("price")])
    >>> isinstance(encoder, hb.features.FeatureMap)
    True
    """

    @property
    def dim(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def encode(self, context: Row | None, actions: Mapping[str, Row]) -> Floats:
        """Return the features of every action in this context.

        Parameters
        ----------
        context : mapping of column to value, or None
            Values of the context columns.
        actions : mapping of name to mapping of column to value
            Values of the action columns of each action.

        Returns
        -------
        array of shape (len(actions), dim)
            One row per action, in the order of `actions`.
        """
        ...

    def encode_rows(self, rows: Table) -> Floats:
        """Return the features of logged rows, each a context and one action.

        Parameters
        ----------
        rows : table
            The rows of a log.

        Returns
        -------
        array of shape (n, dim)
            One row per row of the table.
        """
        ...
