"""How an agent continues from a ledger: policies that differ, and the ticket that is looked up."""

from pathlib import Path

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils.errors import LedgerError
from heavybandits.ledger.resume import differences, read_learned


def test_another_policy_is_rejected_and_the_message_says_where_it_differs(tmp_path: Path) -> None:
    hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=tmp_path / "agent.db").close()
    with pytest.raises(LedgerError, match=r"policy.radius.squared is 1.0 in the ledger, 81.0"):
        hb.Agent(hb.linucb(dim=2, radius=9.0), ledger=tmp_path / "agent.db")


def test_a_part_of_another_class_is_one_difference() -> None:
    stored = {"filter": {"part": "Clip", "fields": {"level": 1.0}}}
    given = {"filter": {"part": "NoFilter", "fields": {"level": 1.0}}}
    found = list(differences(stored, given))
    assert found == ["policy.filter is a Clip in the ledger, a NoFilter here"]


@pytest.mark.parametrize("ticket", [0, 3, 6])
def test_the_features_of_every_ticket_are_found_by_bisection(tmp_path: Path, ticket: int) -> None:
    arms = [[[0.5, number / 10]] for number in range(7)]
    with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=tmp_path / "agent.db") as agent:
        for number, rows in enumerate(arms):
            agent.update(agent.select(rows), float(number))
        assert agent.ledger is not None
        features, reward, _ = read_learned(agent.ledger.database, ticket, agent.ledger.length)
    assert np.array_equal(features, arms[ticket][0])
    assert reward == float(ticket)
