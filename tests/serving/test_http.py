"""The HTTP server: real sockets in front of a gate that answers at once, or when the test says."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("httptools")

from heavybandits.serving.config import Limits
from heavybandits.serving.gate import HttpRequest, Reply
from heavybandits.serving.http import HttpServer
from heavybandits.serving.problems import ProblemError

POST = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"


class SlowGate:
    """Keeps requests, and answers each with its own body when it is asked to."""

    def __init__(self, at_once: bool = True) -> None:
        self.at_once, self.stopping = at_once, False
        self.waiting: list[tuple[HttpRequest, Reply]] = []

    def answer(self, request: HttpRequest, reply: Reply) -> None:
        self.waiting.append((request, reply))
        if self.at_once:
            self.go()

    def go(self) -> None:
        request, reply = self.waiting.pop(0)
        reply(request.body or request.path.encode())

    def report(self, problem: ProblemError, _: HttpRequest | None) -> bytes:
        return problem.detail.encode()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def serve(gate: Any, work: Callable[[Any, Any], Awaitable[None]], **limits: Any) -> None:
    """Run `work` with a function that connects to a server, and the server."""

    async def run() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = HttpServer(gate, Limits(**limits))
        await server.start(listening)
        opened: list[asyncio.StreamWriter] = []

        async def connect() -> Streams:
            streams = await asyncio.open_connection("127.0.0.1", port)
            opened.append(streams[1])
            return streams

        async with asyncio.timeout(20.0):
            await work(connect, server)
            for writer in opened:
                writer.close()
            if not server.stopping:
                await server.stop(0.0, 0.0)

    asyncio.run(run())


async def read_one(reader: asyncio.StreamReader) -> tuple[int, str, bytes]:
    """Return status, headers and body of a response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.lower().partition("content-length:")[2].split()[0])
    return int(head.split()[1]), head.lower(), await reader.readexactly(length)


def test_requests_on_one_connection_are_answered_in_order():
    gate = SlowGate(at_once=False)

    async def work(connect, _):
        reader, writer = await connect()
        writer.write(b"".join(POST % (2, b"%02d" % n) for n in range(40)))
        for number in range(40):
            while not gate.waiting:
                await asyncio.sleep(0)
            assert len(gate.waiting) == 1  # the next one waits for its turn
            gate.go()
            assert (await read_one(reader))[2] == b"%02d" % number

    serve(gate, work)


def test_a_request_may_come_byte_by_byte_and_in_chunks():
    async def work(connect, _):
        reader, writer = await connect()
        chunked = b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        for byte in chunked + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await read_one(reader))[2] == b"abcde"

    serve(SlowGate(), work)


def test_expect_continue_and_head_and_close():
    async def work(connect, _):
        reader, writer = await connect()
        writer.write(b"POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n")
        writer.write(b"Content-Length: 2\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"ok")
        assert (await read_one(reader))[2] == b"ok"
        writer.write(b"HEAD /path HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        rest = (await reader.read()).decode()
        assert rest.endswith("\r\n\r\n")
        assert "content-length: 5" in rest
        assert "connection: close" in rest

    serve(SlowGate(), work)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 431),
        (POST % (101, b""), 413),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n66\r\n" + b"a" * 102, 413),
        (POST % (50, b"a"), 408),
    ],
)
def test_what_cannot_be_read_is_rejected_and_the_connection_closed(data, status):
    async def work(connect, _):
        reader, writer = await connect()
        writer.write(data)
        found = await read_one(reader)
        assert found[0] == status, found
        assert "connection: close" in found[1]
        assert await reader.read() == b""
        other = await connect()
        other[1].write(POST % (2, b"ok"))
        assert (await read_one(other[0]))[2] == b"ok"

    serve(SlowGate(), work, body=100, seconds=0.3)


def test_connections_beyond_the_limit_are_rejected():
    async def work(connect, _):
        kept = [await connect() for _ in range(3)]
        for _, writer in kept:
            writer.write(POST % (1, b"a"))
        for reader, _ in kept:
            assert (await read_one(reader))[0] == 200
        reader, _ = await connect()
        assert (await read_one(reader))[0] == 503

    serve(SlowGate(), work, connections=3)


def test_a_client_that_leaves_does_not_stop_the_server():
    gate = SlowGate(at_once=False)

    async def work(connect, _):
        _, writer = await connect()
        writer.write(POST % (1, b"a"))
        while not gate.waiting:
            await asyncio.sleep(0)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        gate.go()  # to nobody
        gate.at_once = True
        reader, writer = await connect()
        writer.write(POST % (1, b"b"))
        assert (await read_one(reader))[2] == b"b"

    serve(gate, work)


def test_a_stop_answers_what_is_on_its_way_and_what_comes_on_open_connections():
    gate = SlowGate(at_once=False)

    async def work(connect, server):
        busy, idle = await connect(), await connect()
        busy[1].write(POST % (1, b"a"))
        while not gate.waiting:
            await asyncio.sleep(0)
        stopping = asyncio.create_task(server.stop(0.0, 5.0))
        while not server.stopping:
            await asyncio.sleep(0)
        assert gate.stopping
        idle[1].write(POST % (1, b"b"))
        while len(gate.waiting) < 2:
            await asyncio.sleep(0)
        gate.go()
        gate.go()
        for reader, body in ((busy[0], b"a"), (idle[0], b"b")):
            found = await read_one(reader)
            assert found[2] == body
            assert "connection: close" in found[1]
        await stopping
        with pytest.raises(OSError):
            await connect()

    serve(gate, work)


def test_a_client_that_still_sends_reads_why_it_is_rejected():
    async def work(connect, _):
        reader, writer = await connect()
        writer.write(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 40000000\r\n\r\n")
        for _ in range(40):  # more than the buffers of the sockets take
            writer.write(b"x" * 1_000_000)
            await writer.drain()
        assert (await reader.read()).startswith(b"HTTP/1.1 413")

    serve(SlowGate(), work, body=1000)
