r"""The formulas of docstrings, typed to be read in a terminal, as TeX for the pages.

    ||x||_{V^-1} |y| <= Gamma    becomes    \lVert x\rVert_{V^{-1}} |y| \le \Gamma

A formula is a run of words that are symbols, numbers and operators. What does not parse stays as it
was typed, so the worst that can happen to a formula is that it looks the way it does in the source.
"""

import re

GREEK = re.findall(
    r"\w+",
    "alpha beta gamma delta eta theta kappa lambda mu nu pi rho sigma tau phi omega "
    "Gamma Delta Theta Lambda Sigma Phi Omega",
)
SYMBOLS = {name: "\\" + name for name in GREEK}
SYMBOLS |= dict.fromkeys(("eps", "epsilon"), r"\varepsilon")
# Words of English, too: they may stand in a formula and do not make one.
WORDS = {name: "\\" + name for name in ("ln", "log", "exp", "max", "min", "det", "sum")}
WORDS |= {name: "\\" + name for name in ("sin", "cos", "tan")}
WORDS |= {name: rf"\operatorname{{{name}}}" for name in ("median", "sign", "atan", "clip", "trace")}
WORDS |= {"inf": r"\infty", "argmin": r"\arg\min", "argmax": r"\arg\max"}
WORDS |= dict.fromkeys(("sqrt", "ceil", "floor", "log2"), "")  # these are drawn
RELATIONS = {"+-": r"\pm ", "<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "->": r"\to "}
RELATIONS |= {"<- ": r"\leftarrow "}
RELATIONS |= {"..": r"\ldots ", "O~": r"\tilde O", "log2": r"\log_2 ", "+=": r"\mathrel<+>= "}
RELATIONS |= {"x^T": r"x^{\top}", "X^T": r"X^{\top}"}

PROSE = {"a", "A", "I"}  # symbols only beside an operator
ARTICLES = {"the", "its", "that", "those", "what"}
# Possessives, abbreviations, strings, names such as OL2M and A.2, and keyword arguments.
OTHER = re.compile(r"\b(e\.g|i\.e)\b|'s\b|^['\"]|^[A-Z]+\d[A-Z]*$|^[A-Z]\.\d|^\(?\w{3,}=\w")
STRONG = re.compile(
    r"\^|_\{|\|\||[=<>]|\|\w+\||\bO~?\(|\w\*(?!\w)|\d[a-zA-Z]|^\w\.[a-z]{2,}"
    rf"|\b({'|'.join(WORDS)})\("
)
ATOMS = re.compile(r"[A-Za-z]+\d?|\d[\d.,]*|[-+*/^_=<>|(){}\[\],.;:!~']")
OPERATOR = re.compile(r"[-+*/=<>!]+")
PAIRS = {")": "(", "}": "{", "]": "["}


def typeset(text: str) -> list[tuple[bool, str]]:
    """A text in pieces: (True, TeX) for a formula, (False, text) for what stays as it is."""
    pieces: list[tuple[bool, str]] = []
    for run, is_formula in _runs(text.split()):
        if pieces:
            pieces.append((False, " "))
        pieces += _pieces(" ".join(run)) if is_formula else [(False, " ".join(run))]
    return pieces


def display(lines: list[str]) -> str | None:
    """Indented lines as one displayed formula, or None if they are something else."""
    text = " ".join(lines)
    strange = [word for word in re.findall(r"[A-Za-z]{3,}", text) if not _known(word)]
    if not STRONG.search(text) or strange or not is_balanced(text):
        return None
    rows = [re.sub(r",\s{2,}", r", \\qquad ", line.strip()) for line in lines]
    return r"\begin{aligned} & " + r" \\ & \quad ".join(map(to_tex, rows)) + r" \end{aligned}"


def to_tex(formula: str) -> str:
    """One formula as TeX."""
    for typed, tex in RELATIONS.items():
        formula = formula.replace(typed, tex)
    formula = re.sub(r"\b1e(-?\d+)\b", r"10^{\1}", formula)
    formula = _draw(_scripts(formula)).replace("<+>", "{+}")
    formula = re.sub(r"\|\|(.+?)\|\|", r"\\lVert \1\\rVert ", formula)
    formula = re.sub(r"(?<=[A-Za-z])\*(?!\w)", "_*", formula)
    formula = re.sub(r"(?<=[\w})'])\.(?=[A-Za-z(\\])", r" \\cdot ", formula)
    return re.sub(r"(?<![\\A-Za-z])[A-Za-z]+", _name, formula)


def is_balanced(formula: str) -> bool:
    """Return True if every bracket and bar of a formula has its other half."""
    waiting: list[str] = []
    for character in formula:
        if character in PAIRS.values():
            waiting.append(character)
        elif character in PAIRS and (not waiting or waiting.pop() != PAIRS[character]):
            return False
    return not waiting and formula.count("|") % 2 == 0


def _known(word: str) -> bool:
    return word in SYMBOLS or word in WORDS


def _may_belong(word: str, before: str, after: str) -> bool:
    """Return True if a word may be part of a formula, given its neighbours."""
    bare = word.rstrip(".,;:")
    if OTHER.search(bare) or ATOMS.sub("", bare) or not bare:
        return False
    if bare.strip("()") in PROSE:
        return bool(OPERATOR.fullmatch(before) or OPERATOR.fullmatch(after))
    if STRONG.search(bare):
        return True
    related = OPERATOR.fullmatch(before) or after in ("=", "<=", "+=")
    if related and re.fullmatch(r"\(?[A-Za-z_]+\)?", bare) and bare not in ARTICLES:
        return True  # a constant with a name, as in `<= scale`
    letters = re.findall(r"[A-Za-z]+", bare)
    return all(_known(each) or len(each) == 1 for each in letters)


def _runs(words: list[str]) -> list[tuple[list[str], bool]]:
    """Words that belong together: formulas end at a comma outside of all brackets."""
    runs: list[tuple[list[str], bool]] = []
    ended = True
    for place, word in enumerate(words):
        before = words[place - 1] if place and not ended else ""
        after = words[place + 1] if place + 1 < len(words) else ""
        belongs = _may_belong(word, before, after)
        if runs and belongs == runs[-1][1] and not (belongs and ended):
            runs[-1][0].append(word)
        else:
            runs.append(([word], belongs))
        ended = not belongs or (word[-1] in ".,;:" and not _is_open(" ".join(runs[-1][0])))
    return runs


def _is_open(text: str) -> bool:
    """Return True if a bracket still waits for its other half."""
    return any(text.count(opening) > text.count(closing) for closing, opening in PAIRS.items())


def _pieces(run: str) -> list[tuple[bool, str]]:
    """One run as a formula with the punctuation around it, or as text if it is none."""
    start, end = 0, len(run)
    while end > start and run[end - 1] in ".,;: ":
        end -= 1
    while end > start and not is_balanced(run[start:end]):
        if run[end - 1] == ")":
            end -= 1
        elif run[start] == "(":
            start += 1
        else:
            return [(False, run)]
    formula = run[start:end]
    symbols = [word for word in re.findall(r"[A-Za-z]+", formula) if word not in WORDS]
    if not symbols and not STRONG.search(formula):
        return [(False, run)]
    around = [(False, run[:start]), (True, to_tex(formula)), (False, run[end:])]
    return [piece for piece in around if piece[1]]


def _name(match: re.Match[str]) -> str:
    word = match[0]
    tex = SYMBOLS.get(word) or WORDS.get(word)
    if tex:
        return tex + " "
    return word if len(word) <= 2 else rf"\operatorname{{{word}}}"


def _group_end(text: str, start: int) -> int:
    """One past the other half of the bracket at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "({") - (text[place] in ")}")
        if depth == 0:
            return place + 1
    return len(text)


def _draw(text: str) -> str:
    """sqrt(..) under its root, ceil(..) and floor(..) in their brackets."""
    found = re.search(r"\b(sqrt|ceil|floor)\(", text)
    if not found:
        return text
    end = _group_end(text, found.end() - 1)
    inside, rest = _draw(text[found.end() : end - 1]), _draw(text[end:])
    drawn = rf"\l{found[1]} {inside}\r{found[1]} " if found[1] != "sqrt" else rf"\sqrt{{{inside}}}"
    return text[: found.start()] + drawn + rest


def _scripts(text: str) -> str:
    """Exponents and indices in braces; braces that group nothing are printed."""
    made, place = "", 0
    while place < len(text):
        character = text[place]
        if character == "_" and _joins_words(text, place):
            made, place = made + "\\_", place + 1
        elif character in "^_" and place + 1 < len(text):
            inner, place = _script(text, place + 1)
            made += f"{character}{{{_scripts(inner)}}}"
        else:
            made += "\\" + character if character in "{}" else character
            place += 1
    return made


def _joins_words(text: str, place: int) -> bool:
    """Return True if an underscore belongs to the name of a constant, as in time_scale."""
    before = re.search(r"[A-Za-z]{3,}$", text[:place])
    return bool(before and not _known(before[0]) and re.match(r"[A-Za-z]{2,}", text[place + 1 :]))


def _script(text: str, start: int) -> tuple[str, int]:
    """Return what an exponent or index at `start` contains, and where it ends."""
    if text[start] in "({":
        end = _group_end(text, start)
        return text[start + 1 : end - 1], end
    found = re.match(r"-?\d+/\d+|-?[A-Za-z]+\*?|-?\d+|.", text[start:])
    return (found[0], start + found.end()) if found else ("", start)
