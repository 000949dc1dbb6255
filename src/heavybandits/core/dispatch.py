"""The verbs: one free function for each question that compiled code asks a part.

A verb calls the method of its name, in Python by attribute and in compiled code by the type of the
part, so the same text runs both ways. Names, parameters and meaning are those of the contract. To
add a kind of part is to add a contract, its verbs here and one call in the loop.
"""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba.extending import overload

from .._utils.errors import PartError
from .jit import OPTIONS
from .protocols import (
    ArmSet,
    Estimator,
    Extras,
    Filter,
    Link,
    ManyMeans,
    Noise,
    Observer,
    PerArmEstimator,
    Policy,
    Projection,
    Radius,
    Tallied,
    TimeRadius,
)

F = TypeVar("F", bound=Callable[..., Any])


def verb(
    method: F,
    inline: bool = False,
    default: Callable[..., Any] | None = None,
    inherit: bool = False,
) -> F:
    """The verb of a method of a contract: compiled, it becomes that method of the part's class.

    With a `default` the method may be missing. One that is only inherited counts as missing, unless
    `inherit` is set: it knows nothing of what the class has changed. What is called once per round
    with states and views by value is inlined: then their arrays stay in registers.
    """
    name, signature = method.__name__, inspect.signature(method)
    returns = signature.return_annotation

    def missing(part: type) -> bool:
        return not hasattr(part, name) if inherit else name not in vars(part)

    def ask(self: Any, *arguments: Any) -> Any:
        if default is not None and missing(type(self)):
            return default(self, *arguments)
        answer = getattr(self, name)(*arguments)
        if answer is None and returns is not None:
            raise _no_answer(type(self), name, returns)
        return answer

    def resolve(*arguments: Any) -> Callable[..., Any]:
        part = arguments[0].instance_class
        return default if default and missing(part) else _method(part, name)

    signature = _bare(signature)
    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = method.__doc__
    ask.__signature__ = resolve.__signature__ = signature  # type: ignore[attr-defined]
    overload(ask, jit_options={"forceinline": inline, **OPTIONS})(resolve)
    return cast(F, ask)


def _no_answer(part: type, name: str, returns: Any) -> PartError:
    code, wanted = getattr(part, name).__code__, inspect.formatannotation(returns)
    place = f"{part.__name__}.{name}, line {code.co_firstlineno}"
    return PartError(f"{place}: it ends without a return, and must return {wanted}")


def _bare(signature: inspect.Signature) -> inspect.Signature:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


@functools.cache
def _method(part: type, name: str) -> Callable[..., Any]:
    """The method without its annotations: numba compares them with the verb's."""
    method = getattr(part, name)
    return types.FunctionType(method.__code__, method.__globals__, name, method.__defaults__)


mean = verb(Link.mean)


def _each_mean(self, z, out):  # type: ignore[no-untyped-def]
    for j in range(out.size):
        out[j] = mean(self, z[j])


def _certain(self, state):  # type: ignore[no-untyped-def]
    return 1.0


means = verb(ManyMeans.means, default=_each_mean)
slope = verb(Link.slope)
draw = verb(Noise.draw)
refresh = verb(ArmSet.refresh)
top = verb(ArmSet.top, inline=True)
maximise = verb(ArmSet.maximise, inline=True)
clean = verb(Filter.clean)
project = verb(Projection.project, inline=True)
predict = verb(Estimator.predict)
update = verb(Estimator.update, inline=True)
radius = verb(Radius.radius)
squared = verb(TimeRadius.squared)
estimate_arms = verb(PerArmEstimator.estimate_arms)
arm_width = verb(PerArmEstimator.arm_width)
remember = verb(PerArmEstimator.remember)
choose = verb(Policy.choose, inline=True)
learn = verb(Policy.learn, inline=True)
estimate_arm = verb(Policy.estimate_arm)
propensity = verb(Extras.propensity, default=_certain, inherit=True)
tally = verb(Tallied.tally)
observe = verb(Observer.observe)
