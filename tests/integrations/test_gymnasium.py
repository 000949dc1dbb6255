"""The Gymnasium environment: its rules, its numbers, and an agent in it."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra: heavybandits[gym]")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from heavybandits.integrations.gymnasium import ENV_ID, HeavyTailedGLB  # noqa: E402

PROBLEM = hb.Problem(hb.arms.Fixed(4, 3), hb.links.Logistic(), hb.noises.StudentT(3.0))


def play(env: Any, agent: hb.Agent, arms: Any, steps: int) -> list[dict[str, Any]]:
    seen = []
    for _ in range(steps):
        ticket = agent.select(arms)
        arms, reward, terminated, truncated, info = env.step(ticket.arm)
        agent.update(ticket, reward)
        seen.append({**info, "reward": reward, "arm": ticket.arm})
        assert not terminated
        assert truncated == (len(seen) == env.unwrapped.horizon)
    return seen


@pytest.mark.parametrize("problem", [None, PROBLEM])
def test_gymnasium_is_content(problem: Any) -> None:
    check_env(gymnasium.make(ENV_ID, problem=problem, horizon=20).unwrapped)


MOVING = PROBLEM._replace(
    noise=hb.worlds.ZeroInflated(hb.noises.Gaussian(0.5), 0.5),
    drift=hb.worlds.Jumps(every=20),
    adversary=hb.worlds.Spikes(15.0, size=5.0, share=0.2),
)


@pytest.mark.parametrize("problem", [PROBLEM, MOVING])
def test_an_agent_in_it_has_the_regret_of_a_simulation(problem: Any) -> None:
    policy = hb.linucb(dim=3, radius=1.0)
    wanted = hb.simulate(policy, problem, horizon=50, repetitions=2, seed=7, checkpoints=1)
    env = gymnasium.make(ENV_ID, problem=problem, horizon=50)
    for repetition in range(2):
        arms, info = env.reset(seed=7 if repetition == 0 else None)
        assert info == {}
        seen = play(env, hb.Agent(policy), arms, 50)
        assert seen[-1]["total_regret"] == pytest.approx(wanted.final("policy")[repetition])
    env.close()


def test_an_agent_in_a_shop_has_the_regret_of_a_simulation() -> None:
    policy, problem = hb.linucb(dim=10, radius=0.1), hb.worlds.shop(availability=0.3, period=10)
    wanted = hb.simulate(policy, problem, horizon=50, repetitions=1, seed=7, checkpoints=1)
    env, agent = HeavyTailedGLB(problem, horizon=50), hb.Agent(policy)
    arms, info = env.reset(seed=7)
    closed = int(info["action_mask"].argmin())
    with pytest.raises(hb.InvalidInputError, match="action must be available"):
        env.step(closed)
    for _ in range(50):
        ticket = agent.select(arms, mask=info["action_mask"].astype(bool))
        arms, reward, _, _, info = env.step(ticket.arm)
        agent.update(ticket, reward)
    assert info["total_regret"] == pytest.approx(wanted.final("policy")[0])


def test_what_info_says_is_so() -> None:
    env = HeavyTailedGLB(PROBLEM, horizon=10)
    arms, _ = env.reset(seed=3)
    means = 1.0 / (1.0 + np.exp(-arms @ env.problem.theta))
    _, reward, _, _, info = env.step(1)
    assert info["best_arm"] == means.argmax()
    assert info["mean_reward"] == pytest.approx(means[1])
    assert info["regret"] == pytest.approx(means.max() - means[1])
    assert reward == info["mean_reward"] + info["noise"]


def test_arms_and_noise_do_not_depend_on_what_was_played() -> None:
    env = HeavyTailedGLB(horizon=10)
    runs = []
    for actions in ([0] * 5, [3, 1, 4, 1, 5]):
        arms, _ = env.reset(seed=11)
        steps = [env.step(action) for action in actions]
        runs.append(([arms, *(s[0] for s in steps)], [s[4]["noise"] for s in steps]))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert len(set(runs[0][1])) == 5


def test_the_vector_version_is_many_single_ones() -> None:
    many = gymnasium.make_vec(ENV_ID, num_envs=3, problem=PROBLEM, horizon=5)
    arms, _ = many.reset(seed=5)
    assert arms.shape == (3, 4, 3)
    _, rewards, _, _, info = many.step(np.array([0, 1, 2]))
    for place in range(3):
        env = HeavyTailedGLB(PROBLEM, horizon=5)
        first, _ = env.reset(seed=5 + place)
        np.testing.assert_array_equal(arms[place], first)
        _, reward, _, _, single = env.step(place)
        assert rewards[place] == reward
        assert info["regret"][place] == single["regret"]
    many.close()


def test_delayed_rewards_are_rejected() -> None:
    problem = PROBLEM._replace(delay=hb.worlds.ConstantDelay(3))
    with pytest.raises(hb.InvalidInputError, match=r"problem.delay must be None.*ConstantDelay"):
        HeavyTailedGLB(problem)


def test_what_is_refused() -> None:
    with pytest.raises(
        hb.InvalidInputError, match=r"problem\.arms must be a finite set, got UnitBall"
    ):
        HeavyTailedGLB(
            hb.Problem(hb.arms.UnitBall(3), hb.links.Logistic(), hb.noises.StudentT(3.0))
        )
    with pytest.raises(hb.InvalidInputError, match="horizon must be a whole number"):
        HeavyTailedGLB(PROBLEM, horizon=0)
    env = HeavyTailedGLB(PROBLEM)
    env.reset(seed=0)
    with pytest.raises(
        hb.InvalidInputError, match=r"action must be a whole number in 0\.\.3, got 4"
    ):
        env.step(4)
    for action in (True, np.True_, 1.0, "1", None, [1], np.array([1]), np.array(1.0)):
        with pytest.raises(hb.InvalidInputError, match="action must be a whole number"):
            env.step(action)
    assert env.step(np.array(1))[4]["regret"] == env.step(np.int64(1))[4]["regret"]
