"""Parts of one's own: what is wrong with them is said in a few lines, and costs the run nothing."""

import inspect
import json
import math
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import broken_parts as broken
import heavybandits as hb
from heavybandits.core import dry_run
from heavybandits.core.cache import KernelCache
from heavybandits.core.compile import rehearse_once
from heavybandits.core.dry_run import check_repeatable, explain_failure, frozen
from heavybandits.core.numba_errors import explain_rejection
from heavybandits.sweeps.backends import RAISED, compute
from heavybandits.sweeps.cell import Cell

ARMS = np.eye(3)
TESTS = Path(__file__).parent


def problem(noise: Any = hb.noises.StudentT(1.5)) -> hb.Problem:
    return hb.Problem(hb.arms.PerRound(4, 3), hb.links.Identity(), noise)


def policy(filter: Any) -> Any:
    return hb.linucb(dim=3, radius=1.0, filter=filter)


RAW = policy(hb.filters.NoFilter())


def simulated(filter: Any, horizon: int = 40) -> Any:
    return hb.simulate(policy(filter), problem(), horizon=horizon, repetitions=1, checkpoints=4)


def decided(filter: Any) -> hb.Agent:
    agent = hb.Agent(policy(filter))
    agent.update(agent.select(ARMS), 1.0)
    return agent


def guilty(part: type) -> int:
    """The line of a broken part that is marked."""
    lines, first = inspect.getsourcelines(part)
    return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


# ---- what fails in Python


PYTHON = {
    broken.Misspelt: "'Misspelt' has no attribute 'levle'; did you mean 'level'?",
    broken.Distant: "index 99 is out of bounds for axis 0 with size 1",
    broken.Assigning: "fields are constants; what changes is kept in an array of the state",
    broken.Silent: "it ends without a return, and must return float",
}


@pytest.mark.parametrize("part", PYTHON, ids=lambda part: part.__name__)
@pytest.mark.parametrize("use", [simulated, decided, lambda f: hb.check_policy(policy(f))])
def test_what_is_wrong_is_said_with_class_method_and_line(part, use):
    with pytest.raises(hb.PartError) as caught:
        use(part(1.0))
    said = str(caught.value)
    assert said.startswith(f"{part.__name__}.apply, line {guilty(part)}: ")
    assert PYTHON[part] in said.splitlines()[0]
    assert len(said.splitlines()) <= 15
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_memory_that_is_not_what_the_library_needs_names_the_part():
    with pytest.raises(
        hb.PartError, match=r"^Stateless\.init, line \d+: it must return a NamedTuple"
    ):
        simulated(broken.Stateless(1.0))


def test_a_cell_says_it_in_its_last_line():
    report = compute(Cell("broken_parts:simulate_cell", {"name": "Misspelt"}), "nowhere")
    assert report.status == RAISED
    assert report.text.splitlines()[-1].startswith("Misspelt.apply, line ")


def test_what_only_stops_python_stops_nothing():
    """Compiled, 1.0 / 0.0 is infinite; a run that was fine stays fine."""
    rehearse_once(make_apply, broken.Dividing(1.0), np.ones(1))


def make_apply(stamp: str) -> Any:
    def kernel(part: Any, rewards: Any) -> float:
        return part.apply(None, rewards, 1.0, 0.0)

    return kernel


def test_the_error_travels_between_processes():
    with pytest.raises(hb.PartError) as caught:
        simulated(broken.Misspelt(1.0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.details) == (str(caught.value), caught.value.details)
    assert "Traceback" in again.details


# ---- what Python runs and numba refuses

NUMBA = {
    broken.Making: ("it makes an array", "room for it in the state"),
    broken.Methodical: ("neither its methods nor its properties: mean", "mean(self.link, z)"),
    broken.Calling: ("plain is plain Python", "@jitable"),
    broken.Looking: ("TABLE is neither a number nor an array", "a field of the part"),
    broken.Numeric: ("numba does not know numpy.i0", "a loop over the entries"),
    broken.Fickle: ("of one type here and of another there", "one type throughout"),
    broken.Careful: ("numba compiles less than Python", "plain loops and branches"),
}


@pytest.mark.parametrize("part", NUMBA, ids=lambda part: part.__name__)
def test_what_numba_refuses_is_said_with_what_to_write_instead(part):
    with pytest.raises(hb.PartError) as caught:
        hb.simulate(RAW, problem(part()), horizon=40, repetitions=1)
    said, (cause, instead) = str(caught.value), NUMBA[part]
    assert said.startswith(f"{part.__name__}.draw, line {guilty(part)}: it runs in Python, but")
    assert cause in said.partition("write instead: ")[0]
    assert instead in said.partition("write instead: ")[2]
    assert len(said.splitlines()) <= 15
    assert "nopython" in caught.value.details
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "said",
    [
        "Use of unsupported opcode (IMPORT_NAME) found. Raised from {file} ({line})",
        "The 'with (context manager) as (variable):' construct is not supported.. Raised from None",
    ],
)
def test_a_step_that_numba_rejects_in_other_words_is_found(said: str) -> None:
    class Opening(NamedTuple):
        def draw(self, key: Any, play: int) -> float:
            with open("noise") as file:
                return float(file.read())

    line = Opening.draw.__code__.co_firstlineno + 1
    text = said.format(file=__file__, line=line)
    explained = explain_rejection(text, frozenset({Opening}))
    assert explained.startswith(f"Opening.draw, line {line}: it runs in Python, but numba cannot")


# Simulate with a noise of every name, and say what was said.
REJECTED = """
import json, sys
import broken_parts
import heavybandits as hb
from heavybandits.core.numba_internals import is_public_only
assert is_public_only()
said = {}
for name in sys.argv[1:]:
    problem = hb.Problem(hb.arms.PerRound(4, 3), hb.links.Identity(), getattr(broken_parts, name)())
    try:
        hb.simulate(hb.policies.Uniform(3), problem, horizon=40, repetitions=1)
    except hb.PartError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


@pytest.mark.slow
def test_the_public_api_of_numba_rejects_the_same_parts():
    """Of an array that is made, numba does not say where; the rest is the same to the line."""
    names = [part.__name__ for part in NUMBA]
    paths = [str(Path(hb.__file__).parents[1]), str(Path(broken.__file__).parent)]
    every = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "HEAVYBANDITS_NUMBA": "public"}
    command = [sys.executable, "-c", REJECTED, *names]
    answer = subprocess.run(command, env=every, capture_output=True, text=True, check=True)
    said = json.loads(answer.stdout)
    for part, (cause, instead) in NUMBA.items():
        name = part.__name__
        place = name if name == "Making" else f"{name}.draw, line {guilty(part)}"
        assert said[name].startswith(f"{place}: it runs in Python, but")
        assert cause in said[name].partition("write instead: ")[0]
        assert instead in said[name].partition("write instead: ")[2]


def test_a_filter_that_numba_refuses_has_decided_nothing():
    """Found at the first select, before an event is written."""

    class Summing(broken.Cut):
        __slots__ = ()

        def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
            return (rewards * 2.0)[0]

    agent = hb.Agent(policy(Summing(1.0)))
    with pytest.raises(hb.PartError, match=r"^Summing\.apply, line \d+: it runs in Python"):
        agent.select(ARMS)
    assert agent.counters["pending"] == 0


# ---- a missing method is found before anything runs


class Nothing(NamedTuple):
    dim: int = 3
    size: int = 4
    plays: int = 1
    redraw: str = "never"

    def maen(self, z: float) -> float:
        return z

    def drwa(self, key: Any, play: int) -> float:
        return 0.0

    def make_bufer(self) -> Any:
        return None

    def aply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        return 0.0

    def init(self) -> Any:
        return None

    def predcit(self, estimate: Any, z: float) -> float:
        return z

    def raduis(self, estimate: Any, t: int) -> float:
        return 1.0

    def chose(self, state: Any, arms: Any, buffer: Any) -> int:
        return 0


WRONG: Any = Nothing()
MISSING: dict[str, Callable[[], Any]] = {
    "mean": lambda: hb.crtm(dim=3, horizon=10, raw_moment=1.0, link=WRONG),
    "draw": lambda: hb.simulate(RAW, problem(WRONG), horizon=5),
    "make_buffer": lambda: hb.simulate(RAW, problem()._replace(arms=WRONG), horizon=5),
    "apply": lambda: policy(WRONG),
    "predict": lambda: hb.Agent(RAW._replace(estimator=WRONG)),
    "radius": lambda: hb.Agent(RAW._replace(radius=WRONG)),
    "choose": lambda: hb.Agent(WRONG),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_misspelt_method_is_found_at_the_door(name):
    with pytest.raises(
        hb.InvalidInputError, match=rf"Nothing has no method {name}\(.*; rename .* to '{name}'$"
    ):
        MISSING[name]()


# ---- a part without a fault


class Same(hb.policies.Uniform):
    """The library's own, which counts its choices, in a class of ours."""

    __slots__ = ()


def test_a_rehearsal_leaves_no_trace_in_the_run():
    """The same rows as with the library's part, which is not rehearsed, in every bit."""
    runs = {"own": Same(dim=3), "ours": hb.policies.Uniform(dim=3)}
    result = hb.simulate(runs, problem(), horizon=100, repetitions=2, checkpoints=5)
    for own, ours in zip(*(result.curves(name) for name in runs), strict=True):
        assert np.array_equal(own, ours)


def test_a_part_is_rehearsed_once_for_each_shape():
    rehearsals: list[int] = []

    def factory(stamp: str) -> Any:
        return lambda part, buffer: rehearsals.append(buffer.chosen.size)

    for dim in (3, 3, 4, 3):
        rehearse_once(factory, Same(dim), hb.authoring.make_arm_buffer(dim, 4))
    rehearse_once(factory, hb.policies.Uniform(5), hb.authoring.make_arm_buffer(5, 4))
    assert rehearsals == [3, 4]


class Nowhere(NamedTuple):
    def draw(self, key: Any, play: int) -> float:
        return float("nan")


class Anywhere(NamedTuple):
    def draw(self, key: Any, play: int) -> float:
        return np.random.normal()


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Nowhere(), r"Nowhere\.draw, line \d+: it returned nan, and must return a finite"),
        (
            Anywhere(),
            r"Anywhere\.draw, line \d+: it uses numpy\.random\.normal, so two runs differ",
        ),
    ],
)
def test_a_noise_that_is_no_function_of_its_key_is_refused(noise: Any, words: str) -> None:
    with pytest.raises(hb.PartError, match=words):
        hb.simulate(policy(hb.filters.NoFilter()), problem(noise), horizon=50, repetitions=1)


class Endless(NamedTuple):
    first: int = 0
    plays: int = 1

    def init(self) -> Any:
        return hb.filters.NoFilter().init()

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        memory.counts[0] += 1
        return rewards[0] / 0.0 if memory.counts[0] > self.first else rewards[0]


def test_a_filter_that_makes_infinities_is_found_out() -> None:
    with pytest.raises(hb.PartError, match=r"^Endless\.apply, line \d+: it returned .*inf"):
        simulated(Endless())
    with pytest.raises(hb.PartError, match=r"Endless: theta is no longer finite"):
        simulated(Endless(110), horizon=120)


# ---- F13: what goes wrong after the rehearsal


class Places(NamedTuple):
    counts: Any
    places: Any


@hb.authoring.jitable
def put(places: Any, place: int, value: float) -> None:
    places[place] = value


class Filling(NamedTuple):
    """A filter that writes past the end of its memory from decision 101 on."""

    plays: int = 1

    def init(self) -> Places:
        return Places(np.zeros(2, np.int64), np.zeros(100))

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        put(memory.places, memory.counts[0], rewards[0])
        memory.counts[0] += 1
        return rewards[0]


def test_an_index_out_of_bounds_late_in_a_run_names_the_line() -> None:
    """Not checked after 32 decisions, it killed the process by a signal."""
    with pytest.raises(hb.PartError) as caught:
        hb.simulate(policy(Filling()), problem(), horizon=400, repetitions=1)
    head, _, rest = str(caught.value).partition(": ")
    assert re.fullmatch(r"Filling\.apply, line \d+, calling put, line \d+", head)
    assert rest.startswith("index 100 is out of bounds for axis 0 with size 100\n")


CHOICES = {
    "returned 9, which is none of the available": lambda self, state, arms, buffer: 9,
    "returned 0, but buffer.chosen is another": lambda self, state, arms, buffer: (
        hb.authoring.take(buffer, 1) or 0
    ),
    "returned 0.5, and must return int": lambda self, state, arms, buffer: 0.5,
}


@pytest.mark.parametrize("words", CHOICES)
def test_a_policy_returns_the_arm_that_it_copies(words: str) -> None:
    """A vector that is no arm gave a negative regret."""
    part: Any = type("Mine", (hb.policies.Uniform,), {"__slots__": (), "choose": CHOICES[words]})
    for use in (
        lambda: hb.simulate(part(dim=3), problem(), horizon=40),
        lambda: hb.Agent(part(dim=3)).select(ARMS),
    ):
        with pytest.raises(hb.PartError, match=rf"^Mine\.choose, line \d+: it {words}"):
            use()


class Counting(NamedTuple):
    """A filter that keeps its count in a field, where it survives the run."""

    seen: hb.authoring.Floats
    plays: int = 1

    def init(self) -> Any:
        return hb.filters.NoFilter().init()

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        self.seen[0] += 1.0
        return rewards[0]


def test_a_part_that_writes_into_its_fields_is_rejected() -> None:
    seen = np.zeros(1)
    with pytest.raises(hb.PartError, match=r"^Counting\.apply, line \d+: .*read-only"):
        hb.simulate(policy(Counting(seen)), problem(), horizon=40, repetitions=1)
    assert seen[0] == 0.0


def test_only_fields_of_own_parts_are_frozen() -> None:
    ours, own, state = hb.arms.FromArray(np.eye(2)), Counting(np.zeros(1)), Places(1, np.zeros(1))
    ours, own, state = frozen((ours, own, state))
    assert [ours.features.flags.writeable, own.seen.flags.writeable] == [True, False]
    assert state.places.flags.writeable


def test_a_kernel_that_differs_from_call_to_call_is_rejected() -> None:
    """For sources of chance that cannot be seen, such as a C function."""
    numbers = iter(range(100))

    def kernel(out: Any) -> None:
        out[0] = next(numbers)

    with pytest.raises(hb.PartError, match=r"^Filling: two runs from the same state differ"):
        check_repeatable(kernel, (np.zeros(1),), frozenset({Filling}))
    check_repeatable(lambda out: 1.0, (np.zeros(1),), frozenset({Filling}))


def test_a_failure_whose_line_is_not_found_in_time_says_how_to_find_it(monkeypatch) -> None:
    def endless(_: Any) -> None:
        while True:
            abs(-1)

    monkeypatch.setattr(dry_run, "PATIENCE", 0.01)
    for kernel in (endless, lambda _: None):
        said = explain_failure(
            IndexError("index is out of bounds"), kernel, (1,), frozenset({Filling})
        )
        assert said.startswith("Filling: index is out of bounds, in compiled code\n")
        assert "NUMBA_DISABLE_JIT=1" in said


def test_kernels_with_and_without_checked_indices_are_different_files(monkeypatch) -> None:
    """NUMBA_BOUNDSCHECK=1 loaded the unchecked kernels of an earlier process."""
    cache = KernelCache(put, "stamp")
    places = set()
    for value in (None, 1):
        monkeypatch.setattr("numba.config.BOUNDSCHECK", value)
        places.add(cache._place((), ())[0])
    assert len(places) == 2


# A part that passes a vector that is too short to a function of the library, late.
DEBUGGED = """
import numpy as np
import heavybandits as hb
from test_dry_run import Filling, policy, problem

class Short(Filling):
    __slots__ = ()
    def apply(self, memory, rewards, norm, predicted):
        memory.counts[0] += 1
        if memory.counts[0] > 60:
            return hb.authoring.dot(memory.places, rewards)
        return rewards[0]

try:
    hb.simulate(policy(Short()), problem(), horizon=400, repetitions=1)
except hb.PartError as error:
    print(error)
"""


@pytest.mark.slow
def test_the_debug_mode_checks_the_functions_of_the_library_too() -> None:
    paths = [str(Path(hb.__file__).parents[1]), *map(str, (Path(broken.__file__).parent, TESTS))]
    every = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-c", DEBUGGED]
    said = subprocess.run(command, env=every, capture_output=True, text=True, check=True).stdout
    assert said.startswith("Short.apply, line ")
    assert "calling dot: index 1 is out of bounds" in said


class LateNoise(NamedTuple):
    def draw(self, key: Any, play: int) -> float:
        return math.nan if play == 180 else hb.authoring.uniform(key, 4 * play) - 0.5


class TableRadius(NamedTuple):
    table: hb.authoring.Floats

    def radius(self, estimate: Any, t: int) -> float:
        return math.sqrt(self.table[t])


class Odd(NamedTuple):
    """A policy whose choice is wrong in a way that depends on its field."""

    dim: int
    wrong: int
    plays: int = 1

    def init(self) -> Any:
        return hb.authoring.make_memory(1)

    def choose(self, state: Any, arms: Any, buffer: Any) -> int:
        hb.authoring.take(buffer, 0)
        if self.wrong == 1:
            buffer.chosen[0] *= 3.0
        if self.wrong == 2:
            buffer.features[0, 1] = 0.0
        return 0

    def learn(self, state: Any, x: Any, rewards: Any) -> None:
        pass

    def estimate_arm(self, state: Any, x: Any) -> tuple[float, float]:
        return 0.0, 1.0

    def tally(self, state: Any) -> Any:
        return hb.authoring.Tally(0, 0, 0)


def by_radius(radius: Any) -> Any:
    return hb.policies.UCB(hb.estimators.Ridge(3, 1.0), hb.filters.NoFilter(), radius)


def test_what_goes_wrong_after_the_rehearsed_plays() -> None:
    """Each was a silently wrong regret."""
    fixed = problem()._replace(arms=hb.arms.Fixed(4, 3))
    with pytest.raises(hb.PartError, match=r"LateNoise\.draw: it must return a finite number"):
        hb.simulate(hb.linucb(dim=3, radius=1.0), fixed._replace(noise=LateNoise()), horizon=200)
    negative = TableRadius(np.where(np.arange(300) < 160, 1.0, -1.0))
    with pytest.raises(hb.PartError, match=r"TableRadius\.radius, .*math domain error"):
        hb.simulate(by_radius(negative), fixed, horizon=200)
    hb.simulate(by_radius(TableRadius(np.ones(200))), fixed, horizon=200)  # just long enough
    hb.simulate(Odd(3, 0), fixed, horizon=200)  # rehearsed once for all fields
    with pytest.raises(
        hb.PartError, match=r"the last buffer\.chosen is none of the available arms"
    ):
        hb.simulate(Odd(3, 1), fixed, horizon=200)
    with pytest.raises(hb.PartError, match=r"buffer\.features changed"):
        hb.simulate(Odd(3, 2), fixed, horizon=200)
