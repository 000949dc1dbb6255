"""HTTP/1.1 on one port: connections that hand complete requests to a gate.

A general server creates a task and a scope of ASGI for each request, which costs more CPU time than
the decision itself. This one parses with httptools and answers in order, nothing else.
"""

import asyncio
import contextlib
import socket
import time
from collections import deque
from typing import Any, cast

import httptools

from .config import Limits
from .gate import Answer, Gate, HttpRequest
from .problems import TITLES, ProblemError

MOST_HEAD = 1 << 16  # bytes of a request line and its headers
MOST_PIPELINED = 32  # requests of one connection that wait for an earlier one
IDLE_SECONDS = 75.0  # of a connection without a request
IDLE_AT_STOP = 0.5  # seconds that an idle connection stays open when the service stops
LINGER_SECONDS = 2.0  # in which a client may read why it was rejected
SWEEP_SECONDS = 0.25  # between two looks at what is too slow
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
READ = {b"authorization": "authorization", b"content-type": "content_type"}
READ |= {b"traceparent": "traceparent"}


class Connection(asyncio.Protocol):
    """One connection: requests are answered one after another, in their order."""

    def __init__(self, server: "HttpServer") -> None:
        self._server = server
        self._most_body = server.limits.body
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[HttpRequest] = deque()
        self._active: HttpRequest | None = None  # being answered
        self._last = False  # no further request is read
        self._paused = self._lingering = False
        self.since = time.monotonic()  # when it fell idle, or the request began to arrive
        self.arriving = False  # part of a request is here
        self._reset()

    def _reset(self) -> None:
        self._url, self._body, self._size = b"", b"", 0
        self._headers: dict[str, bytes] = {}
        self._expects = False

    # ---- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        if not self._server.add(self):
            self._fail(ProblemError(503, "there are too many connections"))

    def connection_lost(self, _: Exception | None) -> None:
        """Close the connection; drop an answer that comes later."""
        self._transport = None
        self._waiting.clear()
        self._server.remove(self)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        if self._last:
            return
        if not self.arriving:
            self.arriving, self.since = True, time.monotonic()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._last = True  # answered as HTTP/1.1
        except httptools.HttpParserError as error:
            self._fail(_cause(error))

    def pause_writing(self) -> None:
        """Read nothing more: the client does not read its answers."""
        self._pause()

    def resume_writing(self) -> None:
        """Read again."""
        self._resume()

    def eof_received(self) -> bool:
        """Answer what has arrived, then close."""
        self._last = True
        return self.busy

    # ---- called by the parser

    def on_url(self, url: bytes) -> None:
        """Receive a part of the request line."""
        self._url += url
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Receive a header."""
        self._count_head(len(name) + len(value))
        lower = name.lower()
        if lower in READ:
            self._headers[READ[lower]] = value
        elif lower == b"expect" and value.lower() == b"100-continue":
            self._expects = True
        elif lower == b"content-length" and int(value) > self._most_body:
            raise self._too_large()

    def on_headers_complete(self) -> None:
        """Ask for the body if the client waits to be asked."""
        if self._expects and not self.busy and self._transport is not None:
            self._transport.write(CONTINUE)

    def _count_head(self, size: int) -> None:
        self._size += size
        if self._size > MOST_HEAD:
            raise ProblemError(431, f"the headers must have at most {MOST_HEAD} bytes")

    def on_body(self, body: bytes) -> None:
        """Receive a part of the body."""
        self._body = self._body + body if self._body else body
        if len(self._body) > self._most_body:
            raise self._too_large()

    def _too_large(self) -> ProblemError:
        return ProblemError(413, f"the body must have at most {self._most_body} bytes")

    def on_message_complete(self) -> None:
        """Answer a complete request, or let it wait for the one before it."""
        method = self._parser.get_method().decode("latin-1")
        path, _, query = self._url.partition(b"?")
        text = path.decode("latin-1")
        request = HttpRequest(method, text, query, self._body, **self._headers)
        if not self._parser.should_keep_alive():
            self._last = True
        self.arriving = False
        self._reset()
        if self._active is not None:
            self._waiting.append(request)
            if len(self._waiting) > MOST_PIPELINED:
                self._pause()
            return
        self._active = request
        self._server.gate.answer(request, self._reply)

    # ---- answering

    @property
    def busy(self) -> bool:
        """Return True if a request waits for its answer."""
        return self._active is not None

    def _reply(self, answer: Answer) -> None:
        """Send an answer, then turn to the next request."""
        transport, request = self._transport, self._active
        if transport is None or request is None:
            return
        closing = (self._last and not self._waiting) or self._server.stopping
        if isinstance(answer, bytes) and not closing and request.method != "HEAD":
            transport.write(OK % (len(answer), answer))
        else:
            transport.write(self._compose(answer, request, closing))
        self._active, self.since = None, time.monotonic()
        if closing:
            transport.close()
        elif self._waiting:
            self._active = self._waiting.popleft()
            if self._paused and not self._waiting:
                self._resume()
            self._server.gate.answer(self._active, self._reply)

    def _compose(self, answer: Answer, request: HttpRequest | None, closing: bool) -> bytes:
        """Return a response with a status and headers of its own."""
        headers = {"content-type": "application/json"}
        status = 200
        if isinstance(answer, ProblemError):
            status = answer.status
            headers = {"content-type": "application/problem+json", **answer.headers}
            answer = self._server.gate.report(answer, request)
        headers["content-length"] = str(len(answer))
        if closing:
            headers["connection"] = "close"
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} {TITLES.get(status, 'OK')}\r\n{lines}\r\n".encode("latin-1")
        return head if request is not None and request.method == "HEAD" else head + answer

    def _fail(self, problem: ProblemError) -> None:
        """Reject what arrives; the answers before it are sent first if there are none to wait for.

        After a request that cannot be read, nothing on the connection can be trusted.
        """
        self._last = True
        if self._transport is not None and not self.busy:
            self._transport.write(self._compose(problem, None, closing=True))
            self._linger()

    def _linger(self) -> None:
        """Send nothing more, and drop what still arrives.

        Closing at once resets the connection while the client sends, and the answer is lost.
        """
        assert self._transport is not None
        self._transport.write_eof()
        self._lingering, self.since = True, time.monotonic()

    def _pause(self) -> None:
        if self._transport is not None and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._transport is not None and self._paused and len(self._waiting) <= MOST_PIPELINED:
            self._paused = False
            self._transport.resume_reading()

    def check_time(self, now: float, seconds: float) -> None:
        """Close the connection if a request arrives too slowly, or none for long."""
        if self.busy:
            return
        if self._lingering:
            if now - self.since > LINGER_SECONDS:
                self.abort()
        elif self.arriving and now - self.since > seconds:
            self._fail(ProblemError(408, "the request did not arrive in time"))
        elif not self.arriving and now - self.since > IDLE_SECONDS:
            self.close()

    def close(self) -> None:
        """Close the connection, unless an answer is on its way: then after it."""
        self._last = True
        if self._transport is not None and not self.busy:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection now."""
        if self._transport is not None:
            self._transport.abort()


def _cause(error: httptools.HttpParserError) -> ProblemError:
    """Return the problem that a callback of the parser raised, or that of the parser itself."""
    cause = error.__context__ or error.__cause__
    return cause if isinstance(cause, ProblemError) else ProblemError(400, "this is not HTTP/1.1")


class HttpServer:
    """The connections of one listening socket.

    Parameters
    ----------
    gate : Gate
        Answers requests.
    limits : Limits
        Limits on requests and connections.
    """

    def __init__(self, gate: Gate, limits: Limits) -> None:
        self.gate, self.limits, self.stopping = gate, limits, False
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[Any] | None = None

    async def start(self, listening: socket.socket) -> None:
        """Accept connections."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), sock=listening, backlog=2048
        )
        self._sweeper = loop.create_task(self._sweep())

    def add(self, connection: Connection) -> bool:
        """Count a connection; return False if there are too many."""
        self._connections.add(connection)
        return len(self._connections) <= self.limits.connections

    def remove(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for connection in tuple(self._connections):
                connection.check_time(now, self.limits.seconds)

    async def stop(self, drain: float, seconds: float) -> None:
        """Report that the service is not ready, accept nothing more, answer the rest, and close.

        A client may just be sending on an idle connection: its answer asks it to close.

        Parameters
        ----------
        drain : float
            Seconds in which a load balancer may notice: everything is still answered.
        seconds : float
            How long answers may take.
        """
        assert self._server is not None
        assert self._sweeper is not None
        self.gate.stopping = True
        await asyncio.sleep(drain)
        self.stopping = True
        self._server.close()
        await self._wait(IDLE_AT_STOP)
        for connection in tuple(self._connections):
            connection.close()
        await self._wait(seconds)
        for connection in tuple(self._connections):
            connection.abort()
        self._sweeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sweeper

    async def _wait(self, seconds: float) -> None:
        """Wait until no connection is left, so long at most."""
        end = time.monotonic() + seconds
        while self._connections and time.monotonic() < end:
            await asyncio.sleep(0.005)
