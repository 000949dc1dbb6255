"""Served agents without HTTP: groups, idempotence, promotion under load, full disks, two cores."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import heavybandits as hb
from heavybandits.serving import schemas
from heavybandits.serving.config import Limits, make_config
from heavybandits.serving.problems import ProblemError
from heavybandits.serving.served import ServedAgent
from heavybandits.serving.tokens import Signer

ACTIONS: dict[str, dict[str, Any]] = {"tea": {}, "figs": {}, "honey": {}}
OTHER = schemas.Policy("linucb", {"radius": 3.0}, 0.3)


def open_served(folder: Path, **table: Any) -> ServedAgent:
    """Return an agent of the service, ready."""
    table = {
        "policy": "linucb",
        "parameters": {"radius": 1.0},
        "epsilon": 0.2,
        "ledger": "shop.db",
        "encoder": {"actions": list(ACTIONS)},
        **table,
    }
    config = make_config({"agents": {"shop": table}}, folder)
    served = ServedAgent(config.agents[0], folder, Signer(b"secret"), Limits())
    served.warm()
    return served


@pytest.fixture
def served(tmp_path):
    made = open_served(tmp_path)
    yield made
    made.close()


def decide(served: ServedAgent, **more: Any) -> schemas.Decided:
    request = schemas.Decide(ACTIONS, **more)
    return served.decide(served.preparer.decide(request))


def reward(served: ServedAgent, made: schemas.Decided, value: float) -> str:
    request = schemas.Reward(value, ticket=made.ticket)
    return served.reward(served.preparer.reward(request)).outcome


def teach(served: ServedAgent, rounds: int, rewards: dict[str, float]) -> None:
    """Make decisions and reward them by their actions, with one flush for all."""
    with served.agent.batch():
        for _ in range(rounds):
            made = decide(served)
            reward(served, made, rewards.get(made.action, 0.0))


# ---- the same event again


def test_an_event_id_is_remembered_across_restarts(tmp_path):
    served = open_served(tmp_path)
    first = decide(served, event_id="a")
    assert reward(served, first, 1.0) == "applied"
    served.close()
    again = open_served(tmp_path)
    assert decide(again, event_id="a") == first
    assert reward(again, first, 1.0) == "duplicate"
    with pytest.raises(hb.InvalidInputError, match="must have one reward"):
        reward(again, first, 2.0)
    again.close()


def test_an_event_id_keeps_its_group_when_the_mode_changes(served):
    first = decide(served, event_id="a")
    served.set_mode(schemas.SetMode("apprentice", baseline="honey"))
    assert decide(served, event_id="a") == first
    assert decide(served, event_id="b").group == "apprentice"
    served.set_mode(schemas.SetMode("online"))
    assert decide(served, event_id="b").group == "apprentice"


def test_an_event_id_with_other_actions_is_a_conflict(served):
    made = decide(served, event_id="a")
    others: dict[str, dict[str, Any]] = {name: {} for name in ACTIONS if name != made.action}
    with pytest.raises(hb.InvalidInputError, match="its own event_id"):
        served.decide(served.preparer.decide(schemas.Decide(others, event_id="a")))


# ---- propensities


@pytest.mark.parametrize("mode", ["online", "frozen"])
def test_the_shares_of_actions_are_their_propensities(tmp_path, mode):
    served = open_served(tmp_path, ledger=None)
    served.set_mode(schemas.SetMode(mode))
    made = [decide(served) for _ in range(4000)]
    served.close()
    best = max(made, key=lambda one: one.propensity or 0.0).action
    for name in ACTIONS:
        expected = 0.8 + 0.2 / 3 if name == best else 0.2 / 3
        share = np.mean([one.action == name for one in made])
        assert abs(share - expected) < 5.0 * np.sqrt(expected * (1.0 - expected) / 4000)
    assert {round(one.propensity or 0.0, 9) for one in made} == {0.066666667, 0.866666667}


def test_a_frozen_policy_draws_anew_after_a_restart(tmp_path):
    served = open_served(tmp_path)
    served.set_mode(schemas.SetMode("frozen"))
    first = [decide(served).action for _ in range(60)]
    served.close()
    again = open_served(tmp_path)
    assert [decide(again).action for _ in range(60)] != first
    again.close()


def test_a_frozen_policy_decides_from_its_mark(served):
    teach(served, 60, {"figs": 5.0})
    served.make_mark(schemas.MakeMark("figs"))
    teach(served, 300, {"honey": 50.0})
    served.set_mode(schemas.SetMode("frozen", mark="figs"))
    frozen = [decide(served) for _ in range(30)]
    assert {one.group for one in frozen} == {"frozen"}
    assert {one.action for one in frozen if (one.propensity or 0) > 0.5} == {"figs"}
    with pytest.raises(ProblemError, match="there is no mark"):
        served.set_mode(schemas.SetMode("frozen", mark="nothing"))


def test_a_baseline_that_is_no_action_is_rejected(served):
    with pytest.raises(hb.InvalidInputError, match='baseline must be "first" or one of'):
        served.set_mode(schemas.SetMode(baseline="cake"))
    assert served.settings.baseline == "first"


def test_holdout_and_canary_are_shares_of_units(served):
    served.set_mode(schemas.SetMode(holdout=0.2, baseline="tea"))
    served.start_rollout(schemas.StartRollout("linucb", {"radius": 3.0}, 0.3, 0.3))
    with served.agent.batch():
        made = {f"u{n}": decide(served, unit=f"u{n}") for n in range(1000)}
    groups = [one.group for one in made.values()]
    assert abs(groups.count("holdout") - 200) < 65
    assert abs(groups.count("canary") - 300) < 75
    assert all(one.action == "tea" for one in made.values() if one.group == "holdout")
    canary = {round(one.propensity or 0, 9) for one in made.values() if one.group == "canary"}
    assert canary == {0.1, 0.8}
    for unit, one in list(made.items())[:50]:
        assert decide(served, unit=unit).group == one.group


# ---- roll-out and promotion


def test_a_worse_challenger_falls_back_and_stays_back_after_a_restart(tmp_path):
    served = open_served(tmp_path)
    served.start_rollout(schemas.StartRollout("linucb", {"radius": 1.0}, 0.2, 0.5))
    assert served.rollout is not None
    with served.agent.batch():
        for number in range(2000):
            made = decide(served, unit=f"u{number}")
            reward(served, made, 0.0 if made.group == "canary" else 1.0)
    assert served.rollout.looks < 5
    assert {decide(served, unit=f"u{n}").group for n in range(20)} == {"policy"}
    served.close()
    again = open_served(tmp_path)
    assert again.rollout is not None
    assert again.rollout.stage == "fell back"
    assert {decide(again, unit=f"w{n}").group for n in range(20)} == {"policy"}
    again.close()


def test_a_challenger_has_learned_the_ledger(served):
    teach(served, 100, {"figs": 1.0})
    served.start_rollout(schemas.StartRollout("linucb", {"radius": 1.0}, 0.2))
    assert served.rollout is not None
    assert served.rollout.challenger.updates == served.agent.updates == 100
    reward(served, decide(served), 1.0)
    assert served.rollout.challenger.updates == 101


def test_a_promotion_under_load_pauses_for_little_and_loses_nothing(served, tmp_path):
    teach(served, 2000, {"figs": 1.0})
    answers: list[Any] = []
    finished = threading.Event()

    async def traffic() -> None:
        sent = 0
        while not finished.is_set() or sent > len(answers):
            if not finished.is_set() and sent - len(answers) < 20:
                received = served.preparer.decide(schemas.Decide(ACTIONS, event_id=f"e{sent}"))
                served.submit(served.decide, received, answers.append)
                sent += 1
            await asyncio.sleep(0.001)

    def promote() -> None:
        try:
            served.promote(OTHER)
        finally:
            finished.set()

    thread = threading.Thread(target=promote)
    thread.start()
    asyncio.run(traffic())
    thread.join()
    made = [msgspec.json.decode(answer, type=schemas.Decided) for answer in answers]
    assert len(made) > 10
    assert {one.version for one in made} | {decide(served).version} == {1, 2}
    assert [reward(served, one, 2.0) for one in made] == ["applied"] * len(made)
    assert served.agent.updates == 2000 + len(made)


def test_two_promotions_and_a_restart_continue_with_the_last_policy(tmp_path):
    served = open_served(tmp_path)
    old = decide(served, event_id="old")
    served.promote(OTHER)
    served.promote(schemas.Policy("linucb", {"radius": 5.0}, 0.5))
    served.close()
    again = open_served(tmp_path)
    assert again.settings.version == 3
    assert again.agent.policy.epsilon == 0.5
    assert decide(again, event_id="old").action == old.action
    assert reward(again, old, 1.0) == "applied"
    again.rollback(schemas.Empty())
    assert again.agent.policy.epsilon == 0.3
    again.close()


def test_a_promotion_that_fails_changes_nothing(served):
    made = decide(served)
    with pytest.raises(hb.InvalidInputError, match="policy must be the name"):
        served.promote(schemas.Policy("linucbb"))
    assert served.settings.version == 1
    assert reward(served, made, 1.0) == "applied"


# ---- disks and other processes


def test_a_full_disk_gets_503_and_the_agent_continues_when_there_is_room(served):
    async def submit(count: int) -> list[Any]:
        answers: list[Any] = []
        for _ in range(count):
            received = served.preparer.decide(schemas.Decide(ACTIONS))
            served.submit(served.decide, received, answers.append)
        while len(answers) < count:
            await asyncio.sleep(0.001)
        return answers

    issued = served.agent.state.tickets.issued
    database: Any = served.agent.ledger.database
    database.rows("PRAGMA max_page_count = 1")  # SQLite: the database is full
    full = asyncio.run(submit(200))
    database.rows("PRAGMA max_page_count = 1000000")
    assert 503 in {getattr(answer, "status", 200) for answer in full}
    written = sum(isinstance(answer, bytes) for answer in full)
    assert served.agent.state.tickets.issued == issued + written
    assert all(isinstance(answer, bytes) for answer in asyncio.run(submit(5)))


def test_a_second_core_on_the_same_ledger_is_rejected(served, tmp_path):
    with pytest.raises(hb.LedgerError, match=r"another|in use|open"):
        open_served(tmp_path)
    assert decide(served).recorded


def test_settings_that_cannot_be_read_are_rejected(tmp_path):
    (tmp_path / "shop.service.json").write_text("{")
    with pytest.raises(hb.InvalidInputError, match="what the service has written"):
        open_served(tmp_path)


def test_a_clock_that_jumps_changes_no_decision(tmp_path, monkeypatch):
    served = open_served(tmp_path, expire_after=60.0)
    now = [1e9]
    served.agent._clock = lambda: now[0]
    early = decide(served)
    now[0] -= 1e6
    assert reward(served, early, 1.0) == "applied"
    late = decide(served)
    now[0] += 1e7
    assert reward(served, late, 1.0) == "late"
    served.close()
