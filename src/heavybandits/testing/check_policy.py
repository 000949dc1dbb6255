"""Does a policy keep its promises? `check_policy` asks about thirty small questions of any policy.

Every policy of the library passes; run it on your own. The questions themselves are in
`checks_inputs` (what comes in) and `checks_state` (what is kept).
"""

from collections.abc import Callable, Mapping
from typing import Any

from .._utils.errors import InvalidInputError, PartError, PolicyError
from ..core.part import cast, is_part
from ..core.protocols import Policy

Check = Callable[[Any], None]

CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Make a function one of the checks. It raises whatever it likes if the policy fails."""
    CHECKS[function.__name__] = function
    return function


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def list_checks() -> dict[str, str]:
    """The checks by name, each with what it asks.

    >>> list_checks()["one_arm"]
    'With a single arm there is no choice, and no error.'
    """
    _load()
    return {name: (function.__doc__ or "").split("\n")[0] for name, function in CHECKS.items()}


def check_policy(
    policy: Policy, *, expected_failures: Mapping[str, str] | None = None
) -> list[str]:
    """Put a policy through all checks; the names of those it passed.

    Parameters
    ----------
    policy : of the library or your own: a NamedTuple with the verbs of a policy.
    expected_failures : names of checks that are known to fail, each with the reason. One that
        passes all the same is an error too, so that the list stays true.

    Raises
    ------
    PolicyError : with a line for every check that failed, after all of them have run.
    PartError : at once, if a part of your own does not run or cannot be compiled.

    >>> import heavybandits as hb
    >>> len(check_policy(hb.linucb(dim=2, radius=1.0))) == len(list_checks())
    True
    """
    expected = dict(expected_failures or {})
    unknown = sorted(set(expected) - set(list_checks()))
    if unknown:
        raise InvalidInputError(f"expected_failures must name checks, got {', '.join(unknown)}")
    failures = {name: _run(name, policy) for name in CHECKS}
    lines = [f"{n}: {why}" for n, why in failures.items() if why is not None and n not in expected]
    lines += [f"{n}: passes, but was expected to fail" for n in expected if failures[n] is None]
    if lines:
        counted = f"{len(lines)} of {len(CHECKS)} checks failed for {_name(policy)}"
        raise PolicyError("\n  ".join([counted, *lines]))
    return [name for name, why in failures.items() if why is None]


def _run(name: str, policy: Any) -> str | None:
    """Why the check fails, or None."""
    try:
        CHECKS[name](cast(policy) if is_part(policy) else policy)
    except PartError:  # it does not run at all: one message will do
        raise
    except Exception as error:
        kind = "" if type(error) is AssertionError else f"{type(error).__name__}: "
        return f"{kind}{error}" or type(error).__name__
    return None


def _name(policy: Any) -> str:
    text = repr(policy)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _load() -> None:
    """The modules with the checks, which register themselves."""
    from . import state_laws as checks_state  # noqa: F401
