"""`report`: write the report of the experiments again from stored results."""

from typing import Any

import click

from ..sweeps import Runner
from .reproduce import EXPERIMENTS, conclude, report_options


@click.command(epilog=EXPERIMENTS)
@report_options
def report(**options: Any) -> None:
    """Write the report of `reproduce` again from stored results, without computing anything.

    \b
    heavybandits report --quick
    """
    device = options.pop("device")
    conclude(Runner(options["out"], device=device, fallback=True, stored=True), **options)
