"""The table `inputs` of a ledger: raw inputs of its events, apart from them, so that they can be
erased.

An event has the salted SHA-256 of its inputs, which is a part of the chain of hashes: inputs can
be deleted, but not altered. Whoever reads them treats erased inputs as absent.
"""

from collections.abc import Iterator, Sequence

from .._utils.errors import LedgerError
from ..agents.raw_inputs import RawInputs
from .sqlite_file import Database
from .store import Source
from .tables import INPUTS

_COLUMNS = ", ".join(f"inputs.{name}" for name in INPUTS)
_STORED = f"SELECT {_COLUMNS}, events.inputs_hash FROM inputs LEFT JOIN events USING (event)"


def read_inputs(database: Source, last: int | None = None) -> Iterator[tuple[int, RawInputs]]:
    """Yield the raw inputs that are left, each with the number of its event.

    Raises LedgerError if inputs are not those of their event; `last` is the last event to look at.
    """
    most = (1 << 62) if last is None else last
    for event, *parts, stored in database.stream(f"{_STORED} WHERE inputs.event <= ?", most):
        try:
            inputs = RawInputs._make(parts)
            right = inputs.digest() == stored
        except (TypeError, AttributeError):
            right = False
        if not right:
            raise LedgerError(f"{database.path}: the inputs of event {event} were altered")
        yield event, inputs


def erase(database: Database, events: Sequence[int]) -> int:
    """Delete the raw inputs of these events, also from free pages; return how many there were."""
    found = [event for event in events if database.rows(_HAS, event)]
    database.rows("PRAGMA secure_delete = ON")
    database.write([("DELETE FROM inputs WHERE event = ?", (event,)) for event in found])
    database.checkpoint("TRUNCATE")
    return len(found)


_HAS = "SELECT 1 FROM inputs WHERE event = ?"
