"""Policies without tuning: worlds against a naive twin, the harness, and verdicts by hand."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils.drawing import Strip, Strips, View, draw_view, save
from heavybandits.core.arm_buffer import fill_rows
from heavybandits.core.part import describe
from heavybandits.core.rng import ARMS, stream_key
from heavybandits.core.sources import closure
from heavybandits.experiments import untuned
from heavybandits.experiments.untuned import cells, stretches, worlds
from heavybandits.experiments.untuned.before import BEFORE
from heavybandits.experiments.untuned.catalogue import (
    DESIGN,
    DESIGN_DRAWS,
    DESIGN_SEED,
    DESIGN_SHOPS,
    FIXED,
    LEVELS,
    OTHER_SHOPS,
    OUTLIER_SHOPS,
    REPORT,
    REPORT_DRAWS,
    REPORT_SEED,
    REPORT_SHOPS,
    SHOPS,
    UNSEEN,
    generate,
)
from heavybandits.experiments.untuned.cells import make_player, play_world, sparse_rows, world_cell
from heavybandits.experiments.untuned.measures import (
    RECOMMENDED,
    Played,
    gather_worlds,
    over_best,
    over_random,
    ratio_error,
    relative_share,
)
from heavybandits.experiments.untuned.parts import ShopArms
from heavybandits.experiments.untuned.policies import (
    AUTO,
    CLIP,
    CRAL,
    CRMM,
    GRID,
    NAMES,
    PLAIN,
    RANDOM,
    ROWS,
    Facts,
    cells_of,
    radius_name,
)
from heavybandits.experiments.untuned.problems import PROBLEMS, Spec, make_problem
from heavybandits.experiments.untuned.replays import chance_table
from heavybandits.experiments.untuned.settings import DEFAULT, PROFILES, SCALES
from heavybandits.experiments.untuned.verdicts import (
    before_verdicts,
    cral_verdicts,
    extreme_verdicts,
    fixed_verdicts,
    same_verdicts,
    shop_verdicts,
    unseen_verdicts,
)
from heavybandits.experiments.untuned.worlds import (
    Altered,
    Linear,
    Multiplicative,
    Response,
    Shop,
    Span,
    TwoItems,
    read_world,
    write_world,
)
from heavybandits.gpu.batches import Job
from heavybandits.offline.replay.protocols import NamedRounds, judge_random
from heavybandits.offline.replay.replay import replay_rounds
from heavybandits.parts.compiled_policy import CompiledPolicy
from heavybandits.simulation import player
from heavybandits.simulation.player import play_job
from heavybandits.sweeps import gpu_cells, run_cells
from naive_worlds import make_round

STAMP = "0" * 16
SHOP = Shop(5, 5.0, 90.0, availability=0.5, tail=1.7, refund=0.3, outliers=0.1, level=3.0)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the same functions uncompiled: compiling them takes longer than all tests here."""
    for module in (worlds, player):
        monkeypatch.setattr(module, "compiled", lambda factory, *given: factory(STAMP))
    monkeypatch.setattr(CompiledPolicy, "compile", lambda self, factory, *given: factory(STAMP))


# ---- worlds

KINDS = {
    "fresh": Linear("fresh", 3, 4, "t3", 0.5),
    "fixed, reversed": Linear("fixed", 3, 4, "pareto1.5", -0.5),
    "one-hot": Linear("one-hot", 4, 4, "gauss", 0.5),
    "context": Linear("context", 6, 3, "laplace", 0.5, heteroskedastic=True),
    "intercept, drift": Linear("intercept", 4, 3, "lognormal", 0.5, drift=True),
    "prices": Multiplicative("1% outliers"),
    "binary": Response("binary", 4, 3, -1.0),
    "counts": Response("counts", 4, 3, 0.0),
    "claims": Response("claims", 4, 3, 0.0),
    "sparse": Response("sparse", 4, 3, 0.0),
    "shop": SHOP,
    "exponential": Shop(4, curve="exponential", columns="log price", cost=1.0, cost_noise=0.5),
    "logistic": Shop(4, curve="logistic", columns="raw price", products=False, top=0.5),
    "flat": Shop(4, curve="flat", columns="indicators", top=0.5),
    "two items": TwoItems(0.3, 100.0, 0.5, 5.0),
    "units": Altered(SHOP, units=(0.001, 10.0, 1.0), first_arms=30.0, level=-7.0),
    "extremes": Altered(KIND := Linear("fixed", 3, 4, "t3", 0.5), extreme=1e100, at=(0, 1, 0.3)),
    "unit change": Altered(KIND, late_factor=0.01),
}


@pytest.mark.parametrize("world", KINDS.values(), ids=KINDS)
def test_a_world_is_its_naive_twin(world: Any, uncompiled: None):
    span = Span(20, 7, 3, 6, 14)
    chunk = world.draw(span)
    for place, t in enumerate(range(span.first, span.last)):
        naive = make_round(world, span, t)
        np.testing.assert_allclose(chunk.arms[place], naive.features, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(chunk.means[place], naive.means, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(chunk.rewards[place], naive.rewards, rtol=1e-11, atol=1e-12)
        there = [True] * world.arms if chunk.available is None else chunk.available[place].tolist()
        assert there == naive.available
        best = max(m for m, a in zip(naive.means, naive.available, strict=True) if a)
        np.testing.assert_allclose(chunk.gaps()[place], best - np.array(naive.means), atol=1e-9)


@pytest.mark.parametrize("world", KINDS.values(), ids=KINDS)
def test_rounds_do_not_depend_on_chunks_nor_on_what_was_drawn_before(world: Any, uncompiled: None):
    whole = world.draw(Span(20, 7, 3, 0, 20))
    parts = [world.draw(Span(20, 7, 3, first, last)) for first, last in ((11, 20), (0, 4), (4, 11))]
    for name in ("arms", "means", "rewards"):
        found = np.concatenate([getattr(parts[i], name) for i in (1, 2, 0)])
        np.testing.assert_array_equal(found, getattr(whole, name))
    other = world.draw(Span(20, 7, 4, 0, 20))
    assert not np.array_equal(other.rewards, whole.rewards)


def test_every_world_can_be_drawn_and_written(uncompiled: None):
    for group, named in REPORT.items():
        for name, world in named.items():
            chunk = world.draw(Span(12, 1, 0, 0, 6))
            assert chunk.arms.shape == (6, world.arms, world.dim), (group, name)
            assert np.isfinite(chunk.arms).all()
            assert np.isfinite(chunk.rewards).all()
            assert read_world(write_world(world)) == world
            if chunk.available is not None:
                assert chunk.available.any(axis=1).all()


def test_mean_rewards_are_the_means_of_rewards():
    """Also with refunds, outliers, costs and Pareto baskets."""
    for world in (
        Shop(4, 5.0, 20.0, refund=0.3, outliers=0.01, cost=1.0, cost_noise=0.5),
        Shop(4, 5.0, 20.0, tail=3.0),
        Response("claims", 3, 2, 0.0),
        Response("counts", 3, 2, 0.0),
        TwoItems(0.2, 10.0, 0.5, 3.0),
    ):
        chunk = world.draw(Span(40_000, 5, 0, 0, 40_000))
        error = chunk.rewards - chunk.means
        standard = error.std(axis=0) / 200.0
        assert (np.abs(error.mean(axis=0)) < 4.5 * standard).all(), world


def test_design_and_report_are_apart():
    assert DESIGN_SEED != REPORT_SEED
    assert DESIGN_DRAWS != REPORT_DRAWS
    assert not set(DESIGN_SHOPS.values()) & set(REPORT_SHOPS.values())
    assert len(REPORT_SHOPS) >= 10
    assert OTHER_SHOPS not in DESIGN
    assert not set(DESIGN[UNSEEN].values()) & set(REPORT[UNSEEN].values())
    assert len(REPORT[UNSEEN]) == 60
    assert set(OUTLIER_SHOPS) <= {*DESIGN_SHOPS, *REPORT_SHOPS}
    for profile in PROFILES.values():
        assert profile["seed"] == REPORT_SEED


def test_the_generator_draws_problems_of_every_kind():
    made = [generate(number, DESIGN_DRAWS) for number in range(150)]
    inside = [world.world if isinstance(world, Altered) else world for world in made]
    assert {type(world).__name__ for world in inside} == set(worlds.CLASSES) - {"Altered"}
    layouts = {world.layout for world in inside if isinstance(world, Linear)}
    assert layouts == {"fresh", "fixed", "context", "one-hot", "intercept"}
    assert any(isinstance(world, Altered) for world in made)


# ---- policies and the harness


def test_policies_come_from_one_list():
    assert len(set(NAMES)) == len(NAMES)
    assert ("hurdle" in NAMES) == hasattr(hb, "hurdle")
    facts = Facts(4, 1000)
    assert all(row.make(facts).dim == 4 for row in ROWS)
    moving, still = (cells_of(facts, NAMES, still) for still in (False, True))
    assert set(still) - set(moving) == {CRMM}
    assert sorted(name for cell in still.values() for name in cell) == sorted(NAMES)


def test_a_policy_meets_what_a_naive_loop_shows_it(uncompiled: None):
    """Chosen arms are available, rewards are those of the round and arm, chunks do not matter."""
    policy, span = hb.linucb(dim=SHOP.dim, radius=1.0), Span(30, 7, 3, 0, 30)
    state, rows = policy.init(), hb.arms.Rows(SHOP.arms, SHOP.dim)
    buffer, chosen = rows.make_buffer(), []
    chunk = SHOP.draw(span)
    assert chunk.available is not None
    for t in range(30):
        fill_rows(buffer, chunk.arms[t], chunk.available[t])
        arm = policy.choose(state, rows, buffer)
        policy.learn(state, buffer.chosen, np.array([chunk.rewards[t, arm]]))
        chosen.append(arm)
    found = make_player(describe(policy), SHOP, 7, 3).play(chunk)
    assert found.tolist() == chosen
    assert chunk.available[np.arange(30), found].all()
    wanted = chunk.gaps()[np.arange(30), found].sum()
    for entries in (1 << 19, 4 * SHOP.arms * SHOP.dim):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cells, "ENTRIES", entries)
            found_regret, late = play_world(SHOP, [describe(policy)], span)[0]
            assert found_regret == pytest.approx(wanted)
            assert late == pytest.approx(chunk.gaps()[np.arange(27, 30), chosen[27:]].sum())


@pytest.mark.parametrize("row", [row for row in ROWS[:-15] if not row.still], ids=lambda r: r.name)
def test_every_policy_chooses_available_arms(row: Any, uncompiled: None):
    chunk = SHOP.draw(Span(8, 7, 3, 0, 8))
    policy = describe(row.make(Facts(SHOP.dim, 8)))
    chosen = make_player(policy, SHOP, 7, 3).play(chunk)
    assert chunk.available is not None
    assert chunk.available[np.arange(8), chosen].all()


def test_policies_of_a_cell_do_not_disturb_each_other(uncompiled: None):
    policies = [describe(p) for p in (hb.linucb(dim=3, radius=1.0), hb.policies.Uniform(3))]
    given: dict[str, Any] = {"world": write_world(Linear("fresh", 3, 4, "t3", 0.5))}
    given |= {"horizon": 25, "seed": 2}
    both = world_cell(policies=policies, runs_from=0, runs_to=3, **given)["regret"]
    alone = world_cell(policies=policies[1:], runs_from=1, runs_to=3, **given)["regret"]
    np.testing.assert_array_equal(both[1:, 1:], alone)
    assert len(set(both[1].tolist())) == 3


def test_a_policy_of_several_plays_finishes_its_decisions(uncompiled: None):
    world = Linear("fixed", 3, 4, "t3", 0.5)
    assert cells.chunk_size(world, 7) % 7 == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "ENTRIES", 12 * 10)
        assert cells.chunk_size(world, 7) == 7
        assert cells.chunk_size(world, 50) == 50


TINY = PROFILES["smallest"] | {"policies": [RANDOM, *NAMES[-1:]]}
TINY |= {"problems": [], "horizon": 12, "logged": 12, "repetitions": 11}


def tiny_cells(**changed: Any) -> Iterator[Any]:
    for _, group in untuned.play(TINY | changed, SHOPS, "two items", TwoItems()):
        yield from group


def test_the_study_resumes_and_more_runs_only_add_cells(tmp_path: Any, uncompiled: None):
    made = [cell for cell in tiny_cells() if cell.function == untuned.WORLD]
    assert [cell.settings["runs_to"] for cell in made] == [10, 11, 10, 11]
    first = run_cells(made[:1], tmp_path, backend="sequential", progress=False)
    both = run_cells(made, tmp_path, backend="sequential", progress=False)
    assert (first.computed, both.computed, both.reused) == (1, 3, 1)
    more = [cell for cell in tiny_cells(repetitions=20) if cell.function == untuned.WORLD]
    assert {cell.key for cell in more} & {cell.key for cell in made} == {made[0].key, made[2].key}


def test_a_cell_is_computed_again_only_if_its_worlds_or_policies_change():
    worlds_of = closure(frozenset(untuned.WORLD_CODE))
    assert "heavybandits.experiments.untuned.draws" in worlds_of
    assert "heavybandits.offline.replay.kernels" in worlds_of
    problems_of = closure(frozenset(untuned.PROBLEM_CODE))
    assert "heavybandits.experiments.untuned.parts" in problems_of
    for found in (worlds_of, problems_of):
        assert "heavybandits.parts.estimators.auto" not in found
        assert "heavybandits.experiments.untuned.catalogue" not in found
        assert "heavybandits.parts.noises.heavy" in found


# ---- measures


def make_played(world: str, group: str = SHOPS, runs: int = 20, **means: Any) -> Played:
    """Regrets whose means are given, with a deviation of 1%."""
    rng = np.random.default_rng(len(world))
    wobble = rng.normal(size=runs)
    wobble = 1.0 + 0.01 * (wobble - wobble.mean())
    named = {RANDOM: 100.0, radius_name(PLAIN, 1.0): 30.0, radius_name(PLAIN, 3.0): 60.0}
    named |= {radius_name(CLIP, 1.0): 40.0} | means
    regret = {name: mean * wobble for name, mean in named.items()}
    return Played(group, world, 2, 1000, 0.1, regret, {AUTO: 0.01 * regret.get(AUTO, wobble)})


def test_measures():
    played = make_played("shop", auto=44.0)
    assert over_random(played, AUTO) == pytest.approx(0.44)
    assert relative_share(played, AUTO) == pytest.approx(0.8)
    assert over_best(played, AUTO, PLAIN) == pytest.approx(44 / 30)
    assert over_best(played, AUTO, CLIP) == pytest.approx(1.1)
    assert not played.is_easy(PLAIN)
    assert played._replace(gap=10.0).is_easy(PLAIN)
    unlearned: Any = {radius_name(PLAIN, radius): 99.0 for radius in (1.0, 3.0)}
    hopeless = make_played("shop", auto=44.0, **unlearned)
    assert relative_share(hopeless, AUTO) is None
    rng = np.random.default_rng(0)
    above, below = rng.normal(2.0, 0.1, 4000), rng.normal(4.0, 0.1, 4000)
    wanted = np.hypot(0.1 / 4.0, 0.5 * 0.1 / 4.0) / np.sqrt(4000)
    assert ratio_error(above, below) == pytest.approx(wanted, rel=0.05)


def test_what_the_diagnosis_recommends_is_followed_run_by_run():
    common = {"group": SHOPS, "world": "shop", "dim": 2, "horizon": 100}
    rows = [
        common | {"policy": policy, "run": run, "regret": 10.0 * place + run, "late": 0.0}
        for place, policy in enumerate((RANDOM, AUTO, CRAL))
        for run in (1, 0, 2)
    ]
    rows += [common | {"run": run, "advice": ("cral", "none", "auto")[run]} for run in range(3)]
    (played,) = gather_worlds(rows)
    assert played.regret[AUTO].tolist() == [10.0, 11.0, 12.0]
    assert played.regret[RECOMMENDED].tolist() == [20.0, 1.0, 12.0]


def outcomes(verdicts: Any) -> list[str]:
    return [verdict.outcome for verdict in verdicts]


GOOD, BAD = "holds", "does not hold"


def test_shops_are_judged_by_the_worst_the_mean_and_those_with_outliers():
    fine = [make_played("shop", auto=30.0), make_played("2% refunds", auto=35.0)]
    assert outcomes(shop_verdicts(fine)) == [GOOD, GOOD, GOOD]
    poor = [make_played("shop", auto=10.0), make_played("2% refunds", auto=102.0)]
    found = shop_verdicts(poor)
    assert outcomes(found) == [BAD, BAD, BAD]
    assert found[0].measured == pytest.approx(1.02)
    assert found[0].note == "worst: 2% refunds"
    assert found[1].measured == pytest.approx((0.9 - 0.02) / 2 / 0.7)
    named = [each._replace(regret=each.regret | {RECOMMENDED: each.regret[AUTO]}) for each in fine]
    assert len(shop_verdicts(named)) == 6


def test_levels_must_not_change_the_regret():
    plain = make_played("unaltered", LEVELS, auto=20.0)
    altered = [make_played(f"level {n}", LEVELS, auto=20.0 * r) for n, r in ((1, 1.0), (2, 1.3))]
    assert outcomes(same_verdicts([plain, *altered])) == [GOOD, BAD]


def test_fixed_arms_are_judged_by_the_worst_set_and_by_wrong_runs():
    sets = [make_played(f"d {n}", FIXED, runs=400, auto=50.0) for n in (1, 22)]
    assert outcomes(fixed_verdicts(sets)) == [GOOD] * 4
    sets[0].regret[AUTO][:40] = 5000.0
    assert outcomes(fixed_verdicts(sets)) == [BAD, BAD, BAD, GOOD]
    sets[0].late[AUTO][:30] = 500.0
    found = fixed_verdicts(sets)
    assert outcomes(found) == [BAD] * 4
    assert [verdict.measured for verdict in found[2:]] == pytest.approx([40 / 800, 30 / 800])


def test_unseen_problems_and_extreme_rewards_are_judged():
    problems = [make_played(f"problem {n}", UNSEEN, auto=30.0) for n in range(4)]
    problems.append(make_played("problem 4", UNSEEN, auto=120.0))
    assert outcomes(unseen_verdicts(problems)) == [GOOD, BAD, BAD, GOOD, BAD, BAD]
    worlds_ = [
        make_played(f"fresh, {n}", auto=r) for n, r in (("unaltered", 20.0), ("1 first", 30.0))
    ]
    assert outcomes(extreme_verdicts(worlds_)) == [GOOD]
    worlds_[1].regret[AUTO][:] = 50.0
    assert outcomes(extreme_verdicts(worlds_)) == [BAD]


def test_cral_and_the_earlier_auto_are_judged_on_problems():
    name = next(iter(PROBLEMS))
    problems = [make_played(name, auto=30.0, CRAL=45.0)]
    assert outcomes(cral_verdicts(problems)) == [GOOD, GOOD]
    assert before_verdicts(problems) == []
    (then,) = [played._replace(horizon=6_000) for played in problems]
    before = np.array(BEFORE[name].split(), np.float64)
    for factor, outcome in ((1.05, GOOD), (1.3, BAD)):
        then.regret[AUTO][:] = factor * before
        assert outcomes(before_verdicts([then])) == [outcome]


def test_a_picture_of_strips_names_groups_and_policies():
    strips = [Strip("auto", [[0.1, 0.2], [2.0]]), Strip("LinUCB", [[0.3], []])]
    panel = Strips("", "x", "", strips=strips, groups=["shops", "levels"], line_label="random play")
    canvas = draw_view(View("all", [panel]), {})
    (axes,) = canvas.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["shops", "levels"]
    assert [text.get_text() for text in canvas.legends[0].get_texts()] == ["auto", "LinUCB"]
    assert save(canvas, "png").startswith(b"\x89PNG")


# ---- the 65 problems

HARD, EASY = "fixed, d 10, K 20, t3 x 0.5", "fresh, d 10, K 20, t3 x 0.5"


def rows_of(regrets: dict[tuple[str, str], float], gap: float = 1.0) -> list[dict[str, Any]]:
    """Three runs of each policy of each problem, at scale 1 and 100."""
    return [
        {"problem": problem, "scale": scale, "policy": policy, "run": r, "horizon": 100}
        | {"gap": gap, "regret": regret + 0.001 * r}
        for (problem, policy), regret in regrets.items()
        for scale in (1.0, 100.0)
        for r in range(3)
    ]


PLAYED = rows_of(
    {
        (problem, policy): regret
        for problem, regrets in {
            HARD: (120.0, 100.0, 400.0, 80.0, 900.0),
            EASY: (19.0, 10.0, 30.0, 15.0, 900.0),
        }.items()
        for policy, regret in zip(
            (AUTO, DEFAULT, radius_name(CLIP, 3.0), radius_name(PLAIN, 1.0), RANDOM),
            regrets,
            strict=True,
        )
    }
)


def test_there_are_problems_of_every_kind():
    specs = PROBLEMS.values()
    assert len(PROBLEMS) >= 60
    assert {spec.dim for spec in specs} >= {2, 10, 100}
    assert {spec.size for spec in specs} >= {2, 200}
    assert sum(spec.drifts for spec in specs) >= 3
    assert sum("intercept" in spec.kind for spec in specs) >= 4
    assert set(SCALES) == {0.01, 1.0, 100.0}


@pytest.mark.parametrize("spec", PROBLEMS.values(), ids=lambda spec: spec.name)
def test_a_problem_times_a_scale_is_the_same_problem(spec: Spec):
    one, other = (make_problem(spec, scale, 3, 0) for scale in (1.0, 128.0))
    assert one.arms.dim == spec.dim
    assert one.arms.size == spec.size
    assert spec.still == (one.arms.redraw == "never")
    np.testing.assert_array_equal(other.theta, 128.0 * one.theta)
    key = np.uint64(5)
    with np.errstate(over="ignore"):
        assert other.noise.draw(key, 7) == 128.0 * one.noise.draw(key, 7)


STILL, ONE_HOT = "fixed, d 2, K 2, gauss x 0.5", "one-hot, d 10, K 10, gauss x 0.5"
DRIFTING = "fresh, d 10, K 20, t3 x 0.5, drifting"


def given_runs(problem: str, **changes: Any) -> dict[str, Any]:
    """Two policies in three runs of a problem."""
    policies = [hb.linucb(dim=PROBLEMS[problem].dim, radius=radius) for radius in (0.1, 1.0)]
    given = {"problem": problem, "policies": list(map(describe, policies)), "horizon": 20}
    return given | {"scale": 2.0, "seed": 5, "runs_from": 0, "runs_to": 3} | changes


@pytest.mark.parametrize("name", [STILL, ONE_HOT, DRIFTING])
def test_a_run_of_a_problem_is_the_same_in_every_cell(name: str, uncompiled: None):
    whole = cells.problem_cell(**given_runs(name))["regret"]
    policies = given_runs(name)["policies"][1:]
    late = cells.problem_cell(**given_runs(name, policies=policies, runs_from=1))["regret"]
    assert whole.shape == (2, 3)
    assert whole[1:, 1:].tolist() == late.tolist()


def test_effects_of_a_problem_drift_in_the_middle(uncompiled: None):
    """Regret is against the best arm under the effects of the round."""
    spec, arms_key = PROBLEMS[DRIFTING], stream_key(5, 0, ARMS)
    problem = make_problem(spec, 1.0, 5, 0, 4)
    buffer, random = problem.arms.make_buffer(), hb.policies.Uniform(dim=10)
    later = np.roll(problem.theta, 5) * (-1.0) ** np.arange(10)
    lost = 0.0
    chosen = []
    for play in range(4):
        with np.errstate(over="ignore"):
            problem.arms.refresh(buffer, arms_key, play)
        means = (later if play >= 2 else problem.theta) @ buffer.features[:, :20]
        chosen.append(means.max() - means)
    job = Job(random, problem, 4, (1, 2, 3, 4), 5, 0, 1)
    found = np.diff(play_job(job)["regret"][0], prepend=0.0)
    for gap, gaps in zip(found, chosen, strict=True):
        assert np.abs(gaps - gap).min() < 1e-12
        lost += gap
    assert lost > 0.0


def test_a_device_plays_problems_whose_runs_have_the_same_effects(
    monkeypatch: pytest.MonkeyPatch, uncompiled: None
):
    played: list[int] = []

    def play_on_device(jobs: list[Job]) -> list[dict[str, Any]]:
        played.append(len(jobs))
        return [play_job(job) for job in jobs]

    monkeypatch.setattr(gpu_cells, "play_on_device", play_on_device)
    there = cells.problem_cell_on_device(**given_runs(DRIFTING))["regret"]
    assert there.tolist() == cells.problem_cell(**given_runs(DRIFTING))["regret"].tolist()
    assert played == [2]
    with pytest.raises(hb.InvalidInputError, match="the same effects"):
        cells.problem_cell_on_device(**given_runs(ONE_HOT))


def test_arms_of_a_shop_share_a_context_or_have_an_intercept_each():
    key = np.uint64(1)
    shop, apart = ShopArms(3, 6, True, False), ShopArms(3, 6, False, True)
    buffer, still = shop.make_buffer(), apart.make_buffer()
    with np.errstate(over="ignore"):
        assert shop.refresh(buffer, key, 4)
        assert apart.refresh(still, key, 0)
        assert not apart.refresh(still, key, 1)
    np.testing.assert_array_equal(buffer.features[:2, 0], buffer.features[2:4, 1])
    assert buffer.features[2:, 0].any() == np.False_
    np.testing.assert_array_equal(still.features[0, :3], np.ones(3))


def test_ratios_are_to_the_best_radius_and_easy_problems_are_apart():
    found = untuned.analyse(PLAYED)
    claimed = [v for v in found.verdicts if "times that of the best radius" in v.claim]
    outcome = {v.claim.rsplit(", ", 1)[1]: v.outcome for v in claimed}
    assert outcome["median"] == "does not hold"
    assert outcome["worst problem"] == "holds"
    (summary,) = [table for table in found.tables if table.name == "untuned_summary"]
    assert [row["problems"] for row in summary.rows] == [1] * 8
    assert summary.rows[0]["median"] == pytest.approx(1.2, abs=1e-4)


# ---- replays


def test_replays_are_judged_by_rivals_that_were_chosen_elsewhere():
    shares = {AUTO: 0.5, radius_name(CLIP, 1.0): 0.6, radius_name(PLAIN, 1.0): 0.51}
    rows = [
        {"rows": name, "policy": policy, "repetition": r, "fraction": share + 0.001 * r}
        for name in ("rand", "1.0% pay")
        for policy, share in shares.items()
        for r in range(4)
    ]
    found = untuned.analyse(PLAYED + rows)
    (gained,) = [table for table in found.tables if table.name == "untuned_gain"]
    behind = {row["rows"]: row["behind"] for row in gained.rows}
    assert behind == pytest.approx({"rand": 0.1, "1.0% pay": 0.01})
    judged = [v for v in found.verdicts if "oracle's gain" in v.claim]
    outcome = {v.reading.partition(", the rival")[0]: v.outcome for v in judged}
    assert outcome == {"rand": "does not hold", "1.0% pay": "holds"}


def test_a_rival_that_was_only_lucky_is_not_ahead_elsewhere():
    """Each rival is best in one half, and pays nothing in the other."""
    shares = {AUTO: [0.5] * 8, "none, radius 1": [1.0, 0.0] * 4, "none, radius 3": [0.0, 1.2] * 4}
    rows = [
        {column: "sp500", "policy": policy, "repetition": r, "fraction": share}
        for column in ("rows", "days")
        for policy, mine in shares.items()
        for r, share in enumerate(mine)
    ]
    table = chance_table(rows[: len(rows) // 2], rows[len(rows) // 2 :])
    assert [row["intervals over"] for row in table.rows] == ["passes", "stretches of days"]
    for row in table.rows:
        assert row["in hindsight"] == pytest.approx(0.1)
        assert row["chosen elsewhere"] == pytest.approx(-0.5)
        assert row["low"] <= row["in hindsight"] < row["high"]
    assert "untuned_chance" in {made.name for made in untuned.analyse(PLAYED + rows).tables}


def test_stretches_of_days_share_out_what_the_passes_were_paid(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(7)
    features, days = rng.normal(size=(90, 3)) / 3.0, np.repeat(np.arange(30), 3)
    rounds = NamedRounds(features, features[:, 0] + 0.1 * rng.normal(size=90), days, 5)
    monkeypatch.setattr(stretches, "open_set", lambda *named: rounds)
    policies = {"wide": hb.linucb(dim=3), "linucb": hb.linucb(dim=3, radius=1.0)}
    described = [describe(policy) for policy in policies.values()]
    found = stretches.stretch_cell("any", described, orders=3, stretches=6, seed=5)
    passes = replay_rounds(rounds, policies, passes=3)
    paid = [[row["value"] for row in passes if row["policy"] == name] for name in policies]
    np.testing.assert_allclose(found["value"].mean(axis=1), np.mean(paid, axis=1))
    assert found["random"].mean() == pytest.approx(judge_random(rounds.deal(0), rounds.rewards))
    named = {"days": "any", "policies": list(policies)}
    rows = untuned.stretch_gains(named, {}, found)
    assert len(rows) == 12
    share = (np.mean(paid[1]) - found["random"].mean()) / found["gain"]
    assert np.mean([row["fraction"] for row in rows[6:]]) == pytest.approx(share)


def test_sparse_rows_pay_as_often_as_they_say():
    rewards = sparse_rows(0.01, 3).rewards
    assert np.mean(rewards > 0.0) == pytest.approx(0.01, rel=0.15)


def test_logged_decisions_are_of_available_arms(uncompiled: None):
    span = Span(40, 7, 3, 0, 40)
    features, rewards = cells.log_rows(SHOP, span)
    chunk = SHOP.draw(span)
    assert chunk.available is not None
    shown = (chunk.arms == features[:, None]).all(axis=2) & chunk.available
    assert (shown & (chunk.rewards == rewards[:, None])).any(axis=1).all()


def test_the_grid_has_both_references():
    assert len(GRID) == 16
    assert all(row.name.startswith((f"{PLAIN},", f"{CLIP},")) for row in GRID)
