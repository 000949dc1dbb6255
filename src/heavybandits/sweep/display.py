"""Progress for people: a bar on a terminal, a line now and then elsewhere, always on stderr."""

import sys
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .cells import Cell

EVERY = 30.0  # seconds between two lines where there is no terminal


class Display:
    """Counts cells, weighs them for the time left, and shows both.

    >>> with Display([Cell("math:sqrt", {"x": 2.0})], reused=3, quiet=True) as display:
    ...     display.status()
    '3/4 cells, 3 reused'
    """

    def __init__(
        self,
        missing: Iterable[Cell],
        reused: int,
        quiet: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        weights = [cell.weight for cell in missing]
        self.total, self.done, self.reused = len(weights) + reused, reused, reused
        self.quiet, self.progress = quiet, progress
        self._weight, self._weight_done = sum(weights), 0.0
        self._started = self._shown = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> "Display":
        if not self.quiet and self.done < self.total and sys.stderr.isatty():
            self._bar = _make_bar(self.total, self.done)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.update(0, status=self.status())
            self._bar.stop()
        elif not self.quiet and self._weight:
            print(self.status(), file=sys.stderr)

    def advance(self, cell: Cell) -> None:
        """A cell is finished, one way or the other."""
        self.done += 1
        self._weight_done += cell.weight
        if self.progress is not None:
            self.progress(self.done, self.total)
        self.tick()

    def tick(self) -> None:
        """Time has passed."""
        if self._bar is not None:
            self._bar.update(0, completed=self.done, status=self.status())
        elif not self.quiet and time.monotonic() - self._shown > EVERY:
            self._shown = time.monotonic()
            print(self.status(), file=sys.stderr)

    def say(self, text: str) -> None:
        """Something went wrong: said even to who wants it quiet."""
        print(text, file=sys.stderr)

    def status(self) -> str:
        """The state of the sweep in a line."""
        reused = f", {self.reused} reused" if self.reused else ""
        left = f", {_duration(self.left())} left" if self._weight_done and self.left() else ""
        return f"{self.done}/{self.total} cells{reused}{left}"

    def left(self) -> float:
        """Seconds left, if the rest goes as fast as what is done, weight for weight."""
        passed = time.monotonic() - self._started
        return passed * max(self._weight - self._weight_done, 0.0) / self._weight_done


def _make_bar(total: int, done: int) -> Any:
    """A bar of rich, or nothing where rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    columns = (BarColumn(), TextColumn("{task.fields[status]}"))
    bar = Progress(*columns, console=Console(stderr=True))
    bar.add_task("", total=total, completed=done, status="")
    bar.start()
    return bar


def _duration(seconds: float) -> str:
    """
    >>> _duration(75.4), _duration(7200.0)
    ('1 min 15 s', '2 h 0 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
