"""The canonical text of a category, numbers and dates as text, and values for JSON."""

import enum
import json
import math
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heavybandits as hb
from heavybandits._utils.errors import printable
from heavybandits.features import Category, Number
from heavybandits.features.values import (
    Lookup,
    is_missing,
    number_key,
    read_number,
    read_text,
    to_plain,
)

ZONE = timezone(timedelta(hours=2))


class City(str, enum.Enum):  # noqa: UP042 - StrEnum writes itself as its value
    OSLO = "Oslo"


class Step(enum.Enum):
    FIRST = 1


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("true", [True, np.True_, "true", "True", " TRUE", b"true"]),
        ("1", [1, 1.0, np.int8(1), np.float32(1.0), Decimal("1.00"), "1", Step.FIRST, " 1 "]),
        ("0", [0, 0.0, -0.0, Decimal("-0.0"), "0"]),
        ("1.1", [1.1, Decimal("1.10"), Decimal("1.1"), np.float64(1.1), "1.1"]),
        ("1.10", ["1.10", b"1.10"]),
        ("01234", ["01234"]),
        ("12e4", ["12e4"]),
        ("120000", [120000, 12e4, Decimal("12E4")]),
        (
            "9007199254740993",
            [2**53 + 1, "9007199254740993", Decimal(2**53 + 1), np.int64(2**53 + 1)],
        ),
        ("0.0000001", [1e-7, Decimal("1e-7")]),
        ("Oslo", ["Oslo", City.OSLO, np.str_("Oslo"), b"Oslo", np.array("Oslo")]),
        ("Malm\u00f6", ["Malm\u00f6", "Malmo\u0308"]),
        ("09:10", ["09:10", "09:10:00", "09:10:00.000000000", time(9, 10)]),
        ("09:10:05.000001", [time(9, 10, 5, 1), "09:10:05.000001"]),
        ("2026-05-01", [date(2026, 5, 1), datetime(2026, 5, 1), np.datetime64("2026-05-01")]),
        ("2026-05-01", ["2026-05-01", "2026-05-01 00:00:00", np.datetime64("2026-05")]),
        ("2026-05-01T07:00", [datetime(2026, 5, 1, 9, tzinfo=ZONE), "2026-05-01T09:00:00+02:00"]),
        ("2026-05-01T07:00", [datetime(2026, 5, 1, 7, tzinfo=UTC), "2026-05-01 07:00:00Z"]),
        ("2026-13-45", ["2026-13-45"]),
        ("25:00", ["25:00"]),
        ("12345678-1234-5678-1234-567812345678", [uuid.UUID("12345678123456781234567812345678")]),
    ],
)
def test_a_value_has_one_text(text, values):
    for value in values:
        assert read_text(value) == text
        assert read_text(read_text(value)) == text
        known = Category("c", [text, "else"])
        assert known.reader()(value) == known.read(value) == (1.0, 0.0, 0.0)
        stored = json.loads(json.dumps(value, default=to_plain))
        assert known.read(stored) == (1.0, 0.0, 0.0)


class Hostile:
    """An object whose methods raise."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


odd: Any = [
    Hostile(),
    ["Oslo"],
    ("a",),
    {"a"},
    {"a": 1},
    np.array(["a", "b"]),
    math.inf,
    Decimal("sNaN"),
    Decimal("Infinity"),
    b"\xff",
    1 + 2j,
    Fraction(1, 3),
    timedelta(1),
    10**5000,
    float(2**53),
    SimpleNamespace(),
    np.datetime64("20000-01-01"),
    np.timedelta64(1, "ns"),
    np.timedelta64(1, "Y"),
]


@pytest.mark.parametrize("value", odd, ids=lambda value: type(value).__name__)
def test_a_value_that_has_no_text_is_rejected(value):
    with pytest.raises(hb.EncodingError, match="column 'city'"):
        Category("city", ["Oslo"]).read(value)
    with pytest.raises(hb.InvalidInputError):
        hb.Encoder.from_data(
            {"city": [value, value], "p": [1.0, 2.0]},
            context_columns=["city"],
            action_columns=["p"],
            column_types={"city": "category"},
        )


def test_lists_of_lists_are_no_categories():
    with pytest.raises(hb.InvalidInputError, match="one text, number"):
        Category("a", [["x"], ["y"]])  # type: ignore[list-item]


def test_masked_and_missing_values_are_missing():
    pandas = pytest.importorskip("pandas")
    for value in (
        None,
        math.nan,
        Decimal("NaN"),
        "",
        " ",
        b"",
        np.ma.masked,
        pandas.NA,
        pandas.NaT,
    ):
        assert is_missing(value)
    assert np.isnat(np.datetime64("NaT"))
    assert is_missing(np.datetime64("NaT"))
    assert to_plain(pandas.NA) is None
    assert to_plain(np.ma.array([1, 2], mask=[True, False])) == [None, 2]


def test_versions_are_told_apart_and_numbers_are_found():
    """As written if it is known; else the number that it is."""
    both = Category("version", ["1.1", "1.10", "2.0"])
    assert both.read("1.10") == (0.0, 1.0, 0.0, 0.0)
    assert both.read("1.1") == both.read(1.1) == (1.0, 0.0, 0.0, 0.0)
    assert both.read(2) == both.read("2") == (0.0, 0.0, 1.0, 0.0)
    price = Category("price", ["1.10", "2.50"])
    for value in (1.1, Decimal("1.1"), "1.1", "1.100", np.float64(1.1)):
        assert price.read(value) == (1.0, 0.0, 0.0)
    codes = Category("code", ["01234", "12e4", "7e2"])
    for value in (1234, "1234", 120000, 700.0):
        assert codes.read(value) == (0.0, 0.0, 0.0, 1.0)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_exact(number):
    text = read_text(number)
    assert Decimal(text) == number
    assert read_text(text) == text
    stored = to_plain(number)
    assert read_text(stored) == text


@given(st.floats(-(2.0**53) + 1, 2.0**53 - 1))
def test_the_text_of_a_float_reads_back(number):
    assert float(read_text(number)) == number
    assert number_key(repr(number)) == read_text(number)


@given(st.text(max_size=12))
def test_the_text_of_a_text_stays(text):
    once = read_text(text)
    assert read_text(once) == once
    known = Lookup([once])
    assert known.find(once) == 0


def test_a_number_as_text_of_any_size_takes_no_time():
    assert number_key("1e+999999999") == "1e999999999"
    assert number_key("1e+99999999999999999999999") is None
    assert len(read_text(Decimal("1e-300000"))) < 20


# ---- numbers and dates as text


def test_numbers_may_have_a_decimal_comma():
    assert read_number("1,5", "a", ",") == 1.5
    assert read_number("-3", "a", ",") == -3.0
    assert read_number(1.5, "a", ",") == 1.5
    wrong: Any
    for wrong in ("1.5", "1.234,5", "1,2,3"):
        with pytest.raises(hb.EncodingError, match="with the decimal mark ','"):
            read_number(wrong, "a", ",")
    for wrong in (np.timedelta64(1, "ns"), 10**5000):
        with pytest.raises(hb.EncodingError, match="must be a finite number"):
            read_number(wrong, "a")
    assert [read_number(text, "a") for text in ("True", "false")] == [1.0, 0.0]


def test_control_characters_are_escaped():
    assert printable("a\x1b[31mb\u202ec\n") == "a\\x1b[31mb\\u202ec\\n"
    assert printable("Malmö 漢") == "Malmö 漢"


# ---- files of text


@pytest.mark.parametrize(
    ("texts", "live"),
    [
        (["09:10", "21:40"], [time(9, 10), "09:10", "21:40:00"]),
        (["1.10", "2.50"], ["1.10", Decimal("1.10"), 1.1, 2.5]),
        (["true", "false"], [True, "true", "False", np.False_]),
        (["True", "False"], [True, "true", np.False_]),
        (["01234", "5678"], ["01234", 5678]),
        (["12e4", "7e2"], ["12e4", "7e2"]),
        (["1", "", "3"], [1, 3.0, "1"]),
        (["9007199254740993", "", "1"], [2**53 + 1, str(2**53 + 1)]),
        (["2026-05-01 09:00", "2026-05-02 09:00"], [datetime(2026, 5, 1, 9), "2026-05-02T09:00"]),
    ],
)
def test_categories_of_a_csv_file_are_found_live(tmp_path, texts, live):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    path.write_text("f,p\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)))
    encoder = hb.Encoder.from_data(
        path,
        context_columns=["f"],
        action_columns=["p"],
        column_types={"f": "category"},
        interactions="none",
    )
    other = encoder.names.index("f=(other)")
    for value in live:
        assert encoder.encode({"f": value}, {"a": {"p": 1.0}})[0, other] == 0.0
    assert not encoder.encode_rows(path)[:, other].any()


def test_a_lesson_from_a_csv_file_is_read_again_by_a_new_encoder(tmp_path):
    """The ledger has the texts as written wherever numbers would not say them."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    path.write_text("code,at,member,p\n12e4,09:10,true,1.50\n7e2,21:40,false,2\n12e4,09:10,,3\n")
    old, new = (
        hb.Encoder.from_data(
            path,
            context_columns=["code", "at", "member"],
            action_columns=["p"],
            column_types=dict.fromkeys(["code", "at", "member"], "category"),
            interactions=interactions,
        )
        for interactions in ("none", "all")
    )
    lived = hb.Agent(hb.linucb(dim=new.dim, radius=1.0), encoder=new)
    lived.warm_start(path, [1.0, 2.0, 3.0])
    ledger = tmp_path / "agent.db"
    with hb.Agent(hb.linucb(dim=old.dim, radius=1.0), encoder=old, ledger=ledger) as agent:
        agent.warm_start(path, [1.0, 2.0, 3.0])
    again = hb.Agent.rebuild(ledger, hb.linucb(dim=new.dim, radius=1.0), encoder=new)
    assert again.theta.tobytes() == lived.theta.tobytes()


@pytest.mark.parametrize("masked", [np.ma.masked, np.ma.array(7.0, mask=True)])
def test_a_masked_value_is_missing(masked):
    """Its item is a number: 0.0, or what the mask hides."""
    for column in (Number("f", allow_missing=True), Category("f", ["0"], allow_missing=True)):
        missing = column.read(None)
        assert column.read(masked) == column.reader()(masked) == missing
        assert column.read_many([masked, 0]).tolist() == column.read_many([None, 0]).tolist()
    with pytest.raises(hb.EncodingError, match="must not be missing"):
        Number("f").read(masked)
    assert to_plain(masked) is None


def test_a_lesson_from_a_csv_file_keeps_versions_and_large_numbers(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    path.write_text("version,p\n1.1,1e17\n1.10,2e17\n1.10,3e17\n")
    encoder = hb.Encoder.from_data(
        path,
        context_columns=["version"],
        action_columns=["p"],
        column_types={"version": "category"},
    )
    policy = hb.linucb(dim=encoder.dim, radius=1.0)
    with hb.Agent(policy, encoder=encoder, ledger=tmp_path / "agent.db") as agent:
        agent.warm_start(path, [1.0, 2.0, 3.0])
        theta = agent.theta.tobytes()
    again = hb.Agent.rebuild(tmp_path / "agent.db", policy, encoder=encoder)
    assert again.theta.tobytes() == theta
