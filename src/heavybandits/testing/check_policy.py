"""Checks that every policy must pass: `check_policy` runs about thirty of them on any policy.

Every policy of the library passes; run it on your own. The checks are in `input_laws` (arms,
masks, rewards and tickets) and `state_laws` (what a policy stores).
"""

from collections.abc import Callable, Mapping
from typing import Any

from .._utils.errors import InvalidInputError, PartError, PolicyError
from ..core.part import cast, is_part
from ..core.protocols import Policy

Check = Callable[[Any], None]

CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    """Register a function as a check. It raises any exception if the policy fails."""
    CHECKS[function.__name__] = function
    return function


def require(condition: bool, message: str) -> None:
    """Raise AssertionError with this message unless the condition is true."""
    if not condition:
        raise AssertionError(message)


def list_checks() -> dict[str, str]:
    """Return the checks by name, each with its description.

    Returns
    -------
    dict of str to str
        Descriptions by name.

    Examples
    --------
    >>> list_checks()["one_arm"]
    'With a single arm the policy chooses it, without an error.'
    """
    _load()
    return {name: (function.__doc__ or "").split("\n")[0] for name, function in CHECKS.items()}


def check_policy(
    policy: Policy, *, expected_failures: Mapping[str, str] | None = None
) -> list[str]:
    """Run all checks on a policy.

    Parameters
    ----------
    policy : Policy
        A policy of the library or your own: a NamedTuple with the methods of a policy.
    expected_failures : mapping of str to str, optional
        Names of checks that are known to fail, each with the reason. An expected failure that
        passes is an error too, so that the list stays correct.

    Returns
    -------
    list of str
        Names of the checks that the policy passed.

    Raises
    ------
    PolicyError
        Some checks failed: one line for every reason, after all of them have run.
    InvalidInputError
        A field is invalid. Raised at once.
    PartError
        A part of your own does not run, cannot be compiled or contradicts itself. Raised at once.

    Examples
    --------
    >>> import heavybandits as hb
    >>> len(check_policy(hb.linucb(dim=2, radius=1.0))) == len(list_checks())
    True
    """
    expected = dict(expected_failures or {})
    unknown = sorted(set(expected) - set(list_checks()))
    if unknown:
        raise InvalidInputError(f"expected_failures must name checks, got {', '.join(unknown)}")
    given = cast(policy) if is_part(policy) else policy
    failures = {name: _run(name, given) for name in CHECKS}
    failed = {n: why for n, why in failures.items() if why is not None and n not in expected}
    wrong = {n: "passes, but was expected to fail" for n in expected if failures[n] is None}
    if failed or wrong:
        counted = f"{len(failed) + len(wrong)} of {len(CHECKS)} checks failed for {_name(policy)}"
        raise PolicyError("\n  ".join([counted, *_lines(failed | wrong)]))
    return [name for name, why in failures.items() if why is None]


def _run(name: str, policy: Any) -> str | None:
    """Return why the check fails, or None."""
    try:
        CHECKS[name](policy)
    except PartError:  # it does not run at all: one message is enough
        raise
    except Exception as error:
        kind = "" if type(error) is AssertionError else f"{type(error).__name__}: "
        return f"{kind}{error}" or type(error).__name__
    return None


def _lines(failures: Mapping[str, str]) -> list[str]:
    """Return one line for each reason, with the names of all checks that failed for it."""
    names: dict[str, list[str]] = {}
    for name, why in failures.items():
        names.setdefault(why, []).append(name)
    return [f"{_listed(checks)}: {why}" for why, checks in names.items()]


def _listed(names: list[str], most: int = 5) -> str:
    more = f" and {len(names) - most} others" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _name(policy: Any) -> str:
    text = repr(policy)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _load() -> None:
    """Import the modules of the checks, which register themselves."""
    from . import input_laws, state_laws  # noqa: F401
