"""How the runs of one kind lie on the device.

A team of lanes plays a run, or, where a decision lasts many plays, a lane alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.loop import make_episode
from ..policies import Optimism

COMMON, OWN, FAR = "common", "own", "far"  # shared by a team; a lane's own; in device memory
BLOCK = 40 * 1024  # bytes that the teams of a block hold in common, at most
CORE = 220 * 1024  # the same for all blocks of a multiprocessor
WARPS = 10  # per multiprocessor, at least, if there is room
REGISTERS = 40  # features that a lane keeps in registers, at most
NOISES = 16  # of a team, drawn at once
ALONE = 8  # plays per decision from which on a lane plays alone

# Of all that states hold, what the twins of this folder divide among the lanes.
_DIVIDED = {
    "Region": ("centre", "inverse", "direction", "recent", "scratch", "design"),
    "OnlineToConfidenceEstimate": ("iterate",),
    "View": ("chosen",),
}
_SELDOM = ("scratch", "recent", "inverse")  # what goes to device memory first where room is scarce


class Leaf(NamedTuple):
    """An array of a state: its name in the kernel, what it looks like and where it lies."""

    name: str
    array: Any
    place: str

    def is_common(self, field: str) -> bool:
        """Whether this is a field of this name that a team has room for."""
        return self.place == COMMON and self.name.endswith(f"_{field}")


class Layout(NamedTuple):
    """How runs of one kind lie on the device."""

    lanes: int  # per run
    teams: int  # per block
    size: int  # numbers that a team holds in common
    own: int  # arms of a lane
    leaves: list[Leaf]

    def all(self, place: str) -> list[Leaf]:
        return [leaf for leaf in self.leaves if leaf.place == place]


def leaves_of(state: Any, name: str, place: str = OWN) -> Iterator[Leaf]:
    """The arrays of a state, those it holds in others included."""
    if isinstance(state, np.ndarray):
        yield Leaf(name, state, place)
        return
    divided = _DIVIDED.get(type(state).__name__, ())
    for field, value in zip(state._fields, state, strict=True):
        where = (FAR if field == "design" else COMMON) if field in divided else OWN
        yield from leaves_of(value, f"{name}_{field}", where)


def state_leaves(policy: Any) -> Iterator[Leaf]:
    """The arrays of a policy's state before the first play."""
    return leaves_of(policy.init(), "state")


def room(leaves: Sequence[Leaf]) -> int:
    """Bytes that a team needs in common."""
    return 8 * (NOISES + 16 + sum(leaf.array.size for leaf in leaves if leaf.place == COMMON))


def _far(leaf: Leaf) -> Leaf:
    return leaf._replace(place=FAR)


def make_layout(policy: Any, arms: Any) -> Layout:
    """The layout for runs of a policy on an arm set."""
    view = arms.view()
    leaves = [*state_leaves(policy), *leaves_of(make_episode(policy.plays), "episode")]
    if policy.plays > ALONE or not isinstance(policy, Optimism):
        leaves += leaves_of(view, "view")
        return Layout(1, 128, 0, view.penalty.size, list(map(_far, leaves)))
    leaves.append(Leaf("view_chosen", view.chosen, COMMON))
    for field in _SELDOM:
        if CORE // room(leaves) < WARPS:
            leaves = [_far(leaf) if leaf.is_common(field) else leaf for leaf in leaves]
    lanes = 8
    while lanes < 32 and not (
        -(-arms.size // lanes) * arms.dim <= REGISTERS
        and CORE // room(leaves) * lanes >= 32 * WARPS
    ):
        lanes *= 2
    teams = max(64 // lanes, 1)
    while teams > 1 and teams * room(leaves) > BLOCK:
        teams //= 2
    size, own = room(leaves) // 8, -(-arms.size // lanes)
    leaves.append(Leaf("view_synced", np.array([-1, view.penalty.size]), OWN))
    return Layout(lanes, teams, size + (2 - size) % 16, own, leaves)


def numbers_of(part: Any) -> list[Any]:
    """The constants of a part, or of several, and of the parts in them."""
    if isinstance(part, tuple):
        return [number for field in part for number in numbers_of(field)]
    return [part]
