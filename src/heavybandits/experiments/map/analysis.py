"""Rows of the map to tables, a picture and verdicts: pure functions."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._utils.drawing import Tile, Tiles, View
from ..._utils.statistics import Array, bootstrap, student_quantile
from ..._utils.tables import Row, grouped, select, values
from ..outputs import Figure, Findings, Table, Verdict, judge
from ..roster import RANDOM
from ..rows import column
from .settings import COMPARED, KINDS, NONE_LEARNS

POINT = ("kind", "horizon", "index", "level")
FAR_AHEAD = 2.0  # a lead at which the colour of a square is full


class Winner(NamedTuple):
    """Who has the lowest mean regret at a point, and how surely.

    `lead` is the regret of the next one over its own, `share` its own over random play's;
    `separated` if its paired interval against every other algorithm excludes zero, `learned` if
    the one against random play does.
    """

    name: str
    lead: float
    share: float
    separated: bool
    learned: bool


def analyse(rows: Sequence[Row]) -> Findings:
    """Return all that the map says."""
    found = {tuple(point): winner(mine) for *point, mine in grouped(rows, *POINT)}
    return Findings(
        tables=[count_table(found), point_table(found)],
        figures=[picture(found, values(rows, "algorithm"))],
        verdicts=verdicts(rows),
        notes=[
            "Constants are chosen on one half of the repetitions and judged on the other, and the "
            "other way round. Algorithms receive the true moments of the noise.",
            "Separated: Student's interval of the paired difference to every other algorithm, at "
            "95% for all of them together (Bonferroni), excludes zero. The point with the lowest "
            "mean is singled out first, so a lead is read a little too large.",
        ],
    )


def regrets(rows: Sequence[Row]) -> dict[str, Array]:
    """Final regret by algorithm, one number per repetition."""
    return {name: column(mine) for name, mine in grouped(rows, "algorithm")}


def winner(rows: Sequence[Row]) -> Winner:
    """Return the algorithm of the lowest mean regret at one point."""
    found = regrets(rows)
    random = found.pop(RANDOM)
    ranked = sorted(found, key=lambda name: float(found[name].mean()))
    best = found[ranked[0]]
    rest = [found[name] for name in ranked[1:]]
    return Winner(
        name=ranked[0],
        lead=float(rest[0].mean() / best.mean()) if rest else math.inf,
        share=float(best.mean() / random.mean()),
        separated=all(exceeds(other, best, len(rest)) for other in rest),
        learned=exceeds(random, best, len(found)),
    )


def exceeds(first: Array, second: Array, tests: int) -> bool:
    """Return True if the first mean is larger, by Student's paired interval for so many tests.

    >>> exceeds(np.array([3.0, 4.0, 5.1]), np.array([1.0, 2.0, 3.0]), tests=2)
    True
    """
    gaps = first - second
    quantile = student_quantile(1.0 - 0.025 / max(tests, 1), gaps.size - 1)
    return bool(gaps.mean() > quantile * gaps.std(ddof=1) / math.sqrt(gaps.size))


def point_table(found: dict[Any, Winner]) -> Table:
    """Every point of the map."""
    return Table(
        "map",
        "Every point of the map",
        "lead: regret of the next best over the winner's; share: the winner's regret over random "
        "play's; separated from every other; learned: better than random play.",
        [dict(zip(POINT, point, strict=True)) | made._asdict() for point, made in found.items()],
    )


def count_table(found: dict[Any, Winner]) -> Table:
    """In how many points of each panel each algorithm wins."""
    table: list[dict[str, Any]] = []
    for kind, horizon in dict.fromkeys(point[:2] for point in found):
        mine = [made for point, made in found.items() if point[:2] == (kind, horizon)]
        alive = [made for made in mine if made.learned]
        row: dict[str, Any] = {"noise": KINDS[kind][0], "T": horizon, "points": len(mine)}
        row[NONE_LEARNS] = len(mine) - len(alive)
        row["not separated"] = sum(not made.separated for made in alive)
        for name in dict.fromkeys(made.name for made in found.values()):
            row[name] = sum(made.separated and made.name == name for made in alive)
        table.append(row)
    return Table(
        "map_counts",
        "In how many points who wins",
        "An algorithm wins a point if it is separated from every other there.",
        table,
    )


def picture(found: dict[Any, Winner], names: Sequence[str]) -> Figure:
    """Return one panel per horizon and kind of noise."""
    labels = ("tail index", "noise level, E|noise|")
    legend = [*(name for name in names if name != RANDOM), NONE_LEARNS]
    panels = []
    for kind, horizon in dict.fromkeys(point[:2] for point in found):
        mine = {point[2:]: made for point, made in found.items() if point[:2] == (kind, horizon)}
        title = f"{KINDS[kind][0]}, T = {horizon:,}"
        tiles = {place: paint(made) for place, made in mine.items()}
        panels.append(Tiles(title, *labels, tiles=tiles, legend=legend))
    return Figure(
        "map",
        "Who has the lowest regret",
        "Colour: the algorithm of the lowest mean regret, the fuller the further ahead of the next "
        "(full at twice its regret); hatched where it is not separated from all others; grey where "
        "no algorithm is better than random play.",
        [View("all", panels)],
    )


def paint(made: Winner) -> Tile:
    """Return the colour of a winner.

    >>> paint(Winner("CRHL", 1.5, 0.2, True, True))
    Tile(name='CRHL', strength=0.5, hatched=False)
    """
    if not made.learned:
        return Tile(NONE_LEARNS, 1.0, False)
    strength = min(1.0, (made.lead - 1.0) / (FAR_AHEAD - 1.0))
    return Tile(made.name, strength, not made.separated)


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Judge whether our algorithms have less regret than their rivals, averaged over a panel."""
    made = []
    for kind, horizon, mine in grouped(rows, "kind", "horizon"):
        played = values(mine, "algorithm")
        for ours, rivals in COMPARED.items():
            if ours not in played:
                continue
            for rival in rivals:
                regret = np.column_stack([mean_over_map(mine, n) for n in (rival, ours, RANDOM)])
                lead = bootstrap(regret, lambda m: (m[:, 0] - m[:, 1]) / m[:, 2])
                claim = f"averaged over the map, {ours} has less regret than {rival}"
                words = f"regret of {rival} minus that of {ours}, over that of random play"
                made.append(judge(claim, f"{KINDS[kind][0]}, T = {horizon:,}", words, lead))
    return made


def mean_over_map(rows: Sequence[Row], algorithm: str) -> Array:
    """Regret averaged over the points, one number per repetition."""
    mine = grouped(select(rows, algorithm=algorithm), "repetition")
    return np.array([column(part).mean() for _, part in mine])
