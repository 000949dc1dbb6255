"""Colours and markers, one palette for every figure and for the report's page."""

from collections.abc import Mapping, Sequence

# Okabe and Ito's colours, which everyone can tell apart; the second of each pair is for dark pages.
PALETTE = (
    ("#0072B2", "#56B4E9"),
    ("#D55E00", "#FF8C42"),
    ("#009E73", "#2FD3A2"),
    ("#CC79A7", "#E7A1C8"),
    ("#B8860B", "#F0C040"),
    ("#6A4FB3", "#A58CF0"),
    ("#555555", "#BBBBBB"),
    ("#8B5A2B", "#C99A66"),
)
COLOURS = tuple(light for light, _ in PALETTE)
GREY = COLOURS[6]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # for print in black and white
LINES = ("-", "--", "-.", ":")


def style_of(place: int) -> dict[str, str]:
    """Colour, marker and line of a place: from the ninth on a colour comes again, and no pair.

    >>> style_of(0)["color"] == style_of(8)["color"], style_of(0) == style_of(8)
    (True, False)
    """
    turn, colour = divmod(place, len(COLOURS))
    marker, line = MARKERS[(colour + turn) % len(MARKERS)], LINES[turn % len(LINES)]
    return {"color": COLOURS[colour], "marker": marker, "linestyle": line}


def colour_places(names: Sequence[str], own: Mapping[str, int]) -> dict[str, int]:
    """A place in the palette for every name: its own if it has one, else the next free one.

    >>> colour_places(["CRMM", "something"], own={"CRMM": 1})
    {'CRMM': 1, 'something': 0}
    """
    taken = {own[name] for name in names if name in own}
    others = [name for name in dict.fromkeys(names) if name not in own]
    free = [i for i in range(len(taken) + len(others)) if i not in taken]
    found = dict(zip(others, free, strict=False))
    return {name: own[name] if name in own else found[name] for name in names}
