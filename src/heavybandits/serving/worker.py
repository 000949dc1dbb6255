"""A process of a service with front ends: the core with the agents, or one of the front ends.

The supervisor starts it, and passes the configuration over a control socket. When that socket ends,
the supervisor is gone, and the process stops as if it had asked for that.
"""

import asyncio
import logging
import pickle
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError, LedgerError
from ..features import Encoder
from .config import AgentConfig, ServiceConfig
from .construction import encoder_of, open_agent, policy_of
from .core import SECRET, Agents
from .gate import Gate
from .http import HttpServer
from .link import CoreServer, Link, State
from .logs import set_up_logs
from .prepared import Preparer
from .server import STOP_SECONDS, SWITCH_SECONDS, loop_factory, start_admin, warm
from .tokens import Guard, Signer, load_secret

LOGGER = logging.getLogger("heavybandits.serving")
STANDING_BY, READY, GO = b"s", b"r", b"g"
CANNOT_OPEN = 2  # exit status of a core whose agents or ledgers cannot be opened


class Orders(NamedTuple):
    """What the supervisor tells a process: its role, the configuration, and open sockets."""

    role: str  # "core", "standby" or "front end"
    config: ServiceConfig
    listening: int  # file descriptor: of the API for a front end, of the link for the core
    admin: int
    link: str  # path of the Unix socket


def main() -> None:
    """Do what the supervisor orders."""
    control = socket.socket(fileno=int(sys.argv[1]))
    with control.makefile("rb") as file:
        orders: Orders = pickle.load(file)
    set_up_logs()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        if orders.role == "front end":
            work: Any = run_front_end(orders, control)
        else:
            work = run_core(orders, open_agents(orders, control), control)
    except (InvalidInputError, LedgerError) as error:
        LOGGER.error(str(error))
        sys.exit(CANNOT_OPEN)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(work)


# ---- core


def open_agents(orders: Orders, control: socket.socket) -> Agents:
    """Open the agents; a standby compiles first, and waits until the ledgers are free."""
    if orders.role == "standby":
        for one in orders.config.agents:
            warm_copy(one, Path(orders.config.folder))
        control.sendall(STANDING_BY)
        if control.recv(1) != GO:
            sys.exit(0)
    return Agents(orders.config)


def warm_copy(config: AgentConfig, folder: Path) -> None:
    """Compile what an agent needs, without its ledger."""
    encoder = encoder_of(config, folder)
    open_agent(config, encoder, policy_of(config, encoder.dim), None).warm()


async def run_core(orders: Orders, agents: Agents, control: socket.socket) -> None:
    """Answer front ends and the administration until the supervisor says stop."""
    config, stop = orders.config, stop_of(control)
    encoders = {name: one.encoder.to_dict() for name, one in agents.served.items()}
    server = CoreServer(agents, encoders)
    await server.start(socket.socket(fileno=orders.listening))
    pages = start_admin(config, agents, socket.socket(fileno=orders.admin))
    loop = asyncio.get_running_loop()

    def ready() -> None:
        loop.call_soon_threadsafe(server.announce)
        control.send(READY)

    threading.Thread(target=warm, args=(agents, ready), daemon=True).start()
    await stop.wait()
    await server.stop(STOP_SECONDS)
    await pages.stop()
    await asyncio.to_thread(agents.close)


# ---- front end


async def run_front_end(orders: Orders, control: socket.socket) -> None:
    """Answer HTTP requests by the core until the supervisor says stop."""
    config, stop = orders.config, stop_of(control)
    signer, guard = Signer(load_secret(Path(config.folder) / SECRET)), Guard(config.tokens)
    known = asyncio.Event()
    server: HttpServer | None = None
    encoders: dict[str, Any] = {}

    def change(state: State) -> None:
        nonlocal encoders
        if server is not None and state.encoders != encoders:
            server.gate = make_gate(state)
        encoders = state.encoders
        known.set()

    def make_gate(state: State) -> Gate:
        preparers = {
            name: Preparer(name, Encoder.from_dict(given), signer)
            for name, given in state.encoders.items()
        }
        return Gate(preparers, link, guard)

    link = Link(Path(orders.link), config.limits.queue, change)
    tasks = [asyncio.create_task(work()) for work in (link.run, link.expire)]
    first = asyncio.create_task(known.wait())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([first, stopped], return_when=asyncio.FIRST_COMPLETED)
    if not stop.is_set():
        server = HttpServer(make_gate(State(encoders, "")), config.limits)
        await server.start(socket.socket(fileno=orders.listening))
        control.send(READY)
        await stop.wait()
        await server.stop(config.drain, STOP_SECONDS)
    for task in (*tasks, first, stopped):
        task.cancel()


def stop_of(control: socket.socket) -> asyncio.Event:
    """Return an event that SIGTERM sets, and the end of the supervisor."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # the supervisor receives it too
    control.setblocking(False)

    def read() -> None:
        if not control.recv(1):
            loop.remove_reader(control)
            stop.set()

    loop.add_reader(control, read)
    return stop


if __name__ == "__main__":
    main()
