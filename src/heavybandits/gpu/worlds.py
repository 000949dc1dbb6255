"""Support problems that change while they are played.

One lane plays each run of such a problem, with the CPU's loop. The arrays of core/world.py are
columns of tables in device memory, one column per run.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.world import World, is_lost, make_world, no_room


class Nothing(NamedTuple):
    """Take the place of a part that a problem does not have."""


class Changes(NamedTuple):
    """Store the parts of a problem that change it, for a kernel."""

    drift: Any
    delay: Any
    adversary: Any


def is_still(problem: Any) -> bool:
    """Return True if a problem does not change, and its noise does not depend on the arm."""
    return not hasattr(type(problem.noise), "reward") and not changes_of(problem)


def changes_of(problem: Any) -> tuple[Changes, ...]:
    """Return the parts that change a problem as one `Changes`, or an empty tuple if none does."""
    given = problem.drift, problem.delay, problem.adversary
    if all(part is None for part in given):
        return ()
    return (Changes(*(Nothing() if part is None else part for part in given)),)


def world_arrays(problem: Any, plays: int) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a run's world before its first play, with their names in a kernel."""
    _, _, law, theta, drift, delay, adversary = problem
    world: World = make_world(law, theta, drift, delay, adversary, plays)
    if world.start is not None:
        yield "world_theta", world.start
    if world.purse is not None:
        yield "world_purse", world.purse
    if world.mail is not None:
        for name in world.mail._fields[1:]:
            yield f"world_{name}", getattr(world.mail, name)


def world_text(parts: Sequence[Any]) -> tuple[str, str]:
    """Return the code that makes the world of a run, and the name of its theta."""
    law = "noise" if hasattr(type(parts[3]), "reward") else "None"
    changes = parts[4] if len(parts) > 4 else Changes(Nothing(), Nothing(), Nothing())
    has = {name: not isinstance(part, Nothing) for name, part in changes._asdict().items()}
    drift = "changes.drift, truth" if has["drift"] else "None, None"
    adversary = "changes.adversary, world_purse" if has["adversary"] else "None, None"
    mail = (
        "Mail(changes.delay, world_features, world_rewards, world_due, world_numbers, world_heap, "
        "world_counts)"
    )
    made = f"World({law}, {drift}, {adversary}, {mail if has['delay'] else 'None'})"
    if law == "None" and not any(has.values()):
        made = "STILL"
    return made, "world_theta" if has["drift"] else "truth"


def check_delay(problem: Any, counts: Any) -> None:
    """Raise an error if more decisions waited for their rewards than there is room for.

    counts: `world_counts` of all runs, one column per run.
    """
    if is_lost(counts).any():
        raise no_room(problem.delay)
