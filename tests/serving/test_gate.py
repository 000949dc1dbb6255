"""The gate without HTTP: which requests reach the core, and as what."""

import json
from typing import Any

import pytest

pytest.importorskip("msgspec")

from heavybandits.features import Category, Encoder
from heavybandits.serving.gate import Gate, HttpRequest
from heavybandits.serving.prepared import PreparedDecision, Preparer
from heavybandits.serving.problems import ProblemError
from heavybandits.serving.tokens import Guard, Signer, Token, hash_token

BODY = json.dumps({"actions": {"tea": {}, "figs": {}}, "context": {"city": "Oslo"}}).encode()
JSON = b"application/json"
DECIDE = "/v1/agents/shop/decide"
ENCODER = Encoder(
    [Category("city", ["Oslo"])], [], interactions="per_action", action="a", actions=["tea", "figs"]
)


class FakeCore:
    """Records what arrives, and is ready while it has no reason not to be."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        self.reason = ""

    def submit(self, agent, route, received, reply):
        self.received.append((agent, route.operation, received))
        reply(b"{}")

    def waiting_for(self):
        return self.reason


def make_gate(*tokens: Token, admin: bool = False) -> tuple[Gate, FakeCore]:
    core = FakeCore()
    preparers = {"shop": Preparer("shop", ENCODER, Signer(b"secret"))}
    return Gate(preparers, core, Guard(tokens), admin=admin), core


def ask(gate: Gate, method: str, path: str, **more: Any) -> Any:
    answers: list[Any] = []
    gate.answer(HttpRequest(method, path, **more), answers.append)
    (found,) = answers
    return found.status if isinstance(found, ProblemError) else found


def test_a_decision_reaches_the_core_encoded():
    gate, core = make_gate()
    assert ask(gate, "POST", DECIDE, body=BODY, content_type=JSON) == b"{}"
    ((agent, operation, received),) = core.received
    assert (agent, operation, type(received)) == ("shop", "decide", PreparedDecision)
    assert received.to_request(ENCODER.dim).arms.tolist() == [
        row.tolist() for row in ENCODER.encode({"city": "Oslo"}, {"tea": {}, "figs": {}})
    ]


@pytest.mark.parametrize(
    ("method", "path", "more", "status"),
    [
        ("POST", DECIDE, {"body": BODY}, 415),
        ("POST", DECIDE, {"body": b"{", "content_type": JSON}, 400),
        ("POST", DECIDE, {"body": b"{}", "content_type": JSON}, 422),
        ("GET", DECIDE, {}, 405),
        ("POST", "/v1/agents/cafe/decide", {"body": BODY, "content_type": JSON}, 404),
        ("PUT", "/v1/agents/shop/mode", {"body": b"{}", "content_type": JSON}, 404),
        ("POST", "/readyz", {}, 405),
    ],
)
def test_what_is_wrong_does_not_reach_the_core(method, path, more, status):
    gate, core = make_gate()
    assert ask(gate, method, path, **more) == status
    assert core.received == []


def test_a_token_must_have_the_scope_and_is_checked_before_the_body():
    gate, core = make_gate(Token("a", hash_token("t"), ("reward",)), admin=True)
    body = {"body": b"{", "content_type": JSON}
    assert ask(gate, "POST", DECIDE, **body) == 401
    assert ask(gate, "POST", DECIDE, **body, authorization=b"Bearer x") == 401
    assert ask(gate, "POST", DECIDE, **body, authorization=b"Bearer t") == 403
    assert ask(gate, "POST", "/v1/agents/shop/reward", **body, authorization=b"bearer t") == 400
    assert ask(gate, "GET", "/readyz") == b'{"ready":true}'
    assert core.received == []


def test_a_gate_is_ready_when_its_core_is_and_it_does_not_stop():
    gate, core = make_gate()
    core.reason = "kernels are cold"
    assert ask(gate, "GET", "/readyz") == 503
    core.reason = ""
    assert ask(gate, "GET", "/readyz") == b'{"ready":true}'
    gate.stopping = True
    assert ask(gate, "GET", "/readyz") == 503
    assert ask(gate, "GET", "/healthz") == b'{"alive":true}'
