"""`tune`: search the radius scale, or another argument, of algorithms on one problem."""

from pathlib import Path
from typing import Any

import click

from .._utils.records import to_records
from .._utils.tables import to_text
from ..algorithms.catalogue import ALGORITHMS, RANDOM
from ..sweeps.search import mean_losses
from ..sweeps.tune import Tuning
from ..sweeps.tune import tune as run_tuning
from .options import (
    ALGORITHM_NAMES,
    PICTURES,
    REPETITIONS,
    AlgorithmCommand,
    NewFile,
    Number,
    make_algorithm,
    make_problem,
    print_json,
    problem_options,
    run_options,
    setting_of,
)

TUNED = ("policy", "constant", "at", "tuning", "mean", "standard_error", "median")
SIZES = ("horizon", "repetitions", "tuning_repetitions", "seed", "jobs", "device")


@click.command(cls=AlgorithmCommand, short_help="Search the radius scale of ALGORITHMS.")
@ALGORITHM_NAMES
@problem_options
@run_options
@click.option(
    "--grid",
    type=Number(2, 1000),
    default=9,
    show_default=True,
    help="Number of log-spaced values in [1e-4, 1] to begin with.",
)
@click.option(
    "--bounds",
    type=Number(1e-12, 1e12),
    nargs=2,
    default=(1e-6, 1e4),
    show_default=True,
    help="Range in which the grid may grow; 1e-4 1 keeps it as it is.",
)
@click.option(
    "--tuning-repetitions",
    type=REPETITIONS,
    default=10,
    show_default=True,
    help="Runs at each value, on tuning seeds.",
)
@click.option("--argument", help="The argument to tune [the radius or its scale].")
@click.option("--plot", type=NewFile(PICTURES), help="Draw the curves to this PNG, SVG or PDF.")
def tune(
    algorithms: tuple[str, ...],
    argument: str | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Search the radius scale of ALGORITHMS on tuning seeds, and report it on other seeds.

    All algorithms try the same values. The grid grows by its ratio until every optimum lies inside;
    the table says which optimum is flat, or lies at an end. Random play is shown for comparison.

    \b
    heavybandits tune CRTM OL2M GLOC --arm-low -1
    heavybandits tune LinUCB CRTM --link identity --arm-low -1 --plot constants.pdf
    heavybandits tune CRTM --argument delta --bounds 1e-6 0.5 --grid 3
    """
    found = run(algorithms, argument, options)
    if plot is not None:
        found.plot(plot)
    means = {name: mean_losses(curve) for (_, name), curve in found.curves.items()}
    rows = [row | _columns(means.get(row["policy"], {})) for row in to_records(found.summary())]
    if as_json:
        print_json(rows)
        return
    grid = sorted({c for curve in means.values() for c in curve})
    table: list[dict[str, Any]] = [{"c": c} | {n: means[n][c] for n in means} for c in grid]
    click.echo(f"{to_text(rows, TUNED)}\n\nMean regret on the tuning seeds:\n{to_text(table)}")


def _columns(curve: dict[float, float]) -> dict[str, float]:
    return {f"c = {constant:g}": mean for constant, mean in curve.items()}


def run(names: tuple[str, ...], argument: str | None, options: dict[str, Any]) -> Tuning:
    """Tune the named algorithms on the problem of the options, and report random play as it is."""
    problem, known = make_problem(options), setting_of(options)

    def maker(name: str) -> Any:
        if argument is None and ALGORITHMS[name].tuning is None:
            return make_algorithm(name, known, None)
        return lambda value: make_algorithm(name, known, value, argument)

    return run_tuning(
        {name: maker(name) for name in names if name != RANDOM}
        | {RANDOM: make_algorithm(RANDOM, known, None)},
        problem,
        progress=False if options["quiet"] else None,
        **{key: options[key] for key in (*SIZES, "grid", "bounds")},
    )
