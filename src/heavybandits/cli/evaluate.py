"""The command `evaluate`: the value that a policy would have had on a log."""

from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from ..offline.evaluate.estimators import ESTIMATORS, evaluate
from ..offline.evaluate.means import AGGREGATES
from ..offline.evaluate.targets import Target
from ..offline.log import Log
from ..offline.replay.replay import default_policies
from .options import JSON, PLOT, SEED, print_json, with_default
from .sources import DROP, ENCODER, FEATURES, draw, read_features

LEARNERS = tuple(name.replace(" ", "-") for name in default_policies(1))


@click.command("evaluate", short_help="The value that a policy would have had on a log.")
@click.argument("file")
@click.option("--probabilities", help="The policy: always the same, such as mail=0.7,call=0.3.")
@click.option("--policy-column", help="The policy: the column of the action that it chooses.")
@click.option("--policy", type=click.Choice(LEARNERS), help="The policy: it learns from the log.")
@with_default("--reward", "reward", "Column of the rewards.")
@FEATURES
@ENCODER
@with_default("--action", "action", "Column of the action taken.")
@with_default("--propensity", "propensity", 'Column of its probability, or "uniform".')
@click.option("--available", help="Column of the available actions, such as a|b|c [all].")
@click.option(
    "--estimator",
    help="How the rewards are weighted; rejection needs --policy and uniform propensities.  "
    "[default: dr; ips with --raw-moment]",
    type=click.Choice(list(ESTIMATORS)),
)
@with_default(
    "--aggregate",
    "mean",
    "How the weighted rewards are averaged.",
    type=click.Choice(list(AGGREGATES)),
)
@with_default("--delta", 0.05, "Probability of failure.", type=float)
@click.option("--raw-moment", type=float, help="A known bound on E|reward|^(1 + epsilon).")
@click.option("--epsilon", type=float, help="Order of --raw-moment, minus one.  [default: 1]")
@with_default("--seed", 0, "Seed of the folds.", type=SEED)
@DROP
@PLOT
@JSON
def evaluate_command(
    file: str, epsilon: float | None, plot: Path | None, as_json: bool, **options: Any
) -> None:
    """What would a policy have earned on the decisions of FILE, which another policy made?

    FILE is CSV or Parquet, one decision per row, with the probability of the action that was taken.

    \b
    heavybandits evaluate log.csv --probabilities call=1
    heavybandits evaluate log.csv --policy-column new_rule --features age,visits --plot value.png
    heavybandits evaluate log.csv --probabilities mail=0.5,call=0.5 --propensity uniform --json
    heavybandits evaluate log.csv --policy auto --encoder encoder.json --action offer
    """
    if epsilon is not None and options["raw_moment"] is None:
        raise InvalidInputError("--epsilon is the order of --raw-moment, which is not given")
    names = ("reward", "action", "propensity", "available", "drop_missing")
    columns = {name: options.pop(name) for name in names}
    log = Log(file, features=read_features(options), **columns)
    kinds = (options.pop(name) for name in ("probabilities", "policy_column", "policy"))
    policy = read_policy(log, *kinds)
    found = evaluate(log, policy=policy, epsilon=1.0 if epsilon is None else epsilon, **options)
    draw(found, plot)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


def read_policy(
    log: Log, probabilities: str | None, column: str | None, learner: str | None
) -> Target:
    """Return the policy that one of the three options names."""
    if [probabilities, column, learner].count(None) != 2:
        raise InvalidInputError(
            "one of --probabilities, --policy-column and --policy must name the policy"
        )
    if learner is not None:
        return default_policies(log.dim)[learner.replace("-", " ")]
    return column or read_probabilities(probabilities or "")


def read_probabilities(text: str) -> dict[str, float]:
    """Read names and numbers such as a=0.7,b=0.3."""
    made = {}
    for pair in text.split(","):
        name, _, probability = pair.partition("=")
        if name.strip() in made:
            raise InvalidInputError(
                f"--probabilities must name each action once, got {name.strip()!r} twice"
            )
        try:
            made[name.strip()] = float(probability)
        except ValueError:
            raise InvalidInputError(
                f"--probabilities must be like a=0.7,b=0.3, got {text!r}"
            ) from None
    return made
