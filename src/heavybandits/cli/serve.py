"""The command `serve`: the decision service."""

import json
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from .._utils.errors import InvalidInputError, optional
from .options import Number, with_default

PORT = Number(1, 65_535)
COUNT = Number(0, 64)
COLUMNS = ("context", "action", "reward", "action_features")  # options that describe a log


@click.command("serve", short_help="Serve decisions over HTTP.")
@click.argument("config", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--csv", "csv_file", help="Fit, warm-start and serve this log of decisions.")
@click.option("--context", help="Columns of the context, with commas between (with --csv).")
@click.option("--action", help="Column of the action (with --csv).")
@click.option("--reward", help="Column of the reward (with --csv).")
@click.option("--action-features", help="Columns that describe the action (with --csv).")
@click.option("--demo", is_flag=True, help="Serve a shop with simulated visitors.")
@click.option("--port", help="Port of the API. Default: that of CONFIG, or 8000.", type=PORT)
@click.option("--admin-port", help="Port of the page. Default: that of CONFIG, or 8001.", type=PORT)
@click.option("--check", is_flag=True, help="Validate CONFIG, compile what it needs, and end.")
@with_default("--front-ends", 0, "Processes for HTTP before the one with the agents.", type=COUNT)
@click.option("--new-token", metavar="SCOPES", help="Print a new token with these scopes.")
def serve(config: Path | None, new_token: str | None, **given: Any) -> None:
    """Serve the agents of CONFIG, a TOML file, over HTTP.

    \b
    heavybandits serve shop.toml
    heavybandits serve --csv log.csv --context city,age --action product --reward revenue
    heavybandits serve --demo
    heavybandits serve --check shop.toml
    heavybandits serve --new-token decide,reward
    """
    optional("starlette", "serve")
    optional("msgspec", "serve")
    optional("uvicorn", "serve")
    if new_token is not None:
        return print_token(new_token)
    if (config is not None) + (given["csv_file"] is not None) + given["demo"] != 1:
        raise InvalidInputError("serve needs a TOML file, or --csv, or --demo: one of them")
    for name in COLUMNS:
        if given[name] is not None and given["csv_file"] is None:
            raise InvalidInputError(f"--{name.replace('_', '-')} needs --csv")
    if given["check"] and config is None:
        raise InvalidInputError("--check needs a TOML file")
    if given["demo"]:
        return run_demo(given)
    if given["csv_file"] is not None:
        return run_csv(given)
    assert config is not None
    made = read_ports(config, given)
    if given["check"]:
        return check_config(made)
    run(lambda: read_ports(config, given), given["front_ends"], lambda: announce(made))


def read_ports(path: Path, given: dict[str, Any]) -> Any:
    """Return the configuration in a file, with the ports of the command line."""
    from ..serving.config import read_config

    return replace(read_config(path), **ports_of(given))


def ports_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the ports that the command line names."""
    return {name: given[name] for name in ("port", "admin_port") if given[name] is not None}


def run(read: Callable[[], Any], front_ends: int, ready: Callable[[], None]) -> None:
    """Serve in one process, or with front ends, until SIGTERM."""
    from ..serving import server, supervisor

    if front_ends:
        return supervisor.supervise(read, front_ends, ready)
    server.run(read(), ready)


def print_token(scopes: str) -> None:
    """Print a new token and the lines of the configuration that allow it."""
    from ..serving.tokens import check_scopes, hash_token, new_token

    allowed, text = check_scopes(scopes.split(",")), new_token()
    click.echo(f"token, shown once: {text}\n\nadd to the configuration:\n\n[[tokens]]")
    click.echo(f'name = "new"\nsha256 = "{hash_token(text)}"\nscopes = {json.dumps(allowed)}')


def check_config(config: Any) -> None:
    """Print a line about each agent of a configuration that is valid."""
    from ..serving.check import check

    for line in check(config):
        click.echo(line)


def announce(config: Any, example: dict[str, Any] | None = None) -> None:
    """Print the addresses of a service that is ready, and a line to try it."""
    click.echo(f"API   http://{config.host}:{config.port}/v1/agents/{config.agents[0].name}")
    click.echo(f"page  http://{config.admin_host}:{config.admin_port}/")
    if example is not None:
        body = json.dumps(example).replace("'", "'\\''")
        click.echo(
            f"try   curl -s http://{config.host}:{config.port}/v1/agents/{config.agents[0].name}"
            f"/decide -H 'Content-Type: application/json' -d '{body}'"
        )


def run_demo(given: dict[str, Any]) -> None:
    """Serve the demonstration until it is stopped."""
    from ..serving import demo

    stop = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        config = demo.demo_config(Path(folder), **ports_of(given))
        url = f"http://{config.host}:{config.port}"
        example = {"context": {"city": "Oslo"}, "actions": demo.PRODUCTS}

        def start() -> None:
            announce(config, example)
            threading.Thread(target=demo.send_visitors, args=(url, stop), daemon=True).start()

        try:
            run(lambda: config, given["front_ends"], start)
        finally:
            stop.set()


def run_csv(given: dict[str, Any]) -> None:
    """Fit an agent to a log, and serve it."""
    from ..serving.log_service import fit_log

    for name in ("context", "action", "reward"):
        if given[name] is None:
            raise InvalidInputError(f"--csv needs --{name}")
    fitted = fit_log(
        given["csv_file"],
        context=given["context"].split(","),
        action=given["action"],
        reward=given["reward"],
        action_features=given["action_features"].split(",") if given["action_features"] else (),
        **ports_of(given),
    )
    click.echo(fitted.diagnosis)
    config = fitted.config
    run(lambda: config, given["front_ends"], lambda: announce(config, fitted.example))
