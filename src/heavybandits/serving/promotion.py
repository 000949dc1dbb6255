"""Promotion: another policy takes over, with everything that is in the ledger."""

import logging
from typing import TYPE_CHECKING

from ..agents.agent import Agent
from . import schemas
from .ledgers import find_ledger, version_name
from .problems import ProblemError
from .settings import Description

if TYPE_CHECKING:
    from .served import ServedAgent

LOGGER = logging.getLogger("heavybandits.serving")


def swap(served: "ServedAgent", policies: list[Description]) -> schemas.Settings:
    """Let the last of these policies, or that of the configuration, take over."""
    if served.agent.ledger is None:
        raise ProblemError(409, "this needs an agent with a ledger")
    served.writer.call(lambda: _swap(served, policies))
    LOGGER.info("promoted", extra={"agent": served.name, "version": served.settings.version})
    return served.describe_settings()


def _swap(served: "ServedAgent", policies: list[Description]) -> None:
    settings, agent = served.settings, served.agent
    version = settings.version + 1
    name = version_name(served.config, version)
    old, new = (find_ledger(served.config, served.folder, one) for one in (settings.ledger, name))
    assert old is not None
    policy = served.policy_of(policies)
    agent.close()
    try:
        made = Agent.rebuild(old, policy, output=new)
    except Exception:
        served.agent = served.open()
        raise
    served.take_over(made)
    settings.policies, settings.version, settings.ledger = policies, version, name
    settings.rollout = served.rollout = None
    served.save()
