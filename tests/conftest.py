"""What all tests share: hypothesis without a clock, and a picture of every array of a state."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from heavybandits.agents.state import flatten

# Numba compiles in the first example of a test, so its first example is always "too slow".
settings.register_profile(
    "heavybandits", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("heavybandits")


def state_digest(state: Any) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(flatten(state).items()):
        if name.endswith("scratch"):
            continue
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="session")
def digest() -> Callable[[Any], str]:
    """All the bits of a state but those of its scratch, as one string."""
    return state_digest


@pytest.fixture(autouse=True, scope="session")
def _no_display() -> None:
    import matplotlib

    matplotlib.use("Agg")
