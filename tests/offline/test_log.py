"""Logs with named columns and an encoder: diagnosed, replayed and evaluated."""

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.cli.app import cli

ROWS = 600


def make_log(rng, rows=ROWS):
    """A shop: mail suits the north, calls the south; ages have gaps."""
    region = rng.choice(["north", "south"], rows)
    offer = rng.choice(["mail", "call"], rows)
    fits = (region == "north") == (offer == "mail")
    age = [None if rng.random() < 0.1 else float(rng.integers(18, 80)) for _ in range(rows)]
    return {
        "region": region.tolist(),
        "age": age,
        "offer": offer.tolist(),
        "price": np.where(offer == "mail", 1.0, 4.0).tolist(),
        "pscore": [0.5] * rows,
        "reward": (2.0 * fits + rng.standard_t(2.0, rows)).tolist(),
    }


LOG = make_log(np.random.default_rng(0))
PER_OFFER = hb.Encoder.from_data(
    LOG, context_columns=["region", "age"], action="offer", interactions="per_action"
)
HYBRID = hb.Encoder.from_data(LOG, context_columns=["region", "age"], action_columns=["price"])


def linucb(dim):
    return hb.linucb(dim=dim, radius=1.0)


# ---- diagnose


def test_the_tail_doctor_takes_an_encoder():
    found = hb.diagnose(LOG, PER_OFFER, reward="reward")
    assert f"auto(dim={PER_OFFER.dim})" in found.advice.code
    assert found.heavy
    plain = hb.diagnose(LOG, reward="reward")
    assert np.abs(found.noise).mean() < np.abs(plain.noise).mean()  # the fit explains something


def test_a_missing_reward_is_refused_or_left_out_and_gaps_stay():
    gap = LOG | {"reward": [None, *LOG["reward"][1:]]}
    with pytest.raises(hb.InvalidInputError, match="column 'reward' must have no missing values"):
        hb.diagnose(gap, PER_OFFER, reward="reward")
    assert hb.diagnose(gap, PER_OFFER, reward="reward", drop_missing=True).rows == ROWS - 1


# ---- replay


def test_rows_are_replayed_with_the_features_of_the_encoder():
    rows = {name: LOG[name] for name in ("region", "age", "reward")}
    encoder = hb.Encoder.from_data(rows, action_columns=["region", "age"])
    by_name = hb.replay(rows, encoder, "reward", linucb, orders=2)
    x = encoder.encode_rows({name: rows[name] for name in ("region", "age")})
    assert by_name.data["rounds"].tolist() == [ROWS // 10] * 2
    wrapped = hb.features.from_sklearn(Same(x), ["number"], [str(i) for i in range(encoder.dim)])
    numbered = {"number": list(range(ROWS)), "reward": rows["reward"]}
    again = hb.replay(numbered, wrapped, "reward", linucb, orders=2)
    assert again.data["value"].tolist() == by_name.data["value"].tolist()


class Same:
    """A transformer that looks its answers up."""

    def __init__(self, answers):
        self.answers = answers

    def transform(self, rows):
        return self.answers[rows[:, 0].astype(int)]


def test_a_log_is_replayed_with_names_of_actions():
    told: Any = {"protocol": "logged", "action": "offer", "orders": 2}
    found = hb.replay(LOG, PER_OFFER, "reward", linucb, **told)
    assert set(found.data["rounds"]) == {ROWS}
    assert found.data["value"].mean() > np.mean(LOG["reward"]) + 0.3
    by_price = hb.replay(LOG, HYBRID, "reward", linucb, **told)
    prices = {"call": {"price": 4.0}, "mail": {"price": 1.0}}
    given = hb.replay(LOG, HYBRID, "reward", linucb, actions=prices, **told)
    assert given.data["value"].tolist() == by_price.data["value"].tolist()
    assert by_price.data["value"].mean() > np.mean(LOG["reward"]) + 0.3


def test_an_offer_whose_columns_change_must_be_told():
    moved = LOG | {"price": list(np.linspace(1.0, 2.0, ROWS))}
    for use in (
        lambda: hb.replay(moved, HYBRID, "reward", linucb, protocol="logged", action="offer"),
        lambda: hb.evaluate(moved, {"mail": 1.0}, HYBRID, action="offer"),
    ):
        with pytest.raises(hb.InvalidInputError, match=r"actions must say what 'price' is .* 1\.0"):
            use()
    with pytest.raises(hb.InvalidInputError, match="actions must have all offers of the log"):
        hb.replay(
            *(LOG, HYBRID, "reward", linucb),
            protocol="logged",
            action="offer",
            actions={"mail": {"price": 1.0}},
        )


def test_a_transformer_must_be_told_what_belongs_to_an_offer():
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="no scikit-learn here")
    prices = [[0.0, price] for price in LOG["price"]]
    scaler = preprocessing.StandardScaler().fit(prices)
    features = hb.features.from_sklearn(scaler, ["number", "price"], ["a", "b"])
    log = LOG | {"number": list(range(ROWS))}
    with pytest.raises(hb.InvalidInputError, match="actions must say what belongs to each offer"):
        hb.evaluate(log, {"mail": 1.0}, features, action="offer")
    own = {"mail": {"price": 1.0}, "call": {"price": 4.0}}
    told = hb.evaluate(log, {"mail": 1.0}, features, action="offer", actions=own)
    plain = hb.evaluate(log, {"mail": 1.0}, action="offer")
    assert told.value == pytest.approx(plain.value, abs=0.05)


def test_the_name_of_an_offer_is_its_own_whatever_the_log_calls_it():
    """A log that has the column of the encoder and another one with what was shown."""
    renamed = LOG | {"shown": LOG["offer"], "offer": ["mail"] * ROWS}
    by_name = hb.evaluate(LOG, {"mail": 1.0}, PER_OFFER, action="offer")
    assert hb.evaluate(renamed, {"mail": 1.0}, PER_OFFER, action="shown").value == by_name.value


def test_a_row_that_cannot_be_encoded_is_named_in_a_replay():
    broken = LOG | {"age": ["old", *LOG["age"][1:]]}
    with pytest.raises(hb.EncodingError, match=r"column 'age' .* got 'old' in row 0"):
        hb.replay(broken, PER_OFFER, "reward", linucb, protocol="logged", action="offer")


# ---- evaluate


def fitting_offer(row):
    return "mail" if row["region"] == "north" else "call"


@pytest.mark.parametrize("encoder", [PER_OFFER, HYBRID], ids=["per-offer", "hybrid"])
def test_a_policy_is_evaluated_with_an_encoder(encoder):
    found = hb.evaluate(LOG, fitting_offer, encoder, action="offer")
    assert found.low < 2.0 < found.high
    assert found.low > np.mean(LOG["reward"])


def test_a_policy_part_is_taught_and_judged_with_an_encoder():
    learned = hb.evaluate(LOG, linucb(PER_OFFER.dim), PER_OFFER, action="offer")
    assert learned.value > np.mean(LOG["reward"]) + 0.5
    with pytest.raises(hb.InvalidInputError, match=f"dim {PER_OFFER.dim}, that of the encoder"):
        hb.evaluate(LOG, linucb(3), PER_OFFER, action="offer")


def test_what_is_not_on_offer_is_not_chosen():
    shown = LOG | {"on": ["mail|call" if n % 2 else LOG["offer"][n] for n in range(ROWS)]}
    shown["pscore"] = [0.5 if n % 2 else 1.0 for n in range(ROWS)]
    found = hb.evaluate(shown, linucb(PER_OFFER.dim), PER_OFFER, action="offer", offers="on")
    assert found.weights.overlap >= 0.5


# ---- the command line


@pytest.fixture
def log_file(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas", reason="the extra 'lab' is not installed")
    monkeypatch.chdir(tmp_path)
    pandas.DataFrame(LOG).to_csv("log.csv.gz", index=False)
    return "log.csv.gz"


def run(*words, code=0):
    found = CliRunner().invoke(cli, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found


FIT = ("--action", "offer", "--reward", "reward", "--exclude", "price,pscore", "--out", "e.json")


def test_an_encoder_is_fitted_shown_and_used_on_the_command_line(log_file, monkeypatch):
    monkeypatch.setattr("heavybandits.cli.data._policies", lambda dim, *_: linucb(dim))
    said = run("encode", "fit", log_file, *FIT)
    assert '2 columns, 12 features, interactions "per_action" (call, mail)' in said.stdout
    assert run("encode", "show", "e.json").stdout == said.stdout
    assert json.loads(run("encode", "show", "e.json", "--json").stdout)["dim"] == PER_OFFER.dim
    told = ("--encoder", "e.json", "--reward", "reward", "--json")
    found = json.loads(run("diagnose", log_file, *told).stdout)
    assert found["dim"] == PER_OFFER.dim - 1
    logged = ("--action", "offer", *told)
    rows = json.loads(
        run("replay", log_file, "--protocol", "logged", "--orders", 1, *logged).stdout
    )
    assert {row["rounds"] for row in rows} == {ROWS}
    value = json.loads(run("evaluate", log_file, "--shares", "mail=1", *logged).stdout)["value"]
    told_python = hb.evaluate(log_file, {"mail": 1.0}, hb.Encoder.load("e.json"), action="offer")
    assert value == told_python.value


def test_rows_without_an_action_are_offers_themselves(log_file):
    run("encode", "fit", log_file, "--reward", "reward", "--exclude", "pscore", "--out", "e.json")
    encoder = hb.Encoder.load("e.json")
    assert (encoder.interactions, encoder.context_columns) == ("all", ())
    assert [column.name for column in encoder.action_columns] == ["region", "age", "offer", "price"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("encode", "fit", "none.csv", *FIT), "must be a file that exists"),
        (("encode", "fit", "log.csv.gz", "--context-columns", "mood", *FIT), "got 'mood'"),
        (
            ("encode", "fit", "log.csv.gz", "--context-columns", "age", *FIT[2:]),
            "actions must be different",
        ),
        (("encode", "show", "log.csv.gz"), "cannot be read as an encoder"),
        (("diagnose", "log.csv.gz", "--encoder", "x.json", "--features", "age"), "one of --feat"),
        (("evaluate", "log.csv.gz", "--shares", "a=1", "--encoder", "x.json"), "cannot be read"),
    ],
)
def test_what_cannot_be_encoded_is_a_sentence(log_file, words, message):
    assert message in run(*words, code=2).stderr
