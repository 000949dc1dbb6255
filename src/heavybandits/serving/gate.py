"""The gate: from an HTTP request to an operation of an agent, whatever server received it.

It finds the operation, checks the token, validates and encodes the body, and hands it to the core:
the agents of this process, or a link to those of another one. It has no state of an agent.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from . import schemas
from .logs import read_trace
from .openapi import make_document
from .prepared import Preparer
from .problems import ProblemError, problem_of
from .routes import ROUTES, Route
from .tokens import Guard

LOGGER = logging.getLogger("heavybandits.serving")
OVERLOAD_SECONDS = 1.0  # between two lines of the log about a service that is not available

Answer = bytes | ProblemError
Reply = Callable[[Answer], None]


class HttpRequest(NamedTuple):
    """A request, complete with its body; headers that nothing reads are left out."""

    method: str
    path: str
    query: bytes = b""
    body: bytes = b""
    authorization: bytes | None = None
    content_type: bytes | None = None
    traceparent: bytes | None = None


class Core(Protocol):
    """Who performs operations: the agents of this process, or a link to those of another."""

    def submit(self, agent: str, route: Route, received: Any, reply: Reply) -> None:
        """Perform an operation and pass what comes of it to `reply`, in the event loop.

        Raise ProblemError if it cannot be performed now.
        """

    def waiting_for(self) -> str:
        """Return why the service is not ready; nothing if it is."""


class Target(NamedTuple):
    """An operation of one agent, and what makes a request to it of a body."""

    agent: str
    route: Route
    decode: Callable[[bytes], Any] | None
    prepare: Callable[[Any], Any] | None


def make_targets(preparers: Mapping[str, Preparer], admin: bool) -> dict[str, dict[str, Target]]:
    """Return the operations by path and method."""
    targets: dict[str, dict[str, Target]] = {}
    for name, preparer in preparers.items():
        for route in ROUTES:
            if route.admin and not admin:
                continue
            decode = None
            if route.request is not None and not route.query:
                decode = msgspec.json.Decoder(route.request).decode
            prepare = getattr(preparer, route.operation) if route.prepared else None
            path = route.full_path.replace("{agent}", name)
            targets.setdefault(path, {})[route.method] = Target(name, route, decode, prepare)
    return targets


class Gate:
    """Answers requests on one port.

    Parameters
    ----------
    preparers : mapping
        What validates and encodes requests, by the name of the agent.
    core : Core
        Who performs the operations.
    guard : Guard
        Checks tokens.
    admin : bool
        True for the port of the administration: all operations.
    """

    def __init__(
        self,
        preparers: Mapping[str, Preparer],
        core: Core,
        guard: Guard,
        *,
        admin: bool = False,
    ) -> None:
        self._core, self._guard = core, guard
        self._targets = make_targets(preparers, admin)
        self._document = schemas.encode(make_document(admin, preparers))
        self._plain: dict[str, Callable[[], bytes]] = {
            "/healthz": lambda: b'{"alive":true}',
            "/readyz": self._ready,
            "/openapi.json": lambda: self._document,
        }
        self.stopping = False
        self._logged = 0.0  # when the log was last told that the service is not available

    def answer(self, request: HttpRequest, reply: Reply) -> None:
        """Pass the answer to a request to `reply`: the JSON of its result, or a problem."""
        try:
            target = self._find(request)
            if target is None:
                return reply(self._plain[request.path]())
            self._guard.check(request.authorization, target.route.scope)
            received = self._prepare(target, request)
            self._core.submit(target.agent, target.route, received, reply)
        except Exception as error:
            reply(problem_of(error))

    def _find(self, request: HttpRequest) -> Target | None:
        """Return the operation; None for a plain path."""
        methods = self._targets.get(request.path)
        if methods is None:
            if request.path not in self._plain:
                raise ProblemError(404, f"there is nothing at {request.path[:200]}")
            if request.method not in ("GET", "HEAD"):
                raise ProblemError(405, "use GET here", {"allow": "GET, HEAD"})
            return None
        target = methods.get(request.method)
        if target is None:
            known = sorted(methods)
            raise ProblemError(405, f"use {' or '.join(known)} here", {"allow": ", ".join(known)})
        return target

    def _prepare(self, target: Target, request: HttpRequest) -> Any:
        if target.route.query:
            return schemas.read_query(request.query, target.route.request)
        if target.decode is None:
            return None
        kind = request.content_type
        if kind is None or not kind.lower().startswith(b"application/json"):
            raise ProblemError(415, "the body must have Content-Type: application/json")
        decoded = schemas.decode(target.decode, request.body)
        return decoded if target.prepare is None else target.prepare(decoded)

    def _ready(self) -> bytes:
        reason = "the service stops" if self.stopping else self._core.waiting_for()
        if reason:
            raise ProblemError(503, reason)
        return b'{"ready":true}'

    def report(self, problem: ProblemError, request: HttpRequest | None) -> bytes:
        """Write a rejected request to the log; return its problem document."""
        path = "" if request is None else request.path
        trace = read_trace(None if request is None else request.traceparent)
        known = {"path": path, "status": problem.status, "trace": trace}
        if problem.status != 503:
            LOGGER.log(
                logging.ERROR if problem.status >= 500 else logging.INFO,
                problem.detail,
                extra=known,
            )
        elif time.monotonic() - self._logged > OVERLOAD_SECONDS:
            self._logged = time.monotonic()
            LOGGER.warning(problem.detail, extra=known)
        return schemas.encode(problem.to_dict() | {"trace": trace})
