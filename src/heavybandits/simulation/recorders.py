"""The recorders that a simulation is given: validated, and joined to one."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._utils.errors import InvalidInputError
from ..core.part import check_part, is_part
from ..core.protocols import Recorder, Tally
from ..core.recording import Pair

BUILT_IN = frozenset(
    ("problem", "policy", "repetition", "play", "regret", "truncated_share", "fallbacks")
) | {"cpu_seconds", *Tally._fields}


def list_recorders(given: Any) -> list[Any]:
    """Return validated recorders; one alone counts as a list of one, None as none.

    >>> from heavybandits.recorders import Choices
    >>> list_recorders(Choices()), list_recorders(None)
    ([Choices()], [])
    """
    if given is None:
        return []
    several = [given] if is_part(given) or not isinstance(given, Sequence) else list(given)
    made = [check_part(f"record[{i}]", one, Recorder) for i, one in enumerate(several)]
    names = [name for one in made for name in one.columns]
    for name in names:
        if name in BUILT_IN or names.count(name) > 1:
            raise InvalidInputError(
                f"record must have columns that are not in the result yet, got {name!r}: rename it"
            )
    return made


def join_recorders(recorders: Sequence[Any]) -> Any:
    """Return one recorder that records what all of these do; None for none."""
    joined = None
    for one in reversed(recorders):
        joined = one if joined is None else Pair(one, joined, len(one.columns))
    return joined


def check_recorders(recorders: Sequence[Any], policies: Mapping[str, Any]) -> None:
    """Raise if a recorder has nothing to read in one of the policies."""
    for recorder in recorders:
        for name, policy in policies.items():
            if hasattr(recorder, "check_policy"):
                recorder.check_policy(name, policy)
