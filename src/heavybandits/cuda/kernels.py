"""The kernel of a kind of run: written out with its sizes as constants, so that small arrays lie in
registers. A team of lanes plays a run, or, where a decision lasts many plays, a lane alone."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.loop import make_episode
from ..engine.parts import is_part
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


def room(leaves: Sequence[Leaf]) -> int:
    """Bytes that a team needs in common."""
    return 8 * (NOISES + 16 + sum(leaf.array.size for leaf in leaves if leaf.place == COMMON))


def _far(leaf: Leaf) -> Leaf:
    return leaf._replace(place=FAR)


def make_layout(policy: Any, arms: Any) -> Layout:
    """The layout for runs of a policy on an arm set."""
    view, state = arms.view(), leaves_of(policy.init(), "state")
    leaves = [*state, *leaves_of(make_episode(policy.plays), "episode")]
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
    """The constants of a part and of the parts in it."""
    if is_part(part):
        return [number for field in part for number in numbers_of(field)]
    return [part]


def part_text(
    part: Any, path: str, varying: list[bool], count: list[int], classes: dict[str, Any]
) -> str:
    """The text of a part of a run: what all runs share comes by `path`, the rest from a table."""
    if not is_part(part):
        mine = varying.pop(0)
        count[0] += mine
        return f"constants[which[run], {count[0] - 1}]" if mine else path
    if not any(varying[: len(numbers_of(part))]):
        del varying[: len(numbers_of(part))]
        return path
    name = f"Part{len(classes)}"
    classes[name] = type(part)
    fields = zip(part._fields, part, strict=True)
    inner = [part_text(v, f"{path}.{f}", varying, count, classes) for f, v in fields]
    return f"{name}({', '.join(inner)})"


def state_text(state: Any, name: str, classes: dict[str, Any]) -> str:
    """The text that builds a state from its arrays."""
    if isinstance(state, np.ndarray):
        return name
    label = f"State{len(classes)}"
    classes[label] = type(state)
    fields = zip(state._fields, state, strict=True)
    return f"{label}({', '.join(state_text(v, f'{name}_{f}', classes) for f, v in fields)})"


_HEAD = """
def kernel(base, constants, which, arms, link, noise, truth, arm_keys, noise_keys, observer,
           start, stop, plays, regret, updates, projections, truncated, {tables}):
"""

_TEAM = """
    team = (cuda.threadIdx.x & 1023) // {lanes}
    run = cuda.blockIdx.x * {teams} + team
    if run >= which.size:
        return
    pool = cuda.shared.array({pool}, float64)
    at = team * {size}
    theta = carve_{dim}(pool, {theta})
    drawn = carve_{noises}(pool, at + {drawn})
    features = cuda.local.array(({dim}, {own}), float64)
    scores = cuda.local.array({own}, float64)
    squares = cuda.local.array({own}, float64)
    widths = cuda.local.array({own}, float64)
    penalty = cuda.local.array({own}, float64)
    {arrays}
    view = View(features, scores, squares, widths, penalty, view_chosen, view_synced)
    policy = {policy}
    state = {state}
    episode = Episode(episode_rewards, episode_numbers, episode_counts)
    unused = truncated[run]  # fallbacks are counted when all is over
    trace = Trace(plays, regret[run], updates[run], projections[run], truncated[run], unused)
    load_common(pool, {theta}, truth, {dim}, {lanes})
    load_common(pool, at, common[run], {kept}, {lanes})
    load_view(view, views[run], {arms}, {lanes})
    {load}
    for t in range(start, stop, {noises}):
        draw_together(noise, noise_keys[run], t, drawn, {lanes})
        play(policy, state, arms, link, theta, view, arm_keys[run],
             drawn[:min({noises}, stop - t)], episode, trace, observer)
    store_common(pool, at, common[run], {kept}, {lanes})
    store_view(view, views[run], {lanes})
    {store}
"""

_LANE = """
    run = cuda.grid(1)
    if run >= which.size:
        return
    drawn = cuda.local.array({noises}, float64)
    {arrays}
    view = View(view_features, view_scores, view_squares, view_widths, view_penalty, view_chosen,
                view_synced)
    policy = {policy}
    state = {state}
    episode = Episode(episode_rewards, episode_numbers, episode_counts)
    unused = truncated[run]  # fallbacks are counted when all is over
    trace = Trace(plays, regret[run], updates[run], projections[run], truncated[run], unused)
    for t in range(start, stop, {noises}):
        draw_noise(noise, noise_keys[run], t, drawn)
        play(policy, state, arms, link, truth, view, arm_keys[run],
             drawn[:min({noises}, stop - t)], episode, trace, observer)
"""


def kernel_text(
    policy: Any, varying: Sequence[bool], arms: Any, layout: Layout
) -> tuple[str, dict[str, Any]]:
    """The text of the kernel, and the classes that it names."""
    classes: dict[str, Any] = {}
    far = [f"{leaf.name}_all" for leaf in layout.all(FAR)]
    tables = far if layout.lanes == 1 else ["common", "floats", "integers", "views", *far]
    loads, stores = moves(layout)
    common = sum(leaf.array.size for leaf in layout.all(COMMON))
    fields = {
        "lanes": layout.lanes,
        "teams": layout.teams,
        "size": layout.size,
        "pool": layout.teams * layout.size + policy.dim,
        "theta": layout.teams * layout.size,
        "kept": common,
        "drawn": common + common % 2,
        "noises": NOISES,
        "dim": policy.dim,
        "own": layout.own,
        "arms": arms.size,
        "tables": ", ".join(tables),
        "arrays": "\n    ".join(declare(layout)),
        "policy": part_text(policy, "base", list(varying), [0], classes),
        "state": state_text(policy.init(), "state", classes),
        "load": "\n    ".join(loads),
        "store": "\n    ".join(stores),
    }
    return (_HEAD + (_LANE if layout.lanes == 1 else _TEAM)).format(**fields), classes


def declare(layout: Layout) -> Iterator[str]:
    """The lines that name the arrays of a state."""
    start = 0
    for name, array, place in layout.leaves:
        kind = "float64" if array.dtype == np.float64 else "int64"
        if layout.lanes == 1:
            yield f"{name} = {name}_all[{':, ' * array.ndim}run]"
        elif place == COMMON:
            yield f"{name} = carve_{'_'.join(map(str, array.shape))}(pool, at + {start})"
            start += array.size
        elif place == FAR:
            yield f"{name} = hold({name}_all[run])"
        else:
            yield f"{name} = cuda.local.array({array.shape}, {kind})"


def moves(layout: Layout) -> tuple[list[str], list[str]]:
    """The lines that bring what is a lane's own from the tables, and back."""
    loads: list[str] = []
    stores: list[str] = []
    places = {"floats": 0, "integers": 0}
    for name, array, _ in layout.all(OWN):
        table = "floats" if array.dtype == np.float64 else "integers"
        flat, loops = str(places[table]), []
        for axis, size in enumerate(array.shape):
            flat += f" + i{axis} * {int(np.prod(array.shape[axis + 1 :]))}"
            loops.append(f"{'    ' * axis}for i{axis} in range({size}):")
        here = f"{name}[{', '.join(f'i{axis}' for axis in range(array.ndim))}]"
        there, indent = f"{table}[run, {flat}]", "    " * array.ndim
        loads += [*loops, f"{indent}{here} = {there}"]
        stores += [*loops, f"{indent}{there} = {here}"]
        places[table] += array.size
    return loads, stores
