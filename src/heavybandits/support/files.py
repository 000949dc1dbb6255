"""Files that are whole or not there."""

import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from .errors import InvalidInput

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link to itself",
}


def check_target(path: str | Path) -> Path:
    """The file that a save to `path` replaces: what a link points to, if it is a file or nothing.

    >>> check_target("/dev/null")
    Traceback (most recent call last):
    heavybandits.support.errors.InvalidInput: /dev/null is a device, and only a file can be replaced
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise InvalidInput(f"{path} is {kind}, and only a file can be replaced")
    return target


def replace_atomically(
    path: str | Path, write: Callable[[Path], object], mode: int = 0o666, lasting: bool = True
) -> None:
    """Let `write` make a file beside `path`, flush it to the disk, then put it in place at once.

    Whatever happens in between, `path` holds either what it held before or all of the new, and an
    error means the former. A file that is replaced keeps its mode; a new one gets `mode`, less what
    the process's umask forbids. Links are followed: what they point to is replaced. A file that is
    not `lasting` is not flushed: it outlives this process, and a power cut may leave it cut short.
    """
    target = check_target(path)
    before = _mode(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    handle = os.open(temporary, flags, mode if before is None else 0o600)
    try:
        os.close(handle)
        write(temporary)
        if lasting:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        if before is not None:
            temporary.chmod(stat.S_IMODE(before))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if lasting:
        sync_folder(target.parent)


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


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
    try:
        os.close(handle)
    except OSError:
        pass


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
