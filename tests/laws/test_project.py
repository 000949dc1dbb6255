"""What the project promises of itself: one version, a whole archive, nothing installed unasked."""

import os
import pty
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from paths import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


# ---- the version


def test_the_version_is_written_once_and_its_pages_agree():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/heavybandits/_utils/version.py"
    assert f"\nversion: {hb.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{hb.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


# ---- the source archive


def test_every_page_of_the_project_is_in_its_archive():
    """hatch takes README, LICENSE and pyproject.toml by itself."""
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    pages = {path.name for kind in ("*.md", "*.cff", "Makefile") for path in ROOT.glob(kind)}
    assert pages - {"README.md"} <= included
    assert all((ROOT / name).exists() for name in included)


# ---- make browser


class Machine:
    """A machine without a browser, whose root and whose apt-get only write down what they did."""

    def __init__(self, folder: Path) -> None:
        self.log, self.path = folder / "log", folder / "bin"
        self.path.mkdir()
        self.put("id", "echo 0")
        self.put("apt-get", f'echo "$*" >> {self.log}')

    def put(self, name: str, text: str) -> None:
        program = self.path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)

    def make(self, *settings: str, stdin: int = subprocess.DEVNULL) -> str:
        """What `make browser` says."""
        command = [shutil.which("make") or "make", "-s", "-C", str(ROOT), "browser", *settings]
        environment = {"PATH": str(self.path)}
        done = subprocess.run(
            command, env=environment, stdin=stdin, capture_output=True, text=True, check=True
        )
        return done.stdout + done.stderr

    def answer(self, words: str) -> str:
        """What it says on a terminal where this is typed."""
        keyboard, terminal = pty.openpty()
        try:
            os.write(keyboard, words.encode())
            return self.make(stdin=terminal)
        finally:
            os.close(keyboard)
            os.close(terminal)

    def installed(self) -> bool:
        return self.log.exists() and "install -y chromium" in self.log.read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_a_terminal_nothing_is_installed_and_it_says_what_would_be(machine):
    said = machine.make()
    assert not machine.log.exists()
    assert "make browser BROWSER=install would run: apt-get install chromium" in said
    assert "will be skipped" in said


@pytest.mark.parametrize("yes", ["BROWSER=install", "CI=true"])
def test_a_yes_on_the_command_line_installs(machine, yes):
    assert machine.make(yes) == ""
    assert machine.installed()


@pytest.mark.parametrize(("typed", "installs"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(machine, typed, installs):
    said = machine.answer(typed)
    assert "apt-get install chromium now? [y/N]" in said
    assert machine.installed() == installs
    assert ("will be skipped" in said) != installs


def test_who_is_not_root_is_not_asked(machine):
    machine.put("id", "echo 1000")
    assert "will be skipped" in machine.make("BROWSER=install")
    assert not machine.log.exists()


def test_a_browser_that_is_there_needs_nothing(machine):
    machine.put("google-chrome", "")
    assert machine.make("BROWSER=install") == ""
    assert not machine.log.exists()


def test_an_installation_that_fails_is_told(machine):
    machine.put("apt-get", "exit 100")
    assert "apt-get could not install it" in machine.make("CI=true")
