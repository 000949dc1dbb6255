"""The policies, encoders and agents that a configuration describes."""

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.validation import did_you_mean
from ..agents.agent import Agent
from ..algorithms.catalogue import ALGORITHMS
from ..core.protocols import Policy
from ..features import Encoder, FeatureMap
from ..features.serialization import TYPES
from ..parts.policies import EpsilonGreedy
from .config import AgentConfig, check_keys, check_list, check_text

NAMED = {name.lower(): row for name, row in ALGORITHMS.items()}
LISTS = ("context", "action", "actions")
KEYS = ("file", "data", *LISTS, "interactions", "name_column")


def make_policy(
    name: str, dim: int, parameters: Mapping[str, Any], epsilon: float | None = None, seed: int = 0
) -> Policy:
    """Make a policy by its name.

    >>> make_policy("auto", 3, {}).dim
    3
    """
    row = NAMED.get(name.lower())
    if row is None:
        raise InvalidInputError(
            f"policy must be the name of an algorithm, got {name!r}{did_you_mean(name, NAMED)}"
        )
    for key in parameters:
        if key not in row.parameters or key == "dim":
            hint = did_you_mean(key, row.parameters)
            raise InvalidInputError(f"{name} has no hyperparameter {key!r}{hint}")
    known = signature(row.function).parameters.values()
    needed = [one.name for one in known if one.default is Parameter.empty and one.name != "dim"]
    if not set(needed) <= set(parameters):
        raise InvalidInputError(
            f"{name} needs the hyperparameters {', '.join(needed)}, got "
            f"{', '.join(parameters) or 'none'}"
        )
    try:
        policy: Policy = row.function(dim=dim, **parameters)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be made: {error}") from error
    return policy if epsilon is None else EpsilonGreedy(policy, epsilon=epsilon, seed=seed)


def policy_of(config: AgentConfig, dim: int) -> Policy:
    """Make the policy of an agent: a named one, or one of your own code."""
    if ":" in config.policy:
        return _own_policy(config, dim)
    try:
        return make_policy(config.policy, dim, config.parameters, config.epsilon, config.seed)
    except InvalidInputError as error:
        raise InvalidInputError(f"{config.where} {error}") from error


def _own_policy(config: AgentConfig, dim: int) -> Policy:
    module, _, function = config.policy.partition(":")
    if config.parameters or config.epsilon is not None:
        raise InvalidInputError(
            f"{config.where} parameters and epsilon belong to a policy of the library: "
            f"{config.policy!r} must set its own"
        )
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{config.where} policy {config.policy!r} must be MODULE:FUNCTION of code that Python "
            f"finds: {error}. Install the module, or add its folder to PYTHONPATH"
        ) from error
    made: Policy = make(dim)
    return made


def encoder_of(config: AgentConfig, folder: Path) -> Encoder:
    """Make the encoder of an agent: from a file, from columns, or inferred from a log."""
    where = f"[agents.{config.name}.encoder]"
    given = dict(config.encoder)
    _check_encoder(where, given)
    check_baseline(f"{config.where} baseline", config, config.baseline)
    try:
        return _make_encoder(where, given, folder)
    except InvalidInputError as error:
        text = str(error)
        raise InvalidInputError(text if where in text else f"{where} {text}") from error


def check_baseline(label: str, config: AgentConfig, baseline: str) -> None:
    """Raise InvalidInputError if the actions are listed and the baseline is none of them."""
    names = config.encoder.get("actions", [])
    if names and baseline not in ("first", *names):
        raise InvalidInputError(
            f'{label} must be "first" or one of the actions, '
            f"got {baseline!r}{did_you_mean(baseline, names)}"
        )


def _check_encoder(where: str, given: Mapping[str, Any]) -> None:
    """Raise InvalidInputError unless the table has one source of the encoder."""
    check_keys(where, given, KEYS)
    for key in ("file", "data", "interactions", "name_column"):
        check_text(f"{where} {key}", given.get(key), optional=True)
    for key in LISTS:
        check_list(f"{where} {key}", given.get(key, ()))
    for source, unused in (("file", KEYS[1:]), ("data", ("actions",))):
        if source in given and any(key in given for key in unused):
            both = ", ".join(key for key in unused if key in given)
            raise InvalidInputError(f"{where} has {source}, which replaces {both}: remove one")
    if not any(given.get(key) for key in ("file", "data", "action", "actions")):
        raise InvalidInputError(
            f'{where} must describe the actions: actions = ["a", "b"], or columns in '
            f"[[{where[1:-1]}.action]], or a file that Encoder.save wrote, or data = a log"
        )


def _make_encoder(where: str, given: Mapping[str, Any], folder: Path) -> Encoder:
    if "file" in given:
        return Encoder.load(folder / given["file"])
    names = given.get("actions", ())
    interactions = given.get("interactions", "per_action" if names else "all")
    if "data" in given:
        return Encoder.from_data(
            folder / given["data"],
            context_columns=given.get("context", ()),
            action_columns=given.get("action", ()),
            interactions=interactions,
            action=given.get("name_column"),
        )
    columns = [[_column(where, one) for one in given.get(s, ())] for s in ("context", "action")]
    action = given.get("name_column", "action" if interactions == "per_action" else None)
    return Encoder(*columns, interactions=interactions, action=action, actions=names)


def _column(where: str, table: Any) -> Any:
    kind = TYPES.get(str(table.get("type"))) if isinstance(table, Mapping) else None
    if kind is None:
        raise InvalidInputError(
            f"a column of {where} must be a table with a type of {', '.join(TYPES)}, got {table!r}"
        )
    columns = fields(kind)
    check_keys(f"a column of {where}", table, ["type", *(one.name for one in columns)])
    for one in columns:
        if one.default is MISSING and one.name not in table:
            raise InvalidInputError(f"a column of {where} needs {one.name}, got {table!r}")
    return kind(**{key: value for key, value in table.items() if key != "type"})


def open_agent(
    config: AgentConfig, encoder: FeatureMap, policy: Policy, ledger: str | None
) -> Agent:
    """Open the agent of a configuration.

    It has no generator to break ties between equal scores at random: the lowest row wins them, and
    so the propensities are exact.
    """
    return Agent(
        policy,
        ledger=ledger,
        encoder=encoder,
        max_pending=config.max_pending,
        expire_after=config.expire_after,
        expired_reward=config.expired_reward,
    )
