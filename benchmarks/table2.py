"""The paper's Table 2: eight algorithms at T = 10^4, d = 100, K = 20; ours next to the paper's."""

from functools import partial
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits import algorithms as baselines
from measuring import ARMS, MOMENT, Outcome, Row, best_of, play

PART = "Table 2"

# Seconds the paper prints; SupBTC and SupBMM were most likely timed without their masters.
PAPER = {
    "CRTM": 2.2909,
    "CRT": 3.1737,
    "TOFU": 3931.9963,
    "SupBTC": 1187.1863,
    "CRMM": 0.0514,
    "MoM": 0.0630,
    "MENU": 24.1990,
    "SupBMM": 0.0685,
}
FAMILY = {"CRTM": ["CRT", "TOFU", "SupBTC", "BTC"], "CRMM": ["MoM", "MENU", "SupBMM", "BMM"]}
# Times faster than the paper's seconds; and CRTM or CRMM must be faster still.
FASTER = {"TOFU": 50.0, "SupBTC": 50.0, "BTC": 50.0, "MENU": 20.0}
PRINTED_AS = {"BTC": "SupBTC", "BMM": "SupBMM"}


def policies(dim: int, horizon: int) -> dict[str, Any]:
    """All eight with their theorems' constants, and the two base routines without a master."""
    sizes: dict[str, Any] = {"dim": dim, "horizon": horizon}
    raw, central = sizes | {"raw_moment": MOMENT}, sizes | {"central_moment": 3.0}
    finite = {"arms": ARMS}
    return {
        "CRTM": hb.crtm(**raw),
        "CRT": baselines.crt(dim=dim, raw_moment=MOMENT),
        "TOFU": baselines.tofu(**raw),
        "SupBTC": baselines.supbtc(**raw, **finite),
        "BTC": baselines.btc(**raw, **finite),
        "CRMM": hb.crmm(**central),
        "MoM": baselines.mom(**central),
        "MENU": baselines.menu(**central),
        "SupBMM": baselines.supbmm(**central, **finite),
        "BMM": baselines.bmm(**central, **finite),
    }


def measure(folder: Path, quick: bool) -> Outcome:
    dim, horizon = (10, 600) if quick else (100, 10**4)
    arms, made = hb.arms.Fixed(ARMS, dim), policies(dim, horizon)
    slow = [name for name in made if name in ("TOFU", "SupBTC", "BTC")]
    for policy in made.values():
        play(policy, arms, min(horizon, 2 * policy.plays))  # compiles

    def taken(name: str) -> float:
        return play(made[name], arms, horizon)[1]

    def seconds(names: list[str], repeats: int) -> dict[str, float]:
        return best_of(repeats, {name: partial(taken, name) for name in names})

    times = seconds(slow, 1) | seconds([n for n in made if n not in slow], 1 if quick else 5)
    rows = [
        row for leader, others in FAMILY.items() for row in family(leader, others, times, quick)
    ]
    return Outcome(rows, [])


def family(leader: str, others: list[str], times: dict[str, float], quick: bool) -> list[Row]:
    """The paper's algorithm and those it is compared with."""
    rows = []
    for name in [leader, *others]:
        printed = PAPER[PRINTED_AS.get(name, name)]
        gain, note = printed / times[name], f"the paper prints {printed} s"
        title = name if name in PAPER else f"{name} (no master)"
        rows.append(Row(PART, title, times[name], "s", note=note))
        least = None if quick else FASTER.get(name)
        rows.append(Row(PART, f"{title}: the paper's seconds over ours", gain, "x", least=least))
        if name != leader:
            ratio = printed / PAPER[leader]
            what = f"{title} over {leader}"
            note = f"the paper's ratio is {ratio:.3g}"
            least = 1.0 if name in FASTER else None
            rows.append(Row(PART, what, times[name] / times[leader], "x", least=least, note=note))
    return rows
