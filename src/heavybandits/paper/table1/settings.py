"""Table 1: how the time of each algorithm grows with T and d. Data only."""

from collections.abc import Callable
from math import log
from typing import Any

from ...noises import StudentT

TITLE = "Table 1: growth of the time"

NOISE = StudentT(3.0)
ARMS = 20

# The column CC of the paper's Table 1, and the same as a function of T and d.
PAPER: dict[str, tuple[str, Callable[[int, int], float]]] = {
    "CRTM": ("d^2 T", lambda T, d: d**2 * T),
    "CRT": ("d^2 T", lambda T, d: d**2 * T),
    "TOFU": ("d^3 T + d^2 T^2", lambda T, d: d**3 * T + d**2 * T**2),
    "SupBTC": ("d^2 T^2", lambda T, d: d**2 * T**2),
    "CRMM": ("d^2 T / log T", lambda T, d: d**2 * T / log(T)),
    "MoM": ("d^2 T / log T", lambda T, d: d**2 * T / log(T)),
    "MENU": ("d^2 T log T", lambda T, d: d**2 * T * log(T)),
    "SupBMM": ("d^2 T", lambda T, d: d**2 * T),
}
QUADRATIC = ["TOFU", "SupBTC"]  # their time grows with T^2: smaller sizes

# Sizes: (horizons at `dim`, dims at `horizon`), for those of linear and of quadratic time.
PROFILES: dict[str, dict[str, Any]] = {
    "smallest": {
        "linear": {"horizons": [100, 200], "dim": 3, "dims": [2, 4], "horizon": 100},
        "quadratic": {"horizons": [30, 60], "dim": 3, "dims": [2, 4], "horizon": 30},
        "runs": 2,
        "seed": 0,
    },
    "quick": {
        "linear": {
            "horizons": [4000, 16_000, 64_000],
            "dim": 20,
            "dims": [16, 32, 64],
            "horizon": 8000,
        },
        "quadratic": {
            "horizons": [500, 1000, 2000],
            "dim": 10,
            "dims": [16, 32, 64],
            "horizon": 500,
        },
        "runs": 2,
        "seed": 0,
    },
    "default": {
        "linear": {
            "horizons": [4000, 16_000, 64_000, 256_000],
            "dim": 20,
            "dims": [16, 32, 64, 128],
            "horizon": 20_000,
        },
        "quadratic": {
            "horizons": [500, 1000, 2000, 4000],
            "dim": 20,
            "dims": [16, 32, 64, 128],
            "horizon": 1000,
        },
        "runs": 3,
        "seed": 0,
    },
    "full": {
        "linear": {
            "horizons": [4000, 16_000, 64_000, 256_000],
            "dim": 20,
            "dims": [16, 32, 64, 128, 256],
            "horizon": 20_000,
        },
        "quadratic": {
            "horizons": [500, 1000, 2000, 4000, 8000],
            "dim": 20,
            "dims": [16, 32, 64, 128],
            "horizon": 1500,
        },
        "runs": 3,
        "seed": 0,
    },
}
