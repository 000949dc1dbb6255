"""Ledgers that many threads write: processes killed, disks that fill up, backups meanwhile."""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import crowd_victim
import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.repair import examine

PER_LEDGER = 20  # kills or errors before a ledger is judged and the next one begun

Told = dict[str, list[int]]  # tickets that were acknowledged, by the kind of call


def bits(agent: hb.Agent) -> bytes:
    """Return the state without the counts of rejected calls, which only snapshots have."""
    state = agent.clone().state
    state.tickets.counts |= dict.fromkeys(("late", "duplicate", "unknown"), 0)
    return pack(anonymous(state))


def judge(path: Path, decided: dict[int, int], rewarded: set[int]) -> str:
    """Say if every acknowledged event is there once, and if a rebuild is equal bit for bit."""
    try:
        with victim.open_agent(str(path), 1) as agent:
            rows = {row["ticket"]: row for row in agent.history()}
            state, applied = bits(agent), agent.counters["applied"]
        rebuilt = bits(hb.Agent.rebuild(path, clock=lambda: 0.0))
        problems = examine(path).problems
    except hb.LedgerError as error:
        return f"FAULT: {error}"
    lost = [n for n, arm in decided.items() if rows.get(n, {}).get("arm") != arm]
    lost += [n for n in rewarded if rows.get(n, {}).get("reward") != victim.reward_of(n)]
    doubled = applied - sum(row["outcome"] == "reward" for row in rows.values())
    if lost or doubled or problems:
        return f"FAULT: {len(lost)} events lost, {doubled} doubled, {problems}"
    return "nothing lost" if state == rebuilt else "FAULT: a silent difference"


# ---- kills


def kill_groups(attempts: int, seed: int) -> Counter[str]:
    """Kill processes in which 16 threads write one ledger."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    command = [sys.executable, "-W", "ignore", crowd_victim.__file__]
    settings = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=settings)
        assert process.stdout is not None
        process.stdout.readline()  # ready
        for first in range(0, attempts, PER_LEDGER):
            path, kills = Path(folder) / f"{first}.db", min(PER_LEDGER, attempts - first)
            decided: dict[int, int] = {}
            rewarded: set[int] = set()
            verdict = "nothing lost"
            for _ in range(kills):
                for kind, *numbers in _kill(process, path, dice):
                    if kind == "select" and int(numbers[0]) in decided:
                        verdict = "FAULT: two decisions with one ticket"
                    if kind == "select":
                        decided[int(numbers[0])] = int(numbers[1])
                    else:
                        rewarded.add(int(numbers[0]))
            if path.exists() and verdict == "nothing lost":
                verdict = judge(path, decided, rewarded)
            outcomes[verdict] += kills
            outcomes["(acknowledged events)"] += len(decided) + len(rewarded)
        process.communicate()
    return outcomes


def _kill(process: Any, path: Path, dice: random.Random) -> list[list[str]]:
    """Let a child work, kill it, and return the lines that it wrote."""
    process.stdin.write(f"{path} 1\n")
    process.stdin.flush()
    lines = [process.stdout.readline()]
    while not lines[-1].startswith("child"):  # it may have written before its parent
        lines.append(process.stdout.readline())
    child = int(lines.pop().split()[1])
    wanted = 0 if dice.random() < 0.1 else dice.randrange(1, 200)
    while len(lines) < wanted and lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    time.sleep(dice.uniform(0.0, 0.004))
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    while lines[-1:] != ["gone\n"]:
        lines.append(process.stdout.readline())
    return [line.split() for line in lines[:-1]]


# ---- disks that take no more


def fill_groups(attempts: int, seed: int) -> Counter[str]:
    """Let the disk of an agent fill up on which eight threads work."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, attempts, PER_LEDGER):
            path, decided, rewarded = Path(folder) / f"{first}.db", dict[int, int](), set[int]()
            for _ in range(min(PER_LEDGER, attempts - first)):
                found, lines = _work_until_full(path, dice)
                decided |= {int(n): int(arm[0]) for kind, n, *arm in lines if kind == "select"}
                rewarded |= {int(n) for kind, n, *_ in lines if kind == "reward"}
                outcomes[found] += 1
            verdict = judge(path, decided, rewarded) if path.exists() else "nothing lost"
            if verdict != "nothing lost":
                outcomes[verdict] += 1
            outcomes["(acknowledged events)"] += len(decided) + len(rewarded)
    return outcomes


OUTCOMES = {
    0: "could not open the ledger",
    1: "raised an error, memory and disk are equal",
    2: "continued",
    3: "raised an error and closed the ledger",
}


def _work_until_full(path: Path, dice: random.Random) -> tuple[str, list[list[str]]]:
    """Return what a process with little room met, and what it acknowledged."""
    used = path.stat().st_size if path.exists() else 200_000
    limit = max(used, 200_000) + dice.choice([0, dice.randrange(4096), dice.randrange(200_000)])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 5
        try:
            os.close(reader)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            status = _work(path, writer)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as file:
        lines = [line.split() for line in file]
    _, ended = os.waitpid(child, 0)
    code = os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else -ended
    return OUTCOMES.get(code, f"FAULT: ended by {code}"), lines


def _work(path: Path, writer: int) -> int:
    try:
        agent = victim.open_agent(str(path), 1)
    except hb.LedgerError:
        return 0

    def tell(*words: object) -> None:
        os.write(writer, (" ".join(map(str, words)) + "\n").encode())

    errors = crowd_victim.let_threads(agent, 25, tell, callers=8)
    try:
        issued, rows = agent.state.tickets.issued, agent.history()
    except hb.LedgerError:
        return 3
    waiting = [row["ticket"] for row in rows if row["outcome"] is None]
    equal = len(rows) == issued and waiting == agent.pending
    if not equal or agent.counters["applied"] != len(rows) - len(waiting):
        return 4
    return 1 if errors else 2


# ---- backups


def back_up(attempts: int, seed: int) -> Counter[str]:
    """Copy ledgers on which threads work; a copy is the agent of that moment, bit for bit."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, attempts, PER_LEDGER):
            path, stop = Path(folder) / f"{first}.db", threading.Event()
            agent = victim.open_agent(str(path), 1)
            crowd = threading.Thread(target=_work_until, args=(agent, stop))
            crowd.start()
            copies = []
            for number in range(min(PER_LEDGER, attempts - first)):
                time.sleep(dice.uniform(0.0, 0.02))
                copies.append(agent.backup(Path(folder) / f"{first}_{number}.db"))
            late = agent.select(victim.arms_of(0, 1)).key
            stop.set()
            crowd.join()
            agent.close()
            outcomes.update(_judge_copy(path, copy, late) for copy in copies)
    return outcomes


def _work_until(agent: hb.Agent, stop: threading.Event) -> None:
    while not stop.is_set():
        crowd_victim.let_threads(agent, 3, lambda *_: None, callers=4)


def _judge_copy(path: Path, copy: Path, late: str) -> str:
    with hb.LedgerReader(copy) as reader:
        events = reader.events
    with victim.open_agent(str(copy), 1) as agent:
        restored = bits(agent)
        agent.select(victim.arms_of(0, 1))
        issued = agent.state.tickets.issued
        with suppress(hb.ForeignTicketError):
            agent.update(late, 1.0)
            return "FAULT: a key issued after the backup was accepted"
    if issued == 0 or restored != bits(hb.Agent.rebuild(path, until=events, clock=lambda: 0.0)):
        return "FAULT: the copy is another agent"
    return "equal"
