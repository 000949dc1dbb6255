"""The configuration of a service, a TOML file: agents by name, addresses, limits and tokens."""

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
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
from .tokens import Token, check_scopes

MODES = ("online", "apprentice", "frozen", "off")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAMED = {name.lower(): row for name, row in ALGORITHMS.items()}


@dataclass(frozen=True)
class AgentConfig:
    """One agent of a service.

    Parameters
    ----------
    name : str
        The name in the address.
    policy : str
        Name of an algorithm such as "auto", or "module:function" of your own code, which receives
        the dimension and returns a policy.
    parameters : mapping
        Hyperparameters of the algorithm.
    epsilon : float, optional
        Share of decisions that are made at random, by `EpsilonGreedy`.
    seed : int
        Seed of the random decisions.
    encoder : mapping
        A file, columns, or a log from which columns are inferred.
    ledger : str, optional
        Path of the ledger, or address `postgresql://user@host/database`, to which the name of the
        agent is added unless it ends in `?agent=NAME`; None stores nothing.
    mode : str
        online, apprentice, frozen or off.
    holdout : float
        Share of the units that get the baseline.
    baseline : str
        Name of the action that is the baseline, or "first".
    expire_after : float, optional
        Seconds that a decision waits for its reward.
    expired_reward : float, optional
        Reward of a decision that expires.
    max_pending : int
        Decisions that may wait for rewards.
    """

    name: str
    policy: str = "auto"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float | None = None
    seed: int = 0
    encoder: Mapping[str, Any] = field(default_factory=dict)
    ledger: str | None = field(default=None, repr=False)  # may contain a password
    mode: str = "online"
    holdout: float = 0.0
    baseline: str = "first"
    expire_after: float | None = None
    expired_reward: float | None = None
    max_pending: int = 100_000

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InvalidInputError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if not 0.0 <= self.holdout < 1.0:
            raise InvalidInputError(f"holdout must be in [0, 1), got {self.holdout!r}")
        if not self.name.isidentifier() or not self.name.isascii():
            raise InvalidInputError(
                f"the name of an agent must be letters, digits and _, got {self.name!r}"
            )


@dataclass(frozen=True)
class Limits:
    """Limits on requests.

    Parameters
    ----------
    body : int
        Bytes of a body.
    seconds : float
        Time in which a body must arrive.
    connections : int
        Open connections; one more gets 503.
    queue : int
        Requests that may wait for one ledger; one more gets 503.
    """

    body: int = 1 << 20
    seconds: float = 10.0
    connections: int = 1000
    queue: int = 1000


@dataclass(frozen=True)
class ServiceConfig:
    """A service: its agents, addresses, limits and tokens.

    Parameters
    ----------
    agents : tuple of AgentConfig
        At least one.
    host, port : str, int
        Address of the API.
    admin_host, admin_port : str, int
        Address of administration and of the live page.
    folder : Path
        Where relative paths start, and where the service stores its secret and its settings.
    limits : Limits
        Limits on requests.
    drain : float
        Seconds that the service still answers after SIGTERM while it reports that it is not ready:
        the time in which a load balancer notices.
    tokens : tuple of Token
        Bearer tokens; none allow everything, on the loopback address only.
    """

    agents: tuple[AgentConfig, ...]
    host: str = "127.0.0.1"
    port: int = 8000
    admin_host: str = "127.0.0.1"
    admin_port: int = 8001
    folder: Path = Path(".")
    limits: Limits = Limits()
    drain: float = 0.0
    tokens: tuple[Token, ...] = ()

    def __post_init__(self) -> None:
        if not self.agents:
            raise InvalidInputError("a service must have an agent: add a table [agents.NAME]")
        for host in (self.host, self.admin_host):
            if host not in LOOPBACK and not self.tokens:
                raise InvalidInputError(
                    f"a service at {host} must have tokens: run `heavybandits serve --new-token "
                    "decide,reward` and add what it prints, or use host 127.0.0.1"
                )


def read_config(path: str | Path) -> ServiceConfig:
    """Read the TOML file of a service.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ServiceConfig

    Raises
    ------
    InvalidInputError
        The file is not TOML, or a key is not known.
    """
    file = Path(path)
    try:
        text = file.read_text()
        given = tomllib.loads(text)
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} must be TOML: {error}") from error
    return make_config(given, file.absolute().parent)


def make_config(given: Mapping[str, Any], folder: Path) -> ServiceConfig:
    """Make the configuration of a service from the tables of its file.

    >>> made = make_config({"agents": {"shop": {"encoder": {"actions": ["a", "b"]}}}}, Path("."))
    >>> made.agents[0].policy
    'auto'
    """
    _check_keys("the file", given, ("service", "agents", "limits", "tokens"))
    service = dict(given.get("service", {}))
    own = ("host", "port", "admin_host", "admin_port", "folder", "drain")
    _check_keys("[service]", service, own)
    service["folder"] = (folder / service.get("folder", ".")).absolute()
    agents = []
    for name, table in given.get("agents", {}).items():
        known = [one.name for one in fields(AgentConfig) if one.name != "name"]
        _check_keys(f"[agents.{name}]", table, known)
        agents.append(AgentConfig(name, **table))
    limits = given.get("limits", {})
    _check_keys("[limits]", limits, [one.name for one in fields(Limits)])
    tokens = tuple(_make_token(table) for table in given.get("tokens", ()))
    return ServiceConfig(tuple(agents), limits=Limits(**limits), tokens=tokens, **service)


def _make_token(table: Mapping[str, Any]) -> Token:
    _check_keys("[[tokens]]", table, Token._fields)
    made = Token(**{"name": "", **table})
    if len(made.sha256) != 64:
        raise InvalidInputError("sha256 of a token must be 64 hexadecimal digits")
    return made._replace(scopes=check_scopes(made.scopes))


def _check_keys(where: str, given: Mapping[str, Any], known: Any) -> None:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{where} must be a table, got {given!r:.80}")
    for key in given:
        if key not in known:
            raise InvalidInputError(f"{where} has no key {key!r}{did_you_mean(key, list(known))}")


# ---- agents


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
    try:
        policy: Policy = row.function(dim=dim, **parameters)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be made: {error}") from error
    return policy if epsilon is None else EpsilonGreedy(policy, epsilon=epsilon, seed=seed)


def policy_of(config: AgentConfig, dim: int) -> Policy:
    """Make the policy of an agent: a named one, or one of your own code."""
    if ":" in config.policy:
        module, _, function = config.policy.partition(":")
        made: Policy = getattr(importlib.import_module(module), function)(dim)
        return made
    return make_policy(config.policy, dim, config.parameters, config.epsilon, config.seed)


def encoder_of(config: AgentConfig, folder: Path) -> Encoder:
    """Make the encoder of an agent: from a file, from columns, or inferred from a log."""
    given = dict(config.encoder)
    where = f"[agents.{config.name}.encoder]"
    known = ("file", "data", "context", "action", "actions", "interactions", "name_column")
    _check_keys(where, given, known)
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
    try:
        return kind(**{key: value for key, value in table.items() if key != "type"})
    except TypeError as error:
        raise InvalidInputError(f"a column of {where} is not valid: {error}") from error


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
