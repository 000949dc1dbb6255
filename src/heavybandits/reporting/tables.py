"""Tables as CSV, LaTeX, HTML and plain text."""

import csv
import html
import io
from collections.abc import Sequence

from .outputs import Table
from .style import shown

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


def to_csv(table: Table) -> str:
    """Full precision, one header line."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, table.columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(table.rows)
    return buffer.getvalue()


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escape_latex("a_b & 5%")
    'a\\\\_b \\\\& 5\\\\%'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def _numeric(table: Table, column: str) -> bool:
    return all(isinstance(row.get(column), int | float) for row in table.rows)


def to_latex(table: Table) -> str:
    """A tabular in a table, numbers to the right."""
    layout = "".join("r" if _numeric(table, name) else "l" for name in table.columns)
    lines = [" & ".join(escape_latex(name) for name in table.columns) + r" \\", r"\hline"]
    for row in table.rows:
        lines.append(
            " & ".join(escape_latex(shown(row.get(name))) for name in table.columns) + r" \\"
        )
    body = "\n".join(lines)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{escape_latex(table.title)}. {escape_latex(table.caption)}}}\n"
        f"\\begin{{tabular}}{{{layout}}}\n\\hline\n{body}\n\\hline\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def to_html(table: Table) -> str:
    """A table that scrolls sideways by itself on a narrow screen."""
    numeric = {name: " class=number" for name in table.columns if _numeric(table, name)}
    head = "".join(
        f"<th scope=col{numeric.get(name, '')}>{html.escape(name)}</th>" for name in table.columns
    )
    rows = []
    for row in table.rows:
        cells = (
            f"<td{numeric.get(name, '')}>{html.escape(shown(row.get(name)))}</td>"
            for name in table.columns
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
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
