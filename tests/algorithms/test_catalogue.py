"""Every algorithm of the catalogue: twins, the same bits compiled and not, better than chance.

To add an algorithm, add a row to ROWS.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import config
from scipy.special import ellipj, ellipkm1

import heavybandits as hb
import naive
import naive_linear as twins
from heavybandits.agents.state import flatten
from heavybandits.algorithms import references
from heavybandits.algorithms.catalogue import (
    ALGORITHMS,
    OURS,
    RANDOM,
    example,
    find_algorithms,
)
from heavybandits.arms import Rows
from heavybandits.core.arm_buffer import mark_stale
from heavybandits.core.arrays import Floats
from heavybandits.core.compile import compiled
from heavybandits.core.confidence_region import clipped_count, projection_count, update_count
from heavybandits.core.kernels import play_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.part import describe
from heavybandits.core.rng import stream_key
from heavybandits.core.world import STILL
from heavybandits.parts.estimators import blocks
from heavybandits.parts.estimators import truncated_history as histories
from heavybandits.parts.estimators.per_arm import region_of
from heavybandits.parts.estimators.roots import (
    elliptic_k,
    extend_root,
    jacobi_sc,
    longest_spectrum,
    make_root,
    node_count,
    root_nodes,
)
from heavybandits.parts.estimators.truncated_history import live_count
from heavybandits.policies import StagedElimination, Uniform
from paths import ROOT

DIM, ARMS, DELTA, HORIZON = 3, 6, 0.01, 1000
SETTING = {"dim": DIM, "horizon": HORIZON, "arms": ARMS, "link": hb.links.Identity()}
SETTING |= {"raw_moment": 1.0, "central_moment": 1.0}


ALGORITHMS = {row.function.__name__: row for row in ALGORITHMS.values()}


def build(name: str, constant: float | None = None, **given: Any) -> Any:
    """The algorithm in this setting; `constant` is the value of its tuned argument."""
    row = ALGORITHMS[name]
    tuned = {row.tuning: constant} if row.tuning and constant is not None else {}
    return row.make(**{**SETTING, **given, **tuned})


def test_a_keyword_that_no_algorithm_takes_is_rejected():
    with pytest.raises(hb.InvalidInputError, match="crtm has no argument 'truncatoin': did you"):
        build("crtm", truncatoin=5.0)
    with pytest.raises(hb.InvalidInputError, match="crtm has no argument 'zzz'; it has dim"):
        build("crtm", zzz=5.0)
    with pytest.raises(hb.InvalidInputError, match="crtm needs raw_moment, got dim, horizon"):
        ALGORITHMS["crtm"].make(dim=3, horizon=10)


# ---- twins: constants -> textbook bandit


def slopes(link: Any) -> tuple[str, float, float]:
    name = type(link).__name__
    slope = naive.LINKS[name][1]
    return name, min(slope(1.0), slope(0.0)), max(slope(1.0), slope(0.0))


def scaled(g: Any, beta: Any) -> Any:
    return twins.squared(g["constant"] or 1.0, beta)


def gloc_twin(g: Any, clean: Any = naive.raw) -> Any:
    link, kappa, steepest = slopes(g["link"])
    one = twins.OnlineToConfidence(g["dim"], link, kappa, 1.0, 1.0)
    theory = one.theory(math.sqrt(steepest), 1.0, DELTA)
    tuned = lambda t, design: g["constant"] * one.gradients  # noqa: E731
    return naive.Bandit(one, clean, theory if g["constant"] is None else tuned)


def gloc_mom_twin(g: Any) -> Any:
    return gloc_twin(g, naive.mean_of_medians(3))


def ol2m_mom_twin(g: Any) -> Any:
    link, kappa, _ = slopes(g["link"])
    penalty = max(1.0, kappa / 2)
    newton = naive.Newton(g["dim"], link, kappa / 2, penalty, 1.0)
    theory = naive.ol2m_theory(1.0, penalty, DELTA)
    tuned = None if g["constant"] is None else naive.ol2m_tuned(g["constant"], g["dim"], penalty)
    return naive.Bandit(newton, naive.mean_of_medians(3), tuned or theory)


def crt_twin(g: Any) -> Any:
    corollary = g.get("variant") == "corollary"
    beta = scaled(g, twins.crt(g["raw_moment"], g["epsilon"], DELTA, corollary))
    clean = twins.truncate_by_time(1 / (2 * (1 + g["epsilon"])))
    return naive.Bandit(naive.Ridge(g["dim"], 1.0), clean, beta)


def mom_twin(g: Any) -> Any:
    m = math.ceil(g["horizon"] / g["plays"])
    beta = twins.mom(g["central_moment"], g["epsilon"], g["delta"], m, g["plays"])
    blocks = math.floor(8 * math.log(2 / g["delta"]))
    return naive.Bandit(naive.Ridge(g["dim"], 1.0), naive.median_of_means(blocks), scaled(g, beta))


def tofu_twin(g: Any) -> Any:
    numbers = (g["dim"], g["horizon"], g["raw_moment"], g["epsilon"], DELTA)
    history = twins.TruncatedHistory(g["dim"], 1.0, twins.tofu_threshold(*numbers))
    return naive.Bandit(history, naive.raw, scaled(g, twins.tofu(*numbers)))


def menu_twin(g: Any) -> Any:
    ridges = twins.RidgeEnsemble(g["dim"], g["plays"], 1.0, g.get("include_self", False))
    beta = twins.menu(g["dim"], g["central_moment"], g["epsilon"])
    return twins.ManyRidgesBandit(ridges, None, scaled(g, beta))


def base_twin(g: Any, kind: Any) -> Any:
    v, eps, T = g["raw_moment"], g["epsilon"], g["horizon"]
    union = math.log(2 * T * g["arms"] * math.log(T) / DELTA)
    alpha = 2 / 3 * union + math.sqrt(2 * union * v) + v
    if kind is twins.BMM:
        alpha = (12 * g["central_moment"]) ** (1 / (1 + eps))
    tuned = g["constant"] is not None
    return kind(alpha * (g["constant"] if tuned else 1.0), 0.0 if tuned else 1.0, eps)


def greedy_twin(kind: Any) -> Any:
    return lambda g: twins.PerArmUCB(base_twin(g, kind))


def master_twin(kind: Any) -> Any:
    return lambda g: twins.Master(base_twin(g, kind), g["horizon"])


# ---- did truncation, projection, medians, elimination act?


def projected(state: Any, twin: Any) -> bool:
    return projection_count(state.estimate.region) == twin.estimator.projected > 0


def changed(state: Any, twin: Any) -> bool:
    return twin.changed > 10


def cut_by_time(state: Any, twin: Any) -> bool:
    return state.memory.counts[1] == twin.changed > 5


def history_cut(state: Any, twin: Any) -> bool:
    cuts, live = twin.estimator.cuts, live_count(state.estimate)
    return clipped_count(state.estimate.region) == cuts[-1] and max(cuts) > 3 and live < len(cuts)


def many_picks(state: Any, twin: Any) -> bool:
    return len(twin.estimator.picks) > 2


def arm_cut(state: Any, twin: Any) -> bool:
    return twin.base.cut > 10 and state.memory.truncated[0] > 0


def medians_moved(state: Any, twin: Any) -> bool:
    return twin.base.moved > 10


def eliminated(state: Any, twin: Any) -> bool:
    used = [len(data) for data in twin.data]
    stages = state.memory.stages
    counts = [int(update_count(region_of(stages, s))) for s in range(len(stages.counts))]
    return used == counts and sum(n > 0 for n in used) > 1 and twin.eliminated > 0


def no_twin(g: Any) -> Any:
    raise NotImplementedError(
        "the twin of this one is in test_glm.py, test_auto.py or test_hurdle.py"
    )


class Row(NamedTuple):
    constant: float  # tuned once on seeds that no test uses
    twin: Callable[[Any], Any] = no_twin
    acted: Callable[[Any, Any], bool] = changed
    given: Mapping[str, Any] = MappingProxyType({})
    outlier: float = 1e3
    narrow: float | None = None  # a constant for the twin, where the tuned one shows too little


GROUPS = {"plays": 7, "group": 3}
ROWS = {
    "auto": Row(0.0),
    "hurdle": Row(0.0),
    "crtm": Row(0.01),
    "crmm": Row(0.03, given={"plays": 5}),
    "ol2m": Row(0.03),
    "linucb": Row(0.5),
    "gloc": Row(0.3, gloc_twin, projected),
    "ol2m_mom": Row(0.03, ol2m_mom_twin, given=GROUPS),
    "gloc_mom": Row(0.3, gloc_mom_twin, given=GROUPS),
    "crt": Row(0.03, crt_twin, cut_by_time, outlier=1e12),
    "mom": Row(0.01, mom_twin, given={"plays": 20, "variant": "printed", "delta": 0.5}),
    "tofu": Row(0.1, tofu_twin, history_cut, outlier=1e12),
    "menu": Row(0.03, menu_twin, many_picks, {"plays": 6}, 1e12),
    "btc": Row(0.05, greedy_twin(twins.BTC), arm_cut, outlier=1e12),
    "bmm": Row(0.3, greedy_twin(twins.BMM), medians_moved, {"plays": 5}, 1e12),
    "supbtc": Row(0.02, master_twin(twins.BTC), eliminated, {}, 1e12, narrow=0.03),
    "supbmm": Row(0.05, master_twin(twins.BMM), eliminated, {"plays": 5}, 1e12, narrow=0.08),
}


def test_every_algorithm_has_a_row():
    """Here, or in the test of its module."""
    elsewhere: set[str] = set()
    for module in ("robust", "adaptive"):
        theirs = {n for n, row in ALGORITHMS.items() if row.function.__module__.endswith(module)}
        text = Path(__file__).with_name(f"test_{module}.py").read_text()
        assert theirs
        assert all(f"hb.{name}(" in text for name in theirs)
        elsewhere |= theirs
    assert {*ROWS, *elsewhere, Uniform.__name__} == set(ALGORITHMS)


TWINNED = [name for name, row in ROWS.items() if row.twin is not no_twin]


def tuned(name: str, **given: Any) -> Any:
    row = ROWS[name]
    return build(name, constant=row.constant, **row.given, **given)


# ---- 1. twins

CASES = [
    {"epsilon": 1.0, "dim": 3, "link": hb.links.Identity()},
    {"epsilon": 0.5, "dim": 2, "link": hb.links.Logistic()},
    {"epsilon": 0.75, "dim": 4, "link": hb.links.Probit()},
]


def random_rows(rng: Any, dim: int) -> Any:
    """Random directions, no two of the same length: no ties between arms that nobody has tried."""
    rows = rng.normal(size=(ARMS, dim))
    return rows * rng.uniform(0.7, 1.0, size=(ARMS, 1)) / np.linalg.norm(rows, axis=1)[:, None]


def show(buffer: Any, rows: Any) -> None:
    buffer.features[:, : len(rows)] = rows.T
    mark_stale(buffer)


def expected(twin: Any, rows: Any, link: str) -> tuple[Any, Any]:
    """Mean and width of every arm by the twin."""
    if not isinstance(twin, naive.Bandit):
        return twin.estimate_arm(rows)
    radius = math.sqrt(twin.gamma(twin.updates, twin.estimator.design))
    means = [naive.LINKS[link][0](float(x @ twin.estimator.theta)) for x in rows]
    return np.array(means), radius * np.array([twin.norm(x) for x in rows])


def check_choice(twin: Any, rows: Any, arm: int) -> None:
    if isinstance(twin, twins.Master):
        assert twin.choose(rows) == arm
        if twin.explored is not None:  # stored where it was chosen
            assert twin.level_of(rows[arm]) == twin.explored
    else:
        indices = (
            twin.indices(rows) if isinstance(twin, naive.Bandit) else sum(twin.estimate_arm(rows))
        )
        assert indices[arm] >= indices.max() - 1e-9 * max(1.0, abs(indices.max()))


def duel(policy: Any, twin: Any, link: Any, outlier: float, rounds: int) -> Any:
    """Library and twin side by side, the library choosing; the state at the end."""
    rng = np.random.default_rng(policy.dim)
    theta = rng.normal(size=policy.dim) / 2
    name = type(link).__name__
    arms = Rows(ARMS, policy.dim)
    buffer, state = arms.make_buffer(), policy.init()
    for t in range(rounds):
        rows = random_rows(rng, policy.dim)
        show(buffer, rows)
        arm = policy.choose(state, arms, buffer)
        check_choice(twin, rows, arm)
        mean = naive.LINKS[name][0](float(rows[arm] @ theta))
        rewards = mean + 0.5 * rng.standard_t(1.5, size=policy.plays)
        if t % 17 == 16:
            rewards[0] = outlier * (-1) ** t
        policy.learn(state, rows[arm].copy(), rewards.copy())
        twin.learn(rows[arm], rewards)
        ours = np.array([policy.estimate_arm(state, x) for x in rows])
        theirs = np.array(expected(twin, rows, name)).T
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    return state


@pytest.mark.parametrize("form", ["tuned", "theory"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"eps{case['epsilon']}")
@pytest.mark.parametrize("name", TWINNED)
def test_library_and_twin_agree(name, case, form):
    row, takes = ROWS[name], inspect.signature(ALGORITHMS[name].function).parameters
    link = case["link"] if "link" in takes else hb.links.Identity()
    if case["epsilon"] < 1.0 and not {"epsilon", "link"} & set(takes):
        pytest.skip("the same as before")
    given = {**row.given, **case, "link": link, "constant": None}
    if form == "tuned":
        given["constant"] = row.narrow or row.constant
    policy = build(name, **given)
    twin = row.twin({**SETTING, **given})
    state = duel(policy, twin, link, row.outlier, 120 if form == "tuned" else 40)
    assert form == "theory" or row.acted(state, twin)


@pytest.mark.parametrize(
    ("name", "variant"),
    [("crt", {"variant": "corollary"}), ("menu", {"include_self": True, "plays": 7})],
)
def test_the_other_variants_agree_with_their_twins(name, variant):
    row = ROWS[name]
    given = {**row.given, **variant, "epsilon": 0.5, "constant": 0.5}
    policy, twin = build(name, **given), row.twin({**SETTING, **given})
    duel(policy, twin, hb.links.Identity(), row.outlier, 40)


def test_the_master_exploits_when_all_widths_are_small():
    given = {"constant": 0.002, "epsilon": 1.0}
    policy = build("supbtc", **given)
    twin = ROWS["supbtc"].twin({**SETTING, **given})
    duel(policy, twin, hb.links.Identity(), 10.0, 80)
    assert twin.exploited > 10


def test_late_rewards_never_climb_to_a_level_that_led_to_their_choice():
    rng = np.random.default_rng(5)
    policy = build("supbtc", constant=0.03)
    arms = Rows(ARMS, DIM)
    buffer, state, waiting, seen = arms.make_buffer(), policy.init(), [], set()
    for _ in range(150):
        show(buffer, random_rows(rng, DIM))
        policy.choose(state, arms, buffer)
        x = buffer.chosen.copy()
        waiting.append((x, level_at(policy, state, x)))
        if len(waiting) == 8:
            x, chosen = waiting.pop(rng.integers(8))
            level = level_at(policy, state, x)
            assert level >= chosen
            seen.add((chosen, level))
            policy.learn(state, x, np.array([rng.normal()]))
    assert any(level > chosen for chosen, level in seen)


def level_at(policy: StagedElimination, state: Any, x: Any) -> int:
    for level in range(policy.base.stages):
        width = policy.base.arm_width(state.memory, level, x)
        if width > max(0.5 ** (level + 1), policy.target):
            return level
    return policy.base.stages


# ---- 2. the papers' numbers (T = 10^6, d = 10, K = 20, delta = 0.01, epsilon = 1)

PAPER: dict[str, Any] = {"dim": 10, "horizon": 10**6}


def test_constants_of_the_means_of_medians():
    policies: list[Any] = [hb.ol2m_mom(**PAPER), hb.gloc_mom(**PAPER)]
    for policy in policies:
        assert (policy.filter.plays, policy.filter.group) == (10206, 306)
        assert policy.filter.plays // policy.filter.group == 33


def test_constants_of_menu_and_tofu():
    policy: Any = hb.menu(**PAPER, central_moment=3.0)
    assert (policy.plays, 10**6 // policy.plays) == (467, 2141)
    assert policy.radius.radius(None, 7) == pytest.approx(52.2950, abs=5e-5)
    assert policy.radius.radius(None, 0) == 1.0
    levels = {"printed": 0.4300, "consistent": 0.4062}
    for variant, level in levels.items():
        policy = hb.tofu(**PAPER, raw_moment=3.534446647, variant=variant)
        assert policy.estimator.scale == pytest.approx(level, abs=5e-5)
        assert policy.radius.radius(None, 9) == pytest.approx(111.051, abs=5e-4)


def test_constants_of_mom():
    policy: Any = hb.mom(**PAPER, central_moment=3.0, variant="printed")
    assert (policy.plays, policy.filter.blocks, policy.radius.epochs) == (1000, 42, 1000)
    assert policy.plays // policy.filter.blocks == 23
    policy = hb.mom(**PAPER, central_moment=3.0)
    assert policy.filter.blocks == math.floor(8 * math.log(2e5))


def test_constants_of_the_masters():
    btc: Any = hb.supbtc(**PAPER, arms=20, raw_moment=3.534446647)
    bmm: Any = hb.supbmm(**PAPER, arms=20, central_moment=3.0)
    assert btc.base.stages == bmm.base.stages == 13
    assert (bmm.plays, 10**6 // bmm.plays) == (198, 5050)
    assert btc.base.radius.scale == pytest.approx(33.2478, abs=5e-5)
    assert bmm.base.radius.scale == 6.0
    assert btc.target == bmm.target == 1e-3


def test_sizes_at_the_setting_of_the_second_table():
    small: dict[str, Any] = {"dim": 100, "horizon": 10**4}
    assert hb.menu(**small, central_moment=3.0).plays == 356
    assert hb.mom(**small, central_moment=3.0).plays == 100
    assert hb.bmm(**small, arms=20, central_moment=3.0).plays == 158


# ---- 3. V^-1/2


def test_elliptic_functions():
    for complement in (0.1, 1e-3, 1e-6):
        period = elliptic_k(complement)
        assert period == pytest.approx(ellipkm1(complement), rel=1e-14)
        for u in np.linspace(0.0, period / 2.0, 7):
            sn, cn, _, _ = ellipj(u, 1.0 - complement)
            assert jacobi_sc(u, complement) == pytest.approx(sn / cn, rel=1e-12)


@pytest.mark.parametrize("largest", [2.0, 1e3, 1e6, 1e9])
def test_nodes_give_the_inverse_root(largest):
    shifts, weights = root_nodes(0.5, largest, node_count(0.5, largest))
    z = np.geomspace(0.5, largest, 300)[:, None]
    np.testing.assert_allclose((weights / (z + shifts)).sum(1), z[:, 0] ** -0.5, rtol=2e-12)
    assert shifts.size < 50


def test_the_root_follows_the_matrix_through_repairs():
    rng = np.random.default_rng(0)
    region, root = hb.estimators.Ridge(3, 0.5).init().region, make_root(3, 0.5, 1100)
    for t in range(1, 1101):
        before, x = root.root.copy(), rng.normal(size=3)
        x /= np.linalg.norm(x)
        region.design[:] += np.outer(x, x)
        change = extend_root(root, region, x, t, 0.5, longest_spectrum(0.5, 1100))
        assert change == pytest.approx(np.linalg.norm(before - root.root), rel=1e-6, abs=1e-9)
    values, vectors = np.linalg.eigh(region.design)
    exact = vectors @ np.diag(values**-0.5) @ vectors.T
    np.testing.assert_allclose(root.root, exact, atol=1e-12)


@pytest.mark.parametrize("spoilt", [0, 3])
def test_a_root_that_rounding_has_spoiled_is_computed_again(spoilt):
    """One negative square among the shifted inverses is enough, wherever it is."""
    region, root = hb.estimators.Ridge(2, 0.5).init().region, make_root(2, 0.5, 100)
    root.inverses[spoilt] *= -1.0
    x = np.array([0.6, 0.8])
    region.design[:] += np.outer(x, x)
    extend_root(root, region, x, 1, 0.5, longest_spectrum(0.5, 100))
    np.testing.assert_allclose(root.root @ root.root @ region.design, np.eye(2), atol=1e-12)


def test_the_shortcuts_of_tofu_are_taken_and_change_nothing(monkeypatch):
    """Rewards become whole, are cut again and are freed; few are looked at; the centre is exact."""
    seen = dict.fromkeys(("live", "examined", "kept", "cut again"), 0)
    add, examine = histories.add_to_kept, histories.examine

    def counted_add(estimate: Any, slot: int, sign: float) -> None:
        seen["kept" if sign > 0.0 else "cut again"] += 1
        add(estimate, slot, sign)

    def counted_examine(estimate: Any, slot: int, level: float) -> bool:
        seen["examined"] += 1
        return examine(estimate, slot, level)

    monkeypatch.setattr(histories, "add_to_kept", counted_add)
    monkeypatch.setattr(histories, "examine", counted_examine)
    dim, horizon, rng = 6, 400, np.random.default_rng(3)
    policy = hb.tofu(dim=dim, horizon=horizon, raw_moment=0.3)
    twin = twins.TruncatedHistory(dim, 1.0, twins.tofu_threshold(dim, horizon, 0.3, 1.0, DELTA))
    state: Any = policy.init()
    theta = rng.normal(size=dim) / 2
    for t in range(horizon):
        x = rng.normal(size=dim)
        x = np.abs(x) * np.linspace(1.0, 0.1, dim) if t % 3 == 0 else x
        x /= np.linalg.norm(x)
        reward = 1e15 if t % 50 == 49 else float(x @ theta) + 0.7 * rng.standard_t(1.5)
        policy.learn(state, x.copy(), np.array([reward]))
        twin.learn(x, reward)
        np.testing.assert_allclose(state.estimate.region.centre, twin.theta, atol=1e-12)
        assert clipped_count(state.estimate.region) == twin.cuts[-1]
        seen["live"] += live_count(state.estimate)
    assert seen["cut again"] > 0
    assert seen["kept"] > horizon / 2
    assert seen["examined"] < 0.9 * seen["live"] < 0.5 * horizon * (horizon + 1) / 2


@pytest.mark.parametrize("length", [1.0, 10.0, 100.0, 1e3, 1e5])
def test_tofu_is_its_twin_however_long_the_arms(length):
    """D13: the centre was 3e-8 off at length 10, and 76% at 100.

    Until the arms span the space, V has a condition of 1 + length^2, and neither of the two knows
    more of its root than that leaves.
    """
    dim, horizon, rng = 4, 200, np.random.default_rng(4)
    policy = hb.tofu(dim=dim, horizon=horizon, raw_moment=3.0)
    twin = twins.TruncatedHistory(dim, 1.0, twins.tofu_threshold(dim, horizon, 3.0, 1.0, DELTA))
    state: Any = policy.init()
    for t in range(horizon):
        x = rng.normal(size=dim)
        x *= length / np.linalg.norm(x)
        reward = rng.standard_t(2.0)
        policy.learn(state, x.copy(), np.array([reward]))
        twin.learn(x, reward)
        error = np.abs(state.estimate.region.centre - twin.theta).max()
        assert length * error < 1e-9 if t >= dim else error < 1e-14 * length**2
    assert (state.estimate.root.node_set[0] > 0) == (length > 4.0)


def test_each_set_of_nodes_covers_its_range():
    root = make_root(1, 0.5, 1000)
    first = node_count(0.5, longest_spectrum(0.5, 1000))
    start = 0
    for place in range(6):
        stop = start + first + 11 * place
        z = np.geomspace(0.5, longest_spectrum(0.5, 1000) * 1000.0**place, 200)
        found = (root.weights[start:stop] / (z[:, None] + root.shifts[start:stop])).sum(axis=1)
        np.testing.assert_allclose(found, z**-0.5, rtol=1e-13)
        start = stop
    assert start == root.shifts.size


@pytest.mark.parametrize("order", [2.0, 1.5])
def test_blocks_keep_the_plays_of_their_levels(order):
    """Three levels that grow in turns beyond a block, four features and a fifth, three arms."""
    rng = np.random.default_rng(8)
    history = blocks.make_history(5, 700, 3)
    kept: list[list[Any]] = [[], [], []]
    for t in range(700):
        level, x, y = (t // 100) % 3 if t < 600 else 0, rng.normal(size=5), 20 * rng.standard_t(1.2)
        blocks.store(history, level, x, y)
        kept[level].append((x, y))
    assert history.sizes.tolist() == [300, 200, 200]
    images, weights, sums = rng.normal(size=(3, 5)), np.zeros((3, 700)), np.zeros(blocks.BLOCK)
    for level, plays in enumerate(kept):
        blocks.weigh(history, level, images, weights, 3)
        features, rewards = np.array([x for x, _ in plays]), np.array([y for _, y in plays])
        for image, row in zip(images, weights, strict=True):
            exact = features @ image
            np.testing.assert_allclose(row[: len(plays)], exact, rtol=1e-12, atol=1e-12)
            limit = (np.abs(exact) ** order).sum() ** (1 / order)
            terms = exact * rewards
            total = blocks.truncated_sum(history, level, row, order, sums)
            assert total == pytest.approx(terms[np.abs(terms) <= limit].sum(), rel=1e-11)
            cut = blocks.count_truncated(history, level, row, order, sums)
            assert cut == (np.abs(terms) > limit).sum() > 0


# ---- 4. the same bits, and better than chance

FIXED = hb.arms.Fixed(ARMS, DIM, -1.0)
NOISES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "t_3": lambda rng: 0.5 * rng.standard_t(3.0, size=HORIZON),
    "Pareto": lambda rng: 0.2 * (rng.pareto(2.1, size=HORIZON) - 1.0 / 1.1),  # of mean zero
}


@pytest.mark.parametrize("name", [*ROWS, "uniform"])
def test_compiled_and_uncompiled_agree_in_every_bit(name):
    policy = Uniform(DIM, 7) if name == "uniform" else tuned(name, horizon=203)
    theta, key = np.full(DIM, 0.5), stream_key(3, 0, 0)
    noise = np.random.default_rng(1).standard_t(1.5, size=203)
    checkpoints, runs = np.array([1, 50, 203]), []
    for mode in ("uncompiled", "compiled"):
        state, buffer, episode = policy.init(), FIXED.make_buffer(), make_episode(policy.plays)
        trace: Any = make_trace(checkpoints)
        setting = (policy, state, FIXED, hb.links.Identity(), theta, buffer, key)
        arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
        with np.errstate(over="ignore"):
            (play if mode == "uncompiled" else compiled(play_kernel, *arguments))(*arguments)
        runs.append(
            {
                **flatten(state),
                **flatten(buffer, "buffer"),
                **flatten(episode, "run"),
                **flatten(trace),
            }
        )
    for field, array in runs[0].items():
        assert array.tobytes() == runs[1][field].tobytes(), field
    assert runs[0]["updates"][-1] == 203 // policy.plays


def final_regret(policy: Any, draw: Callable[[np.random.Generator], Floats], run: int) -> float:
    """Play the kernel of the test above: simulate would compile another one for every noise."""
    rng = np.random.default_rng([9, run])
    theta, noise = rng.normal(size=DIM), draw(rng)
    state, buffer, episode = policy.init(), FIXED.make_buffer(), make_episode(policy.plays)
    trace = make_trace(np.array([HORIZON]))
    theta /= np.linalg.norm(theta)
    setting = (policy, state, FIXED, hb.links.Identity(), theta, buffer, stream_key(9, run, 0))
    arguments: Any = (*setting, noise, episode, trace, Unobserved(), STILL)
    compiled(play_kernel, *arguments)(*arguments)
    return float(trace.regret[-1])


@pytest.fixture(scope="module")
def chance() -> dict[str, float]:
    """Mean regret of random play, by noise."""
    return {
        label: float(np.mean([final_regret(Uniform(DIM, 1), draw, run) for run in range(5)]))
        for label, draw in NOISES.items()
    }


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ROWS)
def test_every_algorithm_beats_random_play(name, noise, chance):
    found = [final_regret(tuned(name), NOISES[noise], run) for run in range(5)]
    assert np.mean(found) < 0.3 * chance[noise]


@pytest.mark.parametrize("name", ROWS)
def test_the_constants_of_the_theorem_run_and_stay_finite(name):
    row = ROWS[name]
    policy = build(name, **row.given, horizon=100)
    noise = np.random.default_rng(2).standard_t(1.1, size=100)
    state, buffer, episode = policy.init(), FIXED.make_buffer(), make_episode(policy.plays)
    trace, theta = make_trace(np.array([100])), np.full(DIM, 0.5)
    with np.errstate(over="ignore"):
        play(
            policy,
            state,
            FIXED,
            hb.links.Identity(),
            theta,
            buffer,
            stream_key(1, 0, 0),
            noise,
            episode,
            trace,
            Unobserved(),
            STILL,
        )
    assert np.isfinite(trace.regret).all()
    appraised = np.array([policy.estimate_arm(state, x) for x in np.eye(DIM)])
    assert np.isfinite(appraised).all()
    assert (appraised[:, 1] > 0.0).all()


# ---- 5. in an agent


@pytest.fixture
def uncompiled(monkeypatch):
    """Kernels as plain Python: the same bits, and nothing to compile."""
    monkeypatch.setattr(config, "DISABLE_JIT", True)


def drive(agent: Any, rng: Any, decisions: int) -> list[int]:
    """Rewards arrive late and in any order."""
    chosen, waiting = [], []
    rows = random_rows(np.random.default_rng(0), DIM)
    for _ in range(decisions * agent.policy.plays):
        ticket = agent.select(rows)
        chosen.append(ticket.arm)
        waiting.append(ticket.id)
        if len(waiting) > 2 * agent.policy.plays:
            agent.update(waiting.pop(rng.integers(len(waiting))), float(rng.standard_t(1.5)))
    for ticket in waiting:
        agent.update(ticket, 0.5)
    return chosen


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", [*ROWS, "uniform"])
def test_saved_loaded_and_continued_is_continued(name, digest, tmp_path):
    policy = Uniform(DIM, 3) if name == "uniform" else tuned(name, horizon=40)
    agent = hb.Agent(policy)
    with np.errstate(over="ignore"):
        drive(agent, np.random.default_rng(1), 12)
        pending = agent.select(random_rows(np.random.default_rng(0), DIM))
        agent.save(tmp_path / "bandit")
        other = hb.Agent.load(tmp_path / "bandit")
        for one in (agent, other):
            one.update(pending.id, 1e9)
        futures = [drive(one, np.random.default_rng(2), 10) for one in (agent, other)]
    assert futures[0] == futures[1]
    assert agent.updates == other.updates > 20
    rows = np.eye(DIM)
    np.testing.assert_array_equal(agent.predict(rows), other.predict(rows))


@pytest.mark.usefixtures("uncompiled")
def test_a_mask_is_respected_by_every_policy():
    rows = random_rows(np.random.default_rng(4), DIM)
    mask = np.array([False, True, False, False, True, False])
    for name in ("btc", "bmm", "supbtc", "supbmm", "uniform", "tofu"):
        policy = Uniform(DIM, 3) if name == "uniform" else tuned(name)
        agent = hb.Agent(policy)
        for _ in range(12):
            with np.errstate(over="ignore"):
                ticket = agent.select(rows, mask=mask)
            assert mask[ticket.arm]
            agent.update(ticket, 1.0)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("tofu", "estimate.counts", 10**6),
        ("btc", "memory.history.chain", 10**6),
        ("btc", "memory.history.sizes", 10**6),
        ("supbtc", "memory.history.counts", 7),
    ],
)
def test_a_state_that_would_point_outside_is_refused(name, array, value, tmp_path):
    agent = hb.Agent(tuned(name, horizon=40))
    drive(agent, np.random.default_rng(1), 12)
    flatten(agent.state.learned)[array].flat[0] = value
    agent.save(tmp_path / "bandit")
    with pytest.raises(hb.StateError, match="do not fit together"):
        hb.Agent.load(tmp_path / "bandit")


# ---- 6. refusals


@pytest.mark.parametrize("name", ["btc", "bmm", "supbtc", "supbmm", "uniform"])
@pytest.mark.usefixtures("uncompiled")
def test_sets_without_end_are_refused_where_every_arm_is_judged(name):
    policy = Uniform(DIM) if name == "uniform" else tuned(name)
    words = "needs a finite set: UnitBall has infinitely many arms"
    problem = hb.Problem(hb.arms.UnitBall(DIM), hb.links.Identity(), hb.noises.Gaussian())
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.simulate(policy, problem, horizon=10)
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.Agent(policy).select(hb.arms.UnitBall(DIM))


@pytest.mark.parametrize("name", ["tofu", "btc", "supbtc"])
@pytest.mark.usefixtures("uncompiled")
def test_a_full_history_is_refused_at_the_door_and_harmless_behind_it(name, digest):
    policy = tuned(name, horizon=5)
    problem = hb.Problem(FIXED, hb.links.Identity(), hb.noises.Gaussian())
    with pytest.raises(hb.InvalidInputError, match="has room for 5 decisions, but 6 are asked for"):
        hb.simulate(policy, problem, horizon=6)
    agent, rows = hb.Agent(policy), np.eye(DIM)
    for _ in range(4):
        agent.update(agent.select(rows), 1.0)
    late = agent.select(rows)
    with pytest.raises(hb.InvalidInputError, match="has room for 5 decisions"):
        agent.select(rows)
    agent.update(late, 1.0)
    assert agent.updates == 5
    state = policy.init()
    for x in np.tile(np.eye(DIM), (3, 1)):
        policy.learn(state, x.copy(), np.array([1.0]))
    assert np.isfinite([policy.estimate_arm(state, x) for x in np.eye(DIM)]).all()


@pytest.mark.parametrize("name", ["tofu", "menu", "crt", "gloc"])
@pytest.mark.usefixtures("uncompiled")
def test_a_region_plays_sets_without_end(name):
    agent = hb.Agent(tuned(name))
    for reward in (1.0, -2.0, 30.0):
        for _ in range(agent.policy.plays):
            ticket = agent.select(hb.arms.UnitBall(DIM))
            agent.update(ticket, reward)
    assert np.linalg.norm(ticket.features) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "bad", "words"),
    [
        ("gloc", {"projection": "exakt"}, "projection must be one of"),
        ("gloc", {"noise_scale": 0.0}, "noise_scale must be positive"),
        ("gloc", {"penalty": -1.0}, "penalty must be positive"),
        ("gloc", {"delta": 2.0}, "delta must be in"),
        ("ol2m_mom", {"exponent": 1.0}, "exponent must be in"),
        ("gloc_mom", {"plays": 0}, "plays must be a whole number"),
        ("gloc_mom", {"group": 2.5}, "group must be a whole number"),
        ("crt", {"variant": "lemma"}, "variant must be one of theorem, corollary"),
        ("crt", {"raw_moment": 0.0}, "raw_moment must be positive"),
        ("mom", {"variant": "lemma"}, "variant must be one of union, printed"),
        ("mom", {"horizon": 1e3}, "horizon must be a whole number"),
        ("tofu", {"variant": "lemma"}, "variant must be one of consistent, printed"),
        ("tofu", {"epsilon": 1.5}, "epsilon must be in"),
        ("menu", {"plays": 1.0}, "plays must be a whole number"),
        ("btc", {"arms": 0}, "arms must be a whole number"),
        ("bmm", {"delta": 0.0}, "delta must be in"),
        ("supbtc", {"norm": 0.0}, "norm must be positive"),
        ("supbmm", {"constant": 0.0}, "radius_scale must be positive"),
    ],
)
@pytest.mark.parametrize("form", ["tuned", "theory"])
def test_bad_constants_are_refused(name, bad, words, form):
    row = ROWS[name]
    constant = {"constant": row.constant if form == "tuned" else None}
    with pytest.raises(hb.InvalidInputError, match=words):
        build(name, **{**row.given, **constant, **bad})


# ---- papers


@pytest.mark.parametrize("name", [name for name in hb.ALGORITHMS if name != RANDOM])
def test_an_algorithm_is_known_by_its_parts(name):
    found = find_algorithms(describe(example(name)), name)
    assert found == [name]
    wrapped = hb.policies.EpsilonGreedy(example(name))
    assert find_algorithms(describe(wrapped), name) == [name]


def test_every_paper_is_in_the_literature():
    page = " ".join((ROOT / "docs" / "literature.md").read_text().split())
    for paper in references.PAPERS:
        assert paper.title.lower() in page.lower()
        assert f"({paper.year})" in page
    papers = {row.paper for row in hb.ALGORITHMS.values()} - {"", OURS}
    assert papers == set(references.BY_NAME)
