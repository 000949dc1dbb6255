"""Well-formed policies with odd constants, played uncompiled: there, an index that is out of bounds
is an error and not a crash."""

import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

import heavybandits as hb
from all_policies import POLICIES
from heavybandits.agents.state import kept
from heavybandits.arms import PerRound
from heavybandits.core.allocation import state_bytes
from heavybandits.core.arm_buffer import make_arm_buffer, mark_stale
from heavybandits.core.part import is_part
from heavybandits.parts.policies.checks import check_policies

ODD_WHOLES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 255, 256, 257, -1, 2**31, 2**63]
ODD_NUMBERS = [0.0, 1e-100, 1e-12, 1e-6, 0.1, 0.5, 1.0, 1.5, 2.0, 1e3, 1e6, 1e12, 1e100, -1.0]
ROOM = 1 << 24
FORBIDDEN = (IndexError, FloatingPointError, OverflowError, ZeroDivisionError, ValueError)


def play_generated(attempts: int, seed: int) -> Counter[str]:
    """In a process whose numba is switched off from the start."""
    settings = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, __file__, str(attempts), str(seed)]
    settings["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(command, env=settings, capture_output=True, text=True)
    if ended.returncode:
        return Counter({f"FAULT: exit status {ended.returncode}: {ended.stderr[-500:]}": 1})
    return Counter(json.loads(ended.stdout))


def mutate(part: Any, dice: random.Random, share: float) -> Any:
    """The part with some of its constants, and those of the parts in it, exchanged for odd ones."""
    fields = {}
    for name, value in zip(part._fields, part, strict=True):
        if is_part(value):
            fields[name] = mutate(value, dice, share)
        elif dice.random() > share or isinstance(value, bool):
            fields[name] = value
        elif isinstance(value, int):
            fields[name] = dice.choice(ODD_WHOLES)
        elif isinstance(value, float):
            fields[name] = dice.choice(ODD_NUMBERS)
        else:
            fields[name] = value
    return part._replace(**fields)


def play(policy: Any, dice: random.Random) -> str:
    """Some decisions among arms of any length, some of them masked."""
    rng = np.random.default_rng(dice.randrange(2**32))
    size = dice.choice([1, 2, 5, 9, 17])
    length = dice.choice([0.0, 1e-6, 1.0, 1.0, 1e3, 5e5])
    arms, state = PerRound(size, policy.dim), policy.init()
    buffer = make_arm_buffer(policy.dim, size)
    for _ in range(8 if policy.dim < 64 else 2):  # uncompiled, a large matrix takes a second
        buffer.features[:, :size] = length * rng.uniform(-1, 1, (policy.dim, size))
        buffer.penalty[:size] = np.where(np.arange(size) == rng.integers(size), 0.0, np.inf)
        buffer.penalty[:size][rng.random(size) < 0.5] = 0.0
        mark_stale(buffer)
        arm = policy.choose(state, arms, buffer)
        if not (0 <= arm < size and buffer.penalty[arm] == 0.0):
            return "FAULT: an arm that was not available"
        rewards = rng.standard_t(1.0, policy.plays) * dice.choice([1.0, 1e6, 1e99, 1e300])
        policy.learn(state, buffer.chosen.copy(), rewards)
    return "played" if _finite(state) else f"FAULT: a state that is not finite: {policy}"


def _finite(state: Any) -> bool:
    return all(np.isfinite(array).all() for array in kept(state).values())


def attempt(dice: random.Random) -> str:
    policy = mutate(dice.choice(list(POLICIES.values())), dice, dice.choice([0.1, 0.3]))
    try:
        policy = check_policies(policy)["policy"]
    except hb.InvalidInputError:
        return "refused"
    if state_bytes(policy) > ROOM or max(policy.plays, policy.dim) > 10_000:
        return "too large to play here"
    try:
        return play(policy, dice)
    except FORBIDDEN as error:
        return f"FAULT: {type(error).__name__}: {error} in {policy}"


def main() -> None:
    attempts, seed = map(int, sys.argv[1:])
    warnings.simplefilter("ignore")
    outcomes = Counter(attempt(random.Random(f"{seed} {i}")) for i in range(attempts))
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
