"""The command `uplift`: compare the rewards of two groups of decisions."""

import click

from ..offline.uplift import uplift
from .options import JSON, print_json, with_default
from .sources import DROP, read_log


@click.command("uplift", short_help="Compare the rewards of two groups of decisions.")
@click.argument("file")
@click.option(
    "--groups",
    nargs=2,
    default=("policy", "holdout"),
    show_default=True,
    help="The two groups to compare; the second is subtracted from the first.",
)
@click.option("--group", help="Column of the groups.", show_default="group")
@click.option("--reward", help="Column of the rewards.", show_default="reward")
@with_default(
    "--delta", 0.05, "Probability with which the interval may miss the difference.", type=float
)
@DROP
@JSON
def uplift_command(
    file: str,
    groups: tuple[str, str],
    group: str | None,
    reward: str | None,
    delta: float,
    drop_missing: bool,
    as_json: bool,
) -> None:
    """Estimate how much more one group of FILE earned than another, with an interval.

    FILE is CSV or Parquet, one decision per row, or the ledger of an agent. Units must be assigned
    to groups at random.

    \b
    heavybandits uplift agent.db
    heavybandits uplift log.csv --groups policy holdout
    heavybandits uplift log.csv --groups policy holdout --reward revenue --json
    """
    log = read_log(file, (), {"reward": reward, "group": group, "drop_missing": drop_missing})
    found = uplift(log, *groups, delta=delta)
    print_json(found.to_dict()) if as_json else click.echo(str(found))
