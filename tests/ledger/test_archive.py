"""Old events in Parquet files: an agent continues, a rebuild reads them, damage is noticed."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.cli.app import cli
from heavybandits.features import Encoder, Number
from heavybandits.ledger import archive
from heavybandits.ledger.archive import compact
from heavybandits.ledger.repair import examine, repair
from heavybandits.ledger.sqlite_file import Database

ENCODER = Encoder(action_columns=[Number("price")])
POLICY = hb.linucb(dim=ENCODER.dim, radius=1.0)
OFFERS: Any = {"tea": {"price": 4.0}, "nut": {"price": 9.0}}


def opened(path: Path) -> hb.Agent:
    return hb.Agent(POLICY, ledger=path, encoder=ENCODER, snapshot_every=7, clock=lambda: 0.0)


def bits(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


def play(agent: hb.Agent, rounds: int) -> None:
    for number in range(rounds):
        agent.update(agent.select(actions=OFFERS), float(number))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger of 30 decisions with a mark after ten, and files of 20 events."""
    monkeypatch.setattr(archive, "SEGMENT", 20)
    with opened(tmp_path / "shop.db") as agent:
        play(agent, 10)
        agent.mark("autumn")
        play(agent, 20)
    return tmp_path / "shop.db"


def test_an_agent_continues_and_a_rebuild_is_equal(shop: Path, tmp_path: Path) -> None:
    with opened(shop) as agent:
        wanted = bits(agent)
    size = shop.stat().st_size
    moved = compact(shop, tmp_path / "old")
    assert moved.events == 61
    assert [file.name for file in moved.files] == [
        "events-000000000001-000000000020.parquet",
        "events-000000000021-000000000040.parquet",
        "events-000000000041-000000000060.parquet",
        "events-000000000061-000000000061.parquet",
    ]
    assert shop.stat().st_size < size
    assert examine(shop).intact
    assert compact(shop, tmp_path / "old").events == 0
    with opened(shop) as agent:
        assert bits(agent) == wanted
        assert agent.history() == []
        play(agent, 5)
        late = agent.select(actions=OFFERS)
        play(agent, 3)
        wanted = bits(agent)
    assert bits(hb.Agent.rebuild(shop)) == wanted
    assert hb.Agent.rebuild(shop, until=20).updates == 10
    narrow = Encoder(action_columns=[Number("price", scale=2.0)])
    assert hb.Agent.rebuild(shop, POLICY, encoder=narrow).updates == 38
    assert compact(shop, tmp_path / "old").events == 10  # up to the ticket that waits
    with opened(shop) as agent:
        assert bits(agent) == wanted
        assert agent.update(late.key, 1.0) == "applied"
        assert [row["ticket"] for row in agent.history()] == [35, 36, 37, 38]
        wanted = bits(agent)
    assert bits(hb.Agent.rebuild(shop)) == wanted


def test_copies_and_repairs_of_an_archived_ledger_are_ledgers(shop: Path, tmp_path: Path) -> None:
    compact(shop, tmp_path / "old", before="autumn")
    with opened(shop) as agent:
        play(agent, 2)
        wanted = bits(agent)
        agent.backup(tmp_path / "copy.db")
    repair(shop, tmp_path / "repaired.db")
    for path in (tmp_path / "copy.db", tmp_path / "repaired.db"):
        assert bits(hb.Agent.rebuild(path)) == wanted
        with opened(path) as agent:
            assert bits(agent) == wanted
        with hb.LedgerReader(path) as reader:
            assert next(reader.follow())["event"] == 21


def test_an_archived_ticket_is_no_longer_found(shop: Path, tmp_path: Path) -> None:
    compact(shop, tmp_path / "old", before="autumn")
    with opened(shop) as agent:
        for call in (lambda: agent.ticket(3), lambda: agent.erase_inputs([3])):
            with pytest.raises(hb.InvalidInputError, match="its events were archived"):
                call()
        with pytest.raises(hb.InvalidInputError, match="has been settled already"):
            agent.update(3, 3.0)
        assert agent.ticket(10).id == 10
        assert agent.update(10, 0.0) == "duplicate"


def test_without_its_files_a_rebuild_says_where_they_were(shop: Path, tmp_path: Path) -> None:
    moved = compact(shop, tmp_path / "old", before=41)
    second, content = moved.files[1], moved.files[1].read_bytes()
    second.unlink()
    with pytest.raises(hb.LedgerError, match=r"from event 21 on were archived in .*old"):
        hb.Agent.rebuild(shop)
    for harmed in (content[:-40], content[:200] + b"?" + content[201:]):
        second.write_bytes(harmed)
        with pytest.raises(hb.LedgerError, match="is damaged"):
            hb.Agent.rebuild(shop)
    second.write_bytes(moved.files[0].read_bytes())
    with pytest.raises(hb.LedgerError, match="event 21 is missing or altered"):
        hb.Agent.rebuild(shop)
    second.write_bytes(content)
    assert hb.Agent.rebuild(shop).updates == 30
    opened(shop).close()


def test_a_flipped_bit_in_the_footer_of_a_file_is_damage(shop: Path, tmp_path: Path) -> None:
    """Some of them name types that pyarrow does not know."""
    file = compact(shop, tmp_path / "old").files[0]
    content = file.read_bytes()
    for at in range(len(content) - 880, len(content) - 540, 2):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with suppress(hb.LedgerError):
            list(archive._read_segment(file))


def test_a_damaged_or_open_ledger_is_not_compacted(shop: Path, tmp_path: Path) -> None:
    with opened(shop), pytest.raises(hb.LedgerError, match="in use"):
        compact(shop, tmp_path / "old")
    with pytest.raises(hb.InvalidInputError, match="is not a file"):
        compact(tmp_path / "none.db", tmp_path / "old")
    with sqlite3.connect(shop) as database:
        database.execute("UPDATE events SET reward = 99.0 WHERE event = 4")
    database.close()
    with pytest.raises(hb.LedgerError, match="event 4 is missing or altered"):
        compact(shop, tmp_path / "old")
    assert not (tmp_path / "old").exists()


def test_without_room_nothing_has_changed_or_the_file_keeps_its_size(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, rows = bits(hb.Agent.rebuild(shop)), Database.rows

    def full(database: Database, statement: str, *values: Any) -> Any:
        if statement == "VACUUM":
            raise hb.LedgerError("database or disk is full")
        return rows(database, statement, *values)

    (tmp_path / "taken").write_text("no folder")
    with pytest.raises(hb.LedgerError, match="taken: File exists"):
        compact(shop, tmp_path / "taken")
    assert examine(shop).events == 61
    monkeypatch.setattr(Database, "rows", full)
    assert compact(shop, tmp_path / "old").events == 61
    assert bits(hb.Agent.rebuild(shop)) == wanted


def test_a_ledger_on_a_server_is_not_compacted(tmp_path: Path) -> None:
    with pytest.raises(hb.InvalidInputError, match="a ledger in a file, not of a server"):
        compact("postgresql://db.example/bandits?agent=shop", tmp_path)


@pytest.mark.parametrize(
    ("before", "events"), [("autumn", 20), ("7", 7), ("1970-01-02", 61), ("1969-12-31", 0)]
)
def test_the_command_moves_what_came_before(
    shop: Path, tmp_path: Path, before: str, events: int
) -> None:
    arguments = ["ledger", "compact", str(shop), str(tmp_path / "old"), "--before", before]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert f"moved {events} events" in result.output
    assert examine(shop).intact


def test_files_of_a_run_that_was_killed_are_ignored(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(archive, "_forget", lambda *_: None)
        compact(shop, tmp_path / "old")
    with opened(shop) as agent:
        assert len(agent.history()) == 30
    compact(shop, tmp_path / "old", before=15)
    assert hb.Agent.rebuild(shop).updates == 30
