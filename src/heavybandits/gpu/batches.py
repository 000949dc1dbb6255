"""Which runs one kernel plays, and which of them at once."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.part import is_part
from .worlds import changes_of


class Job(NamedTuple):
    """Repetitions `first` up to `last`, which is left out, of a policy on a problem."""

    policy: Any
    problem: Any
    horizon: int
    checkpoints: tuple[int, ...]  # the plays to report at
    seed: int
    first: int
    last: int

    @property
    def parts(self) -> tuple[Any, ...]:
        """All that has constants of its own: the policy, the arms, the link and the noise, and what
        changes the problem, if anything does."""
        return (self.policy, *self.problem[:3], *changes_of(self.problem))

    @property
    def size(self) -> int:
        return self.last - self.first


def skeleton(part: Any) -> Hashable:
    """All of a part but its real numbers: runs with one skeleton are played by one kernel.

    >>> from heavybandits.filters import Truncate
    >>> skeleton(Truncate(2.0)) == skeleton(Truncate(3.0)), skeleton(1) == skeleton(2)
    (True, False)
    """
    if is_part(part):
        return type(part), tuple(map(skeleton, part))
    if isinstance(part, np.ndarray):
        return part.shape, part.tobytes()
    return float if isinstance(part, float) else repr(part)


def groups(jobs: Sequence[Job]) -> list[list[int]]:
    """The places of jobs that one launch plays: all is the same but real numbers and seeds."""
    found: dict[Hashable, list[int]] = {}
    for place, job in enumerate(jobs):
        room = None if job.problem.delay is None else job.problem.delay.room
        alike = tuple(map(skeleton, job.parts)), job.problem.theta.tobytes(), room
        found.setdefault((alike, job.horizon, job.checkpoints), []).append(place)
    return list(found.values())


Piece = list[tuple[int, Job]]  # jobs, each with a place to bring what it leaves


def pieces(jobs: Piece, room: int, free: int) -> Iterator[Piece]:
    """The same runs in pieces that fit into the free memory; a job may be divided between two runs.

    room: bytes per run.
    """
    most = max(free // room, 1)
    piece: Piece = []
    left = most
    for place, job in jobs:
        while job.size > left:
            if left:
                piece.append((place, job._replace(last=job.first + left)))
            yield piece
            piece, job, left = [], job._replace(first=job.first + left), most
        piece.append((place, job))
        left -= job.size
    if piece:
        yield piece
