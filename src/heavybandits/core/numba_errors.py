"""Explain what numba rejects: which line of which method, why, and what to write instead."""

import dis
import os
import re
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from .part_errors import Place, codes, names_of


class Remedy(NamedTuple):
    """A cause, known by a word in what numba says, and what to write instead."""

    sign: str
    cause: str
    instead: str


# The commonest causes; the first that fits is named.
REMEDIES = (
    Remedy(
        r"(?i)scipy[^\n]*(?:required|needed|install)",
        "numba needs SciPy for `@`, np.dot and np.linalg, and SciPy is not installed",
        "dot, combine, invert and others of heavybandits.authoring; or run `pip install scipy`",
    ),
    Remedy(
        r"(?i)(?:modify|mutate|store to|set[a-z ]*) (?:a )?read-?only array",
        "it writes into an array that is a field of the part or a global, and both are constants",
        "an array of the state, made by `init`",
    ),
    Remedy(
        r"^ValueError: [Cc]annot determine Numba type of <class '([\w.]+)'>",
        "a field or a state has a value of type {1}, which compiled code cannot read",
        "a number, an array or another part; in a state only arrays",
    ),
    Remedy(
        r"Unknown attribute '(\w+)' of type (\w+)\(",
        "compiled code sees the fields of {2} and neither its methods nor its properties: {1}",
        "the verb for a method of another part, mean(self.link, z) for self.link.mean(z); for a "
        "method or property of your own, a function marked @jitable; see heavybandits.authoring",
    ),
    Remedy(
        r"Untyped global name '(\w+)':.*<class '(?:function|builtin_function\w*|type)'>",
        "{1} is plain Python, which compiled code cannot call",
        "@jitable, of heavybandits.authoring, above its def",
    ),
    Remedy(
        r"Untyped global name '(\w+)'",
        "{1} is neither a number nor an array, and compiled code keeps nothing else outside a part",
        "a field of the part: a number, an array or another part",
    ),
    Remedy(
        r"unsupported (?:use of )?NumPy function '?([\w.]+)|Unknown attribute '(\w+)' of type Mod",
        "numba does not know {1}",
        "a loop over the entries; heavybandits.authoring has dot, norm, combine and others",
    ),
    Remedy(
        r"(?i)cannot unify ([^\n]+?) (?:and|for)|can't unify return type",
        "a variable, or what is returned, is of one type here and of another there",
        "one type throughout: 0.0 and never None at first, and a return at the end of every branch",
    ),
    Remedy(
        r"NRT required|NRT_MemInfo|Only accept returning of array|heap allocated|reflected list"
        r"|Cannot infer",
        "it makes an array, a list, a dict or a string, and compiled parts make nothing",
        "room for it in the state, made once by `init`, and a loop that writes there; for sums and "
        "products dot, norm, combine and others of heavybandits.authoring",
    ),
    Remedy(
        r"(?i)context manager|exception matching|yield|opcode|bytecode|unexpected keyword|closure",
        "numba compiles less than Python: no `with`, `except ValueError`, `yield` or `key=`",
        "plain loops and branches, and a test before the step that may fail",
    ),
)
OTHER = Remedy(
    r"(?:Error: (?!Failed)|pipeline \([^\n]*\)\n\s*)([^\n]+)",
    "{1}",
    "plain loops, branches and `math` on numbers",
)
ALLOCATES = "NRT_MemInfo_alloc"  # what compiled code calls to make an array or another object
UNSUPPORTED = ("BEFORE_WITH", "IMPORT_NAME", "YIELD_VALUE")
MATRIX_PRODUCTS = ("dot", "vdot", "linalg", "matmul")
PLACE = re.compile(r'(?:File "([^"\n]+)", line (\d+):|(?:at|Raised from) ([/<][^\n]+?) \((\d+)\))')


def explain_rejection(text: str, own: frozenset[type]) -> str:
    """Say what an error message of numba means for the parts of these classes."""
    methods = [*codes(own)]
    place, said = next(_places(text, methods), (_find_step(methods), text))
    remedy, found = _remedy(said)
    cause = re.sub(r"\{(\d)\}", lambda slot: _group(found, int(slot.group(1))), remedy.cause)
    head = f"{place or names_of(own)}: it runs in Python, but numba cannot compile it"
    quoted = [place.quoted()] if place else []
    words = [f"cause: {cause}", f"write instead: {remedy.instead}"]
    return "\n".join([head, *quoted, *words, "what numba says is in the `details` of this error"])


def _find_step(methods: list[tuple[str, CodeType]]) -> Place | None:
    """Return the first line of a kind that numba rejects without saying where."""
    for name, code in methods:
        for step in dis.get_instructions(code):
            if step.opname in UNSUPPORTED and step.positions and step.positions.lineno:
                return Place(name, code.co_filename, step.positions.lineno)
    return None


def locate_matrix_product(own: frozenset[type]) -> str:
    """Return the place of `@`, np.dot or np.linalg in these classes, as numba writes places."""
    for _, code in codes(own):
        for step in dis.get_instructions(code):
            line = step.positions.lineno if step.positions else None
            if line and (step.argrepr.startswith("@") or step.argval in MATRIX_PRODUCTS):
                return f'File "{code.co_filename}", line {line}:'
    return ""


def _places(text: str, methods: list[tuple[str, CodeType]]) -> Iterator[tuple[Place, str]]:
    """The lines of these methods that numba names, innermost first, and what it said before."""
    for found in PLACE.finditer(text):
        file, line = found.group(1) or found.group(3), int(found.group(2) or found.group(4))
        for name, code in methods:
            if _holds(code, file, line):
                yield Place(name, code.co_filename, line), text[: found.start()]


def _holds(code: CodeType, file: str, line: int) -> bool:
    lines = {number for _, _, number in code.co_lines() if number is not None}
    same = os.path.abspath(file) == os.path.abspath(code.co_filename) or file == code.co_filename
    return same and min(lines) <= line <= max(lines)


def _remedy(text: str) -> tuple[Remedy, re.Match[str] | None]:
    """Return the remedy whose sign is last in the text, which is nearest to the place."""
    for remedies in (REMEDIES, [OTHER]):
        found = [(each, match) for each in remedies for match in re.finditer(each.sign, text)]
        if found:
            return max(found, key=lambda pair: pair[1].start())
    return OTHER, None


def _group(found: re.Match[str] | None, number: int) -> str:
    groups = [group for group in found.groups() if group] if found else []
    return groups[number - 1] if len(groups) >= number else "it"
