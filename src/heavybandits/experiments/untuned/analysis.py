"""Rows of the study to tables, figures and verdicts: pure functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._utils.drawing import Panel, Series, Strip, Strips, View
from ..._utils.tables import Row, grouped
from ..outputs import Figure, Findings, Table
from ..rows import column
from . import catalogue
from .catalogue import REPORT_SEED
from .measures import (
    RECOMMENDED,
    Played,
    count_wrong,
    gather_worlds,
    in_order,
    over_best,
    over_random,
    ratio_error,
    relative_share,
)
from .policies import (
    AUTO,
    CLIP,
    CLIPPED,
    CRAL,
    GRID,
    HURDLE,
    LINUCB,
    OUR_NAMES,
    PLAIN,
    RANDOM,
    THOMPSON,
)
from .problems import PROBLEMS
from .replays import chance_table, gain_table, gain_verdicts
from .settings import DEFAULT, EASY, JUDGED, LEARNED, PROFILES
from .verdicts import problem_verdicts, world_verdicts

HOMOGENEOUS = "homogeneous noise"  # the 65 problems
GRID_NAMES = {row.name for row in GRID}
BEST = "best radius, hindsight"
SHOWN = (AUTO, HURDLE, CRAL, LINUCB, CLIPPED, THOMPSON)  # in the picture
DRAWN = {  # rows of the picture, and the groups in each
    "shops": (catalogue.SHOPS, catalogue.OTHER_SHOPS),
    "levels and units": (catalogue.LEVELS, catalogue.UNITS),
    "extreme rewards": (catalogue.EXTREMES,),
    "clicks, counts,\nclaims": (catalogue.RESPONSES,),
    "noise that varies": (catalogue.NOISY,),
    "homogeneous noise": (HOMOGENEOUS,),
    "fixed arms,\nlong runs": (catalogue.FIXED, catalogue.LONG),
    "drift, unit changes": (catalogue.DRIFT, catalogue.CHANGES),
    "unseen problems": (catalogue.UNSEEN,),
}


def analyse(rows: Sequence[Row]) -> Findings:
    """Return the tables, figures and verdicts of the study."""
    worlds = gather_worlds([row for row in rows if "world" in row])
    problems = gather_problems([row for row in rows if "problem" in row])
    replayed = [row for row in rows if "rows" in row]
    by_days = [row for row in rows if "days" in row]
    every = worlds + problems.get(1.0, [])
    return Findings(
        tables=[group_table(every), world_table(every), detail_table(every)]
        + ([summary_table(problems), problem_table(problems)] if problems else [])
        + ([gain_table(replayed), chance_table(replayed, by_days)] if replayed else []),
        figures=[strip_figure(every), *([scale_figure(problems)] if len(problems) > 1 else [])],
        verdicts=world_verdicts(worlds)
        + problem_verdicts(problems, seeds_of(rows) == {REPORT_SEED})
        + gain_verdicts(replayed, by_days),
        notes=make_notes(every),
    )


def make_notes(worlds: Sequence[Played]) -> list[str]:
    """Return what a reader must know of the figures."""
    full = PROFILES["full"]
    runs, horizon = min(p.runs for p in worlds), min(p.horizon for p in worlds)
    notes = [
        f"Every world has at least {runs} runs of {horizon:,} rounds or more. Seeds and problems "
        "are not those of the design.",
        "The best radius is the best of 8 for that very world, chosen in hindsight on the reported "
        "runs. In intervals it is chosen again in every resample.",
        f"Problems whose best regret is below {EASY:g} d times the gap (the largest gap of the 65 "
        "problems, the mean gap of random play elsewhere) are reported apart: every algorithm has "
        "to learn its d directions.",
        "CRTM, CRMM and CRHL need a moment of the noise. They receive 1, as in the examples of "
        "their documentation.",
        "A share of the gain over LinUCB's is left out where LinUCB's own share is below "
        f"{LEARNED:g}: a ratio would say nothing.",
        "Recommended: the policy that the diagnosis of 500 logged rows names, in every run.",
    ]
    if runs < full["repetitions"] or horizon < full["horizon"]:
        notes.append(
            f"The bars are meant for {full['repetitions']} runs of {full['horizon']:,} rounds "
            f"({full['long_horizon']:,} on fixed arms): heavybandits reproduce untuned --full."
        )
    return notes


def seeds_of(rows: Sequence[Row]) -> set[int]:
    """Return the seeds of the 65 problems."""
    return {row["seed"] for row in rows if "seed" in row}


def gather_problems(rows: Sequence[Row]) -> dict[float, list[Played]]:
    """Return the 65 problems by scale."""
    found: dict[float, list[Played]] = {}
    measured = grouped([row for row in rows if "gap" in row], "problem")
    gaps = {problem: float(column(mine, "gap").mean()) for problem, mine in measured}
    played = [row for row in rows if "regret" in row]
    for problem, scale, horizon, mine in grouped(played, "problem", "scale", "horizon"):
        regret = {policy: in_order(runs) for policy, runs in grouped(mine, "policy")}
        dim, gap = PROBLEMS[problem].dim, gaps[problem]
        found.setdefault(scale, []).append(
            Played(HOMOGENEOUS, problem, dim, horizon, gap, regret, {})
        )
    return found


def named_policies(worlds: Sequence[Played]) -> list[str]:
    """Return the policies that are not of the grid, in the order they first appear."""
    names = dict.fromkeys(name for played in worlds for name in played.regret)
    return [name for name in names if name not in GRID_NAMES]


# ---- tables


def group_table(worlds: Sequence[Played]) -> Table:
    """Return every policy in every group of worlds."""
    table = [
        group_row(group, policy, [played for played in mine if played.has(policy)])
        for group, mine in by_group(worlds).items()
        for policy in named_policies(mine)
        if policy != RANDOM
    ]
    return Table(
        "untuned_groups",
        "Policies without tuning, by group of worlds",
        "Mean over worlds of regret over that of random play, with its standard error; the share "
        "of the possible gain over random, over that of LinUCB at its best radius in hindsight; "
        "regret over that of the best radius of LinUCB and of LinUCB + AdaptiveClip; and the share "
        "of runs above 3 times the median run of their world, and of those that still lose at half "
        "their mean rate in the last tenth of the rounds (settled on a wrong arm).",
        table,
    )


def by_group(worlds: Sequence[Played]) -> dict[str, list[Played]]:
    """Return the worlds by group."""
    found: dict[str, list[Played]] = {}
    for played in worlds:
        found.setdefault(played.group, []).append(played)
    return found


def group_row(group: str, policy: str, worlds: Sequence[Played]) -> Row:
    """Return the measures of one policy in one group."""
    errors = [ratio_error(*played.columns(policy, RANDOM)) for played in worlds]
    found = [relative_share(played, policy) for played in worlds]
    shares = [share for share in found if share is not None]
    best = float(np.mean([1.0 - over_random(played, played.best(PLAIN)) for played in worlds]))
    mean = float(np.mean([over_random(played, policy) for played in worlds]))
    plain = [over_best(played, policy, PLAIN) for played in worlds]
    clipped = [over_best(played, policy, CLIP) for played in worlds]
    runs = sum(played.regret[policy].size for played in worlds)
    wrong = sum(count_wrong(played.regret[policy]) for played in worlds)
    return {
        "group": group,
        "policy": policy,
        "worlds": len(worlds),
        "runs": min(played.regret[policy].size for played in worlds),
        "over random": mean,
        "error": float(np.sqrt(np.sum(np.square(errors)))) / len(worlds),
        "gain over LinUCB's, mean": (1.0 - mean) / best if best >= LEARNED else None,
        "worst": min(shares, default=None),
        "over best radius, median": float(np.median(plain)),
        "90%": float(np.quantile(plain, 0.9)),
        "max": max(plain),
        "over best clipped, median": float(np.median(clipped)),
        "clipped 90%": float(np.quantile(clipped, 0.9)),
        "clipped max": max(clipped),
        "wrong runs": wrong / runs,
        "settled": count_settled(worlds, policy) / runs,
    }


def count_settled(worlds: Sequence[Played], policy: str) -> int:
    """Return the number of runs that settled on a wrong arm, as far as it was recorded."""
    known = [played for played in worlds if policy in played.late]
    return sum(count_wrong(played.regret[policy], played.late[policy]) for played in known)


def world_table(worlds: Sequence[Played]) -> Table:
    """Return regret over that of random play in every world."""
    names = [name for name in named_policies(worlds) if name != RANDOM]
    table = []
    for played in worlds:
        row: dict[str, Any] = {"group": played.group, "world": played.world, "T": played.horizon}
        row |= {"runs": played.runs}
        for filter, name in ((PLAIN, "LinUCB's best radius"), (CLIP, "clipped best radius")):
            best = played.best(filter)
            row |= {name: best.rsplit(" ", 1)[1], f"{name}: regret": over_random(played, best)}
        for name in names:
            there = played.has(name)
            row[name] = over_random(played, name) if there else None
            if name in (*OUR_NAMES, RECOMMENDED):
                error = ratio_error(*played.columns(name, RANDOM)) if there else None
                row[f"{name}: error"] = error
        table.append(row)
    return Table(
        "untuned_worlds",
        "Regret over that of random play, every world",
        "The best radius of LinUCB and of LinUCB + AdaptiveClip in hindsight, and every policy at "
        "its default; for our policies the standard error.",
        table,
    )


def detail_table(worlds: Sequence[Played]) -> Table:
    """Return all measures of our policies in every world."""
    table: list[Row] = []
    for played in worlds:
        for policy in (*OUR_NAMES, RECOMMENDED):
            if played.has(policy):
                best = played.columns(policy, played.best(PLAIN))
                row: Row = {"group": played.group, "world": played.world, "policy": policy}
                row |= {"runs": played.regret[policy].size}
                row |= {"gain over LinUCB's": relative_share(played, policy)}
                row |= {"over best radius": over_best(played, policy, PLAIN)}
                row |= {"error": ratio_error(*best)}
                row |= {"over best clipped": over_best(played, policy, CLIP)}
                row |= {"easy": played.is_easy(JUDGED)}
                row |= {"wrong runs": count_wrong(played.regret[policy])}
                table.append(row)
    return Table(
        "untuned_ours",
        "Our policies against radii chosen in hindsight, every world",
        "The share of the possible gain over random, over that of LinUCB at its best radius; "
        "regret over that of the best radius, without a filter (with its standard error) and with "
        "AdaptiveClip; runs above 3 times the median run.",
        table,
    )


def ratios(problems: dict[float, list[Played]], scale: float, policy: str) -> list[float]:
    """Return the regret of a policy at a scale over that of the best radius at scale 1."""
    return [
        float(now.regret[policy].mean() / base.regret[base.best(JUDGED)].mean())
        for now, base in zip(problems[scale], problems[1.0], strict=True)
    ]


def summary_table(problems: dict[float, list[Played]]) -> Table:
    """Return median, 90% and worst of the ratios of the 65 problems, at every scale."""
    table: list[Row] = []
    easy = [played.is_easy(JUDGED) for played in problems[1.0]]
    for policy in (AUTO, DEFAULT):
        for scale in problems:
            for kind in (False, True):
                found = [
                    ratio
                    for ratio, simple in zip(ratios(problems, scale, policy), easy, strict=True)
                    if simple == kind
                ]
                if found:
                    table.append(
                        {"policy": policy, "rewards x": scale, "problems": len(found)}
                        | {"kind": "easy" if kind else "all others"}
                        | {"median": float(np.median(found))}
                        | {"90%": float(np.quantile(found, 0.9)), "worst": max(found)}
                    )
    return Table(
        "untuned_summary",
        "Regret over that of the best radius in hindsight, 65 problems",
        "Of `auto` and of a radius of 1, with the rewards in three units. The radii are those of "
        "LinUCB + AdaptiveClip.",
        table,
    )


def problem_table(problems: dict[float, list[Played]]) -> Table:
    """Return every problem at every scale."""
    table: list[Row] = []
    for place, played in enumerate(problems[1.0]):
        best = played.best(JUDGED)
        row: Row = {"problem": played.world, "easy": played.is_easy(JUDGED)}
        row |= {"best radius": best.rsplit(" ", 1)[1]}
        row |= {"its regret": float(played.regret[best].mean())}
        for policy in (AUTO, DEFAULT):
            found = {scale: ratios(problems, scale, policy)[place] for scale in problems}
            row |= {f"{policy} x {scale:g}": ratio for scale, ratio in found.items()}
        table.append(row)
    return Table(
        "untuned_problems",
        "Every one of the 65 problems",
        "The best radius of LinUCB + AdaptiveClip in hindsight and its mean regret; the regret of "
        "`auto` and of radius 1 over it, by the factor of the rewards.",
        table,
    )


# ---- figures


def strip_figure(worlds: Sequence[Played]) -> Figure:
    """Return regret over that of random play, one dot per world, by group and policy."""
    groups = {
        label: [played for played in worlds if played.group in members]
        for label, members in DRAWN.items()
    }
    groups = {label: mine for label, mine in groups.items() if mine}
    policies = [name for name in SHOWN if any(played.has(name) for played in worlds)]
    strips = [
        Strip(
            policy,
            [[over_random(p, policy) for p in mine if p.has(policy)] for mine in groups.values()],
        )
        for policy in policies
    ]
    best = [[over_random(p, p.best(PLAIN)) for p in mine] for mine in groups.values()]
    panel = Strips(
        "",
        "regret over that of random play (left is better)",
        "",
        strips=[*strips, Strip(BEST, best)],
        groups=list(groups),
        line=1.0,
        line_label="random play",
    )
    return Figure(
        "untuned",
        "Regret of policies without tuning over that of random play",
        "One dot per world, a large mark for the mean of a group. Peers have their documented "
        "defaults. The best radius is chosen in hindsight for every world, so it is no policy that "
        "anyone could have used.",
        [View("all worlds", [panel])],
    )


def scale_figure(problems: dict[float, list[Played]]) -> Figure:
    """Return the median ratio against the scale of the rewards."""
    scales = sorted(problems)
    series = [
        Series(
            policy,
            scales,
            [float(np.median(ratios(problems, scale, policy))) for scale in scales],
        )
        for policy in (AUTO, DEFAULT)
    ]
    label = "regret over that of the best radius"
    panel = Panel("median problem", "rewards times", label, series, x_scale="log", y_scale="log")
    return Figure(
        "untuned_scales",
        "Regret against the unit of the rewards, 65 problems",
        "The median over problems of regret over that of the best radius in hindsight.",
        [View("all problems", [panel])],
    )
