"""Diagnosis of shops: sales, amounts, rates, lack of fit, level, units, and C of CRAL."""

import json
import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits import InvalidInputError
from heavybandits.features import Category, Number
from heavybandits.offline.diagnose.advice import recommend
from heavybandits.offline.diagnose.asymmetry import sample_asymmetry
from heavybandits.offline.diagnose.diagnosis import diagnose
from heavybandits.offline.diagnose.fit import find_threshold
from heavybandits.offline.diagnose.sales import Base, compare_groups, correlate_ranks, rank

PRICES = np.array([5.0, 8, 12, 15, 20, 25, 35, 50, 70, 90, 120, 160])


def shop(rows: int, seed: int = 0, exponent: float = 0.75) -> dict[str, Any]:
    """A log of sales: conversion falls with the price, the basket is lognormal."""
    rng = np.random.default_rng(seed)
    place = rng.integers(PRICES.size, size=rows)
    price, visits = PRICES[place], rng.poisson(3, rows).astype(float)
    sold = rng.random(rows) < 0.3 * (8.0 / price) ** exponent
    return {
        "offer": [f"o{p}" for p in place],
        "price": price,
        "log_price": np.log(price),
        "visits": visits,
        "revenue": sold * price * rng.lognormal(-0.125, 0.5, rows),
    }


SHOP = shop(4000)
GIVEN: dict[str, Any] = {"reward": "revenue", "action": "offer", "resamples": 20}


# ---- what a shop looks like


def test_a_shop_is_recognised():
    found = diagnose(SHOP, features=["price", "visits"], **GIVEN)
    sold = SHOP["revenue"] > 0.0
    assert found.base == Base(0.0, 1.0 - sold.mean())
    amounts = found.amounts
    assert amounts is not None
    assert amounts.depends
    assert amounts.column == "price"  # one value for each action; visits have many
    assert (amounts.rows, amounts.groups, amounts.unsold) == (sold.sum(), 12, 0)
    assert amounts.median == np.median(SHOP["revenue"][sold])
    for group, name in ((amounts.cheap, "o0"), (amounts.expensive, "o11")):
        rows = np.array(SHOP["offer"]) == name
        assert group is not None
        assert (group.name, group.rows) == (name, rows.sum())
        assert group.rate == pytest.approx(sold[rows].mean())
        assert group.amount == np.median(SHOP["revenue"][rows & sold])


def test_the_text_of_a_shop_names_what_matters():
    found = diagnose(SHOP, features=["price", "visits"], **GIVEN)
    first_screen = "\n".join(str(found).splitlines()[:20])
    for words in (
        "Verdict: use hurdle(dim=3)",
        "the amounts of the others depend on price",
        "clipping at one threshold changes the",
        "add to the features: log(price)",
        f"{found.base.share:.1%} of them are 0",
        "rare sales      o11 sold in",
        "a logistic model does not fit",
    ):
        assert words in first_screen
    assert "shifts all rewards" not in str(found)
    assert max(map(len, first_screen.splitlines())) <= 100


def test_the_columns_of_the_action_are_found_without_the_action():
    named = diagnose(SHOP, features=["price", "visits"], reward="revenue", resamples=20)
    assert named.amounts is not None
    assert named.amounts.column == "price"
    assert named.amounts.expensive is not None
    assert named.amounts.expensive.name == "price 160"


def test_amounts_that_do_not_depend_on_the_action():
    rng = np.random.default_rng(3)
    rewards = (rng.random(4000) < 0.2) * rng.lognormal(3.0, 1.0, 4000)
    names = rng.choice(["a", "b", "c"], 4000)
    found = diagnose(rewards, action=names, resamples=20)
    assert found.amounts is not None
    assert found.amounts.depends is False
    assert "no sign that rewards other than 0 depend on the action" in str(found)
    unknown = diagnose(rewards, resamples=20)
    assert unknown.amounts is not None
    assert unknown.amounts.depends is None
    assert "pass features, and the action" in str(unknown)


def test_clicks_have_no_amounts_and_few_sales_say_nothing():
    clicks = diagnose((SHOP["revenue"] > 0.0) * 1.0, action=SHOP["offer"], resamples=20)
    assert clicks.amounts is not None
    assert clicks.amounts.depends is False
    few = diagnose(SHOP["revenue"][:110] * (np.arange(110) < 60), action=SHOP["offer"][:110])
    assert few.amounts is not None
    assert few.amounts.depends is None
    assert f"{few.amounts.rows} sales are too few to see" in str(few)


def test_the_base_value_need_not_be_zero():
    moved = {**SHOP, "revenue": SHOP["revenue"] - 0.5}  # a cost of each decision
    found = diagnose(moved, features=["price", "visits"], **GIVEN)
    usual = diagnose(SHOP, features=["price", "visits"], **GIVEN)
    assert found.base == Base(-0.5, usual.base.share)
    assert found.zeros == 0.0
    assert found.amounts is not None
    assert found.amounts.depends
    assert found.rate is not None
    assert usual.rate is not None
    assert found.rate.fits is usual.rate.fits is False


def test_actions_that_never_sold_are_counted():
    rewards = np.where(np.array(SHOP["offer"]) == "o11", 0.0, SHOP["revenue"])
    found = diagnose({**SHOP, "revenue": rewards}, features=["price"], **GIVEN)
    assert found.amounts is not None
    assert found.amounts.unsold == 1
    assert "1 of 12 actions never sold" in str(found)


def test_the_tests_by_ranks_are_those_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(4)
    values, others = rng.integers(0, 30, 400).astype(float), rng.normal(size=400)
    places = rng.integers(0, 6, 400)
    assert rank(values).tolist() == stats.rankdata(values).tolist()
    strength, error = correlate_ranks(rank(values), rank(others))
    known = stats.spearmanr(values, others)
    assert strength == pytest.approx(abs(known.statistic))
    assert error == pytest.approx(known.pvalue, abs=0.01)
    _, error = compare_groups(rank(values), places)
    known = stats.kruskal(*(values[places == place] for place in range(6)))
    assert error == pytest.approx(known.pvalue, abs=0.01)


# ---- fit and recommendation


def test_the_check_of_the_rate_finds_the_missing_logarithm():
    raw = diagnose(SHOP, features=["price", "visits"], **GIVEN)
    assert raw.rate is not None
    assert (raw.rate.fits, raw.rate.columns) == (False, ("log(price)",))
    better = diagnose(SHOP, features=["price", "log_price", "visits"], **GIVEN)
    assert better.rate is not None
    assert (better.rate.fits, better.rate.columns) == (True, ())
    assert better.advice.code == "hurdle(dim=4)"
    assert sum(each.rows for each in better.rate_bins) == 4000
    for each in better.rate_bins:
        error = np.sqrt(each.predicted * (1.0 - each.predicted) / each.rows)
        assert abs(each.observed - each.predicted) < 4.0 * error


@pytest.mark.parametrize(
    ("share", "median", "depends", "name"),
    [
        (0.9, 5.0, True, "hurdle"),
        (0.5, 5.0, True, "hurdle"),
        (0.49, 5.0, True, "auto"),
        (0.9, 5.0, False, "hurdle"),
        (0.9, 5.0, None, "hurdle"),
        (0.9, -5.0, True, "auto"),
        (0.9, math.nan, None, "auto"),
    ],
)
def test_the_rule_of_the_recommendation(share, median, depends, name):
    found = diagnose(SHOP, features=["price"], **GIVEN)
    assert found.amounts is not None
    changed = replace(
        found,
        base=Base(0.0, share),
        amounts=found.amounts._replace(median=median, depends=depends),
    )
    assert recommend(changed) == name
    assert changed.advice.code == f"{name}(dim=2)"
    assert "Verdict" in str(changed)
    assert recommend(replace(changed, moments={1: "no"})) == "none"
    clicks = np.where(found.rewards != 0.0, 1.0, 0.0)
    assert recommend(replace(changed, rewards=clicks)) == "auto"


def test_few_sales_are_no_sign_that_the_mean_does_not_exist():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        price = rng.choice([5.0, 20.0, 80.0], 500)
        paid = np.where(rng.random(500) < 0.04, price * rng.lognormal(0.0, 0.5, 500), 0.0)
        found = diagnose(paid, features=price[:, None], resamples=20)
        assert found.moments[1] != "no"
        assert found.advice.algorithm == "hurdle"


def test_sales_without_a_mean_are_found():
    rng = np.random.default_rng(3)
    paid = np.where(rng.random(4000) < 0.2, rng.pareto(0.4, 4000) + 1.0, 0.0)
    found = diagnose(paid, features=rng.normal(size=(4000, 2)), resamples=20)
    assert found.moments[1] == "no"
    assert found.advice.algorithm == "none"


@pytest.mark.parametrize("noise", ["Gauss", "t3", "Pareto 1.5"])
def test_a_square_is_found_and_a_linear_mean_is_not_denied(noise):
    """At most 2 of 30 linear samples are denied: more than 2 have probability below 1%."""
    draw = {
        "Gauss": lambda rng, rows: rng.normal(size=rows),
        "t3": lambda rng, rows: rng.standard_t(3, rows),
        "Pareto 1.5": lambda rng, rows: rng.pareto(1.5, rows),
    }[noise]
    denied = 0
    for seed in range(30):
        rng = np.random.default_rng([5, seed])
        x = rng.normal(size=(400, 3))
        found = diagnose(x @ [1.0, 2.0, 0.0] + draw(rng, 400), features=x, resamples=20)
        assert found.mean is not None
        denied += found.mean.fits is False
    assert denied <= 2
    rng = np.random.default_rng(6)
    x = rng.normal(size=(8000, 3))
    curved = diagnose(x @ [1.0, 2.0, 0.0] + x[:, 1] ** 2 + draw(rng, 8000), features=x)
    assert curved.mean is not None
    assert (curved.mean.fits, curved.mean.columns) == (False, ("feature 1^2",))
    assert "the mean is not linear in these features: add feature 1^2" in str(curved)


def test_a_linear_shop_is_not_denied_although_expensive_sales_are_rare():
    denied = 0
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        price = PRICES[rng.integers(PRICES.size, size=3000)]
        rewards = (rng.random(3000) < (0.8 + 0.01 * price) / price) * price
        rewards *= rng.lognormal(0, 0.5, 3000)
        found = diagnose(rewards, features=price[:, None], resamples=20)
        assert found.mean is not None
        assert found.mean.fits is not None
        denied += found.mean.fits is False
    assert denied <= 2


def test_a_missing_action_and_a_missing_product_are_suggested():
    rng = np.random.default_rng(8)
    x, action = rng.normal(size=(3000, 2)), rng.integers(3, size=3000)
    noise = rng.normal(size=3000)
    found = diagnose(x[:, 0] + 2.0 * (action == 1) + noise, features=x, action=action)
    assert found.mean is not None
    assert found.mean.columns == ("an indicator of each action",)
    found = diagnose(x[:, 0] + 2.0 * x[:, 0] * x[:, 1] + noise, features=x)
    assert found.mean is not None
    assert found.mean.columns == ("feature 0 x feature 1",)


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**40])
def test_the_fit_does_not_depend_on_units_and_level(unit):
    rng = np.random.default_rng(9)
    x = rng.lognormal(size=(1000, 2))
    rewards = x @ [1.0, 2.0] + rng.standard_t(3, 1000)
    usual = diagnose(rewards, features=x, resamples=20).mean
    scaled = diagnose(unit * rewards, features=x * [unit, 1.0 / unit], resamples=20).mean
    moved = diagnose(rewards + 1000.0, features=x, resamples=20).mean
    assert usual is not None
    assert scaled is not None
    assert moved is not None
    assert scaled.excess == pytest.approx(usual.excess, rel=1e-6)
    assert moved.excess == pytest.approx(usual.excess, rel=1e-6)


def test_too_little_data_is_not_checked():
    few = diagnose({k: v[:120] for k, v in SHOP.items()}, features=["price", "visits"], **GIVEN)
    assert few.mean is not None
    assert few.rate is not None
    assert few.mean.fits is few.rate.fits is None
    assert "unknown: the check needs" in str(few)
    assert few.advice.algorithm == "hurdle"
    assert diagnose(SHOP, **GIVEN).mean is None


def test_the_threshold_leaves_as_many_carriers():
    errors = np.random.default_rng(10).standard_t(1.2, 500)
    for carriers in (3.0, 30.0, 100.0):
        c = find_threshold(errors, carriers)
        assert np.minimum((errors / c) ** 2, 1.0).sum() == pytest.approx(carriers)
    assert find_threshold(np.ones(4), 10.0) == 1.0  # there are only four
    assert find_threshold(np.zeros(4), 2.0) == 0.0


# ---- level and units


def test_level_and_units_are_mentioned_only_where_they_matter():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(500, 3))
    rewards = x @ [1.0, 0.5, 0.0] + rng.normal(size=500)
    plain, level = diagnose(rewards, features=x), diagnose(rewards - 1000.0, features=x)
    assert "level  " not in str(plain)
    assert "units  " not in str(plain)
    assert plain.level < 1.0
    assert level.level == pytest.approx(1000.0, rel=0.3)
    shown = f"{float(f'{level.level:.2g}'):,.0f}"
    assert f"rewards are {shown} times as large as they differ" in str(level)
    units = diagnose(rewards, features=x * [1e-3, 1.0, 1e3])
    assert units.units is not None
    assert (units.units.smallest, units.units.largest) == ("feature 0", "feature 2")
    assert units.units.most / units.units.least == pytest.approx(1e6, rel=0.2)
    assert f"the size of feature 0 is {units.units.least:.3g}, that of feature 2" in str(units)


# ---- the action and the columns of an encoder


def encoder(*columns: str) -> hb.Encoder:
    sides = {"price": Number("price", 30.0, 40.0), "log_price": Number("log_price", 3.0, 1.0)}
    visits = Number("visits", 3.0, 2.0)
    return hb.Encoder([visits], [sides[name] for name in columns], allow_extra=True)


def test_an_encoder_says_which_columns_describe_the_action():
    table = {name: SHOP[name] for name in ("price", "log_price", "visits", "offer", "revenue")}
    raw = diagnose(table, features=encoder("price"), **GIVEN)
    assert raw.amounts is not None
    assert raw.amounts.column == "price"
    assert raw.units is None
    assert raw.rate is not None
    assert raw.rate.columns == ("log(price)",)
    better = diagnose(table, features=encoder("price", "log_price"), **GIVEN)
    assert better.advice.algorithm == "hurdle"


def test_amounts_that_depend_on_the_context_only_do_not_count():
    rng = np.random.default_rng(12)
    visits, price = rng.uniform(1, 9, 3000), rng.choice([4.0, 8.0], 3000)
    table = {"visits": visits, "price": price, "reward": (rng.random(3000) < 0.3) * visits}
    found = diagnose(table, features=encoder("price"), resamples=20)
    assert found.amounts is not None
    assert found.amounts.depends is False


def test_a_category_of_the_action_counts():
    rng = np.random.default_rng(13)
    kind = rng.choice(["tea", "pot"], 2000)
    paid = np.where(kind == "tea", 4.0, 40.0) * rng.lognormal(0, 0.3, 2000)
    table = {"kind": kind, "reward": (rng.random(2000) < 0.3) * paid}
    features = hb.Encoder([], [Category("kind", ["tea", "pot"])], interactions="none")
    found = diagnose(table, features=features, resamples=20)
    assert found.amounts is not None
    assert found.amounts.column == "kind"
    assert found.amounts.expensive is not None
    assert found.amounts.expensive.name == "pot"


@pytest.mark.parametrize("how", ["argument", "log", "name"])
def test_the_action_can_be_given_in_three_ways(how):
    if how == "argument":
        found = diagnose(SHOP, features=["price"], **GIVEN)
    elif how == "log":
        found = diagnose(hb.Log(SHOP, features=["price"], reward="revenue", action="offer"))
    else:
        table = {**SHOP, "action": SHOP["offer"]}
        found = diagnose(table, features=["price"], reward="revenue")
    assert found.amounts is not None
    assert found.amounts.expensive is not None
    assert found.amounts.expensive.name == "o11"


def test_rows_without_an_action_are_a_group_or_left_out():
    rng = np.random.default_rng(14)
    rewards = (rng.random(300) < 0.3) * 5.0
    names: Any = [*["a", "b"] * 149, None, float("nan")]
    found = diagnose({"reward": rewards, "action": names}, resamples=20)
    assert found.rows == 300
    assert diagnose(rewards, action=names, drop_missing=True, resamples=20).rows == 298


@pytest.mark.parametrize(
    ("data", "given", "words"),
    [
        (SHOP, {"reward": "revenue", "action": "no"}, "action must be one of the columns"),
        (SHOP, {"reward": "revenue", "action": SHOP["offer"]}, "action must be the name"),
        ([1.0] * 200, {"action": ["a"] * 199}, "action must have 200 names"),
        ([1.0] * 200, {"action": "offer"}, "action must have 200 names"),
        ([1.0] * 200, {"action": ["a"], "drop_missing": True}, "action must have 200 rows"),
        (
            hb.Log(SHOP, reward="revenue", action="offer"),
            {"action": "price"},
            "action must be given once",
        ),
        ({"reward": [1.0] * 200, "action": [["a"]] * 200}, {}, "one text or number per row"),
    ],
)
def test_errors_name_the_action(data, given, words):
    with pytest.raises(InvalidInputError, match=words):
        diagnose(data, **given)


# ---- C of CRAL


def ratio_on_a_grid(noise: np.ndarray) -> float:
    noise = noise - noise.mean()
    taus = np.geomspace(np.abs(noise).max() * 1e-5, np.abs(noise).max(), 20_000)[:, None]
    moved = np.abs(np.clip(noise, -taus, taus).mean(axis=1))
    return float((moved * taus[:, 0] / np.minimum(noise**2, taus**2).mean(axis=1)).max())


def test_the_asymmetry_of_a_sample_is_the_largest_ratio():
    rng = np.random.default_rng(15)
    for noise in (rng.pareto(1.5, 200), rng.normal(size=50), rng.exponential(size=30)):
        assert sample_asymmetry(noise) == pytest.approx(ratio_on_a_grid(noise), rel=1e-3)
    for zeros in (3, 99, 2499):
        known = hb.theory.asymmetry_of_atom(1.0 / (zeros + 1))
        assert sample_asymmetry(np.r_[np.zeros(zeros), -7.0]) == pytest.approx(known)


def test_the_asymmetry_has_no_unit_and_no_level():
    noise = np.random.default_rng(16).pareto(1.7, 1000)
    usual = sample_asymmetry(noise)
    for other in (1e-200 * noise, 1e200 * noise, noise + 100.0, -noise):
        assert sample_asymmetry(other) == pytest.approx(usual, rel=1e-9)
    assert sample_asymmetry(np.zeros(5)) == sample_asymmetry(np.full(5, 3.0)) == 0.0


def test_the_asymmetry_of_known_laws():
    rng = np.random.default_rng(17)
    pareto = diagnose(rng.pareto(1.5, 20_000), resamples=20).asymmetry
    assert pareto.estimate.low < 1.0 < pareto.estimate.high + 0.1  # its C is 1.000
    assert diagnose(rng.normal(size=20_000), resamples=20).asymmetry.needed < 0.05
    exponential = diagnose(rng.exponential(size=20_000), resamples=20).asymmetry
    assert exponential.estimate.value == pytest.approx(0.317, abs=0.03)


def test_the_asymmetry_is_that_of_the_rarest_action_and_says_what_rows_cannot_show():
    rng = np.random.default_rng(18)
    names = np.repeat(["often", "seldom"], 5000)
    rewards = np.r_[rng.random(5000) < 0.3, rng.random(5000) < 0.01] * 1.0
    found = diagnose(rewards, action=names, resamples=20)
    assert found.asymmetry.group == "seldom"
    seen = rewards[5000:].mean()
    assert found.asymmetry.of_group == pytest.approx(hb.theory.asymmetry_of_atom(seen))
    assert found.asymmetry.needed >= found.asymmetry.of_group
    words = found.advice.assumptions["cral"]
    assert "valid if future rewards look like these rows" in words
    assert "No sample bounds C from above: these rows may hide a prize of 1 in 3,333" in words
    assert hb.theory.asymmetry_of_atom(3e-4) == found.asymmetry.of_unseen


# ---- output


def test_json_and_repr_of_a_shop():
    found = diagnose(SHOP, features=["price", "visits"], **GIVEN)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["base"] == {"value": 0.0, "share": found.base.share}
    assert plain["amounts"]["expensive"]["name"] == "o11"
    assert plain["rate"]["columns"] == ["log(price)"]
    assert len(plain["rate_bins"]) == 8
    assert plain["asymmetry"]["estimate"]["low"] <= plain["asymmetry"]["needed"]
    assert plain["advice"]["reasons"] == list(found.advice.reasons)
    assert repr(found).startswith("Diagnosis of 4,000 rewards\n")


@pytest.mark.parametrize(
    "rewards",
    [
        np.zeros(300),
        np.full(300, 7.0),
        np.r_[np.zeros(299), 1.0],
        np.r_[np.zeros(250), np.ones(50)],
        np.r_[-1e300, 1e300, np.arange(298.0)],
        np.arange(300.0),
        1e-300 * np.arange(300.0),
    ],
)
def test_odd_rewards_with_features_and_actions(rewards):
    rng = np.random.default_rng(19)
    x = np.column_stack([rng.lognormal(size=300), np.ones(300), np.arange(300.0)])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        found = diagnose(rewards, features=x, action=rng.integers(3, size=300))
        text, plain = str(found), json.dumps(found.to_dict(), allow_nan=False)
    assert "Verdict" in text
    assert "nan" not in text
    assert plain


def test_names_are_printed_without_control_characters_and_cut():
    names = np.where(np.array(SHOP["offer"]) == "o11", "red\x1b[31m" + 90 * "x", SHOP["offer"])
    found = diagnose({**SHOP, "offer": names}, features=["price"], **GIVEN)
    assert "\x1b" not in str(found)
    assert max(map(len, str(found).split("Tails")[0].splitlines())) <= 100
    assert found.to_dict()["amounts"]["expensive"]["name"] == names[names != SHOP["offer"]][0]


def test_actions_that_are_all_different_are_no_groups():
    visits = {**SHOP, "offer": [f"visit {n}" for n in range(4000)]}
    found = diagnose(visits, **GIVEN)
    assert found.amounts is not None
    assert (found.amounts.depends, found.amounts.groups) == (None, 0)
    assert found.asymmetry.group is None
    found = diagnose(visits, features=["price"], **GIVEN)
    assert found.amounts is not None
    assert found.amounts.column == "price"


def test_the_command_takes_the_action(tmp_path):
    from click.testing import CliRunner

    from heavybandits.cli.diagnose import diagnose_command

    lines = [",".join(SHOP), *(",".join(map(str, row)) for row in zip(*SHOP.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    given = [str(tmp_path / "log.csv"), "--reward", "revenue", "--features", "price,visits"]
    shown = CliRunner().invoke(diagnose_command, [*given, "--action", "offer"])
    assert shown.exit_code == 0
    assert "rare sales      o11 sold in" in shown.output
