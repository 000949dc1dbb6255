"""The 65 problems with homogeneous noise: arms of the library, linear rewards, one noise each."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.protocols import ArmSet
from ...parts.arms import Fixed, FromArray, PerRound
from ...parts.links import Identity
from ...simulation.problem import Problem, check_problem
from .parts import Reversal, ShopArms
from .worlds import NOISES

Floats = NDArray[np.float64]
INTERCEPT = 20.0  # effect of the constant feature, in those of the others


class Spec(NamedTuple):
    """One problem: arms of a kind, `size` of them in `dim` dimensions; a noise times a factor.

    Kinds: "fresh" and "fixed" arms of any sign, "positive" fixed ones, "context": one block of
    features per arm, "one-hot", and "intercept", "fixed intercept": a constant feature whose
    effect is twenty times that of any other. With `drifts`, effects change places and signs
    in the middle.
    """

    kind: str
    dim: int
    size: int
    noise: str
    noise_scale: float
    drifts: bool = False

    @property
    def name(self) -> str:
        words = f"{self.kind}, d {self.dim}, K {self.size}, {self.noise} x {self.noise_scale:g}"
        return f"{words}, drifting" if self.drifts else words

    @property
    def still(self) -> bool:
        """Return True if arms never change."""
        return self.kind in ("fixed", "positive", "one-hot", "fixed intercept")

    @property
    def draws_effects(self) -> bool:
        """Return True if every run has its own effects."""
        return self.kind in ("one-hot", "context")


_SKETCH = [
    Spec(kind, 10, 20, noise, level)
    for kind in ("fresh", "fixed", "positive")
    for noise in ("t1.5", "t3", "pareto1.5", "pareto3", "gauss")
    for level in (0.05, 0.5, 5.0)
]
_OTHERS = [
    Spec("fresh", 2, 5, "t1.5", 0.5),
    Spec("fixed", 2, 2, "gauss", 0.5),
    Spec("fixed", 3, 200, "t3", 0.5),
    Spec("fixed", 10, 200, "lognormal", 0.5),
    Spec("fresh", 40, 10, "t3", 0.5),
    Spec("fixed", 40, 60, "gauss", 0.5),
    Spec("fixed", 100, 10, "t3", 0.3),
    Spec("context", 78, 6, "pareto1.5", 0.3),
    Spec("context", 24, 4, "lognormal", 0.5),
    Spec("context", 24, 4, "1% outliers", 0.5),
    Spec("one-hot", 10, 10, "gauss", 0.5),
    Spec("one-hot", 10, 10, "t1.5", 0.3),
    Spec("one-hot", 30, 30, "pareto3", 0.3),
    Spec("intercept", 10, 10, "t3", 1.0),
    Spec("intercept", 10, 10, "lognormal", 0.3),
    Spec("fixed intercept", 10, 20, "gauss", 1.0),
    Spec("fixed intercept", 10, 20, "pareto3", 1.0),
    Spec("fresh", 10, 20, "t3", 0.5, drifts=True),
    Spec("fresh", 10, 20, "gauss", 0.5, drifts=True),
    Spec("fresh", 10, 20, "pareto1.5", 0.5, drifts=True),
]
PROBLEMS: dict[str, Spec] = {spec.name: spec for spec in _SKETCH + _OTHERS}


def make_arms(spec: Spec) -> ArmSet:
    """Return the arms of a problem."""
    if spec.kind == "one-hot":
        return FromArray(np.eye(spec.dim))
    if spec.kind in ("fresh", "fixed"):
        return (PerRound if spec.kind == "fresh" else Fixed)(spec.size, spec.dim, -1.0)
    if spec.kind == "positive":
        return Fixed(spec.size, spec.dim)
    return ShopArms(spec.size, spec.dim, spec.kind == "context", spec.kind == "fixed intercept")


def make_theta(spec: Spec, seed: int, repetition: int) -> Floats:
    """Return the effects: all equal, or drawn if arms are not."""
    rng = np.random.default_rng([seed, repetition])
    if spec.kind == "one-hot":
        return rng.random(spec.dim)
    if spec.kind == "context":
        return rng.normal(size=spec.dim)
    theta = np.ones(spec.dim)
    if spec.kind in ("intercept", "fixed intercept"):
        theta[0] = INTERCEPT
        return theta
    return np.asarray(theta / np.sqrt(spec.dim))


def make_problem(spec: Spec, scale: float, seed: int, repetition: int, horizon: int = 0) -> Problem:
    """Return the problem with its rewards times `scale`; a drift is in the middle of `horizon`."""
    noise = rescale(NOISES[spec.noise], scale * spec.noise_scale)
    theta = scale * make_theta(spec, seed, repetition)
    drift = Reversal(max(1, horizon // 2)) if spec.drifts else None
    return check_problem(Problem(make_arms(spec), Identity(), noise, theta, drift))


def rescale(noise: Any, factor: float) -> Any:
    """Return the noise times a factor, whatever its scale is called.

    >>> from heavybandits.noises import Contaminated, Gaussian, StudentT
    >>> rescale(Contaminated(Gaussian(1.0), StudentT(3.0)), 2.0).outlier
    StudentT(dof=3.0, scale=2.0)
    """
    if hasattr(noise, "base"):
        parts = {name: rescale(getattr(noise, name), factor) for name in ("base", "outlier")}
        return noise._replace(**parts)
    name = "scale" if hasattr(noise, "scale") else "minimum"
    return noise._replace(**{name: factor * getattr(noise, name)})


def largest_gap(spec: Spec, problem: Problem, key: Any) -> float:
    """Return the largest gap between the best and the worst arm, in the first sets of arms."""
    buffer, gap = problem.arms.make_buffer(), 0.0
    for play in range(1 if problem.arms.redraw == "never" else 20):
        problem.arms.refresh(buffer, key, play)
        means = problem.theta @ buffer.features[:, : spec.size]
        gap = max(gap, float(means.max() - means.min()))
    return gap
