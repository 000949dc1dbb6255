"""CSV and Parquet files, compressed or not, read by pyarrow (extra `lab`)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError, optional
from .values import MISSING

TEXT, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
CODE = re.compile(rb"(?:^|(?<=[\s,;\"]))0\d+(?=$|[\s,;\"])")  # a whole number with a zero in front
BLOCK = 2**31 - 1  # bytes: a column's type is found in one block, so there is one if it fits


def read_file(path: Path) -> Any:
    """The table of a file, by the endings of its name: `.csv`, `.tsv.gz`, `.csv.zst`, `.parquet`.

    >>> read_file(Path("orders.xlsx"))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: frame must be a .csv or .parquet file, compressed or
    not, got 'orders.xlsx'
    """
    kinds = {suffix.lower() for suffix in path.suffixes}
    if not kinds & {*TEXT, *PARQUET}:
        raise InvalidInputError(
            f"frame must be a .csv or .parquet file, compressed or not, got {path.name!r}"
        )
    if not path.is_file():
        raise InvalidInputError(f"frame must be a file that exists, got {str(path)!r}")
    arrow, text = optional("pyarrow", "lab"), kinds & set(TEXT)
    try:
        with arrow.input_stream(str(path), compression="detect") as stream:
            data = stream.read()
        return _read_text(data) if text else _read_parquet(data)
    except (OSError, ValueError, EOFError) as error:  # pyarrow's own errors are among these
        form = "text" if text else "Parquet"
        raise InvalidInputError(f"{path.name!r} cannot be read as {form}: {error}") from None


def _read_parquet(data: bytes) -> Any:
    reader = optional("pyarrow", "lab").BufferReader(data)
    return optional("pyarrow.parquet", "lab").read_table(reader)


def _read_text(data: bytes) -> Any:
    """The table of a text; whole numbers of which one has a zero in front are codes, and stay text.

    A postcode of 01234 would not be found again as 1234.
    """
    found = _parse(data)
    table = _check(found.rename_columns([name.strip() for name in found.column_names]))
    whole = {field.name: i for i, field in enumerate(found.schema) if str(field.type) == "int64"}
    if whole and CODE.search(data):
        texts = _parse(data, list(whole))
        for name, place in whole.items():
            column = texts.column(name)
            if any(CODE.match(text.strip().encode()) for text in column.to_pylist() if text):
                table = table.set_column(place, table.column_names[place], column)
    return table


def _parse(data: bytes, texts: Sequence[str] = ()) -> Any:
    """The table as pyarrow sees it, or some of its columns, as text."""
    csv, arrow = optional("pyarrow.csv", "lab"), optional("pyarrow", "lab")
    words = {form for word in MISSING for form in (word, word.upper(), word.title())} | {"NaN"}
    first = data.partition(b"\n")[0].decode("utf-8", "replace")
    mark = max(",;\t", key=first.count)
    return csv.read_csv(
        arrow.BufferReader(data),
        csv.ReadOptions(use_threads=False, block_size=min(len(data) + 1, BLOCK)),
        csv.ParseOptions(
            delimiter=mark,
            newlines_in_values=True,
            ignore_empty_lines=mark in first,  # of one column they are missing values
        ),
        csv.ConvertOptions(
            null_values=sorted(words),
            strings_can_be_null=bool(texts),
            column_types=dict.fromkeys(texts, arrow.string()),
            include_columns=list(texts),
        ),
    )


def _check(table: Any) -> Any:
    """Every column has a name of its own and is text that can be read."""
    names = table.column_names
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(f"its columns must have names of their own, got {names}")
    for field in table.schema:
        if str(field.type) == "binary":
            raise ValueError(f"column {field.name!r} is not in UTF-8")
    return table
