"""The ledger of an agent on a PostgreSQL server.

The row of the ledger in the table `agents` has its end and its writer. Every commit changes that
row, on the condition that the ledger still ends where this writer left it: another agent that has
opened the ledger, or a server that has lost events, makes the next commit fail.
"""

import secrets
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from .._utils.errors import LedgerError, LedgerFencedError
from .._utils.files import canonical
from .._utils.version import __version__
from ..agents.events import Event, Selected, WarmStarted
from ..agents.rewards import Outcome
from ..agents.state import AgentState, Learner
from ..agents.state_file import describe_encoder
from ..agents.tickets import Decision, Owner, new_owner
from ..core.arrays import Floats
from ..core.part import describe
from . import postgres_tables as tables
from .address import Address, parse_address
from .head import End, Record
from .integrity import chain, damaged
from .postgres_server import Connection, Server, fetch, is_lost
from .postgres_tables import NOTHING, scope
from .resume import (
    check_owner,
    find_selected,
    read_learned,
    read_outcome,
    resume,
)
from .snapshot import find_places, no_places, pack_snapshot
from .sqlite_file import FORKED, leak_at_fork
from .store import Dialect, Row, read_issued, to_row
from .tables import COLUMNS, INPUTS

FEW = 16  # events that are stored by one statement; more are copied in a transaction


class PostgresTables:
    """The tables of one ledger on a server, to be read. Failures are LedgerErrors with its name.

    Parameters
    ----------
    server : Server
        A connection.
    address : Address
        Of the ledger.
    agent : int, optional
        The number of the ledger; None if it is to be looked up.
    """

    dialect: Dialect = "postgresql"

    def __init__(self, server: Server, address: Address, agent: int | None = None) -> None:
        self.path, self._server, self.unsent = str(address), server, NOTHING
        self._moment: Connection | None = None
        self.agent = self._find(address) if agent is None else agent

    def _find(self, address: Address) -> int:
        tables.check_migrated(self._server, self.path)
        found = self._server.rows(tables.FIND, (address.agent,))
        if not found:
            raise LedgerError(f"{self.path}: there is no ledger of this name in the database")
        return int(found[0][0])

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""
        if self._moment is not None:
            return list(self.stream(statement, *values))
        return self._server.rows(*scope(statement, self.agent, values, self.unsent))

    def stream(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds."""
        scoped = scope(statement, self.agent, values, self.unsent)
        if self._moment is not None:
            yield from self._server.stream(self._moment, *scoped)
            return
        with self._server.moment() as connection:
            yield from self._server.stream(connection, *scoped)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """All that is read meanwhile is of one moment, whatever an agent writes."""
        with self._server.moment() as connection:
            self._moment = connection
            try:
                yield
            finally:
                self._moment = None

    def head(self) -> Record:
        """Return where the ledger ends."""
        found = self._server.rows(tables.STATUS, (self.agent,))
        if not found:
            return Record(None, "missing")
        _, _, event, link = found[0]
        return Record(End(event, link))

    def close(self) -> None:
        """Close the connection."""
        self._server.close()


def open_tables(address: Address) -> PostgresTables:
    """Return the tables of a ledger, to be read while its agent works on it."""
    server = Server(address.parameters, str(address))
    try:
        return PostgresTables(server, address)
    except BaseException:
        server.close()
        raise


def is_taken(address: Address) -> bool:
    """Return True if the database has a ledger of this name."""
    server = Server(address.parameters, str(address))
    try:
        tables.check_migrated(server, str(address))
        return bool(server.rows(tables.FIND, (address.agent,)))
    finally:
        server.close()


class Position(NamedTuple):
    """Where a ledger ends on the server, and what comes after that."""

    end: End
    unsent: tuple[tuple[Any, ...], ...] = ()  # rows of events, each with its link
    inputs: tuple[tuple[Any, ...], ...] = ()

    @property
    def last(self) -> End:
        """Return the end with the events that are not sent yet."""
        return End(self.unsent[-1][0], self.unsent[-1][-1]) if self.unsent else self.end


class PostgresLedger:
    """A ledger on a PostgreSQL server, for one agent at a time.

    Opening it takes it over: an agent that had it open gets LedgerFencedError from its next call.

    Parameters
    ----------
    address : str or Address
        `postgresql://user@host/database?agent=NAME`; created if the database has no such ledger,
        continued if it belongs to this policy.
    snapshot_every : int
        Events between two snapshots, and so the most that opening repeats.
    """

    def __init__(self, address: str | Address, snapshot_every: int) -> None:
        self._address = parse_address(address)
        self.path = str(self._address)
        self._every, self._since = snapshot_every, 0
        self._server = Server(self._address.parameters, self.path)
        self._writer, self._epoch = secrets.token_hex(8), 0
        self._at, self._places = Position(End(0, b"")), no_places()
        self._in_doubt = self._in_group = False
        self._group_ids: dict[str, int] = {}
        self._tables = PostgresTables(self._server, self._address, -1)
        self._close_server = weakref.finalize(self, Server.close, self._server)
        leak_at_fork(self)

    # ---- opening

    def resume(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event; a new ledger starts with the one given."""
        try:
            tables.check_migrated(self._server, self.path)
            found = self._server.rows(tables.FIND, (self._address.agent,))
            if not found:
                self._create(state)
                found = self._server.rows(tables.FIND, (self._address.agent,))
            ledger, writer = found[0]
            return self._open(ledger, writer, state, learner)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self.drop()
            raise damaged(self.path, str(error)) from error
        except BaseException:
            self.drop()
            raise

    def _create(self, state: AgentState) -> None:
        """Create the ledger, unless another agent does at the same moment."""
        policy = canonical(describe(state.policy))
        encoder = canonical(describe_encoder(state.encoder))
        name, data = secrets.token_hex(16), pack_snapshot(state, self._places)
        link = chain(b"", name, policy, encoder)
        about = (self._address.agent, name, policy, encoder, __version__)
        owners = tables.to_columns([(owner.first, owner.agent) for owner in state.owners])
        values = (*about, self._writer, link, *owners, chain(link, data), data)
        self._server.rows(tables.CREATE, values)

    def _open(self, ledger: int, writer: str, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event. From now on no other agent writes the ledger.

        Each opening has an id of its own: a ledger that was restored from a backup rejects the
        tickets that were issued after the backup.
        """
        self._tables.agent = ledger
        check_owner(self._tables, state)  # before the agent that has it open is stopped
        self._epoch, *end = self._server.insist(self._take_over)
        self._at = Position(End(*end))
        state = self._restore(state, learner)
        if writer == self._writer:  # it was created just now
            return state
        state = state._replace(owners=new_owner(state.owners, state.tickets.issued))
        self.own(state.owners[-1])
        return state

    def own(self, owner: Owner) -> None:
        """Store who issues the tickets from a number on."""
        fence = (self._tables.agent, self._epoch, self._writer)
        self._server.rows(tables.OWN, (owner.first, owner.agent, *fence))

    def _take_over(self, connection: Connection) -> tuple[Any, ...]:
        with connection.transaction():
            connection.execute(tables.WAIT)
            return fetch(connection, tables.OPEN, (self._writer, self._tables.agent))[0]

    def _restore(self, state: AgentState, learner: Learner) -> AgentState:
        head = Record(self._at.end)
        found = self._server.repeat(lambda: resume(self._tables, head, state, learner))
        if found.end != self._at.end:
            raise damaged(self.path, f"it has events after event {self._at.end.events}, its end")
        self._since, self._places = found.since, found.places
        return found.state

    # ---- writing

    @property
    def length(self) -> int:
        """Return the number of events."""
        return self._at.last.events

    @property
    def in_doubt(self) -> bool:
        """Return True if events may be stored that the agent has not applied."""
        return self._in_doubt

    def write(self, events: Sequence[Event]) -> None:
        """Store all of these events, or none of them and raise LedgerError.

        If the server stays out of reach during the commit, `in_doubt` is True afterwards.
        """
        length, link = self._at.last
        rows, inputs = [], []
        for number, event in enumerate(events, length + 1):
            row = to_row(number, event)
            link = chain(link, *row)
            rows.append((*row, link))
            if isinstance(event, Selected | WarmStarted) and event.inputs is not None:
                inputs.append((number, *event.inputs))
        at = self._at
        self._since += len(rows)
        self._at = Position(at.end, (*at.unsent, *rows), (*at.inputs, *inputs))
        if not self._in_group:
            self._flush()
            return
        ids = {event.event_id: event.ticket for event in events if isinstance(event, Selected)}
        self._group_ids |= {name: ticket for name, ticket in ids.items() if name is not None}

    def begin_group(self) -> None:
        """Collect all events until `end_group` in one transaction, which is flushed once."""
        self._in_group = True

    def end_group(self) -> None:
        """Store the events of the group, or none of them and raise LedgerError."""
        try:
            self._flush()
        finally:
            self._in_group = False
            self._group_ids.clear()

    def _flush(self) -> None:
        """Store what is unsent; if it cannot be, forget it."""
        try:
            self._server.insist(self._store)
        except LedgerError:
            if not self._in_doubt:
                self._at = Position(self._at.end)
            raise
        self._at, self._in_doubt = Position(self._at.last), False

    def _store(self, connection: Connection) -> None:
        """Store what is unsent, unless an earlier attempt has."""
        if self._in_doubt and self._is_stored(connection):
            return
        at = self._at
        if not at.unsent:
            return
        fence = (*at.last, self._tables.agent, self._epoch, at.end.events, self._writer)
        self._in_doubt = True
        try:
            held = (_send_few if len(at.unsent) <= FEW else _send_many)(connection, fence, at)
        except Exception as error:
            self._in_doubt = is_lost(connection, error)  # otherwise the server has said no
            raise
        if not held:
            self._in_doubt = False
            self._stop(connection)

    def _is_stored(self, connection: Connection) -> bool:
        """Return True if the commit in doubt took place. From then on it cannot any more."""
        end = self._claim(connection)
        self._in_doubt = False
        return end == self._at.last

    def _claim(self, connection: Connection) -> End:
        """Take a new epoch, so that nothing of the last one is on its way; return the end."""
        values = (self._tables.agent, self._writer)
        with connection.transaction():
            connection.execute(tables.WAIT)
            found = fetch(connection, tables.CLAIM, values)
        if not found:
            self._stop(connection)
        self._epoch, end = found[0][0], End(*found[0][1:])
        if end not in (self._at.end, self._at.last):
            self._stop(connection)
        return end

    def _stop(self, connection: Connection) -> None:
        """Stop for good, and raise the error that says why."""
        found = fetch(connection, tables.STATUS, (self._tables.agent,))
        error = LedgerError(f"{self.path} was removed from the database")
        if found:
            epoch, writer, event, _ = found[0]
            if writer != self._writer and epoch > self._epoch:
                error = LedgerFencedError(
                    f"{self.path} was opened by another agent, which continues it"
                )
            else:
                error = LedgerError(
                    f"{self.path} ends at event {event} on the server, but {self._at.end.events} "
                    "events were acknowledged: the server was restored, or replaced by a replica "
                    "that lacked them. A new Agent continues from what is left, and rejects the "
                    "tickets that were lost"
                )
        self._in_doubt = False
        self._server.close(error)
        raise error

    def reload(self, state: AgentState, learner: Learner) -> AgentState:
        """Return the state after the last event that is stored."""
        end = self._server.insist(self._claim)
        self._at, self._in_doubt = Position(end), False
        return self._restore(state, learner)

    def wrote_since(self, length: int) -> bool:
        """Return True if events that were being written at this length are stored."""
        if not self._in_group:
            self._at = Position(self._server.insist(self._claim))
            self._in_doubt = False
        return self.length > length

    def snapshot_if_due(self, state: AgentState) -> None:
        """Store the state if it is due. If that fails, the events are stored, and it is due
        again after the next one."""
        if self._since >= self._every and not self._in_group:
            with suppress(LedgerError):
                self.snapshot(state)

    def snapshot(self, state: AgentState) -> None:
        """Store the state, so that opening starts from here."""
        end = self._at.end
        self._places = find_places(self._tables, state, self._places, end.events)
        data = pack_snapshot(state, self._places)
        fence = (self._tables.agent, self._epoch, end.events, self._writer)
        stored = (end.events, end.events, chain(end.link, data), data)
        self._server.rows(tables.SNAPSHOT, (*fence, *stored))
        self._since = 0

    # ---- reading

    @property
    def database(self) -> PostgresTables:
        """Return the tables as the agent sees them: in a group with what is not sent yet."""
        unsent = (self._at.unsent, self._at.inputs) if self._in_group else NOTHING
        self._tables.unsent = unsent
        return self._tables

    def outcome(self, ticket: int) -> Outcome:
        """Return how a ticket was settled, and the reward given for it."""
        return read_outcome(self.database, ticket)

    def learned_from(self, ticket: int) -> tuple[Floats, float, int]:
        """Return the features of a settled ticket, the reward in force, and the number of rewards
        that were learned before the first one."""
        return read_learned(self.database, ticket, self.length)

    def ticket_of(self, event_id: str) -> int | None:
        """Return the ticket with this event id; None if there is none."""
        known = self._group_ids.get(event_id)
        if known is None:
            find = f"SELECT ticket FROM {tables.SCHEMA}.events WHERE ledger = %s AND event_id = %s"
            found = self._server.rows(find, (self._tables.agent, event_id))
            known = found[0][0] if found else None
        return known

    def issued(self, ticket: int, plays: int) -> tuple[Decision, str | None]:
        """Return the decision of a ticket as it was made, and its event id."""
        find = f"SELECT {COLUMNS} FROM events WHERE event = ?"
        selected = find_selected(self.database, ticket, self.length)
        return read_issued(Row._make(self.database.rows(find, selected)[0]), plays)

    def erase_inputs(self, tickets: Sequence[int]) -> int:
        """Delete the raw inputs of decisions; return how many there were."""
        events = [find_selected(self.database, ticket, self.length) for ticket in tickets]
        return len(self._server.rows(tables.ERASE, (self._tables.agent, events)))

    # ---- closing

    def close(self, state: AgentState) -> None:
        """Store the state and close the connection."""
        if self._close_server.alive:
            try:
                self.snapshot(state)
            finally:
                self._close_server()

    def drop(self) -> None:
        """Close the connection as it is: the state in memory may differ from the ledger."""
        self._close_server()

    def rename(self, address: Address) -> None:
        """Give the ledger another name in the same database."""
        self._server.rows(tables.RENAME, (address.agent, self._tables.agent))
        self._address, self.path, self._tables.path = address, str(address), str(address)

    def remove(self) -> None:
        """Delete the ledger, if the server can be reached, and close the connection."""
        with suppress(LedgerError), self._server.transaction() as connection:
            for statement in tables.DELETE:
                self._server.execute(connection, statement, (self._tables.agent,))
        self.drop()

    def leak(self) -> None:
        """In a forked child, release everything without a word to the server."""
        self._close_server.detach()
        self._server.leak(FORKED)


def _send_few(connection: Connection, fence: tuple[Any, ...], at: Position) -> bool:
    """Store events by one statement; return False if the fence is not intact."""
    statement = tables.insert_few(inputs=bool(at.inputs))
    raw = tables.to_columns(at.inputs)
    return bool(fetch(connection, statement, (*fence, *raw, *tables.to_columns(at.unsent))))


def _send_many(connection: Connection, fence: tuple[Any, ...], at: Position) -> bool:
    """Store events by a copy in one transaction; return False if the fence is not intact."""
    with connection.transaction():
        found = fetch(connection, tables.FENCE, fence)
        if not found:
            return False
        agent = found[0][0]
        parts = (("events", tables.LINKED, at.unsent), ("inputs", INPUTS, at.inputs))
        for table, columns, rows in parts:
            if rows:
                with connection.cursor().copy(tables.copy_into(table, columns)) as copy:
                    for row in rows:
                        copy.write_row((agent, *row))
    return True
