"""Define teams: 2 to 32 lanes of a warp, or all lanes of a block, that play one run together.

A team with more lanes than a warp is alone in its block, so that no other team uses the barrier of
the block.

An array that a team shares has a type of its own, `Shared`, which contains the number of lanes and
cannot be written to. So the code of a part that reads the array compiles without a change. The
compiler rejects a part that would write to the array in every lane at once. The cooperative twins
in this folder write through `writable`, and one lane writes each element.
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
# The functions that make the twins, by CPU function: tests run the twins without a device.
MAKERS: dict[F, F] = {}


class Shared(types.Array):
    """Describe the type of an array that the lanes of a team share.

    alike: True if it may be written to, because all lanes write the same values.
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
    """Return the number of lanes of the team that shares this type; 0 if no team does."""
    if isinstance(kind, Shared):
        return kind.lanes
    if isinstance(kind, types.BaseTuple):
        return max(map(lanes_of, kind), default=0)
    return 0


def twin(function: F, alone: bool = False) -> Callable[[Callable[..., Any]], None]:
    """Let the function that the decorated function returns replace `function` in code of a team.

    The decorated function receives the number of lanes and the types of the arguments. If it
    returns None, `function` is not replaced. If no argument is shared, each lane has its own
    arrays, and `function` is replaced only if `alone` is True.
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
    """Make a function for kernels that returns an array of a pool as an array that a team shares.

    The array has this shape and begins at an index of the pool.
    """
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
    """Make a function for kernels that returns an array as an array that a team shares."""

    @intrinsic
    def held(context: Any, array: Any) -> Any:
        kind = Shared(array.dtype, array.ndim, lanes)
        return signature(kind, array), lambda context, builder, signature, arguments: arguments[0]

    return held


@intrinsic
def opaque(context: Any, number: Any) -> Any:
    """Return the same number in a form of which no compiler knows the value.

    The code adds 0: the index of a thread along an axis that blocks do not have. The compiler does
    not compute in advance what depends on the result, and does not unroll a loop with such a step.
    Instructions must be fetched: if there are more of them than a multiprocessor keeps, fetching
    takes longer than execution.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(number)
        text = "{ .reg .u32 z; mov.u32 z, %tid.z; cvt.u64.u32 $0, z; add.u64 $0, $0, $1; }"
        move = ir.InlineAsm(ir.FunctionType(kind, [kind]), text, "=&l,l", True)
        return builder.call(move, arguments)

    return signature(number, number), build


@intrinsic
def block_barrier(context: Any) -> Any:
    """Wait for all lanes of a block, also if the lanes of a warp have diverged.

    `cuda.syncthreads` is for warps whose lanes have converged, which the code of a team does not
    guarantee.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [])
        wait = builder.call(ir.InlineAsm(kind, "barrier.sync 0;", "~{memory}", True), [])
        wait.attributes.add("convergent")
        return context.get_dummy_value()

    return signature(types.none), build


@intrinsic
def leading(context: Any, array: Any, count: Any) -> Any:
    """Return the first `count` numbers of an array, without the checks of a slice."""

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
    """Return the same array as an array that may be written to."""
    kind = types.Array(array.dtype, array.ndim, "C")
    return signature(kind, array), lambda context, builder, signature, arguments: arguments[0]


@jitable
def lane(lanes: int) -> Any:
    """Return the number of this lane in its team, in a form whose sign the compiler knows."""
    return np.int64(cuda.threadIdx.x & (lanes - 1))


@jitable
def first_lane(lanes: int) -> Any:
    """Return the number in its warp of the team's first lane, for a team within one warp."""
    return np.int64(cuda.threadIdx.x & (WARP - lanes))


@jitable
def members(lanes: int) -> Any:
    """Return the team as a mask of the lanes of its warp."""
    within = min(lanes, WARP)
    return ((1 << within) - 1) << first_lane(within)


@jitable
def sync(lanes: int) -> None:
    """Wait for all lanes of the team: each then reads what any of them wrote before the call."""
    cuda.syncwarp(members(lanes))
    if lanes > WARP:
        block_barrier()


@jitable
def maximum(value: float, lanes: int) -> float:
    """Return the largest value of all lanes."""
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
    """Return the sum over all lanes, in another order than the CPU's."""
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
    """Write the value of each warp of a team for all lanes, which can read it until they `sync`.

    found: the beginning of the shared memory of the block. A layout reserves room there.
    """
    if lane(WARP) == 0:
        found[lane(lanes) // WARP] = value
    sync(lanes)


@jitable
def value_of(value: float, place: int) -> float:
    """Return the value of lane `place` of this warp.

    All lanes of the warp must call this function, each with a `place` of its own.
    """
    return cuda.shfl_sync(0xFFFFFFFF, value, place)


@jitable
def broadcast(value: float, lanes: int) -> float:
    """Return the value of the first lane, in a team within one warp."""
    return cuda.shfl_sync(members(lanes), value, first_lane(lanes))
