"""The state of an agent for the API and the live page."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .served import ServedAgent


def summarize(served: "ServedAgent") -> dict[str, Any]:
    """Return settings, counts, table of actions, uplift and series of an agent."""
    return {
        "agent": served.name,
        **_describe_settings(served),
        **_describe_traffic(served),
        **_describe_learning(served),
    }


def _describe_settings(served: "ServedAgent") -> dict[str, Any]:
    settings, rollout = served.settings, served.rollout
    promoted = settings.policies[-1]["policy"] if settings.policies else served.config.policy
    return {
        "policy": promoted,
        "mode": settings.mode,
        "holdout": settings.holdout,
        "baseline": settings.baseline,
        "version": settings.version,
        "ready": served.ready,
        "durable": served.agent.ledger is not None,
        "marks": sorted(settings.marks),
        "rollout": None if rollout is None else rollout.to_dict(),
    }


def _describe_traffic(served: "ServedAgent") -> dict[str, Any]:
    monitor, writer = served.monitor, served.writer
    return {
        "counts": monitor.counts | {"rows": writer.rows, "commits": writer.commits},
        "queue": writer.waiting,
        "groups": monitor.group_plays,
        "actions": monitor.table(),
        "largest": [
            {"reward": reward, "action": action, "ticket": key}
            for _, reward, action, key in sorted(monitor.largest, reverse=True)
        ],
        "propensities": monitor.propensities,
        "effective_sample_size": monitor.effective_sample_size,
        "agreed": monitor.agreed,
        "seconds": [
            {
                "time": one.time,
                "decisions": one.decisions,
                "rewards": one.rewards,
                "milliseconds": 1000.0 * one.latency / one.requests if one.requests else None,
                "actions": one.actions.copy(),
            }
            for one in list(monitor.seconds)
        ],
    }


def _describe_learning(served: "ServedAgent") -> dict[str, Any]:
    agent, found = served.agent, served.monitor.uplift()
    drift = getattr(agent, "drift", None)
    return {
        "counters": agent.counters,
        "uplift": found._asdict()
        | {"first": found.first._asdict(), "second": found.second._asdict()},
        "tail_index": served.monitor.tail_index(),
        "threshold": agent.threshold,
        "truncated_share": agent.truncated_share,
        "restarts": agent.restarts,
        "drift": None if drift is None else str(drift),
    }
