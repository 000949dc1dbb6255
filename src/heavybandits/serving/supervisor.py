"""The supervisor of a service with front ends: it binds the ports, starts processes and replaces
those that end.

Every front end has a listening socket of its own on the one port, and the core has the Unix socket
of the link. The supervisor keeps all of them open, so that no client is rejected while a process is
replaced: SIGHUP replaces all processes, one after another, without a failed request.
"""

import asyncio
import contextlib
import logging
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from .._utils.errors import InvalidInputError
from .config import ServiceConfig
from .logs import set_up_logs
from .server import STOP_SECONDS, bind
from .worker import CANNOT_OPEN, GO, READY, STANDING_BY, Orders

LOGGER = logging.getLogger("heavybandits.serving")
SHORT_LIFE = 5.0  # seconds: a process that ends earlier is replaced after a pause
LONGEST_PAUSE = 5.0
POLL_SECONDS = 0.02  # between two looks at a process
BACKLOG = 2048  # connections that wait to be accepted
START_SECONDS = 600.0  # in which a process must be ready: it may have to compile


class Worker:
    """A process and the control socket to it."""

    def __init__(self, orders: Orders, files: Iterable[socket.socket]) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "heavybandits.serving.worker", str(theirs.fileno())]
        passed = (theirs.fileno(), *(one.fileno() for one in files))
        self.process = subprocess.Popen(command, pass_fds=passed)
        theirs.close()
        ours.sendall(pickle.dumps(orders))
        ours.setblocking(False)
        self._control, self.start = ours, time.monotonic()

    async def expect(self, word: bytes) -> bool:
        """Wait for a word of the process; return False if it ends instead."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(START_SECONDS):
                return await loop.sock_recv(self._control, 1) == word
        return False

    async def go(self) -> None:
        """Let a process that waits open the ledgers."""
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(self._control, GO)

    async def ended(self) -> int:
        """Wait for the end of the process, and return its status."""
        while (status := self.process.poll()) is None:
            await asyncio.sleep(POLL_SECONDS)
        self._control.close()
        return status

    async def stop(self) -> None:
        """Ask the process to stop, and wait until it has."""
        self.process.terminate()
        try:
            async with asyncio.timeout(2.0 * STOP_SECONDS):
                await self.ended()
        except TimeoutError:
            self.process.kill()
            await self.ended()


class Slot:
    """A place for one process: when the process ends, another one takes its place."""

    def __init__(self, name: str, make: Callable[[bool], Worker]) -> None:
        self.name, self._make = name, make
        self.worker = make(False)
        self._pause, self._stopping = 0.0, False
        self.replacing = asyncio.Lock()

    async def keep(self) -> None:
        """Replace the process whenever it ends."""
        while not self._stopping:
            worker = self.worker
            status = await worker.ended()
            async with self.replacing:
                if worker is not self.worker or self._stopping:
                    continue
                LOGGER.error(f"{self.name} ended with status {status}: another one starts")
                short = time.monotonic() - worker.start < SHORT_LIFE
                self._pause = min(max(2.0 * self._pause, 0.1), LONGEST_PAUSE) if short else 0.0
                await asyncio.sleep(self._pause)
                self.worker = self._make(False)

    async def replace(self, standby: bool) -> None:
        """Start another process, and stop the one before it when the new one is up."""
        async with self.replacing:
            old, new = self.worker, self._make(standby)
            if not await new.expect(STANDING_BY if standby else READY):
                LOGGER.error(f"the new process for {self.name} did not start: the old one stays")
                await new.stop()
                return
            self.worker = new
            await old.stop()
            if standby:
                await new.go()
                await new.expect(READY)

    async def stop(self) -> None:
        """Stop the process for good."""
        self._stopping = True
        async with self.replacing:
            await self.worker.stop()


def supervise(
    read: Callable[[], ServiceConfig], front_ends: int, ready: Callable[[], None] | None = None
) -> None:
    """Serve with front ends until SIGTERM or SIGINT; SIGHUP replaces all processes.

    Parameters
    ----------
    read : callable
        Returns the configuration; a restart reads it again.
    front_ends : int
        Number of front ends.
    ready : callable, optional
        Called when the service is ready.
    """
    set_up_logs()
    with tempfile.TemporaryDirectory(prefix="heavybandits-") as folder:
        supervisor = Supervisor(read, front_ends, Path(folder) / "core")
        asyncio.run(supervisor.run(ready))
    if supervisor.failed:
        raise InvalidInputError("the service did not start: the line above says why")


class Supervisor:
    """The processes of a service, and the sockets that they share.

    Parameters
    ----------
    read : callable
        Returns the configuration.
    front_ends : int
        Number of front ends.
    link : Path
        The Unix socket between front ends and core.
    """

    def __init__(self, read: Callable[[], ServiceConfig], front_ends: int, link: Path) -> None:
        self._read, self._config, self._path = read, read(), str(link)
        config, self.failed = self._config, False
        self._link = socket.socket(socket.AF_UNIX)
        self._link.bind(self._path)
        self._admin = bind(config.admin_host, config.admin_port)
        self._apis = [bind(config.host, config.port, shared=True) for _ in range(front_ends)]
        for one in (self._link, self._admin, *self._apis):
            one.listen(BACKLOG)

    async def run(self, ready: Callable[[], None] | None) -> None:
        """Keep all processes running until SIGTERM or SIGINT."""
        stop, restart = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, restart.set)
        core = Slot("the core", self._start_core)
        fronts = [
            Slot(f"front end {number}", partial(self._start_front_end, api))
            for number, api in enumerate(self._apis)
        ]
        tasks = [asyncio.create_task(one.keep()) for one in (core, *fronts)]
        tasks.append(asyncio.create_task(self._begin(stop, core, fronts, ready)))
        tasks.append(asyncio.create_task(self._restart(restart, core, fronts)))
        await stop.wait()
        await asyncio.gather(*(one.stop() for one in fronts))
        await core.stop()
        for task in tasks:
            task.cancel()

    def _start_core(self, standby: bool) -> Worker:
        role, files = "standby" if standby else "core", (self._link, self._admin)
        numbers = self._link.fileno(), self._admin.fileno()
        return Worker(Orders(role, self._config, numbers[0], numbers[1], self._path), files)

    def _start_front_end(self, api: socket.socket, _: bool) -> Worker:
        orders = Orders("front end", self._config, api.fileno(), -1, self._path)
        return Worker(orders, (api,))

    async def _begin(
        self,
        stop: asyncio.Event,
        core: Slot,
        fronts: list[Slot],
        ready: Callable[[], None] | None,
    ) -> None:
        """Wait until the service is ready; stop it if its first core cannot open the agents."""
        first = core.worker
        if not await first.expect(READY):
            self.failed = await first.ended() == CANNOT_OPEN
            if self.failed:
                stop.set()
            return
        up = [await one.worker.expect(READY) for one in fronts]
        if all(up) and ready is not None:
            ready()

    async def _restart(self, restart: asyncio.Event, core: Slot, fronts: list[Slot]) -> None:
        """Replace all processes whenever it is asked for."""
        while True:
            await restart.wait()
            restart.clear()
            try:
                self._config = self._read()
            except Exception:
                LOGGER.exception("the configuration cannot be read: the old one stays")
                continue
            await core.replace(standby=True)
            for front in fronts:
                await front.replace(standby=False)
            LOGGER.info("restarted")
