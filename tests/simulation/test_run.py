"""The loop and its results: what a play is, who meets what, and what nothing depends on."""

import io
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits._utils.progress import Progress
from heavybandits._utils.records import to_records
from heavybandits.core.kernels import runs_kernel
from heavybandits.core.loop import Unobserved, make_episode, make_trace, play
from heavybandits.core.rng import ARMS, stream_key
from heavybandits.core.world import STILL
from heavybandits.gpu.batches import Job
from heavybandits.parts.policies.checks import warn_norms
from heavybandits.policies import Uniform
from heavybandits.simulation.player import run_once
from heavybandits.simulation.problem import check_problem
from heavybandits.simulation.run import make_checkpoints

player: Any = sys.modules["heavybandits.simulation.player"]
compilation: Any = sys.modules["heavybandits.core.compile"]
module = sys.modules["heavybandits.simulation.run"]  # the name in the package is the function's
DIM = 4
CRTM = hb.crtm(dim=DIM, horizon=400, raw_moment=3.5, radius_scale=1e-3)
CRMM = hb.crmm(dim=DIM, horizon=400, central_moment=3.0, plays=7)
BOTH = {"CRTM": CRTM, "CRMM": CRMM}
FIXED: Any = hb.Problem(hb.arms.Fixed(6, DIM), hb.links.Logistic(), hb.noises.StudentT(3.0))
NOTHING: Any = None
DETERMINISTIC = ("policy", "repetition", "play", "regret", "updates", "projections", "truncated")


def numbers(result):
    """Everything but the time it took."""
    return [[row[name] for name in DETERMINISTIC] for row in result.rows()]


def run(**changes):
    options = {"horizon": 400, "repetitions": 3, "seed": 1, "checkpoints": 5, **changes}
    return hb.simulate(options.pop("policies", BOTH), options.pop("problem", FIXED), **options)


# ---- who meets what: a policy that plays arms in turn and writes down what it sees


class Diary(NamedTuple):
    offered: Any
    rewards: Any
    counts: Any


class Witness(NamedTuple):
    dim: int
    plays: int

    def init(self):
        return Diary(np.zeros((60, DIM, 6)), np.zeros((60, self.plays)), np.zeros(2, np.int64))

    def choose(self, state, arms, buffer):
        decision = state.counts[0]
        state.offered[decision] = buffer.features[:, :6]
        buffer.chosen[:] = buffer.features[:, decision % 6]
        state.counts[0] += 1
        return decision % 6

    def learn(self, state, x, rewards):
        state.rewards[state.counts[1]] = rewards
        state.counts[1] += 1

    def tally(self, state):
        return state.counts[1], 0, 0


def witness(arms, plays, horizon=42, repetition=0, observer=Unobserved()):
    """What is seen, uncompiled; the noise is 1, 2, 3, ... so that every play can be told apart."""
    policy, trace = Witness(DIM, plays), make_trace(np.arange(1, horizon + 1))
    state, buffer, episode = policy.init(), arms.make_buffer(), make_episode(plays)
    noise = np.arange(1.0, horizon + 1)
    key, theta = stream_key(1, repetition, ARMS), np.full(DIM, 0.5)
    setting = (policy, state, arms, hb.links.Identity(), theta, buffer, key)
    arguments: Any = (*setting, noise, episode, trace, observer, STILL)
    with np.errstate(over="ignore"):
        play(*arguments)
    return state, trace


def test_fixed_arms_are_drawn_once_and_fresh_ones_at_every_play():
    fixed, _ = witness(hb.arms.Fixed(6, DIM), 1)
    fresh, _ = witness(hb.arms.PerRound(6, DIM), 1)
    assert (fixed.offered[:42] == fixed.offered[0]).all()
    assert len({offered.tobytes() for offered in fresh.offered[:42]}) == 42


def test_frozen_arms_are_those_of_fresh_ones_kept_for_a_decision():
    fresh, _ = witness(hb.arms.PerRound(6, DIM), 1)
    one, _ = witness(hb.arms.PerDecision(6, DIM), 1)
    seven, _ = witness(hb.arms.PerDecision(6, DIM), 7)
    np.testing.assert_array_equal(one.offered, fresh.offered)
    assert seven.counts[0] == 6
    np.testing.assert_array_equal(seven.offered[:6], fresh.offered[0:42:7])


def test_every_play_has_its_own_noise_whatever_the_policy():
    theta = np.full(DIM, 0.5)
    for plays in (1, 7):
        state, _ = witness(hb.arms.PerDecision(6, DIM), plays)
        for decision in range(42 // plays):
            mean = state.offered[decision][:, decision % 6] @ theta
            noise = np.arange(decision * plays, (decision + 1) * plays) + 1.0
            np.testing.assert_allclose(state.rewards[decision] - mean, noise, rtol=1e-12)


def test_regret_is_the_gap_of_the_means_summed_over_plays():
    for plays in (1, 7):
        state, trace = witness(hb.arms.PerDecision(6, DIM), plays)
        means = np.einsum("tdk,d->tk", state.offered[: 42 // plays], np.full(DIM, 0.5))
        taken = means[np.arange(len(means)), np.arange(len(means)) % 6]
        gaps = np.repeat(means.max(axis=1) - taken, plays)
        np.testing.assert_allclose(trace.regret, np.cumsum(gaps), rtol=1e-12)


def test_the_tail_of_an_unfinished_decision_is_played_and_not_learned_from():
    whole, _ = witness(hb.arms.Fixed(6, DIM), 7, horizon=42)
    short, trace = witness(hb.arms.Fixed(6, DIM), 7, horizon=40)
    assert (whole.counts[1], short.counts[1], short.counts[0]) == (6, 5, 6)
    assert (np.diff(trace.regret[34:]) > 0).all()  # plays 36 to 40 cost regret
    assert trace.updates[34:].tolist() == [5] * 6  # and bring no update


class Counter(NamedTuple):
    """An observer: the updates it was shown."""

    seen: Any

    def observe(self, policy, state, theta):
        self.seen[0] += 1
        self.seen[1] = policy.tally(state)[0]


@pytest.mark.parametrize("plays", [1, 7])
def test_an_observer_looks_after_every_decision_that_is_learned_from(plays):
    observer = Counter(np.zeros(2, np.int64))
    state, _ = witness(hb.arms.Fixed(6, DIM), plays, horizon=40, observer=observer)
    assert observer.seen.tolist() == [40 // plays, 40 // plays] == [state.counts[1]] * 2


def test_repetitions_differ_and_repeat():
    first, again, other = (witness(hb.arms.Fixed(6, DIM), 1, repetition=r)[0] for r in (0, 0, 1))
    np.testing.assert_array_equal(first.offered, again.offered)
    assert not np.array_equal(first.offered, other.offered)


# ---- simulate


def test_results_do_not_depend_on_jobs():
    one, two, three = (numbers(run(jobs=jobs)) for jobs in (1, 2, 3))
    assert one == two == three
    assert len(one) == 2 * 3 * 5


def test_a_run_alone_is_the_run_in_company():
    together = numbers(run())
    alone = numbers(run(policies={"CRMM": CRMM}))
    assert alone == [row for row in together if row[0] == "CRMM"]
    points = make_checkpoints(400, 5)
    trace, seconds = run_once(CRTM, check_problem(FIXED), 400, points, 1, 2)
    rows = [row for row in together if row[:2] == ["CRTM", 2]]
    assert trace.regret.tolist() == [row[3] for row in rows]
    assert seconds > 0.0


def test_results_do_not_depend_on_chunks_or_checkpoints(monkeypatch):
    plain = run(checkpoints=400)
    monkeypatch.setattr(player, "CHUNK", 13)
    assert numbers(run(checkpoints=400)) == numbers(plain)
    few = numbers(run(checkpoints=[3, 250, 400]))
    assert few == [row for row in numbers(plain) if row[2] in (3, 250, 400)]


def together(policy, size=5, advance=lambda plays: None):
    return player.play_job(
        Job(policy, check_problem(FIXED), 400, (100, 400), 1, 2, 2 + size), advance
    )


@pytest.mark.parametrize("name", ["CRTM", "CRMM", "auto", "tofu", "thompson", "bmm"])
def test_repetitions_of_one_call_are_those_of_many(name):
    made = {**POLICIES, **DRAWING, **BOTH}[name]
    problem = check_problem(FIXED._replace(arms=hb.arms.Fixed(6, made.dim)))
    job = Job(made, problem, 60, (7, 30, 60), 1, 2, 5)
    whole = player.play_job(job)
    for place in range(3):
        alone = player.play_job(job._replace(first=2 + place, last=3 + place))
        for column in ("regret", *DETERMINISTIC[4:], "fallbacks"):
            assert whole[column][place].tolist() == alone[column][0].tolist(), column


def test_a_call_may_end_anywhere_in_a_run(monkeypatch):
    whole = together(CRMM)
    for plays in (1, 37, 10_000):
        monkeypatch.setattr(player, "CHUNK", plays)
        assert together(CRMM)["regret"].tolist() == whole["regret"].tolist()


def test_progress_counts_every_play_once():
    made: list[int] = []
    together(CRTM, 3, made.append)
    assert sum(made) == 3 * 400


def test_a_call_that_lasts_long_is_followed_by_a_shorter_one():
    pace = player.Pace(1000)
    clock = iter((0.0, 0.01, 1.0, 1.1, 2.0, 3.0))
    plays = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(player.time, "perf_counter", lambda: next(clock))
        for _ in range(3):
            with pace:
                pass
            plays.append(pace.plays)
    assert plays == [2000, 2000, 1000]


def test_a_call_makes_no_more_plays_than_there_is_room_for_their_noise():
    pace = player.Pace(player.CHUNK)
    with pace:
        pass
    assert pace.plays == player.CHUNK


def test_an_interrupt_stops_the_other_threads(monkeypatch):
    """One thread fails; the others end at their next call, long before their runs are over."""
    calls, failed = [], threading.Event()

    def fail_once(pace):
        if not failed.is_set():
            failed.set()
            raise KeyboardInterrupt
        failed.wait()
        calls.append(1)

    run(repetitions=2)  # compiles
    monkeypatch.setattr(player, "CHUNK", 1)
    monkeypatch.setattr(player.Pace, "__enter__", fail_once)
    with pytest.raises(KeyboardInterrupt):
        run(policies=CRTM, repetitions=2, horizon=400_000, jobs=2, checkpoints=1)
    assert len(calls) < 400_000


def test_a_second_noise_compiles_no_second_loop():
    """The loop of a policy takes seconds to compile, and the noise a tenth of one."""
    run(problem=FIXED._replace(noise=hb.noises.Gaussian(0.3)))
    before = {key for key in compilation._kernels if key[0] is runs_kernel}
    run(problem=FIXED._replace(noise=hb.noises.Laplace(0.3)))
    assert before
    assert {key for key in compilation._kernels if key[0] is runs_kernel} == before


def test_the_horizon_counts_plays():
    final = {row["policy"]: row for row in run() if row["play"] == 400}
    assert final["CRTM"]["updates"] == 400
    assert final["CRMM"]["updates"] == 400 // 7


def test_seeds_and_repetitions_matter():
    assert numbers(run(seed=1)) == numbers(run(seed=1))
    assert numbers(run(seed=1)) != numbers(run(seed=2))
    finals = run().final("CRTM")
    assert len(set(finals.tolist())) == 3


# This run: python -c "import test_simulate as t; print(t.golden())" in tests/.
GOLDEN = {
    "CRTM": [2.0153453257670306, 3.706811328056124, 3.792617099769415, 7.2274130651365125],
    "CRMM": [1.5947716330118484, 3.038367518888736, 4.923763006012337, 10.091519838445645],
}


def golden() -> dict[str, list[float]]:
    result = run(repetitions=2, checkpoints=2)
    return {name: result.curves(name)[1].ravel().tolist() for name in BOTH}


def test_a_tiny_run_gives_the_numbers_it_always_gave():
    """A change of streams, of arithmetic or of an algorithm shows here before a user sees it."""
    for name, expected in golden().items():
        assert expected == pytest.approx(GOLDEN[name], rel=1e-9), name


def test_a_learner_beats_chance():
    problem = FIXED._replace(arms=hb.arms.Fixed(6, DIM, -1.0), noise=hb.noises.StudentT(3.0, 0.3))
    policies = {"CRTM": CRTM, "chance": Uniform(DIM)}
    result = run(policies=policies, problem=problem, repetitions=8, horizon=3000)
    assert result.final("CRTM").mean() < 0.2 * result.final("chance").mean()


def test_a_single_policy_needs_no_name():
    assert run(policies=CRTM).policies == ["policy"]


def test_an_error_in_a_run_reaches_the_caller(monkeypatch):
    def fail(*arguments, **named):
        raise RuntimeError("run failed")

    monkeypatch.setattr(module, "play_job", fail)
    for jobs in (1, 2):
        with pytest.raises(RuntimeError, match="run failed"):
            run(jobs=jobs)


# ---- checkpoints


@pytest.mark.parametrize("spacing", ["even", "log"])
@pytest.mark.parametrize(("horizon", "size"), [(1, 1), (1, 9), (5, 9), (1000, 1), (1000, 7)])
def test_checkpoints_increase_and_end_at_the_horizon(spacing, horizon, size):
    points = make_checkpoints(horizon, size, spacing)
    assert points[-1] == horizon
    assert points[0] >= 1
    assert (np.diff(points) > 0).all()
    assert len(points) <= size


def test_given_checkpoints_are_sorted_and_unique():
    assert make_checkpoints(100, [50, 3, 50]).tolist() == [3, 50]
    assert make_checkpoints(100, np.array([7])).tolist() == [7]


# ---- refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon": 0}, "horizon must be a whole number >= 1, got 0"),
        ({"horizon": 1e3}, "horizon must be a whole number"),
        ({"repetitions": 0}, "repetitions must be"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"jobs": 0}, "jobs must be"),
        ({"checkpoints": 0}, "checkpoints must be"),
        ({"checkpoints": 2.5}, "checkpoints must be"),
        ({"checkpoints": []}, r"checkpoints must be in 1..400, got none"),
        ({"checkpoints": [401]}, r"checkpoints must be in 1..400, got \[401\]"),
        ({"checkpoints": [0]}, "checkpoints must be a whole number >= 1"),
        ({"spacing": "odd"}, "spacing must be one of even, log, got 'odd'"),
        ({"policies": {}}, "policies must have at least one policy"),
        ({"policies": {"x": 3}}, r"policies\['x'\] must be a policy: .*; got 3"),
        ({"policies": [CRTM]}, "must be a policy, or a dict by name, got a list"),
        ({"policies": hb.linucb(dim=5)}, r"policies\['policy'\] has dim 5, the arms have dim 4"),
        ({"problem": None}, "problem must be a Problem, got NoneType"),
        ({"problem": {}}, "got dict; `sweep` runs several problems"),
        ({"problem": FIXED._replace(theta=[1.0])}, r"theta must have shape \(4,\), got \(1,\)"),
        ({"problem": FIXED._replace(theta=[np.nan] * 4)}, "theta must be finite"),
        ({"problem": FIXED._replace(link=NOTHING)}, "link must be a link"),
        ({"problem": FIXED._replace(theta=np.full(4, 1e4))}, "link must have a positive slope"),
        ({"problem": FIXED._replace(noise=hb.noises.StudentT(-1.0))}, "must be"),
        ({"problem": FIXED._replace(noise=NOTHING)}, "noise"),
    ],
    ids=repr,
)
def test_what_cannot_be_run_is_refused(changes, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        run(**changes)


def test_a_policy_of_several_plays_refuses_arms_that_change_with_every_play():
    problem = FIXED._replace(arms=hb.arms.PerRound(6, DIM))
    words = (
        r"policies\['CRMM'\] plays an arm 7 times.*PerRound changes with every play.*PerDecision"
    )
    with pytest.raises(hb.InvalidInputError, match=words):
        run(problem=problem)


# ---- results


def test_rows_are_tidy():
    result = run()
    rows = list(result)
    assert len(result) == len(rows) == 30
    assert set(rows[0]) == set(result.columns)
    assert all(type(value) in (str, int, float) for value in rows[0].values())
    assert result.policies == ["CRTM", "CRMM"]
    assert repr(result).startswith("Result: 2 policies, 3 repetitions, 400 plays, 30 rows\n")
    plays, curves = result.curves("CRTM")
    assert plays.tolist() == [80, 160, 240, 320, 400]
    assert curves.shape == (3, 5)
    assert (np.diff(curves, axis=1) >= 0).all()
    with pytest.raises(KeyError, match="has no policy 'UCB'; it has CRTM, CRMM"):
        result.curves("UCB")


def test_summaries_and_shares():
    result = run(policies={"cut": CRTM._replace(filter=hb.filters.Truncate(1.0))})
    final = result.final("cut")
    (summary,) = to_records(result.summary())
    assert summary["mean"] == pytest.approx(final.mean())
    assert summary["standard_error"] == pytest.approx(final.std(ddof=1) / np.sqrt(3))
    assert summary["lower_quartile"] <= summary["median"] <= summary["upper_quartile"]
    for row in result:
        assert row["truncated_share"] == row["truncated"] / row["play"]
    assert result.rows()[-1]["truncated"] > 0


def test_results_count_what_rounding_spoils():
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-8]]) / 2
    problem = hb.Problem(hb.arms.FromArray(rows), hb.links.Identity(), hb.noises.Gaussian(1.0))
    sound, spoilt = (hb.linucb(dim=3, radius=1.0, penalty=weight) for weight in (1.0, 1e-12))
    policies = {"sound": sound, "spoilt": spoilt}
    result = hb.simulate(policies, problem, horizon=1100, repetitions=1, checkpoints=1)
    none, some = result.data["fallbacks"]
    assert none == 0 < some


class Longer(NamedTuple):
    """An arm set of one's own: arms of norm 2, drawn as those of another set."""

    inner: Any = hb.arms.Fixed(3, DIM)
    dim: int = DIM
    size: int = 3
    redraw: Any = "never"

    def make_buffer(self):
        return self.inner.make_buffer()

    def refresh(self, buffer, key, play):
        new = self.inner.refresh(buffer, key, play)
        buffer.features[...] *= 2.0
        return new

    def top(self, buffer, theta):
        return self.inner.top(buffer, theta)

    def maximise(self, buffer, region, width):
        return self.inner.maximise(buffer, region, width)


ANY_NORM: dict[str, Any] = {
    "auto": hb.auto(dim=DIM),
    "mixed": hb.policies.EpsilonGreedy(Uniform(DIM)),
}


@pytest.mark.parametrize(
    ("arms", "norm"),
    [
        (hb.arms.FromArray(np.eye(DIM) * [[1.0], [3.0], [1.0], [1.0]]), "3"),
        (hb.arms.Box(np.full(DIM, -1.0), np.full(DIM, 0.5)), "2"),
        (Longer(), "2"),
    ],
)
def test_arms_longer_than_the_theory_assumes_are_mentioned_once(arms, norm):
    said = f"an arm has norm {norm}; the theory of CRTM, CRMM assumes at most 1"
    with pytest.warns(UserWarning, match=said) as caught:
        warn_norms({**BOTH, **ANY_NORM}, arms)
    assert len(caught) == 1
    warn_norms(ANY_NORM, arms)  # a warning would be an error


def test_simulate_warns_of_long_arms_at_the_line_that_calls_it():
    rows = hb.arms.FromArray(2.0 * np.eye(DIM))
    problem = FIXED._replace(arms=rows)
    with pytest.warns(UserWarning, match="an arm has norm 2") as caught:
        hb.simulate({"CRTM": CRTM}, problem, horizon=20, repetitions=2)
    assert [one.filename for one in caught] == [__file__]
    hb.simulate({"random": Uniform(DIM)}, problem, horizon=20, repetitions=2)
    unit = FIXED._replace(arms=hb.arms.FromArray(np.eye(DIM, dtype=np.float32)))
    hb.simulate({"CRTM": CRTM}, unit, horizon=20, repetitions=2)


def test_tables(tmp_path):
    pandas = pytest.importorskip("pandas", reason="the extra 'lab' is not installed")
    pytest.importorskip("pyarrow", reason="the extra 'lab' is not installed")
    result = run()
    frame = result.to_pandas()
    assert list(frame.columns) == list(result.columns)
    assert frame.groupby("policy").regret.last()["CRTM"] == result.final("CRTM")[-1]
    path = tmp_path / "result.parquet"
    result.to_parquet(path)
    pandas.testing.assert_frame_equal(pandas.read_parquet(path), frame)
    assert [file.name for file in tmp_path.iterdir()] == ["result.parquet"]


def test_plot_draws_a_line_and_a_band_for_each_policy():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra 'lab' is not installed")
    result = run()
    (axes,) = result.plot().axes
    assert [line.get_label() for line in axes.get_lines()] == ["CRTM", "CRMM"]
    plays, curves = result.curves("CRMM")
    np.testing.assert_array_equal(axes.get_lines()[1].get_xdata(), plays)
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), curves.mean(axis=0))
    assert len(axes.collections) == 2
    assert axes.get_xlabel() == "plays"
    figure, mine = pyplot.subplots()
    assert result.plot(axes=mine) is figure
    assert len(mine.get_lines()) == 2
    pyplot.close("all")


# ---- progress


def test_progress_goes_to_stderr_and_only_when_wanted(capsys):
    run(progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "100.0%" in shown.err
    run(progress=False)
    run()  # not a terminal
    assert capsys.readouterr() == ("", "")


def test_progress_counts_from_many_threads(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    from concurrent.futures import ThreadPoolExecutor

    with Progress(4000, show=True) as bar, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: bar.advance(1), range(4000)))
    assert bar.done == 4000
