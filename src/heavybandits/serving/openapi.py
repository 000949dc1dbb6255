"""The OpenAPI 3.1 document, generated from the routes and their schemas."""

from typing import Any

import msgspec

from .._utils.version import __version__
from . import schemas
from .routes import ROUTES, Route

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
    "422": "The body does not match its schema, or a value is not valid.",
    "503": "The ledger cannot be written or the queue is full. Try again.",
}


def make_document(admin: bool = False) -> dict[str, Any]:
    """Return the document; with `admin` also the operations of the administration."""
    routes = [route for route in ROUTES if admin or not route.admin]
    types = [one for route in routes for one in (route.request, route.response) if one]
    schemas_, components = msgspec.json.schema_components(
        [*types, schemas.ProblemDocument], ref_template="#/components/schemas/{name}"
    )
    found = iter(schemas_)
    paths: dict[str, Any] = {}
    for route in routes:
        request = next(found) if route.request else None
        response = next(found)
        described = _describe(route, request, response)
        paths.setdefault(route.full_path, {})[route.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "heavybandits decision service", "version": __version__},
        "paths": paths | _plain_paths(),
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"bearer": []}],
    }


def _describe(route: Route, request: Any, response: Any) -> dict[str, Any]:
    agent = {"name": "agent", "in": "path", "required": True, "schema": {"type": "string"}}
    described: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": [agent],
        "responses": {"200": _answer("The result.", response)},
    }
    problem = {"$ref": "#/components/schemas/ProblemDocument"}
    for status, words in PROBLEMS.items():
        described["responses"][status] = _answer(words, problem, "application/problem+json")
    if request is not None:
        content = {"application/json": {"schema": request}}
        described["requestBody"] = {"required": True, "content": content}
    if route.path == "/history":
        after = {"type": "integer", "minimum": -1, "default": -1}
        described["parameters"].append({"name": "after", "in": "query", "schema": after})
    return described


def _answer(words: str, schema: Any, kind: str = "application/json") -> dict[str, Any]:
    return {"description": words, "content": {kind: {"schema": schema}}}


def _plain_paths() -> dict[str, Any]:
    words = {"/healthz": "The process is alive.", "/readyz": "Agents can decide and record."}
    plain: dict[str, Any] = {
        path: {
            "get": {
                "operationId": path[1:],
                "summary": text,
                "responses": {
                    "200": _answer(text, {"type": "object"}),
                    "405": _answer(
                        PROBLEMS["405"],
                        {"$ref": "#/components/schemas/ProblemDocument"},
                        "application/problem+json",
                    ),
                },
            }
        }
        for path, text in words.items()
    }
    plain["/readyz"]["get"]["responses"]["503"] = _answer(
        "Not ready yet.",
        {"$ref": "#/components/schemas/ProblemDocument"},
        "application/problem+json",
    )
    return plain
