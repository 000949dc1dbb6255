"""Raw inputs of an event: what a ledger stores apart from the event, so that it can be erased.

The event itself has only the SHA-256 of its inputs, salted with random bytes that are erased with
them: without the inputs the hash says nothing about a person.
"""

import hashlib
import secrets
from typing import NamedTuple


class RawInputs(NamedTuple):
    """What a decision was made from, or the rows of a warm start by name.

    `context` and `actions` (inputs by the name of the action, of all that were available) are JSON;
    `arms` the features of all rows as bytes, where rows were given and not names; `rows` the JSON
    of the named rows of a warm start.
    """

    salt: bytes
    context: str | None = None
    actions: str | None = None
    arms: bytes | None = None
    rows: str | None = None

    def digest(self) -> bytes:
        """Return the salted SHA-256 of all of it.

        >>> len(RawInputs(b"salt", context='{"city":"Oslo"}').digest())
        32
        """
        hashed = hashlib.sha256()
        for part in self:
            data = part.encode() if isinstance(part, str) else part
            size = -1 if data is None else len(data)
            hashed.update(size.to_bytes(8, "little", signed=True))
            hashed.update(data or b"")
        return hashed.digest()


def new_salt() -> bytes:
    """Return sixteen random bytes."""
    return secrets.token_bytes(16)
