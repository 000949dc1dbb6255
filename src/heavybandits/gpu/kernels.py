"""Write the source of the kernel for one kind of run.

All sizes are constants in the source, so that small arrays are in registers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.part import has_seed, is_part
from .layout import ALIKE, FAR, OWN, POOLED, WARP, Layout, numbers_of
from .worlds import world_text


def part_text(
    part: Any, path: str, varying: list[bool], count: list[int], classes: dict[str, Any]
) -> str:
    """Return the code of a part of a run.

    The code reads the constants that all runs share by `path`, and the others from a table.
    """
    if not is_part(part):
        mine = varying.pop(0)
        count[0] += mine
        if path.startswith("policy") and path.endswith(".seed"):
            return f"seed_of(noise_keys[run], {path})"  # as `reseeded` does on the CPU
        return f"constants[which[run], {count[0] - 1}]" if mine else path
    seeded = path.startswith("policy") and has_seed(part)
    if not seeded and not any(varying[: len(numbers_of(part))]):
        del varying[: len(numbers_of(part))]
        return path
    name = f"Part{len(classes)}"
    classes[name] = type(part)
    fields = zip(part._fields, part, strict=True)
    inner = [part_text(v, f"{path}.{f}", varying, count, classes) for f, v in fields]
    return f"{name}({', '.join(inner)})"


def names_of(parts: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of the parts of a run in its kernel."""
    return ("policy", "arms", "link", "noise", "changes")[: len(parts)]


def parts_text(
    parts: Sequence[Any], varying: Sequence[bool], classes: dict[str, Any]
) -> Iterator[str]:
    """Yield the lines that make the parts of a run whose constants differ between runs."""
    waiting, count = list(varying), [0]
    for name, part in zip(names_of(parts), parts, strict=True):
        text = part_text(part, name, waiting, count, classes)
        if text != name:
            yield f"{name} = {text}"


def state_text(state: Any, name: str, classes: dict[str, Any]) -> str:
    """Return the code that builds a state from its arrays."""
    if isinstance(state, np.ndarray):
        return name
    label = f"State{len(classes)}"
    classes[label] = type(state)
    fields = zip(state._fields, state, strict=True)
    return f"{label}({', '.join(state_text(v, f'{name}_{f}', classes) for f, v in fields)})"


_HEAD = """
def kernel({names}, constants, which, truth, arm_keys, noise_keys, observer,
           start, stop, plays, regret, updates, projections, truncated, {tables}):
"""

_TEAM = """
    team = {team}
    run = cuda.blockIdx.x * {teams} + team
    if run >= which.size:
        return
    pool = cuda.shared.array(0, float64)
    at = team * {size}
    theta = carve_{dim}(pool, {theta})
    drawn = carve_{noises}(pool, at + {drawn})
    synced = cuda.local.array({columns}, int64)
    {arrays}
    buffer = ArmBuffer(buffer_features, buffer_scores, buffer_squares, buffer_widths,
                       buffer_penalty, buffer_chosen, synced)
    {parts}
    state = {state}
    episode = Episode(episode_rewards, episode_numbers, episode_counts)
    unused = truncated[run]  # fallbacks are counted when all is over
    load_common(pool, {theta}, truth, {dim}, {lanes})
    load_common(pool, at, common[run], {kept}, {lanes})
    {load}
    synced[0] = buffer_kept[0]
    for t in range(start, stop, {noises}):
        draw_together(noise, noise_keys[run], t, drawn, {lanes})
        near = leading(plays, due(plays, load_progress(episode).upcoming, t + {noises}))
        trace = Trace(near, regret[run], updates[run], projections[run], truncated[run], unused)
        play(policy, state, arms, link, theta, buffer, arm_keys[run],
             leading(drawn, min({noises}, stop - t)), episode, trace, observer, STILL)
    store_common(pool, at, common[run], {kept}, {lanes})
    buffer_kept[0] = synced[0]
    {store}
"""

_LANE = """
    run = cuda.grid(1)
    if run >= which.size:
        return
    drawn = cuda.local.array({noises}, float64)
    {arrays}
    buffer = ArmBuffer(buffer_features, buffer_scores, buffer_squares, buffer_widths,
                       buffer_penalty, buffer_chosen, buffer_synced)
    {parts}
    state = {state}
    episode = Episode(episode_rewards, episode_numbers, episode_counts)
    unused = truncated[run]  # fallbacks are counted when all is over
    trace = Trace(plays, regret[run], updates[run], projections[run], truncated[run], unused)
    for t in range(start, stop, {noises}):
        draw_noise(noise, noise_keys[run], t, drawn)
        play(policy, state, arms, link, {star}, buffer, arm_keys[run],
             leading(drawn, min({noises}, stop - t)), episode, trace, observer, {world})
"""


def kernel_text(
    parts: Sequence[Any], varying: Sequence[bool], layout: Layout
) -> tuple[str, dict[str, Any]]:
    """Return the source of the kernel, and the classes that the source names."""
    classes: dict[str, Any] = {}
    far = [f"{leaf.name}_all" for leaf in layout.all(FAR)]
    tables = far if layout.lanes == 1 else ["common", "floats", "integers", *far]
    loads, stores = moves(layout)
    common = sum(leaf.array.size for leaf in layout.all(*POOLED))
    own = ("lanes", "teams", "size", "columns", "noises")
    sizes = {name: getattr(layout, name) for name in own}
    sizes |= {"theta": layout.teams * layout.size, "dim": parts[0].dim}
    # A team that is alone in its block has the number 0: a constant, so the compiler knows that it
    # is the same for all lanes.
    alone = layout.lanes > WARP
    sizes |= {"team": 0 if alone else f"(cuda.threadIdx.x & 1023) // {layout.lanes}"}
    sizes |= {"kept": common, "drawn": common + common % 2}
    lines = {
        "arrays": declare(layout),
        "parts": list(parts_text(parts, varying, classes)),  # names its classes before "state"
        "state": [state_text(parts[0].init(), "state", classes)],
        "load": [*loads, *known(parts[0])],
        "store": stores,
    }
    texts = {name: "\n    ".join(mine) for name, mine in lines.items()}
    head = _HEAD + (_LANE if layout.lanes == 1 else _TEAM)
    world, star = world_text(parts)
    texts |= {"world": world, "star": star, "names": ", ".join(names_of(parts))}
    return head.format(**sizes, **texts, tables=", ".join(tables)), classes


def known(policy: Any) -> Iterator[str]:
    """Yield a line that lets the compiler drop code, if decisions have one play.

    The line states that no play of the current decision is pending.
    """
    if policy.plays == 1:
        yield "begin_decision(episode)"


def declare(layout: Layout) -> Iterator[str]:
    """Yield the lines that name the arrays of a state."""
    start = 0
    for name, array, place in layout.leaves:
        kind = "float64" if array.dtype == np.float64 else "int64"
        if layout.lanes == 1:
            yield f"{name} = {name}_all[{':, ' * array.ndim}run]"
        elif place in POOLED:
            made = "alike" if place == ALIKE else "carve"
            yield f"{name} = {made}_{'_'.join(map(str, array.shape))}(pool, at + {start})"
            start += array.size
        elif place == FAR:
            yield f"{name} = hold({name}_all[run])"
        else:
            yield f"{name} = cuda.local.array({array.shape}, {kind})"


def moves(layout: Layout) -> tuple[list[str], list[str]]:
    """Return the lines that load a lane's own arrays from the tables, and those that store them."""
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
