"""The commands `diagnose` and `replay`: what to make of data that is already there."""

from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from .._utils.tables import to_text
from ..algorithms import auto, linucb
from ..experiments.data import LOADERS, load_data
from ..features import Encoder
from ..offline.diagnose.diagnose import diagnose
from ..offline.replay.replay import PROTOCOLS, replay
from ..parts.filters import AdaptiveClip, Clip
from .options import COUNT, PICTURES, SEED, TWO, NewFile, Number, print_json

SHOWN = ["policy", "value", "random", "oracle", "fraction", "accepted", "acceptance"]
SHOWN += ["difference", "low", "high", "better", "truncated_share"]
PLOT = click.option("--plot", type=NewFile(PICTURES), help="Draw to this PNG, SVG or PDF file.")


ENCODER = click.option("--encoder", help='File of "encode fit", in place of --features.')


def read_features(columns: list[str], encoder: str | None) -> Any:
    """The columns, or the encoder that stands in their place."""
    if encoder is None:
        return columns
    if columns:
        raise InvalidInputError("one of --features and --encoder must say what the features are")
    return Encoder.load(encoder)


def read_names(columns: str | None) -> list[str]:
    return [name.strip() for name in (columns or "").split(",") if name.strip()]


@click.command("diagnose", short_help="Examine rewards: tails, moments, what to use.")
@click.argument("file")
@click.option("--reward", help="Column of the rewards (of a named set: its own).")
@click.option("--features", help="Columns of features, separated by commas.")
@ENCODER
@click.option("--horizon", type=COUNT, help="Plays you plan for [rows].")
@click.option("--delta", type=float, default=0.01, show_default=True, help="Chance of failure.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
@PLOT
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diagnose_command(
    file: str,
    reward: str | None,
    features: str | None,
    encoder: str | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Is FILE's column of rewards heavy-tailed, does it matter, and what should be used?

    FILE is CSV (.csv, .tsv, .csv.gz, .csv.zst, ...) or Parquet, or the name of a data set (rand,
    cdnow, nyse_n, nyse_o, sp500; extra "data").

    \b
    heavybandits diagnose orders.csv --reward revenue
    heavybandits diagnose orders.parquet --reward revenue --features age,visits --plot page.png
    heavybandits diagnose log.csv.gz --reward revenue --encoder encoder.json
    heavybandits diagnose rand --json
    """
    given = read_features(read_names(features), encoder)
    source, columns, named = _source(file, given, reward)
    if named is None:
        raise InvalidInputError("--reward must name a column of the file")
    found = diagnose(source, columns or None, reward=named, **options)
    if plot is not None:
        save_figure(found.plot(), plot)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


@click.command("replay", short_help="Play policies over data that is already there.")
@click.argument("source", metavar="NAME|FILE")
@click.option("--reward", help="Column of the rewards.")
@click.option("--features", help="Columns of features, separated by commas.")
@ENCODER
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="How rows become rounds [rows].")
@click.option("--group", help="Column of the round (days) or of the arm (groups).")
@click.option("--arms", type=TWO, help="Rows per round, for rows [10].")
@click.option("--orders", type=Number(1, 10_000), default=20, show_default=True, help="Passes.")
@click.option("--horizon", type=TWO, help="Plays per pass, for groups [rows].")
@click.option("--action", default="action", show_default=True, help="Column, for logged.")
@click.option("--propensity", default="pscore", show_default=True, help='Column or "uniform".')
@click.option("--radius", type=float, default=1.0, show_default=True, help="Radius of LinUCB.")
@click.option(
    "--clip",
    type=float,
    default=3.0,
    show_default=True,
    help="Level of Clip, in mean sizes over ||x||_{V^-1}: it cuts less as an arm becomes known.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the orders.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
@PLOT
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay_command(
    source: str,
    reward: str | None,
    features: str | None,
    encoder: str | None,
    protocol: str | None,
    group: str | None,
    arms: int | None,
    horizon: int | None,
    radius: float,
    clip: float,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """What would `auto` have made of this, and LinUCB plain, clipped, and clipped by itself?

    NAME is a data set (rand, cdnow, nyse_n, nyse_o, sp500; extra "data"), FILE is CSV or Parquet.

    \b
    heavybandits replay rand
    heavybandits replay nyse_n --protocol groups --horizon 20000
    heavybandits replay orders.csv --reward revenue --features age,visits --arms 10
    heavybandits replay log.csv --protocol logged --features age --reward click
    heavybandits replay log.csv --protocol logged --encoder encoder.json --action offer
    """
    given = {"group": group, "arms_per_round": arms, "horizon": horizon}
    chosen = {name: value for name, value in given.items() if value is not None}
    frame, used, named = _source(source, read_features(read_names(features), encoder), reward)
    how = _protocol(source, protocol) | chosen
    result = replay(
        frame,
        used,
        named or "reward",
        lambda dim: _policies(dim, radius, clip),
        **options,
        **how,
    )
    if plot is not None:
        save_figure(result.plot().figure, plot)
    rows = result.summary()
    columns = [name for name in SHOWN if name in rows[0]]
    print_json(rows) if as_json else click.echo(to_text(rows, columns))


def _source(name: str, features: Any, reward: str | None) -> tuple[Any, Any, Any]:
    """Frame, features and reward of a named set or of a file."""
    if name in LOADERS and not Path(name).exists():
        data = load_data(name)
        click.echo(f"{name}: {data.about}", err=True)
        return data.frame, features or data.features, reward or data.reward
    return name, features, reward


def _protocol(name: str, protocol: str | None) -> dict[str, Any]:
    if name not in LOADERS or Path(name).exists():
        return {"protocol": protocol or "rows"}
    known = load_data(name).protocols
    if protocol is None:
        return next(iter(known.values()))
    return known.get(protocol, {"protocol": protocol})


def _policies(dim: int, radius: float, clip: float) -> dict[str, Any]:
    return {
        "auto": auto(dim=dim),
        "linucb": linucb(dim=dim, radius=radius),
        f"linucb, clip {clip:g}": linucb(dim=dim, radius=radius, filter=Clip(clip)),
        "linucb, adaptive clip": linucb(dim=dim, radius=radius, filter=AdaptiveClip()),
    }


def save_figure(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=150)
    click.echo(f"wrote {path}", err=True)
