"""What an agent that is rebuilt takes over from its ledger, and what stands in its way."""

import enum
import os
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.features import Date, Encoder, Number

POLICY = hb.linucb(dim=2, radius=1.0)
ARMS = np.eye(2)
ENCODER = Encoder(context_columns=[Number("visits")], action_columns=[Number("price")])
SHOP = hb.linucb(dim=ENCODER.dim, radius=1.0)
OFFERS: Any = {"tea": {"price": 4.0}, "nut": {"price": 9.0}}


def test_the_limits_last_in_force_go_on(tmp_path: Any) -> None:
    """They were those of the first day: then the first call made most tickets expire."""
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db", max_pending=2) as agent:
        agent.select(ARMS)
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db", max_pending=100) as agent:
        tickets = [agent.select(ARMS) for _ in range(20)]
    made = hb.Agent.rebuild(tmp_path / "agent.db")
    made.select(ARMS)
    made.update(tickets[0], 1.0)
    assert made.counters["pending"] == 21


def test_who_kept_nothing_as_it_was_offered_goes_on_so(tmp_path: Any) -> None:
    asked: Any = {"context": {"visits": 1.0}, "actions": OFFERS}
    for keeps in (False, True):
        path, new = tmp_path / f"{keeps}.db", tmp_path / f"{keeps}_new.db"
        with hb.Agent(SHOP, ledger=path, encoder=ENCODER, log_inputs=keeps) as agent:
            agent.select(**asked)
        with hb.Agent.rebuild(path, output=new) as made:
            made.select(**asked)
        with hb.LedgerReader(new) as monitor:
            raws = monitor.database.rows("SELECT event FROM inputs")
        assert len(raws) == (2 if keeps else 0)


@pytest.mark.parametrize("ending", ["", "-wal", "-head"])
def test_what_another_ledger_has_left_is_not_written_over(tmp_path: Any, ending: str) -> None:
    """A log beside the new file would have been taken for its own."""
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        agent.update(agent.select(ARMS), 1.0)
    left = tmp_path / f"new.db{ending}"
    left.write_bytes(b"all that is left")
    with pytest.raises(hb.InvalidInputError, match="output must be a new file"):
        hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "new.db")
    assert left.read_bytes() == b"all that is left"


def test_a_mistake_at_the_door_leaves_no_ledger(tmp_path: Any) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        agent.update(agent.select(ARMS), 1.0)
    wrong: Any = (
        ({"clock": 3}, "clock must be a function"),
        ({"corrections": [(0, 1.0)]}, "corrections must be rewards by ticket"),
    )
    for given, words in wrong:
        with pytest.raises(hb.InvalidInputError, match=words):
            hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "new.db", **given)
    with pytest.raises(hb.InvalidInputError, match="output must be in a folder that exists"):
        hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "away" / "new.db")
    assert sorted(os.listdir(tmp_path)) == ["agent.db", "agent.db-head"]


def test_a_missing_date_is_kept_as_missing(tmp_path: Any) -> None:
    """It was kept as the text "NaT", which no encoder reads."""
    pandas = pytest.importorskip("pandas")
    dated = Encoder(
        context_columns=[Date("when", allow_missing=True)], action_columns=[Number("price")]
    )
    frame = pandas.DataFrame({"when": pandas.to_datetime(["2026-01-01", None]), "price": [1.0, 2]})
    with hb.Agent(
        hb.linucb(dim=dated.dim, radius=1.0), ledger=tmp_path / "agent.db", encoder=dated
    ) as agent:
        agent.warm_start(frame, [1.0, 2.0])
        for when in (pandas.NaT, np.datetime64("NaT"), pandas.NA, None):
            agent.select(context={"when": when}, actions=OFFERS)
    other = Encoder(
        context_columns=[Date("when", allow_missing=True)],
        action_columns=[Number("price", 1.0, 2.0)],
    )
    made = hb.Agent.rebuild(
        tmp_path / "agent.db", hb.linucb(dim=other.dim, radius=1.0), encoder=other
    )
    assert made.updates == 2
    assert made.counters["pending"] == 4


class Drink(enum.StrEnum):
    TEA = "tea"


class Odd(str):
    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_names_that_are_nearly_text_are_kept_as_text_or_refused(tmp_path: Any) -> None:
    """NumPy's text hashed otherwise than what was read back: the ledger could not be opened."""
    with hb.Agent(SHOP, ledger=tmp_path / "agent.db", encoder=ENCODER) as agent:
        for names in (np.array(["tea", "nut"]), [Drink.TEA]):
            offers: Any = {name: OFFERS[str(name)] for name in names}
            ticket = agent.select(context={"visits": 1.0}, actions=offers)
            assert type(ticket.action) is str
            agent.update(ticket, 1.0)
        with pytest.raises(hb.InvalidInputError, match="plain text for names"):
            agent.select(context={"visits": 1.0}, actions={Odd("tea"): OFFERS["tea"]})
    with hb.Agent(SHOP, ledger=tmp_path / "agent.db", encoder=ENCODER) as agent:
        assert agent.updates == 2


def test_room_counts_what_new_decisions_push_out() -> None:
    agent = hb.Agent(hb.tofu(dim=2, horizon=10, raw_moment=1.0), max_pending=3)
    for _ in range(7):
        agent.update(agent.select(ARMS), 1.0)
    for _ in range(6):
        agent.select(ARMS)
    agent.select_many([ARMS])
    assert agent.counters["pending"] == 3
    now = [0.0]
    agent = hb.Agent(
        hb.tofu(dim=2, horizon=10, raw_moment=1.0),
        max_pending=6,
        expire_after=5.0,
        clock=lambda: now[0],
    )
    for _ in range(5):
        agent.update(agent.select(ARMS), 1.0)
    for _ in range(5):
        agent.select(ARMS)
    now[0] = 9.0
    assert len(agent.select_many([ARMS] * 4)) == 4


def test_an_infinite_radius_is_no_damage() -> None:
    agent, rng = hb.Agent(hb.auto(dim=3)), np.random.default_rng(0)
    for _ in range(60):
        agent.update(agent.select(3e-101 * rng.normal(size=(4, 3))), 1e100 * rng.normal())
    assert agent.clone().updates == 60


def test_a_new_column_that_may_be_missing_was_missing_in_the_past(tmp_path: Any) -> None:
    """F24: a column that the past does not have was rejected, although it may be missing."""
    with hb.Agent(SHOP, ledger=tmp_path / "agent.db", encoder=ENCODER) as agent:
        for visits in range(5):
            ticket = agent.select(context={"visits": float(visits)}, actions=OFFERS)
            agent.update(ticket, 1.0)
        named = [{"visits": 2.0, "price": 5.0}]
        agent.warm_start(named, [1.0])
        shown = {row["ticket"]: row["action"] for row in agent.history()}

    def wider(allow_missing: bool) -> Encoder:
        loyalty = Number("loyalty", allow_missing=allow_missing)
        stars = Number("stars", allow_missing=allow_missing)
        return Encoder([Number("visits"), loyalty], [Number("price"), stars])

    new = wider(allow_missing=True)
    policy = hb.linucb(dim=new.dim, radius=1.0)
    made = hb.Agent.rebuild(tmp_path / "agent.db", policy, encoder=new)
    twin = hb.Agent(policy, encoder=new)
    for visits in range(5):
        offer = {shown[visits]: {**OFFERS[shown[visits]], "stars": None}}
        ticket = twin.select(context={"visits": float(visits), "loyalty": None}, actions=offer)
        twin.update(ticket, 1.0)
    twin.warm_start([{**named[0], "loyalty": None, "stars": None}], [1.0])
    assert made.theta.tolist() == twin.theta.tolist()
    with pytest.raises(hb.EncodingError, match="loyalty"):
        hb.Agent.rebuild(
            tmp_path / "agent.db",
            policy_of(wider(allow_missing=False)),
            encoder=wider(allow_missing=False),
        )


def policy_of(encoder: Encoder) -> Any:
    return hb.linucb(dim=encoder.dim, radius=1.0)
