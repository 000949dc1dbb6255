"""Ledgers on a PostgreSQL server: agents are killed, servers restarted, networks interrupted."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import callers_victim as victim
import heavybandits as hb
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger import postgres_server
from heavybandits.ledger.postgres import PostgresLedger
from heavybandits.ledger.postgres_tables import migrate_database
from postgres_process import Network, PostgresProcess, why_not

T = TypeVar("T")

PER_LEDGER = 20  # kills, restarts or faults before a ledger is judged and the next one begun
SECONDS = 60.0  # for callers to get on


@contextmanager
def _server() -> Iterator[PostgresProcess]:
    if why_not():
        raise SystemExit(f"this section needs a server: {why_not()}")
    with closing(PostgresProcess()) as server:
        migrate_database(server.server)
        yield server


class Acknowledged(NamedTuple):
    """The event ids of the calls that have returned."""

    selected: set[str]
    rewarded: set[str]


def judge(address: str, told: Acknowledged) -> str:
    """Everything acknowledged is there once, and the state is that of the events."""
    try:
        agent = victim.open_agent(address)
    except hb.LedgerError as error:
        return f"FAULT: {error}"
    with agent:
        assert agent.ledger is not None
        database = agent.ledger.database
        ((events, last),) = database.rows("SELECT count(*), max(event) FROM events")
        plays = database.rows(
            "SELECT COALESCE(event_id, CAST(ticket AS TEXT)), first_reward FROM plays"
        )
        rewards = dict(plays)
        if len(rewards) != len(plays) or events != (last or 0):
            return "FAULT: events that are doubled or not contiguous"
        lost = told.selected - set(rewards)
        lost |= {name for name in told.rewarded if rewards[name] != victim.reward_of(name)}
        doubled = agent.counters["applied"] - sum(r is not None for r in rewards.values())
        if lost or doubled:
            return f"FAULT: {len(lost)} lost, {doubled} doubled"
        same = _settled(agent) == _settled(hb.Agent.rebuild(address))
        return "nothing lost" if same else "FAULT: the state is not that of the events"


def _settled(agent: hb.Agent) -> bytes:
    state = agent.clone().state._replace(version=1)
    state.tickets.counts |= dict.fromkeys(("late", "duplicate", "unknown"), 0)
    return pack(anonymous(state))


# ---- kills


def kill_callers(attempts: int, seed: int) -> Counter[str]:
    """A process with sixteen callers is killed at any moment, also while it opens its ledger."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-W", "ignore", victim.__file__]
    pipe = subprocess.PIPE
    with _server() as server:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=settings)
        assert process.stdout is not None
        process.stdout.readline()  # ready
        for first in range(0, attempts, PER_LEDGER):
            address, told = server.ledger(f"kills-{first}"), Acknowledged(set(), set())
            kills = min(PER_LEDGER, attempts - first)
            for _ in range(kills):
                _kill(process, address, told, dice)
            outcomes[judge(address, told)] += kills
            outcomes["(acknowledged calls)"] += len(told.selected) + len(told.rewarded)
        process.communicate()
    return outcomes


def _kill(process: Any, address: str, told: Acknowledged, dice: random.Random) -> None:
    process.stdin.write(f"{address}\n")
    process.stdin.flush()
    lines = [process.stdout.readline()]
    while not lines[-1].startswith("child"):
        lines.append(process.stdout.readline())
    child = int(lines.pop().split()[1])
    wanted = 0 if dice.random() < 0.1 else dice.randrange(1, 60)
    while len(lines) < wanted and lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    time.sleep(dice.uniform(0.0, 0.02))
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    while lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    for kind, *event_id in map(str.split, lines):
        if kind in ("select", "reward"):
            (told.selected if kind == "select" else told.rewarded).add(event_id[0])


# ---- callers in this process


class Callers:
    """Sixteen threads that call an agent until they are stopped, and repeat what failed."""

    def __init__(self, agent: hb.Agent, told: Acknowledged, name: str) -> None:
        self.agent, self.told, self.failed = agent, told, 0
        self.fenced = 0
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._call, args=(f"{name}-{n}",))
            for n in range(victim.CALLERS)
        ]
        for thread in self._threads:
            thread.start()

    def _call(self, name: str) -> None:
        for number in itertools.count():
            event_id = f"{name}-{number}"
            ticket = self._repeat(partial(self.agent.select, victim.ARMS, event_id=event_id))
            if ticket is None:
                return
            self.told.selected.add(event_id)
            reward = victim.reward_of(event_id)
            if self._repeat(partial(self.agent.update, ticket, reward)) is None:
                return
            self.told.rewarded.add(event_id)

    def _repeat(self, step: Callable[[], T]) -> T | None:
        """Return what is acknowledged at last; None if the callers stop before."""
        while not self._stop.is_set():
            try:
                return step()
            except hb.LedgerFencedError:
                self.fenced += 1
                return None
            except hb.LedgerError:
                self.failed += 1
        return None

    @property
    def acknowledged(self) -> int:
        return len(self.told.selected) + len(self.told.rewarded)

    def get_on(self, calls: int) -> None:
        """Wait until so many more calls are acknowledged."""
        wanted, end = self.acknowledged + calls, time.monotonic() + SECONDS
        while self.acknowledged < wanted and any(thread.is_alive() for thread in self._threads):
            if time.monotonic() > end:
                raise TimeoutError(f"no call was acknowledged in {SECONDS:.0f} seconds")
            time.sleep(0.002)

    def stop(self) -> None:
        self._stop.set()
        self.join()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(SECONDS)


# ---- restarts


def restart_servers(attempts: int, seed: int) -> Counter[str]:
    """The server stops at once, as after a crash, under sixteen callers, and starts again."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with _server() as server, _counted_doubts(outcomes):
        for first in range(0, attempts, PER_LEDGER):
            address, told = server.ledger(f"restarts-{first}"), Acknowledged(set(), set())
            restarts = min(PER_LEDGER, attempts - first)
            with victim.open_agent(address) as agent:
                callers = Callers(agent, told, "caller")
                for _ in range(restarts):
                    callers.get_on(dice.randrange(1, 100))
                    time.sleep(dice.uniform(0.0, 0.01))
                    server.stop()
                    server.start(wait=False)
                callers.get_on(10)
                callers.stop()
            outcomes[judge(address, told)] += restarts
            outcomes["(acknowledged calls)"] += callers.acknowledged
            outcomes["(calls that raised)"] += callers.failed
    return outcomes


@contextmanager
def _counted_doubts(outcomes: Counter[str]) -> Iterator[None]:
    """Count the commits in doubt that turned out to be stored, or not."""
    known = PostgresLedger._is_stored

    def count(self: PostgresLedger, connection: Any) -> bool:
        stored = known(self, connection)
        outcomes[f"(commits in doubt that were {'' if stored else 'not '}stored)"] += 1
        return stored

    PostgresLedger._is_stored = count  # type: ignore[method-assign]
    try:
        yield
    finally:
        PostgresLedger._is_stored = known  # type: ignore[method-assign]


# ---- takeovers


def take_over(attempts: int, seed: int) -> Counter[str]:
    """A second agent opens the ledger while sixteen callers call the first: all of them stop."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with _server() as server:
        for first in range(0, attempts, PER_LEDGER):
            address, told = server.ledger(f"takeovers-{first}"), Acknowledged(set(), set())
            count, running = min(PER_LEDGER, attempts - first), 0
            agent = victim.open_agent(address)
            for number in range(count):
                callers = Callers(agent, told, f"{number}")
                callers.get_on(dice.randrange(1, 40))
                agent = victim.open_agent(address)
                callers.join()
                running += victim.CALLERS - callers.fenced
            agent.close()
            verdict = judge(address, told)
            outcomes[f"FAULT: {running} callers did not stop" if running else verdict] += count
            outcomes["(acknowledged calls)"] += len(told.selected) + len(told.rewarded)
    return outcomes


# ---- networks and servers that fail in other ways


def lose_messages(attempts: int, seed: int) -> Counter[str]:
    """Requests or answers are lost, connections are silent for a while, or ended by the server."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    before = postgres_server.CALL_SECONDS
    postgres_server.CALL_SECONDS = 0.5
    try:
        with _server() as server, closing(Network(server.port)) as network:
            for first in range(0, attempts, PER_LEDGER):
                name, told = f"messages-{first}", Acknowledged(set(), set())
                faults = min(PER_LEDGER, attempts - first)
                with victim.open_agent(server.ledger(name, network.port)) as agent:
                    callers = Callers(agent, told, "caller")
                    for _ in range(faults):
                        callers.get_on(dice.randrange(1, 40))
                        outcomes[f"({_disturb(server, network, dice)})"] += 1
                    callers.get_on(10)
                    callers.stop()
                outcomes[judge(server.ledger(name), told)] += faults
                outcomes["(acknowledged calls)"] += callers.acknowledged
    finally:
        postgres_server.CALL_SECONDS = before
    return outcomes


def _disturb(server: PostgresProcess, network: Network, dice: random.Random) -> str:
    kind = dice.choice(["requests", "answers", "silence", "backend"])
    if kind == "silence":
        network.cut()
        time.sleep(dice.uniform(0.0, 0.6))
        network.heal()
    elif kind == "backend":
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
    else:
        network.lose(kind)
    return kind


def lose_tails(attempts: int, seed: int) -> Counter[str]:
    """The server is replaced by an older state of itself: the agent stops, what is left is intact,
    and no key of a lost ticket is accepted."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with _server() as server:
        for number in range(attempts):
            name = f"tails-{number}"
            outcomes[_lose_tail(server, name, dice)] += 1
    return outcomes


def _lose_tail(server: PostgresProcess, name: str, dice: random.Random) -> str:
    agent = victim.open_agent(server.ledger(name))
    count = dice.randrange(2, 12)
    tickets = [agent.select(victim.ARMS, event_id=f"e{n}") for n in range(count)]
    left = dice.randrange(1, count)
    _restore(server, name, left)
    try:
        agent.update(tickets[0], 1.0)
        return "FAULT: the agent continued"
    except hb.LedgerError:
        pass
    with victim.open_agent(server.ledger(name)) as after:
        again = [after.select(victim.ARMS) for _ in range(count - left)]
        if [ticket.id for ticket in again] != list(range(left, count)):
            return "FAULT: the tickets are not contiguous"
        for ticket in tickets[left:]:
            with suppress(hb.ForeignTicketError):
                after.update(ticket.key, 1.0)
                return "FAULT: the key of a lost ticket was accepted"
        for ticket in tickets[:left]:
            after.update(ticket.key, 1.0)
    return judge(server.ledger(name), Acknowledged({f"e{n}" for n in range(left)}, set()))


def _restore(server: PostgresProcess, name: str, events: int) -> None:
    """Remove the events after these, as if a replica without them had taken over."""
    ((ledger,),) = server.execute("SELECT id FROM heavybandits.agents WHERE name = %s", name)
    for table in ("events", "inputs", "states"):
        remove = f"DELETE FROM heavybandits.{table} WHERE ledger = %s AND event > %s"
        server.execute(remove, ledger, events)
    server.execute(
        "UPDATE heavybandits.agents one SET end_event = event.event, end_link = event.link "
        "FROM heavybandits.events event WHERE one.id = %s AND event.ledger = one.id "
        "AND event.event = %s",
        ledger,
        events,
    )
