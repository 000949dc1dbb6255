"""Table 2: runtime of eight algorithms for heavy-tailed bandits. Data only."""

from typing import Any

from ...noises import StudentT

TITLE = "Table 2: runtime"

NOISE = StudentT(3.0)
ARMS = 20

# Seconds the paper prints (Python, laptop at 2.5 GHz).
PAPER: dict[str, float] = {
    "CRT": 3.1737,
    "TOFU": 3931.9963,
    "SupBTC": 1187.1863,
    "CRTM": 2.2909,
    "MoM": 0.0630,
    "MENU": 24.1990,
    "SupBMM": 0.0685,
    "CRMM": 0.0514,
}
TRUNCATION = ["CRTM", "CRT", "TOFU", "SupBTC"]
MEDIANS = ["CRMM", "MoM", "MENU", "SupBMM"]

# reading: what stands in for what, and the algorithms whose claims it touches. The paper's seconds
# fit the base routines better than the Sup masters, and are too short for the exact projection.
READINGS: dict[str, dict[str, str]] = {
    "all as published": {},
    "BTC and BMM without their Sup masters": {"SupBTC": "BTC", "SupBMM": "BMM"},
    "CRTM and CRMM rescaled, not projected": {"CRTM": "CRTM, rescaled", "CRMM": "CRMM, rescaled"},
}
STAND_INS = {name: master for swap in READINGS.values() for master, name in swap.items()}

SLOW = ["SupBTC", "BTC"]  # run fewer times

PROFILES: dict[str, dict[str, Any]] = {
    "smallest": {"horizon": 100, "dim": 4, "runs": 2, "slow_runs": 1, "seed": 0},
    "quick": {"horizon": 2000, "dim": 40, "runs": 5, "slow_runs": 2, "seed": 0},
    "default": {"horizon": 10**4, "dim": 100, "runs": 5, "slow_runs": 2, "seed": 0},
    "full": {"horizon": 10**4, "dim": 100, "runs": 5, "slow_runs": 2, "seed": 0},
}
