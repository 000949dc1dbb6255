"""The commands `diagnose` and `replay`, added to the command line by `register`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..data import LOADERS, load_data
from ..diagnosis.diagnose import diagnose
from ..replaying.replay import PROTOCOLS, replay
from ..replaying.results import ReplayResult
from ..support.errors import DataError, InvalidInput


def register(group: click.Group) -> None:
    """Add both commands to a group."""
    group.add_command(diagnose_command)
    group.add_command(replay_command)


def _refuse(error: Exception) -> click.UsageError:
    return click.UsageError(str(error))


def _guarded(work: Callable[[], Any]) -> Any:
    """The user's mistakes as usage errors, exit code 2."""
    try:
        return work()
    except (InvalidInput, DataError, ModuleNotFoundError) as error:
        raise _refuse(error) from None


def _names(columns: str | None) -> list[str]:
    return [name.strip() for name in (columns or "").split(",") if name.strip()]


@click.command("diagnose", short_help="Examine rewards: tails, moments, what to use.")
@click.argument("file")
@click.option("--reward", help="Column of the rewards (of a named set: its own).")
@click.option("--features", help="Columns of features, separated by commas.")
@click.option("--horizon", type=click.IntRange(min=1), help="Plays you plan for [rows].")
@click.option("--delta", type=float, default=0.01, show_default=True, help="Chance of failure.")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diagnose_command(
    file: str,
    reward: str | None,
    features: str | None,
    horizon: int | None,
    delta: float,
    drop_missing: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Is FILE's column of rewards heavy-tailed, does it matter, and what should be used?

    FILE is CSV (.csv, .csv.gz, .tsv) or Parquet, or the name of a data set (rand, cdnow, nyse_n,
    nyse_o, sp500; extra "data").

    \b
    heavybandits diagnose orders.csv --reward revenue
    heavybandits diagnose orders.parquet --reward revenue --features age,visits --plot page.png
    heavybandits diagnose rand --json
    """

    def work() -> Any:
        source, columns, named = _source(file, _names(features), reward)
        if named is None:
            raise InvalidInput("--reward must name a column of the file")
        return diagnose(
            source,
            columns or None,
            reward=named,
            horizon=horizon,
            delta=delta,
            drop_missing=drop_missing,
        )

    found = _guarded(work)
    if plot is not None:
        _guarded(lambda: _save(found.plot(), plot))
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else str(found))


@click.command("replay", short_help="Play policies over data that is already there.")
@click.argument("source", metavar="NAME|FILE")
@click.option("--reward", help="Column of the rewards.")
@click.option("--features", help="Columns of features, separated by commas.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), help="How rows become rounds [rows].")
@click.option("--group", help="Column of the round (days) or of the arm (groups).")
@click.option("--arms", type=click.IntRange(min=2), help="Rows per round, for rows [10].")
@click.option("--orders", type=click.IntRange(min=1), default=20, show_default=True, help="Passes.")
@click.option("--horizon", type=click.IntRange(min=2), help="Plays per pass, for groups [rows].")
@click.option("--action", default="action", show_default=True, help="Column, for logged.")
@click.option("--pscore", default="pscore", show_default=True, help="Column, for logged.")
@click.option("--width", type=float, default=1.0, show_default=True, help="Radius of LinUCB.")
@click.option(
    "--clip", type=float, default=3.0, show_default=True, help="Fixed clip, in mean sizes."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--drop-missing", is_flag=True, help="Leave out rows with a missing value.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay_command(
    source: str,
    reward: str | None,
    features: str | None,
    protocol: str | None,
    group: str | None,
    arms: int | None,
    orders: int,
    horizon: int | None,
    action: str,
    pscore: str,
    width: float,
    clip: float,
    seed: int,
    drop_missing: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """What would LinUCB, plain, with a fixed clip and with one that sets itself, have made of this?

    NAME is a data set (rand, cdnow, nyse_n, nyse_o, sp500; extra "data"), FILE is CSV or Parquet.

    \b
    heavybandits replay rand
    heavybandits replay nyse_n --protocol groups --horizon 20000
    heavybandits replay orders.csv --reward revenue --features age,visits --arms 10
    heavybandits replay log.csv --protocol logged --features age --reward click
    """
    given = {"group": group, "arms_per_round": arms, "horizon": horizon}
    chosen = {name: value for name, value in given.items() if value is not None}

    def work() -> ReplayResult:
        frame, columns, named = _source(source, _names(features), reward)
        how = _protocol(source, protocol) | chosen
        return replay(
            frame,
            columns,
            named or "reward",
            lambda dim: _policies(dim, width, clip),
            orders=orders,
            action=action,
            pscore=pscore,
            seed=seed,
            drop_missing=drop_missing,
            **how,
        )

    result: ReplayResult = _guarded(work)
    if plot is not None:
        _guarded(lambda: _save(result.plot().figure, plot))
    summary = result.summary()
    click.echo(json.dumps(_finite(summary), indent=2) if as_json else _table(summary))


def _source(name: str, features: list[str], reward: str | None) -> tuple[Any, list[str], Any]:
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


def _policies(dim: int, width: float, clip: float) -> dict[str, Any]:
    from ..algorithms.linear import linucb
    from ..filters import AdaptiveClip, Clip

    return {
        "linucb": linucb(dim=dim, radius=width),
        f"linucb, clip {clip:g}": linucb(dim=dim, radius=width, filter=Clip(clip)),
        "linucb, adaptive clip": linucb(dim=dim, radius=width, filter=AdaptiveClip()),
    }


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:  # no such folder, no such format
        raise InvalidInput(f"--plot cannot be written: {error}") from None
    click.echo(f"wrote {path}", err=True)


def _table(summary: list[dict[str, Any]]) -> str:
    """The summary in columns."""
    shown = ["policy", "value", "random", "oracle", "fraction", "accepted", "acceptance"]
    shown += ["difference", "low", "high", "better", "truncated_share"]
    columns = [name for name in shown if name in summary[0]]
    lines = [columns, *([_cell(row[name]) for name in columns] for row in summary)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    )


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _finite(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """nan has no place in JSON."""
    return [
        {k: None if isinstance(v, float) and v != v else v for k, v in row.items()} for row in rows
    ]
