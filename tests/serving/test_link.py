"""The link between front ends and the core, over a real Unix socket."""

import asyncio
import socket
from functools import partial
from typing import Any

import pytest

pytest.importorskip("msgspec")

from heavybandits.serving import link as module
from heavybandits.serving.link import FRAME, CoreServer, Frames, Link
from heavybandits.serving.prepared import PreparedReward
from heavybandits.serving.problems import ProblemError
from heavybandits.serving.routes import ROUTES

REWARD = next(route for route in ROUTES if route.operation == "reward")


class FakeCore:
    """A core that answers with the reward it has received, when it is told to."""

    def __init__(self, at_once: bool = True) -> None:
        self.at_once, self.reason = at_once, ""
        self.replies: list[Any] = []

    def submit(self, agent, route, received, reply):
        if received.reward < 0:
            raise ProblemError(422, "reward must not be negative")
        answer = partial(reply, f"{agent} {route.operation} {received.reward}".encode())
        self.replies.append(answer)
        if self.at_once:
            self.replies.pop()()

    def waiting_for(self):
        return self.reason


def run(work, tmp_path):
    """Run `work` with a link, and a function that starts a core on its socket."""

    async def main():
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(tmp_path / "s"))
        listening.listen()

        async def start(core):
            server = CoreServer(core, {"shop": {}})
            await server.start(listening.dup())
            return server

        link = Link(tmp_path / "s", 50, lambda _: None)
        tasks = [asyncio.create_task(one()) for one in (link.run, link.expire)]
        async with asyncio.timeout(20.0):
            await work(link, start)
        for task in tasks:
            task.cancel()
        listening.close()

    asyncio.run(main())


def send(link, value):
    """Return a future of the answer to a reward."""
    future = asyncio.get_running_loop().create_future()
    link.submit("shop", REWARD, PreparedReward(value, "key", None), future.set_result)
    return future


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_are_cut_wherever_the_stream_is(size):
    given = [(number, 200, b"x" * (number % 7)) for number in range(50)]
    stream = b"".join(FRAME.pack(len(text), *rest) + text for *rest, text in given)
    frames, found = Frames(), list[Any]()
    for start in range(0, len(stream), size):
        found += frames.cut(stream[start : start + size])
    assert found == given


def test_requests_wait_for_a_core_and_are_answered(tmp_path):
    async def work(link, start):
        waiting = [send(link, float(n)) for n in range(20)]
        assert link.waiting_for()
        server = await start(FakeCore())
        assert await asyncio.gather(*waiting) == [b"shop reward %.1f" % n for n in range(20)]
        assert link.waiting_for() == ""
        problem = await send(link, -1.0)
        assert (problem.status, problem.detail) == (422, "reward must not be negative")
        await server.stop(5.0)

    run(work, tmp_path)


def test_a_core_that_is_not_ready_gets_nothing_before_it_is(tmp_path):
    async def work(link, start):
        core = FakeCore()
        core.reason = "kernels are cold"
        server = await start(core)
        waiting = send(link, 1.0)
        await asyncio.sleep(0.1)
        assert not waiting.done()
        core.reason = ""
        server.announce()
        assert await waiting == b"shop reward 1.0"
        await server.stop(5.0)

    run(work, tmp_path)


def test_a_core_that_leaves_answers_what_it_has_and_its_successor_the_rest(tmp_path):
    async def work(link, start):
        old = FakeCore(at_once=False)
        server = await start(old)
        early = send(link, 1.0)
        while not old.replies:
            await asyncio.sleep(0.001)
        stopping = asyncio.create_task(server.stop(10.0))
        while not link.waiting_for():
            await asyncio.sleep(0.001)
        late = send(link, 2.0)
        old.replies.pop()()
        assert await early == b"shop reward 1.0"
        await stopping
        new = await start(FakeCore())
        assert await late == b"shop reward 2.0"
        await new.stop(5.0)

    run(work, tmp_path)


def test_a_core_that_is_killed_leaves_503_for_what_was_on_its_way(tmp_path):
    async def work(link, start):
        core = FakeCore(at_once=False)
        server = await start(core)
        lost = send(link, 1.0)
        while not core.replies:
            await asyncio.sleep(0.001)
        server._server.close()
        for connection in tuple(server.connections):
            connection._outlet._transport.abort()
        assert (await lost).status == 503
        assert link.outstanding == 0

    run(work, tmp_path)


def test_too_many_requests_and_too_long_waits_are_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HOLD_SECONDS", 0.1)

    async def work(link, _):
        waiting = [send(link, 1.0) for _ in range(50)]
        with pytest.raises(ProblemError, match="50 requests wait already"):
            send(link, 1.0)
        assert {answer.status for answer in await asyncio.gather(*waiting)} == {503}

    run(work, tmp_path)
