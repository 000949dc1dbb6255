"""What the project promises of itself: one version, a whole archive, nothing installed unasked."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import heavybandits as hb
from paths import ROOT, SOURCE

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


# ---- the pages in a clone


def test_the_tree_in_the_guide_for_contributors_has_every_package():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    packages = [path.parent.name for path in SOURCE.glob("*/__init__.py")]
    assert [name for name in packages if f" {name}/" not in text] == []


# A link with a scheme or to an anchor of its own page is left to `docs/making/check_site.py`.
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=str)
def test_every_link_of_a_page_leads_to_a_file_of_the_repository(page):
    ignored = {"gallery.md", "command_line.md"}  # made with the site
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in LINK.findall(text) if Path(link).name not in ignored]
    assert [link for link in links if not (page.parent / link).exists() or "api/" in link] == []


# ---- make browser


def test_make_browser_installs_nothing_and_prints_how_to(tmp_path: Path):
    (tmp_path / "apt-get").write_text(f"#!/bin/sh\ntouch {tmp_path}/installed\n")
    (tmp_path / "apt-get").chmod(0o755)
    assert "apt-get install chromium" in make_browser(tmp_path)
    assert not (tmp_path / "installed").exists()


def test_a_browser_that_is_there_needs_nothing(tmp_path: Path):
    (tmp_path / "google-chrome").write_text("#!/bin/sh\n")
    (tmp_path / "google-chrome").chmod(0o755)
    assert make_browser(tmp_path) == ""


def make_browser(path: Path) -> str:
    """What `make browser` prints where these programs are all there is."""
    command = [shutil.which("make") or "make", "-s", "-C", str(ROOT), "browser"]
    done = subprocess.run(
        command, env={"PATH": str(path)}, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr
