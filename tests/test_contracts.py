"""Every part and every law that parts of its kind obey. To add a part is to add a row here."""

import math
import re
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.agents.state_arrays import flatten
from heavybandits.arms.checks import check_arms
from heavybandits.engine import verbs
from heavybandits.engine.compiling import compiled
from heavybandits.engine.identity import build, classes_of, describe
from heavybandits.engine.kernels import noise_kernel
from heavybandits.engine.parts import cast
from heavybandits.engine.regions import make_region

D = 3
LINKS = [hb.links.Identity(), hb.links.Logistic(), hb.links.Probit(), hb.links.Exponential()]
NOISES = [
    hb.noises.StudentT(),
    hb.noises.Pareto(),
    hb.noises.Pareto(centred=False),
    hb.noises.SymmetricPareto(),
    hb.noises.Gaussian(),
    hb.noises.Laplace(),
    hb.noises.LogNormal(),
    hb.noises.AlphaStable(),
    hb.noises.Contaminated(hb.noises.Gaussian(), hb.noises.StudentT(), 0.1),
    hb.noises.Outlier(hb.noises.Gaussian(), 3, 1e4),
]
ARM_SETS = [
    hb.arms.Fresh(5, D),
    hb.arms.Frozen(5, D),
    hb.arms.Fixed(5, D),
    hb.arms.Given(np.eye(D)),
    hb.arms.UnitBall(D),
    hb.arms.UnitSphere(D),
    hb.arms.Box(-np.ones(D), np.ones(D)),
]
FILTERS = [
    hb.filters.Raw(3),
    hb.filters.Truncate(2.0, 3),
    hb.filters.Clip(2.0, 3),
    hb.filters.Median(3),
    hb.filters.MeanOfMedians(3, 2),
    hb.filters.MedianOfMeans(3, 2),
    hb.filters.TrimmedMean(3, 0.2),
]
PROJECTIONS = [
    hb.estimators.BallProjection(1.0),
    hb.estimators.Rescaling(1.0),
    hb.estimators.NoProjection(),
]
ESTIMATORS = [
    hb.estimators.OnlineNewton(D, hb.links.Logistic(), 0.1, 1.0, PROJECTIONS[0]),
    hb.estimators.Ridge(D, 1.0),
]
RADII = [
    hb.radii.Constant(4.0),
    hb.radii.Growing(1.0, 2.0, 0.5),
    hb.radii.MedianRegion(1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 2.0),
    hb.radii.LogisticRegion(0.1, 1.0, 1.0, 0.01),
    hb.radii.SelfNormalised(1.0, 1.0, 1.0, 0.01),
]
POLICIES = [
    hb.crtm(dim=D, horizon=100, moment=1.0),
    hb.crmm(dim=D, horizon=100, moment=1.0, plays=3),
    hb.ol2m(dim=D),
    hb.linucb(dim=D),
]
STATEFUL = [*ESTIMATORS, *FILTERS, *POLICIES]
EVERYTHING = [
    *LINKS, *NOISES, *ARM_SETS, *FILTERS, *PROJECTIONS, *ESTIMATORS, *RADII, *POLICIES,
]  # fmt: skip


def rows(parts: list[Any]) -> Any:
    names = [type(part).__name__ for part in parts]
    return pytest.mark.parametrize("part", parts, ids=[f"{n}{i}" for i, n in enumerate(names)])


# ---- laws of every part


@rows(EVERYTHING)
def test_a_part_is_a_value(part):
    assert repr(part).startswith(f"{type(part).__name__}(")
    assert describe(part._replace()) == describe(part)
    assert not hasattr(part, "__dict__")
    assert ">>>" in (type(part).__doc__ or "")


@rows(EVERYTHING)
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


@rows(EVERYTHING)
def test_a_part_survives_being_written_down(part):
    part = cast(part)
    known = {kind.__name__: kind for kind in classes_of(part)}
    assert describe(build(describe(part), known)) == describe(part)


@rows([part for part in EVERYTHING if any(type(field) is float for field in part)])
def test_no_field_may_be_nan_or_text(part):
    for name, value in part._asdict().items():
        if type(value) is float:
            for bad in (math.nan, math.inf, "1.0", None):
                with pytest.raises(hb.InvalidInput, match=rf"{type(part).__name__}\.{name} must"):
                    cast(part._replace(**{name: bad}))


# ---- laws of state


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


@rows(POLICIES)
def test_a_policy_keeps_its_contract(part):
    arms, state = hb.arms.Given(np.eye(D)), part.init()
    view = arms.view()
    arms.refresh(view, np.uint64(0), 0)
    assert (part.dim, part.plays >= 1) == (D, True)
    assert tuple(part.tally(state)) == (0, 0, 0)
    arm = part.choose(state, arms, view)
    np.testing.assert_array_equal(view.chosen, np.eye(D)[arm])
    estimate, width = part.estimate_arm(state, view.chosen)
    assert math.isfinite(estimate)
    assert width > 0.0
    part.learn(state, view.chosen, np.linspace(0.5, 1.0, part.plays))
    assert part.tally(state)[0] == 1
    assert part.estimate_arm(state, view.chosen)[1] > 0.0


# ---- laws of the kinds


@rows(FILTERS)
def test_a_filter_leaves_equal_rewards_alone(part):
    for value in (0.0, 0.5, -1.5):
        memory = part.init()
        assert verbs.clean(part, memory, np.full(3, value), 1.0, 0.0) == pytest.approx(value)
        assert memory.counts[0] == 3


@rows(RADII)
def test_a_radius_is_finite_positive_and_does_not_shrink(part):
    estimate = hb.estimators.Ridge(D, 1.0).init()
    values = [verbs.radius(part, estimate, t) for t in (0, 1, 2, 10, 10**6, 10**12)]
    assert all(map(math.isfinite, values))
    assert values[0] >= 0.0
    assert values == sorted(values)
    assert values[-1] > 0.0


@rows(PROJECTIONS)
def test_a_projection_leaves_the_inside_alone_and_says_when_it_moved(part):
    region = make_region(D, 1.0)
    region.centre[:] = 0.1
    assert not verbs.project(part, region)
    np.testing.assert_array_equal(region.centre, np.full(D, 0.1))
    region.centre[:] = 5.0
    assert verbs.project(part, region) == (not isinstance(part, hb.estimators.NoProjection))
    limit = math.inf if isinstance(part, hb.estimators.NoProjection) else 1.0
    assert np.linalg.norm(region.centre) <= limit * (1 + 1e-12)


@rows(ARM_SETS)
def test_an_arm_set_offers_what_it_says(part):
    part = check_arms(part)
    assert part.changes in ("fixed", "frozen", "fresh")
    assert part.dim == D
    view, region = part.view(), make_region(D, 1.0)
    region.centre[:] = [0.5, -0.2, 0.1]
    with np.errstate(over="ignore"):
        assert part.refresh(view, np.uint64(1), 0) in (True, None)
    best = part.top(view, region.centre)
    arm = part.maximise(view, region, 0.0)
    assert view.chosen @ region.centre == pytest.approx(best, rel=1e-9)
    assert (arm >= 0) == (part.size > 0)
    if arm >= 0:
        np.testing.assert_array_equal(view.chosen, view.features[:, arm])


@rows(NOISES)
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


# ---- a part of the user's own


def test_the_page_on_links_of_ones_own_is_true(monkeypatch):
    """A dozen lines in a module of its own: compiled, cached and saved like ours."""
    import sys

    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "cloglog", raising=False)
    page = Path(__file__).parent.parent / "docs" / "own_link.md"
    space: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), space)
    link = space["Cloglog"]()
    lines = Path(space["folder"], "cloglog.py").read_text().strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 14
    grid = np.linspace(-1.0, 1.0, 2001)
    slopes = np.array([link.slope(z) for z in grid])
    assert link.kappa(1.0) == pytest.approx(slopes.min())
    assert link.lipschitz(1.0) == pytest.approx(slopes.max())
    numeric = np.gradient([link.mean(z) for z in grid], grid)[1:-1]
    np.testing.assert_allclose(numeric, slopes[1:-1], rtol=1e-5)
    assert space["result"].rows()[-1]["updates"] == 2000
