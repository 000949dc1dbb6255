"""Agents that speak the user's language: whose tickets, which offer, why, and what if."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
import interleaving
from heavybandits.agents.state import anonymous, kept
from heavybandits.agents.state_file import pack
from heavybandits.features import Category, Encoder, Number
from heavybandits.ledger.reader import read_action_counts

POLICY = hb.linucb(dim=3, radius=1.0)
ARMS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8], [0.5, 0.5, 0.5]])


def sets(count: int, seed: int = 0) -> Any:
    rows = np.random.default_rng(seed).normal(size=(count, 4, 3))
    return rows / np.linalg.norm(rows, axis=2, keepdims=True)


def played(agent: hb.Agent, rounds: int, seed: int = 0) -> hb.Agent:
    rewards = np.random.default_rng([seed, 1]).standard_t(3.0, rounds)
    for arms, reward in zip(sets(rounds, seed), rewards.tolist(), strict=True):
        agent.update(agent.select(arms), reward)
    return agent


def bits(agent: hb.Agent) -> bytes:
    return b"".join(array.tobytes() for array in kept(agent.state.learned).values())


def packed(agent: hb.Agent) -> bytes:
    return pack(anonymous(agent.state))


# ---- whose ticket


def test_a_ticket_of_another_agent_is_refused_and_both_are_named() -> None:
    one, two = hb.Agent(POLICY), hb.Agent(POLICY)
    foreign, own = one.select(ARMS), two.select(ARMS)
    before = bits(two)
    for give in (
        lambda: two.update(foreign, 1.0),
        lambda: two.update(foreign.key, 1.0),
        lambda: two.update_many([(own, 1.0), (foreign, 1.0)]),
        lambda: two.cancel(foreign),
        lambda: two.explain(foreign),
    ):
        with pytest.raises(hb.ForeignTicketError, match=f"{one.id}.*{two.id}"):
            give()
    assert bits(two) == before
    assert two.pending == [own.id]
    two.update(own.key, 1.0)
    one.update(foreign, 1.0)
    assert (one.updates, two.updates) == (1, 1)


@pytest.mark.parametrize("nonsense", ["", "abc", "abc:", ":x", "a:1.5", "a:" + "9" * 30])
def test_a_key_that_is_none_is_refused(nonsense: str) -> None:
    with pytest.raises(hb.InvalidInputError, match="its key or its id"):
        hb.Agent(POLICY).update(nonsense, 1.0)


def test_identities_are_drawn_at_random() -> None:
    names = {hb.Agent(POLICY).id for _ in range(20)}
    assert len(names) == 20
    assert all(len(bytes.fromhex(name)) == 8 for name in names)


def test_copies_take_the_tickets_from_before_and_none_of_each_other(tmp_path: Any) -> None:
    agent = hb.Agent(POLICY)
    shared = agent.select(ARMS)
    agent.save(tmp_path / "agent.state")
    agents = [agent, agent.clone(), hb.Agent.load(tmp_path / "agent.state"), agent.clone().clone()]
    assert len({each.id for each in agents}) == 4
    tickets = [each.select(ARMS) for each in agents]
    assert {ticket.id for ticket in tickets} == {1}
    for place, each in enumerate(agents):
        for other, ticket in enumerate(tickets):
            if other != place:
                with pytest.raises(hb.ForeignTicketError):
                    each.update(ticket, 1.0)
        each.update(shared, 0.5)
        each.update(tickets[place], 1.0)
    assert len({bits(each) for each in agents}) == 1


def test_each_opening_of_a_ledger_issues_its_own_keys_and_accepts_the_earlier(
    tmp_path: Any,
) -> None:
    tickets, names = [], []
    for _ in range(3):
        with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
            tickets.append(agent.select(ARMS))
            names.append(agent.id)
    assert [ticket.agent for ticket in tickets] == names
    assert len(set(names)) == 3
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        assert [agent.update(ticket, 1.0) for ticket in tickets] == ["applied"] * 3
        with pytest.raises(hb.ForeignTicketError):
            agent.update(f"{names[0]}:1", 1.0)


# ---- a warm start


@pytest.mark.parametrize(
    "policy",
    [POLICY, hb.linucb(dim=3, radius=1.0, filter=hb.filters.MeanOfMedians(3, 1))],
    ids=["ridge", "several plays"],
)
def test_learning_rows_is_the_same_as_updates_one_by_one(policy: Any, tmp_path: Any) -> None:
    rows = sets(40)[:, 0]
    rewards = np.random.default_rng(1).standard_t(2.0, (40, policy.plays))
    loop, warm = hb.Agent(policy), hb.Agent(policy, ledger=tmp_path / "agent.db")
    for x, told in zip(rows, rewards, strict=True):
        loop.update_many([(loop.select(x[None]), float(y)) for y in told])
    warm.warm_start(rows, rewards if policy.plays > 1 else rewards[:, 0])
    assert bits(loop) == bits(warm)
    assert warm.counters["warm_started"] == 40
    warm.close()
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as again:
        assert bits(again) == bits(loop)


def test_a_lesson_is_learned_whole_or_not_at_all() -> None:
    agent = played(hb.Agent(POLICY), 3)
    before = packed(agent)
    for rows, rewards in [
        (ARMS, [1.0, 2.0]),
        (ARMS, [1.0, 2.0, np.nan, 0.0]),
        (ARMS[:, :2], [0.0] * 4),
        (ARMS * 1e9, [0.0] * 4),
    ]:
        with pytest.raises(hb.InvalidInputError):
            agent.warm_start(rows, rewards)
    assert packed(agent) == before


# ---- many at once


@pytest.mark.parametrize("rng", [None, 5])
@pytest.mark.parametrize("drawing", [False, True])
def test_many_decisions_are_those_of_single_calls(tmp_path: Any, rng: Any, drawing: bool) -> None:
    policy = hb.policies.EpsilonGreedy(POLICY, epsilon=0.5, seed=3) if drawing else POLICY
    loop = played(hb.Agent(policy, rng), 20)
    batch = played(hb.Agent(policy, rng, ledger=tmp_path / "agent.db", clock=lambda: 0.0), 20)
    arms = [rows[: 2 + n % 3] for n, rows in enumerate(sets(30, seed=9))]
    wanted, found = [loop.select(rows) for rows in arms], batch.select_many(arms)
    for one, two in zip(wanted, found, strict=True):
        assert one[:2] == two[:2]
        assert np.array_equal(one.features, two.features)
        assert one[3:7] == two[3:7]
    assert {ticket.agent for ticket in found} == {batch.id}
    for agent, tickets in ((loop, wanted), (batch, found)):
        agent.update_many([(ticket, float(ticket.arm)) for ticket in reversed(tickets)])
    assert bits(loop) == bits(batch)
    after = packed(batch)
    batch.close()
    with hb.Agent(policy, rng, ledger=tmp_path / "agent.db", clock=lambda: 0.0) as again:
        assert packed(again) == after


@pytest.mark.parametrize("drawing", [False, True])
def test_a_batch_that_waits_is_kept_like_single_decisions(tmp_path: Any, drawing: bool) -> None:
    policy = hb.policies.EpsilonGreedy(POLICY, epsilon=0.5, seed=3) if drawing else POLICY
    loop, batch = (hb.Agent(policy, clock=lambda: 0.0) for _ in range(2))
    waiting = [loop.select(rows) for rows in sets(9)]
    for ticket in batch.select_many(sets(9)):
        ticket.features[:] = 1e5  # the caller's own
    for agent in (loop, batch):
        agent.update(waiting[4].id, 2.0)
        agent.cancel(waiting[7].id)
    assert packed(loop) == packed(batch)
    batch.save(tmp_path / "agent.state")
    for agent in (loop, batch, hb.Agent.load(tmp_path / "agent.state", clock=lambda: 0.0)):
        agent.update_many([(number, float(number)) for number in reversed(agent.pending)])
        assert bits(agent) == bits(loop)


def test_a_few_that_wait_do_not_keep_their_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heavybandits.agents.pending.MOST_SETTLED", 100)
    agent = hb.Agent(POLICY)
    for _ in range(60):
        agent.update_many([(ticket, 1.0) for ticket in agent.select_many(sets(10))[1:]])
    held = {id(found): found for found in agent.state.tickets.pending.values()}
    assert len(agent.pending) == 60
    assert sum(len(getattr(found, "arms", [0])) for found in held.values()) < 60 + 4 * 60 + 100
    agent.update_many([(number, 1.0) for number in agent.pending])
    assert agent.updates == 600


def test_decisions_made_together_grow_old_together() -> None:
    now = [0.0]
    agent = hb.Agent(POLICY, expire_after=10.0, expired_reward=0.0, clock=lambda: now[0])
    agent.select_many(sets(3))
    now[0] = 5.0
    agent.expire_due()
    later = [ticket.id for ticket in agent.select_many(sets(2))]
    now[0] = 12.0
    agent.expire_due()
    assert (agent.pending, agent.updates, agent.counters["expired"]) == (later, 3, 3)


def test_a_batch_as_an_array_with_a_mask() -> None:
    agent, arms = played(hb.Agent(POLICY), 10), sets(6, seed=4)
    mask = np.random.default_rng(0).random((6, 4)) < 0.6
    mask[:, 1] = True
    wanted = [agent.select(rows, allowed).arm for rows, allowed in zip(arms, mask, strict=True)]
    assert [ticket.arm for ticket in agent.select_many(arms, mask)] == wanted
    for wrong in (mask[:5], mask.astype(int), np.zeros((6, 4), bool)):
        with pytest.raises(hb.InvalidInputError, match="mask must"):
            agent.select_many(arms, wrong)
    with pytest.raises(hb.InvalidInputError, match="at least one decision"):
        agent.select_many([])
    with pytest.raises(hb.InvalidInputError, match=r"arms\[2\] must be in"):
        agent.select_many([*arms[:2], 1e9 * arms[2]])
    with pytest.raises(hb.InvalidInputError, match="one decision at a time"):
        hb.Agent(hb.crmm(dim=3, horizon=1000, central_moment=1.0, plays=3)).select_many(arms)


def test_a_list_is_ranked_by_score_and_has_no_propensity(tmp_path: Any) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        played(agent, 10)
        order = agent.explain(ARMS).score.argsort()[::-1]
        best, tickets = agent.select(ARMS), agent.select(ARMS, k=3)
        assert [ticket.arm for ticket in tickets] == order[:3].tolist()
        assert tickets[0].arm == best.arm
        assert [ticket.propensity for ticket in tickets] == [None] * 3
        agent.update_many([(ticket, 1.0) for ticket in tickets])
        log = agent.feedback()
        assert log.column("propensity").tolist()[-3:] == [None] * 3
        assert "3 of 14 decisions have no propensity" in log.notes[1]
        with pytest.raises(hb.InvalidInputError, match="k must be at most the 2 available"):
            agent.select(ARMS, [True, False, True, False], k=3)
        after = packed(agent)
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as again:
        assert packed(again) == after
        assert [row["propensity"] for row in again.history()[-3:]] == [None] * 3


# ---- why


@pytest.mark.parametrize(
    "policy",
    [
        POLICY,
        hb.crtm(dim=3, horizon=1000, raw_moment=2.0, radius_scale=0.1),
        hb.policies.EpsilonGreedy(POLICY, epsilon=0.5, seed=3),
    ],
    ids=["linear", "logistic", "drawing"],
)
def test_what_explains_a_score_adds_up_to_it(policy: Any) -> None:
    agent = played(hb.Agent(policy), 30)
    why = agent.explain(ARMS)
    means, widths = agent.predict(ARMS, return_width=True)
    assert np.allclose(why.contributions.sum(axis=1), ARMS @ agent.theta, rtol=1e-12, atol=1e-14)
    assert np.allclose(why.bonuses.sum(axis=1), widths, rtol=1e-12, atol=1e-14)
    total = why.contributions.sum(axis=1) + why.bonuses.sum(axis=1)
    assert np.allclose(total, why.score, rtol=1e-12, atol=1e-14)
    assert np.array_equal(why.mean, means)
    ticket = agent.select(ARMS)
    alone = agent.explain(ticket)
    assert alone.score[0] == pytest.approx(why.score[ticket.arm])
    assert alone.mean[0] == pytest.approx(ticket.expected)
    assert " bonus;" in str(why)


@pytest.mark.parametrize("policy", [hb.auto(dim=3), hb.cral(dim=3)], ids=["auto", "cral"])
def test_what_explains_a_score_adds_up_where_the_estimator_measures_arms(policy: Any) -> None:
    agent = played(hb.Agent(policy), 60)
    why = agent.explain(ARMS)
    means, widths = agent.predict(ARMS, return_width=True)
    assert np.allclose(why.contributions.sum(axis=1), means, rtol=1e-12, atol=1e-14)
    assert np.allclose(why.bonuses.sum(axis=1), widths, rtol=1e-12, atol=1e-14)
    assert np.allclose(means + widths, why.score, rtol=1e-12, atol=1e-14)
    assert agent.select(ARMS).arm == why.score.argmax()
    level = ["level"] if policy == hb.auto(dim=3) else []
    assert why.feature_names == ["x0", "x1", "x2", *level]
    slopes = why.contributions[0] - why.contributions[1]
    assert np.allclose(slopes[:3], (ARMS[0] - ARMS[1]) * agent.theta, rtol=1e-9, atol=1e-12)
    assert (slopes[3:] == 0.0).all()


def test_the_arm_of_the_largest_score_is_the_one_that_is_chosen() -> None:
    agent = played(hb.Agent(POLICY), 30)
    for arms in sets(20, seed=7):
        assert agent.select(arms).arm == agent.explain(arms).score.argmax()


def test_a_policy_without_a_region_is_not_explained() -> None:
    agent = hb.Agent(hb.policies.Uniform(3))
    with pytest.raises(hb.InvalidInputError, match="Uniform has none"):
        agent.explain(ARMS)
    assert agent.threshold is None


@pytest.mark.parametrize("name", ["AdaptiveClip", "LeverageClip", "TailClip", "MeanScaledClip"])
def test_the_threshold_in_force_is_the_one_that_cuts_the_next_reward(name: str) -> None:
    clip = getattr(hb.filters, name)()
    memory = clip.init()
    for reward in np.random.default_rng(2).normal(size=200):
        clip.apply(memory, np.array([reward]), 1e3, 0.0)
    threshold = clip.threshold_in_force(memory)
    assert clip.apply(memory, np.array([1e6]), 1e3, 0.0) == pytest.approx(threshold, rel=0.05)


def test_an_agent_shows_the_threshold_in_force() -> None:
    clipped = hb.linucb(dim=3, filter=hb.filters.Clip(2.5))
    assert hb.Agent(clipped).threshold == 2.5
    assert hb.Agent(hb.policies.EpsilonGreedy(clipped)).threshold == 2.5
    assert hb.Agent(hb.auto(dim=3)).threshold == 0.0
    assert hb.Agent(POLICY).threshold is None


# ---- by name

ENCODER = Encoder(
    context_columns=[Number("visits", 3.0, 2.0)],
    action_columns=[Number("price", 10.0, 5.0), Category("colour", ["red", "blue"])],
)
OFFERS: dict[str, Any] = {
    "tea": {"price": 4.0, "colour": "red"},
    "nut": {"price": 9.0, "colour": "blue"},
    "pot": {"price": 30.0, "colour": "green"},
}


def shop(**told: Any) -> hb.Agent:
    return hb.Agent(hb.linucb(dim=ENCODER.dim, radius=1.0), **({"encoder": ENCODER} | told))


def sell(agent: hb.Agent, rounds: int, seed: int = 0) -> None:
    """Offers that come and go: a random share of them each time."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        names = [name for name in OFFERS if rng.random() < 0.7] or ["tea"]
        ticket = agent.select(
            context={"visits": float(rng.poisson(3))},
            actions={name: OFFERS[name] for name in names},
        )
        assert ticket.action is not None
        assert ticket.action == names[ticket.arm]
        agent.update(ticket, OFFERS[ticket.action]["price"] * rng.random())


def test_a_decision_of_several_plays_finds_its_action_in_another_order(tmp_path):
    policy = hb.crmm(dim=ENCODER.dim, horizon=1000, central_moment=1.0, plays=3)
    path, orders = tmp_path / "agent.db", (["tea", "nut"], ["nut", "tea"], ["pot", "nut", "tea"])
    arms = []
    for names in orders:
        with hb.Agent(policy, encoder=ENCODER, ledger=path) as agent:
            ticket = agent.select(
                context={"visits": 3.0}, actions={name: OFFERS[name] for name in names}
            )
            agent.update(ticket, 1.0)
            assert ticket.action == names[ticket.arm]
            arms.append(ticket.arm)
            assert [play["arm"] for play in agent.history()] == arms
            updates = agent.updates
    assert updates == 1


def test_an_offer_is_chosen_and_counted_by_name(tmp_path: Any) -> None:
    with shop(ledger=tmp_path / "shop.db") as agent:
        sell(agent, 30)
        waiting = agent.select(context={"visits": 1.0}, actions=OFFERS)
        counts = agent.action_counts
        assert sum(tally.plays for tally in counts.values()) == 31
        assert sum(tally.rewards for tally in counts.values()) == 30
        assert agent.ledger is not None
        for row in read_action_counts(agent.ledger.database):
            assert counts[row["action"]] == (row["plays"], row["rewards"])
        row = agent.history()[-1]
        assert (row["action"], row["arm"]) == (waiting.action, waiting.arm)
        assert agent.feedback().column("action").tolist() == [
            row["action"] for row in agent.history()[:-1]
        ]
        rows = agent.ledger.database.rows(
            "SELECT context, actions, available FROM plays ORDER BY ticket"
        )
        assert [json.loads(text) for text in rows[-1]] == [{"visits": 1.0}, OFFERS, list(OFFERS)]
        after = packed(agent)
    with hb.Agent(hb.linucb(dim=ENCODER.dim, radius=1.0), ledger=tmp_path / "shop.db") as again:
        assert packed(again) == after
        assert again.encoder == ENCODER
        assert again.action_counts == counts


def test_names_and_rows_decide_alike_also_in_batches() -> None:
    agent = shop()
    sell(agent, 20)
    contexts = [{"visits": float(n)} for n in range(8)]
    singles = [agent.select(context=context, actions=OFFERS) for context in contexts]
    batch = agent.select_many(contexts=contexts, actions=OFFERS)
    each = agent.select_many(contexts=contexts, actions=[OFFERS] * 8)
    plain = [agent.select(ENCODER.encode(context, OFFERS)) for context in contexts]
    wanted = [ticket.arm for ticket in plain]
    assert [ticket.arm for ticket in singles] == wanted
    assert [ticket.action for ticket in batch] == [list(OFFERS)[arm] for arm in wanted]
    assert [ticket.action for ticket in each] == [ticket.action for ticket in batch]
    assert {ticket.action for ticket in plain} == {None}
    best = agent.select(context=contexts[0], actions=OFFERS, k=2)
    assert best[0].action == singles[0].action
    why = agent.explain(context=contexts[0], actions=OFFERS)
    assert why.actions == list(OFFERS)
    assert why.feature_names == list(ENCODER.names)


def test_a_state_file_holds_the_encoder_and_the_tallies(tmp_path: Any) -> None:
    agent = shop()
    sell(agent, 10)
    agent.save(tmp_path / "shop.state")
    loaded = hb.Agent.load(tmp_path / "shop.state")
    assert loaded.encoder == ENCODER
    assert loaded.action_counts == agent.action_counts
    for each in (agent, loaded, agent.clone()):
        sell(each, 10, seed=4)
    assert bits(loaded) == bits(agent)


class Foreign:
    """An encoder that cannot be written down."""

    dim, names, columns = 2, ("one", "price"), ("price",)

    def encode(self, context: Any, offers: Any) -> Any:
        return np.array([[0.5, offer["price"]] for offer in offers.values()])

    def encode_rows(self, rows: Any) -> Any:
        return np.array([[0.5, row["price"]] for row in rows])


def test_an_encoder_that_cannot_be_written_down_must_be_given_again(tmp_path: Any) -> None:
    policy, foreign = hb.linucb(dim=2, radius=1.0), Foreign()
    offers = {"a": {"price": 0.1}, "b": {"price": 0.4}}
    with hb.Agent(policy, encoder=foreign, ledger=tmp_path / "agent.db") as agent:
        agent.update(agent.select(actions=offers), 1.0)
        agent.warm_start([{"price": 0.2}], [3.0])
        agent.save(tmp_path / "agent.state")
    with pytest.raises(hb.StateError, match="Foreign, is not in the file: give it as encoder="):
        hb.Agent.load(tmp_path / "agent.state")
    with pytest.raises(hb.LedgerError, match="give it as encoder="):
        hb.Agent(policy, ledger=tmp_path / "agent.db")
    loaded = hb.Agent.load(tmp_path / "agent.state", encoder=foreign)
    assert loaded.select(actions=offers).action == "b"
    with hb.Agent(policy, encoder=foreign, ledger=tmp_path / "agent.db") as again:
        assert again.updates == 2
    with pytest.raises(hb.LedgerError, match="made with another encoder"):
        hb.Agent(
            policy, encoder=Encoder(action_columns=[Number("price")]), ledger=tmp_path / "agent.db"
        )


def test_what_has_no_name_or_cannot_be_kept_is_refused(tmp_path: Any) -> None:
    with pytest.raises(hb.InvalidInputError, match="need an agent with an encoder"):
        hb.Agent(POLICY).select(context={}, actions=OFFERS)
    with pytest.raises(hb.InvalidInputError, match="the policy has dim 3"):
        hb.Agent(POLICY, encoder=ENCODER)
    agent = shop(ledger=tmp_path / "shop.db")
    told: Any
    for told, words in [
        ({"context": {"visits": 1.0}, "actions": {}}, "actions must be features by name"),
        ({"context": {"visits": 1.0}, "actions": {3: OFFERS["tea"]}}, "text for names"),
        ({"context": {"visits": 1.0}, "actions": {"\ud800": OFFERS["tea"]}}, "text for names"),
        ({"arms": np.eye(ENCODER.dim), "context": {"visits": 1.0}, "actions": OFFERS}, "not both"),
        ({"context": {"visits": "x"}, "actions": OFFERS}, "visits"),
    ]:
        with pytest.raises(hb.InvalidInputError, match=words):
            agent.select(**told)
    with pytest.raises(hb.InvalidInputError, match="arms"):
        agent.select()
    assert agent.history() == []
    agent.close()


# ---- refunds


def test_a_revised_reward_of_ridge_is_as_if_it_had_come_so(tmp_path: Any) -> None:
    right, rewards = hb.Agent(POLICY), np.random.default_rng(3).standard_t(3.0, 50).tolist()
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        tickets = [agent.select(arms) for arms in sets(50)]
        agent.update_many(list(zip(tickets, rewards, strict=True)))
        for n in (4, 17, 4, 40):
            agent.revise(tickets[n], -float(n))
        agent.revise(tickets[4], -4.0)
        assert agent.counters["revised"] == 3
        assert agent.counters["duplicate"] == 2
        right.warm_start(
            np.array([ticket.features for ticket in tickets]),
            [-float(n) if n in (4, 17, 40) else y for n, y in enumerate(rewards)],
        )
        assert np.allclose(agent.theta, right.theta, rtol=1e-11)
        row = agent.history()[17]
        assert (row["reward"], row["first_reward"]) == (-17.0, rewards[17])
        assert agent.feedback().column("reward")[17] == -17.0
        after = packed(agent)
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as again:
        assert packed(again) == after


@pytest.mark.parametrize(
    "policy",
    [
        hb.crtm(dim=3, horizon=1000, raw_moment=2.0, radius_scale=1e-3, curvature="local"),
        hb.auto(dim=3),
    ],
    ids=["newton", "auto"],
)
def test_a_revision_of_a_one_pass_estimator_comes_near(policy: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        for arms in sets(400):
            agent.update(agent.select(arms), 0.5 + 0.3 * rng.standard_t(3.0))
        before = agent.theta
        for n in range(0, 400, 10):
            agent.revise(n, 0.0)
        near = agent.theta
    exact = hb.Agent.rebuild(tmp_path / "agent.db", corrections={}).theta
    assert np.linalg.norm(near - exact) < 0.7 * np.linalg.norm(before - exact)


def test_what_cannot_be_revised_is_refused(tmp_path: Any) -> None:
    with pytest.raises(hb.InvalidInputError, match="revise needs an agent with a ledger"):
        hb.Agent(POLICY).revise(0, 1.0)
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        first, second = agent.select(ARMS), agent.select(ARMS)
        agent.cancel(first)
        ticket: Any
        for ticket, words in [
            (first, "has no reward that could be revised"),
            (second, "still waits"),
            (7, "must be one of the 2 that this agent has issued"),
        ]:
            with pytest.raises(hb.InvalidInputError, match=words):
                agent.revise(ticket, 1.0)
        with pytest.raises(hb.InvalidInputError, match="reward"):
            agent.revise(second, np.nan)
        assert anonymous(agent.state).tickets.pending.keys() == {1}
        agent.update(second, 1.0)
        agent.reset()
        with pytest.raises(hb.InvalidInputError, match="before a reset"):
            agent.revise(second, 2.0)
    medians = hb.crmm(dim=3, horizon=1000, central_moment=1.0, plays=3)
    with hb.Agent(medians, ledger=tmp_path / "medians.db") as agent:
        agent.update_many([(agent.select(ARMS), 1.0) for _ in range(3)])
        with pytest.raises(hb.InvalidInputError, match="rebuild"):
            agent.revise(0, 2.0)


def test_an_assumed_reward_can_be_revised(tmp_path: Any) -> None:
    now = [0.0]
    told: Any = {"expire_after": 1.0, "expired_reward": 0.0, "clock": lambda: now[0]}
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db", **told) as agent:
        late = agent.select(ARMS)
        now[0] = 2.0
        agent.revise(late, 5.0)
        right = hb.Agent(POLICY)
        right.warm_start(late.features[None], [5.0])
        assert np.allclose(agent.theta, right.theta)


# ---- another past


def test_a_rebuilt_agent_is_the_same_in_every_bit(tmp_path: Any) -> None:
    policy = hb.policies.EpsilonGreedy(POLICY, epsilon=0.3, seed=2)
    with hb.Agent(policy, rng=1, ledger=tmp_path / "agent.db") as agent:
        played(agent, 25)
        agent.warm_start(ARMS, np.arange(4.0))
        agent.revise(3, 9.0)
        waiting = agent.select_many(sets(3))
        agent.cancel(waiting[0])
        wanted = packed(agent)
    again = hb.Agent.rebuild(tmp_path / "agent.db")
    assert packed(again) == wanted
    with hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "new.db") as written:
        assert packed(written) == wanted
        written.update(waiting[1], 1.0)
        again.update(waiting[1], 1.0)
        after = packed(written)
        assert after == packed(again)
    with hb.Agent(policy, rng=1, ledger=tmp_path / "new.db") as opened:
        assert packed(opened) == after
        with pytest.raises(hb.ForeignTicketError):
            opened.update(again.select(ARMS), 1.0)
    with pytest.raises(hb.InvalidInputError, match="must be a new file"):
        hb.Agent.rebuild(tmp_path / "agent.db", output=tmp_path / "new.db")


def test_another_policy_has_learned_what_was_played(tmp_path: Any) -> None:
    other = hb.auto(dim=3)
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        tickets = [agent.select(arms) for arms in sets(30)]
        agent.update_many([(ticket, float(ticket.id)) for ticket in tickets[::-1]])
        waiting = agent.select(ARMS)
    made, lived = hb.Agent.rebuild(tmp_path / "agent.db", other), hb.Agent(other)
    for ticket in tickets[::-1]:
        lived.update(lived.select(ticket.features[None]), float(ticket.id))
    assert bits(made) == bits(lived)
    assert made.pending == [waiting.id]
    made.update(waiting, 3.0)
    with pytest.raises(hb.InvalidInputError, match="must play an arm 1 times"):
        hb.Agent.rebuild(
            tmp_path / "agent.db", hb.crmm(dim=3, horizon=99, central_moment=1.0, plays=3)
        )


def test_another_encoder_reads_the_past_anew(tmp_path: Any) -> None:
    with shop(ledger=tmp_path / "shop.db") as agent:
        agent.warm_start([{"visits": 2.0, "price": 3.0, "colour": "red"}], [1.0])
        sell(agent, 20)
    other = Encoder(
        context_columns=[Number("visits")],
        action_columns=[Category("colour", ["red", "green"])],
        allow_extra=True,
    )
    policy = hb.linucb(dim=other.dim, radius=1.0)
    made = hb.Agent.rebuild(tmp_path / "shop.db", policy, encoder=other, output=tmp_path / "new.db")
    lived = hb.Agent(policy, encoder=other)
    lived.warm_start([{"visits": 2.0, "colour": "red"}], [1.0])
    with hb.LedgerReader(tmp_path / "shop.db") as past:
        for context, actions, action, reward in past.database.rows(
            "SELECT context, actions, action, reward FROM plays ORDER BY ticket"
        ):
            offers = {action: json.loads(actions)[action]}
            lived.update(lived.select(context=json.loads(context), actions=offers), reward)
    assert bits(made) == bits(lived)
    assert made.encoder == other
    made.close()
    with shop(ledger=tmp_path / "bare.db", log_inputs=False) as agent:
        sell(agent, 2)
    with pytest.raises(hb.InvalidInputError, match="log_inputs was False"):
        hb.Agent.rebuild(tmp_path / "bare.db", policy, encoder=other)


def test_corrections_are_right_from_the_start(tmp_path: Any) -> None:
    policy = hb.linucb(dim=3, radius=1.0, filter=hb.filters.AdaptiveClip())
    with hb.Agent(policy, ledger=tmp_path / "agent.db") as agent:
        tickets = [agent.select(arms) for arms in sets(40)]
        agent.update_many([(ticket, 1.0 + ticket.id) for ticket in tickets])
        agent.revise(tickets[7], 70.0)
    made = hb.Agent.rebuild(tmp_path / "agent.db", corrections={tickets[9].key: 90.0})
    lived = hb.Agent(policy)
    for ticket in tickets:
        reward = {7: 70.0, 9: 90.0}.get(ticket.id, 1.0 + ticket.id)
        lived.update(lived.select(ticket.features[None]), reward)
    assert bits(made) == bits(lived)
    with pytest.raises(hb.InvalidInputError, match="ticket 99 has no reward"):
        hb.Agent.rebuild(tmp_path / "agent.db", corrections={99: 1.0})


# ---- reading while it lives

READ = """
import sys
import heavybandits as hb
with hb.LedgerReader(sys.argv[1]) as monitor:
    print(monitor.events, len(monitor.history()), monitor.pending, monitor.policy["part"])
"""


def test_another_process_reads_a_ledger_while_its_agent_works(tmp_path: Any) -> None:
    def ask() -> list[str]:
        command = [sys.executable, "-c", READ, str(tmp_path / "agent.db")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        played(agent, 5)
        agent.select(ARMS)
        assert ask()[:3] == ["11", "6", "[5]"]
        played(agent, 2)
        assert ask()[:2] == ["15", "8"]
        after = packed(agent)
    with hb.LedgerReader(tmp_path / "agent.db") as closed:
        assert closed.events == 15
        assert closed.encoder is None
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as again:
        assert packed(again) == after


def test_a_monitor_refuses_what_is_no_ledger(tmp_path: Any) -> None:
    (tmp_path / "text").write_text("no database, whatever else it may be" * 40)
    with pytest.raises(hb.LedgerError, match="not a database"):
        hb.LedgerReader(tmp_path / "text")
    with pytest.raises(hb.InvalidInputError, match="is not a file"):
        hb.LedgerReader(tmp_path / "nowhere")


# ---- all of it in any order


def test_nothing_is_lost_doubled_or_learned_by_the_wrong_agent(tmp_path: Any) -> None:
    player = interleaving.Player(tmp_path, seed=1)
    for n in range(1500):
        player.act()
        if n % 50 == 0:
            for each in player.agents:
                player.check(*each)
    assert set(player.finish()) == set(interleaving.ACTIONS)


def test_feedback_has_every_play_that_has_a_reward(tmp_path: Any) -> None:
    """No sale is a sale of zero: it was learned from, and history and action_counts() count it."""
    now = [0.0]
    with hb.Agent(
        POLICY,
        ledger=tmp_path / "agent.db",
        expired_reward=0.0,
        expire_after=10.0,
        clock=lambda: now[0],
    ) as agent:
        agent.update(agent.select(ARMS), 5.0)
        agent.select(ARMS)
        now[0] = 20.0
        agent.select(ARMS)
        assert agent.feedback().column("reward").tolist() == [5.0, 0.0]
        assert [row["reward"] for row in agent.history()] == [5.0, 0.0, None]


@pytest.mark.parametrize(
    "ask",
    [
        lambda agent, told, offers: agent.select(context=told, actions=offers),
        lambda agent, told, offers: agent.select(context=told, actions=offers, k=1),
        lambda agent, told, offers: agent.select_many(contexts=[told], actions=offers),
    ],
    ids=["select", "k", "select_many"],
)
def test_a_refused_decision_lets_no_ticket_expire(tmp_path: Any, ask: Any) -> None:
    lax = Encoder(ENCODER.context_columns, ENCODER.action_columns, allow_extra=True)
    with shop(ledger=tmp_path / "shop.db", max_pending=1, encoder=lax) as agent:
        first = agent.select(context={"visits": 1.0}, actions=OFFERS)
        for told, tea in (({"more": object()}, {}), ({}, {"more": object()})):
            with pytest.raises(hb.InvalidInputError, match="cannot be logged in the ledger"):
                ask(agent, {"visits": 1.0} | told, {"tea": OFFERS["tea"] | tea})
        agent.update(first, 1.0)
        assert agent.counters["applied"] == 1


def test_a_batch_without_room_lets_no_ticket_expire() -> None:
    agent = hb.Agent(hb.tofu(dim=2, horizon=3, raw_moment=1.0), max_pending=2)
    agent.warm_start([[1.0, 0.0]] * 2, [1.0, 1.0])
    first = agent.select([[1.0, 0.0]])
    with pytest.raises(hb.InvalidInputError, match="room for 3 decisions, but 4"):
        agent.select_many(np.ones((2, 1, 2)) / 2)
    agent.update(first, 1.0)
    assert agent.updates == 3


def test_a_rebuilt_ledger_is_whole_or_not_there(tmp_path: Any) -> None:
    strict = Encoder(ENCODER.context_columns, [*ENCODER.action_columns, Number("weight", 1.0, 1.0)])
    with shop(ledger=tmp_path / "shop.db") as agent:
        sell(agent, 5)
    policy = hb.linucb(dim=strict.dim, radius=1.0)
    with pytest.raises(hb.InvalidInputError):
        hb.Agent.rebuild(tmp_path / "shop.db", policy, encoder=strict, output=tmp_path / "new.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.db", "shop.db-head"]


def test_revisions_are_repeated_by_who_can_and_dropped_for_who_cannot(tmp_path: Any) -> None:
    with shop(ledger=tmp_path / "shop.db") as agent:
        ticket = agent.select(context={"visits": 1.0}, actions=OFFERS)
        agent.update(ticket, 1.0)
        agent.revise(ticket, 0.0)
    newton = hb.crhl(dim=ENCODER.dim, noise_scale=1.0, radius_scale=1.0)
    with pytest.raises(hb.InvalidInputError, match="cannot revise a reward"):
        hb.Agent.rebuild(tmp_path / "shop.db", newton)
    assert hb.Agent.rebuild(tmp_path / "shop.db", newton, corrections={}).updates == 1
    smaller = Encoder(ENCODER.context_columns, ENCODER.action_columns[:1], allow_extra=True)
    policy = hb.linucb(dim=smaller.dim, radius=1.0)
    with pytest.raises(hb.InvalidInputError, match=r"give corrections=\{\}"):
        hb.Agent.rebuild(tmp_path / "shop.db", policy, encoder=smaller)
    made = hb.Agent.rebuild(tmp_path / "shop.db", policy, encoder=smaller, corrections={})
    assert made.updates == 1


def test_a_history_that_is_too_short_for_a_ledger_is_refused(tmp_path: Any) -> None:
    with hb.Agent(POLICY, ledger=tmp_path / "agent.db") as agent:
        for _ in range(6):
            agent.update(agent.select(ARMS), 1.0)
    short = hb.tofu(dim=POLICY.dim, horizon=5, raw_moment=1.0)
    with pytest.raises(hb.InvalidInputError, match="room for 5 decisions, but 6"):
        hb.Agent.rebuild(tmp_path / "agent.db", short)


def test_rows_that_were_taught_take_room_and_what_was_given_up_takes_none(tmp_path: Any) -> None:
    short = hb.tofu(dim=POLICY.dim, horizon=5, raw_moment=1.0)
    with hb.Agent(POLICY, ledger=tmp_path / "taught.db") as agent:
        agent.update(agent.select(ARMS), 1.0)
        agent.warm_start(np.ones((5, POLICY.dim)) / 2, np.ones(5))
    with pytest.raises(hb.InvalidInputError, match="room for 5 decisions, but 6"):
        hb.Agent.rebuild(tmp_path / "taught.db", short)
    with hb.Agent(POLICY, ledger=tmp_path / "given_up.db") as agent:
        for _ in range(9):
            agent.cancel(agent.select(ARMS))
        for _ in range(5):
            agent.update(agent.select(ARMS), 1.0)
        agent.reset()
        agent.update(agent.select(ARMS), 1.0)
    assert hb.Agent.rebuild(tmp_path / "given_up.db", short).updates == 1


@pytest.mark.parametrize("kind", ["mapping", "pandas", "file"])
def test_a_table_that_was_learned_is_kept_as_rows(tmp_path: Any, kind: str) -> None:
    columns = {"visits": [2.0, 4.0], "price": [3.0, 5.0], "colour": ["red", "green"]}
    table: Any = columns
    if kind == "pandas":
        table = pytest.importorskip("pandas").DataFrame(columns)
    if kind == "file":
        table = tmp_path / "rows.csv"
        table.write_text("visits,price,colour\n2.0,3.0,red\n4.0,5.0,green\n")
    with shop(ledger=tmp_path / "shop.db") as agent:
        agent.warm_start(table, [1.0, 2.0])
    with shop(ledger=tmp_path / "rows.db") as agent:
        agent.warm_start(
            [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            [1.0, 2.0],
        )
    other = Encoder(ENCODER.context_columns, [Category("colour", ["red"])], allow_extra=True)
    policy = hb.linucb(dim=other.dim, radius=1.0)
    made = [
        hb.Agent.rebuild(tmp_path / name, policy, encoder=other) for name in ("shop.db", "rows.db")
    ]
    assert made[0].updates == 2
    assert bits(made[0]) == bits(made[1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"clock": 5}, "clock must be a function"),
        ({"ledger": 5}, "ledger must be a path or an address"),
    ],
)
def test_what_is_no_clock_and_no_ledger_is_refused(given: Any, words: str) -> None:
    with pytest.raises(hb.InvalidInputError, match=words):
        hb.Agent(POLICY, **given)
    several: Any = {"a": POLICY}
    with pytest.raises(hb.InvalidInputError, match="policy must be a policy"):
        hb.Agent(several)
