"""Parts of one's own with a mistake in one method: each is rejected by name, or runs correctly.

A part is a working template with one line put into one method. It must raise a typed error that
names the class and the method, or give the same numbers compiled, compiled again and uncompiled.
The parts run in batches in processes of their own, because compiled code can kill a process.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

BATCH = 25
PLAYS = 150  # more than the rehearsal makes, and than the arrays of the templates have room for

HEAD = """
import math, random, time
from typing import Any, NamedTuple
import numpy as np
from heavybandits.authoring import *
from heavybandits.noises import StudentT
COUNTER, TABLE, NAMES, GENERATOR = 0, np.ones(3), {"a": 1.0}, np.random.default_rng(0)
def plain(x): return x
@jitable
def noisy(): return np.random.normal()
@jitable
def put(array, place, value): array[place] = value
class Memory_(NamedTuple):
    counts: Any
    extra: Any
    ticks: Any
class Estimate_(NamedTuple):
    region: Any
    extra: Any
    ticks: Any
"""
ROOM = "np.zeros(100), np.zeros(1, np.int64)"


class Template(NamedTuple):
    """The methods of a working part: parameters, body, and where its state is, if it has one."""

    methods: dict[str, tuple[str, str]]
    state: Mapping[str, str] = MappingProxyType({})


TEMPLATES = {
    "filter": Template(
        {
            "init": ("", f"return Memory_(np.zeros(2, np.int64), {ROOM})"),
            "apply": ("memory, rewards, norm, predicted", "return rewards[0]"),
        },
        {"apply": "memory"},
    ),
    "estimator": Template(
        {
            "init": ("", f"return Estimate_(make_region(self.dim, 1.0), {ROOM})"),
            "predict": ("estimate, z", "return z"),
            "update": (
                "estimate, observation",
                "r = estimate.region; gap = observation.reward - observation.predicted; "
                "move_centre(r, -gap / add_observation(r, observation.x, 1.0))",
            ),
        },
        {"predict": "estimate", "update": "estimate"},
    ),
    "radius": Template({"radius": ("estimate, t", "return 1.0")}),
    "link": Template(
        {
            "mean": ("z", "return 0.5 * z"),
            "slope": ("z", "return 0.5"),
            "kappa": ("norm", "return 0.5"),
            "lipschitz": ("norm", "return 0.5"),
            "bound": ("norm", "return 0.5 * norm"),
        }
    ),
    "noise": Template({"draw": ("key, play", "return uniform(key, 4 * play) - 0.5")}),
    "arms": Template(
        {
            "make_buffer": ("", "return make_arm_buffer(3, 4)"),
            "refresh": (
                "buffer, key, play",
                "\n".join(
                    [
                        "for k in range(4):",
                        "            for i in range(3):",
                        "                number = uniform(key, 12 * play + 3 * k + i)",
                        "                buffer.features[i, k] = 0.5 * number",
                        "        mark_stale(buffer)",
                        "        return True",
                    ]
                ),
            ),
            "top": ("buffer, theta", "return best_score(buffer, theta)"),
            "maximise": (
                "buffer, region, width",
                "measure_all(buffer, region); return pick(buffer, width)",
            ),
        }
    ),
    "policy": Template(
        {
            "init": ("", f"return Memory_(np.zeros(2, np.int64), {ROOM})"),
            "choose": (
                "state, arms, buffer",
                "arm = state.counts[0] % arms.size; take(buffer, arm); return arm",
            ),
            "learn": ("state, x, rewards", "state.counts[0] += 1"),
            "estimate_arm": ("state, x", "return 0.0, 1.0"),
            "tally": ("state", "return state.counts[0], 0, 0"),
        },
        {"choose": "state", "learn": "state", "estimate_arm": "state", "tally": "state"},
    ),
}

# Lines for any method; {state} is the name of its state.
LINES = [
    "pass",
    "junk = 1.0",
    "raise ValueError('broken')",
    "self.nothing",
    "undefined_name",
    "self.level = 3.0",
    "self.weights[0] += 1.0",
    "self.weights[7] = 1.0",
    "junk = self.weights[7]",
    "junk = self.helper()",
    "np.random.normal()",
    "random.random()",
    "GENERATOR.normal()",
    "noisy()",
    "time.time()",
    "global COUNTER; COUNTER += 1",
    "TABLE[0] += 1.0",
    "TABLE[9] += 1.0",
    "junk = NAMES['a']",
    "junk = plain(1.0)",
    "junk = np.zeros(3); junk[0] = 1.0",
    "junk = [1.0]; junk.append(2.0)",
    "junk = {1: 2.0}",
    "junk = 'a' + str(1.0)",
    "junk = np.i0(0.5)",
    "junk = 1.0 / 0.0",
    "junk = math.log(-1.0)",
    "with open('x') as file: pass",
    "try:\n            junk = 1\n        except ValueError:\n            junk = 2",
    "import os; os.getpid()",
    "yield 1.0",
    "return None",
    "return 'text'",
    "return 1j",
    "return np.zeros(2)",
    "return math.nan",
    "return math.inf",
    "return -1.0",
    "return 7",
    "return True",
    "return (1.0, 2.0, 3.0)",
    "return [1.0]",
]
STATE_LINES = [
    "{state}.extra[1000] = 1.0",
    "{state}.extra[-101] = 1.0",
    "{state}.extra[{state}.ticks[0]] = 1.0; {state}.ticks[0] += 1",
    "put({state}.extra, {state}.ticks[0], 1.0); {state}.ticks[0] += 1",
    "{state}.ticks[0] += 1; junk = {state}.extra[{state}.ticks[0]]",
    "{state}.ticks[0] += 1; {state}.extra[{state}.ticks[0] * 100000] = 1.0",
    "{state}.ticks[0] += 1; {state}.extra[-{state}.ticks[0]] = 1.0",
    "{state}.ticks[0] += 1\n        if {state}.ticks[0] > 60: raise ValueError('late')",
    "{state}.nothing[0] = 1.0",
    "{state}.extra = {state}.ticks",
    "{state}.extra[0] = 'text'",
    "{state}.extra[1.5] = 1.0",
]
INITS = [
    "np.zeros(100, np.float32), np.zeros(1, np.int64)",
    "np.zeros(100, np.int32), np.zeros(1, np.int64)",
    "np.zeros(100, bool), np.zeros(1, np.int64)",
    "np.zeros(100), np.zeros(1)",
    "[], np.zeros(1, np.int64)",
    "{}, np.zeros(1, np.int64)",
    "np.zeros(100), 0",
    "np.zeros(100), None",
    "TABLE, np.zeros(1, np.int64)",
    "np.zeros((100, 2))[:, 0], np.zeros(1, np.int64)",
    "np.random.default_rng().normal(size=100), np.zeros(1, np.int64)",
    "np.random.default_rng(3).normal(size=100), np.zeros(1, np.int64)",
    "np.full(100, time.time()), np.zeros(1, np.int64)",
    "np.zeros(0), np.zeros(1, np.int64)",
]
# Whole bodies that contradict the other methods.
BODIES = {
    ("link", "kappa"): ["return 9.0", "return 0.0", "return -1.0"],
    ("link", "lipschitz"): ["return 0.1"],
    ("link", "bound"): ["return 0.001"],
    ("link", "slope"): ["return 7.0", "return -0.5", "return 0.5 + 0.1 * z"],
    ("link", "mean"): ["return z * z", "return -z", "return 0.5 * z + (1.0 if z > 0.5 else 0.0)"],
    ("noise", "draw"): [
        "return uniform(key, 4 * play + 3)",
        "return uniform(key, 4 * play + 4)",
        "return uniform(key, play)",
        "return uniform(key, 0)",
        "return float(play % 3)",
        "return 1.0 / (uniform(key, 4 * play) - uniform(key, 4 * play))",
    ],
    ("arms", "make_buffer"): [
        "return make_arm_buffer(2, 4)",
        "return make_arm_buffer(3, 2)",
        "return make_arm_buffer(4, 20)",
    ],
    ("arms", "maximise"): ["return 0", "return 99", "return -1", "return pick(buffer, width)"],
    ("arms", "top"): ["return 0.0", "return 1.0", "return best_score(buffer, buffer.chosen)"],
    ("arms", "refresh"): [
        "buffer.penalty[:] = np.inf; return True",
        "buffer.penalty[:] = 0.0; return True",
        "buffer.features[0, 99] = 1.0; return True",
        "buffer.features[0, play] = 1.0; return True",
        "return False",
        "buffer.features[0, 0] += 1.0; return True",
    ],
    ("policy", "choose"): [
        "return 0",
        "take(buffer, 99); return 99",
        "take(buffer, state.counts[0]); return state.counts[0]",
        "take(buffer, 0); return 2",
        "buffer.chosen[0] = 50.0; return 0",
    ],
    ("policy", "tally"): ["return 0", "return 0, 0", "return 0.5, 0, 0"],
    ("policy", "estimate_arm"): ["return 0.0", "return 0.0, 'a'", "return math.nan, 1.0"],
    ("radius", "radius"): ["return -1.0", "return math.nan", "return t", "return 1e300"],
    ("estimator", "init"): [
        f"return Estimate_(make_region(self.dim + 1, 1.0), {ROOM})",
        f"return Memory_(np.zeros(2, np.int64), {ROOM})",
    ],
    ("filter", "init"): [
        f"return Memory_(np.zeros(1, np.int64), {ROOM})",
        f"return Memory_(np.zeros(2), {ROOM})",
        "return np.zeros(2)",
        "return (np.zeros(2),)",
    ],
}
FIELDS = ["np.ones(3)", "{'a': 1.0}", "print", "object()", "2**70", "(1.0, [2.0])"]


class Case(NamedTuple):
    """One broken part."""

    kind: str
    method: str
    change: str
    source: str


def make_case(dice: random.Random) -> Case:
    """Put one mistake into one method of one template."""
    kind = dice.choice(list(TEMPLATES))
    template = TEMPLATES[kind]
    method = dice.choice(list(template.methods))
    bodies = {name: body for name, (_, body) in template.methods.items()}
    weights = "np.ones(3)"
    choices = ["line", "line", "line"]
    choices += ["state"] * 3 if method in template.state else []
    choices += ["body"] * 2 if (kind, method) in BODIES else []
    choices += ["init"] * 3 if method == "init" else []
    how = dice.choice([*choices, "field"]) if dice.random() < 0.97 else "field"
    if how == "state":
        change = dice.choice(STATE_LINES).format(state=template.state[method])
        bodies[method] = f"{change}\n        {bodies[method]}"
    elif how == "body":
        change = bodies[method] = dice.choice(BODIES[kind, method])
    elif how == "init":
        change = dice.choice(INITS)
        bodies[method] = bodies[method].replace(ROOM, change)
    elif how == "field":
        change = weights = dice.choice(FIELDS)
        method = "weights"
    else:
        change = dice.choice(LINES)
        bodies[method] = f"{change}\n        {bodies[method]}"
    lines = ["class Broken(NamedTuple):", f"    weights: Any = {weights}", "    dim: int = 3"]
    lines += ["    plays: int = 1"] if kind in ("filter", "policy") else []
    lines += ["    size: int = 4", "    redraw: str = 'round'"] if kind == "arms" else []
    for name, (parameters, _) in template.methods.items():
        given = f"self, {parameters}" if parameters else "self"
        lines += [f"    def {name}({given}):", f"        {bodies[name]}"]
    return Case(kind, method, change, HEAD + "\n".join(lines) + "\n")


# ---- in the process of a batch


def load(case: Case, place: Path) -> Any:
    """Import the module of a case and return its class."""
    place.write_text(case.source)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module
    spec.loader.exec_module(module)
    return module.Broken()


def judge(case: Case, place: Path) -> str:
    """Use a part and return the outcome."""
    import heavybandits as hb

    typed = (hb.PartError, hb.InvalidInputError, hb.PolicyError)
    try:
        part = load(case, place)
        policy, problem = setting(hb, case.kind, part)
        runs = [final(hb, policy, problem, jobs) for jobs in (1, 1, 2)]
        agent = hb.Agent(policy)
        for t in range(3):
            agent.update(agent.select(np.eye(3)[: 2 + t % 2]), 1.0)
    except SyntaxError:
        return "no Python"
    except typed as error:
        return judge_error(case, error)
    except Exception as error:
        return f"FAULT: {type(error).__name__} {error!s:.100}"
    if not all(np.array_equal(run, runs[0]) for run in runs) or not np.isfinite(runs[0]).all():
        return "FAULT: results differ or are not finite"
    return compare(hb, policy, problem, runs[0])


def judge_error(case: Case, error: Exception) -> str:
    """Return whether an error names the class and the method, in a few lines."""
    said, kind = str(error), type(error).__name__
    if len(said.splitlines()) > 12:
        return f"FAULT: {kind} of {len(said.splitlines())} lines"
    method = {"weights": ""}.get(case.method, case.method)
    found = f"Broken.{method}" in said or (case.method == "init" and "Broken." in said)
    if found:
        return f"rejected: {kind} names class and method"
    return "FAULT: the method is not named" if "Broken" in said else "FAULT: the class is not named"


def setting(hb: Any, kind: str, part: Any) -> tuple[Any, Any]:
    """Return a policy and a problem that use the part."""
    policy = part if kind == "policy" else hb.linucb(dim=3, radius=1.0)
    if kind in ("filter", "estimator", "radius"):
        policy = policy._replace(**{kind: part})
    problem = hb.Problem(hb.arms.PerRound(4, 3), hb.links.Identity(), hb.noises.StudentT(3.0))
    if kind in ("link", "noise", "arms"):
        problem = problem._replace(**{kind: part})
    return policy, problem


def final(hb: Any, policy: Any, problem: Any, jobs: int) -> Any:
    return hb.simulate(policy, problem, horizon=PLAYS, repetitions=2, jobs=jobs).final("policy")


def compare(hb: Any, policy: Any, problem: Any, found: Any) -> str:
    """Compare the compiled result with the loop in Python."""
    from heavybandits.core.loop import Unobserved, draw_noise, make_episode, make_trace, play
    from heavybandits.core.part import reseeded
    from heavybandits.core.rng import ARMS, NOISE, stream_key
    from heavybandits.core.world import STILL
    from heavybandits.simulation.problem import check_problem

    arms, link, noise, theta = check_problem(problem)[:4]
    keys = [stream_key(0, 0, stream) for stream in (ARMS, NOISE)]
    eta, trace = np.empty(PLAYS), make_trace(np.array([PLAYS]))
    policy = reseeded(policy, keys[1])
    try:
        with np.errstate(all="ignore"):
            draw_noise(noise, keys[1], 0, eta)
            buffer, episode = arms.make_buffer(), make_episode(policy.plays)
            world = (policy, policy.init(), arms, link, theta, buffer, keys[0])
            play(*world, eta, episode, trace, Unobserved(), STILL)
    except ArithmeticError:
        return "correct, where Python stops at a division"
    except ValueError as error:
        if "math domain" in str(error):
            return "correct, where Python stops at a division"
        return f"FAULT: only Python fails: {error!s:.100}"
    except Exception as error:
        return f"FAULT: only Python fails: {type(error).__name__} {error!s:.100}"
    if trace.regret[0] != found[0]:
        return "FAULT: compiled and uncompiled differ"
    return "FAULT: negative regret" if found.min() < -1e-9 else "correct"


def work(first: int, last: int, seed: int) -> None:
    """Judge some cases and print each outcome."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, last):
            case = make_case(random.Random(f"{seed} {number}"))
            print(json.dumps({"starts": number}), flush=True)
            outcome = judge(case, Path(folder) / f"broken_{number}.py")
            shown = f" [{case.kind}.{case.method}: {case.change!r}]" if "FAULT" in outcome else ""
            print(json.dumps({"number": number, "outcome": outcome + shown}), flush=True)


# ---- the section


def break_parts(attempts: int, seed: int) -> Counter[str]:
    """Judge so many broken parts, in batches; a process that dies is a fault of its last case."""
    outcomes: Counter[str] = Counter()
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    first = 0
    while first < attempts:
        last = min(first + BATCH, attempts)
        command = [sys.executable, __file__, str(first), str(last), str(seed)]
        ended = subprocess.run(command, env=settings, capture_output=True, text=True)
        lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{"')]
        outcomes.update(line["outcome"] for line in lines if "outcome" in line)
        started = [line["starts"] for line in lines if "starts" in line]
        finished = [line["number"] for line in lines if "outcome" in line]
        if len(finished) == last - first:
            first = last
            continue
        number = started[-1] if started else first
        case = make_case(random.Random(f"{seed} {number}"))
        why = f"exit status {ended.returncode}: {ended.stderr[-200:]}"
        outcomes[f"FAULT: {why} [{case.kind}.{case.method}: {case.change!r}]"] += 1
        first = number + 1
    return outcomes


if __name__ == "__main__":
    work(*map(int, sys.argv[1:]))
