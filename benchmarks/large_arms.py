"""Many long arms, new at every play: the time of a play over that of the products it needs.

The floor: the squared norms of K arms by the triangle of V^-1 at the speed of BLAS, two products of
all arms with a vector, and the draw of the arms.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.authoring import stream_key
from heavybandits.core.compile import compiled
from heavybandits.core.dispatch import refresh
from measuring import Outcome, Row, best_of, crtm, taker

PART = "Large arms"


def draw_kernel(stamp: str) -> Any:
    def kernel(arms: Any, buffer: Any, key: Any, play: int) -> None:
        stamp  # noqa: B018
        refresh(arms, buffer, key, play)

    return kernel


def clocked(function: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that calls another and returns its CPU milliseconds."""

    def take() -> float:
        started = time.thread_time()
        function()
        return (time.thread_time() - started) * 1e3

    return take


def measure(folder: Path, quick: bool) -> Outcome:
    dim, size, plays = (8, 16, 2) if quick else (200, 5_000, 20)
    arms = hb.arms.PerRound(size, dim)
    buffer, key, matrix = arms.make_buffer(), stream_key(0, 0, 0), np.eye(dim) + 0.01
    draw = compiled(draw_kernel, arms, buffer, key, 0)
    play = taker(crtm(1_000, dim), arms, plays)
    times = best_of(
        1 if quick else 7,
        {
            "play": lambda: play() / 1e3,
            "product": clocked(lambda: matrix @ buffer.features),
            "vector": clocked(lambda: matrix[0] @ buffer.features),
            "draw": clocked(lambda: draw(arms, buffer, key, 1)),
        },
    )
    floor = 0.5 * times["product"] + 2.0 * times["vector"] + times["draw"]
    note = f"{times['play']:.2f} ms per play, floor {floor:.2f} ms"
    what = f"CRTM, fresh arms, d = {dim}, K = {size:,}: time of a play over the floor"
    return Outcome([Row(PART, what, times["play"] / floor, "x", most=2.0, note=note)], [])
