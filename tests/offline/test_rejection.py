"""The estimator "rejection": a policy learns from a uniform log, row by row."""

from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from heavybandits.offline.evaluate.rejection import accept_rows
from heavybandits.offline.log import read_decisions


def make_feedback(rows: int = 3000, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    context = rng.normal(size=(rows, 2))
    action = rng.integers(4, size=rows)
    return {
        "n_rounds": rows,
        "n_actions": 4,
        "context": context,
        "action": action,
        "reward": (action == 2) + 0.3 * rng.standard_t(3, rows),
        "pscore": np.full(rows, 0.25),
        "action_context": np.eye(4),
    }


def reject(data: Any, **given: Any) -> hb.Evaluation:
    """Evaluate LinUCB by rejection, with the plain mean."""
    log = data if isinstance(data, hb.Log) else hb.Log(data, **given)
    policy = hb.linucb(dim=log.dim, radius=1.0)
    return hb.evaluate(log, policy=policy, estimator="rejection", aggregate="mean")


def test_the_policy_finds_the_best_action_and_the_accepted_rows_are_counted() -> None:
    feedback = make_feedback()
    found = reject(feedback)
    counted = found.diagnostics
    assert counted.effective_sample_size == pytest.approx(3000 * counted.overlap)
    assert counted.effective_sample_size > 500
    assert found.terms.size == 3000
    assert found.value > 0.8
    assert found.logged.value == pytest.approx(feedback["reward"].mean())
    assert (counted.rows, counted.largest_weight) == (3000, 4.0)
    assert found.warnings == []


def test_the_robust_aggregates_average_the_same_rewards() -> None:
    log = hb.Log(make_feedback())
    policy = hb.linucb(dim=log.dim, radius=1.0)
    found = {
        name: hb.evaluate(log, policy=policy, estimator="rejection", aggregate=name)
        for name in ("clipped", "mean")
    }
    assert found["mean"].value == pytest.approx(found["mean"].terms.mean())
    assert found["clipped"].value == pytest.approx(found["mean"].value, abs=0.05)
    assert found["clipped"].low < found["mean"].value < found["clipped"].high


@pytest.mark.parametrize("own", [None, np.random.default_rng(3).normal(size=(4, 3))])
def test_a_pass_is_what_an_agent_would_have_played(own: Any) -> None:
    feedback = make_feedback(300)
    log = hb.Log(feedback, action_features=own)
    known = read_decisions(log, every_action=True)
    policy = hb.linucb(dim=log.dim, radius=1.0)
    agent, paid = hb.Agent(policy), []
    scale = np.abs(feedback["reward"]).mean()
    vectors = np.eye(4) if own is None else log.action_vectors
    assert vectors is not None
    for context, taken, reward in zip(known.contexts, known.taken, known.rewards, strict=True):
        ticket = agent.select(np.array([np.kron(one, context) for one in vectors]))
        if ticket.arm == taken:
            agent.update(ticket, reward / scale)
            paid.append(reward)
        else:
            agent.cancel(ticket)
    found = reject(log)
    assert known.rewards[accept_rows(known, policy, log.action_vectors)].tolist() == paid
    assert found.value == pytest.approx(np.mean(paid))


def test_a_log_in_columns_is_the_same_log() -> None:
    feedback = make_feedback(800)
    table = {
        "u": feedback["context"][:, 0],
        "v": feedback["context"][:, 1],
        "propensity": feedback["pscore"],
        **{name: feedback[name] for name in ("action", "reward")},
    }
    named = table | {"action": np.array(["a", "b", "c", "d"])[table["action"]]}
    one = reject(feedback)
    for other in (table, named):
        assert reject(other, features=["u", "v"]).value == one.value


def test_a_log_without_propensities_is_uniform_only_if_it_says_so() -> None:
    feedback = make_feedback(200)
    known = reject(feedback)
    del feedback["pscore"]
    with pytest.raises(hb.InvalidInputError, match="propensity='uniform'"):
        reject(feedback)
    assert reject(feedback, propensity="uniform").value == known.value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pscore": np.full(100, 0.5)}, r"propensity must be 1 / 4.*got 0.5 in row 0"),
        ({"pscore": np.full(100, 0.5)}, "use 'dr', 'ips' or 'snips'"),
        ({"action": np.full(100, 7)}, r"action must be in 0\.\.3.*got 7"),
        ({"action": np.full(100, 0.5)}, r"action must be in 0\.\.3.*got 0\.5"),
        ({"reward": np.zeros(3)}, "reward must have 100 rows like context, got 3"),
        ({"reward": np.full(100, np.nan)}, "'reward' must have no missing values"),
    ],
)
def test_bad_logs_raise_an_error(change: dict[str, Any], words: str) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        reject(make_feedback(100) | change)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({2: 1.0}, "policy must be a policy that learns"),
        (lambda row: 2, "policy must be a policy that learns"),
        (hb.linucb(dim=5, radius=1.0), "policy must have dim 12"),
        (hb.crmm(dim=12, horizon=400, central_moment=1.0, radius_scale=0.1, plays=5), "plays 1"),
        (hb.tofu(dim=12, horizon=5, raw_moment=1.0), "room for 5 decisions"),
    ],
)
def test_the_policy_must_be_one_that_can_pass_over_the_log(policy: Any, words: str) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.evaluate(make_feedback(100), policy=policy, estimator="rejection")


def test_actions_that_are_not_always_available_raise_an_error() -> None:
    log = {"action": ["a", "b"] * 50, "reward": np.ones(100), "on": ["a", "a|b"] * 50}
    with pytest.raises(hb.InvalidInputError, match="available must be all actions"):
        reject(log, available="on", propensity="uniform")
