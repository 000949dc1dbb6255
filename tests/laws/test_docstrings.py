"""Every public callable documents every parameter and what it returns, in plain numpydoc."""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import api_pages
from docstrings import Entry, entries, split
from heavybandits.core import protocols
from heavybandits.features.columns import Column
from heavybandits.features.feature_map import FeatureMap

# Classes that only functions of the library make: users read their attributes.
MADE_BY_FUNCTIONS = {"Diagnosis", "Evaluation", "Tuning"}
# Words with which no summary of a function begins: it says what the function does.
NO_VERBS = {"a", "an", "the", "this", "what", "whether", "how", "where", "which", "one", "all"}
VERBS_IN_S = {"pass"}


class Documented(NamedTuple):
    """One public callable, under its public name."""

    name: str
    thing: Any
    kind: str  # "function", "class" or "method"


def members(contract: type) -> set[str]:
    return {name for name in vars(contract) if not name.startswith("_")}


CONTRACTS = [value for value in vars(protocols).values() if getattr(value, "_is_protocol", False)]
CONTRACT_MEMBERS = set().union(*map(members, CONTRACTS))
ELSEWHERE = {"columns": members(Column), "sklearn": members(FeatureMap)}  # by module


def module_of(thing: Any) -> str:
    return str(getattr(inspect.unwrap(thing), "__module__", ""))


def in_contract(module: str, name: str) -> bool:
    """Return True for a method that the Protocol of its class documents."""
    if module.startswith("heavybandits.parts."):
        return name in CONTRACT_MEMBERS
    return name in ELSEWHERE.get(module.rpartition(".")[2], ())


def find_callables() -> Iterator[Documented]:
    for names in api_pages.find_names().values():
        for full in names:
            thing = api_pages.resolve(full)
            if inspect.isclass(thing):
                yield from find_in_class(full, thing)
            elif inspect.isroutine(thing):
                yield Documented(full, thing, "function")


def find_in_class(full: str, owner: type) -> Iterator[Documented]:
    module = module_of(owner)
    if not module.startswith("heavybandits"):
        return  # a name for a type of NumPy
    if not getattr(owner, "_is_protocol", False) and not issubclass(owner, Exception):
        yield Documented(full, owner, "class")
    for name, member in vars(owner).items():
        made = getattr(owner, name) if isinstance(member, classmethod | staticmethod) else member
        ours = inspect.isroutine(made) and module_of(made).startswith("heavybandits")
        if ours and not name.startswith("_") and not in_contract(module, name):
            yield Documented(f"{full}.{name}", made, "method")


CALLABLES = list(find_callables())


def find_faults(found: Documented) -> list[str]:
    """Return what the docstring of a callable lacks, one sentence each."""
    text = inspect.getdoc(found.thing) or ""
    sections = split(text.splitlines())
    faults = find_summary_faults(text, found.kind)
    made = found.kind == "class" and found.thing.__name__ in MADE_BY_FUNCTIONS
    if made:
        return faults + ([] if sections.get("Attributes") else ["there are no Attributes"])
    listed = entries(sections.get("Parameters", []))
    if not listed and found.kind == "class":
        listed = entries(sections.get("Attributes", []))
    faults += find_parameter_faults(parameters_of(found), listed, "Parameters" in sections)
    returns = inspect.signature(found.thing).return_annotation
    if found.kind != "class" and returns not in (None, "None", inspect.Signature.empty):
        named = entries(sections.get("Returns", sections.get("Yields", [])), named=False)
        faults += [] if named else ["there is no section Returns"]
    return faults


def find_summary_faults(text: str, kind: str) -> list[str]:
    summary, _, rest = text.partition("\n")
    first = summary.partition(" ")[0].lower().rstrip(".,:")
    faults = []
    if not summary.endswith((".", "?")) or rest.partition("\n")[0].strip():
        faults.append(f"the first line must be one sentence, got {summary!r}")
    nominal = first in NO_VERBS or (first.endswith("s") and first not in VERBS_IN_S)
    if not summary[:1].isupper():
        faults.append(f"the first line must begin with a capital letter, got {summary!r}")
    if kind != "class" and nominal:
        faults.append(f"the first line must begin with an imperative, got {summary!r}")
    return faults


def parameters_of(found: Documented) -> list[inspect.Parameter]:
    listed = list(inspect.signature(found.thing).parameters.values())
    bound = found.kind == "method" and not inspect.ismethod(found.thing)
    return [each for each in listed[1 if bound else 0 :] if each.name != "self"]


def find_parameter_faults(
    parameters: list[inspect.Parameter], listed: list[Entry], with_defaults: bool
) -> list[str]:
    named = {name.lstrip("*"): entry for entry in listed for name in entry.names}
    known = [each.name for each in parameters]
    faults = [f"parameter {name} is not documented" for name in known if name not in named]
    faults += [f"{name} is no parameter" for name in named if name not in known]
    if not faults and list(named) != known:
        faults.append(f"the parameters are in another order: {', '.join(named)}")
    for each in parameters:
        entry = named.get(each.name)
        if entry is None:
            continue
        faults += [] if entry.type else [f"parameter {each.name} has no type"]
        faults += [] if entry.description else [f"parameter {each.name} has no description"]
        if with_defaults and each.default is not each.empty:
            faults += find_default_faults(each, entry.type)
    return faults


def find_default_faults(parameter: inspect.Parameter, kind: str) -> list[str]:
    """Return an error if the documented default is not that of the signature."""
    stated, default = kind.partition("default ")[2], parameter.default
    if not stated:
        fine = kind.endswith("optional") and not isinstance(default, bool | int | float)
    elif isinstance(default, str):
        fine = stated == f'"{default}"'
    elif isinstance(default, bool | int | float) or type(default) is tuple:
        number = re.sub(r"(?<=\d),(?=\d{3})", "", stated.partition(" (o")[0])
        fine = eval(number, {"sqrt": math.sqrt, "inf": math.inf}) == default
    elif default is None:
        fine = True
    else:
        name = getattr(default, "__name__", type(default).__name__)
        fine = stated.startswith(name)
    return [] if fine else [f"parameter {parameter.name} has the default {default!r}, not {kind!r}"]


@pytest.mark.parametrize("found", CALLABLES, ids=lambda found: found.name)
def test_every_parameter_and_every_return_value_is_documented(found):
    assert find_faults(found) == []


def test_the_list_of_callables_is_long():
    """A search that finds nothing would pass."""
    kinds = [found.kind for found in CALLABLES]
    assert kinds.count("function") > 100
    assert kinds.count("class") > 80
    assert kinds.count("method") > 80


# ---- the test can fail


def complete(x: float, *rest: int, name: str = "a", size: int = 1_000, rng: Any = None) -> int:
    """Count something.

    Parameters
    ----------
    x : float
        A number.
    *rest : int
        More numbers.
    name : str, default "a"
        A name.
    size : int, default 1,000
        A size.
    rng : Generator, optional
        A generator.

    Returns
    -------
    int
        The count.
    """
    return len(rest)


def faults_of(function: Callable[..., Any], old: str, new: str) -> list[str]:
    text = inspect.getdoc(function) or ""
    assert old in text

    def changed() -> None: ...

    changed.__doc__ = text.replace(old, new)
    changed.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return find_faults(Documented("changed", changed, "function"))


def test_a_complete_docstring_has_no_fault():
    assert find_faults(Documented("complete", complete, "function")) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Count something.", "The number of something.", "begin with an imperative"),
        ("Count something.", "Counts something.", "begin with an imperative"),
        ("Count something.", "Count\nsomething.", "one sentence"),
        ("x : float", "y : float", "parameter x is not documented"),
        ("x : float", "x", "parameter x has no type"),
        ("    A number.\n", "", "parameter x has no description"),
        ('default "a"', 'default "b"', "parameter name has the default 'a'"),
        ('str, default "a"', "str", "parameter name has the default 'a'"),
        ("default 1,000", "default 100", "parameter size has the default 1000"),
        ("Generator, optional", "Generator", "parameter rng has the default None"),
        ("Returns\n-------\nint\n    The count.", "", "there is no section Returns"),
        ("x : float\n    A number.\n*rest : int\n    More numbers.",
         "*rest : int\n    More numbers.\nx : float\n    A number.", "in another order"),
    ],
)  # fmt: skip
def test_a_gap_is_found(old, new, fault):
    assert [line for line in faults_of(complete, old, new) if fault in line]
