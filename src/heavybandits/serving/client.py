"""A client of the decision service with the standard library alone.

A decision that does not arrive in time is the baseline. A request is repeated with the same
event_id, so that a decision or a reward is recorded once.
"""

import http.client
import json
import random
import threading
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

RETRIED = (429, 500, 502, 503, 504)
BACK_OFF = 0.05  # seconds before the second attempt; doubled before each further one


class ServiceError(RuntimeError):
    """Report a request that the service rejected, or that did not reach it.

    Attributes
    ----------
    status : int
        The HTTP status; 0 if there was no response.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Choice(NamedTuple):
    """A decision of the service, or the baseline if the service did not answer.

    Attributes
    ----------
    action : str
        The name of the action.
    ticket : str or None
        The ticket of the reward; None if nothing was recorded.
    event_id : str
        The id of the decision.
    propensity : float or None
        The probability of the action; None for the baseline of a failure.
    recorded : bool
        True if the decision is in the ledger.
    """

    action: str
    ticket: str | None
    event_id: str
    propensity: float | None
    recorded: bool


class Client:
    """Asks one agent of a decision service. Several threads may share a client.

    Parameters
    ----------
    url : str
        The address of the service, such as "http://127.0.0.1:8000".
    agent : str
        The name of the agent.
    token : str, optional
        A bearer token.
    timeout : float, default 0.25
        Seconds that one attempt may take.
    retries : int, default 2
        Attempts after the first one, each with the same event_id.
    pause : float, default 1.0
        Seconds in which `decide` returns the baseline at once after all attempts have failed.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", "shop", retries=0)
    >>> client.decide({"tea": {"price": 4.0}, "figs": {"price": 6.0}}, baseline="tea").action
    'tea'
    """

    def __init__(
        self,
        url: str,
        agent: str,
        *,
        token: str | None = None,
        timeout: float = 0.25,
        retries: int = 2,
        pause: float = 1.0,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        self._secure, self._host = parts.scheme == "https", parts.netloc
        self._path = f"{parts.path.rstrip('/')}/v1/agents/{agent}"
        self._timeout, self._retries, self._pause = timeout, retries, pause
        self._away_until = 0.0  # by the monotonic clock
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()

    def decide(
        self,
        actions: Mapping[str, Mapping[str, Any]],
        context: Mapping[str, Any] | None = None,
        *,
        baseline: str | None = None,
        unit: str | None = None,
        event_id: str | None = None,
    ) -> Choice:
        """Ask for a decision; return the baseline if the service does not answer.

        Parameters
        ----------
        actions : mapping
            What is known of each action, by its name.
        context : mapping, optional
            What is known of the moment.
        baseline : str, optional
            The action if the service does not answer; None for the first.
        unit : str, optional
            Who is affected, such as a user; decides who is in the hold-out.
        event_id : str, optional
            The id of the decision; None for a random one.

        Returns
        -------
        Choice

        Raises
        ------
        ServiceError
            The service rejected the request: its status is 4xx.
        """
        event_id = event_id or uuid.uuid4().hex
        body = {"actions": actions, "context": context, "unit": unit, "event_id": event_id}
        fallback = baseline or next(iter(actions))
        unanswered = Choice(fallback, None, event_id, None, False)
        if time.monotonic() < self._away_until:
            return unanswered
        try:
            made = self._post("/decide", body | {"baseline": fallback})
        except ServiceError as error:
            if error.status not in (0, *RETRIED):
                raise
            self._away_until = time.monotonic() + self._pause
            return unanswered
        known = (made["ticket"], event_id, made["propensity"], made["recorded"])
        return Choice(made["action"], *known)

    def reward(self, choice: Choice | str, reward: float) -> str:
        """Report the reward of a decision.

        Parameters
        ----------
        choice : Choice or str
            What `decide` returned, or its event_id.
        reward : float
            Any finite number.

        Returns
        -------
        str
            "applied", "duplicate", "late", or "unrecorded" for a baseline of a failure.

        Raises
        ------
        ServiceError
            The service rejected the reward, or did not answer: report it again later, also with the
            event_id alone. A reward that arrives twice is recorded once.
        """
        if isinstance(choice, str):
            body: dict[str, Any] = {"event_id": choice, "reward": reward}
        elif choice.ticket is None:
            return "unrecorded"
        else:
            body = {"ticket": choice.ticket, "reward": reward}
        outcome: str = self._post("/reward", body)["outcome"]
        return outcome

    def cancel(self, event_id: str) -> None:
        """Cancel a decision whose reward will never come, such as one that was not shown.

        Parameters
        ----------
        event_id : str
            The id of the decision.

        Raises
        ------
        ServiceError
            The service rejected the request, or did not answer.
        """
        self._post("/cancel", {"event_id": event_id})

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a body; repeat it if it may not have arrived."""
        data = json.dumps({k: v for k, v in body.items() if v is not None})
        for attempt in range(self._retries + 1):
            try:
                return self._send(path, data)
            except ServiceError as error:
                if attempt == self._retries or error.status not in (0, *RETRIED):
                    raise
                time.sleep(BACK_OFF * 2**attempt * (0.5 + random.random()))
        raise AssertionError("unreachable")

    def _send(self, path: str, data: str) -> Any:
        connection = self._connection()
        try:
            connection.request("POST", self._path + path, data, self._headers)
            response = connection.getresponse()
            status, body = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ServiceError(0, f"the service does not answer: {error!r}") from error
        try:
            found = json.loads(body)
        except ValueError:
            found = {"detail": body[:200].decode("latin-1")}
        if status != 200:
            raise ServiceError(status, str(found.get("detail", status)))
        return found

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            found = self._local.connection = kind(self._host, timeout=self._timeout)
        return found

    def close(self) -> None:
        """Close the connection of this thread."""
        found = getattr(self._local, "connection", None)
        if found is not None:
            found.close()
            self._local.connection = None
