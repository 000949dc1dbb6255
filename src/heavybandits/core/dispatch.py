"""Dispatch functions: one free function for each method of a part that compiled code calls.

`mean(link, z)` calls the method `mean` of the part: in Python by attribute, in compiled code by the
type of the part. So the same text runs both ways. Names, parameters and meaning are those of the
contract. A new kind of part needs a contract, its functions here and one call in the loop.
"""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba.extending import overload

from .._utils.errors import PartError
from . import protocols
from .confidence_region import norm_of
from .numba_internals import class_of, options

F = TypeVar("F", bound=Callable[..., Any])


def dispatched(
    method: F,
    inline: bool = False,
    default: Callable[..., Any] | None = None,
    inherit: bool = False,
) -> F:
    """Make the dispatch function of a method of a contract.

    Parameters
    ----------
    method : function
        The method of the Protocol: it gives the name, the parameters and the docstring.
    inline : bool, default False
        Inline the compiled method. True for methods that are called once per round with states and
        buffers by value: inlined, their arrays stay in registers.
    default : function, optional
        Called where the class of the part does not define the method itself. An inherited method
        counts as missing: it does not know what the class has changed.
    inherit : bool, default False
        Call an inherited method nevertheless.
    """
    name, signature = method.__name__, inspect.signature(method)
    returns = signature.return_annotation

    def missing(part: type) -> bool:
        return not hasattr(part, name) if inherit else name not in vars(part)

    def call(self: Any, *arguments: Any) -> Any:
        if default is not None and missing(type(self)):
            return default(self, *arguments)
        value = getattr(self, name)(*arguments)
        if value is None and returns is not None:
            raise _no_return(type(self), name, returns)
        return value

    def resolve(part: Any) -> Callable[..., Any]:
        known = class_of(part)
        return default if default and missing(known) else _method(known, name)

    signature = _without_annotations(signature)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.__doc__
    call.__signature__ = signature  # type: ignore[attr-defined]
    wanted = options(forceinline=inline, no_cfunc_wrapper=True)
    overload(call, jit_options=wanted)(_with_parameters(signature, resolve))
    return cast(F, call)


def _no_return(part: type, name: str, returns: Any) -> PartError:
    code, wanted = getattr(part, name).__code__, inspect.formatannotation(returns)
    place = f"{part.__name__}.{name}, line {code.co_firstlineno}"
    return PartError(f"{place}: it ends without a return, and must return {wanted}")


def _without_annotations(signature: inspect.Signature) -> inspect.Signature:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def _with_parameters(signature: inspect.Signature, resolve: Callable[..., Any]) -> Any:
    """A function of these parameters that calls `resolve` with the first, `self`: numba compares
    the parameters with those of the method."""
    return eval(f"lambda {str(signature)[1:-1]}: resolve(self)", {"resolve": resolve})


@functools.cache
def _method(part: type, name: str) -> Callable[..., Any]:
    """Return the method without annotations, which numba would compare with the function's."""
    method = getattr(part, name)
    return types.FunctionType(method.__code__, method.__globals__, name, method.__defaults__)


def _each_mean(self, z, out):  # type: ignore[no-untyped-def]
    for j in range(out.size):
        out[j] = mean(self, z[j])


def _certain(self, state):  # type: ignore[no-untyped-def]
    return 1.0


def _best_by_inverse(self, estimate, arms, buffer, width):  # type: ignore[no-untyped-def]
    return maximise(arms, buffer, estimate.region, width)


def _norm_by_inverse(self, estimate, x):  # type: ignore[no-untyped-def]
    return norm_of(estimate.region, x)


mean = dispatched(protocols.Link.mean)
means = dispatched(protocols.ManyMeans.means, default=_each_mean)
slope = dispatched(protocols.Link.slope)
draw = dispatched(protocols.Noise.draw)
refresh = dispatched(protocols.ArmSet.refresh)
top = dispatched(protocols.ArmSet.top, inline=True)
maximise = dispatched(protocols.ArmSet.maximise, inline=True)
apply = dispatched(protocols.Filter.apply)
project = dispatched(protocols.Projection.project, inline=True)
predict = dispatched(protocols.Estimator.predict)
update = dispatched(protocols.Estimator.update, inline=True)
best_arm = dispatched(protocols.ArmMeasure.best_arm, inline=True, default=_best_by_inverse)
arm_norm = dispatched(protocols.ArmMeasure.arm_norm, default=_norm_by_inverse)
radius = dispatched(protocols.Radius.radius)
squared = dispatched(protocols.TimeRadius.squared)
estimate_arms = dispatched(protocols.PerArmEstimator.estimate_arms)
arm_width = dispatched(protocols.PerArmEstimator.arm_width)
remember = dispatched(protocols.PerArmEstimator.remember)
choose = dispatched(protocols.Policy.choose, inline=True)
learn = dispatched(protocols.Policy.learn, inline=True)
estimate_arm = dispatched(protocols.Policy.estimate_arm)
propensity = dispatched(protocols.Extras.propensity, default=_certain, inherit=True)
tally = dispatched(protocols.Tallied.tally)
observe = dispatched(protocols.Observer.observe)
