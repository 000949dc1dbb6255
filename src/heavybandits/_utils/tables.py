"""Rows: selected, grouped, and shown as CSV, LaTeX, HTML and plain text."""

import csv
import html
import io
import math
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InvalidInputError, optional, printable
from .files import replace_atomically

Row = dict[str, Any]
Rows = Sequence[Row]

ABOUT = b"heavybandits"  # key of the metadata of a Parquet file
_FORMULA_SIGN = re.compile(r"[\\^_{]")  # what every formula in a name has
NARROW = 16  # characters; no text is wrapped closer than that

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "∞": r"$\infty$",
    "±": r"$\pm$",
}


def select(rows: Rows, **wanted: Any) -> list[Row]:
    """Return the rows with these values.

    >>> select([{"a": 1, "b": 2}, {"a": 2, "b": 3}], a=2)
    [{'a': 2, 'b': 3}]
    """
    for name, value in wanted.items():
        rows = [row for row in rows if row[name] == value]
    return list(rows)


def grouped(rows: Rows, *names: str) -> list[tuple[Any, ...]]:
    """The rows by the values of these columns: (value, ..., rows), in the order they first appear.

    >>> grouped([{"a": 2, "b": 5}, {"a": 1, "b": 5}, {"a": 2, "b": 7}], "a")
    [(2, [{'a': 2, 'b': 5}, {'a': 2, 'b': 7}]), (1, [{'a': 1, 'b': 5}])]
    """
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return [(*key, mine) for key, mine in found.items()]


def values(rows: Rows, name: str) -> list[Any]:
    """Return the different values of a column, in the order they first appear.

    >>> values([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    [2, 1]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def shown(value: Any) -> str:
    """Return a value as a person reads it: four digits, or fewer where they are whole numbers.

    >>> [shown(v) for v in (12345.678, 0.00012345, 3, 0.5, True, "x", float("inf"), float("nan"))]
    ['12,346', '0.0001234', '3', '0.5', 'yes', 'x', '∞', '']
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0.0 or 1e-4 <= abs(value) < 1000.0:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.3e}"


def _columns(rows: Rows) -> list[str]:
    return list(rows[0]) if rows else []


def to_csv(rows: Rows, columns: Sequence[str] = ()) -> str:
    """Full precision, one header line; text that a spreadsheet would run is shielded.

    >>> to_csv([{"name": "=1+1", "value": -1.5}])
    "name,value\\n'=1+1,-1.5\\n"
    """
    buffer, names = io.StringIO(), list(columns) or _columns(rows)
    plain = csv.writer(buffer, lineterminator="\n")
    quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    lines: list[list[Any]] = [names, *([row.get(name) for name in names] for row in rows)]
    for cells in lines:
        shielded = [shield(cell) for cell in cells]
        broken = any(isinstance(cell, str) and "\r" in cell for cell in shielded)
        (quoted if broken else plain).writerow(shielded)  # a bare \r would end the line
    return buffer.getvalue()


def shield(cell: Any) -> Any:
    """Return a cell of a CSV file; text that a spreadsheet would run as a formula gets an
    apostrophe in front, by which spreadsheets mark text.

    >>> [shield(cell) for cell in ("=1+1", "-10% off", "'=1", "tea", "-", -1.5)]
    ["'=1+1", "'-10% off", "''=1", 'tea', '-', -1.5]
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


_FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
SHIELDED = re.compile(rb"'[=+\-@\t\r]")  # in a file that `unshield` may change
_SHIELD = "^'('*[=+\\-@\\t\\r](?s:.))"


def unshield(column: Any) -> Any:
    """Return a column of text in Arrow without the apostrophes that `shield` has put in front.

    >>> import pyarrow
    >>> unshield(pyarrow.array(["'=1+1", "''=1", "'tea'", None])).to_pylist()
    ['=1+1', "'=1", "'tea'", None]
    """
    return optional("pyarrow.compute", "lab").replace_substring_regex(column, _SHIELD, r"\1")


def write_parquet(
    columns: Mapping[str, Any], path: Path, mode: int = 0o666, about: str = ""
) -> None:
    """Write columns of equal length to a Parquet file, at once or not at all.

    `about` is stored in the metadata of the file, under the name of the library.
    """
    pyarrow, parquet = optional("pyarrow", "lab"), optional("pyarrow.parquet", "lab")
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    table = pyarrow.Table.from_pandas(optional("pandas", "lab").DataFrame(arrays))
    if about:
        table = table.replace_schema_metadata({**table.schema.metadata, ABOUT: about})
    replace_atomically(path, lambda target: parquet.write_table(table, target), mode)


def read_parquet(path: Path) -> tuple[dict[str, Any], str]:
    """Read the columns of a Parquet file, and the `about` that `write_parquet` stored."""
    arrow = optional("pyarrow", "lab")
    try:
        table = optional("pyarrow.parquet", "lab").ParquetFile(path).read()
    except (OSError, arrow.ArrowInvalid) as error:
        raise InvalidInputError(
            f"path must be a Parquet file, got {str(path)!r}, which cannot be read: {error}"
        ) from None
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        plain = arrow.types.is_primitive(column.type) and column.null_count == 0
        columns[name] = column.to_numpy() if plain else np.asarray(column.to_pylist())
    return columns, (table.schema.metadata or {}).get(ABOUT, b"").decode(errors="replace")


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it is. Formulas between dollars stay formulas.

    >>> escape_latex("a_b & 5%"), escape_latex("OL$^2$M"), escape_latex("$5 or $6")
    ('a\\\\_b \\\\& 5\\\\%', 'OL$^2$M', '\\\\$5 or \\\\$6')
    """
    pieces = text.split("$")
    if len(pieces) % 2 and len(pieces) > 1 and all(map(_FORMULA_SIGN.search, pieces[1::2])):
        pieces[::2] = map(_escape, pieces[::2])
        return "$".join(pieces)
    return _escape(text)


def _escape(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _numeric(rows: Rows, column: str) -> bool:
    return all(isinstance(row.get(column), int | float) for row in rows)


def to_latex(
    rows: Rows, caption: str, strong: Collection[tuple[int, str]] = (), comment: str = ""
) -> str:
    """Return a table for the LaTeX package booktabs, with numbers on the right.

    `strong` are the cells (row, column) in bold; `comment` is the first line of the source.
    """
    columns = _columns(rows)
    layout = "".join("r" if _numeric(rows, name) else "l" for name in columns)
    lines = [" & ".join(escape_latex(name) for name in columns) + r" \\", r"\midrule"]
    for i, row in enumerate(rows):
        cells = {name: escape_latex(shown(row.get(name))) for name in columns}
        cells |= {n: rf"\textbf{{{text}}}" for n, text in cells.items() if (i, n) in strong}
        lines.append(" & ".join(cells.values()) + r" \\")
    body = "\n".join(lines)
    first = f"% {comment}\n" if comment else ""
    return (
        f"{first}\\begin{{table}}\n\\centering\n\\caption{{{escape_latex(caption)}}}\n"
        f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def to_html(rows: Rows) -> str:
    """Return a table that scrolls sideways by itself on a narrow screen."""
    columns = _columns(rows)
    kind = {name: " class=number" if _numeric(rows, name) else "" for name in columns}
    head = "".join(f"<th scope=col{kind[name]}>{html.escape(name)}</th>" for name in columns)
    lines = (
        "".join(f"<td{kind[n]}>{html.escape(shown(row.get(n)))}</td>" for n in columns)
        for row in rows
    )
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    whole = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{whole}</div>'


def to_text(
    rows: Sequence[dict[str, object]], columns: Sequence[str] = (), width: int = 100
) -> str:
    """Return columns lined up for a terminal of this width.

    Long texts are wrapped; columns for which there is still no room follow below.

    >>> print(to_text([{"name": "a", "value": 1.5}]))
    name  value
    a       1.5
    >>> print(to_text([{"name": "a", "x": 1, "y": 2}], width=8))
    name  x
    a     1
    <BLANKLINE>
    name  y
    a     2
    """
    if not rows:
        return ""
    names = list(columns) or list(rows[0])
    right = {name for name in names if all(isinstance(row.get(name), int | float) for row in rows)}
    table = [{name: name for name in names}]
    table += [{name: _printed(row.get(name)) for name in names} for row in rows]
    needed = {n: max(len(line) for row in table for line in row[n].split("\n")) for n in names}
    return "\n\n".join(
        "\n".join(line for row in table for line in _lines(row, block, right))
        for block in _blocks(_narrowed(needed, right, width), width)
    )


def _printed(value: Any) -> str:
    """Return a value for a terminal: lines stay, other control characters are escaped."""
    return "\n".join(map(printable, shown(value).split("\n")))


def _narrowed(widths: dict[str, int], right: set[str], width: int) -> dict[str, int]:
    """Return widths with less room for the longest texts, until all columns fit or none is long."""
    made, texts = dict(widths), [name for name in widths if name not in right]
    while texts and sum(made.values()) + 2 * (len(made) - 1) > width:
        longest = max(texts, key=made.__getitem__)
        if made[longest] <= NARROW:
            break
        made[longest] -= 1
    return made


def _blocks(widths: dict[str, int], width: int) -> list[dict[str, int]]:
    """Return the columns in groups that fit, the first column in each of them."""
    first, *rest = widths
    blocks = [{first: widths[first]}]
    for name in rest:
        room = width - sum(blocks[-1].values()) - 2 * len(blocks[-1])
        if widths[name] > room and len(blocks[-1]) > 1:
            blocks.append({first: widths[first]})
        blocks[-1][name] = widths[name]
    return blocks


def _lines(row: dict[str, str], widths: dict[str, int], right: set[str]) -> Iterator[str]:
    """Yield one row, as many lines as its longest cell needs."""
    cells = [
        [piece for line in row[name].split("\n") for piece in textwrap.wrap(line, size) or [""]]
        for name, size in widths.items()
    ]
    for line in zip_longest(*cells, fillvalue=""):
        pairs = zip(line, widths.items(), strict=True)
        padded = (t.rjust(size) if name in right else t.ljust(size) for t, (name, size) in pairs)
        yield "  ".join(padded).rstrip()
