"""From a log of decisions to a service: encoder, diagnosis, warm start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError
from ..features import Encoder
from ..features import tables as frames
from ..offline.diagnose.diagnosis import diagnose
from ..offline.log import Log
from .config import ServiceConfig, make_config
from .construction import encoder_of, open_agent, policy_of

NAME = "agent"
MOST_EXAMPLE = 20  # actions of the example


class FittedLog(NamedTuple):
    """A service that has learned a log, what was found in it, and an example of a request."""

    config: ServiceConfig
    diagnosis: str
    example: dict[str, Any]


def fit_log(
    path: str,
    *,
    context: Sequence[str],
    action: str,
    reward: str,
    action_features: Sequence[str] = (),
    port: int = 8000,
    admin_port: int = 8001,
) -> FittedLog:
    """Infer an encoder from a log, diagnose its rewards and teach an agent all of it.

    The ledger and the encoder are stored next to the log. A ledger that exists is continued.
    """
    file = Path(path).absolute()
    if not file.exists():
        raise InvalidInputError(f"{path} does not exist")
    frame = frames.read_frame(file)
    names = [str(name) for name in frames.values(frame, action, "action", as_written=True)]
    actions = sorted(set(names))
    encoder = Encoder.from_data(
        file,
        context_columns=context,
        action_columns=action_features,
        interactions="per_action",
        action=action,
        allow_extra=True,
    )
    found = diagnose(Log(file, features=encoder, reward=reward, action=action))
    encoder_file = f"{file.stem}.encoder.json"
    encoder.save(file.parent / encoder_file)
    table = {
        "policy": found.advice.algorithm if found.advice.algorithm != "none" else "auto",
        "epsilon": 0.05,
        "ledger": f"{file.stem}.db",
        "encoder": {"file": encoder_file},
    }
    service = {"port": port, "admin_port": admin_port}
    config = make_config({"service": service, "agents": {NAME: table}}, file.parent)
    _teach(config, file, reward)
    rows = _example_rows(frame, context, action, action_features, actions)
    return FittedLog(config, str(found), rows)


def _teach(config: ServiceConfig, file: Path, reward: str) -> None:
    """Warm-start the agent, unless its ledger has learned already."""
    one = config.agents[0]
    encoder, ledger = encoder_of(one, config.folder), str(config.folder / str(one.ledger))
    with open_agent(one, encoder, policy_of(one, encoder.dim), ledger) as agent:
        if agent.updates == 0:
            frame = frames.read_frame(file)
            rewards = [float(value) for value in frames.values(frame, reward, "reward")]
            agent.warm_start(encoder.encode_rows(file), rewards)


def _example_rows(
    frame: Any,
    context: Sequence[str],
    action: str,
    action_features: Sequence[str],
    actions: Sequence[str],
) -> dict[str, Any]:
    """Return a request with the context of the first row and its actions."""

    def first(column: str, row: int = 0) -> Any:
        value = list(frames.values(frame, column, "column", as_written=True))[row]
        return value.item() if hasattr(value, "item") else value

    written = [str(name) for name in frames.values(frame, action, "action", as_written=True)]
    described = {
        name: {column: first(column, written.index(name)) for column in action_features}
        for name in actions[:MOST_EXAMPLE]
    }
    return {"context": {column: first(column) for column in context}, "actions": described}
