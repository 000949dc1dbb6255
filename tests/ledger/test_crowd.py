"""Ledgers that many threads write: a small share of what `benchmarks/torture.py` makes."""

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from paths import ROOT

KILLS = int(os.environ.get("HEAVYBANDITS_KILLS", "30"))


@pytest.fixture(scope="module")
def torture() -> Any:
    path = ROOT / "benchmarks" / "torture_groups.py"
    spec = importlib.util.spec_from_file_location("torture_groups", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["torture_groups"] = module
    spec.loader.exec_module(module)
    return module


def outcomes_of(section: Callable[[int, int], Any], attempts: int, seed: int) -> dict[str, int]:
    """Return the outcomes without notes, after as many attempts as were asked for."""
    found = {name: n for name, n in section(attempts, seed).items() if not name.startswith("(")}
    assert sum(found.values()) == attempts
    return found


def test_killed_crowds_lose_nothing(torture: Any) -> None:
    assert outcomes_of(torture.kill_groups, KILLS, 7) == {"nothing lost": KILLS}


def test_a_full_disk_leaves_memory_and_disk_equal(torture: Any) -> None:
    assert set(outcomes_of(torture.fill_groups, 20, 7)) <= set(torture.OUTCOMES.values())


def test_backups_under_load_are_equal(torture: Any) -> None:
    assert outcomes_of(torture.back_up, 5, 7) == {"equal": 5}
