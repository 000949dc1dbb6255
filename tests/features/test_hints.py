"""Warnings about categories that look like numbers or dates, and the arguments that read them."""

import random
import warnings
from datetime import datetime, timedelta

import pytest

import heavybandits as hb
from heavybandits.features import Category, Date, Number

START = datetime(2025, 1, 1)
MOMENTS = [START + timedelta(hours=n) for n in range(300)]
NUMBERS = [round(random.Random(n).random(), 3) for n in range(300)]
PRICES = [float(n % 7) for n in range(300)]


def infer(column, **options):
    return hb.Encoder.from_data(
        {"x": column, "p": PRICES[: len(column)]},
        context_columns=["x"],
        action_columns=["p"],
        interactions="none",
        **options,
    )


def column_of(column, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return infer(column, **options).context_columns[0]


COMMAS = [str(number).replace(".", ",") for number in NUMBERS]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (COMMAS, r"numbers with a decimal comma, such as '0,\d+': pass decimal=\{'x': ','\}"),
        (
            [m.strftime("%d.%m.%Y %H:%M") for m in MOMENTS],
            r"format %d.%m.%Y %H:%M, such as '01.01.2025 00:00': pass date_formats=",
        ),
        ([m.strftime("%m/%d/%Y") for m in MOMENTS], "format %m/%d/%Y, such"),
        ([m.strftime("%m/%d/%Y") for m in MOMENTS[:240]], "format %d/%m/%Y or %m/%d/%Y, such"),
        ([m.strftime("%Y/%m/%d") for m in MOMENTS], "format %Y/%m/%d"),
        (
            [str(m) if n % 100 else "01/05/2025" for n, m in enumerate(MOMENTS)],
            r"ISO dates \(except 3, such as '01/05/2025'\)",
        ),
        (
            [str(n) if n % 100 else "none given" for n in range(300)],
            r"look like numbers \(except 3, such as 'none given'\)",
        ),
        ([f"9.00719925474{n:04}e+18" for n in range(300)], "integers that were written as floats"),
        ([f"customer {n}" for n in range(300)], "Raise max_categories"),
    ],
)
def test_a_category_that_is_none_is_warned_of_with_counts(column, words):
    distinct = len(set(column))
    with pytest.warns(UserWarning, match=words) as caught:
        encoder = infer(column)
    [warning] = caught
    assert warning.filename == __file__
    share = encoder.describe()[0]["other_share"]
    text = str(warning.message)
    assert f'with {distinct} different values, {share:.1%} of the rows in "(other)"' in text
    assert encoder.describe()[0]["distinct_values"] == distinct
    assert f"{distinct} different values" in " ".join(str(encoder).split()) or share == 0.0


def test_a_category_that_is_asked_for_is_warned_of_only_if_it_covers_little():
    kept = column_of(COMMAS[:20], column_types={"x": "category"})
    assert isinstance(kept, Category)
    with pytest.warns(UserWarning, match="Raise max_categories"):
        infer(COMMAS, column_types={"x": "category"})
    assert isinstance(column_of(["Oslo", "Rome", "9", "10"]), Category)
    assert isinstance(column_of(["a"] * 60 + [f"rare {n}" for n in range(40)]), Category)


def test_counts_are_those_of_the_data():
    encoder = infer(["a", "b", "a", "c"], max_categories=1)
    row, price = encoder.describe()
    assert (row["distinct_values"], row["other_share"]) == (3, 0.5)
    assert (price["distinct_values"], price["other_share"]) == (None, None)
    again = hb.Encoder.from_dict(encoder.to_dict())
    assert again == encoder
    assert again.describe()[0]["other_share"] is None


@pytest.mark.parametrize("decimal", [",", {"x": ","}])
def test_a_decimal_comma_is_read(decimal, tmp_path):
    column = column_of(COMMAS, decimal=decimal)
    centre, scale = plain_numbers()
    assert column == Number("x", centre, scale, decimal=",")
    assert column.read("0,5") == column.read(0.5)
    pytest.importorskip("pyarrow")
    (tmp_path / "de.csv").write_text(
        "x;p\n" + "".join(f"{x};{p}\n" for x, p in zip(COMMAS, range(300), strict=True))
    )
    read = hb.Encoder.from_data(
        tmp_path / "de.csv", context_columns=["x"], action_columns=["p"], decimal=decimal
    )
    assert read.context_columns[0] == column
    assert hb.Encoder.from_dict(read.to_dict()) == read
    live = read.encode({"x": "0,25"}, {"a": {"p": 1.0}})
    assert (live == read.encode({"x": 0.25}, {"a": {"p": 1.0}})).all()


def plain_numbers():
    column = column_of(NUMBERS)
    return column.centre, column.scale


def test_thousands_are_not_taken_for_fractions(tmp_path):
    """With a decimal comma, 1.234 is more than a thousand: rejected, not read as 1.2."""
    pytest.importorskip("pyarrow")
    (tmp_path / "de.csv").write_text("x;p\n1.234;1\n2.500;2\n")
    with pytest.raises(hb.EncodingError, match=r"decimal mark ',', got '1\.234'"):
        hb.Encoder.from_data(
            tmp_path / "de.csv", context_columns=["x"], action_columns=["p"], decimal=","
        )


@pytest.mark.parametrize(
    ("form", "formats"),
    [
        ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M"),
        ("%m/%d/%Y %H:%M", ["%d.%m.%Y", "%m/%d/%Y %H:%M"]),
    ],
)
def test_dates_of_other_formats_are_read(form, formats):
    texts = [moment.strftime(form) for moment in MOMENTS]
    texts[0] = MOMENTS[0].isoformat()  # ISO is read beside them
    column, plain = column_of(texts, date_formats={"x": formats}), column_of(MOMENTS)
    assert isinstance(column, Date)
    assert (column.cycles, column.centre) == (plain.cycles, plain.centre)
    for text, moment in zip(texts, MOMENTS, strict=True):
        assert column.read(text) == plain.read(moment)
    with pytest.raises(hb.EncodingError, match=r"must be a date, or %.* or ISO 8601"):
        column.read("yesterday")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": ";"}, "decimal must be one of"),
        ({"decimal": {"x": ";"}}, "decimal.'x'. must be one of"),
        ({"decimal": {"y": ","}}, "decimal must name columns"),
        ({"decimal": 1}, "decimal must be a dictionary"),
        ({"date_formats": {"x": "%d.%m"}}, "must have year, month and day"),
        ({"date_formats": {"x": "%Q"}}, "must have year, month and day"),
        ({"date_formats": {"x": [7]}}, "must have year, month and day"),
        ({"date_formats": {"y": "%d.%m.%Y"}}, "date_formats must name columns"),
        ({"normalize": "upper"}, "normalize must be one of nfc, casefold"),
        ({"normalize": {"y": "nfc"}}, "normalize must name columns"),
    ],
)
def test_options_that_make_no_sense_are_rejected(options, words):
    with pytest.raises(hb.InvalidInputError, match=words):
        infer(["a", "b"], **options)


def test_case_is_folded_where_asked_for():
    column = column_of(["Oslo", "OSLO", "Straße", "STRASSE"], normalize={"x": "casefold"})
    assert column.categories == ("oslo", "strasse")
    assert column.read("oSLO") == (1.0, 0.0, 0.0)
    assert column.reader()("strasse") == (0.0, 1.0, 0.0)
    plain = column_of(["Oslo", "OSLO", "Malm\u00f6", "Malmo\u0308"])
    assert plain.categories == ("Malm\u00f6", "OSLO", "Oslo")
