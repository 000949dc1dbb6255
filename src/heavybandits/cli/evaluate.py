"""The command `evaluate`: estimate the value of a policy from a log."""

from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError
from ..offline.evaluate.carriers import INTERVALS
from ..offline.evaluate.estimators import ESTIMATORS, evaluate
from ..offline.evaluate.means import AGGREGATES
from ..offline.evaluate.targets import Target
from ..offline.log import Log
from ..offline.replay.replay import default_policies
from .options import JSON, PLOT, SEED, OneOf, print_json, with_default
from .sources import DROP, ENCODER, FEATURES, draw, read_features, read_log

LEARNERS = tuple(name.replace(" ", "-") for name in default_policies(1))


@click.command("evaluate", short_help="Estimate the value of a policy from a log.")
@click.argument("file")
@click.option("--probabilities", help="Policy with fixed probabilities, such as mail=0.7,call=0.3.")
@click.option("--policy-column", help="Policy given by the column of the action that it chooses.")
@click.option("--policy", type=OneOf(LEARNERS), help="Policy that learns from the log.")
@click.option(
    "--baseline",
    help="Second policy to compare with: probabilities, or a column.",
    show_default="the log itself",
)
@click.option("--reward", help="Column of the rewards.", show_default="reward")
@FEATURES
@ENCODER
@click.option("--action", help="Column of the action taken.", show_default="action")
@click.option(
    "--propensity",
    help='Column of the probability of this action, or "uniform".',
    show_default="propensity",
)
@click.option(
    "--available",
    help="Column of the available actions, such as a|b|c.",
    show_default="all actions",
)
@click.option(
    "--estimator",
    help="Off-policy estimator; rejection needs --policy and uniform propensities.",
    show_default="dr; ips with --raw-moment",
    type=OneOf(ESTIMATORS),
)
@with_default(
    "--aggregate",
    "mean",
    "Mean of the weighted rewards: plain, or clipped.",
    type=OneOf(AGGREGATES),
)
@with_default(
    "--delta", 0.05, "Probability with which the interval may miss the value.", type=float
)
@with_default(
    "--interval",
    "checked",
    "Report an interval if enough rows carry the estimate, or always.",
    type=OneOf(INTERVALS),
)
@click.option("--raw-moment", type=float, help="Known bound on E|reward|^(1 + epsilon).")
@click.option(
    "--epsilon", type=float, help="Order of --raw-moment minus 1, in (0, 1].", show_default="1"
)
@with_default("--seed", 0, "Seed of the folds.", type=SEED)
@DROP
@PLOT
@JSON
def evaluate_command(
    file: str, epsilon: float | None, plot: Path | None, as_json: bool, **options: Any
) -> None:
    """Estimate what a policy would have earned on the decisions of FILE, made by another policy.

    FILE is CSV or Parquet, one decision per row, with the probability of the action that was taken;
    or the ledger of an agent, which has all of this.

    \b
    heavybandits evaluate agent.db --probabilities tea=0.5,figs=0.5 --baseline figs=1
    heavybandits evaluate log.csv --probabilities call=1
    heavybandits evaluate log.csv --policy-column new_rule --features age,visits --plot value.png
    heavybandits evaluate log.csv --probabilities mail=0.5,call=0.5 --propensity uniform --json
    heavybandits evaluate log.csv --policy auto --encoder encoder.json --action offer
    """
    if epsilon is not None and options["raw_moment"] is None:
        raise InvalidInputError("--epsilon needs --raw-moment: give both, or neither")
    names = ("reward", "action", "propensity", "available", "drop_missing")
    columns = {name: options.pop(name) for name in names}
    log = read_log(file, read_features(options), columns)
    kinds = (options.pop(name) for name in ("probabilities", "policy_column", "policy"))
    options["policy"] = read_policy(log, *kinds)
    options["baseline"] = read_baseline(options["baseline"])
    found = evaluate(log, epsilon=1.0 if epsilon is None else epsilon, **options)
    draw(found, plot)
    print_json(found.to_dict()) if as_json else click.echo(str(found))


def read_policy(
    log: Log, probabilities: str | None, column: str | None, learner: str | None
) -> Target:
    """Return the policy that one of the three options names."""
    if [probabilities, column, learner].count(None) != 2:
        raise InvalidInputError("give exactly one of --probabilities, --policy-column and --policy")
    if learner is not None:
        return default_policies(log.dim)[learner.replace("-", " ")]
    return column or read_probabilities(probabilities or "")


def read_baseline(text: str | None) -> Target | None:
    """Return probabilities such as a=0.7,b=0.3, or else the column of this name.

    >>> read_baseline("mail=1"), read_baseline("new_rule")
    ({'mail': 1.0}, 'new_rule')
    """
    return read_probabilities(text) if text and "=" in text else text


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
