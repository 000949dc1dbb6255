"""Policies that draw: how likely each arm is, and that what they say of it is true."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.arms import PerRound
from heavybandits.core.arm_buffer import load_rows, make_arm_buffer, mark_stale
from heavybandits.core.part import reseeded, separate_streams, walk
from heavybandits.parts.policies.thompson import fill_hypercube, normal_quantile
from heavybandits.policies import EpsilonGreedy, SquareCB, Thompson

ROWS = np.random.default_rng(3).normal(size=(4, 2)) / 4.0


@pytest.fixture(autouse=True)
def wrapping():
    """The streams wrap around on purpose; uncompiled, numpy says so."""
    with np.errstate(over="ignore"):
        yield


def taught(policy, decisions: int = 30):
    """The state of a policy that has learned rewards of all rows in turn."""
    state = policy.init()
    for t in range(decisions):
        policy.learn(state, ROWS[t % 4], np.array([ROWS[t % 4] @ [1.0, -0.5]]))
    return state


def draw_arms(policy, state, draws: int, masked: int | None = None):
    """The arms of many choices in one state, and the propensity of each."""
    buffer = make_arm_buffer(2, 4)
    load_rows(buffer, ROWS)
    if masked is not None:
        buffer.penalty[masked] = np.inf
    arms, said = np.zeros(draws, int), np.zeros(draws)
    for n in range(draws):
        mark_stale(buffer)
        arms[n] = policy.choose(state, PerRound(4, 2), buffer)
        said[n] = policy.propensity(state)
        assert np.array_equal(buffer.chosen, ROWS[arms[n]])
    return arms, said


INSIDE = hb.linucb(dim=2, radius=0.5)


@pytest.mark.parametrize(
    "policy", [EpsilonGreedy(INSIDE, 0.3, seed=5), SquareCB(INSIDE, 20.0, seed=5)]
)
@pytest.mark.parametrize("masked", [None, 2])
def test_the_propensity_said_is_how_often_an_arm_is_drawn(policy, masked) -> None:
    draws = 3000
    arms, said = draw_arms(policy, taught(policy), draws, masked)
    chance = {int(arm): set(said[arms == arm]) for arm in np.unique(arms)}
    assert all(len(values) == 1 for values in chance.values())
    assert sum(value for (value,) in chance.values()) == pytest.approx(1.0)
    for arm, (value,) in chance.items():
        error = np.sqrt(value * (1.0 - value) / draws)
        assert abs(np.mean(arms == arm) - value) < 4.0 * error
    assert masked not in chance


def test_a_mixture_gives_every_arm_its_share_and_the_rest_to_the_policy() -> None:
    policy = EpsilonGreedy(INSIDE, epsilon=0.2)
    arms, said = draw_arms(policy, taught(policy), 2000)
    best = int(np.bincount(arms).argmax())
    assert said[arms == best][0] == pytest.approx(0.05 + 0.8)
    assert said[arms != best] == pytest.approx(0.05)


def test_gaps_are_inverted_and_more_knowledge_draws_the_best_more_often() -> None:
    policy = SquareCB(INSIDE, radius_scale=10.0)
    likely = []
    for decisions in (0, 40, 400):
        state = taught(policy, decisions)
        means = np.array([policy.estimate_arm(state, x)[0] for x in ROWS])
        arms, said = draw_arms(policy, state, 1500)
        best = int(means.argmax())
        growth = np.sqrt(4 * decisions / (2 * np.log(1.0 + decisions))) if decisions else 0.0
        for arm in set(arms.tolist()) - {best}:
            wanted = 1.0 / (4 + 10.0 * growth * (means[best] - means[arm]))
            assert said[arms == arm][0] == pytest.approx(wanted)
        likely.append(said[arms == best][0])
    assert likely[0] == pytest.approx(0.25)
    assert likely[0] < likely[1] < likely[2]


NESTED = {
    "twice": EpsilonGreedy(EpsilonGreedy(INSIDE, 0.4), 0.3),
    "three times": EpsilonGreedy(EpsilonGreedy(EpsilonGreedy(INSIDE, 0.5), 0.5), 0.3),
    "uniform": EpsilonGreedy(hb.policies.Uniform(2), 0.3),
    "SquareCB": EpsilonGreedy(SquareCB(INSIDE, 5.0), 0.3),
    "Thompson": EpsilonGreedy(Thompson(INSIDE, scale=6.0, draws=4), 0.3),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("prepare", [separate_streams, lambda p: reseeded(p, np.uint64(9))])
def test_a_policy_that_draws_inside_another_has_its_own_stream(name, prepare) -> None:
    """With equal seeds both saw the same number: inverse weights had a mean of 0.1."""
    policy, draws = prepare(NESTED[name]), 2000
    arms, said = draw_arms(policy, taught(policy), draws)
    weights = (arms[:, None] == np.arange(4)) / said[:, None]
    error = weights.std(axis=0) / np.sqrt(draws)
    assert (np.abs(weights.mean(axis=0) - 1.0) < 4.0 * error).all()


def test_an_agent_separates_the_streams_of_its_policy() -> None:
    policy = NESTED["uniform"]
    agent = hb.Agent(policy)
    tickets = agent.select_many(np.broadcast_to(ROWS, (2000, 4, 2)))
    weights = [(t.arm == np.arange(4)) / np.array(t.propensity) for t in tickets]
    assert np.mean(weights, axis=0) == pytest.approx(1.0, abs=0.3)
    assert agent.policy == policy


def test_the_outermost_seed_and_a_policy_of_one_layer_stay_as_they_are() -> None:
    alone = SquareCB(INSIDE, seed=3)
    assert separate_streams(alone) == alone
    nested = EpsilonGreedy(EpsilonGreedy(hb.policies.Uniform(2, seed=7), seed=7), seed=7)
    separated = separate_streams(nested)
    seeds = [part.seed for part in walk(separated) if hasattr(part, "seed")]
    assert seeds[0] == 7
    assert len(set(seeds)) == 3
    unlucky = EpsilonGreedy(hb.policies.Uniform(2), seed=seeds_of_layer_one(0))
    inside: Any = separate_streams(unlucky).policy
    assert inside.seed != unlucky.seed


def seeds_of_layer_one(seed: int) -> int:
    """The seed that replaces this one in a policy inside another."""
    inside: Any = separate_streams(EpsilonGreedy(hb.policies.Uniform(2, seed))).policy
    return int(inside.seed)


class Passing(NamedTuple):
    """A wrapper that forgets to say how likely the choice of the policy inside was."""

    policy: Any
    dim: int = 2
    plays: int = 1

    def init(self):
        return self.policy.init()

    def choose(self, state, arms, buffer):
        return self.policy.choose(state, arms, buffer)

    def learn(self, state, x, rewards):
        self.policy.learn(state, x, rewards)

    def estimate_arm(self, state, x):
        return self.policy.estimate_arm(state, x)

    def tally(self, state):
        return self.policy.tally(state)


def test_a_wrapper_that_does_not_know_its_propensities_is_rejected() -> None:
    with pytest.raises(hb.PartError, match=r"Passing must have a method propensity\(self, state\)"):
        hb.Agent(Passing(EpsilonGreedy(INSIDE)))
    hb.Agent(Passing(INSIDE))


def test_draws_come_from_the_seed_and_nothing_else() -> None:
    policy = EpsilonGreedy(INSIDE, epsilon=0.5, seed=1)
    one, two = (draw_arms(policy, taught(policy), 50)[0] for _ in range(2))
    assert np.array_equal(one, two)
    other = draw_arms(policy._replace(seed=2), taught(policy), 50)[0]
    assert not np.array_equal(one, other)


def test_a_log_of_a_mixture_is_evaluated_by_its_propensities() -> None:
    rng, policy = np.random.default_rng(4), EpsilonGreedy(INSIDE, epsilon=0.6, seed=9)
    state, buffer = taught(policy, 8), make_arm_buffer(2, 4)
    load_rows(buffer, ROWS)
    log: dict[str, list[float]] = {"action": [], "reward": [], "propensity": []}
    for _ in range(1500):
        mark_stale(buffer)
        arm = policy.choose(state, PerRound(4, 2), buffer)
        log["action"].append(arm)
        log["reward"].append(arm + rng.standard_t(2))
        log["propensity"].append(policy.propensity(state))
    found = hb.evaluate(log, policy={0: 0.5, 3: 0.5})
    assert found.low < 1.5 < found.high
    assert found.diagnostics.mean_weight == pytest.approx(1.0, abs=0.15)


def test_tickets_ledger_and_state_file_know_how_likely_a_choice_was(tmp_path) -> None:
    policy = EpsilonGreedy(INSIDE, epsilon=0.5, seed=2)
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        tickets = [agent.select(ROWS) for _ in range(40)]
        agent.update_many([(ticket, float(ticket.arm)) for ticket in tickets[:-1]])
        said = [ticket.propensity for ticket in tickets]
        assert set(said) == {0.125, 0.625}
        assert [row["propensity"] for row in agent.history()] == said
        known = agent.feedback().decisions
        assert known.propensities.tolist() == said[:-1]
        assert known.rows is not None
        assert np.array_equal(known.rows, np.tile(ROWS, (39, 1, 1)))
        assert known.rewards.tolist() == known.taken.tolist()
        agent.save(tmp_path / "agent.state")
        on = [agent.select(ROWS).propensity for _ in range(5)]
    loaded = hb.Agent.load(tmp_path / "agent.state")
    (waiting,) = {decision.propensity for decision in loaded.state.tickets.decisions()}
    assert waiting == said[-1]
    assert [loaded.select(ROWS).propensity for _ in range(5)] == on
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as again:
        assert [row["propensity"] for row in again.history()] == said + on


def test_every_play_of_a_drawn_decision_has_its_propensity(tmp_path) -> None:
    inside = hb.linucb(dim=2, radius=0.5, filter=hb.filters.TrimmedMean(plays=3, trim=0.3))
    with hb.Agent(
        EpsilonGreedy(inside, epsilon=0.5, seed=2), ledger=tmp_path / "agent.db"
    ) as agent:
        said = [agent.select(ROWS).propensity for _ in range(45)]
        assert [row["propensity"] for row in agent.history()] == said
        assert said[0::3] == said[1::3] == said[2::3]
        assert len(set(said)) == 2


def test_a_policy_that_does_not_draw_is_certain(tmp_path) -> None:
    with hb.Agent(INSIDE, ledger=tmp_path / "agent.db") as agent:
        assert agent.select(ROWS).propensity == 1.0
        assert agent.history()[0]["propensity"] == 1.0
    with pytest.raises(hb.InvalidInputError, match="feedback needs an agent with a ledger"):
        hb.Agent(INSIDE).feedback()


# ---- Thompson


def thompson_choices(policy, state, draws: int):
    """The arms of many decisions, what was said of each, and all the probabilities of each."""
    buffer = make_arm_buffer(2, 4)
    load_rows(buffer, ROWS)
    arms, said, all_chances = np.zeros(draws, int), np.zeros(draws), np.zeros((draws, 4))
    for n in range(draws):
        arms[n] = policy.choose(state, PerRound(4, 2), buffer)
        said[n] = policy.propensity(state)
        wins = np.bincount(state.scratch.best, minlength=4) / policy.draws
        all_chances[n] = policy.epsilon / 4 + (1.0 - policy.epsilon) * wins
    return arms, said, all_chances


def posterior_chances(policy, state, draws: int = 200_000):
    """How often each row is the best under plain draws from the Gaussian of the region."""
    region = state.inner.estimate.region
    reach = policy.scale * policy.policy.radius.radius(state.inner.estimate, 30)
    spread = np.linalg.cholesky(np.linalg.inv(region.design + region.recent))
    noise = np.random.default_rng(8).normal(size=(draws, 2))
    best = ((region.centre + reach * noise @ spread.T) @ ROWS.T).argmax(axis=1)
    return np.bincount(best, minlength=4) / draws


def test_thompson_plays_an_arm_as_often_as_it_is_best_under_the_posterior() -> None:
    policy = Thompson(INSIDE, scale=6.0, epsilon=0.0, draws=16, seed=5)
    state, draws = taught(policy), 2000
    wanted = posterior_chances(policy, state)
    arms, said, chances = thompson_choices(policy, state, draws)
    assert np.array_equal(said, chances[np.arange(draws), arms])
    error = np.sqrt(wanted * (1.0 - wanted) / draws) + 1e-3
    assert (np.abs(np.bincount(arms, minlength=4) / draws - wanted) < 4.0 * error).all()
    assert (np.abs(chances.mean(axis=0) - wanted) < 4.0 * error / np.sqrt(15)).all()


def test_the_error_of_the_counts_is_at_most_the_one_that_is_stated() -> None:
    policy = Thompson(INSIDE, scale=6.0, epsilon=0.0, draws=16, seed=5)
    state = taught(policy)
    wanted = posterior_chances(policy, state)
    _, _, chances = thompson_choices(policy, state, 600)
    stated = np.sqrt(wanted * (1.0 - wanted) / 15)
    assert (chances.std(axis=0) < 1.1 * stated + 1e-3).all()
    assert chances.std(axis=0).sum() < 0.9 * stated.sum()  # what the hypercube is for


def test_inverse_weights_of_thompson_are_unbiased_however_few_the_draws() -> None:
    policy = Thompson(INSIDE, scale=6.0, epsilon=0.1, draws=4, seed=1)
    arms, said, chances = thompson_choices(policy, taught(policy), 4000)
    weights = (arms[:, None] == np.arange(4)) / said[:, None]
    for arm in range(4):  # of each arm, the weights have mean 1 whatever the counts were
        error = np.sqrt((1.0 / chances[:, arm] - 1.0).mean() / 4000)
        assert abs(weights[:, arm].mean() - 1.0) < 4.0 * error
    assert said.min() >= 0.1 / 4


def test_a_hypercube_has_one_number_in_every_slice_of_every_column() -> None:
    points = np.zeros((8, 3))
    fill_hypercube(points, np.zeros(8, np.int64), np.uint64(4), 0)
    edges = [normal_quantile(k / 8) for k in range(1, 8)]
    for column in points.T:
        assert sorted(np.searchsorted(edges, column).tolist()) == list(range(8))
    assert not np.array_equal(points[:, 0].argsort(), points[:, 1].argsort())


def test_the_normal_quantile_is_the_inverse_of_the_distribution() -> None:
    from statistics import NormalDist

    for p in (1e-12, 1e-4, 0.02, 0.3, 0.5, 0.9, 0.98, 1.0 - 1e-6):
        assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), rel=2e-9)


def test_thompson_refuses_a_policy_without_a_region_and_never_plays_a_masked_arm() -> None:
    with pytest.raises(hb.InvalidInputError, match="a confidence region"):
        hb.Agent(Thompson(hb.policies.Uniform(2)))
    with pytest.raises(hb.InvalidInputError, match="draws must be at most 65536"):
        hb.Agent(Thompson(INSIDE, draws=70_000))
    policy = Thompson(INSIDE, scale=3.0, epsilon=0.3, draws=8)
    arms, said = draw_arms(policy, taught(policy), 300, masked=1)
    assert set(arms.tolist()) == {0, 2, 3}
    assert said.min() >= 0.1 - 1e-12


def test_thompson_goes_on_where_v_has_lost_its_digits() -> None:
    policy = Thompson(INSIDE, scale=1.0, epsilon=0.0, draws=64)
    state = policy.init()
    region = state.inner.estimate.region
    region.design[...] = [[1e20, 1e20], [1e20, 1e20]]
    region.inverse[...] = [[0.5, 0.0], [0.0, 0.5]]
    arms, said = draw_arms(policy, state, 20)
    assert len(set(arms.tolist())) > 1
    assert ((said > 0.0) & (said <= 1.0)).all()


@pytest.mark.parametrize("part", [EpsilonGreedy, SquareCB, Thompson])
def test_constants_that_make_no_sense_are_refused(part) -> None:
    with pytest.raises(hb.InvalidInputError, match=part.__name__):
        hb.Agent(part(INSIDE, 0.0))
    with pytest.raises(hb.InvalidInputError, match=r"needs a finite set|every arm"):
        hb.Agent(part(INSIDE)).select(hb.arms.UnitBall(2))


@pytest.mark.parametrize(
    "make", [lambda p: hb.policies.Uniform(2), EpsilonGreedy, SquareCB, Thompson]
)
def test_every_repetition_draws_anew_and_the_seed_decides_what(make):
    policy = make(hb.linucb(dim=2, radius=1.0))
    arms = hb.arms.FromArray(ROWS)
    problem = hb.Problem(arms, hb.links.Identity(), hb.noises.Gaussian(1e-9), np.array([1.0, -0.5]))
    size: dict[str, Any] = {"horizon": 60, "repetitions": 4, "checkpoints": 1}
    first, again, other = (hb.simulate(policy, problem, **size, seed=s) for s in (0, 0, 1))
    assert np.unique(first.final("policy")).size > 1
    assert np.array_equal(first.final("policy"), again.final("policy"))
    assert not np.array_equal(first.final("policy"), other.final("policy"))


def test_every_pass_of_a_replay_draws_anew():
    rows = {"x": [1.0, 2.0] * 20, "reward": [0.0, 1.0] * 20, "day": np.repeat(np.arange(20), 2)}
    options: dict[str, Any] = {
        "protocol": "rounds",
        "group": "day",
        "passes": 6,
        "reward_scale": 1.0,
    }
    found = hb.replay(rows, features=["x"], policies=hb.policies.Uniform(2), **options)
    assert len({row["value"] for row in found}) > 1


def test_uniform_play_knows_its_chances(tmp_path: Any) -> None:
    """It said 1: a log of random play was judged as if nobody had drawn."""
    arms, rng = np.eye(3), np.random.default_rng(0)
    with hb.Agent(hb.policies.Uniform(dim=3), ledger=tmp_path / "agent.db") as agent:
        assert agent.select(arms, mask=[True, False, True]).propensity == 0.5
        for ticket in (agent.select(arms), *agent.select_many([arms] * 600)):
            assert ticket.propensity == 1.0 / 3.0
            agent.update(ticket, float(ticket.arm) + rng.normal())
        log = agent.feedback()
    assert np.array_equal(log.decisions.propensities, np.full(601, 1.0 / 3.0))
    found = hb.evaluate(log, policy={2: 1.0})
    assert found.low < 2.0 < found.high
    learner = hb.linucb(dim=3, radius=1.0)
    learned = hb.evaluate(log, policy=learner, estimator="rejection")
    assert learned.diagnostics.rows == 601
