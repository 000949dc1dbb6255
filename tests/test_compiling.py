"""The disk cache: a second process hits, an edit misses, and no broken disk ever stops a user."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import heavybandits as hb
from heavybandits.engine.compiling import is_cacheable, stamp_of
from heavybandits.engine.kernels import learn_kernel

PACKAGE = Path(hb.__file__).parent

# Draw three numbers of a noise in compiled code; say what came out and what the cache did.
SCRIPT = """
import json, sys
import numpy as np
import heavybandits as hb
from heavybandits import compiling
from heavybandits.engine.kernels import noise_kernel
{setup}
key, out = np.uint64(1), np.zeros(3)
compiling.compiled(noise_kernel, noise, key, 0, out)(noise, key, 0, out)
stats = [dispatcher.stats for dispatcher in compiling._dispatchers.values()]
hits = sum(sum(s.cache_hits.values()) for s in stats)
print(json.dumps({{"hits": hits, "values": out.tolist(), "package": hb.__file__}}))
"""
OURS = "noise = hb.noises.Gaussian(1.0)"
THEIRS = "from mine import Ramp; noise = Ramp(2.0)"
RAMP = """
from typing import NamedTuple

class Ramp(NamedTuple):
    scale: float

    def draw(self, key, play):
        return self.scale * play + {offset}
"""


class Machine:
    """A folder with the package installed in it, a home, and room for modules of the user."""

    def __init__(self, root: Path) -> None:
        self.site, self.home, self.mine = root / "site", root / "home", root / "mine"
        for folder in (self.home, self.mine):
            folder.mkdir()
        shutil.copytree(
            PACKAGE, self.site / "heavybandits", ignore=shutil.ignore_patterns("__pycache__")
        )

    def run(self, setup: str = OURS, before: list[str] | None = None, **environment: str):
        """The result of the script in a process of its own; `before` are commands to prefix."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "PYTHON"))}
        kept |= {"HOME": str(self.home), "PYTHONPATH": f"{self.site}:{self.mine}"}
        kept |= {"PYTHONDONTWRITEBYTECODE": "1", **environment}
        command = [*(before or []), sys.executable, "-c", SCRIPT.format(setup=setup)]
        ended = subprocess.run(command, env=kept, cwd=self.mine, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == ""
        answer = json.loads(ended.stdout)
        assert answer["package"].startswith(str(self.site))
        return answer

    def cached(self) -> list[Path]:
        return sorted(self.site.rglob("*.nb[ci]"))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What the script prints where everything works."""
    return Machine(tmp_path_factory.mktemp("plain")).run()["values"]


# ---- hits and misses


def test_a_second_process_hits_and_a_touched_file_does_not_matter(machine, expected):
    first, second = machine.run(), machine.run()
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["values"] == second["values"] == expected
    for path in (machine.site / "heavybandits").glob("*.py"):
        os.utime(path, (1, 1))
    assert machine.run()["hits"] == 1


def test_an_edited_part_of_ours_misses_and_gives_the_new_number(machine, expected):
    machine.run()
    path = machine.site / "heavybandits" / "streams.py"  # not the kernel's file, nor the part's
    text = path.read_text()
    assert "+ 0.5) * 2.0**-52" in text
    path.write_text(text.replace("+ 0.5) * 2.0**-52", "+ 0.5) * 2.0**-53"))
    edited = machine.run()
    assert edited["hits"] == 0
    assert edited["values"] != expected
    path.write_text(text)
    assert machine.run() == {**edited, "hits": 1, "values": expected}


def test_a_module_of_the_users_is_cached_and_an_edit_is_seen(machine):
    module = machine.mine / "mine.py"
    module.write_text(RAMP.format(offset="0.0"))
    assert machine.run(THEIRS)["values"] == [0.0, 2.0, 4.0]
    assert machine.run(THEIRS)["hits"] == 1
    module.write_text(RAMP.format(offset="0.5"))
    edited = machine.run(THEIRS)
    assert (edited["hits"], edited["values"]) == (0, [0.5, 2.5, 4.5])
    # Another program, which does not have the module, must still find its own entries.
    machine.run()
    module.unlink()
    assert machine.run()["hits"] == 1


def test_an_edit_in_what_the_users_module_imports_is_seen(machine):
    """A function, and a number, which nobody can ask where it came from."""
    module, helper, number = (machine.mine / f"{n}.py" for n in ("mine", "helper", "number"))
    imports = "from helper import shift\nfrom number import MORE\n"
    module.write_text(imports + RAMP.format(offset="shift() + MORE"))
    shifted = "from numba.extending import register_jitable as j\n@j\ndef shift(): return {}\n"
    for shift, more in ((0.5, 1.0), (1.5, 1.0), (1.5, 2.0)):
        helper.write_text(shifted.format(shift))
        number.write_text(f"MORE = {more}\n")
        answer = machine.run(THEIRS)
        assert (answer["hits"], answer["values"][0]) == (0, shift + more)
    assert machine.run(THEIRS)["hits"] == 1


def test_a_class_typed_at_a_prompt_is_never_kept_on_disk(machine):
    """Its source cannot be watched, so that a kept entry would come back after an edit."""
    for offset, values in (("0.0", [0.0, 2.0, 4.0]), ("1.0", [1.0, 3.0, 5.0])):
        answer = machine.run(RAMP.format(offset=offset) + "\nnoise = Ramp(2.0)")
        assert (answer["hits"], answer["values"]) == (0, values)
    assert machine.cached() == []


# ---- the nine cases of deployment; the first two are above


def read_only(*folders: Path) -> list[str]:
    """Commands before which these folders can be written to and after which they cannot."""
    if os.geteuid() != 0:
        for folder in folders:
            for path in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
                path.chmod(0o555)
        return []
    mounts = [f"mount --bind {f} {f} && mount -o remount,ro,bind {f}" for f in folders]
    probe = ["unshare", "-m", "sh", "-c", " && ".join(mounts)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("root ignores file modes, and read-only mounts are not allowed here")
    return ["unshare", "-m", "sh", "-c", " && ".join(mounts) + ' && exec "$0" "$@"']


@pytest.fixture(autouse=True)
def _writable_again(tmp_path):
    yield
    for path in (tmp_path, *(p for p in tmp_path.rglob("*") if p.is_dir())):
        path.chmod(0o755)


def test_read_only_packages_use_the_home(machine, expected):
    before = read_only(machine.site)
    assert machine.run(before=before)["values"] == expected
    assert machine.run(before=before)["hits"] == 1
    assert machine.cached() == []


def test_nowhere_to_write(machine, expected, tmp_path):
    before = read_only(machine.site, machine.home)
    assert machine.run(before=before)["values"] == expected
    cache = tmp_path / "cache"
    cache.mkdir()
    machine.run(before=before, NUMBA_CACHE_DIR=str(cache))
    assert machine.run(before=before, NUMBA_CACHE_DIR=str(cache))["hits"] == 1


def test_a_filled_cache_that_became_read_only(machine, expected, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    machine.run(NUMBA_CACHE_DIR=str(cache))
    before = read_only(machine.site, machine.home, cache)
    assert machine.run(before=before, NUMBA_CACHE_DIR=str(cache))["values"] == expected


def test_a_filled_package_that_became_read_only(machine, expected):
    machine.run()
    assert machine.cached()
    before = read_only(machine.site, machine.home)
    assert machine.run(before=before)["values"] == expected


def test_a_home_that_is_none(machine, expected):
    answer = machine.run(before=read_only(machine.site), HOME="/dev/null")
    assert answer["values"] == expected


def test_a_disk_that_takes_no_more(machine, expected):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))\n"
    assert machine.run(full + OURS)["values"] == expected
    assert machine.run()["values"] == expected


def test_damaged_cache_files(machine, expected):
    machine.run()
    for path in machine.cached():
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"\x80garbage"):
            path.write_bytes(damaged)
            assert machine.run()["values"] == expected
        path.write_bytes(whole)
    assert machine.run()["hits"] == 1


# ---- what a stamp sees


def test_stamps_follow_the_parts():
    crtm = hb.crtm(dim=2, horizon=10, moment=1.0)
    mark = stamp_of(learn_kernel, crtm)
    assert mark == stamp_of(learn_kernel, crtm._replace(radius=hb.radii.Constant(7.0)))
    assert mark != stamp_of(learn_kernel, hb.noises.Gaussian())


def test_classes_that_last():
    class Local(hb.links.Logistic):
        __slots__ = ()

    assert is_cacheable(hb.links.Logistic)
    assert not is_cacheable(Local)


def test_switched_off_compilation_gives_the_same_numbers(machine, expected):
    script = "import numpy; numpy.seterr(over='ignore')\n" + OURS
    assert machine.run(script, NUMBA_DISABLE_JIT="1")["values"] == expected
