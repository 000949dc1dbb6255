"""Decide how the runs of one kind are laid out on the device.

A team of lanes plays a run. Its lanes belong to one warp or, if the matrices are large, to several
warps. One lane plays a run alone if a decision lasts many plays, or if an estimator has no
cooperative form.
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

# Places of an array. COMMON: in shared memory. ALIKE: in shared memory, and all lanes write the
# same values. OWN: each lane has its own array. PASSING: the same, but no code reads the array
# after a decision. FAR: in device memory.
COMMON, ALIKE, OWN, PASSING, FAR = "common", "alike", "own", "passing", "far"
POOLED = (COMMON, ALIKE)
WARP = 32
BLOCK = 128  # lanes of a team of several warps
NOISES = 64  # largest number of noise values that a team draws at once
CORE = 227 * 1024  # largest number of bytes of shared memory of all teams of a multiprocessor
# Threads per multiprocessor, and at most per block: the warps of one block share the instructions
# that they fetch.
THREADS = 512
QUARTERS, REGISTERS = 4, 16 * 1024  # quarters of a multiprocessor, registers of each quarter
PROCESSORS = 132  # multiprocessors of a device: of an H100 and of an H200
WARPS = 10  # smallest number of warps per multiprocessor, if there is room
# Smallest number of teams per multiprocessor. Three teams that have all arrays in shared memory are
# faster than many teams that read them from device memory.
TEAMS = 3
# Teams of one warp per multiprocessor. If there is no room for more, a team has several warps.
CROWDED = 6
# Numbers of shared memory per block that a layout leaves to CUDA, if several blocks must fit.
RESERVED = 256
# Largest number of features that a lane computes, or keeps in registers, if there are enough lanes.
FEATURES = 40
# Fewer runs than FEW leave a device partly idle, and MANY runs fill it.
FEW, MANY = 16 * PROCESSORS, 32 * PROCESSORS
ALONE = 8  # largest number of plays per decision that every lane keeps for itself

# Estimators that write to their regions themselves.
WRITERS = frozenset({Discounted, ScaleFreeHuber})
PROJECTIONS = frozenset({BallProjection, EuclideanProjection})
DRAWN = (PerDecision, PerRound)  # changing arms that a team of several warps can draw
# Filters whose code writes the same values in all lanes.
MEDIANS = (Median, MeanOfMedians, MedianOfMeans)

# Fields of states that the twins of this folder divide among the lanes.
_DIVIDED = {
    "Region": ("centre", "inverse", "direction", "recent", "scratch", "design"),
    "OnlineToConfidenceEstimate": ("iterate",),
}
_PLAYS = ("episode_rewards", "state_memory_buffer")  # arrays with one number per play
# Fields that move to device memory, in this order, if there is too little shared memory.
_LARGE = ("scratch", "recent", "features", "scores", "squares", "inverse")


class Leaf(NamedTuple):
    """Describe an array of a state: its name in the kernel, its first values and its place."""

    name: str
    array: Any
    place: str

    def is_common(self, field: str) -> bool:
        """Return True if this is a field of this name and it is in shared memory."""
        return self.place == COMMON and self.name.endswith(f"_{field}")


class Layout(NamedTuple):
    """Describe how runs of one kind are laid out on the device."""

    lanes: int  # lanes per run
    teams: int  # teams per block
    size: int  # numbers of shared memory per team
    pool: int  # numbers of shared memory per block: those of its teams, and theta*
    columns: int  # columns of the CPU's buffer
    noises: int  # noise values drawn at once
    leaves: list[Leaf]

    @property
    def registers(self) -> int:
        """Return the number of registers per thread.

        The warps that work in a quarter of a multiprocessor divide all its registers.
        """
        dim = self.pool - self.teams * self.size
        warps = self.lanes * resident(self.teams, self.lanes, self.size, dim) // WARP
        return min(REGISTERS // (WARP * -(-warps // QUARTERS)) // 8 * 8, 255)

    def all(self, *places: str) -> list[Leaf]:
        return [leaf for leaf in self.leaves if leaf.place in places]


def leaves_of(state: Any, name: str, place: str = OWN) -> Iterator[Leaf]:
    """Yield the arrays of a state and of the states inside it."""
    if isinstance(state, np.ndarray):
        yield Leaf(name, state, place)
        return
    kind = type(state).__name__
    for field, value in zip(state._fields, state, strict=True):
        where = FAR if field == "design" else COMMON if field in _DIVIDED.get(kind, ()) else OWN
        yield from leaves_of(value, f"{name}_{field}", where)


def state_leaves(policy: Any) -> Iterator[Leaf]:
    """Return the arrays of a policy's state before the first play."""
    return leaves_of(policy.init(), "state")


def buffer_leaves(arms: Any, lanes: int) -> Iterator[Leaf]:
    """Yield the arrays of a team's buffer.

    The lanes share features, scores and squares if the arms never change or the team has several
    warps. Otherwise each lane has its own.
    """
    still = arms.redraw == "never" or lanes > WARP
    columns, place = (arms.size, COMMON) if still else (-(-arms.size // lanes), PASSING)
    yield Leaf("buffer_features", np.zeros((arms.dim, columns)), place)
    yield Leaf("buffer_scores", np.zeros(columns), place)
    yield Leaf("buffer_squares", np.zeros(columns), place)
    yield Leaf("buffer_widths", np.zeros(columns), PASSING)
    yield Leaf("buffer_penalty", np.zeros(arms.size), PASSING)
    yield Leaf("buffer_chosen", np.zeros(arms.dim), COMMON)
    yield Leaf("buffer_kept", np.array([-1]), OWN)  # `synced[0]` between two launches


def world_leaves(problem: Any, plays: int) -> Iterator[Leaf]:
    """Yield the arrays of the parts that change a problem; none if no part changes it."""
    if problem is not None and not is_still(problem):
        for name, array in world_arrays(problem, plays):
            yield Leaf(name, array, FAR)


def room(leaves: Sequence[Leaf], noises: int = NOISES) -> int:
    """Return how many numbers of shared memory a team takes.

    The result is rounded up such that the teams of a warp use different banks of the memory.
    """
    size = noises + 1 + sum(leaf.array.size for leaf in leaves if leaf.place in POOLED)
    return size + (8 - size) % 16


def resident(teams: int, lanes: int, size: int, dim: int) -> int:
    """Return how many teams work in a multiprocessor at the same time, in blocks of `teams` teams.

    The shared memory of a block also contains theta*.
    """
    blocks = min(CORE // (8 * (teams * size + dim)), THREADS // (teams * lanes))
    return teams * blocks


def largest_block(lanes: int, size: int, dim: int, most: int) -> int:
    """Return the number of teams per block; 0 if there is room for none.

    A multiprocessor may have at most `most` teams. As many of them as possible work at the same
    time; of several equally good block sizes, the function returns the largest. `most` is rounded
    up to a power of two of warps, because every number of warps is another kernel to compile.
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
    """Return the layout for `runs` simultaneous runs of a policy on an arm set.

    problem: the problem of the arms, if it may change while it is played.

    Few runs leave most of the device idle, and they end sooner if more lanes play each run. Many
    runs end sooner if fewer lanes are idle. A block has as many teams as a multiprocessor has runs,
    so that two kernels rarely work in one multiprocessor and fetch their instructions in turns.
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
    """Return these leaves and those of the buffer, with their places.

    Large arrays are in device memory if there is too little shared memory. Large arrays of the
    buffer are there too if a decision lasts so long that the buffer is rarely read.
    """
    leaves = [*leaves, *buffer_leaves(arms, lanes)]
    if lanes > WARP:
        return near_warps([Leaf("exchange", np.zeros(lanes // WARP), COMMON), *leaves], arms)
    for field in _LARGE:
        seldom = policy.plays > ALONE and field in ArmBuffer._fields
        if seldom or resident(1, WARP, room(leaves, noises_of(policy)), arms.dim) < TEAMS:
            leaves = [_far(leaf) if leaf.is_common(field) else leaf for leaf in leaves]
    return leaves


def near_warps(leaves: list[Leaf], arms: Any) -> list[Leaf]:
    """Return these leaves, with their places for teams of several warps.

    Two teams are enough for a multiprocessor. One team that has V^-1 in shared memory is better
    than two teams that read it from device memory.
    """
    for field in _LARGE:
        wanted = 1 if field == "inverse" else 2
        size = room(leaves) + RESERVED
        if resident(1, BLOCK, size, arms.dim) < wanted:
            leaves = [_far(leaf) if leaf.is_common(field) else leaf for leaf in leaves]
    return leaves


def is_crowded(leaves: Sequence[Leaf], policy: Any, arms: Any) -> bool:
    """Return True if teams of several warps are faster than teams of one warp.

    They are if shared memory has room for the matrices of only a few teams of one warp. The arms
    must be made by functions of the library, which all lanes call. The policy must not project: on
    an H200, policies that project failed with thousands of runs.
    """
    if policy.plays > ALONE or not (arms.redraw == "never" or type(arms) in DRAWN):
        return False
    if classes_of(policy) & PROJECTIONS:
        return False
    found = [*leaves, *buffer_leaves(arms, WARP)]
    return resident(1, WARP, room(found), arms.dim) <= CROWDED


def is_filling(leaves: Sequence[Leaf], policy: Any, arms: Any, lanes: int) -> bool:
    """Return True if teams of `lanes` lanes keep a multiprocessor busy, and no lane works long."""
    if lanes >= WARP:
        return True
    teams = resident(1, lanes, room(leaves, noises_of(policy)), arms.dim)
    busy = policy.plays > ALONE or teams * lanes >= WARP * WARPS
    return busy and -(-arms.size // lanes) * arms.dim <= FEATURES


def is_for_teams(policy: Any) -> bool:
    """Return True if a team can play a policy, given enough room; else one lane plays it alone."""
    if not isinstance(policy, UCB) or isinstance(policy.estimator, NewtonEnsemble):
        return False
    if keeps_factor(policy.estimator) or classes_of(policy) & WRITERS:
        return False
    return policy.plays <= ALONE or isinstance(policy.filter, MEDIANS)


def numbers_of(part: Any) -> list[Any]:
    """Return the constants of a part, or of several parts, and of the parts inside them."""
    if isinstance(part, tuple):
        return [number for field in part for number in numbers_of(field)]
    return [part]
