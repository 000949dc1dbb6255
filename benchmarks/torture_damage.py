"""Ledgers whose files are damaged, before every reader: the truth, or an error."""

import csv
import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack
from heavybandits.ledger.repair import Findings, examine, export, repair
from torture_ledger import reopen

Files = dict[str, bytes]
ENDINGS = ("", "-wal", "-head")
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # no attempt cuts the power


class Truth(NamedTuple):
    """What the readers of an intact ledger find."""

    state: bytes
    rebuilt: bytes
    plays: list[dict[str, Any]]
    events: list[list[str]]


def damage_ledgers(attempts: int, seed: int) -> Counter[str]:
    """Flip bits, wipe bytes, truncate, lose or exchange files; try every reader of each ledger."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        kinds = [(files, _truth(Path(folder), files)) for files in _ledgers(Path(folder))]
        for _ in range(attempts):
            files, truth = dice.choice(kinds)
            kind, damaged = _damage(files, kinds[-1][0], dice)
            found = {name: _judge(name, Path(folder), damaged, truth) for name in READERS}
            if found["check"] == "the truth" and found["agent"] == "an error":
                found["check"] = "FAULT: intact, and no agent can open it"
            for name, outcome in found.items():
                outcomes[_first(f"{kind}, {name}: {outcome}")] += 1
    return outcomes


def _first(key: str) -> str:
    """A fault begins with that word."""
    kind, _, outcome = key.partition(": ")
    return f"FAULT: {kind}: {outcome[7:]}" if outcome.startswith("FAULT") else key


# ---- the ledgers


def _ledgers(folder: Path) -> list[Files]:
    """The files of a ledger whose process was killed, of one that was closed, and of a third."""
    killed, closed = _killed_files(folder / "killed.db"), folder / "closed.db"
    for path in (closed, folder / "third.db"):
        with reopen(path) as agent:
            _work(agent)
    made = [killed, _files(closed), _files(folder / "third.db")]
    _clear(folder)
    return made


def _work(agent: hb.Agent) -> None:
    for number in range(24):
        agent.update(agent.select(victim.arms_of(number, 1)), victim.reward_of(number))


def _killed_files(path: Path) -> Files:
    """The files of a ledger that was not closed: part of it is in the log."""
    child = os.fork()
    if child == 0:
        agent = reopen(path)  # garbage would be closed
        _work(agent)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return victim.files_of(path)


def _files(path: Path) -> Files:
    there = ((ending, Path(f"{path}{ending}")) for ending in ENDINGS)
    return {ending: place.read_bytes() for ending, place in there if place.exists()}


def _clear(folder: Path) -> None:
    for place in folder.iterdir():
        place.unlink()


def _place(folder: Path, files: Files) -> Path:
    _clear(folder)
    for ending, data in files.items():
        (folder / f"agent.db{ending}").write_bytes(data)
    return folder / "agent.db"


def _damage(files: Files, other: Files, dice: random.Random) -> tuple[str, Files]:
    """The kind of damage, and the files with it; `other` is another ledger of the policy."""
    kind = dice.choice(["cut", "harmed", "harmed", "lost", "exchanged"])
    ending = dice.choice(sorted(files))
    if kind == "lost":
        lost = {ending} if dice.random() < 0.5 else set(dice.sample(sorted(files), 2))
        if lost == set(files):  # then a new ledger is begun
            lost = {ending}
        return kind, {name: data for name, data in files.items() if name not in lost}
    if kind == "exchanged":
        return kind, files | {ending: other.get(ending, b"")}
    return kind, files | {ending: (_cut if kind == "cut" else _harm)(files[ending], dice)}


def _cut(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


def _harm(data: bytes, dice: random.Random) -> bytes:
    damaged, place = bytearray(data), dice.randrange(len(data))
    if dice.random() < 0.5:
        damaged[place] ^= 1 << dice.randrange(8)
    else:
        size = dice.choice([8, 64, 512, 4096])
        damaged[place : place + size] = dice.choice([dice.randbytes(size), bytes(size)])
    return bytes(damaged[: len(data)])


# ---- the readers: "the truth", or what of it


def _truth(folder: Path, files: Files) -> Truth:
    made = hb.Agent.rebuild(_place(folder, files))
    export(_place(folder, files), folder / "events.csv")
    events = _events(folder)
    with reopen(_place(folder, files)) as agent:
        state, plays = pack(anonymous(agent.state)), agent.history()
    return Truth(state, pack(anonymous(made.state)), plays, events)


def _events(folder: Path) -> list[list[str]]:
    with open(folder / "events.csv", newline="") as file:
        return list(csv.reader(file))


def _open(path: Path, truth: Truth) -> str:
    with reopen(path) as agent:
        found = pack(anonymous(agent.state)), agent.history()
    return "the truth" if found == (truth.state, truth.plays) else "FAULT: another history"


def _rebuild(path: Path, truth: Truth) -> str:
    made = hb.Agent.rebuild(path)
    same = pack(anonymous(made.state)) == truth.rebuilt
    return "the truth" if same else f"FAULT: another state, of {made.updates} updates"


def _read(path: Path, truth: Truth) -> str:
    with hb.LedgerReader(path) as reader:
        found, events = reader.history(), reader.events
    same = (found, events) == (truth.plays, len(truth.events) - 1)
    return "the truth" if same else f"FAULT: another history, of {len(found)} plays"


def _check(path: Path, truth: Truth) -> str:
    return _claim(examine(path), len(truth.events) - 1)


def _claim(found: Findings, events: int) -> str:
    if found.problems:
        return "a report"
    return "the truth" if found.events == events else f"FAULT: {found.events} events, no problem"


def _export(path: Path, truth: Truth) -> str:
    found = export(path, path.with_name("events.csv"))
    events = _events(path.parent)
    width = len(events[0])  # without an event there are no columns of features
    if events != [row[:width] for row in truth.events[: len(events)]]:
        return "FAULT: other events"
    return _claim(found, len(truth.events) - 1)


def _repair(path: Path, truth: Truth) -> str:
    before, after = repair(path, path.with_name("new.db"))
    with reopen(path.with_name("new.db")) as agent:
        plays = agent.history()
    tickets = {row["ticket"]: row for row in truth.plays}
    if any(row["reward"] not in (None, tickets[row["ticket"]]["reward"]) for row in plays):
        return "FAULT: other rewards"
    if after.problems or after.events != before.events:
        return "FAULT: it is not repaired"
    return _claim(before, len(truth.events) - 1)


READERS: dict[str, Callable[[Path, Truth], str]] = {
    "agent": _open,
    "rebuild": _rebuild,
    "reader": _read,
    "check": _check,
    "export": _export,
    "repair": _repair,
}


def _judge(name: str, folder: Path, files: Files, truth: Truth) -> str:
    """What a reader makes of these files."""
    path = _place(folder, files)
    try:
        outcome = READERS[name](path, truth)
    except hb.LedgerError:
        outcome = "an error"
    except hb.InvalidInputError:
        lost = "" not in files and "-head" not in files
        outcome = "an error" if lost else "FAULT: InvalidInputError"
    except Exception as error:
        outcome = f"FAULT: {type(error).__name__}: {error}"
    only_reads = name in ("rebuild", "check", "export", "repair")
    if only_reads and _files(path) != files:
        outcome = "FAULT: it has changed the ledger"
    return outcome
