"""Clients of a service that repeat what was not acknowledged, and what its ledger must say then."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import heavybandits as hb
from heavybandits.agents.state import kept
from heavybandits.serving.config import read_config
from heavybandits.serving.construction import encoder_of, open_agent, policy_of
from service_process import ACTIONS

WAIT = 0.02  # seconds before a client tries again
LONGEST = 20.0  # seconds of one attempt
EVENTS = """SELECT kind, ticket, reward, action, propensity, expected, width, context, actions
FROM events LEFT JOIN inputs USING (event) ORDER BY event"""


class Visitor:
    """A client that decides and reports rewards, and repeats what was not acknowledged."""

    def __init__(self, port: int, name: str) -> None:
        self._port, self._name = port, name
        self.decided: dict[str, str] = {}
        self.rewarded: dict[str, float] = {}
        self.failed = 0  # attempts without an acknowledgement
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def work(self, stop: asyncio.Event) -> None:
        """Visit until `stop` is set, then hang up."""
        await self._visit(stop)
        if self._stream is not None:
            self._stream[1].close()
            await self._stream[1].wait_closed()

    async def _visit(self, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            event, reward = f"{self._name}-{number}", float(number % 7)
            context = {"context": {"city": "Oslo"}, "actions": ACTIONS, "event_id": event}
            made = await self._insist("decide", context, stop)
            if made is None:
                return
            self.decided[event] = made["action"]
            if await self._insist("reward", {"event_id": event, "reward": reward}, stop):
                self.rewarded[event] = reward
            number += 1

    async def _insist(self, operation: str, body: Any, stop: asyncio.Event) -> Any:
        """Repeat a request until it is acknowledged; None if the time is up."""
        while not stop.is_set():
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError, ValueError):
                async with asyncio.timeout(LONGEST):
                    status, found = await self._post(operation, body)
                if status == 200:
                    return found
                assert status in (503, 408), (status, found)
            self.failed += 1
            await asyncio.sleep(WAIT)
        return None

    async def _post(self, operation: str, body: Any) -> tuple[int, Any]:
        if self._stream is None:
            self._stream = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._stream
        self._stream = None  # unless the answer is complete
        data = json.dumps(body).encode()
        head = f"POST /v1/agents/shop/{operation} HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(lines.partition("content-length:")[2].split()[0])
            found = json.loads(await reader.readexactly(length))
        except BaseException:
            writer.close()
            raise
        if "connection: close" in lines:
            writer.close()
        else:
            self._stream = reader, writer
        return int(lines.split()[1]), found


def children_of(pid: int) -> list[int]:
    """Return the processes that a supervisor has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def judge(path: Path, visitors: list[Visitor]) -> str:
    """Compare the ledger with what was acknowledged, and the state with its events."""
    decided = {key: value for one in visitors for key, value in one.decided.items()}
    rewarded = {key: value for one in visitors for key, value in one.rewarded.items()}
    with hb.LedgerReader(path) as reader:
        rows = reader.database.rows("SELECT event_id, action, reward FROM plays")
    found = {event: (action, reward) for event, action, reward in rows}
    lost = [event for event in decided if found.get(event, ("",))[0] != decided[event]]
    lost += [event for event in rewarded if found.get(event, ("", None))[1] != rewarded[event]]
    if lost:
        return f"FAULT: {len(lost)} acknowledged requests lost"
    doubled = len(rows) - len(found)
    unknown = len(set(found) - {f"{one}" for one in decided})
    if doubled or unknown > len(visitors):  # the last decision of a client may miss its answer
        return f"FAULT: {doubled} decisions doubled, {unknown} that nobody has made"
    return compare_states(path)


def compare_states(path: Path) -> str:
    """Compare the agent with one that receives the events of the ledger in order.

    Its choices, their propensities and what it has learned must be bit-for-bit the same.
    """
    config = read_config(path.parent / "shop.toml").agents[0]
    encoder = encoder_of(config, path.parent)
    policy = policy_of(config, encoder.dim)
    twin = open_agent(config, encoder, policy, None)
    with open_agent(config, encoder, policy, str(path)) as agent:
        assert agent.ledger is not None
        for kind, ticket, reward, *chosen, context, actions in agent.ledger.database.rows(EVENTS):
            if kind == "select":
                made = twin.select(context=json.loads(context), actions=json.loads(actions))
                if [made.action, made.propensity, made.expected, made.width] != chosen:
                    return f"FAULT: ticket {ticket} cannot be recomputed"
            else:
                twin.update(ticket, reward)
        ours, theirs = (kept(one.state.learned) for one in (agent, twin))
    same = all(array.tobytes() == theirs[name].tobytes() for name, array in ours.items())
    return "nothing lost or doubled" if same else "FAULT: the state differs from its events"
