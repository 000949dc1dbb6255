"""Inputs of decisions: batches of arms, and named inputs that are encoded and logged as JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError
from .._utils.validation import bounded_array
from ..core.arrays import Booleans, Floats
from ..core.protocols import ArmSet, Policy
from ..features import Encoder, FeatureMap
from ..features.columns import Column
from ..features.values import to_plain
from .raw_inputs import RawInputs, new_salt

Context = Mapping[str, Any]  # what is known of the moment
Actions = Mapping[str, Mapping[str, Any]]  # what is known of each action, by name


def check_encoder(encoder: FeatureMap, policy: Policy) -> None:
    """Raise InvalidInputError unless the policy can take the features of this encoder."""
    if not all(hasattr(encoder, name) for name in ("dim", "names", "encode", "encode_rows")):
        raise InvalidInputError(
            "encoder must have dim, names, encode and encode_rows, as an Encoder has, "
            f"got {type(encoder).__name__}"
        )
    if encoder.dim != policy.dim:
        raise InvalidInputError(
            f"encoder makes {encoder.dim} features, but the policy has dim {policy.dim}"
        )


def action_names(encoder: FeatureMap | None, actions: Actions | None) -> tuple[str, ...]:
    """Return the names of the actions, for an agent with an encoder."""
    if encoder is None:
        raise InvalidInputError(
            "context and actions need an agent with an encoder: Agent(encoder=...)"
        )
    if not isinstance(actions, Mapping) or not actions:
        raise InvalidInputError(
            f"actions must be features by name, such as {{'tea': {{...}}}}, got {actions!r:.100}"
        )
    try:
        names = tuple(map(str.__str__, actions))  # plain text, also of NumPy's own text type
        "".join(names).encode()
        if all(map(actions.__contains__, names)):  # not so for text with another hash
            return names
    except (TypeError, UnicodeEncodeError):
        pass
    raise InvalidInputError(f"actions must have plain text for names, got {tuple(actions)!r:.100}")


def check_context(context: Any) -> Context | None:
    """Raise InvalidInputError unless a context is None or features by name."""
    if context is not None and not isinstance(context, Mapping):
        raise InvalidInputError(
            f"context must be features by name, such as {{'hour': 9}}, got {context!r:.100}"
        )
    return context


def encode(
    encoder: FeatureMap | None,
    context: Context | None,
    actions: Actions | None,
    known: tuple[str, ...] | None = None,
) -> tuple[Floats, tuple[str, ...]]:
    """Return the features of the actions, not yet validated, and the names of their rows.

    `known` are these names, if the caller has them already.
    """
    names = action_names(encoder, actions) if known is None else known
    check_context(context)
    assert encoder is not None  # action_names raises without one
    assert actions is not None
    rows = encoder.encode(context, actions)
    if len(rows) != len(names):
        raise InvalidInputError(
            f"encoder must make one row per action, got {len(rows)} of {len(names)}"
        )
    return rows, names


# ---- many decisions at once

BLOCK = 1 << 20  # bytes of features that are encoded, validated and decided at once


class Batch(NamedTuple):
    """Decisions to be made: `rows` is (n, K, d), and where `mask` is False there is no arm.

    `sizes` are the numbers of rows of the decisions, `names` the names of these rows.
    """

    rows: Floats
    mask: Booleans
    sizes: NDArray[np.int64]
    names: Sequence[tuple[str, ...]] | None = None

    @property
    def size(self) -> int:
        """Return the number of decisions."""
        return self.rows.shape[0]

    def names_of(self, arms: list[int]) -> Sequence[str | None]:
        """Return the name of the arm chosen in each decision, None without names."""
        if self.names is None:
            return [None] * self.size
        return [names[arm] for names, arm in zip(self.names, arms, strict=True)]

    def part(self, start: int, stop: int) -> "Batch":
        """Return the decisions from one place to another, which share memory with these."""
        return Batch(self.rows[start:stop], self.mask[start:stop], self.sizes[start:stop])


class ManyInputs(NamedTuple):
    """What many decisions are made from. `read` validates those from one place to another.

    All of them at once may not fit into memory: 10,000 decisions among 30 arms of 720 features take
    1.7 GB. So they are read in `blocks`.
    """

    size: int
    largest: int  # rows of a decision
    dim: int
    read: Callable[[int, int], Batch]
    named: "Inputs | None" = None

    def blocks(self) -> Iterator[Batch]:
        """Yield the decisions in blocks."""
        step = max(1, BLOCK // (8 * self.dim * self.largest))
        for start in range(0, self.size, step):
            yield self.read(start, min(start + step, self.size))

    def check(self) -> None:
        """Raise InvalidInputError if any decision is not valid."""
        for _ in self.blocks():
            pass


def read_arms(arms: Any, mask: Any, dim: int) -> ManyInputs:
    """Return the arms of many decisions: one array, or a list of arrays.

    >>> found = read_arms([[[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]], None, dim=2)
    >>> [block.mask.tolist() for block in found.blocks()]
    [[[True, False], [True, True]]]
    """
    if isinstance(arms, np.ndarray):
        rows = bounded_array("arms", arms, (None, None, dim))
        size, most = rows.shape[:2]
        every = Batch(rows, _check_mask(mask, (size, most)), np.full(size, most))
        return ManyInputs(size, most, dim, every.part)
    if mask is not None:
        raise InvalidInputError(
            "mask must be None where arms are a list: leave out the arms that are not available"
        )
    try:
        given = list(arms)
    except TypeError:
        given = []
    if not given:
        raise InvalidInputError("arms must contain at least one decision, (n, K, d), got none")
    largest = max(len(one) if hasattr(one, "__len__") else 1 for one in given)
    read = lambda start, stop: pad_rows(given[start:stop], dim, start)  # noqa: E731
    return ManyInputs(len(given), max(largest, 1), dim, read)


def pad_rows(given: list[Any], dim: int, first: int = 0) -> Batch:
    """Return the validated arms of some decisions; short ones are padded with masked rows.

    >>> pad_rows([[[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]]], dim=2).mask.tolist()
    [[True, False], [True, True]]
    """
    if _is_uniform(given):
        with suppress(InvalidInputError):  # one by one, the message names the wrong one
            rows = bounded_array("arms", np.array(given), (None, None, dim))
            return Batch(rows, np.ones(rows.shape[:2], np.bool_), np.full(len(rows), rows.shape[1]))
    places = enumerate(given, first)
    sets = [bounded_array(f"arms[{n}]", one, (None, dim)) for n, one in places]
    sizes = np.array([len(one) for one in sets])
    rows = np.zeros((len(sets), sizes.max(), dim))
    for n, one in enumerate(sets):
        rows[n, : len(one)] = one
    return Batch(rows, np.arange(sizes.max()) < sizes[:, None], sizes)


def read_named(
    encoder: FeatureMap | None,
    contexts: Sequence[Context | None] | None,
    actions: Actions | Sequence[Actions] | None,
) -> ManyInputs:
    """Return the contexts and actions of many decisions, which are encoded block by block."""
    inputs = Inputs(pair_up(contexts, actions))
    same = action_names(encoder, actions) if isinstance(actions, Mapping) else None
    names = [action_names(encoder, shown) if same is None else same for _, shown in inputs.pairs]
    assert encoder is not None  # action_names raises without one
    many = encoder.encode_many if same and isinstance(encoder, Encoder) else None
    dim = encoder.dim

    def read(start: int, stop: int) -> Batch:
        pairs, known = inputs.pairs[start:stop], names[start:stop]
        if many is None:
            rows = [encode(encoder, *one, own)[0] for one, own in zip(pairs, known, strict=True)]
            return pad_rows(rows, dim, start)._replace(names=known)
        given = [check_context(context) for context, _ in pairs]
        made = bounded_array("arms", many(given, pairs[0][1]), (None, None, dim))
        size, most = made.shape[:2]
        return Batch(made, np.ones((size, most), np.bool_), np.full(size, most), known)

    return ManyInputs(len(names), max(map(len, names)), dim, read, inputs)


def pair_up(
    contexts: Sequence[Context | None] | None, actions: Actions | Sequence[Actions] | None
) -> list[tuple[Context | None, Actions]]:
    """Return the context and the actions of every decision."""
    each = actions if isinstance(actions, Sequence) else None
    if contexts is None and each is not None:
        contexts = [None] * len(each)
    if not isinstance(contexts, Sequence) or not contexts:
        raise InvalidInputError(f"contexts must be a list, one per decision, got {contexts!r:.80}")
    shown: Any = [actions] * len(contexts) if each is None else each
    if len(shown) != len(contexts):
        raise InvalidInputError(
            f"actions must be {len(contexts)}, one per context, got {len(shown)}"
        )
    return list(zip(contexts, shown, strict=True))


def _is_uniform(given: list[Any]) -> bool:
    """Return True for arrays of one shape and type, which can be validated at once."""
    first = given[0]
    return type(first) is np.ndarray and all(
        type(one) is np.ndarray and one.shape == first.shape and one.dtype == first.dtype
        for one in given
    )


def _check_mask(mask: Any, shape: tuple[int, ...]) -> Booleans:
    if mask is None:
        return np.ones(shape, np.bool_)
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InvalidInputError(
            f"mask must be booleans of shape {shape}, got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any(axis=1).all():
        raise InvalidInputError("mask must leave at least one arm of every decision")
    return np.ascontiguousarray(allowed)


def row_orders(batch: Batch, generator: np.random.Generator | None) -> NDArray[np.int64]:
    """Return the order of the rows of each decision: random with a generator, to break ties."""
    size, most = batch.mask.shape
    order = np.tile(np.arange(most), (size, 1))
    if generator is not None:
        for n, rows in enumerate(batch.sizes.tolist()):
            order[n, :rows] = generator.permutation(rows)
    return order


# ---- in a ledger


def to_json(value: Any) -> str:
    """Return inputs as JSON, so that another encoder can read them later.

    >>> from datetime import date
    >>> to_json({"context": {"when": date(2026, 5, 1)}, "price": np.float64(2)})
    '{"context":{"when":"2026-05-01"},"price":2.0}'
    """
    try:
        return json.dumps(value, default=to_plain, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"a value cannot be logged in the ledger: {error}. Agent(log_inputs=False) logs the "
            "features alone"
        ) from error


class Inputs:
    """The named inputs of one decision, or of several made together."""

    __slots__ = ("_last", "pairs")

    def __init__(self, pairs: Sequence[tuple[Context | None, Actions]]) -> None:
        self.pairs = pairs
        self._last: tuple[Actions, str] | None = None  # actions of the last decision, as JSON

    def repeated(self, times: int) -> "Inputs":
        """Return the inputs of as many decisions, all made from these."""
        return Inputs([*self.pairs] * times)

    def check(self) -> None:
        """Raise InvalidInputError if something cannot be logged, whatever is chosen."""
        actions = {id(shown): shown for _, shown in self.pairs}  # often the same for all
        to_json([[context for context, _ in self.pairs], list(actions.values())])

    def raw(self, place: int) -> RawInputs:
        """Return what a decision was made from, as a ledger stores it."""
        context, actions = self.pairs[place]
        given = None if context is None else to_json(context)
        if self._last is None or self._last[0] is not actions:  # often the same for all
            self._last = actions, to_json(actions)
        return RawInputs(new_salt(), given, self._last[1])


class WrittenInputs(NamedTuple):
    """The named inputs of one decision that are JSON already, as a service receives them."""

    context: str | None
    actions: str

    def check(self) -> None:
        """Do nothing: JSON can be logged."""

    def raw(self, _: int) -> RawInputs:
        """Return what the decision was made from, as a ledger stores it."""
        return RawInputs(new_salt(), self.context, self.actions)


def raw_arms(arms: ArmSet | Floats) -> RawInputs | None:
    """Return the features of all rows, as a ledger stores them; None for a set without rows."""
    return RawInputs(new_salt(), arms=arms.tobytes()) if isinstance(arms, np.ndarray) else None


def raw_rows(rows: list[Any]) -> RawInputs:
    """Return the named rows of a warm start, as a ledger stores them."""
    return RawInputs(new_salt(), rows=to_json(rows))


def names_json(names: Sequence[str]) -> str:
    """Return the names of the available actions as JSON."""
    return _names_json(tuple(names))


@lru_cache(1000)  # mostly the same actions again
def _names_json(names: tuple[str, ...]) -> str:
    return json.dumps(names, separators=(",", ":"))


def available_json(
    names: Sequence[str] | None, arms: ArmSet | Floats, allowed: Booleans | None
) -> str | None:
    """Return what could be chosen as JSON: names, or how many rows, or which rows of a mask.

    >>> available_json(("tea", "figs"), np.eye(2), None), available_json(None, np.eye(2), None)
    ('["tea","figs"]', '2')
    >>> available_json(None, np.eye(2), np.array([False, True]))
    '[1]'
    """
    if names is not None:
        return names_json(names)
    if not isinstance(arms, np.ndarray):
        return None
    if allowed is None or allowed.all():
        return str(arms.shape[0])
    return json.dumps(np.flatnonzero(allowed).tolist(), separators=(",", ":"))


def fill_absent(columns: Iterable[Column], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a logged row in which every absent column that may be missing is missing.

    >>> from heavybandits.features import Number
    >>> fill_absent([Number("age"), Number("loyalty", allow_missing=True)], {"age": 30})
    {'loyalty': None, 'age': 30}
    """
    return {column.name: None for column in columns if column.allow_missing} | dict(row)


def encode_again(encoder: FeatureMap, logged: RawInputs | None, action: str | None) -> Floats:
    """Return the features that another encoder makes of the logged inputs of a decision."""
    if logged is None or logged.actions is None or action is None:
        raise _not_logged()
    context = None if logged.context is None else json.loads(logged.context)
    shown = json.loads(logged.actions)[action]
    if isinstance(encoder, Encoder):
        context = fill_absent(encoder.context_columns, context or {})
        described = [column for column in encoder.action_columns if column.name != encoder.action]
        shown = fill_absent(described, shown)
    rows = encoder.encode(context, {action: shown})
    return bounded_array("what the encoder makes", rows, (1, encoder.dim))[0]


def encode_rows_again(encoder: FeatureMap, logged: RawInputs | None) -> Floats:
    """Return the features that another encoder makes of the logged rows of a warm start."""
    if logged is None or logged.rows is None:
        raise _not_logged()
    named = json.loads(logged.rows)
    if isinstance(encoder, Encoder):
        columns = (*encoder.context_columns, *encoder.action_columns)
        named = [fill_absent(columns, row) for row in named]
    rows = encoder.encode_rows(named)
    return bounded_array("what the encoder makes", rows, (None, encoder.dim))


def _not_logged() -> InvalidInputError:
    return InvalidInputError(
        "the ledger contains features only, and another encoder needs the inputs: log_inputs was "
        "False, the actions had no names, or the inputs were erased"
    )
