"""From runs to a folder that a person wants to look at."""

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._utils.files import replace_atomically
from .._utils.tables import Row, to_csv, to_latex, write_parquet
from .._utils.version import __version__
from ..sweeps.store import versions
from .outputs import Figure, Table, Verdict, write_figure
from .page import escape, found_html, page, section, verdict_counts, verdict_groups
from .run import PROFILES, Run
from .summary import group_claims, say_total

# Places in the palette, the same for an algorithm wherever it appears.
COLOURS = {"CRTM": 0, "CRMM": 1, "OL2M": 2, "GLOC": 3, "OL2M_mom": 4, "GLOC_mom": 5}
COLOURS |= {"random play": 6, "no algorithm learns": 6, "here": 0, "paper": 1}


def make_report(runs: Sequence[Run], profile: str, folder: str | Path) -> Path:
    """Write figures, tables, rows and the page; the path of the page."""
    folder = Path(folder)
    for part in ("figures", "tables", "rows"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    images = {f.name: write_figure(f, folder / "figures", COLOURS) for f in all_figures(runs)}
    tables = [table for run in runs for table in run.findings.tables]
    if rows := [verdict.as_row() for verdict in all_verdicts(runs)]:
        tables.append(Table("verdicts", "Verdicts", "Every claim that was tested.", rows))
    for table in tables:
        write_text(folder / "tables" / f"{table.name}.csv", to_csv(table.rows))
        latex = to_latex(table.rows, f"{table.title}. {table.caption}")
        write_text(folder / "tables" / f"{table.name}.tex", latex)
    for run in runs:
        if run.rows:
            write_rows(run.rows, folder / "rows" / f"{run.name}.parquet")
    write_text(folder / "report.html", make_page(runs, profile, images))
    return folder / "report.html"


def all_figures(runs: Sequence[Run]) -> list[Figure]:
    return [figure for run in runs for figure in run.findings.figures]


def all_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    return [verdict for run in runs for verdict in run.findings.verdicts]


def write_text(path: Path, text: str) -> None:
    replace_atomically(path, lambda target: target.write_text(text, encoding="utf-8"))


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """All rows as Parquet."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    write_parquet({name: [row.get(name) for row in rows] for name in columns}, path)


def make_page(runs: Sequence[Run], profile: str, images: dict[str, dict[str, bytes]]) -> str:
    """Return the page of these runs."""
    verdicts, groups = all_verdicts(runs), {run.title: run.findings.verdicts for run in runs}
    sections = [
        found_section(runs),
        f'<section id="run"><h2>This run</h2>{run_html(runs, profile)}</section>',
        '<section id="verdicts"><h2>Verdicts</h2><p>A claim holds if the whole 95% interval of '
        "what was measured agrees with it, does not hold if none of it does, and is undecided at "
        "this number of repetitions otherwise.</p>"
        f"{verdict_counts(verdicts)}{verdict_groups(groups)}</section>",
    ]
    sections += [failure_section(run) for run in runs if run.failed]
    done = [run for run in runs if not run.failed]
    sections += [section(r.name, r.title, r.findings, images, r.settings) for r in done]
    links = "".join(f'<a href="#{escape(r.name)}">{escape(r.title)}</a> ' for r in done)
    title = "heavybandits: the paper, run again"
    lead = f"<p>{escape(say_total(runs))}</p>"
    return page(title, lead, facts_html(runs), sections, links, all_figures(runs), COLOURS)


def found_section(runs: Sequence[Run]) -> str:
    """Return what was found, experiment by experiment."""
    found = "".join(
        found_html(run.name, run.title, group_claims(run.findings.verdicts))
        for run in runs
        if run.findings.verdicts
    )
    return f'<section id="found"><h2>What was found</h2>{found}</section>'


def failure_section(run: Run) -> str:
    items = "".join(f"<li>{escape(label)}: {escape(text)}</li>" for label, text in run.failed[:20])
    return (
        f'<section><h2 class="fails">{escape(run.title)}: {len(run.failed)} cells failed</h2>'
        f"<ul>{items}</ul></section>"
    )


def run_html(runs: Sequence[Run], profile: str) -> str:
    """Return the paper, the name of the profile, and what the profile leaves out."""
    known = PROFILES[profile]
    skipped = [n for n in known.experiments if n not in {run.name for run in runs}]
    left_out = [*known.leaves_out, *(f"{name}, which was not asked for" for name in skipped)]
    out = f"<p>It leaves out: {escape('; '.join(left_out))}.</p>" if left_out else ""
    return (
        '<p>Xue, Wang, Wan, Yi, Zhang (2023), "Efficient Algorithms for Generalized Linear Bandits '
        'with Heavy-tailed Rewards": its figure, its tables and its claims.</p>'
        f"<p>Profile <b>{escape(profile)}</b>: {escape(known.summary)}.</p>{out}"
    )


def facts_html(runs: Sequence[Run]) -> str:
    """Versions, machine and times."""
    made = {"heavybandits": __version__, "python": platform.python_version()} | versions()
    times = "; ".join(f"{run.title} {run.cpu_seconds:,.0f} s" for run in runs)
    return (
        f"<p>CPU time: {escape(times)}.</p>"
        f"<p>Made with {escape(', '.join(f'{n} {v}' for n, v in made.items()))} on "
        f"{escape(platform.machine())}, {escape(platform.system())}.</p>"
        "<p>Next to this file: figures (PNG, SVG, PDF), tables (CSV, LaTeX), rows (Parquet).</p>"
    )


def as_json(runs: Sequence[Run], report: Path) -> dict[str, Any]:
    """For machines."""
    return {
        "report": str(report),
        "experiments": [
            {
                "name": run.name,
                "settings": run.settings,
                "cpu_seconds": run.cpu_seconds,
                "verdicts": [asdict(verdict) for verdict in run.findings.verdicts],
                "tables": {table.name: list(table.rows) for table in run.findings.tables},
                "failed": [{"cell": label, "error": text} for label, text in run.failed],
            }
            for run in runs
        ],
    }
