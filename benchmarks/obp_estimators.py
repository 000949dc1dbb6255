"""Open Bandit Pipeline's own estimators next to ours, on the logs of the experiment `evaluation`
and on its sample of the Open Bandit data: python benchmarks/obp_estimators.py --help."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits._utils.statistics import wilson
from heavybandits._utils.tables import to_csv
from heavybandits.experiments.evaluation import settings
from heavybandits.experiments.evaluation.analysis import coverage_figure, error_figure, error_table
from heavybandits.experiments.evaluation.logs import evaluation_cell, log_of, make_world
from heavybandits.experiments.outputs import write_figure
from measuring import HERE, child, say
from peers import install, interpreter

ENVIRONMENT = HERE.parent / ".venv-obp"
SCRIPT = HERE / "peers" / "obp_estimators.py"
PACKAGE = "obp==0.5.7"
# It asks for Python below 3.11 and for old releases of these; its estimators run with today's.
NEEDS = ("numpy", "scipy", "scikit-learn", "pandas", "PyYAML", "tqdm", "matplotlib", "seaborn")
CHUNK = 50  # runs in one file of logs
SHOWN = ("IPW", "SNIPW", "DR", "Switch-DR", "DRos", "SG-DR")


def prepare() -> str:
    """Python of an environment in which obp's estimators can be imported."""
    python = interpreter(ENVIRONMENT)
    options = ("--no-deps", "--ignore-requires-python")
    trouble = [install(python, package) for package in NEEDS] + [install(python, PACKAGE, *options)]
    if any(trouble):
        sys.exit("; ".join(filter(None, trouble)))
    return str(python)


# ---- the logs of the experiment


def columns_of(law: str, rows: int, seed: int, run: int) -> dict[str, Any]:
    """One log of the experiment in obp's words, and the policy's probabilities."""
    log, shares, _ = log_of(law, rows, seed, run)
    context = np.column_stack([*log.columns.values()])
    taken = {"action": log.taken, "reward": log.rewards, "pscore": log.propensities}
    return {"context": context, "shares": shares} | taken


def ask(python: str, logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What obp makes of these logs."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "logs.npz"
        arrays: Any = {name: np.array([log[name] for log in logs]) for name in logs[0]}
        np.savez(path, **arrays)
        found: dict[str, Any] = child([python, str(SCRIPT), "estimate", str(path)])
        return found


def rows_of(named: dict[str, Any], methods: Sequence[str], found: Any, first: int) -> list[Any]:
    """One row per run and method, as the experiment has them."""
    return [
        named | {"run": first + run, "method": method, "value": value, "low": low, "high": high}
        for run, made in enumerate(found)
        for method, (value, low, high) in zip(methods, made, strict=True)
    ]


def collect(python: str, law: str, rows: int, runs: int, seed: int) -> list[dict[str, Any]]:
    """Our methods and obp's on the same logs of one law."""
    named, made = {"law": law, "rows": rows, "truth": make_world().truth}, []
    for first in range(0, runs, CHUNK):
        last = min(first + CHUNK, runs)
        ours = evaluation_cell(law, rows, first, last, seed)
        found = np.stack([ours[name] for name in ("value", "low", "high")], axis=2)
        made += rows_of(named, settings.METHODS, found.tolist(), first)
        theirs = ask(python, [columns_of(law, rows, seed, run) for run in range(first, last)])
        methods = [f"OBP {method}" for method in theirs["methods"]]
        made += rows_of(named, methods, theirs["found"], first)
    return made


def disagreement(rows: Sequence[dict[str, Any]]) -> float:
    """The largest difference between obp's values and the formulas the experiment writes down,
    over the size of the value."""
    pairs = {settings.PLAIN: "OBP IPW", "plain SNIPS": "OBP SNIPW"}
    place = {(r["law"], r["run"], r["method"]): r["value"] for r in rows}
    return max(
        abs(value - place[law, run, pairs[method]]) / max(1.0, abs(value))
        for (law, run, method), value in place.items()
        if method in pairs
    )


# ---- the Open Bandit sample


def sample_rows(python: str) -> list[dict[str, Any]]:
    """The value of choosing uniformly, from the log of Thompson sampling; and what it was."""
    made: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for campaign in child([python, str(SCRIPT), "sample", folder])["campaigns"]:
            log: dict[str, Any] = dict(np.load(Path(folder) / f"{campaign}.npz"))
            clicks, actions = log.pop("clicks"), int(log.pop("n_actions"))
            log["shares"] = np.full((log["action"].size, actions), 1.0 / actions)
            known = wilson(int(clicks.sum()), clicks.size)
            weights = 1.0 / (actions * log["pscore"])
            worth = float(weights.sum() ** 2 / (weights**2).sum())
            found = [{"method": "shown at random"} | known._asdict()]
            found += [*our_rows(log, actions), *their_rows(python, log)]
            made += [{"campaign": campaign, "effective sample size": worth} | row for row in found]
    return made


def our_rows(log: dict[str, Any], actions: int) -> list[dict[str, Any]]:
    feedback = {name: log[name] for name in ("context", "action", "reward", "pscore")}
    feedback["n_actions"] = actions
    found = {
        f"{n.upper()}, {mean}": hb.evaluate(
            feedback, policy=log["shares"], estimator=n, aggregate=mean
        )
        for n in ("ips", "snips", "dr")
        for mean in ("clipped", "mean")
    }
    return [
        {"method": name, "value": one.value, "low": one.low, "high": one.high}
        for name, one in found.items()
    ]


def their_rows(python: str, log: dict[str, Any]) -> list[dict[str, Any]]:
    found = ask(python, [log])
    return [
        {"method": f"OBP {method}", "value": value, "low": low, "high": high}
        for method, (value, low, high) in zip(found["methods"], found["found"][0], strict=True)
    ]


# ---- all of it


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Open Bandit Pipeline's estimators next to ours.")
    parser.add_argument("--law", action="append", choices=settings.LAWS, help="may be repeated")
    parser.add_argument("--rows", type=int, default=2_000, help="of a log (2000)")
    parser.add_argument("--runs", type=int, default=150, help="logs per law (150)")
    parser.add_argument("--seed", type=int, default=settings.PROFILES["default"]["seed"])
    parser.add_argument("--out", type=Path, default=Path("out/obp"), help="where to write")
    return parser.parse_args()


def main() -> None:
    chosen, python = parse(), prepare()
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "sample.csv").write_text(to_csv(sample_rows(python)))
    rows = []
    for law in chosen.law or settings.LAWS:
        say(f"{law} ...")
        rows += collect(python, law, chosen.rows, chosen.runs, chosen.seed)
    (chosen.out / "errors.csv").write_text(to_csv(error_table(rows).rows))
    shown = (settings.OURS, *(f"OBP {name}" for name in SHOWN))
    for figure in (coverage_figure(rows, shown), error_figure(rows, shown)):
        write_figure(figure, chosen.out, {})
    print(
        f"obp's IPW and SNIPW differ from plain IPS and SNIPS by at most {disagreement(rows):.1e}"
    )
    print(f"written: {chosen.out}")


if __name__ == "__main__":
    main()
