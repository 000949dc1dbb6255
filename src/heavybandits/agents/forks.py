"""What a fork must not do: catch an agent in the middle of a call, or hand a ledger to the child.

Before a fork every agent finishes the call it is in; in the child all ledgers are let go without
being touched, for closing one would remove what its parent has written.
"""

import os
import weakref
from typing import Any

_locks: "weakref.WeakSet[Any]" = weakref.WeakSet()
_ledgers: "weakref.WeakSet[Any]" = weakref.WeakSet()
_held: list[Any] = []


def hold_at_fork(lock: Any) -> None:
    """No fork while somebody has this lock."""
    _locks.add(lock)


def leak_at_fork(ledger: Any) -> None:
    """In a child, `ledger.leak()`."""
    _ledgers.add(ledger)


def _before() -> None:
    _held[:] = list(_locks)
    for lock in _held:
        lock.acquire()


def _after() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    for ledger in list(_ledgers):
        ledger.leak()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
