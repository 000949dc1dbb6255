"""Try a configuration without serving it."""

from collections.abc import Iterator

from .config import ServiceConfig, encoder_of, open_agent, policy_of


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
        encoder = encoder_of(one, config.folder)
        open_agent(one, encoder, policy_of(one, encoder.dim), None).warm()
        yield f"{one.name}: {one.policy}, {encoder.dim} features, mode {one.mode}"
