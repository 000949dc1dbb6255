"""Damage and malice for state files, and what may become of them: for the test and the bench."""

import copy
import functools
import io
import json
import os
import pickle
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits._utils.files import HEADER, _pieces, digest
from heavybandits.agents.state import AgentState
from heavybandits.agents.state_file import pack, unpack
from heavybandits.arms import Rows
from heavybandits.core.arm_buffer import make_arm_buffer
from heavybandits.core.part import known_parts
from heavybandits.parts.registry import library_parts
from paths import FIXTURES

FOLDER = FIXTURES / "format_1"
Dice = random.Random


def seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted(FOLDER.glob("*.state"))]


# ---- damage: any change at all must be noticed, or be of no consequence


def cut(data: bytes, dice: Dice) -> bytes:
    place = dice.randrange(len(data))
    return (
        data[:place] if dice.random() < 0.7 else data[:place] + data[place + dice.randrange(50) :]
    )


def flip(data: bytes, dice: Dice) -> bytes:
    damaged = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 8])):
        damaged[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


def swap(data: bytes, dice: Dice) -> bytes:
    size = dice.randrange(1, 64)
    one, two = sorted(dice.randrange(len(data) - size) for _ in range(2))
    damaged = bytearray(data)
    damaged[one : one + size], damaged[two : two + size] = (
        damaged[two : two + size],
        damaged[one : one + size],
    )
    return bytes(damaged)


def wipe(data: bytes, dice: Dice) -> bytes:
    start, size = dice.randrange(len(data)), dice.randrange(1, 4096)
    blank = bytes([dice.choice([0, 255, 32])]) * size
    return data[:start] + blank + data[start + size :]


def grow(data: bytes, dice: Dice) -> bytes:
    junk = dice.randbytes(dice.randrange(1, 5000))
    return dice.choice([junk + data, data + junk, data + data])


def splice(data: bytes, dice: Dice) -> bytes:
    other = dice.choice(seeds())
    return data[: dice.randrange(len(data))] + other[dice.randrange(len(other)) :]


def noise(data: bytes, dice: Dice) -> bytes:
    return dice.randbytes(dice.randrange(200)) + (b"PK\x03\x04" if dice.random() < 0.5 else b"")


# ---- malice: whole files with a right checksum


def opened(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        blobs = {name: file.read(name) for name in file.namelist()}
    return json.loads(json.loads(blobs.pop(HEADER))["body"]), blobs


def sealed(text: str, blobs: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    header = json.dumps({"body": text, "sha256": digest(text, blobs)}).encode()
    if method == zipfile.ZIP_STORED:
        return b"".join(_pieces({HEADER: header, **blobs}))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, blob in {HEADER: header, **blobs}.items():
            file.writestr(name, blob)
    return buffer.getvalue()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [path, *(deep for key, item in items for deep in places(item, (*path, key)))]


HOSTILE: list[Any] = [
    *(-1, 0, 1, 2, 3, 7, 513, 10**4, 10**6, 10**9, 2**31, 2**63, 2**64, 10**30, 10**4000),
    *(0.0, -1.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf")),
    *(True, False, None, "", "1", "nan", "os.system", "__class__", "\x00", "é" * 1000),
    *([], [[]], [1, 2], [[1.0, 2.0]], {}, {"a": 1}, {"array": [1.0]}, {"array": "x"}),
    *({"part": "heavybandits.filters:NoFilter", "fields": {}}, {"part": "NoFilter", "fields": {}}),
    *({"part": "heavybandits.core:Region", "fields": {}}, {"part": []}),
]


def rewrite(data: bytes, dice: Dice) -> bytes:
    """Something in the header is something else."""
    body, blobs = opened(data)
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        path = dice.choice(places(body)[1:])
        parent = body
        for key in path[:-1]:
            parent = parent[key]
        chance = dice.random()
        if chance < 0.15:
            del parent[path[-1]]
        elif chance < 0.3 and isinstance(parent, dict):
            parent[dice.choice(["extra", "part", "__init__"])] = parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(dice.choice(HOSTILE))
    return sealed(json.dumps(body), blobs)


def exchange(data: bytes, dice: Dice) -> bytes:
    """A part is another part, with fields that fit its name or not."""
    body, blobs = opened(data)
    parts = [path for path in places(body["policy"]) if path and path[-1] == "part"]
    known = known_parts(library_parts().values())
    path, name = dice.choice(parts), dice.choice(sorted(known))
    parent = body["policy"]
    for key in path[:-1]:
        parent = parent[key]
    fields = known[name]._fields  # type: ignore[attr-defined]
    parent["part"] = name
    if dice.random() < 0.8:
        values = list(parent["fields"].values()) + [1.0] * len(fields)
        parent["fields"] = dict(zip(fields, values, strict=False))
    return sealed(json.dumps(body), blobs)


def distort(data: bytes, dice: Dice) -> bytes:
    """The arrays hold what no policy makes, or are others."""
    body, blobs = opened(data)
    name = dice.choice(sorted(blobs))
    numbers = np.frombuffer(blobs[name], np.float64 if dice.random() < 0.7 else np.int64).copy()
    place = dice.randrange(numbers.size)
    chance = dice.random()
    if chance < 0.6:
        bad: list[Any] = [np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 1e-320, 0.0]
        if numbers.dtype == np.int64:
            bad = [-1, 2**62, 2**63 - 1, -(2**63), 10**6, 61, 1000]
        numbers[place] = dice.choice(bad)
        blobs[name] = numbers.tobytes()
    elif chance < 0.7:
        blobs[name] = blobs[name][: -dice.randrange(1, 9)]
    elif chance < 0.8:
        del blobs[name]
    elif chance < 0.9:
        blobs[dice.choice(["extra.bin", "../x.bin", "/etc/x", "a" * 60_000])] = b"12345678"
    else:
        other = dice.choice(sorted(blobs))
        blobs[name], blobs[other] = blobs[other], blobs[name]
    return sealed(json.dumps(body), blobs)


def enlarge(data: bytes, dice: Dice) -> bytes:
    """Sizes that ask for more memory than the file has, in header and arrays alike."""
    body, blobs = opened(data)
    size = dice.choice([100, 512, 2000, 20_000, 10**6, 10**9, 10**12])
    for path in places(body["policy"]):
        if (
            path
            and path[-1] in ("dim", "plays", "capacity", "stages", "arms")
            and dice.random() < 0.6
        ):
            parent = body["policy"]
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = size
    if dice.random() < 0.5:
        for shape in body["arrays"].values():
            shape[1] = [size for _ in shape[1]]
    return sealed(json.dumps(body), blobs)


def bomb(data: bytes, dice: Dice) -> bytes:
    """Deflated zeros, deep JSON, entries of one name, wrong sizes in the directory."""
    body, blobs = opened(data)
    text, kind = json.dumps(body), dice.randrange(7)
    if kind == 0:
        return sealed(text, {**blobs, "zeros.bin": bytes(10**6)}, zipfile.ZIP_DEFLATED)
    if kind == 1:
        return sealed("[" * 10**5 + "]" * 10**5, blobs)
    if kind == 2:
        start = '{"kind": "state file", "format": 1, "heavybandits": "0", '
        return sealed(f'{start}"policy": {"9" * 5000}}}', blobs)
    if kind == 3:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            name, blob = dice.choice([(n, file.read(n)) for n in file.namelist()])
        buffer = io.BytesIO(data)
        with zipfile.ZipFile(buffer, "a") as file:
            file.filelist[0].filename, real = "z", file.filelist[0].filename
            file.NameToInfo.pop(name, None)
            file.filelist[0].filename = real
            file.writestr(name, blob)
        return buffer.getvalue()
    if kind == 4:
        return data.replace(b"PK\x01\x02", b"PK\x01\x02" + b"\xff" * 4, 1)
    if kind == 5:
        place = data.rindex(b"PK\x05\x06") + dice.randrange(4, 20)
        return data[:place] + dice.randbytes(1) + data[place + 1 :]
    place = data.index(b"PK\x01\x02") + dice.randrange(4, 46)
    return data[:place] + dice.randbytes(4) + data[place + 4 :]


class Touch:
    """What a pickle would do if anybody unpickled it."""

    marker = "/tmp/heavybandits-fuzz-ran-code"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def smuggle(data: bytes, dice: Dice) -> bytes:
    """Pickles where arrays or the whole file should be."""
    body, blobs = opened(data)
    payload = pickle.dumps(Touch())
    if dice.random() < 0.3:
        return payload
    buffer = io.BytesIO()
    np.save(buffer, np.array([Touch()], dtype=object), allow_pickle=True)
    name = dice.choice([*blobs, "header.pkl", "__init__.py"])
    blobs[name] = dice.choice([payload, buffer.getvalue()])
    if dice.random() < 0.3:
        body["policy"] = {"part": "os.system", "fields": {"command": f"touch {Touch.marker}"}}
    return sealed(json.dumps(body), blobs)


Mangle = Callable[[bytes, Dice], bytes]
DAMAGE: tuple[Mangle, ...] = (cut, flip, swap, wipe, grow, splice, noise)
MALICE: tuple[Mangle, ...] = (rewrite, exchange, distort, enlarge, bomb, smuggle)


# ---- what becomes of them


def exercise(found: AgentState) -> None:
    """Use the state uncompiled, where a wrong index is an IndexError and not a wild write."""
    policy, state = found.policy, found.learned
    offer, buffer = Rows(4, policy.dim), make_arm_buffer(policy.dim, 4)
    buffer.features[:, :4] = np.random.default_rng(0).normal(size=(policy.dim, 4))
    with np.errstate(all="ignore"):
        policy.choose(state, offer, buffer)
        policy.learn(state, buffer.chosen.copy(), np.ones(policy.plays))
        policy.estimate_arm(state, buffer.chosen)


@functools.cache
def whole_states() -> frozenset[bytes]:
    """What undamaged files hold: one of them may be whole inside a splice."""
    return frozenset(pack(unpack(data)) for data in seeds())


def judge(mangled: bytes, malicious: bool) -> str:
    """refused, harmless or useless; anything else is a finding and raises."""
    try:
        state = unpack(mangled)
    except hb.StateError:
        return "refused"
    if not malicious:
        assert pack(state) in whole_states(), "a damaged file was loaded as another state"
        return "harmless"
    assert pack(unpack(pack(state))) == pack(state)
    try:
        exercise(state)
    except (ValueError, ZeroDivisionError, OverflowError, AttributeError, TypeError):
        return "useless"  # constants or parts that make no sense; nothing is out of bounds
    return "harmless"


def fuzz(rounds: int, seed: int = 0) -> Counter[tuple[str, str]]:
    """So many mangled files; how many of each kind came to what."""
    dice, files = random.Random(seed), seeds()
    found: Counter[tuple[str, str]] = Counter()
    for _ in range(rounds):
        malicious = dice.random() < 0.5
        mangle = dice.choice(MALICE if malicious else DAMAGE)
        found[mangle.__name__, judge(mangle(dice.choice(files), dice), malicious)] += 1
    assert not Path(Touch.marker).exists(), "a state file ran code"
    return found
