"""What the experiments found: one row per experiment, and sentences about the claims."""

from collections.abc import Sequence
from typing import NamedTuple

from .._utils.tables import Row
from .outputs import FAILS, HOLDS, UNDECIDED, Verdict
from .run import Run

OUTCOMES = (HOLDS, FAILS, UNDECIDED)
ALL_SETTINGS = {  # by the outcome that a claim has in every setting
    HOLDS: "Holds in every setting",
    FAILS: "Does not hold in any setting",
    UNDECIDED: "Undecided in every setting",
}
MIXED = "Depends on the setting"


class Found(NamedTuple):
    """Claims of an experiment that came out alike."""

    heading: str
    outcome: str | None  # None if it depends on the setting
    claims: list[str]


def count_outcomes(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Return the number of verdicts of each outcome.

    >>> count_outcomes([])
    {'holds': 0, 'does not hold': 0, 'undecided': 0}
    """
    return {outcome: sum(v.outcome == outcome for v in verdicts) for outcome in OUTCOMES}


def make_rows(runs: Sequence[Run]) -> list[Row]:
    """Return how many claims of each experiment hold; a column for failed cells if there are any.

    The last row is the total, if there are several experiments.
    """
    failed = any(run.failed for run in runs)
    rows: list[Row] = [
        {"experiment": run.title, **count_outcomes(run.findings.verdicts)}
        | ({"failed cells": len(run.failed)} if failed else {})
        for run in runs
    ]
    if len(rows) > 1:
        names = [name for name in rows[0] if name != "experiment"]
        rows.append({"experiment": "total"} | {n: sum(row[n] for row in rows) for n in names})
    return rows


def say_total(runs: Sequence[Run]) -> str:
    """Return how many tests of claims came out how, as a sentence.

    >>> say_total([Run("figure1", "Figure 1", {})])
    'No claim was tested.'
    """
    verdicts = [verdict for run in runs for verdict in run.findings.verdicts]
    counts = count_outcomes(verdicts)
    if not verdicts:
        return "No claim was tested."
    return (
        f"{len(verdicts)} tests of claims: {counts[HOLDS]} hold, {counts[FAILS]} do not hold, and "
        f"{counts[UNDECIDED]} are undecided at this number of repetitions."
    )


def group_claims(verdicts: Sequence[Verdict]) -> list[Found]:
    """Return the claims of an experiment by what came out, each claim once.

    >>> made = [Verdict("A is best", str(n), "", 5.0, (2.0, 9.0), "holds") for n in range(2)]
    >>> group_claims(made)
    [Found(heading='Holds in every setting', outcome='holds', claims=['A is best'])]
    """
    by_claim: dict[str, list[str]] = {}
    for verdict in verdicts:
        by_claim.setdefault(verdict.claim, []).append(verdict.outcome)
    groups = [
        Found(heading, outcome, [c for c, found in by_claim.items() if set(found) == {outcome}])
        for outcome, heading in ALL_SETTINGS.items()
    ]
    mixed = [
        f"{claim} ({_say_settings(found)})"
        for claim, found in by_claim.items()
        if len(set(found)) > 1
    ]
    return [group for group in (*groups, Found(MIXED, None, mixed)) if group.claims]


def _say_settings(outcomes: Sequence[str]) -> str:
    """Return in how many settings a claim has each outcome.

    >>> _say_settings(["holds", "holds", "undecided"])
    'holds in 2 of 3 settings, undecided in 1'
    """
    counts = [(outcome, outcomes.count(outcome)) for outcome in OUTCOMES if outcome in outcomes]
    (first, count), *rest = counts
    pieces = [f"{first} in {count} of {len(outcomes)} settings"]
    return ", ".join(pieces + [f"{outcome} in {count}" for outcome, count in rest])
