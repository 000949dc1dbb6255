"""The OpenAPI document is true: requests that it generates get the answers that it describes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from heavybandits.serving.openapi import make_document
from heavybandits.serving.routes import ROUTES
from service_process import ACTIONS, ServiceProcess

DOCUMENT = make_document(admin=True, agents=["memory", "shop"])
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [(route.method, route.full_path) for route in ROUTES]
OPERATIONS += [("GET", "/healthz"), ("GET", "/readyz")]
# The columns of an agent and the names of policies are not in the schema: such values get 422.
ONLY_THE_AGENT_KNOWS = CHECKS.get_by_names(["positive_data_acceptance"])
EXAMPLES = 15  # of each operation and kind of data


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    made = ServiceProcess(tmp_path_factory.mktemp("openapi"))
    yield made
    back = {"mode": "online", "holdout": 0.0}
    assert made.request("PUT", "/v1/agents/shop/mode", back, admin=True).status == 200
    assert made.decide()["recorded"]
    assert made.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_one_that_the_document_describes(service, method, path, mode):
    operation = SCHEMA[path][method]
    if mode == GenerationMode.NEGATIVE and not (operation.body or operation.query):
        pytest.skip("nothing in the request can be wrong")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        address = f"http://127.0.0.1:{service.admin}"
        case.call_and_validate(base_url=address, excluded_checks=ONLY_THE_AGENT_KNOWS)

    check()


def test_every_operation_is_documented_with_its_problems():
    document = make_document(admin=True)
    for route in ROUTES:
        described = document["paths"][route.full_path][route.method.lower()]
        assert described["summary"].endswith(".")
        for status in ("401", "403", "404", "422", "503"):
            assert list(described["responses"][status]["content"]) == ["application/problem+json"]
    hidden = {route.full_path for route in ROUTES if route.admin}
    assert hidden.isdisjoint(make_document()["paths"])


def test_every_reference_of_the_document_exists():
    document = make_document(admin=True)
    text = json.dumps(document)
    names = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names
    assert names <= set(document["components"]["schemas"])


def test_a_problem_has_the_members_of_the_standard_and_a_trace(service):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    answer = service.post("decide", {"actions": ACTIONS, "city": "Oslo"}, headers=headers)
    assert answer.status == 422
    assert {"type", "title", "status", "detail", "trace"} == set(answer.body)
    assert answer.body["trace"] == trace
    lines = (service.folder / "log.txt").read_text().splitlines()
    logged = [json.loads(line) for line in lines if trace in line]
    assert [(one["status"], one["path"]) for one in logged] == [(422, "/v1/agents/shop/decide")]
