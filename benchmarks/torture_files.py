"""Whatever is saved, the k-th call that touches the disk fails, for every k and several errors."""

import errno
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import heavybandits as hb
from all_policies import POLICIES
from failing import Failing, calls_of
from heavybandits._utils.files import replace_atomically
from heavybandits.core.cache import write_checked

Save = Callable[[Path], object]
CODES = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EINTR, errno.EROFS)


def savings() -> Iterator[Save]:
    """Everything that is written at once or not at all."""
    for policy in POLICIES.values():
        yield hb.Agent(policy).save
    yield lambda path: write_checked(path, b"key", b"machine code" * 1000)
    yield lambda path: replace_atomically(path, lambda target: target.write_bytes(b"x" * 10**6))


def fail_calls(attempts: int, seed: int) -> Counter[str]:
    """An error must mean that the file is what it was, and no error that it is the new one."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    saves = list(savings())
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "kept" / "file"
        path.parent.mkdir(mode=0o700)
        for number in itertools.count():
            save, old = saves[number % len(saves)], dice.choice([None, b"old"])
            save(path)
            new = path.read_bytes()
            for k in range(calls_of(lambda save=save: save(path))):  # type: ignore[misc]
                if outcomes.total() == attempts:
                    return outcomes
                lasting, code = dice.random() < 0.5, dice.choice(CODES)
                outcomes[_fail_once(save, path, old, new, Failing(k, code, lasting))] += 1
    return outcomes


def _fail_once(save: Save, path: Path, old: bytes | None, new: bytes, failing: Failing) -> str:
    for left in path.parent.iterdir():
        left.unlink()
    if old is not None:
        path.write_bytes(old)
    told = "no error"
    try:
        with failing:
            save(path)
    except OSError:
        told = "error"
    held = path.read_bytes() if path.exists() else None
    if any(left != path for left in path.parent.iterdir()):
        return "FAULT: a file was left behind"
    if held == (new if told == "no error" else old):
        return f"{told}, the file is {'new' if told == 'no error' else 'what it was'}"
    return f"FAULT: {told}, and the file is {'new' if held == new else 'damaged or lost'}"
