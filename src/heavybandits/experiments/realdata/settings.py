"""Real data, replayed: which sets, which policies, how many passes. Data only."""

from typing import Any

TITLE = "Real data, replayed"

# name: (data set, protocol, what it is)
SETS: dict[str, tuple[str, str, str]] = {
    "rand": ("rand", "rows", "RAND: medical dollars, 10 people per round"),
    "cdnow": ("cdnow", "rows", "CDNOW: later spend, 10 customers per round"),
    "nyse_n": ("nyse_n", "rounds", "NYSE(N): the next day's return, 23 stocks per day"),
    "nyse_o": ("nyse_o", "rounds", "NYSE(O): the next day's return, 36 stocks per day"),
    "nyse_n, groups": ("nyse_n", "groups", "NYSE(N) in 25 fixed groups"),
    "nyse_o, groups": ("nyse_o", "groups", "NYSE(O) in 25 fixed groups"),
    "sp500": ("sp500", "rounds", "20 large stocks: a negative control"),
}

# name: (family, filter); a family is an estimator with a radius, so two policies of one family at
# one constant differ in nothing but what they do to rewards.
POLICIES: dict[str, tuple[str, str]] = {
    "LinUCB": ("linucb", "none"),
    "LinUCB, clip": ("linucb", "clip"),
    "LinUCB, adaptive clip": ("linucb", "adaptive"),
    "Newton": ("crtm", "none"),
    "CRTM": ("crtm", "theory"),
    "CRTM, adaptive clip": ("crtm", "adaptive"),
    "CRMM": ("crmm", "theory"),
    "CRMM, 16 plays": ("crmm", "16"),
}
# Those of the experiment `beyond`: (family, name in the catalogue)
RIVALS: dict[str, tuple[str, str]] = {
    "CRHL": ("rival", "CRHL"),
    "OL2M": ("rival", "OL2M"),
    "GLOC": ("rival", "GLOC"),
    "Hvt_UCB": ("rival", "Hvt_UCB"),
    "CRCM": ("crcm", "CRCM"),
}
PLAIN = {"linucb": "LinUCB", "crtm": "Newton"}  # the untruncated twin of a family
FIXED_ONLY = ("crmm", "crcm")
CLIP = 3.0  # level of the fixed clip, in units of the mean |reward|

CONSTANTS: dict[str, list[float]] = {
    "linucb": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
    "crtm": [1e-4, 1e-3, 1e-2, 1e-1, 1.0],
    "crmm": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
    "crcm": [1e-3, 1e-2, 1e-1, 1.0, 10.0],
    "rival": [1e-4, 1e-3, 1e-2, 1e-1, 1.0],
}

_COMMON: dict[str, Any] = {"sets": list(SETS), "policies": list(POLICIES), "seed": 0}
_COMMON |= {"plays": 20_000}

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": _COMMON
    | {"sets": ["cdnow"], "policies": ["LinUCB", "LinUCB, adaptive clip"]}
    | {"tuning_orders": 1, "repetitions": 2},
    "quick": _COMMON | {"sets": ["rand", "cdnow", "sp500"], "tuning_orders": 5, "repetitions": 10},
    "default": _COMMON | {"tuning_orders": 8, "repetitions": 20},
    "full": _COMMON | {"tuning_orders": 20, "repetitions": 40},
}
