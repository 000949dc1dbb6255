"""Options that commands share: their types, problems described by options, output as JSON."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from .._utils.errors import InvalidInputError
from .._utils.files import check_writable, jsonable
from .._utils.registry import Entry, make_named
from .._utils.validation import closest, did_you_mean
from ..algorithms.catalogue import ALGORITHMS, Setting, make_setting
from ..core.conformance import fault
from ..core.protocols import Adversary, Delay, Drift, KnownNoise, Policy
from ..parts import arms, links, noises, worlds
from ..simulation.problem import Problem, check_problem
from ..simulation.run import DEVICES
from ..simulation.shop import largest_moment, shop

LARGEST = 10**8  # numbers in one array: 0.8 GB


# ---- types


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number within two bounds."""

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.kind = click.INT if isinstance(least, int) else click.FLOAT
        self.name = self.kind.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = self.kind.convert(value, param, ctx)
        if not self.least <= number <= self.most:
            bounds = f"{self.least:.4g} and {self.most:.4g}"
            self.fail(f"{value} is not between {bounds}.", param, ctx)
        return number


COUNT, TWO = Number(1, 10**12), Number(2, 10**9)
REPETITIONS, WORKERS, SEED = Number(1, 10**5), Number(1, 1024), Number(0, 2**63 - 1)


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """One of some names, in upper or lower case. Names that a registry gets later count too."""

    name = "name"

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        known = {name.casefold(): name for name in self.names}
        if value.casefold() in known:
            return known[value.casefold()]
        close = closest(value, self.names)
        hint = f" Did you mean {close}?" if close else ""
        self.fail(f"{value!r} is not one of {', '.join(self.names)}.{hint}", param, ctx)

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        return f"[{'|'.join(self.names)}]"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        start = incomplete.casefold()
        return [CompletionItem(name) for name in self.names if name.casefold().startswith(start)]


class NamedPart(OneOf):
    """A part by its name and the numbers it takes, such as t:3:0.5."""

    def __init__(self, kind: str, registry: Mapping[str, Entry]) -> None:
        super().__init__(registry)
        self.registry, self.name = registry, kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return make_named(self.name, value, self.registry)
        except InvalidInputError as error:
            self.fail(str(error), param, ctx)


LINK, NOISE = NamedPart("link", links.REGISTRY), NamedPart("noise", noises.REGISTRY)
WORLD = NamedPart("world", worlds.REGISTRY)


class NewFile(click.ParamType):  # type: ignore[type-arg]
    """A file of a known format that can be written; checked before the work starts."""

    name = "file"

    def __init__(self, formats: tuple[str, ...]) -> None:
        self.formats = formats

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(value)
        if path.suffix.lower() not in self.formats:
            self.fail(f"{value!r} must end in one of {', '.join(self.formats)}.", param, ctx)
        try:
            check_writable(path)
        except InvalidInputError as error:
            self.fail(f"{value!r} cannot be written: {error}.", param, ctx)
        except OSError as error:
            self.fail(f"{value!r} cannot be written: {error.strerror}.", param, ctx)
        return path


TABLE, PICTURE = NewFile((".parquet", ".pq")), NewFile((".png", ".svg", ".pdf"))


class Folder(click.ParamType):  # type: ignore[type-arg]
    """A folder that can be written, or made."""

    name = "folder"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = Path(value)
        there = next(place for place in (path, *path.parents, Path("/")) if os.path.lexists(place))
        if not (there.is_dir() and os.access(there, os.W_OK)):
            self.fail(f"{value!r} cannot be written: {there} is no such folder.", param, ctx)
        return path


# ---- groups of options


def add_options(*options: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a decorator that gives a command all these options; help lists the last one first."""

    def decorate(command: Any) -> Any:
        for option in options:
            command = option(command)
        return command

    return decorate


def with_default(name: str, default: Any, text: str, **settings: Any) -> Callable[[Any], Any]:
    """Return an option whose help shows its default."""
    return click.option(name, default=default, show_default=True, help=text, **settings)


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
PLOT = click.option("--plot", type=PICTURE, help="Write a figure to this PNG, SVG or PDF file.")
QUIET = click.option("--quiet", is_flag=True, help="Show no progress.")
JOBS = click.option("--jobs", type=WORKERS, help="Number of workers.", show_default="all cores")
LINK_OPTION = with_default("--link", "logistic", "Link function of the mean reward.", type=LINK)
DEVICE = with_default(
    "--device", "cpu", "Device to compute on; cuda is an NVIDIA GPU.", type=OneOf(DEVICES)
)

problem_options = add_options(
    click.option(
        "--world",
        "worlds",
        type=WORLD,
        multiple=True,
        metavar="NAME[:NUMBER]...",
        help="What changes, delays or corrupts the rewards, such as jumps:1000; may be given for "
        f"theta, for delays and for attacks. NAME is {', '.join(worlds.REGISTRY)}.",
    ),
    click.option(
        "--shop",
        is_flag=True,
        help="Play a shop with this number of --arms, in place of --dim, --arm-low, --redraw, "
        "--link and --noise.",
    ),
    LINK_OPTION,
    with_default(
        "--noise",
        "t:3",
        f"Noise of the rewards, such as t:3. NAME is {', '.join(noises.REGISTRY)}.",
        type=NOISE,
        metavar="NAME[:NUMBER]...",
    ),
    with_default(
        "--redraw",
        "never",
        "When to draw new arms: never, at every decision, or at every round (play).",
        type=OneOf(arms.REGISTRY),
    ),
    with_default(
        "--arm-low",
        0.0,
        "Draw arms uniformly from [arm-low, 1]^d and scale them to length 1.",
        type=Number(-1.0, 1.0),
    ),
    with_default("--arms", 20, "Number of arms K.", type=COUNT),
    with_default("--dim", 10, "Dimension d of the arms.", type=COUNT),
)

run_options = add_options(
    JSON,
    QUIET,
    JOBS,
    DEVICE,
    with_default("--seed", 0, "Seed of all random numbers.", type=SEED),
    with_default("--repetitions", 10, "Number of runs of each algorithm.", type=REPETITIONS),
    with_default("--horizon", 10_000, "Number of plays T per run.", type=COUNT),
)


# ---- algorithms and problems of options


class AlgorithmCommand(click.Command):
    """A command on algorithms: its help lists them all."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Algorithms"):
            formatter.write_text(", ".join(ALGORITHMS))


def algorithm_command(short_help: str) -> Callable[[Any], Any]:
    """Return a decorator that makes a command on algorithms that play a problem."""
    names = click.argument(
        "algorithms", nargs=-1, required=True, type=OneOf(ALGORITHMS), metavar="ALGORITHMS..."
    )
    command = click.command(cls=AlgorithmCommand, short_help=short_help)
    return add_options(run_options, problem_options, names, command)


WORLD_FIELDS = {"drift": Drift, "delay": Delay, "adversary": Adversary}


def read_problem(given: Mapping[str, Any]) -> tuple[Problem, Setting]:
    """Return the problem that the options describe, and the facts of it."""
    problem, setting = read_shop(given) if given["shop"] else read_random(given)
    return check_problem(problem._replace(**read_worlds(given["worlds"]))), setting


def read_worlds(parts: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a problem that these parts are for.

    >>> read_worlds([worlds.Jumps(500), worlds.LostRewards(0.1)])["drift"]
    Jumps(every=500)
    """
    found: dict[str, Any] = {}
    for part in parts:
        made: Any = type(part)
        name = next(n for n, kind in WORLD_FIELDS.items() if fault(made, kind) is None)
        if name in found:
            one, other = (type(each).__name__ for each in (found[name], part))
            raise InvalidInputError(f"--world must name at most one {name}, got {one} and {other}")
        found[name] = part
    return found


def read_shop(given: Mapping[str, Any]) -> tuple[Problem, Setting]:
    """Return the shop of the options, and the facts of it."""
    problem = shop(given["arms"])
    moment = largest_moment(problem)
    facts = Setting(problem.arms.dim, given["horizon"], moment, moment, link=problem.link)
    return problem, facts._replace(arms=given["arms"])


def read_random(given: Mapping[str, Any]) -> tuple[Problem, Setting]:
    """Return the problem with random arms that the options describe, and the facts of it."""
    size, dim = given["arms"], given["dim"]
    if dim * max(dim, size) > LARGEST:
        raise InvalidInputError(
            f"dim x dim and dim x arms must be at most {LARGEST:.0e}, got dim {dim}, {size} arms"
        )
    features = arms.REGISTRY[given["redraw"]].make(size, dim, given["arm_low"])
    link, noise = given["link"], given["noise"]
    problem, epsilon = Problem(features, link, noise), finite_moment(noise)
    setting = make_setting(noise, dim, given["horizon"], epsilon=epsilon, link=link, arms=size)
    return problem, setting


def finite_moment(noise: KnownNoise) -> float:
    """Return the largest comfortable epsilon: 1 for a finite variance, else 80% of the way.

    >>> finite_moment(noises.StudentT(3.0)), finite_moment(noises.StudentT(1.5))
    (1.0, 0.4)
    """
    index = float(noise.tail_index())
    if index <= 1.0:
        raise InvalidInputError(f"noise must have a mean, got one of tail index {index:g}")
    return 1.0 if index > 2.0 else 0.8 * (index - 1.0)


def make_algorithm(
    name: str, known: Setting, value: float | None, argument: str | None = None
) -> Policy:
    """Make an algorithm; `value` is for its tuned argument, or for another argument.

    >>> known = make_setting(noises.StudentT(3.0), dim=3, horizon=100)
    >>> make_algorithm("CRTM", known, 0.5, "delta").dim
    3
    """
    row = ALGORITHMS[name]
    if argument is not None and argument not in row.parameters:
        hint = did_you_mean(argument, row.parameters)
        raise InvalidInputError(f"{name} has no argument {argument!r}{hint}")
    tuned = argument or row.tuning
    chosen = {tuned: value} if tuned and value is not None else {}
    return row.make(**known._asdict() | chosen)


# ---- output


def print_json(value: Any) -> None:
    """Print JSON; numbers that JSON cannot represent become null."""
    click.echo(json.dumps(jsonable(value), indent=1, allow_nan=False))
