"""How the runs of one kind are laid out on the device.

A team of lanes plays a run: lanes of a warp or, if its matrices are large, of several warps. A lane
plays alone where a decision lasts many plays, and where an estimator has no cooperative form.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from ..core.arm_buffer import ArmBuffer
from ..core.capabilities import keeps_factor
from ..core.loop import make_episode
from ..core.part import classes_of
from ..parts.arms import PerDecision, PerRound, Storefront
from ..parts.estimators import (
    BallProjection,
    Discounted,
    EuclideanProjection,
    NewtonEnsemble,
    ScaleFreeHuber,
)
from ..parts.filters import MeanOfMedians, Median, MedianOfMeans
from ..parts.policies import UCB
from .worlds import is_still, world_arrays

# Shared by a team; shared, and written by all lanes alike; a lane's own; that too, and of no use
# after a decision; in device memory.
COMMON, ALIKE, OWN, PASSING, FAR = "common", "alike", "own", "passing", "far"
POOLED = (COMMON, ALIKE)
WARP = 32
BLOCK = 128  # lanes of a team of several warps
NOISES = 64  # of a team, drawn at once, at most
CORE = 227 * 1024  # bytes that all teams of a multiprocessor hold in common, at most
THREADS = 512  # per block: the warps of a multiprocessor, which so share what they fetch
QUARTERS, REGISTERS = 4, 16 * 1024  # of a multiprocessor, and of each of them
PROCESSORS = 132  # of a device: of an H100 and an H200
WARPS = 10  # per multiprocessor, at least, if there is room
TEAMS = 3  # per multiprocessor, at least: so few with all at hand outrun many that fetch it
CROWDED = 6  # teams of a warp per multiprocessor: if no more have room, a team has several warps
RESERVED = 256  # numbers per block that a layout leaves to CUDA, if several blocks must have room
FEATURES = 40  # that a lane sees to, or keeps in registers, at most, if there are lanes for it
FEW, MANY = 16 * PROCESSORS, 32 * PROCESSORS  # runs that leave a device idle, and that fill it
ALONE = 8  # plays per decision that every lane keeps by itself, at most

WRITERS = frozenset({Discounted, ScaleFreeHuber})  # which write to their regions themselves
PROJECTIONS = frozenset({BallProjection, EuclideanProjection})
DRAWN = (PerDecision, PerRound)  # arms that change, and that a team of several warps can draw
MEDIANS = (Median, MeanOfMedians, MedianOfMeans)  # which write all they write in all lanes alike

# Of all that states hold, what the twins of this folder divide among the lanes.
_DIVIDED = {
    "Region": ("centre", "inverse", "direction", "recent", "scratch", "design"),
    "OnlineToConfidenceEstimate": ("iterate",),
}
_PLAYS = ("episode_rewards", "state_memory_buffer")  # which have a number for every play
# In this order to device memory, where room is scarce.
_LARGE = ("scratch", "recent", "features", "scores", "squares", "inverse")


class Leaf(NamedTuple):
    """An array of a state: its name in the kernel, what it looks like and where it is."""

    name: str
    array: Any
    place: str

    def is_common(self, field: str) -> bool:
        """Return True if this is a field of this name that a team has room for."""
        return self.place == COMMON and self.name.endswith(f"_{field}")


class Layout(NamedTuple):
    """How runs of one kind are laid out on the device."""

    lanes: int  # per run
    teams: int  # per block
    size: int  # numbers that a team holds in common
    pool: int  # the same of all teams of a block, and theta*
    columns: int  # of the CPU's buffer
    noises: int  # drawn at once
    leaves: list[Leaf]

    @property
    def registers(self) -> int:
        """Per thread: all that the teams at work leave each other in the quarter they are in."""
        dim = self.pool - self.teams * self.size
        warps = self.lanes * resident(self.teams, self.lanes, self.size, dim) // WARP
        return min(REGISTERS // (WARP * -(-warps // QUARTERS)) // 8 * 8, 255)

    def all(self, *places: str) -> list[Leaf]:
        return [leaf for leaf in self.leaves if leaf.place in places]


def leaves_of(state: Any, name: str, place: str = OWN) -> Iterator[Leaf]:
    """The arrays of a state, also those inside others."""
    if isinstance(state, np.ndarray):
        yield Leaf(name, state, place)
        return
    kind = type(state).__name__
    for field, value in zip(state._fields, state, strict=True):
        where = FAR if field == "design" else COMMON if field in _DIVIDED.get(kind, ()) else OWN
        yield from leaves_of(value, f"{name}_{field}", where)


def state_leaves(policy: Any) -> Iterator[Leaf]:
    """The arrays of a policy's state before the first play."""
    return leaves_of(policy.init(), "state")


def buffer_leaves(arms: Any, lanes: int) -> Iterator[Leaf]:
    """The arrays of a team's buffer: in common if the arms never change or the team has several
    warps, else those of a lane."""
    still = arms.redraw == "never" or lanes > WARP
    columns, place = (arms.size, COMMON) if still else (-(-arms.size // lanes), PASSING)
    yield Leaf("buffer_features", np.zeros((arms.dim, columns)), place)
    yield Leaf("buffer_scores", np.zeros(columns), place)
    yield Leaf("buffer_squares", np.zeros(columns), place)
    yield Leaf("buffer_widths", np.zeros(columns), PASSING)
    yield Leaf("buffer_penalty", np.zeros(arms.size), PASSING)
    yield Leaf("buffer_chosen", np.zeros(arms.dim), COMMON)
    yield Leaf("buffer_kept", np.array([-1]), OWN)  # of `synced`


def world_leaves(problem: Any, plays: int) -> Iterator[Leaf]:
    """The arrays of what changes a problem; none if nothing does."""
    if problem is not None and not is_still(problem):
        for name, array in world_arrays(problem, plays):
            yield Leaf(name, array, FAR)


def room(leaves: Sequence[Leaf], noises: int = NOISES) -> int:
    """Numbers that a team shares; its size is such that the teams of a warp meet different
    banks of the memory."""
    size = noises + 1 + sum(leaf.array.size for leaf in leaves if leaf.place in POOLED)
    return size + (8 - size) % 16


def resident(teams: int, lanes: int, size: int, dim: int) -> int:
    """The teams of a multiprocessor that are at work at the same time, in blocks of `teams`, which
    also contain theta*."""
    blocks = min(CORE // (8 * (teams * size + dim)), THREADS // (teams * lanes))
    return teams * blocks


def largest_block(lanes: int, size: int, dim: int, most: int) -> int:
    """The teams of a block, so that of the `most` that a multiprocessor may have, as many as
    possible are at work at the same time: of equals the largest. 0 if there is room for none.

    Few numbers of warps, for every one is another kernel to compile.
    """
    if lanes > WARP:
        return min(resident(1, lanes, size, dim), 1)
    warp = WARP // lanes
    most = warp << max(-(-most // warp) - 1, 0).bit_length()
    sizes = range(0, min(most, THREADS // lanes) + 1, warp)

    def at_work(teams: int) -> int:
        return min(resident(teams, lanes, size, dim), most) if teams else 0

    return max(sizes, key=lambda teams: (at_work(teams), teams if at_work(teams) else 0))


def _far(leaf: Leaf) -> Leaf:
    return leaf._replace(place=FAR)


def make_layout(
    policy: Any, arms: Any, runs: int = THREADS * PROCESSORS, problem: Any = None
) -> Layout:
    """The layout for runs of a policy on an arm set, so many of them at once.

    problem: the problem of the arms, if it may change while it is played.

    Few runs leave most of the device idle, and end the sooner the more lanes play each of them;
    many end the sooner the fewer lanes have nothing to do. A block has as many teams as there are
    runs for a multiprocessor, so that two kernels seldom meet in one and fetch in turns.
    """
    leaves = [*state_leaves(policy), *leaves_of(make_episode(policy.plays), "episode")]
    columns = arms.make_buffer().penalty.size
    if policy.plays > ALONE:
        leaves = [leaf._replace(place=ALIKE) if leaf.name in _PLAYS else leaf for leaf in leaves]
    moves = (problem is not None and not is_still(problem)) or isinstance(arms, Storefront)
    scarce = policy.plays > ALONE and 8 * room(leaves) > CORE // WARPS
    if moves or scarce or not is_for_teams(policy):
        leaves += [*leaves_of(arms.make_buffer(), "buffer"), *world_leaves(problem, policy.plays)]
        threads = 128 if runs >= MANY else 32
        return Layout(1, threads, 0, 0, columns, 16, list(map(_far, leaves)))
    lanes = 8 if runs >= MANY else 16 if runs >= FEW else WARP
    if is_crowded(leaves, policy, arms):
        lanes = BLOCK
    while not is_filling(found := near(leaves, policy, arms, lanes), policy, arms, lanes):
        lanes *= 2
    noises = noises_of(policy)
    size = room(found, noises) + (RESERVED if lanes > WARP else 0)
    teams = largest_block(lanes, size, arms.dim, -(-runs // PROCESSORS))
    if teams == 0:
        raise InvalidInputError(
            f"device='cuda': a run with d = {arms.dim} and K = {arms.size} takes {8 * size} bytes "
            f"of a multiprocessor, which has {CORE}; play it on the CPU"
        )
    return Layout(lanes, teams, size, teams * size + arms.dim, columns, noises, found)


def noises_of(policy: Any) -> int:
    return NOISES if policy.plays > ALONE else 16


def near(leaves: list[Leaf], policy: Any, arms: Any, lanes: int) -> list[Leaf]:
    """These leaves and those of the buffer, the large ones in device memory where room is scarce,
    and where a decision lasts so long that its buffer is seldom read."""
    leaves = [*leaves, *buffer_leaves(arms, lanes)]
    if lanes > WARP:
        return near_warps([Leaf("exchange", np.zeros(lanes // WARP), COMMON), *leaves], arms)
    for field in _LARGE:
        seldom = policy.plays > ALONE and field in ArmBuffer._fields
        if seldom or resident(1, WARP, room(leaves, noises_of(policy)), arms.dim) < TEAMS:
            leaves = [_far(leaf) if leaf.is_common(field) else leaf for leaf in leaves]
    return leaves


def near_warps(leaves: list[Leaf], arms: Any) -> list[Leaf]:
    """These leaves, for teams of several warps: two teams are enough for a multiprocessor, and one
    that has V^-1 at hand is better than two that fetch it."""
    for field in _LARGE:
        wanted = 1 if field == "inverse" else 2
        size = room(leaves) + RESERVED
        if resident(1, BLOCK, size, arms.dim) < wanted:
            leaves = [_far(leaf) if leaf.is_common(field) else leaf for leaf in leaves]
    return leaves


def is_crowded(leaves: Sequence[Leaf], policy: Any, arms: Any) -> bool:
    """Return True if so few teams of a warp have room for their matrices that teams of several
    warps are faster. The arms must be made by functions of the library, which all lanes call. The
    policy must not project: on an H200 that failed with thousands of runs."""
    if policy.plays > ALONE or not (arms.redraw == "never" or type(arms) in DRAWN):
        return False
    if classes_of(policy) & PROJECTIONS:
        return False
    found = [*leaves, *buffer_leaves(arms, WARP)]
    return resident(1, WARP, room(found), arms.dim) <= CROWDED


def is_filling(leaves: Sequence[Leaf], policy: Any, arms: Any, lanes: int) -> bool:
    """Return True if teams of so many lanes keep a multiprocessor busy, and no lane for long."""
    if lanes >= WARP:
        return True
    teams = resident(1, lanes, room(leaves, noises_of(policy)), arms.dim)
    busy = policy.plays > ALONE or teams * lanes >= WARP * WARPS
    return busy and -(-arms.size // lanes) * arms.dim <= FEATURES


def is_for_teams(policy: Any) -> bool:
    """Return True if a team can play a policy, if there is room; if not, a lane plays it alone."""
    if not isinstance(policy, UCB) or isinstance(policy.estimator, NewtonEnsemble):
        return False
    if keeps_factor(policy.estimator) or classes_of(policy) & WRITERS:
        return False
    return policy.plays <= ALONE or isinstance(policy.filter, MEDIANS)


def numbers_of(part: Any) -> list[Any]:
    """The constants of a part, or of several, and of the parts in them."""
    if isinstance(part, tuple):
        return [number for field in part for number in numbers_of(field)]
    return [part]
