"""The command `replay`: replay a table in which the reward of every row is known."""

from pathlib import Path
from typing import Any

import click

from .._utils.tables import to_text
from ..algorithms import auto, linucb
from ..core.protocols import Policy
from ..offline.replay.replay import PROTOCOLS, replay
from ..offline.replay.result import summarise
from ..parts.filters import AdaptiveClip, Clip
from .data_sets import open_source
from .options import JOBS, JSON, PLOT, QUIET, SEED, TWO, Number, OneOf, print_json, with_default
from .sources import DROP, ENCODER, FEATURES, draw

SHOWN = ["policy", "value", "smallest", "largest", "clipped_value", "random", "oracle", "fraction"]
SHOWN += ["difference", "low", "high", "better", "truncated_share"]


@click.command("replay", short_help="Replay a table in which the reward of every row is known.")
@click.argument("source", metavar="NAME|FILE")
@click.option(
    "--reward", help="Column of the rewards.", show_default="reward, or that of the data set"
)
@FEATURES
@ENCODER
@click.option(
    "--protocol", type=OneOf(PROTOCOLS), help="How rows become rounds.", show_default="rows"
)
@click.option(
    "--group", help="Column of the round (protocol rounds) or of the arm (protocol groups)."
)
@click.option("--arms", type=TWO, help="Rows per round (protocol rows).", show_default="10")
@with_default(
    "--passes", 20, "Number of passes over the rows, each in another order.", type=Number(1, 10_000)
)
@click.option(
    "--horizon", type=TWO, help="Plays per pass (protocol groups).", show_default="number of rows"
)
@with_default("--radius", 1.0, "Radius of LinUCB.", type=float)
@with_default(
    "--clip",
    3.0,
    "Threshold of Clip, as a multiple of the mean |reward| / ||x||_{V^-1}.",
    type=float,
)
@with_default("--seed", 0, "Seed of the orders.", type=SEED)
@JOBS
@DROP
@PLOT
@QUIET
@JSON
def replay_command(
    source: str, protocol: str | None, plot: Path | None, quiet: bool, as_json: bool, **options: Any
) -> None:
    """Replay rows with known rewards, and print what policies would have earned.

    The policies are auto, and LinUCB without a filter, with Clip and with AdaptiveClip. NAME is a
    data set (rand, cdnow, nyse_n, nyse_o, sp500; extra "data"), FILE is CSV or Parquet.

    \b
    heavybandits replay rand
    heavybandits replay nyse_n --protocol groups --horizon 20000
    heavybandits replay orders.csv --reward revenue --features age,visits --arms 10
    """
    known = open_source(source, options)
    usual: dict[str, Any] = {"protocol": protocol or "rows"}
    if known.protocols and protocol is None:
        usual = next(iter(known.protocols.values()))
    given = {name: options.pop(name) for name in ("group", "horizon")}
    given["arms_per_round"] = options.pop("arms")
    radius, clip = options.pop("radius"), options.pop("clip")
    result = replay(
        known.log,
        policies=lambda dim: make_policies(dim, radius, clip),
        progress=False if quiet else None,
        **known.protocols.get(protocol or "", usual)
        | {name: value for name, value in given.items() if value is not None},
        **options,
    )
    draw(result, plot)
    rows = summarise(result)
    print_json(rows) if as_json else click.echo(to_text(rows, SHOWN))


def make_policies(dim: int, radius: float = 1.0, clip: float = 3.0) -> dict[str, Policy]:
    """Return the policies of the command by name."""
    return {
        "auto": auto(dim=dim),
        "linucb": linucb(dim=dim, radius=radius),
        f"linucb, clip {clip:g}": linucb(dim=dim, radius=radius, filter=Clip(clip)),
        "linucb, adaptive clip": linucb(dim=dim, radius=radius, filter=AdaptiveClip()),
    }
