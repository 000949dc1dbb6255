"""A fitted scikit-learn transformer in place of an encoder."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, optional
from .._utils.validation import finite_array
from ..core.arrays import Floats
from . import tables as frames
from .columns import check_name
from .tables import Row, Table
from .values import ColumnValues

if TYPE_CHECKING:
    import pandas


class Transformer(Protocol):
    """Anything fitted with a `transform`, as in scikit-learn."""

    def transform(self, X: Any, /) -> Any: ...


class SklearnFeatureMap:
    """A `FeatureMap` that calls a fitted transformer; `from_sklearn` makes it."""

    def __init__(
        self,
        transformer: Transformer,
        columns: Sequence[str],
        names: Sequence[str],
        *,
        action: str | None,
        as_frame: bool,
    ) -> None:
        self.transformer, self.action, self.as_frame = transformer, action, as_frame
        self.columns = tuple(check_name("a name in columns", name) for name in columns)
        self.names = tuple(check_name("a name in names", str(name)) for name in names)

    @property
    def dim(self) -> int:
        """Return the number of features d."""
        return len(self.names)

    def __repr__(self) -> str:
        name = type(self.transformer).__name__
        return f"from_sklearn({name}, {list(self.columns)} to {self.dim} features)"

    def encode(self, context: Row | None, actions: Mapping[str, Row]) -> Floats:
        """Return the features of every action in this context, (len(actions), dim), in order."""
        shared = {} if context is None else dict(context)
        named = [] if self.action is None else [self.action]
        rows = [{**shared, **own, **dict.fromkeys(named, name)} for name, own in actions.items()]
        if not rows:
            raise InvalidInputError("actions must have at least one action, got none")
        return self.encode_rows(rows)

    def encode_rows(self, rows: Table) -> Floats:
        """Return the features of logged rows, each a context and one action, (n, dim)."""
        source = frames.read_frame(rows)
        extra = [name for name in frames.column_names(source) if name not in self.columns]
        if extra:
            raise InvalidInputError(
                f"rows must have only the columns of the transformer, {', '.join(self.columns)}; "
                f"got {extra[0]!r}"
            )
        given = {name: frames.with_nan(frames.values(source, name)) for name in self.columns}
        features = self.transformer.transform(self._table(given))
        dense = features.toarray() if hasattr(features, "toarray") else features
        shape = (frames.length(source), self.dim)
        return finite_array("the features of the transformer", dense, shape)

    def _table(self, given: Mapping[str, ColumnValues]) -> "pandas.DataFrame | NDArray[Any]":
        if self.as_frame:
            return optional("pandas", "lab").DataFrame(given)
        return np.column_stack([np.asarray(given[name]) for name in self.columns])


def from_sklearn(
    transformer: Transformer,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    action: str | None = None,
) -> SklearnFeatureMap:
    """Use a fitted scikit-learn transformer wherever an `Encoder` is accepted.

    The state of an agent does not contain the transformer: save it yourself.

    Parameters
    ----------
    transformer : object with a `transform` method
        A fitted transformer, such as a ColumnTransformer or a Pipeline. It receives a pandas frame
        if it was fitted on a frame, else an array.
    columns : sequence of str, optional
        Columns it was fitted on, in order. Not needed if it was fitted on a frame.
    names : sequence of str, optional
        Names of its features. By default the result of its `get_feature_names_out`.
    action : str, optional
        Column that contains the name of the action, if the transformer uses it.

    Returns
    -------
    FeatureMap
        With the methods `encode` and `encode_rows` of an `Encoder`.

    Raises
    ------
    InvalidInputError
        There is no `transform` method, or `columns` or `names` cannot be found.

    Examples
    --------
    >>> class Doubled:
    ...     def transform(self, values):
    ...         return 2.0 * values
    >>> doubled = from_sklearn(Doubled(), columns=["age", "price"], names=["age2", "price2"])
    >>> doubled.encode({"age": 20.0}, {"tea": {"price": 3.0}, "nut": {"price": 1.0}}).tolist()
    [[40.0, 6.0], [40.0, 2.0]]
    """
    if not callable(getattr(transformer, "transform", None)):
        raise InvalidInputError(
            f"transformer must have a method `transform`, got {transformer!r:.80}"
        )
    known = getattr(transformer, "feature_names_in_", None)
    used = [str(name) for name in (() if known is None else known)] if columns is None else columns
    if not used:
        raise InvalidInputError(
            "columns must be given if the transformer was not fitted on a frame, got none"
        )
    if names is None:
        if not hasattr(transformer, "get_feature_names_out"):
            raise InvalidInputError(
                "names must be given if the transformer has no get_feature_names_out, got none"
            )
        names = [str(name) for name in transformer.get_feature_names_out()]
    return SklearnFeatureMap(transformer, used, names, action=action, as_frame=known is not None)
