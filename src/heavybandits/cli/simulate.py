"""`simulate` lets algorithms play a problem, `tune` searches the constant for each of them."""

import math
from pathlib import Path
from typing import Any

import click

from ..algorithms.catalogue import CATALOGUE
from ..paper.roster import RANDOM, make_policy, setting
from ..paper.tuning import at_edge, grid
from ..simulation.results import Result
from ..simulation.run import simulate as run_simulation
from ..support.tables import to_text
from .parameters import PICTURES, TABLES, NewFile, Number, OneOf
from .shared import finite_moment, make_problem, print_json, problem_options, run_options

SUMMARY = ("policy", "mean", "standard_error", "median", "lower_quartile", "upper_quartile")


class Playing(click.Command):
    """A command on algorithms: its help names them all."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Algorithms"):
            formatter.write_text(", ".join(CATALOGUE))


ALGORITHMS = click.argument(
    "algorithms", nargs=-1, required=True, type=OneOf(CATALOGUE), metavar="ALGORITHMS..."
)


def run(names: tuple[str, ...], constant: float | None, options: dict[str, Any]) -> Result:
    """Simulate the named algorithms at one constant on the problem of the options."""
    problem, noise = make_problem(options), options["noise"]
    sizes = (options["dim"], options["horizon"], finite_moment(noise), problem.link)
    known = setting(noise, *sizes, options["arms"])
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
    """Say on stderr which algorithms are no better than random play, and what to do about it."""
    worse = [name for name in result.policies if name != RANDOM and no_better(result, name)]
    if worse:
        why = " with the radius of its theorem" if constant is None else ""
        click.echo(
            f"no better than random play{why}: {', '.join(worse)}. "
            f"Another --constant may help: heavybandits tune {' '.join(worse)}",
            err=True,
        )


@click.command(cls=Playing, short_help="Let ALGORITHMS play one problem.")
@ALGORITHMS
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
    result = run((*algorithms, RANDOM), constant, options)
    if out is not None:
        result.to_parquet(out)
    if plot is not None:
        result.plot(plot)
    rows = result.summary()
    print_json(rows) if as_json else click.echo(to_text(rows, SUMMARY))
    remark(result, constant)


@click.command(cls=Playing, short_help="Search the constant c of ALGORITHMS.")
@ALGORITHMS
@problem_options
@run_options
@click.option(
    "--constants",
    type=Number(2, 1000),
    default=9,
    show_default=True,
    help="Log-spaced constants in [1e-4, 1].",
)
def tune(algorithms: tuple[str, ...], constants: int, as_json: bool, **options: Any) -> None:
    """Search the constant c of ALGORITHMS: mean final regret at every point of the grid.

    Report a tuned algorithm on another --seed than it was tuned on.

    \b
    heavybandits tune CRTM OL2M GLOC --low -1 --seed 1
    """
    points, names = grid(constants), dict.fromkeys(algorithms)
    results = {c: run(tuple(names), c, options) for c in points}
    means = {n: {c: float(r.final(n).mean()) for c, r in results.items()} for n in names}
    best = {name: min(found, key=found.__getitem__) for name, found in means.items()}
    rows = [
        {"algorithm": name, "best c": c, "at": at_edge(c, points), "regret": means[name][c]}
        for name, c in best.items()
    ]
    if as_json:
        grids = ({f"c = {c:g}": mean for c, mean in found.items()} for found in means.values())
        print_json([row | columns for row, columns in zip(rows, grids, strict=True)])
        return
    table: list[dict[str, Any]] = [{"c": c} | {n: means[n][c] for n in names} for c in points]
    click.echo(f"{to_text(rows)}\n\n{to_text(table)}")
