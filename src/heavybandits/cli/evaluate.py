"""The command `evaluate`: what another policy would have earned."""

from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from ..offline.evaluate.evaluate import ESTIMATORS, evaluate
from ..offline.evaluate.means import METHODS
from .data import ENCODER, PLOT, read_features, read_names, save_figure
from .options import SEED, print_json


@click.command("evaluate", short_help="What another policy would have earned, from a log.")
@click.argument("file")
@click.option("--shares", help="The policy: always the same, such as mail=0.7,call=0.3.")
@click.option("--choices", help="The policy: a column with what it chooses in each row.")
@click.option("--reward", default="reward", show_default=True, help="Column of the rewards.")
@click.option("--features", help="Columns of features, separated by commas.")
@ENCODER
@click.option("--action", default="action", show_default=True, help="Column of the action taken.")
@click.option(
    "--propensity",
    default="pscore",
    show_default=True,
    help='Column of its probability, or "uniform".',
)
@click.option("--offers", help="Column of what was on offer, such as a|b|c [everything].")
@click.option("--estimator", type=click.Choice(ESTIMATORS), default="dr", show_default=True)
@click.option("--mean", type=click.Choice(list(METHODS)), default="clipped", show_default=True)
@click.option("--delta", type=float, default=0.05, show_default=True, help="Chance of failure.")
@click.option("--raw-moment", type=float, help="A bound on E|reward|^(1 + epsilon) that you know.")
@click.option("--epsilon", type=float, help="Its order.  [default: 1]")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the folds.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
@PLOT
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate_command(
    file: str,
    shares: str | None,
    choices: str | None,
    features: str | None,
    encoder: str | None,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """What would a policy have earned on the decisions of FILE, which another policy made?

    FILE is CSV or Parquet, one decision per row, with the probability of the action that was taken.

    \b
    heavybandits evaluate log.csv --shares call=1
    heavybandits evaluate log.csv --choices new_rule --features age,visits --plot value.png
    heavybandits evaluate log.csv --shares mail=0.5,call=0.5 --propensity uniform --json
    heavybandits evaluate log.csv --choices new_rule --encoder encoder.json --action offer
    """
    if (shares is None) == (choices is None):
        raise InvalidInputError("one of --shares and --choices must say what the policy does")
    if options["epsilon"] is not None and options["raw_moment"] is None:
        raise InvalidInputError("--epsilon is the order of --raw-moment, which is not given")
    options["epsilon"] = 1.0 if options["epsilon"] is None else options["epsilon"]
    policy: Any = choices if shares is None else _read_shares(shares)
    found = evaluate(file, policy, read_features(read_names(features), encoder), **options)
    if plot is not None:
        save_figure(found.plot(), plot)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


def _read_shares(text: str) -> dict[str, float]:
    """Names and numbers out of a=0.7,b=0.3."""
    made = {}
    for pair in text.split(","):
        name, _, share = pair.partition("=")
        try:
            made[name.strip()] = float(share)
        except ValueError:
            raise InvalidInputError(f"--shares must be like a=0.7,b=0.3, got {text!r}") from None
    return made
