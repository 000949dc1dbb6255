"""Runs on the device: their states made there, played in pieces, the checkpoints brought back."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.core.errors import NumbaPerformanceWarning

from ..engine.loop import Trace, Unobserved
from ..engine.parts import is_part
from ..engine.regions import FALLBACKS
from ..engine.streams import ARMS, NOISE, stream_key
from .compiling import kernel_of
from .kernels import COMMON, FAR, OWN, Layout, make_layout, numbers_of
from .storage import spreader

THREADS = 128  # per block, where the number does not matter


def varying(policies: Sequence[Any]) -> list[bool]:
    """Which constants of policies of one kind are not the same in all of them."""
    return [
        isinstance(values[0], float) and any(value != values[0] for value in values)
        for values in zip(*map(numbers_of, policies), strict=True)
    ]


def configured(kernel: Any, *grid: Any) -> Any:
    """kernel[grid], without a warning that few blocks leave the device idle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        return kernel[grid]


def on_device(part: Any) -> Any:
    """The part with its arrays sent to the device."""
    if is_part(part):
        return type(part)(*map(on_device, part))
    return cuda.to_device(part) if isinstance(part, np.ndarray) else part


def first_states(policies: Sequence[Any], problem: Any, layout: Layout) -> dict[str, Any]:
    """The tables of a state before the first play, one row per policy."""
    layouts = [make_layout(policy, problem.arms).leaves for policy in policies]
    rows = [{leaf.name: leaf.array.ravel() for leaf in leaves} for leaves in layouts]

    def table(names: list[str], kind: Any) -> Any:
        empty = [np.zeros(0, kind)]
        return np.array([np.concatenate(empty + [row[n] for n in names]) for row in rows], kind)

    far = {leaf.name: table([leaf.name], leaf.array.dtype) for leaf in layout.all(FAR)}
    if layout.lanes == 1:
        return far
    own = layout.all(OWN)
    floats = [leaf.name for leaf in own if leaf.array.dtype == np.float64]
    integers = [leaf.name for leaf in own if leaf.array.dtype == np.int64]
    return {
        "common": table([leaf.name for leaf in layout.all(COMMON)], np.float64),
        "floats": table(floats, np.float64),
        "integers": table(integers, np.int64),
        **far,
    }


def room_of(policy: Any, arms: Any) -> int:
    """Bytes of device memory that a run takes, its checkpoints left out."""
    layout = make_layout(policy, arms)
    view = 8 * layout.own * layout.lanes * (policy.dim + 2)
    return view + sum(leaf.array.nbytes for leaf in layout.leaves)


class Launch:
    """Runs of policies that differ in constants alone, on one problem.

    runs: the policy of each, by its place in `policies`, and its repetition.
    """

    def __init__(
        self,
        policies: Sequence[Any],
        problem: Any,
        runs: Sequence[tuple[int, int]],
        seed: int,
        checkpoints: Any,
    ) -> None:
        self.layout = layout = make_layout(policies[0], problem.arms)
        self.runs, self.plays = runs, checkpoints
        differs = varying(policies)
        self.kernel = kernel_of(policies[0], differs, problem, layout)
        self.stream = cuda.stream()
        which = cuda.to_device(np.array([policy for policy, _ in runs]))
        self.head = (
            on_device(policies[0]),
            cuda.to_device(_constants(policies, differs)),
            which,
            *map(on_device, (problem.arms, problem.link, problem.noise)),
            cuda.to_device(problem.theta),
            *(cuda.to_device(_keys(runs, seed, stream)) for stream in (ARMS, NOISE)),
            Unobserved(),
        )
        shape = (len(runs), checkpoints.size)
        self.out = [
            cuda.to_device(np.full(shape, np.nan)),
            *(cuda.to_device(np.zeros(shape, np.int64)) for _ in range(3)),
        ]
        self.plays_there = cuda.to_device(checkpoints)
        self.tables = self._tables(first_states(policies, problem, layout), which)
        cuda.synchronize()  # all this is on another stream than the runs

    def _tables(self, first: dict[str, Any], which: Any) -> dict[str, Any]:
        size, by_rows = len(self.runs), self.layout.lanes > 1
        made: dict[str, Any] = {}
        for name, rows in first.items():
            width = rows.shape[1]
            table = cuda.device_array((size, width) if by_rows else (width, size), rows.dtype)
            blocks = -(-size * width // THREADS)
            if blocks:
                fill = configured(spreader(), blocks, THREADS)
                fill(table, cuda.to_device(rows), which, by_rows)
            made[name] = table
            if name == "integers":
                shape = (size, self.head[0].dim + 2, self.layout.own, self.layout.lanes)
                made["views"] = cuda.device_array(shape)
        for leaf in self.layout.all(FAR):
            shape = leaf.array.shape
            whole = (size, *shape) if by_rows else (*shape, size)
            made[leaf.name] = made[leaf.name].reshape(*whole)
        return made

    def play(self, start: int, stop: int) -> None:
        """Go on from play `start` to play `stop`, without waiting for the end."""
        layout = self.layout
        blocks = -(-len(self.runs) // layout.teams)
        launch = configured(self.kernel, blocks, layout.teams * layout.lanes, self.stream)
        launch(*self.head, start, stop, self.plays_there, *self.out, *self.tables.values())

    def traces(self) -> list[Trace]:
        """What the runs left at their checkpoints."""
        columns = [array.copy_to_host() for array in self.out]
        fallbacks = np.repeat(self._fallbacks()[:, None], self.plays.size, axis=1)
        return [Trace(self.plays, *rows) for rows in zip(*columns, fallbacks, strict=True)]

    def _fallbacks(self) -> Any:
        """What `parts.fallbacks_of` says of every state."""
        total, place = np.zeros(len(self.runs), np.int64), 0
        for name, array, where in self.layout.leaves:
            counts = name.endswith("_region_counts")
            if counts and where == FAR:
                total += self.tables[name].copy_to_host()[FALLBACKS]
            elif counts:
                total += self.tables["integers"].copy_to_host()[:, place + FALLBACKS]
            place += array.size if where == OWN and array.dtype == np.int64 else 0
        return total


def _constants(policies: Sequence[Any], differs: list[bool]) -> Any:
    rows = [
        [number for number, mine in zip(numbers_of(policy), differs, strict=True) if mine]
        for policy in policies
    ]
    return np.array(rows, np.float64).reshape(len(policies), sum(differs))


def _keys(runs: Sequence[tuple[int, int]], seed: int, stream: int) -> Any:
    repetitions = sorted({repetition for _, repetition in runs})
    keys = {r: stream_key(seed, r, stream) for r in repetitions}
    return np.array([keys[repetition] for _, repetition in runs], np.uint64)
