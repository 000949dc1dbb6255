"""An adapter for programs that were written for Azure Personalizer: rank, reward, activate.

`PersonalizerClient` takes and returns the JSON of Personalizer's REST API, version 1.0. As a
command the module is a small HTTP server with the addresses of that API, for programs in any
language:

    python -m heavybandits.serving.personalizer http://127.0.0.1:8000 shop --port 8002
"""

import argparse
import json
import urllib.parse
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .client import Client, ServiceError

PREFIX = "/personalizer/v1.0"
MOST_BODY = 1 << 20  # bytes
MOST_DROPPED = 8 << 20  # bytes of a body that is too large


def flatten(features: Iterable[Mapping[str, Any]], above: str = "") -> dict[str, Any]:
    """Return features by one name each; names of nested features are joined by dots.

    >>> flatten([{"city": "Oslo"}, {"device": {"mobile": True, "year": 2024}}])
    {'city': 'Oslo', 'device.mobile': True, 'device.year': 2024}
    """
    found: dict[str, Any] = {}
    for group in features:
        for name, value in group.items():
            if isinstance(value, Mapping):
                found |= flatten([value], f"{above}{name}.")
            else:
                found[f"{above}{name}"] = value
    return found


class PersonalizerClient:
    """Answers the calls of a client of Azure Personalizer by an agent of the service.

    Parameters
    ----------
    client : Client
        The client of the agent.

    Examples
    --------
    >>> away = PersonalizerClient(Client("http://127.0.0.1:9", "shop", retries=0))
    >>> request = {"eventId": "e1", "actions": [{"id": "tea", "features": [{"price": 4.0}]}]}
    >>> away.rank(request)["rewardActionId"]
    'tea'
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def rank(self, rank_request: Any) -> dict[str, Any]:
        """Choose an action.

        The ranking starts with the chosen action. Its probability is exact; the rest is shared
        equally by the other actions. Excluded actions are at the end with probability 0. The first
        action that is not excluded is the baseline.

        Parameters
        ----------
        rank_request : mapping or RankRequest
            The JSON of a rank request, or an object with a method `serialize` that returns it.

        Returns
        -------
        dict
            The JSON of a rank response: ranking, eventId, rewardActionId.

        Raises
        ------
        ServiceError
            The request is not valid.
        """
        request = rank_request.serialize() if hasattr(rank_request, "serialize") else rank_request
        excluded = set(request.get("excludedActions") or ())
        given = {one["id"]: flatten(one.get("features") or ()) for one in request["actions"]}
        actions = {name: known for name, known in given.items() if name not in excluded}
        if not actions:
            raise ServiceError(400, "actions must have one that is not excluded")
        context = flatten(request.get("contextFeatures") or ())
        made = self._client.decide(actions, context, event_id=request.get("eventId"))
        first = 1.0 if made.propensity is None else made.propensity
        rest = (1.0 - first) / max(len(actions) - 1, 1)
        others = [name for name in actions if name != made.action]
        ranking = [{"id": made.action, "probability": first}]
        ranking += [{"id": name, "probability": rest} for name in others]
        ranking += [{"id": name, "probability": 0.0} for name in given if name in excluded]
        return {"ranking": ranking, "eventId": made.event_id, "rewardActionId": made.action}

    def reward(self, event_id: str, value: float) -> None:
        """Report the reward of an event. The value is any finite number, not only 0 to 1.

        Parameters
        ----------
        event_id : str
            The id of the event.
        value : float
            The reward.

        Raises
        ------
        ServiceError
            The event is not known, or has another reward already.
        """
        self._client.reward(event_id, value)

    def activate(self, event_id: str) -> None:
        """Do nothing: a decision is active from the start. `cancel` one that was not shown."""

    def cancel(self, event_id: str) -> None:
        """Cancel an event that was ranked with deferActivation and is not shown after all.

        Parameters
        ----------
        event_id : str
            The id of the event.

        Raises
        ------
        ServiceError
            The event is not known, or is settled.
        """
        self._client.cancel(event_id)

    def close(self) -> None:
        """Close the connection of this thread."""
        self._client.close()


class Handler(BaseHTTPRequestHandler):
    """Answers the addresses of Personalizer's REST API."""

    protocol_version = "HTTP/1.1"
    timeout = 30.0
    personalizer: PersonalizerClient

    def do_POST(self) -> None:
        """Answer a call."""
        try:
            status, body = self._answer(urllib.parse.unquote(self.path.partition("?")[0]))
        except ServiceError as error:
            status, body = error.status or 503, _problem(str(error))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            status, body = 400, _problem(f"the request is not valid: {error!r}")
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def finish(self) -> None:
        """Close the connection of this thread, which ends now."""
        super().finish()
        self.personalizer.close()

    def _answer(self, path: str) -> tuple[int, dict[str, Any] | None]:
        size = int(self.headers.get("Content-Length") or 0)
        if size > MOST_BODY:
            self.close_connection = True
            self.rfile.read(min(size, MOST_DROPPED))  # a client that still sends reads no answer
            return 413, _problem(f"the body must have at most {MOST_BODY} bytes")
        body = self.rfile.read(size)
        if path == f"{PREFIX}/rank":
            return 201, self.personalizer.rank(json.loads(body))
        event_id, _, call = path.removeprefix(f"{PREFIX}/events/").rpartition("/")
        if not path.startswith(f"{PREFIX}/events/") or call not in ("reward", "activate"):
            return 404, _problem(f"there is nothing at {path}")
        if call == "reward":
            self.personalizer.reward(event_id, float(json.loads(body)["value"]))
        return 204, None

    def log_message(self, format: str, *args: Any) -> None:
        """Write no line per request."""


def _problem(message: str) -> dict[str, Any]:
    return {"error": {"code": "BadRequest", "message": message}}


def make_server(personalizer: PersonalizerClient, host: str, port: int) -> ThreadingHTTPServer:
    """Return a server with the addresses of Personalizer's REST API."""
    handler = type("BoundHandler", (Handler,), {"personalizer": personalizer})
    return ThreadingHTTPServer((host, port), handler)


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", help="address of the decision service")
    parser.add_argument("agent", help="name of the agent")
    parser.add_argument("--token", help="bearer token of the service")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8002)
    given = parser.parse_args()
    personalizer = PersonalizerClient(Client(given.url, given.agent, token=given.token))
    make_server(personalizer, given.host, given.port).serve_forever()


if __name__ == "__main__":
    main()
