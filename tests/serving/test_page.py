"""The parts of the live page, from the state of an agent in memory."""

import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")

from heavybandits.serving import schemas
from heavybandits.serving.config import Limits, make_config
from heavybandits.serving.page import LAYOUT, write_page, write_parts
from heavybandits.serving.served import ServedAgent
from heavybandits.serving.tokens import Signer

NAMES = ["<b>tea</b>", "figs & honey"]


@pytest.fixture
def served(tmp_path):
    table = {"policy": "linucb", "holdout": 0.4, "encoder": {"actions": NAMES}}
    config = make_config({"agents": {"shop": table}}, tmp_path)
    made = ServedAgent(config.agents[0], tmp_path, Signer(b"secret"), Limits())
    made.warm()
    yield made
    made.close()


def visit(served: ServedAgent, unit: str, value: float) -> None:
    request = schemas.Decide({name: {} for name in NAMES}, unit=unit)
    made = served.decide(served.preparer.decide(request))
    served.reward(served.preparer.reward(schemas.Reward(value, ticket=made.ticket)))


def test_a_page_without_traffic_has_every_part_and_no_number_that_is_none(served):
    parts = write_parts(served.summary())
    assert set(parts) == {"shop-title", *(f"shop-{part}" for part, _ in LAYOUT)}
    page = write_page([served.summary()])
    for word in ("None", "nan", "inf "):
        assert word not in page


def test_traffic_shows_its_numbers_and_escapes_every_name(served):
    for number in range(60):
        visit(served, f"u{number}", float(number % 7))
    page = write_page([served.summary()])
    assert "&lt;b&gt;tea&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "figs &amp; honey" in page
    assert "per decision" in write_parts(served.summary())["shop-uplift"]
