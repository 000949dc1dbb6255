"""The experiment without constants: its problems, its arms, its verdicts from rows made by hand."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.core.part import describe
from heavybandits.core.sources import closure
from heavybandits.experiments import noconstants
from heavybandits.experiments.noconstants import stretches
from heavybandits.experiments.noconstants.analysis import gather
from heavybandits.experiments.noconstants.arm_sets import Offers
from heavybandits.experiments.noconstants.cells import make_problem, sparse_rows
from heavybandits.experiments.noconstants.replays import chance_table
from heavybandits.experiments.noconstants.settings import AUTO, JUDGED, PROBLEMS, SCALES, Spec
from heavybandits.offline.replay.protocols import NamedRounds, judge_random
from heavybandits.offline.replay.replay import replay_rounds

HARD, EASY = "fixed, d 10, K 20, t3 x 0.5", "fresh, d 10, K 20, t3 x 0.5"


def rows_of(regrets: dict[tuple[str, str], float], gap: float = 1.0) -> list[dict[str, Any]]:
    """Three repetitions of each policy of each problem, at scale 1 and 100."""
    return [
        {"problem": problem, "scale": scale, "policy": policy, "repetition": r}
        | {"gap": gap, "regret": regret + 0.001 * r}
        for (problem, policy), regret in regrets.items()
        for scale in (1.0, 100.0)
        for r in range(3)
    ]


PLAYED = rows_of(
    {
        (HARD, AUTO): 120.0,
        (HARD, f"{JUDGED}, radius 1"): 100.0,
        (HARD, f"{JUDGED}, radius 3"): 400.0,
        (HARD, "none, radius 1"): 80.0,
        (EASY, AUTO): 19.0,
        (EASY, f"{JUDGED}, radius 1"): 10.0,
        (EASY, f"{JUDGED}, radius 3"): 30.0,
        (EASY, "none, radius 1"): 15.0,
    }
)


def test_there_are_problems_of_every_kind():
    specs = PROBLEMS.values()
    assert len(PROBLEMS) >= 60
    assert {spec.dim for spec in specs} >= {2, 10, 100}
    assert {spec.size for spec in specs} >= {2, 200}
    assert sum(spec.drifts for spec in specs) >= 3
    assert sum("intercept" in spec.kind for spec in specs) >= 4
    assert set(SCALES) == {0.01, 1.0, 100.0}


@pytest.mark.parametrize("spec", PROBLEMS.values(), ids=lambda spec: spec.name)
def test_a_problem_times_a_scale_is_the_same_problem(spec: Spec):
    one, other = (make_problem(spec, scale, 3, 0) for scale in (1.0, 128.0))
    assert one.arms.dim == spec.dim
    assert one.arms.size == spec.size
    np.testing.assert_array_equal(other.theta, 128.0 * one.theta)
    key = np.uint64(5)
    with np.errstate(over="ignore"):
        assert other.noise.draw(key, 7) == 128.0 * one.noise.draw(key, 7)


def test_offers_share_a_context_or_have_an_intercept_each():
    key = np.uint64(1)
    shop, apart = Offers(3, 6, True, False), Offers(3, 6, False, True)
    buffer, still = shop.make_buffer(), apart.make_buffer()
    with np.errstate(over="ignore"):
        assert shop.refresh(buffer, key, 4)
        assert apart.refresh(still, key, 0)
        assert not apart.refresh(still, key, 1)
    np.testing.assert_array_equal(buffer.features[:2, 0], buffer.features[2:4, 1])
    assert buffer.features[2:, 0].any() == np.False_
    np.testing.assert_array_equal(still.features[0, :3], np.ones(3))


def test_ratios_are_to_the_best_radius_and_easy_problems_stand_apart():
    hard, easy = gather(PLAYED)
    assert (hard.easy, easy.easy) == (False, True)
    assert hard.ratio(100.0) == pytest.approx(1.2, abs=1e-4)
    assert hard.best(hard.constants) == "none, radius 1"
    found = noconstants.analyse(PLAYED)
    outcomes = {v.claim.rsplit(", ", 1)[1]: v.outcome for v in found.verdicts}
    assert outcomes["median"] == "does not hold"
    assert outcomes["worst problem"] == "holds"
    assert [row["problems"] for row in found.tables[0].rows] == [1] * 8


def test_replays_are_judged_by_the_best_of_the_grid_or_of_plain_linucb():
    shares = {AUTO: 0.5, f"{JUDGED}, radius 1": 0.6, "none, radius 1": 0.51}
    rows = [
        {"rows": name, "policy": policy, "repetition": r, "fraction": share + 0.001 * r}
        for name in ("rand", "1.0% pay")
        for policy, share in shares.items()
        for r in range(4)
    ]
    found = noconstants.analyse(PLAYED + rows)
    behind = {row["rows"]: row["behind"] for row in found.tables[2].rows}
    assert behind == pytest.approx({"rand": 0.1, "1.0% pay": 0.01})
    outcomes = {v.reading: v.outcome for v in found.verdicts if v.reading in behind}
    assert outcomes == {"rand": "does not hold", "1.0% pay": "holds"}


def test_a_rival_that_was_only_lucky_is_not_ahead_elsewhere():
    """Each rival is best in one half, and pays nothing in the other."""
    shares = {AUTO: [0.5] * 8, "none, radius 1": [1.0, 0.0] * 4, "none, radius 3": [0.0, 1.2] * 4}
    rows = [
        {column: "sp500", "policy": policy, "repetition": r, "fraction": share}
        for column in ("rows", "days")
        for policy, mine in shares.items()
        for r, share in enumerate(mine)
    ]
    table = chance_table(rows[: len(rows) // 2], rows[len(rows) // 2 :])
    assert [row["intervals over"] for row in table.rows] == ["passes", "stretches of days"]
    for row in table.rows:
        assert row["in hindsight"] == pytest.approx(0.1)
        assert row["chosen elsewhere"] == pytest.approx(-0.5)
        assert row["low"] <= row["in hindsight"] < row["high"]
    assert "noconstants_chance" in {made.name for made in noconstants.analyse(PLAYED + rows).tables}


def test_stretches_of_days_share_out_what_the_passes_were_paid(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(7)
    features, days = rng.normal(size=(90, 3)) / 3.0, np.repeat(np.arange(30), 3)
    rounds = NamedRounds(features, features[:, 0] + 0.1 * rng.normal(size=90), days, 5)
    monkeypatch.setattr(stretches, "open_set", lambda *named: rounds)
    policies = {"auto": hb.auto(dim=3), "linucb": hb.linucb(dim=3, radius=1.0)}
    described = [describe(policy) for policy in policies.values()]
    found = stretches.stretch_cell("any", described, orders=3, stretches=6, seed=5)
    passes = replay_rounds(rounds, policies, passes=3)
    paid = [[row["value"] for row in passes if row["policy"] == name] for name in policies]
    np.testing.assert_allclose(found["value"].mean(axis=1), np.mean(paid, axis=1))
    assert found["random"].mean() == pytest.approx(judge_random(rounds.deal(0), rounds.rewards))
    named = {"days": "any", "policies": list(policies)}
    rows = noconstants.stretch_gains(named, {}, found)
    assert len(rows) == 12
    share = (np.mean(paid[1]) - found["random"].mean()) / found["gain"]
    assert np.mean([row["fraction"] for row in rows[6:]]) == pytest.approx(share)


def test_sparse_rows_pay_as_often_as_they_say():
    rewards = sparse_rows(0.01, 3).rewards
    assert np.mean(rewards > 0.0) == pytest.approx(0.01, rel=0.15)


def test_a_cell_is_recomputed_when_a_problem_is_another_one(monkeypatch: pytest.MonkeyPatch):
    """It knows its problem by name: the sources that give the name a meaning are in its key."""
    seen: list[set[str]] = []

    def stamp(modules: set[str]) -> str:
        seen.append(modules)
        return "stamp"

    monkeypatch.setattr(noconstants, "digest", stamp)
    given = noconstants.settings.PROFILES["smallest"]
    _, (cell,) = noconstants.problem_group(given, HARD, 1.0)
    assert cell.code == "stamp"
    reached = closure(frozenset(seen[0]))
    for name in (
        "experiments.noconstants.settings",
        "experiments.noconstants.arm_sets",
        "parts.noises.heavy",
    ):
        assert f"heavybandits.{name}" in reached
    assert "heavybandits.parts.arms.finite" in reached
