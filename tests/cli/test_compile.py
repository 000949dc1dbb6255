"""`heavybandits compile`, and what those are told who wait: in processes of their own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import heavybandits as hb
from heavybandits.cli import compile as compiling
from heavybandits.cli.compile import own_policy

# What a container does first: decisions, rewards, a simulation; what of it had to be compiled.
FIRST = """
import json
import numpy as np
import heavybandits as hb
from heavybandits.core.compile import count_kernels
policy = hb.policies.Uniform(dim=5)
agent = hb.Agent(policy)
agent.update(agent.select(np.eye(5)), 1.0)
agent.select_many([np.eye(5), np.eye(5)])
columns = [hb.features.Number(name) for name in "abcd"]
named = hb.Agent(policy, encoder=hb.Encoder(columns[:1], columns[1:], interactions="none"))
actions = {"x": {"b": 0.0, "c": 0.0, "d": 0.0}, "y": {"b": 1.0, "c": 0.0, "d": 0.0}}
named.select_many(contexts=[{"a": 1.0}, {"a": 2.0}], actions=actions)
agent.warm_start(np.eye(5), np.zeros(5))
agent.predict(np.eye(5))
problem = hb.Problem(hb.arms.Fixed(4, 5), hb.links.Logistic(), hb.noises.StudentT(2.0))
hb.simulate(policy, problem, horizon=20, repetitions=1)
print(json.dumps(count_kernels()))
"""
# The smallest thing that is compiled.
SMALL = """
import numpy as np
import heavybandits as hb
from heavybandits.core.compile import compiled
from heavybandits.core.kernels import noise_kernel
compiled(noise_kernel, hb.noises.Laplace(1.0), np.uint64(1), 0, np.zeros(3))
compiled(noise_kernel, hb.noises.Gaussian(1.0), np.uint64(1), 0, np.zeros(3))
"""
COMMAND = "from heavybandits.cli import main; main()"
MINE = """
import heavybandits as hb

def policy():
    return hb.policies.Uniform(dim=3)

def number():
    return 3
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of a machine on which nothing has been compiled."""
    source = str(Path(hb.__file__).parents[1])
    return os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": source}


def run(environment: dict[str, str], script: str, *arguments: str) -> str:
    """What a process says on stdout; on stderr it must say nothing."""
    command = [sys.executable, "-c", script, *arguments]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_after_compile_nothing_is_compiled(environment, tmp_path):
    said = run(environment, COMMAND, "compile", "random play")
    cache = tmp_path / "cache" / "heavybandits"
    assert said == f"random play: 7 compiled, 0 were there\nkept in {cache}\n"
    assert json.loads(run(environment, FIRST)) == [0, 7]
    again = run(environment, COMMAND, "compile", "random play")
    assert again.startswith("random play: 0 compiled, 7 were there\n")


def read_to(terminal: int, end: bytes) -> bytes:
    """What came to a terminal before this end."""
    said = b""
    while not said.endswith(end):
        said += os.read(terminal, 10_000)
    return said.removesuffix(end)


def test_whoever_waits_at_a_terminal_is_told_once(environment):
    ours, theirs = pty.openpty()
    heard = []
    for _ in range(2):
        command = [sys.executable, "-c", SMALL]
        subprocess.run(command, env=environment, stderr=theirs, stdout=subprocess.PIPE, check=True)
        os.write(theirs, b"end")
        heard.append(read_to(ours, b"end"))
    assert heard == [b"compiling for this machine: some seconds, once\r\n", b""]


def test_a_policy_of_ones_own_is_found_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "mine_to_compile.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert own_policy("mine_to_compile:policy") == hb.policies.Uniform(dim=3)
    with pytest.raises(hb.InvalidInputError, match="must be a policy as 'module:name'"):
        own_policy("mine_to_compile:other")
    with pytest.raises(hb.InvalidInputError, match="mine_to_compile:number must be a policy"):
        own_policy("mine_to_compile:number")


def test_the_link_that_is_given_is_the_one_that_is_compiled(monkeypatch):
    """Links are tuples without fields: all of them are false."""
    links = []
    monkeypatch.setattr(compiling, "warm", lambda policy, problem: links.append(problem.link))
    told = CliRunner().invoke(compiling.compile_command, ["OL2M", "--link", "probit"])
    assert told.exit_code == 0, told.output
    assert set(links) == {hb.links.Probit()}
    assert all(type(link) is hb.links.Probit for link in links)
