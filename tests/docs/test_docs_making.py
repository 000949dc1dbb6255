"""What makes the site: formulas, docstrings, API pages, the gallery, and the check of its links."""

import inspect
import os
import re
import shutil
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import api_pages
import check_site
import docstrings
import formulas
import gallery
import heavybandits as hb
import layers
import pictures
import stranger
import study
import verdicts
from paths import DOCS

FAMILIES = (hb.links, hb.noises, hb.arms, hb.filters, hb.estimators, hb.radii, hb.policies)


@pytest.mark.parametrize(
    ("typed", "tex"),
    [
        ("||x||_{V^-1} |y| > Gamma", r"\lVert x\rVert _{V^{-1}} |y| > \Gamma "),
        ("r = ceil(16 ln(4T/delta))", r"r = \lceil 16 \ln (4T/\delta )\rceil "),
        ("T^(1/(1+eps))", r"T^{1/(1+\varepsilon )}"),
        ("{||theta|| <= S}", r"\{\lVert \theta \rVert  \le  S\}"),
        ("x.theta*", r"x \cdot \theta _*"),
        ("sqrt(c G)", r"\sqrt{c G}"),
        ("S <- max(S, 0)", r"S \leftarrow \max (S, 0)"),
        ("[1e-4, 1]", r"[10^{-4}, 1]"),
        ("V += x x^T", r"V \mathrel{+}=  x x^{\top}"),
        ("t / time_scale", r"t / \operatorname{time}\_\operatorname{scale}"),
    ],
)
def test_a_formula_becomes_tex(typed, tex):
    assert formulas.to_tex(typed) == tex


@pytest.mark.parametrize(
    "text",
    [
        "The median of the plays (Algorithm 2, line 6); a copy of it.",
        "See Appendix A.2 of OL2M's paper, e.g. with residual=False.",
        "An unbalanced |y and x^(2 stay as they are typed",
        "16 000 rounds, 3 of them slow",
    ],
)
def test_prose_is_left_alone(text):
    pieces = formulas.typeset(text)
    assert not any(is_formula for is_formula, _ in pieces)
    assert "".join(piece for _, piece in pieces) == text


def test_formulas_are_found_within_prose():
    pieces = formulas.typeset("Assumes E|y|^{1+eps} <= u (raw), ||x|| <= 1. O(K d^2) a round.")
    found = [piece for is_formula, piece in pieces if is_formula]
    assert found[0].startswith("E|y|^{1+")
    assert found[1:] == [r"\lVert x\rVert  \le  1", "O(K d^{2})"]
    assert "".join(piece for _, piece in pieces).count("round") == 1


def test_an_indented_table_is_no_formula():
    assert formulas.display(["    gamma = 2 lambda S^2"]) is not None
    assert formulas.display(["    dim    dimension of the arms, ||x|| <= 1"]) is None


DOCSTRING = """Do something.

Text before.

Parameters
----------
first, second : int
    Two numbers, |y| <= 1.
third : str, default "a"
    A name, see `Clip`. It continues
    on the next line.
*rest : float
    More numbers.

Returns
-------
list of int
    The sum.

See Also
--------
Clip : The filter.

Examples
--------
>>> 1 + 1
2
"""


def arranged() -> str:
    links = {"Clip": "heavybandits.filters.Clip"}
    mark = docstrings.marker(links, {})
    return "\n".join(docstrings.arrange(DOCSTRING.splitlines(), links, mark))


def test_examples_follow_all_other_sections():
    assert "Examples\n--------\n>>> 1 + 1\n2" in arranged()
    assert arranged().rindex("See Also") < arranged().index("Examples")


def test_parameters_have_names_types_and_descriptions():
    assert "first, second : int\n    Two numbers, " in arranged()
    wanted = 'third : str, default "a"\n    A name, see :py:obj:`Clip <heavybandits.filters.Clip>`.'
    assert f"{wanted} It continues on the next line." in arranged()
    assert "\\*rest : float" in arranged()


def test_what_is_returned_has_a_type_and_no_name():
    assert "Returns\n-------\nlist of int\n    The sum." in arranged()


def test_what_to_see_is_linked():
    assert "See Also\n--------\n:py:obj:`~heavybandits.filters.Clip` : The filter." in arranged()


def test_no_public_parameter_turns_into_prose_or_back():
    """In every docstring, what is described is a parameter of the signature."""
    for names in api_pages.find_names().values():
        for full in names:
            thing = api_pages.resolve(full)
            if api_pages.directive_for(thing) not in ("autofunction", "autoclass"):
                continue
            sections = docstrings.split((inspect.getdoc(thing) or "").splitlines())
            listed = docstrings.entries(sections.get("Parameters", []))
            known = set(inspect.signature(thing).parameters)
            named = {name.lstrip("*") for entry in listed for name in entry.names}
            assert named <= known, full


def test_citations_lead_to_the_literature():
    papers = docstrings.papers(DOCS / "literature.md")
    mark = docstrings.marker({}, papers)
    assert ":ref:`Xue et al. 2023 <paper-xue-2023>`" in mark("CRTM (Xue et al. 2023, Algorithm 1)")
    assert ":ref:" not in mark("Somebody et al. 1066")


@pytest.mark.parametrize("module", FAMILIES, ids=lambda module: module.__name__)
def test_every_public_part_has_its_page(module):
    pages = api_pages.make_pages()
    for name in module.__all__ if hasattr(module, "__all__") else api_pages.public_names(module):
        assert f"{module.__name__}.{name}.rst" in pages


def test_every_name_at_the_top_has_its_page():
    pages = api_pages.make_pages()
    things = [name for name in hb.__all__ if not inspect.ismodule(getattr(hb, name))]
    assert [name for name in things if f"heavybandits.{name}.rst" not in pages] == []


def test_what_own_parts_need_stands_together_by_group():
    page = api_pages.make_pages()["parts.rst"]
    missing = [
        name for name in hb.authoring.__all__ if f"heavybandits.authoring.{name}\n" not in page
    ]
    constants = [name for name in missing if f".. py:data:: {name}\n" not in page]
    assert constants == []
    assert "Dispatch functions\n------------------" in page


def test_annotations_are_shown_without_bounds():
    assert docstrings.shorten("~typing.Annotated[float, Interval(low=-2, ends='(]')]") == "float"


def test_a_new_part_appears_by_itself(monkeypatch):
    class Halve(NamedTuple):
        """Half of a reward."""

    monkeypatch.setattr(hb.filters, "Halve", Halve, raising=False)
    monkeypatch.setattr(hb.filters, "__all__", [*hb.filters.__all__, "Halve"])
    pages = api_pages.make_pages()
    assert ".. autoclass:: heavybandits.filters.Halve" in pages["heavybandits.filters.Halve.rst"]
    assert "heavybandits.filters.Halve" in pages["filters.rst"]


def test_a_name_without_a_home_is_refused(monkeypatch):
    monkeypatch.setattr(hb, "lost", lambda: None, raising=False)
    monkeypatch.setattr(hb, "__all__", [*hb.__all__, "lost"])
    with pytest.raises(ValueError, match=r"heavybandits\.lost has no page"):
        api_pages.find_names()


def test_a_part_names_the_algorithms_that_use_it():
    pages = api_pages.make_pages()
    truncate = pages["heavybandits.filters.Truncate.rst"]
    assert "Used by :py:obj:`crtm <heavybandits.crtm>`" in truncate
    assert "<heavybandits.filters.Truncate>" in pages["heavybandits.crtm.rst"]


def test_what_a_page_leads_to_has_a_page():
    """A link to a name that nobody documents would be plain text, without a warning."""
    known = {full for names in api_pages.find_names().values() for full in names}
    for name, text in api_pages.make_pages().items():
        assert set(re.findall(r"<(heavybandits\.[\w.]+)>", text)) <= known, name


def test_pages_of_names_that_are_gone_go_too(tmp_path):
    (tmp_path / "heavybandits.filters.Gone.rst").write_text("gone")
    api_pages.write_pages(tmp_path)
    assert not (tmp_path / "heavybandits.filters.Gone.rst").exists()
    assert (tmp_path / "heavybandits.crtm.rst").exists()


def test_the_gallery_shows_the_pictures_there_are(tmp_path):
    (tmp_path / "tails.png").write_bytes((DOCS / "images" / "outlier.png").read_bytes())
    page = gallery.make_page(tmp_path)
    assert "```{image} images/tails.png" in page
    assert "images/outlier.png" not in page
    assert "$ heavybandits reproduce tails --full" in page
    assert "**One outlier** (`heavybandits reproduce outlier --full`)" in page


def test_the_gallery_takes_the_first_picture_of_every_experiment(tmp_path):
    run, images = tmp_path / "full", tmp_path / "images"
    (run / "figures").mkdir(parents=True)
    images.mkdir()
    (images / "table1.png").write_text("kept")
    written = ("figure1_fixed", "figure1_b", "figure1_log_a", "outlier", "evaluation-coverage")
    for moment, name in enumerate(written):
        (run / "figures" / f"{name}.png").write_text(name)
        os.utime(run / "figures" / f"{name}.png", ns=(moment, moment))
    assert gallery.take_pictures(run, images) == ["figure1", "outlier", "evaluation"]
    assert (images / "figure1.png").read_text() == "figure1_fixed"
    assert (images / "table1.png").read_text() == "kept"


def test_the_gallery_describes_every_picture_it_may_show():
    assert set(gallery.ALTERNATIVES) == {*gallery.experiments(), "diagnosis"}


def test_pictures_say_how_large_they_are(tmp_path):
    header = b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 1232, 546)
    (tmp_path / "outlier.png").write_bytes(header)
    (tmp_path / "layers.svg").write_text('<svg viewBox="0 0 760 512"></svg>')
    assert pictures.size(tmp_path / "layers.svg") == (760, 512)
    html = pictures.with_sizes('<img alt="a" src="_images/outlier.png"/>', tmp_path)
    assert 'width="1232" height="546"' in html


def page(folder: Path, body: str, name: str = "index.html") -> None:
    (folder / name).write_text(f"<html><body>{body}</body></html>")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="nowhere.html">x</a>', "nowhere.html: has no target"),
        ('<a href="#gone">x</a>', "#gone: has no such anchor"),
        ('<a href="other.html#gone">x</a>', "other.html#gone: has no such anchor"),
        ('<img src="p.png" width="1" height="1">', "picture p.png has no alt"),
        ('<img src="p.png" alt="a" height="1">', "picture p.png has no width"),
        ('<script src="https://example.org/a.js"></script>', "would be fetched from the network"),
    ],
)
def test_the_check_of_the_site_finds(tmp_path, body, problem):
    page(tmp_path, '<h1 id="there">y</h1>', "other.html")
    (tmp_path / "p.png").touch()
    page(tmp_path, body)
    found = check_site.check_site(tmp_path)
    assert len(found) == 1
    assert problem in found[0]


def test_the_check_of_the_site_lets_good_links_pass(tmp_path):
    page(tmp_path, '<h1 id="there">y</h1>', "other.html")
    (tmp_path / "p.png").touch()
    good = '<a href="other.html?a=1#there">x</a> <a href="https://example.org">x</a>'
    page(tmp_path, f'{good} <img src="p.png" alt="a" width="1" height="1">')
    assert check_site.check_site(tmp_path) == []


def test_an_empty_site_is_a_problem(tmp_path):
    assert check_site.check_site(tmp_path) == [f"{tmp_path} has no pages"]


def test_the_verdicts_of_a_report_become_the_tables_of_the_readme(tmp_path):
    from heavybandits._utils.tables import to_csv

    (tmp_path / "tables").mkdir()
    common = {"claim": "A is best", "quantity": "regret: best", "low": -2.0, "high": 9.0}
    common |= {"outcome": "undecided"}
    noise = "(a) Student's t, 3 degrees of freedom"
    rows = [
        common | {"reading": f"{noise}; one", "measured": -21800.4, "note": ""},
        common | {"reading": f"{noise}; two", "measured": 1.4142, "note": "GLOC (flat)"},
        common | {"reading": "another experiment", "measured": 0.0, "note": ""},
    ]
    (tmp_path / "tables" / "verdicts.csv").write_text(to_csv(rows))
    text = verdicts.table(verdicts.verdict_rows(tmp_path), ["one", "two"])
    assert "| (a) A is best | undecided: -21,800 (-2 to 9) | undecided: 1.41 (-2 to 9) †1 |" in text
    assert text.rstrip().endswith("†1 GLOC (flat)")


def test_a_stranger_pastes_block_after_block_into_one_session(tmp_path):
    seconds = list(stranger.paste(Path(sys.executable), ["x = 1", "assert x == 1"], tmp_path))
    assert len(seconds) == 2
    with pytest.raises(SystemExit, match="AssertionError"):
        list(stranger.paste(Path(sys.executable), ["x = 1", "assert x == 2"], tmp_path))


def test_a_stranger_finds_code_on_the_pages_and_dirt_in_the_file(tmp_path):
    assert all(stranger.blocks(DOCS / name) for name in ("index.md", "own_csv.md"))
    stranger.write_own_file(tmp_path / "calls.csv", rows=200)
    text = (tmp_path / "calls.csv").read_text(encoding="utf-8")
    assert all(dirt in text for dirt in (",NA,", ",,", "größer", '"x,y"', ",-"))


# ---- the picture of the layers


def test_the_picture_of_the_layers_shows_the_enforced_ones():
    assert layers.PICTURE.read_text() == layers.draw()
    packages = {path.parent.name for path in layers.SOURCE.glob("*/__init__.py")}
    assert {name for layer in layers.read_layers() for name in layer} == packages


def test_the_page_of_the_study_gets_the_tables_and_the_picture_of_a_report(tmp_path):
    docs, run = tmp_path / "docs", tmp_path / "run"
    for folder in (docs / "images", run / "tables", run / "figures"):
        folder.mkdir(parents=True)
    shutil.copyfile(DOCS / "untuned.md", docs / "untuned.md")
    (run / "figures" / "untuned.png").write_bytes(b"picture")
    (run / "tables" / "untuned_worlds.csv").write_text(
        "group,world,LinUCB's best radius: regret,auto,auto: error,CRAL,CRAL: error\n"
        "shops,a,0.5,0.25,0.01,,\nshops,b,0.1,0.5,0.02,0.75,0.03\n"
    )
    (run / "tables" / "untuned_groups.csv").write_text(
        "group,policy,runs\nshops,auto,20\nshops,CRAL,20\nfixed arms,auto,100\n"
    )
    (run / "tables" / "verdicts.csv").write_text(
        "claim,reading,quantity,measured,outcome,note,low,high\n"
        "less than 1% of auto's runs settle,20 runs,share of runs,0.037,no,,0.022,0.061\n"
    )
    study.main(run, docs)
    page = (docs / "untuned.md").read_text()
    assert "| shops | 2 | 0.375 |  |  |  |  |  |  | 0.300 |" in page
    assert "| less than 1% of `auto`'s runs settle | 20 runs | 3.7% | 2.2% to 6.1% |" in page
    assert page.index("| `auto` | shops: b | 0.50 +- 0.02 | 0.10 |") < page.index("shops: a |")
    assert "| CRAL | shops: b | 0.75 +- 0.03 | 0.10 |" in page
    assert (
        "Every policy has 20 runs per world. Exceptions:\n\n- fixed arms: 100 runs of auto\n"
        in page
    )
    assert (docs / "images" / "untuned.png").read_bytes() == b"picture"
    study.main(run, docs)
    assert (docs / "untuned.md").read_text() == page
