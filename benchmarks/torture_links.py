"""Links, folders, pipes and foreign files in place of every file of ours: none is harmed."""

import io
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import Any

import heavybandits as hb
import ledger_victim as victim
from heavybandits._utils.errors import CellError
from heavybandits.core.cache import write_checked
from heavybandits.features import Encoder, Number
from heavybandits.ledger.repair import examine, export, repair
from heavybandits.sweeps import Cell, run_cells

PRECIOUS = b"precious " * 20
PATIENCE = 20  # seconds until a call counts as one that hangs
NOBODY = 65534  # read-only folders do not stop the superuser
ERRORS = (hb.LedgerError, hb.InvalidInputError, hb.SweepError, CellError, OSError)
ENDINGS = ("", "-head", "-wal", "-shm", "-journal")

Write = Callable[[Path], object]


# ---- what is written


def _decide(path: Path) -> None:
    with hb.Agent(victim.make_policy(1), ledger=path) as agent:
        agent.update(agent.select(victim.arms_of(0, 1)), 1.0)


def _read(path: Path) -> None:
    with hb.LedgerReader(path) as reader:
        reader.history()


def _rebuild(path: Path) -> None:
    hb.Agent.rebuild(path.with_name("source.db"), output=path).close()


LEDGER: dict[str, Write] = {
    "agent": _decide,
    "reader": _read,
    "check": examine,
    "rebuild": hb.Agent.rebuild,
    "rebuild output": _rebuild,
    "repair output": lambda path: repair(path.with_name("source.db"), path),
}
ENCODER = Encoder(action_columns=[Number("price")])
CELL = Cell("builtins:dict", {"number": 1})
FAILING = Cell("sweep_functions:raises", {"number": 1})
SINGLE: dict[str, Write] = {  # files with a name that the user gives
    "state file": lambda path: hb.Agent(victim.make_policy(1)).save(path),
    "encoder file": ENCODER.save,
    "export": lambda path: export(path.with_name("source.db"), path.with_suffix(".csv")),
    "kernel": lambda path: write_checked(path, b"key", b"machine code"),
}


def _sweep(cell: Cell) -> Write:
    def write(path: Path) -> None:
        folder = next(place for place in path.parents if place.name == "store")
        outcome = run_cells([cell], folder, backend="sequential", retries=1, progress=False)
        if outcome.failed and cell is CELL:
            raise hb.SweepError(outcome.failed[0][1])

    return write


STORE: dict[str, tuple[str, Cell]] = {  # files of a sweep, below its folder
    "sweep lock": (".lock", CELL),
    "sweep cell": (f"cells/{CELL.key}.npz", CELL),
    "sweep timing": (f"timings/{CELL.key}.json", CELL),
    "sweep failure": (f"failed/{FAILING.key}.json", FAILING),
}


def _targets() -> dict[str, tuple[Write, str]]:
    """Every write by its name, and the file that is in its way."""
    found = {
        f"{name} {ending or 'ledger'}": (write, f"agent.db{ending}")
        for name, write in LEDGER.items()
        for ending in ENDINGS
    }
    found |= {name: (write, "file.csv") for name, write in SINGLE.items()}
    found |= {name: (_sweep(cell), f"store/{place}") for name, (place, cell) in STORE.items()}
    return found


# ---- what is in the way


def _folder_of(path: Path) -> Path:
    return next(place for place in path.parents if (place / "decoy").exists())


def _hard_link(path: Path) -> None:
    os.link(_folder_of(path) / "decoy", path)


def _link_to_folder(path: Path) -> None:
    path.symlink_to(_folder_of(path) / "decoys")


def _socket(path: Path) -> None:
    os.mknod(path, 0o600 | 0o140000)


OBSTACLES: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(_folder_of(path) / "decoy"),
    "dangling link": lambda path: path.symlink_to(_folder_of(path) / "nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
    "link to a folder": _link_to_folder,
    "hard link": _hard_link,
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": _socket,
    "foreign file": lambda path: path.write_bytes(PRECIOUS),
    "read-only folder": lambda path: path.parent.chmod(0o555),
}
REPLACED = {*SINGLE, "sweep cell", "sweep timing", "sweep failure"}  # at once, and by their names


def lay_links(attempts: int, seed: int) -> Counter[str]:
    """Every file of ours with everything in its way; nothing else changes, or an error says so."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    pairs = [(target, obstacle) for target in _targets() for obstacle in OBSTACLES]
    dice.shuffle(pairs)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        _decide(Path(folder) / "source.db")
        for number in range(attempts):
            target, obstacle = pairs[number % len(pairs)]
            place = Path(folder) / "attempt"
            _prepare(place, Path(folder) / "source.db", make=number // len(pairs) % 2 == 0)
            outcome = _attempt(place, target, obstacle)
            start = "FAULT: " if outcome.startswith("FAULT") else ""
            outcomes[f"{start}{obstacle}: {outcome.removeprefix('FAULT: ')}"] += 1
    return outcomes


def _prepare(place: Path, source: Path, make: bool) -> None:
    """A new folder with decoys, and with the files of ours already there or not."""
    if place.exists():
        for folder, _, _ in os.walk(place):
            os.chmod(folder, 0o755)
        shutil.rmtree(place)
    (place / "decoys").mkdir(parents=True)
    (place / "decoy").write_bytes(PRECIOUS)
    (place / "decoys" / "decoy").write_bytes(PRECIOUS)
    for name in ("source.db", "agent.db") if make else ("source.db",):
        for ending in ("", "-head"):
            shutil.copy(f"{source}{ending}", place / f"{name}{ending}")
    for name in ("cells", "timings", "failed"):
        (place / "store" / name).mkdir(parents=True)


def _attempt(place: Path, target: str, obstacle: str) -> str:
    write, name = _targets()[target]
    path = place / name
    if obstacle != "read-only folder":
        with suppress(FileNotFoundError):
            path.unlink()
    OBSTACLES[obstacle](path)
    before = _look(place)
    outcome = "written"
    try:
        nobody = _as_nobody(place) if obstacle == "read-only folder" else nullcontext()
        with _limited(), redirect_stderr(io.StringIO()), nobody:
            write(place / "agent.db" if target.partition(" ")[0] in LEDGER_NAMES else path)
    except ERRORS:
        outcome = "an error"
    except Exception as error:
        return f"FAULT: {target}: {type(error).__name__}: {error}"
    after = _look(place)
    kept = {found for found in before | after if found.startswith(("decoy", "source", "nowhere"))}
    changed = [found for found in sorted(kept) if after.get(found) != before.get(found)]
    if changed:
        return f"FAULT: {target}: {outcome}, and {', '.join(changed)} changed"
    if after.get(name) != before.get(name) and not _may_replace(target, obstacle):
        return f"FAULT: {target}: {outcome}, and the {obstacle} in its place changed"
    return outcome


LEDGER_NAMES = {name.partition(" ")[0] for name in LEDGER}


def _may_replace(target: str, obstacle: str) -> bool:
    """A save replaces a file by the given name, and nothing else."""
    return obstacle == "read-only folder" or (
        target in REPLACED and obstacle in ("hard link", "foreign file")
    )


def _look(place: Path) -> dict[str, Any]:
    """Everything in a folder: links as links, files by their contents, others by their kind."""
    found: dict[str, Any] = {}
    for folder, folders, names in os.walk(place):
        for name in (*folders, *names):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if path.is_symlink():
                content: Any = os.readlink(path)
            else:
                content = path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(place))] = mode, content
    return found


@contextmanager
def _limited() -> Iterator[None]:
    """Raise RuntimeError if a call hangs, as one does that waits for a pipe."""

    def end(*_: object) -> None:
        raise RuntimeError("it hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _as_nobody(place: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    for folder, _, names in os.walk(place):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
