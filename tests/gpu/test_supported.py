"""device="cuda": what is refused, where no device is needed to know; and every kernel, compiled.

What a device computes is compared with the CPU by `make gpu-check`, on a machine that has one.
"""

import importlib.util
import re
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from all_policies import POLICIES
from gpu_cases import cases, worlds
from heavybandits.authoring import Region
from heavybandits.core.rng import NOISE, stream_key
from heavybandits.core.stream_keys import stream_keys
from heavybandits.gpu import layout as layouts
from heavybandits.gpu.batches import Job, groups, pieces
from heavybandits.gpu.layout import (
    COMMON,
    CORE,
    PASSING,
    PROCESSORS,
    QUARTERS,
    REGISTERS,
    make_layout,
)
from heavybandits.gpu.worlds import check_delay
from heavybandits.simulation.problem import check_problem

COMPILER = importlib.util.find_spec("numba_cuda") is not None
compiles = pytest.mark.skipif(not COMPILER, reason="numba-cuda is not installed: make gpu-test")
CASES = cases()
LIKE_AUTO = ("auto_forgets", "shop_auto")  # whose kernels compile for a minute, as that of `auto`
CRTM = hb.crtm(dim=3, horizon=100, raw_moment=3.5, radius_scale=1e-3)


def crtm(dim):
    return hb.crtm(dim=dim, horizon=100, raw_moment=3.5)


def simulate(policy, arms=None, device="cuda"):
    problem = hb.Problem(arms or hb.arms.Fixed(5, 3), hb.links.Logistic(), hb.noises.Gaussian())
    return hb.simulate(policy, problem, horizon=20, repetitions=2, device=device)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tofu", "keeps its history"),
        ("menu", "one estimate per play"),
        ("crcm", "one estimate per play"),
        ("hurdle", "Hurdle has no cooperative form"),
        ("supbtc", "StagedElimination has no cooperative form"),
        ("btc", "PerArmUCB has no cooperative form"),
    ],
)
def test_a_policy_without_a_form_for_a_device_is_refused_with_the_reason(name, reason):
    with pytest.raises(hb.InvalidInputError, match=reason):
        simulate(POLICIES[name])


def test_a_continuous_set_is_refused():
    with pytest.raises(hb.InvalidInputError, match="UnitBall has infinitely many arms"):
        simulate(CRTM, hb.arms.UnitBall(3))


def test_an_arm_set_of_your_own_is_refused_by_name():
    class Mine(hb.arms.Fixed):
        __slots__ = ()

    with pytest.raises(hb.InvalidInputError, match="Mine has no cooperative form"):
        simulate(CRTM, Mine(5, 3))


def test_another_device_is_refused():
    with pytest.raises(hb.InvalidInputError, match="device must be one of cpu, cuda, got 'tpu'"):
        simulate(CRTM, device="tpu")


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(hb.DeviceError, match=r"pip install \"heavybandits\[gpu\]\""):
        simulate(CRTM)


@compiles
def test_without_a_device_it_says_so(monkeypatch):
    from numba import cuda

    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(hb.DeviceError, match="found no CUDA device"):
        simulate(CRTM)


def make_job(policy, noise=hb.noises.Gaussian(), runs=(0, 2)):
    problem = check_problem(hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), noise))
    return Job(policy, problem, 100, (50, 100), 0, *runs)


def test_what_differs_in_real_numbers_alone_is_played_together():
    grid = [hb.crtm(dim=3, horizon=100, raw_moment=3.5, radius_scale=c) for c in (0.1, 0.2)]
    jobs = [make_job(policy) for policy in (*grid, POLICIES["linucb"])]
    louder, other = hb.noises.Gaussian(2.0), hb.noises.Laplace()
    jobs += [make_job(grid[0], louder), make_job(grid[0], other)]
    assert groups(jobs) == [[0, 1, 3], [2], [4]]


def test_runs_that_do_not_fit_together_come_in_pieces():
    jobs = list(enumerate([make_job(CRTM, runs=(0, 3)), make_job(CRTM, runs=(5, 7))]))

    def cut(free):
        return [[(p, j.first, j.last) for p, j in piece] for piece in pieces(jobs, 10, free)]

    assert cut(25) == [[(0, 0, 2)], [(0, 2, 3), (1, 5, 6)], [(1, 6, 7)]]
    assert cut(1000) == [[(0, 0, 3), (1, 5, 7)]]
    assert [len(piece) for piece in cut(1)] == [1] * 5


@pytest.mark.parametrize("seed", [0, 7, 10**6, 2**40 + 3, 2**200])
def test_the_keys_of_many_runs_are_those_of_each(seed):
    runs = np.array([0, 1, 2, 1000, 2**31, 2**32 - 1, 2**32, 2**40])
    for some in (runs, runs[:6]):
        one_by_one = [stream_key(seed, int(run), NOISE) for run in some]
        assert stream_keys(seed, some, NOISE).tolist() == [int(key) for key in one_by_one]


@pytest.mark.parametrize("name", CASES)
def test_what_a_team_holds_in_common_fits_into_its_block(name):
    policy, problem = CASES[name]
    layout = make_layout(policy, problem.arms, problem=problem)
    assert 8 * layout.pool <= CORE
    if layout.lanes > 1:
        warps = -(-layout.lanes * layout.teams // 32)
        assert -(-warps // QUARTERS) * 32 * layout.registers <= REGISTERS
        features = {leaf.name: leaf for leaf in layout.leaves}["buffer_features"]
        columns = features.array.shape[1] * (layout.lanes if features.place == PASSING else 1)
        assert columns >= problem.arms.size


def test_a_lane_plays_alone_where_a_decision_lasts_long():
    arms = hb.arms.Fixed(5, 3)
    for plays, alone in ((30, False), (30_000, True)):
        policy = hb.crmm(dim=3, horizon=100_000, central_moment=3.5, plays=plays)
        assert (make_layout(policy, arms).lanes == 1) == alone
    trimmed = CRTM._replace(filter=hb.filters.TrimmedMean(plays=30, trim=0.1))
    assert make_layout(trimmed, arms).lanes == 1  # moves the rewards it has, every lane at once


@pytest.mark.parametrize("name", ["auto", "cral", "cral_tuned"])
def test_a_lane_plays_alone_what_has_no_cooperative_form(name):
    assert name in CASES
    assert make_layout(POLICIES[name], hb.arms.Fixed(5, 3)).lanes == 1


def test_few_runs_are_played_by_many_lanes_each():
    arms = hb.arms.Fixed(20, 3)
    assert make_layout(CRTM, arms, runs=90).lanes > make_layout(CRTM, arms, runs=90_000).lanes


@pytest.mark.parametrize("runs", [1, 90, 750, 2_040, 3_000])
def test_few_runs_are_spread_over_all_multiprocessors(runs):
    layout = make_layout(crtm(10), hb.arms.Fixed(20, 10), runs)
    warp, each = 32 // layout.lanes, -(-runs // PROCESSORS)
    assert each <= layout.teams < 2 * max(each, warp)


def test_few_kernels_are_compiled_for_any_number_of_runs():
    layouts = [make_layout(crtm(10), hb.arms.Fixed(20, 10), runs) for runs in range(1, 9_000, 50)]
    assert len({(layout.lanes, layout.teams) for layout in layouts}) < 10


@pytest.mark.parametrize("crowded", [-1, 6])
@pytest.mark.parametrize("runs", [1, 2_112, 67_584])
@pytest.mark.parametrize(
    ("dim", "size"), [(1, 2), (10, 20_000), (129, 440), (300, 500), (350, 700), (600, 40)]
)
def test_every_block_has_room(monkeypatch, dim, size, runs, crowded):
    monkeypatch.setattr(layouts, "CROWDED", crowded)
    for kind in (hb.arms.Fixed, hb.arms.PerRound):
        layout = make_layout(crtm(dim), kind(size, dim), runs)
        assert layout.teams > 0
        assert 8 * layout.pool <= CORE
        assert layout.lanes * layout.teams <= 512


def test_a_policy_that_projects_is_played_by_one_warp():
    arms = hb.arms.PerRound(20, 100)
    assert make_layout(hb.linucb(dim=100, radius=1.0), arms).lanes == layouts.BLOCK
    assert make_layout(crtm(100), arms).lanes == 32


def test_what_no_block_has_room_for_is_refused(monkeypatch):
    monkeypatch.setattr(layouts, "CORE", 300)  # a vector of such length would take a machine
    with pytest.raises(hb.InvalidInputError, match=r"d = 10 and K = 2 takes \d+ bytes .* has 300;"):
        make_layout(crtm(10), hb.arms.Fixed(2, 10))


class Standing(hb.arms.Fixed):
    """Arms of one's own that stand still."""

    arm_by_arm = True


def test_arms_that_stand_still_are_held_in_common():
    """And so from one launch to the next: what is passing is forgotten between them."""
    for kind, place in ((hb.arms.Fixed, COMMON), (Standing, COMMON), (hb.arms.PerRound, PASSING)):
        leaves = make_layout(crtm(10), kind(20, 10)).leaves
        assert {leaf.place for leaf in leaves if leaf.name == "buffer_features"} == {place}


@pytest.mark.parametrize("name", worlds())
def test_one_lane_plays_a_problem_that_changes(name):
    policy, problem = CASES[name]
    layout = make_layout(policy, problem.arms, problem=problem)
    arrays = {leaf.name for leaf in layout.leaves if leaf.name.startswith("world_")}
    assert layout.lanes == 1
    assert ("world_theta" in arrays) == (problem.drift is not None)
    assert ("world_purse" in arrays) == (problem.adversary is not None)
    assert ("world_heap" in arrays) == (problem.delay is not None)


@compiles
def test_problems_that_change_in_real_numbers_alone_are_played_together():
    from heavybandits.gpu.launch import first_states

    policy, problem = CASES["jumps"]
    other = hb.worlds.FlipMeans(7.0)
    changes: list[dict[str, Any]] = [
        {},
        {"adversary": other},
        {"delay": None},
        {"delay": hb.worlds.GeometricDelay(10.0, room=300)},
    ]
    jobs = [Job(policy, problem._replace(**c), 100, (100,), 0, 0, 2) for c in changes]
    assert groups(jobs) == [[0, 1], [2], [3]]
    tables = first_states(jobs[:2], make_layout(policy, problem.arms, problem=problem))
    assert tables["world_purse"].tolist() == [[0.0, 5.0], [0.0, 7.0]]
    assert tables["world_heap"].tolist() == 2 * [list(range(200))]


def test_a_delay_that_leaves_too_many_decisions_is_an_error_as_on_the_cpu():
    delay = hb.worlds.ConstantDelay(7)
    problem = CASES["jumps"][1]._replace(delay=delay)
    check_delay(problem, np.array([[3, 8], [60, 60], [0, 0]]))
    with pytest.raises(hb.InvalidInputError, match=r"at most 8 .*pass a larger `room`"):
        check_delay(problem, np.array([[3, 8], [60, 60], [0, 1]]))


@pytest.fixture
def _no_driver(monkeypatch):
    """A machine without a device compiles for one of compute capability 9.0."""
    from numba.cuda import compiler, dispatcher

    device = SimpleNamespace(compute_capability=(9, 0))
    for module in (compiler, dispatcher):
        monkeypatch.setattr(module, "get_current_device", lambda: device, raising=False)


def ptx_of(policy, problem, varies=False):
    from heavybandits.gpu.compile import compile_ptx
    from heavybandits.gpu.layout import numbers_of

    parts = Job(policy, problem, 100, (100,), 0, 0, 1).parts
    varying = [varies and isinstance(number, float) for number in numbers_of(parts)]
    return compile_ptx(parts, varying, make_layout(policy, problem.arms, problem=problem))


@compiles
@pytest.mark.usefixtures("_no_driver")
@pytest.mark.parametrize("name", [name for name in CASES if name not in LIKE_AUTO])
def test_every_kernel_compiles(name):
    assert ".visible .entry" in ptx_of(*CASES[name])


@compiles
@pytest.mark.usefixtures("_no_driver")
@pytest.mark.parametrize("kind", [hb.arms.PerRound, hb.arms.Fixed])
def test_the_kernel_of_a_team_of_several_warps_compiles(kind):
    policy, problem = hb.linucb(dim=100, radius=1.0), CASES["linucb"][1]
    problem = problem._replace(arms=kind(20, 100), theta=np.ones(100))
    layout = make_layout(policy, problem.arms)
    assert (layout.lanes, layout.teams) == (layouts.BLOCK, 1)
    assert {leaf.name: leaf.place for leaf in layout.leaves}["exchange"] == COMMON
    assert layout.leaves[0].name == "exchange"  # where the memory of a block begins
    ptx = ptx_of(policy, problem)
    assert "barrier.sync 0;" in ptx
    assert "bar.sync" not in ptx  # which only lanes that are together may meet


@compiles
@pytest.mark.usefixtures("_no_driver")
def test_a_grid_of_constants_compiles_to_one_kernel_that_rounds_as_the_cpu_does():
    ptx = ptx_of(*CASES["crtm_10_20"], varies=True)
    assert "fma.rn.f64" in ptx  # in the library of CUDA, which needs it
    assert "mul.f64" not in ptx.replace("mul.rn.f64", "")  # a product the compiler may contract


@compiles
@pytest.mark.usefixtures("_no_driver")
def test_the_larger_of_two_numbers_is_found_by_one_comparison(monkeypatch):
    from numba.cuda.cudadrv import nvvm

    texts: list[str] = []
    compile_ir = nvvm.compile_ir

    def watched(given, **options):
        texts.extend(given)
        return compile_ir(given, **options)

    monkeypatch.setattr(nvvm, "compile_ir", watched)
    ptx_of(*CASES["crtm_10_20"])
    calling = [text for text in texts if re.search(r'call double @"?__nv_fmax', text)]
    assert calling
    assert all("define internal double @__nv_fmax(" in text for text in calling)


class Writes(NamedTuple):
    """A projection that writes what its lanes share, every lane at once."""

    def project(self, region: Region) -> bool:
        region.centre[0] = 0.0
        return True


@compiles
@pytest.mark.usefixtures("_no_driver")
def test_a_part_that_writes_what_lanes_share_is_refused_by_name():
    from heavybandits.gpu.compile import NUMBA_ERRORS
    from heavybandits.gpu.supported import no_form

    policy, problem = CASES["crtm_10_20"]
    policy = policy._replace(estimator=policy.estimator._replace(projection=Writes()))
    with pytest.raises(NUMBA_ERRORS) as caught:
        ptx_of(policy, problem)
    said = no_form(caught.value, policy, problem)
    assert isinstance(said, hb.InvalidInputError)
    assert "Writes has no cooperative form" in str(said)
    assert np.isfinite(problem.theta).all()
