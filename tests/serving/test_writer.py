"""Writers: nothing is answered before its group is on the disk, and the queue is bounded."""

import asyncio
import threading
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

pytest.importorskip("msgspec")

import heavybandits as hb
from heavybandits.serving.problems import ProblemError
from heavybandits.serving.writer import GroupWriter, InlineWriter


class Disk:
    """A batch that can be held up, and can fail."""

    def __init__(self) -> None:
        self.open, self.flushed, self.fails = threading.Event(), 0, False
        self.open.set()

    @contextmanager
    def batch(self):
        yield
        self.open.wait(20.0)
        if self.fails:
            raise hb.LedgerError("disk full")
        self.flushed += 1


def submit(writer, values):
    """Return the answers to operations that return these values."""

    async def run():
        answers: list[Any] = []
        done = asyncio.Event()

        def reply(answer):
            answers.append(answer)
            if len(answers) == len(values):
                done.set()

        for value in values:
            writer.submit(lambda given: given, value, reply)
        async with asyncio.timeout(20.0):
            await done.wait()
        return answers

    return asyncio.run(run())


def test_a_group_is_flushed_once_and_answered_in_order():
    disk = Disk()
    writer = GroupWriter(disk.batch)
    assert submit(writer, [*range(200)]) == [b"%d" % value for value in range(200)]
    assert (writer.rows, disk.flushed) == (200, writer.commits)
    assert disk.flushed < 200
    writer.close()


def test_nothing_is_answered_before_the_flush():
    async def run():
        disk, answers = Disk(), list[Any]()
        writer = GroupWriter(disk.batch)
        disk.open.clear()
        writer.submit(lambda _: 1, None, answers.append)
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert answers == []
        disk.open.set()
        while not answers:
            await asyncio.sleep(0.001)
        writer.close()

    asyncio.run(run())


def test_a_group_that_cannot_be_written_gets_503_and_the_next_one_works():
    disk = Disk()
    writer = GroupWriter(disk.batch)
    disk.fails = True
    assert {answer.status for answer in submit(writer, [1, 2, 3])} == {503}
    disk.fails = False
    assert submit(writer, [4]) == [b"4"]
    writer.close()


def test_a_full_queue_rejects_at_once():
    async def run():
        disk, answers = Disk(), list[Any]()
        writer = GroupWriter(disk.batch, most_queued=5)
        disk.open.clear()
        submit_one = partial(writer.submit, lambda _: 1, None, answers.append)
        accepted = 1
        submit_one()
        while writer.waiting:  # until the writer has it in its hands
            await asyncio.sleep(0.001)
        for _ in range(5):
            submit_one()
            accepted += 1
        with pytest.raises(ProblemError, match="wait already") as found:
            submit_one()
        assert found.value.headers["retry-after"] == "1"
        disk.open.set()
        while len(answers) < accepted:
            await asyncio.sleep(0.001)
        assert writer.waiting == 0
        writer.close()
        with pytest.raises(ProblemError, match="stops"):
            writer.submit(lambda _: 1, None, answers.append)

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["inline", "group"])
def test_an_operation_that_fails_is_a_problem_of_its_own(kind):
    writer = InlineWriter(lambda _: None) if kind == "inline" else GroupWriter(Disk().batch)

    def fail(number):
        if number == 1:
            raise hb.InvalidInputError("reward must be finite")
        return number

    async def run():
        answers: list[Any] = []
        for number in range(3):
            writer.submit(fail, number, answers.append)
        while len(answers) < 3:
            await asyncio.sleep(0.001)
        return answers

    first, second, third = asyncio.run(run())
    assert (first, second.status, third) == (b"0", 422, b"2")
    writer.close()


def test_a_call_runs_between_groups_and_returns_its_result():
    writer = GroupWriter(Disk().batch)
    assert writer.call(lambda: threading.current_thread().name) == "writer"
    with pytest.raises(ZeroDivisionError):
        writer.call(lambda: 1 // 0)
    writer.close()
