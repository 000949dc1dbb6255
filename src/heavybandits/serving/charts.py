"""Inline SVG for the live page: lines, stacked bars, a histogram and intervals.

Widths stretch with the page, so text is outside of the pictures and strokes do not scale. Colours
are classes of the style sheet, for light and dark.
"""

import time
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 600, 120
GAP = 2  # between bars


def draw_lines(series: Mapping[str, Sequence[float]], most: float) -> str:
    """Return a line per series, named by its class, from 0 to `most`."""
    lines = []
    for kind, values in series.items():
        step = WIDTH / max(len(values) - 1, 1)
        points = " ".join(
            f"{place * step:.1f},{HEIGHT - 2 - (HEIGHT - 6) * value / (most or 1.0):.1f}"
            for place, value in enumerate(values)
        )
        lines.append(f'<polyline class="line {kind}" points="{points}"/>')
    grid = "".join(
        f'<line class="rule" x1="0" x2="{WIDTH}" y1="{y}" y2="{y}"/>'
        for y in (4, HEIGHT // 2 + 1, HEIGHT - 2)
    )
    return _picture(WIDTH, HEIGHT, grid + "".join(lines), "chart")


def draw_shares(
    times: Sequence[int], series: Mapping[str, Sequence[int]], together: int, form: str
) -> str:
    """Return a bar per `together` slots, split by the share of each series.

    `form` is the format of the time in the words that appear over a part.
    """
    starts = range(0, len(times), together)
    each, bars = WIDTH / max(len(starts), 1), []
    for place, start in enumerate(starts):
        counts = {name: sum(counts[start : start + together]) for name, counts in series.items()}
        every, y = sum(counts.values()), 0.0
        moment = time.strftime(form, time.localtime(times[start]))
        for colour, (name, count) in enumerate(counts.items()):
            if not count:
                continue
            height = HEIGHT * count / every
            words = f"{escape(name)}: {count / every:.1%} at {moment}"
            bars.append(
                f'<rect class="c{colour}" x="{place * each:.1f}" y="{y:.1f}" '
                f'width="{each - GAP:.1f}" height="{height:.1f}"><title>{words}</title></rect>'
            )
            y += height
    return _picture(WIDTH, HEIGHT, "".join(bars), "chart")


def draw_histogram(bins: Sequence[int]) -> str:
    """Return a bar per bin; each bar covers an equal part of 0 to 1."""
    most, each = max(bins, default=0) or 1, WIDTH / len(bins)
    bars = "".join(
        f'<rect class="c0" x="{place * each:.1f}" y="{HEIGHT * (1.0 - count / most):.1f}" '
        f'width="{each - GAP:.1f}" height="{HEIGHT * count / most:.1f}">'
        f"<title>{place / len(bins):.1f} to {(place + 1) / len(bins):.1f}: {count:,}</title></rect>"
        for place, count in enumerate(bins)
    )
    floor = f'<line class="rule" x1="0" x2="{WIDTH}" y1="{HEIGHT - 1}" y2="{HEIGHT - 1}"/>'
    return _picture(WIDTH, HEIGHT, floor + bars, "chart")


def draw_interval(
    value: float, low: float, high: float, scale: tuple[float, float], zero: bool = False
) -> str:
    """Return an interval with its value on a common scale, with a line at zero if wanted."""
    left, right = scale
    width = (right - left) or 1.0

    def at(number: float) -> float:
        return 2.0 + 96.0 * (number - left) / width

    mark = f'<line class="rule zero" x1="{at(0.0):.2f}" x2="{at(0.0):.2f}" y1="0" y2="10"/>'
    body = (
        f'<line class="reach" x1="{at(low):.2f}" x2="{at(high):.2f}" y1="5" y2="5"/>'
        f'<line class="point" x1="{at(value):.2f}" x2="{at(value):.2f}" y1="5" y2="5"/>'
    )
    return _picture(100, 10, (mark if zero else "") + body, "interval")


def _picture(width: int, height: int, body: str, kind: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" preserveAspectRatio="none" '
        f'aria-hidden="true">{body}</svg>'
    )
