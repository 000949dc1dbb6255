"""Map: who has the lowest regret, over the tail index and the level of the noise. Data only."""

from typing import Any

from ...parts.filters import AdaptiveClip
from ...parts.noises import Pareto, StudentT

TITLE = "A map of who wins where"

# Linear rewards, arms of any sign that are new at every decision, an intercept among the features.
DIM, ARMS, INTERCEPT = 5, 10, 0.7
KINDS: dict[str, tuple[str, Any]] = {
    "symmetric": ("Student's t", StudentT),
    "skewed": ("Pareto minus its mean", Pareto),
}
INDEX = (1.1, 6.0)  # of the tail, from the left edge of the map to the right one
LEVEL = (0.05, 5.0)  # E|noise|, from the lower edge to the upper one; mean rewards span 1.3

CLIPPED = "LinUCB, adaptive clip"
_GAMMA: list[float | None] = [1e-3, 1e-2, 1e-1]
_RADIUS: list[float | None] = [0.1, 0.3, 1.0]
# name: (algorithm of the catalogue, arguments of its own, its radii; None for no hyperparameter)
ROSTER: dict[str, tuple[str, dict[str, Any], list[float | None]]] = {
    "CRTM": ("CRTM", {}, _GAMMA),
    "CRMM": ("CRMM", {}, _GAMMA),
    "LinUCB": ("LinUCB", {}, _RADIUS),
    CLIPPED: ("LinUCB", {"filter": AdaptiveClip()}, _RADIUS),
    "CRHL": ("CRHL", {}, _GAMMA),
    "CRCM": ("CRCM", {}, _GAMMA),
    "auto": ("Auto", {}, [None]),
}
NONE_LEARNS = "no algorithm learns"
COMPARED = {"CRHL": ("CRTM", CLIPPED), "auto": ("CRHL", "LinUCB", CLIPPED)}  # with their rivals

# points: along either axis; the picture has points^2 squares in each of its panels
_COMMON: dict[str, Any] = {"kinds": list(KINDS), "algorithms": list(ROSTER), "seed": 0}
_COMMON |= {"horizons": [500, 5000]}
PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"points": 2, "repetitions": 4, "horizons": [10]}
    | {"kinds": ["skewed"], "algorithms": ["LinUCB", CLIPPED, "CRHL", "CRTM"]},
    "quick": _COMMON
    | {"points": 4, "repetitions": 8, "horizons": [500]}
    | {"kinds": ["symmetric"], "algorithms": ["CRTM", "LinUCB", CLIPPED, "CRHL"]},
    "default": _COMMON
    | {"points": 8, "repetitions": 12, "horizons": [1000]}
    | {"algorithms": ["CRTM", "LinUCB", CLIPPED, "CRHL"]},
    "full": _COMMON | {"points": 12, "repetitions": 15},
}
