"""What objects show at a prompt and in a notebook: an expression, or a title with facts."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .errors import printable
from .tables import shown, to_text

WIDTH = 80  # columns of a terminal
MOST = 12  # rows of a table that are shown
MOST_NUMBERS = 8  # entries of an array that are shown

# Colours and fonts are those of the page around it, light or dark.
_CELL = "padding:0.15em 1em 0.15em 0;border:0;text-align:{side};vertical-align:top"
_BOX = "max-width:100%;overflow-x:auto;line-height:1.4"


class Card(NamedTuple):
    """A title, named facts, and a table of which the first rows are shown.

    >>> print(write_card(Card("Sale: 2 rows", {"mean": 1.5, "note": None}, [{"a": 1}, {"a": 2}])))
    Sale: 2 rows
      mean  1.5
    <BLANKLINE>
      a
      1
      2
    """

    title: str
    facts: Mapping[str, Any] = {}
    table: Sequence[dict[str, Any]] = ()


class HasCard(Protocol):
    """An object that can say what a person wants to know of it."""

    def _card(self) -> Card: ...


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_of(1, "ticket"), count_of(2001, "ticket")
    ('1 ticket', '2,001 tickets')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def show_text(thing: HasCard) -> str:
    """Return what an object shows at a prompt."""
    return write_card(thing._card())


def show_html(thing: HasCard) -> str:
    """Return what an object shows in a notebook."""
    return write_html(thing._card())


def write_card(card: Card) -> str:
    """Return a card as text for a terminal. A fact that is None or empty is left out."""
    facts = _facts(card)
    margin = max(map(len, facts), default=0) + 4
    lines = [
        line
        for name, text in facts.items()
        for line in _wrap(text, f"  {name}".ljust(margin), " " * margin)
    ]
    made = "\n".join([*_wrap(card.title, "", "  "), *lines])
    if card.table:
        made += "\n\n" + textwrap.indent(to_text(card.table[:MOST], width=WIDTH - 2), "  ")
        made += _rest(card, "\n  ")
    return made


def write_html(card: Card) -> str:
    """Return a card as HTML, with all text escaped.

    >>> write_html(Card("a < b")).endswith("<strong>a &lt; b</strong></div>")
    True
    """
    facts = "".join(
        f'<tr style="background:none">{_cell(name, "th")}{_cell(text)}</tr>'
        for name, text in _facts(card).items()
    )
    inner = f"<strong>{_escape(card.title)}</strong>"
    inner += f'<table style="border:0;margin:0.3em 0">{facts}</table>' if facts else ""
    if card.table:
        names = list(card.table[0])
        right = {n for n in names if all(_is_number(row.get(n)) for row in card.table)}
        head = "".join(_cell(name, "th", name in right) for name in names)
        rows = "".join(
            f'<tr style="background:none">'
            f"{''.join(_cell(shown(row.get(n)), 'td', n in right) for n in names)}</tr>"
            for row in card.table[:MOST]
        )
        inner += (
            f'<table style="border:0;margin:0.3em 0"><thead style="border:0"><tr>{head}</tr>'
            f"</thead><tbody>{rows}</tbody></table>{_rest(card)}"
        )
    return f'<div style="{_BOX}">{inner}</div>'


def _facts(card: Card) -> dict[str, str]:
    return {name: shown(value) for name, value in card.facts.items() if value not in (None, "")}


def _rest(card: Card, before: str = "") -> str:
    more = len(card.table) - MOST
    return f"{before}and {more:,} more" if more > 0 else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrap(text: str, first: str, other: str) -> list[str]:
    lines = textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]


def _cell(text: str, tag: str = "td", right: bool = False) -> str:
    style = _CELL.format(side="right" if right else "left")
    return f'<{tag} style="{style}">{_escape(text)}</{tag}>'


def _escape(text: str) -> str:
    return html.escape(printable(text))


# ---- parts, which are NamedTuples, as the expressions that make them


def show_part(part: Any) -> str:
    """Return the expression that makes a part.

    An expression that is too long for a terminal has one field per line.

    >>> from heavybandits.filters import Clip
    >>> show_part(Clip(threshold=2.5))
    'Clip(threshold=2.5, plays=1)'
    """
    return _in_lines(part)


def show_part_html(part: Any) -> str:
    """Return a part for a notebook: its fields, one per row."""
    fields = {name: write_part(value) for name, value in part._asdict().items()}
    return write_html(Card(type(part).__name__, fields))


def write_part(value: Any) -> str:
    """Return the expression that makes a value; for a long array its shape.

    >>> from heavybandits.links import Identity
    >>> write_part((Identity(), np.zeros((20, 3))))
    '(Identity(), <array of shape (20, 3)>)'
    """
    if isinstance(value, np.ndarray):
        small = value.size <= MOST_NUMBERS
        return f"array({value.tolist()!r})" if small else f"<array of shape {value.shape}>"
    if _is_part(value):
        fields = (f"{name}={write_part(inner)}" for name, inner in value._asdict().items())
        return f"{type(value).__name__}({', '.join(fields)})"
    if type(value) is tuple:
        return f"({', '.join(map(write_part, value))}{',' * (len(value) == 1)})"
    return repr(value)


def _in_lines(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return an expression that begins after `before` characters of an indented line."""
    line = write_part(value)
    if indent + before + len(line) < WIDTH or not _is_part(value):
        return line
    fields = (
        f"{' ' * (indent + 4)}{name}={_in_lines(inner, indent + 4, len(name) + 1)},\n"
        for name, inner in value._asdict().items()
    )
    return f"{type(value).__name__}(\n{''.join(fields)}{' ' * indent})"


def _is_part(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")
