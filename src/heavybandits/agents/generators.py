"""The random generator of an agent, which breaks ties: made, and made again from a file."""

from typing import Any

import numpy as np

from ..support.errors import InvalidInput, StateError
from ..support.validation import whole


def own_generator(rng: Any) -> np.random.Generator | None:
    """A PCG64 generator from an int, a SeedSequence or a Generator (of another kind: its seed)."""
    if rng is None:
        return None
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"rng must be None, an int, a SeedSequence or a Generator, got {rng!r}"
        ) from error
    if type(generator.bit_generator) is np.random.PCG64:
        return generator
    return np.random.default_rng(generator.integers(1 << 63))


def position_of(generator: np.random.Generator | None) -> Any:
    """Where a generator stands, as JSON."""
    return None if generator is None else generator.bit_generator.state


def make_generator(state: dict[str, Any] | None) -> np.random.Generator | None:
    """The PCG64 generator that stands where `state` says."""
    if state is None:
        return None
    words = [whole(name, state["state"][name], least=0) for name in ("state", "inc")]
    spare = [whole(name, state[name], least=0) for name in ("has_uint32", "uinteger")]
    if state["bit_generator"] != "PCG64" or max(words) >> 128 or spare[0] > 1 or spare[1] >> 32:
        raise StateError("the generator is not a PCG64")
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator
