"""The verdicts on Figure 1 as the tables of the README: python docs/making/verdicts.py out/full

One table for the paper's grid of constants and one for the grid that grew. A verdict that rests on
a constant at an end of its grid, or on a flat curve, has a dagger, and its note is below.
"""

import csv
import sys
from pathlib import Path

from heavybandits._utils.tables import Row, grouped, select
from heavybandits.experiments.figure1.settings import GROWN, NOISES, PRINTED


def spaced(number: str) -> str:
    """Return three digits, or a whole number in groups of three.

    >>> spaced("-21800.4"), spaced("-1.4142")
    ('-21,800', '-1.41')
    """
    value = float(number)
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def cell(rows: list[Row], notes: list[str]) -> str:
    """One verdict; its note is remembered."""
    if not rows:
        return ""
    row = rows[0]
    measured, low, high = (spaced(row[name]) for name in ("measured", "low", "high"))
    told = f"{row['outcome']}: {measured} ({low} to {high})"
    if not row["note"]:
        return told
    if row["note"] not in notes:
        notes.append(row["note"])
    return f"{told} †{notes.index(row['note']) + 1}"


def table(rows: list[Row], readings: list[str]) -> str:
    """Claims by readings, and the notes below."""
    notes: list[str] = []
    lines = [
        "| claim of the paper | " + " | ".join(readings) + " |",
        "|---" * (len(readings) + 1) + "|",
    ]
    for claim, noise, mine in grouped(rows, "claim", "noise"):
        panel = noise.partition(" ")[0]
        cells = [cell(select(mine, reading=reading), notes) for reading in readings]
        if any(cells):
            lines.append(f"| {panel} {claim} | " + " | ".join(cells) + " |")
    lines += ["", *(f"†{place} {note}  " for place, note in enumerate(notes, 1))]
    return "\n".join(lines)


def verdict_rows(folder: Path) -> list[Row]:
    """The verdicts of a report that are about the regret of Figure 1, noise and reading apart."""
    text = (folder / "tables" / "verdicts.csv").read_text(encoding="utf-8")
    known = [title for title, _ in NOISES.values()]
    found = []
    for row in csv.DictReader(text.splitlines()):
        noise, _, reading = row["reading"].partition("; ")
        if noise in known and row["quantity"].startswith("regret"):
            found.append({**row, "noise": noise, "reading": reading})
    return found


if __name__ == "__main__":
    every = verdict_rows(Path(sys.argv[1]))
    print(
        table(every, list(PRINTED)),
        table(every, [f"{name}{GROWN}" for name in PRINTED]),
        sep="\n\n",
    )
