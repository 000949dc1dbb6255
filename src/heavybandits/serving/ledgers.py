"""Names of the ledgers of a served agent: the first one, and one for each version.

The settings of an agent store names alone: a path, or for a ledger on a server the part `agent` of
its address. The rest of the address, which may contain a password, stays in the configuration.
"""

from pathlib import Path

from ..ledger.address import is_address, split_agent, with_agent
from .config import AgentConfig


def first_name(config: AgentConfig) -> str | None:
    """Return the name of the first ledger; on a server that of the agent, unless it is given.

    >>> first_name(AgentConfig("shop", ledger="postgresql://db/bandits"))
    'shop'
    """
    if config.ledger is None or not is_address(config.ledger):
        return config.ledger
    return (*split_agent(config.ledger)[1], config.name)[0]


def version_name(config: AgentConfig, version: int | str) -> str:
    """Return the name of the ledger of a version.

    >>> version_name(AgentConfig("shop", ledger="data/shop.db"), 2)
    'data/shop.v2.db'
    """
    first = first_name(config)
    if is_address(config.ledger):
        return f"{first}.v{version}"
    path = Path(str(first))
    return str(path.with_name(f"{path.stem}.v{version}{path.suffix}"))


def find_ledger(config: AgentConfig, folder: Path, name: str | None) -> str | None:
    """Return the path or the address of the ledger with this name; None if there is none."""
    if name is None or config.ledger is None:
        return None
    return with_agent(config.ledger, name) if is_address(config.ledger) else str(folder / name)
