"""The file of a service: every mistake is named with its place and with what is allowed."""

from pathlib import Path

import pytest

pytest.importorskip("msgspec")

import heavybandits as hb
from heavybandits.serving.check import check
from heavybandits.serving.config import read_config
from paths import ROOT

TEXT = """
[service]
port = 8000
[agents.shop]
policy = "linucb"
ledger = "shop.db"
parameters = {radius = 1.0}
[agents.shop.encoder]
actions = ["tea", "figs"]
[[agents.shop.encoder.context]]
type = "category"
name = "city"
categories = ["Oslo", "Rome"]
"""
LEDGER = 'ledger = "shop.db"'
MISTAKES = {  # what is replaced, by what, and the start of the message
    ("port", "prt"): r"\[service\] has no key 'prt': did you mean port?",
    ("port = 8000", 'port = "8000"'): r"\[service\] port must be a whole number",
    ("port = 8000", "port = 70000"): r"\[service\] port must be in \[1, 65535\]",
    ("port = 8000", "port = 8001"): r"\[service\] port and admin_port must differ",
    ("port = 8000", 'drain = "1"'): r"\[service\] drain must be a finite number",
    ("port = 8000", "folder = 3"): r"\[service\] folder must be text",
    ("port = 8000", 'host = "0.0.0.0"'): r"a service at 0.0.0.0 must have tokens",
    ("[service]", "[sevice]"): r"the file has no key 'sevice': did you mean service?",
    ("ledger =", "leger ="): r"\[agents.shop\] has no key 'leger': did you mean ledger?",
    ('"linucb"', '"linucbb"'): r"\[agents.shop\] policy .* did you mean linucb?",
    ('"linucb"', "3"): r"\[agents.shop\] policy must be text, got 3",
    ("parameters = {radius = 1.0}", 'policy = "linucb"'): "must be TOML",
    ("radius", "radus"): r"\[agents.shop\] linucb has no hyperparameter 'radus'",
    ("{radius = 1.0}", "3"): r"\[agents.shop.parameters\] must be a table",
    ('"linucb"', '"crtm"'): "crtm has no hyperparameter 'radius'",
    (LEDGER, 'mode = "onlin"'): r"\[agents.shop\] mode must be one of .* 'online'",
    (LEDGER, 'holdout = "0.1"'): r"\[agents.shop\] holdout must be a finite number",
    (LEDGER, "holdout = 1.0"): r"\[agents.shop\] holdout must be in \[0, 1\)",
    (LEDGER, "epsilon = 1.0"): r"\[agents.shop\] epsilon must be in \(0, 1\)",
    (LEDGER, 'seed = "a"'): r"\[agents.shop\] seed must be a whole number",
    (LEDGER, 'baseline = "cake"'): r"\[agents.shop\] baseline must be .* tea, figs",
    (LEDGER, "expired_reward = 0.0"): r"\[agents.shop\] expired_reward needs expire_after",
    (LEDGER, 'ledger = "mysql://a/b"'): "ledger must be the path of a file or an address",
    (LEDGER, 'ledger = ""'): r"\[agents.shop\] ledger must be text",
    ("actions", "actons"): r"\[agents.shop.encoder\] has no key 'actons'",
    ('["tea", "figs"]', '"tea"'): r"\[agents.shop.encoder\] actions must be a list",
    ('["tea", "figs"]', "[]"): r"\[agents.shop.encoder\] must describe the actions",
    ("actions =", 'file = "x"\nactions ='): r"has file, which replaces context, actions",
    ('"category"', '"categry"'): r"a column of \[agents.shop.encoder\] .* number, category, date",
    ("categories", "categores"): "a column of .* has no key 'categores': did you mean categories",
    ('name = "city"', ""): r"a column of \[agents.shop.encoder\] needs name",
    ("[service]", "[limits]\nqueue = -1\n[service]"): r"\[limits\] queue must be a whole number",
    ("[service]", "[tokens]\na = 1\n[service]"): r"tokens must be a list",
    ("[service]", '[[tokens]]\nsha256 = "x"\nscopes = []\n[service]'): "--new-token",
}


def read(folder: Path, text: str) -> None:
    (folder / "shop.toml").write_text(text)
    assert list(check(read_config(folder / "shop.toml")))


@pytest.mark.parametrize(("change", "message"), MISTAKES.items())
def test_a_mistake_is_named_with_its_place(tmp_path, change, message):
    assert change[0] in TEXT
    with pytest.raises(hb.InvalidInputError, match=message):
        read(tmp_path, TEXT.replace(*change))


@pytest.mark.parametrize("text", ["", "agents = 3", "[agents]\nshop = 3", "[[agents]]\na = 1"])
def test_a_file_without_an_agent_is_rejected(tmp_path, text):
    with pytest.raises(hb.InvalidInputError, match="agent"):
        read(tmp_path, text)


def test_hyperparameters_that_are_missing_are_named(tmp_path):
    text = TEXT.replace("linucb", "crtm").replace("radius = 1.0", "raw_moment = 1.0")
    with pytest.raises(hb.InvalidInputError, match="needs the hyperparameters horizon, raw_moment"):
        read(tmp_path, text)


def test_two_agents_cannot_have_one_ledger(tmp_path):
    other = TEXT[TEXT.index("[agents.shop]") :].replace("agents.shop", "agents.other")
    with pytest.raises(hb.InvalidInputError, match=r"'shop.db' is that of \[agents.shop\]"):
        read(tmp_path, TEXT + other)


@pytest.mark.parametrize("policy", ["no_such_module:make", "json:make", ":"])
def test_own_code_that_is_not_found_says_where_python_looks(tmp_path, policy):
    text = TEXT.replace("linucb", policy)
    with pytest.raises(hb.InvalidInputError, match="must set its own"):
        read(tmp_path, text)
    with pytest.raises(hb.InvalidInputError, match="PYTHONPATH"):
        read(tmp_path, text.replace("{radius = 1.0}", "{}"))


def test_a_file_that_is_missing_or_no_text_is_rejected(tmp_path):
    with pytest.raises(hb.InvalidInputError, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "shop.toml").write_bytes(b"\xff")
    with pytest.raises(hb.InvalidInputError, match="must be TOML"):
        read_config(tmp_path / "shop.toml")


def test_the_text_is_valid_without_a_mistake(tmp_path):
    read(tmp_path, TEXT)
    read(tmp_path, (ROOT / "deploy" / "shop.toml").read_text())
