"""Which runs one kernel plays, and which of them at once."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..engine.parts import is_part

Run = tuple[str, int]  # a policy by its name, a repetition


def skeleton(part: Any) -> Any:
    """All of a part but its real numbers: policies with one skeleton are played by one kernel.

    >>> from heavybandits.filters import Truncate
    >>> skeleton(Truncate(2.0)) == skeleton(Truncate(3.0)), skeleton(1) == skeleton(2)
    (True, False)
    """
    if is_part(part):
        return type(part), tuple(map(skeleton, part))
    return float if isinstance(part, float) else repr(part)


def groups(policies: Mapping[str, Any]) -> list[list[str]]:
    """The names of policies that one kernel plays."""
    found: dict[Any, list[str]] = {}
    for name, policy in policies.items():
        found.setdefault(skeleton(policy), []).append(name)
    return list(found.values())


def pieces(runs: Sequence[Run], room: int, free: int) -> Iterator[Sequence[Run]]:
    """Runs that fit into the free memory together, in order.

    >>> [len(piece) for piece in pieces([("a", r) for r in range(5)], room=10, free=25)]
    [2, 2, 1]
    """
    most = max(free // room, 1)
    for start in range(0, len(runs), most):
        yield runs[start : start + most]
