"""What can be read from the state of an agent, as plain functions: always copies."""

from pathlib import Path

import numpy as np

from .._utils.display import Card, count_of, write_part
from ..core.arrays import Floats
from ..core.capabilities import innermost, threshold_of
from ..core.confidence_region import Region
from ..core.dispatch import tally
from ..core.part import fallbacks_of, walk
from ..parts.estimators.auto import ScaleFreeEstimate, raw_theta, restart_count
from ..parts.filters.drift import DriftMemory, DriftMonitor, DriftReport
from .state import AgentState

IGNORED = ("late", "duplicate", "unknown")  # rewards without an effect


def describe(state: AgentState, ledger: Path | str | None) -> Card:
    """Return what a person wants to know of an agent: what it has learned and what it waits for."""
    counts, policy = state.tickets.counts, state.policy
    ignored = [f"{counts[name]:,} {name}" for name in IGNORED if counts[name]]
    decisions, rewards = count_of(updates(state), "decision"), count_of(counts["applied"], "reward")
    waiting = count_of(len(state.tickets.pending), "ticket")
    facts = {
        "learned": f"{decisions}, {rewards}",
        "waiting": f"{waiting}; {counts['expired']:,} expired",
        "ignored": f"rewards that were {', '.join(ignored)}" if ignored else None,
        "actions": len(state.tickets.action_counts) or None,
        "ledger": None if ledger is None else str(ledger),
        "id": f"{state.owners[-1].agent}, version {state.version}",
        "policy": write_part(policy),
    }
    return Card(f"Agent: {type(policy).__name__}, {count_of(policy.dim, 'feature')}", facts)


def region_of(state: AgentState) -> Region:
    """Return the confidence region of the policy, which is not copied."""
    try:
        return innermost(state.policy, state.learned)[1].estimate.region
    except AttributeError:
        name = type(state.policy).__name__
        raise AttributeError(f"{name} keeps no single confidence region") from None


def theta(state: AgentState) -> Floats:
    """Return the centre of the confidence region; for `auto` the slopes, one per feature."""
    region, estimate = region_of(state), innermost(state.policy, state.learned)[1].estimate
    if isinstance(estimate, ScaleFreeEstimate):
        return raw_theta(estimate)
    return region.centre.copy()


def design(state: AgentState) -> Floats:
    """Return V; for `auto` that of the standardised features and the constant."""
    region = region_of(state)
    return np.asarray(region.design + region.recent)


def inverse(state: AgentState) -> Floats:
    """Return V^-1; for `auto` that of the standardised features and the constant."""
    return region_of(state).inverse.copy()


def updates(state: AgentState) -> int:
    """Return the number of decisions learned."""
    return int(tally(state.policy, state.learned)[0])


def fallbacks(state: AgentState) -> int:
    """Return the number of updates in which V^-1 was computed again because of rounding."""
    return fallbacks_of(state.learned)


def truncated_share(state: AgentState) -> float:
    """Return the share of the rewards that the filter has changed."""
    counts, cut = state.tickets.counts, int(tally(state.policy, state.learned)[2])
    assumed = 0 if state.limits.expired_reward is None else counts["expired"]
    earlier = counts["warm_started"] * state.policy.plays
    return cut / max(counts["applied"] + earlier + assumed, 1)


def threshold(state: AgentState) -> float | None:
    """Return the threshold of the filter or, if it has none, of the estimator; else None."""
    return threshold_of(state.policy, state.learned)


def restarts(state: AgentState) -> int:
    """Return how often an `auto` has restarted; 0 for other policies."""
    found = (part for part in walk(state.learned) if isinstance(part, ScaleFreeEstimate))
    return sum(int(restart_count(estimate)) for estimate in found)


def drift(state: AgentState) -> DriftReport:
    """Return what `filters.DriftMonitor` has noticed."""
    for part in walk(state.policy):
        if isinstance(part, DriftMonitor):
            found = (memory for memory in walk(state.learned) if isinstance(memory, DriftMemory))
            return part.drift(next(found))
    name = type(state.policy).__name__
    raise AttributeError(f"{name} has no drift monitor: wrap its filter in filters.DriftMonitor")


def counters(state: AgentState) -> dict[str, int]:
    """Return the number of tickets of each kind, and of rows of warm starts."""
    counts = {name: n for name, n in state.tickets.counts.items() if name != "learned"}
    return {"pending": len(state.tickets.pending), **counts}
