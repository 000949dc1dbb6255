"""Logs of the service: one JSON object per line, with the trace id of the request."""

import json
import logging
import re
import secrets
from typing import Any

FIELDS = ("agent", "path", "status", "trace", "milliseconds", "mode", "version")
TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class JsonFormatter(logging.Formatter):
    """One JSON object per line of the log."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": record.created,
            "severity": record.levelname,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def read_trace(traceparent: bytes | None) -> str:
    """Return the trace id of the header `traceparent` (W3C), or a new one if it has none.

    >>> read_trace(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    '4bf92f3577b34da6a3ce929d0e0e4736'
    >>> len(read_trace(b"'; drop table")), len(read_trace(None))
    (32, 32)
    """
    found = TRACEPARENT.fullmatch((traceparent or b"").decode("latin-1"))
    return found[1] if found else secrets.token_hex(16)


def set_up_logs() -> None:
    """Write one JSON object per line to the standard error stream."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name in ("heavybandits.serving", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name.startswith("heavy") else logging.WARNING)
