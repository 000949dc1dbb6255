"""A fitted transformer of scikit-learn in the place of an encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError, optional
from .._utils.validation import finite_array
from ..core.arrays import Floats
from . import tables as frames
from .columns import check_name


class Wrapped:
    """Features by a transformer of the user's; `wrap` makes one."""

    def __init__(
        self,
        transformer: Any,
        columns: Sequence[str],
        names: Sequence[str],
        action: str | None,
        as_frame: bool,
    ) -> None:
        self.transformer, self.action, self.as_frame = transformer, action, as_frame
        self.columns = tuple(check_name("a name in columns", name) for name in columns)
        self.names = tuple(check_name("a name in names", str(name)) for name in names)

    @property
    def dim(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return (
            f"wrap({type(self.transformer).__name__}, {list(self.columns)} to {self.dim} features)"
        )

    def encode(
        self, context: Mapping[str, Any] | None, offers: Mapping[str, Mapping[str, Any]]
    ) -> Floats:
        """The features of every offer in this context, (len(offers), dim), in their order."""
        shared = {} if context is None else dict(context)
        own = {} if self.action is None else {self.action: None}
        rows = [{**shared, **offer, **dict.fromkeys(own, name)} for name, offer in offers.items()]
        if not rows:
            raise InvalidInputError("offers must not be empty")
        return self.encode_rows(rows)

    def encode_rows(self, rows: Any) -> Floats:
        """The features of logged rows, each of a context and one offer, (n, dim)."""
        source = frames.read_frame(rows)
        extra = [name for name in frames.column_names(source) if name not in self.columns]
        if extra:
            raise InvalidInputError(
                f"column {extra[0]!r} is not one that the transformer knows, "
                f"{', '.join(self.columns)}"
            )
        given = {name: frames.values(source, name) for name in self.columns}
        made = self.transformer.transform(self._table(given))
        dense = made.toarray() if hasattr(made, "toarray") else made
        return finite_array("what the transformer makes", dense, (frames.length(source), self.dim))

    def _table(self, given: Mapping[str, Any]) -> Any:
        if self.as_frame:
            return optional("pandas", "lab").DataFrame(given)
        return np.column_stack([np.asarray(given[name]) for name in self.columns])


def wrap(
    transformer: Any,
    columns: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    *,
    action: str | None = None,
) -> Wrapped:
    """A fitted scikit-learn transformer as `Features`, wherever an `Encoder` is taken.

    Keeping the transformer is yours to do: an agent's file cannot hold it.

    Parameters
    ----------
    transformer : anything fitted with a `transform`, such as a ColumnTransformer or a Pipeline. It
        gets a pandas frame if it was fitted on one, else an array.
    columns : what it was fitted on, in order; it knows them itself if that was a frame.
    names : those of what it makes; None asks its `get_feature_names_out`.
    action : the column that holds the name of the offer, if there is one.

    >>> class Doubled:
    ...     def transform(self, values):
    ...         return 2.0 * values
    >>> doubled = wrap(Doubled(), columns=["age", "price"], names=["age2", "price2"])
    >>> doubled.encode({"age": 20.0}, {"tea": {"price": 3.0}, "nut": {"price": 1.0}}).tolist()
    [[40.0, 6.0], [40.0, 2.0]]
    """
    if not callable(getattr(transformer, "transform", None)):
        raise InvalidInputError(f"transformer must have a `transform`, got {transformer!r:.80}")
    known = getattr(transformer, "feature_names_in_", None)
    used = [str(name) for name in (() if known is None else known)] if columns is None else columns
    if not used:
        raise InvalidInputError("columns must be given: the transformer was not fitted on a frame")
    made = names
    if made is None:
        if not hasattr(transformer, "get_feature_names_out"):
            raise InvalidInputError(
                "names must be given: the transformer has no get_feature_names_out"
            )
        made = [str(name) for name in transformer.get_feature_names_out()]
    return Wrapped(transformer, used, made, action, known is not None)
