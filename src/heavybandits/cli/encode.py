"""The commands `encode fit` and `encode show`: an encoder from the columns of a log."""

from pathlib import Path
from typing import Any

import click

from ..features import Encoder
from ..features import tables as frames
from ..features.interactions import INTERACTIONS
from .options import COUNT, JSON, NewFile, OneOf, print_json, with_default
from .sources import read_names


@click.group("encode", short_help="Make features from the columns of a log.")
def encode_group() -> None:
    """Make features from numbers, categories, dates and missing values.

    diagnose, replay and evaluate take the file with --encoder, Python with hb.Encoder.load.

    \b
    heavybandits encode fit log.csv --action offer --reward revenue --out encoder.json
    heavybandits encode show encoder.json
    """


@encode_group.command("fit", short_help="Fit an encoder to a log and write it to a file.")
@click.argument("file")
@click.option("--out", type=NewFile((".json",)), required=True, help="JSON file to write.")
@click.option("--context-columns", help="Columns of the context, separated by commas.")
@click.option("--action-columns", help="Columns of the actions, separated by commas.")
@click.option("--action", help="Column with the name of the action.")
@click.option("--reward", help="Column of the rewards; it does not become a feature.")
@click.option("--exclude", help="Other columns that do not become features, separated by commas.")
@click.option(
    "--interactions",
    type=OneOf(INTERACTIONS),
    help="Products of context and action among the features.",
    show_default="all with action columns, else per_action",
)
@click.option(
    "--category",
    help="Columns of numbers that are categories, such as a postcode, separated by commas.",
)
@click.option(
    "--allow-missing", help="Columns that may have missing values later, separated by commas."
)
@with_default(
    "--max-categories",
    30,
    "Largest number of categories of a column with a feature of their own.",
    type=COUNT,
)
@JSON
def fit_command(
    file: str, out: Path, action: str | None, reward: str | None, as_json: bool, **options: Any
) -> None:
    """Infer the type and scale of the columns of FILE, and write the encoder to a file.

    FILE is CSV or Parquet, compressed or not. Without --context-columns and --action-columns, all
    columns that no other option names belong to the context if there is an --action. Without an
    --action they belong to the actions, because then each row is one action.

    \b
    heavybandits encode fit log.csv --action offer --reward revenue --out encoder.json
    heavybandits encode fit log.csv --context-columns age,city --action-columns price --out e.json
    """
    frame = frames.read_frame(file)
    context, own = (read_names(options[f"{kind}_columns"]) for kind in ("context", "action"))
    if not context and not own:
        named = {action, reward, *read_names(options["exclude"])}
        rest = [name for name in frames.column_names(frame) if name not in named]
        context, own = ([], rest) if action is None else (rest, [])
    encoder = Encoder.from_data(
        frame,
        context_columns=context,
        action_columns=own,
        action=action,
        interactions=options["interactions"] or ("all" if own else "per_action"),
        column_types=dict.fromkeys(read_names(options["category"]), "category"),
        allow_missing=read_names(options["allow_missing"]),
        max_categories=options["max_categories"],
        allow_extra=True,
    )
    encoder.save(out)
    show(encoder, as_json)
    click.echo(f"wrote {out}", err=True)


@encode_group.command("show", short_help="Show the columns and features of an encoder.")
@click.argument("file")
@JSON
def show_command(file: str, as_json: bool) -> None:
    """Show how the encoder in FILE encodes each column.

    \b
    heavybandits encode show encoder.json
    """
    show(Encoder.load(file), as_json)


def show(encoder: Encoder, as_json: bool) -> None:
    """Print an encoder as a table or as JSON."""
    shown: dict[str, Any] = {"dim": encoder.dim, "interactions": encoder.interactions}
    shown |= {"columns": encoder.describe(), "names": encoder.names}
    print_json(shown) if as_json else click.echo(str(encoder))
