"""What users see is made of what they may import: pages, examples, the tests of the families."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import heavybandits as hb
from heavybandits import authoring
from heavybandits.core.part import public_module
from heavybandits.parts.registry import FAMILIES
from paths import ROOT

FAMILY_MODULES = {public_module(family.module.__name__) for family in FAMILIES.values()}
PUBLIC = FAMILY_MODULES | {
    f"heavybandits{name}"
    for name in (
        "",
        ".authoring",
        ".theory",
        ".integrations",
        ".serving",
        ".serving.personalizer",
        ".sweeps",
        ".features",
        ".integrations.coba",
        ".integrations.gymnasium",
        ".experiments.data",
    )
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TESTS = [
    ROOT / "tests" / f"{name}.py"
    for name in (
        "support/all_parts",
        "support/all_policies",
        "parts/test_arms",
        "parts/test_filters",
        "integrations/test_gymnasium",
        "parts/test_links",
        "parts/test_noises",
        "laws/test_robustness",
        "agents/test_state_fixtures",
    )
]


def private_imports(code: str) -> Iterator[str]:
    """The modules of ours that this code imports and that are not public."""
    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module in PUBLIC:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name for name in names if is_module(name)]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        yield from (n for n in names if n.split(".")[0] == "heavybandits" and n not in PUBLIC)


def is_module(name: str) -> bool:
    path = ROOT / "src" / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists()


def python_of(page: Path) -> str:
    block = r"^```(?:python|\{code-block\} python\n:caption: \S+)\n(.*?)^```$"
    blocks = re.findall(block, page.read_text(), re.DOTALL | re.MULTILINE)
    return "\n".join(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_imports_only_what_is_public(page):
    assert list(private_imports(python_of(page))) == []


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_the_tests_of_the_public_face_import_only_what_is_public(file):
    assert list(private_imports(file.read_text())) == []


@pytest.mark.parametrize("module", sorted(PUBLIC - {"heavybandits.integrations.gymnasium"}))
def test_an_example_imports_only_what_is_public(module):
    """In the docstrings of everything that a public module exports."""
    source = importlib.import_module(module)
    for name in getattr(source, "__all__", []):
        text = inspect.getdoc(getattr(source, name)) or ""
        lines = re.findall(r"^>>> ((?:from|import) .*)$", text, re.MULTILINE)
        assert list(private_imports("\n".join(lines))) == [], f"{module}.{name}"


def test_what_is_private_is_found_by_this_test():
    code = "from heavybandits.core.part import cast\nfrom heavybandits import core, filters\n"
    assert list(private_imports(code)) == ["heavybandits.core.part", "heavybandits.core"]
    assert list(private_imports("import heavybandits.agents.agent")) != []
    assert list(private_imports("from heavybandits.parts.filters.memory import COUNTS")) != []


# ---- the module for parts of one's own


def test_the_page_on_parts_names_all_that_they_are_made_of():
    page = (ROOT / "docs" / "contracts.md").read_text()
    listed = set(re.findall(r"`(\w+)", page[page.index("## What parts are made of") :]))
    assert set(authoring.__all__) - listed == set()


def test_the_module_for_parts_exports_what_it_imports():
    assert len(set(authoring.__all__)) == len(authoring.__all__)
    imported = {name for name in vars(authoring) if not name.startswith("_") and name != "core"}
    assert set(authoring.__all__) == imported


def test_everything_that_parts_are_made_of_is_documented():
    for name in authoring.__all__:
        item = getattr(authoring, name)
        if inspect.isfunction(item) or inspect.isclass(item):
            assert item.__doc__, name


def test_every_module_is_public_or_private_on_purpose():
    found = {module.name for module in pkgutil.iter_modules(hb.__path__, "heavybandits.")}
    assert found - PUBLIC == {
        f"heavybandits.{name}"
        for name in (
            "__main__",
            "_utils",
            "agents",
            "algorithms",
            "cli",
            "core",
            "experiments",
            "gpu",
            "ledger",
            "offline",
            "parts",
            "simulation",
            "testing",
        )
    }


def test_a_misspelt_public_name_gets_a_suggestion():
    with pytest.raises(AttributeError, match="did you mean 'auto'"):
        _ = hb.atuo
