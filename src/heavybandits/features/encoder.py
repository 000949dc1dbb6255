"""The encoder: context and offers in the user's words, made into the features of a policy."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import EncodingError, InvalidInputError
from .._utils.files import replace_atomically
from .._utils.tables import to_text
from .._utils.validation import flag, one_of
from ..core.arrays import Floats
from . import infer as fitting
from . import tables as frames
from .columns import Column, Reader, check_name
from .interactions import MEETINGS, make_meeting
from .serialization import STAMP, describe_column, describe_side, read_description
from .validation import (
    check_columns,
    check_known,
    check_meeting,
    check_row,
    check_sides,
    read_names,
)
from .values import read_text

Row = Mapping[str, Any]

LARGEST = 100_000  # features: V has their square of numbers


class Encoder:
    """Features x of an offer in a context, out of rows with names, categories, dates and gaps.

    With c the features of the context and o those of the offer, x is

        shared     (1, c, o)                      the context raises or lowers all offers alike
        per-offer  (1, c) in the block of the offer's name, then o
        hybrid     (1, c, o_1, o_1 c, o_2, ...)   all of (1, o) times all of (1, c)

    divided by the greatest norm that can occur, so that ||x|| <= 1 as the theorems want it. Every
    row that is given becomes one row of features; what cannot be encoded is refused by an
    `EncodingError` that names column and value.

    Parameters
    ----------
    context, offer : columns: `features.Number`, `features.Category` or `features.Date`. `fit`
        makes them out of a log.
    meet : "shared", "per-offer" or "hybrid".
    action : the column of a log that holds the name of the offer. In `encode` the names are the
        keys of `offers`. It may be a column of the offer too, a `Category`.
    offers : the names that have a block, for "per-offer".
    intercept : whether x has a one.
    ignore : names of further columns that rows may have, or True for any; others are refused.

    >>> import heavybandits as hb
    >>> number, category = hb.features.Number, hb.features.Category
    >>> encoder = hb.Encoder([category("city", ["Oslo"])], [number("price", 20.0, 5.0)])
    >>> encoder.names  # doctest: +ELLIPSIS
    ('1', 'city=Oslo', 'city=(other)', 'price', 'price x city=Oslo', 'price x city=(other)')
    >>> x = encoder.encode({"city": "Oslo"}, {"tea": {"price": 25.0}, "nut": {"price": 20.0}})
    >>> (x * np.sqrt(20.0)).round(6).tolist()
    [[1.0, 1.0, 0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        context: Sequence[Column] = (),
        offer: Sequence[Column] = (),
        *,
        meet: str = "hybrid",
        action: str | None = None,
        offers: Sequence[Any] = (),
        intercept: bool = True,
        ignore: bool | Iterable[str] = False,
    ) -> None:
        self.context, self.offer = tuple(context), tuple(offer)
        self.meet = one_of("meet", meet, MEETINGS)
        self.action = None if action is None else check_name("action", action)
        self.offers = tuple(check_name("a name of offers", read_text(name)) for name in offers)
        self.intercept = flag("intercept", intercept)
        self.ignore = ignore if isinstance(ignore, bool) else read_names("ignore", ignore)
        check_sides(self.context, self.offer)
        check_meeting(self.meet, bool(self.offer), self.offers, self.action)
        self._meeting = make_meeting(self.meet, self.intercept, self.offers, self.action)
        self._read_context, self._read_offer = readers(self.context), readers(self.offer)
        self._named = self.action in {column.name for column in self.offer}
        self._factor = 1.0 / self.bound
        if self.dim > LARGEST:  # found before the names are made
            raise InvalidInputError(f"the features must be at most {LARGEST}, got {self.dim}")

    @classmethod
    def fit(
        cls,
        frame: Any,
        context: Sequence[str] = (),
        offer: Sequence[str] = (),
        *,
        meet: str = "hybrid",
        action: str | None = None,
        kinds: Mapping[str, str] | None = None,
        missing: bool | Iterable[str] = False,
        most_values: int = 30,
        intercept: bool = True,
        ignore: bool | Iterable[str] = False,
    ) -> "Encoder":
        """An encoder whose columns are made out of a log, which is all it learns from it.

        Parameters
        ----------
        frame : pandas, polars, pyarrow, a mapping of columns, a list of dictionaries, or a CSV or
            Parquet file, compressed or not.
        context, offer : names of columns. Numbers become a `Number`, text a `Category`, dates and
            text that is all of dates a `Date`.
        kinds : "number", "category" or "date" for columns that are not what they look like, such
            as {"postcode": "category"}.
        missing : columns that may lack a value although none does here, or True for all of them.
            Columns with gaps in this frame always may.
        most_values : words of a category that get a feature; the rarest share that of the others.

        >>> log = {"age": [20, 40, 60], "city": ["Oslo", "Rome", None], "price": [1.0, 2.0, 4.0]}
        >>> print(Encoder.fit(log, ["age", "city"], ["price"], meet="shared"))
        Encoder: 3 columns to 7 features, shared, divided by 4.47214
        side     column  kind      becomes                             features  gaps
        context  age     number    (value - 40) / 14.8258, within +-3         1  refused
        context  city    category  one of Oslo, Rome, or any other            4  a feature
        offer    price   number    (value - 2) / 1.11193, within +-3          1  refused
        """
        source = frames.read_frame(frame)
        given = read_names("context", context), read_names("offer", offer)
        gaps = sum(given, ()) if missing is True else read_names("missing", missing or ())
        check_known(sum(given, ()), kinds=kinds or {}, missing=gaps)
        frames.length(source)  # which refuses columns of different lengths
        sides = [
            fitting.fit_columns(source, names, kinds or {}, gaps, most_values) for names in given
        ]
        known: Sequence[str] = ()
        if meet == "per-offer" and action is not None:
            known = fitting.distinct(frames.column(source, action, "action"), action)
        return cls(
            *sides, meet=meet, action=action, offers=known, intercept=intercept, ignore=ignore
        )

    # ---- what it is

    @cached_property
    def dim(self) -> int:
        """The number of features d."""
        sides = (self.context, self.offer)
        return self._meeting.size(*(sum(len(column.names) for column in side) for side in sides))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        sides = (self.context, self.offer)
        c, o = ([name for column in side for name in column.names] for side in sides)
        return tuple(self._meeting.names(c, o))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a row of a log must have."""
        used = [column.name for column in (*self.context, *self.offer)]
        named = self.meet == "per-offer" and self.action not in used
        return (*used, *([str(self.action)] if named else []))

    @property
    def bound(self) -> float:
        """The greatest norm that the features can have before they are divided by it."""
        sides = (self.context, self.offer)
        return self._meeting.bound(*(math.hypot(*(c.bound() for c in side)) for side in sides))

    def describe(self) -> list[dict[str, Any]]:
        """One row per column: its side, its kind, what it becomes, and what is done about gaps."""
        return describe_side("context", self.context) + describe_side("offer", self.offer)

    def __str__(self) -> str:
        rows = self.describe()
        blocks = f" ({', '.join(self.offers)})" if self.offers else ""
        made = f"{len(rows)} columns to {self.dim} features, {self.meet}{blocks}"
        table = to_text(rows, list(rows[0])) if rows else ""
        return f"Encoder: {made}, divided by {self.bound:.6g}\n{table}".rstrip()

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoder) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.context, self.offer, self.meet))

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder.from_dict, (self.to_dict(),)

    # ---- what it does

    def encode(self, context: Row | None, offers: Mapping[str, Row]) -> Floats:
        """The features of every offer in this context, (len(offers), d), rows in their order."""
        given: Row = {} if context is None else context
        if not offers or not (type(offers) is dict or isinstance(offers, Mapping)):
            raise InvalidInputError(
                f"offers must be a dictionary of some by name, got {offers!r:.80}"
            )
        left = self._fill([1.0], given, self._read_context, "in the context")
        right: list[float] = []
        for name, row in offers.items():
            if not (type(row) is dict or isinstance(row, Mapping)):
                raise InvalidInputError(
                    f"offers[{name!r}] must be columns by name, got {row!r:.80}"
                )
            used = {**row, str(self.action): name} if self._named else row
            right += self._fill([1.0], used, self._read_offer, "in offer", name)
        wide = np.array(right).reshape(len(offers), -1)
        try:
            return self._meeting.join(np.array([left]), wide, offers) * self._factor
        except EncodingError as error:
            raise error.at("among the offers") from None

    def encode_rows(self, rows: Any) -> Floats:
        """The features of logged rows, each of a context and one offer, (n, d).

        `rows` is anything that `fit` takes. No row is left out.
        """
        source = frames.read_frame(rows)
        check_columns(frames.column_names(source), self.columns, self.ignore, "in the frame")
        one = np.ones((frames.length(source), 1))
        if not len(one):
            return np.zeros((0, self.dim))
        left, right = (
            np.hstack([one, *(c.read_many(frames.values(source, c.name)) for c in side)])
            for side in (self.context, self.offer)
        )
        names = frames.values(source, str(self.action)) if self.meet == "per-offer" else ()
        return self._meeting.join(left, right, names) * self._factor

    def _fill(
        self,
        out: list[float],
        row: Row,
        columns: tuple[tuple[str, Reader], ...],
        place: str,
        name: Any = None,
    ) -> list[float]:
        """The features of one side of a row, after those that `out` has already."""
        try:
            for column, read in columns:
                out += read(row[column])
        except EncodingError as error:
            raise error.at(place if name is None else f"{place} {name!r}") from None
        except (KeyError, TypeError, IndexError):
            check_row(row, columns, self.ignore, place, name)
            raise
        if len(row) != len(columns) and self.ignore is not True:
            check_row(row, columns, self.ignore, place, name)
        return out

    # ---- keeping

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON; `from_dict` makes the same encoder of them."""
        return {
            **STAMP,
            "context": [describe_column(column) for column in self.context],
            "offer": [describe_column(column) for column in self.offer],
            "meet": self.meet,
            "action": self.action,
            "offers": list(self.offers),
            "intercept": self.intercept,
            "ignore": self.ignore if isinstance(self.ignore, bool) else list(self.ignore),
        }

    @classmethod
    def from_dict(cls, value: Any) -> "Encoder":
        """The encoder that `to_dict` wrote. Whatever is not one is refused.

        >>> encoder = Encoder.fit({"price": [1.0, 2.5, 9.0]}, offer=["price"])
        >>> Encoder.from_dict(encoder.to_dict()) == encoder
        True
        """
        return cls(**read_description(value))

    def save(self, path: str | Path) -> None:
        """Write `to_dict` to a file as JSON, at once or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        replace_atomically(Path(path), lambda temporary: temporary.write_text(text, "utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> "Encoder":
        """The encoder that `save` wrote."""
        try:
            value = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{str(path)!r} cannot be read as an encoder: {error}"
            ) from None
        return cls.from_dict(value)


def readers(columns: Sequence[Column]) -> tuple[tuple[str, Reader], ...]:
    return tuple((column.name, column.reader()) for column in columns)
