"""One table, Markdown and JSON, and one figure, from the rows of one run."""

import importlib.metadata
import json
import math
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import Curve, Outcome, Row

MET = {True: "met", False: "**not met**", None: ""}
SET_ON = "set on two cores of an AMD EPYC"  # the targets: another one misses some by a little


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    packages = ("heavybandits", "numpy", "numba", "llvmlite")
    return {
        "cpu": _processor(),
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "load average": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "g++": _compiler(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = dict(line.split(":", 1) for line in lines if ":" in line)
    values = {key.strip(): value.strip() for key, value in named.items()}
    family = f"family {values.get('cpu family', '?')} model {values.get('model', '?')}"
    return f"{values.get('model name', platform.machine())}, {family}"


def _compiler() -> str:
    path = shutil.which("g++")
    if path is None:
        return "none"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return said.stdout.splitlines()[0] if said.stdout else "unknown"


def target(row: Row) -> str:
    """The target in words.

    >>> target(Row("Agent", "select + update", 20.0, "us", most=25.0))
    'at most 25'
    """
    words = []
    if row.least is not None:
        words.append(f"at least {row.least:g}")
    if row.most is not None:
        words.append(f"at most {row.most:g}")
    return ", ".join(words)


def number(value: float) -> str:
    """Four digits.

    >>> number(1234567.0), number(0.123456), number(float("nan"))
    ('1.235e+06', '0.1235', '-')
    """
    return "-" if math.isnan(value) else f"{value:.4g}"


def markdown(about: dict[str, str], rows: Sequence[Row]) -> str:
    """The table, a section a part, targets first."""
    lines = ["# Benchmarks", ""]
    lines += [f"- {name}: {value}" for name, value in about.items()]
    goals = [row for row in rows if row.met is not None]
    missed = [row for row in goals if not row.met]
    lines += ["", f"CPU time of one core unless said; {len(goals)} targets, {len(missed)} not met."]
    lines += [f"- not met: {r.what}: {number(r.measured)} {r.unit}, {target(r)}" for r in missed]
    for part in dict.fromkeys(row.part for row in rows):
        lines += [
            "",
            f"## {part}",
            "",
            "| what | measured | target | | note |",
            "|---|--:|---|---|---|",
        ]
        lines += [_line(row) for row in rows if row.part == part]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    """A row of the table; a target that is missed says on what kind of machine it was set."""
    measured = f"{number(row.measured)} {row.unit}".strip()
    words = [row.note, SET_ON if row.met is False else ""]
    note = "; ".join(word for word in words if word)
    return f"| {row.what} | {measured} | {target(row)} | {MET[row.met]} | {note} |"


def as_json(about: dict[str, str], outcome: Outcome) -> str:
    """Everything, for machines; what could not be measured is null."""
    rows = [_plain(row) | {"met": row.met} for row in outcome.rows]
    curves = [curve._asdict() for curve in outcome.curves]
    return json.dumps({"machine": about, "rows": rows, "curves": curves}, indent=1) + "\n"


def _plain(row: Row) -> dict[str, Any]:
    measured = None if math.isnan(row.measured) else row.measured
    return row._asdict() | {"measured": measured}


def write(folder: Path, outcome: Outcome, quick: bool = False) -> list[Path]:
    """bench.md, bench.json, bench.png and bench.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    about = machine() | (
        {"sizes": "tiny (--quick): the targets mean nothing here"} if quick else {}
    )
    paths = [folder / f"bench.{kind}" for kind in ("md", "json", "png", "svg")]
    paths[0].write_text(markdown(about, outcome.rows))
    paths[1].write_text(as_json(about, outcome))
    draw(outcome, paths[2:])
    return paths


# ---- the figure

INK, BLUE, RED, GREY = "#222222", "#1f5fa8", "#c23b22", "#9a9a9a"
FAR = 100.0  # so many times better or worse than a target is far enough for the figure


def draw(outcome: Outcome, paths: Sequence[Path]) -> None:
    """Targets on the left: how far measurements are from them; growth on the right."""
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(curve.panel for curve in outcome.curves))
    goals = [row for row in outcome.rows if row.met is not None and row.unit != "relative"]
    figure = Figure(figsize=(13.0, max(4.5, 0.27 * len(goals) + 1.4)), layout="constrained")
    left: Any = figure
    right: Any = None
    if panels:
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.25, 1.0])[0]
    draw_targets(left.subplots(), goals)
    if right is not None:
        grid = right.subplots(-(-len(panels) // 2), 2, squeeze=False).flat
        for axes, panel in zip(grid, panels, strict=False):
            draw_growth(axes, [curve for curve in outcome.curves if curve.panel == panel])
        for axes in list(grid)[len(panels) :]:
            axes.set_axis_off()
    for path in paths:
        figure.savefig(path, dpi=150)


def margin(row: Row) -> float:
    """How many times better than its target a measurement is; below one it is missed.

    >>> margin(Row("Agent", "select + update", 20.0, "us", most=25.0))
    1.25
    """
    if row.least is not None:
        return row.measured / row.least
    return (row.most or 0.0) / row.measured if row.measured > 0.0 else math.inf


def draw_targets(axes: Any, goals: Sequence[Row]) -> None:
    margins = [max(min(margin(row), FAR), 1.0 / FAR) for row in goals]
    places = range(len(goals), 0, -1)
    axes.hlines(places, 1.0, margins, color=GREY, linewidth=1.0)
    colours = [BLUE if row.met else RED for row in goals]
    axes.scatter(margins, places, c=colours, s=22, zorder=3)
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(min([0.4, *margins]) / 1.5, FAR * 6.0)
    axes.set_yticks(list(places), [f"{row.what}  [{target(row)}]" for row in goals], fontsize=7)
    for place, row, at in zip(places, goals, margins, strict=True):
        text, style = f"{number(row.measured)} {row.unit}", {"va": "center", "fontsize": 7}
        axes.annotate(text, (max(at, 1.0), place), (6, 0), textcoords="offset points", **style)
    axes.margins(y=0.02)
    axes.set_xlabel("times better than the target (blue: met, red: not met)", fontsize=8)
    axes.xaxis.set_major_formatter("{x:g}")
    _bare(axes)


def draw_growth(axes: Any, curves: Sequence[Curve]) -> None:
    from matplotlib.ticker import LogLocator

    for curve, colour in zip(curves, (BLUE, RED), strict=False):
        axes.plot(curve.x, curve.y, "o-", color=colour, markersize=3.5, label=curve.name)
    model = curves[0]
    if model.slope is not None:
        first = max(model.x[0], model.x[-1] / 10.0) if model.slope else model.x[0]
        ends = [first, model.x[-1]]
        line = [model.y[-1] * (x / model.x[-1]) ** model.slope for x in ends]
        label = f"slope {model.slope:g}"
        axes.plot(ends, line, "--", color=GREY, linewidth=1.0, label=label, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if model.slope == 0.0:  # a flat line deserves an axis that does not magnify it
        axes.set_ylim(min(model.y) / 3.0, max(model.y) * 3.0)
    axes.set_xlabel(model.panel.split(", ")[-1], fontsize=8)
    axes.set_title(
        "memory, kB" if "memory" in model.panel else "us a round", fontsize=8, loc="left"
    )
    axes.legend(fontsize=7, frameon=False)
    axes.set_xticks(model.x, [_short(x) for x in model.x])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    _bare(axes)


def _short(x: float) -> str:
    return f"{x:g}" if x < 1e4 else f"$10^{{{math.log10(x):g}}}$"


def _bare(axes: Any) -> None:
    axes.tick_params(labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
