"""Parts at the door: what is no part of its kind is refused by name, before anything compiles."""

import math
import random
from collections import namedtuple
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest

import heavybandits as hb
from all_parts import examples
from heavybandits._utils.validation import Features, Interval
from heavybandits.core import compile as compiling
from heavybandits.core.conformance import fault, members, written
from heavybandits.core.part import cast, check_part, walk
from heavybandits.core.protocols import CONTRACTS, ArmSet, Filter, Noise, Policy

LOGISTIC: Any = hb.links.Logistic()
PROBLEM = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian())


class State(NamedTuple):
    counts: Any


class Mine(NamedTuple):
    """A policy with all that its contract asks for, and not a line more."""

    dim: int = 2
    plays: int = 1

    def init(self):
        return State(np.zeros(2, np.int64))

    def choose(self, state, arms, buffer):
        hb.authoring.take(buffer, 0)
        return 0

    def learn(self, state, x, rewards):
        state.counts[0] += 1

    def estimate_arm(self, state, x):
        return 0.0, 0.0

    def tally(self, state):
        return state.counts[0], 0, 0


def without(name: str, **other: Any) -> Any:
    """Mine, with one member taken away and others put in."""
    body = {key: value for key, value in vars(Mine).items() if key in members(Policy)}
    del body[name]
    make: Any = namedtuple
    kind = make("Lacking", [n for n in ("dim", "plays") if n != name])
    return type("Lacking", (kind,), {**body, **other, "__slots__": ()})(*[1] * len(kind._fields))


def refusal(policy: Any) -> str:
    with pytest.raises(hb.InvalidInputError) as caught:
        hb.simulate(policy, PROBLEM, horizon=10, repetitions=1)
    with pytest.raises(hb.InvalidInputError):
        hb.Agent(policy)
    return str(caught.value)


def test_a_policy_with_all_members_plays():
    result = hb.simulate(Mine(), PROBLEM, horizon=10, repetitions=1, checkpoints=1)
    assert result.rows()[-1]["updates"] == 10


@pytest.mark.parametrize("name", members(Policy))
def test_a_policy_that_lacks_a_member_is_refused_by_its_name(name):
    assert f"Lacking has no {'attribute' if name in ('dim', 'plays') else 'method'} {name}" in (
        refusal(without(name))
    )


def test_a_misspelt_method_is_recognised():
    said = refusal(without("tally", tallly=Mine.tally))
    assert said == (
        "policies['policy'] must be a policy: Lacking has no method tally(state); "
        "rename 'tallly' to 'tally'"
    )


@pytest.mark.parametrize(
    ("method", "takes"),
    [
        (lambda self, state, arms: 0, "(self, state, arms)"),
        (lambda self, state, arms, buffer, more: 0, "(self, state, arms, buffer, more)"),
        (lambda self, state, arms, offer: 0, "(self, state, arms, offer)"),
    ],
)
def test_a_method_with_other_parameters_is_refused(method, takes):
    said = refusal(without("choose", choose=method))
    assert f"Lacking.choose takes {takes}, not (self, state, arms, buffer)" in said


def test_what_hides_a_method_under_a_field_is_refused():
    class Hidden(NamedTuple):
        draw: float = 1.0

    with pytest.raises(
        hb.InvalidInputError, match=r"noise must be a noise: Hidden has no method draw"
    ):
        check_part("noise", Hidden(), Noise)


@pytest.mark.parametrize("name", ["dim", "plays"])
@pytest.mark.parametrize("bad", [0, -1, 1 << 70])
def test_the_sizes_of_a_policy_of_your_own_are_checked(name, bad):
    assert f"Mine.{name} must be" in refusal(Mine()._replace(**{name: bad}))


def test_an_attribute_that_is_a_method_is_refused():
    said = refusal(without("plays", plays=lambda self: 1))
    assert said.startswith("Lacking.plays must be a whole number >= 1, got <bound method")


def test_an_arm_set_must_say_when_it_is_redrawn():
    class Sometimes(hb.arms.Fixed):
        __slots__ = ()

        @property
        def redraw(self) -> Any:
            return "sometimes"

    with pytest.raises(
        hb.InvalidInputError, match="redraw must be one of never, decision, round, got"
    ):
        check_part("arms", Sometimes(3, 2), ArmSet)


def test_nothing_is_compiled_for_a_part_that_is_refused(monkeypatch):
    monkeypatch.setattr(compiling, "_compile", lambda *_: pytest.fail("it compiled"))
    refusal(without("tally"))
    with pytest.raises(hb.InvalidInputError, match="filter must be a filter"):
        hb.linucb(dim=2, filter=LOGISTIC)


@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=list(CONTRACTS))
def test_what_is_no_part_is_told_what_one_needs(contract):
    for value in (None, 3.0, "part", object(), Mine):
        with pytest.raises(hb.InvalidInputError) as caught:
            check_part("argument", value, contract)
        for name, member in members(contract).items():
            assert written(name, member) in str(caught.value)


def test_a_contract_of_your_own_is_kept_too():
    class Schedule(Protocol):
        def rate(self, t: int) -> float: ...

    class Halving(NamedTuple):
        def rate(self, t):
            return 0.5**t

    class Scheduled(NamedTuple):
        schedule: Schedule

    assert cast(Scheduled(Halving())) == Scheduled(Halving())
    with pytest.raises(hb.InvalidInputError, match=r"schedule must be a Schedule: .* rate\(t\)"):
        cast(Scheduled(LOGISTIC))


# ---- casting


def test_intervals_hold_their_ends():
    for interval, inside, outside in [
        (Interval(0.0, 1.0), (0.0, 0.5, 1.0), (-1e-9, 1.1, math.nan)),
        (Interval(0.0, 1.0, "()"), (0.5,), (0.0, 1.0)),
        (Interval(0.2, ends="(]"), (0.3, 1e300), (0.2, -1.0)),
    ]:
        assert all(number in interval for number in inside)
        assert not any(number in interval for number in outside)


def test_fields_of_your_own_are_cast_by_their_annotations():
    class Own(NamedTuple):
        rows: Features
        size: int
        flag: bool
        free: Any

    loose: Any = Own
    own = cast(loose([[1, 2]], np.int32(-3), np.True_, [1, 2]))
    assert own.rows.dtype == own.free.dtype == np.float64
    assert (own.size, own.flag) == (-3, True)
    assert type(own.size) is int
    assert type(own.flag) is bool
    for bad in ({"rows": [1, 2]}, {"rows": [[1e7]]}, {"size": 1 << 64}, {"size": 1.0}, {"flag": 1}):
        with pytest.raises(hb.InvalidInputError, match=rf"Own.{next(iter(bad))} must"):
            cast(own._replace(**bad))


def test_a_walk_meets_every_part_once():
    policy = hb.crtm(dim=2, horizon=10, raw_moment=1.0)
    names = [type(part).__name__ for part in walk(policy)]
    newton = ["OnlineNewton", "Logistic", "BallProjection"]
    assert names == ["UCB", *newton, "Truncate", "Constant"]
    assert list(walk(3.0)) == []


# ---- D2: constants that index machine code, and parts against each other


def play_uncompiled(policy: Any) -> None:
    """A few decisions in plain Python, which looks at every index."""
    state, arms = policy.init(), hb.arms.FromArray(np.eye(4)[:, : policy.dim])
    buffer = arms.make_buffer()
    arms.refresh(buffer, np.uint64(0), 0)
    for _ in range(3):
        policy.choose(state, arms, buffer)
        policy.estimate_arm(state, buffer.chosen)
        policy.learn(state, buffer.chosen, np.linspace(0.5, 1.0, policy.plays))
        policy.tally(state)


def is_of(part: Any, contract: type) -> bool:
    kind: type = type(part)
    return fault(kind, contract) is None


def shaken(part: Any, dice: random.Random) -> Any:
    """The part with its whole numbers and its inner parts drawn anew."""
    fields = {}
    for name, value in part._asdict().items():
        if type(value) is int:
            fields[name] = dice.choice([value, value, 0, 1, 2, 4, -1])
        elif isinstance(value, tuple):
            same = [p for p in examples() if is_of(p, KIND_OF[name])]
            fields[name] = shaken(dice.choice([value, *same]), dice)
    return part._replace(**fields)


KIND_OF = {
    "estimator": CONTRACTS["estimator"],
    "filter": Filter,
    "radius": CONTRACTS["radius"],
    "inner": CONTRACTS["radius"],
    "volume": CONTRACTS["radius"],
    "link": CONTRACTS["link"],
    "projection": CONTRACTS["projection"],
    "base": CONTRACTS["per-arm estimator"],
    "policy": CONTRACTS["policy"],
    "linear": CONTRACTS["policy"],
}


def test_no_combination_that_is_accepted_leaves_its_arrays():
    """D2: 492 of 5 219 left their arrays. Refused, or every index is in range."""
    dice, accepted, refused = random.Random(0), 0, 0
    kinds = [part for part in examples("policy") if type(part) is not hb.policies.Uniform]
    for _ in range(3000):
        try:
            policy = cast(shaken(dice.choice(kinds), dice))
        except hb.InvalidInputError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            play_uncompiled(policy)
        accepted += 1
    assert min(accepted, refused) > 100


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            hb.policies.UCB(
                hb.estimators.RidgeEnsemble(2, 500, 1.0),
                hb.filters.NoFilter(1),
                hb.radii.Constant(1.0),
            ),
            "UCB.filter must have plays = 500, as RidgeEnsemble learns from so many, got 1",
        ),
        (
            hb.policies.UCB(
                hb.estimators.Ridge(2, 1.0), hb.filters.NoFilter(), hb.radii.GradientSum(1.0)
            ),
            "GradientSum reads OnlineToConfidenceEstimate, but Ridge keeps RegionEstimate",
        ),
        (
            hb.policies.PerArmUCB(
                hb.estimators.MedianRegression(
                    2, 3, hb.radii.Scaled(hb.radii.SelfNormalised(1.0, 1.0, 1.0, 0.1), 0.5)
                )
            ),
            "SelfNormalised reads Estimate, but MedianRegression keeps MedianMemory",
        ),
    ],
    ids=["plays", "sums", "region"],
)
def test_parts_that_do_not_fit_together_are_refused(policy, words):
    """D2: RidgeEnsemble with a filter of one play read out of bounds."""
    with pytest.raises(hb.InvalidInputError, match=words):
        cast(policy)


class Anything(NamedTuple):
    """A radius that says nothing of the state that it reads."""

    def radius(self, estimate, t):
        return 1.0


class Anywhere(NamedTuple):
    def radius(self, estimate: Any, t: int) -> float:
        return 1.0


@pytest.mark.parametrize("radius", [Anything(), Anywhere()])
def test_a_radius_without_an_annotation_fits_every_estimator(radius):
    """`Any` is a class since Python 3.11, of which no state is an instance."""
    assert cast(hb.linucb(dim=2, radius=1.0)._replace(radius=radius)).radius == radius


@pytest.mark.parametrize("stages", [0, -1, 1.5])
def test_stages_are_counted_from_one(stages):
    """D2: bmm(levels=0) was a SIGSEGV now and then, btc(levels=0) a SIGBUS."""
    radius = hb.radii.PowerRadius(1.0, 0.0, 0.0, 1.0)
    truncated = hb.estimators.TruncatedRegression(2, 100, 2, 2.0, radius, stages)
    for base in (truncated, hb.estimators.MedianRegression(2, 3, radius, stages)):
        with pytest.raises(hb.InvalidInputError, match=r"\.stages must be a whole number >= 1"):
            cast(hb.policies.PerArmUCB(base))


@pytest.mark.parametrize("given", [hb.filters.AdaptiveClip, hb.auto])
def test_a_class_or_a_function_in_place_of_a_part_gets_the_next_step(given):
    with pytest.raises(hb.InvalidInputError, match=rf"call it: {given.__name__}\(\.\.\.\)"):
        check_part("filter", given, Filter)
