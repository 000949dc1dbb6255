"""The stores of ledgers: a file, or a database on a server."""

from pathlib import Path

from .._utils.errors import InvalidInputError
from .address import is_address
from .postgres import PostgresLedger
from .sqlite import SqliteLedger
from .store import Ledger


def open_ledger(ledger: str | Path, snapshot_every: int) -> Ledger:
    """Open a ledger in a file or, for an address, on a PostgreSQL server.

    Parameters
    ----------
    ledger : path or str
        The file, or `postgresql://user@host/database?agent=NAME`.
    snapshot_every : int
        Events between two snapshots.
    """
    if not isinstance(ledger, str | Path):
        raise InvalidInputError(f"ledger must be a path or an address, got {ledger!r:.80}")
    if is_address(ledger):
        return PostgresLedger(str(ledger), snapshot_every)
    return SqliteLedger(ledger, snapshot_every)
