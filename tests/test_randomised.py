"""Policies that draw: how likely each arm is, and that what they say of it is true."""

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.arms import Fresh
from heavybandits.engine.views import load_rows, make_view
from heavybandits.policies import InverseGap, Mixed

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
    view = make_view(2, 4)
    load_rows(view, ROWS)
    if masked is not None:
        view.penalty[masked] = np.inf
    arms, said = np.zeros(draws, int), np.zeros(draws)
    for n in range(draws):
        view.synced[0] = -1
        arms[n] = policy.choose(state, Fresh(4, 2), view)
        said[n] = policy.propensity(state)
        assert np.array_equal(view.chosen, ROWS[arms[n]])
    return arms, said


INSIDE = hb.linucb(dim=2, radius=0.5)


@pytest.mark.parametrize("policy", [Mixed(INSIDE, 0.3, seed=5), InverseGap(INSIDE, 20.0, seed=5)])
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
    policy = Mixed(INSIDE, share=0.2)
    arms, said = draw_arms(policy, taught(policy), 2000)
    best = int(np.bincount(arms).argmax())
    assert said[arms == best][0] == pytest.approx(0.05 + 0.8)
    assert said[arms != best] == pytest.approx(0.05)


def test_gaps_are_inverted_and_more_knowledge_draws_the_best_more_often() -> None:
    policy = InverseGap(INSIDE, gamma_scale=10.0)
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


def test_draws_come_from_the_seed_and_nothing_else() -> None:
    policy = Mixed(INSIDE, share=0.5, seed=1)
    one, two = (draw_arms(policy, taught(policy), 50)[0] for _ in range(2))
    assert np.array_equal(one, two)
    other = draw_arms(policy._replace(seed=2), taught(policy), 50)[0]
    assert not np.array_equal(one, other)


def test_a_log_of_a_mixture_is_evaluated_by_its_propensities() -> None:
    rng, policy = np.random.default_rng(4), Mixed(INSIDE, share=0.6, seed=9)
    state, view = taught(policy, 8), make_view(2, 4)
    load_rows(view, ROWS)
    log: dict[str, list[float]] = {"action": [], "reward": [], "pscore": []}
    for _ in range(1500):
        view.synced[0] = -1
        arm = policy.choose(state, Fresh(4, 2), view)
        log["action"].append(arm)
        log["reward"].append(arm + rng.standard_t(2))
        log["pscore"].append(policy.propensity(state))
    found = hb.evaluate(log, {0: 0.5, 3: 0.5})
    assert found.low < 1.5 < found.high
    assert found.weights.mean == pytest.approx(1.0, abs=0.15)


def test_tickets_ledger_and_state_file_know_how_likely_a_choice_was(tmp_path) -> None:
    policy = Mixed(INSIDE, share=0.5, seed=2)
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        tickets = [agent.select(ROWS) for _ in range(40)]
        agent.update_many([(ticket, float(ticket.arm)) for ticket in tickets[:-1]])
        said = [ticket.propensity for ticket in tickets]
        assert set(said) == {0.125, 0.625}
        assert [row["propensity"] for row in agent.history()] == said
        feedback = agent.feedback()
        assert feedback["pscore"].tolist() == said[:-1]
        assert np.array_equal(feedback["context"], ROWS[feedback["action"]])
        assert feedback["reward"].tolist() == feedback["action"].tolist()
        agent.save(tmp_path / "agent.state")
        on = [agent.select(ROWS).propensity for _ in range(5)]
    loaded = hb.load(tmp_path / "agent.state")
    (waiting,) = {decision.propensity for decision in loaded.state.book.pending.values()}
    assert waiting == said[-1]
    assert [loaded.select(ROWS).propensity for _ in range(5)] == on
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as again:
        assert [row["propensity"] for row in again.history()] == said + on


def test_every_play_of_a_drawn_decision_has_its_propensity(tmp_path) -> None:
    inside = hb.linucb(dim=2, radius=0.5, filter=hb.filters.TrimmedMean(plays=3, trim=0.3))
    with hb.Agent(Mixed(inside, share=0.5, seed=2), ledger=tmp_path / "agent.db") as agent:
        said = [agent.select(ROWS).propensity for _ in range(45)]
        assert [row["propensity"] for row in agent.history()] == said
        assert said[0::3] == said[1::3] == said[2::3]
        assert len(set(said)) == 2


def test_a_policy_that_does_not_draw_is_certain(tmp_path) -> None:
    with hb.Agent(INSIDE, ledger=tmp_path / "agent.db") as agent:
        assert agent.select(ROWS).propensity == 1.0
        assert agent.history()[0]["propensity"] == 1.0
    with pytest.raises(hb.InvalidInput, match="feedback needs an agent with a ledger"):
        hb.Agent(INSIDE).feedback()


@pytest.mark.parametrize("part", [Mixed, InverseGap])
def test_constants_that_make_no_sense_are_refused(part) -> None:
    with pytest.raises(hb.InvalidInput, match=part.__name__):
        hb.Agent(part(INSIDE, 0.0))
    with pytest.raises(hb.InvalidInput, match=r"needs a finite set|every arm"):
        hb.Agent(part(INSIDE)).select(hb.arms.UnitBall(2))
