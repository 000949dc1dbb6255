"""The texts of a team, with a thread in the place of every lane: no device is needed.

Threads keep to no common step, so what a device would do by luck, they do not.
"""

import importlib.util
import sys
import threading
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.core import projection as engine
from heavybandits.core.arm_buffer import (
    ArmBuffer,
    best_score,
    follow,
    load_rows,
    make_arm_buffer,
    measure_all,
    pick,
    take,
)
from heavybandits.core.confidence_region import _SHRINK, _STEP, _STRAYED, update_count
from heavybandits.core.linalg import add_outer, cholesky, combine, squares, subtract
from heavybandits.core.loop import Unobserved, draw_noise, make_episode, make_trace, play
from heavybandits.core.projection import ROWS, project_ball
from heavybandits.core.rng import ARMS, NOISE, stream_key
from heavybandits.core.world import STILL
from heavybandits.parts.arms.finite import draw_features
from heavybandits.simulation.problem import check_problem

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not installed: make gpu-test", allow_module_level=True)

from numba.cuda.cudadrv import nvvm
from numba.cuda.types import float64

from heavybandits.gpu import (
    arms,
    compile,
    confidence_region,
    layout,
    own_arms,
    projection,
    run,
    series,
    storage,
)
from heavybandits.gpu.launch import Launch
from heavybandits.gpu.layout import WARP
from heavybandits.gpu.team import MAKERS, Shared

TOGETHER = ("lane", "sync", "maximum", "lowest", "value_of")


class Team:
    """Lanes that are threads: who they are, how they wait for each other and sum up."""

    def __init__(self, lanes):
        self.lanes, self.own = lanes, threading.local()
        self.barrier, self.board = threading.Barrier(lanes, timeout=20), np.zeros(lanes)
        self.warps = [threading.Barrier(WARP, timeout=20) for _ in range(lanes // WARP)]

    def lane(self, lanes):
        return self.own.number % lanes

    def sync(self, lanes):
        self.barrier.wait()

    def value_of(self, value, place):
        return self.agreed(lambda board: board[place], value, WARP)

    def total(self, value, lanes):
        return self.agreed(sum, value, lanes)

    def maximum(self, value, lanes):
        return self.agreed(max, value, lanes)

    def lowest(self, value, lanes):
        return int(self.agreed(min, value, lanes))

    def agreed(self, choose, value, lanes):
        """What all lanes of the team make of their values, or those of a warp of it."""
        first = self.own.number // lanes * lanes
        barrier = self.barrier if lanes == self.lanes else self.warps[first // WARP]
        self.board[self.own.number] = value
        barrier.wait()
        found = choose(self.board[first : first + lanes])
        barrier.wait()
        return found

    def run(self, work):
        """Let all lanes do it; the errors they met."""
        errors = []

        def as_lane(number):
            self.own.number = number
            try:
                with np.errstate(all="ignore"):
                    work()
            except BaseException as error:
                errors.append(error)
                for barrier in (self.barrier, *self.warps):
                    barrier.abort()

        threads = [threading.Thread(target=as_lane, args=(i,)) for i in range(self.lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return errors


def stretch_for(team):
    def stretch(x, factor):
        team.sync(team.lanes)
        x[team.own.number :: team.lanes] *= factor
        team.sync(team.lanes)

    return stretch


def project_together(monkeypatch, lanes, inverse, x, limit):
    """What a team of threads makes of x."""
    team, x = Team(lanes), x.copy()
    stand_ins = {
        "lane": team.lane,
        "sync": team.sync,
        "total": team.total,
        "writable": lambda array: array,
        "opaque": lambda number: number,
        "stretch": stretch_for(team),
        "combine": arms.image_of(lanes),
    }
    for module in (projection, series, arms):
        for name in stand_ins.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, stand_ins[name])
    monkeypatch.setattr(engine, "shortening", projection.shortening_rolled_up)
    monkeypatch.setattr("numba.cuda.libdevice.rsqrt", lambda x: 1.0 / np.sqrt(x))
    scratch = np.full((ROWS + x.size, x.size), np.nan)  # what nobody has written, nobody may read
    project = projection.projection_of(lanes)
    assert team.run(lambda: project(inverse, x, limit, scratch)) == []
    return x


def region(rng, dim, spread):
    """V^-1 with eigenvalues from 1 / spread to 1."""
    turned = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    return (turned * spread ** rng.uniform(-1.0, 0.0, dim)) @ turned.T


@pytest.mark.parametrize("lanes", [2, 8, 32])
@pytest.mark.parametrize(
    ("dim", "spread", "error"),
    [
        (1, 1.0, 1e-15),
        (2, 1e3, 1e-12),
        (10, 1e2, 1e-11),
        (10, 1e6, 1e-10),
        (24, 1e3, 1e-11),
        (24, 1e9, 5e-8),  # with one sweep alone it would be 1e-6
    ],
)
@pytest.mark.parametrize("far", [1.0 + 1e-9, 1.0 + 1e-5, 1.004, 1.3, 1e4])
def test_a_team_projects_where_the_cpu_does(monkeypatch, lanes, dim, spread, error, far):
    rng = np.random.default_rng(dim)
    inverse, x = region(rng, dim, spread), rng.normal(size=dim)
    x *= 0.7 * far / np.linalg.norm(x)
    wanted = x.copy()
    project_ball(inverse, wanted, 0.7, np.zeros((ROWS + dim, dim)))
    found = project_together(monkeypatch, lanes, inverse, x, 0.7)
    assert np.linalg.norm(found) == pytest.approx(0.7, rel=1e-14)
    assert np.abs(found - wanted).max() < error


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("far", [1.0 + 1e-5, 1.3])
def test_a_team_projects_long_vectors_where_the_cpu_does(monkeypatch, lanes, far):
    test_a_team_projects_where_the_cpu_does(monkeypatch, lanes, 40, 1e3, 1e-11, far)


@pytest.mark.parametrize(("far", "basis"), [(1.0 + 1e-6, False), (1.0 + 1e-4, False), (1.3, True)])
def test_a_point_just_outside_needs_no_basis(monkeypatch, far, basis):
    rng, asked = np.random.default_rng(1), []
    inverse, x = region(rng, 10, 1e2), rng.normal(size=10)
    span = projection.span_further

    def span_further(*given):
        asked.append(1)
        return span(*given)

    monkeypatch.setattr(projection, "span_further", span_further)
    project_together(monkeypatch, 2, inverse, 0.7 * far / np.linalg.norm(x) * x, 0.7)
    assert bool(asked) == basis


@pytest.mark.parametrize("more", [1, 3, 6])
def test_no_series_is_given_up_whose_terms_become_short_enough(more):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        matrix, term = 0.3 * region(rng, 10, 1e4), rng.normal(size=10)
        squares = []
        for _ in range(2 + more):
            term = matrix @ term
            squares.append(float(term @ term))
        enough = squares[-1] * (1.0 + 1e-12)
        assert not series.is_hopeless(squares[0], squares[1], more, enough)
        assert series.is_hopeless(squares[0], squares[1], more, squares[-1] * 1e-9)


def test_a_team_projects_what_is_so_far_out_that_its_square_is_infinite(monkeypatch):
    rng = np.random.default_rng(0)
    inverse, x = region(rng, 5, 10.0), 1e200 * rng.normal(size=5)
    wanted = x.copy()
    with np.errstate(over="ignore"):
        project_ball(inverse, wanted, 1.0, np.zeros((ROWS + 5, 5)))
    found = project_together(monkeypatch, 8, inverse, x, 1.0)
    assert np.abs(found - wanted).max() < 1e-12


def test_a_direction_that_v_knows_nothing_of_is_no_trouble(monkeypatch):
    """An eigenvector: the first image lies in the basis, and nothing is left."""
    x = np.array([2.0, 0.0, 0.0])
    found = project_together(monkeypatch, 8, np.diag([0.5, 1.0, 2.0]), x, 1.0)
    assert np.abs(found - [1.0, 0.0, 0.0]).max() < 1e-15


# ---- arms and V, to the last bit

SIZES = [(8, 10, 20), (2, 5, 3), (32, 3, 40), (8, 1, 1)]  # lanes, d and K
MANY = [(64, 11, 20), (64, 18, 3), (64, 16, 70), (128, 1, 1)]  # lanes of several warps, d and K
HELD = [(*sizes, common) for sizes in SIZES for common in (True, False)]
HELD += [(*sizes, True) for sizes in MANY]


def stand_in(monkeypatch, team):
    """Let the lanes of a team be threads, and twins call twins."""
    names: dict[str, Any] = {
        "writable": lambda array: array,
        "opaque": lambda number: number,
        "cuda": SimpleNamespace(local=SimpleNamespace(array=lambda size, kind: np.zeros(size))),
        "combine": own_arms.combine_rows,
        **{name: getattr(team, name) for name in TOGETHER},
    }
    for module in (arms, own_arms, confidence_region):
        for name in names.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, names[name])


def twin_of(function, lanes, common):
    """The text that stands for a function, where its arrays are held in common or a lane's own."""
    array, own = Shared(float64, 2, lanes), None
    first = (array if common else own, *6 * [own])
    given: dict[Any, tuple[Any, ...]] = {
        squares: (first[0], array, own, own, own),
        add_outer: (array, own, array),
    }
    count = function.__code__.co_argcount
    return MAKERS[function](lanes, *given.get(function, (first, *(count - 1) * [own])))


def buffers(lanes, dim, size, common):
    """An empty buffer for the CPU, and one for every lane."""
    cpu = make_arm_buffer(dim, size)
    wide = size if common else -(-size // lanes)
    synced, penalty, chosen = np.zeros(cpu.penalty.size, np.int64), np.zeros(size), np.zeros(dim)

    def one():
        rows = np.full((dim, wide), np.nan), np.zeros(wide), np.zeros(wide), np.zeros(wide)
        return ArmBuffer(*rows, penalty, chosen, synced)

    buffer = one()
    return cpu, [buffer if common else one() for _ in range(lanes)]


def gathered(made, field, size, common):
    """A field of the buffers of all lanes, arm by arm."""
    if common:
        return getattr(made[0], field)
    lanes = len(made)
    return np.stack([getattr(made[k % lanes], field)[..., k // lanes] for k in range(size)], -1)


@pytest.mark.parametrize("strayed", [0.0, 1.0])
@pytest.mark.parametrize(("lanes", "dim", "size", "common"), HELD)
def test_a_team_sees_to_its_arms_as_the_cpu_does(monkeypatch, lanes, dim, size, common, strayed):
    team, rng = Team(lanes), np.random.default_rng(dim)
    stand_in(monkeypatch, team)
    state = hb.crtm(dim=dim, horizon=100, raw_moment=3.5).init()
    region: Any = state.estimate.region
    region.inverse[:] = (lambda a: a @ a.T)(rng.normal(size=(dim, dim)))
    region.centre[:], region.direction[:] = rng.normal(size=dim), rng.normal(size=dim)
    region.numbers[_SHRINK], region.numbers[_STEP], region.numbers[_STRAYED] = 0.01, 0.3, strayed
    theta, rows = rng.normal(size=dim), rng.normal(size=(size, dim))
    cpu, made = buffers(lanes, dim, size, common)
    steps = {step: twin_of(step, lanes, common) for step in (load_rows, best_score, squares, pick)}
    monkeypatch.setattr(arms, "take", twin_of(take, lanes, common))
    score = arms.image_of(lanes) if common else own_arms.combine_rows
    go_on = twin_of(follow, lanes, common) or follow
    found: list[Any] = [None] * lanes

    def work():
        buffer = made[team.own.number]
        steps[load_rows](buffer, rows)
        best = steps[best_score](buffer, theta)
        steps[squares](
            buffer.features, region.inverse, buffer.squares, buffer.scores, buffer.widths
        )
        score(buffer.features, region.centre, buffer.scores)
        buffer.synced[0] = update_count(region) - 1
        go_on(buffer, region)
        found[team.own.number] = best, steps[pick](buffer, 0.7)

    assert team.run(work) == []
    load_rows(cpu, rows)
    best = best_score(cpu, theta)
    measure_all(cpu, region)
    cpu.synced[0] = update_count(region) - 1
    follow(cpu, region)
    assert found == lanes * [(best, pick(cpu, 0.7))]
    assert made[0].chosen.tobytes() == cpu.chosen.tobytes()
    for field in ("features", "squares", "scores"):
        wanted = getattr(cpu, field)[..., :size]
        assert gathered(made, field, size, common).tobytes() == wanted.tobytes(), field


@pytest.mark.parametrize(("lanes", "dim", "size", "common"), HELD)
def test_a_team_draws_the_arms_of_the_cpu(monkeypatch, lanes, dim, size, common):
    team, key = Team(lanes), np.uint64(2**63 + 7)
    stand_in(monkeypatch, team)
    cpu, made = buffers(lanes, dim, size, common)
    draw = twin_of(draw_features, lanes, common)
    assert team.run(lambda: draw(made[team.own.number], key, 5, -1.0)) == []
    with np.errstate(over="ignore"):
        draw_features(cpu, key, 5, -1.0)
    wanted = np.ascontiguousarray(cpu.features[:, :size])
    assert gathered(made, "features", size, common).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("lanes", "dim"), [(8, 10), (2, 7), (32, 3), (8, 25), (4, 1), (32, 40), (64, 7), (64, 40)]
)
def test_a_team_widens_v_as_the_cpu_does(monkeypatch, lanes, dim):
    team, rng = Team(lanes), np.random.default_rng(dim)
    stand_in(monkeypatch, team)
    matrix, x = rng.normal(size=(dim, dim)), rng.normal(size=dim)
    wanted = matrix.copy()
    add_outer(wanted, 0.37, x)
    widen = twin_of(add_outer, lanes, True)
    assert team.run(lambda: widen(matrix, 0.37, x)) == []
    assert matrix.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize(("lanes", "dim"), [(8, 10), (2, 7), (32, 3), (64, 70)])
def test_a_team_factorises_v_as_the_cpu_does(monkeypatch, lanes, dim, works):
    team, rng, found = Team(lanes), np.random.default_rng(dim), []
    stand_in(monkeypatch, team)
    matrix = region(rng, dim, 1e3) if works else np.ones((dim, dim))
    wanted, made = np.zeros((2, dim, dim))
    assert cholesky(matrix, wanted) == works
    assert team.run(lambda: found.append(confidence_region.factorise(matrix, made, lanes))) == []
    assert found == lanes * [works]
    if works:
        assert made.tobytes() == wanted.tobytes()


def lanes_own(value, shared):
    """The state of one lane: what a team divides is the same array for all, the rest its own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    fields = (*layout._DIVIDED.get(type(value).__name__, ()), "design")
    made = {
        name: shared.setdefault((id(value), name), field.copy())
        if name in fields
        else lanes_own(field, shared)
        for name, field in zip(value._fields, value, strict=True)
    }
    return type(value)(**made)


def twins_of(lanes):
    """The texts that stand for the functions of core where everything large is held in common."""
    array, own = Shared(float64, 2, lanes), None
    given: dict[Any, Any] = {combine: (own, own, array), squares: (array, *4 * [own])}
    held = (arms, confidence_region, projection)
    made: dict[Any, Any] = {}
    kinds: Any
    for function, make in MAKERS.items():
        if make.__module__ in {module.__name__ for module in held}:
            count = function.__code__.co_argcount
            first: Any = (array, own, own) if function is subtract else (array,) * count
            kinds = given.get(function, (array, own, array) if function is add_outer else first)
            if function in (best_score, take, pick, follow, load_rows, draw_features):
                kinds = ((array, *6 * [own]), *(count - 1) * [own])
            made[function] = make(lanes, *kinds) or function
    return made


@pytest.mark.parametrize("redraw", ["round", "never"])
@pytest.mark.parametrize("name", ["linucb", "crtm"])
def test_a_team_of_several_warps_plays_what_the_cpu_plays(monkeypatch, name, redraw):
    """A whole run. Where it projects, the numbers agree up to rounding."""
    lanes, dim, size, plays = 64, 5, 7, 8
    team = Team(lanes)
    kind: Any = {"round": hb.arms.PerRound, "never": hb.arms.Fixed}[redraw]
    policy: Any = hb.linucb(dim=dim, radius=1.0)
    if name == "crtm":
        policy = hb.crtm(dim=dim, horizon=plays, raw_moment=3.5, radius_scale=1e-3)
    problem = check_problem(hb.Problem(kind(size, dim), hb.links.Identity(), hb.noises.Laplace()))
    wanted = hb.simulate(policy, problem, horizon=plays, repetitions=1, checkpoints=4).data
    twins = twins_of(lanes)
    stand_ins = {
        **{name: getattr(team, name) for name in (*TOGETHER, "total")},
        "writable": lambda array: array,
        "opaque": lambda number: number,
        "cuda": SimpleNamespace(local=SimpleNamespace(array=lambda size, kind: np.zeros(size))),
        "shortening": projection.shortening_rolled_up,
    }
    for module in (arms, own_arms, confidence_region, projection, series):
        for each in stand_ins.keys() & vars(module).keys():
            monkeypatch.setattr(module, each, stand_ins[each])
    monkeypatch.setattr(engine, "shortening", projection.shortening_rolled_up)
    monkeypatch.setattr("numba.cuda.libdevice.rsqrt", lambda x: 1.0 / np.sqrt(x))
    for module in [m for label, m in sys.modules.items() if label.startswith("heavybandits.")]:
        for each, value in list(vars(module).items()):
            if isinstance(value, FunctionType) and value in twins:
                monkeypatch.setattr(module, each, twins[value])
    shared: dict[Any, Any] = {}
    state, cpu = policy.init(), problem.arms.make_buffer()
    rows = np.zeros((dim, size)), np.zeros(size), np.zeros(size)
    chosen, noise = np.zeros(dim), np.zeros(plays)
    key, stream = (stream_key(0, 0, each) for each in (ARMS, NOISE))
    draw_noise(problem.noise, stream, 0, noise)
    traces = []

    def work():
        mine = lanes_own(state, shared)
        synced = np.full(cpu.penalty.size, -1)
        buffer = ArmBuffer(*rows, np.zeros(size), np.zeros(size), chosen, synced)
        trace = make_trace(wanted["play"])
        episode, still = make_episode(1), STILL
        run = (policy, mine, problem.arms, problem.link, problem.theta, buffer, key, noise)
        play(*run, episode, trace, Unobserved(), still)
        traces.append(trace)

    assert team.run(work) == []
    for trace in traces:
        assert trace.regret.tolist() == traces[0].regret.tolist()
        assert trace.projections.tolist() == wanted["projections"].tolist()
        if name == "linucb":
            assert trace.regret.tolist() == wanted["regret"].tolist()
        assert trace.regret == pytest.approx(wanted["regret"], rel=1e-9)
    assert (wanted["projections"][-1] > 0) == (name == "crtm")


def test_nothing_that_waits_is_sent_before_the_last_kernel(monkeypatch):
    """And the costliest kernels are sent first."""
    sent = []

    def launch(name, cost):
        def play(start, stop, stream):
            sent.append(name)
            return SimpleNamespace(stop=lambda: sent.append("stop"), milliseconds=lambda: cost)

        return SimpleNamespace(play=play)

    monkeypatch.setattr(run, "cuda", SimpleNamespace(synchronize=lambda: sent.append("wait")))
    launches: list[Any] = [launch("short", 1.0), launch("long", 4.0), launch("middle", 2.0)]
    costs = run.play_piece(launches, 0, 9, [None] * 3, [1.0, 4.0, 2.0])
    assert sent == ["long", "middle", "short", *3 * ["stop"], "wait"]
    assert costs == [1.0, 4.0, 2.0]


def test_every_launch_plays_every_piece_once(monkeypatch):
    played: dict[str, list[tuple[int, int]]] = {"long": [], "short": []}

    class Fake:
        def __init__(self, name, horizon):
            self.name, self.horizon, self.size = name, horizon, 3

        def play(self, start, stop, stream):
            played[self.name].append((start, stop))
            return SimpleNamespace(stop=lambda: None, milliseconds=lambda: 1.0)

        plays_between = Launch.plays_between

    monkeypatch.setattr(run, "cuda", SimpleNamespace(stream=object, synchronize=lambda: None))
    done: list[float] = []
    launches: list[Any] = [Fake("long", 10_000), Fake("short", 1_500)]
    run.play_together(launches, done.append)
    assert sum(done) == 3 * (10_000 + 1_500)
    for pieces in played.values():
        assert [stop for _, stop in pieces[:-1]] == [start for start, _ in pieces[1:]]
        assert (pieces[0][0], pieces[-1][1]) == (0, 10_000)


def test_the_larger_number_is_found_as_on_the_cpu(monkeypatch):
    """numba-cuda would call a function of CUDA's library, which passes over what is no number."""
    seen: list[str] = []

    def compile_ir(texts, **options):
        seen.extend(texts)
        assert options["fma"] is False

    monkeypatch.setattr(nvvm, "compile_ir", compile_ir)
    declared = 'declare double @"__nv_fmax"(double %".1", double %".2")'
    with compile.as_on_the_cpu(lanes=8):
        nvvm.compile_ir([declared, declared.replace("max", "min"), "declare i32 @max(i32)"])
    larger, smaller, other = seen
    assert "define internal double @__nv_fmax(" in larger
    assert "fcmp ogt double %b, %a" in larger
    assert "fcmp olt double %b, %a" in smaller
    assert other == "declare i32 @max(i32)"


def test_checkpoints_are_looked_at_when_the_next_is_near():
    plays = np.array([10, 20])
    asked = ((0, 9), (0, 10), (1, 19), (1, 32), (2, 99))
    assert [storage.due(plays, *given) for given in asked] == [0, 2, 0, 2, 0]
