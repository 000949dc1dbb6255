"""What can go wrong before a service answers: each start ends with one sentence about it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("msgspec")

import heavybandits as hb
from heavybandits.cli.app import cli
from heavybandits.serving.core import make_folder
from heavybandits.serving.server import bind
from heavybandits.serving.tokens import load_secret
from service_process import free_port

TEXT = """
[service]
port = {port}
admin_port = {admin}
[agents.shop]
policy = "linucb"
ledger = "shop.db"
[agents.shop.encoder]
actions = ["tea", "figs"]
"""


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen()
        yield found.getsockname()[1]


def write(folder: Path, port: int) -> str:
    file = folder / "shop.toml"
    file.write_text(TEXT.format(port=port, admin=free_port()))
    return str(file)


def test_a_port_in_use_is_named(taken):
    with pytest.raises(hb.InvalidInputError, match=rf"port {taken} of 127.0.0.1 .* another port"):
        bind("127.0.0.1", taken)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(hb.InvalidInputError, match=r"\[service\] folder .* may write"):
        make_folder(tmp_path / "file")
    make_folder(tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_a_damaged_secret_is_named(tmp_path):
    (tmp_path / "secret").write_text("no digits")
    with pytest.raises(hb.InvalidInputError, match="restore it from a backup"):
        load_secret(tmp_path / "secret")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{file}", "--context", "city"], "--context needs --csv"),
        (["--demo", "--action-features", "price"], "--action-features needs --csv"),
        (["--demo", "--check"], "--check needs a TOML file"),
        (["{file}", "--demo"], "one of them"),
        (["{file}", "--port", "70000"], "70000"),
    ],
)
def test_an_option_without_effect_is_rejected(tmp_path, options, message):
    file = write(tmp_path, 8000)
    made = CliRunner().invoke(cli, ["serve", *(one.format(file=file) for one in options)])
    assert made.exit_code == 2
    assert message in made.output


@pytest.mark.slow
def test_a_core_that_cannot_open_its_ledger_ends_the_service_with_the_reason(tmp_path):
    (tmp_path / "shop.db").write_text("this is no ledger")
    file = write(tmp_path, free_port())
    command = [sys.executable, "-m", "heavybandits", "serve", file, "--front-ends", "1"]
    made = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=100.0)
    assert made.returncode == 2
    assert "file is not a database: choose another name" in made.stderr
    assert "did not start" in made.stderr
    assert "Traceback" not in made.stderr
