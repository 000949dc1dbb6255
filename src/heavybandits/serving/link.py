"""The link between front ends and the core: frames over a Unix socket.

A front end sends prepared requests, the core sends answers, in any order. Frames that come up
together are sent together. The core also says which agents it has, whether they are ready, and
when it is about to leave: then a front end sends what comes next to its successor.
"""

import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from .gate import Answer, Core, Reply
from .problems import ProblemError, problem_of
from .routes import ROUTES, Route

FRAME = struct.Struct("<IIH")  # bytes of the content, number of the request, and a code
STATE, LEAVING = 0, 1  # codes of what the core says of itself, with number 0
OK = 200
HOLD_SECONDS = 15.0  # that a request waits for a core to be ready
RETRY_SECONDS = 0.05  # between two attempts to connect

PUBLIC = tuple(route for route in ROUTES if not route.admin)
encode = msgspec.msgpack.Encoder().encode


class Frame(NamedTuple):
    """A message: the number of the request, a code and the content."""

    number: int
    code: int
    content: bytes


class Frames:
    """Cuts a stream of bytes into frames.

    >>> frames = Frames()
    >>> list(frames.cut(FRAME.pack(2, 7, 200) + b"{"))
    []
    >>> list(frames.cut(b"}"))
    [Frame(number=7, code=200, content=b'{}')]
    """

    def __init__(self) -> None:
        self._rest = b""

    def cut(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete."""
        data, start = self._rest + data if self._rest else data, 0
        while len(data) - start >= FRAME.size:
            size, number, code = FRAME.unpack_from(data, start)
            end = start + FRAME.size + size
            if end > len(data):
                break
            yield Frame(number, code, data[start + FRAME.size : end])
            start = end
        self._rest = data[start:]


class Outlet:
    """Sends what comes up in one turn of the event loop together."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._frames = transport, list[bytes]()
        self._loop = asyncio.get_running_loop()

    def send(self, number: int, code: int, content: bytes) -> None:
        """Send a frame."""
        if not self._frames:
            self._loop.call_soon(self._flush)
        self._frames += (FRAME.pack(len(content), number, code), content)

    def _flush(self) -> None:
        frames, self._frames = self._frames, []
        if not self._transport.is_closing():
            self._transport.write(b"".join(frames))


class State(msgspec.Struct):
    """What the core says of itself: the encoders of its agents, and why it is not ready."""

    encoders: dict[str, dict[str, Any]]
    waiting_for: str


# ---- in the core


class CoreServer:
    """Answers front ends.

    Parameters
    ----------
    core : Core
        Performs the operations.
    encoders : mapping
        The encoders of the agents as dictionaries, by the name of the agent.
    """

    def __init__(self, core: Core, encoders: Mapping[str, dict[str, Any]]) -> None:
        self.core, self._encoders = core, dict(encoders)
        self.targets = [
            (name, route, msgspec.msgpack.Decoder(route.received or Any).decode)
            for name in encoders
            for route in PUBLIC
        ]
        self.connections: set[CoreConnection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, listening: Any) -> None:
        """Accept front ends."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: CoreConnection(self), sock=listening)

    def state(self) -> bytes:
        """Return what the core says of itself."""
        return encode(State(self._encoders, self.core.waiting_for()))

    def announce(self) -> None:
        """Tell all front ends the state of the core."""
        for connection in self.connections:
            connection.tell(STATE, self.state())

    async def stop(self, seconds: float) -> None:
        """Ask the front ends to leave, and answer what they have sent."""
        assert self._server is not None
        self._server.close()
        for connection in self.connections:
            connection.tell(LEAVING, b"")
        end = time.monotonic() + seconds
        while self.connections and time.monotonic() < end:
            await asyncio.sleep(0.002)


class CoreConnection(asyncio.Protocol):
    """The core's side of a link to one front end."""

    def __init__(self, server: CoreServer) -> None:
        self._server, self._frames = server, Frames()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say which agents there are."""
        self._outlet = Outlet(cast(asyncio.Transport, transport))
        self._server.connections.add(self)
        self.tell(STATE, self._server.state())

    def connection_lost(self, _: Exception | None) -> None:
        """Close the connection; drop answers that come later."""
        self._server.connections.discard(self)

    def tell(self, code: int, content: bytes) -> None:
        """Send something about the core itself."""
        self._outlet.send(0, code, content)

    def data_received(self, data: bytes) -> None:
        """Perform the operations that have arrived."""
        for frame in self._frames.cut(data):
            reply = partial(self._reply, frame.number)
            try:
                name, route, decode = self._server.targets[frame.code]
                self._server.core.submit(name, route, decode(frame.content), reply)
            except Exception as error:
                reply(problem_of(error))

    def _reply(self, number: int, answer: Answer) -> None:
        if isinstance(answer, bytes):
            self._outlet.send(number, OK, answer)
        else:
            self._outlet.send(number, answer.status, answer.detail.encode())


# ---- in a front end


class Held(NamedTuple):
    """A request that waits for a core that is ready."""

    until: float
    agent: str
    route: Route
    content: bytes
    reply: Reply


class Link:
    """A front end's link to the core, whichever process that is.

    Parameters
    ----------
    path : Path
        The Unix socket.
    most : int
        Requests that may wait for their answers; one more gets 503.
    changed : callable
        Called with the state of a core when it is new.
    """

    def __init__(self, path: Path, most: int, changed: Callable[[State], None]) -> None:
        self._path, self._most, self._changed = path, most, changed
        self._held: deque[Held] = deque()
        self._current: LinkConnection | None = None
        self.outstanding = 0
        self._codes: dict[tuple[str, Route], int] = {}
        self._wanted = asyncio.Event()
        self._wanted.set()

    async def run(self) -> None:
        """Stay connected to a core, for as long as the front end runs."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wanted.wait()
            try:
                await loop.create_unix_connection(lambda: LinkConnection(self), str(self._path))
                self._wanted.clear()
            except OSError:
                await asyncio.sleep(RETRY_SECONDS)

    async def expire(self) -> None:
        """Reject what has waited too long, again and again."""
        while True:
            await asyncio.sleep(0.25)
            while self._held and self._held[0].until < time.monotonic():
                self._held.popleft().reply(ProblemError(503, "the core is not ready; try again"))

    def waiting_for(self) -> str:
        """Return why the service is not ready; nothing if it is."""
        return "the core is not connected" if self._current is None else ""

    def submit(self, agent: str, route: Route, received: Any, reply: Reply) -> None:
        """Send a request to the core; it waits while no core is ready."""
        if self.outstanding + len(self._held) >= self._most:
            raise ProblemError(503, f"{self._most} requests wait already; try again")
        content = encode(received)
        if self._current is None:
            until = time.monotonic() + HOLD_SECONDS
            self._held.append(Held(until, agent, route, content, reply))
        else:
            self._current.ask(self._codes[agent, route], content, reply)

    def use(self, connection: "LinkConnection", state: State) -> None:
        """Send requests to this core from now on, if it is ready."""
        names = [(name, route) for name in state.encoders for route in PUBLIC]
        self._codes = {key: code for code, key in enumerate(names)}
        self._changed(state)
        if state.waiting_for:
            return
        self._current = connection
        while self._held:
            one = self._held.popleft()
            code = self._codes.get((one.agent, one.route))
            if code is None:
                one.reply(ProblemError(404, f"there is no agent {one.agent} any more"))
            else:
                connection.ask(code, one.content, one.reply)

    def leave(self, connection: "LinkConnection") -> None:
        """Use this core no more, and look for another one."""
        if self._current in (None, connection):
            self._current = None
            self._wanted.set()


class LinkConnection(asyncio.Protocol):
    """A front end's side of a link to one core."""

    def __init__(self, link: Link) -> None:
        self._link, self._frames = link, Frames()
        self._replies: dict[int, Reply] = {}
        self._number, self._leaving = 0, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; the core speaks first."""
        self._transport = cast(asyncio.Transport, transport)
        self._outlet = Outlet(self._transport)

    def connection_lost(self, _: Exception | None) -> None:
        """Reject what was not answered: it may have been recorded, or not."""
        if not self._leaving:
            self._link.leave(self)
        replies, self._replies = self._replies, {}
        self._link.outstanding -= len(replies)
        for reply in replies.values():
            reply(ProblemError(503, "the core has stopped; send it again with the same event_id"))

    def ask(self, code: int, content: bytes, reply: Reply) -> None:
        """Send a request."""
        self._number = self._number % 0xFFFFFFFF + 1
        self._replies[self._number] = reply
        self._link.outstanding += 1
        self._outlet.send(self._number, code, content)

    def data_received(self, data: bytes) -> None:
        """Pass on the answers that have arrived."""
        for number, code, content in self._frames.cut(data):
            if number:
                reply = self._replies.pop(number)
                self._link.outstanding -= 1
                reply(content if code == OK else ProblemError(code, content.decode()))
            elif code == STATE:
                self._link.use(self, msgspec.msgpack.decode(content, type=State))
            else:
                self._leaving = True
                self._link.leave(self)
        if self._leaving and not self._replies:
            self._transport.close()
