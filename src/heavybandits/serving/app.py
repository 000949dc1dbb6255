"""The port of the administration: an ASGI application with page, metrics and every operation.

Traffic of decisions has a port of its own, which `http` answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from .config import LOOPBACK, Limits
from .gate import Answer, Gate, HttpRequest
from .live import Live
from .problems import ProblemError, problem_of
from .served import ServedAgent
from .tokens import Guard

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class AdminApplication:
    """Page, metrics and operations.

    Parameters
    ----------
    agents : mapping
        The agents by name.
    gate : Gate
        Performs the operations.
    guard : Guard
        Checks tokens for the page.
    limits : Limits
        Limits on requests.
    local : bool
        True if the port is on the loopback address: requests must name it as their host, which
        keeps pages of other sites out, and the page needs no token.
    """

    def __init__(
        self,
        agents: Mapping[str, ServedAgent],
        gate: Gate,
        guard: Guard,
        limits: Limits,
        *,
        local: bool = True,
    ) -> None:
        self._gate, self._limits, self._local = gate, limits, local
        self._live = Live(agents, guard, local=local)

    def stop(self) -> None:
        """End the streams of the page, and report that the service is not ready any more."""
        self._gate.stopping = self._live.stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        request = HttpRequest(
            scope["method"],
            scope["path"],
            scope["query_string"],
            b"",
            headers.get(b"authorization"),
            headers.get(b"content-type"),
            headers.get(b"traceparent"),
        )
        try:
            if self._local:
                check_host(headers.get(b"host"))
            if request.path in self._live.paths:
                if request.method not in ("GET", "HEAD"):
                    raise ProblemError(405, "use GET here", {"allow": "GET, HEAD"})
                return await self._live(scope, receive, send)
            answer = await self._operate(request._replace(body=await self._read(receive)))
        except Exception as error:
            answer = problem_of(error)
        await self._respond(send, request, answer)

    async def _operate(self, request: HttpRequest) -> Answer:
        """Return the answer of the gate."""
        answered = asyncio.get_running_loop().create_future()

        def reply(answer: Answer) -> None:
            if not answered.done():  # the client may have left
                answered.set_result(answer)

        self._gate.answer(request, reply)
        found: Answer = await answered
        return found

    async def _read(self, receive: Receive) -> bytes:
        """Return the body; raise ProblemError if it is too large or too slow."""
        body = b""
        try:
            async with asyncio.timeout(self._limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError(400, "the client has left")
                    body += message.get("body", b"")
                    if len(body) > self._limits.body:
                        most = self._limits.body
                        raise ProblemError(413, f"the body must have at most {most} bytes")
                    if not message.get("more_body"):
                        return body
        except TimeoutError:
            raise ProblemError(408, "the body did not arrive in time") from None

    async def _respond(self, send: Send, request: HttpRequest, answer: Answer) -> None:
        status, kind, more = 200, "application/json", {}
        if request.path.endswith(".parquet"):
            kind = "application/vnd.apache.parquet"
        if isinstance(answer, ProblemError):
            status, kind, more = answer.status, "application/problem+json", answer.headers
            answer = self._gate.report(answer, request)
        fields = {"content-type": kind, "content-length": str(len(answer)), **more}
        headers = [(name.encode(), value.encode()) for name, value in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        body = b"" if request.method == "HEAD" else answer
        await send({"type": "http.response.body", "body": body})


def check_host(host: bytes | None) -> None:
    """Raise ProblemError unless a request to a local port names a local host."""
    name = (host or b"").decode("latin-1")
    bare = name.partition("]")[0].lstrip("[") if name.startswith("[") else name.partition(":")[0]
    if bare not in LOOPBACK:
        raise ProblemError(421, f"this port answers requests to {', '.join(LOOPBACK)} only")
