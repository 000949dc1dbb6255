"""The process of a service: two ports, one event loop, an orderly stop."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn

from .app import Application
from .config import LOOPBACK, ServiceConfig
from .logs import set_up_logs
from .served import ServedAgent
from .tokens import Guard, Signer, load_secret

LOGGER = logging.getLogger("heavybandits.serving")
SECRET = "service.secret"
STOP_SECONDS = 20  # in which open requests must end
SWITCH_SECONDS = 0.001  # after which Python lets another thread run


class Service:
    """The agents of a configuration and the applications in front of them.

    Parameters
    ----------
    config : ServiceConfig
        The configuration.
    """

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        config.folder.mkdir(parents=True, exist_ok=True)
        signer = Signer(load_secret(Path(config.folder) / SECRET))
        self.agents = {
            one.name: ServedAgent(one, Path(config.folder), signer, config.limits)
            for one in config.agents
        }
        guard, limits = Guard(config.tokens), config.limits
        self.api = Application(
            self.agents, guard, limits, admin=False, local=config.host in LOOPBACK
        )
        self.admin = Application(
            self.agents, guard, limits, admin=True, local=config.admin_host in LOOPBACK
        )

    def warm(self) -> None:
        """Make every agent ready."""
        for served in self.agents.values():
            served.warm()

    def stop(self) -> None:
        """Report that the service is not ready any more."""
        self.api.stopping = self.admin.stopping = self.admin.live.stopping = True

    def close(self) -> None:
        """Finish what waits and close the ledgers."""
        for served in self.agents.values():
            served.close()


def run(config: ServiceConfig, ready: Callable[[Service], None] | None = None) -> None:
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
    service = Service(config)
    sockets = [bind(config.host, config.port), bind(config.admin_host, config.admin_port)]
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(service, sockets, ready))
    finally:
        service.close()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, also right after another service stopped."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    return made


async def _serve(
    service: Service, sockets: list[socket.socket], ready: Callable[[Service], None] | None
) -> None:
    servers = [
        uvicorn.Server(
            uvicorn.Config(
                application,
                http="httptools",
                lifespan="off",
                access_log=False,
                log_config=None,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                limit_concurrency=service.config.limits.connections,
                timeout_keep_alive=65,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        for application in (service.api, service.admin)
    ]

    def stop() -> None:
        service.stop()
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    for server in servers:
        server.capture_signals = contextlib.nullcontext  # type: ignore[assignment,method-assign]
    threading.Thread(target=_warm, args=(service, ready), daemon=True).start()
    pairs = zip(servers, sockets, strict=True)
    await asyncio.gather(*(server.serve(sockets=[one]) for server, one in pairs))


def _warm(service: Service, ready: Callable[[Service], None] | None) -> None:
    try:
        service.warm()
    except Exception:
        LOGGER.exception("an agent is not ready")
        return
    if ready is not None:
        ready(service)
