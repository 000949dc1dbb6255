"""The contracts: one free function for each question a part can be asked.

A part is a NamedTuple: its fields are constants, its methods are equations. A verb calls the
method of that name, in Python by attribute and in compiled code by the type of the part, so the
same text runs both ways. To add a kind of part is to add a verb here and one call in the loop.
"""

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

from numba.extending import overload

from .jitable import OPTIONS

F = TypeVar("F", bound=Callable[..., Any])


def _bare(signature: inspect.Signature) -> inspect.Signature:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


@functools.cache
def _method(part: type, name: str) -> Callable[..., Any]:
    """The method without its annotations: numba compares them with the verb's."""
    method = getattr(part, name)
    return types.FunctionType(method.__code__, method.__globals__, name, method.__defaults__)


# Called once a round with states and views by value: inlined, their arrays stay in registers.
_INLINED = {"choose", "maximise", "learn", "update", "top", "project"}


def verb(function: F) -> F:
    """Make a function a verb: compiled, it becomes the method of its name of the part's class."""

    def resolve(*arguments: Any) -> Callable[..., Any]:
        return _method(arguments[0].instance_class, function.__name__)

    resolve.__signature__ = _bare(inspect.signature(function))  # type: ignore[attr-defined]
    options = {"forceinline": function.__name__ in _INLINED, **OPTIONS}
    overload(function, jit_options=options)(resolve)
    return function


@verb
def mean(self: Any, z: float) -> float:
    """Link: the expected reward at z = x.theta."""
    return self.mean(z)


@verb
def draw(self: Any, key: Any, play: int) -> float:
    """Noise: the draw that belongs to this play of the stream `key`."""
    return self.draw(key, play)


@verb
def refresh(self: Any, view: Any, key: Any, play: int) -> bool:
    """Arm set: put the arms on offer at this play into the view; True if they are new."""
    return self.refresh(view, key, play)


@verb
def top(self: Any, view: Any, theta: Any) -> float:
    """Arm set: the largest x.theta on offer."""
    return self.top(view, theta)


@verb
def maximise(self: Any, view: Any, region: Any, width: float) -> int:
    """Arm set: the arm of the largest x.centre + width ||x||_{V^-1}, written into view.chosen."""
    return self.maximise(view, region, width)


@verb
def clean(self: Any, memory: Any, rewards: Any, norm: float, predicted: float) -> float:
    """Filter: the rewards of one decision made into one number."""
    return self.clean(memory, rewards, norm, predicted)


@verb
def project(self: Any, region: Any) -> bool:
    """Projection: bring the centre of the region back where it is allowed; True if it moved."""
    return self.project(region)


@verb
def predict(self: Any, estimate: Any, z: float) -> float:
    """Estimator: the mean reward it predicts at z = x.theta."""
    return self.predict(estimate, z)


@verb
def update(self: Any, estimate: Any, x: Any, reward: float, rewards: Any) -> None:
    """Estimator: learn from the cleaned reward of x (and, for some, from all rewards of it)."""
    self.update(estimate, x, reward, rewards)


@verb
def radius(self: Any, estimate: Any, t: int) -> float:
    """Radius: how far the confidence region reaches after t updates (not squared)."""
    return self.radius(estimate, t)


@verb
def squared(self: Any, t: int) -> float:
    """Radius: its square, the papers' gamma, where that is a function of t alone."""
    return self.squared(t)


@verb
def choose(self: Any, state: Any, arms: Any, view: Any) -> int:
    """Policy: pick an arm of the view; its features are then in view.chosen."""
    return self.choose(state, arms, view)


@verb
def learn(self: Any, state: Any, x: Any, rewards: Any) -> None:
    """Policy: learn from the rewards of one decision."""
    self.learn(state, x, rewards)


@verb
def estimate_arm(self: Any, state: Any, x: Any) -> tuple[float, float]:
    """Policy: the mean reward it expects of x, and the confidence width of x.theta."""
    return self.estimate_arm(state, x)


@verb
def tally(self: Any, state: Any) -> tuple[int, int, int]:
    """Policy: how many updates, projections and cut rewards there were so far."""
    return self.tally(state)


@verb
def estimate_arms(
    self: Any, memory: Any, stage: int, features: Any, alive: Any, estimates: Any, widths: Any
) -> None:
    """Base routine: mean and width of every living column, from the data of one stage."""
    self.estimate_arms(memory, stage, features, alive, estimates, widths)


@verb
def arm_width(self: Any, memory: Any, stage: int, x: Any) -> float:
    """Base routine: the confidence width of one arm, from the data of one stage."""
    return self.arm_width(memory, stage, x)


@verb
def remember(self: Any, memory: Any, stage: int, x: Any, rewards: Any) -> None:
    """Base routine: add the rewards of one decision to the data of one stage."""
    self.remember(memory, stage, x, rewards)
