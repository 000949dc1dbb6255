"""A service with front ends whose processes are killed while clients work."""

import asyncio
import os
import random
import signal
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from service_process import ServiceProcess
from service_visitors import Visitor, children_of, judge

CLIENTS = 32
FRONT_ENDS = 2
PER_SERVICE = 250  # kills before a ledger is judged and the next service begins


def kill_service(attempts: int, seed: int) -> Counter[str]:
    """Kill core and front ends under load; nothing acknowledged may be lost or doubled."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    for first in range(0, attempts, PER_SERVICE):
        kills = min(PER_SERVICE, attempts - first)
        with tempfile.TemporaryDirectory() as folder:
            outcomes += torture(Path(folder), kills, dice)
    return outcomes


def torture(folder: Path, kills: int, dice: random.Random) -> Counter[str]:
    """Kill processes of one service, then compare its ledger with what clients know."""
    service = ServiceProcess(folder, front_ends=FRONT_ENDS)
    try:
        visitors = [Visitor(service.port, f"v{place}") for place in range(CLIENTS)]
        asyncio.run(kill_under_load(service.process.pid, visitors, kills, dice))
        if service.stop() != 0:
            return Counter({"FAULT: the supervisor did not stop well": kills})
    finally:
        service.kill()
    outcome = judge(folder / "shop.db", visitors)
    acknowledged = sum(len(one.decided) + len(one.rewarded) for one in visitors)
    return Counter({outcome: kills, "(acknowledged requests)": acknowledged})


async def kill_under_load(
    supervisor: int, visitors: list[Visitor], kills: int, dice: random.Random
) -> None:
    """Let visitors work while processes are killed, and a little longer."""
    stop = asyncio.Event()
    working = [asyncio.create_task(one.work(stop)) for one in visitors]
    for _ in range(kills):
        await asyncio.sleep(dice.uniform(0.1, 2.5))
        with suppress(ProcessLookupError, IndexError):
            os.kill(dice.choice(children_of(supervisor)), signal.SIGKILL)
    answered = sum(len(one.rewarded) for one in visitors)
    end = time.monotonic() + 60.0
    while sum(len(one.rewarded) for one in visitors) <= answered + CLIENTS:
        if time.monotonic() > end:
            break
        await asyncio.sleep(0.1)
    stop.set()
    await asyncio.gather(*working)
