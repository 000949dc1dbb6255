"""Tables as CSV, LaTeX, HTML and plain text."""

import csv
import html
import io
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from .outputs import Table
from .style import shown

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


def to_text(
    rows: Sequence[dict[str, object]], columns: Sequence[str] = (), width: int = 100
) -> str:
    """Columns lined up for a terminal of this width.

    Long texts are wrapped; columns for which there is still no room go on below.

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
    table += [{name: shown(row.get(name)) for name in names} for row in rows]
    needed = {n: max(len(line) for row in table for line in row[n].split("\n")) for n in names}
    return "\n\n".join(
        "\n".join(line for row in table for line in _lines(row, block, right))
        for block in _blocks(_narrowed(needed, right, width), width)
    )


def _narrowed(widths: dict[str, int], right: set[str], width: int) -> dict[str, int]:
    """The longest texts get less room, until all columns fit or none is long."""
    made, texts = dict(widths), [name for name in widths if name not in right]
    while texts and sum(made.values()) + 2 * (len(made) - 1) > width:
        longest = max(texts, key=made.__getitem__)
        if made[longest] <= NARROW:
            break
        made[longest] -= 1
    return made


def _blocks(widths: dict[str, int], width: int) -> list[dict[str, int]]:
    """The columns in groups that fit, the first column in each of them."""
    first, *rest = widths
    blocks = [{first: widths[first]}]
    for name in rest:
        room = width - sum(blocks[-1].values()) - 2 * len(blocks[-1])
        if widths[name] > room and len(blocks[-1]) > 1:
            blocks.append({first: widths[first]})
        blocks[-1][name] = widths[name]
    return blocks


def _lines(row: dict[str, str], widths: dict[str, int], right: set[str]) -> Iterator[str]:
    """One row, as many lines as its longest cell needs."""
    cells = [
        [piece for line in row[name].split("\n") for piece in textwrap.wrap(line, size) or [""]]
        for name, size in widths.items()
    ]
    for line in zip_longest(*cells, fillvalue=""):
        pairs = zip(line, widths.items(), strict=True)
        padded = (t.rjust(size) if name in right else t.ljust(size) for t, (name, size) in pairs)
        yield "  ".join(padded).rstrip()
