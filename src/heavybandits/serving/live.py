"""The ASGI application of the live page: the page, its changes each second, and the metrics."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from . import schemas
from .metrics import write_metrics
from .page import write_explanation, write_page, write_parts
from .problems import ProblemError, problem_of
from .served import ServedAgent
from .tokens import Guard

LOGGER = logging.getLogger("heavybandits.serving")
STATIC = Path(__file__).parent / "static"
EVERY = 1.0  # seconds between two looks at the agents
COOKIE = "heavybandits_token"
Endpoint = Callable[[Request], Awaitable[Response]]
SAFE = {  # nothing of another host, no script in the page, no frame around it
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Live:
    """Shows the agents of a service.

    Parameters
    ----------
    agents : mapping
        The agents by name.
    guard : Guard
        Checks tokens.
    local : bool
        True if the port is on the loopback address: reading needs no token.
    """

    def __init__(
        self, agents: Mapping[str, ServedAgent], guard: Guard, *, local: bool = True
    ) -> None:
        self._agents, self._guard, self._local = agents, guard, local
        self.stopping = False
        self._read = (-EVERY, dict[str, str]())  # when, and the parts of the page then
        shown = {
            "/": self._page,
            "/live": self._events,
            "/explain": self._explain,
            "/metrics": self._metrics,
            **{f"/{file.name}": self._file for file in STATIC.iterdir()},
        }
        self.paths = frozenset(shown)
        self._application = Starlette(
            routes=[Route(path, self._guarded(make)) for path, make in shown.items()]
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a GET request to one of `paths`."""
        await self._application(scope, receive, send)

    def _guarded(self, make: Endpoint) -> Endpoint:
        """Return an endpoint that checks the token and answers an error as a problem."""

        async def answer(request: Request) -> Response:
            try:
                self._check(request)
                return await make(request)
            except Exception as error:
                return _report(error)

        return answer

    def _check(self, request: Request) -> None:
        """Raise ProblemError unless the token of a request may read."""
        if self._local:
            return
        text = request.query_params.get("token") or request.cookies.get(COOKIE)
        given = f"Bearer {text}" if text else request.headers.get("authorization", "")
        self._guard.check(given.encode(), "read")

    async def _page(self, request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:  # keep it out of the address, and so out of logs and bookmarks
            made = RedirectResponse(".", 303)
            made.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return made
        summaries = await asyncio.to_thread(self._summarize)
        return HTMLResponse(write_page(summaries), headers=SAFE)

    def _summarize(self) -> list[dict[str, Any]]:
        return [served.summary() for served in self._agents.values()]

    async def _file(self, request: Request) -> Response:
        file = STATIC / Path(urlsplit(str(request.url)).path).name
        kind = "text/css" if file.suffix == ".css" else "text/javascript"
        return Response(file.read_bytes(), media_type=kind, headers=SAFE)

    async def _metrics(self, _: Request) -> Response:
        text, kind = await asyncio.to_thread(write_metrics, list(self._agents.values()))
        return Response(text, headers={"Content-Type": kind})

    # ---- changes

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=SAFE)

    async def _stream(self) -> AsyncIterator[bytes]:
        """Yield the parts that have changed, once per second."""
        shown: dict[str, str] = {}
        while not self.stopping:
            parts = await asyncio.to_thread(self._parts)
            changed = {name: html for name, html in parts.items() if shown.get(name) != html}
            yield b"data: " + schemas.encode(changed) + b"\n\n"
            shown = parts
            await asyncio.sleep(EVERY)

    def _parts(self) -> dict[str, str]:
        """Return the parts of the page; all open pages share one look per second."""
        moment, parts = self._read
        if time.monotonic() - moment >= 0.9 * EVERY:
            parts = {}
            for one in self._summarize():
                parts |= write_parts(one)
            self._read = (time.monotonic(), parts)
        return parts

    # ---- explanations

    async def _explain(self, request: Request) -> Response:
        html = await asyncio.to_thread(self._write_explanation, request.query_params)
        return HTMLResponse(html, headers=SAFE)

    def _write_explanation(self, query: Mapping[str, str]) -> str:
        served = self._agents.get(query.get("agent", ""))
        if served is None:
            raise ProblemError(404, "agent must be the name of an agent")
        ticket = query.get("ticket", "")
        return write_explanation(ticket, served.agent.explain(ticket))


def _report(error: Exception) -> Response:
    problem = problem_of(error)
    if problem.status >= 500:
        LOGGER.error(problem.detail, exc_info=error)
    document = schemas.encode(problem.to_dict())
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    return Response(document, problem.status, headers, media_type="application/problem+json")
