"""Ledgers: what happened to an agent, in order, so that it can be made again.

A `Ledger` is a SQLite database. An event is on the disk before the agent acts on it (write-ahead
log, synchronous=FULL), and the whole state is kept now and then, so that reopening reads the last
state and repeats the events after it: killed at any moment, the agent comes back bit for bit.
Nothing in the file is believed: a chain of hashes runs through the events, and a head beside the
file says where it ended.
"""

import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError, LedgerError, StateError
from .._utils.files import canonical, sync_folder
from ..agents.events import Event, Kind
from ..agents.state import AgentState, Teacher, carry_out, check_state, install, plan
from ..agents.state_file import pack, restore_encoder, unpack
from ..agents.tickets import Given
from ..core.arrays import Floats
from ..core.part import describe
from .reader import Reports
from .rows import (
    COLUMNS,
    INSERT,
    SNAPSHOT,
    Row,
    about,
    begin,
    chain,
    check_format,
    check_free_pages,
    check_pages,
    damaged,
    differences,
    follow_chain,
    migrate,
    noise_scale_of,
    to_event,
    to_row,
)
from .sqlite import FORKED, Database, End, Head, Statement, check_file, leak_at_fork, room

MARK = "UPDATE about SET value = ? WHERE name = 'open'"


class Ledger(Reports):
    """A ledger in a file, for one agent in one process.

    Parameters
    ----------
    path : the database; made if it is not there, continued if it is this policy's.
    snapshot_every : events between two snapshots, and so the most that reopening repeats.
    """

    def __init__(self, path: str | Path, snapshot_every: int) -> None:
        self.path = Path(path).absolute()
        self._every, self._since = snapshot_every, 0
        self._end = End(0, b"")
        if self.path.is_dir():
            raise LedgerError(f"{self.path} is a folder: a ledger is a file")
        try:
            self._head = Head(self.path)
            try:
                check_file(self.path)
                if not self.path.exists() or self.path.stat().st_size == 0:
                    self._check_new()  # before SQLite finds a log without a database, and ends it
                self.database: Database = Database(self.path)
            except BaseException:
                self._head.discard()
                raise
        except OSError as error:
            where = room(self.path.parent)
            raise LedgerError(f"{self.path}: {error.strerror} ({where})") from error
        self._farewell = weakref.finalize(self, _bid_farewell, self.database, self._head)
        leak_at_fork(self)

    # ---- opening

    def resume(self, state: AgentState, teacher: Teacher) -> AgentState:
        """The state where the ledger ends; a new ledger begins with the one given."""
        try:
            if self.database.rows("SELECT 1 FROM sqlite_master LIMIT 1"):
                check_format(self.database)
                self.database.prepare()
                state = self._continue(state, teacher)
                self.database.write([(MARK, ("1",))])
            else:
                self._check_new()
                self.database.prepare()
                self._begin(state)
            self.database.checkpoint("TRUNCATE")
            self.database.reserve()
            self._head.write(self._end)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            self.drop()
            raise damaged(self.database, str(error)) from error
        except BaseException:
            self.drop()
            raise
        return state

    def _check_new(self) -> None:
        """Refuse to begin where a ledger was: its head is left, and may be all that tells of it."""
        end = self._head.read()
        if end is not None and end.events > 0:
            raise LedgerError(
                f"{self.path} is damaged: it is empty, but {end.events} events were written; to "
                f"begin anew, remove {self.path.name}-head and {self.path.name}-wal as well"
            )

    def _begin(self, state: AgentState) -> None:
        statements, self._end = begin(state.policy, state.encoder)
        self.database.write([*statements, self._snapshot(state)])
        sync_folder(self.path.parent)

    def _continue(self, state: AgentState, teacher: Teacher) -> AgentState:
        migrate(self.database)
        check_pages(self.database)
        check_free_pages(self.database)
        self._check_policy(state.policy)
        state = state._replace(encoder=self._check_encoder(state.encoder))
        seals = dict(self.database.rows("SELECT event, seal FROM states ORDER BY event DESC"))
        self._end, links = follow_chain(self.database, self._head.read(), seals)
        start, state = self._restore(state, seals, links)
        tail = f"SELECT {COLUMNS} FROM events WHERE event > ? ORDER BY event"
        rows = self.database.rows(tail, start)
        self._since = len(rows)
        return self._repeat(state, rows, teacher)

    def _check_policy(self, policy: Any) -> None:
        stored = json.loads(about(self.database, "policy"))
        different = list(differences(stored, json.loads(canonical(describe(policy)))))
        if different:
            raise LedgerError(
                f"{self.path} belongs to another policy: {'; '.join(different)}. "
                "Open it with that policy, or begin a ledger with another name"
            )

    def _check_encoder(self, given: Any) -> Any:
        """The encoder of this ledger."""
        try:
            return restore_encoder(json.loads(about(self.database, "encoder")), given)
        except StateError as error:
            raise LedgerError(f"{self.path}: {error}") from error

    def _restore(
        self, state: AgentState, seals: dict[int, Any], links: dict[int, bytes]
    ) -> tuple[int, AgentState]:
        """The last state that is whole, and the event it was taken after."""
        trouble: Exception | None = None
        for event, seal in seals.items():
            data = self.database.one("SELECT data FROM states WHERE event = ?", event)
            try:
                if seal != chain(links.get(event, b""), data):
                    raise StateError("the snapshot is not the one that was taken here")
                whole = unpack(data, policy=state.policy, encoder=state.encoder)
                return event, whole._replace(limits=state.limits)
            except StateError as error:
                trouble = error
        raise damaged(self.database, "it holds no state that is whole") from trouble

    def _repeat(self, state: AgentState, rows: list[Row], teacher: Teacher) -> AgentState:
        """The state after these events, if each of them can have happened."""
        number = 0
        try:
            for row in rows:
                number = row[0]
                event = to_event(row, state)
                if event.changes is not None:
                    state = install(state, event.changes)
                state = carry_out(state, plan(state, [event]), teacher)
            check_state(state.policy, state.learned)
        except (KeyError, TypeError, ValueError, LedgerError) as error:
            raise damaged(self.database, f"event {number} does not fit: {error}") from error
        return state

    # ---- writing

    @property
    def length(self) -> int:
        """Events so far."""
        return self._end.events

    def write(self, events: Sequence[Event]) -> None:
        """All of these events on the disk, or none of them and a LedgerError."""
        end = self._end
        statements: list[Statement] = []
        for event in events:
            row = to_row(end.events + 1, event)
            end = End(end.events + 1, chain(end.link, *row))
            statements.append((INSERT, (*row, end.link)))
        self.database.write(statements)
        self._end, self._since = end, self._since + len(statements)
        self._head.write(end)

    def wrote_since(self, length: int) -> bool:
        """Whether what was being written at this length, and was interrupted, is on the disk."""
        self.database.roll_back()
        last = "SELECT event, link FROM events ORDER BY event DESC LIMIT 1"
        for found in self.database.rows(last):
            self._end = End(*found)
            self._head.write(self._end)
        return self.length > length

    def snapshot_if_due(self, state: AgentState) -> None:
        """Keep a snapshot if one is due. If that fails, the events are still there: later, then."""
        if self._since >= self._every:
            try:
                self.snapshot(state)
            except LedgerError:
                pass

    def snapshot(self, state: AgentState) -> None:
        """Keep the state, so that reopening starts from here."""
        old = ("DELETE FROM states WHERE event NOT IN (0, ?)", (self.length,))
        self.database.write([self._snapshot(state), old])
        self._since = 0
        self.database.checkpoint("PASSIVE")

    def _snapshot(self, state: AgentState) -> Statement:
        data = pack(state)
        row = (self._end.events, chain(self._end.link, data), data)
        return SNAPSHOT, row

    # ---- reading

    def outcome(self, ticket: int) -> tuple[Kind | None, Given | None]:
        """What became of a ticket, and what was given for it, if anything."""
        found = self.database.rows(
            "SELECT kind, reward, changes FROM events "
            "WHERE ticket = ? AND kind IN ('reward', 'cancel', 'expire')",
            ticket,
        )
        if not found:  # abandoned, or from before a reset
            return None, None
        kind, reward, changes = found[0]
        return Kind(kind), None if reward is None else Given(reward, noise_scale_of(changes))

    def learned_from(self, ticket: int) -> tuple[Floats, float]:
        """The features of a settled ticket, and the reward in force, from which was learned."""
        end = self.database.rows(
            "SELECT event, reward FROM events "
            "WHERE ticket = ? AND kind IN ('reward', 'cancel', 'expire')",
            ticket,
        )
        if not end or end[0][1] is None:
            raise InvalidInputError(f"ticket {ticket} has no reward that could be revised")
        reset = self.database.one("SELECT max(event) FROM events WHERE kind = 'reset'")
        if reset is not None and reset > end[0][0]:
            raise InvalidInputError(
                f"ticket {ticket} had its reward before a reset: it is forgotten"
            )
        last = "SELECT reward FROM events WHERE ticket = ? AND kind = 'revise' ORDER BY event DESC"
        revised = self.database.one(f"{last} LIMIT 1", ticket)
        row = f"SELECT features FROM events WHERE event = {self._asked(ticket)}"
        x = np.frombuffer(self.database.one(row), np.float64)
        return x, end[0][1] if revised is None else revised

    def _asked(self, ticket: int) -> int:
        """The event that issued a ticket, by bisection: tickets are issued in order."""
        low, high = 1, self.length
        first = "SELECT event, ticket FROM events WHERE event >= ? AND kind = 'select' LIMIT 1"
        while low < high:
            middle = (low + high) // 2
            found = self.database.rows(first, middle)
            if found and found[0][1] < ticket:
                low = int(found[0][0]) + 1
            else:
                high = middle
        return int(self.database.rows(first, low)[0][0])

    # ---- letting go

    def close(self, state: AgentState) -> None:
        """Snapshot, and let the file go."""
        if self._farewell.alive:
            try:
                self.snapshot(state)
            finally:
                self._farewell()

    def drop(self) -> None:
        """Let the file go as it is: what is in memory cannot be trusted to be what is in it."""
        self._farewell.detach()
        self.database.close()
        self._head.close()

    def leak(self) -> None:
        """In a forked child: let go of everything without touching it."""
        self._farewell.detach()
        self.database.leak(FORKED)
        self._head.close()


def _bid_farewell(database: Database, head: Head) -> None:
    """Close a ledger in good order, also when its agent is forgotten or the program ends."""
    try:
        database.write([(MARK, ("0",))])
        database.checkpoint("TRUNCATE")
    except LedgerError:
        pass  # all events are there: the next agent finds them
    finally:
        database.close()
        head.close()
