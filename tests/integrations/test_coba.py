"""In coba: our policies as its learners, its environments as rounds; with the real coba."""

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.integrations.coba import EnvironmentRounds, Learner, products

coba = pytest.importorskip("coba", reason="needs coba, which the group dev installs")

DIM, SIZE = 3, 5
THETA = np.array([0.8, -0.5, 0.3])
POLICY = hb.linucb(dim=DIM, radius=1.0)


def environment(count: int = 300, payoff: Any = float) -> Any:
    """A simulation of coba's whose first action is the best one in every round."""
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(count, SIZE, DIM))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    arms = np.take_along_axis(arms, np.argsort(-(arms @ THETA), axis=1)[:, :, None], axis=1)
    actions = [[tuple(arm) for arm in offered] for offered in arms.tolist()]
    return coba.Environments.from_lambda(
        count, lambda t: None, lambda t, c: actions[t], lambda t, c, a: payoff(a @ THETA)
    )


def run(*learners: Any, count: int = 300) -> list[list[float]]:
    """What coba's Experiment says each learner was paid."""
    result = coba.Experiment(environment(count), list(learners)).run(quiet=True)
    rows = list(result.interactions.to_dicts())
    names = [row["family"] for row in result.learners.to_dicts()]
    assert names == [learner.params["family"] for learner in learners]
    return [[r["reward"] for r in rows if r["learner_id"] == i] for i in range(len(learners))]


def test_an_experiment_of_coba_runs_our_agent_and_it_learns():
    ours, random = run(Learner(POLICY, name="ours"), coba.RandomLearner())
    assert len(ours) == len(random) == 300
    assert np.mean(ours[100:]) > np.mean(random) + 0.4


def test_a_learner_does_what_an_agent_does():
    paid = run(Learner(POLICY, rng=3))[0]
    agent = hb.Agent(POLICY, rng=3)
    for interaction, reward in zip(environment()[0].read(), paid, strict=True):
        ticket = agent.select(np.array(interaction["actions"]))
        agent.update(ticket, float(ticket.features @ THETA))
        assert reward == pytest.approx(ticket.features @ THETA, abs=1e-4)  # coba keeps 5 digits


def test_one_learner_in_two_environments_starts_anew_in_each():
    worlds = environment(30) + environment(30)
    rows = list(coba.Experiment(worlds, Learner(POLICY)).run(quiet=True).interactions.to_dicts())
    paid = [[row["reward"] for row in rows if row["environment_id"] == i] for i in range(2)]
    assert paid[0] == paid[1]


def test_a_copy_goes_on_by_itself():
    learner, actions = Learner(POLICY, scale=2.0), [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    for copied in (deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        action, probability, more = copied.predict(None, actions)
        copied.learn(None, action, 1.0, probability, **more)
        assert (copied.agent.updates, learner.agent.updates, probability) == (1, 0, 1.0)
        assert np.linalg.norm(more["ticket"].features) == 0.5
        assert copied.agent.id != learner.agent.id
        with pytest.raises(hb.ForeignTicketError):  # which another decision of it would have taken
            learner.agent.update(more["ticket"], 1.0)


def test_actions_are_crossed_with_the_context():
    assert products(None, [2, 3]).tolist() == [[2.0], [3.0]]
    crossed = products((0.5, -1.0), [(1, 0), (0, 2)])
    assert crossed.tolist() == [[1.0, 0.5, -1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0, 1.0, -2.0]]


def test_an_environment_of_coba_is_replayed():
    world = coba.Environments.from_linear_synthetic(400, n_actions=6, seed=2)[0]
    rounds = EnvironmentRounds(world)
    policy = hb.linucb(dim=rounds.features.shape[1], radius=0.5)
    result = hb.replay(rounds, policies={"LinUCB": policy}, passes=2)
    values = {name: result.values("LinUCB", name) for name in ("value", "random", "oracle")}
    assert (values["value"] > values["random"]).all()
    assert (values["oracle"] > values["value"]).all()
    means = [np.mean([each["rewards"](a) for a in each["actions"]]) for each in world.read()]
    assert values["random"] == pytest.approx(np.mean(means))


def test_order_zero_is_that_of_the_environment_and_rewards_may_be_a_function():
    class Varied:
        def read(self) -> Any:
            for size in (2, 3, 2):
                actions = [(1.0, float(k)) for k in range(size)]
                yield {"context": None, "actions": actions, "rewards": lambda a: 10.0 * a[1]}

    rounds = EnvironmentRounds(Varied())
    assert rounds.deal(0).arms.tolist() == [[0, 1, -1], [2, 3, 4], [5, 6, -1]]
    assert rounds.rewards.tolist() == [0.0, 10.0, 0.0, 10.0, 20.0, 0.0, 10.0]
    assert np.linalg.norm(rounds.features, axis=1).max() == pytest.approx(1.0)
    assert EnvironmentRounds(Varied(), limit=2).deal(0).arms.shape == (2, 3)


def test_what_is_refused():
    class Logged:
        def read(self) -> Any:
            yield {"context": None, "action": (1.0,), "reward": 1.0}

    with pytest.raises(hb.InvalidInputError, match="must give the rewards of all actions"):
        EnvironmentRounds(Logged())
    with pytest.raises(hb.InvalidInputError, match="must give two interactions or more, got 1"):
        EnvironmentRounds(environment(1)[0])
    with pytest.raises(hb.InvalidInputError, match="scale must be"):
        Learner(POLICY, scale=0.0)


def test_a_learner_that_draws_says_how_likely_its_action_was():
    learner = Learner(hb.policies.EpsilonGreedy(POLICY, epsilon=0.5))
    actions = [tuple(row) for row in np.eye(DIM)]
    told = sorted({learner.predict(None, actions)[1] for _ in range(30)})
    assert told == pytest.approx([0.5 / 3, 0.5 + 0.5 / 3])


def test_actions_in_words_and_rewards_that_are_missing_are_refused():
    with pytest.raises(hb.InvalidInputError, match="actions must be numbers"):
        products(None, ["buy", "sell"])

    class Short:
        def read(self) -> Any:
            yield from [{"actions": [(1, 0), (0, 1)], "rewards": [1.0]}] * 3

    with pytest.raises(hb.InvalidInputError, match="a reward per action, got 1 for 2"):
        EnvironmentRounds(Short())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actions": [], "rewards": []}, "got 0 for 0 actions"),
        ({"context": {"age": 3}}, "context must be a number or a row of them"),
        ({"rewards": ["x", 2.0]}, "rewards must be an array of numbers"),
        ({"actions": [(1, 0, 0), (0, 1, 0)]}, "rows of one length, got 2 and 3"),
    ],
)
def test_interactions_that_make_no_round_are_named(changes: dict[str, Any], words: str):
    plain = {"context": None, "actions": [(1, 0), (0, 1)], "rewards": [1.0, 2.0]}

    class Simulation:
        def read(self):
            yield from (plain, plain, plain | changes)

    with pytest.raises(hb.InvalidInputError, match=words):
        EnvironmentRounds(Simulation())
