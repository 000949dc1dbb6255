"""The tutorials: notebooks that run as they are stored, without outputs."""

from pathlib import Path

import pytest

from paths import DOCS

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

TUTORIALS = sorted((DOCS / "tutorials").glob("*.ipynb"))
# How many cells show a picture, and at least how many a title with facts.
PICTURES = {"first_agent": 1, "compare_algorithms": 1}
CARDS = {"first_agent": 4, "compare_algorithms": 5}


@pytest.mark.docs
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_shows_pictures_and_cards(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    shown = [
        output["data"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert sum("image/png" in data for data in shown) == PICTURES[path.stem]
    assert sum("<div style" in data.get("text/html", "") for data in shown) >= CARDS[path.stem]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_stored_without_outputs(path):
    """Outputs in the file could differ from what the code computes."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_every_tutorial_is_on_the_page():
    listed = (DOCS / "tutorials.md").read_text()
    assert TUTORIALS
    assert {path.stem for path in TUTORIALS} == set(PICTURES)
    assert all(f"tutorials/{Path(path).stem}" in listed for path in TUTORIALS)
