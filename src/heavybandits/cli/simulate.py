"""`simulate`: simulate algorithms on one problem."""

import math
from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from .._utils.records import to_records
from .._utils.tables import to_text
from ..algorithms.catalogue import ALGORITHMS, RANDOM
from ..simulation.result import Result
from ..simulation.run import simulate as run_simulation
from .options import PLOT, TABLE, algorithm_command, make_algorithm, print_json, read_problem

SUMMARY = ("policy", "mean", "standard_error", "median", "lower_quartile", "upper_quartile")


@algorithm_command("Simulate ALGORITHMS on one problem.")
@click.option(
    "--radius-scale",
    type=float,
    help="Multiplier of the confidence radius; for LinUCB, the radius itself.",
    show_default="the radius of the theorem",
)
@click.option("--out", type=TABLE, help="Write all rows to this Parquet file.")
@PLOT
def simulate(
    algorithms: tuple[str, ...],
    radius_scale: float | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate ALGORITHMS on one problem; print the final regret of each, and of random play.

    \b
    heavybandits simulate CRTM OL2M --arm-low -1 --radius-scale 0.001
    heavybandits simulate TOFU LinUCB --link identity --arm-low -1 --radius-scale 0.01
    """
    if radius_scale is not None and all(ALGORITHMS[name].tuning is None for name in algorithms):
        named = ", ".join(algorithms)
        raise InvalidInputError(
            f"--radius-scale needs an algorithm with a radius to scale, got {named}: leave it out"
        )
    result = run((*algorithms, RANDOM), radius_scale, options)
    if out is not None:
        result.to_parquet(out)
    if plot is not None:
        result.plot(plot)
    rows = to_records(result.summary())
    print_json(rows) if as_json else click.echo(to_text(rows, SUMMARY))
    remark(result, radius_scale)


def run(names: tuple[str, ...], radius_scale: float | None, options: dict[str, Any]) -> Result:
    """Simulate the named algorithms on the problem of the options."""
    problem, known = read_problem(options)
    return run_simulation(
        {name: make_algorithm(name, known, radius_scale) for name in names},
        problem,
        progress=False if options["quiet"] else None,
        **{key: options[key] for key in ("horizon", "repetitions", "seed", "jobs", "device")},
    )


def no_better(result: Result, name: str) -> bool:
    """Return True if the regret is not clearly below that of random play, run by run.

    >>> rows = [(p, 1, r) for p in ("CRTM", "random play") for r in (5.0, 6.0)]
    >>> no_better(Result(dict(zip(("policy", "play", "regret"), zip(*rows)))), "CRTM")
    True
    """
    gain = result.final(RANDOM) - result.final(name)
    error = gain.std(ddof=1) / math.sqrt(gain.size) if gain.size > 1 else 0.0
    return bool(gain.mean() <= 2.0 * error)


def remark(result: Result, radius_scale: float | None) -> None:
    """Print to stderr which algorithms are not clearly better than random play, and what to do."""
    if not result.final(RANDOM).any():  # no algorithm can do better
        return
    worse = [name for name in result.policies if name != RANDOM and no_better(result, name)]
    tunable = [name for name in worse if ALGORITHMS[name].tuning is not None]
    rest = [name for name in worse if name not in tunable]
    if tunable:
        why = " with the radius of its theorem" if radius_scale is None else ""
        click.echo(
            f"not clearly better than random play{why}: {', '.join(tunable)}. Another "
            f"--radius-scale may help: heavybandits tune {' '.join(tunable)}, with the options of "
            "this problem",
            err=True,
        )
    if rest:
        names = ", ".join(rest)
        click.echo(f"not clearly better than random play in so many plays: {names}", err=True)
