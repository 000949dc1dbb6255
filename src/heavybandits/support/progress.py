"""A progress bar that needs nothing: one line on stderr, redrawn at most five times a second."""

import sys
import threading
import time
from types import TracebackType


class Progress:
    """Counts plays from several threads. Shown on a terminal unless told otherwise.

    >>> with Progress(10, show=False) as bar:
    ...     bar.advance(4)
    >>> bar.done
    4
    """

    def __init__(self, total: int, show: bool | None = None) -> None:
        self.total, self.done = total, 0
        self.show = sys.stderr.isatty() if show is None else show
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.show:
            self._draw()
            print(file=sys.stderr)

    def advance(self, plays: int) -> None:
        with self._lock:
            self.done += plays
            if self.show and time.monotonic() - self._drawn > 0.2:
                self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        share = self.done / max(self.total, 1)
        left = (self._drawn - self._started) * (1.0 / share - 1.0) if share else 0.0
        filled = int(30 * share)
        bar = "#" * filled + "." * (30 - filled)
        print(f"\r[{bar}] {share:6.1%}  {left:5.0f} s left", end="", file=sys.stderr, flush=True)
