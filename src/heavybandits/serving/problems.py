"""Problems of a request, each with the HTTP status that it gets (RFC 9457)."""

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
    500: "Internal error",
    503: "Unavailable",
}
RETRY_SECONDS = 1  # after which a client may try again


class ProblemError(Exception):
    """Report why a request was rejected: an HTTP status and a sentence.

    Attributes
    ----------
    status : int
        The HTTP status.
    detail : str
        What was wrong, what is allowed and the next step.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail

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
        return ProblemError(503, "the ledger cannot be written; nothing was recorded, try again")
    if isinstance(error, InvalidInputError):
        text = str(error)
        return ProblemError(409 if "must have one reward" in text else 422, text)
    return ProblemError(500, "the request failed; the log of the service has the reason")
