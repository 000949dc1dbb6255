"""Logs with named columns and an encoder: diagnosed, replayed and evaluated."""

import dataclasses
import functools
import json

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.cli.app import cli
from heavybandits.features import tables
from heavybandits.offline.log import read_decisions

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
        "propensity": [0.5] * rows,
        "reward": (2.0 * fits + rng.standard_t(2.0, rows)).tolist(),
    }


LOG = make_log(np.random.default_rng(0))
PER_OFFER = hb.Encoder.from_data(
    LOG, context_columns=["region", "age"], action="offer", interactions="per_action"
)
HYBRID = hb.Encoder.from_data(LOG, context_columns=["region", "age"], action_columns=["price"])


def linucb(dim):
    return hb.linucb(dim=dim, radius=1.0)


def evaluate(data, policy, features, action="offer", **columns):
    """Evaluate on the log with these columns."""
    return hb.evaluate(hb.Log(data, features=features, action=action, **columns), policy=policy)


# ---- the value


def test_a_log_reads_its_table_once(monkeypatch):
    calls, read = [], tables.read_frame

    def count(data):
        calls.append(data)
        return read(data)

    monkeypatch.setattr(tables, "read_frame", count)
    log = hb.Log(LOG, action="offer")
    for name in ("mail", "call"):
        hb.evaluate(log, policy={name: 1.0})
    assert len(calls) == 1


def test_a_log_is_a_value_that_shows_its_columns_and_not_its_data():
    log = hb.Log(LOG, features=["price"], action="offer")
    shown = [line.split() for line in repr(log).splitlines()[1:]]
    assert shown[:3] == [["features", "price"], ["reward", "reward"], ["action", "offer"]]
    assert log.dim == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(log, "action", "other")  # noqa: B010 - a checker rejects the assignment


def test_columns_are_named_once():
    log = hb.Log(LOG, action="offer")
    for use in (hb.diagnose, hb.replay, functools.partial(hb.evaluate, policy={"mail": 1.0})):
        with pytest.raises(hb.InvalidInputError, match=r"reward must be given to Log\(\.\.\.\)"):
            use(log, reward="price")


@pytest.mark.parametrize("features", ["price", 3, [1, 2], None])
def test_features_are_a_list_of_columns(features):
    with pytest.raises(hb.InvalidInputError, match="features must be a list of columns"):
        hb.Log(LOG, features=features)


# ---- diagnose


def test_diagnose_takes_an_encoder():
    found = hb.diagnose(LOG, features=PER_OFFER, reward="reward")
    assert f"auto(dim={PER_OFFER.dim})" in found.advice.code
    assert found.heavy
    plain = hb.diagnose(LOG, reward="reward")
    assert np.abs(found.noise).mean() < np.abs(plain.noise).mean()  # the fit explains something


def test_a_missing_reward_raises_an_error_or_is_left_out_and_gaps_stay():
    gap = LOG | {"reward": [None, *LOG["reward"][1:]]}
    with pytest.raises(hb.InvalidInputError, match="column 'reward' must have no missing values"):
        hb.diagnose(gap, features=PER_OFFER, reward="reward")
    assert hb.diagnose(gap, features=PER_OFFER, reward="reward", drop_missing=True).rows == ROWS - 1


# ---- replay


def test_rows_are_replayed_with_the_features_of_the_encoder():
    rows = {name: LOG[name] for name in ("region", "age", "reward")}
    encoder = hb.Encoder.from_data(rows, action_columns=["region", "age"])
    by_name = hb.replay(rows, features=encoder, policies=linucb, passes=2)
    x = encoder.encode_rows({name: rows[name] for name in ("region", "age")})
    assert by_name.data["rounds"].tolist() == [ROWS // 10] * 2
    wrapped = hb.features.from_sklearn(Same(x), ["number"], [str(i) for i in range(encoder.dim)])
    numbered = {"number": list(range(ROWS)), "reward": rows["reward"]}
    again = hb.replay(numbered, features=wrapped, policies=linucb, passes=2)
    assert again.data["value"].tolist() == by_name.data["value"].tolist()


class Same:
    """A transformer that looks its answers up."""

    def __init__(self, answers):
        self.answers = answers

    def transform(self, rows):
        return self.answers[rows[:, 0].astype(int)]


def reject(data, encoder, **given):
    """Let LinUCB pass over a log; the plain mean of the rewards that it accepts."""
    log = hb.Log(data, features=encoder, action="offer", **given)
    return hb.evaluate(log, policy=linucb(log.dim), estimator="rejection", aggregate="mean")


def test_a_policy_passes_over_a_log_with_names_of_actions():
    found = reject(LOG, PER_OFFER)
    assert found.diagnostics.rows == ROWS
    assert found.value > np.mean(LOG["reward"]) + 0.3
    by_price = reject(LOG, HYBRID)
    prices = {"call": {"price": 4.0}, "mail": {"price": 1.0}}
    assert reject(LOG, HYBRID, action_features=prices).value == by_price.value
    assert by_price.value > np.mean(LOG["reward"]) + 0.3


def test_rejection_counts_the_actions_that_the_log_never_took():
    prices = {name: {"price": 1.0} for name in ("call", "mail", "fax")}
    known = hb.Log(LOG, features=HYBRID, action="offer", action_features=prices)
    assert read_decisions(known, every_action=True).actions == ("call", "mail", "fax")
    assert known.decisions.actions == ("call", "mail")
    with pytest.raises(hb.InvalidInputError, match="propensity must be 1 / 3"):
        reject(LOG, HYBRID, action_features=prices)


def test_an_action_whose_columns_change_needs_action_features():
    moved = LOG | {"price": list(np.linspace(1.0, 2.0, ROWS))}
    log = hb.Log(moved, features=HYBRID, action="offer")
    for use in (
        lambda: reject(moved, HYBRID),
        lambda: hb.evaluate(log, policy={"mail": 1.0}),
    ):
        with pytest.raises(
            hb.InvalidInputError, match=r"action_features must say what 'price' is .* 1\.0"
        ):
            use()
    with pytest.raises(hb.InvalidInputError, match="action_features must have all actions of the"):
        reject(LOG, HYBRID, action_features={"mail": {"price": 1.0}})


def test_a_transformer_needs_action_features():
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="no scikit-learn here")
    prices = [[0.0, price] for price in LOG["price"]]
    scaler = preprocessing.StandardScaler().fit(prices)
    features = hb.features.from_sklearn(scaler, ["number", "price"], ["a", "b"])
    log = LOG | {"number": list(range(ROWS))}
    with pytest.raises(hb.InvalidInputError, match="action_features must have the columns of each"):
        evaluate(log, {"mail": 1.0}, features, action="offer")
    own = {"mail": {"price": 1.0}, "call": {"price": 4.0}}
    told = evaluate(log, {"mail": 1.0}, features, action_features=own)
    plain = evaluate(log, {"mail": 1.0}, ())
    assert told.value == pytest.approx(plain.value, abs=0.05)


def test_the_name_of_an_offer_is_its_own_whatever_the_log_calls_it():
    """A log that has the column of the encoder and another one with what was shown."""
    renamed = LOG | {"shown": LOG["offer"], "offer": ["mail"] * ROWS}
    by_name = evaluate(LOG, {"mail": 1.0}, PER_OFFER, action="offer")
    assert evaluate(renamed, {"mail": 1.0}, PER_OFFER, action="shown").value == by_name.value


def test_a_row_that_cannot_be_encoded_is_named():
    broken = LOG | {"age": ["old", *LOG["age"][1:]]}
    with pytest.raises(hb.EncodingError, match=r"column 'age' .* got 'old' in row 0"):
        reject(broken, PER_OFFER)


# ---- evaluate


def fitting_offer(row):
    return "mail" if row["region"] == "north" else "call"


@pytest.mark.parametrize("encoder", [PER_OFFER, HYBRID], ids=["per-offer", "hybrid"])
def test_a_policy_is_evaluated_with_an_encoder(encoder):
    found = evaluate(LOG, fitting_offer, encoder)
    assert found.low < 2.0 < found.high
    assert found.value == pytest.approx(2.0, abs=0.5)
    assert found.difference.low > 0.0


def test_a_policy_part_is_taught_and_judged_with_an_encoder():
    learned = evaluate(LOG, linucb(PER_OFFER.dim), PER_OFFER)
    assert learned.value > np.mean(LOG["reward"]) + 0.5
    with pytest.raises(hb.InvalidInputError, match=f"dim {PER_OFFER.dim}, that of the encoder"):
        evaluate(LOG, linucb(3), PER_OFFER)


def test_what_is_not_on_offer_is_not_chosen():
    shown = LOG | {"on": ["mail|call" if n % 2 else LOG["offer"][n] for n in range(ROWS)]}
    shown["propensity"] = [0.5 if n % 2 else 1.0 for n in range(ROWS)]
    found = evaluate(shown, linucb(PER_OFFER.dim), PER_OFFER, available="on")
    assert found.diagnostics.overlap >= 0.5


def test_the_dictionary_of_the_open_bandit_pipeline_knows_all_its_actions():
    """Its number of actions counts, and for "rejection" the features of its actions."""
    rng = np.random.default_rng(0)
    feedback = {
        "context": rng.normal(size=(60, 2)),
        "action": rng.integers(0, 3, 60),  # the last of four actions is never taken
        "reward": rng.normal(size=60),
        "pscore": np.full(60, 0.25),
        "n_actions": 4,
        "action_context": rng.normal(size=(4, 3)),
    }
    log = hb.Log(feedback)
    assert log.decisions.actions == (0, 1, 2, 3)
    assert read_decisions(log, every_action=True).actions == (0, 1, 2, 3)
    assert log.dim == 3 * 3  # (1, the context) times the features of an action
    alone = hb.Log({name: feedback[name] for name in feedback if name != "action_context"})
    assert read_decisions(alone, every_action=True).actions == (0, 1, 2, 3)
    assert alone.dim == 3 * 4
    others = hb.Log(feedback | {"n_actions": 5})
    assert read_decisions(others, every_action=True).actions == (0, 1, 2, 3)
    assert others.decisions.actions == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("estimator", ["dr", "rejection"])
def test_a_policy_of_two_plays_raises_an_error(estimator):
    rng = np.random.default_rng(0)
    data = {"action": rng.integers(0, 2, 60), "reward": rng.normal(size=60)}
    log = hb.Log(data, propensity="uniform")
    policy = hb.crmm(dim=log.dim, horizon=100, central_moment=1.0, plays=2)
    with pytest.raises(hb.InvalidInputError, match="plays 1, got 2 and 2"):
        hb.evaluate(log, policy=policy, estimator=estimator)


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


FIT = (
    "--action",
    "offer",
    "--reward",
    "reward",
    "--exclude",
    "price,propensity",
    "--out",
    "e.json",
)


def test_an_encoder_is_fitted_shown_and_used_on_the_command_line(log_file):
    said = run("encode", "fit", log_file, *FIT)
    assert '2 columns, 12 features, interactions "per_action" (call, mail)' in said.stdout
    assert run("encode", "show", "e.json").stdout == said.stdout
    assert json.loads(run("encode", "show", "e.json", "--json").stdout)["dim"] == PER_OFFER.dim
    told = ("--encoder", "e.json", "--reward", "reward", "--json")
    found = json.loads(run("diagnose", log_file, *told).stdout)
    assert found["dim"] == PER_OFFER.dim - 1
    logged = ("--action", "offer", *told)
    words = ("--policy", "linucb", "--estimator", "rejection", "--aggregate", "mean")
    learned = json.loads(run("evaluate", log_file, *words, *logged).stdout)
    assert learned["rows"] == ROWS
    assert learned["value"] == reject(log_file, hb.Encoder.load("e.json")).value
    always = ("--probabilities", "mail=1", *logged)
    value = json.loads(run("evaluate", log_file, *always).stdout)["value"]
    assert value == evaluate(log_file, {"mail": 1.0}, hb.Encoder.load("e.json")).value


def test_rows_without_an_action_are_offers_themselves(log_file):
    run(
        "encode",
        "fit",
        log_file,
        "--reward",
        "reward",
        "--exclude",
        "propensity",
        "--out",
        "e.json",
    )
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
        (
            ("evaluate", "log.csv.gz", "--probabilities", "a=1", "--encoder", "x.json"),
            "cannot be read",
        ),
    ],
)
def test_what_cannot_be_encoded_is_a_sentence(log_file, words, message):
    assert message in run(*words, code=2).stderr


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.1", "1.10"), ("12e4", "120000"), ("12345678901234567890", "12345678901234567891")],
)
def test_actions_of_a_csv_file_stay_apart_if_their_numbers_are_equal(tmp_path, one, other):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    rows = [f"{name},{reward},0.5,{other}" for name, reward in [(one, 1), (other, 5)] * 20]
    path.write_text("action,reward,propensity,rule\n" + "\n".join(rows))
    assert set(hb.Log(path).decisions.actions) == {one, other}
    assert hb.evaluate(path, policy={one: 1.0}, estimator="snips").value == 1.0
    assert hb.evaluate(path, policy="rule", estimator="snips").value == 5.0


@pytest.mark.parametrize(("one", "other"), [("true", "false"), ("09:10", "10:00"), ("1.0", "2.50")])
def test_actions_of_a_csv_file_are_found_by_their_text(tmp_path, one, other):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    rows = [f"{name},{reward},{one}|{other}" for name, reward in [(one, 1), (other, 5)] * 20]
    path.write_text("action,reward,offers\n" + "\n".join(rows))
    log = hb.Log(path, propensity="uniform", available="offers")
    assert log.decisions.propensities.tolist() == [0.5] * 40
    assert hb.evaluate(log, policy={one: 1.0}, estimator="snips").value == 1.0


def test_integers_beyond_64_bits_stay_apart_as_actions():
    names = [2**63 + 1, 2**63 + 2, -1] * 10
    found = hb.Log({"action": names, "reward": [1.0] * 30}, propensity="uniform").decisions
    assert found.actions == (-1, 2**63 + 1, 2**63 + 2)


def test_dates_are_actions_by_their_name():
    days = np.array(["2026-01-01", "2026-01-02"] * 15, "datetime64[ns]")
    log = {"action": days, "reward": [1.0, 5.0] * 15, "propensity": [0.5] * 30}
    assert hb.evaluate(log, policy={"2026-01-01": 1.0}, estimator="snips").value == 1.0


def test_a_list_is_no_action():
    log = hb.Log({"action": [["a"]] * 3, "reward": [1.0] * 3}, propensity="uniform")
    with pytest.raises(hb.InvalidInputError, match=r"action must be one text .* in row 0"):
        _ = log.decisions


def test_actions_must_be_fewer_than_their_number():
    """Actions from 1 to 2 would be three of them with the action 0."""
    log = {"action": [1, 2] * 15, "reward": [1.0] * 30, "n_actions": 2}
    with pytest.raises(hb.InvalidInputError, match=r"action must be in 0\.\.1"):
        _ = hb.Log(log, propensity="uniform").decisions


def test_rows_without_an_action_are_left_out_with_an_encoder_too():
    data = {"action": ["a", "b", None] * 4, "x": [1.0] * 12, "price": [1.0, 2.0, 3.0] * 4}
    encoder = hb.Encoder.from_data(data, context_columns=["x"], action_columns=["price"])
    data["reward"] = [1.0] * 12
    log = hb.Log(data, features=encoder, propensity="uniform", drop_missing=True)
    assert log.decisions.actions == ("a", "b")
    assert log.decisions.dropped == 4


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_the_unit_of_a_feature_does_not_matter(unit):
    features = np.random.default_rng(0).normal(size=(50, 2))
    scaled = tables.scale_features(features * [unit, 1.0])
    assert np.allclose(scaled, tables.scale_features(features), rtol=1e-12)


def test_space_around_the_name_of_an_action_does_not_make_another_action():
    log = {"action": ["a", " a", "b", "b "] * 10, "reward": [1.0, 3.0, 5.0, 5.0] * 10}
    found = hb.evaluate(hb.Log(log, propensity="uniform"), policy={"a": 1.0}, estimator="ips")
    assert found.value == 2.0
