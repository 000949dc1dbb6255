"""Diagnosis: estimators against known answers, errors, words, pictures."""

import json
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import InvalidInputError
from heavybandits.offline.diagnose.diagnosis import HEAVY_SHAPE, diagnose
from heavybandits.offline.diagnose.tail_index import (
    Ladder,
    Tail,
    estimate_tail,
    hill,
    hill_ladder,
    pareto_shape,
    square_shares,
)


def pareto_quantiles(index: float, size: int) -> np.ndarray:
    """A sample without chance: the middle of every size-th of the law."""
    return ((np.arange(size) + 0.5) / size) ** (-1.0 / index)


@pytest.mark.parametrize("index", [1.2, 2.0, 3.5])
def test_hill_finds_the_index_of_an_exact_pareto_sample(index: float) -> None:
    values = pareto_quantiles(index, 10_000)
    assert hill(values, 2000) == pytest.approx(index, rel=0.01)


def test_the_ladder_holds_hill_at_every_rung() -> None:
    values = np.random.default_rng(0).pareto(2.0, 3000) + 1.0
    ladder = hill_ladder(values)
    assert np.all(np.diff(ladder.count) > 0)
    for rung in (0, ladder.count.size // 2, -1):
        assert ladder.index[rung] == pytest.approx(hill(values, int(ladder.count[rung])), rel=1e-9)


def test_the_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    from scipy import stats

    values = np.random.default_rng(1).standard_t(3, 4000)
    side = values[values > 0.0]
    ladder = hill_ladder(side)
    rung = ladder.count.size // 2
    count, index = int(ladder.count[rung]), float(ladder.index[rung])
    top = np.sort(side)[::-1]
    known = stats.kstest(top[:count] / top[count], stats.pareto(index).cdf).statistic
    assert ladder.distance[rung] == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.8])
def test_the_generalised_pareto_shape_of_exact_quantiles(shape: float) -> None:
    from scipy import stats

    values = stats.genpareto(shape).ppf((np.arange(5000) + 0.5) / 5000)
    assert pareto_shape(values) == pytest.approx(shape, abs=0.03)


def test_the_index_is_shift_free_for_residuals_and_scale_free_always() -> None:
    rewards = np.random.default_rng(2).standard_t(2, 3000)
    first, second = diagnose(rewards), diagnose(1e6 * rewards + 5e7)
    assert second.tail_index.value == pytest.approx(first.tail_index.value, rel=1e-6)


def test_known_laws_get_the_right_word() -> None:
    rng = np.random.default_rng(3)
    light = [rng.normal(size=5000), rng.random(5000), rng.exponential(size=5000)]
    heavy = [rng.standard_t(2, 5000), rng.pareto(1.5, 5000), -rng.pareto(2.0, 5000)]
    assert [diagnose(x).heavy for x in light] == [False] * 3
    assert [diagnose(x).heavy for x in heavy] == [True] * 3
    assert 3.0 < 1.0 / HEAVY_SHAPE < 4.0


LAWS = {
    "gauss": (lambda rng, rows: rng.normal(size=rows), (0.0, 0.0), (0.9, 1.0)),
    "laplace": (lambda rng, rows: rng.laplace(size=rows), (0.05, 0.3), (0.9, 1.0)),
    "exponential": (lambda rng, rows: rng.exponential(size=rows), (0.0, 0.2), (0.0, 0.0)),
    "t2": (lambda rng, rows: rng.standard_t(2, rows), (0.95, 1.0), (0.9, 1.0)),
    "pareto2": (lambda rng, rows: rng.pareto(2.0, rows), (0.85, 1.0), (0.0, 0.0)),
    "lognormal0.5": (lambda rng, rows: rng.lognormal(0.0, 0.5, rows), (0.05, 0.4), (0.0, 0.1)),
}


@pytest.mark.parametrize("law", LAWS)
def test_the_error_rates_are_those_of_the_docs(law: str) -> None:
    """300 rows, the smallest of the table: 7 to 10% of Gaussian samples were called heavy once."""
    draw, heavy, symmetric = LAWS[law]
    found = [
        diagnose(draw(np.random.default_rng([2, sample]), 300), resamples=20)
        for sample in range(60)
    ]
    assert heavy[0] <= np.mean([one.heavy for one in found]) <= heavy[1]
    assert symmetric[0] <= np.mean([one.symmetry.symmetric for one in found]) <= symmetric[1]


@pytest.mark.parametrize("factor", [1.0, 1e3])
def test_noise_that_is_hardly_skewed_is_not_symmetric_if_there_are_many_rows(factor: float) -> None:
    rng = np.random.default_rng(14)
    skewed = factor * rng.lognormal(0.0, 0.25, 5000)
    assert not diagnose(skewed).symmetry.symmetric
    assert not diagnose(-skewed).symmetry.symmetric
    assert diagnose(factor * rng.normal(size=5000)).symmetry.symmetric


def test_a_light_tail_is_no_contradiction_to_hill() -> None:
    """Hill's estimate of a Gaussian tail is too heavy, and xi says so: both count."""
    ladder = Ladder(np.array([10]), np.array([2.5]), np.array([0.1]))
    tail = Tail(2.5, 2.2, 2.8, 60, 1.0, -0.35, 0.08, 150, ladder)
    assert not tail.contradicted
    assert tail.shape == pytest.approx((0.4 - 0.35) / 2.0)


def test_json_has_both_tails() -> None:
    rng = np.random.default_rng(15)
    rewards = np.where(rng.random(4000) < 0.5, rng.pareto(1.5, 4000), -rng.exponential(size=4000))
    found = diagnose(rewards)
    assert found.upper is not None
    assert found.lower is not None
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["upper"]["index"] == found.upper.index
    assert plain["lower"]["index"] == found.lower.index
    assert plain["upper"]["index"] < plain["lower"]["index"]
    assert plain["upper"]["ladder"]["count"] == found.upper.ladder.count.tolist()
    assert plain["lower"]["ladder"]["index"] == found.lower.ladder.index.tolist()
    one_sided = diagnose(np.r_[np.zeros(500), rng.pareto(2.0, 500)]).to_dict()
    assert one_sided["lower"] is None
    assert one_sided["upper"] is not None


@pytest.mark.parametrize("columns", [60, 120, 200])
def test_features_that_explain_every_row_raise_an_error(columns: int) -> None:
    rng = np.random.default_rng(16)
    rewards, features = rng.standard_t(2, 120), rng.normal(size=(120, columns))
    with pytest.raises(InvalidInputError, match="must leave half of the 120 rows unexplained"):
        diagnose(rewards, features=features)
    diagnose(rewards, features=features[:, :59])
    diagnose(rewards, features=np.repeat(features[:, :1], columns, axis=1))  # one direction


def test_which_moments_exist() -> None:
    rng = np.random.default_rng(4)
    found = diagnose(rng.pareto(1.5, 20_000) + 1.0)
    assert found.moments[1] == "yes"
    assert found.moments[3] == found.moments[4] == "no"
    assert 0.2 < found.epsilon.value < 0.5
    assert set(diagnose(rng.normal(size=20_000)).moments.values()) == {"yes"}


def test_symmetry() -> None:
    rng = np.random.default_rng(5)
    assert diagnose(rng.standard_t(2, 5000)).symmetry.symmetric
    assert not diagnose(rng.pareto(2.0, 5000)).symmetry.symmetric
    assert not diagnose(rng.lognormal(size=5000) - 3.0).symmetry.symmetric


def test_square_shares_by_hand() -> None:
    shares = square_shares(np.array([1.0, -2.0, 3.0]), counts=(1, 2))
    assert shares["1"] == pytest.approx(9 / 14)
    assert shares["2"] == pytest.approx(13 / 14)


def test_moments_are_those_of_the_scaled_rewards() -> None:
    rewards = np.random.default_rng(6).normal(2.0, 1.0, 4000)
    found = diagnose(rewards)
    scaled = rewards / np.abs(rewards).mean()
    assert found.raw_moment.value == pytest.approx(np.mean(scaled**2))
    centred = scaled - np.median(scaled)
    assert found.central_moment.value == pytest.approx(np.mean(centred**2))
    assert found.raw_moment.low < found.raw_moment.value < found.raw_moment.high


def test_features_take_the_explained_part_away() -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4000, 2))
    noise = rng.normal(size=4000)
    found = diagnose(10.0 * x[:, 0] + noise, features=x)
    assert found.dim == 2
    assert np.std(found.noise) == pytest.approx(np.std(noise), rel=0.2)


def test_the_words_of_crmm_name_plays_and_updates() -> None:
    found = diagnose(np.random.default_rng(8).standard_t(2, 2000), horizon=10_000)
    words = found.advice.assumptions["crmm"]
    assert "here 244, which leaves 40 updates in 10000 plays" in words
    assert "and this is" in words
    assert (
        "which this is not"
        in diagnose(np.random.default_rng(8).pareto(2.0, 2000)).advice[3]["crmm"]
    )


@pytest.mark.parametrize(
    ("draw", "warned"),
    [
        (lambda rng: rng.standard_t(1.5, 3000), True),
        (lambda rng: rng.standard_t(3.5, 3000), False),
    ],
)
def test_the_words_of_crhl_say_when_to_use_it(draw, warned) -> None:
    found = diagnose(draw(np.random.default_rng(10)))
    told = found.advice.assumptions["crhl"]
    order = 1.0 + found.epsilon.value
    assert f"noise_scale = {found.central_moment.high ** (1.0 / order):.3g}" in told
    assert ("linucb with AdaptiveClip had half its regret" in told) == warned
    assert "if you know how noisy each reward is" in told


def test_the_verdict_in_words() -> None:
    rng = np.random.default_rng(9)
    assert "not heavy-tailed (tail index" in str(diagnose(rng.normal(size=3000)))
    assert "auto(dim=d)" in str(diagnose(rng.standard_t(1.5, 3000)))
    no_mean = diagnose(rng.pareto(0.5, 5000))
    assert no_mean.moments[1] == "no"
    assert no_mean.advice.algorithm == "none"


@pytest.mark.parametrize("share", [0.005, 0.02, 0.05])
def test_refunds_among_sales_do_not_hide_the_index(share: float) -> None:
    rng = np.random.default_rng(11)
    sales = 30.0 + 12.0 * rng.pareto(1.7, 20_000)
    back = rng.random(sales.size) < share
    found = diagnose(np.where(back, -sales * rng.uniform(0.5, 1.0, sales.size), sales))
    assert found.tail_index.low < 1.7 < found.tail_index.high
    assert found.lower is not None
    assert found.lower.rows == back.sum()


def test_estimates_that_contradict_each_other_are_not_averaged() -> None:
    ladder = Ladder(np.array([10]), np.array([1.2]), np.array([0.1]))
    tail = Tail(1.2, 1.1, 1.3, 400, 1.0, 3.0, 0.05, 4000, ladder)
    assert tail.contradicted
    assert tail.shape == 1.0 / 1.2
    agreed = replace(tail, pareto=0.9)
    assert not agreed.contradicted
    assert agreed.shape == pytest.approx((1.0 / 1.2 + 0.9) / 2.0)


def test_the_advice_counts_the_intercept() -> None:
    rng = np.random.default_rng(12)
    found = diagnose(rng.standard_t(2, 2000), features=rng.normal(size=(2000, 2)))
    assert found.dim == 2
    assert found.advice.code == "auto(dim=3)"


def test_equal_values_leave_no_number_without_a_meaning() -> None:
    rng = np.random.default_rng(13)
    equal = np.r_[np.full(900, 300.0), np.full(60, 900.0), rng.permutation(20) * 100.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose(equal)
        text, plain = str(found), json.dumps(found.to_dict(), allow_nan=False)
        found.plot()
    assert "no generalised Pareto fit (too many equal values)" in text
    assert not re.search(r"nan|inf|e\+?[0-9]{2,}|[0-9]{20}", text + plain)


@pytest.mark.parametrize(
    "rewards",
    [
        np.zeros(200),
        np.full(200, 7.0),
        np.r_[np.zeros(199), 1e300],
        np.r_[np.ones(150), np.zeros(150)],
        np.r_[-1e308, 1e308, np.arange(200.0)],
        np.full(200, 5e-324),
    ],
)
def test_odd_columns_give_a_diagnosis_that_prints_plots_and_is_json(rewards: np.ndarray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        found = diagnose(rewards)
        assert "Verdict" in str(found)
        json.dumps(found.to_dict(), allow_nan=False)
        assert len(found.plot().axes) == 3


def test_same_seed_same_answer_and_the_input_is_left_alone() -> None:
    rewards = np.random.default_rng(10).standard_t(2, 1000)
    before = rewards.copy()
    assert diagnose(rewards).to_dict() == diagnose(rewards).to_dict()
    assert np.array_equal(rewards, before)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0] * 50,), "data must have at least 100 rewards, got 50"),
        (([[1.0]] * 200,), "data must have shape"),
        ((["a"] * 200,), "data must be an array of numbers"),
        (([*range(199), float("nan")],), "data must be finite, got nan"),
        (([*range(200)], [[1.0]] * 3), "features must have shape"),
        (({"y": [1.0] * 200},), "must be one of the columns y; got 'reward'"),
        (({"y": [1.0] * 200}, 3), "features must be a list of columns"),
        ((hb.Log({"y": [1.0] * 200}, reward="y"), ["x"]), "features must be given to Log"),
    ],
)
def test_errors_name_the_argument(arguments: tuple[Any, ...], words: str) -> None:
    data, *features = arguments
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        diagnose(data, features=features[0] if features else None)


def test_missing_values_raise_errors_or_dropped() -> None:
    values = [*np.random.default_rng(0).normal(size=200), None, float("nan")]
    with pytest.raises(InvalidInputError, match="drop_missing=True"):
        diagnose({"y": values}, reward="y")
    assert diagnose({"y": values}, reward="y", drop_missing=True).rows == 200
    assert diagnose(values, drop_missing=True).rows == 200
    assert diagnose(hb.Log({"y": values}, reward="y", drop_missing=True)).rows == 200


def test_a_side_with_few_values_has_no_tail() -> None:
    rng = np.random.default_rng(0)
    assert estimate_tail(np.arange(10.0), rng) is None
    assert estimate_tail(-np.ones(100), rng) is None


def test_features_of_other_rows_raise_errors_also_where_gaps_are_dropped():
    rewards = [*np.random.default_rng(0).normal(size=60), float("nan")]
    with pytest.raises(InvalidInputError, match="features must have 61 rows like data, got 60"):
        diagnose(rewards, features=np.ones((60, 1)), drop_missing=True)


def test_rewards_without_noise_have_no_parameters_to_choose() -> None:
    told = diagnose(np.full(200, 5.0)).advice.assumptions
    assert set(told.values()) == {"no parameters to choose: the rewards have no noise"}


@pytest.mark.parametrize("unit", [1e-200, 1e250, 1e-308])
def test_the_advice_does_not_depend_on_an_extreme_unit(unit):
    """The squares of such rewards are zero or infinite."""
    rewards = np.random.default_rng(0).normal(size=300)
    with np.errstate(all="ignore"):
        usual, odd = hb.diagnose(rewards), hb.diagnose(rewards * unit)
    assert odd.scale / unit == pytest.approx(usual.scale)
    assert "no noise" not in str(odd)
    assert usual.heavy or f"{(usual.noise / usual.scale).std():.3g}" in usual.advice.reason
    if unit != 1e-308:  # a subnormal unit leaves few digits for the tail
        assert odd.advice.reason == usual.advice.reason
