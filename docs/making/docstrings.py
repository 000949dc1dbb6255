"""Docstrings as numpydoc wants them, so that those in the source can stay as they read best.

In the source a parameter is told, not typed (`radius : None for the theorem's`), remarks may follow
the parameters, and examples need no heading. Here types come from the signature, remarks move up to
the text, examples go under their own heading, and formulas are typeset.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from formulas import display, typeset
from heavybandits import authoring

MODULES = re.compile(r"~?\b(?:typing|numpy|pathlib|collections\.abc)\.(?=\w)")
PARAMETER = re.compile(r"([A-Za-z_]+(?:, [A-Za-z_]+)*) : (.*)")
TYPE = re.compile(r"(?:bool|int|float|str|[A-Z]\w+)(?: or \w+)*(?:, (?:optional|default .+))?")
CODE = re.compile(r"(``?[^`]+``?)")
CITATION = re.compile(
    r"\b([A-Z][\w-]+)(?: et al\.|(?:, [A-Z][\w-]+)*(?: and [A-Z][\w-]+)?) \(?(\d{4})"
)

Sections = dict[str, list[str]]


def arrange(lines: list[str], types: Mapping[str, str], mark: Callable[[str], str]) -> list[str]:
    """The lines of a docstring in the order of numpydoc, with `mark` applied to running text."""
    sections = split(lines)
    made = tell(sections.pop("text"), mark)
    examples = sections.pop("Examples")
    for title, body in sections.items():
        made += ["", title, "-" * len(title), *told_parameters(body, types, mark)]
    if examples:
        made += ["", "Examples", "--------", *examples]
    return [*made, ""]


def split(lines: list[str]) -> Sections:
    """Cut a docstring at its headings and examples; what follows a section goes to the text."""
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
        elif current != "text" and line and not line[0].isspace():
            in_example = current == "Examples" and lines[place - 1].strip()
            if not in_example and not (PARAMETER.match(line) and current != "Examples"):
                current = "text"
                sections["text"].append("")
        sections[current].append(line)
    return sections


def told_parameters(
    lines: list[str], types: Mapping[str, str], mark: Callable[[str], str]
) -> list[str]:
    """Each parameter with the type of its annotation, and what is told about it."""
    made: list[str] = []
    for names, told in entries(lines):
        given = {types.get(name, "") for name in names.split(", ")}
        kind = given.pop() if len(given) == 1 else ""
        made += [f"{names} : {kind}" if kind else names, f"    {mark(told)}"]
    return made


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """The names and descriptions of a section of parameters."""
    found: list[tuple[str, str]] = []
    for line in lines:
        start = PARAMETER.match(line)
        if start:  # the type is that of the signature
            found.append((start[1], "" if TYPE.fullmatch(start[2]) else start[2]))
        elif line.strip() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
    return found


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


def types_of(thing: Any) -> dict[str, str]:
    """The annotations of a callable's parameters as text; Any says nothing and is left out."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return {}
    told = {each.name: each.annotation for each in parameters if each.annotation is not each.empty}
    return {name: short_type(kind) for name, kind in told.items() if kind is not Any}


def short_type(annotation: Any) -> str:
    """An annotation as people write it: without modules, and arrays by what they hold."""
    return re.sub(r"\bheavybandits\.(?:\w+\.)*", "", shorten(inspect.formatannotation(annotation)))


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
