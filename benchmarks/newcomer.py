"""A newcomer's first five minutes: from `pip install` and a CSV file to a page that moves.

    python benchmarks/newcomer.py [--wheel WHEEL] [--out out/newcomer]

Makes a fresh environment, installs the wheel with the extra `serve`, and follows docs/serve.md: it
runs the command of the page on a CSV file, sends the curl command that the service prints, reports
a reward, and looks at the live page in Chromium. Prints how long each step took; writes pictures.
"""

import argparse
import csv
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from browser import Browser, find_browser  # noqa: E402
from serve import cpu_seconds  # noqa: E402
from service_process import free_port  # noqa: E402

RATES = {"Oslo": {"tea": 0.5, "figs": 0.1}, "Rome": {"tea": 0.1, "figs": 0.5}}
LIMIT = 300.0  # seconds that the page promises


@contextmanager
def timed(step: str, pids: Sequence[int] = ()) -> Iterator[None]:
    """Print how long a step takes, and the CPU time of programs that ended and of these processes.

    On a machine that does nothing else both times are close.
    """
    start, used = time.monotonic(), cpu_of_children(pids)
    yield
    wall, cpu = time.monotonic() - start, cpu_of_children(pids) - used
    print(f"{wall:6.1f} s  ({cpu:5.1f} s of CPU time)  {step}", flush=True)


def cpu_of_children(pids: Sequence[int]) -> float:
    """Return the CPU time of programs that have ended, and of processes that run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(cpu_seconds(pid) for pid in pids)


def write_log(path: Path, rows: int = 3000) -> None:
    """Write a log of decisions at random, with revenue that has a heavy tail."""
    rng = random.Random(0)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["city", "product", "revenue"])
        for _ in range(rows):
            city, product = rng.choice(list(RATES)), rng.choice(["tea", "figs"])
            sold = rng.random() < RATES[city][product]
            table.writerow([city, product, round(sold * 4.0 * rng.paretovariate(1.8), 2)])


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    return next(folder.glob("heavybandits-*.whl"))


def install(folder: Path, wheel: Path) -> Path:
    """Make an environment with the wheel and return its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    subprocess.run([programs / "pip", "install", "-q", f"{wheel}[serve]"], check=True)
    return programs


def read_commands() -> list[str]:
    """Return the commands of docs/serve.md, in their order."""
    text = (ROOT / "docs" / "serve.md").read_text().replace("\\\n", "")
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


def follow(programs: Path, folder: Path, ports: tuple[int, int], out: Path) -> None:
    """Do what the page says."""
    _, serve, decide, reward, *_ = read_commands()
    write_log(folder / "orders.csv")
    command = [*shlex.split(serve), "--port", str(ports[0]), "--admin-port", str(ports[1])]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    process = subprocess.Popen(
        [str(programs / command[0]), *command[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with timed("heavybandits serve --csv: fit, diagnose, learn, compile, ready", [process.pid]):
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("try "):
                break
    print("".join(lines))
    try:
        with timed("first decision, as the service prints it"):
            made = run_curl(lines[-1].removeprefix("try").strip())
        print(made)
        with timed("decision and reward, as the page writes them"):
            for text in (decide, reward):
                print(run_curl(text.replace(":8000", f":{ports[0]}")))
        look(f"http://127.0.0.1:{ports[1]}/", lines[-1].removeprefix("try").strip(), out)
    finally:
        process.terminate()
        process.wait(30.0)


def run_curl(command: str) -> dict[str, object]:
    """Run a curl command and return the JSON that it prints."""
    found: dict[str, object] = json.loads(subprocess.check_output(shlex.split(command)))
    return found


def look(url: str, decide: str, out: Path) -> None:
    """Take pictures of the page, and check that it moves when a decision is made."""
    if find_browser() is None:
        print("no Chromium here: no pictures")
        return
    out.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        browser.host = url
        for width, dark in ((1200, False), (390, True)):
            browser.show(url, width, dark=dark)
            browser.wait("document.getElementById('status').className === 'live'")
            text = "document.getElementById('agent-decisions').textContent"
            before = browser.run(text)
            with timed(f"the page moves at {width} pixels"):
                run_curl(decide)
                browser.wait(f"{text} !== {json.dumps(before)}")
            browser.picture(out / f"page-{width}.png")
        assert browser.console == [], browser.console


def main() -> None:
    """Follow the page in a fresh environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="a wheel; built from this checkout if left out")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "newcomer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        wheel = given.wheel or build_wheel(folder)
        start = time.monotonic()
        with timed("pip install"):
            programs = install(folder / "environment", wheel)
        follow(programs, folder, (free_port(), free_port()), given.out)
        total = time.monotonic() - start
        print(
            f"{total:6.1f} s  altogether: {'within' if total <= LIMIT else 'more than'} 5 minutes"
        )


if __name__ == "__main__":
    main()
