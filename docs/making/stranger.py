"""The stranger test: from the landing page to an agent on an own CSV, in under ten minutes.

    python docs/making/stranger.py [out/docs pictures]

It does what the pages say and nothing else, in an environment of its own: builds the wheel,
installs it as "From a CSV to a policy behind a product" does, runs the ten lines of the landing
page, then the code of that page as printed, then what the page makes a stranger type for another
file, with other columns and other dirt. Every step is timed. With the built site and a folder it
also takes pictures of the pages on the way. What a program cannot judge is in stranger.md.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
LIMIT = 600.0  # seconds
SEEN = ("index", "own_csv", "explore", "diagnose_rewards")
# What the stranger types for the own file, from the same page and the features it points to.
OWN = (
    """import csv
import heavybandits as hb
encoder = hb.Encoder.from_data(
    "calls.csv", context_columns=["tenure", "score", "plan", "region"], action="offer",
    interactions="per_action", allow_extra=True,
)
print(encoder)""",
    """log = hb.Log(
    "calls.csv", features=encoder, reward="margin", action="offer",
    propensity="uniform", drop_missing=True,
)
print(hb.diagnose(log))""",
    """policy = hb.auto(dim=encoder.dim)
judged = hb.evaluate(log, policy=policy)
print(judged)""",
    """agent = hb.Agent(policy, encoder=encoder)
with open("calls.csv", encoding="utf-8") as file:
    past = [row for row in csv.DictReader(file) if row["margin"]]
agent.warm_start(past, [float(row["margin"]) for row in past])""",
    """who = {"tenure": 12, "score": None, "plan": "pro", "region": "west"}
ticket = agent.select(context=who, actions={"call": {}, "gift": {}})
print("show", ticket.action)
agent.update(ticket.key, 31.5)
agent.save("calls.state")
encoder.save("calls.json")
assert hb.Agent.load("calls.state").updates == agent.updates""",
)
# Runs blocks of code as a reader pastes them into one session, and tells how long each takes.
SESSION = """import json, sys, time
names = {"__name__": "__main__"}
for code in json.load(open(sys.argv[1], encoding="utf-8")):
    start = time.perf_counter()
    exec(code, names)
    print(f"@ {time.perf_counter() - start:.1f}", flush=True)
"""


def blocks(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def write_own_file(path: Path, rows: int = 3000) -> None:
    """A file with gaps, odd letters, numbers as text, empty rewards, outliers and refunds."""
    rng = np.random.default_rng(7)
    tenure, plan = rng.integers(0, 60, rows), rng.choice(["basic", "größer", "pro"], rows)
    offer = rng.choice(["call", "coupon", "gift"], rows)
    margin = 0.1 * tenure + 6.0 * ((plan == "pro") & (offer == "call")) + rng.pareto(1.5, rows)
    margin[rng.choice(rows, rows // 200, replace=False)] *= -300.0
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "tenure", "score", "plan", "region", "offer", "note", "margin"])
        for i in range(rows):
            score = rng.choice(["", "NA", f"{rng.normal(600, 80):.0f}"], p=[0.05, 0.05, 0.9])
            region = rng.choice(["north", "south", "", "O'Higgins"])
            paid = "" if rng.random() < 0.02 else f"{margin[i]:.2f}"
            table.writerow([f"K-{i}", tenure[i], score, plan[i], region, offer[i], "x,y", paid])


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints; it must not fail."""
    made = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{made.stdout}{made.stderr}")
    return made.stdout


def paste(python: Path, codes: list[str], folder: Path) -> Iterator[float]:
    """Run blocks one after the other in one session; the seconds of each."""
    (folder / "blocks.json").write_text(json.dumps(codes), encoding="utf-8")
    (folder / "session.py").write_text(SESSION)
    said = run(python, "-X", "utf8", "session.py", "blocks.json", folder=folder)
    yield from (float(seconds) for seconds in re.findall(r"^@ ([\d.]+)$", said, re.MULTILINE))


def install(folder: Path) -> Path:
    """The Python of a new environment with the wheel, installed as the page says."""
    page = (DOCS / "own_csv.md").read_text()
    wanted = re.search(r'^\$ pip install "heavybandits(\[\w+\])"$', page, re.MULTILINE)
    if wanted is None:
        raise SystemExit("own_csv.md does not say what to install")
    run(sys.executable, "-m", "venv", "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, folder=folder)
    wheel = next(folder.glob("heavybandits-*.whl"))
    run(python, "-m", "pip", "install", "-q", f"{wheel}{wanted[1]}", folder=folder)
    return python


def steps(folder: Path) -> Iterator[tuple[str, float]]:
    """Every step of the way and the seconds it took."""
    start = time.perf_counter()
    python = install(folder)
    yield "build and install", time.perf_counter() - start
    for page in ("index", "own_csv"):
        for i, seconds in enumerate(paste(python, blocks(DOCS / f"{page}.md"), folder), 1):
            yield f"{page}.md, block {i}", seconds
    write_own_file(folder / "calls.csv")
    for i, seconds in enumerate(paste(python, list(OWN), folder), 1):
        yield f"own file, block {i}", seconds


def take_pictures(site: Path, folder: Path) -> None:
    """What a stranger sees on the way, on a phone and on a desk."""
    from look import open_browser, open_page

    folder.mkdir(parents=True, exist_ok=True)
    with open_browser() as browser:
        for name in SEEN:
            for width in (390, 1200):
                open_page(browser, site / f"{name}.html", width, dark=False)
                browser.picture(folder / f"{name}-{width}.png")


if __name__ == "__main__":
    total = 0.0
    with tempfile.TemporaryDirectory() as place:
        for name, seconds in steps(Path(place)):
            total += seconds
            print(f"{seconds:7.1f} s  {name}", flush=True)
    print(f"{total:7.1f} s  in all, of {LIMIT:.0f}")
    if len(sys.argv) > 2:
        take_pictures(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.exit(total > LIMIT)
