"""The tables and the picture of docs/untuned.md from a report: python docs/making/study.py out/full

Each table is between two marks of the page: results, bars, and the worlds in which each of our
policies is weakest.
"""

import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from heavybandits._utils.tables import Row, grouped
from heavybandits.experiments.untuned.analysis import SHOWN
from heavybandits.experiments.untuned.measures import RECOMMENDED
from heavybandits.experiments.untuned.policies import AUTO, CRAL, HURDLE

HERE = Path(__file__).parent.parent
BEST = "LinUCB's best radius: regret"
WORST = 6  # worlds of a policy in the last table
CODE = {AUTO: "`auto`", HURDLE: "`hurdle`"}


def read(folder: Path, name: str) -> list[Row]:
    """Return the rows of a table of the report."""
    text = (folder / "tables" / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    heads = list(titles)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def mean_of(rows: list[Row], name: str) -> str:
    """Return the mean of a column, or nothing if a world has no number.

    >>> mean_of([{"auto": "0.25"}, {"auto": "0.5"}], "auto")
    '0.375'
    """
    found = [float(row[name]) for row in rows if row.get(name)]
    return f"{sum(found) / len(found):.3f}" if found and len(found) == len(rows) else ""


def group_table(worlds: list[Row]) -> str:
    """Return the mean of every policy of the picture in every group."""
    policies = [*SHOWN[:2], RECOMMENDED, *SHOWN[2:]]
    rows = [
        [str(group), str(len(mine)), *(mean_of(mine, name) for name in (*policies, BEST))]
        for group, mine in grouped(worlds, "group")
    ]
    return markdown(("group", "worlds", *policies, "best radius"), rows)


def runs_text(groups: list[Row]) -> str:
    """Return how many runs every world has, and where a policy has more or fewer."""
    counts = Counter(row["runs"] for row in groups)
    usual = counts.most_common(1)[0][0]
    lines = [f"Every policy has {usual} runs per world. Exceptions:\n\n"]
    for group, runs, mine in grouped(groups, "group", "runs"):
        if runs != usual:
            lines.append(f"- {group}: {runs} runs of {', '.join(row['policy'] for row in mine)}\n")
    return "".join(lines) if len(lines) > 1 else f"Every policy has {usual} runs per world.\n"


def number(text: str, share: bool) -> str:
    """Return a measured number.

    >>> number("0.0369", True), number("1.8113", False), number("126.4", False)
    ('3.7%', '1.81', '126')
    """
    value = float(text)
    return f"{value:.1%}" if share else f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.2f}"


def bar_table(verdicts: list[Row]) -> str:
    """Return every bar, its measured figure, its interval and its outcome."""
    rows = []
    for row in verdicts:
        share = row["quantity"].startswith("share of runs")
        claim = (
            row["claim"]
            .replace("auto's", "`auto`'s")
            .replace(f"{RECOMMENDED}'s", "the recommended policy's")
        )
        for name, marked in CODE.items():
            claim = claim.replace(f"{name} ", f"{marked} ").replace(f"{name},", f"{marked},")
        reading = f"{row['reading']}; {row['note']}" if row["note"] else row["reading"]
        low, high = (number(row[side], share) if row[side] else "" for side in ("low", "high"))
        measured = number(row["measured"], share) if row["measured"] else ""
        rows.append([claim, reading, measured, f"{low} to {high}", row["outcome"]])
    return markdown(("bar", "worlds", "measured", "95% interval", "outcome"), rows)


def weak_table(worlds: list[Row]) -> str:
    """Return the worlds in which each of our policies loses most against the best radius."""
    rows = []
    for policy in (AUTO, HURDLE, CRAL):
        mine = [row for row in worlds if row.get(policy)]
        mine.sort(key=lambda row: float(row[BEST]) - float(row[policy]))
        for row in mine[:WORST]:
            measured = f"{float(row[policy]):.2f} +- {float(row[f'{policy}: error']):.2f}"
            world = f"{row['group']}: {row['world']}"
            rows.append([CODE.get(policy, policy), world, measured, f"{float(row[BEST]):.2f}"])
    return markdown(("policy", "world", "regret over random play's", "best radius"), rows)


def renew(text: str, tables: dict[str, str]) -> str:
    """Return a page with its tables replaced."""
    for name, table in tables.items():
        start, stop = f"<!-- study: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(start)
        after = rest.partition(stop)[2]
        if not found or not after:
            raise ValueError(f"the page has no place for the table {name}")
        text = before + start + table + stop + after
    return text


def main(folder: Path, docs: Path = HERE) -> None:
    """Write the tables and the picture of a report into the docs."""
    worlds = read(folder, "untuned_worlds")
    tables = {"groups": group_table(worlds), "bars": bar_table(read(folder, "verdicts"))}
    tables |= {"weak": weak_table(worlds), "runs": runs_text(read(folder, "untuned_groups"))}
    page = docs / "untuned.md"
    page.write_text(renew(page.read_text(encoding="utf-8"), tables), encoding="utf-8")
    shutil.copyfile(folder / "figures" / "untuned.png", docs / "images" / "untuned.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
