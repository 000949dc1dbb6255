"""The service with a ledger on a PostgreSQL server, which stops and starts under load."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")

from heavybandits.ledger.postgres_tables import migrate_database
from postgres_process import PostgresProcess, why_not
from service_process import ACTIONS, Answer, ServiceProcess

REMOTE = """
[agents.remote]
policy = "linucb"
epsilon = 0.2
ledger = "{ledger}"
[agents.remote.parameters]
radius = 1.0
[agents.remote.encoder]
actions = ["tea", "figs", "honey"]
"""
SECONDS = 60.0  # to recover


@pytest.fixture
def server() -> Iterator[PostgresProcess]:
    if why_not():
        pytest.skip(why_not())
    with closing(PostgresProcess()) as made:
        migrate_database(made.server)
        yield made


def decide(service: ServiceProcess, event_id: str) -> Answer:
    return service.post("decide", {"actions": ACTIONS, "event_id": event_id}, agent="remote")


class Client(threading.Thread):
    """Decides until it is stopped, and repeats what got no answer under the same event id."""

    def __init__(self, service: ServiceProcess, name: str) -> None:
        super().__init__()
        self._service, self._done, self._prefix = service, threading.Event(), name
        self.recorded: list[str] = []
        self.rejected: list[Answer] = []
        self.start()

    def run(self) -> None:
        numbers = itertools.count()
        event_id = f"{self._prefix}-{next(numbers)}"
        while not self._done.is_set():
            answer = decide(self._service, event_id)
            if answer.status == 200:
                self.recorded.append(event_id)
                event_id = f"{self._prefix}-{next(numbers)}"
            else:
                self.rejected.append(answer)

    def close(self) -> None:
        self._done.set()
        self.join(SECONDS)


def wait_until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_the_server_stops_and_starts_under_load(server: PostgresProcess, tmp_path: Path) -> None:
    service = ServiceProcess(tmp_path, more=REMOTE.format(ledger=server.server))
    clients = [Client(service, f"client-{n}") for n in range(4)]
    wait_until(lambda: all(len(client.recorded) > 5 for client in clients))
    server.stop()
    wait_until(lambda: all(client.rejected for client in clients))
    server.start()
    before = [len(client.recorded) for client in clients]
    wait_until(lambda: all(len(c.recorded) > n + 5 for c, n in zip(clients, before, strict=True)))
    for client in clients:
        client.close()
    for answer in (answer for client in clients for answer in client.rejected):
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0
    found = server.execute("SELECT event_id FROM heavybandits.plays WHERE agent = 'remote'")
    stored = [event_id for (event_id,) in found]
    assert len(set(stored)) == len(stored)
    assert {name for client in clients for name in client.recorded} <= set(stored)
    assert service.stop() == 0


@pytest.mark.slow
def test_promotion_moves_to_another_ledger_of_the_database(
    server: PostgresProcess, tmp_path: Path
) -> None:
    address = server.server.replace("postgres@", "postgres:geheim@")
    service = ServiceProcess(tmp_path, more=REMOTE.format(ledger=address))
    first = decide(service, "first").body
    policy = {"policy": "linucb", "parameters": {"radius": 2.0}}
    assert service.post("promote", policy, agent="remote", admin=True).status == 200
    second = decide(service, "second").body
    for made in (first, second):
        sent = {"ticket": made["ticket"], "reward": 1.0}
        assert service.post("reward", sent, agent="remote").body == {"outcome": "applied"}
    assert service.post("rollback", {}, agent="remote", admin=True).status == 200
    service.kill()
    service.start()
    sent = {"ticket": second["ticket"], "reward": 1.0}
    assert service.post("reward", sent, agent="remote").body == {"outcome": "duplicate"}
    found = server.execute("SELECT name, end_event FROM heavybandits.agents ORDER BY name")
    names = [name for name, _ in found]
    assert [name.partition("-")[0] for name in names] == ["remote", "remote.v2", "remote.v3"]
    assert json.loads((tmp_path / "remote.service.json").read_text())["ledger"] == names[-1]
    assert "geheim" not in (tmp_path / "log.txt").read_text()
    assert service.stop() == 0


def test_a_second_service_stops_the_first(server: PostgresProcess, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first = ServiceProcess(folders[0], more=REMOTE.format(ledger=server.server))
    assert decide(first, "a").status == 200
    second = ServiceProcess(folders[1], more=REMOTE.format(ledger=server.server))
    assert [decide(first, "b").status for _ in range(2)] == [503, 503]
    assert decide(second, "b").status == 200
    assert first.get("/readyz").status == 503
    assert second.stop() == 0
    first.kill()
