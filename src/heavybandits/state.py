"""State files: an agent in one zip of plain arrays and a JSON header. No pickle, nothing that runs.

Everything is checked before it is believed: sizes against the file, names and shapes against what
the policy itself makes, numbers for being finite, all of it against a SHA-256. Parts are built from
a list of classes that the program knows; a file cannot add to it.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import arms, estimators, filters, links, policies, radii
from .files import replace_atomically
from .parts import cast, is_part
from .regions import Region

if TYPE_CHECKING:
    from .agent import Agent

FORMAT = 1
LARGEST_FILE = 4 << 30
HEADER = "header.json"


class StateError(ValueError):
    """A state file that is damaged, foreign, too new or not to be trusted."""


# ---- parts as JSON


def known_parts() -> dict[str, type]:
    """The parts of the library by name."""
    modules = (arms, estimators, filters, links, policies, radii)
    return {
        name: item
        for module in modules
        for name, item in vars(module).items()
        if isinstance(item, type) and issubclass(item, tuple) and hasattr(item, "_fields")
    }


def classes_of(part: Any) -> set[type]:
    """The classes of a part and of the parts in it."""
    if not is_part(part):
        return set()
    return {type(part)}.union(*(classes_of(field) for field in part))


def describe(value: Any) -> Any:
    """A part as plain JSON."""
    if is_part(value):
        fields = {name: describe(field) for name, field in zip(value._fields, value, strict=True)}
        return {"part": type(value).__name__, "fields": fields}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    return value


def build(description: Any, known: dict[str, type]) -> Any:
    """The part that `describe` described."""
    if not isinstance(description, dict):
        return description
    if set(description) == {"array"}:
        return np.array(description["array"], dtype=np.float64)
    if set(description) != {"part", "fields"} or not isinstance(description["fields"], dict):
        raise StateError("the policy in the file is not described as parts")
    name, fields = description["part"], description["fields"]
    if name not in known:
        raise StateError(
            f"the file uses a part {name!r}; if it is yours, load(path, parts=[{name}])"
        )
    if set(fields) != set(known[name]._fields):  # type: ignore[attr-defined]
        raise StateError(f"the fields of {name!r} in the file are not those of this version")
    return known[name](**{key: build(field, known) for key, field in fields.items()})


# ---- state as arrays


def flatten(state: Any, prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays of a nested state by dotted name."""
    if isinstance(state, np.ndarray):
        return {prefix: state}
    found: dict[str, NDArray[Any]] = {}
    for name, field in zip(state._fields, state, strict=True):
        found |= flatten(field, f"{prefix}.{name}" if prefix else name)
    return found


def regions_of(state: Any) -> list[Region]:
    """All confidence regions of a state."""
    if isinstance(state, Region):
        return [state]
    return [r for field in state for r in regions_of(field)] if is_part(state) else []


# ---- agents as bytes


def pack(agent: "Agent") -> bytes:
    """The agent as the bytes of a state file."""
    with agent._lock:
        arrays = flatten(agent._state)
        decisions = list(dict.fromkeys([*agent._pending.values(), *agent._open]))
        body = {
            "format": FORMAT,
            "policy": describe(agent.policy),
            "arrays": {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()},
            "issued": agent._issued,
            "counts": agent._counts,
            "decisions": [_describe_decision(d, d in agent._open) for d in decisions],
            "generator": None if agent._rng is None else agent._rng.bit_generator.state,
        }
        blobs = {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    header = json.dumps({"body": text, "sha256": _digest(text, blobs)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        file.writestr(HEADER, header)
        for name, blob in blobs.items():
            file.writestr(f"{name}.bin", blob)
    return buffer.getvalue()


def unpack(data: bytes, parts: Iterable[type] = ()) -> "Agent":
    """The agent in the bytes of a state file, or a StateError that says what is wrong."""
    from .agent import Agent

    try:
        body, blobs = _read(data)
        known = known_parts() | {part.__name__: part for part in parts}
        agent = Agent(cast(build(body["policy"], known)))
        _fill(agent._state, body["arrays"], blobs)
        _restore(agent, body)
        return agent
    except StateError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise StateError(f"the state file is not well formed: {error}") from error
    except (MemoryError, OverflowError, RecursionError) as error:
        raise StateError("the state file asks for more memory than it holds data for") from error


def save(agent: "Agent", path: Path) -> None:
    """Write a state file, at once or not at all."""
    data = pack(agent)
    replace_atomically(path, lambda temporary: temporary.write_bytes(data))


def load(path: str | Path, parts: Iterable[type] = ()) -> "Agent":
    """The agent that `Agent.save` wrote: it goes on, bit for bit, where that one stood.

    Parameters
    ----------
    parts : classes of your own parts that the policy uses. Never taken from the file.

    >>> import heavybandits as hb, tempfile
    >>> agent = hb.Agent(hb.linucb(dim=2, width=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent.save(f"{folder}/bandit.state")
    ...     hb.load(f"{folder}/bandit.state").policy == agent.policy
    True
    """
    path = Path(path)
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise StateError(f"{path} has {size} bytes; a state file has at most {LARGEST_FILE}")
    return unpack(path.read_bytes(), parts)


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            if any(e.compress_type != zipfile.ZIP_STORED for e in entries):
                raise StateError("the state file is compressed; ours never are")
            if sum(e.file_size for e in entries) > len(data):
                raise StateError("the state file claims more data than it holds")
            contents = {e.filename: file.read(e) for e in entries}
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError) as error:
        raise StateError(f"not a state file, or a damaged one: {error}") from error
    if HEADER not in contents:
        raise StateError("not a state file: it has no header")
    header = json.loads(contents.pop(HEADER))
    text = header["body"]
    body = json.loads(text)
    if body["format"] != FORMAT:
        raise StateError(
            f"the file has format {body['format']}, this version reads {FORMAT}; update it"
        )
    blobs = {name.removesuffix(".bin"): blob for name, blob in contents.items()}
    if header["sha256"] != _digest(text, blobs):
        raise StateError("the state file is damaged: its checksum does not match")
    return body, blobs


def _fill(state: Any, declared: dict[str, Any], blobs: dict[str, bytes]) -> None:
    """Copy the arrays of the file into the state, if they are exactly those it has."""
    arrays = flatten(state)
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    sizes = {name: array.nbytes for name, array in arrays.items()}
    if shapes != declared or sizes != {name: len(blob) for name, blob in blobs.items()}:
        raise StateError("the arrays in the file are not those of its policy")
    for name, array in arrays.items():
        array[...] = np.frombuffer(blobs[name], array.dtype).reshape(array.shape)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StateError(f"the array {name} holds values that are not finite")
    for region in regions_of(state):
        _check_region(region)


def _check_region(region: Region) -> None:
    """Whether V and V^-1 are symmetric, positive definite and each other's inverse."""
    scale = float(np.abs(region.design).max())
    symmetric = np.abs(region.design - region.design.T).max() <= 1e-9 * scale
    error = np.abs(region.design @ region.inverse - np.eye(region.centre.size)).max()
    if not (symmetric and error < 1e-3 and np.linalg.eigvalsh(region.design)[0] > 0.0):
        raise StateError("the design matrix in the file is not one a policy can have made")


def _describe_decision(decision: Any, is_open: bool) -> dict[str, Any]:
    return {
        "arm": decision.arm,
        "features": decision.features.tolist(),
        "estimate": decision.estimate,
        "width": decision.width,
        "rewards": [[ticket, reward] for ticket, reward in decision.rewards.items()],
        "open": is_open,
    }


def _restore(agent: "Agent", body: dict[str, Any]) -> None:
    from .agent import Decision
    from .validation import finite_array, finite_number, whole

    agent._issued = whole("issued", body["issued"], least=0)
    agent._counts = {name: whole(name, body["counts"][name], least=0) for name in agent._counts}
    for entry in body["decisions"]:
        features = finite_array("features", entry["features"], (agent.policy.dim,))
        decision = Decision(
            whole("arm", entry["arm"], least=-1),
            features,
            finite_number("estimate", entry["estimate"]),
            finite_number("width", entry["width"]),
            agent.policy.plays,
        )
        for ticket, reward in entry["rewards"]:
            value = None if reward is None else finite_number("reward", reward)
            decision.rewards[whole("ticket", ticket, least=0)] = value
            if value is None:
                agent._pending[ticket] = decision
        if entry["open"]:
            agent._open.append(decision)
    if body["generator"] is not None:
        agent._rng = np.random.default_rng()
        agent._rng.bit_generator.state = body["generator"]


def _digest(text: str, blobs: dict[str, bytes]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(blobs):
        digest.update(f"{name}:{len(blobs[name])}:".encode() + blobs[name])
    return digest.hexdigest()
