"""What a worker does: compute one cell, store it at once, say how it went."""

import copy
import ctypes
import os
import platform
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from typing import Any

from .._utils.errors import InvalidInputError, PartError
from .._utils.files import refusal
from .._utils.progress import tell_compiling
from .cell import Cell, resolve, stamp
from .store import cell_path, write_cell

# HALTED: nothing more can be computed here, so that the whole sweep must stop.
DONE, RAISED, CRASHED, HALTED = "done", "raised", "crashed", "halted"

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Report:
    """How a cell went; the result itself is on the disk."""

    status: str
    text: str = ""

    @classmethod
    def halted(cls, text: str) -> "Report":
        return cls(HALTED, text)


def compute(cell: Cell, folder: str) -> Report:
    """Compute a cell and store it. Nothing but the death of the process escapes from here."""
    stale = other_sources(cell)
    if stale:
        return Report(HALTED, stale)
    started = time.thread_time()
    try:
        result = dict(resolve(cell.function)(**copy.deepcopy(cell.settings)))
    except PartError as error:
        return Report(RAISED, f"{error.details}\n{in_one_line(str(error))}")
    except (Exception, SystemExit) as error:
        only = in_one_line("".join(traceback.format_exception_only(error)))
        return Report(RAISED, f"{traceback.format_exc()}{only}")
    return store(cell, folder, result, time.thread_time() - started)


def in_one_line(text: str) -> str:
    """A message as the last line of a report, which is the one that is shown.

    >>> in_one_line("Mine.clean, line 7: it makes an array\\n  write instead: sorted(...)")
    'Mine.clean, line 7: it makes an array; write instead: sorted(...)'
    """
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())


def store(cell: Cell, folder: str, result: dict[str, Any], seconds: float) -> Report:
    """Store the result of a cell."""
    try:
        write_cell(folder, cell, result, cpu_seconds=seconds, machine=machine())
    except OSError as error:
        return Report(HALTED, refusal(cell_path(folder, cell), error))
    except Exception:
        return Report(RAISED, traceback.format_exc())
    return Report(DONE)


def other_sources(cell: Cell) -> str:
    """Why what this process would compute is not what the key of the cell says, if it is not."""
    try:
        here = stamp(cell.function, cell.settings)
    except InvalidInputError:
        return ""  # not to be found here: that the call itself will say
    if here.sources != cell.sources:
        return (
            f"{cell.name}: this worker has other sources than the process that asks: they were "
            "edited in between (start again), or differ between machines"
        )
    if here.doubtful is not None:
        return (
            f"{cell.name}: {here.doubtful} was written after this process had started, which may "
            "run an older version of it: start again, or compute in new processes (loky)"
        )
    return ""


def machine() -> dict[str, str]:
    """Where a cell was computed; kept with its timings."""
    return {"host": platform.node(), "system": platform.platform(), "python": sys.version}


# ---- no worker outlives the run


def attach(parent: int) -> None:
    """Called in a fresh worker: die with the process that started it, leave Ctrl-C to that one."""
    tell_compiling(told=True)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not _die_with_parent():
        threading.Thread(target=watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def _die_with_parent() -> bool:
    """Ask the kernel to kill this process when its parent dies; only Linux can."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def watch(parent: int, every: float = 1.0) -> None:
    """Check on the parent from time to time, and leave when it is gone."""
    while os.getppid() == parent:
        time.sleep(every)
    os._exit(1)
