"""The ASGI applications: a bare fast path for every operation, and Starlette for the pages.

The application of the API and that of the administration share the agents.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from . import schemas
from .config import LOOPBACK, Limits
from .live import Live
from .logs import read_trace
from .openapi import make_document
from .problems import RETRY_SECONDS, ProblemError, problem_of
from .routes import ROUTES, Route
from .served import ServedAgent
from .tokens import Guard

LOGGER = logging.getLogger("heavybandits.serving")
SLOW = 1.0  # seconds after which a request is logged

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Target(NamedTuple):
    """An operation of one agent, ready to be called."""

    route: Route
    served: ServedAgent
    operation: Callable[[Any], Any]
    decode: Callable[[bytes], Any] | None


def make_targets(agents: dict[str, ServedAgent], admin: bool) -> dict[str, dict[str, Target]]:
    """Return the operations by path and method."""
    targets: dict[str, dict[str, Target]] = {}
    for name, served in agents.items():
        for route in ROUTES:
            if route.admin and not admin:
                continue
            decode = msgspec.json.Decoder(route.request).decode if route.request else None
            path = route.full_path.replace("{agent}", name)
            target = Target(route, served, getattr(served, route.operation), decode)
            targets.setdefault(path, {})[route.method] = target
    return targets


class Application:
    """An ASGI application over the agents of a service.

    Parameters
    ----------
    agents : dict
        The agents by name.
    guard : Guard
        Checks tokens.
    limits : Limits
        Limits on requests.
    admin : bool
        True for the port of the administration: all operations, the page and the metrics.
    local : bool
        True if the port is on the loopback address: requests must name it as their host, which
        keeps pages of other sites out, and the page needs no token.
    """

    def __init__(
        self,
        agents: dict[str, ServedAgent],
        guard: Guard,
        limits: Limits = Limits(),
        *,
        admin: bool = False,
        local: bool = True,
    ) -> None:
        self._agents, self._guard, self._limits = agents, guard, limits
        self._targets = make_targets(agents, admin)
        self._admin, self._local = admin, local
        self._document = schemas.encode(make_document(admin))
        self.stopping = False
        self.live = Live(agents, guard, local=local)
        self._plain: dict[str, Callable[[], bytes]] = {
            "/healthz": lambda: b'{"alive":true}',
            "/readyz": self._ready,
            "/openapi.json": lambda: self._document,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._live(receive, send)
        if scope["type"] != "http":
            return None
        start, trace = time.perf_counter(), None
        try:
            path, method = scope["path"], scope["method"]
            authorization = content = host = None
            for name, value in scope["headers"]:
                if name == b"content-type":
                    content = value
                elif name == b"authorization":
                    authorization = value
                elif name == b"host":
                    host = value
                elif name == b"traceparent":
                    trace = value
            if self._admin and self._local:
                check_host(host)
            methods = self._targets.get(path)
            if methods is None:
                if path.startswith("/v1/"):
                    raise ProblemError(404, f"there is nothing at {path[:200]}")
                return await self._show(scope, receive, send)
            target = methods.get(method)
            if target is None:
                raise ProblemError(405, f"use {' or '.join(sorted(methods))} here")
            self._guard.check(authorization, target.route.scope)
            body = await self._answer(target, scope, receive, content)
            target.served.monitor.answered(time.perf_counter() - start)
            await respond(send, 200, body)
        except Exception as error:
            await self._reject(error, send, scope, trace, start)

    async def _answer(
        self, target: Target, scope: Scope, receive: Receive, content: bytes | None
    ) -> bytes:
        if target.decode is None:
            request: Any = scope["query_string"]
        else:
            if content is None or not content.lower().startswith(b"application/json"):
                raise ProblemError(415, "the body must have Content-Type: application/json")
            request = decode(target.decode, await self._read(receive), self._limits.depth)
        if not target.served.ready:
            raise ProblemError(503, "the agent is not ready yet")
        return schemas.encode(await target.served.writer.submit(target.operation, request))

    async def _read(self, receive: Receive) -> bytes:
        """Return the body; raise ProblemError if it is too large or too slow."""
        message = await self._receive(receive, self._limits.seconds)
        body = message.get("body", b"")
        deadline = time.monotonic() + self._limits.seconds
        while message.get("more_body"):
            if len(body) > self._limits.body:
                break
            message = await self._receive(receive, deadline - time.monotonic())
            body += message.get("body", b"")
        if len(body) > self._limits.body:
            raise ProblemError(413, f"the body must have at most {self._limits.body} bytes")
        return body

    async def _receive(self, receive: Receive, seconds: float) -> MutableMapping[str, Any]:
        try:
            async with asyncio.timeout(seconds):
                message = await receive()
        except TimeoutError:
            raise ProblemError(408, "the body did not arrive in time") from None
        if message["type"] == "http.disconnect":
            raise ProblemError(400, "the client has left")
        return message

    async def _reject(
        self, error: Exception, send: Send, scope: Scope, traceparent: bytes | None, start: float
    ) -> None:
        problem, trace = problem_of(error), read_trace(traceparent)
        known = {"path": scope["path"], "status": problem.status, "trace": trace}
        known["milliseconds"] = round(1000.0 * (time.perf_counter() - start), 3)
        if problem.status >= 500:
            detail = None if isinstance(error, ProblemError) else error
            LOGGER.error(problem.detail, extra=known, exc_info=detail)
        else:
            LOGGER.info(problem.detail, extra=known)
        document = problem.to_dict() | {"trace": trace}
        headers = [(b"retry-after", b"%d" % RETRY_SECONDS)] if problem.status == 503 else []
        if problem.status in (408, 413):
            headers.append((b"connection", b"close"))
        if problem.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if problem.status == 405:
            allowed = ", ".join(sorted(self._targets.get(scope["path"], ("GET",))))
            headers.append((b"allow", allowed.encode()))
        kind = b"application/problem+json"
        await respond(send, problem.status, schemas.encode(document), kind, headers)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    # ---- pages

    async def _show(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        plain = self._plain.get(path)
        live = self._admin and path in self.live.paths
        if plain is None and not live:
            raise ProblemError(404, f"there is nothing at {path[:200]}")
        if scope["method"] not in ("GET", "HEAD"):
            raise ProblemError(405, "use GET here")
        if plain is None:
            return await self.live(scope, receive, send)
        await respond(send, 200, plain())

    def _ready(self) -> bytes:
        waiting = [name for name, served in self._agents.items() if not served.ready]
        if waiting or self.stopping:
            words = "the service stops" if self.stopping else f"not ready: {', '.join(waiting)}"
            raise ProblemError(503, words)
        return b'{"ready":true}'


def decode(decoder: Callable[[bytes], Any], body: bytes, depth: int) -> Any:
    """Return the request in a body; raise ProblemError if it is not one."""
    if not schemas.check_depth(body, depth):
        raise ProblemError(422, f"the body must not be nested deeper than {depth}")
    try:
        return decoder(body)
    except msgspec.ValidationError as error:
        raise ProblemError(422, str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProblemError(400, f"the body must be JSON: {error}") from None


def check_host(host: bytes | None) -> None:
    """Raise ProblemError unless a request to a local port names a local host."""
    name = (host or b"").decode("latin-1")
    bare = name.partition("]")[0].lstrip("[") if name.startswith("[") else name.partition(":")[0]
    if bare not in LOOPBACK:
        raise ProblemError(421, f"this port answers requests to {', '.join(LOOPBACK)} only")


async def respond(
    send: Send,
    status: int,
    body: bytes,
    kind: bytes = b"application/json",
    more: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """Send a response with a body."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *(more or ())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
