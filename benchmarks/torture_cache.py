"""Damaged files of compiled kernels: each is met by a process of its own."""

import os
import random
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import config

import heavybandits as hb
from heavybandits.core import compile as compiling
from heavybandits.core.kernels import noise_kernel

Damage = Callable[[bytes, bytes, random.Random], bytes]


def draws(noise: hb.noises.Gaussian | hb.noises.Laplace) -> bytes:
    """Three draws of compiled code, through the cache on disk."""
    compiling._kernels.clear()
    key, out = np.uint64(1), np.zeros(3)
    compiling.compiled(noise_kernel, noise, key, 0, out)(noise, key, 0, out)
    return out.tobytes()


def flip(whole: bytes, other: bytes, dice: random.Random) -> bytes:
    changed = bytearray(whole)
    changed[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def cut(whole: bytes, other: bytes, dice: random.Random) -> bytes:
    return whole[: dice.randrange(len(whole))]


def blank(whole: bytes, other: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(whole))
    stop = min(start + 4096, len(whole))
    return whole[:start] + b"\0" * (stop - start) + whole[stop:]


def swap(whole: bytes, other: bytes, dice: random.Random) -> bytes:
    return other


def splice(whole: bytes, other: bytes, dice: random.Random) -> bytes:
    place = dice.randrange(min(len(whole), len(other)))
    return whole[:place] + other[place:]


def damage_cache(attempts: int, seed: int) -> Counter[str]:
    """Every start must give the right numbers, whatever is in the file."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    noise, other = hb.noises.Gaussian(), hb.noises.Laplace()
    before = config.CACHE_DIR
    with tempfile.TemporaryDirectory() as place:
        config.CACHE_DIR = place
        expected = draws(noise)
        (path,) = Path(place).rglob("*.nbc")
        draws(other)
        (stranger,) = set(Path(place).rglob("*.nbc")) - {path}
        whole, strange = path.read_bytes(), stranger.read_bytes()
        for _ in range(attempts):
            damage: Damage = dice.choice([flip, flip, flip, cut, blank, swap, splice])
            damaged = damage(whole, strange, dice)
            path.write_bytes(damaged)
            same = damaged == whole
            outcomes[_start(noise, expected, path, same)] += 1
        config.CACHE_DIR = before
    return outcomes


def _start(noise: hb.noises.Gaussian, expected: bytes, path: Path, same: bool) -> str:
    """What becomes of a process that finds this file. It inherits compiled code of nothing."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            warnings.simplefilter("ignore")
            status = 0 if draws(noise) == expected else 4
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"FAULT: {signal.Signals(os.WTERMSIG(status)).name}"
    if os.WEXITSTATUS(status):
        return f"FAULT: exit status {os.WEXITSTATUS(status)}"
    return "undamaged, used" if same else "compiled again, the right numbers"
