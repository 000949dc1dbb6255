"""Addresses of ledgers on a PostgreSQL server: `postgresql://user@host/database?agent=shop`.

The part `agent` names the ledger. Everything else is an address as libpq defines it: several hosts,
`sslmode`, a service. What is shown of an address never contains its password.
"""

import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._utils.errors import InvalidInputError, optional

SCHEMES = ("postgresql://", "postgres://")
EXAMPLE = "postgresql://user@host/database?agent=shop"
SECRETS = ("password", "sslpassword", "sslkey", "oauth_client_secret")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")


@dataclass(frozen=True)
class Address:
    """The address of one ledger on a server.

    Parameters
    ----------
    agent : str
        Name of the ledger: letters, digits, `_`, `.` and `-`.
    parameters : mapping
        What libpq needs for a connection, by its names.
    """

    agent: str
    parameters: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.agent):
            raise InvalidInputError(
                "agent in the address of a ledger must be 1 to 100 letters, digits, _, . or -, "
                f"got {self.agent!r:.120}"
            )

    def __str__(self) -> str:
        """Return the address without its password."""
        known = self.parameters
        user = f"{known['user']}@" if "user" in known else ""
        hosts = [urllib.parse.quote(host, safe="[]:") for host in known.get("host", "").split(",")]
        ports = known["port"].split(",") if "port" in known else [""] * len(hosts)
        ports = ports * len(hosts) if len(ports) == 1 else ports
        places = ",".join(
            f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False)
        )
        return f"postgresql://{user}{places}/{known.get('dbname', '')}?agent={self.agent}"

    def of(self, agent: str) -> "Address":
        """Return the address of another ledger in the same database."""
        return replace(self, agent=agent)


def is_address(ledger: object) -> bool:
    """Return True if a ledger is on a server; raise InvalidInputError for an unknown scheme.

    >>> is_address("postgresql://db/shop?agent=shop"), is_address("agent.db")
    (True, False)
    """
    if not isinstance(ledger, str) or "://" not in ledger:
        return isinstance(ledger, Address)
    if not ledger.startswith(SCHEMES):
        raise InvalidInputError(
            f"ledger must be the path of a file or an address such as {EXAMPLE}, got the scheme "
            f"{ledger.partition('://')[0]!r:.40}"
        )
    return True


def parse_address(text: "str | Address") -> Address:
    """Return the parts of an address; raise InvalidInputError, without quoting it, if it is wrong.

    >>> str(parse_address("postgresql://ann:secret@db.example/shop?agent=tea"))
    'postgresql://ann@db.example/shop?agent=tea'
    """
    if isinstance(text, Address):
        return text
    server, agents = split_agent(text)
    if len(agents) != 1:
        raise InvalidInputError(
            f"the address of a ledger must name one agent, such as {EXAMPLE}, got {len(agents)}"
        )
    return Address(agents[0], parse_server(server))


def split_agent(text: str) -> tuple[str, list[str]]:
    """Return the address of the database, and the names of agents that are in it."""
    server, mark, query = text.partition("?")
    given = urllib.parse.parse_qsl(query, keep_blank_values=True)
    rest = [(name, value) for name, value in given if name != "agent"]
    agents = [value for name, value in given if name == "agent"]
    options = urllib.parse.urlencode(rest, quote_via=urllib.parse.quote)
    return server + (mark if rest else "") + options, agents


def with_agent(text: str, agent: str) -> str:
    """Return an address with another agent, and with its password.

    >>> with_agent("postgresql://db/shop?sslmode=require&agent=a", "b")
    'postgresql://db/shop?sslmode=require&agent=b'
    """
    server, _ = split_agent(text)
    return f"{server}{'&' if '?' in server else '?'}agent={agent}"


def parse_server(text: str) -> Mapping[str, str]:
    """Return what libpq needs for a connection to this database, by its names."""
    driver = load_driver()
    try:
        found: dict[str, Any] = driver.conninfo.conninfo_to_dict(text)
    except driver.Error:  # its message may quote the password
        raise _malformed() from None
    return {name: str(value) for name, value in found.items()}


def _malformed() -> InvalidInputError:
    return InvalidInputError(
        f"the address of a ledger must have the form {EXAMPLE}, with %-escapes for special "
        "characters; it is not shown, because it may contain a password"
    )


def load_driver() -> Any:
    """Import psycopg, or say how to get it."""
    return optional("psycopg", "postgres")


def locate(ledger: "str | Path | Address") -> "Path | Address":
    """Return where a ledger is: a file, or an address.

    >>> locate("agent.db").name
    'agent.db'
    """
    if isinstance(ledger, Address):
        return ledger
    return parse_address(str(ledger)) if is_address(ledger) else Path(ledger)
