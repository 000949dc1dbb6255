"""Policies without tuning: bars and profiles. Data only."""

from typing import Any

from .catalogue import FIXED, LONG, REPORT, REPORT_SEED
from .policies import AUTO, CLIP, CRAL, GRID, LINUCB, NAMES, PLAIN, RANDOM, radius_name
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
LOGGED = 500  # rows from which the diagnosis recommends a policy

LONG_GROUPS = (FIXED, LONG)  # with the long horizon
OFTEN = 5  # times as many runs of our policies on fixed arms: wrong arms are rare

_GRID = [row.name for row in GRID]
_COMMON: dict[str, Any] = {"groups": list(REPORT), "worlds": None, "policies": NAMES}
_COMMON |= {"problems": list(PROBLEMS), "scales": list(SCALES), "seed": REPORT_SEED}
_COMMON |= {"sets": list(SETS), "sparse": list(SPARSE), "stretches": STRETCHES}
_COMMON |= {"logged": LOGGED, "often": OFTEN}

_FEW = [radius_name(name, radius) for name in (PLAIN, CLIP) for radius in (0.1, 1.0)]
_LOOK = _COMMON | {"worlds": 2, "policies": [RANDOM, AUTO, "hurdle", LINUCB, *_GRID]}
_LOOK |= {"problems": list(PROBLEMS)[3::9], "scales": [1.0], "sets": [], "sparse": []}
_LOOK |= {"horizon": 1_500, "long_horizon": 3_000, "repetitions": 4, "orders": 4, "often": 1}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"worlds": 2, "groups": ["shops", "other shops", "units", "extreme rewards", "fixed arms"]}
    | {"policies": [RANDOM, AUTO, CRAL, LINUCB, *_FEW], "logged": 60, "often": 2}
    | {"problems": list(PROBLEMS)[45::19], "scales": [1.0, 100.0], "sets": [], "sparse": []}
    | {"horizon": 60, "long_horizon": 80, "repetitions": 3, "orders": 2},
    "quick": _LOOK,
    "default": _LOOK,
    "full": _COMMON | {"horizon": 6_000, "long_horizon": 100_000, "repetitions": 20, "orders": 20},
}
