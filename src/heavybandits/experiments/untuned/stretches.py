"""The cell of replays by days: the gain of each policy in each stretch of days.

Passes are orders of the same days, so intervals over passes do not show what other days would have
done. Intervals over stretches of days do: each stretch has its own randomness.
"""

import time
from typing import Any

import numpy as np

from ...offline.replay.protocols import Rounds, Schedule, choose_scale, judge_oracle, judge_random
from ...offline.replay.replay import pass_once
from ...parts.policies.checks import check_policies
from ...sweeps.simulation_cell import build_parts
from ..realdata.cells import open_set
from .draws import Floats


def split_days(rounds: Rounds, count: int) -> list[Schedule]:
    """Return the days in the order of the data, in `count` stretches."""
    arms, payers = rounds.deal(0)
    days = np.array_split(np.arange(len(arms)), count)
    return [Schedule(arms[part], payers[part]) for part in days]


def play_stretches(player: Any, rounds: Rounds, parts: list[Schedule], orders: int) -> Floats:
    """Return the mean reward of a day in each stretch, over all passes."""
    scale, total = choose_scale(rounds.rewards, None), np.zeros(len(parts))
    stretch = np.zeros(rounds.rewards.size, np.int64)  # of a day, known by its first row
    for number, part in enumerate(parts):
        stretch[part.arms[:, 0]] = number
    for order in range(orders):
        dealt = rounds.deal(order)
        paid, _, _ = pass_once(player, rounds, dealt, scale)
        total += np.bincount(stretch[dealt.arms[:, 0]], paid, len(parts))
    return np.asarray(total / (orders * np.array([len(part.arms) for part in parts])))


def stretch_cell(
    dataset: str, policies: list[dict[str, Any]], orders: int, stretches: int, seed: int
) -> dict[str, Any]:
    """Value by stretch, (policies, stretches), random play's, (stretches,), the oracle's gain."""
    rounds, started = open_set(dataset, "rounds", 2, seed), time.thread_time()
    parts, calendar, rewards = split_days(rounds, stretches), rounds.deal(0), rounds.rewards
    players = [check_policies(build_parts(policy))["policy"] for policy in policies]
    gain = judge_oracle(calendar, rewards, rounds.oracle()) - judge_random(calendar, rewards)
    return {
        "value": np.array([play_stretches(player, rounds, parts, orders) for player in players]),
        "random": np.array([judge_random(part, rewards) for part in parts]),
        "gain": float(gain),
        "cpu_seconds": time.thread_time() - started,
    }
