"""The search for a constant: one grid for all that are compared, which grows as needed.

This module does not know what a hyperparameter does: losses come from a function, and the smallest
mean wins. A value that is best at an end of the grid, or as good as it, is not accepted: the
grid grows at that end by its ratio, for all of them, until every optimum is inside or the stated
range is used up. Then the choice says so.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.statistics import Array
from .._utils.validation import positive, whole

TUNING_SEEDS = 1_000_000  # added to the seed, so that no tuning run is ever reported
SAME = 1e-9  # of an end of the range, which powers of a ratio may miss by so much
CLOSE = 0.01  # constants whose ratio differs less from 1 would be the same if they were rounded
MOST = 10_000  # steps by which a grid may grow
LEVEL = 0.01  # means that differ by less than this share of the smallest count as equal
FIRST = (1e-4, 1.0)  # the default ends of a grid
INSIDE, FLAT = "inside", "flat"

Curve = Mapping[float, Array]  # the losses at each constant, one per repetition
Group = TypeVar("Group", bound=Hashable)
Member = TypeVar("Member", bound=Hashable)


def log_grid(size: int, low: float = FIRST[0], high: float = FIRST[1]) -> list[float]:
    """`size` log-spaced values, both ends included, rounded to four digits.

    >>> log_grid(5)
    [0.0001, 0.001, 0.01, 0.1, 1.0]
    """
    return [rounded(c) for c in np.geomspace(low, high, size)]


def rounded(constant: float) -> float:
    return float(f"{constant:.4g}")


class Choice(NamedTuple):
    """Store the value with the smallest mean loss, and its position on the curve.

    Attributes
    ----------
    constant : float
        The best value of the hyperparameter.
    at : str
        "inside" if the loss is larger at both ends of the grid; "flat" if it is the same
        everywhere; "flat below" or "flat above" if it is the same from the optimum to that end;
        "lower end" or "upper end" if it still falls there. A choice that is not "inside" depends on
        the grid.
    loss : float
        The mean loss at this value.
    """

    constant: float
    at: str
    loss: float

    @property
    def inside(self) -> bool:
        return self.at == INSIDE


def choose(curve: Curve) -> Choice:
    """Return the best value of a curve; of equals the smallest.

    >>> def at(*means: float) -> str:
    ...     return choose({float(i): np.array([mean]) for i, mean in enumerate(means)}).at
    >>> at(3, 1, 2), at(1, 2, 3), at(3, 2, 2), at(2, 2, 2)
    ('inside', 'lower end', 'flat above', 'flat')
    """
    constants = sorted(curve)
    means = [float(np.mean(curve[c])) for c in constants]
    if any(math.isnan(mean) for mean in means):
        raise InvalidInputError(f"losses must be numbers, got NaN among {means}")
    best = min(range(len(means)), key=means.__getitem__)
    level = [mean <= means[best] + LEVEL * abs(means[best]) for mean in means]
    return Choice(constants[best], _place(level), means[best])


def _place(level: Sequence[bool]) -> str:
    """Return where the optimum is, given which points of the curve are as low as it."""
    if all(level):
        return FLAT
    words = ["flat below" if level[1] else "lower end"] if level[0] else []
    words += ["flat above" if level[-2] else "upper end"] if level[-1] else []
    return " and ".join(words) or INSIDE


def has_no_effect(curve: Curve) -> bool:
    """Return True if every run has the same loss at every value.

    >>> has_no_effect({0.1: np.array([1.0, 2.0]), 1.0: np.array([1.0, 2.0])})
    True
    """
    first, *others = curve.values()
    return all(np.array_equal(first, losses) for losses in others)


def warnings_of(name: str, choices: Mapping[str, Choice], curves: Mapping[str, Curve]) -> list[str]:
    """Return what to say of a policy whose choices, by problem, are not inside their grids.

    >>> curve = {0.1: np.array([1.0]), 1.0: np.array([2.0])}
    >>> warnings_of("LinUCB", {"p": choose(curve)}, {"p": curve})[0].partition(":")[0]
    'the best value of LinUCB is not inside its grid'
    """
    dead = [place for place in choices if has_no_effect(curves[place])]
    ends = [
        f"{c.at} (c = {c.constant:g}) on {place}"
        for place, c in choices.items()
        if not c.inside and place not in dead
    ]
    found = []
    if dead:
        found.append(
            f"the value of {name} has no effect on {', '.join(dead)}: all runs are the same at "
            "every value. If that is meant, pass the policy itself, or a function of `problem`"
        )
    if ends:
        found.append(
            f"the best value of {name} is not inside its grid: {', '.join(ends)}. Its result "
            "measures the grid: pass wider bounds"
        )
    return found


def remark(choices: Mapping[str, Choice]) -> str:
    """Return which choices are not inside their grids, in words; empty if all do.

    >>> remark({"a": Choice(1.0, "flat", 3.0), "b": Choice(1.0, "inside", 3.0)})
    'not inside the grid: a (flat)'
    """
    found = [f"{name} ({choice.at})" for name, choice in choices.items() if not choice.inside]
    return f"not inside the grid: {', '.join(found)}" if found else ""


def mean_losses(curve: Curve) -> dict[float, float]:
    """Return the mean loss at every value, the smallest value first."""
    return {c: float(np.mean(curve[c])) for c in sorted(curve)}


def search(
    evaluate: Callable[[Sequence[tuple[Group, Member, float]]], Iterable[Any]],
    members: Mapping[Group, Sequence[Member]],
    start: Sequence[float],
    bounds: tuple[float, float],
    ahead: Callable[[Sequence[tuple[Group, Member, float]]], Any] | None = None,
) -> dict[tuple[Group, Member], dict[float, Array]]:
    """Return the curve of every member; those of one group are compared, and have one grid.

    evaluate: the losses at points (group, member, value), one per repetition.
    bounds: the range in which a grid may grow; with the ends of `start` it stays as it is.
    ahead: called first with all points that might be asked for later: a GPU has room for all of
        them at once, and takes no longer than for the first.

    >>> def evaluate(points):
    ...     return [np.array([abs(np.log10(c) - best)]) for _, best, c in points]
    >>> found = search(evaluate, {"g": [-1, 2]}, log_grid(3, 0.1, 10.0), (1e-3, 1e3))
    >>> {member: choose(curve).constant for (_, member), curve in found.items()}
    {-1: 0.1, 2: 100.0}
    >>> list(mean_losses(found["g", -1]))  # the same grid for both
    [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
    """
    curves: dict[tuple[Group, Member], dict[float, Array]] = {
        (group, member): {} for group, mine in members.items() for member in mine
    }
    ratio = (start[-1] / start[0]) ** (1.0 / (len(start) - 1))
    wanted: dict[Group, Sequence[float]] = dict.fromkeys(members, start)
    if ahead is not None:
        ahead([(*pair, constant) for pair in curves for constant in widest(start, ratio, bounds)])
    while any(wanted.values()):
        points = [(group, member, c) for group, member in curves for c in wanted[group]]
        for (group, member, c), losses in zip(points, evaluate(points), strict=True):
            curves[group, member][c] = np.asarray(losses, dtype=np.float64)
        wanted = {
            group: grown([curves[group, member] for member in mine], start, ratio, bounds)
            for group, mine in members.items()
        }
    return curves


def widest(start: Sequence[float], ratio: float, bounds: tuple[float, float]) -> list[float]:
    """Return all values that a grid may contain.

    >>> widest([0.1, 1.0], 10.0, (0.01, 200.0))
    [0.01, 0.1, 1.0, 10.0, 100.0]
    """
    found = list(start)
    while below := step(found, start, 1.0 / ratio, bounds):
        found.insert(0, below)
    while above := step(found, start, ratio, bounds):
        found.append(above)
    return found


def step(
    tried: Collection[float], start: Sequence[float], ratio: float, bounds: tuple[float, float]
) -> float | None:
    """The next value beyond those tried, or None beyond the range; counted from the end of
    `start`, so that what is rounded for people does not add up.

    >>> [step([0.1, 1.0, 3.162], [0.1, 1.0], 10**0.5, (0.1, end)) for end in (9.0, 10.0)]
    [None, 10.0]
    >>> step([1.0, 1.00001], [1.0, 1.00001], 1.00001, (0.5, 2.0)) > 1.00001
    True
    """
    end = start[0] if ratio < 1.0 else start[-1]
    beyond = sum((constant < end) if ratio < 1.0 else (constant > end) for constant in tried)
    exact = end * ratio ** (beyond + 1)
    if not bounds[0] * (1.0 - SAME) <= exact <= bounds[1] * (1.0 + SAME):
        return None
    near = rounded(exact) if abs(ratio - 1.0) > CLOSE else exact
    found = min(max(near, bounds[0]), bounds[1])
    return found if found < min(tried) or found > max(tried) else None


def grown(
    curves: Sequence[Curve], start: Sequence[float], ratio: float, bounds: tuple[float, float]
) -> list[float]:
    """Return the values to try next: one beyond each end at which some curve has not risen.

    A curve on which the value has no effect at all asks for none.
    """
    words = [choose(curve).at for curve in curves if not has_no_effect(curve)]
    below, above = (step(curves[0], start, by, bounds) for by in (1.0 / ratio, ratio))
    new = []
    if below and any(at == FLAT or "lower" in at or "below" in at for at in words):
        new.append(below)
    if above and any(at == FLAT or "upper" in at or "above" in at for at in words):
        new.append(above)
    return new


def check_range(bounds: Any) -> tuple[float, float]:
    """Return the range in which a grid may grow.

    >>> check_range(5)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: bounds must be a pair (low, high), got 5
    """
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise InvalidInputError(f"bounds must be a pair (low, high), got {bounds!r}")
    low, high = (positive("bounds", end) for end in bounds)
    if not low < high:
        raise InvalidInputError(
            f"bounds must be a pair (low, high) with low < high, got {bounds!r}"
        )
    return low, high


def check_grid(grid: int | Iterable[float], bounds: tuple[float, float]) -> list[float]:
    """Return the values to begin with, inside the range in which they may grow.

    A number of them is in [1e-4, 1], or in what the range leaves of it.

    >>> check_grid([1.0, 10.0], bounds=(0.1, 5.0))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: grid must be within (0.1, 5), got 10
    >>> check_grid([1.0, 1.0 + 1e-9], bounds=(0.1, 5.0))
    Traceback (most recent call last):
    heavybandits.InvalidInputError: grid must reach the bounds (0.1, 5) in 10000 steps, got
    steps by 1.000000001: pass fewer values, or closer bounds
    """
    low, high = check_range(bounds)
    ends = (max(low, FIRST[0]), min(high, FIRST[1]))
    made = grid
    if not isinstance(made, Iterable):
        size = whole("grid", grid, least=2)
        made = log_grid(size, *(ends if ends[0] < ends[1] else (low, high)))
    found = sorted({positive("grid", constant) for constant in made})
    if len(found) < 2:
        raise InvalidInputError(f"grid must have at least two values, got {found}")
    for constant in (found[0], found[-1]):
        if not low <= constant <= high or not math.isfinite(constant):
            raise InvalidInputError(f"grid must be within ({low:g}, {high:g}), got {constant:g}")
    ratio = (found[-1] / found[0]) ** (1.0 / (len(found) - 1))
    if math.log(high / low) > MOST * math.log(ratio):
        raise InvalidInputError(
            f"grid must reach the bounds ({low:g}, {high:g}) in {MOST} steps, "
            f"got steps by {ratio}: "
            "pass fewer values, or closer bounds"
        )
    return found
