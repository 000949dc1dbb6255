"""`simulate` lets algorithms play a problem, `tune` searches the constant for each of them."""

import math
from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from .._utils.tables import to_text
from ..algorithms.catalogue import ALGORITHMS
from ..experiments.roster import RANDOM, Setting, make_policy, setting
from ..simulation.problem import Problem
from ..simulation.result import Result
from ..simulation.run import simulate as run_simulation
from ..sweeps.search import mean_losses
from ..sweeps.tune import Tuning
from ..sweeps.tune import tune as run_tuning
from .parameters import PICTURES, REPETITIONS, TABLES, NewFile, Number, OneOf
from .shared import finite_moment, make_problem, print_json, problem_options, run_options

TUNED = ("policy", "constant", "at", "tuning", "mean", "standard_error", "median")
SUMMARY = ("policy", "mean", "standard_error", "median", "lower_quartile", "upper_quartile")


class Playing(click.Command):
    """A command on algorithms: its help names them all."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Algorithms"):
            formatter.write_text(", ".join(ALGORITHMS))


NAMES = click.argument(
    "algorithms", nargs=-1, required=True, type=OneOf(ALGORITHMS), metavar="ALGORITHMS..."
)


def known_of(problem: Problem, options: dict[str, Any]) -> Setting:
    """What the algorithms are told of the problem of the options."""
    noise = options["noise"]
    sizes = (options["dim"], options["horizon"], finite_moment(noise), problem.link)
    return setting(noise, *sizes, options["arms"])


def run(names: tuple[str, ...], constant: float | None, options: dict[str, Any]) -> Result:
    """Simulate the named algorithms at one constant on the problem of the options."""
    problem = make_problem(options)
    known = known_of(problem, options)
    return run_simulation(
        {name: make_policy(name, known, constant) for name in names},
        problem,
        progress=False if options["quiet"] else None,
        **{key: options[key] for key in ("horizon", "repetitions", "seed", "jobs", "device")},
    )


def no_better(result: Result, name: str) -> bool:
    """Whether the regret is not clearly below that of random play, run by run.

    >>> rows = [(p, 1, r) for p in ("CRTM", "random play") for r in (5.0, 6.0)]
    >>> no_better(Result(dict(zip(("policy", "play", "regret"), zip(*rows)))), "CRTM")
    True
    """
    gain = result.final(RANDOM) - result.final(name)
    error = gain.std(ddof=1) / math.sqrt(gain.size) if gain.size > 1 else 0.0
    return bool(gain.mean() <= 2.0 * error)


def remark(result: Result, constant: float | None) -> None:
    """Say on stderr which algorithms are not clearly better than random play, and what to do."""
    if not result.final(RANDOM).any():  # there is nothing to do better
        return
    worse = [name for name in result.policies if name != RANDOM and no_better(result, name)]
    tunable = [name for name in worse if ALGORITHMS[name].tuning is not None]
    rest = [name for name in worse if name not in tunable]
    if tunable:
        why = " with the radius of its theorem" if constant is None else ""
        click.echo(
            f"not clearly better than random play{why}: {', '.join(tunable)}. Another --constant "
            f"may help: heavybandits tune {' '.join(tunable)}, with the options of this problem",
            err=True,
        )
    if rest:
        names = ", ".join(rest)
        click.echo(f"not clearly better than random play in so many plays: {names}", err=True)


@click.command(cls=Playing, short_help="Let ALGORITHMS play one problem.")
@NAMES
@problem_options
@run_options
@click.option(
    "--constant", type=float, help="c of the tuned radius; the theorem's radius without it."
)
@click.option("--out", type=NewFile(TABLES), help="All rows, as Parquet.")
@click.option("--plot", type=NewFile(PICTURES), help="Draw to this PNG, SVG or PDF file.")
def simulate(
    algorithms: tuple[str, ...],
    constant: float | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Let ALGORITHMS play one problem; final regret of each, and of random play.

    \b
    heavybandits simulate CRTM OL2M --low -1 --constant 0.001
    heavybandits simulate TOFU LinUCB --link identity --low -1 --constant 0.01 --plot regret.png
    """
    if constant is not None and all(ALGORITHMS[name].tuning is None for name in algorithms):
        named = ", ".join(algorithms)
        raise InvalidInputError(
            f"--constant is for algorithms that have one, which {named} have not"
        )
    result = run((*algorithms, RANDOM), constant, options)
    if out is not None:
        result.to_parquet(out)
    if plot is not None:
        result.plot(plot)
    rows = result.summary()
    print_json(rows) if as_json else click.echo(to_text(rows, SUMMARY))
    remark(result, constant)


@click.command(cls=Playing, short_help="Search the constant c of ALGORITHMS.")
@NAMES
@problem_options
@run_options
@click.option(
    "--constants",
    type=Number(2, 1000),
    default=9,
    show_default=True,
    help="Log-spaced constants in [1e-4, 1] to begin with.",
)
@click.option(
    "--within",
    type=Number(1e-12, 1e12),
    nargs=2,
    default=(1e-6, 1e4),
    show_default=True,
    help="Where the grid may grow; 1e-4 1 keeps it as it is.",
)
@click.option(
    "--tuning-repetitions",
    type=REPETITIONS,
    default=10,
    show_default=True,
    help="Runs at each constant, on seeds of their own.",
)
@click.option("--argument", help="What the constant is for [the radius or its scale].")
@click.option("--plot", type=NewFile(PICTURES), help="Draw the curves to this file.")
def tune(
    algorithms: tuple[str, ...],
    argument: str | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search the constant c of ALGORITHMS on tuning seeds, and report it on others.

    All try the same constants. The grid grows by its ratio until every optimum lies inside; one
    that does not is said to be flat, or to lie at an end. Random play is shown beside them.

    \b
    heavybandits tune CRTM OL2M GLOC --low -1
    heavybandits tune LinUCB CRTM --link identity --low -1 --plot constants.pdf
    heavybandits tune CRTM --argument delta --within 1e-6 0.5 --constants 3
    """
    found = run_tune(algorithms, argument, options)
    if plot is not None:
        found.plot(plot)
    means = {name: mean_losses(curve) for (_, name), curve in found.curves.items()}
    rows = [row | _columns(means.get(row["policy"], {})) for row in found.summary()]
    if as_json:
        print_json(rows)
        return
    grid = sorted({c for curve in means.values() for c in curve})
    table: list[dict[str, Any]] = [{"c": c} | {n: means[n][c] for n in means} for c in grid]
    click.echo(f"{to_text(rows, TUNED)}\n\nMean regret on the tuning seeds:\n{to_text(table)}")


def _columns(curve: dict[float, float]) -> dict[str, float]:
    return {f"c = {constant:g}": mean for constant, mean in curve.items()}


def run_tune(names: tuple[str, ...], argument: str | None, options: dict[str, Any]) -> Tuning:
    """Tune the named algorithms on the problem of the options; random play goes along."""
    problem = make_problem(options)
    known = known_of(problem, options)

    def maker(name: str) -> Any:
        if argument is None and ALGORITHMS[name].tuning is None:
            return make_policy(name, known, None)
        return lambda constant: make_policy(name, known, constant, argument=argument)

    named = ("horizon", "repetitions", "tuning_repetitions", "seed", "jobs", "device", "constants")
    return run_tuning(
        {name: maker(name) for name in names if name != RANDOM}
        | {RANDOM: make_policy(RANDOM, known, None)},
        problem,
        progress=False if options["quiet"] else None,
        **{key: options[key] for key in (*named, "within")},
    )
