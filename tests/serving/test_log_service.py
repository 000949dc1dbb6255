"""From a log of decisions to a service that has learned it."""

import random

import pytest

pytest.importorskip("msgspec")

from heavybandits.serving import schemas
from heavybandits.serving.config import Limits
from heavybandits.serving.log_service import fit_log
from heavybandits.serving.served import ServedAgent
from heavybandits.serving.tokens import Signer


def test_a_log_is_learned_once_and_the_example_is_a_request(tmp_path):
    dice = random.Random(4)
    rows = ["city,product,revenue"]
    for _ in range(300):
        city, product = dice.choice(["Oslo", "Rome"]), dice.choice(["tea", "figs"])
        worth = 10.0 if (city == "Oslo") == (product == "tea") else 0.1
        rows.append(f"{city},{product},{worth * dice.paretovariate(2.5):.4f}")
    (tmp_path / "log.csv").write_text("\n".join(rows))
    for _ in range(2):  # the second start continues the ledger
        made = fit_log(
            str(tmp_path / "log.csv"), context=["city"], action="product", reward="revenue"
        )
    assert "Hill" in made.diagnosis
    served = ServedAgent(made.config.agents[0], tmp_path, Signer(b"x"), Limits())
    assert served.agent.counters["warm_started"] == 300
    request = schemas.Decide(made.example["actions"], {"city": "Oslo"})
    found = [served.decide(served.preparer.decide(request)).action for _ in range(30)]
    assert found.count("tea") > 20
    served.close()
