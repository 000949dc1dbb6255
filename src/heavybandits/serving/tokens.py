"""Signed tickets, and bearer tokens with scopes.

Keys of tickets are consecutive numbers, so anyone who may report one reward could report anybody's.
A signature makes a ticket something that only the service can issue.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .._utils.errors import InvalidInputError
from .problems import ProblemError

SCOPES = ("decide", "reward", "read", "admin")


class Signer:
    """Signs the keys of tickets, with 96 bits of keyed BLAKE2b.

    Parameters
    ----------
    secret : bytes
        The key of the signature, 32 random bytes.
    """

    def __init__(self, secret: bytes) -> None:
        self._start = hashlib.blake2b(key=secret, digest_size=12)

    def _signature(self, agent: str, key: str) -> str:
        made = self._start.copy()
        made.update(f"{agent}\0{key}".encode())
        return base64.urlsafe_b64encode(made.digest()).decode()

    def sign(self, agent: str, key: str) -> str:
        """Return the ticket of a key for the agent of this name.

        >>> signer = Signer(b"secret")
        >>> signer.verify("shop", signer.sign("shop", "6b1f:7"))
        '6b1f:7'
        """
        return f"{key}.{self._signature(agent, key)}"

    def verify(self, agent: str, ticket: str) -> str:
        """Return the key of a ticket; raise ProblemError 404 if the service has not issued it."""
        key, _, given = ticket.rpartition(".")
        if not ticket.isascii() or not hmac.compare_digest(given, self._signature(agent, key)):
            raise ProblemError(404, "ticket must be one that this agent has issued")
        return key


def load_secret(path: Path) -> bytes:
    """Return the secret in a file, which is created if it does not exist."""
    if not path.exists():
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        temporary.touch(mode=0o600)
        temporary.write_text(secrets.token_hex(32))
        try:
            path.hardlink_to(temporary)  # fails if another process was faster
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    try:
        return bytes.fromhex(path.read_text().strip())
    except ValueError as error:
        raise InvalidInputError(
            f"{path} must be the secret that the service has written: restore it from a backup, or "
            "remove it, and then tickets issued so far are not accepted any more"
        ) from error


class Token(NamedTuple):
    """A bearer token: its name, the SHA-256 of its text, and what it allows."""

    name: str
    sha256: str
    scopes: tuple[str, ...]


def hash_token(text: str) -> str:
    """Return the SHA-256 of a token. Tokens are random, so no slow hash is needed."""
    return hashlib.sha256(text.encode()).hexdigest()


def new_token() -> str:
    """Return a random token."""
    return f"hb_{secrets.token_urlsafe(32)}"


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return scopes, or raise InvalidInputError.

    >>> check_scopes(["decide"])
    ('decide',)
    """
    found = tuple(scopes)
    if not found or not set(found) <= set(SCOPES):
        raise InvalidInputError(f"scopes must be some of {', '.join(SCOPES)}, got {found!r}")
    return found


class Guard:
    """Decides what the bearer of a token may do.

    Parameters
    ----------
    tokens : iterable of Token
        Without any token everything is allowed: for a service on the loopback address.
    """

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._scopes = {token.sha256: frozenset(token.scopes) for token in tokens}
        self.open = not self._scopes

    def check(self, authorization: bytes | None, scope: str) -> None:
        """Raise ProblemError unless the header `Authorization` allows the scope."""
        if self.open:
            return
        kind, _, text = (authorization or b"").partition(b" ")
        if kind.lower() != b"bearer" or not text:
            raise ProblemError(401, "send a token: Authorization: Bearer ...")
        allowed = self._scopes.get(hashlib.sha256(text.strip()).hexdigest())
        if allowed is None:
            raise ProblemError(401, "this token is not known")
        if scope not in allowed and "admin" not in allowed:
            raise ProblemError(403, f"this token does not have the scope {scope}")
