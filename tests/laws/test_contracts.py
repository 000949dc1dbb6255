"""The laws that all parts obey, those of states, and those of each kind.

The parts are found by themselves, through `families`; the examples are those of `all_parts`.
"""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest

import heavybandits as hb
from all_parts import DIM, EXAMPLES, PLAYS, examples
from heavybandits._utils.validation import Interval
from heavybandits.agents.state import flatten
from heavybandits.core import dispatch as verbs
from heavybandits.core.allocation import state_bytes
from heavybandits.core.arm_buffer import load_rows
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import make_region, update_count
from heavybandits.core.kernels import noise_kernel
from heavybandits.core.part import (
    build,
    cast,
    check_part,
    classes_of,
    describe,
    known_parts,
    public_module,
)
from heavybandits.core.protocols import CONTRACTS, Observation
from heavybandits.parts.arms import Rows
from heavybandits.parts.filters.memory import seen_count, truncated_count
from heavybandits.parts.registry import FAMILIES, exported_parts, library_parts
from paths import DOCS

EVERY_CLASS = [*library_parts().values()]
KEY = np.uint64(1)


def rows(parts: list[Any]) -> Any:
    names = [f"{type(part).__name__}{i}" for i, part in enumerate(parts)]
    return pytest.mark.parametrize("part", parts, ids=names)


def classes() -> Any:
    return pytest.mark.parametrize("kind", EVERY_CLASS, ids=lambda kind: kind.__name__)


# ---- every part is found, and built by a test


def untested() -> list[str]:
    """The parts of the library that no example is of."""
    return [
        f"{public_module(family.module.__name__)}:{name}"
        for kind, family in FAMILIES.items()
        for name, part in family.parts().items()
        if part not in EXAMPLES[kind]
    ]


def homeless() -> list[str]:
    """The parts that are of no kind of their family, or of two."""
    kinds = [part for family in FAMILIES.values() for part in family.parts().values()]
    return [name for name, part in library_parts().items() if kinds.count(part) != 1]


def test_every_part_has_an_example_and_one_kind():
    assert untested() == []
    assert homeless() == []
    assert len(EVERY_CLASS) >= 54


def test_every_example_is_of_a_part_that_is_exported():
    built = {kind for table in EXAMPLES.values() for kind in table}
    assert built == set(EVERY_CLASS)


class Planted(NamedTuple):
    """A link that somebody adds, and does not test."""

    def mean(self, z: float) -> float:
        return z

    def slope(self, z: float) -> float:
        return 1.0

    def kappa(self, norm: float) -> float:
        return 1.0

    def lipschitz(self, norm: float) -> float:
        return 1.0

    def bound(self, norm: float) -> float:
        return norm


class Stray(NamedTuple):
    """A part that is exported with the links and is none."""

    def mean(self, z: float) -> float:
        return z


@pytest.mark.parametrize("part", [Planted, Stray])
def test_a_part_that_nobody_tests_fails_the_suite(part, monkeypatch):
    links = FAMILIES["link"].module
    monkeypatch.setattr(links, "__all__", [*links.__all__, part.__name__])
    monkeypatch.setattr(links, part.__name__, part, raising=False)
    name = f"heavybandits.links:{part.__name__}"
    assert library_parts()[name] is part
    assert untested() == ([name] if part is Planted else [])
    assert homeless() == ([name] if part is Stray else [])


def test_a_family_exports_no_part_under_another_name():
    for family in FAMILIES.values():
        for name, part in exported_parts(family.module).items():
            assert part.__name__ == name
            assert part.__module__.startswith(family.module.__name__)


# ---- laws of every part


@rows(examples())
def test_a_part_is_a_value(part):
    assert repr(part).startswith(f"{type(part).__name__}(")
    assert describe(part._replace()) == describe(part)
    assert not hasattr(part, "__dict__")


@classes()
def test_a_part_is_documented_with_an_example(kind):
    assert ">>>" in kind.__doc__


@classes()
def test_every_whole_number_of_a_part_is_bounded(kind):
    """Whole numbers size arrays and index them, and compiled code does not look."""
    plain = get_type_hints(kind)
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if plain[name] is int:
            assert isinstance(hint.__metadata__[0], Interval), f"{kind.__name__}.{name}"


@rows(examples())
def test_casting_gives_every_field_its_type_and_twice_is_once(part):
    once = cast(part)
    assert type(once) is type(part)
    for name, hint in get_type_hints(type(part)).items():
        if hint in (int, float, bool):
            assert type(getattr(once, name)) is hint
    assert describe(cast(once)) == describe(once)
    loose = type(part)(*(_loosened(field) for field in once))
    assert describe(cast(loose)) == describe(once)


def _loosened(value: Any) -> Any:
    """The same value of a type that must not compile anew."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, np.ndarray):
        return np.asfortranarray(value.astype(np.float32))
    return np.int32(value) if type(value) is int else value


@rows(examples())
def test_a_part_survives_being_written_down(part):
    part = cast(part)
    known = known_parts(classes_of(part))
    assert describe(build(describe(part), known)) == describe(part)


def with_fields(*types: type) -> list[Any]:
    return [part for part in examples() if any(type(field) in types for field in part)]


@rows(with_fields(float, int, bool))
def test_no_field_may_be_of_another_kind(part):
    for name, value in part._asdict().items():
        if type(value) in (float, int, bool):
            for bad in (math.nan, math.inf, "1.0", None, [1.0], 1j):
                with pytest.raises(
                    hb.InvalidInputError, match=rf"{type(part).__name__}\.{name} must"
                ):
                    cast(part._replace(**{name: bad}))


@rows(with_fields(float, int))
def test_no_field_may_leave_its_bounds(part):
    for name, hint in get_type_hints(type(part), include_extras=True).items():
        for bound in getattr(hint, "__metadata__", ()):
            for bad in _outside(bound, whole=hint.__origin__ is int):
                with pytest.raises(
                    hb.InvalidInputError, match=rf"{type(part).__name__}\.{name} must"
                ):
                    cast(part._replace(**{name: bad}))


def _outside(bound: Any, whole: bool) -> list[float]:
    """Numbers at the edge of an interval and beyond it."""
    if not isinstance(bound, Interval):
        return []
    if whole:
        return [int(bound.low) - 1, 1 << 63]
    ends = [(bound.low, -1.0, bound.ends[0] == "("), (bound.high, 1.0, bound.ends[1] == ")")]
    return [
        bad
        for end, way, open_end in ends
        if math.isfinite(end)
        for bad in [math.nextafter(end, way * math.inf), *([end] if open_end else [])]
    ]


@rows(examples())
def test_a_part_inside_another_is_checked_too(part):
    for name, field in part._asdict().items():
        if isinstance(field, tuple):
            for bad in (None, 1.0, hb.Ticket, Stray()):
                with pytest.raises(
                    hb.InvalidInputError, match=rf"{type(part).__name__}\.{name} must"
                ):
                    cast(part._replace(**{name: bad}))


# ---- laws of state

STATEFUL = examples("estimator", "per-arm estimator", "filter", "policy")


@rows(STATEFUL)
def test_init_makes_new_finite_contiguous_arrays(part):
    first, second = flatten(part.init()), flatten(part.init())
    assert list(first) == list(second)
    for name, array in first.items():
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.dtype in (np.float64, np.int64)
        assert np.isfinite(array).all()
        assert not np.shares_memory(array, second[name])
        np.testing.assert_array_equal(array, second[name])


@rows(STATEFUL)
def test_the_bytes_of_a_state_are_known_before_it_is_made(part):
    assert state_bytes(part) == sum(array.nbytes for array in flatten(part.init()).values())


# ---- laws of the kinds


@pytest.mark.parametrize("family", FAMILIES)
def test_every_part_keeps_the_contract_of_its_kind(family):
    assert CONTRACTS[family] is FAMILIES[family].contract
    for part in examples(family):
        assert type(check_part("part", part, FAMILIES[family].contract)) is type(part)


@rows(examples("policy"))
def test_a_policy_learns_from_what_it_chose(part):
    arms, state = hb.arms.FromArray(np.eye(DIM)), part.init()
    buffer = arms.make_buffer()
    arms.refresh(buffer, KEY, 0)
    assert part.dim == DIM
    assert tuple(part.tally(state)) == (0, 0, 0)
    with np.errstate(over="ignore"):
        arm = part.choose(state, arms, buffer)
    np.testing.assert_array_equal(buffer.chosen, np.eye(DIM)[arm])
    before, width = part.estimate_arm(state, buffer.chosen)
    part.learn(state, buffer.chosen, np.linspace(0.75, 1.0, part.plays))
    assert part.tally(state)[0] == 1
    after, less = part.estimate_arm(state, buffer.chosen)
    assert math.isfinite(before)
    assert math.isfinite(after)
    assert min(width, less) >= 0.0


@rows(examples("filter"))
def test_a_filter_is_odd_and_stays_within_what_it_was_given(part):
    """Between the rewards, what was expected of them and zero; turned round if they are."""
    memory, mirror = part.init(), part.init()
    rng = np.random.default_rng(0)
    for t in range(1, 60):
        rewards, predicted = rng.standard_t(1.5, PLAYS), rng.normal()
        number = verbs.apply(part, memory, rewards, 0.5, predicted)
        turned = verbs.apply(part, mirror, -rewards, 0.5, -predicted)
        limits = [*rewards, predicted, 0.0]
        assert min(limits) - 1e-9 <= number <= max(limits) + 1e-9
        assert turned == pytest.approx(-number, rel=1e-12)
        assert seen_count(memory) == t * PLAYS
        assert 0 <= truncated_count(memory) <= seen_count(memory)


class Read(NamedTuple):
    """All that any radius reads of a state."""

    region: Any
    sums: Any
    scale: Any
    counts: Any
    numbers: Any


@rows(examples("radius"))
def test_a_radius_is_finite_positive_and_does_not_shrink(part):
    gloc = hb.estimators.OnlineToConfidence(
        DIM, hb.links.Logistic(), 0.2, 1.0, hb.estimators.NoProjection()
    ).init()
    zeros, values = np.zeros((2, 16)), []
    estimate = Read(gloc.region, gloc.sums, zeros[0], np.ones(16, np.int64), zeros[1])
    for t in (0, 1, 2, 10, 10**6, 10**12):
        estimate.sums[0] = estimate.scale[0] = t
        estimate.numbers[:] = t + 1
        values.append(verbs.radius(part, estimate, t))
    assert all(map(math.isfinite, values))
    assert values[0] >= 0.0
    assert values == sorted(values)
    assert values[-1] > 0.0


@rows(examples("projection"))
def test_a_projection_leaves_the_inside_alone_and_says_when_it_moved(part):
    region = make_region(DIM, 1.0)
    region.centre[:] = 0.1
    assert verbs.project(part, region) is False
    np.testing.assert_array_equal(region.centre, np.full(DIM, 0.1))
    region.centre[:] = 5.0
    moved = verbs.project(part, region)
    assert moved is bool((region.centre != 5.0).any())
    assert np.linalg.norm(region.centre) <= getattr(part, "norm", math.inf) * (1 + 1e-12)
    there = region.centre.copy()
    verbs.project(part, region)
    np.testing.assert_allclose(region.centre, there, rtol=1e-12)


@rows(examples("estimator"))
def test_an_estimator_learns_and_keeps_its_region(part):
    state = part.init()
    region, x = state.region, np.array([0.6, 0.8, 0.0])
    errors = []
    for _ in range(20):
        expected = verbs.predict(part, state, verbs.score_arm(part, state, x))
        errors.append(abs(0.7 - expected))
        rewards, norm = np.full(PLAYS, 0.7), verbs.measure_arm(part, state, x)
        verbs.update(part, state, Observation(x, 0.7, rewards, expected, norm))
    assert update_count(region) == 20
    assert errors[-1] < 0.5 * errors[0]
    np.testing.assert_allclose(
        (region.design + region.recent) @ region.inverse, np.eye(region.centre.size), atol=1e-12
    )


@rows(examples("per-arm estimator"))
def test_a_per_arm_estimator_keeps_its_stages_apart(part):
    memory, x = part.init(), np.array([0.6, 0.8, 0.0])
    features, alive = np.array([x, np.eye(DIM)[2]]).T.copy(), np.ones(2)
    means, widths = np.zeros((2, 2)), np.zeros((2, 2))
    rewards = np.full(part.plays, 0.7)
    for _ in range(20):
        part.remember(memory, 1, x, rewards)
    for stage in range(2):
        verbs.estimate_arms(part, memory, stage, features, alive, means[stage], widths[stage])
        assert verbs.arm_width(part, memory, stage, x) == pytest.approx(widths[stage, 0])
    np.testing.assert_array_equal(means[0], 0.0)
    assert means[1, 0] == pytest.approx(0.7, rel=0.1)
    assert means[1, 1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(widths[0], 1.0)
    assert tuple(verbs.tally(part, memory)) == (20, 0, 0)


@rows(examples("arm set"))
def test_an_arm_set_offers_what_it_says(part):
    part = cast(part)
    buffer, region = part.make_buffer(), make_region(part.dim, 1.0)
    assert buffer.chosen.size == part.dim
    region.centre[:] = np.resize([0.5, -0.2, 0.1], part.dim)
    with np.errstate(over="ignore"):
        assert part.refresh(buffer, KEY, 0) is True
    best = part.top(buffer, region.centre)
    arm = part.maximise(buffer, region, 0.0)
    assert buffer.chosen @ region.centre == pytest.approx(best, rel=1e-9)
    assert (arm >= 0) == (part.size > 0)
    if arm >= 0:
        np.testing.assert_array_equal(buffer.chosen, buffer.features[:, arm])


@rows(examples("arm set"))
def test_an_arm_set_says_truly_whether_it_is_new(part):
    part = cast(part)
    buffer = part.make_buffer()
    with np.errstate(over="ignore"):
        part.refresh(buffer, KEY, 0)
        before = buffer.features.copy()
        if isinstance(part, Rows):  # filled by its caller
            load_rows(buffer, np.eye(DIM))
        new = part.refresh(buffer, KEY, 1)
    assert new is (part.redraw != "never")
    assert new is bool((buffer.features != before).any())


@rows(examples("noise"))
def test_a_noise_is_a_function_of_its_place(part):
    """Drawn in one go, in pieces or one by one, compiled: the same numbers."""
    part, key = cast(part), np.uint64(7)
    whole, pieces = np.zeros(9), np.zeros(9)
    draw = compiled(noise_kernel, part, key, 0, whole)
    draw(part, key, 0, whole)
    for start in (5, 0):
        draw(part, key, start, pieces[start : start + 5])
    np.testing.assert_array_equal(whole[:9], pieces[:9])
    with np.errstate(over="ignore"):
        single = [part.draw(key, play) for play in (8, 3)]
    assert [whole[8], whole[3]] == single
    assert np.isfinite(whole).all()
    assert len(set(whole.tolist())) == 9


@rows(examples("link"))
def test_a_link_increases_as_fast_as_it_says(part):
    grid = np.linspace(-1.0, 1.0, 2001)
    means = np.array([verbs.mean(part, float(z)) for z in grid])
    slopes = np.array([part.slope(float(z)) for z in grid])
    np.testing.assert_allclose(np.gradient(means, grid)[1:-1], slopes[1:-1], rtol=1e-5)
    assert part.kappa(1.0) == pytest.approx(slopes.min())
    assert part.lipschitz(1.0) == pytest.approx(slopes.max())
    assert part.bound(1.0) == pytest.approx(np.abs(means).max())


# ---- a part of the user's own


def test_the_page_on_links_of_ones_own_is_true(monkeypatch):
    """A dozen lines in a module of its own, and the laws of links hold for it."""
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "cloglog", raising=False)
    page = DOCS / "own_link.md"
    space: dict[str, Any] = {"__name__": "page"}
    first = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[0]
    exec(compile(first, str(page), "exec"), space)  # test_docs.py runs the whole page
    link = space["Cloglog"]()
    lines = Path(space["folder"], "cloglog.py").read_text().strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 14
    test_a_link_increases_as_fast_as_it_says(link)
