"""A little of everything that is compiled, as digests: the same on every numba and on every path.

`python core_subset.py NAME...` prints the digest of each as JSON, with what numba was used for.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from all_policies import DRAWING, POLICIES

PLAYS = 60


def digest_of(*values: Any) -> str:
    """All bits of these numbers as one string."""
    total = hashlib.sha256()
    for value in values:
        total.update(np.ascontiguousarray(value, np.float64).tobytes())
    return total.hexdigest()


def play(policy: Any) -> str:
    """Simulate a policy; every column but the times."""
    arms, noise = hb.arms.Fixed(5, 3, -1.0), hb.noises.StudentT(1.5)
    problem = hb.Problem(arms, hb.links.Identity(), noise)  # as in other tests: kernels are shared
    result = hb.simulate(policy, problem, horizon=PLAYS, repetitions=2, checkpoints=6)
    kept = [name for name in result.columns if name not in ("policy", "cpu_seconds")]
    return digest_of(*(result.data[name] for name in kept if result.data[name].dtype.kind in "if"))


def decide() -> str:
    """An agent decides, learns and predicts."""
    agent, random = hb.Agent(POLICIES["linucb_adaptive"]), np.random.default_rng(1)
    tickets = []
    for _ in range(PLAYS):
        rows = random.normal(size=(4, 3))
        tickets.append(agent.select(rows / np.linalg.norm(rows, axis=1, keepdims=True)))
        agent.update(tickets[-1], float(random.standard_t(1.5)))
    chosen = [ticket.propensity for ticket in tickets]
    return digest_of(chosen, agent.theta, agent.predict(np.eye(3)))


def replay() -> str:
    """A policy plays rows of data."""
    random = np.random.default_rng(2)
    data = {"a": random.normal(size=PLAYS), "b": random.normal(size=PLAYS)}
    data["reward"] = data["a"] + random.standard_t(1.5, size=PLAYS)
    policies = {"linucb": POLICIES["linucb"]}
    result = hb.replay(data, features=["a", "b"], reward="reward", policies=policies)
    return digest_of(result.values("linucb"), result.values("linucb", "oracle"))


TASKS: dict[str, Callable[[], str]] = {
    **{name: partial(play, policy) for name, policy in (POLICIES | DRAWING).items()},
    "agent": decide,
    "replay": replay,
}

# One task of each kind of arithmetic; `torture.py numba` compares all.
FEW = ("crhl", "agent", "uniform")


def run_public(names: list[str]) -> dict[str, Any]:
    """Run tasks in a process that uses the public API of numba alone."""
    return run_process(names, HEAVYBANDITS_NUMBA="public")


def run_process(names: list[str], before: str = "", **environment: str) -> dict[str, Any]:
    """The answer of a process that executes `before` first, and what it warned."""
    code = f"{before}\nimport sys, core_subset; core_subset.main(sys.argv[1:])"
    paths = [str(Path(hb.__file__).parents[1]), str(Path(__file__).parent)]
    every = os.environ | {"PYTHONPATH": os.pathsep.join(paths), **environment}
    command = [sys.executable, "-c", code, *names]
    ended = subprocess.run(command, env=every, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout) | {"warned": ended.stderr}


def main(names: list[str]) -> None:
    import numba

    from heavybandits.core.numba_internals import INTERNALS, has

    digests = {name: TASKS[name]() for name in names or TASKS}
    found = [name for name in INTERNALS if has(name)]
    print(json.dumps({"numba": numba.__version__, "internals": found, "digests": digests}))


if __name__ == "__main__":
    main(sys.argv[1:])
