"""Metrics of a service in the text format of Prometheus."""

from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .served import ServedAgent

PREFIX = "heavybandits"


def write_metrics(agents: Iterable[ServedAgent]) -> tuple[str, str]:
    """Return the metrics of these agents, and their media type."""
    registry = CollectorRegistry()
    registry.register(_Collector(list(agents)))
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST


class _Collector:
    def __init__(self, agents: list[ServedAgent]) -> None:
        self._agents = agents

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with one sample per agent."""
        yield self._counter("decisions", "Decisions made.", "decisions")
        yield self._counter("requests_repeated", "Decisions repeated by event_id.", "repeated")
        rewards = CounterMetricFamily(
            f"{PREFIX}_rewards", "Rewards by outcome.", labels=["agent", "outcome"]
        )
        for served in self._agents:
            for outcome in ("applied", "duplicate", "late", "rejected"):
                rewards.add_metric([served.name, outcome], served.monitor.counts[outcome])
        yield rewards
        commits = CounterMetricFamily(
            f"{PREFIX}_batches", "Batches of the writer.", labels=["agent"]
        )
        rows = CounterMetricFamily(
            f"{PREFIX}_batched_requests", "Requests in batches of the writer.", labels=["agent"]
        )
        gauges = {
            name: GaugeMetricFamily(f"{PREFIX}_{name}", words, labels=["agent"])
            for name, words in GAUGES.items()
        }
        for served in self._agents:
            commits.add_metric([served.name], served.writer.commits)
            rows.add_metric([served.name], served.writer.rows)
            for name, value in _values(served).items():
                gauges[name].add_metric([served.name], value)
        yield commits
        yield rows
        yield from gauges.values()

    def _counter(self, name: str, words: str, count: str) -> CounterMetricFamily:
        family = CounterMetricFamily(f"{PREFIX}_{name}", words, labels=["agent"])
        for served in self._agents:
            family.add_metric([served.name], served.monitor.counts[count])
        return family


GAUGES = {
    "ready": "1 if the agent can decide and record.",
    "queue": "Requests that wait.",
    "pending": "Decisions that wait for their rewards.",
    "expired": "Decisions that expired.",
    "version": "Version of the policy.",
    "threshold": "Threshold of the next reward; nan without one.",
    "truncated_share": "Share of the rewards that the filter has changed.",
    "restarts": "Restarts of the policy.",
    "effective_sample_size": "Effective sample size of the log.",
}


def _values(served: ServedAgent) -> dict[str, float]:
    agent, counters = served.agent, served.agent.counters
    threshold = agent.threshold
    return {
        "ready": float(served.ready),
        "queue": served.writer.waiting,
        "pending": counters["pending"],
        "expired": counters["expired"],
        "version": served.settings.version,
        "threshold": float("nan") if threshold is None else threshold,
        "truncated_share": agent.truncated_share,
        "restarts": agent.restarts,
        "effective_sample_size": served.monitor.effective_sample_size,
    }
