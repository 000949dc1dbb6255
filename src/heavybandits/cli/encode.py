"""The commands `encode fit` and `encode show`: features out of columns, kept in a file."""

from pathlib import Path
from typing import Any

import click

from ..features import Encoder
from ..features import tables as frames
from ..features.interactions import MEETINGS
from .data import read_names
from .options import COUNT, NewFile, print_json


@click.group("encode", short_help="Make features out of the columns of a log.")
def encode_group() -> None:
    """Features out of names, categories, dates and gaps, the same for every command and agent.

    diagnose, replay and evaluate take the file with --encoder, Python with hb.Encoder.load.

    \b
    heavybandits encode fit log.csv --action offer --reward revenue --out encoder.json
    heavybandits encode show encoder.json
    """


@encode_group.command("fit", short_help="Fit an encoder on a log and keep it.")
@click.argument("file")
@click.option("--out", type=NewFile((".json",)), required=True, help="Where to keep it.")
@click.option("--context", help="Columns of who or what is decided for, separated by commas.")
@click.option("--offer", help="Columns of what is offered, separated by commas.")
@click.option("--action", help="Column with the name of the offer.")
@click.option("--reward", help="Column of the rewards: no feature.")
@click.option("--leave", help="Further columns that are no features, separated by commas.")
@click.option("--meet", type=click.Choice(MEETINGS), help="How context and offer meet.")
@click.option("--category", help="Columns of numbers that are names, such as a postcode.")
@click.option("--missing", help="Columns that may lack a value although none does here.")
@click.option("--most-values", type=COUNT, default=30, show_default=True, help="Of a category.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fit_command(
    file: str,
    out: Path,
    context: str | None,
    offer: str | None,
    action: str | None,
    reward: str | None,
    leave: str | None,
    meet: str | None,
    category: str | None,
    missing: str | None,
    most_values: int,
    as_json: bool,
) -> None:
    """Find out what the columns of FILE are and how to scale them, and keep that in a file.

    FILE is CSV or Parquet, compressed or not. Without --context and --offer, every column that is
    not named otherwise is one of the context if there is an --action, and of the offer if there is
    none, since then the rows themselves are what is chosen among. The default of --meet is hybrid
    if the offers have columns, else per-offer.

    \b
    heavybandits encode fit log.csv --action offer --reward revenue --out encoder.json
    heavybandits encode fit log.csv --context age,city --offer price --out encoder.json
    """
    frame = frames.read_frame(file)
    sides = {"context": read_names(context), "offer": read_names(offer)}
    if not sides["context"] and not sides["offer"]:
        named = {action, reward, *read_names(leave)}
        rest = [name for name in frames.column_names(frame) if name not in named]
        sides["offer" if action is None else "context"] = rest
    made = Encoder.fit(
        frame,
        sides["context"],
        sides["offer"],
        action=action,
        meet=meet or ("hybrid" if sides["offer"] else "per-offer"),
        kinds=dict.fromkeys(read_names(category), "category"),
        missing=read_names(missing),
        most_values=most_values,
        ignore=True,
    )
    made.save(out)
    show(made, as_json)
    click.echo(f"wrote {out}", err=True)


@encode_group.command("show", short_help="Say what an encoder does.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_command(file: str, as_json: bool) -> None:
    """What the encoder in FILE makes of each column.

    \b
    heavybandits encode show encoder.json
    """
    show(Encoder.load(file), as_json)


def show(encoder: Encoder, as_json: bool) -> None:
    told: dict[str, Any] = {"dim": encoder.dim, "meet": encoder.meet}
    told |= {"columns": encoder.describe(), "names": encoder.names}
    print_json(told) if as_json else click.echo(str(encoder))
