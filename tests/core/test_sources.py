"""Sources: every module of the user's that an import can lead to, and no other."""

import os
import sys
from pathlib import Path

import pytest

from heavybandits.core import sources
from heavybandits.core.sources import closure, digest, imports, release

MODULES = {
    "top_work.py": "import json, numpy\nimport top_helper\ndef f():\n    from top_lazy import C\n",
    "top_helper.py": "from top_pkg.inner import value\n",
    "top_lazy.py": "import importlib\ndef g():\n    importlib.import_module('top_last')\nC = 1\n",
    "top_last.py": "",
    "top_unrelated.py": "",
    "top_pkg/__init__.py": "",
    "top_pkg/inner.py": "from . import other\nvalue = 1\n",
    "top_pkg/other.py": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Modules in two folders; none of them is loaded."""
    lib = tmp_path / "lib"
    for name, text in MODULES.items():
        folder = lib if name == "top_lazy.py" else tmp_path
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(lib)
    return tmp_path


def test_a_closure_has_what_is_imported_late_from_another_folder_or_by_a_text(project: Path):
    found = closure({"top_work"})
    names = {"work", "helper", "lazy", "last", "pkg", "pkg.inner", "pkg.other"}
    assert set(found) == {f"top_{name}" for name in names}
    assert not set(found) & set(sys.modules)  # nothing was imported


@pytest.mark.parametrize("name", ["lib/top_lazy.py", "top_last.py", "top_pkg/other.py"])
def test_every_edit_and_no_other_change_is_another_digest(project: Path, name: str):
    before = digest({"top_work"})
    os.utime(project / name, (1, 1))
    (project / "top_unrelated.py").write_text("D = 5\n")
    assert digest({"top_work"}) == before
    (project / name).write_text("# edited\n")
    assert digest({"top_work"}) != before


def test_a_module_that_hides_an_earlier_one_is_another_digest(project: Path):
    before = digest({"top_work"})
    (project / "lib" / "top_last.py").write_text("C = 2\n")
    assert digest({"top_work"}) != before


@pytest.mark.parametrize(
    ("text", "dynamic", "opaque"),
    [
        ("import_module('top_last')", False, None),
        ("import_module(name)", True, None),
        ("\nexec(text)", False, 2),
        ("exec('import top_last')", False, None),
        ("eval('1 +')", False, 1),
        ("model.eval(text)", False, None),
        ("runpy.run_path('top_last.py')", False, 1),
    ],
)
def test_code_that_no_import_tells_is_noticed(
    project: Path, text: str, dynamic: bool, opaque: int | None
):
    (project / "top_work.py").write_text(text)
    found = imports("top_work")
    assert (found.dynamic, found.opaque) == (dynamic, opaque)
    assert ("top_last" in found.first | found.later) == ("top_last'" in text and not opaque)


def test_an_installed_library_counts_by_its_release(project: Path):
    assert release("numpy").partition(":")[0] == __import__("numpy").__version__
    assert release("json") == ""
    assert release("there_is_no_such_library") == ""
    assert sources._close(frozenset({"top_work"})).libraries == ("importlib", "json", "numpy")


def test_an_older_file_that_was_moved_there_is_an_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Though its own time is that of before this process: it may run what was there."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sources_moved.py").write_text("A = 2")
    os.utime(tmp_path / "sources_moved.py", (1, 1))
    assert sources.is_edited("sources_moved")
    monkeypatch.setattr(sources, "_STARTED", 1 << 62)
    assert not sources.is_edited("sources_moved")
