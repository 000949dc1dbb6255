"""The service as a process: real requests on the loopback address."""

import http.client
import json
import select
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("starlette")
pytest.importorskip("msgspec")

import heavybandits as hb
from heavybandits.serving import Client
from heavybandits.serving.tokens import hash_token
from service_process import ACTIONS, ServiceProcess

TOKEN = "hb_test"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    made = ServiceProcess(tmp_path_factory.mktemp("service"))
    yield made
    assert made.stop() == 0


# ---- decisions and rewards


def test_a_decision_and_its_reward(service):
    made = service.decide(event_id="first", unit="user-1")
    assert made["action"] in ACTIONS
    assert made["recorded"]
    assert 0.0 < made["propensity"] <= 1.0
    sent = {"ticket": made["ticket"], "reward": 2.5}
    assert service.post("reward", sent).body == {"outcome": "applied"}
    assert service.post("reward", sent).body == {"outcome": "duplicate"}
    other = service.post("reward", sent | {"reward": 3.0})
    assert (other.status, other.headers["content-type"]) == (409, "application/problem+json")
    assert "must have one reward" in other.body["detail"]


def test_the_same_event_id_is_the_same_decision(service):
    first = service.decide(event_id="again")
    assert all(service.decide(event_id="again") == first for _ in range(5))
    assert service.post("reward", {"event_id": "again", "reward": 1.0}).body["outcome"] == "applied"
    assert (
        service.post("reward", {"event_id": "again", "reward": 1.0}).body["outcome"] == "duplicate"
    )


def test_batches_answer_item_by_item(service):
    one = {"context": {"city": "Rome"}, "actions": ACTIONS}
    made = service.post("decisions", {"decisions": [one, one | {"baseline": "cake"}]}).body["items"]
    assert made[0]["recorded"]
    assert made[1]["status"] == 422
    sent = [{"ticket": made[0]["ticket"], "reward": 1.0}, {"event_id": "none", "reward": 1.0}]
    found = service.post("rewards", {"rewards": sent}).body["items"]
    assert found[0] == {"outcome": "applied"}
    assert found[1]["status"] == 404


def test_an_agent_in_memory_decides_too(service):
    made = service.post("decide", {"actions": ACTIONS}, agent="memory").body
    sent = {"ticket": made["ticket"], "reward": 1.0}
    assert service.post("reward", sent, agent="memory").body["outcome"] == "applied"


def test_cancel_explain_and_state(service):
    made = service.decide()
    assert service.post("cancel", {"ticket": made["ticket"]}).body == {"done": True}
    assert service.post("reward", {"ticket": made["ticket"], "reward": 1.0}).status == 422
    why = service.post("explain", {"context": {"city": "Oslo"}, "actions": ACTIONS}).body
    assert why["actions"] == list(ACTIONS)
    state = service.get("/v1/agents/shop").body
    assert state["counters"]["cancelled"] >= 1
    assert service.get("/v1/agents/shop/actions").body["actions"]


# ---- what is rejected


def test_a_forged_ticket_is_rejected(service):
    made = service.decide()
    key, _, signature = made["ticket"].rpartition(".")
    name, _, number = key.partition(":")
    forged = [
        f"{name}:{int(number) - 1}.{signature}",
        key,
        f"{key}.",
        f"{key}.{signature[::-1]}",
        "x",
        "é.é",
    ]
    for ticket in forged:
        assert service.post("reward", {"ticket": ticket, "reward": 1e9}).status == 404, ticket
    memory = service.post("reward", {"ticket": made["ticket"], "reward": 1.0}, agent="memory")
    assert memory.status == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff", 400),
        (b"[]", 422),
        (b'{"actions":{}}', 422),
        (b'{"actions":{"tea":{}},"other":1}', 422),
        (b'{"actions":{"tea":{}},"context":{"city":{"a":1}}}', 422),
        (b'{"actions":{"tea":{}},"context":{"planet":"Mars"}}', 422),
        (b"[" * 100_000, 422),
        (b'{"actions":{"tea":{}},"context":{"city":"' + b"x" * (1 << 20) + b'"}}', 413),
        (json.dumps({"actions": {f"a{n}": {} for n in range(1001)}}).encode(), 422),
    ],
)
def test_a_bad_body_is_rejected(service, body, status):
    answer = service.post("decide", body)
    assert answer.status == status, answer
    assert answer.body["status"] == status
    assert service.decide()["recorded"]


def test_a_reward_that_is_no_number_is_rejected(service):
    ticket = service.decide()["ticket"]
    for text in ("NaN", "Infinity", "1e999", '"1"', "null"):
        body = f'{{"ticket":"{ticket}","reward":{text}}}'.encode()
        assert service.post("reward", body).status in (400, 422), text


def test_other_paths_and_methods(service):
    assert service.get("/v1/agents/nobody").status == 404
    assert service.get("/nothing").status == 404
    wrong = service.get("/v1/agents/shop/decide")
    assert (wrong.status, wrong.headers["allow"]) == (405, "POST")
    plain = service.post("decide", b"{}", headers={"Content-Type": "text/plain"})
    assert plain.status == 415
    assert service.request("PUT", "/v1/agents/shop/mode", {"mode": "off"}).status == 404
    rebound = service.request("GET", "/", admin=True, headers={"Host": "evil.example"})
    assert rebound.status == 421


def test_a_slow_client_does_not_delay_others(tmp_path):
    service = ServiceProcess(tmp_path, more="[limits]\nseconds = 3.0\nconnections = 20\n")
    slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(5)]
    head = b"POST /v1/agents/shop/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for one in slow:
        one.sendall(head + b"Content-Length: 100\r\n\r\n{")
    assert service.decide()["recorded"]
    assert select.select(slow, [], [], 0.0)[0] == []  # they still have time
    assert all(one.recv(100).startswith(b"HTTP/1.1 408") for one in slow)
    for one in slow:
        one.close()
    assert service.stop() == 0


def test_a_frozen_agent_is_still_frozen_after_a_restart(tmp_path):
    service = ServiceProcess(tmp_path)
    frozen = service.request("PUT", "/v1/agents/shop/mode", {"mode": "frozen"}, admin=True)
    assert frozen.status == 200, frozen
    before = service.decide(event_id="x")
    assert service.post("reward", {"event_id": "x", "reward": 50.0}).status == 200
    assert service.stop() == 0
    service.start()
    after = service.decide()
    assert (before["group"], after["group"]) == ("frozen", "frozen")
    assert service.decide(event_id="x") == before
    assert service.stop() == 0


# ---- tokens


def test_tokens_and_scopes(tmp_path):
    tokens = "".join(
        f'[[tokens]]\nsha256 = "{hash_token(TOKEN + scope)}"\nscopes = ["{scope}"]\n'
        for scope in ("decide", "reward")
    )
    service = ServiceProcess(tmp_path, more=tokens)
    body = {"context": {"city": "Oslo"}, "actions": ACTIONS}

    def ask(operation, token):
        return service.post(operation, body, headers={"Authorization": f"Bearer {token}"}).status

    assert service.post("decide", body).status == 401
    assert [ask("decide", TOKEN + scope) for scope in ("decide", "reward", "x")] == [200, 403, 401]
    assert TOKEN not in (tmp_path / "shop.toml").read_text()
    assert service.stop() == 0


# ---- modes


def test_modes_and_holdout(service):
    def set_mode(**given):
        answer = service.request("PUT", "/v1/agents/shop/mode", given, admin=True)
        assert answer.status == 200, answer
        return answer.body

    assert set_mode(mode="apprentice", baseline="honey")["mode"] == "apprentice"
    made = service.decide()
    assert (made["action"], made["group"], made["propensity"]) == ("honey", "apprentice", 1.0)
    assert service.post("reward", {"ticket": made["ticket"], "reward": 1.0}).status == 200
    assert service.get("/v1/agents/shop").body["agreed"][1] >= 1
    set_mode(mode="off")
    assert service.decide(baseline="tea")["recorded"] is False
    set_mode(mode="frozen")
    assert service.decide()["group"] == "frozen"
    set_mode(mode="online", holdout=0.5)
    groups = [service.decide(unit=f"user-{n}")["group"] for n in range(60)]
    assert 10 < groups.count("holdout") < 50
    assert groups == [service.decide(unit=f"user-{n}")["group"] for n in range(60)]
    set_mode(holdout=0.0)


def test_a_shadow_a_promotion_and_a_rollback(service):
    base = "/v1/agents/shop"
    other = {"policy": "linucb", "parameters": {"radius": 2.0}, "epsilon": 0.3}
    challenger = other | {"share": 0.5}
    started = service.request("POST", f"{base}/rollout", challenger, admin=True)
    assert started.body["stage"] == "canary", started
    made = [service.decide(unit=f"user-{n}") for n in range(20)]
    assert {one["group"] for one in made} == {"policy", "canary"}
    for one in made[:10]:
        assert service.post("reward", {"ticket": one["ticket"], "reward": 1.0}).status == 200
    assert service.request("POST", f"{base}/marks", {"name": "before"}, admin=True).status == 200
    learned = service.get(base).body["counters"]
    promoted = service.request("POST", f"{base}/promote", other, admin=True)
    assert promoted.body["version"] == 2, promoted
    assert service.get(base).body["counters"]["pending"] == learned["pending"]
    old = service.post("reward", {"ticket": made[-1]["ticket"], "reward": 1.0})
    assert old.body == {"outcome": "applied"}  # issued before the promotion
    assert round(service.decide()["propensity"], 9) in (0.1, 0.8)  # epsilon is 0.3 now
    back = service.request("POST", f"{base}/rollback", {}, admin=True)
    assert back.body["version"] == 3, back
    assert service.get(base).body["policy"] == "linucb"


# ---- pages


def test_health_metrics_and_documents(service):
    assert service.get("/healthz").body == {"alive": True}
    text = service.get("/metrics", admin=True).body
    assert 'heavybandits_decisions_total{agent="shop"}' in text
    document = service.get("/openapi.json", admin=True).body
    assert document["openapi"] == "3.1.0"
    assert "/v1/agents/{agent}/mode" in document["paths"]
    assert "/v1/agents/{agent}/mode" not in service.get("/openapi.json").body["paths"]
    page = service.get("/", admin=True).body
    assert "<script" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_live_events(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.admin, timeout=5.0)
    connection.request("GET", "/live")
    line = connection.getresponse().readline()
    assert line.startswith(b"data: ")
    assert "shop-decisions" in json.loads(line[6:])
    connection.close()


# ---- clients


def test_the_client(service):
    client = Client(f"http://127.0.0.1:{service.port}", "shop", timeout=5.0)
    made = client.decide(ACTIONS, {"city": "Oslo"}, event_id="client")
    assert client.decide(ACTIONS, {"city": "Oslo"}, event_id="client") == made
    assert client.reward(made, 1.0) == "applied"
    assert client.reward("client", 1.0) == "duplicate"
    client.close()
    gone = Client("http://127.0.0.1:9", "memory", timeout=0.2, retries=1)
    made = gone.decide(ACTIONS, baseline="figs")
    assert (made.action, made.recorded, gone.reward(made, 1.0)) == ("figs", False, "unrecorded")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(service):
    url = f"http://127.0.0.1:{service.port}/v1/agents/memory/decide"
    body = json.dumps({"actions": ACTIONS})
    command = ["curl", "-s", url, "-H", "Content-Type: application/json", "-d", body]
    assert json.loads(subprocess.check_output(command))["action"] in ACTIONS


# ---- kills


@pytest.mark.kill
def test_nothing_acknowledged_is_lost_or_doubled_when_the_service_is_killed(tmp_path):
    service = ServiceProcess(tmp_path)
    decided: dict[str, str] = {}
    rewarded: dict[str, float] = {}
    stop = threading.Event()

    def visit(place: int) -> None:
        client = Client(f"http://127.0.0.1:{service.port}", "shop", timeout=2.0, retries=0)
        number = 0
        while not stop.is_set():
            event = f"{place}-{number}"
            try:
                made = client.decide(ACTIONS, {"city": "Oslo"}, event_id=event)
                if not made.recorded:
                    time.sleep(0.02)
                    continue  # the same event again
                decided[event] = made.action
                client.reward(made, float(number))
                rewarded[event] = float(number)
            except RuntimeError:
                time.sleep(0.02)
                continue
            number += 1
        client.close()

    threads = [threading.Thread(target=visit, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(0.8)
        service.kill()
        service.start()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert service.stop() == 0
    with hb.LedgerReader(tmp_path / "shop.db") as reader:
        rows = reader.history()
    assert len(rewarded) > 100
    assert len(decided) <= len(rows) <= len(decided) + 8  # a decision may miss its answer
    assert sum(row["reward"] is not None for row in rows) >= len(rewarded)
    totals: dict[float, int] = {}
    for row in rows:
        if row["reward"] is not None:
            totals[row["reward"]] = totals.get(row["reward"], 0) + 1
    for number in set(rewarded.values()):
        acknowledged = sum(value == number for value in rewarded.values())
        assert acknowledged <= totals[number] <= 8, number
