"""Cents or dollars: the regret of auto and of six peers against the unit of the rewards.

    python benchmarks/units.py [--horizon 2000] [--runs 2] [--python PYTHON_OF_THE_PEERS]

Peers run at their documented defaults in an environment of their own (`.venv-peers`, which `make
bench` makes). Prints a Markdown table of regret over that of random play and draws the picture of
the README. One that cannot be run is left out, and said so.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
import peers
from measuring import HERE, child, say

sys.path.insert(0, str(HERE / "peers"))
shop: Any = importlib.import_module("shop")

SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
PICTURE = HERE.parent / "docs" / "images" / "units.png"


def ours() -> tuple[Any, Any]:
    """auto on the shop: the context in the block of each action."""
    agent, tickets = hb.Agent(hb.auto(dim=shop.OFFERS * shop.FEATURES)), []

    def choose(context: Any) -> int:
        tickets.append(agent.select(np.kron(np.eye(shop.OFFERS), context)))
        return int(tickets[-1].arm)

    return choose, lambda context, arm, reward: agent.update(tickets.pop(), reward)


def share(name: str, scale: float, python: Path, horizon: int, seed: int) -> float:
    """Regret over that of random play."""
    if name == "auto":
        lost, by_chance = shop.play(*ours(), scale, horizon, seed)
        return lost / by_chance
    told = [str(scale), str(horizon), str(seed)]
    found = child([str(python), str(HERE / "peers" / "shop.py"), name, *told])
    return float(found["regret"] / found["random"])


def draw(shares: dict[str, list[float]]) -> None:
    """Regret against the unit, one line per library."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, values in shares.items():
        bold = name == "auto"
        label = "heavybandits, auto" if bold else f"{name}, as documented"
        axes.plot(SCALES, values, "o-", label=label, linewidth=3.0 if bold else 1.2)
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set(xscale="log", ylim=(0.0, None), xlabel="the same rewards times")
    axes.set(ylabel="regret over that of random play")
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    axes.grid(alpha=0.25)
    figure.savefig(PICTURE, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--horizon", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--python", type=Path, help="of the peers' environment")
    given = parser.parse_args()
    python, shares = given.python or peers.interpreter(), {}
    for name in ("auto", *peers.SCRIPTS):
        trouble = "" if name == "auto" or given.python else peers.install(python, name)
        try:
            shares[name] = [
                float(
                    np.mean(
                        [share(name, s, python, given.horizon, 15 + r) for r in range(given.runs)]
                    )
                )
                for s in SCALES
            ]
        except RuntimeError as error:
            say(f"{name} is left out: {trouble or error}")
    print("| library | " + " | ".join(f"rewards x {scale:g}" for scale in SCALES) + " |")
    print("|---|" + "---|" * len(SCALES))
    for name, values in shares.items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    draw(shares)


if __name__ == "__main__":
    main()
