"""The agents of a service, and how operations reach them."""

import asyncio
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError
from .config import ServiceConfig
from .gate import Reply
from .prepared import Preparer
from .problems import ProblemError
from .routes import Route
from .served import ServedAgent
from .tokens import Signer, load_secret
from .writer import perform

SECRET = "service.secret"
MOST_SLOW = 16  # operations that run next to the writers


def make_folder(folder: Path) -> None:
    """Make the folder of a service, or raise InvalidInputError if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InvalidInputError(
            f"[service] folder {folder} must be a folder that this user may write: {error.strerror}"
        ) from error


class Agents:
    """The agents of this process.

    Parameters
    ----------
    config : ServiceConfig
        The configuration.
    """

    def __init__(self, config: ServiceConfig) -> None:
        folder = Path(config.folder)
        make_folder(folder)
        signer = Signer(load_secret(folder / SECRET))
        self.served: dict[str, ServedAgent] = {}
        try:
            for one in config.agents:
                self.served[one.name] = ServedAgent(one, folder, signer, config.limits)
        except BaseException:
            self.close()
            raise
        self.preparers: Mapping[str, Preparer] = {
            name: served.preparer for name, served in self.served.items()
        }
        self._slow = 0

    def submit(self, agent: str, route: Route, received: Any, reply: Reply) -> None:
        """Perform an operation and pass what comes of it to `reply`, in the event loop."""
        served = self.served[agent]
        operation = getattr(served, route.operation)
        if route.place == "writer" or served.agent.ledger is None:
            return served.submit(operation, received, reply)
        if not served.ready:
            raise ProblemError(503, "the agent is not ready yet")
        if self._slow >= MOST_SLOW:
            raise ProblemError(503, f"{MOST_SLOW} requests of this kind run already; try again")
        self._slow += 1
        loop = asyncio.get_running_loop()

        def answer() -> None:
            found = perform(operation, received)
            with suppress(RuntimeError):  # the service has stopped meanwhile
                loop.call_soon_threadsafe(finish, found)

        def finish(found: Any) -> None:
            self._slow -= 1
            reply(found)

        threading.Thread(target=answer, name=route.operation, daemon=True).start()

    def waiting_for(self) -> str:
        """Return why the service is not ready; nothing if it is."""
        waiting = [name for name, served in self.served.items() if not served.ready]
        return f"not ready: {', '.join(waiting)}" if waiting else ""

    def warm(self) -> None:
        """Make every agent ready."""
        for served in self.served.values():
            served.warm()

    def close(self) -> None:
        """Finish what waits and close the ledgers."""
        for served in self.served.values():
            served.close()
