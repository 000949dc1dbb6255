"""`report`: write the report of the experiments again from stored results."""

from typing import Any

import click

from ..sweeps import Runner
from .reproduce import conclude, report_options


@click.command()
@report_options
def report(**options: Any) -> None:
    """Write the report again from stored results, without computing anything.

    \b
    heavybandits report --quick
    """
    device = options.pop("device")
    conclude(Runner(options["out"], device=device, fallback=True, stored=True), **options)
