"""F21: what `init` of a part of your own does wrong is said once, with class, method and line."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.authoring import make_memory, make_region
from heavybandits.core.state import make_state

SHARED = np.zeros(3)
CALLS = iter(range(10**6))


class Filtered(NamedTuple):
    counts: Any
    extra: Any


class Estimated(NamedTuple):
    region: Any
    extra: Any


class Nested(NamedTuple):
    counts: Any
    inner: Any


def memory(extra: Any) -> Filtered:
    return Filtered(np.zeros(2, np.int64), extra)


class Plain(NamedTuple):
    """A filter without a fault."""

    plays: int = 1

    def init(self) -> Any:
        return make_memory(self.plays)

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        return rewards[0]


def overlapping() -> Nested:
    whole = np.zeros(4)
    return Nested(np.zeros(2, np.int64), Filtered(whole[:3], whole[2:]))


def frozen() -> Any:
    array = np.zeros(2)
    array.flags.writeable = False
    return array


FILTERS = {
    "a list": (lambda self: memory([]), "field extra of the state must be an array, got list"),
    "a number": (lambda self: memory(1.0), r"must be an array, got float: write np.array\("),
    "a dict": (lambda self: memory({}), "must be an array, got dict"),
    "None": (lambda self: memory(None), "must be an array, got NoneType"),
    "float32": (lambda self: memory(np.zeros(2, np.float32)), "extra of the state has dtype float"),
    "int32": (lambda self: memory(np.zeros(2, np.int32)), "has dtype int32: use float64, or int64"),
    "bool": (lambda self: memory(np.zeros(2, bool)), "has dtype bool"),
    "objects": (lambda self: memory(np.array([{}])), "has dtype object"),
    "a view": (lambda self: memory(np.zeros((4, 4)).T[1:]), "is not contiguous"),
    "read-only": (lambda self: memory(frozen()), "is read-only: copy it"),
    "overlap": (lambda self: overlapping(), r"fields inner.counts and inner.extra of the .* share"),
    "a global": (lambda self: memory(SHARED), "two states share field extra: make a new array"),
    "calls": (lambda self: memory(np.full(2, 1.0 * next(CALLS))), "two calls return different num"),
    "sizes": (lambda self: memory(np.zeros(1 + next(CALLS))), "two calls return different numbers"),
    "a tuple": (lambda self: (np.zeros(2),), "it must return a NamedTuple of arrays, got tuple"),
    "nothing": (lambda self: None, "it must return a NamedTuple of arrays, got NoneType"),
    "counts": (lambda self: Filtered(np.zeros(2), np.zeros(2)), "counts of two int64: use make_me"),
    "one count": (lambda self: Filtered(np.zeros(1, np.int64), SHARED.copy()), "of two int64"),
    "a typo": (lambda self: memory(np.zeros(self.play)), "has no attribute 'play'; did you mean"),
    "an error": (lambda self: memory(np.zeros(-1)), "ValueError: negative dimensions"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_wrong_state_is_rejected_wherever_the_policy_is_used(name):
    init, words = FILTERS[name]
    part: Any = type("Mine", (Plain,), {"__slots__": (), "init": init})
    policy = hb.linucb(dim=2, radius=1.0, filter=part())
    problem = hb.Problem(hb.arms.PerRound(3, 2), hb.links.Identity(), hb.noises.Gaussian(1.0))
    for use in (
        lambda: hb.Agent(policy),
        lambda: hb.simulate(policy, problem, horizon=5),
        lambda: hb.check_policy(policy),
    ):
        with pytest.raises(hb.PartError, match=rf"^Mine\.init, line \d+.*: .*{words}") as caught:
            use()
        assert len(str(caught.value).splitlines()) <= 5


class Steps(NamedTuple):
    dim: int = 2

    def init(self) -> Any:
        return Estimated(make_region(self.dim, 1.0), np.zeros(1))

    def predict(self, estimate: Any, z: float) -> float:
        return z

    def update(self, estimate: Any, observation: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (lambda self: memory(np.zeros(1)), "an estimator must have a field region"),
        (lambda self: Estimated(make_region(3, 1.0), SHARED.copy()), "must have dim 2, got 3"),
    ],
)
def test_an_estimator_needs_a_region_of_its_dimension(init, words):
    part: Any = type("Mine", (Steps,), {"__slots__": (), "init": init})
    with pytest.raises(hb.PartError, match=rf"^Mine\.init, line \d+: .*{words}"):
        hb.Agent(hb.linucb(dim=2, radius=1.0)._replace(estimator=part()))


def test_a_state_without_a_fault_is_made():
    policy = hb.linucb(dim=2, radius=1.0, filter=Plain())._replace(estimator=Steps())
    assert make_state(policy).estimate.region.centre.tolist() == [0.0, 0.0]


# ---- fields


class Holding(NamedTuple):
    held: Any
    plays: int = 1

    def init(self) -> Any:
        return make_memory(self.plays)

    def apply(self, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
        return rewards[0]


@pytest.mark.parametrize(
    "value",
    [{"a": 1.0}, {1.0}, print, object(), b"bytes", 2**70, (1.0, {}), range(3)],
    ids=lambda value: type(value).__name__,
)
def test_a_field_that_compiled_code_cannot_read_is_rejected(value):
    with pytest.raises(hb.InvalidInputError, match=r"^Holding.held must (be a number|fit into 64)"):
        hb.linucb(dim=2, radius=1.0, filter=Holding(value))


@pytest.mark.parametrize("value", [1, 1.0, True, None, "name", [1.0], (1, (2.0,)), np.float32(1)])
def test_a_field_that_it_can_read_is_accepted(value):
    hb.linucb(dim=2, radius=1.0, filter=Holding(value))


class Extra(hb.policies.Uniform):
    __slots__ = ()

    @property
    def capacity(self) -> Any:
        return self.capcity  # type: ignore[attr-defined]


class Wordy(hb.policies.Uniform):
    __slots__ = ()
    any_norm = "yes"  # type: ignore[assignment]


def test_an_optional_attribute_that_fails_is_not_taken_for_missing():
    with pytest.raises(hb.PartError, match=r"^Extra\.capacity, line \d+: .*; did you mean"):
        hb.Agent(Extra(dim=2))
    with pytest.raises(hb.InvalidInputError, match=r"^Wordy\.any_norm must be True or False, got"):
        hb.Agent(Wordy(dim=2))
