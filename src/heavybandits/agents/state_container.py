"""The container of a state file: one zip with a JSON header, raw arrays and a SHA-256 over all."""

import hashlib
import io
import json
import zipfile
from typing import Any

from ..support.errors import StateError

FORMAT = 1
HEADER = "header.json"


def write_container(text: str, blobs: dict[str, bytes]) -> bytes:
    """The bytes of a file. The same contents give the same bytes."""
    header = json.dumps({"body": text, "sha256": _digest(text, blobs)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo(HEADER), header)  # a ZipInfo carries no date
        for name, blob in blobs.items():
            file.writestr(zipfile.ZipInfo(f"{name}.bin"), blob)
    return buffer.getvalue()


def read_container(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The body and the arrays of a file that is whole."""
    contents = _unzip(data)
    if HEADER not in contents:
        raise StateError("not a state file: it has no header")
    header = _parse(contents.pop(HEADER))
    text = header["body"]
    body = _parse(text)
    if body["format"] != FORMAT:
        raise StateError(
            f"the file has format {body['format']}, this version reads {FORMAT}: "
            "update heavybandits"
        )
    blobs = {name.removesuffix(".bin"): blob for name, blob in contents.items()}
    if header["sha256"] != _digest(text, blobs):
        raise StateError("the state file is damaged: its checksum does not match")
    return body, blobs


def _unzip(data: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            if any(e.compress_type != zipfile.ZIP_STORED for e in entries):
                raise StateError("the state file is compressed; ours never are")
            if sum(e.file_size for e in entries) > len(data):
                raise StateError("the state file claims more data than it holds")
            if len({e.filename for e in entries}) < len(entries):
                raise StateError("the state file holds two entries of one name")
            return {e.filename: file.read(e) for e in entries}
    except StateError:
        raise
    except Exception as error:
        raise StateError(f"not a state file, or a damaged one: {error}") from error


def _parse(text: str | bytes) -> Any:
    def refuse(constant: str) -> None:
        raise StateError(f"the state file holds {constant}, which is no number")

    return json.loads(text, parse_constant=refuse)


def _digest(text: str, blobs: dict[str, bytes]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(blobs):
        digest.update(f"{name}:{len(blobs[name])}:".encode() + blobs[name])
    return digest.hexdigest()
