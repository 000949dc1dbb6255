"""Interrupt a call at any byte code, as a signal handler would."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

import heavybandits as hb


class Interrupted(BaseException):
    """What a signal handler raises."""


@contextmanager
def interrupted_after(count: int) -> Iterator[list[int]]:
    """Raise in place of the count-th instruction of our own code, as a signal handler would."""
    import sys

    seen = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "heavybandits" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen[0] += 1
            if seen[0] == count:
                sys.settrace(None)
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(None)


ARMS = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8], [0.5, 0.5, 0.5]])
CALLS: dict[str, Callable[[hb.Agent, Any], Any]] = {
    "update_many": lambda agent, batch: agent.update_many(batch),
    "select": lambda agent, batch: agent.select(ARMS),
    "select_many": lambda agent, batch: agent.select_many([ARMS, ARMS]),
    "cancel": lambda agent, batch: agent.cancel(batch[0][0]),
    "cancel_all": lambda agent, batch: agent.cancel_all(),
    "reset": lambda agent, batch: agent.reset(),
}
