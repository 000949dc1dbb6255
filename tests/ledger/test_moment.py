"""Moments of a ledger: rebuild until then, from a ledger that is in use, and follow what comes."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.moment import last_event

POLICY = hb.linucb(dim=2, radius=1.0)
ARMS = [[1.0, 0.0], [0.0, 1.0]]
DAY = 86_400.0


def bits(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


class Days:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def play(agent: hb.Agent, rewards: list[float]) -> None:
    for reward in rewards:
        agent.update(agent.select(ARMS), reward)


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    """An agent that works: three days, a mark before the second, and what it was on each."""
    clock = Days()
    agent = hb.Agent(POLICY, ledger=tmp_path / "shop.db", clock=clock, snapshot_every=4)
    states = []
    for day in range(3):
        clock.now = day * DAY
        if day == 1:
            assert agent.mark("before-sale") == 6
        play(agent, [1.0 + day, -day, 0.5])
        states.append(bits(agent))
    yield agent, states
    agent.close()


@pytest.mark.parametrize(
    ("until", "day"),
    [
        (6, 0),
        ("before-sale", 0),
        (0.5 * DAY, 0),
        (dt.datetime(1970, 1, 1, 12, tzinfo=dt.UTC), 0),
        (7, 0),
        (13, 1),
        (1.0 * DAY, 1),
        (99.0 * DAY, 2),
        (None, 2),
    ],
)
def test_an_agent_returns_to_a_moment_while_the_other_works(
    shop: Any, tmp_path: Path, until: Any, day: int
) -> None:
    agent, states = shop
    back = hb.Agent.rebuild(tmp_path / "shop.db", until=until)
    assert bits(back) == states[day]
    agent.update(agent.select(ARMS), 2.0)
    assert agent.updates == 10


def test_what_came_after_the_moment_is_foreign(shop: Any, tmp_path: Path) -> None:
    agent, _ = shop
    later = agent.select(ARMS)
    output = tmp_path / "back.db"
    with hb.Agent.rebuild(tmp_path / "shop.db", until="before-sale", output=output) as back:
        assert back.marks == {}
        ticket = back.select(ARMS)
        assert ticket.id == 3
        with pytest.raises(hb.ForeignTicketError):
            back.update(later, 5.0)
        assert back.update(ticket, 1.0) == "applied"


@pytest.mark.parametrize(
    ("until", "words"),
    [
        (20, "one of the 19 events"),
        (-1, "until must be"),
        ("sale", r"a mark of the ledger \('before-sale'\), got 'sale'"),
        (True, "until must be"),
        (float("nan"), "until must be"),
        ([6], "until must be"),
    ],
)
def test_a_moment_that_is_not_in_the_ledger_is_rejected(
    shop: Any, tmp_path: Path, until: Any, words: str
) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.Agent.rebuild(tmp_path / "shop.db", until=until)


def test_marks_are_events_that_a_rebuild_repeats(shop: Any, tmp_path: Path) -> None:
    agent, _ = shop
    assert agent.marks == {"before-sale": 6}
    for name in ("before-sale", "", 7):
        with pytest.raises(hb.InvalidInputError, match="name must be"):
            agent.mark(name)
    with hb.Agent.rebuild(tmp_path / "shop.db", output=tmp_path / "new.db") as new:
        assert new.marks == agent.marks
    with hb.LedgerReader(tmp_path / "shop.db") as reader:
        assert reader.marks == agent.marks
        assert last_event(reader.database, "before-sale") == 6
    with pytest.raises(hb.InvalidInputError, match="needs an agent with a ledger"):
        hb.Agent(POLICY).mark("now")


# ---- decisions that are left out


def test_nothing_is_learned_from_tickets_that_are_left_out(tmp_path: Path) -> None:
    def work(path: Path, skip: set[int]) -> bytes:
        with hb.Agent(POLICY, ledger=path, clock=lambda: 0.0) as agent:
            for number in range(8):
                ticket = agent.record(arms=ARMS, chosen=number % 2, event_id=f"order-{number}")
                if number in skip:
                    agent.cancel(ticket)
                else:
                    agent.update(ticket, float(number))
            if not skip:
                agent.revise(3, 7.0)
            keys.append(agent.ticket(2).key)
            return bits(agent)

    keys: list[str] = []
    work(tmp_path / "all.db", set())
    wanted = work(tmp_path / "some.db", {2, 3, 5})
    left_out: Any = [keys[0], 3, "order-5"]
    assert bits(hb.Agent.rebuild(tmp_path / "all.db", without=left_out)) == wanted
    for wrong, words in (([99], "ticket 99 is not in"), ("order-5", "must be a list")):
        with pytest.raises(hb.InvalidInputError, match=words):
            hb.Agent.rebuild(tmp_path / "all.db", without=wrong)


def test_plays_of_several_are_not_left_out_alone(tmp_path: Path) -> None:
    policy = hb.linucb(dim=2, radius=1.0, filter=hb.filters.MeanOfMedians(3, 1))
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        agent.select(ARMS)
    with pytest.raises(hb.InvalidInputError, match="one play per decision"):
        hb.Agent.rebuild(tmp_path / "agent.db", without=[0])


# ---- following


def test_a_reader_follows_an_agent(shop: Any, tmp_path: Path) -> None:
    agent, _ = shop
    with hb.LedgerReader(tmp_path / "shop.db") as reader:
        rows = list(reader.follow())
        assert [row["event"] for row in rows] == list(range(1, 20))
        assert (rows[6]["kind"], rows[6]["name"]) == ("mark", "before-sale")
        assert np.array_equal(rows[0]["features"], ARMS[rows[0]["arm"]])
        assert list(reader.follow(after=19)) == []
        agent.update(agent.select(ARMS), 2.5)
        new = list(reader.follow(after=rows[-1]["event"]))
        assert [(row["kind"], row["reward"]) for row in new] == [("select", None), ("reward", 2.5)]
        with pytest.raises(hb.InvalidInputError, match="after must be"):
            list(reader.follow(after=-1))


def test_a_reader_follows_more_than_a_page(tmp_path: Path) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        agent.select_many(np.broadcast_to(ARMS, (2500, 2, 2)))
    with hb.LedgerReader(tmp_path / "agent.db") as reader:
        assert [row["event"] for row in reader.follow(after=7)] == list(range(8, 2501))
