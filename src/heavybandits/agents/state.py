"""State files: an agent in one zip of plain arrays and a JSON header. No pickle, nothing that runs.

Everything is checked before it is believed: sizes against the file, names and shapes against what
the policy itself makes, numbers for being finite, all of it against a SHA-256. Parts are built from
a list of classes that the program knows; a file cannot add to it.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..engine.identity import build, describe
from ..engine.parts import cast
from ..support.errors import StateError
from ..support.files import replace_atomically
from .state_arrays import check_size, check_state, fill, kept
from .state_arrays import flatten as flatten
from .state_book import describe_decision, restore
from .state_container import FORMAT, read_container, write_container
from .tickets import Limits

if TYPE_CHECKING:
    from .agent import Agent

LARGEST_FILE = 4 << 30


def known_parts() -> dict[str, type]:
    """The parts of the library by name: the NamedTuples of all its modules."""
    package = __name__.partition(".")[0]
    modules = [m for name, m in list(sys.modules.items()) if name.startswith(f"{package}.")]
    return {
        name: item
        for module in modules
        for name, item in list(vars(module).items())
        if isinstance(item, type) and issubclass(item, tuple) and hasattr(item, "_fields")
    }


# ---- agents as bytes


def pack(agent: "Agent") -> bytes:
    """The agent as the bytes of a state file. Equal agents have equal bytes."""
    with agent._lock:
        arrays = kept(agent._state)
        text = json.dumps(_describe_agent(agent, arrays), sort_keys=True, allow_nan=False)
        blobs = {name: array.tobytes() for name, array in arrays.items()}
    return write_container(text, blobs)


def _describe_agent(agent: "Agent", arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    book = agent._book
    decisions = list(dict.fromkeys([*book.open, *book.pending.values()]))
    return {
        "format": FORMAT,
        "policy": describe(agent.policy),
        "arrays": {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()},
        "issued": book.issued,
        "counts": book.counts,
        "decisions": [describe_decision(d, d in book.open) for d in decisions],
        "limits": agent._limits._asdict(),
        "expired": list(agent._ledger.expired),
        "generator": None if agent._rng is None else agent._rng.bit_generator.state,
    }


def unpack(data: bytes, parts: Iterable[type] = ()) -> "Agent":
    """The agent in the bytes of a state file, or a StateError that says what is wrong."""
    from .agent import Agent

    try:
        body, blobs = read_container(data)
        trusted = set(parts)
        policy = cast(build(body["policy"], known_parts() | {p.__name__: p for p in trusted}))
        check_size(policy, sum(map(len, blobs.values())), trusted)
        agent = Agent(policy, **{name: body["limits"][name] for name in Limits._fields})
        fill(agent._state, body["arrays"], blobs)
        check_state(policy, agent._state)
        restore(agent, body)
        return agent
    except StateError:
        raise
    except (MemoryError, OverflowError, RecursionError) as error:
        raise StateError("the state file asks for more memory than it holds data for") from error
    except Exception as error:  # whatever a hostile file provokes, it is the file's fault
        raise StateError(f"the state file is not well formed: {error}") from error


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
    >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent.save(f"{folder}/bandit.state")
    ...     hb.load(f"{folder}/bandit.state").policy == agent.policy
    True
    """
    path = Path(path)
    size = path.stat().st_size
    if not path.is_file():  # to read a pipe or a device may never end
        raise StateError(f"{path} is not a file")
    if size > LARGEST_FILE:
        raise StateError(f"{path} has {size} bytes; a state file has at most {LARGEST_FILE}")
    return unpack(path.read_bytes(), parts)
