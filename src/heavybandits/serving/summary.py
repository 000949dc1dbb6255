"""The state of an agent of the service, for the API and the live page."""

import time
from typing import TYPE_CHECKING, Any

from .monitor import Difference, Monitor

if TYPE_CHECKING:
    from .served import ServedAgent

MOST_SERIES = 8  # actions with a series of their own
QUANTILES = {"p50": 0.5, "p99": 0.99}


def summarize(served: "ServedAgent") -> dict[str, Any]:
    """Return settings, counts, statistics and series of an agent, as plain values for JSON."""
    return {
        "agent": served.name,
        **_describe_settings(served),
        **_describe_traffic(served),
        **_describe_rewards(served.monitor),
        **_describe_learning(served),
    }


def _describe_settings(served: "ServedAgent") -> dict[str, Any]:
    stored, rollout = served.settings, served.rollout
    return {
        "policy": stored.policies[-1]["policy"] if stored.policies else served.config.policy,
        "mode": stored.mode,
        "holdout": stored.holdout,
        "baseline": stored.baseline,
        "version": stored.version,
        "ready": served.ready,
        "durable": served.agent.ledger is not None,
        "marks": sorted(stored.marks),
        "pause": served.monitor.pause,
        "rollout": None if rollout is None else rollout.to_dict(),
    }


def _describe_traffic(served: "ServedAgent") -> dict[str, Any]:
    monitor, writer, now = served.monitor, served.writer, time.time()
    names = monitor.most_played(MOST_SERIES)
    recent = monitor.recent_latencies()
    quantiles = {name: recent.quantile(share) for name, share in QUANTILES.items()}
    return {
        "since": monitor.since,
        "counts": monitor.counts | {"rows": writer.rows, "commits": writer.commits},
        "queue": writer.waiting,
        "latency": {
            name: None if value is None else 1000.0 * value for name, value in quantiles.items()
        },
        "series": {
            "seconds": monitor.seconds.series(now, names)._asdict(),
            "minutes": monitor.minutes.series(now, names)._asdict(),
        },
    }


def _describe_rewards(monitor: Monitor) -> dict[str, Any]:
    return {
        "groups": dict(monitor.group_plays),
        "actions": monitor.table(),
        "uplift": describe_difference(monitor.uplift()),
        "tail_index": monitor.tail_index(),
        "largest": [
            {"reward": reward, "action": action, "ticket": key}
            for _, reward, action, key in sorted(monitor.largest, reverse=True)
        ],
        "propensities": list(monitor.propensities),
        "effective_sample_size": monitor.effective_sample_size,
        "agreed": list(monitor.agreed),
    }


def _describe_learning(served: "ServedAgent") -> dict[str, Any]:
    agent = served.agent
    return {
        "counters": agent.counters,
        "oldest": find_oldest(agent),
        "threshold": agent.threshold,
        "truncated_share": agent.truncated_share,
        "restarts": agent.restarts,
        "drift": _describe_drift(agent),
    }


def describe_difference(found: Difference) -> dict[str, Any]:
    """Return a difference and the means of its groups by name."""
    parts = {"first": found.first._asdict(), "second": found.second._asdict()}
    return found._asdict() | parts | {"certain": found.certain}


def find_oldest(agent: Any) -> float | None:
    """Return how many seconds the oldest decision has waited for its reward; None if none waits."""
    waiting = agent.pending
    decision = agent.state.tickets.decision_of(waiting[0]) if waiting else None
    moment = None if decision is None else decision.times.get(waiting[0])
    return None if moment is None else max(time.time() - moment, 0.0)


def _describe_drift(agent: Any) -> dict[str, Any] | None:
    """Return what the agent has noticed about changes; None if its policy does not watch."""
    try:
        return dict(agent.drift._asdict())
    except AttributeError:
        return None
