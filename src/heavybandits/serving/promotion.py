"""Promotion: another policy takes over, with everything that is in the ledger.

The successor learns the ledger and follows it while the policy in force works on. Decisions wait
only for the last events, and for the moment in which the successor takes over.
"""

import logging
import secrets
import time
from typing import TYPE_CHECKING

from ..agents.agent import Agent
from ..ledger.successor import Successor
from . import schemas
from .ledgers import find_ledger, version_name
from .problems import ProblemError
from .settings import Description

if TYPE_CHECKING:
    from .served import ServedAgent

LOGGER = logging.getLogger("heavybandits.serving")


def promote(served: "ServedAgent", policies: list[Description]) -> schemas.Settings:
    """Let the last of these policies, or that of the configuration, take over."""
    if served.agent.ledger is None:
        raise ProblemError(409, "this needs an agent with a ledger")
    if not served.promoting.acquire(blocking=False):
        raise ProblemError(409, "a promotion is under way: wait for it")
    try:
        return _promote(served, policies)
    finally:
        served.promoting.release()


def _promote(served: "ServedAgent", policies: list[Description]) -> schemas.Settings:
    version = served.settings.version + 1
    policy, attempt = served.policy_of(policies), secrets.token_hex(2)
    ledger = version_name(served.config, f"{version}-{attempt}")
    before, after = (
        find_ledger(served.config, served.folder, one) for one in (served.settings.ledger, ledger)
    )
    assert before is not None
    assert after is not None
    successor = Successor(before, policy, after)
    try:
        Agent(policy, encoder=served.encoder).warm()
        successor.follow()
        start = time.perf_counter()
        old = served.writer.call(lambda: _take_over(served, successor, policies, ledger))
    except BaseException:
        successor.close()
        raise
    served.monitor.pause = time.perf_counter() - start
    old.close()
    LOGGER.info("promoted", extra={"agent": served.name, "version": version})
    return served.describe_settings()


def _take_over(
    served: "ServedAgent", successor: Successor, policies: list[Description], ledger: str
) -> Agent:
    """Let the successor take over; return the agent before it. The writer calls this."""
    old, settings = served.agent, served.settings
    served.take_over(successor.take_over(old))
    settings.policies, settings.ledger = policies, ledger
    settings.version += 1
    settings.rollout = served.rollout = None
    served.save()
    return old
