"""F12: a part that uses a random generator, a clock or global state is rejected, wherever it is."""

import datetime
import functools
import os
import random
import secrets
import time
from random import gauss
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numpy.random import default_rng
from numpy.random import standard_normal as noise_of_numpy

import heavybandits as hb
from heavybandits.authoring import jitable, make_memory, make_region, stream_key, uniform
from heavybandits.core.conformance import members
from heavybandits.core.dispatch import DISPATCHED
from heavybandits.core.protocols import CONTRACTS
from heavybandits.core.purity import check_purity

COUNT = 0
GENERATOR = np.random.default_rng(0)
METHODS = sorted(
    {name for contract in CONTRACTS.values() for name in members(contract)} - {"dim", "plays"}
)


def drawn() -> float:
    return np.random.normal()


@jitable
def drawn_below() -> float:
    return drawn() + 1.0


@numba.njit
def drawn_compiled() -> float:
    return np.random.normal()


def counted() -> int:
    global COUNT
    COUNT += 1
    return COUNT


def imported() -> float:
    import random as dice

    return dice.random()


def aliased() -> float:
    source = np.random
    return source.normal()


class Machine:
    def __call__(self) -> float:
        return np.random.normal()

    def turn(self) -> float:
        return np.random.normal()


MACHINE, PARTIAL = Machine(), functools.partial(np.random.normal, 1.0)


def make_counter() -> Any:
    count = 0

    def step(self: Any) -> int:
        nonlocal count
        count += 1
        return count

    return step


IMPURE = {
    "the outer variable count": make_counter(),
    "calling __call__, ": lambda self: MACHINE(),
    "calling turn, ": lambda self: MACHINE.turn(),
    "normal, so two": lambda self: PARTIAL(),
    "numpy.random.normal": lambda self: np.random.normal(),
    "numpy.random.standard_normal": lambda self: noise_of_numpy(),
    "random.gauss": lambda self: gauss(0.0, 1.0),
    "random.random": lambda self: random.random(),
    "GENERATOR": lambda self: GENERATOR.normal(),
    "secrets.randbelow": lambda self: secrets.randbelow(3),
    "time.perf_counter": lambda self: time.perf_counter(),
    "datetime.now": lambda self: datetime.datetime.now().timestamp(),
    "os.environ": lambda self: float(os.environ["LEVEL"]),
    "os.urandom": lambda self: os.urandom(1)[0],
    "calling drawn, ": lambda self: drawn(),
    "calling drawn,": lambda self: drawn_below(),
    "calling drawn_compiled, ": lambda self: drawn_compiled(),
    "calling counted, ": lambda self: counted(),
    "calling imported, ": lambda self: imported(),
    "calling aliased, ": lambda self: aliased(),
    "numpy.random.normal, so": lambda self: sum(np.random.normal() for _ in range(3)),
}


def with_method(name: str, method: Any) -> type:
    class Part(NamedTuple):
        dim: int = 2

    return type("Part", (Part,), {"__slots__": (), name: method})


@pytest.mark.parametrize("words", IMPURE)
@pytest.mark.parametrize("method", ["update", "init"])
def test_every_source_of_chance_is_found_in_every_kind_of_code(words, method):
    with pytest.raises(hb.PartError, match=rf"^Part\.{method}, line \d+") as caught:
        check_purity(with_method(method, IMPURE[words]))
    said = str(caught.value)
    assert words.rpartition(".")[2] in said.splitlines()[0]
    assert said.splitlines()[-1].startswith("write instead: ")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_every_contract_is_read(method):
    with pytest.raises(hb.PartError, match=rf"^Part\.{method}, line \d+, calling drawn, line"):
        check_purity(with_method(method, IMPURE["calling drawn, "]))


def test_what_only_compiled_code_may_not_do_is_allowed_in_init():
    """A generator with a seed gives the same numbers in every call; numba knows none."""
    part = with_method("init", lambda self: default_rng(np.random.PCG64(1)).normal())
    check_purity(part)
    with pytest.raises(hb.PartError, match=r"it uses numpy\.random\.default_rng"):
        check_purity(with_method("update", lambda self: default_rng(3).normal()))


def test_pure_code_is_left_alone():
    def update(self: Any) -> float:
        return uniform(stream_key(0, 0, 0), 3) + os.path.sep.count("/") + float(np.exp(0.0))

    check_purity(with_method("update", update))
    for name in DISPATCHED:
        check_purity(with_method(name, lambda self: 1.0))


# ---- where a part is passed, before anything runs or is compiled


class Noisy(NamedTuple):
    """A part of every kind."""

    dim: int = 3
    plays: int = 1
    size: int = 2
    redraw: str = "never"

    def init(self) -> Any:
        return make_memory(self.plays)

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        return rewards[0] + drawn()

    def predict(self, estimate: Any, z: float) -> float:
        return drawn()

    def update(self, estimate: Any, observation: Any) -> None:
        estimate.region.centre[0] = drawn()

    def radius(self, estimate: Any, t: int) -> float:
        return drawn()

    def draw(self, key: Any, play: int) -> float:
        return drawn()

    def mean(self, z: float) -> float:
        return drawn()

    def slope(self, z: float) -> float:
        return 1.0

    def kappa(self, norm: float) -> float:
        return 1.0

    def lipschitz(self, norm: float) -> float:
        return 1.0

    def bound(self, norm: float) -> float:
        return 1.0

    def make_buffer(self) -> Any:
        return None

    def refresh(self, buffer: Any, key: Any, play: int) -> bool:
        return drawn() > 0.0

    def top(self, buffer: Any, theta: Any) -> float:
        return 1.0

    def maximise(self, buffer: Any, region: Any, width: float) -> int:
        return 0

    def choose(self, state: Any, arms: Any, buffer: Any) -> int:
        return 0

    def learn(self, state: Any, x: Any, rewards: Any) -> None:
        pass

    def estimate_arm(self, state: Any, x: Any) -> tuple[float, float]:
        return 0.0, 0.0

    def tally(self, state: Any) -> tuple[int, int, int]:
        return 0, 0, 0


NOISY: Any = Noisy()
UCB = hb.linucb(dim=3, radius=1.0)
PROBLEM = hb.Problem(hb.arms.PerRound(4, 3), hb.links.Identity(), hb.noises.StudentT(1.5))
USES = {
    "filter": lambda: hb.linucb(dim=3, radius=1.0, filter=NOISY),
    "estimator": lambda: hb.Agent(UCB._replace(estimator=NOISY)),
    "radius": lambda: hb.Agent(UCB._replace(radius=NOISY)),
    "policy": lambda: hb.Agent(NOISY),
    "link": lambda: hb.crtm(dim=3, horizon=10, raw_moment=1.0, link=NOISY),
    "noise": lambda: hb.simulate(UCB, PROBLEM._replace(noise=NOISY), horizon=5),
    "moments": lambda: hb.noises.known(NOISY),
    "arms": lambda: hb.simulate(UCB, PROBLEM._replace(arms=NOISY), horizon=5),
    "check": lambda: hb.check_policy(UCB._replace(radius=NOISY)),
}


@pytest.mark.parametrize("use", USES)
def test_every_kind_of_part_is_rejected_where_it_is_passed(use):
    with pytest.raises(hb.PartError, match=r"^Noisy\.\w+, line \d+, calling drawn, line \d+"):
        USES[use]()


class Estimate(NamedTuple):
    region: Any


class UnseededInit(NamedTuple):
    dim: int = 3

    def init(self) -> Estimate:
        region = make_region(self.dim, 1.0)
        region.centre[:] = default_rng().normal(size=self.dim)
        return Estimate(region)

    def predict(self, estimate: Any, z: float) -> float:
        return z

    def update(self, estimate: Any, observation: Any) -> None:
        pass


def test_an_init_without_a_seed_is_found_by_its_numbers():
    policy = UCB._replace(estimator=UnseededInit())
    words = r"^UnseededInit\.init, line \d+: two calls return different numbers in field region\.c"
    with pytest.raises(hb.PartError, match=words):
        hb.Agent(policy)
    with pytest.raises(hb.PartError, match=words):
        hb.simulate(policy, PROBLEM, horizon=5)
