"""`hb.tune`: constants searched on tuning seeds, reported on others, and honest about edges."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits._utils.records import to_records
from heavybandits.sweeps.search import choose, log_grid, search, widest

PROBLEM = hb.Problem(hb.arms.Fixed(5, 3), hb.links.Logistic(), hb.noises.StudentT(3.0))
SIZE: dict[str, Any] = {"horizon": 200, "repetitions": 3, "tuning_repetitions": 4, "seed": 5}


def crtm(constant: float) -> Any:
    return hb.crtm(dim=3, horizon=200, raw_moment=3.5, radius_scale=constant)


def deaf(constant: float) -> Any:
    """A policy that does not listen to its constant."""
    return crtm(0.01)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    grid: dict[str, Any] = {"grid": [0.01, 0.1], "bounds": (0.001, 1.0)}
    policies = {"CRTM": crtm, "deaf": deaf, "as it is": crtm(1.0)}
    folder = tmp_path_factory.mktemp("tuned")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = hb.tune(policies, {"one": PROBLEM}, folder=folder, **SIZE, **grid)
    said = [str(one.message) for one in heard]
    assert [words for words in said if "deaf" in words] == [
        "the value of deaf has no effect on one: all runs are the same at every value. If "
        "that is meant, pass the policy itself, or a function of `problem`"
    ]
    assert all(one.filename == __file__ for one in heard)
    return found


def test_constants_are_searched_on_tuning_seeds_and_reported_on_others(found: Any):
    curve = found.curves["one", "CRTM"]
    for constant, regret in curve.items():
        tuning = {**SIZE, "repetitions": 4, "seed": 1_000_005}
        del tuning["tuning_repetitions"]
        alone = hb.simulate(crtm(constant), PROBLEM, **tuning)
        assert np.array_equal(regret, alone.final("policy")), constant
    best = min(curve, key=lambda constant: curve[constant].mean())
    assert found.choices["one", "CRTM"].constant == best
    reported = hb.simulate(crtm(best), PROBLEM, horizon=200, repetitions=3, seed=5)
    assert np.array_equal(found.result.final("CRTM", "one"), reported.final("policy"))
    assert found.tuned("one")["CRTM"] == crtm(best)
    assert found.tuned()["as it is"] == crtm(1.0)


def test_a_constant_without_effect_makes_no_grid_grow(found: Any):
    """CRTM alone decides how far the grid grows, and both try the same constants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid: dict[str, Any] = {"grid": [0.01, 0.1], "bounds": (0.001, 1.0)}
        alone = hb.tune({"CRTM": crtm}, {"one": PROBLEM}, **SIZE, **grid)
        deaf_alone = hb.tune({"deaf": deaf}, {"one": PROBLEM}, **SIZE, **grid)
    assert set(found.curves["one", "deaf"]) == set(found.curves["one", "CRTM"])
    assert set(found.curves["one", "CRTM"]) == set(alone.curves["one", "CRTM"])
    assert set(deaf_alone.curves["one", "deaf"]) == {0.01, 0.1}


def test_an_end_of_the_grid_is_warned_about_for_each_policy():
    with pytest.warns(UserWarning, match=r"best value of CRTM is not inside its grid: .* end"):
        hb.tune({"CRTM": crtm}, PROBLEM, **SIZE, grid=[1e-6, 1e3], bounds=(1e-6, 1e3))


def test_an_untuned_policy_may_depend_on_its_problem():
    wide = hb.Problem(hb.arms.Fixed(5, 4), hb.links.Logistic(), hb.noises.StudentT(3.0))
    makers: dict[str, Any] = {
        "tuned": lambda c, problem: hb.linucb(dim=problem.arms.dim, radius=c),
        "auto": lambda problem: hb.linucb(dim=problem.arms.dim, radius=1.0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = hb.tune(makers, {"3": PROBLEM, "4": wide}, **SIZE, grid=[0.1, 1.0], bounds=(0.1, 1))
    assert found.tuned("4")["auto"] == hb.linucb(dim=4, radius=1.0)
    assert ("4", "auto") not in found.choices
    with pytest.raises(hb.InvalidInputError, match=r"of `problem` alone.*has no attribute 'arms'"):
        hb.tune({"auto": lambda p: hb.linucb(dim=p.arms.dim, radius=1.0)}, PROBLEM, **SIZE)


def test_a_flat_curve_is_named_in_result_table_and_figure(found: Any, tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the extra 'lab' is not installed")
    assert found.choices["one", "deaf"].at == "flat"
    rows = {row["policy"]: row for row in to_records(found.summary())}
    assert (rows["deaf"]["at"], rows["as it is"]["at"]) == ("flat", "not tuned")
    assert rows["deaf"]["mean"] == found.result.final("deaf", "one").mean()
    assert "& flat &" in found.to_latex()
    assert "within [0.001, 1]" in found.to_latex()
    (axes,) = found.plot(tmp_path / "constants.pdf").axes
    assert "deaf (flat)" in axes.get_title().replace("\n", " ")
    assert (tmp_path / "constants.pdf").read_bytes().startswith(b"%PDF")
    assert found.plot(axes=axes) is axes.figure


@pytest.mark.filterwarnings("ignore:the best value")
def test_a_policy_may_be_made_for_its_problem():
    def made(constant: float, problem: hb.Problem) -> Any:
        return hb.crtm(dim=problem.arms.dim, horizon=200, raw_moment=3.5, radius_scale=constant)

    grid: dict[str, Any] = {"grid": 2, "bounds": (1e-4, 1.0)}
    found = hb.tune(made, PROBLEM, **SIZE, **grid)
    assert set(found.curves["problem", "policy"]) == {1e-4, 1.0}
    assert found.result.problems == []


@pytest.mark.filterwarnings("ignore:the ")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"grid": [1.0]}, "grid must have at least two"),
        ({"grid": 1}, "grid must be a whole number >= 2"),
        ({"grid": [1.0, -1.0]}, "grid must be positive"),
        (
            {"grid": [1.0, 2.0], "bounds": (0.1, 1.5)},
            "grid must be within",
        ),
        ({"policies": {"a": crtm(1.0)}}, "at least one function of a value"),
        ({"policies": {"a": 3.0}}, r"policies\['a'\] must be a function of a value, got 3.0"),
        ({"policies": {1: crtm, "1": crtm}}, "policies must differ in name"),
        ({"seed": -1}, "seed must be"),
        ({"horizon": 1e3}, "horizon must be a whole number"),
        ({"backend": "slurm"}, "backend must be one of"),
    ],
)
def test_what_cannot_be_tuned_is_refused(changes: dict[str, Any], words: str):
    policies = changes.pop("policies", {"a": crtm})
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.tune(policies, PROBLEM, **{**SIZE, **changes})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"repetitions": 0}, "^repetitions must be a whole number >= 1"),
        ({"tuning_repetitions": 0}, "^tuning_repetitions must be a whole number >= 1"),
        ({"bounds": 5}, "bounds must be a pair"),
        ({"bounds": (1.0, 0.1)}, "low < high"),
    ],
)
def test_bad_sizes_are_refused_by_name_before_anything_runs(given: Any, words: str):
    def never(constant: float) -> Any:
        raise AssertionError("nothing should be made")

    with pytest.raises(hb.InvalidInputError, match=words):
        hb.tune({"never": never}, PROBLEM, **SIZE | given)


@pytest.mark.filterwarnings("ignore:the best value")
def test_a_maker_may_take_the_problem_by_keyword_and_anything_else():
    def keyword(constant: float, *, problem: Any) -> Any:
        return crtm(constant * problem.arms.dim)

    makers: dict[str, Any] = {"keyword": keyword, "more": lambda constant, **more: crtm(constant)}
    made = hb.tune(makers, PROBLEM, **SIZE, grid=[0.01, 0.1], bounds=(0.01, 0.1))
    assert set(made.tuned()) == {"keyword", "more"}


def test_policies_without_a_constant_are_named(found: Any):
    with pytest.raises(hb.InvalidInputError, match="got as it is, which have none to tune"):
        hb.tune({"as it is": crtm(1.0)}, PROBLEM, **SIZE)
    with pytest.raises(KeyError, match="no problem 'typo' here; there are one"):
        found.tuned("typo")


def test_a_number_of_constants_keeps_to_the_range():
    with pytest.warns(UserWarning, match="no effect"):
        found = hb.tune({"deaf": deaf}, PROBLEM, **SIZE, grid=3, bounds=(0.001, 0.5))
    tried = sorted(found.curves["problem", "deaf"])
    assert tried[0] == 0.001
    assert tried[-1] == 0.5


def test_a_grid_that_grows_reaches_the_end_of_its_range_in_round_numbers():
    """Rounded for people step by step, 9.999 followed 3.162, and 1e-6 was never tried."""
    within = (1e-6, 1e4)
    assert {1e-6, 1e-5, 10.0, 100.0, 1e4} <= set(widest(log_grid(9), 10**0.5, within))


def test_losses_that_are_no_numbers_choose_nothing():
    with pytest.raises(hb.InvalidInputError, match="losses must be numbers"):
        choose({1.0: np.array([np.nan]), 2.0: np.array([3.0])})


def test_constants_close_to_each_other_are_tried_once():
    """Rounded to four digits they would be the same, and tried again without end."""
    tried: list[float] = []

    def evaluate(points: Any) -> list[Any]:
        tried.extend(constant for *_, constant in points)
        assert len(tried) < 100
        return [np.array([abs(constant - 1.0003)]) for *_, constant in points]

    (curve,) = search(evaluate, {"g": ["m"]}, [1.0, 1.0001], (0.5, 2.0)).values()
    assert len(tried) == len(curve)
    assert choose(curve).at == "inside"
