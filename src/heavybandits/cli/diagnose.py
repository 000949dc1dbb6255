"""The command `diagnose`: what rewards look like, and which policy to use."""

from pathlib import Path
from typing import Any

import click

from ..offline.diagnose.diagnosis import diagnose
from .data_sets import open_source
from .options import COUNT, JSON, PLOT, print_json, with_default
from .sources import DROP, ENCODER, FEATURES, draw


@click.command("diagnose", short_help="Examine rewards: sales, fit, tails, the policy.")
@click.argument("file")
@click.option("--reward", help="Column of the rewards [reward, or that of the named set].")
@click.option("--action", help="Column of the action taken [action, if there is one].")
@FEATURES
@ENCODER
@click.option("--horizon", type=COUNT, help="Planned number of plays [rows].")
@with_default("--delta", 0.01, "Probability of failure.", type=float)
@DROP
@PLOT
@JSON
def diagnose_command(file: str, plot: Path | None, as_json: bool, **options: Any) -> None:
    """Recommend a policy for the rewards of FILE.

    Are they heavy-tailed? Are they mostly one value, as in a shop, and do the other amounts depend
    on the action? Is the mean linear in the features? Which columns would help?

    FILE is CSV (.csv, .tsv, .csv.gz, .csv.zst, ...) or Parquet, the ledger of an agent, or the name
    of a data set (rand, cdnow, nyse_n, nyse_o, sp500; extra "data").

    \b
    heavybandits diagnose agent.db
    heavybandits diagnose orders.csv --reward revenue
    heavybandits diagnose orders.parquet --reward revenue --features age,visits --plot page.png
    heavybandits diagnose log.csv.gz --reward revenue --encoder encoder.json --action offer
    heavybandits diagnose rand --json
    """
    found = diagnose(open_source(file, options).log, **options)
    draw(found, plot)
    print_json(found.to_dict()) if as_json else click.echo(str(found))
