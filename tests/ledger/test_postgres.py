"""A ledger on a real PostgreSQL server: what it stores, who may write it, what failures leave."""

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits import InvalidInputError, LedgerError, LedgerFencedError
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.cli.app import cli
from heavybandits.features import Category, Number
from heavybandits.ledger import postgres_server, repair
from heavybandits.ledger.reader import LedgerReader
from postgres_process import Network, PostgresProcess

ARMS = [[1.0, 0.0], [0.6, 0.8]]
_numbers = itertools.count()


@pytest.fixture
def address(postgres: PostgresProcess) -> str:
    return postgres.ledger(f"agent-{next(_numbers)}")


@pytest.fixture
def own_server() -> Iterator[PostgresProcess]:
    """A server that a test may stop."""
    from heavybandits.ledger.postgres_tables import migrate_database
    from postgres_process import why_not

    if why_not():
        pytest.skip(why_not())
    server = PostgresProcess()
    migrate_database(server.server)
    yield server
    server.close()


@pytest.fixture
def network(postgres: PostgresProcess) -> Iterator[Network]:
    with closing(Network(postgres.port)) as made:
        yield made


def make(ledger: str | Path, **options: Any) -> hb.Agent:
    return hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=ledger, **options)


def play(agent: hb.Agent, rounds: int) -> None:
    """Decide and reward; the event id of a decision is the number of its ticket."""
    first = agent.state.tickets.issued
    for number in range(first, first + rounds):
        agent.update(agent.select(ARMS, event_id=str(number)), number / 7)


def settled(agent: hb.Agent) -> bytes:
    """All but who it is, and the calls that were rejected: these are stored with snapshots."""
    state = agent.clone().state._replace(version=1)
    state.tickets.counts |= dict.fromkeys(("late", "duplicate", "unknown"), 0)
    return pack(anonymous(state))


def check_complete(address: str, rounds: int) -> None:
    """The reopened agent has every round once, and is the one that learns the events again."""
    assert repair.examine(address).problems == []
    with make(address) as agent:
        assert agent.counters["applied"] == len(agent.history()) == rounds
        assert settled(agent) == settled(hb.Agent.rebuild(address))


# ---- what is stored


def test_it_stores_what_sqlite_stores(address: str, tmp_path: Path) -> None:
    names = "kind, ticket, event_id, reward, arm, expected, width, propensity, available, features"
    found: list[Any] = []
    for ledger in (address, tmp_path / "agent.db"):
        with make(ledger, clock=lambda: 3.5, snapshot_every=7) as agent:
            for number in range(20):
                ticket = agent.select(ARMS, event_id=f"e{number}", group="a")
                agent.update(ticket, number / 7)
            agent.revise(3, 9.0)
            agent.cancel(agent.select(ARMS))
            assert agent.ledger is not None
            rows = agent.ledger.database.rows(f"SELECT {names} FROM events ORDER BY event")
            found += [rows, agent.history(), settled(agent)]
        with make(ledger) as again:
            found.append(settled(again))
    assert found[:4] == found[4:]


def test_named_inputs_are_stored_and_can_be_erased(address: str) -> None:
    encoder = hb.Encoder(
        [Category("city", categories=["Oslo", "Rome"])],
        interactions="per_action",
        actions=["tea", "figs"],
        action="action",
    )
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    with hb.Agent(policy, ledger=address, encoder=encoder) as agent:
        for city in ("Oslo", "Rome"):
            ticket = agent.select(context={"city": city}, actions={"tea": {}, "figs": {}})
            agent.update(ticket, 1.0)
        with LedgerReader(address) as reader:
            assert reader.encoder is not None
            assert [row["plays"] for row in reader.action_counts()] in ([2], [1, 1])
            assert list(reader.feedback().column("reward")) == [1.0, 1.0]
        assert agent.ledger is not None
        inputs = "SELECT context FROM inputs ORDER BY event"
        assert [row for (row,) in agent.ledger.database.rows(inputs)] == [
            '{"city":"Oslo"}',
            '{"city":"Rome"}',
        ]
        assert agent.ledger.erase_inputs([0]) == 1
        assert agent.ledger.erase_inputs([0]) == 0
    assert repair.examine(address).intact


def test_many_events_at_once_are_the_same_as_few(address: str) -> None:
    with make(address, snapshot_every=50) as agent:
        with agent.batch():
            play(agent, 100)
            assert len(agent.history()) == 100
            assert agent.update(50, 50 / 7) == "duplicate"
            assert agent.select(ARMS, event_id="3").id == 3
        play_id = agent.select(ARMS, event_id="last").id
        agent.update(play_id, 1.0)
        before = settled(agent)
    with make(address) as again:
        assert settled(again) == before
    check_complete(address, 101)


def test_a_batch_that_fails_has_not_happened(address: str, postgres: PostgresProcess) -> None:
    with make(address) as agent:
        play(agent, 3)
        before = settled(agent)

        def fail() -> None:
            with agent.batch():
                play(agent, 30)
                agent.select(ARMS, group="forbidden")

        rule = "CONSTRAINT no_group"
        table = "ALTER TABLE heavybandits.events"
        postgres.execute(f"{table} ADD {rule} CHECK (decision_group <> 'forbidden')")
        with pytest.raises(LedgerError, match="violates check constraint"):
            fail()
        postgres.execute(f"{table} DROP {rule}")
        assert settled(agent) == before
        play(agent, 1)
    check_complete(address, 4)


def test_a_reader_follows_and_rebuilds_from_a_live_ledger(address: str) -> None:
    with make(address) as agent, LedgerReader(address) as reader:
        play(agent, 5)
        assert reader.events == 10
        play(agent, 1)
        assert reader.events == 12
        assert np.array_equal(hb.Agent.rebuild(address).theta, agent.theta)


def test_a_ledger_moves_between_stores(address: str, tmp_path: Path) -> None:
    with make(address) as agent:
        play(agent, 30)
        ticket = agent.select(ARMS)
    file = tmp_path / "agent.db"
    hb.Agent.rebuild(address, output=file).close()
    with hb.Agent.rebuild(file, output=f"{address}.v2") as back:
        assert settled(back) == settled(agent)
        assert back.update(ticket.key, 1.0) == "applied"
    with pytest.raises(InvalidInputError, match="there already"):
        hb.Agent.rebuild(file, output=f"{address}.v2")
    assert repair.repair(address, tmp_path / "saved.db").after.intact
    assert repair.export(address, tmp_path / "events.csv").events == 61


def test_a_row_that_was_altered_is_found(address: str, postgres: PostgresProcess) -> None:
    with make(address) as agent:
        play(agent, 5)
    postgres.execute(
        "UPDATE heavybandits.events SET reward = 7 WHERE event = 4 AND ledger = "
        "(SELECT id FROM heavybandits.agents WHERE name = %s)",
        address.partition("agent=")[2],
    )
    assert repair.examine(address).events == 3
    with pytest.raises(LedgerError, match="event 4 is missing or altered"):
        make(address)


# ---- one writer


def test_an_agent_that_was_taken_over_stops(address: str) -> None:
    old = make(address)
    play(old, 3)
    with make(address) as new:
        play(new, 2)
        for _ in range(2):
            with pytest.raises(LedgerFencedError, match="opened by another agent"):
                old.select(ARMS)
        with pytest.raises(LedgerError):
            old.close()
    check_complete(address, 5)


def test_another_policy_does_not_stop_the_agent(address: str) -> None:
    with make(address) as agent:
        with pytest.raises(LedgerError, match="belongs to another policy"):
            hb.Agent(hb.linucb(dim=2, radius=3.0), ledger=address)
        play(agent, 1)


def test_a_server_that_lost_events_stops_the_agent(address: str, postgres: PostgresProcess) -> None:
    """A replica that lacked the tail, or a backup, has replaced the server."""
    agent, name = make(address), address.partition("agent=")[2]
    play(agent, 3)
    find = "(SELECT id FROM heavybandits.agents WHERE name = %s)"
    kept = postgres.execute(
        f"SELECT event, link FROM heavybandits.events WHERE event = 4 AND ledger = {find}", name
    )
    lost = agent.select(ARMS)
    for table in ("events", "inputs"):
        delete = f"DELETE FROM heavybandits.{table} WHERE event > 4 AND ledger = {find}"
        postgres.execute(delete, name)
    set_end = "UPDATE heavybandits.agents SET end_event = %s, end_link = %s WHERE name = %s"
    postgres.execute(set_end, *kept[0], name)
    with pytest.raises(LedgerError, match=r"ends at event 4 .* 7 events were acknowledged"):
        agent.update(lost, 1.0)
    with make(address) as left:
        assert left.counters["applied"] == 2
        assert left.select(ARMS).id == 2
        assert left.select(ARMS).id == lost.id
        with pytest.raises(hb.ForeignTicketError):
            left.update(lost.key, 1.0)


# ---- failures


@pytest.mark.parametrize("lost", ["requests", "answers"])
@pytest.mark.parametrize("rounds", [1, 40])
def test_a_commit_in_doubt_is_resolved(
    address: str, network: Network, postgres: PostgresProcess, lost: str, rounds: int
) -> None:
    """The request is lost, or the answer: each event is stored once."""
    name = address.partition("agent=")[2]
    with make(postgres.ledger(name, network.port)) as agent:
        play(agent, 2)
        with agent.batch():
            play(agent, rounds)
            network.lose(lost)
        agent.update(agent.select(ARMS), 1.0)
    check_complete(address, rounds + 3)


def test_a_connection_that_is_lost_while_it_reads_is_no_damage(
    address: str, network: Network, postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(address) as agent:
        play(agent, 5)
    name, known = address.partition("agent=")[2], postgres_server.Server.stream
    lost = ["answers"]

    def lose(self: Any, *given: Any) -> Iterator[Any]:
        if lost:
            network.lose(lost.pop())
        return known(self, *given)

    monkeypatch.setattr(postgres_server.Server, "stream", lose)
    with make(postgres.ledger(name, network.port)) as agent:
        assert not lost
        assert agent.counters["applied"] == 5
    lost.append("answers")
    with pytest.raises(LedgerError) as caught:
        repair.examine(postgres.ledger(name, network.port))
    assert "damaged" not in str(caught.value)


def test_a_network_that_is_silent_does_not_hold_the_agent_for_ever(
    address: str, network: Network, postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "CALL_SECONDS", 0.3)
    monkeypatch.setattr(postgres_server, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(postgres_server, "PATIENCE", 0.2)
    with make(postgres.ledger(address.partition("agent=")[2], network.port)) as agent:
        play(agent, 3)
        network.cut()
        with pytest.raises(LedgerError, match=r"127\.0\.0\.1"):
            agent.select(ARMS)
        with make(address) as other:  # on the other side of the partition
            play(other, 1)
        network.heal()
        with pytest.raises(LedgerFencedError):
            agent.select(ARMS)
        with pytest.raises(LedgerError):
            agent.close()
        agent._ledger = None
    check_complete(address, 4)


def test_a_silent_network_that_heals_is_survived(
    address: str, network: Network, postgres: PostgresProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "CALL_SECONDS", 0.3)
    monkeypatch.setattr(postgres_server, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(postgres_server, "PATIENCE", 0.2)
    with make(postgres.ledger(address.partition("agent=")[2], network.port)) as agent:
        play(agent, 3)
        network.cut()
        for _ in range(2):
            with pytest.raises(LedgerError):
                agent.select(ARMS)
        network.heal()
        play(agent, 2)
    check_complete(address, 5)


def test_the_server_stops_and_starts(own_server: PostgresProcess) -> None:
    address = own_server.ledger("shop")
    with make(address) as agent:
        play(agent, 2)
        for _ in range(2):  # at once, while the agent is silent: it connects again
            own_server.stop()
            own_server.start(wait=False)
            play(agent, 1)
        own_server.stop()
        agent._ledger._server._reachable = False  # type: ignore[union-attr]
        for _ in range(2):
            with pytest.raises(LedgerError, match=r"127\.0\.0\.1"):
                agent.select(ARMS)
        own_server.start()
        play(agent, 1)
    check_complete(address, 5)


def test_a_server_that_only_reads_rejects_and_recovers(own_server: PostgresProcess) -> None:
    address = own_server.ledger("shop")
    with make(address) as agent:
        play(agent, 2)
        own_server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        own_server.execute("SELECT pg_reload_conf()")
        agent._ledger._server.disconnect()  # type: ignore[union-attr]
        agent._ledger._server._reachable = False  # type: ignore[union-attr]
        with pytest.raises(LedgerError, match="read-only"):
            agent.select(ARMS)
        with own_server.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
        agent._ledger._server.disconnect()  # type: ignore[union-attr]
        play(agent, 1)
    check_complete(address, 3)


INTERRUPTED = """
import random, signal, sys, heavybandits as hb
address, dice, armed = sys.argv[1], random.Random(3), False
class Alarm(BaseException): pass
def ring(*_):
    if armed:
        raise Alarm
signal.signal(signal.SIGALRM, ring)
agent = hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=address, snapshot_every=5)
arms = [[1.0, 0.0], [0.6, 0.8]]
for n in range(3):  # compile first
    agent.update(agent.select(arms, event_id=f"c{n}"), 1.0)
done = 0
while done < 30:
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.0005, 0.03))
        agent.update(agent.select(arms, event_id=f"e{done}"), done / 7)
        armed = False
        done += 1
    except Alarm:
        armed = False
    except hb.InvalidInputError as error:
        armed = False
        assert "must have one reward" in str(error)
        done += 1
signal.setitimer(signal.ITIMER_REAL, 0)
agent.close()
"""


def test_calls_that_are_interrupted_happen_or_not(address: str) -> None:
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", INTERRUPTED, address]
    subprocess.run(command, check=True, env=settings, timeout=120)
    check_complete(address, 33)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_leaves_the_ledger_alone(address: str) -> None:
    with make(address) as agent:
        play(agent, 2)
        child = os.fork()
        if child == 0:
            try:
                agent.select(ARMS)
            except LedgerError as error:
                os._exit(0 if "fork" in str(error) else 1)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        play(agent, 2)
    check_complete(address, 4)


def test_text_that_the_server_cannot_store_is_rejected(address: str) -> None:
    encoder = hb.Encoder([], [Number("price")], interactions="none")
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    with hb.Agent(policy, ledger=address, encoder=encoder) as agent:
        before = settled(agent)
        with pytest.raises(LedgerError, match="NUL"):
            agent.select(actions={"a\0b": {"price": 1.0}})
        assert settled(agent) == before
        agent.update(agent.select(actions={"tea": {"price": 1.0}}), 1.0)
    check_complete(address, 1)


# ---- commands, addresses and errors


def run(*command: str) -> Any:
    return CliRunner().invoke(cli, ["ledger", *command])


def test_the_commands_take_an_address(
    address: str, postgres: PostgresProcess, tmp_path: Path
) -> None:
    with make(address) as agent:
        play(agent, 2)
    checked = run("check", address)
    assert (checked.exit_code, "good events   4" in checked.output) == (0, True)
    assert run("export", address, str(tmp_path / "events.csv")).exit_code == 0
    assert run("repair", address, str(tmp_path / "saved.db")).exit_code == 0
    assert run("migrate", postgres.server).output == "the tables are up to date\n"
    assert run("migrate", "agent.db").exit_code != 0


def test_a_database_without_tables_says_what_to_do(postgres: PostgresProcess) -> None:
    postgres.execute("CREATE DATABASE empty")
    with pytest.raises(LedgerError, match="heavybandits ledger migrate 'postgresql://"):
        make(postgres.ledger("shop").replace("/postgres?", "/empty?"))


def test_an_error_has_no_password(postgres: PostgresProcess) -> None:
    closed = postgres.ledger("shop").replace("postgres@", "postgres:geheim@")
    with pytest.raises(LedgerError) as caught:
        make(closed.replace(str(postgres.port), "1"))
    assert "geheim" not in str(caught.value)


def test_an_agent_that_is_dropped_closes_its_connection(address: str) -> None:
    agent = make(address)
    play(agent, 1)
    del agent
    check_complete(address, 1)
