"""`tune`: tune the radius scale, or another argument, of algorithms on one problem."""

import warnings
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
    PLOT,
    REPETITIONS,
    Number,
    algorithm_command,
    make_algorithm,
    print_json,
    read_problem,
    with_default,
)

TUNED = ("policy", "constant", "at", "tuning", "mean", "standard_error", "median")
SIZES = ("horizon", "repetitions", "tuning_repetitions", "seed", "jobs", "device")


@algorithm_command("Tune the radius scale of ALGORITHMS.")
@with_default(
    "--grid", 9, "Number of first values to try, log-spaced in [1e-4, 1].", type=Number(2, 1000)
)
@with_default(
    "--bounds",
    (1e-6, 1e4),
    "Range in which the grid of values may grow; 1e-4 1 prevents it.",
    type=Number(1e-12, 1e12),
    nargs=2,
)
@with_default(
    "--tuning-repetitions", 10, "Number of runs per value, on tuning seeds.", type=REPETITIONS
)
@click.option("--argument", help="Argument to tune.", show_default="the radius or its scale")
@PLOT
def tune(
    algorithms: tuple[str, ...],
    argument: str | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Tune the radius scale of ALGORITHMS on tuning seeds, and report the best on other seeds.

    All algorithms try the same values. The grid grows by its ratio until every optimum is inside;
    the table names each optimum that is flat or at an end. Random play is shown for comparison.

    \b
    heavybandits tune CRTM OL2M GLOC --arm-low -1
    heavybandits tune LinUCB CRTM --link identity --arm-low -1 --plot constants.pdf
    heavybandits tune CRTM --argument delta --bounds 1e-6 0.5 --grid 3
    """
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        found = run(algorithms, argument, options)
    for warning in heard:
        click.echo(str(warning.message), err=True)
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
    problem, known = read_problem(options)

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
