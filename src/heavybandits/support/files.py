"""Files that are whole or not there."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

_umask_lock = threading.Lock()


def replace_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make a file beside `path`, flush it to the disk, then put it in place at once.

    Whatever happens in between, `path` holds either what it held before or all of the new.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _umask() -> int:
    with _umask_lock:  # it can only be read by setting it, and two threads would leave it at zero
        mask = os.umask(0)
        os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def free_bytes(path: str | Path) -> int:
    """Bytes free where the path is or would be."""
    path = Path(path).absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def refusal(path: str | Path, error: OSError) -> str:
    """A path that could not be written: which, why, and how much room there is.

    >>> refusal("/proc/none", OSError(28, "No space left on device"))
    'cannot write /proc/none: No space left on device (0 bytes free)'
    """
    return f"cannot write {path}: {error.strerror or error} ({free_bytes(path)} bytes free)"
