"""What is offered by name: encoded, kept as JSON, and encoded again one day."""

import json
from collections.abc import Mapping
from typing import Any

from .._utils.errors import InvalidInputError
from .._utils.validation import bounded_array
from ..core.arrays import Floats
from ..features.values import to_plain

LOST = (
    "the ledger has not kept what was offered, only its features, so that no other encoder can "
    "read it: keep_raw was False, or the offers had no names"
)


def check_encoder(encoder: Any, policy: Any) -> None:
    """Refuse an encoder whose features the policy cannot take."""
    if not all(hasattr(encoder, name) for name in ("dim", "names", "encode", "encode_rows")):
        raise InvalidInputError(
            "encoder must have dim, names, encode and encode_rows, as an Encoder has, "
            f"got {type(encoder).__name__}"
        )
    if encoder.dim != policy.dim:
        raise InvalidInputError(
            f"encoder makes {encoder.dim} features, but the policy has dim {policy.dim}"
        )


def offer_names(encoder: Any, offers: Any) -> tuple[str, ...]:
    """The names of what is on offer, for an agent with an encoder."""
    if encoder is None:
        raise InvalidInputError(
            "context and offers need an agent with an encoder: Agent(encoder=...)"
        )
    if not isinstance(offers, Mapping) or not offers:
        raise InvalidInputError(
            f"offers must be features by name, such as {{'tea': {{...}}}}, got {offers!r:.100}"
        )
    try:
        names = tuple(map(str.__str__, offers))  # plain text of NumPy's, which hashes otherwise
        "".join(names).encode()
        if all(map(offers.__contains__, names)):  # not so for text with a hash of its own
            return names
    except (TypeError, UnicodeEncodeError):
        pass
    raise InvalidInputError(f"offers must have plain text for names, got {tuple(offers)!r:.100}")


def encode(
    encoder: Any, context: Any, offers: Any, known: tuple[str, ...] | None = None
) -> tuple[Floats, tuple[str, ...]]:
    """The features of what is on offer, yet to be checked, and the names of their rows, unless
    they are known."""
    names = offer_names(encoder, offers) if known is None else known
    rows = encoder.encode(context, offers)
    if len(rows) != len(names):
        raise InvalidInputError(
            f"encoder must make one row per offer, got {len(rows)} of {len(names)}"
        )
    return rows, names


# ---- what was encoded


def to_json(value: Any) -> str:
    """What was offered as JSON, so that another encoder can read it one day.

    >>> from datetime import date
    >>> from decimal import Decimal
    >>> to_json({"context": {"when": date(2026, 5, 1)}, "offer": {"price": Decimal("2.50")}})
    '{"context":{"when":"2026-05-01"},"offer":{"price":2.5}}'
    """
    try:
        return json.dumps(value, default=to_plain, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"a value cannot be kept in the ledger: {error}. Agent(keep_raw=False) keeps the "
            "features alone"
        ) from error


def encode_rows_again(encoder: Any, raw: Any) -> Floats:
    """The same for rows that were learned without a decision."""
    if raw is None:
        raise InvalidInputError(LOST)
    rows = encoder.encode_rows(json.loads(raw))
    return bounded_array("what the encoder makes", rows, (None, encoder.dim))


def encode_again(encoder: Any, raw: Any) -> Floats:
    """The features that another encoder makes of what a ledger has kept of one decision."""
    if raw is None:
        raise InvalidInputError(LOST)
    told = json.loads(raw)
    rows = encoder.encode(told["context"], {told["name"]: told["offer"]})
    return bounded_array("what the encoder makes", rows, (1, encoder.dim))[0]
