"""Rows: selected, grouped, and shown as CSV, LaTeX, HTML and plain text."""

import csv
import html
import io
import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
Rows = Sequence[Row]

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
}


def select(rows: Rows, **wanted: Any) -> list[Row]:
    """The rows with these values.

    >>> select([{"a": 1, "b": 2}, {"a": 2, "b": 3}], a=2)
    [{'a': 2, 'b': 3}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


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
    """The different values of a column, in the order they first appear.

    >>> values([{"a": 2}, {"a": 1}, {"a": 2}], "a")
    [2, 1]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def shown(value: Any) -> str:
    """A value as a person reads it: four digits, or fewer where they are whole numbers.

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


def to_csv(rows: Rows) -> str:
    """Full precision, one header line."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _columns(rows), lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escape_latex("a_b & 5%")
    'a\\\\_b \\\\& 5\\\\%'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _numeric(rows: Rows, column: str) -> bool:
    return all(isinstance(row.get(column), int | float) for row in rows)


def to_latex(rows: Rows, caption: str) -> str:
    """A tabular in a table, numbers to the right."""
    columns = _columns(rows)
    layout = "".join("r" if _numeric(rows, name) else "l" for name in columns)
    lines = [" & ".join(escape_latex(name) for name in columns) + r" \\", r"\hline"]
    for row in rows:
        lines.append(" & ".join(escape_latex(shown(row.get(name))) for name in columns) + r" \\")
    body = "\n".join(lines)
    return (
        f"\\begin{{table}}\n\\centering\n\\caption{{{escape_latex(caption)}}}\n"
        f"\\begin{{tabular}}{{{layout}}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def to_html(rows: Rows) -> str:
    """A table that scrolls sideways by itself on a narrow screen."""
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


def to_text(rows: Sequence[dict[str, object]], columns: Sequence[str] = ()) -> str:
    """Columns lined up for a terminal.

    >>> print(to_text([{"name": "a", "value": 1.5}]))
    name  value
    a       1.5
    """
    if not rows:
        return ""
    names = list(columns) or list(rows[0])
    cells = [names, *([shown(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    right = [all(isinstance(row.get(name), int | float) for row in rows) for name in names]
    lines = (
        "  ".join(
            text.rjust(width) if flush else text.ljust(width)
            for text, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in cells
    )
    return "\n".join(lines)
