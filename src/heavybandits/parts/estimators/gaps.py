"""The squared distances between the columns of CRCM: updated, corrected and computed again."""

from typing import NamedTuple

from ...core.arrays import Floats
from ...core.confidence_region import Region
from ...core.jit import jitable, outlined

LANES = 8  # numbers in one iteration of a vectorised loop
FAR = 1e300  # in `gaps` on and above the diagonal: added to, it stays, and it is never near


class NewtonEnsembleEstimate(NamedTuple):
    """State of `NewtonEnsemble`: column j of `thetas` learns from play j of every decision.

    The arrays that follow `gaps`, except `least`, are scratch. They and the rows of `gaps` have
    room for a few numbers more than there are columns (see `padded`).
    """

    region: Region
    thetas: Floats
    images: Floats
    gaps: Floats  # squared distances, below the diagonal
    outer: Floats
    inner: Floats
    near: Floats  # how many squared distances of each column are small
    lengths: Floats
    row: Floats
    least: Floats  # square of the last least median distance


def padded(plays: int) -> int:
    """Return the length of a row: a multiple of LANES, unless even the first is not full.

    Then every row begins a cache line, and loops over rows leave no scalar rest.

    >>> padded(75), padded(5)
    (80, 5)
    """
    return plays if plays < LANES else -(-plays // LANES) * LANES


@jitable
def follow_gaps(estimate: NewtonEnsembleEstimate, limit: float) -> None:
    """gaps_js = ||theta_j - theta_s||_V^2, s < j, after `step_columns`: no sum over d.

    And how many of each column's squares are at most `limit`: as they pass by, two rows at a time.
    Rows are followed up to a multiple of LANES, beyond the diagonal: the rest of a vector would
    take as long as several whole ones.
    """
    gaps, outer, inner = estimate.gaps, estimate.outer, estimate.inner
    counts, nears = estimate.near, estimate.row
    size = gaps.shape[0]
    for s in range(counts.size):
        counts[s] = 0.0
    for j in range(1 + size % 2, size, 2):  # the first of an odd number of rows is empty
        above, above_inner, above_near = outer[j - 1], inner[j - 1], 0
        below, below_inner, below_near = outer[j], inner[j], 0
        for s in range(min(j + LANES - j % LANES, counts.size)):
            gap = gaps[j - 1, s] + (above - outer[s]) * (above_inner - inner[s])
            other = gaps[j, s] + (below - outer[s]) * (below_inner - inner[s])
            gaps[j - 1, s], gaps[j, s] = gap, other
            near, nearby = 1 if gap <= limit else 0, 1 if other <= limit else 0
            above_near += near
            below_near += nearby
            counts[s] += near + nearby
        nears[j - 1], nears[j] = above_near, below_near
    for s in range(size % 2, size):
        counts[s] += nears[s]


@jitable
def change_gaps(estimate: NewtonEnsembleEstimate, j: int, keep: float, limit: float) -> None:
    """gaps = keep gaps + outer, for this j and every other; update the counts of all."""
    gaps, plays = estimate.gaps, estimate.gaps.shape[0]
    changes, counts = estimate.outer[:plays], estimate.near[:plays]
    near = change_some(gaps[j, :j], changes, counts, keep, limit)
    near += change_some(gaps[j + 1 :, j], changes[j + 1 :], counts[j + 1 :], keep, limit)
    counts[j] = near


@jitable
def change_some(gaps: Floats, changes: Floats, counts: Floats, keep: float, limit: float) -> int:
    """Do the same for a part of the others; return how many of them are near now."""
    near = 0
    for s in range(gaps.size):
        before, after = gaps[s], keep * gaps[s] + changes[s]
        gaps[s] = after
        close = 1 if after <= limit else 0
        near += close
        counts[s] += close - (1 if before <= limit else 0)
    return near


@jitable
def map_columns(estimate: NewtonEnsembleEstimate) -> None:
    """images = V thetas"""
    region, thetas, images = estimate.region, estimate.thetas, estimate.images
    for i in range(thetas.shape[0]):
        for j in range(thetas.shape[1]):
            images[i, j] = 0.0
        for m in range(thetas.shape[0]):
            entry = region.design[i, m] + region.recent[i, m]
            for j in range(thetas.shape[1]):
                images[i, j] += entry * thetas[m, j]


@jitable
def measure_gaps(estimate: NewtonEnsembleEstimate, j: int) -> None:
    """outer = (theta_j - theta_s).V (theta_j - theta_s) for every s, from `images`."""
    thetas, images = estimate.thetas, estimate.images
    out = estimate.outer[: thetas.shape[1]]
    for s in range(out.size):
        out[s] = 0.0
    for i in range(thetas.shape[0]):
        place, image = thetas[i, j], images[i, j]
        for s in range(out.size):
            out[s] += (place - thetas[i, s]) * (image - images[i, s])


@outlined
def renew_gaps(estimate: NewtonEnsembleEstimate) -> None:
    """Compute all gaps from the columns, which stops the drift of updating them."""
    gaps, out = estimate.gaps, estimate.outer
    map_columns(estimate)
    for j in range(gaps.shape[0]):
        measure_gaps(estimate, j)
        for s in range(gaps.shape[1]):
            gaps[j, s] = out[s] if s < j else FAR
