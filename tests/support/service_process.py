"""A real service in a process of its own, and plain requests to it."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ACTIONS: dict[str, dict[str, float]] = {"tea": {}, "figs": {}, "honey": {}}
SHOP = """
[service]
port = {port}
admin_port = {admin}
{head}
[agents.shop]
policy = "linucb"
epsilon = 0.2
ledger = "shop.db"
{agent}
[agents.shop.parameters]
radius = 1.0
[agents.shop.encoder]
actions = ["tea", "figs", "honey"]
[[agents.shop.encoder.context]]
type = "category"
name = "city"
categories = ["Oslo", "Rome"]
[agents.memory]
policy = "linucb"
[agents.memory.parameters]
radius = 1.0
[agents.memory.encoder]
actions = ["tea", "figs", "honey"]
"""


class Answer(NamedTuple):
    """Status, headers and JSON of a response."""

    status: int
    headers: dict[str, str]
    body: Any


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class ServiceProcess:
    """`heavybandits serve shop.toml` on loopback ports that were free."""

    def __init__(
        self, folder: Path, head: str = "", agent: str = "", more: str = "", front_ends: int = 0
    ) -> None:
        self.front_ends = front_ends
        self.folder, self.port, self.admin = folder, free_port(), free_port()
        text = SHOP.format(port=self.port, admin=self.admin, head=head, agent=agent)
        (folder / "shop.toml").write_text(text + more)
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "heavybandits", "serve", str(self.folder / "shop.toml")]
        command += ["--front-ends", str(self.front_ends)]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
        self.wait(self.folder / "log.txt")

    def wait(self, log: Path) -> None:
        """Wait until all agents are ready; they may have to compile first."""
        end = time.monotonic() + 300.0
        while time.monotonic() < end:
            assert self.process.poll() is None, log.read_text()
            try:
                if self.get("/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError("the service is not ready: " + log.read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30.0)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        admin: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        port = self.admin if admin else self.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100.0)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        sent = {"Content-Type": "application/json"} | (headers or {})
        try:
            with suppress(BrokenPipeError):  # the service answered before it had read everything
                connection.request(method, path, data, sent)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        kind = response.headers.get("Content-Type", "")
        found = json.loads(text) if "json" in kind else text.decode()
        return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, found)

    def get(self, path: str, *, admin: bool = False) -> Answer:
        return self.request("GET", path, admin=admin)

    def post(self, operation: str, body: Any, *, agent: str = "shop", **more: Any) -> Answer:
        return self.request("POST", f"/v1/agents/{agent}/{operation}", body, **more)

    def decide(self, **more: Any) -> Any:
        answer = self.post("decide", {"context": {"city": "Oslo"}, "actions": ACTIONS} | more)
        assert answer.status == 200, answer
        return answer.body
