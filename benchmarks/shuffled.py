"""Is what a wide radius is ahead of auto on stock returns more than randomness?

Replicas of the data in which nothing but the linear fit is true: the residuals of all rows change
places. Prints a Markdown table of shares of the gain of that fit: in the data; the mean over the
replicas and their standard deviation, which is what these days decide by chance; the mean
difference to auto with its standard error; and in how many replicas it is as large as in the data.

    python benchmarks/shuffled.py [--dataset sp500] [--replicas 60] [--orders 5]
"""

import argparse
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.experiments.realdata.cells import open_set
from heavybandits.offline.replay.protocols import (
    Schedule,
    choose_scale,
    judge_oracle,
    judge_random,
)
from heavybandits.offline.replay.replay import pass_once

RADII = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
SEED = 7901
LONGEST = "the longest row"


def make_policies(dim: int) -> dict[str, Any]:
    """auto, and LinUCB with the clip that sets itself at every radius."""
    clip = hb.filters.AdaptiveClip(0.95)
    radii = {f"radius {r:g}": hb.linucb(dim=dim, radius=r, filter=clip) for r in RADII}
    return {"auto": hb.auto(dim=dim), **radii}


def shares(rounds: Any, rewards: Any, gain: float, orders: int) -> dict[str, float]:
    """Of the gain, over the passes 1 to `orders`; and of who plays the longest row of a day."""
    scale, lengths = choose_scale(rewards, None), (rounds.features**2).sum(axis=1)
    rounds.rewards, found = rewards, {}
    random = judge_random(rounds.deal(0), rewards)
    offers: list[Schedule] = [rounds.deal(order) for order in range(1, orders + 1)]
    for name, policy in make_policies(rounds.features.shape[1]).items():
        paid = [pass_once(policy, rounds, offer, scale)[0].mean() for offer in offers]
        found[name] = float((np.mean(paid) - random) / gain)
    found[LONGEST] = (judge_oracle(rounds.deal(0), rewards, lengths) - random) / gain
    return found


def collect(dataset: str, replicas: int, orders: int) -> tuple[dict[str, float], list[Any]]:
    """The shares in the data, and in each replica of it."""
    rounds = open_set(dataset, "rounds", 2, SEED)
    rewards, fit, calendar = rounds.rewards, rounds.oracle(), rounds.deal(0)
    gain = judge_oracle(calendar, fit, fit) - judge_random(calendar, fit)
    data, made = shares(rounds, rewards, gain, orders * replicas), []
    for replica in range(replicas):
        shuffled = np.random.default_rng([SEED, replica]).permutation(rewards - fit)
        made.append(shares(rounds, fit + shuffled, gain, orders))
    return data, made


def tell(share: float, column: Any, ahead: Any, wanted: float) -> str:
    """The cells of one policy."""
    error = ahead.std(ddof=1) / np.sqrt(ahead.size)
    cells = [f"{share:.2f}", f"{column.mean():.2f}", f"{column.std(ddof=1):.2f}"]
    cells += [f"{ahead.mean():.2f} +- {error:.2f}", f"{np.mean(ahead >= wanted):.0%}"]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dataset", default="sp500", choices=("sp500", "nyse_n", "nyse_o"))
    parser.add_argument("--replicas", type=int, default=60)
    parser.add_argument("--orders", type=int, default=5)
    given = parser.parse_args()
    data, made = collect(given.dataset, given.replicas, given.orders)
    columns = {name: np.array([one[name] for one in made]) for name in data}
    print(f"| {given.dataset} | in the data | replicas | deviation | minus auto | as far ahead |")
    print("|---|---|---|---|---|---|")
    for name, share in data.items():
        ahead = columns[name] - columns["auto"]
        print(f"| {name} | {tell(share, columns[name], ahead, share - data['auto'])} |")


if __name__ == "__main__":
    main()
