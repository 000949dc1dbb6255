"""Clients: repeated requests, baselines, and the examples in other languages."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from heavybandits.serving import Client, ServiceError
from heavybandits.serving.tokens import hash_token
from paths import ROOT
from service_process import ACTIONS, ServiceProcess

CLIENTS = ROOT / "deploy" / "clients"
DECIDED = {"ticket": "t:0.x", "action": "figs", "propensity": 0.5, "recorded": True}


class Script:
    """A server that gives the answers of a list, the last one again and again."""

    def __init__(self, *answers: tuple[int, Any] | None) -> None:
        self.answers, self.bodies, self.headers = list(answers), [], []  # type: ignore[var-annotated]
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                script.bodies.append(json.loads(self.rfile.read(size)))
                script.headers.append(dict(self.headers))
                place = min(len(script.bodies), len(script.answers)) - 1
                answer = script.answers[place]
                if answer is None:  # breaks the connection
                    return
                data = answer[1] if isinstance(answer[1], bytes) else json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Script":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.serving.client.BACK_OFF", 0.0)


@pytest.mark.parametrize("failure", [(503, {"detail": "full"}), (502, b"<html>"), None])
def test_a_failed_request_is_repeated_with_the_same_event_id(failure):
    with Script(failure, failure, (200, DECIDED)) as script:
        client = Client(script.url, "shop", timeout=5.0)
        made = client.decide(ACTIONS)
        client.close()
    assert made.action == "figs"
    assert [body["event_id"] for body in script.bodies] == [made.event_id] * 3


def test_the_baseline_is_the_answer_when_the_service_fails_and_is_not_asked_for_a_while():
    with Script((503, {"detail": "full"})) as script:
        client = Client(script.url, "shop", timeout=5.0, retries=1, pause=3600.0)
        made = [client.decide(ACTIONS, baseline="honey") for _ in range(5)]
        assert {one.action for one in made} == {"honey"}
        assert not any(one.recorded for one in made)
        assert len(script.bodies) == 2
        assert client.reward(made[0], 1.0) == "unrecorded"
        with pytest.raises(ServiceError) as failed:
            client.reward("an-event", 1.0)
        assert failed.value.status == 503
        client.close()


def test_a_service_that_is_back_is_asked_again():
    with Script((503, {}), (200, DECIDED)) as script:
        client = Client(script.url, "shop", timeout=5.0, retries=0, pause=0.0)
        assert not client.decide(ACTIONS).recorded
        assert client.decide(ACTIONS).recorded
        client.close()


def test_a_slow_service_is_given_up():
    never = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            never.wait(10.0)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    client = Client(f"http://127.0.0.1:{server.server_port}", "shop", timeout=0.05, retries=1)
    assert not client.decide(ACTIONS, baseline="tea").recorded
    never.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_that_is_not_valid_raises_and_is_not_repeated():
    with Script((422, {"detail": "actions must not be empty"})) as script:
        client = Client(script.url, "shop", token="hb_x", timeout=5.0)
        with pytest.raises(ServiceError, match="actions must not be empty") as failed:
            client.decide(ACTIONS)
        client.close()
    assert failed.value.status == 422
    assert len(script.bodies) == 1
    assert script.headers[0]["Authorization"] == "Bearer hb_x"


# ---- real requests


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    pytest.importorskip("starlette")
    tokens = f'[[tokens]]\nsha256 = "{hash_token("hb_all")}"\nscopes = ["admin"]\n'
    made = ServiceProcess(tmp_path_factory.mktemp("clients"), more=tokens)
    yield made
    assert made.stop() == 0


def connect(service: ServiceProcess) -> Client:
    """Return a client of the service."""
    return Client(f"http://127.0.0.1:{service.port}", "shop", token="hb_all", timeout=10.0)


def test_a_decision_its_reward_and_a_cancelled_one(service):
    client = connect(service)
    made = client.decide(ACTIONS, {"city": "Oslo"})
    assert client.decide(ACTIONS, {"city": "Oslo"}, event_id=made.event_id) == made
    assert [client.reward(made, 1.0) for _ in range(2)] == ["applied", "duplicate"]
    with pytest.raises(ServiceError) as failed:
        client.reward(made, 2.0)
    assert failed.value.status == 409
    other = client.decide(ACTIONS, {"city": "Oslo"})
    client.cancel(other.event_id)
    with pytest.raises(ServiceError):
        client.reward(other, 1.0)
    client.close()


def run_example(*command: str) -> str:
    """Return what an example prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_example_in_node_runs(service):
    url = f"http://127.0.0.1:{service.port}"
    made = json.loads(run_example("node", str(CLIENTS / "shop.mjs"), url, "shop", "hb_all"))
    assert made["action"] in ACTIONS
    assert (made["recorded"], made["outcome"]) == (True, "applied")


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_example_in_node_repeats_and_falls_back():
    with Script((503, {"detail": "full"}), (200, DECIDED), (200, {"outcome": "applied"})) as script:
        found = run_example("node", str(CLIENTS / "shop.mjs"), script.url, "shop")
    assert json.loads(found)["outcome"] == "applied"
    assert script.bodies[0] == script.bodies[1]
    with Script(None) as script:
        found = run_example("node", str(CLIENTS / "shop.mjs"), script.url, "shop")
    assert json.loads(found) | {"event_id": ""} == {
        **{"action": "tea", "event_id": "", "ticket": None, "recorded": False},
        "outcome": "unrecorded",
    }
    assert len(script.bodies) == 3


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_example_with_curl_runs(service):
    url = f"http://127.0.0.1:{service.port}"
    lines = run_example("sh", str(CLIENTS / "shop.sh"), url, "shop", "hb_all").splitlines()
    assert json.loads(lines[0])["recorded"]
    assert json.loads(lines[1]) == {"outcome": "applied"}
