"""The files in deploy/: what can be tested without an engine of containers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("yaml")

import yaml
from click.testing import CliRunner

from heavybandits.cli.app import cli
from heavybandits.serving.config import read_config
from heavybandits.serving.tokens import hash_token
from paths import ROOT, SOURCE
from service_process import Answer, ServiceProcess, free_port

DEPLOY = ROOT / "deploy"
FOREIGN = 12345  # a user without a name, a home or rights


def load(name: str) -> list[Any]:
    """Return the documents of a YAML file."""
    return [one for one in yaml.safe_load_all((DEPLOY / name).read_text()) if one]


def test_the_example_configuration_is_valid_and_its_tokens_are_those_of_the_comment():
    config = read_config(DEPLOY / "shop.toml")
    assert [token.sha256 for token in config.tokens] == [
        hash_token("example-shop"),
        hash_token("example-operator"),
    ]
    made = CliRunner().invoke(cli, ["serve", "--check", str(DEPLOY / "shop.toml")])
    assert made.exit_code == 0, made.output
    assert made.output.startswith("shop: auto, ")


def test_a_configuration_that_is_not_valid_is_reported(tmp_path):
    text = (DEPLOY / "shop.toml").read_text().replace('"auto"', '"atuo"')
    (tmp_path / "shop.toml").write_text(text)
    made = CliRunner().invoke(cli, ["serve", "--check", str(tmp_path / "shop.toml")])
    assert made.exit_code != 0
    assert "auto" in str(made.output)


def test_prometheus_reads_with_a_token_of_the_example():
    (found,) = load("prometheus.yaml")
    job = found["scrape_configs"][0]
    known = {token.sha256 for token in read_config(DEPLOY / "shop.toml").tokens}
    assert hash_token(job["authorization"]["credentials"]) in known
    assert job["job_name"] == "heavybandits"


def test_containers_have_no_rights_and_a_root_that_is_only_read():
    (compose,) = load("compose.yaml")
    service = compose["services"]["heavybandits"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    (pods,) = [one for one in load("kubernetes.yaml") if one["kind"] == "Deployment"]
    pod = pods["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert pods["spec"]["replicas"] == 1
    assert pods["spec"]["strategy"]["type"] == "Recreate"


@pytest.mark.skipif(shutil.which("check-jsonschema") is None, reason="needs check-jsonschema")
def test_the_compose_file_matches_the_specification():
    command = ["check-jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*command, str(DEPLOY / "compose.yaml")], check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units():
    command = ["systemd-analyze", "verify", str(DEPLOY / "heavybandits.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    missing = "Command /opt/heavybandits/bin/heavybandits is not executable"
    assert [line for line in done.stderr.splitlines() if missing not in line] == []


def commands() -> dict[str, str]:
    """Return the last instruction of each kind in the Dockerfile."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {kind: rest for kind, _, rest in (line.partition(" ") for line in lines)}


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to be another user"
)
def test_the_service_runs_as_a_foreign_user_that_can_write_its_data_alone(tmp_path):
    """Not compiled: what is tested is who may write where."""
    try:
        subprocess.run([sys.executable, "-c", ""], user=FOREIGN, group=FOREIGN, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run this interpreter")
    assert commands()["CMD"] == '["heavybandits", "serve", "/etc/heavybandits/shop.toml"]'
    for folder in (*tmp_path.parents, tmp_path):
        if folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, FOREIGN, FOREIGN)
    port, admin = free_port(), free_port()
    text = (DEPLOY / "shop.toml").read_text()
    for old, new in (("8000", port), ("8001", admin), ("/data", data), ("0.0.0.0", "127.0.0.1")):
        text = text.replace(old, str(new))
    config = tmp_path / "shop.toml"
    config.write_text(text)
    environment = {"PATH": os.environ["PATH"], "NUMBA_DISABLE_JIT": "1"}
    environment |= {"PYTHONPATH": str(SOURCE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    heavybandits = [sys.executable, "-m", "heavybandits", "serve"]
    service = ServiceProcess.__new__(ServiceProcess)
    service.folder, service.port, service.admin = data, port, admin
    with (tmp_path / "log.txt").open("wb") as log:
        service.process = subprocess.Popen(
            [*heavybandits, str(config)],
            env=environment,
            stdout=log,
            stderr=log,
            cwd="/",
            user=FOREIGN,
            group=FOREIGN,
            extra_groups=[],
        )
    service.wait(tmp_path / "log.txt")
    headers = {"Authorization": "Bearer example-shop"}
    body = {"context": {"city": "Oslo"}, "actions": {"tea": {}, "figs": {}}}
    answer: Answer = service.post("decide", body, headers=headers)
    assert answer.status == 200, answer
    assert service.stop() == 0
    assert (data / "shop.db").stat().st_uid == FOREIGN
    assert (data / "service.secret").stat().st_mode & 0o077 == 0
