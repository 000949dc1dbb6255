"""Cells: the pieces of work of an experiment, keyed by content and by the code that matters."""

import ast
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...compiling import parts_of
from ...simulate import Problem, check_problem
from ...state import describe
from ...sweep import Cell

Result = dict[str, Any]
Compute = Callable[..., list[Result]]  # compute(cells, alone=False): results in the order of cells

_PACKAGE = __name__.split(".")[0]
_ALWAYS = ("kernels", "loop", "streams", "simulate")
_NO_MATTER = ("results", "progress", "figures", "files", "validation")  # cannot change a number


def _source(module: str) -> Path | None:
    """The file of a module, loaded or not: what is loaded differs from process to process."""
    root, *inner = module.split(".")
    file = Path(getattr(sys.modules.get(root), "__file__", None) or "")
    if file.name != "__init__.py":
        return file if file.suffix == ".py" and not inner else None
    path = file.parent.joinpath(*inner)
    candidates = (path / "__init__.py", path.with_suffix(".py"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@functools.cache
def _imports(module: str) -> frozenset[str]:
    """The modules that this one imports from its own package."""
    path = _source(module)
    if path is None:
        return frozenset()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            name = ".".join(piece for piece in (base, node.module) if piece)
            found |= {name} | {f"{name}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if _source(name))


def closure(modules: Iterable[str], root: str) -> list[str]:
    """These modules and all they import of the package `root`, directly or not."""
    seen: set[str] = set()
    waiting = list(modules)
    skipped = {f"{_PACKAGE}.{name}" for name in _NO_MATTER} | {_PACKAGE}
    while waiting:
        module = waiting.pop()
        path = _source(module)
        if module in seen or module in skipped or path is None:
            continue
        seen.add(module)
        waiting += [name for name in _imports(module) if name.split(".")[0] == root]
    return sorted(seen)


def code_of(function: str, *parts: Any) -> str:
    """A hash of the sources that can change what this function makes of these parts."""
    return _code_of(function, frozenset().union(*(parts_of(part) for part in parts)))


@functools.cache
def _code_of(function: str, kinds: frozenset[type]) -> str:
    needed = {*closure((f"{_PACKAGE}.{name}" for name in _ALWAYS), _PACKAGE)}
    for module in {base.__module__ for kind in kinds for base in kind.__mro__}:
        needed |= {*closure([module], module.split(".")[0])} if _own(module) else set()
    needed.add(function.split(":")[0])
    digest = hashlib.sha256()
    for path in sorted({path for module in needed if (path := _source(module))}):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _own(module: str) -> bool:
    """Not the standard library, numpy or numba: our sources, or the user's."""
    top = module.split(".")[0]
    return top not in sys.stdlib_module_names and top not in ("numpy", "numba", "builtins")


SIMULATE = "heavybandits.sweep.simulation:simulate_cell"


def simulation_cells(
    policy: Any,
    problem: Problem,
    *,
    horizon: int,
    repetitions: int,
    seed: int,
    checkpoints: Sequence[int],
    label: str,
    chunk: int = 5,
    function: str = SIMULATE,
    **more: Any,
) -> list[Cell]:
    """Cells of up to `chunk` repetitions each, so that asking for more repetitions adds cells."""
    problem = check_problem(problem)
    code = code_of(function, policy, problem)
    plays = getattr(policy, "plays", 1)
    return [
        Cell(
            function=function,
            settings={
                "policy": describe(policy),
                "problem": describe(problem),
                "horizon": horizon,
                "repetitions_from": first,
                "repetitions_to": min(first + chunk, repetitions),
                "seed": seed,
                "checkpoints": [int(play) for play in checkpoints],
            }
            | more,
            code=code,
            label=label,
            weight=horizon
            * (min(first + chunk, repetitions) - first)
            * (1.0 if plays == 1 else 0.1),
        )
        for first in range(0, repetitions, chunk)
    ]
