"""Decide which runs one kernel plays, and which of these runs it plays at the same time."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.part import is_part
from .worlds import changes_of


class Job(NamedTuple):
    """Describe the repetitions from `first` to `last` - 1 of a policy on a problem."""

    policy: Any
    problem: Any
    horizon: int
    checkpoints: tuple[int, ...]  # the plays after which results are recorded
    seed: int
    first: int
    last: int

    @property
    def parts(self) -> tuple[Any, ...]:
        """Return all parts that have constants.

        They are the policy, the arms, the link, the noise and, if there are any, the parts that
        change the problem.
        """
        return (self.policy, *self.problem[:3], *changes_of(self.problem))

    @property
    def size(self) -> int:
        return self.last - self.first


def skeleton(part: Any) -> Hashable:
    """Return a part without its real numbers: one kernel plays the runs with equal skeletons.

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
    """Return the indices of the jobs of each launch.

    The jobs of one launch differ only in real numbers, seeds and repetitions.
    """
    found: dict[Hashable, list[int]] = {}
    for place, job in enumerate(jobs):
        room = None if job.problem.delay is None else job.problem.delay.room
        alike = tuple(map(skeleton, job.parts)), job.problem.theta.tobytes(), room
        found.setdefault((alike, job.horizon, job.checkpoints), []).append(place)
    return list(found.values())


Piece = list[tuple[int, Job]]  # jobs, each with the index of its results


def pieces(jobs: Piece, room: int, free: int) -> Iterator[Piece]:
    """Yield the same runs in pieces that fit into the free memory. A piece may divide a job.

    room: bytes of memory per run. free: bytes of free memory.
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
