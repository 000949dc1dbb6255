"""Try a configuration without serving it."""

from collections.abc import Iterator

from ..ledger.address import is_address, parse_address
from .config import ServiceConfig
from .construction import encoder_of, open_agent, policy_of
from .ledgers import find_ledger, first_name


def check(config: ServiceConfig) -> Iterator[str]:
    """Make every agent of a configuration in memory, compile what it needs, and describe it.

    Parameters
    ----------
    config : ServiceConfig
        The configuration.

    Yields
    ------
    str
        A line about each agent.

    Raises
    ------
    InvalidInputError
        A policy or an encoder is not valid.
    """
    for one in config.agents:
        ledger = find_ledger(one, config.folder, first_name(one))
        if is_address(ledger):
            parse_address(str(ledger))
        encoder = encoder_of(one, config.folder)
        open_agent(one, encoder, policy_of(one, encoder.dim), None).warm()
        yield f"{one.name}: {one.policy}, {encoder.dim} features, mode {one.mode}"
