"""Problems of a request, each with the HTTP status that it gets (RFC 9457)."""

import logging
from collections.abc import Mapping
from typing import Any

from .._utils.errors import ForeignTicketError, InvalidInputError, LedgerError

TITLES = {
    400: "Malformed request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timeout",
    409: "Conflict",
    413: "Body too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Invalid request",
    431: "Headers too large",
    500: "Internal error",
    503: "Unavailable",
}
HEADERS = {
    401: {"www-authenticate": "Bearer"},
    408: {"connection": "close"},
    413: {"connection": "close"},
    503: {"retry-after": "1"},
}
CONFLICTS = ("must have one reward", "give a new decision its own event_id")  # in messages
LOGGER = logging.getLogger("heavybandits.serving")


class ProblemError(Exception):
    """Report why a request was rejected: an HTTP status and a sentence.

    Attributes
    ----------
    status : int
        The HTTP status.
    detail : str
        What was wrong, what is allowed and the next step.
    headers : mapping
        Headers of the response.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = {**HEADERS.get(status, {}), **(headers or {})}

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the problem document."""
        title = TITLES.get(self.status, "Error")
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail}


def problem_of(error: BaseException) -> ProblemError:
    """Return the problem that a client sees for an error of an agent.

    >>> problem_of(InvalidInputError("reward must be a finite number, got nan")).status
    422
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, ForeignTicketError):
        return ProblemError(404, "ticket must be one that this agent has issued")
    if isinstance(error, LedgerError):
        return ProblemError(503, "the ledger cannot be written; try again with the same event_id")
    if isinstance(error, InvalidInputError):
        text = str(error)
        return ProblemError(409 if any(part in text for part in CONFLICTS) else 422, text)
    LOGGER.error("a request failed", exc_info=error)
    return ProblemError(500, "the request failed; the log of the service has the reason")
