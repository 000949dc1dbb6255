"""Evaluation: the means, the terms, logs in all their words, errors, the command."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits._utils.statistics import Estimate
from heavybandits.cli.app import cli
from heavybandits.offline.evaluate.carriers import centre_rewards, count_carriers, find_reasons
from heavybandits.offline.evaluate.estimators import Terms, normalise
from heavybandits.offline.evaluate.known_moment import (
    bound_weight_moment,
    bounded_mean,
    soft_constant,
    soften,
)
from heavybandits.offline.evaluate.means import (
    AGGREGATES,
    Sizes,
    clipped_mean,
    mean_interval,
    plain_mean,
)
from heavybandits.offline.evaluate.result import describe_weights

ACTIONS = ("call", "mail", "wait")


def make_log(rows: int = 1500, seed: int = 0, noise: float = 3.0) -> dict[str, Any]:
    """A log of text actions, skewed propensities, one offer that is not always there."""
    rng = np.random.default_rng(seed)
    age, visits = rng.uniform(18.0, 80.0, rows), rng.poisson(3.0, rows).astype(float)
    there = np.ones((rows, 3), bool)
    there[:, 0] = rng.random(rows) < 0.7
    chance = np.where(there, [0.2, 0.7, 0.1], 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    place = (chance.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    taken = np.array(ACTIONS)[place]
    lists = ["|".join(np.array(ACTIONS)[on]) for on in there]
    paid = np.array([2.0, 1.0, 0.0])[place] * visits / 3.0 + rng.standard_t(noise, rows)
    return {
        "age": age,
        "visits": visits,
        "action": taken,
        "reward": paid,
        "propensity": chance[np.arange(rows), place],
        "there": lists,
    }


COLUMNS: dict[str, Any] = {"features": ["age", "visits"], "available": "there"}
NAMES = {column.name for column in fields(hb.Log)}


def evaluate(data: Any, policy: Any, **given: Any) -> hb.Evaluation:
    """Evaluate on the log with these columns."""
    columns = {name: given.pop(name) for name in list(given) if name in NAMES}
    return hb.evaluate(hb.Log(data, **columns), policy=policy, **given)


def call_if_possible(row: dict[str, Any]) -> str:
    return "call" if "call" in row["available"] else "mail"


# ---- means


@pytest.mark.parametrize("average", AGGREGATES.values())
def test_every_mean_and_its_interval_move_and_scale_with_the_numbers(average) -> None:
    def found(numbers: Any) -> Any:
        low, high = mean_interval(numbers, 0.05)
        return np.array([average(numbers, 0.05), low, high])

    numbers = np.random.default_rng(1).standard_t(2.0, 501)
    one = found(numbers)
    assert one[1] <= one[0] <= one[2]
    assert found(100.0 * numbers) == pytest.approx(100.0 * one)
    assert found(numbers + 7.0) == pytest.approx(one + 7.0)
    assert found(-numbers) == pytest.approx(-one[[0, 2, 1]])


def test_one_monster_moves_the_plain_mean_and_not_the_clipped_one() -> None:
    hit = np.r_[np.random.default_rng(2).normal(size=1000), 1e6]
    assert plain_mean(hit, 0.05) > 900.0
    assert abs(clipped_mean(hit, 0.05)) < 1.0


def test_a_threshold_is_the_root_it_says_it_is() -> None:
    away = np.random.default_rng(3).standard_cauchy(777)
    for weight in (2.0, 10.0, 77.0):
        threshold = Sizes.of(away).threshold(weight)
        assert np.minimum(away**2 / threshold**2, 1.0).sum() == pytest.approx(weight)


def test_the_same_number_over_and_over_has_that_mean() -> None:
    for average in AGGREGATES.values():
        assert average(np.full(50, 3.0), 0.05) == pytest.approx(3.0)
        assert average(np.zeros(50), 0.05) == 0.0
    assert mean_interval(np.full(50, 3.0), 0.05) == (3.0, 3.0)


def test_skewed_numbers_are_not_clipped_tightly_and_balanced_ones_are() -> None:
    rng = np.random.default_rng(4)
    samples = rng.standard_t(1.5, (100, 2000))
    balanced = [clipped_mean(sample, 0.05) for sample in samples]
    assert np.std(balanced) < 0.5 * np.std(samples.mean(axis=1))
    skewed = [clipped_mean(rng.pareto(2.5, 2000), 0.05) for _ in range(50)]
    assert abs(np.mean(skewed) - 1.0 / 1.5) < 0.05


def test_an_interval_is_longer_on_the_side_of_the_longer_tail() -> None:
    """Student's interval of 20 refunds misses three times as often below as above."""
    values = np.r_[np.full(20, -1.0), np.zeros(2000)]
    low, high = mean_interval(values, 0.05)
    mean = values.mean()
    half = 2.39 * values.std() / np.sqrt(values.size)
    assert mean - low > 1.1 * half
    assert high - mean >= 0.99 * half


# ---- a known moment


def softest(order: float) -> float:
    x = np.exp(np.linspace(-12.0, 12.0, 200_001))
    return float(np.max((np.sqrt(1.0 + x * x) - 1.0) / x**order))


@pytest.mark.parametrize("order", [1.05, 1.3, 1.5, 1.9, 2.0])
def test_the_constant_of_the_soft_mean_is_the_smallest(order: float) -> None:
    assert soft_constant(order) == pytest.approx(softest(order), rel=1e-3)
    x = np.linspace(-50.0, 50.0, 20_001)
    soft, rest = soften(x, order), soft_constant(order) * np.abs(x) ** order
    assert np.all(soft <= np.log(1.0 + x + rest) + 1e-12)
    assert np.all(soft >= -np.log(1.0 - x + rest) - 1e-12)


REFUND = (lambda rng, n: rng.normal(size=n) - 1e4 * (rng.random(n) < 0.002), -20.0, 200_001.0, 1.0)
SALE = (
    lambda rng, n: (rng.random(n) < 0.03) * rng.lognormal(3.0, 1.0, n),
    0.03 * np.exp(3.5),
    0.03 * np.exp(8.0),
    1.0,
)
PARETO = (lambda rng, n: 1.0 + rng.pareto(1.5, n), 3.0, 1.5 / 0.2, 0.3)


@pytest.mark.parametrize(("draw", "mean", "moment", "epsilon"), [REFUND, SALE, PARETO])
@pytest.mark.parametrize("rows", [20, 300])
def test_both_ends_of_a_known_moment_hold(draw, mean, moment, epsilon, rows) -> None:
    """With a true moment the interval missed in 28% of the logs with refunds."""
    rng, known = np.random.default_rng(5), {"raw_moment": moment, "epsilon": epsilon}
    for _ in range(100):
        propensities = rng.choice([0.05, 0.5], rows)
        weights = (rng.random(rows) < propensities) / propensities
        if not weights.any():
            continue
        rewards = draw(rng, rows)
        found = bounded_mean(rewards, weights, **known, delta=0.05)
        assert found.low <= mean <= found.high
        less = bounded_mean(rewards, weights - 1.0, **known, delta=0.05, mean_weight=2.0)
        assert less.low <= 0.0 <= less.high


def test_a_moment_that_is_just_true_is_not_wasted() -> None:
    """The interval is at most 2.5 times as wide as sqrt(2 ln(2 / delta) E(w r)^2 / n)."""
    rng = np.random.default_rng(6)
    rewards = rng.choice([-1.0, 1.0], 20_000)
    for share in (1.0, 0.5, 0.1):
        weights = (rng.random(20_000) < share) / share
        found = bounded_mean(rewards, weights, raw_moment=1.0, epsilon=1.0, delta=0.05)
        best = np.sqrt(2.0 * np.log(40.0) / share / 20_000)
        assert best < (found.high - found.low) / 2.0 < 1.35 * best


def test_the_bound_of_the_weights_holds() -> None:
    rng, missed = np.random.default_rng(7), 0
    for _ in range(300):
        weights = rng.choice([0.0, 1.0, 20.0], 200, p=[0.475, 0.5, 0.025])
        weights[0] = 20.0  # the largest weight is known
        bound = bound_weight_moment(weights, 2.0, 1.0, 0.05)
        assert bound <= 20.0
        missed += bound < 0.5 + 0.025 * 400.0
    assert missed <= 15


def test_a_moment_belongs_to_ips() -> None:
    log = make_log(300)
    known = evaluate(log, {"mail": 1.0}, **COLUMNS, raw_moment=50.0)
    assert known.settings["estimator"] == "ips"
    for given in ({"estimator": "dr"}, {"estimator": "snips"}, {"aggregate": "clipped"}):
        with pytest.raises(hb.InvalidInputError, match="raw_moment must be left out, or"):
            evaluate(log, {"mail": 1.0}, **COLUMNS, raw_moment=50.0, **given)


# ---- the rows that carry the mean


def draw_log(draw: Any, rows: int, rng: Any, share: float = 0.3) -> dict[str, Any]:
    """A log of two actions with the same rewards."""
    taken = (rng.random(rows) < share).astype(int)
    return {
        "action": taken,
        "reward": draw(rng, rows),
        "propensity": np.where(taken == 1, share, 1.0 - share),
    }


@pytest.mark.parametrize(("law", "rows"), [(REFUND, 2000), (SALE, 300)])
def test_no_interval_if_few_rows_carry_the_mean(law: Any, rows: int) -> None:
    """The default held in 10 to 50% of these logs, and said nothing."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        log = draw_log(law[0], rows, rng)
        if np.abs(log["reward"]).max() < 5.0:
            continue  # no log without a refund shows that there are refunds
        found = evaluate(log, {1: 1.0})
        assert (found.low, found.high) == (-np.inf, np.inf)
        assert found.reasons
        assert found.value == pytest.approx(found.terms.mean())
        assert "no interval" in str(found)
        assert "raw_moment" in str(found)


def test_rare_rewards_of_other_actions_count() -> None:
    """The rows of the policy have no refund, and the other rows have six."""
    log = draw_log(lambda rng, n: rng.normal(size=n), 3000, np.random.default_rng(9))
    fine = evaluate(log, {1: 1.0})
    assert fine.reasons == []
    log["reward"][np.flatnonzero(log["action"] == 0)[:6]] = -1000.0
    found = evaluate(log, {1: 1.0})
    assert found.diagnostics.carriers == pytest.approx(fine.diagnostics.carriers)
    assert "may lack large rewards by chance" in found.reasons[0]


@pytest.mark.parametrize("k", [3, 19, 21, 60])
def test_carriers_of_k_equal_rewards_are_k(k: int) -> None:
    values = np.zeros(1000)
    values[:k] = -7.0
    assert count_carriers(values) == pytest.approx(k)
    assert bool(find_reasons(np.ones(1000), values, 0.05)) == (k < 20)
    assert find_reasons(np.ones(1000), values, 0.001) or k == 60


@pytest.mark.parametrize("estimator", ["dr", "ips", "snips"])
def test_the_log_itself_and_the_difference(estimator: str) -> None:
    log = make_log(2000)
    found = evaluate(log, {"mail": 1.0}, **COLUMNS, estimator=estimator)
    assert found.logged.value == pytest.approx(log["reward"].mean())
    assert found.logged.low < found.logged.value < found.logged.high
    assert found.difference.value == pytest.approx(found.value - found.logged.value)
    both = found.high - found.low + found.logged.high - found.logged.low
    assert found.difference.high - found.difference.low < both
    clipped = evaluate(log, {"mail": 1.0}, **COLUMNS, estimator=estimator, aggregate="clipped")
    assert clipped.logged.value == pytest.approx(clipped_mean(log["reward"], 0.05))
    assert (clipped.logged.low, clipped.logged.high) == found.logged[1:]


def test_a_policy_equal_to_that_of_the_log_differs_by_nothing() -> None:
    log = draw_log(lambda rng, n: rng.normal(size=n), 500, np.random.default_rng(10))
    for given in ({"estimator": "ips"}, {"raw_moment": 2.0}):
        found = evaluate(log, {0: 0.7, 1: 0.3}, **given)
        assert found.difference == Estimate(0.0, 0.0, 0.0)


def test_a_result_is_valid_json() -> None:
    for draw in (lambda rng, n: np.ones(n), REFUND[0], lambda rng, n: rng.normal(size=n)):
        found = evaluate(draw_log(draw, 300, np.random.default_rng(11)), {1: 1.0})
        made = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert (made["low"] is None) == bool(found.reasons)


@pytest.mark.parametrize("delta", [0.0, 1e-17, 1.0, float("nan")])
def test_delta_has_digits(delta: float) -> None:
    with pytest.raises(hb.InvalidInputError, match="delta must"):
        evaluate(make_log(50), {"mail": 1.0}, **COLUMNS, delta=delta)


def test_a_policy_that_never_agrees_with_the_log_raises_an_error() -> None:
    """It was worth 0, from 0 to 0."""
    log = draw_log(lambda rng, n: rng.normal(size=n), 100, np.random.default_rng(12))
    never = log | {"rule": 1 - log["action"]}
    for given in ({}, {"estimator": "ips"}, {"estimator": "snips"}, {"raw_moment": 2.0}):
        with pytest.raises(hb.InvalidInputError, match="in some row, and does in none"):
            evaluate(never, "rule", **given)


# ---- terms


def test_plain_terms_are_the_textbook() -> None:
    log = make_log()
    shares = {"mail": 0.6, "wait": 0.4}
    target = np.where(log["action"] == "call", 0.0, np.where(log["action"] == "mail", 0.6, 0.4))
    weights = target / log["propensity"]
    ips = evaluate(log, shares, **COLUMNS, estimator="ips", aggregate="mean")
    snips = evaluate(log, shares, **COLUMNS, estimator="snips", aggregate="mean")
    assert ips.value == pytest.approx(np.mean(weights * log["reward"]))
    assert snips.value == pytest.approx(np.sum(weights * log["reward"]) / weights.sum())
    assert ips.diagnostics.effective_sample_size == pytest.approx(
        weights.sum() ** 2 / np.sum(weights**2)
    )


def test_a_doubly_robust_estimate_varies_less_and_means_the_same() -> None:
    found: dict[str, list[float]] = {"ips": [], "dr": []}
    for seed in range(12):
        for name, values in found.items():
            made = evaluate(
                make_log(800, seed, 30.0),
                call_if_possible,
                **COLUMNS,
                estimator=name,
                aggregate="mean",
            )
            values.append(made.value)
    truth = 0.7 * 2.0 + 0.3 * 1.0
    assert np.std(found["dr"]) < np.std(found["ips"])
    assert np.mean(found["dr"]) == pytest.approx(truth, abs=0.1)


def test_the_model_has_not_seen_the_row_it_judges() -> None:
    log = make_log(400)
    before = evaluate(log, call_if_possible, **COLUMNS)
    row = int(np.flatnonzero(log["action"] == "wait")[0])  # never chosen: it can only teach
    expected = before.terms[row]
    log["reward"][row] += 1000.0
    after = evaluate(log, call_if_possible, **COLUMNS)
    assert after.terms[row] == expected
    assert not np.array_equal(after.terms, before.terms)


def test_self_normalised_terms_do_not_mind_a_constant_in_the_weights() -> None:
    rng = np.random.default_rng(6)
    weights, rewards, none = rng.exponential(1.0, 500), rng.standard_t(2, 500), np.zeros(500)
    one = normalise(Terms(none, weights, rewards, none), "clipped", 0.05).total
    two = normalise(Terms(none, 3.0 * weights, rewards, none), "clipped", 0.05).total
    assert one == pytest.approx(two)


# ---- logs and policies in all their words


def test_a_policy_may_come_as_function_column_shares_or_array() -> None:
    log = make_log()
    chosen = np.array([call_if_possible({"available": o.split("|")}) for o in log["there"]])
    array = (chosen[:, None] == np.array(ACTIONS)).astype(float)
    one = evaluate(log, call_if_possible, **COLUMNS)
    for other in (array, lambda row: {call_if_possible(row): 1.0}):
        assert evaluate(log, other, **COLUMNS).to_dict() == one.to_dict()
    assert evaluate(log | {"rule": chosen}, "rule", **COLUMNS).to_dict() == one.to_dict()
    shares = evaluate(log, {"call": 1.0, "mail": 1e-9}, **COLUMNS)
    assert shares.value == pytest.approx(one.value)


def test_a_policy_part_learns_the_other_rows_and_is_judged_on_these() -> None:
    log = make_log(1200)
    policy = hb.linucb(dim=9, radius=0.1, filter=hb.filters.AdaptiveClip())
    found = evaluate(log, policy, **COLUMNS)
    assert found.value > evaluate(log, {"mail": 1.0}, **COLUMNS).high
    assert found.diagnostics.overlap < 0.5


def test_open_bandit_pipelines_dictionary_is_the_same_log() -> None:
    log = make_log()
    places = np.array([ACTIONS.index(name) for name in log["action"]])
    feedback = {
        "n_rounds": 1500,
        "n_actions": 3,
        "context": np.column_stack([log["age"], log["visits"]]),
        "action": places,
        "reward": log["reward"],
        "pscore": log["propensity"],
        "position": None,
    }
    shares = np.tile([0.0, 0.5, 0.5], (1500, 1))
    one = evaluate(log, {"mail": 0.5, "wait": 0.5}, features=["age", "visits"])
    two = evaluate(feedback, shares[:, :, None])
    assert one.value == two.value


def test_a_uniform_log_with_offers_that_come_and_go() -> None:
    rng = np.random.default_rng(7)
    lists = [["a", "b"] if on else ["a", "b", "c", "d"] for on in rng.random(300) < 0.5]
    log = {"action": [rng.choice(names) for names in lists], "reward": np.ones(300)}
    found = evaluate(
        log | {"there": lists}, {"a": 1.0}, available="there", propensity="uniform", estimator="ips"
    )
    taken = np.array(log["action"]) == "a"
    sizes = np.array([len(names) for names in lists])
    assert found.diagnostics.mean_weight == pytest.approx(np.mean(taken * sizes))
    assert found.diagnostics.smallest_propensity == 0.25


def test_rows_that_are_left_out_are_counted() -> None:
    log = make_log(100)
    log["age"][3] = np.nan
    with pytest.raises(hb.InvalidInputError, match="'age' must have no missing values"):
        evaluate(log, {"mail": 1.0}, **COLUMNS)
    found = evaluate(log, {"mail": 1.0}, **COLUMNS, drop_missing=True)
    assert found.diagnostics.rows == 99
    assert "1 rows with a missing value were left out" in str(found)


# ---- warnings


def test_warnings_name_what_is_wrong() -> None:
    log = make_log(2000)
    assert evaluate(log, {"mail": 1.0}, **COLUMNS).warnings == []
    wrong = log | {"propensity": log["propensity"] / 2.0}
    assert "weights have mean 2" in str(evaluate(wrong, {"mail": 1.0}, **COLUMNS))
    rare = evaluate(make_log(300), {"wait": 1.0}, **COLUMNS)
    assert "of 300 rows: the log rarely contains" in str(rare)
    heavy = make_log(2000, noise=1.1)
    assert "rows carry the estimate" in evaluate(heavy, {"mail": 1.0}, **COLUMNS).reasons[0]
    known = evaluate(heavy, {"mail": 1.0}, **COLUMNS, raw_moment=50.0, epsilon=0.05)
    assert known.reasons == []
    assert 0.0 < known.high - known.low < np.inf


def test_ten_rows_that_carry_everything_are_seen() -> None:
    log = make_log(2000)
    log["reward"][:10] = 1e5
    assert "10 of 2000 rows carry" in str(evaluate(log, {"mail": 0.9, "call": 0.1}, **COLUMNS))


@pytest.mark.parametrize(
    ("change", "policy", "given", "words"),
    [
        ({}, {"mail": 1.0}, {"propensity": "p"}, "propensity='uniform'"),
        (
            {"propensity": np.zeros(50)},
            {"mail": 1.0},
            {},
            r"propensity must be in \(0, 1\], got 0",
        ),
        ({}, {"fax": 1.0}, {}, "must name actions of the log.*got 'fax'"),
        ({}, lambda row: "call", {}, "policy must choose an available action, got 'call' in row"),
        ({}, np.ones((50, 3)), {}, "add up to one"),
        ({}, np.ones((50, 2)), {}, r"policy must have shape \(50, 3\)"),
        ({}, hb.linucb(dim=4), {}, "policy must have dim 9"),
        ({}, {"mail": 1.0}, {"model": hb.linucb(dim=4)}, "model must have dim 3"),
        (
            {},
            {"mail": 1.0},
            {"estimator": "magic"},
            "estimator must be one of dr, ips, snips, rejection",
        ),
        ({}, {"mail": 1.0}, {"aggregate": "mode"}, "aggregate must be one of mean, clipped"),
        ({}, {"mail": 1.0}, {"folds": 1}, "folds must be a whole number >= 2"),
        ({}, {"mail": 1.0}, {"raw_moment": -1.0}, "raw_moment must be positive"),
        ({}, {"call": 1.0}, {}, "must have a probability for some available action"),
        ({"there": ["mail"] * 50}, {"mail": 1.0}, {}, "available must contain the action taken"),
        ({"there": [3] * 50}, {"mail": 1.0}, {}, "available must contain lists of names"),
        ({"action": [""] * 50}, {"mail": 1.0}, {}, "column 'action' must have no missing values"),
        ({}, {"mail": 1.0}, {"features": "age"}, "features must be a list"),
        ({}, "rule", {}, "policy must be one of the columns"),
        ({}, lambda row: ["mail"], {}, r"must name actions of the log.*got \['mail'\]"),
        ({}, lambda row: np.array([1.0, 0.0]), {}, "must name actions of the log"),
        ({"rule": [["mail"]] * 50}, "rule", {}, r"must name actions of the log.*got \['mail'\]"),
        ({}, [[1.0], [0.0, 1.0]], {}, "policy must be an array of numbers"),
        (
            {"propensity": np.full(50, 1e-310)},
            {"mail": 1.0},
            {},
            r"propensity must be in \(0, 1\], got 1e-310 in row 0 \(the smallest",
        ),
        (
            {"available": np.ones(50)},
            call_if_possible,
            {"features": ["available"]},
            "features must not have a column called 'available'",
        ),
    ],
)
def test_errors_name_the_argument(change, policy, given, words) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        evaluate(make_log(50) | change, policy, **(COLUMNS | given))


def test_too_few_rows_raise_an_error() -> None:
    with pytest.raises(hb.InvalidInputError, match="data must have at least 20 rows, got 10"):
        evaluate(make_log(10), {"mail": 1.0}, **COLUMNS)


# ---- the command, and the picture


def test_the_command_prints_what_the_function_finds(tmp_path) -> None:
    from heavybandits.cli.app import cli

    log = make_log(300)
    path = tmp_path / "log.csv"
    lines = [",".join(map(str, row)) for row in zip(*log.values(), strict=True)]
    path.write_text("\n".join([",".join(log), *lines]))

    def run(*words: Any) -> Any:
        return CliRunner().invoke(cli, ["evaluate", str(path), *map(str, words)])

    given = ["--features", "age,visits", "--available", "there"]
    one = run("--probabilities", "mail=1", *given, "--plot", tmp_path / "value.png", "--json")
    assert one.exit_code == 0, one.output
    found = evaluate(log, {"mail": 1.0}, **COLUMNS)
    assert json.loads(one.stdout)["value"] == pytest.approx(found.value)
    assert (tmp_path / "value.png").stat().st_size > 10_000
    assert "effective sample size" in run("--policy-column", "action", *given).stdout
    for words in (
        ["--probabilities", "mail"],
        [],
        ["--probabilities", "mail=1", "--policy-column", "action"],
    ):
        assert run(*words).exit_code == 2


def test_diagnostics_of_a_log_that_agrees_with_the_policy_are_those_of_its_rows() -> None:
    log = hb.Log({"action": ["a"] * 100, "reward": np.ones(100), "propensity": np.ones(100)})
    none, one = np.zeros(100), np.ones(100)
    terms = Terms(none, one, one, none)
    made = describe_weights(
        log.decisions, terms.weights, terms.total, centre_rewards(log.decisions)
    )
    assert (made.carriers, made.expected_carriers) == (0.0, 0.0)
    assert (made.effective_sample_size, made.overlap) == (100.0, 1.0)
    assert (made.mean_weight, made.largest_weight) == (1.0, 1.0)
    assert made.top_share == pytest.approx(0.1)


# ---- the experiment


def made_rows(law: str, method: str, errors: Any, half: float) -> list[dict[str, Any]]:
    """Rows of an experiment with these errors and intervals of this half-width."""
    named = {"law": law, "rows": 100, "truth": 1.0, "method": method}
    ends = [(1.0 + e, 1.0 + e - half, 1.0 + e + half) for e in map(float, errors)]
    return [
        named | {"run": run, "value": value, "low": low, "high": high}
        for run, (value, low, high) in enumerate(ends)
    ]


def test_verdicts_say_whose_intervals_hold_and_whose_errors_are_smaller() -> None:
    from heavybandits.experiments.evaluation import analyse, settings

    errors = np.random.default_rng(0).normal(size=200)
    rows = made_rows("t1.5", settings.PLAIN, errors, 0.5)
    for method in (settings.OURS, settings.CLIPPED, settings.BOUNDED):
        rows += made_rows("t1.5", method, 0.01 * errors, 0.5)
    found = analyse(rows)
    outcomes = {verdict.claim: verdict.outcome for verdict in found.verdicts}
    assert list(outcomes.values()) == ["holds", "holds", "holds", "does not hold"]
    (plain,) = (row for row in found.tables[0].rows if row["method"] == settings.PLAIN)
    assert plain["root mean squared error"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert plain["error from"] < plain["root mean squared error"] < plain["error to"]
    assert plain["largest run's share"] == pytest.approx(np.max(errors**2) / np.sum(errors**2))
    assert plain["coverage"] == pytest.approx(np.mean(np.abs(errors) <= 0.5))
    assert plain["with interval"] == 1.0


def test_coverage_counts_the_runs_with_an_interval() -> None:
    from heavybandits.experiments.evaluation import analyse, settings

    errors = np.random.default_rng(0).normal(size=50)
    rows = made_rows("t1.5", settings.PLAIN, errors, 0.5)
    for method in (settings.CLIPPED, settings.BOUNDED):
        rows += made_rows("t1.5", method, errors, 9.0)
    none = made_rows("t1.5", settings.OURS, errors, np.inf)
    (ours,) = (row for row in analyse(rows + none).tables[0].rows if row["method"] == settings.OURS)
    assert ours["with interval"] == 0.0
    assert not any(v.claim.startswith(f"{settings.OURS}: ") for v in analyse(rows + none).verdicts)


def test_the_world_of_the_experiment_knows_its_truth() -> None:
    from heavybandits.experiments.evaluation.logs import make_log, make_world
    from heavybandits.noises import Gaussian

    log, shares = make_log(Gaussian(0.1), 20_000, np.random.default_rng(1))
    weights = shares[np.arange(20_000), log.taken] / log.propensities
    error = np.std(weights * log.rewards) / np.sqrt(20_000)
    assert abs(np.mean(weights * log.rewards) - make_world().truth) < 4.0 * error
    assert log.propensities.min() >= 0.02


# ---- gaps, shapes, and few rows that pay


def test_a_missing_action_raises_an_error_or_left_out_and_no_action_called_nan():
    log = make_log(300)
    log["action"] = [float("nan") if row == 7 else name for row, name in enumerate(log["action"])]
    with pytest.raises(
        hb.InvalidInputError, match="column 'action' must have no missing values, got 1"
    ):
        evaluate(log, call_if_possible, **COLUMNS)
    found = evaluate(log, call_if_possible, **COLUMNS, drop_missing=True)
    assert found.to_dict()["dropped"] == 1


def test_a_column_with_two_numbers_per_row_raises_an_error():
    log = make_log(300) | {"age": np.ones((300, 2))}
    with pytest.raises(hb.InvalidInputError, match=r"'age' must have a value per row, got shape"):
        evaluate(log, call_if_possible, **COLUMNS)


def test_columns_of_unequal_length_raise_an_error():
    log = make_log(300)
    log["reward"] = log["reward"][:-1]
    with pytest.raises(hb.InvalidInputError, match="as many rows as each other"):
        evaluate(log, call_if_possible, **COLUMNS)


def test_offers_in_text_may_name_numbers():
    log = {"action": [0, 1] * 50, "reward": [1.0, 2.0] * 50, "there": ["0|1"] * 100}
    found = evaluate(log, lambda row: 1, available="there", propensity="uniform")
    assert found.value == pytest.approx(2.0, abs=0.3)


def test_a_policy_without_room_for_the_log_raises_an_error():
    log = make_log(100)
    short = hb.tofu(dim=9, horizon=5, raw_moment=1.0)
    with pytest.raises(hb.InvalidInputError, match="room for 5 decisions"):
        evaluate(log, short, **COLUMNS)


@pytest.mark.parametrize("average", AGGREGATES.values())
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e160])
def test_a_mean_does_not_depend_on_the_unit(average: Any, unit: float) -> None:
    values = np.random.default_rng(0).standard_t(3.0, 400) + 2.0
    one = [average(values, 0.05), *mean_interval(values, 0.05)]
    other = [average(unit * values, 0.05), *mean_interval(unit * values, 0.05)]
    assert np.allclose(np.array(other) / unit, one, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("estimator", ["dr", "ips", "snips"])
@pytest.mark.parametrize("size", [1e155, 1e200, 1.7e308])
def test_one_monstrous_reward_is_clipped(estimator: str, size: float) -> None:
    rng = np.random.default_rng(0)
    taken = rng.choice(2, 2000)
    paid = (taken == 1) + rng.standard_t(3.0, 2000)
    paid[np.flatnonzero(taken == 1)[0]] = size
    log = {"action": taken, "reward": paid}
    given: dict[str, Any] = {"propensity": "uniform", "estimator": estimator}
    found = evaluate(log, {1: 1.0}, **given, aggregate="clipped")
    assert 0.8 < found.value < 1.2
    assert found.reasons
    assert evaluate(log, {1: 1.0}, **given).value > size / 1e4
    every = log | {"reward": np.where(paid > 0.0, size, -size)}
    assert np.isfinite(evaluate(every, {1: 1.0}, **given).value)


def test_the_log_of_an_agent_has_the_features_of_all_its_arms(tmp_path: Any) -> None:
    """Those of the arm played alone would tell which arm it was, and a model would use that."""
    rng, arms = np.random.default_rng(0), np.eye(2)
    policy = hb.policies.EpsilonGreedy(hb.linucb(dim=2, radius=1.0), epsilon=0.5)
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        for _ in range(10):
            tickets = agent.select_many(np.tile(arms, (200, 1, 1)))
            agent.update_many([(t, 3.0 * t.arm + 0.1 * rng.normal()) for t in tickets])
        log = agent.feedback()
    for arm, value in enumerate((0.0, 3.0)):
        found = hb.evaluate(log, policy={arm: 1.0})
        assert found.low < value < found.high
        assert found.high - found.low < 0.2


def test_shares_that_do_not_add_up_raise_an_error(tmp_path: Any) -> None:
    log = make_log()
    with pytest.raises(hb.InvalidInputError, match=r"add up to one, got 0\.9"):
        evaluate(log, {"call": 0.7, "mail": 0.2})
    path = tmp_path / "log.csv"
    path.write_text("action,reward,propensity\n" + "call,1.0,0.5\nmail,2.0,0.5\n" * 20)
    words = ["evaluate", str(path), "--probabilities", "call=1", "--epsilon", "0.3"]
    told = CliRunner().invoke(cli, words)
    assert told.exit_code != 0
    assert "--epsilon needs --raw-moment" in told.output


# ---- what users met


def test_an_agents_offers_are_evaluated_by_their_names(tmp_path):
    """Places change when an offer is left out; names do not."""
    worth, rng = {"a": 0.0, "b": 5.0, "c": 10.0}, np.random.default_rng(0)
    encoder = hb.Encoder(
        action_columns=[hb.features.Category("kind", list(worth))], interactions="none"
    )
    policy = hb.policies.EpsilonGreedy(hb.linucb(dim=encoder.dim, radius=0.5), epsilon=0.9, seed=1)
    with hb.Agent(policy, encoder=encoder, ledger=tmp_path / "shop.db") as agent:
        for play in range(400):
            there = [name for name in worth if play % 2 or name != "a"]
            ticket = agent.select(actions={name: {"kind": name} for name in there})
            agent.update(ticket, worth[str(ticket.action)] + 0.1 * rng.normal())
        feedback = agent.feedback()
    found = hb.evaluate(feedback, policy={"c": 1.0}, estimator="snips")
    assert found.low < 10.0 < found.high
    assert found.high - found.low < 1.0
    with pytest.raises(hb.InvalidInputError, match="'a', 'b', 'c'"):
        hb.evaluate(feedback, policy={1: 1.0})


def test_clicks_have_an_interval():
    rng = np.random.default_rng(0)
    taken, clicks = rng.integers(0, 2, 5000), (rng.random(5000) < 0.02) * 1.0
    found = evaluate({"action": taken, "reward": clicks, "propensity": [0.5] * 5000}, {1: 1.0})
    assert (found.reasons, found.warnings) == ([], [])
    assert found.low < 0.02 < found.high


@pytest.mark.parametrize(("moment", "count"), [(0.01, 1), (20.0, 0)])
def test_a_moment_that_the_log_contradicts_is_a_warning(moment, count):
    rng = np.random.default_rng(0)
    log = {"action": rng.integers(0, 2, 5000), "reward": 3.0 + rng.normal(size=5000)}
    found = evaluate(log, {1: 1.0}, propensity="uniform", raw_moment=moment)
    assert len(found.warnings) == count
    assert all("on which the interval is based" in warning for warning in found.warnings)


@pytest.mark.parametrize("constant", [True, False])
def test_a_policy_names_each_action_once(constant):
    """The last of two names of an action would count alone."""
    twice = {0: 0.5, 1: 0.5, "1": 0.5}
    log = {"action": [0, 1] * 20, "reward": np.arange(40.0), "propensity": [0.5] * 40}
    with pytest.raises(hb.InvalidInputError, match="each action once, got 1 and '1'"):
        hb.evaluate(log, policy=twice if constant else lambda row: twice, estimator="ips")


def test_the_columns_of_a_frame_of_probabilities_are_found_by_name():
    pandas = pytest.importorskip("pandas")
    log = {"action": ["a", "b"] * 20, "reward": [1.0, 5.0] * 20, "propensity": [0.5] * 40}
    frame = pandas.DataFrame({"b": [1.0] * 40, "a": [0.0] * 40})
    assert hb.evaluate(log, policy=frame, estimator="snips").value == 5.0
    for wrong, words in ((frame[["b"]], "for each of"), (frame.rename(columns={"a": "z"}), "'z'")):
        with pytest.raises(hb.InvalidInputError, match=words):
            hb.evaluate(log, policy=wrong, estimator="snips")
    with pytest.raises(hb.InvalidInputError, match="must have 40 rows like the log, got 39"):
        hb.evaluate({**log, "rule": ["a"] * 39}, policy="rule", estimator="snips")


def test_an_interval_that_may_not_hold_is_reported_on_request_with_a_warning():
    rng = np.random.default_rng(0)
    few = {"action": rng.choice(["a", "b"], 400), "reward": 1000.0 * (np.arange(400) % 100 == 7)}
    log = hb.Log(few, propensity="uniform")
    checked = hb.evaluate(log, policy={"a": 1.0})
    assert checked.reasons
    always = hb.evaluate(log, policy={"a": 1.0}, interval="always")
    assert always.value == checked.value
    assert always.low < always.value < always.high < np.inf
    assert always.reasons == []
    assert always.warnings[0] == f"the interval may not be valid: {checked.reasons[0]}"
    constant = hb.Log(few | {"reward": np.ones(400)}, propensity="uniform")
    assert hb.evaluate(constant, policy={"a": 1.0}, interval="always").low == -np.inf
    with pytest.raises(hb.InvalidInputError, match="interval must be one of checked, always"):
        hb.evaluate(log, policy={"a": 1.0}, interval="allways")
