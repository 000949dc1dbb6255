"""`simulate` lets algorithms play a problem, `tune` searches the constant for each of them."""

from pathlib import Path
from typing import Any

import click

from ..paper.roster import ROSTER, make_policy, setting
from ..paper.tuning import at_edge, grid
from ..simulation.results import Result
from ..simulation.run import simulate as run_simulation
from ..support.tables import to_text
from .shared import finite_moment, make_problem, print_json, problem_options, run_options

SUMMARY = ("policy", "mean", "standard_error", "median", "lower_quartile", "upper_quartile")
_NAMES = click.Choice(list(ROSTER), case_sensitive=False)


def run(
    names: tuple[str, ...], constant: float | None, problem: dict[str, Any], options: dict[str, Any]
) -> Result:
    """Simulate the named algorithms at one constant on the problem of the options."""
    made = make_problem(**problem)
    epsilon = finite_moment(made.noise)
    sizes = (problem["dim"], options["horizon"], epsilon, made.link, problem["arms"])
    known = setting(made.noise, *sizes)
    policies = {name: make_policy(name, known, constant) for name in names}
    quiet = options["quiet"]
    return run_simulation(
        policies,
        made,
        horizon=options["horizon"],
        repetitions=options["repetitions"],
        seed=options["seed"],
        jobs=options["jobs"],
        progress=False if quiet else None,
    )


def split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the problem, and the others."""
    keys = ("dim", "arms", "changes", "noise", "link")
    problem = {key: options.pop(key) for key in keys}
    return problem, options


@click.command()
@click.argument("algorithms", nargs=-1, required=True, type=_NAMES)
@problem_options
@run_options
@click.option(
    "--constant", type=float, help="c of the tuned radius; the theorem's radius without it."
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="All rows, as Parquet."
)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="PNG, SVG or PDF.")
def simulate(
    algorithms: tuple[str, ...],
    constant: float | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Let ALGORITHMS play one problem; final regret of each.

    \b
    heavybandits simulate CRTM OL2M --horizon 100000 --constant 0.001
    heavybandits simulate CRTM --noise pareto:1.5:1 --changes fresh --plot regret.png
    """
    result = run(algorithms, constant, *split(options))
    if out is not None:
        result.to_parquet(out)
    if plot is not None:
        result.plot().figure.savefig(plot)
    rows = result.summary()
    print_json(rows) if as_json else click.echo(to_text(rows, SUMMARY))


@click.command(short_help="Search the constant c of ALGORITHMS.")
@click.argument("algorithms", nargs=-1, required=True, type=_NAMES)
@problem_options
@run_options
@click.option(
    "--constants", default=9, show_default=True, help="Log-spaced constants in [1e-4, 1]."
)
def tune(algorithms: tuple[str, ...], constants: int, as_json: bool, **options: Any) -> None:
    """Search the constant c of ALGORITHMS: mean final regret at every point of the grid.

    Report a tuned algorithm on another --seed than it was tuned on.

    \b
    heavybandits tune CRTM OL2M GLOC --horizon 100000 --seed 1
    """
    problem, rest = split(options)
    points = grid(constants)
    results = {c: run(algorithms, c, problem, rest) for c in points}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(algorithms):
        means = {c: float(result.final(name).mean()) for c, result in results.items()}
        best = min(means, key=lambda c: means[c])
        found = {"algorithm": name, "best c": best, "at": at_edge(best, points)}
        rows.append(found | {f"c = {c:g}": mean for c, mean in means.items()})
    print_json(rows) if as_json else click.echo(to_text(rows))
