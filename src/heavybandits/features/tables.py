"""Columns of tables: pandas, polars, pyarrow, mappings of columns, records, CSV and Parquet files.

Frames are read with narwhals and files with pyarrow (extra `lab`), each imported when it is
needed; a mapping of columns or a list of dictionaries needs neither.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError, InvalidInputError, optional, printable
from .._utils.tables import SHIELDED, unshield
from .._utils.validation import closest, is_number
from ..core.arrays import Booleans, Floats
from .values import (
    MISSING,
    ColumnValues,
    is_missing,
    number_key,
    read_number,
    read_text,
    unmask,
)

if TYPE_CHECKING:
    import narwhals
    import pyarrow
    from narwhals.typing import IntoDataFrame

Row = Mapping[str, Any]
Table: TypeAlias = "Mapping[str, Any] | Sequence[Row] | IntoDataFrame | TextFrame | str | Path"
Frame: TypeAlias = "Mapping[str, Any] | narwhals.DataFrame[Any] | TextFrame"  # by `read_frame`

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
CODE = re.compile(rb"(?:^|(?<=[\s,;\"]))0\d+(?=$|[\s,;\"])")  # an integer with a leading zero
MOST_BYTES = 4 << 30  # that a compressed file may expand to, unless the file itself is larger
CHUNK = 1 << 24  # bytes
NUMBERS = frozenset({bool, int, float})
BLOCK = 2**31 - 1  # bytes: a column's type is found in one block, so a file is one block if it fits


# ---- tables


def is_frame(value: object) -> bool:
    """Return True if this has named columns.

    >>> is_frame({"reward": [1.0, 2.0]}), is_frame([{"reward": 1.0}]), is_frame([1.0, 2.0])
    (True, True, False)
    """
    return isinstance(value, Mapping) or _is_native(value) or _is_records(value)


def _is_native(value: object) -> bool:
    return hasattr(type(value), "columns") or hasattr(type(value), "column_names")


def _is_records(value: object) -> TypeGuard[Sequence[Row]]:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def read_frame(source: Table) -> Frame:
    """Read a table or a file as a mapping of columns or a narwhals frame.

    >>> read_frame([{"reward": 1.0, "arm": "a"}, {"reward": 2.0, "arm": "b"}])
    {'reward': [1.0, 2.0], 'arm': ['a', 'b']}
    """
    if isinstance(source, str | Path):
        return read_file(Path(source))
    if isinstance(source, Mapping | TextFrame):
        return source
    if _is_records(source):
        return _turn(source)
    if not _is_native(source):
        raise InvalidInputError(
            "data must be a table with named columns (pandas, polars, pyarrow, a dictionary of "
            f"columns, a list of dictionaries) or a file, got {type(source).__name__}"
        )
    try:
        frame: Frame = optional("narwhals", "lab").from_native(source, eager_only=True)
    except (TypeError, ValueError) as error:  # a lazy frame, or duplicate column names
        raise InvalidInputError(f"data must be a table in memory: {error}") from None
    return frame


def _turn(records: Sequence[Row]) -> dict[str, list[Any]]:
    """Turn records, which must all have the same names, into columns."""
    names = set(records[0])
    for row, record in enumerate(records):
        odd = names ^ set(record) if isinstance(record, Mapping) else {"everything"}
        if odd:
            raise InvalidInputError(
                f"row {row} must have the columns of row 0, it differs in {sorted(odd)}"
            )
    return {str(name): [record[name] for record in records] for name in records[0]}


def column_names(frame: Frame) -> list[str]:
    """Return the names of the columns, in order.

    >>> column_names({"arm": [0], "reward": [1.0]})
    ['arm', 'reward']
    """
    return list(_keys(frame))


def _keys(frame: Frame) -> dict[str, Any]:
    """Return the names as text, each with its key in the frame."""
    names = list(frame if isinstance(frame, Mapping) else frame.columns)
    keys = {str(name): name for name in names}
    if len(keys) < len(names):
        twice = next(name for name in names if keys[str(name)] is not name)
        raise InvalidInputError(f"columns must have different names as text, got {twice!r} twice")
    return keys


def length(frame: Frame) -> int:
    """Return the number of rows; all columns must have the same.

    >>> length({"arm": [0, 1]})
    2
    """
    if not isinstance(frame, Mapping):
        return len(frame)
    lengths = {name: _count(frame[key], name) for name, key in _keys(frame).items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(
            f"columns must have as many rows as each other, got {lengths!r:.200}"
        )
    return next(iter(lengths.values()), 0)


def values(
    frame: Frame, name: str, label: str = "column", *, as_written: bool = False
) -> ColumnValues:
    """Return one column: numbers as an array (nan where missing), anything else as a list.

    Integers and booleans with missing values are a list, because floats cannot represent all of
    them. `as_written` returns the text of a CSV file as it is in the file.

    >>> values({"arm": ["a", None]}, "arm")
    ['a', None]
    """
    keys = _keys(frame)
    if name not in keys:
        shown = printable(", ".join(list(keys)[:20])) + (", ..." if len(keys) > 20 else "")
        close = closest(str(name), keys)
        hint = f"; did you mean {close!r}?" if close else ""
        raise InvalidInputError(f"{label} must be one of the columns {shown}; got {name!r}{hint}")
    if isinstance(frame, Mapping):
        return _as_column(frame[keys[name]], name)
    if as_written and isinstance(frame, TextFrame) and name in frame.texts:
        return frame.texts[name]
    try:
        return _read_series(frame.get_column(keys[name]))
    except Exception as error:  # each library has errors of its own
        reason = f"{type(error).__name__}: {error}"
        raise InvalidInputError(
            f"column {name!r} cannot be read: {printable(reason):.200}"
        ) from None


def _read_series(series: Any) -> ColumnValues:
    dtype, narwhals = series.dtype, optional("narwhals", "lab")
    if dtype.is_float():
        return np.asarray(series.cast(narwhals.Float64).to_numpy(), np.float64)
    fits = dtype.is_integer() and dtype not in (narwhals.Int128, narwhals.UInt128)
    if (fits or dtype == narwhals.Boolean) and not series.null_count():
        return np.asarray(series.to_numpy())
    return list(series.to_list())


def records(source: Table) -> list[dict[str, Any]]:
    """Return the rows of a table, each as values by name.

    A column of a CSV file is text if its numbers do not say how they were written, as in 12e4.

    >>> records({"arm": ["a", "b"], "reward": [1.0, 2.0]})
    [{'arm': 'a', 'reward': 1.0}, {'arm': 'b', 'reward': 2.0}]
    """
    frame = read_frame(source)
    names = column_names(frame)
    columns = [_exact(frame, name) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _exact(frame: Frame, name: str, label: str = "column") -> ColumnValues:
    typed, texts = values(frame, name, label), values(frame, name, as_written=True)
    if texts is typed:
        return typed
    same = all(_is_same(*pair) for pair in set(zip(typed, texts, strict=True)))
    return typed if same and not _has_versions(texts) else texts


def _has_versions(texts: ColumnValues) -> bool:
    """Return True if two of the texts are one number, as the versions 1.1 and 1.10 are."""
    written = {read_text(text) for text in set(texts) if not is_missing(text)}
    keys = [key for key in map(number_key, written) if key is not None]
    return len(set(keys)) < len(keys)


def _is_same(value: object, text: object) -> bool:
    """Return True if a value of a file is the category that its text is."""
    if is_missing(value) or is_missing(text):
        return is_missing(value) and is_missing(text)
    try:
        read, written = read_text(value), read_text(text)
    except EncodingError:  # a float that has lost digits
        return False
    return read == written or read == number_key(written)


def _as_column(found: Any, name: str) -> ColumnValues:
    """Return a column of a mapping as a list, or an array of numbers."""
    if isinstance(found, list):
        return found
    _count(found, name)
    if getattr(found, "ndim", 1) != 1:
        raise InvalidInputError(
            f"column {name!r} must have a value per row, got shape {np.shape(found)}"
        )
    if isinstance(found, np.ma.MaskedArray):
        return unmask(found)
    if isinstance(getattr(found, "dtype", None), np.dtype):
        array = np.asarray(found)
        return array if isinstance(found, np.ndarray) or array.dtype.kind in "biuf" else list(found)
    if hasattr(found, "to_pylist"):  # pyarrow
        return list(found.to_pylist())
    return list(found.to_list() if hasattr(found, "to_list") else found)


def _count(found: Any, name: str) -> int:
    """Return the number of rows of a column, or raise if it is not one."""
    ordered = isinstance(found, Sequence) or hasattr(found, "__array__")
    if isinstance(found, str | bytes) or not ordered or getattr(found, "ndim", 1) == 0:
        raise InvalidInputError(f"column {name!r} must have a value per row, got {found!r:.80}")
    return len(found)


def column(frame: Frame, name: str, label: str = "column", *, exact: bool = False) -> NDArray[Any]:
    """Return one column as an array of numbers, texts or objects.

    `exact` returns the texts of a CSV file if its numbers do not say how they were written.

    >>> column({"arm": ["a", "b"]}, "arm").tolist()
    ['a', 'b']
    """
    found = _exact(frame, name, label) if exact else values(frame, name, label)
    if isinstance(found, list) and not _is_uniform(found):
        cells = np.empty(len(found), object)  # keeps nan apart from "nan", and lists as cells
        for row, value in enumerate(found):
            cells[row] = value
        return cells
    array = np.asarray(found)
    if array.ndim != 1:
        raise InvalidInputError(
            f"{label} {name!r} must have a value per row, got shape {array.shape}"
        )
    return array


def _is_uniform(found: list[Any]) -> bool:
    """Return True if these values are all text, or all numbers that an array represents exactly."""
    if all(isinstance(v, str) for v in found):
        return True
    if not all(is_number(v) for v in found):
        return False
    if np.asarray(found).dtype.kind in "biu":
        return True
    return not any(isinstance(v, int) and abs(v) > 2**53 for v in found)


def numbers(frame: Frame, name: str, label: str = "column") -> Floats:
    """Return one column as numbers, with nan for missing values.

    >>> numbers({"spend": ["1.5", "", "3"]}, "spend")
    array([1.5, nan, 3. ])
    """
    found = column(frame, name, label)
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    made = with_nan(found.tolist())
    if isinstance(made, np.ndarray):
        return made
    out = np.empty(len(found))
    for row, value in enumerate(found):
        try:
            out[row] = read_number(value, name)
        except EncodingError as error:
            raise error.at(f"in row {row}") from None
    return out


def with_nan(values: ColumnValues) -> ColumnValues:
    """Return a list of numbers with missing values as an array with nan; all else as it is.

    >>> with_nan([1, None]), with_nan(["a", None])
    (array([ 1., nan]), ['a', None])
    """
    plain = isinstance(values, list) and all(type(v) in NUMBERS or is_missing(v) for v in values)
    if not plain:
        return values
    try:
        return np.array([None if is_missing(v) else v for v in values], np.float64)
    except OverflowError:  # an integer beyond a double
        return values


def table(
    frame: Frame,
    names: Sequence[str],
    *,
    drop_missing: bool = False,
    named: Mapping[str, str] = {},
) -> tuple[Floats, Booleans]:
    """Return columns of numbers as an array, and which rows of the frame are in it.

    Infinite values raise an error. Missing values raise an error too, or `drop_missing` leaves
    out their rows. `named` has further columns, by their role, in which no value may be missing.

    >>> table({"a": [1, 2, None], "b": [3, 4, 5]}, ["a", "b"], drop_missing=True)[0]
    array([[1., 3.],
           [2., 4.]])
    """
    columns = {name: numbers(frame, name) for name in names}
    others = {
        name: np.where(missing(frame, name, label), np.nan, 0.0) for label, name in named.items()
    }
    sizes = {name: len(column) for name, column in (columns | others).items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError(f"columns must have as many rows as each other, got {sizes!r:.200}")
    for name, column in [*columns.items(), *others.items()]:
        _check(column, name, drop_missing)
    found = np.column_stack([columns[name] for name in names])
    kept = ~np.isnan(np.column_stack([found, *others.values()])).any(axis=1)
    if not kept.any():
        raise InvalidInputError(
            f"columns {', '.join(names)} must have a row without missing values, got none"
        )
    return np.ascontiguousarray(found[kept]), kept


def missing(frame: Frame, name: str, label: str = "column") -> Booleans:
    """Return which rows of a column have no value.

    >>> missing({"arm": ["a", None, float("nan")]}, "arm").tolist()
    [False, True, True]
    """
    found = column(frame, name, label)
    if found.dtype.kind in "biu":
        return np.zeros(len(found), np.bool_)
    return np.array([is_missing(value) for value in found.tolist()], np.bool_)


def _check(found: Floats, name: str, drop_missing: bool) -> None:
    bad = np.flatnonzero(np.isinf(found))
    if bad.size:
        raise InvalidInputError(
            f"column {name!r} must be finite, got {found[bad[0]]} in row {bad[0]}"
        )
    missing = np.flatnonzero(np.isnan(found))
    if missing.size and not drop_missing:
        raise InvalidInputError(
            f"column {name!r} must have no missing values, got {missing.size}, the first in row "
            f"{missing[0]}; drop_missing=True (--drop-missing) leaves out such rows"
        )


# ---- arrays


def standardise(features: Floats) -> Floats:
    """Scale every column to mean 0 and standard deviation 1; a constant column becomes 0.

    >>> standardise(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    powers = np.frexp(np.abs(features).max(axis=0))[1]
    scaled = np.ldexp(features, -powers)  # exact; the squares of 1e200 are no numbers
    deviation = scaled.std(axis=0)
    moved = scaled - scaled.mean(axis=0)
    return np.asarray(moved / np.where(deviation > 0.0, deviation, 1.0))


def scale_features(features: Floats) -> Floats:
    """Standardise, clip at 3 standard deviations, add an intercept, scale the largest norm to 1.

    The theorems assume ||x|| <= 1. The clipping keeps one outlier from shrinking all other rows.
    Means and standard deviations are those of the whole column.

    >>> scale_features(np.array([[1.0], [2.0], [3.0]])).round(3).tolist()
    [[0.632, -0.775], [0.632, 0.0], [0.632, 0.775]]
    """
    used = np.clip(standardise(features), -3.0, 3.0)
    wide = np.column_stack([np.ones(len(used)), used])
    return np.ascontiguousarray(wide / np.sqrt((wide * wide).sum(axis=1).max()))


# ---- files


@dataclass(frozen=True)
class TextFrame:
    """A table from a file of text: columns of the types that the texts look like, and the texts."""

    frame: "narwhals.DataFrame[Any]"
    data: bytes
    keys: Mapping[str, str]  # the names in the file of the columns that are not text

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    def get_column(self, name: str) -> "narwhals.Series[Any]":
        """Return a column of the type that its texts look like."""
        return self.frame.get_column(name)

    @cached_property
    def texts(self) -> dict[str, list[str | None]]:
        """Return the texts of the columns that are not text, as written; None where missing."""
        if not self.keys:
            return {}
        found = _parse(self.data, list(self.keys.values()))
        return {name: found.column(key).to_pylist() for name, key in self.keys.items()}


def read_file(path: Path) -> "TextFrame | narwhals.DataFrame[Any]":
    """Read a file by the suffixes of its name: `.csv`, `.tsv.gz`, `.csv.zst`, `.parquet`.

    >>> read_file(Path("orders.xlsx"))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: data must be a .csv, .tsv, .txt, .parquet or .pq file,
    compressed or not, got 'orders.xlsx'
    """
    kinds = {suffix.lower() for suffix in path.suffixes}
    if not kinds & {*TEXT, *PARQUET}:
        raise InvalidInputError(
            "data must be a .csv, .tsv, .txt, .parquet or .pq file, compressed or not, got "
            f"{path.name!r}"
        )
    if not path.is_file():
        raise InvalidInputError(f"data must be a file that exists, got {str(path)!r}")
    arrow, text = optional("pyarrow", "lab"), kinds & set(TEXT)
    try:
        data = _read_bytes(path)
        return _read_text(data) if text else _read_parquet(data)
    except (OSError, ValueError, EOFError, arrow.ArrowException) as error:
        form = "text" if text else "Parquet"
        reason = f"{path.name!r} cannot be read as {form}: {printable(error)}"
        raise InvalidInputError(reason) from None


def _read_bytes(path: Path) -> bytes:
    """Return the decompressed bytes of a file, or raise if they are too many."""
    chunks, size, most = [], 0, max(MOST_BYTES, path.stat().st_size)
    with optional("pyarrow", "lab").input_stream(str(path), compression="detect") as stream:
        while chunk := stream.read(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            _check_size(size, most)
    return b"".join(chunks)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise ValueError(
            f"it expands to more than {most} bytes; read it with pandas, polars or pyarrow and "
            "pass the table"
        )


def _read_parquet(data: bytes) -> "narwhals.DataFrame[Any]":
    reader = optional("pyarrow", "lab").BufferReader(data)
    file = optional("pyarrow.parquet", "lab").ParquetFile(reader)
    about = file.metadata
    groups = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    expanded = max(sum(groups), 8 * about.num_rows * about.num_columns)
    _check_size(expanded, max(MOST_BYTES, len(data)))
    return _as_frame(file.read())


def _as_frame(table: "pyarrow.Table") -> "narwhals.DataFrame[Any]":
    frame: narwhals.DataFrame[Any] = optional("narwhals", "lab").from_native(table, eager_only=True)
    return frame


def _read_text(data: bytes) -> TextFrame:
    """Parse text; a column of integers stays text if one of them has a leading zero.

    Such integers are codes: a postcode of 01234 would not be found again as 1234.
    """
    found = _parse(data)
    table = _check_names(found.rename_columns([name.strip() for name in found.column_names]))
    whole = {field.name: i for i, field in enumerate(found.schema) if str(field.type) == "int64"}
    if whole and CODE.search(data):
        texts = _parse(data, list(whole))
        for name, place in whole.items():
            column = texts.column(name)
            if any(CODE.match(text.strip().encode()) for text in column.to_pylist() if text):
                table = table.set_column(place, table.column_names[place], column)
    keys = dict(zip(table.column_names, found.column_names, strict=True))
    typed = {field.name: keys[field.name] for field in table.schema if str(field.type) != "string"}
    return TextFrame(_as_frame(table), data, typed)


def _parse(data: bytes, texts: Sequence[str] = ()) -> "pyarrow.Table":
    """Parse all columns with the types that pyarrow finds, or only `texts`, as text."""
    csv, arrow = optional("pyarrow.csv", "lab"), optional("pyarrow", "lab")
    words = {form for word in MISSING for form in (word, word.upper(), word.title())} | {"NaN"}
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    mark = max(",;\t", key=first.count)
    found = csv.read_csv(
        arrow.BufferReader(data),
        csv.ReadOptions(use_threads=False, block_size=min(len(data) + 1, BLOCK)),
        csv.ParseOptions(
            delimiter=mark,
            newlines_in_values=True,
            ignore_empty_lines=mark in first,  # in a single column they are missing values
        ),
        csv.ConvertOptions(
            null_values=sorted(words),
            strings_can_be_null=bool(texts),
            column_types=dict.fromkeys(texts, arrow.string()),
            include_columns=list(texts),
        ),
    )
    return _remove_shields(found) if SHIELDED.search(data) else found


def _remove_shields(table: "pyarrow.Table") -> "pyarrow.Table":
    """Return the table with its texts as they were before `to_csv` shielded them."""
    for place, field in enumerate(table.schema):
        if str(field.type) == "string":
            table = table.set_column(place, field, unshield(table.column(place)))
    return table


def _check_names(table: "pyarrow.Table") -> "pyarrow.Table":
    """Return a table whose column names differ and whose texts are UTF-8, or raise."""
    names = table.column_names
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"its columns must have different names that are not empty, got {names}")
    for field in table.schema:
        if str(field.type) == "binary":
            raise ValueError(f"column {field.name!r} must be UTF-8 text")
    return table
