"""The adapter for programs that were written for Azure Personalizer."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")

from heavybandits.serving import Client, ServiceError
from heavybandits.serving.personalizer import PersonalizerClient, make_server
from service_process import ServiceProcess

AGENT = """
[agents.news]
policy = "linucb"
epsilon = 0.2
ledger = "news.db"
[agents.news.parameters]
radius = 1.0
[agents.news.encoder]
interactions = "all"
[[agents.news.encoder.context]]
type = "category"
name = "timeOfDay"
categories = ["morning", "evening"]
[[agents.news.encoder.context]]
type = "category"
name = "device.mobile"
categories = [true, false]
[[agents.news.encoder.action]]
type = "category"
name = "topic"
categories = ["politics", "sport", "music"]
"""
TOPICS = ("politics", "sport", "music")


def rank_request(event_id: str, **more: Any) -> dict[str, Any]:
    """A rank request as Personalizer's clients send it."""
    return {
        "contextFeatures": [{"timeOfDay": "morning"}, {"device": {"mobile": True}}],
        "actions": [{"id": f"a-{topic}", "features": [{"topic": topic}]} for topic in TOPICS],
        "excludedActions": [],
        "eventId": event_id,
        "deferActivation": False,
    } | more


@pytest.fixture(scope="module")
def personalizer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PersonalizerClient]:
    service = ServiceProcess(tmp_path_factory.mktemp("personalizer"), more=AGENT)
    client = Client(f"http://127.0.0.1:{service.port}", "news", timeout=10.0)
    yield PersonalizerClient(client)
    client.close()
    assert service.stop() == 0


def test_rank_answers_as_personalizer_does(personalizer):
    found = personalizer.rank(rank_request("one"))
    ids = [one["id"] for one in found["ranking"]]
    assert sorted(ids) == sorted(f"a-{topic}" for topic in TOPICS)
    assert found["rewardActionId"] == ids[0]
    assert found["eventId"] == "one"
    assert sum(one["probability"] for one in found["ranking"]) == pytest.approx(1.0)
    assert personalizer.rank(rank_request("one")) == found


def test_excluded_actions_are_never_chosen_and_have_no_probability(personalizer):
    left = ["a-sport", "a-music"]
    for number in range(20):
        found = personalizer.rank(rank_request(f"x{number}", excludedActions=left))
        assert found["rewardActionId"] == "a-politics"
        assert [one["probability"] for one in found["ranking"]] == [1.0, 0.0, 0.0]
    with pytest.raises(ServiceError, match="must have one that is not excluded"):
        personalizer.rank(rank_request("none", excludedActions=[*left, "a-politics"]))


def test_the_agent_learns_from_rewards(personalizer):
    chosen = []
    for number in range(200):
        made = personalizer.rank(rank_request(f"learn-{number}"))["rewardActionId"]
        personalizer.reward(f"learn-{number}", float(made == "a-music"))
        chosen.append(made)
    assert chosen[100:].count("a-music") > 70


def test_an_event_that_was_not_shown_is_cancelled(personalizer):
    personalizer.rank(rank_request("hidden", deferActivation=True))
    personalizer.cancel("hidden")
    with pytest.raises(ServiceError):
        personalizer.reward("hidden", 1.0)


def test_an_object_of_the_sdk_is_taken_too(personalizer):
    class RankRequest:
        def serialize(self) -> dict[str, Any]:
            return rank_request("sdk")

    assert personalizer.rank(RankRequest())["eventId"] == "sdk"


# ---- over HTTP


@pytest.fixture(scope="module")
def port(personalizer: PersonalizerClient) -> Iterator[int]:
    server = make_server(personalizer, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def post(port: int, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20.0)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request("POST", f"/personalizer/v1.0{path}", data)
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    return response.status, json.loads(text) if text else None


def test_the_addresses_and_statuses_are_those_of_personalizer(port):
    status, found = post(port, "/rank", rank_request("over http"))
    assert status == 201
    assert found["rewardActionId"].startswith("a-")
    assert post(port, "/events/over%20http/reward", {"value": 1.0}) == (204, None)
    assert post(port, "/events/over%20http/activate") == (204, None)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/rank", b"{", 400),
        ("/rank", {}, 400),
        ("/rank", [], 400),
        ("/rank", {"actions": [{"id": "x", "features": [{"topic": "chess"}]}] * 2}, 422),
        ("/events/unknown/reward", {"value": 1.0}, 404),
        ("/events/unknown/reward", {"value": "much"}, 400),
        ("/events/unknown/delete", {}, 404),
        ("/models", {}, 404),
        ("/rank", b" " * ((1 << 20) + 1), 413),
    ],
)
def test_what_is_not_valid_is_rejected_as_personalizer_does(port, path, body, status):
    found, problem = post(port, path, body)
    assert found == status, problem
    assert problem["error"]["message"]
