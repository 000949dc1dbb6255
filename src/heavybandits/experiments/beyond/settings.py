"""Beyond: our algorithms, the paper's and the newest rivals, side by side. Data only."""

from typing import Any

from ...parts.filters import AdaptiveClip
from ...parts.links import Exponential, Identity, Logistic
from ...parts.noises import Gaussian, LogNormal, Pareto, StudentT
from ..parts import Alternating

TITLE = "Beyond the paper: who wins where"

DIM, ARMS = 10, 20
RATIO = 10.0  # of the louder plays of the changing noise to the others

LINKS: dict[str, tuple[str, Any]] = {
    "linear": ("linear rewards", Identity()),
    "logistic": ("logistic rewards", Logistic()),
    "exponential": ("exponential rewards", Exponential()),
}
INTERCEPTS = {"without": 0.0, "with": 0.7}  # the last feature of every arm

# name: (what it is, noise, epsilon)
NOISES: dict[str, tuple[str, Any, float]] = {
    "t1.5": ("Student's t, 1.5 degrees of freedom", StudentT(1.5, 0.5), 0.4),
    "t3": ("Student's t, 3 degrees of freedom", StudentT(3.0, 0.5), 1.0),
    "pareto1.5": ("centred Pareto, s = 1.5", Pareto(1.5, 0.5), 0.4),
    "pareto3": ("centred Pareto, s = 3", Pareto(3.0, 0.5), 1.0),
    "gauss": ("Gaussian, a control", Gaussian(0.5), 1.0),
    "asymmetric": ("log-normal, centred", LogNormal(1.0, 0.5), 1.0),
    "changing": (
        "Student's t, 3 degrees of freedom, ten times louder at every second play",
        Alternating(StudentT(3.0, 0.1), RATIO),
        1.0,
    ),
}

# name: (algorithm of the catalogue, arguments of its own)
CLIPPED = "LinUCB, adaptive clip"
SCALE_GIVEN = "CRHL, scale given"  # of every reward: under `changing` alone
ROSTER: dict[str, tuple[str, dict[str, Any]]] = {
    "CRHL": ("CRHL", {}),
    SCALE_GIVEN: ("CRHL", {}),
    "CRTM": ("CRTM", {}),
    "CRTM, adaptive clip": ("CRTM", {"truncation": AdaptiveClip()}),
    "CRTM, local": ("CRTM", {"curvature": "local"}),
    "CRMM": ("CRMM", {}),
    "CRCM": ("CRCM", {}),
    "OL2M": ("OL2M", {}),
    "GLOC": ("GLOC", {}),
    "LinUCB": ("LinUCB", {}),
    CLIPPED: ("LinUCB", {"filter": AdaptiveClip()}),
    "Hvt_UCB": ("Hvt_UCB", {}),
    "Heavy_OFUL": ("Heavy_OFUL", {}),
    "GAda_OFUL": ("GAda_OFUL", {}),
    "random play": ("random play", {}),
}
LINEAR_ONLY = ("Hvt_UCB", "Heavy_OFUL")
BATCH = ("Heavy_OFUL", "GAda_OFUL")  # they fit all rewards again: a shorter horizon
ONE_PASS = [name for name in ROSTER if name not in (*BATCH, "CRTM, local")]

# Where the grid of a kind of constant begins, and the range in which it grows.
GRIDS: dict[str, tuple[list[float], tuple[float, float]]] = {
    "radius_scale": ([1e-3, 1e-2, 1e-1], (1e-6, 100.0)),
    "radius": ([0.1, 0.3162, 1.0], (0.009, 32.0)),
}

# Ours against these: claim, theirs
CLAIMS = (
    ("CRHL has less regret than CRTM", "CRTM"),
    ("CRHL has less regret than LinUCB with AdaptiveClip", CLIPPED),
)
# With the exponential link, against LinUCB: claim, whose
EXPONENTIAL_CLAIMS = (
    ("CRTM with the paper's curvature has less regret than LinUCB", "CRTM"),
    ("CRTM with curvature='local' has less regret than LinUCB", "CRTM, local"),
)

_MAIN: dict[str, Any] = {"links": ["linear", "logistic"], "intercepts": list(INTERCEPTS)}
_MAIN |= {"noises": list(NOISES), "algorithms": ONE_PASS}
_SIX = ["CRTM", "CRTM, local", "CRHL", "LinUCB", "GLOC", "random play"]
_EXPONENTIAL: dict[str, Any] = {"links": ["exponential"], "intercepts": ["without"]}
_EXPONENTIAL |= {"noises": ["t3"], "algorithms": _SIX}
_BATCH = _MAIN | {"intercepts": ["without"], "noises": ["t1.5", "t3", "pareto3", "gauss"]}
_BATCH |= {"algorithms": ["CRHL", CLIPPED, *BATCH, "random play"]}
_RIVALS = ["CRHL", "CRCM", "CRTM", "CRMM", "OL2M", "GLOC", "Hvt_UCB", "LinUCB", CLIPPED]
_SETS = ["rand", "cdnow", "nyse_n", "nyse_o", "sp500", "nyse_n, groups", "nyse_o, groups"]
_REAL: dict[str, Any] = {"sets": _SETS, "policies": _RIVALS, "plays": 20_000}

# name: the settings of one part of the experiment; those of the profile are the rest
PROFILES: dict[str, dict[str, Any]] = {
    "smallest": {"seed": 0, "repetitions": 3, "tuning_repetitions": 2, "grows": False, "real": None}
    | {
        "parts": {
            "main": _MAIN
            | {"horizon": 12, "noises": ["changing"], "links": ["linear"], "intercepts": ["with"]}
            | {"algorithms": ["CRHL", SCALE_GIVEN, "CRTM", CLIPPED, "random play"]},
            "exponential": _EXPONENTIAL
            | {"horizon": 12, "algorithms": ["CRHL", "CRTM, local", "LinUCB", "random play"]},
            "batch": _BATCH
            | {"horizon": 6, "noises": ["t3"], "links": ["linear"]}
            | {"algorithms": ["CRHL", "Heavy_OFUL", "random play"]},
        },
    },
    "quick": {"seed": 0, "repetitions": 10, "tuning_repetitions": 4, "grows": True, "real": None}
    | {
        "parts": {
            "main": _MAIN
            | {"horizon": 2000, "noises": ["t1.5", "gauss"]}
            | {"links": ["linear"], "intercepts": ["without"]}
            | {"algorithms": ["CRHL", "CRTM", "LinUCB", CLIPPED, "random play"]}
        },
    },
    "default": {"seed": 0, "repetitions": 20, "tuning_repetitions": 6, "grows": True, "real": None}
    | {
        "parts": {
            "main": _MAIN
            | {"horizon": 3000, "links": ["linear"], "intercepts": ["without"]}
            | {"algorithms": ["CRHL", SCALE_GIVEN, "CRTM", "LinUCB", CLIPPED, "random play"]}
        },
    },
    "full": {"seed": 0, "repetitions": 30, "tuning_repetitions": 8, "grows": True}
    | {
        "parts": {
            "main": _MAIN | {"horizon": 5000},
            "exponential": _EXPONENTIAL | {"horizon": 20_000},
            "batch": _BATCH | {"horizon": 1000, "repetitions": 10, "tuning_repetitions": 3},
        },
        "real": _REAL | {"tuning_orders": 4, "repetitions": 12},
    },
}
