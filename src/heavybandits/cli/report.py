"""`report`: write the report of the experiments again from stored results."""

from typing import Any

import click

from ..sweeps import Runner
from .reproduce import EXPERIMENTS, conclude, report_options


@click.command(epilog=EXPERIMENTS)
@report_options
def report(**options: Any) -> None:
    """Write the report again from stored results.

    Nothing is computed: the results are those of `reproduce`.

    \b
    heavybandits report --quick
    """
    device = options.pop("device")
    conclude(Runner(options["out"], device=device, fallback=True, stored=True), **options)
