"""Ledgers whose agents are interrupted by signals at any moment, and killed in the end."""

import os
import random
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import NoReturn

import heavybandits as hb
import ledger_victim as victim
from torture_ledger import judge

PER_LEDGER = 50  # signals before a process is killed and its ledger judged
OFTEN = 3  # events between two snapshots: so most signals meet one


class Alarm(Exception):
    """What a handler of a user's raises, as Ctrl-C does."""


def _ring(*_: object) -> NoReturn:
    raise Alarm


def interrupt_ledgers(attempts: int, seed: int) -> Counter[str]:
    """Whatever a signal interrupts: acknowledged rewards are there once, the bits are the same."""
    outcomes: Counter[str] = Counter()
    warm = hb.Agent(victim.make_policy(1), rng=7)  # a signal within a compilation may be swallowed
    warm.update(warm.select(victim.arms_of(0, 1)), 1.0)
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, attempts, PER_LEDGER):
            path, alarms = Path(folder) / f"{first}.db", min(PER_LEDGER, attempts - first)
            told = _work_and_die(path, alarms, random.Random(seed + first))
            outcomes[judge(path, 1, told)] += alarms
            outcomes["(acknowledged rewards)"] += len(told)
    return outcomes


def _work_and_die(path: Path, alarms: int, dice: random.Random) -> set[int]:
    """The rewards that a child acknowledged until so many signals had come, and it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            _work(path, alarms, dice, writer)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with os.fdopen(reader) as lines:
        told = {int(line) for line in lines}
    os.waitpid(child, 0)
    return told


def _work(path: Path, alarms: int, dice: random.Random, writer: int) -> None:
    signal.signal(signal.SIGALRM, _ring)
    agent = hb.Agent(
        victim.make_policy(1), rng=7, ledger=path, snapshot_every=OFTEN, clock=lambda: 0.0
    )
    while alarms:
        try:
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-4, 1e-2))
            while True:
                number = agent.select(victim.arms_of(agent.state.tickets.issued, 1)).id
                agent.update(number, victim.reward_of(number))
                os.write(writer, f"{number}\n".encode())
        except Alarm:
            alarms -= 1
