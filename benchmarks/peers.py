"""Other libraries on the same work, each in its own process, in an environment of their own."""

import math
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import agent
import heavybandits as hb
from measuring import ARMS, DIM, HERE, Outcome, Row, best_of, child, crtm, say, taker

PART = "Peers"
ENVIRONMENT = HERE.parent / ".venv-peers"
SCRIPTS = {
    "coba": "coba_linucb.py",
    "river": "river_linucb.py",
    "mabwiser": "mabwiser_linucb.py",
    "contextualbandits": "contextualbandits_linucb.py",
    "bayesianbandits": "bayesianbandits_agent.py",
    "vowpalwabbit": "vowpalwabbit_adf.py",
}


def interpreter(environment: Path = ENVIRONMENT) -> Path:
    """Python of the peers' environment, which is made if it is not there."""
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = environment / folder / "python"
    if not python.exists():
        say(f"  making {environment}")
        venv.create(environment, with_pip=True)
        (environment / ".gitignore").write_text("*\n")
    return python


def install(python: Path, package: str, *options: str) -> str:
    """Install a peer from the package index unless it is there; what went wrong, or nothing."""
    name = package.partition("==")[0]
    there = [str(python), "-c", f"import importlib.metadata as m; m.version({name!r})"]
    if subprocess.run(there, capture_output=True, check=False).returncode == 0:
        return ""
    say(f"  installing {package}")
    command = [str(python), "-m", "pip", "install", "-q", *options, package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = done.stderr.strip().splitlines() or ["no message"]
    return "" if done.returncode == 0 else f"not installed: {words[-1][:100]}"


def run_peer(python: Path, package: str, budget: float) -> dict[str, Any]:
    """What a peer's script prints, or why there is nothing."""
    trouble = install(python, "numpy") or install(python, package)  # not every peer brings numpy
    if trouble:
        return {"trouble": trouble}
    try:
        found: dict[str, Any] = child(
            [str(python), str(HERE / "peers" / SCRIPTS[package]), str(budget)]
        )
    except RuntimeError as error:
        return {"trouble": str(error)}
    return found


def rows_of(package: str, found: dict[str, Any]) -> list[Row]:
    if "trouble" in found:
        return [Row(PART, package, math.nan, "us a round", note=found["trouble"])]
    name, note = f"{package} {found['version']}", f"{found['what']}; {found['rounds']} rounds"
    rows = [Row(PART, name, found["microseconds"], "us a round", note=note)]
    if "whole_run" in found:
        rows.append(
            Row(PART, f"{name}, whole run", found["whole_run"], "us a round", note="Experiment")
        )
    return rows


def measure(folder: Path, quick: bool) -> Outcome:
    python = interpreter()
    found = {name: run_peer(python, name, 0.3 if quick else 8.0) for name in SCRIPTS}
    ours = agent.fastest(quick)
    horizon = 2_000 if quick else 100_000
    run = taker(crtm(horizon), hb.arms.PerRound(ARMS, DIM), horizon)
    whole = best_of(2 if quick else 5, {"run": run})["run"]
    rows = [row for name in SCRIPTS for row in rows_of(name, found[name])]
    rows += [Row(PART, f"heavybandits Agent, {n}", t, "us a round") for n, t in ours.items()]
    rows.append(Row(PART, "heavybandits simulate, CRTM, fresh arms", whole, "us a round"))
    times = {name: f["microseconds"] for name, f in found.items() if "microseconds" in f}
    if times:
        first = min(times, key=lambda name: times[name])
        what = f"the fastest peer ({first}) over Agent, CRTM"
        rows.append(Row(PART, what, times[first] / ours["CRTM"], "x", least=5.0))
        note = "the peer's loop alone, without arms and noise"
        what = f"the fastest peer ({first}) over simulate, CRTM"
        rows.append(Row(PART, what, times[first] / whole, "x", note=note))
    if "whole_run" in found["coba"]:
        ratio = found["coba"]["whole_run"] / whole
        rows.append(Row(PART, "coba's Experiment over simulate, CRTM", ratio, "x"))
    return Outcome(rows, [])
