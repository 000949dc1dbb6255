"""Docstrings, messages, help and pages use the words of the field, not those the style avoids."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from paths import DOCS, ROOT, SOURCE

# What is avoided, and what to write instead.
BANNED = {
    r"anew|afresh": "again",
    r"for ?ever": "always",
    r"beside": "next to",
    r"mend(?:s|ed|ing)?": "fix",
    r"whoever|nobody|somebody": "anyone, no algorithm",
    r"stands|stood|stand still|stand in": "is, does not change, replaces",
    r"lies|lie|lay": "is",
    r"go(?:es)? on|went on": "continue, resume",
    r"holds|hold|held": "contains, is valid",
    r"(?:is|are|was|were) (?:told|said|believed)|told": "name the actor",
    r"refus\w+": "reject, raise",
    r"believ\w+": "assume",
    r"in every bit|to the last bit": "bit-for-bit identical",
    r"monsters?|doctors?|houses?|rooms|doors?|books?": "the technical noun",
    r"walks?|walked|lives|lived": "the technical verb",
    r"nowhere": "the place, no module",
    r"(?:is|are|was|were|stored|done) whole(?! number)": "intact, complete",
    r"rearranged": "the present",
    r"(?<![\d.,/])\d{1,3} 000": "10,000",
    r"\d us": "µs",
    r"hardly|next to nothing|next to nowhere|not the worst": "the number",
    r"on offer|offers?": "available, arm, action",
    r"clean(?:s|ed)?": "clip, truncate, filter",
    r"cuts?": "clip, truncate, divide",
    r"spreads?": "noise scale",
    r"pscore": "propensity",
    r"chances?": "probability, propensity",
    r"rows are worth": "effective sample size",
    r"Whether": "Return True if",
    r"levels?": "threshold, mean reward",
    r"gamma_scale|InverseGap|Mixed": "radius_scale, SquareCB, EpsilonGreedy",
    r"given up|give up": "failed",
}
# Terms of the pages, experiments and measurements: an outcome or a theorem "holds", the "level" of
# rewards, the "doors" of the landing page.
TERMS = ("hold", "holds", "held", "level", "levels", "door", "doors")
# Technical uses, by the words around them.
ALLOWED = (
    "no lock",  # to hold a lock
    "power cut",
    "by chance",
    "Adaptive Level",  # the name of CRAL
    "Offer the arms",  # what an arm set does
    "Offer all x",
    "Offer one random set",
    "Offer a new random set",
    "Offer the rows",
    "books, 8 to 40",  # what a shop sells
    'action="offer"',  # the name of a column
    "walk.py",
    "random walk",
    "--action offer",
    "`level`",  # an alarm of DriftMonitor
    "level : int",
    "level : float",  # of a Diagnosis
    '"level"',  # a column of an Explanation
    "= hold(",  # a function of a kernel
    '"pscore"',  # the name that the Open Bandit Pipeline gives it
)


def find_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the sentences among the strings of a file, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, strip_code(node.value)


def strip_code(text: str) -> str:
    """Return a text without its examples, names in backticks and allowed uses."""
    prose = re.sub(r"^[ ]*(?:>>>|\.\.\.).*\n(?:(?!\s*>>>)\s*\S.*\n)*", "", f"{text}\n", flags=re.M)
    for allowed in ALLOWED:
        prose = re.sub(rf"(?:\w+ )?{re.escape(allowed)}", "", prose)
    return re.sub(r"``?[^`]+``?", "", prose)


def find_words(path: Path) -> list[str]:
    """Return the banned words of a file, each with its line and what to write."""
    return [
        f"line {line}: {found[0]!r} in {around(text, found)!r}; write {instead}"
        for line, text in find_texts(path)
        for word, instead in BANNED.items()
        for found in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", text)
    ]


def around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())


FOLDERS = (SOURCE, ROOT / "benchmarks", ROOT / "deploy", DOCS)
FILES = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_text_has_a_word_that_is_avoided(path):
    found = find_words(path)
    if path.is_relative_to(SOURCE / "experiments") or not path.is_relative_to(SOURCE):
        found = [each for each in found if each.split("'")[1] not in TERMS]
    assert found == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('"""It is told what lies beside it."""', ["is told", "lies", "beside"]),
        ('raise ValueError("the book refused it")', ["refused", "book"]),
        ('help = f"rewards of {name} are cut"', ["cut"]),
        ('"""Call `told`.\n\n>>> told = 1\n>>> told\n1\n"""', []),
        ('"""The compiled loop holds no lock."""', []),
        ('x = "held"', []),
    ],
)
def test_a_word_is_found_where_people_read_it(tmp_path, code, words):
    path = tmp_path / "module.py"
    path.write_text(f"name = 1\n{code}\n")
    found = find_words(path)
    assert sorted(re.findall(r"line 2: '(.*?)' in", "\n".join(found))) == sorted(words)


# ---- pages

ALLOWED_IN_PAGES = (
    "random walk",
    "power cut",
    "other parameters: books",  # what a shop sells
    "by chance",
    "Adaptive Level",
)
# Written by the code, from texts that other tests read.
MADE = ("command_line.md", "contracts.md", "gallery.md")
SETTINGS = (".yaml", ".toml", ".service", ".json", ".conf", ".sh")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in DOCS.rglob("*.md") if path.name not in MADE),
    *sorted(DOCS.rglob("*.ipynb")),
    *(path for path in sorted((ROOT / "deploy").rglob("*")) if path.suffix in SETTINGS),
    *sorted((SOURCE / "experiments").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
]


def read_prose(page: Path) -> str:
    """Return a page without code, formulas, addresses and allowed uses."""
    text = page.read_text()
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|``?[^`]+`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    for allowed in ALLOWED_IN_PAGES:
        text = text.replace(allowed, "")
    return text


def find_words_of_page(prose: str) -> list[str]:
    """Return the banned words of a text, each with what to write instead."""
    return [
        f"{found[0]!r} in {around(prose, found)!r}; write {instead}"
        for word, instead in BANNED.items()
        for found in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", prose)
        if found[0] not in TERMS
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_has_a_word_that_is_avoided(page):
    assert find_words_of_page(read_prose(page)) == []


def test_words_are_found_in_prose_and_not_in_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Nobody is told.\n\n```python\nbeside = 1\n```\n\n`anew` and whoever\n")
    assert [word.split("'")[1] for word in find_words_of_page(read_prose(page))] == [
        "whoever",
        "is told",
    ]
