"""Files: complete or not there, and one container for all kinds.

A container is an uncompressed zip of a JSON header and raw entries, and has exactly one form: the
bytes that `write_container` makes of its contents. Whatever differs, be it a flipped bit, a date,
or something before or after the zip, is rejected. The header says what the file is, its format and
the version that wrote it; a file of another format is rejected.
"""

import errno
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .errors import InvalidInputError
from .version import __version__

HEAD = "-head"  # ending of the file next to a ledger that says where the ledger ends
LEDGER_FILES = (HEAD, "-wal", "-shm", "-journal")  # endings of all files next to a ledger

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor wait for a pipe
_CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)


# ---- what may be written


def check_file(path: str | Path, status: os.stat_result | None = None) -> os.stat_result | None:
    """Return the status of a file, None if there is none; raise InvalidInputError if it is no file.

    >>> check_file("/dev/null")
    Traceback (most recent call last):
    heavybandits.InvalidInputError: /dev/null is a device, and only a file can be written: choose
    another name
    """
    try:
        found = os.lstat(path) if status is None else status
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise InvalidInputError(
            f"{path} is a link to {os.readlink(path)}, and nothing is written through a link: "
            "name that file instead, or remove the link"
        )
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise InvalidInputError(
            f"{path} is {kind}, and only a file can be written: choose another name"
        )
    return found


def check_target(path: str | Path) -> Path:
    """Return the file that a save to `path` creates or replaces.

    Raise InvalidInputError if a link, a folder, a pipe or a device is there, or a file of a ledger.
    A ledger has a head next to it, by which it is known: opening the file would drop the locks of
    its agent.
    """
    path = Path(path)
    target = Path(os.path.realpath(path.parent)) / path.name
    check_file(target)
    for ledger in {str(target), *(str(target).removesuffix(end) for end in LEDGER_FILES)}:
        if os.path.lexists(ledger) and os.path.lexists(f"{ledger}{HEAD}"):
            raise InvalidInputError(
                f"path must not be a file of a ledger, which would be lost, got {path}: "
                "choose another file"
            )
    return target


def check_writable(path: str | Path) -> None:
    """Raise InvalidInputError or OSError if a save to `path` would fail. Nothing changes."""
    target = check_target(path)
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        os.close(os.open(target, os.O_WRONLY | _NO_LINKS))
    else:
        os.unlink(target)


def open_in_place(path: str | Path, mode: int = 0o666) -> int:
    """Open a file that is written in place, such as a lock; return its descriptor.

    The file is created if it is not there. Raise InvalidInputError if it is a link or no file, or
    if the file has a second name (a hard link), under which its contents would change as well.
    """
    check_one_name(path)
    flags = os.O_RDWR | os.O_CREAT | _NO_LINKS | _CLOSED_ON_EXEC
    handle = os.open(path, flags, mode)
    try:
        check_one_name(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_one_name(path: str | Path, status: os.stat_result | None = None) -> None:
    """Raise InvalidInputError unless it is a file with this one name, or nothing."""
    found = check_file(path, status)
    if found is not None and found.st_nlink > 1:
        raise InvalidInputError(
            f"{path} has {found.st_nlink} names (hard links), and writing it would change the file "
            "under all of them: copy it, and use the copy"
        )


# ---- writing at once


def replace_atomically(
    path: str | Path, write: Callable[[Path], object], mode: int = 0o666, lasting: bool = True
) -> None:
    """Let `write` make a file next to `path`, flush it to the disk, then put it in place at once.

    Whatever happens in between, `path` contains either the old content or all of the new, and an
    error means the former. A file that is replaced keeps its mode; a new one gets `mode`, less what
    the process's umask forbids. `check_target` says what is never replaced: nothing is written
    through a link. A file that is not `lasting` is not flushed: it outlives this process, and a
    power cut may leave it incomplete.
    """
    target = check_target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target.parent))
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


def place_new(made: str | Path, target: str | Path) -> None:
    """Give a file that was made in the same file system its name; raise FileExistsError if the
    name is taken: a rename would replace what is there."""
    try:
        os.link(made, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "File exists", str(target)) from None
        os.rename(made, target)
    else:
        os.unlink(made)


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def free_bytes(path: str | Path) -> int:
    """Bytes free where the path is or would be."""
    path = Path(path).absolute()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def write_failure(path: str | Path, error: OSError) -> str:
    """Describe a path that could not be written: which, why, and how much room there is.

    >>> write_failure("/proc/none", OSError(28, "No space left on device"))
    'cannot write /proc/none: No space left on device (0 bytes free)'
    """
    return f"cannot write {path}: {error.strerror or error} ({free_bytes(path)} bytes free)"


# ---- the container

Blobs = Mapping[str, bytes | memoryview]

HEADER = "header.json"
LARGEST = (1 << 32) - 1  # bytes: beyond, a zip needs fields that ours does not have

_LOCAL = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DATE = 0x21  # 1 January 1980: a file must not depend on when it was made
_MODE = 0o644 << 16


class ContainerError(ValueError):
    """A file that is damaged, of another kind or too new; the message is a predicate."""


class Format(NamedTuple):
    """A kind of file: its name, and the number of its format."""

    kind: str
    number: int = 1


def canonical(value: Any) -> str:
    """The one JSON text of a value: keys sorted, no spaces, floats in their shortest exact form.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def jsonable(value: Any, digits: int | None = None) -> Any:
    """Return the value in plain JSON; nan and infinity, for which it has no words, become None.

    NumPy's numbers and arrays become Python's; whatever is left becomes text. With `digits`,
    floats are rounded to as many.

    >>> import numpy as np
    >>> jsonable({"a": (1.5, math.inf), "b": np.arange(2), "c": 1 / 3}, digits=3)
    {'a': [1.5, None], 'b': [0, 1], 'c': 0.333}
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item, digits) for item in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist(), digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value if value is None or isinstance(value, str | int) else str(value)


def write_container(form: Format, body: dict[str, Any], blobs: Blobs) -> bytes:
    """Return the bytes of a file. The same contents give the same bytes.

    >>> data = write_container(Format("note"), {"text": "hello"}, {"one.bin": b"12"})
    >>> body, blobs = read_container(Format("note"), data)
    >>> body["text"], body["format"], bytes(blobs["one.bin"])
    ('hello', 1, b'12')
    """
    stamp = {"kind": form.kind, "format": form.number, "heavybandits": __version__}
    text = canonical(body | stamp)
    header = canonical({"body": text, "sha256": digest(text, blobs)}).encode()
    pieces = list(_pieces({HEADER: header, **blobs}))
    size = sum(map(len, pieces))
    if size > LARGEST:
        raise ContainerError(f"would have {size} bytes; it can have at most {LARGEST}")
    return b"".join(pieces)


def read_container(form: Format, data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the body and the entries of an intact file in the present format."""
    try:
        contents = _split(memoryview(data))
        header = _parse(bytes(contents.pop(HEADER)))
        text = header["body"]
        if header["sha256"] != digest(text, contents):
            raise ContainerError("is damaged: its checksum does not match")
        body = _parse(text)
        _check_format(form, body)
    except ContainerError:
        raise
    except Exception as error:  # a mangled file can fail in any way, and all mean the same
        raise ContainerError(f"is damaged: {error}") from error
    return body, contents


def _check_format(form: Format, body: dict[str, Any]) -> None:
    if body["kind"] != form.kind:
        raise ContainerError(f"is a {body['kind']}, not a {form.kind}")
    if body["format"] != form.number:
        raise ContainerError(too_new(body["format"], form.number, body["heavybandits"]))


def too_new(found: Any, known: int, version: Any) -> str:
    """Return why a file of an unknown format cannot be read.

    >>> too_new(3, 1, "0.4.0")
    'has format 3, written by heavybandits 0.4.0; heavybandits 0.1.0 reads up to format 1'
    """
    return (
        f"has format {found}, written by heavybandits {version}; "
        f"heavybandits {__version__} reads up to format {known}"
    )


def digest(text: str, blobs: Blobs) -> str:
    """SHA-256 over a text and the entries, by name."""
    total = hashlib.sha256(text.encode())
    for name in sorted(blobs):
        total.update(f"{name}:{len(blobs[name])}:".encode())
        total.update(blobs[name])
    return total.hexdigest()


# ---- the zip


def _pieces(contents: Blobs) -> Iterator[bytes | memoryview]:
    """Yield the one zip of these contents, piece by piece."""
    directory, offset = [], 0
    for name, blob in contents.items():
        label, size = name.encode("ascii"), len(blob)
        fields = (20, 0, 0, 0, _DATE, zlib.crc32(blob), size, size, len(label), 0)
        yield _LOCAL.pack(b"PK\3\4", *fields) + label
        yield blob
        directory += [_ENTRY.pack(b"PK\1\2", 0x314, *fields, 0, 0, 0, _MODE, offset), label]
        offset += _LOCAL.size + len(label) + size
    listing, count = b"".join(directory), len(contents)
    yield listing
    yield _END.pack(b"PK\5\6", 0, 0, count, count, len(listing), offset, 0)


def _split(data: memoryview) -> dict[str, bytes | memoryview]:
    """Return the entries of a zip, if it is the one that `_pieces` makes of them."""
    contents: dict[str, bytes | memoryview] = {}
    place = 0
    while bytes(data[place : place + 4]) == b"PK\3\4":
        size, length = _LOCAL.unpack_from(data, place)[8:10]
        start = place + _LOCAL.size + length
        name = bytes(data[start - length : start]).decode("ascii")
        contents[name] = data[start : start + size]
        place = start + size
    place = 0
    for piece in _pieces(contents):
        if data[place : place + len(piece)] != piece:
            raise ContainerError("is damaged, or was not written by heavybandits")
        place += len(piece)
    if place != len(data) or HEADER not in contents:
        raise ContainerError("is damaged: bytes follow its end, or it has no header")
    return contents


def _parse(text: str | bytes) -> Any:
    def reject(constant: str) -> None:
        raise ContainerError(f"contains {constant}, which is no number")

    return json.loads(text, parse_constant=reject)
