"""Metrics of a service in the text format of Prometheus, one sample per agent."""

from collections.abc import Iterable, Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector

from .._utils.version import __version__
from .monitor import LATENCIES, Latencies
from .served import ServedAgent
from .summary import find_oldest

PREFIX = "heavybandits"
OUTCOMES = ("applied", "duplicate", "late", "rejected")
NAN = float("nan")

COUNTERS = {
    "decisions": "Decisions made.",
    "decisions_repeated": "Requests answered with the decision of the same event_id.",
    "expired": "Decisions that expired without a reward.",
    "commits": "Commits of the writer.",
    "committed_requests": "Requests in the commits of the writer.",
    "restarts": "Restarts of the policy because rewards have another unit or mean.",
}
GAUGES = {
    "ready": "1 if the agent can decide and record, else 0.",
    "queue_length": "Requests that wait for the writer.",
    "pending": "Decisions that wait for their rewards.",
    "oldest_pending_seconds": "Seconds that the oldest pending decision has waited; 0 for none.",
    "policy_version": "Version of the policy.",
    "holdout_share": "Share of the units that get the baseline.",
    "threshold": "Threshold at which the next reward is clipped; NaN without one.",
    "clipped_share": "Share of the rewards that the filter has changed.",
    "effective_sample_size": "Effective sample size of the decisions.",
    "tail_index": "Tail index of the latest rewards; NaN with too few of them.",
    "uplift": "Mean reward of the policy minus that of the hold-out; NaN with too few rewards.",
    "uplift_low": "Lower end of the 95% interval of the uplift.",
    "uplift_high": "Upper end of the 95% interval of the uplift.",
}


def write_metrics(agents: Iterable[ServedAgent]) -> tuple[str, str]:
    """Return the metrics of these agents, and their media type."""
    registry = CollectorRegistry()
    registry.register(AgentCollector(list(agents)))
    ProcessCollector(registry=registry)
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST


def read_counters(served: ServedAgent) -> dict[str, float]:
    """Return the value of each counter of `COUNTERS`."""
    counts, counters = served.monitor.counts, served.agent.counters
    return {
        "decisions": counts["decisions"],
        "decisions_repeated": counts["repeated"],
        "expired": counters["expired"],
        "commits": served.writer.commits,
        "committed_requests": served.writer.rows,
        "restarts": served.agent.restarts,
    }


def read_gauges(served: ServedAgent) -> dict[str, float | None]:
    """Return the value of each gauge of `GAUGES`."""
    agent, monitor = served.agent, served.monitor
    uplift = monitor.uplift()
    return {
        "ready": float(served.ready),
        "queue_length": served.writer.waiting,
        "pending": agent.counters["pending"],
        "oldest_pending_seconds": find_oldest(agent) or 0.0,
        "policy_version": served.settings.version,
        "holdout_share": served.settings.holdout,
        "threshold": agent.threshold,
        "clipped_share": agent.truncated_share,
        "effective_sample_size": monitor.effective_sample_size,
        "tail_index": monitor.tail_index(),
        "uplift": uplift.difference,
        "uplift_low": uplift.low,
        "uplift_high": uplift.high,
    }


class AgentCollector:
    """Collects the metrics of agents when Prometheus asks."""

    def __init__(self, agents: list[ServedAgent]) -> None:
        self.agents = agents

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield InfoMetricFamily(f"{PREFIX}_build", "The service.", {"version": __version__})
        yield self._info()
        counters = [(served.name, read_counters(served)) for served in self.agents]
        for name, words in COUNTERS.items():
            family = CounterMetricFamily(f"{PREFIX}_{name}", words, labels=["agent"])
            for agent, values in counters:
                family.add_metric([agent], values[name])
            yield family
        gauges = [(served.name, read_gauges(served)) for served in self.agents]
        for name, words in GAUGES.items():
            gauge = GaugeMetricFamily(f"{PREFIX}_{name}", words, labels=["agent"])
            for agent, numbers in gauges:
                value = numbers[name]
                gauge.add_metric([agent], NAN if value is None else value)
            yield gauge
        yield from self._rewards()
        yield self._latencies()
        yield from self._groups()
        yield self._actions()

    def _info(self) -> Metric:
        family = InfoMetricFamily(f"{PREFIX}_agent", "Policy and mode.", labels=["agent"])
        for served in self.agents:
            policies = served.settings.policies
            policy = policies[-1]["policy"] if policies else served.config.policy
            family.add_metric([served.name], {"policy": policy, "mode": served.settings.mode})
        return family

    def _rewards(self) -> Iterator[Metric]:
        labels = ["agent", "outcome"]
        family = CounterMetricFamily(f"{PREFIX}_rewards", "Rewards by outcome.", labels=labels)
        for served in self.agents:
            for outcome in OUTCOMES:
                family.add_metric([served.name, outcome], served.monitor.counts[outcome])
        yield family

    def _latencies(self) -> Metric:
        words = "Seconds from the arrival of a request to its answer."
        name = f"{PREFIX}_request_duration_seconds"
        family = HistogramMetricFamily(name, words, labels=["agent"])
        for served in self.agents:
            found = served.monitor.latencies
            family.add_metric([served.name], cumulate(found), found.seconds)
        return family

    def _groups(self) -> Iterator[Metric]:
        labels = ["agent", "group"]
        plays = CounterMetricFamily(
            f"{PREFIX}_group_decisions", "Decisions of each group.", labels=labels
        )
        means = GaugeMetricFamily(
            f"{PREFIX}_group_mean_reward", "Mean reward of each group.", labels=labels
        )
        for served in self.agents:
            for group, count in list(served.monitor.group_plays.items()):
                plays.add_metric([served.name, group], count)
            for group, moments in list(served.monitor.groups.items()):
                means.add_metric([served.name, group], moments.mean)
        yield plays
        yield means

    def _actions(self) -> Metric:
        words, labels = "Decisions for each action, 200 actions at most.", ["agent", "action"]
        family = CounterMetricFamily(f"{PREFIX}_action_decisions", words, labels=labels)
        for served in self.agents:
            for action, one in list(served.monitor.actions.items()):
                family.add_metric([served.name, action], one.plays)
        return family


def cumulate(latencies: Latencies) -> list[tuple[str, float]]:
    """Return the number of requests up to each upper end, as Prometheus wants them.

    >>> made = Latencies()
    >>> made.add(0.00015)
    >>> cumulate(made)[:2], cumulate(made)[-1]
    ([('0.0001', 0.0), ('0.0002', 1.0)], ('+Inf', 1.0))
    """
    ends, total, made = [*(f"{end:g}" for end in LATENCIES), "+Inf"], 0, []
    for end, count in zip(ends, list(latencies.counts), strict=True):
        total += count
        made.append((end, float(total)))
    return made
