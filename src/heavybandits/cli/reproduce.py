"""`reproduce`: run the paper's experiments, write the report and count the verdicts."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from .._utils.tables import shown, to_text
from ..experiments.outputs import Verdict
from ..experiments.report import all_verdicts, make_report
from ..experiments.report import as_json as to_json
from ..experiments.run import NAMES, PROFILES, Run, run_experiments
from ..experiments.summary import make_rows
from ..gpu.supported import require_device
from ..simulation.run import DEVICES
from ..sweeps import Runner
from ..sweeps.backends import BACKENDS
from .options import (
    JOBS,
    JSON,
    QUIET,
    SEED,
    Folder,
    Number,
    OneOf,
    add_options,
    print_json,
    with_default,
)

FEW = 5  # failed cells of an experiment that are named
EXPERIMENTS = f"Experiments: {', '.join(NAMES)}."


report_options = add_options(
    JSON,
    click.option("--claims", is_flag=True, help="Also print each claim with its 95% interval."),
    with_default(
        "--out",
        "out",
        "Folder of the results; the report is in a subfolder with the name of the profile.",
        type=Folder(),
    ),
    click.option("--seed", type=SEED, help="Seed of all random numbers.", show_default="0"),
    click.option(
        "--repetitions", type=Number(2, 10**5), help="Number of reported runs of each algorithm."
    ),
    click.option(
        "--points",
        type=Number(2, 1000),
        help="Number of grid points per axis of the experiment map.",
    ),
    with_default(
        "--device",
        "cpu",
        "Device to compute on; cuda is an NVIDIA GPU, and the CPU computes what the GPU cannot.",
        type=OneOf(DEVICES),
    ),
    click.option("--full", is_flag=True, help=f"Run {PROFILES['full'].summary}."),
    click.option("--quick", is_flag=True, help=f"Run {PROFILES['quick'].summary}."),
    click.argument("names", nargs=-1, type=OneOf(NAMES), metavar="[NAMES]..."),
)


@click.command(epilog=EXPERIMENTS)
@report_options
@QUIET
@JOBS
@with_default(
    "--backend",
    "loky",
    "Where to compute: processes (loky), this process, threads, or a cluster.",
    type=OneOf(BACKENDS),
)
@click.option("--address", help="Address of a running Dask or Ray cluster.")
def reproduce(
    quiet: bool, jobs: int | None, backend: str, address: str | None, **options: Any
) -> None:
    """Run the paper's experiments and judge its claims.

    Without NAMES, all experiments of the profile run. Each finished result is stored, so a command
    that was killed resumes when you run it again.

    \b
    heavybandits reproduce                  about four minutes on two cores
    heavybandits reproduce --quick          about two minutes
    heavybandits reproduce --full           all variants and experiments, about 90 minutes
    heavybandits reproduce figure1 --repetitions 50
    heavybandits reproduce --full --backend dask --address tcp://scheduler:8786
    heavybandits reproduce map --points 40 --repetitions 100 --device cuda
    heavybandits reproduce untuned --full --jobs 16
    """
    device = options.pop("device")
    if device != "cpu":
        require_device()
    run = Runner(
        options["out"], jobs, backend, address, progress=not quiet, device=device, fallback=True
    )
    conclude(run, **options)


def conclude(
    compute: Runner, names: Sequence[str], as_json: bool, claims: bool, **options: Any
) -> None:
    """Run, write the report, count the verdicts, and exit with 1 if cells failed."""

    def announce(text: str) -> None:
        if compute.progress:
            click.echo(text, err=True)

    full, quick, out = (options.pop(name) for name in ("full", "quick", "out"))
    if full and quick:
        raise click.UsageError("--quick and --full exclude each other")
    known = PROFILES["full" if full else "quick" if quick else "default"]
    chosen = list(dict.fromkeys(names)) or known.experiments
    runs = run_experiments(chosen, known.name, compute, announce=announce, **options)
    if compute.stored and all(run.failed for run in runs):
        raise click.ClickException(
            f"{out} does not contain all of these results: heavybandits reproduce computes what is "
            "missing or damaged"
        )
    path = make_report(runs, known.name, out / known.name)
    if as_json:
        print_json(to_json(runs, path))
    else:
        if claims:
            click.echo(f"{verdict_text(all_verdicts(runs))}\n")
        click.echo(to_text(make_rows(runs)))
        click.echo(f"\nreport: {path}")
    if any(run.failed for run in runs):
        print_failures(runs)
        sys.exit(1)


def verdict_text(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as a table: the claim, its reading, its quantity and its note.

    >>> verdict = Verdict("A is best", "fixed arms", "margin", 5.0, (2.0, 9.0), "holds", "B (flat)")
    >>> print(verdict_text([verdict]))
    outcome  measured  95% interval  claim, reading, quantity
    holds           5  [2, 9]        A is best
                                     fixed arms
                                     margin
                                     note: B (flat)
    """
    rows: list[dict[str, object]] = [
        {
            "outcome": verdict.outcome,
            "measured": verdict.measured,
            "95% interval": f"[{shown(verdict.interval[0])}, {shown(verdict.interval[1])}]",
            "claim, reading, quantity": "\n".join(lines_of(verdict)),
        }
        for verdict in verdicts
    ]
    return to_text(rows)


def lines_of(verdict: Verdict) -> list[str]:
    """Return the claim, the reading, the quantity and the note of a verdict."""
    note = [f"note: {verdict.note}"] if verdict.note else []
    return [verdict.claim, verdict.reading, verdict.quantity, *note]


def print_failures(runs: Sequence[Run]) -> None:
    """Print the failed cells to stderr."""
    for run in runs:
        for label, text in run.failed[:FEW]:
            click.echo(f"failed: {run.name}: {label}: {text}", err=True)
        if len(run.failed) > FEW:
            click.echo(f"failed: {run.name}: {len(run.failed) - FEW} more", err=True)
