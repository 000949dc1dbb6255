"""The experiments `beyond` and `map`: their parts, tuning and analyses, on rows made by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heavybandits._utils.drawing import Tile, Tiles, View, draw_view, save
from heavybandits.experiments import beyond, realdata
from heavybandits.experiments import map as winners
from heavybandits.experiments.beyond.analysis import ratio, ratio_table
from heavybandits.experiments.beyond.settings import CLIPPED, SCALE_GIVEN
from heavybandits.experiments.map.analysis import winner
from heavybandits.experiments.outputs import Figure
from heavybandits.experiments.page import figure_data, figure_html
from heavybandits.experiments.rows import COUNTS
from heavybandits.sweeps import Cell

# ---- beyond


def test_every_algorithm_meets_the_problems_it_can_play() -> None:
    part = beyond.settings.PROFILES["full"]["parts"]["main"]
    found = beyond.points("main", part)
    assert {p.noise for p in found if p.algorithm == SCALE_GIVEN} == {"changing"}
    assert {p.link for p in found if p.algorithm == "Hvt_UCB"} == {"linear"}
    assert len({p[1:4] for p in found}) == 2 * 2 * 7
    for point in found:
        constant = None if point.algorithm == "random play" else 0.1
        assert beyond.build_policy(point, 500, constant).dim == beyond.settings.DIM


def test_constants_of_a_kind_share_a_grid_that_holds_every_optimum(monkeypatch) -> None:
    best = {"CRTM": 10.0, "CRHL": 0.01, "LinUCB": 3.162, "random play": 1.0}

    def make(given: Any, phase: str, point: Any, constant: float | None) -> tuple[Any, list[Cell]]:
        named = {"phase": phase, "constant": constant} | point._asdict()
        away = abs(np.log((constant or 1.0) / best[point.algorithm]))
        return named, [Cell("math:sqrt", {"repetitions_from": 0, "away": away})]

    def compute(cells: list[Cell]) -> list[dict[str, Any]]:
        ones = {name: np.ones((1, 1)) for name in COUNTS} | {"play": np.array([5])}
        return [ones | {"regret": np.array([[cell.settings["away"]]])} for cell in cells]

    monkeypatch.setattr(beyond, "make_group", make)
    wanted = [beyond.Point("main", "linear", "with", "t3", name) for name in best]
    rows = beyond.collect_part({"grows": True}, wanted, compute)
    chosen = {row["algorithm"]: row["constant"] for row in rows if row["phase"] == "report"}
    assert chosen == best | {"random play": None}
    tried = {name: {r["constant"] for r in rows if r["algorithm"] == name} for name in best}
    assert tried["CRTM"] == tried["CRHL"] == {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0}


def played(means: dict[str, float], **named: Any) -> list[dict[str, Any]]:
    wobble = np.random.default_rng(0).normal(0.0, 1.0, 12)
    common: dict[str, Any] = {"part": "main", "link": "linear", "intercept": "with"}
    common |= {"noise": "t3", "phase": "report", "constant": 0.1, "play": 100, "truncated": 1}
    common |= named
    return [
        common | {"algorithm": name, "repetition": r, "regret": mean + wobble[r]}
        for name, mean in means.items()
        for r in range(12)
    ]


def test_the_verdicts_say_who_is_ahead_of_whom() -> None:
    rows = played({"CRHL": 20.0, "CRTM": 40.0, CLIPPED: 15.0, "random play": 80.0})
    found = {v.claim: v.outcome for v in beyond.analyse(rows).verdicts}
    assert found == {
        "CRHL has less regret than CRTM": "holds",
        "CRHL has less regret than LinUCB with AdaptiveClip": "does not hold",
    }
    assert ratio(rows, "CRTM").value == pytest.approx(2.0, rel=0.05)
    assert ratio_table(rows).rows[0]["CRTM"].startswith("2")


def test_the_exponential_link_is_judged_against_linucb() -> None:
    means = {"CRHL": 30.0, "CRTM": 90.0, "CRTM, local": 20.0, "LinUCB": 50.0, "random play": 99.0}
    found = beyond.analyse(played(means, part="exponential", link="exponential")).verdicts
    told = {v.claim.partition(" has")[0]: v.outcome for v in found if "LinUCB" in v.claim}
    assert told == {
        "CRTM with the paper's curvature": "does not hold",
        "CRTM with curvature='local'": "holds",
    }


def test_every_rival_can_be_made_for_real_data() -> None:
    if not realdata.is_there("cdnow"):
        pytest.skip("the package lifetimes is not installed")
    given = realdata.settings.PROFILES["smallest"]
    for policy in realdata.settings.RIVALS:
        assert realdata.make_policy(given, "cdnow", policy, 0.1).dim == 9


# ---- map


def square(means: dict[str, float], wobble: float = 1.0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    point = {"kind": "skewed", "horizon": 100, "index": 1.5, "level": 0.5}
    return [
        point | {"algorithm": name, "repetition": r, "regret": mean + wobble * rng.normal()}
        for name, mean in means.items()
        for r in range(10)
    ]


def test_a_clear_winner_is_separated_and_has_learned() -> None:
    made = winner(square({"random play": 90.0, "CRHL": 10.0, "CRTM": 20.0, CLIPPED: 30.0}))
    assert (made.name, made.separated, made.learned) == ("CRHL", True, True)
    assert made.lead == pytest.approx(2.0, rel=0.1)
    assert made.share == pytest.approx(1.0 / 9.0, rel=0.1)


def test_two_that_are_level_are_not_separated() -> None:
    made = winner(square({"random play": 90.0, "CRHL": 20.0, "CRTM": 20.1, CLIPPED: 30.0}))
    assert (made.separated, made.learned) == (False, True)


def test_where_nobody_beats_random_play_nobody_learns() -> None:
    rows = square({"random play": 20.0, "CRHL": 20.0, "CRTM": 19.9, CLIPPED: 21.0}, wobble=3.0)
    found = winners.analyse(rows)
    (panel,) = found.figures[0].views[0].panels
    assert isinstance(panel, Tiles)
    assert panel.tiles[(1.5, 0.5)] == Tile("no algorithm learns", 1.0, False)
    assert found.tables[0].rows[0]["no algorithm learns"] == 1


def test_the_map_has_as_many_points_as_it_is_asked_for() -> None:
    asked: list[Any] = []

    def compute(cells: Any, alone: bool = False) -> Any:
        asked.extend(cells)
        return [{"regret": np.ones((13, 4)), "cpu_seconds": 0.0} for _ in cells]

    given = winners.settings.PROFILES["smallest"] | {"points": 3, "horizons": [10, 20]}
    rows = winners.collect(given, compute)
    assert len({cell.key for cell in asked}) == 2 * 3 * 3
    assert len(rows) == 18 * 5 * 4
    assert {row["index"] for row in rows} == {1.1, 2.569, 6.0}


def test_a_map_is_drawn_and_stays_a_picture_on_the_page() -> None:
    tiles = {(1.5, 0.1): Tile("A", 0.0, True), (3.0, 0.1): Tile("B", 1.0, False)}
    panel = Tiles("a map", "x", "y", tiles=tiles, legend=["A", "B"])
    view = View("all", [panel])
    image = save(draw_view(view, {}), "png")
    assert image.startswith(b"\x89PNG")
    assert save(draw_view(view, {}), "png") == image
    plain = {place: replace(tile, hatched=False) for place, tile in tiles.items()}
    assert save(draw_view(View("all", [replace(panel, tiles=plain)]), {}), "png") != image
    figure = Figure("map", "Who wins", "caption", [view])
    assert "<noscript>" not in figure_html(figure, {"all": image})
    assert '"figures": []' in figure_data([figure], {})


def test_experiments_have_a_page_of_their_own() -> None:
    folder = Path(beyond.__file__).parent
    for name in (folder / "README.md", folder.parent / "map" / "README.md"):
        assert "**What came out**" in name.read_text()
