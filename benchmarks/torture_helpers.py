"""Generated projects of users, in which one helper is edited: no old number may come back.

A project is a chain of modules. Each takes a function from the next in one of the ways that people
write: imported at the top or inside a function, through a closure, a default, a decorator, a class,
a dataclass, `functools.partial`, a registry. The last has a constant, and the constant is edited.
Every run is a process of its own. It calls the function through the store of a sweep, or draws from
a noise that compiles the helper, and the number must be the new one.
"""

import contextlib
import importlib
import json
import os
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numba import config

import heavybandits as hb
from heavybandits.core import compile as compiling
from heavybandits.core import sources
from heavybandits.core.kernels import noise_kernel

# How a module defines `g`, given the name {m} of the module that has the next `g`.
HOPS = {
    "from": "from {m} import g as h\ndef g(): return h()\n",
    "again": "from {m} import g\n",
    "star": "from {m} import *\n",
    "module": "import {m} as other\ndef g(): return other.g()\n",
    "lazy": "def g():\n    from {m} import g as h\n    return h()\n",
    "lazy module": "def g():\n    import {m} as other\n    return other.g()\n",
    "import_module": "import importlib\ndef g(): return importlib.import_module('{m}').g()\n",
    "computed": "import importlib\nNAME = ''.join(['{m}'])\n"
    "def g(): return importlib.import_module(NAME).g()\n",
    "__import__": "def g():\n    __import__('{m}')\n    import sys\n"
    "    return sys.modules['{m}'].g()\n",
    "exec": "def g():\n    space = {{}}\n    exec('from {m} import g', space)\n"
    "    return space['g']()\n",
    "eval": "import {m} as other\ndef g(): return eval('other.' + 'g()')\n",
    "run_path": "import importlib.util, runpy\ndef g():\n"
    "    return runpy.run_path(importlib.util.find_spec('{m}').origin)['g']()\n",
    "closure": "from {m} import g as h\ndef make(f):\n    def inner(): return f()\n"
    "    return inner\ng = make(h)\n",
    "default": "from {m} import g as h\ndef g(f=h): return f()\n",
    "keyword": "from {m} import g as h\ndef g(*, f=h): return f()\n",
    "partial": "import functools\nfrom {m} import g as h\ndef call(f): return f()\n"
    "g = functools.partial(call, h)\n",
    "wraps": "import functools\nfrom {m} import g as h\n@functools.wraps(h)\ndef g(): return h()\n",
    "cache": "import functools\nfrom {m} import g as h\n@functools.cache\ndef g(): return h()\n",
    "method": "from {m} import g as h\nclass Tool:\n    def call(self): return h()\n"
    "g = Tool().call\n",
    "static": "import {m} as other\nclass Tool:\n    @staticmethod\n"
    "    def call(): return other.g()\ndef g(): return Tool.call()\n",
    "property": "from {m} import g as h\nclass Tool:\n    @property\n"
    "    def value(self): return h()\ndef g(): return Tool().value\n",
    "attribute": "from {m} import g as h\nclass Tool:\n    f = staticmethod(h)\n"
    "def g(): return Tool.f()\n",
    "inherited": "from {m} import g as h\nclass Base:\n    def value(self): return h()\n"
    "class Tool(Base): pass\ndef g(): return Tool().value()\n",
    "dataclass": "from dataclasses import dataclass\nfrom typing import Any\n"
    "from {m} import g as h\n@dataclass(frozen=True)\nclass Box:\n    f: Any = h\n"
    "BOX = Box()\ndef g(): return BOX.f()\n",
    "factory": "from dataclasses import dataclass, field\nfrom typing import Any\n"
    "def late():\n    from {m} import g as h\n    return h\n@dataclass\nclass Box:\n"
    "    f: Any = field(default_factory=late)\ndef g(): return Box().f()\n",
    "table": "import {m} as other\nTABLE = {{'g': [other.g]}}\ndef g(): return TABLE['g'][0]()\n",
    "lambda": "from {m} import g as h\ng = lambda: h()\n",
    "constant": "from {m} import g as h\nVALUE = h()\ndef g(): return VALUE\n",
    "guarded": "try:\n    from {m} import g as h\nexcept ImportError:\n    h = None\n"
    "def g(): return h()\n",
    "reader": "import importlib.util\ndef g():\n"
    "    file = importlib.util.find_spec('{m}').origin\n"
    "    spec = importlib.util.spec_from_file_location('x', file)\n"
    "    made = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(made)\n"
    "    return made.g()\n",
}
# The same for what compiled code calls.
JIT_HOPS = {
    "from": "from {m} import g as h\n@jitable\ndef g(): return h()\n",
    "again": "from {m} import g\n",
    "module": "import {m} as other\nh = other.g\n@jitable\ndef g(): return h()\n",
    "njit": "import numba\nfrom {m} import g as h\n@numba.njit\ndef g(): return h()\n",
    "made": "from {m} import g as h\ndef make(f):\n    def inner(): return f()\n"
    "    return jitable(inner)\ng = make(h)\n",
    "default": "from {m} import g as h\nVALUE = h()\n@jitable\ndef g(x=VALUE): return x\n",
    "constant": "from {m} import g as h\nVALUE = h()\n@jitable\ndef g(): return VALUE\n",
    "tuple": "from {m} import g as h\nVALUES = (0.0, h())\n@jitable\ndef g(): return VALUES[1]\n",
    "array": "import numpy as np\nfrom {m} import g as h\nVALUES = np.array([h()])\n@jitable\n"
    "def g(): return VALUES[0]\n",
}
FUNCTION = "def f(n):\n    return {'y': n * g()}\n"
NOISE = """
from typing import NamedTuple
class Ramp(NamedTuple):
    scale: float
    def draw(self, key, play):
        return self.scale * play + g()
"""
LEAF = "from heavybandits.authoring import jitable\nC = {}\n@jitable\ndef g(): return C\n"
PLACES = ("", "", "lib", "pkg", "pkg/sub")  # folders of a project; `lib` is on the path


class Project:
    """A folder of modules, the hops between them, and the file with the constant."""

    def __init__(self, folder: Path, dice: random.Random, compiled: bool) -> None:
        self.folder, self.compiled = folder, compiled
        hops, self.hops = JIT_HOPS if compiled else HOPS, list[str]()
        self.planted = dice.random() < 0.15
        for place in PLACES:
            (folder / place).mkdir(exist_ok=True)
        for package in ("pkg", "pkg/sub"):
            (folder / package / "__init__.py").touch()
        places = [dice.choice(PLACES) for _ in range(dice.randrange(1, 4))]
        names = [self._name(place, number) for number, place in enumerate(places)]
        self.leaf = folder / places[-1] / f"m{len(places) - 1}.py"
        for number, place in enumerate(places[:-1]):
            hop = dice.choice([*hops])
            text = hops[hop].format(m=names[number + 1])
            (folder / place / f"m{number}.py").write_text(f"{HEAD}{text}")
            self.hops.append(hop)
        first = dice.choice([*hops])
        self.hops.insert(0, first)
        body = "g = None\n" if self.planted else hops[first].format(m=names[0])
        self.top = names[0]
        (folder / "work.py").write_text(HEAD + body + (NOISE if compiled else FUNCTION))
        self.edit(1.0)

    def _name(self, place: str, number: int) -> str:
        inside = place.replace("/", ".") + "." if place.startswith("pkg") else ""
        return f"{inside}m{number}"

    def edit(self, constant: float) -> None:
        self.leaf.write_text(LEAF.format(constant))

    def run(self) -> dict[str, Any]:
        """Return what a new process gets."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with contextlib.suppress(BaseException):
                os.write(write, json.dumps(self._answer()).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return json.loads(text or '{"error": "no answer"}')

    def _answer(self) -> dict[str, Any]:
        sources._STARTED = time.time_ns()  # as in a process that starts now
        sys.dont_write_bytecode = True
        os.chdir(self.folder)
        sys.path[:0] = [str(self.folder), str(self.folder / "lib")]
        importlib.invalidate_caches()
        config.CACHE_DIR = str(self.folder / "kernels")
        work = importlib.import_module("work")
        if self.planted:  # by the script, and known to no import of the module
            vars(work)["g"] = importlib.import_module(self.top).g
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                number, again = self._draw(work) if self.compiled else self._sweep(work)
            except Exception as error:
                return {"error": f"{type(error).__name__}: {error}"}
        warned = any(issubclass(one.category, hb.ReuseWarning) for one in heard)
        return {"number": number, "reused": again, "warned": warned}

    def _sweep(self, work: Any) -> tuple[float, bool]:
        def count() -> list[float]:
            return sorted(p.stat().st_mtime_ns for p in Path("store/timings").glob("*.json"))

        before = count()
        found = hb.map_cells(work.f, [{"n": 1.0}], folder="store", backend="sequential")
        return float(found.data["y"][0]), count() == before

    def _draw(self, work: Any) -> tuple[float, bool]:
        noise, key, out = work.Ramp(2.0), np.uint64(1), np.zeros(1)
        compiling.compiled(noise_kernel, noise, key, 0, out)(noise, key, 0, out)
        return float(out[0]), compiling.count_kernels()[1] > 0


HEAD = "from heavybandits.authoring import jitable\n"


def edit_helpers(attempts: int, seed: int) -> Counter[str]:
    """Run a project, run it again, edit its helper, and run it once more."""
    outcomes: Counter[str] = Counter()
    dice = random.Random(seed)
    for _ in range(attempts):
        compiled = dice.random() < 0.2
        with tempfile.TemporaryDirectory() as place:
            project = Project(Path(place), dice, compiled)
            first, second = project.run(), project.run()
            project.edit(2.0)
            third = project.run()
        chain = "kernel" if compiled else "sweep"
        hops = ", ".join(["planted"] if project.planted else []) or " > ".join(project.hops)
        found = [run.get("number", run.get("error")) for run in (first, second, third)]
        if found != [1.0, 1.0, 2.0]:
            outcomes[f"FAULT: {chain} through {hops}: {found}"] += 1
            continue
        outcomes[f"{chain}: the new number"] += 1
        outcomes[f"({chain}: {'reused' if second['reused'] else 'computed again'} unedited)"] += 1
        if second["warned"]:
            outcomes["(with a ReuseWarning)"] += 1
        elif not second["reused"]:
            outcomes[f"(not reused: {hops})"] += 1
    return outcomes
