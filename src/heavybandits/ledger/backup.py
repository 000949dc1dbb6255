"""Backups: a copy of a ledger that is made while its agent works on it.

The copy is a closed ledger with its own head, checked from the first event to the last. An agent
that opens it issues tickets under keys of its own, as at every opening: a key that was issued after
the backup is rejected.
"""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from .._utils.errors import InvalidInputError
from .address import Address, locate
from .head import End, Head, Record
from .integrity import verify
from .reader import live
from .repair import mode_of, new_ledger, place_ledger, working_folder
from .sqlite_file import Database
from .tables import MARK_OPEN


class Backup(NamedTuple):
    """A copy of a ledger, and the number of events in it."""

    path: Path
    events: int


def backup(path: str | Path, output: str | Path) -> Backup:
    """Copy a ledger into a new one, also while an agent works on it.

    The copy has every event that the agent had acknowledged when the copy began. The agent
    is not stopped, and waits for nothing.

    Parameters
    ----------
    path : path
        The ledger. It does not change.
    output : path
        The new ledger, in a folder that exists.

    Raises
    ------
    LedgerError
        The ledger is damaged, or the copy could not be written: there is none then.
    InvalidInputError
        There is no such ledger, or something is in the place of the copy.

    Examples
    --------
    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/live.db") as agent:
    ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
    ...         backup(f"{folder}/live.db", f"{folder}/copy.db").events
    2
    """
    place, target = locate(path), new_ledger(output)
    if isinstance(place, Address):
        raise InvalidInputError("backup copies a ledger in a file; use pg_dump for PostgreSQL")
    source = place.absolute()
    with working_folder(target.name, target.parent) as folder:
        made = folder / target.name
        with live(source) as (database, head):
            database.copy(made)
        end = _seal(made, source, head)
        place_ledger(made, target, mode_of(source))
    return Backup(target, end.events)


def _seal(made: Path, source: Path, head: Record) -> End:
    """Check a copy, and make it a closed ledger with its own head."""
    with closing(Database(made, copy_of=source)) as copy:
        end = verify(copy, head).end
        copy.write([(MARK_OPEN, ("0",))])
        copy.checkpoint("TRUNCATE")
    with closing(Head(made)) as new:
        new.start(end)
    return end
