"""Columns out of frames of any library and out of files, compressed or not."""

import bz2
import gzip
from typing import Any

import numpy as np
import pytest

from heavybandits import Encoder, EncodingError
from heavybandits._utils.errors import InvalidInputError
from heavybandits.features import tables
from heavybandits.features.tables import column, numbers, read_frame, table, values
from heavybandits.features.values import is_missing

pandas = pytest.importorskip("pandas", reason="the extra 'lab' is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="the extra 'lab' is not installed")
pytest.importorskip("pyarrow.parquet")

PLAIN = {"y": [1.5, -2.0, 3.0], "x": [1, 2, 3]}


def write(path, text):
    """A file of text, compressed as its name says."""
    with pyarrow.output_stream(str(path), compression="detect") as stream:
        stream.write(text.encode())
    return path


# ---- frames


def test_frames_of_every_kind_give_the_same_numbers():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    records = [dict(zip(PLAIN, row, strict=True)) for row in zip(*PLAIN.values(), strict=True)]
    frame = pandas.DataFrame(PLAIN)
    for source in [PLAIN, records, frame, polars.DataFrame(PLAIN), pyarrow.table(PLAIN)]:
        found, kept = table(read_frame(source), ["y", "x"])
        assert found.tolist() == [[1.5, 1.0], [-2.0, 2.0], [3.0, 3.0]]
        assert kept.all()


@pytest.mark.parametrize(
    "given",
    [
        pandas.Series([1, None, 3], dtype="Int64"),
        pandas.Series([1, None, 3], dtype="Float32"),
        pandas.Series([1, None, 3], dtype="int64[pyarrow]"),
        pandas.Series([1, None, 3], dtype=object),
        pandas.Series([1.0, float("nan"), 3.0]),
    ],
)
def test_what_pandas_calls_missing_is_nan(given):
    found = numbers(read_frame(pandas.DataFrame({"y": given})), "y")
    assert np.isnan(found).tolist() == [False, True, False]
    assert found[[0, 2]].tolist() == [1.0, 3.0]


def test_words_and_lists_come_as_they_are():
    words = pandas.DataFrame({"a": pandas.Categorical(["x", "y", None])})
    assert [value for value in values(read_frame(words), "a") if value == value] == ["x", "y"]
    lists = column(read_frame(pyarrow.table({"a": [["x", "y"], ["x"]]})), "a")
    assert [list(cell) for cell in lists] == [["x", "y"], ["x"]]


def test_what_is_no_table_is_rejected():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    source: Any
    for source in ([1.0], 7, None):
        with pytest.raises(InvalidInputError, match="named columns"):
            read_frame(source)
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    for source in (polars.DataFrame(PLAIN).lazy(), twice):
        with pytest.raises(InvalidInputError, match="in memory"):
            read_frame(source)


def test_names_that_are_numbers_are_known_by_their_text():
    source: Any
    for source in ({7: [1.0]}, pandas.DataFrame({7: [1.0]})):
        assert values(read_frame(source), "7")[0] == 1.0


# ---- files


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.zst", "a.CSV", "a.tsv", "a.tsv.gz", "a.txt"]
)
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_file_of_text_is_read_whatever_its_separator_and_compression(tmp_path, name, mark):
    text = "\ufeffy,x \n1.5,1\n-2.0,2\n3.0,3\n".replace(",", mark)
    found, _ = table(read_frame(write(tmp_path / name, text)), ["y", "x"])
    assert found.tolist() == [[1.5, 1.0], [-2.0, 2.0], [3.0, 3.0]]


def test_compressed_files_are_those_of_the_usual_tools(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"y\n1\n"))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(b"y\n1\n"))
    for name in ("a.csv.gz", "a.csv.bz2"):
        assert numbers(read_frame(tmp_path / name), "y").tolist() == [1.0]


def test_parquet_is_read(tmp_path):
    for name, packed in (("a.parquet", None), ("b.pq", "zstd")):
        pandas.DataFrame(PLAIN).to_parquet(tmp_path / name, compression=packed)
        assert table(read_frame(str(tmp_path / name)), ["x"])[0].ravel().tolist() == [1, 2, 3]


def test_a_column_has_one_kind_however_late_it_shows(tmp_path):
    """Whole numbers for two megabytes, then a fraction: no reason to refuse the file."""
    rows = ["1"] * 1_200_000
    found = numbers(read_frame(write(tmp_path / "a.csv", "\n".join(["y", *rows, "2.5", ""]))), "y")
    assert found.size == len(rows) + 1
    assert found[-1] == 2.5


def test_words_for_missing_numbers_are_words_elsewhere(tmp_path):
    text = 'y,country\n1,NA\n?,NO\nN/A,"a, ""b""\nc"\n,\n'
    frame = read_frame(write(tmp_path / "a.csv", text))
    assert np.isnan(numbers(frame, "y")).tolist() == [False, True, True, True]
    assert values(frame, "country") == ["NA", "NO", 'a, "b"\nc', ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read as text"),
        ("y,x\n1,2,3\n", "cannot be read as text.*Expected 2 columns, got 3"),
        ("y\nabc\n", "column 'y' must be a finite number, got 'abc' in row 0"),
        ("y\n1\ninf\n", "column 'y' must be finite, got inf in row 1"),
        ('y\n1\n""\n', "must have no missing values, got 1, the first in row 1"),
        ("z\n1\n", "must be one of the columns z; got 'y'"),
        ("y,y\n1,2\n", "different names"),
    ],
)
def test_bad_files_are_named(tmp_path, text, words):
    with pytest.raises(InvalidInputError, match=words):
        table(read_frame(write(tmp_path / "bad.csv", text)), ["y"])


def test_files_that_are_no_frames(tmp_path):
    (tmp_path / "a.xyz").write_text("y\n1\n")
    (tmp_path / "b.parquet").write_bytes(b"not parquet")
    (tmp_path / "c.csv").write_bytes(b"y\n\xff\xfe\n")
    (tmp_path / "d.csv").write_bytes(b"\xff\xfe\n1\n")
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"y\n1\n" * 1000)[:-9])
    (tmp_path / "f.csv.gz").write_bytes(b"y\n1\n")
    for name, words in (
        ("a.xyz", "must be a .csv"),
        ("b.parquet", "as Parquet"),
        ("c.csv", "as text"),
        ("d.csv", "as text"),
        ("e.csv.gz", "as text"),
        ("f.csv.gz", "as text"),
        ("missing.csv", "exists"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            read_frame(tmp_path / name)


def test_an_empty_line_is_no_row_except_of_one_column(tmp_path):
    found, _ = table(read_frame(write(tmp_path / "a.csv", "y,x\n1,2\n\n3,4\n\n")), ["y"])
    assert found.ravel().tolist() == [1.0, 3.0]
    one = numbers(read_frame(write(tmp_path / "b.csv", "y\n1\n\n3\n")), "y")
    assert np.isnan(one).tolist() == [False, True, False]


def test_an_empty_table_has_no_rows(tmp_path):
    with pytest.raises(InvalidInputError, match="must have a row"):
        table(read_frame(write(tmp_path / "a.csv", "y,x\n")), ["y"])


# ---- exact values


def test_integers_with_gaps_do_not_pass_through_floats():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    ids = [2**53 + 1, None, 2**53]
    for source in (
        {"id": ids},
        {"id": pyarrow.array(ids)},
        {"id": polars.Series(ids)},
        {"id": pandas.Series(ids, dtype="Int64")},
        {"id": np.ma.array([2**53 + 1, 7, 2**53], mask=[False, True, False])},
        pandas.DataFrame({"id": pandas.array(ids, dtype="Int64")}),
        polars.DataFrame({"id": ids}),
        polars.DataFrame({"id": polars.Series(ids, dtype=polars.Int128)}),
        pyarrow.table({"id": ids}),
    ):
        frame = read_frame(source)
        found = [None if is_missing(value) else value for value in values(frame, "id")]
        assert found == ids
        assert np.isnan(numbers(frame, "id")).tolist() == [False, True, False]


def test_integers_of_128_bits_are_numbers():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = read_frame(polars.DataFrame({"y": polars.Series([1, 2**100], dtype=polars.Int128)}))
    assert numbers(frame, "y").tolist() == [1.0, 2.0**100]


def test_floats_lost_the_digits_of_ids():
    frame = pandas.DataFrame({"id": [2**53 + 1, None], "p": [1.0, 2.0]})
    with pytest.raises(EncodingError, match="a float of 2\\^53 or more has lost digits"):
        Encoder.from_data(
            frame,
            context_columns=["id"],
            action_columns=["p"],
            column_types={"id": "category"},
        )


def test_masks_are_respected():
    masked = np.ma.array([1.0, 2.0, 1e9], mask=[False, False, True])
    assert values(read_frame({"f": masked}), "f") == [1.0, 2.0, None]
    encoder = Encoder.from_data({"f": masked, "p": [1.0, 2.0, 3.0]}, action_columns=["f", "p"])
    assert encoder.action_columns[0].describe() == "(value - 1) / 1, clipped to +-3"
    assert encoder.action_columns[0].allow_missing


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(3), "must have a value per row"),
        ({3, 1, 2}, "must have a value per row"),
        ({"a": 1, "b": 2}.values(), "must have a value per row"),
        (np.ones((3, 2)), "must have a value per row, got shape"),
        (range(3), None),
        ((1, 2, 3), None),
    ],
)
def test_a_column_has_an_order_and_a_value_per_row(column, words):
    def infer():
        return Encoder.from_data({"f": column, "p": [1.0, 2.0, 3.0]}, action_columns=["f", "p"])

    if words is None:
        assert infer().dim == 3
        return
    with pytest.raises(InvalidInputError, match=words):
        infer()


def test_names_that_are_the_same_text_are_rejected():
    source: Any = {1: [1, 2], "1": [9, 8]}
    with pytest.raises(InvalidInputError, match="different names as text, got 1 twice"):
        values(read_frame(source), "1")


def test_a_column_that_a_library_cannot_convert_is_named():
    table = pyarrow.table({"y": pyarrow.array([2**62], pyarrow.timestamp("s"))})
    with pytest.raises(InvalidInputError, match="column 'y' cannot be read: "):
        values(read_frame(table), "y")


# ---- files that expand


def test_what_a_file_expands_to_is_limited(tmp_path, monkeypatch):
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"y\n" + b"1\n" * 1_000_000))
    (tmp_path / "plain.csv").write_bytes(b"y\n" + b"1\n" * 1_000_000)
    same = pyarrow.table({"y": np.zeros(1_000_000)})
    pyarrow.parquet.write_table(same, tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 10_000
    for name in ("bomb.csv.gz", "bomb.parquet"):
        assert len(read_frame(tmp_path / name)) == 1_000_000
    monkeypatch.setattr(tables, "MOST_BYTES", 1_000_000)
    for name in ("bomb.csv.gz", "bomb.parquet"):
        with pytest.raises(InvalidInputError, match="expands to more than 1000000 bytes"):
            read_frame(tmp_path / name)
    assert len(read_frame(tmp_path / "plain.csv")) == 1_000_000


def test_a_misspelt_column_gets_a_suggestion():
    with pytest.raises(
        InvalidInputError, match=r"columns age, city; got 'agee'; did you mean 'age'\?"
    ):
        values({"age": [1.0], "city": ["Oslo"]}, "agee")
