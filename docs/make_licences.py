"""The licences of what each extra installs, as the installed packages state them themselves.

`make_tables.py` writes the table into `licences.md`. What is not installed keeps its row.
"""

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path

PAGE = Path(__file__).with_name("licences.md")
PROJECT = PAGE.parents[1] / "pyproject.toml"

# One licence has many spellings; the first pattern that is found names it.
NAMES = {
    r"LGPL-3|Lesser General Public License v3": "LGPL-3.0",
    r"GPL-3|General Public License v3|GENERAL PUBLIC LICENSE\s+Version 3": "GPL-3.0",
    r"Feedback MIT": "FMIT",
    r"MIT": "MIT",
    r"Apache": "Apache-2.0",
    r"BSD": "BSD",
    r"Python Software Foundation|PSF": "PSF",
}


def dependencies() -> Iterator[tuple[str, str]]:
    """Each extra and each package it names; first those of the library itself."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = {"": project["dependencies"]} | project["optional-dependencies"]
    for extra, requirements in extras.items():
        for requirement in requirements:
            package = re.split(r"[^\w.-]", requirement)[0]
            if package != "heavybandits":  # another extra
                yield extra, package


def statements(package: Distribution) -> Iterator[str]:
    """Where a package may state its licence, the most exact place first."""
    fields = package.metadata.get_all
    for expression in fields("License-Expression") or []:
        yield expression.split(" AND ")[0]  # then comes what it bundles
    yield " ".join(c for c in fields("Classifier") or [] if c.startswith("License ::"))
    yield from fields("License") or []
    for file in package.files or []:
        if "licen" in file.name.lower() and ".dist-info" in file.parts[0]:
            yield file.read_text()


def name_licence(package: Distribution) -> str:
    """The licence of an installed package by its usual name."""
    stated = next((text for text in statements(package) if text.strip()), "")
    for pattern, name in NAMES.items():
        if re.search(pattern, stated):
            return name
    raise ValueError(f"{package.name} states a licence that has no name here: {stated[:80]!r}")


def written() -> dict[str, str]:
    """The licences that the page has now."""
    return dict(re.findall(r"^\| .* \| ([\w.-]+) \| (.*) \|$", PAGE.read_text(), re.MULTILINE))


def find_licence(package: str) -> str:
    try:
        return name_licence(importlib.metadata.distribution(package))
    except importlib.metadata.PackageNotFoundError:
        kept = written().get(package)
    if kept is None:
        raise ValueError(f"{package} is neither installed nor on the page: install it, try again")
    return kept


def licence_table() -> str:
    """The table, one row per package that an extra names."""
    lines = ["| installed by | package | licence |", "|---|---|---|"]
    for extra, package in dependencies():
        asked = f"`heavybandits[{extra}]`" if extra else "`heavybandits`"
        lines.append(f"| {asked} | {package} | {find_licence(package)} |")
    return "\n".join(lines) + "\n"
