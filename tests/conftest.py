"""What all tests share: their kinds, hypothesis without a clock, and a digest of a state."""

import gc
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from heavybandits.agents.state import flatten
from paths import ROOT
from postgres_process import PostgresProcess, why_not

# Numba keeps millions of objects, which the collector would visit again and again.
gc.set_threshold(50_000, 20, 20)

# Numba compiles in the first example of a test, so its first example is always "too slow".
settings.register_profile(
    "heavybandits", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("heavybandits")


# The modules of every kind of test. Tests in a browser are found by their fixture, and `slow` is
# written at the test itself.
KINDS = {
    "docs": set(ROOT.glob("tests/docs/*.py")),
    "gpu": set(ROOT.glob("tests/gpu/*.py")),
    "kill": set(ROOT.glob("tests/**/test_kills.py")),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test by its kind."""
    for item in items:
        for kind, modules in KINDS.items():
            if item.path in modules:
                item.add_marker(kind)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


def state_digest(state: Any) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(flatten(state).items()):
        if "scratch" in name.split("."):
            continue
        digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@pytest.fixture(scope="session")
def digest() -> Callable[[Any], str]:
    """All the bits of a state but those of its scratch, as one string."""
    return state_digest


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresProcess]:
    """A PostgreSQL server with the tables of ledgers, for all tests of this process."""
    if why_not():
        pytest.skip(why_not())
    from heavybandits.ledger.postgres_tables import migrate_database

    server = PostgresProcess()
    try:
        migrate_database(server.server)
        yield server
    finally:
        server.close()


@pytest.fixture(autouse=True, scope="session")
def _no_display() -> None:
    import matplotlib

    matplotlib.use("Agg")
