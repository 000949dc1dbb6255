"""The sources that can change a number: which modules they are, and their hash.

A part or a function of the user's is followed through every import of its module, also those
inside functions, to every module that is neither Python's nor installed. An installed library
counts by its release. Nothing is imported: a module that is not loaded yet is read from its file.

Of this library, the modules count that a module takes names from.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import site
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_PACKAGE = __name__.partition(".")[0]
_STARTED = time.time_ns()
# Modules that cannot change a number: checks, files, figures, and the code of these hashes.
_HARMLESS = (
    f"{_PACKAGE}._utils.",
    f"{_PACKAGE}.core.cache",
    f"{_PACKAGE}.core.compile",
    f"{_PACKAGE}.core.reach",
    f"{_PACKAGE}.core.sources",
    f"{_PACKAGE}.simulation.result",
    f"{_PACKAGE}.simulation.figures",
)
# Calls that run a text or a file: no import tells which.
OPAQUE = {"exec", "eval"}
OPAQUE_METHODS = {"run_path", "run_module", "spec_from_file_location", "SourceFileLoader"}
IMPORTERS = {"import_module", "__import__"}

Version = tuple[int, int, int]  # when a file was written, when it was put there, and its size


# ---- where a module is


def source_file(module: str) -> Path | None:
    """Return the .py file of an imported module; None if it has none, inside a zip for example."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


def origin(module: str) -> str | None:
    """Return the file of a module, loaded or not; None if it has none or does not exist.

    >>> origin("sys") is None, str(origin("heavybandits.core.sources")).endswith("sources.py")
    (True, True)
    """
    if module in sys.modules:
        return getattr(sys.modules[module], "__file__", None)
    spec = _spec(module)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(module: str) -> ModuleSpec | None:
    """Find a module that is not loaded, without loading the packages it is in."""
    parent = module.rpartition(".")[0]
    places = _search_places(parent) if parent else None
    if parent and places is None:
        return None
    for finder in sys.meta_path:
        with contextlib.suppress(Exception):  # a finder of another library
            if (spec := finder.find_spec(module, places)) is not None:
                return spec
    return None


def _search_places(package: str) -> Any:
    if package in sys.modules:
        return getattr(sys.modules[package], "__path__", None)
    spec = _spec(package)
    return None if spec is None else spec.submodule_search_locations


@functools.cache
def _library_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed libraries."""
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    with contextlib.suppress(AttributeError):  # an old virtualenv has its own module `site`
        found |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in found if folder)


@functools.cache
def is_installed(file: str) -> bool:
    """Return True for a file of Python or of an installed library."""
    parts = Path(file).parts
    if "site-packages" in parts or "dist-packages" in parts or file.startswith("<frozen"):
        return True
    return os.path.realpath(file).startswith(_library_folders())


def is_users(module: str) -> bool:
    """Return True for a module that is neither Python's, nor installed, nor this library's.

    >>> is_users("json"), is_users("numpy.linalg"), is_users("heavybandits.core.sources")
    (False, False, False)
    """
    if module == _PACKAGE or module.startswith(f"{_PACKAGE}."):
        return False
    file = origin(module)
    return file is not None and not is_installed(file)


# ---- what a module imports


class Imports(NamedTuple):
    """The modules that a source imports, and the lines that hide others.

    `later` are imported inside functions. `dynamic` is True if a computed name is imported, and
    `opaque` the first line that runs a text or a file.
    """

    first: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    dynamic: bool = False
    opaque: int | None = None


def imports(module: str) -> Imports:
    """Return what a module imports, by its file as it is now."""
    file = origin(module)
    if not file or not file.endswith(".py"):
        return Imports()
    package = getattr(sys.modules.get(module), "__package__", None)
    if package is None:
        is_package = Path(file).name == "__init__.py"
        package = module if is_package else module.rpartition(".")[0]
    return _parse(file, _changed(file), package)


@functools.cache
def _parse(file: str, changed: Version | None, package: str) -> Imports:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return Imports()
    return _Reader(package).read(tree)


class _Reader(ast.NodeVisitor):
    """Collect the imports of a syntax tree."""

    def __init__(self, package: str) -> None:
        self.package, self.depth = package, 0
        self.first: set[str] = set()
        self.later: set[str] = set()
        self.dynamic = False
        self.opaque: int | None = None

    def read(self, tree: ast.AST) -> Imports:
        self.visit(tree)
        return Imports(frozenset(self.first), frozenset(self.later), self.dynamic, self.opaque)

    def _add(self, *names: str) -> None:
        """Add modules and the packages that they are in."""
        found = self.later if self.depth else self.first
        for name in names:
            pieces = name.split(".")
            found.update(".".join(pieces[:size]) for size in range(1, len(pieces) + 1))

    def _nested(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _nested

    def visit_Import(self, node: ast.Import) -> None:
        self._add(*(alias.name for alias in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._add_relative("." * node.level + (node.module or ""), *node.names)

    def _add_relative(self, name: str, *aliases: ast.alias) -> None:
        try:
            base = importlib.util.resolve_name(name, self.package)
        except ImportError:  # beyond the top package: the import itself fails
            return
        self._add(*([base] if base else []), *(f"{base}.{alias.name}" for alias in aliases))

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = getattr(called, "id", getattr(called, "attr", ""))
        plain = isinstance(called, ast.Name)
        first = node.args[0] if node.args else None
        text = first.value if isinstance(first, ast.Constant) else None
        if name in IMPORTERS and isinstance(text, str):
            self._add_relative(text)
        elif name in IMPORTERS:
            self.dynamic = True
        elif name in OPAQUE_METHODS:
            self.opaque = self.opaque or node.lineno
        elif name in OPAQUE and plain:
            self._visit_text(text, node.lineno)
        self.generic_visit(node)

    def _visit_text(self, text: Any, line: int) -> None:
        """Read a text that is run: a constant is parsed, and anything else is opaque."""
        try:
            self._nested(ast.parse(text if isinstance(text, str) else ")"))
        except SyntaxError:
            self.opaque = self.opaque or line


@functools.cache
def _neighbours(module: str) -> frozenset[str]:
    """Return the modules of this library that the names of one of its modules come from.

    Names that another process may not find there do not count: the submodules of a package, which
    appear once they are imported, and objects of other libraries.
    """
    found: set[str] = set()
    for value in vars(sys.modules[module]).values():
        if not isinstance(value, ModuleType):
            found.add(str(getattr(value, "__module__", "")))
        elif not value.__name__.startswith(f"{module}."):
            found.add(value.__name__)
    return frozenset(name for name in found if name.startswith(f"{_PACKAGE}."))


class Closure(NamedTuple):
    """Modules and all that they build on, and the installed libraries that they import."""

    modules: tuple[str, ...]
    libraries: tuple[str, ...]


def closure(modules: Iterable[str]) -> tuple[str, ...]:
    """Return these modules and all of the user's and of this library that they build on.

    >>> names = closure({"heavybandits.parts.estimators.one_pass"})
    >>> "heavybandits.core.linalg" in names, "heavybandits.agents.agent" in names
    (True, False)
    """
    return _close(frozenset(modules)).modules


_CLOSURES: dict[frozenset[str], tuple[Any, Closure]] = {}


def _close(modules: frozenset[str]) -> Closure:
    """Return the closure, found again once a file in it or the search path has changed."""
    found = _CLOSURES.get(modules)
    if found is None or (found[0] is not None and found[0] != _state(found[1])):
        made = _follow(modules)
        found = _CLOSURES[modules] = _state(made), made
    return found[1]


def _state(found: Closure) -> Any:
    """Return what a closure depends on: the files of the user's, and where modules are found."""
    mine = [name for name in found.modules if not name.startswith(f"{_PACKAGE}.")]
    return (tuple(sys.path), [_changed(origin(name) or "") for name in mine]) if mine else None


def _follow(modules: frozenset[str]) -> Closure:
    packages = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    folders = {path.parent for name in modules if (path := source_file(name))}
    seen, libraries = set[str](), set[str]()
    waiting = list(modules)

    def is_followed(name: str) -> bool:
        file = origin(name)
        near = name.partition(".")[0] in packages or Path(file or "").parent in folders
        return file is not None and (near or not is_installed(file))

    while waiting:
        module = waiting.pop()
        if module in seen or module == _PACKAGE or module.startswith(_HARMLESS):
            continue
        if module.startswith(f"{_PACKAGE}."):
            if source_file(module) is not None:
                seen.add(module)
                waiting += _neighbours(module)
        elif is_followed(module):
            seen.add(module)
            read = imports(module)
            # What a function takes from this library while it runs is loaded or not: by chance.
            waiting += read.first
            waiting += [n for n in read.later if n.partition(".")[0] != _PACKAGE]
        elif not is_followed(module.partition(".")[0]):
            libraries.add(module.partition(".")[0])
    return Closure(tuple(sorted(seen)), tuple(sorted(libraries)))


# ---- hashes


def digest(modules: Iterable[str]) -> str:
    """Return a hash of the sources of these modules and of all they build on."""
    found = _close(frozenset(modules))
    files = _library_files(found) or tuple(origin(name) or "" for name in found.modules)
    return _digest(found, files, tuple(map(_changed, files)))


@functools.cache
def _library_files(found: Closure) -> tuple[str, ...] | None:
    """Return the files of modules that are all this library's, which stay where they are."""
    if not all(name.startswith(f"{_PACKAGE}.") for name in found.modules):
        return None
    return tuple(origin(name) or "" for name in found.modules)


def _changed(file: str) -> Version | None:
    """Return which version of a file is there; None if there is none.

    The time of writing alone can be that of an older file.
    """
    try:
        found = os.stat(file)
    except NotADirectoryError:  # in an archive
        return _changed(_container(file)) if _container(file) != file else None
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size


@functools.cache
def _container(file: str) -> str:
    """Return the file itself, or the archive that it is in."""
    path = Path(file)
    return next((str(place) for place in (path, *path.parents) if place.is_file()), file)


@functools.cache
def _digest(found: Closure, files: tuple[str, ...], changed: tuple[Version | None, ...]) -> str:
    total = hashlib.sha256()
    for name, file, when in zip(found.modules, files, changed, strict=True):
        total.update(name.encode() + file_digest(file, when))
    for library in found.libraries:
        total.update(f"{library}:{release(library)};".encode())
    return total.hexdigest()


@functools.cache
def file_digest(file: str, changed: Version | None) -> bytes:
    """Return the SHA-256 of a file; empty if it is not there."""
    with contextlib.suppress(OSError):
        if changed is not None:
            return hashlib.sha256(Path(_container(file)).read_bytes()).digest()
    return b""


def digest_of(file: str) -> str:
    """Return the SHA-256 of a file as it is now; empty if it is not there."""
    return file_digest(file, _changed(file)).hex()


def current_digest(module: str) -> str:
    """Return the SHA-256 of the file of a module as it is now; empty if it has none."""
    return digest_of(origin(module) or "")


@functools.cache
def release(library: str) -> str:
    """Return version and contents of an installed library; empty for Python's own.

    The list of its files identifies the contents, so that the same version, installed again after
    an edit, is another release.
    """
    if library in sys.stdlib_module_names or origin(library) is None:
        return ""
    try:
        found = importlib.metadata.distribution(library)
    except importlib.metadata.PackageNotFoundError:
        names = _distributions().get(library, ())
        return ";".join(_release(importlib.metadata.distribution(name)) for name in sorted(names))
    return _release(found)


@functools.cache
def _distributions() -> Any:
    return importlib.metadata.packages_distributions()


def _release(found: importlib.metadata.Distribution) -> str:
    lines = (found.read_text("RECORD") or "").splitlines()
    sources = sorted(line for line in lines if ".py,sha256=" in line and not line.startswith(".."))
    return f"{found.version}:{hashlib.sha256(chr(10).join(sources).encode()).hexdigest()}"


# ---- sources that were edited since they were loaded


def is_edited(module: str) -> bool:
    """Return True if the source is newer than this process, which may run the older one.

    A file that was copied or moved there keeps the time of its writing.
    """
    changed = _changed(origin(module) or "")
    return changed is None or max(changed[0], changed[1]) > _STARTED


def edited(modules: Iterable[str]) -> bool:
    """Return True if one of these sources is newer than this process.

    Then the stamp belongs to the file and not to the running code: the kernel must not be kept.
    """
    return any(map(is_edited, closure(modules)))


def loaded_users() -> Iterator[str]:
    """Yield the modules of the user's that are loaded."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        ours = name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
        if isinstance(file, str) and not ours and not is_installed(file):
            yield name
