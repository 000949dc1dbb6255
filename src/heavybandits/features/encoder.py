"""The encoder: rows with numbers, categories, dates and missing values become features."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._utils.display import Card, count_of, write_html
from .._utils.errors import EncodingError, InvalidInputError, printable
from .._utils.files import replace_atomically
from .._utils.tables import to_text
from .._utils.validation import flag, one_of
from ..core.arrays import Floats
from . import tables as frames
from .columns import Column, Reader, check_name, check_names
from .feature_map import FeatureMap
from .hints import CategoryCounts
from .infer import PerColumn, distinct, infer_sides
from .interactions import INTERACTIONS, make_interactions
from .serialization import STAMP, read_arguments, write_column
from .tables import Row, Table
from .values import ColumnValues, read_text

Readers = tuple[tuple[str, Reader], ...]
Extra = bool | tuple[str, ...]

LARGEST = 100_000  # features: the matrix V has the square of this many numbers


class Cost(NamedTuple):
    """What an encoder of `dim` features costs a linear policy.

    `state_bytes` is the memory of the policy, four d x d matrices. `decision_seconds` is about the
    time of `select` among ten actions and `update`, measured with LinUCB.
    """

    dim: int
    state_bytes: int
    decision_seconds: float

    def __str__(self) -> str:
        size = next(n for n in (3, 2, 1, 0) if self.state_bytes >= 1000**n or n == 0)
        memory = f"{self.state_bytes / 1000**size:.3g} {('bytes', 'kB', 'MB', 'GB')[size]}"
        seconds = self.decision_seconds
        time = f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.0f} ms"
        return f"a linear policy takes {memory} and about {time} per decision among 10 actions"


class Encoder:
    """Turn a context and actions, given as named values, into features x.

    With c the features of the context and a those of an action, x is

        "none"        (1, c, a)                      the context affects all actions alike
        "per_action"  (1, c) in the block of the action's name, then a
        "all"         (1, c, a_1, a_1 c, a_2, ...)   all of (1, a) times all of (1, c)

    divided by the largest norm that can occur, so that ||x|| <= 1 as the theorems assume.

    Parameters
    ----------
    context_columns, action_columns : sequence of Number, Category or Date, default ()
        Columns of the context and of the actions. `from_data` infers them from a log.
    interactions : {"none", "per_action", "all"}, default "all"
        Products of context and action among the features, see above.
    action : str, optional
        Column of a log that contains the name of the action; in `encode` the names are the keys of
        `actions`. It may also be one of `action_columns`, a `Category`.
    actions : sequence of str, default ()
        Names of the actions that get a block, for "per_action".
    intercept : bool, default True
        Add the constant feature 1.
    allow_extra : bool or iterable of str, default False
        Further columns that rows may have and that are ignored, or True for any.

    Raises
    ------
    InvalidInputError
        An argument is not valid, or there would be more than 100,000 features.

    Examples
    --------
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
        context_columns: Sequence[Column] = (),
        action_columns: Sequence[Column] = (),
        *,
        interactions: str = "all",
        action: str | None = None,
        actions: Sequence[str] = (),
        intercept: bool = True,
        allow_extra: bool | Iterable[str] = False,
    ) -> None:
        self.context_columns, self.action_columns = tuple(context_columns), tuple(action_columns)
        self.interactions = one_of("interactions", interactions, INTERACTIONS)
        self.action = None if action is None else check_name("action", action)
        self.actions = tuple(check_name("a name in actions", read_text(name)) for name in actions)
        self.intercept = flag("intercept", intercept)
        self.allow_extra: Extra = (
            allow_extra
            if isinstance(allow_extra, bool)
            else check_names("allow_extra", allow_extra)
        )
        self._counts: Mapping[str, CategoryCounts] = {}  # of the data that `from_data` was given
        _check_sides(self.context_columns, self.action_columns)
        _check_actions(self)
        self._join = make_interactions(
            self.interactions, self.intercept, actions=self.actions, action=self.action
        )
        if self.dim > LARGEST:  # before anything of that size is made
            raise InvalidInputError(
                f"an encoder must have at most {LARGEST} features, got {self.dim}; use fewer "
                "columns or categories, or interactions='none'"
            )
        self._read_context = _make_readers(self.context_columns)
        self._read_action = _make_readers(self.action_columns)
        self._name_is_column = self.action in {column.name for column in self.action_columns}
        self._factor = 1.0 / self.bound

    @classmethod
    def from_data(
        cls,
        data: Table,
        *,
        context_columns: Sequence[str] = (),
        action_columns: Sequence[str] = (),
        interactions: str = "all",
        action: str | None = None,
        column_types: Mapping[str, str] | None = None,
        allow_missing: bool | Iterable[str] = False,
        max_categories: int = 30,
        intercept: bool = True,
        allow_extra: bool | Iterable[str] = False,
        decimal: PerColumn = ".",
        date_formats: Mapping[str, str | Sequence[str]] | None = None,
        normalize: PerColumn = "nfc",
    ) -> "Encoder":
        """Infer the columns of an encoder from a log.

        Parameters
        ----------
        data : table or path
            A pandas, polars or pyarrow table, a mapping of columns, a list of dictionaries, or a
            CSV or Parquet file, compressed or not.
        context_columns, action_columns : sequence of str, default ()
            Names of columns. Numbers become a `Number`, texts a `Category`, dates and texts that
            are all ISO dates a `Date`.
        interactions : {"none", "per_action", "all"}, default "all"
            Products of context and action among the features, see `Encoder`.
        action : str, optional
            Column that contains the name of the action; "per_action" needs it.
        column_types : mapping of str to {"number", "category", "date"}, optional
            Types that differ from what the values look like, such as {"postcode": "category"}.
        allow_missing : bool or iterable of str, default False
            Columns that may have missing values although `data` has none, or True for all of them.
            Columns with missing values in `data` always may.
        max_categories : int, default 30
            Most categories of a column that get a feature. The rarest share "(other)".
        intercept : bool, default True
            Add the constant feature 1.
        allow_extra : bool or iterable of str, default False
            Further columns that rows may have and that are ignored, or True for any.
        decimal : {".", ","} or mapping of column to these, default "."
            Decimal mark of numbers in text. With "," texts such as "1,5" are numbers.
        date_formats : mapping of column to str or sequence of str, optional
            Formats of dates in text other than ISO 8601, such as {"when": "%d.%m.%Y"}, as in
            `datetime.strptime`. These columns become a `Date`.
        normalize : {"nfc", "casefold"} or mapping of column to these, default "nfc"
            Normal form of categories. "casefold" makes one category of upper and lower case.

        Returns
        -------
        Encoder

        Warns
        -----
        UserWarning
            A category looks like numbers or dates, or more than half of the rows share "(other)".

        Raises
        ------
        InvalidInputError
            A column does not exist or has no values, or an argument is not valid.
        EncodingError
            A value does not have the type that `column_types` sets.

        Examples
        --------
        >>> log = {"age": [20, 40, 60], "city": ["Oslo", "Rome", None], "price": [1.0, 2.0, 4.0]}
        >>> print(
        ...     Encoder.from_data(
        ...         log,
        ...         context_columns=["age", "city"],
        ...         action_columns=["price"],
        ...         interactions="none",
        ...     )
        ... )
        Encoder: 3 columns, 7 features, interactions "none", divided by 4.47214
        a linear policy takes 1.57 kB and about 20 µs per decision among 10 actions
        part     column  type      encoding                             features  missing_values
        context  age     number    (value - 40) / 14.8258, clipped to +-3      1  error
        context  city    category  one of Oslo, Rome, or any other             4  own feature
        action   price   number    (value - 2) / 1.11193, clipped to +-3       1  error
        """
        frame = frames.read_frame(data)
        context, action_side, counts = infer_sides(
            frame,
            check_names("context_columns", context_columns),
            check_names("action_columns", action_columns),
            column_types=column_types or {},
            allow_missing=allow_missing,
            max_categories=max_categories,
            decimal=decimal,
            date_formats=date_formats or {},
            normalize=normalize,
        )
        actions: Sequence[str] = ()
        if interactions == "per_action" and action is not None:
            actions = distinct(frames.values(frame, action, "action", as_written=True), action)
        encoder = cls(
            context,
            action_side,
            interactions=interactions,
            action=action,
            actions=actions,
            intercept=intercept,
            allow_extra=allow_extra,
        )
        encoder._counts = counts
        return encoder

    # ---- description

    @property
    def _sides(self) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        return self.context_columns, self.action_columns

    @cached_property
    def dim(self) -> int:
        """Return the number of features d."""
        return self._join.size(*(sum(column.size for column in side) for side in self._sides))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the features, all different."""
        c, a = ([name for column in side for name in column.names] for side in self._sides)
        return _number_repeated(self._join.names(c, a))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that a row of a log must have."""
        used = [column.name for side in self._sides for column in side]
        named = self.interactions == "per_action" and self.action not in used
        return (*used, *([str(self.action)] if named else []))

    @property
    def bound(self) -> float:
        """Return the largest norm of the features before they are divided by it."""
        return self._join.bound(*(math.hypot(*(c.bound() for c in side)) for side in self._sides))

    def estimate_cost(self) -> Cost:
        """Estimate the memory of a linear policy with these features, and its time per decision.

        Returns
        -------
        Cost
            `dim`, `bytes` and `seconds`; `print` shows a sentence.

        Examples
        --------
        >>> from heavybandits.features import Category, Number
        >>> wide = Encoder([Category("city", [str(n) for n in range(99)])], [Number("price")])
        >>> print(wide.estimate_cost())
        a linear policy takes 1.31 MB and about 183 µs per decision among 10 actions
        """
        return Cost(self.dim, 32 * self.dim**2, 2e-5 + 4e-9 * self.dim**2)

    def describe(self) -> list[dict[str, Any]]:
        """Describe every column: its part, type, encoding, features and missing values.

        Returns
        -------
        list of dict
            One dictionary per column. For categories that `from_data` inferred, `distinct_values`
            is the number of different values in the data and `other_share` the fraction of the rows
            that have "(other)".
        """
        return [
            {
                "part": part,
                "column": column.name,
                "type": column.type,
                "encoding": column.describe(),
                "features": column.size,
                "missing_values": "own feature" if column.allow_missing else "error",
                "distinct_values": counts.distinct
                if (counts := self._counts.get(column.name))
                else None,
                "other_share": counts.other_share if counts else None,
            }
            for part, side in zip(("context", "action"), self._sides, strict=True)
            for column in side
        ]

    def __str__(self) -> str:
        rows = self.describe()
        blocks = f" ({printable(', '.join(self.actions))})" if self.actions else ""
        columns = count_of(len(rows), "column")
        size = f'{columns}, {self.dim} features, interactions "{self.interactions}"'
        for row in rows:
            row["column"] = printable(row["column"])
            if row["other_share"]:
                share, count = row["other_share"], row["distinct_values"]
                row["encoding"] += f" ({count} different values, {share:.1%} in any other)"
        table = to_text(rows, list(rows[0])[:-2]) if rows else ""
        head = f"Encoder: {size}{blocks}, divided by {self.bound:.6g}"
        return f"{head}\n{self.estimate_cost()}\n{table}".rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        wanted = ("part", "column", "type", "encoding", "features", "missing_values")
        rows = [{name: row[name] for name in wanted} for row in self.describe()]
        facts = {
            "interactions": self.interactions,
            "actions": ", ".join(self.actions),
            "divided by": self.bound,
            "cost": str(self.estimate_cost()),
        }
        size = f"{count_of(len(rows), 'column')}, {count_of(self.dim, 'feature')}"
        return write_html(Card(f"Encoder: {size}", facts, rows))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoder) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((*self._sides, self.interactions))

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoder.from_dict, (self.to_dict(),)

    # ---- features

    def encode(self, context: Row | None, actions: Mapping[str, Row]) -> Floats:
        """Return the features of every action in this context.

        Parameters
        ----------
        context : mapping of column to value, or None
            Values of the context columns. None if there are none.
        actions : mapping of name to mapping of column to value
            Values of the action columns of each action, such as {"tea": {"price": 4.0}}.

        Returns
        -------
        ndarray of shape (len(actions), dim)
            One row per action, in the order of `actions`.

        Raises
        ------
        EncodingError
            A value cannot be encoded, or a column is missing or unknown. It names the column.
        InvalidInputError
            An argument is not a mapping, or there is no action.

        Examples
        --------
        >>> from heavybandits.features import Number
        >>> encoder = Encoder([Number("age", 40, 10)], [Number("price")], interactions="none")
        >>> x = encoder.encode({"age": 50}, {"tea": {"price": 2.0}, "nut": {"price": 0.0}})
        >>> (x * encoder.bound).round(6).tolist()
        [[1.0, 1.0, 2.0], [1.0, 1.0, 0.0]]
        """
        given: Row = {} if context is None else context
        if not actions or not (type(actions) is dict or isinstance(actions, Mapping)):
            raise InvalidInputError(
                "actions must be a dictionary of at least one action by name, such as "
                f"{{'tea': {{'price': 4.0}}}}, got {actions!r:.80}"
            )
        left = self._read(given, self._read_context)
        wide = self._read_actions(actions)
        try:
            return self._join.join(np.array([left]), wide, actions) * self._factor
        except EncodingError as error:
            raise error.at("among the actions") from None

    def encode_many(self, contexts: Sequence[Row | None], actions: Mapping[str, Row]) -> Floats:
        """Return the features of the same actions in many contexts.

        The result is bit-for-bit that of `encode` for each context. The values of the actions are
        read once.

        Parameters
        ----------
        contexts : sequence of mapping of column to value, or None
            As for `encode`.
        actions : mapping of name to mapping of column to value
            As for `encode`.

        Returns
        -------
        ndarray of shape (len(contexts), len(actions), dim)

        Raises
        ------
        EncodingError
            A value cannot be encoded, or a column is missing or unknown. It names the column.
        InvalidInputError
            An argument is not a mapping, or there is no action.

        Examples
        --------
        >>> from heavybandits.features import Number
        >>> encoder = Encoder([Number("age", 40, 10)], [Number("price")], interactions="none")
        >>> people = [{"age": 40}, {"age": 50}]
        >>> x = encoder.encode_many(people, {"tea": {"price": 2.0}})
        >>> (x * encoder.bound).round(6).tolist()
        [[[1.0, 0.0, 2.0]], [[1.0, 1.0, 2.0]]]
        """
        out = np.empty((len(contexts), len(actions), self.dim))
        wide: Floats | None = None
        for place, given in enumerate(contexts):
            left = self._read({} if given is None else given, self._read_context)
            wide = self._read_actions(actions) if wide is None else wide
            out[place] = self._join.join(np.array([left]), wide, actions)
        out *= self._factor
        return out

    def _read_actions(self, actions: Mapping[str, Row]) -> Floats:
        """Return 1 and the features of every action, one row each."""
        right: list[float] = []
        for name, row in actions.items():
            if not (type(row) is dict or isinstance(row, Mapping)):
                raise InvalidInputError(
                    f"actions[{name!r}] must be a dictionary of values by column, got {row!r:.80}"
                )
            used = self._with_name(row, name) if self._name_is_column else row
            right += self._read(used, self._read_action, name)
        return np.array(right).reshape(len(actions), -1)

    def encode_rows(self, rows: Table) -> Floats:
        """Return the features of logged rows, each a context and one action.

        Parameters
        ----------
        rows : table or path
            Any table that `from_data` accepts, with the columns `columns`.

        Returns
        -------
        ndarray of shape (n, dim)
            One row per row of the table; none is left out.

        Raises
        ------
        EncodingError
            A value cannot be encoded, or a column is missing or unknown. It names column and row.
        """
        frame = frames.read_frame(rows)
        given = frames.column_names(frame)
        _check_columns(given, self.columns, extra=self.allow_extra, where="in the table")
        one = np.ones((frames.length(frame), 1))
        if not len(one):
            return np.zeros((0, self.dim))
        left, right = (
            np.hstack([one, *(c.read_many(_read_column(frame, c)) for c in side)])
            for side in self._sides
        )
        per_action = self.interactions == "per_action"
        names = frames.values(frame, str(self.action), as_written=True) if per_action else ()
        return self._join.join(left, right, names) * self._factor

    def _read(self, row: Row, readers: Readers, name: str | None = None) -> list[float]:
        """Return 1 and the features of the context, or of the action of this name."""
        out = [1.0]
        try:
            for column, read in readers:
                out += read(row[column])
            if len(row) == len(readers) or self.allow_extra is True:
                return out
        except EncodingError as error:
            raise error.at(_place(name)) from None
        except (KeyError, TypeError, IndexError):
            self._check_row(row, readers, name)
            raise
        self._check_row(row, readers, name)
        return out

    def _with_name(self, row: Row, name: str) -> Row:
        """Return the values of an action with its name, or raise if they have another name."""
        column = str(self.action)
        given = row.get(column, name)
        if given is not name and read_text(given, column) != read_text(name, column):
            reason = f"must be left out or be the name {name!r}, which is the key in actions"
            raise EncodingError(reason, column, given, _place(name))
        return {**row, column: name}

    def _check_row(self, row: object, readers: Readers, name: str | None) -> None:
        """Raise if this is not a dictionary with these columns and no others."""
        where = _place(name)
        if not isinstance(row, Mapping):
            raise InvalidInputError(
                f"the values {where} must be a dictionary by column, got {row!r:.80}"
            )
        wanted = [column for column, _ in readers]
        _check_columns(list(row), wanted, extra=self.allow_extra, where=where)

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Return the encoder as plain values for JSON, which `from_dict` reads.

        Returns
        -------
        dict
            Dictionaries, lists, numbers and strings only.
        """
        extra = self.allow_extra
        return {
            **STAMP,
            "context_columns": [write_column(column) for column in self.context_columns],
            "action_columns": [write_column(column) for column in self.action_columns],
            "interactions": self.interactions,
            "action": self.action,
            "actions": list(self.actions),
            "intercept": self.intercept,
            "allow_extra": extra if isinstance(extra, bool) else list(extra),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Encoder":
        """Make an encoder from the result of `to_dict`.

        Parameters
        ----------
        value : mapping
            The result of `to_dict`.

        Returns
        -------
        Encoder
            An equal encoder.

        Raises
        ------
        InvalidInputError
            The mapping is not the result of `to_dict`.

        Examples
        --------
        >>> encoder = Encoder.from_data({"price": [1.0, 2.5, 9.0]}, action_columns=["price"])
        >>> Encoder.from_dict(encoder.to_dict()) == encoder
        True
        """
        return cls(**read_arguments(value))

    def save(self, path: str | Path) -> None:
        """Write the encoder to a JSON file. An error leaves an existing file unchanged.

        Parameters
        ----------
        path : str or Path
            File to write; an existing file is replaced.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        replace_atomically(Path(path), lambda temporary: temporary.write_text(text, "utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> "Encoder":
        """Read an encoder from a file that `save` wrote.

        Parameters
        ----------
        path : str or Path
            File to read. All its values are validated.

        Returns
        -------
        Encoder
            It produces bit-for-bit the same features as the saved encoder.

        Raises
        ------
        InvalidInputError
            The file cannot be read or does not contain an encoder.
        """
        try:
            value = json.loads(Path(path).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"path must be a file that Encoder.save wrote, got {str(path)!r}, which cannot be "
                f"read as an encoder: {error}"
            ) from None
        return cls.from_dict(value)


def _make_readers(columns: Sequence[Column]) -> Readers:
    return tuple((column.name, column.reader()) for column in columns)


def read_column(frame: frames.Frame, name: str, features: FeatureMap) -> ColumnValues:
    """Return a column as an encoder reads it: categories of a CSV file as they are written."""
    if not isinstance(features, Encoder):
        return frames.values(frame, name)
    both = (*features.context_columns, *features.action_columns)
    typed = any(column.name == name and not column.as_written for column in both)
    return frames.values(frame, name, as_written=not typed)


def _read_column(frame: frames.Frame, column: Column) -> ColumnValues:
    return frames.values(frame, column.name, as_written=column.as_written)


def _number_repeated(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that were there before.

    >>> _number_repeated(["1", "a", "1"])
    ('1', 'a', '1 (2)')
    """
    if len(set(names)) == len(names):
        return tuple(names)
    counts, made, used = Counter[str](), list[str](), set(names)
    for name in names:
        counts[name] += 1
        each = name
        while counts[name] > 1 and each in used:
            each = f"{name} ({counts[name]})"
            counts[name] += each in used
        used.add(each)
        made.append(each)
    return tuple(made)


def _place(name: str | None) -> str:
    return "in the context" if name is None else f"in action {name!r}"


# ---- validation


def _check_columns(
    given: Sequence[object], wanted: Sequence[str], *, extra: Extra, where: str
) -> None:
    """Raise if a column is missing or unknown.

    >>> _check_columns(["age", "reward"], ["age"], extra=False, where="in the table")
    Traceback (most recent call last):
    heavybandits.EncodingError: column 'reward' in the table is not known to the encoder, which
    has age; allow_extra=True ignores unknown columns
    """
    absent = [name for name in wanted if name not in set(given)]
    if absent:
        found = printable(", ".join(map(str, given[:20]))) or "none"
        raise EncodingError(f"is missing {where}, which has {found}", absent[0], None, got=False)
    known = {*wanted, *(extra if isinstance(extra, tuple) else ())}
    unknown = [name for name in given if name not in known]
    if unknown and extra is not True:
        shown = printable(", ".join(wanted))
        reason = (
            f"{where} is not known to the encoder, which has {shown or 'none'}; "
            "allow_extra=True ignores unknown columns"
        )
        raise EncodingError(reason, str(unknown[0]), None, got=False)


def _check_sides(context: Sequence[object], action: Sequence[object]) -> None:
    """Raise unless these are columns with different names."""
    names: set[str] = set()
    for column in (*context, *action):
        if not isinstance(column, Column):
            raise InvalidInputError(
                "context_columns and action_columns must contain Number, Category or Date, got "
                f"{column!r:.80}; Encoder.from_data takes names of columns"
            )
        if column.name in names:
            raise InvalidInputError(f"columns must have different names, got {column.name!r} twice")
        names.add(column.name)


def _check_actions(encoder: Encoder) -> None:
    """Raise if nothing distinguishes one action from another."""
    actions = encoder.actions
    if encoder.interactions == "per_action":
        if not actions or encoder.action is None or len(set(actions)) < len(actions):
            raise InvalidInputError(
                "actions must be different names and action the column that contains them if "
                f"interactions='per_action', got {list(actions)!r:.80} and {encoder.action!r}"
            )
    elif actions:
        raise InvalidInputError(
            f"actions must be empty unless interactions='per_action', got {list(actions)!r:.80}"
        )
    elif not encoder.action_columns:
        raise InvalidInputError(
            "action_columns must have a column unless interactions='per_action', got none; "
            "without one all actions have the same features"
        )
