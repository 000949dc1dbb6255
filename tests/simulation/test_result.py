"""What a Result offers beyond its rows: comparisons, tables for papers, figures by panel."""

import pickle
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils import statistics
from heavybandits._utils.drawing import (
    Panel,
    Series,
    View,
    colour_places,
    draw_view,
    label_of,
    style_of,
)
from heavybandits._utils.records import to_frame, to_records
from heavybandits._utils.tables import write_parquet
from heavybandits.simulation.provenance import describe_runs

COLUMNS = ("problem", "policy", "repetition", "play", "regret")


def result(problems: tuple[str, ...] = ("light", "heavy"), repetitions: int = 12) -> hb.Result:
    """Policy "b" has 2 more regret than "a" in every repetition; "c" is "a" with noise added."""
    common = np.random.default_rng(0).normal(10.0, 3.0, repetitions)
    own = np.random.default_rng(1).normal(0.0, 1.0, repetitions)
    ends = {"a": common, "b": common + 2.0, "c": common + own}
    rows = [
        (problem, policy, r, play, regret[r] * play / 100)
        for problem in problems
        for policy, regret in ends.items()
        for r in range(repetitions)
        for play in (50, 100)
    ]
    return hb.Result(dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)))


def test_policies_are_compared_repetition_by_repetition():
    rows = to_records(result().compare())
    assert [(row["problem"], row["policy"]) for row in rows] == [
        ("light", "b"),
        ("light", "c"),
        ("heavy", "b"),
        ("heavy", "c"),
    ]
    assert {row["baseline"] for row in rows} == {"a"}
    first, second = rows[:2]
    assert (first["low"], first["high"]) == pytest.approx((2.0, 2.0))
    assert (first["outcome"], first["better"]) == ("more regret", 0.0)
    assert second["low"] < 0.0 < second["high"]
    assert second["outcome"] == "undecided"
    assert to_records(result().compare("b"))[0]["outcome"] == "less regret"


def test_one_repetition_decides_nothing():
    assert {row["outcome"] for row in to_records(result(repetitions=1).compare())} == {"undecided"}


def test_a_problem_must_be_named_where_there_are_several():
    with pytest.raises(KeyError, match="no problem None here; there are light, heavy"):
        result().final("a")
    assert np.array_equal(result(("light",)).final("a"), result().final("a", "heavy"))


def test_the_table_of_a_paper_has_a_column_per_problem_and_the_best_in_bold():
    text = result().to_latex()
    assert r"policy & light & heavy \\" in text
    lines = {line.split(" & ")[0]: line for line in text.splitlines() if " & " in line}
    assert (lines["a"].count(r"\textbf"), lines["b"].count(r"\textbf")) == (2, 0)
    assert lines["c"].count(r"\textbf") == 2  # not told apart from the lowest
    assert r"$\pm$" in lines["b"]
    assert "12 repetitions" in text
    assert r"\caption{Mine \& yours}" in result().to_latex("Mine & yours")


def test_frames_hold_the_rows(tmp_path: Path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = result().to_polars()
    assert frame.columns == list(COLUMNS)
    result().to_parquet(tmp_path / "rows.parquet")
    assert frame.equals(polars.read_parquet(tmp_path / "rows.parquet"))


def test_polars_is_an_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "heavybandits\[polars\]"'):
        result().to_polars()


def test_what_rows_do_not_hold_is_named():
    plain = hb.Result({"n": [1, 2], "square": [1.0, 4.0]})
    assert (len(plain), plain.policies, plain.problems) == (2, [], [])
    with pytest.raises(
        hb.InvalidInputError, match="curves needs columns policy, play, regret; no pol"
    ):
        plain.final("a")


# ---- comparisons with a correction


def many(gap: float = 1.4, policies: int = 12, repetitions: int = 20) -> hb.Result:
    """Every policy but the first has more regret, by a gap near the limit of significance."""
    rng = np.random.default_rng(3)
    rows = [
        (f"p{i}", r, 9, rng.normal(10.0 + (gap if i else 0.0), 1.5))
        for i in range(policies)
        for r in range(repetitions)
    ]
    names = ("policy", "repetition", "play", "regret")
    return hb.Result(dict(zip(names, zip(*rows, strict=True), strict=True)))


def test_holms_correction_decides_less():
    plain, corrected = (to_records(many().compare(correction=c)) for c in ("none", "holm"))
    significant = [row["outcome"] != "undecided" for row in plain]
    survives = [row["outcome"] != "undecided" for row in corrected]
    assert 0 < sum(survives) < sum(significant)
    assert all(before or not after for before, after in zip(significant, survives, strict=True))
    for one, other in zip(plain, corrected, strict=True):
        assert one["p_value"] <= other["p_value"] <= 1.0
        assert (one["low"], one["high"]) == (other["low"], other["high"])
    with pytest.raises(hb.InvalidInputError, match="correction must be one of none, holm, got 'b"):
        many().compare(correction="bonferroni")


def test_a_p_value_and_an_interval_agree():
    rng = np.random.default_rng(0)
    for size in (2, 5, 7, 8, 20):
        for shift in rng.uniform(-2.0, 2.0, 20):
            gaps = rng.standard_t(3, size) + shift
            found, p = statistics.difference(gaps, 0.0 * gaps), statistics.paired_p_value(gaps, 0)
            if abs(p - 0.05) > 0.002:  # the number of resamples
                assert (found.low > 0.0 or found.high < 0.0) == (p < 0.05), (size, shift)


def test_only_what_is_tied_after_the_correction_is_bold():
    corrected = to_records(many().compare("p0", correction="holm"))
    tied = sum(row["outcome"] == "undecided" for row in corrected)
    text = many().to_latex()
    assert text.count(r"\textbf") == 1 + tied
    assert "Holm's correction" in text


def test_a_table_can_have_intervals():
    text = result(("light",)).to_latex(uncertainty="interval")
    assert re.search(r"a & \\textbf\{\d+\.?\d* \[\d+\.?\d*, \d+\.?\d*\]\}", text)
    assert "95\\% interval" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    with pytest.raises(hb.InvalidInputError, match="uncertainty must be one of"):
        result().to_latex(uncertainty="sd")


# ---- provenance


def played() -> hb.Result:
    problem = hb.Problem(hb.arms.Fixed(3, 2), hb.links.Identity(), hb.noises.Gaussian())
    policies = {
        "LinUCB": hb.linucb(dim=2, radius=1.0),
        "mine": hb.tofu(dim=2, horizon=20, raw_moment=2.0, radius_scale=0.1),
    }
    return hb.simulate(policies, problem, horizon=20, repetitions=2, seed=7, checkpoints=2)


def test_a_result_knows_what_it_was_computed_from():
    found = played().provenance
    assert (found["heavybandits"], found["seed"], found["horizon"]) == (hb.__version__, 7, 20)
    assert found["problems"][""]["fields"]["noise"]["part"] == "heavybandits.noises:Gaussian"
    parts = {row["policy"]: row["parts"] for row in found["policies"]}
    assert parts["mine"]["fields"]["radius"]["fields"]["factor"] == 0.1
    assert found["own_sources"] is None


def test_own_parts_are_known_by_the_hash_of_their_sources():
    import all_parts  # a module of its own, outside the library

    class Mine(NamedTuple):
        plays: int = 1

    Mine.__module__ = all_parts.__name__
    mine: Any = Mine()
    policy = hb.linucb(dim=2, radius=1.0)._replace(filter=mine)
    arms, noise = hb.arms.FromArray(np.ones((2_000, 2))), hb.noises.Gaussian()
    problem = hb.Problem(arms, hb.links.Identity(), noise)
    found = describe_runs({("p", ""): (policy, problem)}, seed=0)
    assert re.fullmatch(r"[0-9a-f]{16,}", found["own_sources"])
    large = found["problems"][""]["fields"]["arms"]["fields"]["features"]
    assert (large["shape"], len(large["sha256"])) == ([2_000, 2], 64)


def test_a_parquet_file_restores_the_result(tmp_path: Path):
    pytest.importorskip("pyarrow", reason="the extra 'lab' is not installed")
    made, path = played(), tmp_path / "rows.parquet"
    made.to_parquet(path)
    again = hb.Result.from_parquet(path)
    assert again.provenance == made.provenance
    assert again.columns == made.columns
    for name, column in made.data.items():
        assert np.array_equal(again.data[name], column), name
        assert again.data[name].dtype == column.dtype, name
    assert to_records(again.summary()) == to_records(made.summary())


def test_a_file_that_is_no_result_is_rejected(tmp_path: Path):
    pytest.importorskip("pyarrow", reason="the extra 'lab' is not installed")
    path = tmp_path / "rows.parquet"
    for content in (None, b"", b"PAR1 not really"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(hb.InvalidInputError, match="path must be a Parquet file, got"):
            hb.Result.from_parquet(path)
    with pytest.raises(hb.InvalidInputError, match="path must be a Parquet file, got"):
        hb.Result.from_parquet(tmp_path)
    for about in ("{", "[1]", '{"policies": [1]}', "[" * 100_000):
        write_parquet({"n": [1]}, path, about=about)
        with pytest.raises(hb.InvalidInputError, match="valid provenance"):
            hb.Result.from_parquet(path)
    write_parquet({"n": [1]}, path)
    assert hb.Result.from_parquet(path).provenance == {}


def test_every_file_has_the_provenance(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    made = played()
    for form, key in (("pdf", b"/Subject"), ("svg", b"description"), ("png", b"Description")):
        path = tmp_path / f"figure.{form}"
        made.plot(path)
        assert key in path.read_bytes()
    assert b'"seed": 7' in (tmp_path / "figure.png").read_bytes()
    first = made.to_latex().splitlines()[0]
    assert first.startswith(f"% heavybandits {hb.__version__}, horizon 20")
    assert result().to_latex().startswith(r"\begin{table}")  # rows of unknown origin


def test_a_provenance_of_unknown_content_harms_nothing(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    odd = {"heavybandits": "1\n\\input{x}", "policies": [{"policy": "a", "parts": {"fields": 3}}]}
    made = hb.Result(result(("light",)).data, odd)
    assert made.to_latex().splitlines()[1] == r"\begin{table}"
    assert made.cite() == hb.Result({}).cite()
    large = hb.Result(made.data, {"seed": 7, "policies": [], "more": ["x"] * 100_000})
    large.plot(tmp_path / "figure.png")
    assert b"seed 7" in (tmp_path / "figure.png").read_bytes()
    assert (tmp_path / "figure.png").stat().st_size < 200_000


def test_rows_as_csv(tmp_path: Path):
    result(("light",), repetitions=1).to_csv(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert len(lines) == 1 + 6


# ---- citations


def test_a_result_cites_the_papers_of_its_algorithms():
    text, entries = played().cite(), played().cite("bibtex")
    assert [line.split(".")[0].split(",")[0] for line in text.splitlines()] == [
        "The heavybandits developers",
        "Abbasi-Yadkori",
        "Shao",
    ]
    assert re.findall(r"@\w+\{(\w+),", entries) == ["heavybandits", "abbasiyadkori2011", "shao2018"]
    assert entries.count("{") == entries.count("}")
    assert result().cite().startswith("The heavybandits developers. heavybandits: ")
    with pytest.raises(hb.InvalidInputError, match="style must be one of text, bibtex"):
        played().cite("apa")


# ---- figures


@pytest.mark.parametrize("font", ["serif", None])
def test_figures_have_options_for_papers(tmp_path: Path, font):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    options = {"palette": ["black", "#ff0000"], "font_family": font, "font_size": 7}
    figure = result(("light",)).plot(tmp_path / "a.pdf", band="interval", size=(3, 2), **options)
    axes = figure.axes[0]
    colours = [line.get_color() for line in axes.lines]
    assert colours == ["black", "#ff0000", "black"]
    assert len({(line.get_color(), line.get_marker()) for line in axes.lines}) == 3
    assert axes.xaxis.label.get_fontsize() == 7
    if font:
        assert axes.xaxis.label.get_fontfamily() == ["serif"]
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()


def test_the_band_of_the_mean_is_narrower_than_that_of_the_runs():
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    heights = []
    for band in ((0.0, 1.0), "interval"):
        axes = result(("light",)).plot(band=band).axes[0]
        box = axes.collections[0].get_paths()[0].get_extents()
        heights.append(box.height)
    assert 0.0 < heights[1] < heights[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": "sd"}, 'band must be "interval" or two quantiles'),
        ({"palette": []}, "palette must have colours"),
        ({"palette": "red"}, "palette must have colours"),
        ({"palette": ["reddish"]}, "palette must have colours of matplotlib, got 'reddish'"),
        ({"font_size": 0}, r"font_size must be in \[1, 100\], got 0"),
    ],
)
def test_options_of_a_figure_are_validated(options, message):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    with pytest.raises(hb.InvalidInputError, match=message):
        result(("light",)).plot(**options)


def test_one_call_writes_the_figure_of_a_paper(tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    path = tmp_path / "figure.pdf"
    figure = result().plot(path)
    assert path.read_bytes().startswith(b"%PDF")
    assert [axes.get_title() for axes in figure.axes] == ["light", "heavy"]
    again = tmp_path / "again.pdf"
    result().plot(again)
    assert again.read_bytes() == path.read_bytes()
    with pytest.raises(hb.InvalidInputError, match=r"path must end in .png, .svg or .pdf"):
        result().plot(tmp_path / "figure.doc")


@pytest.mark.parametrize("problems", [("one",), ("one", "two", "three", "four")])
def test_a_legend_covers_no_curve(problems: tuple[str, ...]):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="the extra 'lab' is not installed")

    def apart(figure: Any, legend: Any) -> bool:
        figure.canvas.draw()
        place = legend.get_window_extent()
        inside = figure.bbox.contains(*place.min) and figure.bbox.contains(*place.max)
        return inside and not any(place.overlaps(axes.bbox) for axes in figure.axes)

    long = result(problems)
    long.data["policy"] = np.char.add(long.data["policy"], " with quite a long name indeed")
    figure = long.plot()
    assert apart(figure, figure.legends[0])
    if len(problems) == 1:
        figure, axes = pyplot.subplots(layout="constrained")
        result(problems).plot(axes=axes)
        assert apart(figure, axes.get_legend())
        pyplot.close("all")
    else:
        with pytest.raises(hb.InvalidInputError, match="axes are for one problem, got 4"):
            result(problems).plot(axes=pyplot.figure().gca())


def test_a_name_looks_the_same_in_every_panel_and_in_the_legend() -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    names = (("one", "two"), ("three", "two"))
    panels = [Panel("", "", "", [Series(n, [1.0], [1.0]) for n in pair]) for pair in names]
    canvas = draw_view(View("", panels), {})
    lines = [line for axes in canvas.axes for line in axes.get_lines()]
    looks = {(line.get_label(), line.get_color(), line.get_marker()) for line in lines}
    assert len(looks) == 3 == len({look[1:] for look in looks})


def test_rows_may_come_in_any_order():
    whole = result()
    shuffled = np.random.default_rng(2).permutation(len(whole))
    mixed = hb.Result({name: column[shuffled] for name, column in whole.data.items()})
    assert np.array_equal(mixed.final("b", "heavy"), whole.final("b", "heavy"))


def test_a_repetition_without_a_row_at_every_play_is_refused():
    whole = result()
    with pytest.raises(hb.InvalidInputError, match="'c' must have a row at every play"):
        hb.Result({name: column[:-1] for name, column in whole.data.items()}).final("c", "heavy")


def test_policies_with_other_numbers_of_repetitions_are_not_compared():
    rows = [("a", 0, 9, 1.0), ("a", 1, 9, 2.0), ("b", 0, 9, 1.0)]
    unequal = hb.Result(dict(zip(COLUMNS[1:], zip(*rows, strict=True), strict=True)))
    with pytest.raises(
        hb.InvalidInputError, match="need the same repetitions: 'b' has 1 and 'a' 2"
    ):
        unequal.compare("a")


@pytest.mark.parametrize("use", ["summary", "compare", "to_latex"])
def test_rows_without_policies_say_what_is_missing(use: str):
    with pytest.raises(hb.InvalidInputError, match=f"{use} needs columns policy, play, regret"):
        getattr(hb.Result({"x": [1.0, 2.0]}), use)()


def test_a_problem_called_policy_has_a_column_of_its_own():
    head = result(("policy",)).to_latex()
    assert "problem policy" in head
    assert "\na " in head.replace("&", " ")


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 8])
def test_intervals_of_few_repetitions_are_not_too_short(size: int):
    """Two policies that are the same are told apart in about one of twenty comparisons."""
    rng, decided = np.random.default_rng(5), 0
    for _ in range(200):
        rows = [(p, r, 9, rng.normal()) for p in "ab" for r in range(size)]
        made = hb.Result(dict(zip(COLUMNS[1:], zip(*rows, strict=True), strict=True)))
        decided += to_records(made.compare())[0]["outcome"] != "undecided"
    assert decided <= 22  # 10 expected, and 22 or more in one of 2 000 tries


def test_policies_of_other_repetitions_are_not_compared() -> None:
    rows = [("a", r, 9, 1.0 + r) for r in range(4)] + [("b", r, 9, 1.0 + r) for r in range(4, 8)]
    names = ("policy", "repetition", "play", "regret")
    found = hb.Result(dict(zip(names, zip(*rows, strict=True), strict=True)))
    with pytest.raises(hb.InvalidInputError, match="need the same repetitions"):
        found.compare("a")


def test_no_two_of_many_policies_look_alike() -> None:
    styles = [tuple(style_of(place).values()) for place in range(32)]
    assert len(set(styles)) == 32
    names = [f"policy {n}" for n in range(12)]
    assert sorted(colour_places(names, {"policy 3": 6}).values()) == list(range(12))


def test_odd_names_stand_in_the_legend() -> None:
    names = ("_own", "costs $5", r"$\alhpa$")
    panel = Panel("", "x", "y", [Series(name, [0.0, 1.0], [0.0, 1.0]) for name in names])
    canvas = draw_view(View("", [panel]), {})
    (legend,) = canvas.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == [" _own", r"costs \$5", r"\$\alhpa\$"]


def test_a_legend_in_axes_of_the_user_lies_within_them() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    result(("light",)).plot(axes=axes)
    figure.canvas.draw()
    inside, legend = axes.get_window_extent(), axes.get_legend().get_window_extent()
    assert inside.contains(legend.x0, legend.y0)
    assert inside.contains(legend.x1, legend.y1)
    pyplot.close(figure)


@pytest.mark.parametrize("band", [(2, 3), 0.5, (0.9, 0.1), (0.5, 0.5), ("a", "b")])
def test_a_band_that_is_none_is_refused(band):
    problem = hb.Problem(hb.arms.Fixed(4, 3), hb.links.Identity(), hb.noises.Gaussian(0.1))
    result = hb.simulate(hb.linucb(dim=3, radius=1.0), problem, horizon=20, repetitions=2)
    with pytest.raises(hb.InvalidInputError, match="band"):
        result.plot(band=band)


def test_dollars_in_the_name_of_a_problem_are_no_formula(tmp_path):
    problem = hb.Problem(hb.arms.Fixed(4, 3), hb.links.Identity(), hb.noises.Gaussian(0.1))
    policy, where = hb.linucb(dim=3, radius=1.0), {r"cost $\foo$": problem, "$1 of $2": problem}
    result = hb.sweep(policy, where, horizon=20, repetitions=2)
    figure = result.plot(tmp_path / "regret.png")
    assert [axes.get_title() for axes in figure.axes[:2]] == [r"cost \$\foo\$", r"\$1 of \$2"]


def fonts(path: Path) -> set[bytes]:
    return set(re.findall(rb"/Subtype /(Type3|CIDFontType2)", path.read_bytes()))


def test_pdfs_have_truetype_fonts_also_if_the_figure_is_saved_by_hand(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    figure = result(("light",)).plot(tmp_path / "ours.pdf")
    figure.savefig(tmp_path / "theirs.pdf")
    assert fonts(tmp_path / "ours.pdf") == fonts(tmp_path / "theirs.pdf") == {b"CIDFontType2"}


def test_a_notebook_shows_the_figure_without_any_magic() -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    figure, same = (result(("light",)).plot() for _ in range(2))
    shown = figure._repr_png_()  # type: ignore[attr-defined]
    assert shown.startswith(b"\x89PNG")
    assert shown == same._repr_png_()  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(figure))._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("later", [False, True], ids=["size", "resized"])
def test_a_figure_of_another_size_covers_and_cuts_nothing(later: bool) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    figure = result().plot() if later else result().plot(size=(5.5, 2.6))
    if later:
        figure.set_size_inches(5.5, 2.6)
    figure.canvas.draw()
    assert figure.get_size_inches().tolist() == [5.5, 2.6]
    whole, legend = figure.bbox, figure.legends[0].get_window_extent()
    boxes: list[Any] = [axes.get_tightbbox() for axes in figure.axes if axes.get_visible()]
    assert not any(legend.overlaps(box) for box in boxes)
    for box in [*boxes, legend]:
        assert min(box.x0 - whole.x0, whole.x1 - box.x1) >= -1.0
        assert min(box.y0 - whole.y0, whole.y1 - box.y1) >= -1.0


@pytest.mark.parametrize("size", [3, (5.5,), (0.0, 2.0), ("a", "b"), (5.5, float("nan")), (1e9, 1)])
def test_a_size_that_is_none_is_refused(size: Any) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    with pytest.raises(hb.InvalidInputError, match=r"size must be a pair \(width, height\)"):
        result(("light",)).plot(size=size)


def test_formulas_in_names_are_drawn() -> None:
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    assert label_of("OL$^2$M on $t_{3}$") == "OL$^2$M on $t_{3}$"
    assert label_of("from $5 to $6") == r"from \$5 to \$6"


def test_without_pandas_the_tables_are_lists_of_dictionaries(monkeypatch: pytest.MonkeyPatch):
    pandas = pytest.importorskip("pandas")
    frame = result().summary()
    assert isinstance(frame, pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert result().summary() == to_records(frame)
    assert to_frame([{"a": 1}]) == [{"a": 1}]
