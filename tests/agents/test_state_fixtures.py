"""The state files of every format there ever was load, and go on to the same numbers, for ever."""

import json
from pathlib import Path

import pytest

import heavybandits as hb
from make_fixtures import go_on
from paths import FIXTURES

FILES = sorted(FIXTURES.glob("format_*/*.state"))


def test_there_is_a_file_for_every_family() -> None:
    from all_policies import POLICIES

    assert {path.stem for path in FILES} >= set(POLICIES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_go_on(path: Path) -> None:
    wanted = json.loads((path.parent / "wanted.json").read_text())[path.stem]
    found = go_on(hb.Agent.load(path, clock=lambda: 0.0))
    for name in ("before", "after"):
        assert found.pop(name) == pytest.approx(wanted.pop(name), rel=1e-9, abs=1e-12)
    assert found == wanted
