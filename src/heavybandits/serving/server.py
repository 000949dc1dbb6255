"""The process of a service: its agents, one event loop, two ports, an orderly stop."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

import uvicorn

from .._utils.errors import InvalidInputError
from .app import AdminApplication
from .config import LOOPBACK, ServiceConfig
from .core import Agents
from .gate import Gate
from .http import HttpServer
from .logs import set_up_logs
from .tokens import Guard

LOGGER = logging.getLogger("heavybandits.serving")
STOP_SECONDS = 20.0  # in which open requests must end
SWITCH_SECONDS = 0.001  # after which Python lets another thread run

Ready = Callable[[], None]


def run(config: ServiceConfig, ready: Ready | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Parameters
    ----------
    config : ServiceConfig
        The configuration.
    ready : callable, optional
        Called in a thread when all agents are ready.
    """
    set_up_logs()
    sys.setswitchinterval(SWITCH_SECONDS)
    agents = Agents(config)
    try:
        sockets = bind(config.host, config.port), bind(config.admin_host, config.admin_port)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(config, agents, *sockets, ready))
    finally:
        agents.close()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the fastest event loop there is."""
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Return a socket that is bound to an address, also right after another service stopped.

    The kernel distributes connections among the sockets that share an address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise InvalidInputError(
            f"port {port} of {host} cannot be used: {error.strerror}. Stop the other program, or "
            "choose another port"
        ) from error
    return made


async def _serve(
    config: ServiceConfig,
    agents: Agents,
    api: socket.socket,
    admin: socket.socket,
    ready: Ready | None,
) -> None:
    stop, gate = stop_event(), Gate(agents.preparers, agents, Guard(config.tokens))
    http = HttpServer(gate, config.limits)
    await http.start(api)
    pages = start_admin(config, agents, admin)
    threading.Thread(target=warm, args=(agents, ready), daemon=True).start()
    await stop.wait()
    await http.stop(config.drain, STOP_SECONDS)
    await pages.stop()


class AdminServer(NamedTuple):
    """The server of the administration's port, which leaves signals to the process."""

    application: AdminApplication
    server: uvicorn.Server
    serving: "asyncio.Task[None]"

    async def stop(self) -> None:
        """Answer what is on its way, and close."""
        self.application.stop()
        self.server.should_exit = True
        await self.serving


def start_admin(config: ServiceConfig, agents: Agents, listening: socket.socket) -> AdminServer:
    """Serve page, metrics and every operation on a socket."""
    guard, local = Guard(config.tokens), config.admin_host in LOOPBACK
    gate = Gate(agents.preparers, agents, guard, admin=True)
    application = AdminApplication(agents.served, gate, guard, config.limits, local=local)
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            http="httptools",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=config.limits.connections,
            timeout_graceful_shutdown=int(STOP_SECONDS),
        )
    )
    server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    return AdminServer(application, server, serving)


def stop_event() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def warm(agents: Agents, ready: Ready | None) -> None:
    """Make the agents ready, and say so."""
    try:
        agents.warm()
    except Exception:
        LOGGER.exception("an agent is not ready")
        return
    if ready is not None:
        ready()
