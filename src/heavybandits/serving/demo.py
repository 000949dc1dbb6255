"""A shop with simulated visitors, to see the service at work."""

import random
import threading
from pathlib import Path
from typing import Any

from .client import Client, ServiceError
from .config import ServiceConfig, make_config

PRODUCTS = {"tea": {"price": 4.0}, "figs": {"price": 6.0}, "honey": {"price": 9.0}}
CITIES = ("Oslo", "Rome", "Lima")
RATES = {  # probability of a sale
    "Oslo": {"tea": 0.5, "figs": 0.15, "honey": 0.1},
    "Rome": {"tea": 0.1, "figs": 0.5, "honey": 0.1},
    "Lima": {"tea": 0.1, "figs": 0.15, "honey": 0.35},
}
VISITS_PER_SECOND = 40.0


def demo_config(folder: Path, port: int = 8000, admin_port: int = 8001) -> ServiceConfig:
    """Return the configuration of the demonstration."""
    columns: dict[str, Any] = {
        "context": [{"type": "category", "name": "city", "categories": list(CITIES)}],
        "actions": list(PRODUCTS),
        "action": [{"type": "number", "name": "price", "centre": 6.0, "scale": 3.0}],
    }
    agent = {
        "policy": "auto",
        "epsilon": 0.1,
        "ledger": "demo.db",
        "holdout": 0.1,
        "baseline": "tea",
        "encoder": columns,
    }
    service = {"port": port, "admin_port": admin_port}
    return make_config({"service": service, "agents": {"shop": agent}}, folder)


def visit(client: Client, rng: random.Random) -> None:
    """Simulate one visitor: a decision, and mostly a reward with a heavy tail."""
    city = rng.choice(CITIES)
    made = client.decide(
        PRODUCTS, {"city": city}, baseline="tea", unit=f"user-{rng.randrange(5000)}"
    )
    bought = rng.random() < RATES[city][made.action]
    amount = PRODUCTS[made.action]["price"] * rng.paretovariate(1.8) if bought else 0.0
    if rng.random() < 0.95:
        client.reward(made, amount)


def send_visitors(url: str, stop: threading.Event, seed: int = 0) -> None:
    """Simulate visitors until `stop` is set."""
    client, rng = Client(url, "shop", timeout=2.0), random.Random(seed)
    while not stop.wait(rng.expovariate(VISITS_PER_SECOND)):
        try:
            visit(client, rng)
        except ServiceError:
            continue
