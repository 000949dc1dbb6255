"""The log of an agent's own decisions: everything that `evaluate` and the others need, by name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.cli.app import cli
from heavybandits.features import Category, Number

ENCODER = hb.Encoder(
    [Category("city", ["Oslo", "Rome"])], [Category("kind", ["hot", "cold"]), Number("price", 5.0)]
)
KINDS = {"tea": "hot", "soup": "hot", "figs": "cold"}
ROWS = 600


def make_agent(path: Path, **settings: Any) -> hb.Agent:
    policy = hb.policies.EpsilonGreedy(hb.linucb(dim=ENCODER.dim, radius=0.5), epsilon=0.4, seed=3)
    return hb.Agent(policy, encoder=ENCODER, ledger=path, **settings)


def worth(city: str, action: str, price: float) -> float:
    """The mean reward: hot things in Oslo, cheap ones everywhere."""
    return 3.0 * ((city == "Oslo") == (KINDS[action] == "hot")) - 0.2 * price


def run_shop(agent: hb.Agent, rows: int = ROWS, held_out: float = 0.1) -> list[hb.Ticket]:
    """Prices change, soup comes and goes, and a tenth of the decisions is figs, the baseline."""
    rng, tickets = np.random.default_rng(0), []
    for t in range(rows):
        city = str(rng.choice(["Oslo", "Rome"]))
        names = [name for name in KINDS if name != "soup" or t % 100 < 60]
        prices = {name: float(rng.uniform(2.0, 8.0)) for name in names}
        actions = {name: {"kind": KINDS[name], "price": prices[name]} for name in names}
        if rng.random() < held_out:
            ticket = agent.record(
                {"city": city}, actions, chosen="figs", propensity=1.0, group="holdout"
            )
        else:
            ticket = agent.select(context={"city": city}, actions=actions)
        action = str(ticket.action)
        agent.update(ticket, worth(city, action, prices[action]) + rng.normal())
        tickets.append(ticket)
    return tickets


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[hb.Log, list[hb.Ticket], Path]:
    path = tmp_path_factory.mktemp("shop") / "live.db"
    with make_agent(path) as agent:
        tickets = run_shop(agent)
        return agent.feedback(), tickets, path


def cheapest(row: dict[str, Any]) -> str:
    return str(min(row["actions"], key=lambda name: row["actions"][name]["price"]))


def local(row: dict[str, Any]) -> dict[str, float]:
    """What people of the city like, drawn from all that is of this kind."""
    liked = [
        a for a, own in row["actions"].items() if (own["kind"] == "hot") == (row["city"] == "Oslo")
    ]
    return {name: 1.0 / len(liked) for name in liked}


def test_the_log_has_the_features_that_the_agent_saw(shop: Any) -> None:
    log, tickets, path = shop
    known = log.decisions
    drawn = [ticket for ticket in tickets if ticket.group == "policy"]
    assert known.rows is not None
    rows = known.rows[np.arange(len(drawn)), known.taken]
    assert rows.tobytes() == np.array([ticket.features for ticket in drawn]).tobytes()
    assert [known.actions[place] for place in known.taken] == [ticket.action for ticket in drawn]
    assert known.propensities.tolist() == [ticket.propensity for ticket in drawn]
    assert 0.5 < known.available[:, known.actions.index("soup")].mean() < 0.7
    assert log.dim == ENCODER.dim
    with hb.LedgerReader(path) as reader:
        same = reader.feedback()
    assert same.data == log.data
    assert same.encoder == log.encoder == ENCODER


def test_evaluate_takes_the_log_and_leaves_the_hold_out_out(shop: Any) -> None:
    log, tickets, _ = shop
    held = sum(ticket.group == "holdout" for ticket in tickets)
    found = hb.evaluate(log, policy=local)
    truth = 3.0 - 0.2 * 5.0
    assert found.low < truth < found.high
    assert found.high - found.low < 1.0
    assert found.settings["estimator"] == "dr"
    assert found.diagnostics.rows == ROWS - held
    assert any(f"{held} rows of group 'holdout' were left out" in one for one in found.warnings)
    biased = hb.evaluate(
        replace(log, group=None), policy={"tea": 0.5, "figs": 0.5}, estimator="ips"
    )
    assert biased.diagnostics.mean_weight < 0.99


def test_two_policies_have_a_paired_difference(shop: Any) -> None:
    log, *_ = shop
    one = hb.evaluate(log, policy=local, baseline=cheapest)
    two = hb.evaluate(log, policy=cheapest, baseline=local)
    other = hb.evaluate(log, policy=cheapest)
    assert one.baseline is not None
    assert one.baseline.value == pytest.approx(other.value)
    assert one.difference.value == pytest.approx(one.value - other.value)
    assert one.difference.low == pytest.approx(-two.difference.high)
    assert one.difference.low > 0.0
    assert one.to_dict()["baseline_value"] == one.baseline.value
    same = hb.evaluate(log, policy=local, baseline=local).difference
    assert (same.low, same.value, same.high) == (0.0, 0.0, 0.0)
    for estimator in ("ips", "snips"):
        found = hb.evaluate(log, policy=local, baseline=cheapest, estimator=estimator)
        assert found.difference.low < 1.5 < found.difference.high


def test_groups_actions_rewards_and_replays_come_from_the_same_log(shop: Any) -> None:
    log, tickets, _ = shop
    lift = hb.uplift(log, "policy", "holdout")
    assert sum(part.rows for part in lift.groups) == ROWS
    means = hb.action_means(log)
    assert {one.name: one.rows for one in means} == {
        name: sum(ticket.action == name for ticket in tickets) for name in KINDS
    }
    found = hb.diagnose(log)
    assert (found.rows, found.dim) == (ROWS, ENCODER.dim - 1)  # without the intercept
    played = hb.replay(log, policies=hb.linucb(dim=log.dim, radius=1.0), passes=2)
    assert len(played) == 2


def test_pending_cancelled_and_erased_decisions_are_counted_and_left_out(tmp_path: Path) -> None:
    with make_agent(tmp_path / "live.db") as agent:
        tickets = run_shop(agent, 60, held_out=0.0)
        actions = {"tea": {"kind": "hot", "price": 4.0}}
        for _ in range(3):
            agent.select(context={"city": "Oslo"}, actions=actions)
        agent.cancel(agent.pending[0])
        assert agent.erase_inputs(tickets[:5]) == 5
        log = agent.feedback()
    assert [note.split(" and ")[0] for note in log.notes] == [
        "2 of 63 decisions wait for a reward",
        "1 of 63 decisions were cancelled",
        "5 of 63 decisions have no inputs, because these were erased or never logged: means of "
        "groups",
    ]
    found = hb.evaluate(log, policy={"tea": 1.0})
    assert (found.diagnostics.rows, found.diagnostics.dropped) == (55, 5)
    assert set(log.notes) < set(found.warnings)
    assert sum(one.rows for one in hb.action_means(log)) == 60


def largest_first(row: dict[str, Any]) -> int:
    return int(max(row["actions"], key=lambda arm: row["actions"][arm][0]))


def test_an_agent_without_an_encoder_logs_the_features_of_all_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    policy = hb.policies.EpsilonGreedy(hb.linucb(dim=3, radius=0.5), epsilon=0.5, seed=1)
    offered = []
    with hb.Agent(policy, ledger=tmp_path / "live.db") as agent:
        for t in range(300):
            arms = rng.normal(size=(2 + t % 3, 3))
            arms /= np.linalg.norm(arms, axis=1, keepdims=True)
            mask = np.arange(len(arms)) != 1
            ticket = agent.select(arms, mask)
            agent.update(ticket, 2.0 * arms[ticket.arm, 0] + 0.1 * rng.normal())
            offered.append(arms)
        log = agent.feedback()
    known = log.decisions
    assert known.rows is not None
    assert known.actions == (0, 1, 2, 3)
    assert all(np.array_equal(known.rows[t, : len(a)], a) for t, a in enumerate(offered))
    assert not known.available[:, 1].any()
    best = hb.evaluate(
        log, policy=lambda row: max(row["actions"], key=lambda a: row["actions"][a][0])
    )
    truth = np.mean([2.0 * a[np.arange(len(a)) != 1, 0].max() for a in offered])
    assert best.low < truth < best.high
    assert best.high - best.low < 0.5  # the model knows the features
    assert hb.diagnose(log).dim == 3
    learned = hb.evaluate(log, policy=hb.linucb(dim=log.dim, radius=0.5))
    assert learned.value > 0.9 * truth


def test_a_log_without_inputs_is_evaluated_by_its_actions(tmp_path: Path) -> None:
    with make_agent(tmp_path / "live.db", log_inputs=False) as agent:
        run_shop(agent)
        log = agent.feedback()
    assert (log.encoder, log.action_features, log.notes) == (None, None, ())
    found = hb.evaluate(log, policy={"tea": 0.5, "figs": 0.5})
    assert found.low < 1.5 - 0.2 * 5.0 < found.high


def test_an_input_with_the_name_of_a_column_keeps_it(tmp_path: Path) -> None:
    encoder = hb.Encoder([Number("time")], [Number("reward"), Category("group", ["a"])])
    policy = hb.policies.Uniform(dim=encoder.dim)
    with hb.Agent(policy, encoder=encoder, ledger=tmp_path / "live.db") as agent:
        for t in range(40):
            actions = {name: {"reward": 7.0, "group": "a"} for name in ("x", "y")}
            agent.update(agent.select(context={"time": float(t)}, actions=actions), 1.0)
        log = agent.feedback()
    assert (log.reward, log.group) == ("decision_reward", "decision_group")
    assert log.column("time").tolist() == [float(t) for t in range(40)]
    assert log.column("reward").tolist() == [7.0] * 40
    assert hb.evaluate(log, policy={"x": 1.0}).value == pytest.approx(1.0)


def test_another_encoder_reads_the_same_log(shop: Any) -> None:
    log, *_ = shop
    fitted = hb.Encoder.from_data(
        log.data, context_columns=["city"], action_columns=["price", "kind"], allow_extra=True
    )
    found = hb.evaluate(replace(log, features=fitted), policy=local)
    assert found.low < 2.0 < found.high


def test_a_group_that_drew_nothing_stays_if_it_is_the_only_one(tmp_path: Path) -> None:
    with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=tmp_path / "live.db") as agent:
        for t in range(40):
            agent.update(agent.select(np.eye(2)), float(t % 3))
        log = agent.feedback()
    found = hb.evaluate(log, policy={0: 0.5, 1: 0.5})
    assert found.diagnostics.rows == 40
    assert found.low == -np.inf
    assert "no action was drawn at random" in found.reasons[0]


@pytest.mark.parametrize("odd", [[1.0], "tea", [{"tea": 4.0}]])
def test_cells_that_are_not_features_raise_an_error(odd: Any) -> None:
    data = {"action": ["a"] * 40, "reward": [1.0] * 40, "seen": [odd] * 40}
    log = hb.Log(data, action_features="seen", propensity="uniform")
    with pytest.raises(hb.InvalidInputError, match="action_features must be a column"):
        hb.evaluate(log, policy={"a": 1.0})


# ---- the command line


def run(*arguments: str) -> str:
    shown = CliRunner().invoke(cli, arguments)
    assert shown.exit_code == 0, shown.output
    return str(shown.output)


def test_the_commands_read_a_ledger(shop: Any) -> None:
    log, _, path = shop
    given = "--probabilities", "tea=0.5,figs=0.5"
    policy = {"tea": 0.5, "figs": 0.5}
    printed = json.loads(run("evaluate", str(path), *given, "--json"))
    assert printed == hb.evaluate(log, policy=policy).to_dict()
    both = json.loads(run("evaluate", str(path), *given, "--baseline", "figs=1", "--json"))
    expected = hb.evaluate(log, policy=policy, baseline={"figs": 1.0}).to_dict()
    assert both == expected
    assert (
        json.loads(run("uplift", str(path), "--json"))
        == hb.uplift(log, "policy", "holdout").to_dict()
    )
    assert json.loads(run("diagnose", str(path), "--json")) == json.loads(
        json.dumps(hb.diagnose(log).to_dict())
    )
    assert run("evaluate", str(path), "--policy", "linucb").startswith("value")


def test_a_column_of_a_ledger_is_not_an_option(shop: Any) -> None:
    *_, path = shop
    shown = CliRunner().invoke(cli, ["uplift", str(path), "--reward", "revenue"])
    assert shown.exit_code != 0
    assert "--reward is for tables, and" in shown.output.replace("\n", " ")
