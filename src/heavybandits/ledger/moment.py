"""Moments of a ledger: an event, a time, or a mark that was set by name."""

import datetime as dt
from typing import TypeAlias

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_number, whole
from .integrity import base_of
from .reader import read_marks
from .store import Source, first_value

Moment: TypeAlias = int | float | dt.datetime | str


def last_event(database: Source, until: Moment) -> int:
    """Return the last event of a ledger that belongs to a moment.

    Parameters
    ----------
    database : Source
        The ledger.
    until : int, float, datetime or str
        The number of an event; a time in seconds of the agent's clock, or a datetime of it (a naive
        one is local time): the events before the first later one; or the name of a mark: the events
        before the mark.

    Raises
    ------
    InvalidInputError
        There is no such event or mark.
    """
    last = first_value(database, "SELECT max(event) FROM events")
    end = base_of(database).end.events if last is None else int(last)
    if isinstance(until, str):
        return _find_mark(database, until)
    if isinstance(until, dt.datetime):
        until = until.timestamp()
    if isinstance(until, float | np.floating):
        later = "SELECT min(event) FROM events WHERE time > ?"
        first = first_value(database, later, finite_number("until", until))
        return end if first is None else int(first) - 1
    number = whole("until", until, least=0)
    if number > end:
        raise InvalidInputError(f"until must be one of the {end} events of the ledger, got {until}")
    return number


def _find_mark(database: Source, name: str) -> int:
    marks = read_marks(database)
    if name not in marks:
        known = ", ".join(map(repr, marks)) or "none"
        raise InvalidInputError(f"until must be a mark of the ledger ({known}), got {name!r:.80}")
    return marks[name]
