"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import threading
import time
from collections.abc import Callable

WIDTH = 30  # of the bar, in characters
SETTLED = 1.0  # seconds after the first piece of work until the time left is shown
REDRAW, LINE = 0.2, 30.0  # seconds between two pictures of the bar, and between two lines


_announced = threading.Event()


def announce_compilation(silently: bool = False) -> None:
    """Print once, and only on a terminal, why the first call on a machine takes longer.

    `silently` is for a worker: the process that started it has printed the message.
    """
    if not silently and not _announced.is_set() and sys.stderr.isatty():
        print("compiling for this machine: some seconds, once", file=sys.stderr, flush=True)
    _announced.set()


class Progress:
    """Counts work from several threads, and shows it.

    Parameters
    ----------
    total : all the work, in any unit: plays, or the weights of cells.
    show : True for a bar on a terminal and lines elsewhere, False for nothing; None shows the bar
        and leaves out the lines.
    idle : the seconds of this process that did no work, such as compiling; the estimate of the time
        left does not count them.

    >>> with Progress(10, show=False) as progress:
    ...     progress.advance(4)
    >>> progress.status().partition(",")[0]
    '40.0%'
    """

    def __init__(
        self,
        total: float,
        show: bool | None = None,
        idle: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.total, self.done, self.text = total, 0.0, ""
        self._bar = sys.stderr.isatty()
        self._show = self._bar if show is None else show
        self._lock = threading.Lock()
        self._drawn = time.monotonic()
        self._idle = idle
        self._first: tuple[float, float] | None = None  # when the first work was done, and how much

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._show and (self.total or self.text):
            self._draw(end="\n")

    def advance(self, work: float, text: str = "") -> None:
        """Add finished work; the text, if there is one, replaces the percentage."""
        with self._lock:
            self.done += work
            self.text = text
            self._first = self._first or (self._clock(), self.done)
        self.tick()

    def tick(self) -> None:
        """Draw again if enough time has passed."""
        with self._lock:
            waited = time.monotonic() - self._drawn
            if self._show and waited > (REDRAW if self._bar else LINE):
                self._draw(end="" if self._bar else "\n")

    def say(self, text: str) -> None:
        """Print what went wrong, even where progress is not shown."""
        print(f"\r\x1b[K{text}" if self._bar and self._show else text, file=sys.stderr)

    def status(self) -> str:
        """Return how much is done, and how long the rest takes at the same speed.

        The speed is that after the first piece of work, and without what was compiled since then.
        """
        now = self._clock()
        since, first = self._first or (now, self.done)
        passed, rest = now - since, self.total - self.done
        known = self.done > first and passed >= SETTLED
        seconds = passed * rest / (self.done - first) if known else 0.0
        left = f", {_duration(seconds)} left" if seconds > 0.0 else ""
        return (self.text or f"{self.done / max(self.total, 1):.1%}") + left

    def _clock(self) -> float:
        """Return the time without that in which the process was idle."""
        return time.monotonic() - self._idle()

    def _draw(self, end: str) -> None:
        self._drawn = time.monotonic()
        filled = int(WIDTH * self.done / self.total) if self.total else WIDTH
        bar = f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] " if self._bar else ""
        clear = "\x1b[K" if self._bar else ""
        print(f"{bar}{self.status()}{clear}", end=end, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    """
    >>> _duration(7.2), _duration(75.4), _duration(7200.0)
    ('7 s', '1 min 15 s', '2 h 0 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
