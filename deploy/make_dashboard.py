"""Write deploy/grafana.json: python deploy/make_dashboard.py"""

import json
from pathlib import Path
from typing import Any

AGENT = '{agent=~"$agent"}'
PREFIX = "heavybandits_"
PANELS = (  # title, unit, and the legend of each query
    ("Decisions per second", "ops", {"{{agent}}": f"rate({PREFIX}decisions_total{AGENT}[1m])"}),
    (
        "Rewards per second",
        "ops",
        {"{{agent}} {{outcome}}": f"rate({PREFIX}rewards_total{AGENT}[1m])"},
    ),
    (
        "Latency",
        "s",
        {
            f"{{{{agent}}}} {share:.0%}": f"histogram_quantile({share}, sum by (agent, le) "
            f"(rate({PREFIX}request_duration_seconds_bucket{AGENT}[5m])))"
            for share in (0.5, 0.99)
        },
    ),
    (
        "Requests per commit",
        "short",
        {
            "{{agent}}": f"rate({PREFIX}committed_requests_total{AGENT}[5m]) / "
            f"rate({PREFIX}commits_total{AGENT}[5m])"
        },
    ),
    (
        "Policy against hold-out, with its 95% interval",
        "short",
        {
            f"{{{{agent}}}} {word or 'difference'}": f"{PREFIX}uplift{word and '_' + word}{AGENT}"
            for word in ("", "low", "high")
        },
    ),
    (
        "Share of each action",
        "percentunit",
        {
            "{{action}}": f"sum by (action) (rate({PREFIX}action_decisions_total{AGENT}[5m])) / "
            f"ignoring (action) group_left sum(rate({PREFIX}action_decisions_total{AGENT}[5m]))"
        },
    ),
    (
        "Pending and waiting",
        "short",
        {
            "{{agent}} pending": f"{PREFIX}pending{AGENT}",
            "{{agent}} in the queue": f"{PREFIX}queue_length{AGENT}",
        },
    ),
    (
        "Mean reward of each group",
        "short",
        {"{{agent}} {{group}}": f"{PREFIX}group_mean_reward{AGENT}"},
    ),
    (
        "Tails",
        "short",
        {
            "{{agent}} tail index": f"{PREFIX}tail_index{AGENT}",
            "{{agent}} share clipped": f"{PREFIX}clipped_share{AGENT}",
        },
    ),
    (
        "Expired decisions per second",
        "ops",
        {"{{agent}}": f"rate({PREFIX}expired_total{AGENT}[5m])"},
    ),
)


def make_panel(place: int, title: str, unit: str, queries: dict[str, str]) -> dict[str, Any]:
    """Return a panel of half the width."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": {"x": 12 * (place % 2), "y": 8 * (place // 2), "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [
            {"refId": chr(65 + n), "expr": query, "legendFormat": legend, "datasource": source}
            for n, (legend, query) in enumerate(queries.items())
        ],
    }


def make_dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    agents = f"label_values({PREFIX}ready, agent)"
    return {
        "uid": "heavybandits",
        "title": "heavybandits",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                {
                    "name": "agent",
                    "type": "query",
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "query": agents,
                    "definition": agents,
                    "includeAll": True,
                    "multi": True,
                    "refresh": 2,
                },
            ]
        },
        "panels": [make_panel(place, *panel) for place, panel in enumerate(PANELS)],
    }


if __name__ == "__main__":
    text = json.dumps(make_dashboard(), indent=1)
    Path(__file__).with_name("grafana.json").write_text(f"{text}\n")
