"""Columns out of anything with columns: pandas, polars, pyarrow, mappings, records and files.

Frames are read through narwhals and files through pyarrow (extra `lab`), each imported when it is
needed; a mapping of columns or a list of dictionaries needs neither.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import EncodingError, InvalidInputError, optional
from .._utils.validation import is_number
from ..core.arrays import Floats
from .files import read_file
from .values import is_missing, read_number

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Row = Mapping[str, Any]
Table: TypeAlias = "Mapping[str, Any] | Sequence[Row] | IntoDataFrame | str | Path"


def is_frame(value: Any) -> bool:
    """Whether this has named columns.

    >>> is_frame({"reward": [1.0, 2.0]}), is_frame([{"reward": 1.0}]), is_frame([1.0, 2.0])
    (True, True, False)
    """
    return isinstance(value, Mapping) or _is_native(value) or _is_records(value)


def _is_native(value: Any) -> bool:
    return hasattr(type(value), "columns") or hasattr(type(value), "column_names")


def _is_records(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], Mapping)


def read_frame(source: Any) -> Any:
    """Something with columns: a mapping, or a frame of narwhals.

    >>> read_frame([{"reward": 1.0, "arm": "a"}, {"reward": 2.0, "arm": "b"}])
    {'reward': [1.0, 2.0], 'arm': ['a', 'b']}
    """
    if isinstance(source, str | Path):
        source = read_file(Path(source))
    if isinstance(source, Mapping):
        return source
    if _is_records(source):
        return _turn(source)
    if not _is_native(source):
        raise InvalidInputError(
            f"frame must have named columns or be a file, got {type(source).__name__}"
        )
    try:
        return optional("narwhals", "lab").from_native(source, eager_only=True)
    except (TypeError, ValueError) as error:  # a lazy frame, or a name twice
        raise InvalidInputError(f"frame must be a table in memory: {error}") from None


def _turn(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns out of records, which must all have the same names."""
    names = set(records[0])
    for row, record in enumerate(records):
        odd = names ^ set(record) if isinstance(record, Mapping) else {"everything"}
        if odd:
            raise InvalidInputError(
                f"row {row} must have the columns of row 0, differs in {sorted(odd)}"
            )
    return {str(name): [record[name] for record in records] for name in records[0]}


def column_names(frame: Any) -> list[str]:
    """The names of the columns, in order.

    >>> column_names({"arm": [0], "reward": [1.0]})
    ['arm', 'reward']
    """
    return list(_keys(frame))


def _keys(frame: Any) -> dict[str, Any]:
    """The names as text, and what the frame knows them by."""
    return {str(name): name for name in (frame if isinstance(frame, Mapping) else frame.columns)}


def length(frame: Any) -> int:
    """The number of rows.

    >>> length({"arm": [0, 1]})
    2
    """
    if not isinstance(frame, Mapping):
        return len(frame)
    lengths = {name: len(values(frame, name)) for name in column_names(frame)}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(
            f"columns must have as many rows as each other, got {lengths!r:.200}"
        )
    return next(iter(lengths.values()), 0)


def values(frame: Any, name: str, label: str = "column") -> Any:
    """One column: numbers as an array (nan where missing), all else as a list.

    >>> values({"arm": ["a", None]}, "arm")
    ['a', None]
    """
    keys = _keys(frame)
    if name not in keys:
        shown = ", ".join(list(keys)[:20]) + (", ..." if len(keys) > 20 else "")
        raise InvalidInputError(f"{label} must be one of the columns {shown}; got {name!r}")
    if isinstance(frame, Mapping):
        found = frame[keys[name]]
        return found if isinstance(found, list | np.ndarray) else _as_list(found, name)
    series = frame.get_column(keys[name])
    if series.dtype.is_numeric() or series.dtype == optional("narwhals", "lab").Boolean:
        return _as_numbers(series)
    return series.to_list()


def records(source: Any) -> list[dict[str, Any]]:
    """The rows of a table, each as values by name.

    >>> records({"arm": ["a", "b"], "reward": [1.0, 2.0]})
    [{'arm': 'a', 'reward': 1.0}, {'arm': 'b', 'reward': 2.0}]
    """
    frame = read_frame(source)
    names = column_names(frame)
    columns = [values(frame, name) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _as_list(found: Any, name: str) -> Any:
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__len__"):
        raise InvalidInputError(f"column {name!r} must hold a value per row, got {found!r:.80}")
    array = np.asarray(found)
    return array if array.dtype.kind in "biuf" else list(found)


def _as_numbers(series: Any) -> NDArray[Any]:
    narwhals = optional("narwhals", "lab")
    if series.null_count() or series.dtype.is_decimal() or series.dtype == narwhals.Unknown:
        series = series.cast(narwhals.Float64)
    return np.asarray(series.to_numpy())


def column(frame: Any, name: str, label: str = "column") -> NDArray[Any]:
    """One column as an array of whatever it holds.

    >>> column({"arm": ["a", "b"]}, "arm").tolist()
    ['a', 'b']
    """
    found = values(frame, name, label)
    if isinstance(found, list) and not _is_uniform(found):
        cells = np.empty(len(found), object)  # nan is not the text "nan", nor a list a dimension
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
    """Whether these values are all text, or all numbers."""
    return all(isinstance(v, str) for v in found) or all(is_number(v) for v in found)


def numbers(frame: Any, name: str, label: str = "column") -> Floats:
    """One column as numbers; what is missing is nan.

    >>> numbers({"spend": ["1.5", "", "3"]}, "spend")
    array([1.5, nan, 3. ])
    """
    found = column(frame, name, label)
    if found.dtype.kind in "biuf":
        return found.astype(np.float64)
    out = np.empty(len(found))
    for row, value in enumerate(found):
        try:
            out[row] = read_number(value, name)
        except EncodingError as error:
            raise error.at(f"in row {row}") from None
    return out


def table(
    frame: Any, names: Sequence[str], *, drop_missing: bool = False, named: Mapping[str, str] = {}
) -> tuple[Floats, Any]:
    """The columns as an array, and which rows of the frame are in it.

    Infinite values are refused. So are missing ones, unless rows with any are to be dropped; also
    in those `named` by what they are for, of which all else is none of our business here.

    >>> table({"a": [1, 2, None], "b": [3, 4, 5]}, ["a", "b"], drop_missing=True)[0]
    array([[1., 3.],
           [2., 4.]])
    """
    columns = {name: numbers(frame, name) for name in names}
    gaps = {
        name: np.where(missing(frame, name, label), np.nan, 0.0) for label, name in named.items()
    }
    sizes = {name: len(column) for name, column in (columns | gaps).items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError(f"columns must have as many rows as each other, got {sizes!r:.200}")
    for name, column in [*columns.items(), *gaps.items()]:
        _check(column, name, drop_missing)
    found = np.column_stack([columns[name] for name in names])
    kept = ~np.isnan(np.column_stack([found, *gaps.values()])).any(axis=1)
    if not kept.any():
        raise InvalidInputError(
            f"columns {', '.join(names)} must have a row without missing values"
        )
    return np.ascontiguousarray(found[kept]), kept


def missing(frame: Any, name: str, label: str = "column") -> NDArray[np.bool_]:
    """Which rows of a column have no value.

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
            f"{missing[0]}; drop_missing=True (--drop-missing) leaves such rows out"
        )


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
