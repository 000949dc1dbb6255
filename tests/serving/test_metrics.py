"""Metrics, and the rules and the dashboard that use them."""

import json
import re
import runpy
import shutil
import subprocess

import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")
pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from paths import ROOT
from service_process import ServiceProcess

DEPLOY = ROOT / "deploy"
NAME = re.compile(r"heavybandits_[a-z_]+")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The metrics of a service that has decided and learned."""
    service = ServiceProcess(tmp_path_factory.mktemp("metrics"), agent="holdout = 0.4")
    for number in range(60):
        made = service.decide(unit=f"user-{number}")
        service.post("reward", {"ticket": made["ticket"], "reward": float(number % 7)})
    service.post("reward", {"ticket": made["ticket"], "reward": float(59 % 7)})
    answer = service.get("/metrics", admin=True)
    assert answer.status == 200
    assert service.stop() == 0
    return answer.body


def samples(text: str) -> dict[tuple[str, ...], float]:
    """The values of a scrape, by name and labels."""
    return {
        (sample.name, *(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_what_the_service_has_done(text):
    found = samples(text)
    shop = "agent=shop"
    assert found["heavybandits_decisions_total", shop] == 60
    assert found["heavybandits_rewards_total", shop, "outcome=applied"] == 60
    assert found["heavybandits_rewards_total", shop, "outcome=duplicate"] == 1
    assert found["heavybandits_pending", shop] == 0
    assert found["heavybandits_ready", shop] == 1
    groups = [found["heavybandits_group_decisions_total", shop, f"group={g}"] for g in GROUPS]
    assert sum(groups) == 60
    assert min(groups) > 0
    plays = [v for k, v in found.items() if k[0] == "heavybandits_action_decisions_total"]
    assert sum(plays) == 60


GROUPS = ("policy", "holdout")


def test_the_histogram_of_latencies_is_one(text):
    found = samples(text)
    key = "heavybandits_request_duration_seconds"
    counts = [v for k, v in found.items() if k[:2] == (f"{key}_bucket", "agent=shop")]
    assert counts == sorted(counts)
    assert counts[-1] == found[f"{key}_count", "agent=shop"] >= 121
    assert found[f"{key}_sum", "agent=shop"] > 0.0


def test_every_metric_has_help_and_a_type(text):
    families = list(text_string_to_metric_families(text))
    ours = [one for one in families if one.name.startswith("heavybandits_")]
    assert len(ours) > 20
    assert all(one.documentation and one.type != "unknown" for one in ours)


@pytest.mark.parametrize("file", ["alerts.yaml", "alerts_test.yaml", "grafana.json"])
def test_rules_and_dashboard_use_only_metrics_that_exist(file, text):
    known = {key[0] for key in samples(text)}
    used = set(NAME.findall((DEPLOY / file).read_text()))
    assert used
    assert used <= known


def test_the_dashboard_is_what_the_script_makes():
    made = runpy.run_path(str(DEPLOY / "make_dashboard.py"))["make_dashboard"]()
    assert json.loads((DEPLOY / "grafana.json").read_text()) == made
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in made["panels"]]
    assert len(set(places)) == len(places)


# ---- with the tools of Prometheus

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")


def promtool(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [PROMTOOL or "promtool", *arguments], input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_promtool
def test_promtool_accepts_the_metrics(text):
    assert promtool("check", "metrics", given=text).strip() == ""


@needs_promtool
def test_the_alerts_fire_when_they_should():
    promtool("check", "rules", str(DEPLOY / "alerts.yaml"))
    assert "SUCCESS" in promtool("test", "rules", str(DEPLOY / "alerts_test.yaml"))
    promtool("check", "config", "--syntax-only", str(DEPLOY / "prometheus.yaml"))
