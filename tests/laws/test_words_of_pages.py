"""Pages use the words of the field, as docstrings do."""

import re
from pathlib import Path

import pytest

from paths import DOCS, ROOT, SOURCE
from test_words import BANNED

# Words that a page may use: an outcome "holds", a theorem holds, the level of rewards is a term.
TERMS = ("hold", "holds", "held", "level", "levels", "door", "doors")
ALLOWED = (
    "power cut",
    "other parameters: books",  # what a shop sells
    "by chance",
    "Adaptive Level",
)
# Written by the code, from texts that other tests read.
MADE = ("command_line.md", "contracts.md", "gallery.md")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in DOCS.rglob("*.md") if path.name not in MADE),
    *sorted((SOURCE / "experiments").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
]


def read_prose(page: Path) -> str:
    """Return a page without code, formulas, addresses and allowed uses."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|``?[^`]+`|\]\([^)]*\)", " ", text, flags=re.DOTALL)
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return text


def find_words(prose: str) -> list[str]:
    """Return the banned words of a text, each with what to write instead."""
    return [
        f"{found[0]!r} in {' '.join(prose[max(0, found.start() - 40) : found.end() + 40].split())!r}"
        f"; write {instead}"
        for word, instead in BANNED.items()
        for found in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", prose)
        if found[0] not in TERMS
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_has_a_word_that_is_avoided(page):
    assert find_words(read_prose(page)) == []


def test_words_are_found_in_prose_and_not_in_code(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Nobody is told.\n\n```python\nbeside = 1\n```\n\n`anew` and whoever\n")
    assert [word.split("'")[1] for word in find_words(read_prose(page))] == ["whoever", "is told"]
