"""What the commands share: options, problems written on a command line, output for machines."""

import json
from collections.abc import Mapping
from typing import Any

import click

from .._utils.errors import InvalidInputError
from .._utils.files import jsonable
from ..core.protocols import KnownNoise
from ..parts import arms, links, noises
from ..simulation.problem import Problem, check_problem
from ..simulation.run import DEVICES
from .parameters import COUNT, REPETITIONS, SEED, WORKERS, NamedPart, Number, OneOf

LINK = NamedPart("link", links.REGISTRY)
LARGEST = 10**8  # numbers in one array: 0.8 GB


def finite_moment(noise: KnownNoise) -> float:
    """The largest comfortable epsilon: 1 if the variance is finite, else four fifths of the way.

    >>> finite_moment(noises.StudentT(3.0)), finite_moment(noises.StudentT(1.5))
    (1.0, 0.4)
    """
    index = float(noise.tail_index())
    if index <= 1.0:
        raise InvalidInputError(f"noise must have a mean, got one of tail index {index:g}")
    return 1.0 if index > 2.0 else 0.8 * (index - 1.0)


def problem_options(command: Any) -> Any:
    """The options that describe a problem."""
    for option in (
        click.option("--link", type=LINK, default="logistic", show_default=True),
        click.option(
            "--noise",
            type=NamedPart("noise", noises.REGISTRY),
            metavar="NAME[:NUMBER]...",
            default="t:3",
            show_default=True,
            help=f"Such as t:3 or pareto:3:0.01. NAME is {', '.join(noises.REGISTRY)}.",
        ),
        click.option(
            "--changes",
            type=OneOf(arms.REGISTRY),
            default="never",
            show_default=True,
            help="Arms: one set for ever, new ones at every decision, or at every play.",
        ),
        click.option(
            "--low",
            type=Number(-1.0, 1.0),
            default=0.0,
            show_default=True,
            help="Arms are uniform on [low, 1]^d, scaled to length 1; -1 has all directions.",
        ),
        click.option("--arms", type=COUNT, default=20, show_default=True, help="Number of arms K."),
        click.option("--dim", type=COUNT, default=10, show_default=True, help="Dimension d."),
    ):
        command = option(command)
    return command


def make_problem(given: Mapping[str, Any]) -> Problem:
    """The problem that the options describe."""
    size, dim = given["arms"], given["dim"]
    if dim * max(dim, size) > LARGEST:
        raise InvalidInputError(
            f"dim x dim and dim x arms must be at most {LARGEST:.0e}, got dim {dim}, {size} arms"
        )
    features = arms.REGISTRY[given["changes"]].make(size, dim, given["low"])
    return check_problem(Problem(features, given["link"], given["noise"]))


def run_options(command: Any) -> Any:
    """Horizon, repetitions, seed, jobs and output."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Machine-readable output."),
        click.option("--quiet", is_flag=True, help="No progress."),
        click.option("--jobs", type=WORKERS, help="Threads; all cores by default."),
        click.option(
            "--device",
            type=click.Choice(DEVICES),
            default="cpu",
            show_default=True,
            help="cuda plays on an NVIDIA GPU.",
        ),
        click.option(
            "--seed", type=SEED, default=0, show_default=True, help="Of everything random."
        ),
        click.option(
            "--repetitions",
            type=REPETITIONS,
            default=10,
            show_default=True,
            help="Runs of each algorithm.",
        ),
        click.option("--horizon", type=COUNT, default=10_000, show_default=True, help="Plays T."),
    ):
        command = option(command)
    return command


def print_json(value: Any) -> None:
    """JSON on stdout; numbers that JSON cannot hold become null."""
    click.echo(json.dumps(jsonable(value), indent=1, allow_nan=False))
