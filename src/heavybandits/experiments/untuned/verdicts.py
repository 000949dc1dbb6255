"""The bars of the study, each judged with its interval: pure functions."""

from collections.abc import Callable, Sequence

import numpy as np

from ..._utils.statistics import Array, Estimate, bootstrap, wilson
from ..outputs import Verdict, judge
from .before import BEFORE, BEFORE_HORIZON, BEFORE_RUNS
from .catalogue import (
    EXTREMES,
    FIXED,
    LEVELS,
    OTHER_SHOPS,
    OUTLIER_SHOPS,
    SHOPS,
    UNITS,
    UNSEEN,
)
from .catalogue import PLAIN as UNALTERED
from .measures import (
    RECOMMENDED,
    Played,
    count_wrong,
    gain_of,
    largest,
    median,
    most,
    over_random,
    ratios_to_best,
    ratios_to_plain,
    ratios_to_random,
    relative_share,
    worst_gain_of,
)
from .policies import AUTO, CLIP, CRAL, HURDLE, PLAIN, RANDOM
from .problems import PROBLEMS
from .settings import (
    AS_BEFORE,
    CRAL_BAR,
    EXTREME,
    JUDGED,
    LONG_RATIO,
    OLD_BARS,
    OUTLIER_SHARE,
    SAME,
    SHARE,
    STUCK,
    UNSEEN_BARS,
)

BELOW = float("-inf")
REFERENCES = {PLAIN: "LinUCB", CLIP: "LinUCB + AdaptiveClip"}
OVER_BEST = "regret over that of the best radius in hindsight"


def of_group(worlds: Sequence[Played], *groups: str) -> list[Played]:
    """Return the worlds of these groups."""
    return [played for played in worlds if played.group in groups]


def world_verdicts(worlds: Sequence[Played]) -> list[Verdict]:
    """Judge all bars on worlds."""
    return [
        *shop_verdicts(of_group(worlds, SHOPS, OTHER_SHOPS)),
        *same_verdicts(worlds),
        *fixed_verdicts(of_group(worlds, FIXED)),
        *unseen_verdicts(of_group(worlds, UNSEEN)),
        *extreme_verdicts(of_group(worlds, EXTREMES)),
    ]


def shop_verdicts(shops: Sequence[Played]) -> list[Verdict]:
    """Judge `auto`, `hurdle` and what the diagnosis recommends, in the shops."""
    found: list[Verdict] = []
    struck = [played for played in shops if played.world in OUTLIER_SHOPS]
    struck = [played for played in struck if relative_share(played, RANDOM) is not None]
    for policy in (AUTO, HURDLE, RECOMMENDED):
        if not shops or not all(played.has(policy) for played in shops):
            continue
        reading = f"{len(shops)} shops, {shops[0].runs} runs each"
        share = "share of the possible gain over random, over that of LinUCB's best radius"
        found += [
            judge(
                f"{policy} is never worse than random play in the mean",
                reading,
                "regret over that of random play, worst shop",
                ratios_to_random(shops, policy, largest),
                BELOW,
                1.0,
                note=worst_name(shops, policy),
            ),
            judge(
                f"{policy} has on average at least {SHARE:g} times LinUCB's share of the gain",
                reading,
                f"{share}, both averaged over shops",
                gain_of(shops, policy),
                SHARE,
            ),
        ]
        if struck:
            found.append(
                judge(
                    f"{policy} has at least {OUTLIER_SHARE:g} times LinUCB's share of the gain in "
                    "every shop with outliers",
                    f"{len(struck)} shops, {shops[0].runs} runs each",
                    f"{share}, worst shop",
                    worst_gain_of(struck, policy),
                    OUTLIER_SHARE,
                    note=worst_name(struck, policy),
                )
            )
    return found


def worst_name(worlds: Sequence[Played], policy: str) -> str:
    """Return the world in which a policy does worst against random play."""
    worst = max(worlds, key=lambda played: over_random(played, policy))
    return f"worst: {worst.world}"


def same_verdicts(worlds: Sequence[Played]) -> list[Verdict]:
    """Judge whether levels, units and first arms change nothing."""
    found = []
    for group in (LEVELS, UNITS):
        mine = of_group(worlds, group)
        plain = next((played for played in mine if played.world == UNALTERED), None)
        for played in mine:
            if plain is None or played is plain or not played.has(AUTO):
                continue
            found.append(
                judge(
                    "auto has the same regret whatever the level and the units",
                    f"{played.world}, {played.runs} runs",
                    "regret over that in the unaltered world",
                    ratios_to_plain([played], plain, AUTO, largest),
                    *SAME,
                )
            )
    return found


def fixed_verdicts(worlds: Sequence[Played]) -> list[Verdict]:
    """Judge the regret of long runs on fixed arms, and the runs that settled on a wrong arm."""
    if not worlds:
        return []
    ratios = []
    for filter, name in REFERENCES.items():
        hard = [played for played in worlds if not played.is_easy(filter)]
        if hard:
            ratios.append(
                judge(
                    f"auto's regret on fixed arms is at most {LONG_RATIO:g} times that of the best "
                    "radius",
                    f"{len(hard)} sets of fixed arms, not easy, T = {hard[0].horizon:,}, "
                    f"{hard[0].runs} runs, {name}",
                    f"{OVER_BEST}, worst set",
                    ratios_to_best(hard, AUTO, filter, largest),
                    BELOW,
                    LONG_RATIO,
                )
            )
    runs = sum(played.regret[AUTO].size for played in worlds)
    above = sum(count_wrong(played.regret[AUTO]) for played in worlds)
    settled = sum(count_wrong(played.regret[AUTO], played.late[AUTO]) for played in worlds)
    quantity = "share of runs above 3 times the median run of their set"
    slow = f"{quantity} that still lose at half their mean rate in the last tenth"
    stuck = [
        judge(
            f"less than {STUCK:.0%} of auto's runs {what}",
            f"{len(worlds)} sets of fixed arms, T = {worlds[0].horizon:,}, {runs:,} runs in all",
            name,
            wilson(count, runs),
            BELOW,
            STUCK,
        )
        for what, name, count in (
            ("have 3 times the regret of the median run", quantity, above),
            ("settle on a wrong arm", slow, settled),
        )
    ]
    return [*ratios, *stuck]


def bar_verdicts(
    worlds: Sequence[Played],
    filter: str,
    bars: tuple[float, float, float],
    reading: str,
    policy: str = AUTO,
) -> list[Verdict]:
    """Judge median, 90% and worst of a policy's regret over that of the best radius."""
    hard = [played for played in worlds if not played.is_easy(filter)]
    named = ("median", median), ("90% of the problems", most), ("worst problem", largest)
    return [
        judge(
            f"{policy}'s regret is at most {bar:g} times that of the best radius, {name}",
            f"{len(hard)} {reading}, {hard[0].runs} runs",
            OVER_BEST,
            ratios_to_best(hard, policy, filter, statistic),
            BELOW,
            bar,
        )
        for (name, statistic), bar in zip(named, bars, strict=True)
        if hard
    ]


def unseen_verdicts(worlds: Sequence[Played]) -> list[Verdict]:
    """Judge `auto` and what the diagnosis recommends on the random problems, with both filters."""
    found: list[Verdict] = []
    for policy in (AUTO, RECOMMENDED) if worlds else ():
        if all(played.has(policy) for played in worlds):
            for filter, name in REFERENCES.items():
                reading = f"unseen problems, not easy, {name}"
                found += bar_verdicts(worlds, filter, UNSEEN_BARS, reading, policy)
    return found


def extreme_verdicts(worlds: Sequence[Played]) -> list[Verdict]:
    """Judge what extreme rewards cost, for changing and for fixed arms."""
    found = []
    for layout in ("fresh", "fixed"):
        mine = [played for played in worlds if played.world.startswith(f"{layout}, ")]
        plain = [played for played in mine if played.world.endswith(UNALTERED)]
        altered = [played for played in mine if played not in plain]
        if plain and altered:
            found.append(
                judge(
                    f"extreme rewards cost auto at most {EXTREME:g} times the regret without them",
                    f"{layout} arms, {len(altered)} worlds, {plain[0].runs} runs",
                    "regret over that without extreme rewards, worst world",
                    ratios_to_plain(altered, plain[0], AUTO, largest),
                    BELOW,
                    EXTREME,
                )
            )
    return found


# ---- the 65 problems


def problem_verdicts(problems: dict[float, list[Played]], reported: bool) -> list[Verdict]:
    """Judge the 65 problems at scale 1: `auto`, `auto` and its earlier form, and CRAL.

    The regret of the earlier form is known for the runs of the reported seed only.
    """
    plain = problems.get(1.0, [])
    if not plain:
        return []
    reading = f"problems that are not easy, {REFERENCES[JUDGED]}"
    return [
        *bar_verdicts(plain, JUDGED, OLD_BARS, reading),
        *scale_verdicts(problems),
        *(before_verdicts(plain) if reported else ()),
        *cral_verdicts(plain),
    ]


def scale_verdicts(problems: dict[float, list[Played]]) -> list[Verdict]:
    """Judge whether the unit of the rewards changes nothing, in the median problem."""
    return [
        judge(
            "auto has the same regret whatever the unit of the rewards",
            f"rewards x {scale:g}, {len(mine)} problems",
            "regret over that at scale 1, median problem",
            paired_ratio(mine, problems[1.0], AUTO, AUTO, median),
            *SAME,
        )
        for scale, mine in problems.items()
        if scale != 1.0
    ]


def paired_ratio(
    above: Sequence[Played],
    below: Sequence[Played],
    policy: str,
    other: str,
    over: Callable[[Array], Array],
) -> Estimate:
    """Estimate a statistic over problems of the regret of a policy over that of another."""
    runs = min(played.runs for played in [*above, *below])
    tops = np.column_stack([played.regret[policy][:runs] for played in above])
    bottoms = np.column_stack([played.regret[other][:runs] for played in below])
    count = tops.shape[1]
    return bootstrap(
        np.column_stack([tops, bottoms]), lambda means: over(means[:, :count] / means[:, count:])
    )


def before_verdicts(problems: Sequence[Played]) -> list[Verdict]:
    """Judge `auto` against its earlier form, run by run and by noise, where that is known."""
    known = [p for p in problems if p.world in BEFORE and p.horizon == BEFORE_HORIZON]
    known = [played for played in known if played.runs >= BEFORE_RUNS]
    found = []
    for noise in dict.fromkeys(PROBLEMS[played.world].noise for played in known):
        mine = [played for played in known if PROBLEMS[played.world].noise == noise]
        then = [earlier_form(played) for played in mine]
        found.append(
            judge(
                f"auto's regret is at most {AS_BEFORE:g} times that of its earlier form",
                f"noise {noise}, {len(mine)} problems, {BEFORE_RUNS} runs",
                "regret over that of the earlier form, median problem",
                paired_ratio(mine, then, AUTO, AUTO, median),
                BELOW,
                AS_BEFORE,
            )
        )
    return found


def earlier_form(played: Played) -> Played:
    """Return the same problem, played by the earlier form of `auto`."""
    return played._replace(regret={AUTO: np.array(BEFORE[played.world].split(), np.float64)})


def cral_verdicts(problems: Sequence[Played]) -> list[Verdict]:
    """Judge CRAL's tuned form against `auto` where noise is homogeneous and nothing drifts."""
    mine = [p for p in problems if p.has(CRAL) and not PROBLEMS[p.world].drifts]
    mine = [played for played in mine if not played.is_easy(JUDGED)]
    return [
        judge(
            f"CRAL's tuned form has at most {CRAL_BAR:g} times the regret of auto, {name}",
            f"{len(mine)} stationary problems that are not easy, {mine[0].runs} runs",
            "regret of CRAL over that of auto",
            paired_ratio(mine, mine, CRAL, AUTO, statistic),
            BELOW,
            CRAL_BAR,
        )
        for name, statistic in (("median", median), ("worst problem", largest))
        if mine
    ]
