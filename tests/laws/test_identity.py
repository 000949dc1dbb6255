"""A part is known by where it lives: nobody's Ridge stands in for anybody else's."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import heavybandits as hb
from heavybandits.core.part import build, describe, identity, known_parts
from heavybandits.estimators import Ridge as LibraryRidge
from heavybandits.parts.registry import library_parts
from heavybandits.sweeps.simulation_cell import build_parts


class Ridge(NamedTuple):
    """A user's ridge regression, with the name and the fields of the library's."""

    dim: int
    penalty: float
    norm: float = 1.0


def local_link(rate: float) -> Any:
    class Bent(NamedTuple):
        rate: float

        def mean(self, z: float) -> float:
            return self.rate * z

    return Bent(rate)


def test_every_part_of_the_library_has_a_name_of_its_own() -> None:
    assert known_parts(library_parts().values()) == library_parts()
    assert library_parts()["heavybandits.estimators:Ridge"] is LibraryRidge


def test_where_a_part_lies_within_its_family_is_nobodys_business() -> None:
    assert identity(hb.filters.Clip) == "heavybandits.filters:Clip"
    assert hb.filters.Clip.__module__ != "heavybandits.filters"


def test_a_users_part_does_not_stand_in_for_the_librarys(tmp_path: Path) -> None:
    agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    agent.save(tmp_path / "agent")
    again = hb.Agent.load(tmp_path / "agent", parts=[Ridge])
    assert type(again.policy.estimator) is LibraryRidge


def test_the_librarys_part_does_not_stand_in_for_a_users() -> None:
    mine = describe(Ridge(2, 1.0))
    with pytest.raises(hb.StateError, match=r"no part '[\w.]*test_identity:Ridge' here \('heavyb"):
        build(mine, known_parts(library_parts().values()))
    assert build(mine, known_parts(library_parts().values(), [Ridge])) == Ridge(2, 1.0)


def test_two_parts_of_one_name_are_refused() -> None:
    one, two = type(local_link(1.0)), type(local_link(2.0))
    with pytest.raises(hb.InvalidInputError, match=r"got two called '.*local_link.<locals>.Bent'"):
        known_parts([one], [two])
    assert list(known_parts([one], [one]).values()) == [one]


def test_a_part_that_poses_as_the_librarys_is_refused() -> None:
    impostor = type("Ridge", (Ridge,), {"__module__": LibraryRidge.__module__})
    with pytest.raises(hb.InvalidInputError, match=r"two called 'heavybandits.estimators:Ridge'"):
        known_parts(library_parts().values(), [impostor])


def test_only_classes_of_parts_may_be_passed() -> None:
    for nonsense in (Ridge(2, 1.0), dict, "Ridge", None):
        with pytest.raises(hb.InvalidInputError, match="parts must be classes of parts"):
            known_parts([nonsense])  # type: ignore[list-item]


def test_what_is_said_of_an_unknown_part_fits_where_there_is_no_file() -> None:
    with pytest.raises(hb.StateError, match=r"if it is yours, name its class in parts=\[...\]$"):
        build_parts({"part": "mine:Ridge", "fields": {}})
