"""The configuration of a service, a TOML file: agents by name, addresses, limits and tokens."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.validation import (
    Interval,
    bounded_number,
    bounded_whole,
    did_you_mean,
    one_of,
    positive,
    whole,
)
from ..ledger.address import is_address
from .tokens import Token, check_scopes

MODES = ("online", "apprentice", "frozen", "off")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORTS = Interval(1, 65_535)
SHA256 = re.compile("[0-9a-fA-F]{64}")


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
        if not self.name.isidentifier() or not self.name.isascii():
            raise InvalidInputError(
                f"the name of an agent must be letters, digits and _, got {self.name!r}"
            )
        where = self.where
        for key in ("policy", "baseline", "ledger"):
            check_text(f"{where} {key}", getattr(self, key), optional=key == "ledger")
        is_address(self.ledger)  # rejects unknown schemes
        for key in ("parameters", "encoder"):
            check_table(f"{where[:-1]}.{key}]", getattr(self, key))
        one_of(f"{where} mode", self.mode, MODES)
        bounded_number(f"{where} holdout", self.holdout, Interval(0.0, 1.0, "[)"))
        bounded_whole(f"{where} seed", self.seed, Interval(0))
        whole(f"{where} max_pending", self.max_pending)
        if self.epsilon is not None:
            bounded_number(f"{where} epsilon", self.epsilon, Interval(0.0, 1.0, "()"))
        if self.expire_after is not None:
            positive(f"{where} expire_after", self.expire_after)
        if self.expired_reward is not None:
            bounded_number(f"{where} expired_reward", self.expired_reward)
            if self.expire_after is None:
                raise InvalidInputError(f"{where} expired_reward needs expire_after")

    @property
    def where(self) -> str:
        """Return the table of the file that describes this agent."""
        return f"[agents.{self.name}]"


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

    def __post_init__(self) -> None:
        for key in ("body", "connections", "queue"):
            whole(f"[limits] {key}", getattr(self, key))
        positive("[limits] seconds", self.seconds)


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
        for key in ("port", "admin_port"):
            bounded_number(f"[service] {key}", whole(f"[service] {key}", getattr(self, key)), PORTS)
        if self.port == self.admin_port:
            raise InvalidInputError(
                f"[service] port and admin_port must differ, got {self.port} for both"
            )
        bounded_number("[service] drain", self.drain, Interval(0.0))
        self._check_ledgers()
        for host in (self.host, self.admin_host):
            if host not in LOOPBACK and not self.tokens:
                raise InvalidInputError(
                    f"a service at {host} must have tokens: run `heavybandits serve --new-token "
                    "decide,reward` and add what it prints, or use host 127.0.0.1"
                )

    def _check_ledgers(self) -> None:
        """Raise InvalidInputError if two agents have one ledger file."""
        owners: dict[Path, str] = {}
        for one in self.agents:
            if one.ledger is None or is_address(one.ledger):
                continue
            other = owners.setdefault((self.folder / one.ledger).resolve(), one.name)
            if other != one.name:
                raise InvalidInputError(
                    f"{one.where} ledger must be a file of its own, {one.ledger!r} is that of "
                    f"[agents.{other}]"
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
    check_keys("the file", given, ("service", "agents", "limits", "tokens"))
    service = dict(check_table("[service]", given.get("service", {})))
    own = ("host", "port", "admin_host", "admin_port", "folder", "drain")
    check_keys("[service]", service, own)
    for key in ("host", "admin_host", "folder"):
        check_text(f"[service] {key}", service.get(key), optional=True)
    service["folder"] = (folder / service.get("folder", ".")).absolute()
    agents = []
    for name, table in check_table("[agents]", given.get("agents", {})).items():
        known = [one.name for one in fields(AgentConfig) if one.name != "name"]
        check_keys(f"[agents.{name}]", table, known)
        agents.append(AgentConfig(name, **table))
    limits = given.get("limits", {})
    check_keys("[limits]", limits, [one.name for one in fields(Limits)])
    tokens = tuple(_make_token(table) for table in check_list("tokens", given.get("tokens", [])))
    return ServiceConfig(tuple(agents), limits=Limits(**limits), tokens=tokens, **service)


def _make_token(table: Mapping[str, Any]) -> Token:
    check_keys("[[tokens]]", table, Token._fields)
    digest, scopes = str(table.get("sha256")), check_list("scopes", table.get("scopes"))
    if not SHA256.fullmatch(digest):
        raise InvalidInputError(
            "[[tokens]] sha256 must be 64 hexadecimal digits: `heavybandits serve --new-token "
            f"decide,reward` prints them, got {table.get('sha256')!r:.80}"
        )
    return Token(str(table.get("name", "")), digest.lower(), check_scopes(scopes))


# ---- values of a file


def check_keys(where: str, given: Any, known: Iterable[str]) -> None:
    """Raise InvalidInputError unless a value is a table that has these keys only."""
    for key in check_table(where, given):
        if key not in known:
            raise InvalidInputError(f"{where} has no key {key!r}{did_you_mean(key, known)}")


def check_table(where: str, given: Any) -> Mapping[str, Any]:
    """Return a table, or raise InvalidInputError."""
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{where} must be a table, got {given!r:.80}")
    return given


def check_list(where: str, given: Any) -> list[Any]:
    """Return a list, or raise InvalidInputError."""
    if not isinstance(given, list | tuple):
        raise InvalidInputError(f"{where} must be a list, got {given!r:.80}")
    return list(given)


def check_text(where: str, given: Any, *, optional: bool = False) -> None:
    """Raise InvalidInputError unless a value is text; None is allowed where it is optional."""
    if not (isinstance(given, str) and given) and not (optional and given is None):
        raise InvalidInputError(f"{where} must be text, got {given!r:.80}")
