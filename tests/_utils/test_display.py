"""What objects show at a prompt and in a notebook."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import heavybandits as hb
from all_policies import DRAWING, POLICIES
from heavybandits import arms, estimators, filters, links, noises, policies, radii
from heavybandits._utils.display import MOST, WIDTH, Card, write_card, write_html
from heavybandits.features import Category, Number

MODULES = (arms, estimators, filters, links, noises, policies, radii)
NAMES: dict[str, Any] = {name: part for module in MODULES for name, part in vars(module).items()}
PROBLEM = hb.Problem(hb.arms.Fixed(5, 3), hb.links.Identity(), hb.noises.StudentT(3.0))


class Tags(HTMLParser):
    """The text of a fragment, which must close what it opens."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(fragment)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def make_result() -> hb.Result:
    two = {"<b>auto</b>": hb.auto(dim=3), "LinUCB": hb.linucb(dim=3, radius=1.0)}
    return hb.simulate(two, PROBLEM, horizon=200, repetitions=3, seed=1)


def make_agent() -> hb.Agent:
    agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    agent.update(agent.select([[1.0, 0.0], [0.6, 0.8]]), 0.7)
    agent.select([[1.0, 0.0], [0.6, 0.8]])
    return agent


def make_log() -> hb.Log:
    rewards = np.random.default_rng(0).standard_t(3.0, 400)
    columns = {"action": ["a", "b"] * 200, "reward": rewards, "x": np.arange(400.0)}
    return hb.Log(columns, features=["x"], propensity="uniform")


def make_replay() -> hb.ReplayResult:
    rows = [{"policy": "a", "pass": n, "value": 2.0, "random": 1.0} for n in range(3)]
    return hb.ReplayResult.from_rows(rows)


def make_tuning() -> hb.Tuning:
    curve = {value: np.array([abs(value - 0.1)]) for value in (0.01, 0.1, 1.0)}
    return hb.Tuning({("p", "LinUCB"): curve}, {}, hb.Result({}), (0.01, 1.0))


def make_encoder() -> hb.Encoder:
    return hb.Encoder([Category("city", ["x<y", "b"])], [Number("price")])


def make_uplift() -> hb.Uplift:
    rewards = np.random.default_rng(0).standard_t(3.0, 400)
    return hb.uplift({"group": ["a", "b"] * 200, "reward": rewards}, "a", "b")


# Each object with pieces of text that it must show, at a prompt and in a notebook.
SHOWN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "agent": (make_agent, ("2 features", "1 decision,", "1 ticket;", "UCB")),
    "ticket": (lambda: make_agent().select(np.eye(2)), (":2", "arm", "expected", "propensity")),
    "result": (make_result, ("2 policies", "3 repetitions", "200 plays", "<b>auto</b>", "seed 1")),
    "empty result": (lambda: hb.Result({}), ("Result: 0 rows",)),
    "incomplete result": (lambda: hb.Result({"policy": ["a"]}), ("1 policy", "1 row")),
    "replay": (make_replay, ("1 policy", "3 passes", "random play")),
    "tuning": (make_tuning, ("1 policy", "3, 0.01 to 1", "LinUCB", "inside")),
    "log": (make_log, ("not read yet", "uniform")),
    "encoder": (make_encoder, ("2 columns", "8 features", "city", "x<y")),
    "evaluation": (
        lambda: hb.evaluate(make_log(), policy={"b": 1.0}),
        ("mean reward", "0.95", "400, effective sample size 200"),
    ),
    "uplift": (make_uplift, ("difference", "group a", "200 rows")),
    "diagnosis": (
        lambda: hb.diagnose(np.random.default_rng(0).standard_t(2.0, 300)),
        ("300 rewards", "auto", "tail index"),
    ),
    "problem": (lambda: PROBLEM, ("StudentT(dof=3.0, scale=1.0)", "Fixed")),
    "policy": (lambda: hb.auto(dim=3), ("UCB", "dim=3", "threshold=0.35")),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_object_shows_what_a_person_wants_to_know(name):
    make, pieces = SHOWN[name]
    thing = make()
    text, page = repr(thing), Tags(thing._repr_html_())
    for piece in pieces:
        assert piece in text
        assert piece in page.text
    assert " at 0x" not in text
    if name != "encoder":  # a table of columns, for print
        assert max(map(len, text.split("\n"))) <= WIDTH


def test_a_log_that_was_read_shows_its_numbers():
    log = make_log()
    hb.evaluate(log, policy={"b": 1.0})
    assert repr(log).startswith("Log: 400 decisions, 2 actions (dict)")


@pytest.mark.parametrize("name", [*POLICIES, *DRAWING])
def test_the_text_of_a_policy_makes_it_again(name):
    policy = (POLICIES | DRAWING)[name]
    assert eval(repr(policy), dict(NAMES)) == policy
    assert max(map(len, repr(policy).split("\n"))) <= WIDTH


def test_a_long_array_is_shown_by_its_shape():
    problem = PROBLEM._replace(arms=hb.arms.FromArray(np.ones((20, 3))))
    assert "FromArray(features=<array of shape (20, 3)>)" in repr(problem)


def test_a_long_table_is_cut_and_says_so():
    card = Card("rows", {}, [{"n": n} for n in range(MOST + 3)])
    assert write_card(card).endswith(f"{MOST - 1}\n  and 3 more")
    assert Tags(write_html(card)).text.endswith("and 3 more")


def test_control_characters_and_tags_do_not_reach_the_page():
    card = Card("<script>", {"name": "\x1b[31mred"})
    assert "\x1b" not in write_card(card) + write_html(card)
    assert "<script>" not in write_html(card)
