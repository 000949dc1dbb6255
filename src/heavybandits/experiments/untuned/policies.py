"""The policies of the study: ours, peers at their documented defaults, and the references.

To add a policy is to add a row of `ROWS`. Policies of one `cell` are played together, and computed
again together when one of them changes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...algorithms.adaptive import cral
from ...algorithms.auto import auto
from ...algorithms.glm import crmm, crtm
from ...algorithms.hurdle import hurdle
from ...algorithms.linear import linucb
from ...algorithms.robust import crhl
from ...parts.filters import AdaptiveClip, NoFilter
from ...parts.links import Identity
from ...parts.policies import EpsilonGreedy, SquareCB, Thompson, Uniform

RANDOM, AUTO, HURDLE, CRAL = "random play", "auto", "hurdle", "CRAL"
LINUCB, CLIPPED, THOMPSON = "LinUCB", "LinUCB + AdaptiveClip", "Thompson sampling"
SQUARECB, GREEDY = "SquareCB", "epsilon-greedy"
CRTM, CRMM, CRHL = "CRTM", "CRMM", "CRHL"

RADII = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FILTERS: dict[str, Any] = {"none": NoFilter(), "clip": AdaptiveClip(0.95)}
PLAIN, CLIP = "none", "clip"  # the filters of the two references


class Facts(NamedTuple):
    """What every policy may know of a world."""

    dim: int
    horizon: int


class Row(NamedTuple):
    """A policy of the study: its name, its maker, and the cell in which it is played."""

    name: str
    make: Callable[[Facts], Any]
    cell: str
    still: bool = False  # True if it needs arms that do not change


def radius_name(filter: str, radius: float) -> str:
    """Return the name of LinUCB with this filter and radius.

    >>> radius_name("clip", 0.3)
    'clip, radius 0.3'
    """
    return f"{filter}, radius {radius:g}"


def make_radius(filter: str, radius: float) -> Callable[[Facts], Any]:
    """Return the maker of LinUCB with this filter and radius."""
    return lambda facts: linucb(dim=facts.dim, radius=radius, filter=FILTERS[filter])


GRID = [
    Row(radius_name(filter, radius), make_radius(filter, radius), f"grid, {filter}")
    for filter in FILTERS
    for radius in RADII
]
OURS = [
    Row(AUTO, lambda facts: auto(dim=facts.dim), AUTO),
    Row(HURDLE, lambda facts: hurdle(dim=facts.dim), HURDLE),
    Row(CRAL, lambda facts: cral(dim=facts.dim, radius_scale=0.4), CRAL),
]
# Defaults of their documentation. CRTM, CRMM and CRHL need a moment: it is 1, as in their examples.
PEERS = [
    Row(LINUCB, lambda facts: linucb(dim=facts.dim), "peers"),
    Row(
        CLIPPED,
        lambda facts: linucb(dim=facts.dim, radius=1.0, filter=AdaptiveClip()),
        "peers",
    ),
    Row(SQUARECB, lambda facts: SquareCB(linucb(dim=facts.dim)), "peers"),
    Row(GREEDY, lambda facts: EpsilonGreedy(linucb(dim=facts.dim, radius=1.0)), "peers"),
    Row(THOMPSON, lambda facts: Thompson(linucb(dim=facts.dim)), "Thompson sampling"),
    Row(
        CRTM,
        lambda facts: crtm(**facts._asdict(), raw_moment=1.0, link=Identity(), radius_scale=1e-3),
        "moments",
    ),
    Row(
        CRHL,
        lambda facts: crhl(dim=facts.dim, noise_scale=1.0, link=Identity(), radius_scale=0.1),
        "moments",
    ),
    Row(
        CRMM,
        lambda facts: crmm(
            **facts._asdict(), central_moment=1.0, link=Identity(), radius_scale=1e-3
        ),
        CRMM,
        still=True,
    ),
]
ROWS = [Row(RANDOM, lambda facts: Uniform(dim=facts.dim), "peers"), *OURS, *PEERS, *GRID]
NAMES = [row.name for row in ROWS]
OUR_NAMES = [row.name for row in OURS]
PEER_NAMES = [row.name for row in PEERS]


def cells_of(facts: Facts, names: list[str], still: bool) -> dict[str, dict[str, Any]]:
    """Return the policies of these names that can play, by cell and name."""
    found: dict[str, dict[str, Any]] = {}
    for row in ROWS:
        if row.name in names and (still or not row.still):
            found.setdefault(row.cell, {})[row.name] = row.make(facts)
    return found
