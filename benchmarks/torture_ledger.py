"""Ledgers whose processes are killed or forked, whose disks fill up."""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack

PER_LEDGER = 20  # kills, forks or errors before a ledger is judged and the next one begun


def reopen(path: Path, plays: int = 1) -> hb.Agent:
    return victim.open_agent(str(path), plays)


def judge(path: Path, plays: int, acknowledged: set[int]) -> str:
    """Check that every acknowledged reward is there once, and that no bit has changed."""
    try:
        agent = reopen(path, plays)
    except hb.LedgerError as error:
        return f"FAULT: {error}"
    with agent:
        rows = {row["ticket"]: row for row in agent.history()}
        lost = [n for n in acknowledged if rows.get(n, {}).get("reward") != victim.reward_of(n)]
        rewards = sum(row["outcome"] == "reward" for row in rows.values())
        if lost or agent.counters["applied"] != rewards:
            return f"FAULT: {len(lost)} rewards lost, {agent.counters['applied'] - rewards} doubled"
        return (
            "nothing lost"
            if _settled(agent) == _settled(_replayed(agent, plays))
            else ("FAULT: a silent difference")
        )


def _replayed(agent: hb.Agent, plays: int) -> hb.Agent:
    """An agent in memory that meets the same calls and was never disturbed."""
    twin = hb.Agent(agent.policy, rng=7, clock=lambda: 0.0)
    assert agent.ledger is not None
    rows = agent.ledger.database.rows("SELECT kind, ticket, reward FROM events ORDER BY event")
    for kind, ticket, reward in rows:
        if kind == "select":
            twin.select(victim.arms_of(ticket, plays))
        else:
            twin.update(ticket, reward)
    return twin


def _settled(agent: hb.Agent) -> bytes:
    """The state without the counts of rejected calls, which are kept with snapshots only."""
    state = agent.clone().state
    state.tickets.counts |= dict.fromkeys(("late", "duplicate", "unknown"), 0)
    return pack(anonymous(state))


# ---- kills


def kill_agents(attempts: int, seed: int) -> Counter[str]:
    """A child works on a ledger, read or not, until it is killed, also while it opens it."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    command = [sys.executable, "-W", "ignore", victim.__file__]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=settings)
        assert process.stdout is not None
        process.stdout.readline()  # ready
        for first in range(0, attempts, PER_LEDGER):
            path, plays = Path(folder) / f"{first}.db", dice.choice([1, victim.PLAYS])
            told: set[int] = set()
            kills = min(PER_LEDGER, attempts - first)
            for _ in range(kills):
                with _reader(path, dice):
                    told |= _kill(process, path, plays, dice)
            outcomes[judge(path, plays, told)] += kills
            outcomes["(acknowledged rewards)"] += len(told)
        process.communicate()
    return outcomes


@contextmanager
def _reader(path: Path, dice: random.Random) -> Iterator[None]:
    """Every other time another process reads the ledger meanwhile, and is killed with the child.

    A reader keeps the log from being emptied; the last one to close would tidy up.
    """
    if not Path(f"{path}-wal").exists() or dice.random() < 0.5:  # or before its first commit
        yield
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
        files = victim.files_of(path)
    restore(path, files)


def restore(path: Path, files: dict[str, bytes]) -> None:
    for end, data in files.items():
        Path(f"{path}{end}").write_bytes(data)
    Path(f"{path}-shm").unlink(missing_ok=True)


def _kill(process: Any, path: Path, plays: int, dice: random.Random) -> set[int]:
    """The rewards that the child had acknowledged when it was killed."""
    process.stdin.write(f"{path} {plays}\n")
    process.stdin.flush()
    lines: list[str] = []
    while not lines or not lines[-1].startswith("child"):
        lines.append(process.stdout.readline())
    child = int(lines.pop().split()[1])
    wanted = 0 if dice.random() < 0.2 else dice.randrange(1, 16)
    while len(lines) < wanted and lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    time.sleep(dice.uniform(0.0, 0.004))
    with suppress(ProcessLookupError):  # it could not open the ledger: the judge will say why
        os.kill(child, signal.SIGKILL)
    while lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    return {int(line.split()[1]) for line in lines if line.startswith("reward")}


# ---- forks

FORKS = """
import os, random, sys, threading, ledger_victim as victim
path, forks, dice = sys.argv[1], int(sys.argv[2]), random.Random(sys.argv[3])
agent, stop = victim.open_agent(path, 1), threading.Event()

def work():
    while not stop.is_set():
        number = agent.select(victim.arms_of(0, 1)).id
        agent.update(number, victim.reward_of(number))
        os.write(1, f"reward {number}\\n".encode())

threads = [threading.Thread(target=work) for _ in range(int(sys.argv[4]))]
for thread in threads: thread.start()
for _ in range(forks):
    if not threads:
        number = agent.select(victim.arms_of(0, 1)).id
        agent.update(number, victim.reward_of(number))
        os.write(1, f"reward {number}\\n".encode())
    child = os.fork()
    if child == 0:
        os.close(1)
        how = dice.randrange(3) if not threads else 1
        if how == 0: sys.exit(0)
        if how == 1: agent.close(); agent.predict(victim.arms_of(0, 1)); os._exit(0)
        del agent; os._exit(0)
    os.waitpid(child, 0)
stop.set()
for thread in threads: thread.join()
if dice.random() < 0.5: os.kill(os.getpid(), 9)
"""


def fork_agents(attempts: int, seed: int) -> Counter[str]:
    """Children that exit, close or forget the agent, while their parent continues or is killed."""
    outcomes: Counter[str] = Counter()
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, attempts, PER_LEDGER):
            path, forks = Path(folder) / f"{first}.db", min(PER_LEDGER, attempts - first)
            told = [str(path), str(forks), str(seed + first), str(first // PER_LEDGER % 2 * 2)]
            command = [sys.executable, "-W", "ignore", "-c", FORKS, *told]
            ended = subprocess.run(command, env=settings, capture_output=True, text=True)
            if ended.returncode not in (0, -signal.SIGKILL):
                outcomes[f"FAULT: {ended.stderr[-300:]}"] += forks
                continue
            numbers = {int(line.split()[1]) for line in ended.stdout.splitlines()}
            with reopen(path) as agent:
                rewarded = {r["ticket"] for r in agent.history() if r["outcome"] == "reward"}
                whole = numbers <= rewarded and agent.counters["applied"] == len(rewarded)
            outcomes["nothing lost" if whole else "FAULT: rewards lost"] += forks
    return outcomes


# ---- disks that take no more


def fill_disks(attempts: int, seed: int) -> Counter[str]:
    """No file may grow beyond a size drawn by lot: the write that would fails, and so do others."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, attempts, PER_LEDGER):
            path, told = Path(folder) / f"{first}.db", set[int]()
            for _ in range(min(PER_LEDGER, attempts - first)):
                found, numbers = _work_until_full(path, dice)
                outcomes[found] += 1
                told |= numbers
            verdict = judge(path, 1, told) if path.exists() else "nothing lost"
            if verdict != "nothing lost":
                outcomes[verdict] += 1
    return outcomes


def _work_until_full(path: Path, dice: random.Random) -> tuple[str, set[int]]:
    """What a process with little room met, and the rewards it acknowledged."""
    used = path.stat().st_size if path.exists() else 200_000
    limit = used + dice.choice([0, dice.randrange(1, 4096), dice.randrange(1, 60_000)])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 3
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            status = _work(path, lambda line: os.write(writer, line))
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as lines:
        numbers = {int(line) for line in lines}
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended) or os.WEXITSTATUS(ended) > 2:
        return f"FAULT: ended by {ended}", numbers
    return ["rejected the ledger", "rejected a call, changed nothing", "continued"][
        os.WEXITSTATUS(ended)
    ], numbers


def _work(path: Path, say: Callable[[bytes], object]) -> int:
    try:
        agent = reopen(path)
    except hb.LedgerError:
        return 0
    for _ in range(12):
        before = pack(agent.state)
        try:
            number = agent.select(victim.arms_of(agent.state.tickets.issued, 1)).id
            before = pack(agent.state)
            agent.update(number, victim.reward_of(number))
        except hb.LedgerError:
            return 1 if pack(agent.state) == before else 4
        say(f"{number}\n".encode())
    return 2
