"""The pages of the API reference, one per public name, written from the package itself.

A new part, algorithm or function appears by itself: its page is made from its family's `__all__`,
and which algorithms use it is found by building every algorithm of the catalogue.
"""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import heavybandits as hb
from docstrings import bare_type
from heavybandits.algorithms import catalogue
from writing import renew


class Kind(NamedTuple):
    """One kind of thing: its page, title, module, and the guide to more about it."""

    page: str
    title: str
    module: str
    guide: str = ""
    together: bool = False  # many small things: one page for all of them

    @property
    def is_family(self) -> bool:
        """Return True if all names of its module are of this kind."""
        return self.module != "heavybandits"


KINDS = (
    Kind("algorithms", "Algorithms", "heavybandits", "algorithms"),
    Kind("links", "Links", "heavybandits.links", "own_link"),
    Kind("noises", "Noises", "heavybandits.noises", "own_noise"),
    Kind("arms", "Arm sets", "heavybandits.arms", "own_arm_set"),
    Kind("filters", "Filters", "heavybandits.filters", "own_filter"),
    Kind("estimators", "Estimators", "heavybandits.estimators", "own_estimator"),
    Kind("radii", "Radii", "heavybandits.radii", "own_radius"),
    Kind("policies", "Policies", "heavybandits.policies", "own_algorithm"),
    Kind("worlds", "Worlds", "heavybandits.worlds", "worlds"),
    Kind("recorders", "Recorders", "heavybandits.recorders", "record"),
    Kind("parts", "Parts of your own", "heavybandits.authoring", "own_parts", together=True),
    Kind("features", "Features", "heavybandits", "features"),
    Kind("agents", "Agents", "heavybandits", "delayed_rewards"),
    Kind("simulation", "Simulation and sweeps", "heavybandits", "compare"),
    Kind("data", "Data", "heavybandits", "replay_your_logs"),
    Kind("theory", "Theory", "heavybandits.theory", "paper"),
    Kind("errors", "Errors", "heavybandits"),
)
INTRODUCTIONS = {
    "algorithms": "Each takes the constants of its paper by keyword and returns a policy.",
    "agents": "A policy at work: decisions, late rewards, state files, checks of your policies.",
    "features": "Rows with names, categories, dates and gaps, made into the numbers of a policy.",
    "simulation": "Policies against a problem whose answer is known, once or many thousand times.",
    "data": "Rewards you already have: are they heavy-tailed, and what would a policy have made?",
    "errors": "Everything that the library raises on purpose. Messages name the argument.",
}
# Which page the public names of a package belong to; exceptions are always errors.
OWNERS = {
    "algorithms": "algorithms",
    "agents": "agents",
    "ledger": "agents",
    "testing": "agents",
    "simulation": "simulation",
    "sweeps": "simulation",
    "offline": "data",
    "experiments": "data",
    "integrations": "simulation",
    "features": "features",
}
CONSTANTS = {"heavybandits.ALGORITHMS": "algorithms", "heavybandits.DriftReport": "agents"}
APART = tuple(
    f"heavybandits.{name}"
    for name in (
        "features",
        "sweeps",
        "experiments.data",
        "integrations.gymnasium",
        "integrations.coba",
    )
)


def public_names(module: ModuleType) -> list[str]:
    """What a module has: its `__all__`, or what it defines and documents itself."""
    if hasattr(module, "__all__"):
        return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    own = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    home = {name: getattr(thing, "__module__", "") for name, thing in own.items()}
    return [n for n in own if home[n] == module.__name__ and own[n].__doc__]


def find_names() -> dict[str, list[str]]:
    """The full names of every kind, by page."""
    pages: dict[str, list[str]] = {kind.page: [] for kind in KINDS}
    seen: set[int] = set()
    for kind in KINDS:
        if kind.is_family:
            for name in public_names(importlib.import_module(kind.module)):
                pages[kind.page].append(f"{kind.module}.{name}")
    for module in (hb, *map(importlib.import_module, APART)):
        for name in public_names(module):
            full, thing = f"{module.__name__}.{name}", getattr(module, name)
            if id(thing) not in seen:
                pages[owner_of(full, thing)].append(full)
            seen.add(id(thing))
    order = {function_of(name): i for i, name in enumerate(catalogue.ALGORITHMS)}
    pages["algorithms"].sort(key=lambda name: order.get(name, len(order)))
    return pages


def owner_of(full: str, thing: Any) -> str:
    """The page of a public name."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return "errors"
    home = full if full.count(".") > 1 else getattr(thing, "__module__", "")
    package = home.split(".")[1:2]
    if package and package[0] in OWNERS:
        return OWNERS[package[0]]
    if full in CONSTANTS:
        return CONSTANTS[full]
    raise ValueError(f"{full} has no page: name its package in OWNERS of {__file__}")


def function_of(algorithm: str) -> str:
    """The full name of the function that makes an algorithm of the catalogue."""
    return f"heavybandits.{catalogue.ALGORITHMS[algorithm].function.__name__}"


def find_users(names: dict[str, list[str]]) -> dict[str, list[str]]:
    """The algorithms that use a part, and the parts of an algorithm, by full name."""
    classes = {resolve(name): name for page in names.values() for name in page if is_class(name)}
    users: dict[str, list[str]] = {}
    for algorithm in catalogue.ALGORITHMS:
        function = function_of(algorithm)
        if function not in names["algorithms"]:  # random play is a policy and no function
            continue
        for part in walk(catalogue.example(algorithm)):
            if type(part) in classes:
                users.setdefault(classes[type(part)], []).append(function)
                users.setdefault(function, []).append(classes[type(part)])
    return {name: list(dict.fromkeys(found)) for name, found in users.items()}


def walk(part: Any) -> list[Any]:
    """A part and the parts in its fields."""
    if not hasattr(part, "_fields"):
        return []
    return [part, *(inner for field in part for inner in walk(field))]


def resolve(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def is_class(full: str) -> bool:
    return inspect.isclass(resolve(full))


def link_targets() -> dict[str, str]:
    """Short names with the page they mean, where only one thing has that name.

    What own parts need goes by `parts.dot`: words such as `radius` mean other things, too.
    """
    found: dict[str, list[str]] = {}
    for page, names in find_names().items():
        for full in names:
            module, _, name = full.rpartition(".")
            dotted = f"{module.rpartition('.')[2]}.{name}"
            for short in (dotted,) if page == "parts" else (name, dotted):
                found.setdefault(short, []).append(full)
    return {short: names[0] for short, names in found.items() if len(names) == 1}


def link(full: str) -> str:
    return f":py:obj:`{full.rpartition('.')[2]} <{full}>`"


def heading(title: str, line: str = "=") -> str:
    return f"{title}\n{line * len(title)}\n"


def groups_of(module: ModuleType) -> dict[str, list[str]]:
    """The public names of a module under the comments of its `__all__`, if it has any."""
    listed = inspect.getsource(module).partition("__all__ = [")[2].partition("]")[0]
    groups: dict[str, list[str]] = {}
    for line in listed.splitlines()[1:]:
        comment = re.fullmatch(r"\s*# (.*)", line)
        if comment:
            groups[comment[1]] = []
        elif groups:
            groups[list(groups)[-1]] += re.findall(r'"(\w+)"', line)
    return groups


def parts_page(kind: Kind) -> str:
    """The page of a kind whose names stand together, group by group."""
    module = importlib.import_module(kind.module)
    lines = [heading(kind.title), f".. automodule:: {kind.module}\n"]
    lines.append(f"Guide: :doc:`/{kind.guide}`.\n")
    for title, names in groups_of(module).items():
        lines.append(heading(f"{title[0].upper()}{title[1:]}", "-"))
        lines += [entry(f"{kind.module}.{name}") for name in names]
    return "\n".join(lines)


def entry(full: str) -> str:
    """The directive that documents one name."""
    directive = directive_for(resolve(full))
    if directive == "py:data":
        module, _, name = full.rpartition(".")
        told = told_data(resolve(full))
        return f".. py:data:: {name}\n   :module: {module}\n\n   {told}\n"
    members = "   :members:\n" if directive in ("autoclass", "autoexception") else ""
    if members and inherits(resolve(full)):
        members += "   :inherited-members: tuple, Exception, BaseException\n"
    return f".. {directive}:: {full}\n{members}"


def inherits(thing: type) -> bool:
    """Return True if some members of a class are in another class of ours, as with `Agent`."""
    return any(base.__module__.startswith("heavybandits") for base in thing.__mro__[1:])


def kind_page(kind: Kind, names: list[str]) -> str:
    """The page of a kind: what it is, and a line about each of its names."""
    lines = [heading(kind.title)]
    if kind.is_family:
        lines.append(f".. automodule:: {kind.module}\n")
    else:
        lines.append(f"{INTRODUCTIONS[kind.page]}\n")
    if kind.guide:
        lines.append(f"Guide: :doc:`/{kind.guide}`.\n")
    if names:
        lines.append(".. currentmodule:: heavybandits\n")
        table = [f"   ~{name.removeprefix('heavybandits.')}" for name in names]
        lines += [".. autosummary::", "   :nosignatures:\n", *table, ""]
        lines += [".. toctree::", "   :hidden:\n", *(f"   {name}" for name in names), ""]
    return "\n".join(lines)


def name_page(kind: Kind, full: str, others: list[str], users: dict[str, list[str]]) -> str:
    """The page of one name."""
    module, _, name = full.rpartition(".")
    lines = [heading(name), f".. currentmodule:: {module}\n", entry(full)]
    lines += see_also(kind, full, others, users)
    return "\n".join(lines)


def directive_for(thing: Any) -> str:
    if inspect.isclass(thing) and not thing.__module__.startswith(("builtins", "numpy")):
        return "autoexception" if issubclass(thing, Exception) else "autoclass"
    return "autofunction" if inspect.isroutine(thing) else "py:data"


def told_data(thing: Any) -> str:
    """What a constant or an alias is."""
    if isinstance(thing, dict):
        return "A dictionary with the keys " + ", ".join(f"``{key}``" for key in thing) + "."
    if isinstance(thing, int):
        return f"A place in an array: {thing}."
    return f"Stands for ``{bare_type(thing)}``."


def see_also(kind: Kind, full: str, others: list[str], users: dict[str, list[str]]) -> list[str]:
    """What else to read: the parts it is made of or who uses it, its siblings, the guide."""
    lines = [".. seealso::", ""]
    if full in users:
        told = "Made of" if kind.page == "algorithms" else "Used by"
        lines += [f"   {told} " + ", ".join(map(link, users[full])) + ".", ""]
    siblings = [name for name in others if name != full]
    if kind.is_family and 0 < len(siblings) <= 15:
        lines += [f"   Other {kind.title.lower()}: " + ", ".join(map(link, siblings)) + ".", ""]
    if kind.guide:
        lines += [f"   Guide: :doc:`/{kind.guide}`.", ""]
    return lines if len(lines) > 2 else []


def page_of(kind: Kind, full: str) -> str:
    """The page, without its ending, that documents a name."""
    return kind.page if kind.together else full


def make_pages() -> dict[str, str]:
    """The text of every page by file name."""
    names = find_names()
    users = find_users(names)
    pages = {}
    for kind in KINDS:
        if kind.together:
            pages[f"{kind.page}.rst"] = parts_page(kind)
            continue
        pages[f"{kind.page}.rst"] = kind_page(kind, names[kind.page])
        for full in names[kind.page]:
            pages[f"{page_of(kind, full)}.rst"] = name_page(kind, full, names[kind.page], users)
    return pages


def write_pages(folder: Path) -> None:
    """Write every page, and take away those of names that are gone."""
    pages = make_pages()
    for name, text in pages.items():
        renew(folder / name, text)
    for path in folder.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
