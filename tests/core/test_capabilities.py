"""What a policy can do is asked once, and found in the parts inside it."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits.core.capabilities import (
    accepts_any_norm,
    capacity_of,
    choice_writes_of,
    innermost,
    is_finite_only,
    is_valid_state,
    parts_with_states,
    set_noise_scale,
    takes_noise_scale,
    threshold_of,
)
from heavybandits.estimators import Discounted
from heavybandits.filters import Clip, DriftMonitor, NoFilter
from heavybandits.policies import EpsilonGreedy, SquareCB, Thompson, TimeDiscounted

DIM = 3
RIDGE = hb.linucb(dim=DIM, radius=1.0)
KEEPER = POLICIES["tofu"]
WRAPPERS: dict[str, Any] = {
    "EpsilonGreedy": EpsilonGreedy,
    "SquareCB": SquareCB,
    "Thompson": Thompson,
    "EpsilonGreedy of SquareCB": lambda policy: EpsilonGreedy(SquareCB(policy)),
}


class Own(NamedTuple):
    """A policy that holds another and declares what differs."""

    policy: Any
    capacity: int = 7

    @property
    def any_norm(self) -> bool:
        return False


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_a_wrapper_has_the_capabilities_of_the_policy_inside(wrap: Any) -> None:
    capacity = capacity_of(KEEPER)
    assert capacity is not None
    assert capacity_of(wrap(KEEPER)) == capacity
    assert capacity_of(wrap(RIDGE)) is None
    assert accepts_any_norm(wrap(hb.auto(dim=DIM)))
    assert not accepts_any_norm(wrap(RIDGE))
    assert is_finite_only(wrap(RIDGE))
    assert not is_finite_only(RIDGE)


def test_discounting_keeps_what_the_estimator_accepts() -> None:
    auto: Any = hb.auto(dim=DIM)
    slow = auto._replace(estimator=Discounted(auto.estimator, 50.0))
    assert accepts_any_norm(slow)
    assert accepts_any_norm(TimeDiscounted(auto, 60.0))
    assert not is_finite_only(TimeDiscounted(auto, 60.0))


def test_the_outermost_declaration_counts() -> None:
    own = Own(hb.auto(dim=DIM))
    assert capacity_of(own) == 7
    assert not accepts_any_norm(own)


@pytest.mark.parametrize("name", [*POLICIES, *DRAWING])
def test_a_choice_writes_arrays_that_the_state_has(name: str) -> None:
    policy = (POLICIES | DRAWING)[name]
    names = choice_writes_of(policy)
    assert names is not None
    for path in names:
        found = policy.init()
        for field in path.split("."):
            found = getattr(found, field)
        assert isinstance(found, np.ndarray)


def test_what_a_choice_writes_is_named_by_its_path() -> None:
    twice = EpsilonGreedy(SquareCB(RIDGE))
    assert choice_writes_of(twice) == ("counts", "propensity", "inner.counts", "inner.propensity")
    assert choice_writes_of(TimeDiscounted(RIDGE, 60.0)) == ()
    own: Any = Own(RIDGE)
    assert choice_writes_of(EpsilonGreedy(own)) is None  # it does not say: all of them


def test_every_part_comes_with_its_own_state() -> None:
    policy: Any = EpsilonGreedy(
        TimeDiscounted(RIDGE._replace(filter=DriftMonitor(Clip(2.0))), 60.0)
    )
    state = policy.init()
    found = {type(part).__name__: own for part, own in parts_with_states(policy, state)}
    assert list(found) == [
        "EpsilonGreedy",
        "TimeDiscounted",
        "UCB",
        "DriftMonitor",
        "Clip",
        "Ridge",
    ]
    inner = state.inner.inner
    assert found["UCB"] is inner
    assert found["Ridge"] is inner.estimate
    assert found["DriftMonitor"] is inner.memory
    assert found["Clip"] is inner.memory.inner
    assert innermost(policy, state) == (policy.policy.policy, inner)


@pytest.mark.parametrize("wrap", [lambda policy: policy, *WRAPPERS.values()])
def test_an_invalid_state_of_any_part_is_found(wrap: Any) -> None:
    policy = wrap(hb.linucb(dim=DIM, radius=1.0, filter=DriftMonitor(NoFilter())))
    state = policy.init()
    assert is_valid_state(policy, state)
    innermost(policy, state)[1].memory.counts[3] = -1
    assert not is_valid_state(policy, state)


def test_an_invalid_propensity_is_found() -> None:
    policy = EpsilonGreedy(SquareCB(RIDGE))
    state = policy.init()
    state.inner.propensity[0] = 0.0
    assert not is_valid_state(policy, state)


def test_the_threshold_is_that_of_the_filter_else_of_the_estimator() -> None:
    clipped = RIDGE._replace(filter=DriftMonitor(Clip(2.0)))
    auto: Any = hb.auto(dim=DIM)
    for policy, wanted in ((clipped, 2.0), (EpsilonGreedy(clipped), 2.0), (RIDGE, None)):
        assert threshold_of(policy, policy.init()) == wanted
    slow = auto._replace(estimator=Discounted(auto.estimator, 50.0))
    assert threshold_of(slow, slow.init()) == threshold_of(auto, auto.init()) is not None


def test_only_some_policies_take_a_noise_scale() -> None:
    crhl = POLICIES["crhl"]
    assert takes_noise_scale(crhl)
    assert takes_noise_scale(EpsilonGreedy(crhl))
    assert not any(map(takes_noise_scale, (RIDGE, hb.auto(dim=DIM), KEEPER)))


def test_the_noise_scale_of_a_reward_is_set_inside() -> None:
    policy = EpsilonGreedy(POLICIES["crhl"])
    state = policy.init()
    kept = [array for array in state.inner.estimate if isinstance(array, np.ndarray)]
    usual = [array.copy() for array in kept]
    set_noise_scale(policy, state, 9.0)
    assert any(array.tolist() == [9.0] for array in kept)
    set_noise_scale(policy, state, None)
    assert all(np.array_equal(*pair) for pair in zip(kept, usual, strict=True))
