"""Dispatch functions: one free function for each method of a part that compiled code calls.

`mean(link, z)` calls the method `mean` of the part: in Python by attribute, in compiled code by the
type of the part. So the same text runs both ways. Names, parameters and meaning are those of the
contract. A new kind of part needs a contract, its functions here and one call in the loop.

Methods of classes that are not the library's are compiled with a check of every index, and what
they return uncompiled is compared with the contract.
"""

import functools
import inspect
import math
import numbers
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast, get_args, get_origin

import numpy as np
from numba.extending import overload

from .._utils.errors import PartError
from . import protocols
from .confidence_region import measure, norm_of
from .linalg import dot
from .numba_internals import class_of, options
from .part_errors import PACKAGE, Place

F = TypeVar("F", bound=Callable[..., Any])

DISPATCHED: set[str] = set()  # names of the methods that compiled code calls
# They return finite numbers.
FINITE = frozenset({"mean", "slope", "draw", "reward", "attack", "top", "apply", "predict"})


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
        kind: type = type(self)
        if not is_own(kind):
            return value
        check_returned(kind, name, value, returns)
        if name == "choose":
            _check_choice(kind, value, *arguments[1:])
        return value

    def resolve(part: Any) -> Callable[..., Any]:
        known = class_of(part)
        return default if default and missing(known) else _method(known, name)

    def resolve_own(part: Any) -> Callable[..., Any] | None:
        return resolve(part) if is_own(class_of(part)) else None

    DISPATCHED.add(name)
    signature = _without_annotations(signature)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.__doc__
    call.__signature__ = signature  # type: ignore[attr-defined]
    wanted = options(forceinline=inline, no_cfunc_wrapper=True)
    overload(call, jit_options=wanted)(_with_parameters(signature, resolve))
    # A CPU prefers this one. A GPU cannot check indices.
    checked = overload(call, jit_options=wanted | {"boundscheck": True}, target="cpu")
    checked(_with_parameters(signature, resolve_own))
    return cast(F, call)


@functools.cache
def is_own(part: type) -> bool:
    """Return True for a class that is not the library's.

    >>> from heavybandits.links import Logistic
    >>> is_own(Logistic)
    False
    """
    return part.__module__.partition(".")[0] not in (PACKAGE, "builtins")


def check_returned(part: type, name: str, value: Any, returns: Any) -> Any:
    """Return what a method returned; raise PartError if it is not of the type of the contract.

    >>> check_returned(type("Mine", (), {}), "mean", "1", float)
    Traceback (most recent call last):
    heavybandits.PartError: Mine.mean: it returned '1', and must return float
    """
    wanted = inspect.formatannotation(returns).removeprefix(f"{protocols.__name__}.")
    if _is_of(value, returns):
        unknown = returns is float and (value != value or (name in FINITE and math.isinf(value)))
        if not unknown:
            return value
        wanted = "a finite number" if name in FINITE else "a number"
    said = "ends without a return" if value is None else f"returned {value!r:.80}"
    raise _error(part, name, f"it {said}, and must return {wanted}")


def _check_choice(part: type, arm: int, arms: Any, buffer: Any) -> None:
    """Raise PartError if a policy returns another arm than it copies into buffer.chosen."""
    if arms.size == 0:
        return
    if not 0 <= arm < arms.size or buffer.penalty[arm] == math.inf:
        raise _error(part, "choose", f"it returned {arm}, which is none of the available arms")
    if not np.array_equal(buffer.chosen, buffer.features[:, arm]):
        wrong = f"it returned {arm}, but buffer.chosen is another arm: call take(buffer, arm)"
        raise _error(part, "choose", wrong)


def _error(part: type, name: str, wrong: str) -> PartError:
    code = getattr(getattr(part, name, None), "__code__", None)
    label = f"{part.__name__}.{name}"
    if code is None:
        return PartError(f"{label}: {wrong}")
    place = Place(label, code.co_filename, code.co_firstlineno)
    return PartError(f"{place}: {wrong}\n{place.quoted()}")


def _is_of(value: Any, returns: Any) -> bool:
    if returns is bool:
        return isinstance(value, bool | np.bool_)
    if returns is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if returns is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    wanted = [int] * 3 if returns is protocols.Tally else get_args(returns)
    if returns is not protocols.Tally and get_origin(returns) is not tuple:
        return True  # nothing is read of it
    fits = isinstance(value, tuple) and len(value) == len(wanted)
    return fits and all(map(_is_of, value, wanted))


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
    code, names = method.__code__, method.__globals__
    return types.FunctionType(code, names, name, method.__defaults__, method.__closure__)


def count_arms(arms: Any) -> int:
    """Return `arms.size`, 0 for a continuous set.

    Compiled code reads the fields of a part, but not its properties. In some arm sets `size` is a
    field, in others a property.

    Parameters
    ----------
    arms : ArmSet
        The arm set.

    Returns
    -------
    int
        The number of arms.

    Examples
    --------
    >>> import numpy as np
    >>> from heavybandits.arms import FromArray
    >>> count_arms(FromArray(np.eye(3)))
    3
    """
    return int(arms.size)


@overload(count_arms, jit_options=options(no_cfunc_wrapper=True), strict=False)
def _count_compiled(arms):  # type: ignore[no-untyped-def]
    size = getattr(class_of(arms), "size", None)
    return size.fget if isinstance(size, property) else lambda arms: arms.size


def _each_mean(self, z, out):  # type: ignore[no-untyped-def]
    for j in range(out.size):
        out[j] = mean(self, z[j])


def _certain(self, state):  # type: ignore[no-untyped-def]
    return 1.0


def _best_by_inverse(self, estimate, arms, buffer, width):  # type: ignore[no-untyped-def]
    return maximise(arms, buffer, estimate.region, width)


def _norm_by_inverse(self, estimate, x):  # type: ignore[no-untyped-def]
    return norm_of(estimate.region, x)


def _measure_by_inverse(self, estimate, x):  # type: ignore[no-untyped-def]
    return measure(estimate.region, x)


def _score_by_centre(self, estimate, x):  # type: ignore[no-untyped-def]
    return dot(x, estimate.region.centre)


def _add_noise(self, mean, x, noise, key, play):  # type: ignore[no-untyped-def]
    return mean + noise


def _stay(self, theta, start, key, play):  # type: ignore[no-untyped-def]
    return False


def _watch_nothing(self, memory, policy, state, theta):  # type: ignore[no-untyped-def]
    pass


def _mark_nothing(self, policy, state, theta, buffer, reward):  # type: ignore[no-untyped-def]
    pass


def _no_threshold(self, memory):  # type: ignore[no-untyped-def]
    return math.nan


mean = dispatched(protocols.Link.mean)
means = dispatched(protocols.ManyMeans.means, default=_each_mean)
slope = dispatched(protocols.Link.slope)
draw = dispatched(protocols.Noise.draw)
reward = dispatched(protocols.ArmNoise.reward, default=_add_noise)
move = dispatched(protocols.Drift.move, default=_stay)
wait = dispatched(protocols.Delay.wait)
attack = dispatched(protocols.Adversary.attack)
refresh = dispatched(protocols.ArmSet.refresh)
top = dispatched(protocols.ArmSet.top, inline=True)
maximise = dispatched(protocols.ArmSet.maximise, inline=True)
apply = dispatched(protocols.Filter.apply)
project = dispatched(protocols.Projection.project, inline=True)
predict = dispatched(protocols.Estimator.predict)
update = dispatched(protocols.Estimator.update, inline=True)
best_arm = dispatched(protocols.ArmMeasure.best_arm, inline=True, default=_best_by_inverse)
arm_norm = dispatched(protocols.ArmMeasure.arm_norm, default=_norm_by_inverse)
measure_arm = dispatched(protocols.ArmMeasure.measure_arm, inline=True, default=_measure_by_inverse)
score_arm = dispatched(protocols.ArmMeasure.score_arm, inline=True, default=_score_by_centre)
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
mark = dispatched(protocols.CheckpointObserver.mark, default=_mark_nothing)
record = dispatched(protocols.Recorder.record)
watch = dispatched(protocols.Watcher.watch, default=_watch_nothing)
threshold_in_force = dispatched(protocols.Extras.threshold_in_force, default=_no_threshold)
