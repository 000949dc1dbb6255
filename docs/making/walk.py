"""The files that two calls of the library enter, in order: python docs/making/walk.py reward

`reward`: an agent with a ledger takes a reward, is closed and opened again. `reproduce`: one
experiment from the command to the report. Compiled code is not seen, nor are other processes.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import heavybandits as hb

HOME = f"{Path(hb.__file__).parent}{os.sep}"


def reward() -> Callable[[], None]:
    """An agent with a decision that waits, and its reward."""
    policy = hb.linucb(dim=2, radius=1.0, filter=hb.filters.Clip(2.0))
    agent = hb.Agent(policy, ledger="agent.db")
    ticket = agent.select([[1.0, 0.0], [0.6, 0.8]])

    def walk() -> None:
        agent.update(ticket, 1.0)
        agent.close()
        hb.Agent(policy, ledger="agent.db").close()

    return walk


def reproduce() -> Callable[[], None]:
    """One small experiment, as the command line runs it."""
    from heavybandits.cli.app import cli

    command = ["reproduce", "outlier", "--quick", "--jobs", "1"]
    return lambda: cli(command, standalone_mode=False)


def files_of(walk: Callable[[], None]) -> list[str]:
    """The files of the library whose functions are called, in order of the first call."""
    seen: dict[str, None] = {}

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOME):
            seen.setdefault(name.removeprefix(HOME))

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(seen)


if __name__ == "__main__":
    make = {"reward": reward, "reproduce": reproduce}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = files_of(make())
        os.chdir(os.sep)
    print(f"{len(found)} files", *found, sep="\n")
