"""The compiled policy does what the policy does uncompiled, and the arm buffer what NumPy does."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits.agents.state import kept
from heavybandits.arms import Rows, UnitBall
from heavybandits.core.arm_buffer import fill_products, fill_rows, load_rows, make_arm_buffer
from heavybandits.core.compile import compiled, stamped
from heavybandits.core.jit import jitable
from heavybandits.parts.compiled_policy import CompiledPolicy, RowBuffers
from heavybandits.policies import EpsilonGreedy, TimeDiscounted

K = 5
LINUCB = hb.linucb(dim=3, radius=1.0)
SOME = {"linucb": LINUCB, "supbtc": POLICIES["supbtc"], **DRAWING}


def make_rows(rng: np.random.Generator, dim: int, *shape: int) -> Any:
    rows = rng.normal(size=(*shape, K, dim))
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def same(one: Any, other: Any) -> bool:
    pairs = zip(kept(one).values(), kept(other).values(), strict=True)
    return all(a.tobytes() == b.tobytes() for a, b in pairs)


# ---- choose and learn


@pytest.mark.parametrize("name", SOME)
def test_it_chooses_and_learns_as_the_policy_itself(name: str) -> None:
    policy, rng = SOME[name], np.random.default_rng(0)
    player, state, plain = CompiledPolicy(policy), policy.init(), policy.init()
    arms = Rows(K, policy.dim)
    buffer = arms.make_buffer()
    for t in range(12):
        rows, rewards = make_rows(rng, policy.dim), rng.normal(size=policy.plays)
        mask = np.arange(K) != t % K
        choice = player.choose(state, rows, mask)
        player.learn(state, choice.features, rewards.copy())
        fill_rows(buffer, rows, mask)
        with np.errstate(all="ignore"):
            assert policy.choose(plain, arms, buffer) == choice.arm != t % K
            expected = policy.estimate_arm(plain, buffer.chosen)
            policy.learn(plain, buffer.chosen.copy(), rewards)
        assert expected == pytest.approx((choice.expected, choice.width), nan_ok=True)
        np.testing.assert_array_equal(choice.features, rows[choice.arm])
        assert 0.0 < choice.propensity <= 1.0
        assert hasattr(policy, "propensity") or choice.propensity == 1.0
    assert same(state, plain)
    assert player.lessons == 12


@pytest.mark.parametrize("name", SOME)
def test_many_decisions_are_as_many_single_ones(name: str) -> None:
    policy, rng = SOME[name], np.random.default_rng(1)
    player, one, many = CompiledPolicy(policy), policy.init(), policy.init()
    rows, mask = make_rows(rng, policy.dim, 6), rng.random((6, K)) < 0.8
    mask[:, 0] = True
    order = np.array([rng.permutation(K) for _ in range(6)])
    made = player.choose_many(many, rows, mask, order)
    for n in range(6):
        choice = player.choose(one, rows[n], mask[n], order=order[n])
        told = (made.arms[n], made.expected[n], made.widths[n], made.propensities[n])
        assert (choice.arm, *choice[2:]) == told
    assert same(one, many)
    plain = player.choose_many(many, rows, mask).arms
    assert mask[np.arange(6), plain].all()


def test_a_subclass_has_the_propensity_of_its_base() -> None:
    class Same(EpsilonGreedy):
        __slots__ = ()

    policies = EpsilonGreedy(LINUCB, 0.5), Same(LINUCB, 0.5)
    rows = make_rows(np.random.default_rng(2), 3)
    made = [CompiledPolicy(policy).choose(policy.init(), rows) for policy in policies]
    assert made[0].propensity == made[1].propensity < 1.0


def test_the_first_row_of_the_order_wins_a_tie() -> None:
    player, rows = CompiledPolicy(LINUCB), np.ones((K, 3)) / 2.0
    order = np.array([3, 1, 0, 2, 4])
    assert player.choose(LINUCB.init(), rows).arm == 0
    assert player.choose(LINUCB.init(), rows, order=order).arm == 3


def test_an_arm_set_fills_its_own_buffer() -> None:
    choice = CompiledPolicy(LINUCB).choose(LINUCB.init(), UnitBall(3))
    assert choice.arm == -1
    assert np.linalg.norm(choice.features) == pytest.approx(1.0)


def test_a_warm_start_is_one_lesson_and_as_many_rewards() -> None:
    rng = np.random.default_rng(3)
    rows, rewards = make_rows(rng, 3), rng.normal(size=(K, 1))
    player, one, many = CompiledPolicy(LINUCB), LINUCB.init(), LINUCB.init()
    player.warm_start(many, rows, rewards)
    assert player.lessons == 1
    for x, reward in zip(rows, rewards, strict=True):
        player.learn(one, x, reward.copy())
    assert same(one, many)
    means, widths = player.predict(one, rows)
    assert (means[0], widths[0]) == LINUCB.estimate_arm(one, rows[0])


def test_time_and_noise_scale_reach_the_state() -> None:
    rewards, x = np.ones(1), np.eye(3)[0]
    slow = TimeDiscounted(LINUCB, 60.0)
    state = slow.init()
    CompiledPolicy(slow).learn(state, x, rewards, time=5.0)
    assert state.clock.tolist() == [5.0, 5.0]
    crhl = POLICIES["crhl"]
    assert CompiledPolicy(crhl).takes_noise_scale
    states = crhl.init(), crhl.init()
    for state, scale in zip(states, (None, 50.0), strict=True):
        CompiledPolicy(crhl).learn(state, np.eye(crhl.dim)[0], np.ones(1), noise_scale=scale)
    assert not same(*states)


# ---- validation


def test_arms_and_masks_are_validated() -> None:
    player = CompiledPolicy(LINUCB)
    rows, mask = player.check_arms([[1, 0, 0]], [True])
    assert isinstance(rows, np.ndarray)
    assert mask is not None
    for arms, given, match in (
        ([[1.0, 0.0]], None, "arms"),
        (np.eye(3), [True], "mask must be 3 booleans"),
        (np.eye(3), [False] * 3, "mask must leave at least one arm"),
        (UnitBall(3), [True], "mask must be None"),
        (UnitBall(2), None, "arms must have dim 3, got 2"),
    ):
        with pytest.raises(hb.InvalidInputError, match=match):
            player.check_arms(arms, given)
    with pytest.raises(hb.InvalidInputError, match="rows of features"):
        player.check_rows(UnitBall(3))


def test_room_and_infinite_sets_are_validated() -> None:
    keeper = POLICIES["supbtc"]
    player = CompiledPolicy(keeper)
    with pytest.raises(hb.InvalidInputError, match="finite set"):
        player.check_arm_set(UnitBall(keeper.dim))
    player.check_arm_set(None)
    assert player.has_capacity
    player.check_capacity(keeper.init(), 1)
    with pytest.raises(hb.InvalidInputError, match="room for"):
        player.check_capacity(keeper.init(), 10**9)
    CompiledPolicy(LINUCB).check_capacity(LINUCB.init(), 10**9)


def test_a_long_arm_is_worth_one_warning() -> None:
    player = CompiledPolicy(LINUCB)
    player.warn_norm(np.eye(3))
    with pytest.warns(UserWarning, match="norm 2"):
        player.warn_norm(2.0 * np.eye(3))
    player.warn_norm(2.0 * np.eye(3))
    CompiledPolicy(hb.auto(dim=3)).warn_norm(2.0 * np.eye(3))


def test_rows_cannot_be_simulated() -> None:
    problem = hb.Problem(Rows(4, 3), hb.links.Identity(), hb.noises.Gaussian())
    with pytest.raises(hb.InvalidInputError, match="got Rows"):
        hb.simulate(LINUCB, problem, horizon=10)


# ---- the arm buffer


@jitable
def fill(buffer, rows, mask, order, kind):
    if kind == 0:
        fill_rows(buffer, rows)
    elif kind == 1:
        fill_rows(buffer, rows, mask)
    elif kind == 2:
        fill_rows(buffer, rows, None, order)
    elif kind == 3:
        fill_rows(buffer, rows, mask, order)
    else:
        load_rows(buffer, rows)


def fill_kernel(stamp: str) -> Any:
    return stamped(fill, stamp)


@pytest.mark.parametrize("kind", range(5))
def test_rows_fill_the_buffer_with_every_option(kind: int) -> None:
    rng = np.random.default_rng(kind)
    rows, mask, order = make_rows(rng, 3), np.arange(K) != 2, np.array([4, -1, 2, 0])
    views = make_arm_buffer(3, K), make_arm_buffer(3, K)
    given = (rows, mask, order, kind)
    compiled(fill_kernel, views[0], *given)(views[0], *given)
    fill(views[1], *given)
    for one, other in zip(*views, strict=True):
        np.testing.assert_array_equal(one, other)
    shown = order if kind in (2, 3) else np.arange(K)
    there = shown >= 0
    buffer = views[0]
    np.testing.assert_array_equal(buffer.features[:, : shown.size].T[there], rows[shown[there]])
    assert not buffer.features[:, : shown.size].T[~there].any()
    allowed = there & (mask[shown] if kind in (1, 3) else True)
    np.testing.assert_array_equal(buffer.penalty[: shown.size] == 0.0, allowed)
    assert np.isinf(buffer.penalty[K:]).all()
    assert buffer.synced[0] == -1


def test_products_fill_the_buffer() -> None:
    rng = np.random.default_rng(0)
    context, actions = rng.normal(size=2), rng.normal(size=(4, 3))
    buffer, mask = make_arm_buffer(6, 4), np.array([True, False, True, True])
    fill_products(buffer, context, actions, mask)
    wanted = [np.outer(action, context).ravel() for action in actions]
    np.testing.assert_array_equal(buffer.features[:, :4].T, wanted)
    np.testing.assert_array_equal(buffer.penalty[:4] == 0.0, mask)


def test_a_buffer_is_kept_for_its_number_of_rows() -> None:
    buffers = RowBuffers(dim=3)
    assert buffers.get(4) is buffers.get(4)
    assert buffers.get(4).arms == Rows(4, 3)
