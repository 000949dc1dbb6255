"""The numpydoc docstrings of the source as pages: names, papers and formulas become links and TeX.

The docstrings are plain numpydoc, which `help()` and editors show as it is written. This module
parses their sections and marks up the running text; numpydoc does the rest.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formulas import display, typeset
from heavybandits import authoring

MODULES = re.compile(r"~?\b(?:typing|numpy|pathlib|collections\.abc)\.(?=\w)")
CODE = re.compile(r"(``?[^`]+``?)")
CITATION = re.compile(
    r"\b([A-Z][\w-]+)(?: et al\.|(?:, [A-Z][\w-]+)*(?: and [A-Z][\w-]+)?) \(?(\d{4})"
)
PROSE = ("Notes", "References")  # sections of paragraphs; the others have entries

Sections = dict[str, list[str]]


class Entry(NamedTuple):
    """One entry of a section: `names : type`, or a type alone, and its description."""

    names: tuple[str, ...]
    type: str
    description: str

    @property
    def heading(self) -> str:
        """The first line of the entry."""
        return " : ".join(filter(None, (", ".join(self.names), self.type)))


def arrange(lines: list[str], links: Mapping[str, str], mark: Callable[[str], str]) -> list[str]:
    """Return the lines of a docstring with `mark` applied to running text.

    `links` has the full names of what a section See Also may name.
    """
    sections = split(lines)
    made = tell(sections.pop("text"), mark)
    examples = sections.pop("Examples")
    for title, body in sections.items():
        made += ["", title, "-" * len(title)]
        made += tell(body, mark) if title in PROSE else write_entries(title, body, links, mark)
    if examples:
        made += ["", "Examples", "--------", *examples]
    return [*made, ""]


def split(lines: list[str]) -> Sections:
    """Cut a docstring at its headings; examples need no heading.

    >>> split(["Do it.", "", "Returns", "-------", "int"])["Returns"]
    ['int']
    """
    sections: Sections = {"text": [], "Examples": []}
    current = "text"
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", following):
            current = line.strip()
            sections.setdefault(current, [])
            continue
        if re.fullmatch(r"-{3,}", line):
            continue
        if line.startswith(">>>"):
            current = "Examples"
        elif current not in ("text", "Examples", *PROSE) and is_paragraph(lines, place):
            current = "text"
            sections["text"].append("")
        sections[current].append(line)
    return sections


def is_paragraph(lines: list[str], place: int) -> bool:
    """Return True for the first line of a remark that follows the entries of a section."""
    line = lines[place]
    return bool(line) and not line[0].isspace() and not lines[place - 1] and " : " not in line


def entries(lines: list[str], named: bool = True) -> list[Entry]:
    """Return the entries of a section; `named` if a line without a colon is a name, not a type.

    >>> entries(["x, y : float, default 1.0", "    Two numbers."])
    [Entry(names=('x', 'y'), type='float, default 1.0', description='Two numbers.')]
    >>> entries(["list of int"], named=False)
    [Entry(names=(), type='list of int', description='')]
    """
    found: list[Entry] = []
    for line in lines:
        if not line.strip():
            continue
        if line[0].isspace():
            if found:
                told = f"{found[-1].description} {line.strip()}".strip()
                found[-1] = found[-1]._replace(description=told)
            continue
        names, colon, kind = line.partition(" : ")
        if colon or named:
            found.append(Entry(tuple(names.split(", ")), kind.strip(), ""))
        else:
            found.append(Entry((), line.strip(), ""))
    return found


def write_entries(
    title: str, lines: list[str], links: Mapping[str, str], mark: Callable[[str], str]
) -> list[str]:
    """Return the entries of a section as numpydoc reads them, with their descriptions marked up."""
    made: list[str] = []
    for entry in entries(lines, named=title not in ("Returns", "Yields")):
        if title == "See Also":
            name, described = entry.names[0], entry.type or entry.description
            target = f":py:obj:`~{links[name]}`" if name in links else name
            made += [f"{target} : {mark(described)}" if described else target]
        else:
            made += [escape_stars(entry.heading), f"    {mark(entry.description)}".rstrip()]
    return made


def escape_stars(heading: str) -> str:
    return heading.replace("*", r"\*")


def tell(lines: list[str], mark: Callable[[str], str]) -> list[str]:
    """Paragraphs marked up; indented blocks as displayed formulas, or as they stand."""
    made: list[str] = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        for deep, group in itertools.groupby(block.split("\n"), lambda row: row.startswith("    ")):
            rows = [row for row in group if row.strip()]
            made += displayed(rows) if deep else [mark(" ".join(rows))]
            made.append("")
    return made


def displayed(rows: list[str]) -> list[str]:
    """An indented block: a formula if it is one, else literal."""
    formula = display(rows)
    if formula:
        return [".. math::", "", f"    {formula}"]
    return ["::", "", *rows]


def marker(links: Mapping[str, str], papers: Mapping[str, str]) -> Callable[[str], str]:
    """A function that marks up running text: names as links, papers, formulas."""

    def mark(text: str) -> str:
        made = ""
        for piece in CODE.split(text):
            code = CODE.fullmatch(piece)
            made += named(piece.strip("`"), links) if code else told(piece, papers)
        return made

    return mark


def papers(page: Path) -> dict[str, str]:
    """The label of every paper on the page of literature, by `author year`."""
    found = re.findall(r"^\(paper-([a-z-]+)-(\d{4})\)=$", page.read_text(), re.MULTILINE)
    return {f"{author} {year}": f"paper-{author}-{year}" for author, year in found}


def named(code: str, links: Mapping[str, str]) -> str:
    """A name as a link to its page, other code as code."""
    target = links.get(code.split("(")[0])
    return f":py:obj:`{code} <{target}>`" if target else f"``{code}``"


def told(text: str, papers: Mapping[str, str]) -> str:
    """Plain text as reStructuredText, with its citations as links and its formulas as TeX."""
    made, place = "", 0
    for found in CITATION.finditer(text):
        label = papers.get(f"{found[1]} {found[2]}".lower())
        if label:
            made += plain(text[place : found.start()]) + f":ref:`{found[0]} <{label}>`\\ "
            place = found.end()
    return made + plain(text[place:])


def plain(text: str) -> str:
    """Text without citations or code: formulas typeset, the rest escaped."""
    made = ""
    for is_formula, piece in typeset(text):
        made += f"\\ :math:`{piece.strip()}`\\ " if is_formula else escape(piece)
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before}{made}{after if text.strip() else ''}"


def escape(text: str) -> str:
    return re.sub(r"([\\*_|])", r"\\\1", text.replace("+-", "±"))


def bare_type(annotation: Any) -> str:
    """An annotation without the modules of its names."""
    return re.sub(MODULES, "", inspect.formatannotation(annotation))


def shorten(annotation: str) -> str:
    """Use the short names of `heavybandits.authoring`, and drop empty bounds."""
    short = re.sub(MODULES, "", annotation)
    for text, name in ALIASES.items():
        short = short.replace(text, name)
    return re.sub(r"Annotated\[(\w+), \w+\((?:[^()']|'[^']*')*\)\]", r"\1", short)


def find_aliases() -> dict[str, str]:
    """The types that `heavybandits.authoring` gives a name, by what they stand for."""
    named = {name: getattr(authoring, name) for name in authoring.__all__}
    types = {name: kind for name, kind in named.items() if hasattr(kind, "__origin__")}
    told = {bare_type(kind): name for name, kind in types.items()}
    return dict(sorted(told.items(), key=lambda pair: -len(pair[0])))  # a longer one holds others


ALIASES = find_aliases()
