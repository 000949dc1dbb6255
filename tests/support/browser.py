"""A real headless Chromium, driven over its DevTools pipe: no package needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in one browser; `console` collects errors, warnings and failed requests."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        (read_command, write_command), (read_answer, write_answer) = os.pipe(), os.pipe()

        def connect() -> None:  # in the child: Chromium listens on 3 and answers on 4
            commands, answers = os.dup(read_command), os.dup(write_answer)
            os.dup2(commands, 3)
            os.dup2(answers, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self._process = subprocess.Popen(
            [find_browser() or "chromium", *FLAGS, f"--user-data-dir={self._profile}"],
            close_fds=False,
            preexec_fn=connect,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_command)
        os.close(write_answer)
        self._commands, self._answers = os.fdopen(write_command, "wb"), os.fdopen(read_answer, "rb")
        self._number, self._session, self._rest = 0, None, b""
        self.console: list[str] = []
        self.host = ""  # the address that a page may ask, such as "http://127.0.0.1:8001/"
        self.events: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        made = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = made["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._commands.close()
        self._answers.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self) -> Any:
        while b"\0" not in self._rest:
            data = os.read(self._answers.fileno(), 1 << 16)
            if not data:
                raise RuntimeError("the browser has gone")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(line)
        self._note(answer.get("method", ""), answer.get("params", {}))
        return answer

    def _note(self, method: str, parameters: Any) -> None:
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.console.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.console.append(str(parameters["args"]))
        elif method == "Log.entryAdded":
            self.console.append(str(parameters["entry"]))
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", self.host or "file:")):
                self.console.append(f"asked the network for {url}")

    def show(self, path: Path | str, width: int, height: int = 900, dark: bool = False) -> None:
        """Open a file or an address at a width, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self._receive()

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        made = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in made:
            raise RuntimeError(str(made["exceptionDetails"]))
        return made["result"].get("value")

    def wait(self, script: str, seconds: float = 20.0) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"{script} is not true after {seconds} seconds")
            time.sleep(0.02)

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(made["data"]))
