"""Fixtures of the tests of sweeps."""

import os
import signal
import uuid
from collections.abc import Iterator

import pytest

from processes import marked


@pytest.fixture
def mark() -> Iterator[str]:
    text = uuid.uuid4().hex
    yield text
    for process in marked(text):  # only after a test that failed
        os.kill(process, signal.SIGKILL)
