"""Policies without tuning: bars and profiles. Data only."""

from typing import Any

from .catalogue import FIXED, LONG, OTHER_SHOPS, REPORT, REPORT_SEED, SHOPS
from .policies import AUTO, CLIP, CRAL, GRID, HURDLE, LINUCB, NAMES, PLAIN, RANDOM, radius_name
from .problems import PROBLEMS

TITLE = "Policies without tuning"

SCALES = (1.0, 0.01, 100.0)  # dollars, cents given as dollars, dollars given as cents
JUDGED = CLIP  # the filter of the radii that the bars of the 65 problems are about
DEFAULT = radius_name(CLIP, 1.0)
AT_ALL_SCALES = (AUTO, DEFAULT)  # elsewhere the grid would only move

# Bars: regret over that of the best radius in hindsight (median, 90%, worst), and others.
OLD_BARS, UNSEEN_BARS = (1.05, 1.4, 2.0), (1.10, 1.6, 2.5)
SHARE, OUTLIER_SHARE = 0.9, 0.8  # of LinUCB's share of the possible gain, at its best radius
LEARNED = 0.1  # LinUCB's share below which nothing can be compared with it
SAME = (0.9, 1.1)  # regret over that in the unaltered world
EXTREME = 2.0  # the same with extreme rewards
LONG_RATIO, STUCK = 2.5, 0.01  # fixed arms: regret over the best radius; runs on a wrong arm
WRONG = 3.0  # a run above this multiple of the median run has settled on a wrong arm
AS_BEFORE, CRAL_BAR = 1.1, 2.0  # over the earlier `auto`, and CRAL over `auto`
BEHIND = 0.02  # of the oracle's gain, in replays
EASY = 2.0  # times d times the gap: every algorithm has to learn its d directions

SETS = ("rand", "cdnow", "nyse_n", "nyse_o", "sp500")
SPARSE = (0.004, 0.01, 0.02, 0.05)  # shares of rows that pay anything
STRETCHES = 40  # of consecutive days: months each, so that nothing leads from one to the next
GAP_RUNS = 20  # in which the largest gap of a problem is looked for
LOGGED = 500  # rows from which the diagnosis recommends a policy

LONG_GROUPS = (FIXED, LONG)  # with the long horizon
OFTEN = 5  # times as many runs of our policies on fixed arms: wrong arms are rare

_GRID = [row.name for row in GRID]
_COMMON: dict[str, Any] = {"groups": list(REPORT), "worlds": None, "policies": NAMES}
_COMMON |= {"problems": list(PROBLEMS), "scales": list(SCALES), "seed": REPORT_SEED}
_COMMON |= {"sets": list(SETS), "sparse": list(SPARSE), "stretches": STRETCHES}
_COMMON |= {"logged": LOGGED, "often": OFTEN, "chunk": 10}  # chunk: runs of a cell

_FEW = [radius_name(name, radius) for name in (PLAIN, CLIP) for radius in (0.1, 1.0)]
_SMALL = ["2% x 100 or 20% x 5", "3% x 60 or 25% x 4", "d 2, K 2, gauss", "one-hot, gauss"]
_LOOK_AT = [
    *("shop", "2% refunds", "2% x 100 or 20% x 5"),
    *("books, 8 to 40", "30% refunds", "3% x 60 or 25% x 4"),
    *("unaltered", "level 1,000", "columns times 10^-3 ... 10^3", "first arms x 1,000"),
    *("fresh, unaltered", "fresh, 1 first of -10,000", "fresh, one of 1e+100 in the middle"),
    *("clicks, 5%", "claims, 5%", "noise ~ price, t3", "noise ~ feature, fresh, gauss"),
    *("d 12, K 30, gauss", "d 5, K 40, t3", "fresh, t3", "shop, then rewards x 100"),
    *("problem 0", "problem 1", "problem 2", "problem 3"),
]

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"groups": [SHOPS, OTHER_SHOPS, FIXED], "worlds": _SMALL, "often": 2, "logged": 100}
    | {"policies": [RANDOM, AUTO, CRAL, LINUCB, *_FEW]}
    | {"problems": list(PROBLEMS)[45::19], "scales": [1.0, 100.0], "sets": [], "sparse": []}
    | {"horizon": 30, "long_horizon": 40, "repetitions": 3, "orders": 2},
    "full": _COMMON | {"horizon": 6_000, "long_horizon": 100_000, "repetitions": 20, "orders": 20},
}
PROFILES["quick"] = PROFILES["default"] = (
    _COMMON
    | {"worlds": _LOOK_AT, "policies": [RANDOM, AUTO, HURDLE, LINUCB, *_GRID], "often": 1}
    | {"problems": list(PROBLEMS)[3::9], "scales": [1.0], "sets": [], "sparse": []}
    | {"horizon": 1_500, "long_horizon": 3_000, "repetitions": 4, "orders": 4}
)
