"""State files: complete, continued to the bit, and never believed without a check."""

import io
import json
import math
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from typing import NamedTuple

import numpy as np
import pytest

import heavybandits as hb
import state_fuzz
from heavybandits._utils.files import Format, read_container, write_container
from heavybandits.agents import state_file
from heavybandits.agents.state import anonymous
from heavybandits.core.confidence_region import _GROWTH, _LOGDET

FORMAT = state_file.FORMAT

DIM = 3
POLICIES = {
    "crtm": hb.crtm(dim=DIM, horizon=1000, raw_moment=1.0, radius_scale=0.01, truncation=5.0),
    "crmm": hb.crmm(dim=DIM, horizon=1000, central_moment=1.0, plays=5),
    "ol2m": hb.ol2m(dim=DIM, radius_scale=0.1),
    "linucb": hb.linucb(dim=DIM, radius=1.0),
}


def play(agent, rounds, seed):
    """Some plays, the rewards of a third of them late; gives back what is still unpaid."""
    rng, late = np.random.default_rng(seed), []
    arms = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8], [0.5, 0.5, 0.5]])
    for _ in range(rounds):
        ticket, reward = agent.select(arms), float(rng.standard_t(1.5))
        if rng.random() < 1 / 3:
            late.append((ticket.id, reward))
        else:
            agent.update(ticket.id, reward)
    return late


def rewrite(agent, change):
    """A file with a right checksum around a body that was tampered with."""
    body, blobs = read_container(FORMAT, pack(agent))
    change(body, blobs)
    return write_container(FORMAT, body, blobs)


def pack(agent):
    return state_file.pack(anonymous(agent.state))


def unpack(data, parts=()):
    return hb.Agent.from_state(state_file.unpack(data, parts))


# ---- complete, and continued to the bit


@pytest.mark.parametrize("rng", [None, 3])
@pytest.mark.parametrize("name", POLICIES)
def test_continue_is_load_and_continue(name, rng, tmp_path, digest):
    for seed in range(3):
        agent = hb.Agent(POLICIES[name], rng=rng)
        rounds = int(np.random.default_rng(seed).integers(1, 120))
        late = play(agent, rounds, seed)
        agent.save(tmp_path / "agent")
        other = hb.Agent.load(tmp_path / "agent")
        assert pack(other) == pack(agent)
        assert (other.counters, other.pending) == (agent.counters, agent.pending)
        for who in (agent, other):
            who.update_many(late[::-1])
            play(who, 50, seed + 100)
        assert digest(other.state.learned) == digest(agent.state.learned)
        assert (other.counters, other.pending) == (agent.counters, agent.pending)
    assert agent.updates > 10


def test_projections_do_not_stand_in_the_way():
    """Whatever flags an update leaves in the state, it can be saved right after."""
    agent = hb.Agent(POLICIES["crtm"]._replace(filter=hb.filters.Truncate(1e300)))
    for reward in (1e6, -1e6, 1e100):
        agent.update(agent.select(np.eye(DIM)), reward)
        assert pack(agent.clone()) == pack(agent)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_every_generator_of_numpy_goes_on_or_is_refused_at_the_door(kind):
    generator = np.random.Generator(getattr(np.random, kind)(5))
    same = np.ones((6, DIM)) / 2
    try:
        agent = hb.Agent(POLICIES["linucb"], rng=generator)
    except hb.InvalidInputError:
        return
    agent.select(same)
    other = agent.clone()
    chosen = [[who.select(same).arm for _ in range(30)] for who in (agent, other)]
    assert chosen[0] == chosen[1]


def test_a_file_is_replaced_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "agent"
    agent = hb.Agent(POLICIES["linucb"])
    agent.save(path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    agent.update(agent.select(np.eye(DIM)), 1.0)
    with pytest.raises(OSError, match="No space left"):
        agent.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["agent"]
    monkeypatch.undo()
    agent.save(path)
    assert hb.Agent.load(path).updates == 1


class Steep(NamedTuple):
    """A link of a user's own."""

    rate: float

    def mean(self, z):
        return self.rate * z

    def slope(self, z):
        return self.rate

    def kappa(self, norm):
        return self.rate

    def lipschitz(self, norm):
        return self.rate

    def bound(self, norm):
        return self.rate * norm


def test_parts_of_ones_own_are_named_by_the_program_not_by_the_file(tmp_path):
    agent = hb.Agent(hb.crtm(dim=DIM, horizon=10, raw_moment=1.0, link=Steep(2.0)))
    agent.save(tmp_path / "agent")
    with pytest.raises(hb.StateError, match=r"there is no part '[\w.]+:Steep' here"):
        hb.Agent.load(tmp_path / "agent")
    assert hb.Agent.load(tmp_path / "agent", parts=[Steep]).policy == agent.policy


# ---- not believed


@pytest.fixture(scope="module")
def agent():
    made = hb.Agent(POLICIES["linucb"], rng=1)
    play(made, 30, 0)
    return made


def mangled(data, count):
    """Cuts, flipped bits, swapped and doubled stretches, noise, insertions."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        piece, kind = bytearray(data), rng.integers(6)
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        if kind == 0:
            del piece[at:]
        elif kind == 1:
            piece[at] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            piece[at : at + length] = rng.bytes(length)
        elif kind == 3:
            del piece[at : at + length]
        elif kind == 4:
            piece[at:at] = rng.bytes(length)
        else:
            piece[at:at] = piece[at : at + length]
        yield bytes(piece)


def test_mangled_files_are_refused(agent):
    """A container has one form: a change that is none is the only one that passes."""
    data = pack(agent)
    for piece in mangled(data, 2000):
        if piece == data:
            continue
        with pytest.raises(hb.StateError):
            unpack(piece)


HOSTILE = {
    "empty": b"",
    "text": b"hello",
    "pickle": pickle.dumps(print),
    "npz": None,
    "half a zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_files_are_refused(name, tmp_path):
    data = HOSTILE[name]
    if data is None:
        buffer = io.BytesIO()
        np.savez(buffer, a=np.array([object()], dtype=object))
        data = buffer.getvalue()
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(hb.StateError):
        hb.Agent.load(path)


def test_compression_is_refused_so_there_are_no_bombs(agent):
    body, _ = read_container(FORMAT, pack(agent))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps({"body": json.dumps(body), "sha256": "0"}))
        file.writestr("bomb.bin", bytes(50_000_000))
    assert len(buffer.getvalue()) < 100_000
    with pytest.raises(hb.StateError, match="was not written by heavybandits"):
        unpack(buffer.getvalue())


def test_a_claim_of_more_data_than_there_is_is_refused(agent):
    data = bytearray(pack(agent))
    at = data.rfind(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)
    with pytest.raises(hb.StateError, match="is damaged"):
        unpack(bytes(data))


def test_a_newer_format_is_refused_with_words(agent):
    body, blobs = read_container(FORMAT, pack(agent))
    newer = write_container(Format("state file", 99), body, blobs)
    words = "has format 99, written by heavybandits .*; heavybandits .* reads up to format 1"
    with pytest.raises(hb.StateError, match=words):
        unpack(newer)


def policy_field(name, value):
    return lambda body, blobs: body["policy"]["fields"][name].update(value)


def estimator_field(name, value):
    def change(body, blobs):
        body["policy"]["fields"]["estimator"]["fields"][name] = value

    return change


def array_value(name, place, value):
    def change(body, blobs):
        array = np.frombuffer(blobs[f"{name}.bin"]).copy()
        array[place] = value
        blobs[f"{name}.bin"] = array.tobytes()

    return change


LIES = {
    "a part that runs": policy_field("filter", {"part": "os.system"}),
    "a part of the standard library": policy_field("filter", {"part": "collections:OrderedDict"}),
    "another part": policy_field("radius", {"part": "heavybandits.links:Logistic", "fields": {}}),
    "fields of another version": policy_field("filter", {"fields": {"plays": 1, "more": 2}}),
    "a filter without plays": policy_field("filter", {"fields": {"plays": 0}}),
    "a huge dimension": estimator_field("dim", 10**9),
    "a large dimension": estimator_field("dim", 20_000),
    "a beyond-all dimension": estimator_field("dim", 10**30),
    "a negative dimension": estimator_field("dim", -3),
    "no penalty": estimator_field("penalty", 0.0),
    "a penalty that is text": estimator_field("penalty", "1"),
    "huge plays": policy_field("filter", {"fields": {"plays": 10**12}}),
    "nan in an array": array_value("estimate.region.centre", 0, math.nan),
    "infinity in an array": array_value("estimate.region.design", 0, math.inf),
    "a design that is not symmetric": array_value("estimate.region.design", 1, 5.0),
    "an inverse that is none": array_value("estimate.region.inverse", 0, 77.0),
    "a volume that shrank": array_value("estimate.region.numbers", _LOGDET, -1.0),
    "a volume below one": array_value("estimate.region.numbers", _GROWTH, -1.0),
    "a missing array": lambda body, blobs: blobs.pop("estimate.region.centre.bin"),
    "an array too many": lambda body, blobs: blobs.update({"extra.bin": b"12345678"}),
    "an array too long": lambda body, blobs: blobs.update(
        {"estimate.region.centre.bin": bytes(80)}
    ),
    "no policy": lambda body, blobs: body.pop("policy"),
    "a policy that is a list": lambda body, blobs: body.update(policy=[]),
    "counts that are text": lambda body, blobs: body["tickets"].update(counts="many"),
    "a negative count": lambda body, blobs: body["tickets"]["counts"].update(applied=-1),
    "fewer issued than pending": lambda body, blobs: body["tickets"].update(issued=0),
    "a generator of another kind": lambda body, blobs: body["generator"].update(
        bit_generator="os.system"
    ),
    "a decision of another dimension": lambda body, blobs: body["tickets"]["decisions"][0].update(
        features=[1.0]
    ),
    "decisions that are none": lambda body, blobs: body["tickets"].update(decisions=[None]),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_lies_is_refused_though_its_checksum_is_right(lie, agent):
    assert pack(unpack(rewrite(agent, lambda body, blobs: None))) == pack(agent)
    with pytest.raises(hb.StateError):
        unpack(rewrite(agent, LIES[lie]))


def test_deep_nesting_is_refused(agent):
    body, blobs = state_fuzz.opened(pack(agent))
    text = json.dumps(body).replace(
        '"issued"', '"deep": ' + "[" * 100_000 + "]" * 100_000 + ', "issued"'
    )
    with pytest.raises(hb.StateError, match="is damaged"):
        unpack(state_fuzz.sealed(text, blobs))


def test_no_file_is_no_state_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        hb.Agent.load(tmp_path / "nothing")
    with pytest.raises(hb.StateError):
        hb.Agent.load(tmp_path)


def test_loading_in_another_process_goes_on_where_this_one_stood(tmp_path):
    agent = hb.Agent(POLICIES["linucb"], rng=2)
    play(agent, 20, 1)
    agent.save(tmp_path / "agent")
    script = (
        "import sys, numpy as np, heavybandits as hb\n"
        "agent = hb.Agent.load(sys.argv[1])\n"
        "agent.update(agent.select(np.eye(3)), 2.5)\n"
        "print(agent.theta.tobytes().hex())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "agent")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    agent.update(agent.select(np.eye(3)), 2.5)
    assert run.stdout.strip() == agent.theta.tobytes().hex()
