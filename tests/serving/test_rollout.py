"""A challenger next to the policy in force: when it looks, and when it falls back."""

import pytest

pytest.importorskip("msgspec")

import heavybandits as hb
from heavybandits.serving.rollout import CANARY, FIRST_LOOK, MOST_LOOKS, Rollout


def make_rollout(share: float) -> Rollout:
    made = Rollout({"policy": "linucb"}, hb.Agent(hb.linucb(dim=1, radius=1.0)), share)
    made.start([])
    return made


def send(rollout: Rollout, canary: float, policy: float, rewards: int) -> None:
    for place in range(rewards):
        wiggle = 0.1 * (-1) ** place
        rollout.compare_reward(CANARY, canary + wiggle)
        rollout.compare_reward("policy", policy + wiggle)


def test_a_better_challenger_keeps_its_share_and_a_worse_one_falls_back():
    better, worse = make_rollout(0.2), make_rollout(0.2)
    send(better, 1.0, 0.5, 4 * FIRST_LOOK)
    send(worse, 0.5, 1.0, FIRST_LOOK)
    assert (better.stage, better.share, better.looks) == ("canary", 0.2, 3)
    assert (worse.stage, worse.share, worse.looks) == ("fell back", 0.0, 1)
    assert better.last is not None
    assert better.last.low is not None
    assert better.last.low > 0.0


def test_it_looks_when_the_smaller_group_has_doubled():
    rollout = make_rollout(0.5)
    seen = []
    for _ in range(5 * FIRST_LOOK):
        send(rollout, 1.0, 1.0, 1)
        seen.append(rollout.looks)
    assert [seen.index(look) + 1 for look in (1, 2, 3)] == [100, 200, 400]
    assert rollout.looks <= MOST_LOOKS


def test_a_shadow_and_other_groups_are_not_compared():
    shadow, canary = make_rollout(0.0), make_rollout(0.5)
    send(shadow, 0.0, 1.0, 2 * FIRST_LOOK)
    for _ in range(2 * FIRST_LOOK):
        canary.compare_reward("holdout", 5.0)
        canary.compare_reward(CANARY, 0.0)
    assert (shadow.stage, shadow.looks) == ("shadow", 0)
    assert (canary.stage, canary.looks) == ("canary", 0)
