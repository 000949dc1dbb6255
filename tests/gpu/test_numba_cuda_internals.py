"""What the library uses of the inside of numba-cuda: what is missing is said, or done without."""

import contextlib
import importlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import heavybandits as hb
from gpu_cases import cases

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not installed: make gpu-test", allow_module_level=True)

from numba import cuda

from heavybandits.gpu import cache, compile, numba_cuda_internals
from heavybandits.gpu.layout import make_layout, numbers_of

POLICY, PROBLEM = cases()["crtm_10_20"]
PARTS, LAYOUT = (POLICY, *PROBLEM[:3]), make_layout(POLICY, PROBLEM.arms)
PUBLIC = {("numba", "cuda"), ("numba.cuda", "libdevice"), ("numba.cuda.types", "float64")}
VARYING = [False for _ in numbers_of(PARTS)]


def test_what_is_gone_is_named(monkeypatch):
    name = numba_cuda_internals.__name__
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba.cuda.np.arrayobj", None)
    words = r"does not know numba-cuda [\d.]+ with numba [\d.]+ \(.*arrayobj.*\): run `pip install"
    with pytest.raises(hb.DeviceError, match=words):
        importlib.import_module(name)


def test_a_compiler_that_cannot_be_made_to_round_as_the_cpu_is_not_used(monkeypatch):
    monkeypatch.setattr(compile, "rewrite_code", lambda rewrite: contextlib.nullcontext([]))
    monkeypatch.setattr(cuda, "compile_ptx", lambda *given, **options: ("", None))
    with pytest.raises(hb.DeviceError, match="no longer compiles by"):
        compile.compile_ptx(PARTS, VARYING, LAYOUT)


def test_without_its_cache_nothing_is_kept(monkeypatch):
    assert numba_cuda_internals.can_cache()
    monkeypatch.setattr(cache, "can_cache", lambda: False)
    kept = cache.DeviceCache("text", PARTS)
    assert not kept.works
    assert kept.stored(compile.signature_of(PARTS, LAYOUT)) is None


def test_only_one_module_uses_the_inside_of_numba_cuda():
    """Elsewhere only `cuda` itself, `cuda.libdevice` and `cuda.types` are imported."""
    folder = Path(compile.__file__).parent
    imported = re.compile(r"^\s*from (numba[\w.]*) import (\w+)", re.MULTILINE)
    others = [path for path in folder.glob("*.py") if path.name != "numba_cuda_internals.py"]
    found = {pair for path in others for pair in imported.findall(path.read_text())}
    assert found <= PUBLIC
