"""Compare a class with a contract: the members of the Protocol, and the first that is wrong."""

import functools
import inspect
from types import FunctionType
from typing import Any, Protocol, get_type_hints

from .._utils.validation import closest
from .protocols import CONTRACTS

Member = FunctionType | property


@functools.cache
def members(contract: type) -> dict[str, Member]:
    """Return the methods and attributes of a contract by name.

    >>> from heavybandits.core.protocols import Filter
    >>> list(members(Filter))
    ['plays', 'init', 'apply']
    """
    return {
        name: member
        for base in contract.__mro__
        if Protocol in base.__bases__
        for name, member in vars(base).items()
        if isinstance(member, Member) and not name.startswith("_")
    }


@functools.cache
def attributes(contract: type) -> dict[str, Any]:
    """Return the types of the attributes of a contract, with their bounds."""
    found = {n: m.fget for n, m in members(contract).items() if isinstance(m, property)}
    return {name: get_type_hints(get, include_extras=True)["return"] for name, get in found.items()}


def written(name: str, member: Member) -> str:
    """Return a member as text: an attribute by its name, a method with its parameters.

    >>> from heavybandits.core.protocols import Policy
    >>> written("tally", members(Policy)["tally"])
    'tally(state)'
    """
    return name if isinstance(member, property) else f"{name}({', '.join(_parameters(member)[1:])})"


@functools.cache
def fault(part: type, contract: type) -> str | None:
    """Return why a class does not satisfy a contract; None if it does.

    >>> from typing import NamedTuple
    >>> from heavybandits.core.protocols import Projection
    >>> class Mine(NamedTuple):
    ...     def projct(self, region):
    ...         return False
    >>> fault(Mine, Projection)
    "Mine has no method project(region); rename 'projct' to 'project'"
    """
    for name, member in members(contract).items():
        wrong = _lack(part, name, member) or _mismatch(part, name, member)
        if wrong:
            return wrong
    return None


def kind_name(contract: type) -> str:
    """Return the name of a kind of part, with its article.

    >>> from heavybandits.core.protocols import ArmSet
    >>> kind_name(ArmSet)
    'an arm set'
    """
    name = next((kind for kind, known in CONTRACTS.items() if known is contract), contract.__name__)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _parameters(method: Any) -> list[str]:
    return list(inspect.signature(method).parameters)


def _lack(part: type, name: str, member: Member) -> str | None:
    found = getattr(part, name, None)
    if found is not None and (isinstance(member, property) or callable(found)):
        return None
    public = [other for other in dir(part) if not other.startswith("_") and other != name]
    close = closest(name, public)
    hint = f"; rename {close!r} to {name!r}" if close else ""
    kind = "attribute" if isinstance(member, property) else "method"
    return f"{part.__name__} has no {kind} {written(name, member)}{hint}"


def _mismatch(part: type, name: str, member: Member) -> str | None:
    """Return how the parameters differ: compiled code finds them by name."""
    if isinstance(member, property):
        return None
    wanted, given = _parameters(member), _parameters(getattr(part, name))
    if given == wanted:
        return None
    return f"{part.__name__}.{name} takes ({', '.join(given)}), not ({', '.join(wanted)})"
