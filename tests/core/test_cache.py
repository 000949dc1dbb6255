"""The disk cache: a second process hits, an edit misses, and no broken disk ever stops a user."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import heavybandits as hb
from heavybandits.core.cache import read_checked, write_checked
from heavybandits.core.compile import is_cacheable, stamp_of
from heavybandits.core.kernels import learn_kernel

PACKAGE = Path(hb.__file__).parent

# Draw three numbers of a noise in compiled code; say what came out and what the cache did.
SCRIPT = """
import json, sys
import numpy as np
import heavybandits as hb
from heavybandits.core import compile as compiling
from heavybandits.core.kernels import noise_kernel
{setup}
key, out = np.uint64(1), np.zeros(3)
compiling.compiled(noise_kernel, noise, key, 0, out)(noise, key, 0, out)
_, hits = compiling.count_kernels()
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

    def run(
        self,
        setup: str = OURS,
        before: list[str] | None = None,
        warned: str = "",
        **environment: str,
    ):
        """The result of the script in a process of its own; `before` are commands to prefix.

        `warned` is what its standard error says: once, or if empty, nothing at all.
        """
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "PYTHON"))}
        kept |= {"HOME": str(self.home), "PYTHONPATH": f"{self.site}:{self.mine}"}
        kept |= {"PYTHONDONTWRITEBYTECODE": "1", **environment}
        command = [*(before or []), sys.executable, "-c", SCRIPT.format(setup=setup)]
        ended = subprocess.run(command, env=kept, cwd=self.mine, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr.count(warned) == 1 if warned else ended.stderr == ""
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
    for path in (machine.site / "heavybandits").rglob("*.py"):
        os.utime(path, (1, 1))
    assert machine.run()["hits"] == 1


def test_an_edited_part_of_ours_misses_and_gives_the_new_number(machine, expected):
    machine.run()
    path = (
        machine.site / "heavybandits" / "core" / "rng.py"
    )  # not the kernel's file, nor the part's
    text = path.read_text()
    assert "+ 0.5) * 2.0**-52" in text
    path.write_text(text.replace("+ 0.5) * 2.0**-52", "+ 0.5) * 2.0**-53"))
    edited = machine.run()
    assert edited["hits"] == 0
    assert edited["values"] != expected
    path.write_text(text)
    assert machine.run() == {**edited, "hits": 1, "values": expected}


def test_an_edit_while_a_process_runs_is_not_taken_for_what_it_runs(machine, expected):
    """The process goes on with what it imported; the next one must not find that under the edit."""
    path = machine.site / "heavybandits" / "core" / "rng.py"
    edit = f"p = __import__('pathlib').Path({str(path)!r}); t = p.read_text()\n"
    edit += "p.write_text(t.replace('2.0**-52', '2.0**-53'))\n"
    assert machine.run(edit + OURS)["values"] == expected
    later = machine.run()
    assert later["hits"] == 0
    assert later["values"] != expected


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


def test_a_constant_that_changed_after_the_class_was_compiled_is_refused(machine):
    """Numba keeps the old one, and the disk must not get it under the key of the new one."""
    (machine.mine / "mine.py").write_text("MORE = 0.5\n" + RAMP.format(offset="MORE"))
    draw = "\nout = np.zeros(3)\ncompiling.compiled(noise_kernel, noise, np.uint64(1), 0, out)"
    script = f"{THEIRS}{draw}\nimport mine; mine.MORE = 1.5\n"
    caught = f"try:{draw.replace(chr(10), chr(10) + '    ')}\nexcept hb.PartError: "
    script += f"{caught}\n    mine.MORE = 0.5\nelse:\n    assert False"
    assert machine.run(script)["values"] == [0.5, 2.5, 4.5]
    again = machine.run(f"{THEIRS}\nimport mine; mine.MORE = 1.5")
    assert (again["hits"], again["values"]) == (0, [1.5, 3.5, 5.5])


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
    unmeasured = ["env", "-u", "COVERAGE_PROCESS_CONFIG"]  # which would want to write, too
    assert machine.run(full + OURS, unmeasured)["values"] == expected
    assert machine.run()["values"] == expected


# ---- files that are not what they were


def flipped(whole: bytes, place: int) -> bytes:
    """One bit of these bytes turned round."""
    changed = bytearray(whole)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_damaged_cache_files_are_compiled_anew(machine, expected):
    """D6: 68 of 364 bit flips crashed every start, and one gave other numbers."""
    machine.run()
    (path,) = machine.cached()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], flipped(whole, 4 * len(whole))):
        path.write_bytes(damaged)
        assert (answer := machine.run())["values"] == expected
        assert answer["hits"] == 0
    assert machine.run()["hits"] == 1


def test_no_flipped_bit_is_overlooked(tmp_path):
    """D6, without a process for each: every bit, every length, another key, another name."""
    path, key = tmp_path / "kernels" / "play.nbc", b"play for Logistic"
    write_checked(path, key, b"machine code")
    whole = path.read_bytes()
    damaged = [flipped(whole, place) for place in range(8 * len(whole))]
    damaged += [whole[:size] for size in range(len(whole))] + [whole + b"\0"]
    for data in damaged:
        path.write_bytes(data)
        assert read_checked(path, key) is None
        assert not path.exists()
    path.write_bytes(whole)
    assert read_checked(path, key) == b"machine code"
    assert read_checked(path, b"play for Probit") is None


def test_a_file_in_the_place_of_another_is_not_used(machine, expected):
    """D6: a swapped file raised KeyError outside the guard."""
    machine.run()
    ours = set(machine.cached())
    other = "noise = hb.noises.Laplace(1.0)"
    laplace = machine.run(other)["values"]
    (theirs,) = set(machine.cached()) - ours
    (ours,) = ours
    first, second = ours.read_bytes(), theirs.read_bytes()
    ours.write_bytes(second)
    theirs.write_bytes(first)
    assert machine.run() == {**machine.run(), "hits": 0, "values": expected}
    assert machine.run(other)["values"] == laplace


def test_a_file_of_others_runs_no_code(machine, expected, tmp_path):
    """D6: cached kernels are pickles, and a pickle does what it says."""
    machine.run()
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    for path in machine.cached():
        path.write_bytes(pickle.dumps(Bomb()))
    assert machine.run()["values"] == expected
    assert not marker.exists()


def opened(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o022)


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize(
    ("spoil", "level"),
    [(opened, 0), (opened, 1), (opened, 2), (given_away, 0), (given_away, 2)],
)
def test_what_others_could_have_written_is_refused(machine, expected, tmp_path, spoil, level):
    """D6: code ran from a cache folder that others could write."""
    cache = tmp_path / "cache"
    cache.mkdir()
    machine.run(NUMBA_CACHE_DIR=str(cache))
    (path,) = cache.rglob("*.nbc")
    place = [path, path.parent, cache][level]
    spoil(place)
    if spoil is given_away and level == 2:
        assert machine.run(NUMBA_CACHE_DIR=str(cache))["hits"] == 1  # what is in it is ours alone
        return
    for _ in range(2):
        answer = machine.run(NUMBA_CACHE_DIR=str(cache), warned=f"{place} belongs to another user")
        assert (answer["hits"], answer["values"]) == (0, expected)


def test_kernels_on_disk_are_for_their_owner_alone(machine):
    machine.run()
    (path,) = machine.cached()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


# ---- what a stamp sees


def test_stamps_follow_the_parts():
    crtm = hb.crtm(dim=2, horizon=10, raw_moment=1.0)
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
