"""The OpenAPI 3.1 document, generated from the routes and their schemas."""

from collections.abc import Iterable
from typing import Any

import msgspec

from .._utils.version import __version__
from . import schemas
from .routes import ROUTES, Route

PROBLEM_TYPE = "application/problem+json"
PROBLEM = {"$ref": "#/components/schemas/ProblemDocument"}
PROBLEMS = {
    "400": "The body is not JSON.",
    "401": "The token is missing or not known.",
    "403": "The token does not have the scope.",
    "404": "There is no such agent, ticket or event_id.",
    "405": "The method is not allowed here.",
    "408": "The body did not arrive in time.",
    "409": "The ticket has another reward, or the operation is not possible now.",
    "413": "The body is too large.",
    "415": "The body must be application/json.",
    "421": "A port on the loopback address was asked by another name.",
    "422": "The body does not match its schema, or a value is not valid.",
    "431": "The headers are too large.",
    "500": "The request failed; the log of the service has the reason.",
    "503": "The ledger cannot be written or the queue is full. Try again after Retry-After.",
}
PLAIN = {"/healthz": "The process is alive.", "/readyz": "Agents can decide and record."}
PARQUET = "application/vnd.apache.parquet"
DESCRIPTION = """Decisions of contextual bandits whose rewards have heavy tails.

Ask `decide` for an action, show it, and report its `reward`. A request that may not have arrived is
sent again with the same `event_id`: it is recorded once. Every rejected request is answered by a
problem document (RFC 9457)."""


def make_document(admin: bool = False, agents: Iterable[str] = ()) -> dict[str, Any]:
    """Return the document; with `admin` also the operations of the administration."""
    routes = [route for route in ROUTES if admin or not route.admin]
    types = [one for route in routes for one in (route.request, route.response) if one]
    found, components = msgspec.json.schema_components(
        [*types, schemas.ProblemDocument], ref_template="#/components/schemas/{name}"
    )
    kinds = iter(found)
    paths: dict[str, Any] = {}
    for route in routes:
        request = next(kinds) if route.request else None
        described = _describe(route, request, next(kinds), sorted(agents))
        paths.setdefault(route.full_path, {})[route.method.lower()] = described
    for path, words in PLAIN.items():
        paths[path] = {"get": _describe_plain(path, words)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "heavybandits decision service",
            "version": __version__,
            "description": DESCRIPTION,
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _describe(route: Route, request: Any, response: Any, agents: list[str]) -> dict[str, Any]:
    names = {"type": "string"} | ({"enum": agents} if agents else {})
    parameters: list[dict[str, Any]] = [
        {"name": "agent", "in": "path", "required": True, "schema": names}
    ]
    if route.query:
        parameters += _query_parameters(route.request)
    answer = _answer("The result.", response)
    if route.path.endswith(".parquet"):
        answer = _answer("The rows.", {"type": "string", "format": "binary"}, PARQUET)
    described: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "description": f"Needs a token with the scope `{route.scope}`, if there are tokens.",
        "parameters": parameters,
        "responses": {"200": answer} | _problems(PROBLEMS),
    }
    if request is not None and not route.query:
        content = {"application/json": {"schema": request}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _query_parameters(kind: Any) -> list[dict[str, Any]]:
    """Return a parameter for each field of a query string."""
    (_,), components = msgspec.json.schema_components([kind])
    fields = components[kind.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": field} for name, field in fields.items()]


def _answer(words: str, schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"description": words, "content": {kind: {"schema": schema}}}


def _problems(statuses: Iterable[str]) -> dict[str, Any]:
    return {status: _answer(PROBLEMS[status], PROBLEM, PROBLEM_TYPE) for status in statuses}


def _describe_plain(path: str, words: str) -> dict[str, Any]:
    statuses = ("405", "421", "503") if path == "/readyz" else ("405", "421")
    return {
        "operationId": path[1:],
        "summary": words,
        "responses": {"200": _answer(words, {"type": "object"})} | _problems(statuses),
    }
