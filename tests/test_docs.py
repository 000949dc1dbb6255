"""The pages of the docs: their code runs, their tables are those of the code."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from heavybandits.algorithms.catalogue import CATALOGUE, example

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
PAGES = [README, *sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text())]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python of a page, each block with its line."""
    text = page.read_text()
    found = [(text.count("\n", 0, b.start()) + 1, b.group(1)) for b in BLOCK.finditer(text)]
    assert len(found) == text.count("```python\n"), "a block of code has no end"
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """In order, in one namespace a page, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)  # lines as on the page


def test_there_are_pages():
    assert {"algorithms", "own_algorithm"} <= {page.stem for page in PAGES}


def test_the_tables_are_those_of_the_code():
    spec = importlib.util.spec_from_file_location("make_tables", DOCS / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    for name in tables.PAGES:
        page = DOCS / name
        assert tables.renew(page) == page.read_text(), f"{name}: run docs/make_tables.py"
    assert "make_tables" not in sys.modules


def test_the_catalogue_builds_every_algorithm():
    assert {name: entry.make.__name__ for name, entry in CATALOGUE.items()} == {
        name: name for name in CATALOGUE
    }
    for name in CATALOGUE:
        assert example(name).plays >= 1
        assert example(name).dim == 100


def test_every_named_algorithm_is_in_the_catalogue():
    from heavybandits import algorithms

    assert set(CATALOGUE) == set(algorithms.__all__)
    assert hb.crtm is CATALOGUE["crtm"].make
