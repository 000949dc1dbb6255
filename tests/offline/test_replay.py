"""Replay: a naive twin of each pass, both worlds, protocols, errors, commands."""

import json
import sys
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.core.compile import compiled
from heavybandits.features.tables import scale_features
from heavybandits.filters import AdaptiveClip
from heavybandits.offline.replay.protocols import (
    GroupRounds,
    NamedRounds,
    RowRounds,
    Schedule,
    fit_oracle,
    holdout_gains,
    judge_oracle,
    judge_random,
    shuffle_arms,
)
from heavybandits.offline.replay.replay import (
    default_policies,
    make_policies,
    pass_once,
    replay,
    replay_rounds,
)
from heavybandits.offline.replay.result import ReplayResult, summarise

POLICY = {"plain": lambda dim: hb.linucb(dim=dim, radius=1.0)}


def make_frame(rows: int = 400, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=rows), rng.normal(size=rows)
    return {
        "a": a,
        "b": b,
        "y": 3.0 * a - b + rng.standard_t(2, rows),
        "day": np.repeat(np.arange(rows // 8), 8),
        "kind": (a > 0).astype(int) + 2 * (b > 0).astype(int),
    }


def play_by_agent(policy, rounds, dealt, scale):
    """The same pass with the agent, one call at a time."""
    agent = hb.Agent(policy)
    paid = []
    for shown, payers in zip(dealt.arms, dealt.payers, strict=True):
        arms = np.array(
            [rounds.features[row] if row >= 0 else np.zeros(policy.dim) for row in shown]
        )
        ticket = agent.select(arms, mask=shown >= 0)
        reward = rounds.rewards[payers[ticket.arm]]
        agent.update(ticket, reward / scale)
        paid.append(reward)
    return np.array(paid)


def make_rows(frame: dict[str, Any], size: int = 5) -> RowRounds:
    features = scale_features(np.column_stack([frame["a"], frame["b"]]))
    return RowRounds(features, frame["y"], size, seed=3)


def test_a_pass_is_what_an_agent_would_have_played() -> None:
    rounds = make_rows(make_frame(150))
    policy = make_policies(POLICY, 3)["plain"]
    dealt = rounds.deal(0)
    paid, counted, seconds = pass_once(policy, rounds, dealt, 2.0)
    assert np.array_equal(paid, play_by_agent(policy, rounds, dealt, 2.0))
    assert counted.updates == 30
    assert seconds >= 0.0


def test_days_of_different_length_are_masked() -> None:
    frame = make_frame(40)
    days = np.array([0] * 3 + [1] * 5 + [2] * 2 + [3] * 30)
    features = scale_features(np.column_stack([frame["a"], frame["b"]]))
    rounds = NamedRounds(features, frame["y"], days, seed=0)
    dealt = rounds.deal(0)
    assert dealt.arms.shape == (4, 30)
    assert (dealt.arms[2] >= 0).sum() == 2
    policy = make_policies(POLICY, 3)["plain"]
    paid, _, _ = pass_once(policy, rounds, dealt, 1.0)
    assert np.array_equal(paid, play_by_agent(policy, rounds, dealt, 1.0))


def test_compiled_and_uncompiled_passes_give_the_same_bits(digest) -> None:
    from heavybandits.arms import Rows
    from heavybandits.core.arm_buffer import make_arm_buffer
    from heavybandits.offline.replay.kernels import rounds_kernel

    rounds = make_rows(make_frame(200))
    dealt = rounds.deal(1)
    policy = make_policies({"p": hb.linucb(dim=3, radius=1.0, filter=AdaptiveClip())}, 3)["p"]
    runs = []
    for make in (lambda *a: compiled(rounds_kernel, *a), lambda *a: rounds_kernel("")):
        state, chosen = policy.init(), np.zeros(40, np.int64)
        buffer, arms = make_arm_buffer(3, 5), Rows(5, 3)
        given = (policy, state, arms, buffer, rounds.features, dealt.arms, rounds.rewards)
        rest = (dealt.payers, np.zeros(1), chosen)
        make(*given, *rest)(*given, *rest)
        runs.append((digest(state), chosen.tolist()))
    assert runs[0] == runs[1]


# ---- protocols


def test_rows_are_dealt_without_replacement_and_differently_each_order() -> None:
    rounds = make_rows(make_frame(103), size=5)
    first, second = rounds.deal(0).arms, rounds.deal(1).arms
    assert first.shape == (20, 5)
    assert np.unique(first).size == 100
    assert not np.array_equal(first, second)
    assert np.array_equal(first, rounds.deal(0).arms)


def test_order_zero_of_days_is_that_of_the_data() -> None:
    frame = make_frame(32)
    names = np.repeat(["wed", "mon", "fri", "tue"], 8)
    rounds = NamedRounds(np.ones((32, 1)), frame["y"], names, seed=0)
    assert np.array_equal(rounds.deal(0).arms, np.arange(32).reshape(4, 8))
    shuffled = rounds.deal(1).arms
    assert {tuple(row) for row in shuffled} == {tuple(row) for row in np.arange(32).reshape(4, 8)}


def test_a_group_pays_its_own_rows_over_and_over() -> None:
    rewards = np.array([1.0, 2.0, 10.0, 20.0, 30.0])
    rounds = GroupRounds(np.arange(5.0)[:, None], rewards, ["x", "x", "y", "y", "y"], 6, seed=0)
    payers = rounds.deal(0).payers
    assert sorted(payers[:2, 0]) == [0, 1]
    assert np.array_equal(payers[:2, 0], payers[2:4, 0])
    assert sorted(payers[:3, 1]) == [2, 3, 4]
    assert rounds.features.ravel().tolist() == [0.5, 3.0]
    assert rounds.oracle().tolist() == [1.5, 20.0]


def test_random_and_oracle_by_hand() -> None:
    rewards = np.array([1.0, 3.0, 5.0, 2.0, 4.0])
    rounds = NamedRounds(np.eye(5), rewards, [0, 0, 0, 1, 1], seed=0)
    dealt = rounds.deal(0)
    assert judge_random(dealt, rewards) == pytest.approx((3.0 + 3.0) / 2)
    assert judge_oracle(dealt, rewards, rewards) == pytest.approx((5.0 + 4.0) / 2)


def sorted_rounds(rounds: int = 300, size: int = 8) -> dict[str, Any]:
    """Rounds whose rows lie best first and have the same features: nothing can be learned."""
    rng = np.random.default_rng(0)
    rewards = -np.sort(-rng.standard_t(3, (rounds, size)), axis=1)
    return {
        "day": np.repeat(np.arange(rounds), size),
        "place": np.tile(np.arange(size), rounds),
        "x": np.repeat(rng.normal(size=rounds), size),
        "y": rewards.ravel(),
    }


def test_equal_arms_are_tied_whatever_the_order_of_the_rows() -> None:
    """Rows sorted by reward must not show a policy, or the oracle, which of equal arms is best."""
    frame = sorted_rounds()
    given: dict[str, Any] = {"features": ["x"], "reward": "y", "policies": POLICY, "passes": 4}
    by_day = replay(frame, **given, protocol="rounds", group="day")
    for column in ("value", "oracle"):
        assert by_day.data[column] == pytest.approx(by_day.data["random"], abs=0.3)
    best_first = frame | {"x": np.ones(frame["y"].size)}
    fixed = replay(best_first, **given | {"passes": 12}, protocol="groups", group="place")
    assert np.unique(fixed.data["value"].round(1)).size > 3  # not always the first group
    assert abs(fixed.data["value"].mean()) < 0.7  # the first group pays 2.2


def test_the_order_of_rows_in_a_round_changes_nothing_but_the_ties() -> None:
    frame = make_frame(160)
    given: dict[str, Any] = {"features": ["a", "b"], "reward": "y", "policies": POLICY}
    given |= {"protocol": "rounds", "group": "day", "passes": 3}
    backwards = np.arange(160).reshape(20, 8)[:, ::-1].ravel()
    one = replay(frame, **given)
    two = replay({name: values[backwards] for name, values in frame.items()}, **given)
    for column in ("value", "random", "oracle"):
        assert one.data[column] == pytest.approx(two.data[column], rel=1e-12)


def test_arms_are_shuffled_by_the_seed_and_fixed_arms_once_per_pass() -> None:
    rows = np.array([[0, 1, 2, -1], [3, 4, 5, 6], [7, 8, -1, -1]])
    first, again = (
        shuffle_arms(Schedule(rows, rows + 10), np.random.default_rng(3), fixed=False)
        for _ in range(2)
    )
    assert np.array_equal(first.arms, again.arms)
    assert np.array_equal(np.sort(first.arms), np.sort(rows))
    assert np.array_equal(first.payers, first.arms + 10)
    assert np.array_equal(first.arms < 0, rows < 0)
    arms = np.tile(np.arange(6), (50, 1))
    fixed = shuffle_arms(Schedule(arms, arms), np.random.default_rng(3), fixed=True).arms
    assert (fixed == fixed[0]).all()
    assert fixed[0].tolist() != list(range(6))


def test_scores_that_differ_by_rounding_are_tied() -> None:
    dealt = Schedule(np.array([[0, 1, 2]]), np.array([[0, 1, 2]]))
    paid = np.array([9.0, 1.0, 50.0])
    assert judge_oracle(dealt, paid, np.array([2.0, np.nextafter(2.0, 3.0), 1.0])) == 5.0
    assert judge_oracle(dealt, paid, np.array([2.0, 2.1, 1.0])) == 1.0


def test_scaled_features_have_an_intercept_and_at_most_norm_one() -> None:
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.normal(size=500), rng.pareto(1.0, 500), np.full(500, 3.0)])
    scaled = scale_features(raw)
    assert np.sqrt((scaled**2).sum(axis=1)).max() == pytest.approx(1.0)
    assert np.ptp(scaled[:, 0]) == 0.0
    assert np.array_equal(scaled[:, 3], np.zeros(500))


def test_the_oracle_is_least_squares() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 2))
    assert fit_oracle(x, x @ [2.0, -1.0]) == pytest.approx(x @ [2.0, -1.0])


def test_holdout_tells_signal_from_noise() -> None:
    frame = make_frame(4000)
    rounds = make_rows(frame)
    gains = holdout_gains(rounds, rounds.deal(0))
    assert gains.mean() > 5.0 * gains.std() / np.sqrt(gains.size)
    noise = RowRounds(rounds.features, np.random.default_rng(2).normal(size=4000), 5, 0)
    gains = holdout_gains(noise, noise.deal(0))
    assert abs(gains.mean()) < 3.0 * gains.std() / np.sqrt(gains.size)


def test_epoch_policies_play_groups_and_nothing_else() -> None:
    frame = make_frame()
    policies = {
        "crmm": lambda dim: hb.crmm(
            dim=dim, horizon=400, central_moment=1.0, radius_scale=0.1, plays=5
        )
    }
    given: dict[str, Any] = {"features": ["a", "b"], "reward": "y"}
    given |= {"policies": policies, "passes": 2}
    result = replay(frame, **given, protocol="groups", group="kind", horizon=203)
    assert result.data["updates"].tolist() == [40, 40]
    assert (result.data["rounds"] == 203).all()
    with pytest.raises(hb.InvalidInputError, match="use protocol 'groups'"):
        replay(frame, **given)


# ---- results


def test_learning_pays_and_the_summary_says_by_how_much() -> None:
    result = replay(make_frame(3000), features=["a", "b"], reward="y", passes=4, arms_per_round=5)
    summary = {row["policy"]: row for row in summarise(result)}
    assert list(summary) == list(default_policies(3))
    assert summary["linucb adaptive"]["fraction"] > 0.7
    assert summary["auto"]["difference"] == 0.0
    assert summary["auto"]["fraction"] > 0.7
    assert summary["linucb adaptive"]["truncated"] > 0
    difference = result.values("linucb adaptive") - result.values("auto")
    assert summary["linucb adaptive"]["difference"] == pytest.approx(difference.mean())
    assert summarise(result, "linucb clip")[0]["difference"] == pytest.approx(
        (result.values("auto") - result.values("linucb clip")).mean()
    )
    with pytest.raises(KeyError, match="no policy 'x'"):
        result.values("x")
    assert len(result.to_pandas()) == 16
    (axes,) = result.plot().axes
    assert axes.get_xlabel().startswith("share of the oracle")


def test_the_summary_is_a_frame_or_a_list_without_pandas(monkeypatch) -> None:
    result = replay(make_frame(), features=["a", "b"], reward="y", policies=POLICY, passes=2)
    frame = result.summary()
    assert frame["policy"].tolist() == ["plain"]
    assert frame["value"].tolist() == [row["value"] for row in summarise(result)]
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert result.summary() == summarise(result)


def test_a_figure_is_written_or_drawn_in_axes_of_ones_own(tmp_path) -> None:
    from matplotlib.figure import Figure

    frame = make_frame()
    result = replay(frame, features=["a", "b"], reward="y", policies=POLICY, passes=2)
    log = hb.Log({"action": [0, 1] * 50, "reward": frame["y"][:100]}, propensity="uniform")
    made: dict[str, Any] = {"replay": (result, 1), "diagnosis": (hb.diagnose(frame["y"]), 3)}
    made["evaluation"] = hb.evaluate(log, policy={1: 1.0}), 2
    for name, (one, count) in made.items():
        figure = one.plot(tmp_path / f"{name}.png")
        assert len(figure.axes) == count
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000
        own = Figure().subplots(1, count)
        assert one.plot(axes=own) is np.ravel(own)[0].figure
        with pytest.raises(hb.InvalidInputError, match=r"path must end in \.png"):
            one.plot("figure.bmp")


def test_threads_change_nothing_but_the_time() -> None:
    rounds = make_rows(make_frame(500))
    named = make_policies(POLICY, 3)
    one, two = (replay_rounds(rounds, named, passes=5, jobs=jobs) for jobs in (1, 2))
    for column in ("policy", "pass", "value", "fraction", "truncated"):
        assert np.array_equal(one.data[column], two.data[column])
    frame = make_frame()
    given: dict[str, Any] = {"features": ["a", "b"], "reward": "y", "policies": POLICY}
    alone, all_cores = (replay(frame, **given, passes=2, jobs=jobs) for jobs in (1, None))
    assert np.array_equal(alone.data["value"], all_cores.data["value"])
    with pytest.raises(hb.InvalidInputError, match="jobs must be a whole number"):
        replay(frame, **given, jobs=0)


def test_the_unit_of_the_rewards_does_not_matter() -> None:
    frame = make_frame(500)
    cents = frame | {"y": 128.0 * frame["y"]}
    one, two = (
        replay(f, features=["a", "b"], reward="y", policies=POLICY, passes=2)
        for f in (frame, cents)
    )
    assert two.data["fraction"] == pytest.approx(one.data["fraction"])


def test_the_summary_shows_the_spread_and_a_value_without_outliers() -> None:
    frame = make_frame(1000)
    frame["y"][::100] += 1e4
    result = replay(frame, features=["a", "b"], reward="y", policies=POLICY, passes=5)
    (row,) = summarise(result)
    values = result.values("plain")
    assert (row["smallest"], row["largest"]) == (values.min(), values.max())
    assert row["median"] == np.median(values)
    assert row["largest"] > 50.0
    assert abs(row["clipped_value"]) < 0.2 * row["largest"]
    light = replay(make_frame(1000) | {"y": np.ones(1000)}, features=["a"], reward="y", passes=1)
    assert light.data["clipped_value"].tolist() == light.data["value"].tolist()


def test_progress_is_shown_when_asked_for(capsys) -> None:
    given: dict[str, Any] = {"features": ["a", "b"], "reward": "y", "policies": POLICY, "passes": 2}
    replay(make_frame(), **given)
    assert capsys.readouterr().err == ""
    replay(make_frame(), **given, progress=True)
    assert "100.0%" in capsys.readouterr().err


def test_the_interval_of_a_difference_holds_it_and_one_order_bounds_nothing() -> None:
    given: dict[str, Any] = {"features": ["a", "b"], "reward": "y", "arms_per_round": 5}
    *_, adaptive = summarise(replay(make_frame(1000), **given, passes=8))
    assert adaptive["low"] < adaptive["difference"] < adaptive["high"]
    *_, adaptive = summarise(replay(make_frame(1000), **given, passes=1))
    assert (adaptive["low"], adaptive["high"]) == (-np.inf, np.inf)


# ---- errors


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"protocol": "weeks"}, "protocol must be one of rows, rounds, groups"),
        ({"features": []}, "features must be a list of columns"),
        ({"features": "a"}, "features must be a list of columns"),
        ({"features": 1.0}, "features must be a list of columns"),
        ({"features": ["z"]}, "must be one of the columns a, b, y"),
        ({"protocol": "rounds"}, "group must name a column"),
        ({"protocol": "rounds", "group": "z"}, "group must be one of the columns"),
        ({"arms_per_round": 1}, "arms_per_round must be a whole number >= 2"),
        ({"arms_per_round": 300}, "arms_per_round must leave two rounds"),
        ({"passes": 0}, "passes must be a whole number"),
        ({"reward_scale": 0.0}, "reward_scale must be positive"),
        (
            {"policies": hb.linucb(dim=9)},
            "dim must be 3, the number of features and intercept, got 9",
        ),
        ({"policies": 3}, "must be a policy"),
    ],
)
def test_errors_name_the_argument(given: dict[str, Any], words: str) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        replay(make_frame(), **({"features": ["a", "b"], "reward": "y"} | given))


# ---- commands


@pytest.fixture
def commands():
    from heavybandits.cli.app import cli

    return lambda *words: CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def orders_csv(tmp_path):
    frame = make_frame(600)
    lines = [",".join(frame)] + [
        ",".join(map(str, row)) for row in zip(*frame.values(), strict=True)
    ]
    path = tmp_path / "orders.csv"
    path.write_text("\n".join(lines))
    return path


def test_the_commands_print_tables_json_and_pictures(commands, orders_csv, tmp_path) -> None:
    given = [orders_csv, "--reward", "y", "--features", "a,b"]
    words = commands("diagnose", *given, "--plot", tmp_path / "page.png")
    assert words.exit_code == 0, words.output
    assert "Verdict" in words.stdout
    assert (tmp_path / "page.png").stat().st_size > 10_000
    assert json.loads(commands("diagnose", *given, "--json").stdout)["rows"] == 600
    table = commands("replay", *given, "--passes", 2, "--arms", 5)
    assert table.exit_code == 0, table.output
    assert table.stdout.split()[:2] == ["policy", "value"]
    rows = json.loads(commands("replay", *given, "--passes", 2, "--arms", 5, "--json").stdout)
    assert len(rows) == 4


def test_the_commands_fail_with_exit_code_2(commands, orders_csv, tmp_path) -> None:
    for words, message in [
        (["diagnose", orders_csv], "must be one of the columns a, b, y, day, kind; got 'reward'"),
        (["diagnose", orders_csv, "--reward", "z"], "got 'z'"),
        (["diagnose", tmp_path / "no.csv", "--reward", "y"], "exists"),
        (["replay", orders_csv, "--reward", "y"], "features must be a list"),
        (
            ["diagnose", orders_csv, "--reward", "y", "--plot", "/nowhere/x.png"],
            "cannot be written",
        ),
    ]:
        result = commands(*words)
        assert result.exit_code == 2
        assert message in result.output


def test_a_result_of_rows() -> None:
    rows = [
        {"policy": p, "pass": 0, "value": v, "random": 0.0} for p, v in (("a", 1.0), ("b", 3.0))
    ]
    made = ReplayResult.from_rows(rows)
    assert [row["difference"] for row in summarise(made)] == [0.0, 2.0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"group": "day"}, "group is for protocol 'rounds' or 'groups', not 'rows'"),
        ({"horizon": 20}, "horizon is for protocol 'groups', not 'rows'"),
        ({"protocol": "rounds", "group": "day", "arms_per_round": 3}, "for protocol 'rows', not"),
    ],
)
def test_what_a_protocol_would_not_look_at_raises_an_error(given: Any, words: str):
    frame = {"x": [1.0, 2.0] * 20, "reward": [0.0, 1.0] * 20, "day": [0, 0, 1, 1] * 10}
    with pytest.raises(hb.InvalidInputError, match=words):
        replay(frame, features=["x"], **given)


def test_a_missing_group_raises_an_error_or_left_out():
    groups = ["a", "b", "c", float("nan")] * 10
    frame = {"x": np.arange(40.0), "reward": np.ones(40), "group": groups}
    given: dict[str, Any] = {"protocol": "groups", "group": "group", "passes": 1}
    with pytest.raises(
        hb.InvalidInputError, match="column 'group' must have no missing values, got 10"
    ):
        replay(frame, features=["x"], **given)
    assert len(replay(hb.Log(frame, features=["x"], drop_missing=True), **given)) == 4


def test_a_policy_without_room_for_the_rounds_raises_an_error():
    frame = {"x": np.arange(100.0), "reward": np.ones(100)}
    short = hb.tofu(dim=2, horizon=5, raw_moment=1.0)
    with pytest.raises(hb.InvalidInputError, match="room for 5 decisions, but 10 are asked for"):
        replay(frame, features=["x"], policies=short, passes=1)
