"""What the commands share: options, problems written on a command line, output for machines."""

import json
import math
from collections.abc import Callable
from typing import Any

import click

from .. import links, noises
from ..arms import Fixed, Fresh, Frozen
from ..simulation.problem import Problem
from ..support.errors import InvalidInput

LINKS: dict[str, Any] = {
    "logistic": links.Logistic(),
    "identity": links.Identity(),
    "probit": links.Probit(),
    "exponential": links.Exponential(),
}
ARM_SETS = {"fixed": Fixed, "frozen": Frozen, "fresh": Fresh}

# name: (how to make it from the numbers after the colon, what they are)
NOISES: dict[str, tuple[Callable[..., Any], str]] = {
    "t": (noises.StudentT, "degrees of freedom, scale"),
    "pareto": (noises.Pareto, "shape, minimum; centred"),
    "pareto-raw": (lambda shape=3.0, low=0.01: noises.Pareto(shape, low, False), "shape, minimum"),
    "symmetric-pareto": (noises.SymmetricPareto, "shape, minimum"),
    "gaussian": (noises.Gaussian, "scale"),
    "laplace": (noises.Laplace, "scale"),
    "lognormal": (noises.LogNormal, "sigma, ..."),
    "stable": (noises.AlphaStable, "alpha, skew, scale"),
}


def make_noise(text: str) -> Any:
    """A noise from its name and numbers.

    >>> make_noise("t:3:0.5")
    StudentT(dof=3.0, scale=0.5)
    """
    name, *numbers = text.split(":")
    if name not in NOISES:
        raise InvalidInput(f"noise must be one of {', '.join(NOISES)}, got {name!r}")
    try:
        return NOISES[name][0](*(float(number) for number in numbers))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"noise {name} takes numbers after colons ({NOISES[name][1]}), got {text!r}"
        ) from error


def finite_moment(noise: Any) -> float:
    """The largest comfortable epsilon: 1 if the variance is finite, else four fifths of the way.

    >>> finite_moment(noises.StudentT(3.0)), finite_moment(noises.StudentT(1.5))
    (1.0, 0.4)
    """
    index = float(noise.tail_index())
    if index <= 1.0:
        raise InvalidInput(f"noise must have a mean, got one of tail index {index:g}")
    return 1.0 if index > 2.0 else 0.8 * (index - 1.0)


def problem_options(command: Any) -> Any:
    """The options that describe a problem."""
    for option in (
        click.option(
            "--link", type=click.Choice(list(LINKS)), default="logistic", show_default=True
        ),
        click.option(
            "--noise",
            default="t:3",
            show_default=True,
            help="Name and numbers: t:3, pareto:3:0.01, pareto-raw:3:0.01, gaussian:1, stable:1.5.",
        ),
        click.option(
            "--changes",
            type=click.Choice(list(ARM_SETS)),
            default="fixed",
            show_default=True,
            help="Arms that stand still, change at every decision, or at every play.",
        ),
        click.option("--arms", default=20, show_default=True, help="Number of arms K."),
        click.option("--dim", default=10, show_default=True, help="Dimension d."),
    ):
        command = option(command)
    return command


def make_problem(dim: int, arms: int, changes: str, noise: str, link: str) -> Problem:
    """The problem that the options describe."""
    return Problem(ARM_SETS[changes](arms, dim), LINKS[link], make_noise(noise))


def run_options(command: Any) -> Any:
    """Horizon, repetitions, seed, jobs and output."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Machine-readable output."),
        click.option("--quiet", is_flag=True, help="No progress."),
        click.option("--jobs", type=click.IntRange(1), help="Threads; all cores by default."),
        click.option("--seed", default=0, show_default=True, help="Of everything random."),
        click.option("--repetitions", default=10, show_default=True),
        click.option("--horizon", default=10_000, show_default=True, help="Plays T."),
    ):
        command = option(command)
    return command


def print_json(value: Any) -> None:
    """JSON on stdout; numbers that JSON cannot hold become null."""
    click.echo(json.dumps(jsonable(value), indent=1, allow_nan=False))


def jsonable(value: Any) -> Any:
    """The value in plain JSON.

    >>> jsonable({"a": (1.5, math.inf)})
    {'a': [1.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
