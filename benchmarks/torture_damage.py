"""Ledgers whose files are damaged: the same history, or refused."""

import os
import random
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import heavybandits as hb
import ledger_victim as victim
from heavybandits.agents.state_file import pack
from torture_ledger import reopen, restore


def damage_ledgers(attempts: int, seed: int) -> Counter[str]:
    """Bits flipped, bytes wiped, files cut or lost: the same history, or refused."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.db"
        files = _killed_ledger(path)
        with reopen(path) as agent:
            wanted = pack(agent.state), agent.history()
        for _ in range(attempts):
            name, kind = dice.choice(["", "-wal"]), dice.choice(["cut tail", "damage"])
            restore(path, files)
            harm = _cut if kind == "cut tail" else _harm
            Path(f"{path}{name}").write_bytes(harm(files[name], dice))
            outcomes[f"{kind}: {_reopened(path, wanted)}"] += 1
    return Counter({_first(key): count for key, count in outcomes.items()})


def _first(key: str) -> str:
    """A fault begins with that word."""
    kind, _, outcome = key.partition(": ")
    return f"FAULT: {kind}: {outcome[7:]}" if outcome.startswith("FAULT") else key


def _killed_ledger(path: Path) -> dict[str, bytes]:
    """The files of a ledger that was not closed: part of it is in the log."""
    child = os.fork()
    if child == 0:
        agent = reopen(path)
        for number in range(24):
            agent.update(agent.select(victim.arms_of(number, 1)), victim.reward_of(number))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return victim.files_of(path)


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


def _reopened(path: Path, wanted: tuple[bytes, Any]) -> str:
    try:
        agent = reopen(path)
    except hb.LedgerError:
        return "refused"
    except Exception as error:
        return f"FAULT: {type(error).__name__}: {error}"
    same = (pack(agent.state), agent.history()) == wanted
    agent.close()
    return "harmless" if same else "FAULT: another history"
