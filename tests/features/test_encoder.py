"""Encoders: named values become features, and what is rejected."""

import json
import pickle
import tracemalloc
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits._utils.files import read_container, write_container
from heavybandits.agents.state_file import FORMAT
from heavybandits.features import Category, Date, Number
from heavybandits.features import tables as frames
from heavybandits.features.infer import infer_number
from heavybandits.offline.log import encode_rows

MANY = [str(number) for number in range(400)]
INTERACTIONS = ("none", "per_action", "all")

numbers = st.floats(-1e12, 1e12) | st.integers(-(10**15), 10**15)
words = st.text("abcdeÅ1 ", min_size=1, max_size=4).filter(str.strip)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)


@st.composite
def logs(draw):
    """Columns of a log with missing values: number, text, date, name of the action, its price."""
    size = draw(st.integers(1, 12))

    def rows(values, gaps=True):
        each = values | st.none() if gaps else values
        return draw(
            st.lists(each, min_size=size, max_size=size).filter(
                lambda made: any(value is not None for value in made)
            )
        )

    return {
        "spent": [None if value is None else float(value) for value in rows(numbers)],
        "city": rows(words),
        "when": rows(moments),
        "offer": rows(st.sampled_from(["mail", "call", "wait"]), gaps=False),
        "price": [float(value) for value in rows(numbers, gaps=False)],
    }


def infer(data, interactions="all", **options):
    return hb.Encoder.from_data(
        data,
        context_columns=["spent", "city", "when"],
        action_columns=["price"],
        action="offer",
        interactions=interactions,
        **options,
    )


def records(log):
    return [dict(zip(log, row, strict=True)) for row in zip(*log.values(), strict=True)]


# ---- the same numbers, wherever they come from


@settings(deadline=None, max_examples=60)
@given(logs(), st.sampled_from(INTERACTIONS))
def test_an_encoder_survives_being_written_down(log, interactions):
    encoder = infer(log, interactions, allow_extra=["offer"])
    again = hb.Encoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert again == encoder
    assert again.names == encoder.names
    assert again.encode_rows(log).tobytes() == encoder.encode_rows(log).tobytes()


@settings(deadline=None, max_examples=60)
@given(logs(), st.sampled_from(INTERACTIONS))
def test_rows_one_by_one_are_the_rows_of_the_log(log, interactions):
    """Every row is there, in its place, and as long as the theorems allow."""
    encoder = infer(log, interactions, allow_extra=["offer"])
    whole = encoder.encode_rows(log)
    assert whole.shape == (len(log["offer"]), encoder.dim)
    assert (np.linalg.norm(whole, axis=1) <= 1.0 + 1e-12).all()
    for number, row in enumerate(records(log)):
        context = {name: row[name] for name in ("spent", "city", "when")}
        one = encoder.encode(context, {row["offer"]: {"price": row["price"]}})
        assert one.tobytes() == whole[number : number + 1].tobytes()
        assert one.flags.c_contiguous
        assert one.dtype == np.float64


@settings(deadline=None, max_examples=30)
@given(logs(), st.sampled_from(INTERACTIONS))
def test_frames_of_three_libraries_and_dicts_give_the_same_numbers(log, interactions):
    pandas, polars, pyarrow = (
        pytest.importorskip(name, reason=f"{name} is not installed")
        for name in ("pandas", "polars", "pyarrow")
    )
    plain = infer(log, interactions, allow_extra=True)
    table = pyarrow.table(log)
    for frame in (pandas.DataFrame(log), polars.DataFrame(log), table, records(log)):
        other = infer(frame, interactions, allow_extra=True)
        assert other == plain
        assert other.encode_rows(frame).tobytes() == plain.encode_rows(log).tobytes()


@pytest.mark.parametrize("values", [[10.0, 30.0], [-30.0, -10.0], [-1.0, 1.0]])
def test_a_column_of_two_values_becomes_0_and_1(values):
    """The scale is their distance, not their sum."""
    column = infer_number("tier", values * 10)
    assert (column.centre, column.scale) == (values[0], values[1] - values[0])


def test_a_file_gives_the_encoder_of_the_frame_that_it_was_written_from(tmp_path):
    pandas = pytest.importorskip("pandas", reason="the extra 'lab' is not installed")
    start = datetime(2025, 11, 3, 9, 30)
    log = {
        "spent": [1.25, None, -3.0, 1e-7, 123456.789],
        "city": ["Oslo", "Rome", None, "Oslo", "La Paz, Bolivia"],
        "when": [start + timedelta(hours=31 * hours) for hours in range(5)],
        "offer": ["mail", "call", "mail", "wait", "call"],
        "price": [1.0, 2.0, 2.0, 5.0, 9.0],
    }
    pandas.DataFrame(log).to_csv(tmp_path / "log.csv.gz", index=False)
    for interactions in INTERACTIONS:
        plain, read = (
            infer(log, interactions, allow_extra=True),
            infer(tmp_path / "log.csv.gz", interactions, allow_extra=True),
        )
        assert read == plain
        made = read.encode_rows(tmp_path / "log.csv.gz")
        assert made.tobytes() == plain.encode_rows(log).tobytes()


def test_a_moment_with_a_zone_is_the_same_in_every_library():
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    zone = timezone(timedelta(hours=2))
    moments = {"when": [datetime(2026, 3, day, 8, tzinfo=zone) for day in range(1, 12)]}
    plain = hb.Encoder.from_data(moments, action_columns=["when"])
    utc = {"when": [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments["when"]]}
    frames = pandas.DataFrame(moments), polars.DataFrame(moments), polars.DataFrame(utc), utc
    for frame in (*frames, polars.DataFrame(moments).to_arrow()):
        assert hb.Encoder.from_data(frame, action_columns=["when"]) == plain
        assert plain.encode_rows(frame).tobytes() == plain.encode_rows(moments).tobytes()


# ---- what a column becomes


def test_numbers_are_scaled_by_what_most_of_them_do():
    frame = {"a": [1.0, 2.0, 3.0, 4.0, 1e9], "same": [7.0] * 5, "member": [0, 1, 0, 0, 1]}
    encoder = hb.Encoder.from_data(
        frame, action_columns=list(frame), interactions="none", intercept=False
    )
    made = encoder.encode_rows(frame) * encoder.bound
    assert made[:, 0].round(3).tolist() == [-1.349, -0.674, 0.0, 0.674, 3.0]
    assert made[:, 1].tolist() == [0.0] * 5
    assert made[:, 2].tolist() == frame["member"]


def test_a_word_never_seen_shares_a_feature_with_the_rare_ones():
    frame = {"city": ["Oslo"] * 3 + ["Rome"] * 2 + ["Lima"], "x": [1.0, 2, 3, 4, 5, 6]}
    encoder = hb.Encoder.from_data(
        frame, context_columns=["city"], action_columns=["x"], interactions="none", max_categories=2
    )
    assert encoder.context_columns[0].names == ("city=Oslo", "city=Rome", "city=(other)")
    rare, unseen = (encoder.encode({"city": c}, {"a": {"x": 1.0}}) for c in ("Lima", "Kiel"))
    assert (rare == unseen).all()
    assert rare[0, 3] > 0.0


@pytest.mark.parametrize("value", [1, 1.0, "1", np.int64(1), np.float32(1.0), " 1"])
def test_a_category_is_known_by_its_text(value):
    assert Category("postcode", ("1", "2")).reader()(value) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 3, 1, 6),
        np.datetime64("2026-03-01T06:00:00.000000001"),
        "2026-03-01T06:00:00",
        "2026-03-01T06:00:00Z",
        "2026-03-01 08:00+02:00",
        datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_a_date_is_the_same_however_it_is_written(value):
    column = Date("when", ("day", "week", "year"), centre=1.7e9)
    assert column.reader()(value) == column.read(datetime(2026, 3, 1, 6))
    assert column.read(value)[0] == 1.0


def cycles_of(frame):
    [column] = hb.Encoder.from_data(frame, action_columns=["when"]).action_columns
    assert isinstance(column, Date)
    return column.cycles


def test_dates_keep_the_cycles_that_they_go_through():
    days = {"when": [date(2024, 1, 1) + timedelta(days=n) for n in range(0, 800, 40)]}
    assert cycles_of(days) == ("week", "year")
    hours = {"when": [f"2026-03-01T{hour:02}:30" for hour in range(9, 18)]}
    assert cycles_of(hours) == ("day",)


def test_a_missing_value_is_zero_and_has_a_feature():
    frame = {"age": [20.0, None, 60.0], "x": [1.0, 2.0, 3.0]}
    encoder = hb.Encoder.from_data(
        frame, context_columns=["age"], action_columns=["x"], interactions="none"
    )
    for gap in (None, float("nan"), "", "NA", np.nan):
        x = encoder.encode({"age": gap}, {"a": {"x": 2.0}}) * encoder.bound
        assert x.round(12).tolist() == [[1.0, 0.0, 1.0, 0.0]]


def test_the_names_of_actions_can_be_a_feature():
    frame = {"offer": ["tea", "nut"], "price": [1.0, 2.0]}
    encoder = hb.Encoder.from_data(frame, action_columns=["price", "offer"], action="offer")
    x = encoder.encode(None, {"nut": {"price": 2.0}, "new": {"price": 2.0}})
    assert (encoder.encode_rows(frame)[1] == x[0]).all()
    assert (np.flatnonzero(x[0] != x[1]) == [2, 4]).all()  # offer=nut against offer=(other)


def test_interactions_are_what_the_docs_say():
    sides: Any = [Number("c")], [Number("o")]
    named: Any = {"action": "name", "actions": ["a", "b"]}
    for interactions, more, wanted in (
        ("none", {}, [1.0, 2.0, 3.0]),
        ("all", {}, [1.0, 2.0, 3.0, 6.0]),
        ("per_action", named, [0.0, 0.0, 1.0, 2.0, 3.0]),
    ):
        encoder = hb.Encoder(*sides, interactions=interactions, **more)
        [x] = encoder.encode({"c": 2.0}, {"b": {"o": 3.0}})
        assert (x * np.sqrt(100.0 if interactions == "all" else 19.0)).round(12).tolist() == wanted


@pytest.mark.parametrize("interactions", INTERACTIONS)
def test_without_an_intercept_no_feature_is_one(interactions):
    more: Any = {"action": "name", "actions": ["a"]} if interactions == "per_action" else {}
    made = [
        hb.Encoder([Number("c")], [Number("o")], interactions=interactions, intercept=one, **more)
        for one in (True, False)
    ]
    x, y = (e.encode({"c": 2.0}, {"a": {"o": 3.0}}) * e.bound for e in made)
    assert np.allclose(x[:, 1:], y, rtol=1e-15)
    assert made[1].names == made[0].names[1:]


# ---- what is rejected


def small(**options):
    return hb.Encoder(
        [Number("age"), Category("city", ("Oslo",))],
        [Number("price"), Date("day")],
        interactions="none",
        **options,
    )


GOOD = {"age": 1.0, "city": "Oslo"}, {"tea": {"price": 1.0, "day": "2026-03-01"}}


@pytest.mark.parametrize(
    ("context", "action", "column", "message"),
    [
        (
            {"age": "old"},
            {},
            "age",
            "column 'age' must be a finite number, got 'old' in the con",
        ),
        ({"age": float("inf")}, {}, "age", "finite number, got inf"),
        ({"age": 10**400}, {}, "age", "finite number, got 1000"),
        ({"age": timedelta(1)}, {}, "age", "finite number, got datetime.timedelta"),
        ({"age": None}, {}, "age", "must not be missing .* got None in the context"),
        ({"city": ["Oslo"]}, {}, "city", r"one text, number, .* got \['Oslo'\]"),
        ({}, {"price": "free"}, "price", "column 'price' .* got 'free' in action 'tea'"),
        ({}, {"day": "Monday"}, "day", "must be a date.* got 'Monday' in action 'tea'"),
        ({}, {"day": 20260301}, "day", "must be a date.* got 20260301"),
    ],
)
def test_a_row_that_cannot_be_encoded_is_rejected_by_column_and_value(
    context, action, column, message
):
    given_context, given_action = GOOD[0] | context, {"tea": GOOD[1]["tea"] | action}
    with pytest.raises(hb.EncodingError, match=message) as caught:
        small().encode(given_context, given_action)
    assert caught.value.column == column
    rows = [GOOD[0] | GOOD[1]["tea"], given_context | given_action["tea"]]
    with pytest.raises(hb.EncodingError, match=f"column '{column}'.*in row 1"):
        small().encode_rows(rows)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_columns_that_are_not_there_or_not_known_are_rejected_by_name():
    context, actions = GOOD
    with pytest.raises(hb.InvalidInputError, match="column 'city' is missing in the context"):
        small().encode({"age": 1.0}, actions)
    with pytest.raises(hb.InvalidInputError, match="column 'day' is missing in action 'tea'"):
        small().encode(context, {"tea": {"price": 1.0}})
    with pytest.raises(hb.InvalidInputError, match="column 'mood' in the context is not known"):
        small().encode(context | {"mood": 1}, actions)
    with pytest.raises(hb.InvalidInputError, match="column 'size' in action 'tea' is not known"):
        small().encode(context, {"tea": actions["tea"] | {"size": 1}})
    with pytest.raises(hb.InvalidInputError, match="column 'reward' in the table is not known"):
        small().encode_rows([context | actions["tea"] | {"reward": 1.0}])
    with pytest.raises(hb.InvalidInputError, match="row 1 must have the columns of row 0"):
        small().encode_rows([context | actions["tea"], context])


def test_extra_columns_are_ignored_only_if_allowed():
    context, actions = GOOD
    plain = small().encode(context, actions)
    for extra in (True, ["mood"]):
        assert (small(allow_extra=extra).encode(context | {"mood": 1}, actions) == plain).all()
    with pytest.raises(hb.InvalidInputError, match="'size'"):
        small(allow_extra=["mood"]).encode(context | {"size": 1}, actions)


def test_one_row_is_not_taken_for_columns():
    for rows in (GOOD[0] | GOOD[1]["tea"], {**GOOD[0], "age": [1.0], **GOOD[1]["tea"]}):
        with pytest.raises(hb.InvalidInputError, match="must have a value per row"):
            small().encode_rows(rows)
    wrong: Any
    for wrong in ([], {}, ["tea"], None):
        with pytest.raises(hb.InvalidInputError, match="actions must be a dictionary"):
            small().encode(GOOD[0], wrong)
    for wrong in (["age"], 7):
        with pytest.raises(hb.InvalidInputError, match="in the context must be a dictionary"):
            small().encode(wrong, GOOD[1])


def test_an_action_without_a_block_is_rejected_by_name():
    encoder = hb.Encoder(
        [Number("age")], interactions="per_action", action="what", actions=["a", "b"]
    )
    assert encoder.encode({"age": 1.0}, {"b": {}}).shape == (1, 4)
    with pytest.raises(hb.EncodingError, match=r"column 'what' must be .* \(a, b\), got 'c'"):
        encoder.encode({"age": 1.0}, {"c": {}})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"context_columns": [Number("a")]}, "action_columns must have a column"),
        ({"context_columns": [Number("a")], "action_columns": [Number("a")]}, "got 'a' twice"),
        ({"action_columns": ["a"]}, "must contain Number, Category or Date, got 'a'"),
        ({"action_columns": [Number("a")], "interactions": "alone"}, "interactions must be one of"),
        ({"action_columns": [Number("a")], "actions": ["x"]}, "actions must be empty unless"),
        ({"interactions": "per_action", "action": "a"}, "actions must be different names"),
        (
            {"interactions": "per_action", "action": "a", "actions": ["x", "x"]},
            "actions must be different names",
        ),
        ({"action_columns": [Number("a")], "allow_extra": "b"}, "allow_extra must be a list"),
        (
            {"context_columns": [Category("b", MANY)], "action_columns": [Category("a", MANY)]},
            "at most 100000",
        ),
    ],
)
def test_encoders_that_make_no_sense_are_rejected(arguments, message):
    with pytest.raises(hb.InvalidInputError, match=message):
        hb.Encoder(**arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number("", 1.0), "name must be text"),
        (lambda: Number("a", float("nan")), "centre of 'a'"),
        (lambda: Number("a", 0.0, 0.0), "scale of 'a'"),
        (lambda: Number("a", allow_missing=cast(bool, 1)), "allow_missing of 'a'"),
        (lambda: Category("a", "xyz"), "categories of 'a' must be a list"),
        (lambda: Category("a", ["x", "x "]), "must differ"),
        (lambda: Date("a", ("month",)), "a cycle of 'a'"),
        (lambda: Date("a", (), trend=False), "cycles of 'a'"),
    ],
)
def test_columns_that_make_no_sense_are_rejected(make, message):
    with pytest.raises(hb.InvalidInputError, match=message):
        make()


def test_from_data_names_what_it_cannot_use():
    frame = {"age": [1.0, 2.0], "none": [None, None], "word": ["a", "b"]}
    with pytest.raises(hb.InvalidInputError, match="columns age, none, word; got 'height'"):
        hb.Encoder.from_data(frame, context_columns=["height"], action_columns=["age"])
    with pytest.raises(hb.InvalidInputError, match="column 'none' must have a value"):
        hb.Encoder.from_data(frame, action_columns=["none"])
    with pytest.raises(hb.EncodingError, match="column 'word' must be a finite number, got 'a'"):
        hb.Encoder.from_data(frame, action_columns=["word"], column_types={"word": "number"})
    with pytest.raises(hb.InvalidInputError, match="column_types"):
        hb.Encoder.from_data(frame, action_columns=["word"], column_types={"word": "text"})
    options: Any
    for options in ({"column_types": {"wrd": "category"}}, {"allow_missing": ["wrd"]}):
        with pytest.raises(
            hb.InvalidInputError,
            match=r"must name columns of context_columns or action_columns \(word\), got 'wr",
        ):
            hb.Encoder.from_data(frame, action_columns=["word"], **options)
    with pytest.raises(
        hb.InvalidInputError, match="allow_missing must be a list of columns, got 'word'"
    ):
        hb.Encoder.from_data(frame, action_columns=["word"], allow_missing="word")


def test_missing_values_are_allowed_where_asked_for():
    frame = {"age": [1.0, 2.0], "word": ["a", "b"]}
    for missing, wanted in ((False, [False] * 2), (["word"], [False, True]), (True, [True] * 2)):
        encoder = hb.Encoder.from_data(
            frame, context_columns=["age"], action_columns=["word"], allow_missing=missing
        )
        assert [
            c.allow_missing for c in (*encoder.context_columns, *encoder.action_columns)
        ] == wanted


# ---- files


def test_an_encoder_is_a_file_that_can_be_read(tmp_path):
    encoder = small(allow_extra=["reward"])
    encoder.save(tmp_path / "encoder.json")
    assert hb.Encoder.load(tmp_path / "encoder.json") == encoder
    assert 'Encoder: 4 columns, 8 features, interactions "none"' in str(encoder)
    assert len(encoder.describe()) == 4
    assert pickle.loads(pickle.dumps(encoder)) == encoder


def spoil(value, path, wrong):
    *way, last = path
    inner = value
    for step in way:
        inner = inner[step]
    if wrong is KeyError:
        del inner[last]
    else:
        inner[last] = wrong
    return value


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["kind"], "agent"),
        (["format"], 2),
        (["interactions"], "alone"),
        (["interactions"], KeyError),
        (["more"], 1),
        (["context_columns"], {"a": 1}),
        (["context_columns", 0], "age"),
        (["context_columns", 0, "type"], "matrix"),
        (["context_columns", 0, "scale"], float("inf")),
        (["context_columns", 0, "scale"], "1.0"),
        (["context_columns", 0, "scale"], 1e200),
        (["context_columns", 0, "name"], "x" * 2000),
        (["context_columns", 0, "allow_missing"], 1),
        (["context_columns", 0, "more"], 1),
        (["context_columns", 1, "categories"], "Oslo"),
        (["context_columns", 1, "categories"], ["x" * 2000]),
        (["context_columns", 1, "categories"], [str(n) for n in range(20_000)]),
        (["action_columns", 1, "cycles"], ["month"]),
        (["actions"], ["tea"]),
        (["allow_extra"], 1),
        (["intercept"], 0),
        (["action"], 7),
    ],
)
def test_a_bad_dictionary_is_rejected(path, wrong):
    value = json.loads(json.dumps(small().to_dict()))
    assert hb.Encoder.from_dict(value) == small()
    with pytest.raises(hb.InvalidInputError):
        hb.Encoder.from_dict(spoil(value, path, wrong))


def test_too_many_features_are_rejected_before_they_are_made():
    value = json.loads(json.dumps(small().to_dict()))
    for side in ("context_columns", "action_columns"):
        columns = [value[side][0] | {"name": f"{side} {n}"} for n in range(9000)]
        value[side] = columns
    with pytest.raises(hb.InvalidInputError, match="at most 100000 features, got 81018001"):
        hb.Encoder.from_dict(value | {"interactions": "all"})


@pytest.mark.parametrize("text", ["", "[1]", "{", "null", '{"kind": "encoder"}', "[" * 100_000])
def test_a_file_that_is_no_encoder_is_rejected(tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(hb.InvalidInputError):
        hb.Encoder.load(tmp_path / "bad.json")
    with pytest.raises(hb.InvalidInputError, match="cannot be read"):
        hb.Encoder.load(tmp_path / "none.json")


# ---- transformers


def test_a_fitted_transformer_stands_in_the_place_of_an_encoder():
    compose = pytest.importorskip("sklearn.compose", reason="scikit-learn is not installed")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pandas = pytest.importorskip("pandas")
    log = pandas.DataFrame({"age": [20.0, 40.0], "city": ["Oslo", "Rome"], "what": ["a", "b"]})
    transformer = compose.ColumnTransformer(
        [
            ("scaled", preprocessing.StandardScaler(), ["age"]),
            ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["city", "what"]),
        ]
    ).fit(log)
    features = hb.features.from_sklearn(transformer, action="what")
    assert isinstance(features, hb.features.FeatureMap)
    assert features.dim == len(features.names) == 5
    x = features.encode({"age": 20.0, "city": "Oslo"}, {"a": {}, "c": {}})
    assert x.tolist() == [[-1.0, 1.0, 0.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0, 0.0]]
    assert (features.encode_rows(log)[0] == x[0]).all()
    with pytest.raises(
        hb.InvalidInputError, match=r"only the columns of the transformer, .* got 'mood'"
    ):
        features.encode({"age": 20.0, "city": "Oslo", "mood": 1}, {"a": {}})
    assert not hasattr(features, "to_dict")


def test_a_transformer_that_cannot_stand_in_is_rejected():
    with pytest.raises(hb.InvalidInputError, match="`transform`"):
        hb.features.from_sklearn(cast(Any, object()))
    with pytest.raises(hb.InvalidInputError, match="columns must be given"):
        hb.features.from_sklearn(type("T", (), {"transform": lambda self, x: x})())


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+01:00"])
def test_the_first_and_the_last_day_there_are_have_no_other_zone(when: str) -> None:
    encoder = hb.Encoder(context_columns=[Date("when")], action_columns=[Number("price")])
    assert np.isfinite(encoder.encode({"when": when}, {"it": {"price": 1.0}})).all()


def test_a_context_that_is_no_row_is_rejected() -> None:
    encoder = hb.Encoder(context_columns=[Number("visits")], action_columns=[Number("price")])
    odd: Any = (np.array([1, 2]), [1.0], 3, {"visits": Decimal("sNaN")})
    for context in odd:
        with pytest.raises(hb.InvalidInputError):
            encoder.encode(context, {"it": {"price": 1.0}})


# ---- reports of users


def test_codes_with_leading_zeros_stay_text(tmp_path):
    """Whatever stands around them; whole numbers without any are numbers still."""
    path = tmp_path / "orders.csv"
    path.write_text('code , price,count,quoted\n01234,1.5,10,"007"\n5678,2,0,"08"\n01234,3,30,\n')
    table = frames.read_frame(path)
    assert frames.values(table, "code") == ["01234", "5678", "01234"]
    assert frames.values(table, "quoted") == ["007", "08", None]
    assert list(frames.values(table, "count")) == [10, 0, 30]
    encoder = hb.Encoder.from_data(
        path, context_columns=["code"], action_columns=["price"], interactions="none"
    )
    assert encoder.names[1:3] == ("code=01234", "code=5678")
    path.write_text("a,a\n01,02\n")
    with pytest.raises(hb.InvalidInputError, match="different names"):
        frames.read_frame(path)


def test_columns_that_are_not_there_or_not_known_are_encoding_errors():
    encoder = hb.Encoder([hb.features.Number("age")], [hb.features.Number("price")])
    for context, column in (({}, "age"), ({"age": 1, "odd": 2}, "odd")):
        with pytest.raises(hb.EncodingError) as caught:
            encoder.encode(context, {"tea": {"price": 1.0}})
        assert caught.value.column == column
        assert caught.value.value is None
        assert ", got" not in str(caught.value)


def test_a_text_for_a_missing_value_is_reported_as_given():
    encoder = hb.Encoder([hb.features.Number("age")], [hb.features.Number("price")])
    with pytest.raises(hb.EncodingError, match="got '\\?' in the context") as caught:
        encoder.encode({"age": "?"}, {"tea": {"price": 1.0}})
    assert caught.value.value == "?"


@pytest.mark.parametrize("interactions", INTERACTIONS)
def test_no_rows_are_no_features(interactions):
    log = {"age": [1.0, 2.0, 3.0], "price": [1.0, 2.0, 3.0], "name": ["a", "b", "a"]}
    encoder = hb.Encoder.from_data(
        log,
        context_columns=["age"],
        action_columns=["price"],
        interactions=interactions,
        action="name",
    )
    empty: dict[str, list[float]] = {name: [] for name in encoder.columns}
    assert encoder.encode_rows(empty).shape == (0, encoder.dim)


def test_columns_of_different_lengths_are_rejected():
    with pytest.raises(hb.InvalidInputError, match="as many rows as each other"):
        hb.Encoder.from_data(
            {"age": [1, 2, 3, 4], "price": [1.0, 2.0]},
            context_columns=["age"],
            action_columns=["price"],
        )


def test_an_action_without_a_block_is_found_among_the_actions():
    log = {"age": [1.0, 2.0, 3.0], "name": ["a", "b", "a"]}
    encoder = hb.Encoder.from_data(
        log, context_columns=["age"], interactions="per_action", action="name"
    )
    with pytest.raises(hb.EncodingError, match="got 'c' among the actions"):
        encoder.encode({"age": 1.0}, {"c": {}})


# ---- sizes, names and text on a terminal


def test_an_encoder_from_a_small_file_takes_little_memory():
    """Ten columns of 10,000 categories: 10,000 features of each of them would take 8 GB."""
    words = [f"{number:x}" for number in range(10_000)]
    columns = [Category(f"c{n}", words) for n in range(9)]
    value = hb.Encoder(columns, [Number("p")], interactions="none").to_dict()
    tracemalloc.start()
    try:
        encoder = hb.Encoder.from_dict(value)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100e6
    assert encoder.dim == 90_011
    context = {f"c{n}": "270f" for n in range(9)}
    x = encoder.encode(context, {"a": {"p": 0.0}})
    assert np.count_nonzero(x) == 10
    value["action_columns"] = value["context_columns"]
    value["context_columns"] = []
    tracemalloc.start()
    try:
        with pytest.raises(hb.InvalidInputError, match="at most 100000 features"):
            hb.Encoder.from_dict(
                value
                | {"context_columns": [{**value["action_columns"][0], "name": "d"}]}
                | {"interactions": "all"}
            )
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_the_size_of_a_column_is_the_number_of_its_names():
    for column in (
        Number("a"),
        Number("a", allow_missing=True),
        Category("a", ["x", "y"]),
        Category("a", [], allow_missing=True),
        Date("a"),
        Date("a", ("day", "year"), trend=False, allow_missing=True),
    ):
        assert column.size == len(column.names)
        assert isinstance(column, hb.features.Column)


@pytest.mark.parametrize(
    ("context", "action"),
    [
        ([Category("c", ["(other)", "(missing)", '"(other)"'], allow_missing=True)], [Number("p")]),
        ([Category("1", ["Oslo"]), Number("1=Oslo"), Number("1=(other)")], [Number("p")]),
        ([Number("c")], [Number("p"), Number("p x c"), Number("p x c (2)"), Number("q")]),
        ([Number("1")], [Number("p", allow_missing=True), Number("p=(missing)")]),
    ],
)
def test_no_two_features_have_the_same_name(context, action):
    encoder = hb.Encoder(context, action)
    assert len(set(encoder.names)) == encoder.dim


def test_a_category_called_other_has_a_feature_of_its_own():
    column = Category("c", ["(other)", "Oslo"])
    assert column.names == ('c="(other)"', "c=Oslo", "c=(other)")
    assert column.read("(other)") == (1.0, 0.0, 0.0)
    assert column.read("Rome") == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("clip", [1e100, 1e-100, 1001.0, 0.0])
def test_a_clip_that_makes_other_features_vanish_is_rejected(clip):
    for make in (Number, Date):
        with pytest.raises(hb.InvalidInputError, match="clip of 'a' must be in"):
            make("a", clip=clip)


def test_a_column_of_two_numbers_becomes_0_and_1():
    """Also if neither of them is 0."""
    frame = {"x": [10.0, 12.0, 10.0], "p": [-3.0, -5.0, -5.0]}
    encoder = hb.Encoder.from_data(frame, action_columns=["x", "p"], interactions="none")
    x, p = encoder.action_columns
    assert isinstance(x, Number)
    assert (x.centre, x.scale) == (10.0, 2.0)
    assert [p.read(value) for value in (-5.0, -3.0)] == [(0.0,), (1.0,)]


def test_text_from_a_file_does_not_control_the_terminal(tmp_path):
    pytest.importorskip("pyarrow")
    evil = "\x1b]0;owned\x07\x1b[31m"
    names = {f"city{evil}": ["Oslo", evil + "x", "Rome"], "p": [1.0, 2.0, 3.0]}
    encoder = hb.Encoder.from_data(
        names, context_columns=[f"city{evil}"], action_columns=["p"], interactions="none"
    )
    encoder.save(tmp_path / "encoder.json")
    shown = [str(encoder), repr(hb.Encoder.load(tmp_path / "encoder.json"))]
    (tmp_path / "bad.csv").write_text(f"a,b{evil}\n1,2\n{evil},1,2\n")
    (tmp_path / "names.csv").write_text(f"a,b{evil}\n1,2\n")
    per_action = hb.Encoder(
        [Number("age")], interactions="per_action", action=evil, actions=[evil, "b"]
    )
    calls: list[Any] = [
        lambda: encoder.encode({}, {"a": {"p": 1.0}}),
        lambda: encoder.encode({f"city{evil}": 1, evil: 2}, {"a": {"p": 1.0}}),
        lambda: encoder.encode({f"city{evil}": []}, {evil: {"p": 1.0}}),
        lambda: frames.read_frame(tmp_path / "bad.csv"),
        lambda: frames.values(frames.read_frame(tmp_path / "names.csv"), "c"),
        lambda: per_action.encode({"age": 1.0}, {evil + "c": {}}),
        lambda: hb.Encoder.from_data(names, action_columns=["p"], column_types={evil: "number"}),
    ]
    for call in calls:
        with pytest.raises(hb.InvalidInputError) as caught:
            call()
        shown.append(str(caught.value))
    shown.append(str(per_action))
    for text in shown:
        assert all(c.isprintable() or c == "\n" for c in text), text


def test_half_a_character_is_no_category():
    """It could not be saved."""
    with pytest.raises(hb.InvalidInputError, match="a category of 'f' must be text"):
        Category("f", ["\ud800"])
    assert Category("f", ["a"]).read("\ud800") == (0.0, 1.0)


def test_the_cost_of_an_encoder_is_shown():
    encoder = hb.Encoder([Category("city", [str(n) for n in range(499)])], [Number("price")])
    cost = encoder.estimate_cost()
    assert cost.dim == encoder.dim == 1002
    assert cost.state_bytes == 32 * 1002**2
    assert "a linear policy takes 32.1 MB and about 4 ms per decision" in str(encoder)


def test_a_context_must_be_a_mapping_even_if_it_has_no_columns():
    encoder = hb.Encoder(action_columns=[Number("p")])
    wrong: Any
    for wrong in (3, 1.5, object()):
        with pytest.raises(hb.InvalidInputError, match="in the context must be a dictionary"):
            encoder.encode(wrong, {"a": {"p": 1.0}})


def test_a_state_file_whose_encoder_does_not_fit_its_policy_is_rejected(tmp_path):
    """88 kB took 4 GB; the encoder is small now, and its size is compared with the policy's."""
    path = tmp_path / "agent.state"
    hb.Agent(hb.linucb(dim=2, radius=1.0)).save(path)
    body, blobs = read_container(FORMAT, path.read_bytes())
    words = [f"{number:x}" for number in range(10_000)]
    body["encoder"] = hb.Encoder(
        [Category("c", words)], [Number("p")], interactions="none"
    ).to_dict()
    for stamp in ("kind", "format", "heavybandits"):
        body.pop(stamp, None)
    path.write_bytes(write_container(FORMAT, body, {k: bytes(v) for k, v in blobs.items()}))
    tracemalloc.start()
    try:
        with pytest.raises(hb.StateError, match="10003 features, but the policy has dim 2"):
            hb.Agent.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_a_log_is_encoded_with_the_texts_of_its_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    path.write_text("code,p,name,reward\n12e4,1,a,1\n120000,2,b,2\n7e2,3,a,3\n")
    encoder = hb.Encoder.from_data(
        path,
        context_columns=["code"],
        action_columns=["p"],
        column_types={"code": "category"},
        allow_extra=True,
    )
    assert encoder.context_columns[0].names[:3] == ("code=120000", "code=12e4", "code=7e2")
    rows = encode_rows(frames.read_frame(path), encoder)
    assert rows.tobytes() == encoder.encode_rows(path).tobytes()
    assert not rows[:, encoder.names.index("code=(other)")].any()


@pytest.mark.parametrize("form", ["%Y-%d-%m", "%Y%m%d"])
def test_date_formats_hold_for_dates_that_a_file_has_in_other_forms(tmp_path, form):
    """2026-02-01 of the form %Y-%d-%m is 2 January; 20260201 is no number."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    days = [datetime(2026, 1 + n % 12, 1 + n % 11).strftime(form) for n in range(50)]
    path.write_text("when,p\n" + "\n".join(f"{day},1" for day in days))
    made = [
        hb.Encoder.from_data(
            data, context_columns=["when"], action_columns=["p"], date_formats={"when": form}
        )
        for data in (path, {"when": days, "p": [1] * 50})
    ]
    assert made[0] == made[1]
    rows = made[0].encode_rows({"when": days, "p": [1] * 50})
    assert made[0].encode_rows(path).tobytes() == rows.tobytes()


def test_the_values_of_an_action_must_not_have_another_name():
    encoder = hb.Encoder((), [Category("offer", ["tea", "nut"])], action="offer")
    same = encoder.encode(None, {"tea": {"offer": "tea"}})
    assert same.tobytes() == encoder.encode(None, {"tea": {}}).tobytes()
    with pytest.raises(hb.EncodingError, match=r"must be left out or be the name '0'.*got 'tea'"):
        encoder.encode(None, {"0": {"offer": "tea"}, "1": {"offer": "nut"}})
