"""One registry each for algorithms, noises, links and arm sets: whatever lists them reads it."""

import importlib
import inspect
import json
from typing import Any

import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits import algorithms, arms, links, noises, worlds
from heavybandits._utils.registry import Entry, make_named
from heavybandits.algorithms.catalogue import ALGORITHMS, RAW, Algorithm, example
from heavybandits.cli.app import cli
from heavybandits.core.conformance import members, written
from heavybandits.core.part import check_part
from heavybandits.core.protocols import CONTRACTS, Noise
from heavybandits.experiments.roster import make_policy, make_setting
from paths import DOCS

SMALL = ("--horizon", "60", "--repetitions", "2", "--jobs", "1", "--quiet", "--json")


def run(*words: str) -> Any:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that writes the tables of the docs."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_tables")


# ---- algorithms


def planted(*, dim: int, raw_moment: float, radius_scale: float | None = None) -> Any:
    """An algorithm that nobody has heard of."""
    return hb.linucb(dim=dim, radius=raw_moment * (radius_scale or 1.0))


@pytest.fixture
def row(monkeypatch):
    made = Algorithm(planted, "Nobody (2030)", "x.theta", RAW, "", "unheard of", "K d^2", "d^2")
    monkeypatch.setitem(ALGORITHMS, "Planted", made)


@pytest.mark.usefixtures("row")
def test_a_planted_row_is_on_the_command_line():
    rows = run("simulate", "pLANTED", *SMALL, "--radius-scale", "0.5")
    assert [row["policy"] for row in rows] == ["Planted", "random play"]
    assert run("tune", "planted", *SMALL, "--grid", "2")[0]["policy"] == "Planted"
    assert "Planted" in CliRunner().invoke(cli, ["simulate", "--help"]).stdout


@pytest.mark.usefixtures("row")
def test_a_planted_row_is_in_the_roster_of_the_experiments():
    known = make_setting(hb.noises.StudentT(3.0), dim=4, horizon=100)
    policy: Any = make_policy("Planted", known, 0.5)
    assert policy.dim == 4
    assert policy.radius.squared == (0.5 * known.raw_moment) ** 2


@pytest.mark.usefixtures("row")
def test_a_planted_row_is_in_the_tables_of_the_docs(tables):
    bound = r"E\|y\|^{1+eps} <= u"
    assert f"| Planted | x.theta | {bound} | unheard of | Nobody (2030) |\n" in tables.promises()
    assert "| Planted | `planted`, `radius_scale` | any | 1 | K d^2 | d^2 |\n" in tables.costs()


def test_every_algorithm_is_exported_once_and_called_as_in_its_paper():
    made = {name: row.function for name, row in ALGORITHMS.items() if name != "random play"}
    assert {name.lower() for name in made} == set(algorithms.__all__)
    assert all(getattr(hb, name.lower()) is make for name, make in made.items())


UNTUNED = ("random play", "Auto", "Hurdle")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_is_built_from_its_row(name):
    row, policy = ALGORITHMS[name], example(name)
    assert (policy.dim, policy.plays >= 1) == (100, True)
    takes = inspect.signature(row.function).parameters.values()
    required = {each.name for each in takes if each.default is each.empty}
    assert required & {"raw_moment", "central_moment", "noise_scale"} == {row.moment} - {None}
    assert (row.tuning is None) == (name in UNTUNED)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_tuned_argument_changes_the_policy(name):
    known: dict[str, Any] = {"dim": 3, "horizon": 50, "arms": 4}
    known |= {"raw_moment": 1.0, "central_moment": 1.0}
    row = ALGORITHMS[name]
    tuned = {row.tuning: 0.01} if row.tuning else {}
    same = repr(row.make(**known)) == repr(row.make(**known, **tuned))
    assert same == (name in UNTUNED)


def test_random_play_is_what_everybody_is_compared_with():
    (alone,) = run("simulate", "RANDOM PLAY", *SMALL)
    assert alone["policy"] == "random play"


# ---- noises, links, arm sets

REGISTRIES: dict[str, dict[str, Entry]] = {
    "noise": noises.REGISTRY,
    "link": links.REGISTRY,
    "arms": arms.REGISTRY,
    "world": worlds.REGISTRY,
}
ROWS = [(kind, name) for kind, registry in REGISTRIES.items() for name in registry]


@pytest.mark.parametrize("name", noises.REGISTRY)
def test_a_noise_is_made_by_its_name_and_its_numbers(name):
    check_part("noise", make_named("noise", name, noises.REGISTRY), Noise)
    numbers = [1.5 + 0.1 * i for i in range(len(noises.REGISTRY[name].numbers))]
    if name == "stable":
        numbers[1] = -0.5
    made = make_named("noise", ":".join([name.upper(), *map(str, numbers)]), noises.REGISTRY)
    assert list(made)[: len(numbers)] == numbers


@pytest.mark.parametrize(("kind", "name"), ROWS)
def test_a_row_says_what_it_is_and_takes_no_more_numbers_than_it_names(kind, name):
    entry = REGISTRIES[kind][name]
    assert entry.about
    text = ":".join([name, *["1"] * (len(entry.numbers) + 1)])
    with pytest.raises(hb.InvalidInputError, match=f"{kind} {name} takes"):
        make_named(kind, text, REGISTRIES[kind])


def test_arm_sets_are_named_by_when_they_are_redrawn():
    assert {name: row.make(2, 3).redraw for name, row in arms.REGISTRY.items()} == {
        name: name for name in arms.REGISTRY
    }


def test_a_planted_noise_link_and_arm_set_are_on_the_command_line(tables, monkeypatch):
    monkeypatch.setitem(noises.REGISTRY, "mine", Entry(noises.Laplace, "mine", ("scale",)))
    monkeypatch.setitem(links.REGISTRY, "mine", Entry(links.Probit, "mine"))
    monkeypatch.setitem(arms.REGISTRY, "mine", Entry(arms.PerRound, "mine", ("arms", "dimension")))
    words = ("--noise", "mine:2", "--link", "mine", "--redraw", "mine")
    known = ("--noise", "laplace:2", "--link", "probit", "--redraw", "round")
    assert run("simulate", "random play", *SMALL, *words) == run(
        "simulate", "random play", *SMALL, *known
    )
    assert "| `mine` | mine | scale |" in tables.PAGES["command_names.md"]["noises"]()


def test_worlds_and_the_shop_are_on_the_command_line():
    still, moving = (
        run("simulate", "random play", *SMALL, "--shop", *words)
        for words in ((), ("--world", "flip:30", "--world", "delay:5"))
    )
    assert still[0]["mean"] != moving[0]["mean"]
    refused = CliRunner().invoke(
        cli, ["simulate", "CRTM", "--world", "flip:3", "--world", "walk:1"]
    )
    assert "at most one drift, got Flip and RandomWalk" in refused.output
    refused = CliRunner().invoke(cli, ["simulate", "CRTM", "--world", "spikes:3"])
    assert "world spikes needs its numbers, as in SPIKES:BUDGET:SIZE:SHARE" in refused.output


def test_the_table_of_the_docs_has_every_member_of_every_contract(tables):
    table = tables.contracts_table()
    for kind, contract in CONTRACTS.items():
        assert f"## {kind.capitalize()}\n" in table
        for name, member in members(contract).items():
            assert member.__doc__, f"{kind}.{name}"
            assert f"| `{written(name, member)}` |" in table
