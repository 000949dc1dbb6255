"""`reproduce` runs the paper's experiments, `report` builds their report again."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..paper.profiles import NAMES, PROFILES
from ..paper.report import all_verdicts, as_json, make_report
from ..paper.run import Run, Runner, Stored, run_experiments
from ..support.tables import shown, to_text
from .shared import print_json

SHOWN = ("outcome", "claim", "reading", "measured", "95% interval")


def common_options(command: Any) -> Any:
    """What `reproduce` and `report` share."""
    for option in (
        click.option("--json", "machine", is_flag=True, help="Machine-readable output."),
        click.option("--quiet", is_flag=True, help="No progress."),
        click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            default="out",
            show_default=True,
            help="Results are kept here, the report in a folder named after the profile.",
        ),
        click.option("--seed", type=click.IntRange(0), help="Of everything random; 0 by default."),
        click.option(
            "--repetitions", type=click.IntRange(2), help="Reported runs of each algorithm."
        ),
        click.option("--full", "profile", flag_value="full", help=PROFILES["full"].summary),
        click.option("--quick", "profile", flag_value="quick", help=PROFILES["quick"].summary),
        click.argument("names", nargs=-1, type=click.Choice(NAMES)),
    ):
        command = option(command)
    return command


@click.command()
@common_options
@click.option("--jobs", type=click.IntRange(1), help="Workers; all cores by default.")
@click.option(
    "--backend",
    type=click.Choice(["loky", "sequential", "threads", "dask", "ray"]),
    default="loky",
    show_default=True,
)
@click.option("--address", help="Of a Dask or Ray cluster that is already there.")
def reproduce(
    names: tuple[str, ...],
    profile: str | None,
    repetitions: int | None,
    seed: int | None,
    out: Path,
    quiet: bool,
    machine: bool,
    jobs: int | None,
    backend: str,
    address: str | None,
) -> None:
    """Run the paper's experiments and judge its claims.

    Without NAMES, all experiments of the profile. Results are kept as they finish: kill it at any
    moment, run it again, and it goes on.

    \b
    heavybandits reproduce                  about five minutes on two cores
    heavybandits reproduce --quick          a look
    heavybandits reproduce --full           all readings and experiments, half an hour
    heavybandits reproduce figure1 --repetitions 50
    heavybandits reproduce --full --backend dask --address tcp://scheduler:8786
    """
    runner = Runner(out, jobs=jobs, backend=backend, address=address, quiet=quiet)
    conclude(runner, names, profile or "default", repetitions, seed, out, quiet, machine)


@click.command()
@common_options
def report(
    names: tuple[str, ...],
    profile: str | None,
    repetitions: int | None,
    seed: int | None,
    out: Path,
    quiet: bool,
    machine: bool,
) -> None:
    """Build the report again from stored results, computing nothing.

    \b
    heavybandits report --quick
    """
    conclude(Stored(out), names, profile or "default", repetitions, seed, out, quiet, machine)


def conclude(
    compute: Any,
    names: Sequence[str],
    profile: str,
    repetitions: int | None,
    seed: int | None,
    out: Path,
    quiet: bool,
    machine: bool,
) -> None:
    """Run, write the report, print the verdicts, and leave with the right code."""

    def announce(text: str) -> None:
        if not quiet:
            click.echo(text, err=True)

    chosen = list(dict.fromkeys(names)) or PROFILES[profile].experiments
    runs = run_experiments(
        chosen, profile, compute, repetitions=repetitions, seed=seed, announce=announce
    )
    path = make_report(runs, profile, out / profile)
    if machine:
        print_json(as_json(runs, path))
    else:
        print_verdicts(runs)
        click.echo(f"\n{path}")
    if any(run.failed for run in runs):
        print_failures(runs)
        sys.exit(1)


def print_verdicts(runs: Sequence[Run]) -> None:
    rows: list[dict[str, object]] = [
        verdict.as_row()
        | {"95% interval": f"[{shown(verdict.interval[0])}, {shown(verdict.interval[1])}]"}
        for verdict in all_verdicts(runs)
    ]
    click.echo(to_text(rows, SHOWN))


def print_failures(runs: Sequence[Run]) -> None:
    for run in runs:
        for label, text in run.failed:
            click.echo(f"failed: {run.name}: {label}: {text}", err=True)
