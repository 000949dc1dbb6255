"""The HTML page, all in one file: style, script, data and fallback images inside."""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from .._utils.drawing import PALETTE, colour_places
from .._utils.files import jsonable
from .._utils.tables import shown, to_html
from .outputs import FAILS, HOLDS, UNDECIDED, Figure, Findings, Table, Verdict
from .summary import Found, count_outcomes

CLASSES = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}
MARKS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?"}
LONG = 12  # rows; longer tables are folded away
MANY = 40  # verdicts; of more, only the first experiment's are unfolded


def escape(value: Any) -> str:
    return html.escape(shown(value))


def asset(name: str) -> str:
    """Return a file that is next to this one."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def figure_data(figures: Sequence[Figure], colours: Mapping[str, int]) -> str:
    """Return the data of the figures as JSON, safe inside a script element."""
    made = [jsonable(asdict(figure), digits=5) for figure in figures if not figure.still]
    for figure in made:
        series = [s for v in figure["views"] for p in v["panels"] for s in p["series"]]
        places = colour_places([one["name"] for one in series], colours)
        for one in series:
            one["colour"] = places[one["name"]] % len(PALETTE)
    text = json.dumps({"palette": PALETTE, "figures": made}, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def figure_html(figure: Figure, images: dict[str, bytes]) -> str:
    """Return the place of a figure; for a map, and without a script, it has pictures."""
    pictures = "".join(
        f'<p>{escape(label)}</p><img alt="{escape(figure.title)}, {escape(label)}" '
        f'src="data:image/png;base64,{base64.b64encode(image).decode()}">'
        for label, image in images.items()
    )
    shown = pictures if figure.still else f"<noscript>{pictures}</noscript>"
    return (
        f'<h3>{escape(figure.title)}</h3><figure data-figure="{escape(figure.name)}">'
        f"{shown}<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def table_html(table: Table) -> str:
    """Return a table with its caption, folded away if it is long."""
    inner = f'<p class="caption">{escape(table.caption)}</p>{to_html(table.rows)}'
    if len(table.rows) <= LONG:
        return f"<h3>{escape(table.title)}</h3>{inner}"
    title = f"{escape(table.title)} ({len(table.rows)} rows)"
    return f"<details><summary>{title}</summary>{inner}</details>"


def found_html(name: str, title: str, groups: Sequence[Found]) -> str:
    """Return what an experiment found, in sentences."""
    lines = "".join(
        f'<p><b class="{CLASSES.get(group.outcome or "", "soft")}">{escape(group.heading)}:</b> '
        f"{escape('; '.join(group.claims))}.</p>"
        for group in groups
    )
    return f'<div class="found"><h3><a href="#{escape(name)}">{escape(title)}</a></h3>{lines}</div>'


def verdict_counts(verdicts: Sequence[Verdict]) -> str:
    counted = count_outcomes(verdicts)
    items = (f"<li class={CLASSES[o]}><b>{count}</b>{o}</li>" for o, count in counted.items())
    return f'<ul class="counts">{"".join(items)}</ul>'


def verdict_groups(groups: dict[str, Sequence[Verdict]]) -> str:
    """Return one table per experiment."""
    judged = {title: verdicts for title, verdicts in groups.items() if verdicts}
    few = sum(map(len, judged.values())) <= MANY
    return "".join(
        f"<details{' open' if few or place == 0 else ''}><summary>{escape(title)}: "
        f"{outcomes(verdicts)}</summary>{verdict_table(verdicts)}</details>"
        for place, (title, verdicts) in enumerate(judged.items())
    )


def outcomes(verdicts: Sequence[Verdict]) -> str:
    """Return how many of each outcome there are, in words.

    >>> outcomes([])
    ''
    """
    counted = count_outcomes(verdicts)
    return ", ".join(f"{count} {outcome}" for outcome, count in counted.items() if count)


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """Claim by claim."""
    rows = []
    for verdict in verdicts:
        low, high = verdict.interval
        note = f'<br><span class="soft">{escape(verdict.note)}</span>' if verdict.note else ""
        rows.append(
            f"<tr><td>{escape(verdict.claim)}{note}</td><td>{escape(verdict.reading)}</td>"
            f"<td>{escape(verdict.quantity)}</td>"
            f'<td class=number data-label="measured">{escape(verdict.measured)}</td>'
            f'<td class=number data-label="95% interval">[{escape(low)}, {escape(high)}]</td>'
            f'<td class="outcome {CLASSES[verdict.outcome]}">{MARKS[verdict.outcome]} '
            f"{escape(verdict.outcome)}</td></tr>"
        )
    heads = ("claim", "reading", "quantity", "measured", "95% interval", "outcome")
    head = "".join(f"<th scope=col>{name}</th>" for name in heads)
    return (
        '<div class="scroll tall" tabindex="0"><table class="verdicts">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def section(name: str, title: str, findings: Findings, images: Any, settings: Any) -> str:
    """Return one experiment: figures, tables, settings."""
    notes = "".join(f"<p>{escape(note)}</p>" for note in findings.notes)
    figures = "".join(figure_html(f, images.get(f.name, {})) for f in findings.figures)
    tables = "".join(table_html(table) for table in findings.tables)
    text = html.escape(json.dumps(settings, indent=1, default=str))
    return (
        f"<section id={escape(name)}><h2>{escape(title)}</h2>{notes}{figures}{tables}"
        f"<details><summary>Settings</summary><pre>{text}</pre></details></section>"
    )


def page(
    title: str,
    lead: str,
    facts: str,
    sections: Sequence[str],
    links: str,
    figures: Sequence[Figure],
    colours: Mapping[str, int],
) -> str:
    """Return the whole document. colours: names that have a place of their own in the palette."""
    body = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{asset("page.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1>{lead}<nav>{links}</nav></header>
<main>
{body}
</main>
<footer>{facts}</footer>
<script type="application/json" id="figures">{figure_data(figures, colours)}</script>
<script>
{asset("page.js")}</script>
</body>
</html>
"""
