"""Columns out of anything with columns: mappings, pandas, polars, pyarrow, CSV and Parquet files.

Frames are recognised by what they can do (`frame[name]` and a list of names), so none of these
libraries is needed, and none is imported except to read Parquet.
"""

import csv
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InvalidInput
from ..support.optional import optional

Floats = NDArray[np.float64]
MISSING = {"", "na", "nan", "null", "none", "n/a", "?"}


def is_frame(value: Any) -> bool:
    """Whether this has named columns.

    >>> is_frame({"reward": [1.0, 2.0]}), is_frame([1.0, 2.0])
    (True, False)
    """
    return isinstance(value, Mapping) or hasattr(value, "columns") or hasattr(value, "column_names")


def column_names(frame: Any) -> list[str]:
    """The names of the columns, in order.

    >>> column_names({"arm": [0], "reward": [1.0]})
    ['arm', 'reward']
    """
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    names = getattr(frame, "column_names", None)  # pyarrow; its `columns` are the data
    return [str(name) for name in (frame.columns if names is None else names)]


def read_frame(source: Any) -> Any:
    """A frame as it is, or the columns of a `.csv`, `.csv.gz`, `.tsv`, `.txt` or `.parquet` file.

    >>> read_frame({"reward": [1.0]})
    {'reward': [1.0]}
    """
    if not isinstance(source, str | Path):
        if is_frame(source):
            return source
        raise InvalidInput(
            f"frame must have named columns or be a file, got {type(source).__name__}"
        )
    path = Path(source)
    if not path.is_file():
        raise InvalidInput(f"frame must be a file that exists, got {str(path)!r}")
    kinds = {suffix.lower() for suffix in path.suffixes}
    if kinds & {".parquet", ".pq"}:
        return _read_parquet(path)
    if kinds & {".csv", ".tsv", ".txt"}:
        return _read_text(path)
    raise InvalidInput(f"frame must be a .csv or .parquet file, got {path.name!r}")


def _read_parquet(path: Path) -> Any:
    parquet = optional("pyarrow.parquet", "lab")
    try:
        return parquet.read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are both
        raise InvalidInput(f"{path.name!r} cannot be read as Parquet: {error}") from None


def _read_text(path: Path) -> dict[str, list[str]]:
    """The columns of a delimited file as text; numbers are made of those that are asked for."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file, delimiter=_delimiter(file)) if line]
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path.name!r} cannot be read as text: {error}") from None
    if not lines:
        raise InvalidInput(f"{path.name!r} must have a header and rows, got an empty file")
    header, rows = [name.strip() for name in lines[0]], lines[1:]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidInput(
                f"{path.name!r} must have {len(header)} fields in a line, "
                f"got {len(row)} in line {number}"
            )
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}


def _delimiter(file: Any) -> str:
    """The separator that occurs most often in the first line."""
    first = file.readline()
    file.seek(0)
    return max(",;\t", key=first.count)


def column(frame: Any, name: str, label: str = "column") -> NDArray[Any]:
    """One column as an array of whatever it holds.

    >>> column({"arm": ["a", "b"]}, "arm").tolist()
    ['a', 'b']
    """
    names = column_names(frame)
    if name not in names:
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InvalidInput(f"{label} must be one of the columns {shown}; got {name!r}")
    values = frame[name]
    if isinstance(values, list | tuple) and any(isinstance(v, list | tuple | set) for v in values):
        cells = np.empty(len(values), object)  # a list in a cell is a value, not a dimension
        cells[:] = values
        return cells
    return np.asarray(values)


def numbers(frame: Any, name: str, label: str = "column") -> Floats:
    """One column as numbers; what is missing is nan.

    >>> numbers({"spend": ["1.5", "", "3"]}, "spend")
    array([1.5, nan, 3. ])
    """
    values = column(frame, name, label)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    out = np.empty(len(values))
    for row, value in enumerate(values):
        out[row] = _number(value, name, row)
    return out


def _number(value: Any, name: str, row: int) -> float:
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        shown = value.item() if isinstance(value, np.generic) else value
        raise InvalidInput(
            f"column {name!r} must hold numbers, got {shown!r} in row {row}"
        ) from None


def table(frame: Any, names: Sequence[str], *, drop_missing: bool = False) -> tuple[Floats, Any]:
    """The columns as an array, and which rows of the frame are in it.

    Infinite values are refused. So are missing ones, unless rows with any are to be dropped.

    >>> table({"a": [1, 2, None], "b": [3, 4, 5]}, ["a", "b"], drop_missing=True)[0]
    array([[1., 3.],
           [2., 4.]])
    """
    values = np.column_stack([numbers(frame, name) for name in names])
    for place, name in enumerate(names):
        _check(values[:, place], name, drop_missing)
    kept = ~np.isnan(values).any(axis=1)
    if not kept.any():
        raise InvalidInput(f"columns {', '.join(names)} must have a row without missing values")
    return np.ascontiguousarray(values[kept]), kept


def standardise(features: Floats) -> Floats:
    """Every column with mean 0 and deviation 1; one that never changes is 0.

    >>> standardise(np.array([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    deviation = features.std(axis=0)
    moved = features - features.mean(axis=0)
    return np.asarray(moved / np.where(deviation > 0.0, deviation, 1.0))


def scale_features(features: Floats) -> Floats:
    """Features standardised, clipped at 3 deviations, with an intercept, the longest row of norm 1.

    The theory wants ||x|| <= 1, and one odd row must not shrink all the others, hence the clipping.
    Means and deviations are those of the whole column.

    >>> scale_features(np.array([[1.0], [2.0], [3.0]])).round(3).tolist()
    [[0.632, -0.775], [0.632, 0.0], [0.632, 0.775]]
    """
    used = np.clip(standardise(features), -3.0, 3.0)
    wide = np.column_stack([np.ones(len(used)), used])
    return np.ascontiguousarray(wide / np.sqrt((wide * wide).sum(axis=1).max()))


def _check(values: Floats, name: str, drop_missing: bool) -> None:
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        raise InvalidInput(f"column {name!r} must be finite, got {values[bad[0]]} in row {bad[0]}")
    missing = np.flatnonzero(np.isnan(values))
    if missing.size and not drop_missing:
        raise InvalidInput(
            f"column {name!r} must have no missing values, got {missing.size}, the first in row "
            f"{missing[0]}; drop_missing=True (--drop-missing) leaves such rows out"
        )
