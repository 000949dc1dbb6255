"""The log of the service: one JSON object per line, on the standard error stream."""

import json
import logging
from typing import Any

FIELDS = ("agent", "path", "status", "trace", "mode", "version")


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


def set_up_logs() -> None:
    """Write one JSON object per line to the standard error stream."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    for name in ("heavybandits.serving", "uvicorn.error"):
        logger: Any = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name.startswith("heavy") else logging.WARNING)
