"""A service with front ends: killed, restarted under load, and equal to one agent."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("msgspec")
pytest.importorskip("uvloop")

from paths import ROOT
from service_process import ACTIONS, ServiceProcess
from service_visitors import Visitor, children_of, compare_states, judge

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def test_nothing_acknowledged_is_lost_when_processes_are_killed():
    command = [sys.executable, str(ROOT / "benchmarks" / "torture.py"), "serve", "--share", "0.006"]
    found = json.loads(subprocess.check_output(command, env=os.environ, timeout=300.0))
    assert found["outcomes"]["nothing lost or doubled"] == found["attempts"] == 6


def test_a_restart_under_load_fails_no_request_and_the_state_equals_one_agent(tmp_path):
    service = ServiceProcess(tmp_path, front_ends=2)
    before = children_of(service.process.pid)
    visitors = [Visitor(service.port, f"v{place}") for place in range(8)]

    async def work():
        stop = asyncio.Event()
        working = [asyncio.create_task(one.work(stop)) for one in visitors]
        service.process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(120.0):
            while set(before) & set(children_of(service.process.pid)):
                await asyncio.sleep(0.05)
        done = [len(one.rewarded) for one in visitors]
        async with asyncio.timeout(60.0):
            while any(len(v.rewarded) <= n for v, n in zip(visitors, done, strict=True)):
                await asyncio.sleep(0.05)
        stop.set()
        await asyncio.gather(*working)

    asyncio.run(work())
    assert sum(one.failed for one in visitors) == 0
    assert service.stop() == 0
    assert judge(tmp_path / "shop.db", visitors) == "nothing lost or doubled"


def test_both_ways_to_serve_answer_alike_and_a_dead_supervisor_takes_all_with_it(tmp_path):
    service = ServiceProcess(tmp_path, front_ends=1)
    assert service.decide(event_id="a") == service.decide(event_id="a")
    assert service.post("reward", {"event_id": "a", "reward": 1.0}).body == {"outcome": "applied"}
    assert service.post("reward", {"event_id": "a", "reward": 2.0}).status == 409
    assert service.post("reward", {"ticket": "x.y", "reward": 2.0}).status == 404
    assert service.post("decide", b"{").status == 400
    items = {"decisions": [{"context": {"city": "Oslo"}, "actions": ACTIONS}, {"actions": {}}]}
    assert service.post("decisions", items).status == 422
    assert service.get("/v1/agents/shop").body["counts"]["decisions"] == 1
    children = children_of(service.process.pid)
    service.kill()
    for child in children:
        wait_for_end(child)
    assert compare_states(tmp_path / "shop.db") == "nothing lost or doubled"


def wait_for_end(pid: int) -> None:
    """Return when a process that is no child of ours has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return

    async def wait() -> None:
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(watched, ended.set)
        async with asyncio.timeout(60.0):
            await ended.wait()

    try:
        asyncio.run(wait())
    finally:
        os.close(watched)
