"""The ledger of an agent in a SQLite file.

An event is on the disk before the agent applies it (write-ahead log, synchronous=FULL), and the
whole state is stored now and then: opening a ledger reads the last state and repeats the events
after it. Nothing in the file is used before it is validated.
"""

import secrets
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .._utils.errors import LedgerError
from .._utils.files import canonical, sync_folder
from .._utils.version import __version__
from ..agents.events import Event, Selected, WarmStarted
from ..agents.rewards import Outcome
from ..agents.state import AgentState, Learner
from ..agents.state_file import describe_encoder
from ..agents.tickets import Decision, Owner, new_owner
from ..core.arrays import Floats
from ..core.part import describe
from .head import End, Head, holds_log
from .inputs import erase
from .integrity import chain, damaged, newest_sealed, try_free_pages
from .resume import find_selected, read_learned, read_outcome, resume
from .snapshot import find_places, no_places, pack_snapshot
from .sqlite_file import FORKED, Database, Statement, check_database, leak_at_fork, room
from .store import Row, first_value, read_issued, to_row
from .tables import (
    COLUMNS,
    INSERT_INPUTS,
    INSERT_OF,
    INSERT_OWNER,
    MARK_OPEN,
    SEALED,
    SNAPSHOT,
    check_format,
    new_tables,
)


class SqliteLedger:
    """A ledger in a SQLite file, for one agent in one process.

    Parameters
    ----------
    path : path
        The database; created if it does not exist, continued if it belongs to this policy.
    snapshot_every : int
        Events between two snapshots, and so the most that opening repeats.
    """

    def __init__(self, path: str | Path, snapshot_every: int) -> None:
        self.path = Path(path).absolute()
        self._every, self._since = snapshot_every, 0
        self._end, self._places = End(0, b""), no_places()
        try:
            self._head = Head(self.path)
            try:
                check_database(self.path)
                if not self.path.exists() or self.path.stat().st_size == 0:
                    self._check_new()  # before SQLite finds and deletes a log without a database
                self.database: Database = Database(self.path)
            except BaseException:
                self._head.discard()
                raise
        except OSError as error:
            where = room(self.path.parent)
            raise LedgerError(f"{self.path}: {error.strerror} ({where})") from error
        self._close_files = weakref.finalize(self, _close, self.database, self._head)
        leak_at_fork(self)

    # ---- opening

    def resume(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event; a new ledger starts with the one given."""
        try:
            if self.database.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                check_format(self.database)
                self.database.prepare()
                try_free_pages(self.database)
                found = resume(self.database, self._head.read(), state, learner)
                state, self._end, self._since, self._places = found
                state = state._replace(owners=new_owner(state.owners, state.tickets.issued))
                self._head.start(self._end)
                self.database.write([(MARK_OPEN, ("1",)), _insert_owner(state.owners[-1])])
            else:
                self._check_new()
                self.database.prepare()
                self._create(state)
            self.database.checkpoint("TRUNCATE")
            self.database.reserve()
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self.drop()
            raise damaged(self.path, str(error)) from error
        except OSError as error:
            self.drop()
            where = room(self.path.parent)
            raise LedgerError(f"{self.path}: {error.strerror} ({where})") from error
        except BaseException:
            self.drop()
            raise
        return state

    def _check_new(self) -> None:
        """Raise LedgerError where a ledger was: its head or its log may be all that is left."""
        end = self._head.read().end
        events = 0 if end is None else end.events
        if events or holds_log(self.path):
            written = f"{events} events were written" if events else "its log is not"
            raise LedgerError(
                f"{self.path} is damaged: it is empty, but {written}; to start a new ledger, "
                f"remove {self.path.name}-head and {self.path.name}-wal as well"
            )

    def _create(self, state: AgentState) -> None:
        entries = {
            "policy": canonical(describe(state.policy)),
            "encoder": canonical(describe_encoder(state.encoder)),
            "name": secrets.token_hex(16),  # two ledgers of one policy have different chains
            "heavybandits": __version__,
            "failures": "0",
            "open": "1",
        }
        self._end = End(0, chain(b"", *(entries[name] for name in SEALED)))
        self._head.start(self._end)
        created = [*new_tables(entries), *map(_insert_owner, state.owners)]
        self.database.write([*created, self._snapshot(state)])
        sync_folder(self.path.parent)

    # ---- writing

    @property
    def length(self) -> int:
        """Return the number of events."""
        return self._end.events

    @property
    def in_doubt(self) -> bool:
        """Return False: a file whose last write is in doubt is closed."""
        return False

    def write(self, events: Sequence[Event]) -> None:
        """Store all of these events, or none of them and raise LedgerError."""
        length, link = self._end
        statements: list[Statement] = []
        for number, event in enumerate(events, length + 1):
            row = to_row(number, event)
            link = chain(link, *row)
            statement, values = INSERT_OF[row.kind]
            statements.append((statement, (*values(row), link)))
            if isinstance(event, Selected | WarmStarted) and event.inputs is not None:
                statements.append((INSERT_INPUTS, (number, *event.inputs)))
        self.database.write(statements)
        self._end = End(length + len(events), link)
        self._since += len(events)
        if not self.database.in_group:
            self._head.write(self._end)

    def begin_group(self) -> None:
        """Collect all events until `end_group` in one transaction, which is flushed once."""
        self.database.begin_group()

    def end_group(self) -> None:
        """Store the events of the group, or none of them and raise LedgerError."""
        if self.database.in_group:
            self.database.end_group()
            self._head.write(self._end)

    def reload(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event that is stored; if it cannot be read, close."""
        try:
            start = newest_sealed(self.database)
            found = resume(self.database, self._head.read(), state, learner, start)
        except LedgerError:
            self.drop()
            raise
        state, self._end, self._since, self._places = found
        return state

    def wrote_since(self, length: int) -> bool:
        """Return True if events that were being written at this length are stored."""
        self.database.roll_back()
        last = "SELECT event, link FROM events ORDER BY event DESC LIMIT 1"
        for found in self.database.rows(last):
            self._end = End(*found)
            if not self.database.in_group:
                self._head.write(self._end)
        return self.length > length

    def snapshot_if_due(self, state: AgentState) -> None:
        """Store the state if it is due. If that fails, the events are stored, and it is due
        again after the next one."""
        if self._since >= self._every and not self.database.in_group:
            with suppress(LedgerError):
                self.snapshot(state)

    def snapshot(self, state: AgentState) -> None:
        """Store the state, so that opening starts from here."""
        old = ("DELETE FROM states WHERE event NOT IN (0, ?)", (self.length,))
        self._places = find_places(self.database, state, self._places, self.length)
        self.database.write([self._snapshot(state), old])
        self._since = 0
        self.database.checkpoint("PASSIVE")

    def _snapshot(self, state: AgentState) -> Statement:
        data = pack_snapshot(state, self._places)
        return SNAPSHOT, (self._end.events, chain(self._end.link, data), data)

    def own(self, owner: Owner) -> None:
        """Store who issues the tickets from a number on."""
        self.database.write([_insert_owner(owner)])

    # ---- reading

    def outcome(self, ticket: int) -> Outcome:
        """Return how a ticket was settled, and the reward given for it."""
        return read_outcome(self.database, ticket)

    def learned_from(self, ticket: int) -> tuple[Floats, float, int]:
        """Return the features of a settled ticket, the reward in force, and the number of rewards
        that were learned before the first one."""
        return read_learned(self.database, ticket, self.length)

    def ticket_of(self, event_id: str) -> int | None:
        """Return the ticket with this event id; None if there is none."""
        found = first_value(self.database, "SELECT ticket FROM events WHERE event_id = ?", event_id)
        return None if found is None else int(found)

    def issued(self, ticket: int, plays: int) -> tuple[Decision, str | None]:
        """Return the decision of a ticket as it was made, and its event id."""
        find = f"SELECT {COLUMNS} FROM events WHERE event = ?"
        return read_issued(Row._make(self.database.rows(find, self._selected(ticket))[0]), plays)

    def erase_inputs(self, tickets: Sequence[int]) -> int:
        """Delete the raw inputs of decisions; return how many there were."""
        return erase(self.database, [self._selected(ticket) for ticket in tickets])

    def _selected(self, ticket: int) -> int:
        return find_selected(self.database, ticket, self.length)

    # ---- closing

    def close(self, state: AgentState) -> None:
        """Store the state and close the file."""
        if self._close_files.alive:
            try:
                self.snapshot(state)
            finally:
                self._close_files()

    def drop(self) -> None:
        """Close the file as it is: the state in memory may differ from it."""
        self._close_files.detach()
        self.database.close()
        self._head.discard()

    def leak(self) -> None:
        """In a forked child, release everything without touching the file."""
        self._close_files.detach()
        self.database.leak(FORKED)
        self._head.close()


def _insert_owner(owner: Owner) -> Statement:
    return INSERT_OWNER, (owner.first, owner.agent)


def _close(database: Database, head: Head) -> None:
    """Close a ledger properly, also when its agent is garbage or the program ends."""
    try:
        database.write([(MARK_OPEN, ("0",))])
        database.checkpoint("TRUNCATE")
    except LedgerError:
        pass  # all events are stored: the next agent finds them
    finally:
        database.close()
        head.close()
