"""Does the live page's interval of policy against hold-out cover the truth?

    python benchmarks/holdout_coverage.py --shops 500
    python benchmarks/holdout_coverage.py --shops 500 --policy rule

Each shop has an agent of the service that learns with `auto` while a tenth of the units gets the
baseline. The visits are decided and rewarded by the code behind the HTTP API, and the interval is
the one that the page shows. With `--policy rule` a fixed rule decides instead, the best action
except for one visit in twenty, which takes seconds. The truth is how much more, in expectation, the
decisions of the policy earn than the baseline would have earned from the same visits. Prints a
Markdown table.
"""

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heavybandits.serving import schemas
from heavybandits.serving.config import Limits, make_config
from heavybandits.serving.monitor import Monitor
from heavybandits.serving.served import ServedAgent
from heavybandits.serving.tokens import Signer
from shops import Shop, draw_visitors, make_shop

KINDS, ACTIONS = 4, 5
EPSILON = 0.05
HOLDOUT = 0.1


class Setting(NamedTuple):
    """A table row: visits of a shop, units that make them, and the variation of appetites."""

    visits: int
    units: int
    spread: float


SETTINGS = {
    "every visitor comes once": Setting(3000, 3000, 0.0),
    "visitors come back": Setting(3000, 1000, 0.0),
    "visitors come back, some spend more": Setting(3000, 1000, 0.5),
}


class Found(NamedTuple):
    """The truth of a shop and the interval of the page."""

    truth: float
    value: float
    low: float
    high: float

    @property
    def covers(self) -> bool:
        """Return True if the interval contains the truth."""
        return self.low <= self.truth <= self.high


def open_served(folder: Path, policy: str, seed: int) -> ServedAgent:
    """Return an agent in memory, as the service opens it."""
    encoder = {
        "context": [{"type": "category", "name": "kind", "categories": [*"0123"]}],
        "actions": [f"a{place}" for place in range(ACTIONS)],
    }
    table = {
        "policy": policy,
        "epsilon": EPSILON,
        "seed": seed,
        "holdout": HOLDOUT,
        "baseline": "a0",
        "encoder": encoder,
    }
    config = make_config({"agents": {"shop": table}}, folder)
    return ServedAgent(config.agents[0], folder, Signer(b"benchmark"), Limits())


def run_shop(seed: int, setting: Setting, policy: str = "auto") -> Found:
    """Let an agent, or a rule, serve the visits of a shop and compare its groups."""
    rng = np.random.default_rng(seed)
    shop = make_shop(rng, KINDS, ACTIONS)
    if policy == "rule":
        monitor = Monitor()
        return Found(apply_rule(monitor, shop, setting, rng), *read_uplift(monitor))
    with tempfile.TemporaryDirectory() as folder:
        served = open_served(Path(folder), policy, seed)
        truth = serve_visits(served, shop, setting, rng)
        found = read_uplift(served.monitor)
        served.close()
    return Found(truth, *found)


def apply_rule(monitor: Monitor, shop: Shop, setting: Setting, rng: np.random.Generator) -> float:
    """Decide all visits by a fixed rule, count the rewards; return the true difference."""
    units, kinds, appetites = draw_visitors(
        rng, setting.visits, setting.units, KINDS, setting.spread
    )
    held = rng.random(setting.units)[units] < HOLDOUT
    random = rng.random(setting.visits) < EPSILON
    chosen = np.where(random, rng.integers(ACTIONS, size=setting.visits), 0)
    chosen = np.where(random, chosen, shop.means.argmax(axis=1)[kinds])
    chosen[held] = 0
    rewards = shop.draw(kinds, chosen, rng, appetites)
    for is_held, reward in zip(held.tolist(), rewards.tolist(), strict=True):
        monitor.include_reward(reward, "action", "holdout" if is_held else "policy", "0:0")
    gains = appetites * (shop.means[kinds, chosen] - shop.means[kinds, 0])
    return float(gains[~held].mean())


def serve_visits(
    served: ServedAgent, shop: Shop, setting: Setting, rng: np.random.Generator
) -> float:
    """Decide and reward all visits; return the true difference."""
    visitors = draw_visitors(rng, setting.visits, setting.units, KINDS, setting.spread)
    actions: dict[str, dict[str, schemas.Value]] = {f"a{place}": {} for place in range(ACTIONS)}
    place_of = {name: place for place, name in enumerate(actions)}
    gains = []
    for unit, kind, appetite in zip(*visitors, strict=True):
        request = schemas.Decide(actions, {"kind": str(kind)}, unit=f"user-{unit}")
        made = served.decide(served.preparer.decide(request))
        chosen = place_of[made.action]
        one = np.array([kind]), np.array([chosen])
        reward = float(shop.draw(*one, rng, appetite)[0])
        given = schemas.Reward(reward, ticket=made.ticket)
        served.reward(served.preparer.reward(given))
        if made.group == "policy":
            gains.append(appetite * (shop.means[kind, chosen] - shop.means[kind, 0]))
    return float(np.mean(gains))


def read_uplift(monitor: Monitor) -> tuple[float, float, float]:
    """Return difference, low and high of the page."""
    found = monitor.uplift()
    assert found.difference is not None
    assert found.low is not None
    assert found.high is not None
    return found.difference, found.low, found.high


def measure(setting: Setting, shops: int, jobs: int, policy: str = "auto") -> list[Found]:
    """Run shops side by side."""
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(partial(run_shop, setting=setting, policy=policy), range(shops)))


def main() -> None:
    """Measure every setting and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shops", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--policy", default="auto")
    parser.add_argument("--visits", type=int, help="visits of a shop, if not those of the table")
    options = parser.parse_args()
    print("| shops | covered | too low | too high | median width over truth |")
    print("|---|---|---|---|---|")
    for name, setting in SETTINGS.items():
        if options.visits is not None:
            ratio = options.visits / setting.visits
            setting = Setting(options.visits, round(ratio * setting.units), setting.spread)
        found = measure(setting, options.shops, options.jobs, options.policy)
        covered = np.mean([one.covers for one in found])
        low = np.mean([one.high < one.truth for one in found])
        high = np.mean([one.low > one.truth for one in found])
        width = np.median([(one.high - one.low) / abs(one.truth) for one in found])
        print(f"| {name} | {covered:.1%} | {low:.1%} | {high:.1%} | {width:.2f} |", flush=True)


if __name__ == "__main__":
    main()
