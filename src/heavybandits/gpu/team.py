"""A team: 2 to 32 lanes of a warp that play one run together, or all lanes of a block.

A team of more lanes than a warp has is alone in its block, so that the barrier of the block is its
own.

What a team shares has a type of its own, `Shared`, which says how many lanes there are and
cannot be written to. So the text of a part that reads it compiles as it is, and a part that would
write to it, every lane at once, is rejected when it is compiled. The cooperative twins in this
folder write through `writable`, each element by one lane.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.cuda.types import float64

from ..core.jit import jitable
from .layout import WARP
from .numba_cuda_internals import (
    ArrayModel,
    intrinsic,
    overload,
    populate_array,
    register_model,
    signature,
    types,
)

F = Callable[..., Any]
MAKERS: dict[F, F] = {}  # what makes the twin of a function, to run it without a device


class Shared(types.Array):
    """An array that the lanes of a team share.

    alike: whether it may be written to, because all lanes write the same.
    """

    def __init__(self, dtype: Any, ndim: int, lanes: int, alike: bool = False) -> None:
        self.lanes, self.alike = lanes, alike
        name = f"shared({dtype}, {ndim}d, {lanes} lanes{', alike' if alike else ''})"
        super().__init__(dtype, ndim, "C", readonly=not alike, name=name)

    @property
    def key(self) -> tuple[Any, ...]:
        return (*super().key, self.lanes)

    @property
    def mangling_args(self) -> tuple[str, list[Any]]:
        return "Shared", [self.dtype, self.ndim, self.lanes, int(self.alike)]

    def copy(
        self, dtype: Any = None, ndim: Any = None, layout: Any = None, readonly: Any = None
    ) -> "Shared":
        axes = self.ndim if ndim is None else ndim
        return Shared(dtype or self.dtype, axes, self.lanes, self.alike)


register_model(Shared)(ArrayModel)


def lanes_of(kind: Any) -> int:
    """The lanes of the team that shares this; 0 if no team does."""
    if isinstance(kind, Shared):
        return kind.lanes
    if isinstance(kind, types.BaseTuple):
        return max(map(lanes_of, kind), default=0)
    return 0


def twin(function: F, alone: bool = False) -> Callable[[Callable[..., Any]], None]:
    """Let the text that the decorated function makes replace `function` where a team calls it.

    It is given the number of lanes and the types of the arguments. Where no argument is shared,
    each lane has its own and `function` is its own twin, unless `alone` says it has one.
    """

    def register(make: Callable[..., Any]) -> None:
        MAKERS[function] = make

        def resolve(*arguments: Any) -> Callable[..., Any]:
            lanes = max(map(lanes_of, arguments), default=0)
            return (make(lanes, *arguments) or function) if lanes or alone else function

        empty = inspect.Parameter.empty
        parameters = inspect.signature(function).parameters.values()
        bare = [parameter.replace(annotation=empty) for parameter in parameters]
        resolve.__signature__ = inspect.Signature(bare)  # type: ignore[attr-defined]
        overload(function, target="cuda")(resolve)

    return register


@functools.cache
def carve(shape: tuple[int, ...], lanes: int, alike: bool = False) -> Any:
    """For kernels: the array of this shape that begins at an index of a pool, as a team's own."""
    strides = [8 * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

    @intrinsic
    def carved(context: Any, pool: Any, start: Any) -> Any:
        kind = Shared(pool.dtype, len(shape), lanes, alike)

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def constants(numbers: Any) -> list[Any]:
                return [context.get_constant(types.intp, number) for number in numbers]

            source = context.make_array(pool)(context, builder, arguments[0])
            made = context.make_array(kind)(context, builder)
            populate_array(
                made,
                data=builder.gep(source.data, [arguments[1]]),
                shape=constants(shape),
                strides=constants(strides),
                itemsize=constants([8])[0],
                meminfo=None,
            )
            return made._getvalue()

        return signature(kind, pool, types.intp), build

    return carved


@functools.cache
def hold(lanes: int) -> Any:
    """For kernels: the same array as a team's own."""

    @intrinsic
    def held(context: Any, array: Any) -> Any:
        kind = Shared(array.dtype, array.ndim, lanes)
        return signature(kind, array), lambda context, builder, signature, arguments: arguments[0]

    return held


@intrinsic
def opaque(context: Any, number: Any) -> Any:
    """The same number, of which no compiler knows anything: a thread's place along an axis that
    blocks do not have is added, 0.

    What depends on it is not worked out before its time, and a loop with such a step is not
    unrolled: instructions must be fetched, and more of them than are kept at hand take longer to
    fetch than to carry out.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(number)
        text = "{ .reg .u32 z; mov.u32 z, %tid.z; cvt.u64.u32 $0, z; add.u64 $0, $0, $1; }"
        move = ir.InlineAsm(ir.FunctionType(kind, [kind]), text, "=&l,l", True)
        return builder.call(move, arguments)

    return signature(number, number), build


@intrinsic
def block_barrier(context: Any) -> Any:
    """Wait for all lanes of a block, also where those of a warp have gone apart.

    `cuda.syncthreads` is for warps whose lanes are together, which no text of a team promises.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [])
        wait = builder.call(ir.InlineAsm(kind, "barrier.sync 0;", "~{memory}", True), [])
        wait.attributes.add("convergent")
        return context.get_dummy_value()

    return signature(types.none), build


@intrinsic
def leading(context: Any, array: Any, count: Any) -> Any:
    """The first `count` numbers of an array, without the questions that a slice asks."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(array)(context, builder, arguments[0])
        made = context.make_array(array)(context, builder)
        populate_array(
            made,
            data=source.data,
            shape=[arguments[1]],
            strides=source.strides,
            itemsize=source.itemsize,
            meminfo=None,
        )
        return made._getvalue()

    return signature(array, array, types.intp), build


@intrinsic
def writable(context: Any, array: Any) -> Any:
    """The same array as one that may be written to."""
    kind = types.Array(array.dtype, array.ndim, "C")
    return signature(kind, array), lambda context, builder, signature, arguments: arguments[0]


@jitable
def lane(lanes: int) -> Any:
    """The number of this lane in its team, in a form whose sign the compiler knows."""
    return np.int64(cuda.threadIdx.x & (lanes - 1))


@jitable
def first_lane(lanes: int) -> Any:
    """The number of the team's first lane in its warp, for a team within a warp."""
    return np.int64(cuda.threadIdx.x & (WARP - lanes))


@jitable
def members(lanes: int) -> Any:
    """The team as a mask of lanes of its warp."""
    within = min(lanes, WARP)
    return ((1 << within) - 1) << first_lane(within)


@jitable
def sync(lanes: int) -> None:
    """What a lane wrote before this, all lanes of its team read after it."""
    cuda.syncwarp(members(lanes))
    if lanes > WARP:
        block_barrier()


@jitable
def maximum(value: float, lanes: int) -> float:
    """The largest value of all lanes."""
    offset = min(lanes, WARP) // 2
    while offset > 0:
        value = max(value, cuda.shfl_xor_sync(members(lanes), value, offset))
        offset //= 2
    if lanes > WARP:
        found = cuda.shared.array(0, float64)
        exchange(value, found, lanes)
        value = found[0]
        for i in range(1, lanes // WARP):
            value = max(value, found[i])
        sync(lanes)
    return value


@jitable
def total(value: float, lanes: int) -> float:
    """The sum over all lanes, in an order of its own."""
    offset = min(lanes, WARP) // 2
    while offset > 0:
        value += cuda.shfl_xor_sync(members(lanes), value, offset)
        offset //= 2
    if lanes > WARP:
        found = cuda.shared.array(0, float64)
        exchange(value, found, lanes)
        value = found[0]
        for i in range(1, lanes // WARP):
            value += found[i]
        sync(lanes)
    return value


@jitable
def exchange(value: float, found: Any, lanes: int) -> None:
    """Leave the values of the warps of a team for all lanes, until they next `sync`.

    found: where the memory begins that the lanes of a block share. A layout has room there.
    """
    if lane(WARP) == 0:
        found[lane(lanes) // WARP] = value
    sync(lanes)


@jitable
def value_of(value: float, place: int) -> float:
    """The value that a lane of this warp has; all lanes of the warp ask, each for its own."""
    return cuda.shfl_sync(0xFFFFFFFF, value, place)


@jitable
def broadcast(value: float, lanes: int) -> float:
    """The value that the first lane has, in a team within a warp."""
    return cuda.shfl_sync(members(lanes), value, first_lane(lanes))
