"""The chooser: every combination of answers leads to a policy that can be built."""

import itertools
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits import InvalidInputError
from heavybandits.cli.app import cli
from heavybandits.offline.diagnose.choosing import NOTES, QUESTIONS, RULES, choose
from paths import DOCS

COMBINATIONS = [
    dict(zip(QUESTIONS, answers, strict=True))
    for answers in itertools.product(*(question.answers for question in QUESTIONS.values()))
]
UNSURE = {
    "known": "nothing",
    "tails": "unknown",
    "arms": "changing",
    "noise": "unknown",
    "data": "live",
}


def options(answers):
    return [word for name, answer in answers.items() for word in (f"--{name}", answer)]


def run(*words, **keywords):
    return CliRunner().invoke(cli, ["choose", *words], **keywords)


# ---- the rules


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_a_rule_recommends_can_be_built(rule):
    assert isinstance(eval(rule.call, {"hb": hb}), hb.policies.UCB)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_names_a_page_and_a_command_that_exist(rule, tmp_path, monkeypatch):
    assert (DOCS / rule.page).exists()
    monkeypatch.chdir(tmp_path)
    Path("orders.csv").write_text("revenue\n1\n")
    _, name, *rest = shlex.split(rule.evidence)
    assert cli.commands[name].make_context(name, rest).params


def test_every_combination_of_answers_is_answered_and_every_rule_and_note_is_used():
    found = [choose(answers) for answers in COMBINATIONS]
    assert len(found) == 5 * 5 * 2 * 3 * 2
    assert {one.rule.name for one in found} == {rule.name for rule in RULES}
    assert {note for one in found for note in one.notes} == {note for _, note in NOTES}
    assert all((DOCS / one.page).exists() for one in found)


@pytest.mark.parametrize("when", [rule.when for rule in RULES] + [when for when, _ in NOTES])
def test_rules_speak_of_answers_that_can_be_given(when):
    for question, allowed in when.items():
        assert set(allowed) <= set(QUESTIONS[question].answers)


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ({}, "auto"),
        ({"tails": "heavy", "noise": "skewed", "arms": "still"}, "auto"),
        ({"known": "scale", "tails": "heavy"}, "linucb with AdaptiveClip"),
        ({"known": "scale", "tails": "light"}, "linucb"),
        ({"known": "reward-moment", "tails": "heavy"}, "crtm"),
        ({"known": "noise-moment", "arms": "still", "noise": "symmetric"}, "crmm"),
        ({"known": "noise-moment", "arms": "still", "noise": "unknown"}, "crhl"),
        ({"known": "noise-moment", "arms": "changing", "noise": "symmetric"}, "crhl"),
        ({"known": "noise_scales", "tails": "light"}, "crhl, told each noise scale"),
    ],
)
def test_some_answers_by_hand(answers, name):
    assert choose(UNSURE | answers).rule.name == name


def test_logs_lead_to_a_replay_and_never_to_a_policy_that_repeats_its_plays():
    for answers in COMBINATIONS:
        if answers["data"] == "logs":
            found = choose(answers)
            assert found.rule.name != "crmm"
            assert found.page == "replay_your_logs.md"


def test_an_intercept_is_called_for_where_skewed_noise_is_clipped():
    assert "intercept" in " ".join(choose(UNSURE | {"noise": "skewed"}).notes)
    assert "intercept" not in " ".join(choose(UNSURE | {"noise": "symmetric"}).notes)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (UNSURE | {"tails": "huge"}, "tails must be one of light, mild, heavy"),
        ({"tails": "heavy"}, "answers must be to known, tails, arms, noise, data, got tails"),
    ],
)
def test_refusals_name_what_is_allowed(answers, words):
    with pytest.raises(InvalidInputError, match=words):
        choose(answers)


# ---- the command


def test_the_command_prints_call_reason_page_and_evidence():
    text = " ".join(run(*options(UNSURE)).stdout.split())
    rule = choose(UNSURE).rule
    assert all(words in text for words in (rule.call, rule.why, rule.page, rule.evidence))


def test_the_command_speaks_json():
    found = json.loads(run(*options(UNSURE), "--json").stdout)
    assert found["answers"] == UNSURE
    assert (found["call"], found["page"]) == ("hb.auto(dim=10)", "robust_policy.md")


def test_without_a_terminal_what_is_missing_is_named():
    result = run("--known", "nothing", "--data", "live")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "--arms still|changing" in result.stderr
    assert "--known" not in result.stderr


def test_an_answer_that_does_not_exist_is_refused():
    result = run("--tails", "huge")
    assert result.exit_code == 2
    assert "'huge' is not one of 'light', 'mild', 'heavy'" in result.stderr


def test_on_a_terminal_it_asks_what_no_option_says_until_it_is_answered(monkeypatch):
    monkeypatch.setattr("heavybandits.cli.choose.on_terminal", lambda: True)
    typed = "what?\nnoise-moment\nstill\nsymmetric\nlive\n"
    result = run("--tails", "heavy", input=typed)
    assert result.exit_code == 0
    assert result.stdout.startswith("Use crmm, ")
    assert "How heavy" not in result.stderr
    assert "'what?' is not one of" in result.stderr


# ---- the tail doctor


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda rng: rng.normal(size=4000), "--tails light --noise symmetric"),
        (lambda rng: rng.standard_t(3, 20_000), "--tails mild --noise symmetric"),
        (lambda rng: rng.pareto(1.5, 4000), "--tails heavy --noise skewed"),
        (lambda rng: rng.pareto(0.4, 4000), "--tails no-mean --noise skewed"),
    ],
)
def test_the_tail_doctor_ends_in_the_chooser(draw, words):
    found = hb.diagnose(draw(np.random.default_rng(0)), resamples=20)
    assert str(found).splitlines()[-1] == f"  heavybandits choose {words}"
    assert cli.commands["choose"].make_context("choose", shlex.split(words)).params
    asked = dict(zip(("tails", "noise"), words.split()[1::2], strict=True))
    call = choose(UNSURE | asked).rule.call
    assert call.startswith("hb.auto")  # as the doctor, who knows nothing else, says too
    assert found.advice.algorithm in ("auto", "none")
