"""The cell of this experiment: some policies, some passes over one data set."""

import functools
from typing import Any

import numpy as np

from ...offline.log import Log
from ...offline.replay.protocols import (
    Rounds,
    choose_scale,
    fit_oracle,
    holdout_gains,
    judge_oracle,
    judge_random,
)
from ...offline.replay.replay import make_rounds, pass_once
from ...parts.policies.checks import check_policies
from ...sweeps.simulation_cell import build_parts
from ..data import load_data


@functools.cache
def open_set(dataset: str, protocol: str, plays: int, seed: int) -> Rounds:
    """Return the rounds of a data set; read once per process."""
    data = load_data(dataset)
    log = Log(data.frame, features=data.features, reward=data.reward)
    return make_rounds(log, horizon=plays, seed=seed, **data.protocols[protocol])


@functools.cache
def fitted_norm(dataset: str, protocol: str) -> float:
    """S: the norm of the least-squares fit of all rows, rewards in units of their mean size."""
    rounds = open_set(dataset, "rounds" if protocol == "groups" else protocol, 2, 0)
    rewards = rounds.rewards / choose_scale(rounds.rewards, None)
    theta = np.linalg.lstsq(rounds.features, fit_oracle(rounds.features, rewards), rcond=None)[0]
    return float(np.ceil(np.linalg.norm(theta)))


def replay_cell(
    dataset: str,
    protocol: str,
    policies: list[dict[str, Any]],
    orders_from: int,
    orders_to: int,
    plays: int,
    seed: int,
) -> dict[str, Any]:
    """Values and counts, (policies, orders); random play and the oracle, (orders,); and what is
    there to learn on rows that were left out, in the first order."""
    rounds = open_set(dataset, protocol, plays, seed)
    scale, scores = choose_scale(rounds.rewards, None), rounds.oracle()
    players = [check_policies(build_parts(policy))["policy"] for policy in policies]
    gains = holdout_gains(rounds, rounds.deal(orders_from))
    columns = []
    for order in range(orders_from, orders_to):
        dealt = rounds.deal(order)
        passes = [pass_once(player, rounds, dealt, scale) for player in players]
        columns.append(
            {
                "value": [float(paid.mean()) for paid, _, _ in passes],
                "truncated": [counted.truncated for _, counted, _ in passes],
                "updates": [counted.updates for _, counted, _ in passes],
                "random": judge_random(dealt, rounds.rewards),
                "oracle": judge_oracle(dealt, rounds.rewards, scores),
                "rounds": len(dealt.arms),
                "cpu_seconds": [seconds for _, _, seconds in passes],
            }
        )
    return {
        **{name: np.array([column[name] for column in columns]).T for name in columns[0]},
        "holdout": float(gains.mean()),
        "holdout_error": float(gains.std(ddof=1) / np.sqrt(gains.size)),
    }
