"""A connection to a PostgreSQL server: bounded waiting, new connections, errors without secrets.

Every statement is complete in itself or is a part of one transaction: nothing is expected of a
session, so that a pooler may give each transaction another one.
"""

import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from .._utils.errors import LedgerError
from .address import load_driver
from .store import UnreachableError

T = TypeVar("T")
Values = tuple[Any, ...]
Connection = Any  # of psycopg, which is imported only when there is an address

PATIENCE = 5.0  # seconds for which a lost server is looked for before a call fails
CONNECT_SECONDS = 3  # for one connection
CALL_SECONDS = 10.0  # without an answer before a connection counts as lost
PAUSES = 0.02, 0.5  # seconds before the first and the last attempts to connect again
CHUNK = 2000  # rows that are fetched at a time
AWAY = ("08", "57P")  # SQL states of a server that stops, starts or is out of reach
CLOSED = "has been closed by this agent: open a new Agent on it"
READ_ONLY = "25006"  # the server has become a replica


class ServerLostError(Exception):
    """Report a connection that was lost: whether the last statement took effect is not known."""


class Server:
    """One connection to a server, which is opened again when it is lost.

    Parameters
    ----------
    parameters : mapping
        What libpq needs, by its names.
    name : str
        The address without a password, for messages.
    """

    def __init__(self, parameters: Mapping[str, str], name: str) -> None:
        self._parameters = {"connect_timeout": str(CONNECT_SECONDS), **parameters}
        self._name, self._closed = name, False
        self._why: LedgerError | None = None  # why it is closed, if that matters
        self._driver = load_driver()
        self._connection: Connection | None = None
        self._reachable = False  # when a call has failed, the next ones try once
        self._watch = Watch(CALL_SECONDS)
        self._worker: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    # ---- calls

    def insist(self, work: Callable[[Connection], T]) -> T:
        """Do something that may be repeated, on new connections if need be.

        Raises LedgerError if the server rejects it, or stays out of reach.
        """
        end = time.monotonic() + (PATIENCE if self._reachable else 0.0)
        pause, longest = PAUSES
        while True:
            try:
                done = self._attempt(work)
            except ServerLostError as error:
                if time.monotonic() + pause > end:
                    self._reachable = False
                    raise UnreachableError(f"{self._name}: {error}") from error.__cause__
                time.sleep(pause)
                pause = min(2.0 * pause, longest)
            else:
                self._reachable = True
                return done

    def repeat(self, read: Callable[[], T]) -> T:
        """Read several things, all of them again if the connection is lost meanwhile."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return read()
            except UnreachableError:
                if time.monotonic() > end:
                    raise

    def _attempt(self, work: Callable[[Connection], T]) -> T:
        """Do something once."""
        return self._shield(lambda: self._attempt_here(work))

    def _attempt_here(self, work: Callable[[Connection], T]) -> T:
        connection = self._connect()
        try:
            with self._watch.over(connection):
                return work(connection)
        except (self._driver.Error, UnicodeEncodeError) as error:
            if is_lost(connection, error):
                self._disconnect()
                raise ServerLostError(_reason(error)) from error
            raise LedgerError(f"{self._name}: {_reason(error)}") from error

    def _shield(self, work: Callable[[], T]) -> T:
        """Do something that no signal interrupts: Python runs their handlers in the main thread,
        and an exception in the middle of the driver's code would leave its memory in disorder.

        What an interrupted caller has begun ends before anything else is done.
        """
        if threading.current_thread() is not threading.main_thread():
            return work()
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "ledger")
        try:
            running = self._worker.submit(work)
        except RuntimeError:  # the program ends
            return work()
        return running.result()

    def _connect(self) -> Connection:
        if self._closed:
            why = self._why or LedgerError(f"{self._name} {CLOSED}")
            raise type(why)(*why.args)
        if self._connection is None:
            try:
                self._connection = self._driver.connect(
                    **self._parameters, autocommit=True, prepare_threshold=None
                )
            except self._driver.Error as error:
                raise ServerLostError(_reason(error)) from error
        return self._connection

    # ---- reading

    def rows(self, statement: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a statement finds."""
        return self.insist(lambda connection: fetch(connection, statement, values))

    @contextmanager
    def moment(self) -> Iterator[Connection]:
        """All that is read on this connection meanwhile is of one moment."""
        with self.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            yield connection

    @contextmanager
    def transaction(self, begin: str = "BEGIN") -> Iterator[Connection]:
        """Do several things in one transaction, which is not repeated."""
        connection = self.insist(lambda connection: _begin(connection, begin))
        try:
            yield connection
            self.execute(connection, "COMMIT")
        except BaseException:
            with suppress(LedgerError):
                self.execute(connection, "ROLLBACK")
            raise

    def execute(self, connection: Connection, statement: str, values: Values = ()) -> list[Any]:
        """Return the rows that a statement finds, on a connection in a transaction."""
        return self._in_transaction(connection, lambda: fetch(connection, statement, values))

    def run_script(self, connection: Connection, script: str) -> None:
        """Execute several statements, on a connection in a transaction."""
        self._in_transaction(connection, lambda: connection.execute(script))

    def stream(
        self, connection: Connection, statement: str, values: Values
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a statement finds, on a connection in a transaction."""
        name = f"rows_{next(_numbers)}"
        self.execute(connection, f"DECLARE {name} NO SCROLL CURSOR FOR {statement}", values)
        while found := self.execute(connection, f"FETCH {CHUNK} FROM {name}"):
            yield from found
        self.execute(connection, f"CLOSE {name}")

    def _in_transaction(self, connection: Connection, work: Callable[[], T]) -> T:
        """Do something on a connection; if it is lost, the transaction is."""

        def attempt() -> T:
            with self._watch.over(connection):
                return work()

        try:
            return self._shield(attempt)
        except (self._driver.Error, UnicodeEncodeError) as error:
            if is_lost(connection, error):
                self.disconnect()
                raise UnreachableError(f"{self._name}: {_reason(error)}") from error
            raise LedgerError(f"{self._name}: {_reason(error)}") from error

    # ---- closing

    def disconnect(self) -> None:
        """Close the connection; the next call opens another one."""
        self._shield(self._disconnect)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and os.getpid() == self._process:
            with suppress(Exception):
                connection.close()

    def close(self, why: LedgerError | None = None) -> None:
        """Close the connection for good."""
        self._closed, self._why = True, self._why or why
        self.disconnect()
        self._watch.close()
        if self._worker is not None:
            self._worker.shutdown(wait=False)

    def leak(self, why: str) -> None:
        """In a forked child, forget the connection: a word on it would reach the parent's."""
        self._closed, self._why = True, LedgerError(f"{self._name} {why}")
        self._connection, self._worker = None, None
        self._watch = Watch(CALL_SECONDS)


def fetch(connection: Connection, statement: str, values: Values) -> list[tuple[Any, ...]]:
    """Return the rows that a statement finds on a connection."""
    cursor = connection.cursor(binary=True)
    cursor.execute(statement, values)
    return list(cursor.fetchall()) if cursor.description else []


def _begin(connection: Connection, statement: str) -> Connection:
    connection.execute(statement)
    return connection


def is_lost(connection: Connection, error: Exception) -> bool:
    """Return True if an error says that the connection, or its server, is of no use any more."""
    state = getattr(error, "sqlstate", None) or ""
    return bool(connection.closed) or state.startswith(AWAY) or state == READ_ONLY


def _reason(error: BaseException) -> str:
    """Return what the server or libpq says, in one line, without the values of a row."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return " ".join(said.split())[:500] or type(error).__name__


_numbers = itertools.count()  # for the names of cursors


class Watch:
    """Ends connections whose server does not answer, from a thread that starts with the first.

    A network that drops packets, or a stopped process, leaves a connection open without an answer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._due = seconds, 0.0
        self._socket: int | None = None
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, connection: Connection) -> Iterator[None]:
        """Watch a call: when it takes too long, it fails as on a lost connection."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ledger watch", daemon=True)
            self._thread.start()
        with self._lock:
            self._socket, self._due = connection.fileno(), time.monotonic() + self._seconds
        try:
            yield
        finally:
            with self._lock:
                self._socket = None

    def _run(self) -> None:
        while not self._closed.wait(self._seconds / 4.0):
            with self._lock:
                if self._socket is not None and time.monotonic() > self._due:
                    self._cut(self._socket)
                    self._socket = None

    def _cut(self, number: int) -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as other:
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
