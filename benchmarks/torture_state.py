"""Mangled state files, and calls that signals interrupt."""

import random
import signal
from collections import Counter
from types import FrameType
from typing import Any

import heavybandits as hb
import ledger_victim as victim
import state_fuzz
from heavybandits.agents.state import anonymous
from heavybandits.agents.state_file import pack

ARMS = victim.arms_of(0, 1)


def mangle_states(attempts: int, seed: int) -> Counter[str]:
    """Damaged or malicious files are rejected, or are harmless; nothing in them runs."""
    outcomes: Counter[str] = Counter()
    for first in range(0, attempts, 1000):
        try:
            found = state_fuzz.fuzz(min(1000, attempts - first), seed + first)
        except Exception as error:
            outcomes[f"FAULT: {type(error).__name__}: {error}"] += 1
            continue
        for (_, outcome), count in found.items():
            outcomes[outcome] += count
    return outcomes


class Rung(BaseException):
    """What the handler of the signal raises."""


def _ring(number: int, frame: FrameType | None) -> None:
    """Raise inside the call that is tried only: a late signal must not end the process."""
    if Pair.armed and frame is not None and frame.f_code is not Pair.step.__code__:
        raise Rung


class Pair:
    """An agent whose calls are interrupted, and one that gets those that happened."""

    armed = False  # whether a signal may raise

    def __init__(self, plays: int, dice: random.Random) -> None:
        self.dice, policy = dice, victim.make_policy(plays)
        self.agent, self.twin = (hb.Agent(policy, rng=1, clock=lambda: 0.0) for _ in range(2))
        for agent in (self.agent, self.twin):  # compiled before anything is interrupted
            for number in range(plays):
                agent.update(agent.select(ARMS), float(number))

    def step(self) -> str:
        """One call, interrupted or not; whether it happened decides whether the twin makes it."""
        call, argument = self._draw()
        before = self._mark()
        outcome = "whole"
        delay = self.dice.choice([0.0, self.dice.uniform(2e-6, 1.5e-4)])
        Pair.armed = True
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            getattr(self.agent, call)(argument)
        except Rung:
            outcome = "interrupted"
        finally:
            Pair.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        if self._mark() != before:
            getattr(self.twin, call)(argument)
            return outcome if outcome == "whole" else "interrupted, done"
        return "FAULT: a call that did nothing" if outcome == "whole" else "interrupted, not done"

    def _draw(self) -> tuple[str, Any]:
        waiting = self.agent.pending
        if len(waiting) < 3 or self.dice.random() < 0.4:
            return "select", ARMS
        if self.dice.random() < 0.1:
            return "cancel", self.dice.choice(waiting)
        chosen = self.dice.sample(waiting, self.dice.randrange(1, 4))
        return "update_many", [(number, self.dice.gauss(0.0, 1.0)) for number in chosen]

    def _mark(self) -> tuple[Any, ...]:
        return self.agent.state.tickets.issued, tuple(self.agent.pending)

    def same(self) -> bool:
        return pack(anonymous(self.agent.state)) == pack(anonymous(self.twin.state))


def interleave_signals(attempts: int, seed: int) -> Counter[str]:
    """Calls in any order with a signal at any moment: each is done completely or not at all."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        for first in range(0, attempts, 1000):
            pair = Pair(dice.choice([1, victim.PLAYS]), dice)
            for _ in range(min(1000, attempts - first)):
                outcomes[pair.step()] += 1
            if not pair.same():
                outcomes["FAULT: an agent that differs from its twin"] += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    return outcomes
