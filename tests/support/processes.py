"""Processes seen from outside, through /proc: who is alive, who listens where (Linux)."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path


def marked(mark: str) -> list[int]:
    """The living processes that have this text in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            alive = (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            if alive and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def gone(mark: str, within: float) -> bool:
    """Whether no process with the mark is left after this many seconds at most."""
    end = time.monotonic() + within
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):  # it ended meanwhile
                found += [int(child) for child in task.read_text().split()]
    return found


def listening(process: int) -> set[str]:
    """The addresses at which a process waits for connections; none if it has ended."""
    sockets, addresses = set(), set()
    with suppress(OSError):
        for handle in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(handle))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                addresses.add(_address(words[1].split(":")[0]))
    return addresses


def _address(text: str) -> str:
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words))
