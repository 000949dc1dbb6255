"""The confidence region of an estimator: a centre, a design matrix V and its inverse."""

import math
from typing import Any, NamedTuple

import numpy as np

from .allocation import aligned_zeros
from .arrays import Floats, Integers
from .factor import add_to_factor, invert_factor, solve_lower, solve_upper
from .jit import jitable, outlined
from .linalg import SURE, add_outer, combine, correct_inverse, dot, invert, stretch, subtract
from .projection import ROWS

# Places in Region.numbers and in Region.counts. Only the functions of this module use them.
_SQUARE, _SHRINK, _LOGDET, _GROWTH, _STEP, _STRAYED, _FLOOR, _NOISE = range(8)
_UPDATES, _PROJECTIONS, _CLIPPED, _FALLBACKS = range(4)

ROUNDING = 1e-15  # relative to the largest term of a square
FRESH = 5.0  # growth of ln det V between two inversions of a region with a Cholesky factor
REPAIR_EVERY = 1024  # updates between two full inversions, which stop the drift of rank-one steps
CHECK_EVERY = 64  # updates between two looks whether that drift calls for an inversion earlier
LEAST_PENALTY, LARGEST_PENALTY = 1e-60, 1e60  # that data may lead to: every square stays finite


class Region(NamedTuple):
    """Store the confidence region {theta : ||theta - centre||_V <= radius}, without its radius.

    V = design + recent: the updates since the last repair are summed separately. In one sum of 10^6
    terms the rounding error is 1e-12 of the largest entry, and the inverse of a badly conditioned V
    makes that a thousand times more of the small entries.

    Attributes
    ----------
    centre : array of shape (d,)
        The estimate of theta.
    inverse : array of shape (d, d)
        V^-1.
    design : array of shape (d, d)
        V up to the last repair.
    direction : array of shape (d,)
        V^-1 x of the arm last measured.
    numbers : array of float64
        Scalars that the functions of this module read and write: ||x||^2_{V^-1} of the arm last
        measured; the factor of the last rank-one step, 0 if the last update inverted V;
        ln(det V / det V_1) up to some update, and the ratio of determinants since (`log_volume`);
        how far the last update moved the centre against `direction`, and 1 if the centre also moved
        in another direction; the penalty, a lower bound of the eigenvalues of V; the part of
        weight ||x||^2_{V^-1} that rounding alone can produce.
    counts : array of int64
        Updates, projections, truncated rewards (of estimators that truncate themselves), and
        updates in which V^-1 was computed again because rounding may have spoiled it.
    scratch : array of float64
        Scratch space.
    recent : array of shape (d, d)
        The part of V since the last repair.
    """

    centre: Floats
    inverse: Floats
    design: Floats
    direction: Floats
    numbers: Floats
    counts: Integers
    scratch: Floats
    recent: Floats


def make_region(dim: int, penalty: float) -> Region:
    """Make the region before any reward: centre 0, V = penalty I.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    penalty : float
        lambda; V starts at lambda I.

    Returns
    -------
    Region
        A new region.
    """
    square, vector = (dim, dim), (dim,)
    inverse, design, recent, centre, direction, scratch = aligned_zeros(
        square, square, square, vector, vector, (ROWS + dim, dim)
    )
    np.fill_diagonal(inverse, 1.0 / penalty)
    np.fill_diagonal(design, penalty)
    numbers, counts = np.zeros(8), np.zeros(4, np.int64)
    numbers[_GROWTH], numbers[_FLOOR] = 1.0, penalty
    return Region(centre, inverse, design, direction, numbers, counts, scratch, recent)


@jitable
def limit_penalty(penalty: float) -> float:
    """Return the nearest penalty that keeps every step finite."""
    return min(max(penalty, LEAST_PENALTY), LARGEST_PENALTY)


@outlined
def reset_region(region: Region, penalty: float) -> None:
    """Set the centre to 0 and V to penalty I; the counts stay."""
    floor = limit_penalty(penalty)
    for i in range(region.centre.size):
        region.centre[i] = 0.0
        for j in range(region.centre.size):
            region.recent[i, j] = 0.0
            region.design[i, j] = floor if i == j else 0.0
            region.inverse[i, j] = 1.0 / floor if i == j else 0.0
    region.numbers[_FLOOR], region.numbers[_NOISE] = floor, 0.0
    region.numbers[_LOGDET], region.numbers[_GROWTH] = 0.0, 1.0


# ---- scalars and counts


@jitable
def squared_norm(region: Region) -> float:
    """Return ||x||^2_{V^-1} of the arm last measured; rounding can make it negative.

    Parameters
    ----------
    region : Region
        The region.

    Returns
    -------
    float
        ||x||^2_{V^-1}.
    """
    return region.numbers[_SQUARE]


@jitable
def penalty_of(region: Region) -> float:
    """Return the penalty lambda, a lower bound of the eigenvalues of V."""
    return region.numbers[_FLOOR]


@jitable
def log_volume(region: Region) -> float:
    """Return ln(det V / det V_1).

    Parameters
    ----------
    region : Region
        The region.

    Returns
    -------
    float
        The logarithm of the ratio of determinants.
    """
    return region.numbers[_LOGDET] + math.log(region.numbers[_GROWTH])


def is_valid_region(region: Region) -> bool:
    """Return True if V and V^-1 can be those of a region, up to rounding.

    V >= lambda I, so V_ii >= lambda and |V^-1_ij| <= 1 / lambda. Both are symmetric, and
    det V / det V_1 is at least 1. The function does not compare V^-1 with the inverse: where V is
    badly conditioned, rounding makes a product of the two differ from I by any amount.
    """
    design, inverse, floor = region.design + region.recent, region.inverse, penalty_of(region)
    volume = region.numbers[_LOGDET] >= 0.0 and region.numbers[_GROWTH] >= 1.0
    if not (floor > 0.0 and volume and (design.diagonal() >= 0.5 * floor).all()):
        return False
    asymmetry = np.abs(design - design.T).max() / design.diagonal().max()
    other = np.abs(inverse - inverse.T).max() * floor
    low, high = inverse.diagonal().min() * floor, np.abs(inverse).max() * floor
    return bool(asymmetry <= 1e-9 and other <= 1e-6 and low >= -1e-6 and high <= 10.0)


@jitable
def update_count(region: Region) -> int:
    """Return the number of updates.

    Parameters
    ----------
    region : Region
        The region.

    Returns
    -------
    int
        The number of updates.
    """
    return region.counts[_UPDATES]


@jitable
def projection_count(region: Region) -> int:
    """Return the number of projections.

    Parameters
    ----------
    region : Region
        The region.

    Returns
    -------
    int
        The number of projections.
    """
    return region.counts[_PROJECTIONS]


@jitable
def clipped_count(region: Region) -> int:
    """Return the number of rewards that the estimator itself clipped or truncated.

    Parameters
    ----------
    region : Region
        The region.

    Returns
    -------
    int
        The number of rewards.
    """
    return region.counts[_CLIPPED]


@jitable
def fallback_count(region: Region) -> int:
    """Return the number of updates in which V^-1 was computed again because of rounding."""
    return region.counts[_FALLBACKS]


@jitable
def fallbacks_of_many(counts: Integers) -> Any:
    """Return the fallbacks of many regions; the first axis is that of `Region.counts`."""
    return counts[_FALLBACKS]


@jitable
def count_projection(region: Region) -> None:
    """Add one to the projections.

    Parameters
    ----------
    region : Region
        The region.
    """
    region.counts[_PROJECTIONS] += 1


@jitable
def count_clipped(region: Region) -> None:
    """Add one to the rewards that the estimator itself clipped or truncated.

    Parameters
    ----------
    region : Region
        The region.
    """
    region.counts[_CLIPPED] += 1


@jitable
def set_clipped(region: Region, count: int) -> None:
    """Set the number of rewards that the estimator itself clips or truncates at present."""
    region.counts[_CLIPPED] = count


@jitable
def set_updates(region: Region, count: int) -> None:
    """Set the number of updates, after one that learned earlier rewards again."""
    region.counts[_UPDATES] = count


@jitable
def count_fallback(region: Region) -> None:
    """Add one to the fallbacks."""
    region.counts[_FALLBACKS] += 1


# ---- what the last update did, for arm sets that stay (see `arm_buffer.follow`)


@jitable
def last_step(region: Region) -> tuple[float, float]:
    """Return shrink and step of the last update: V^-1 lost shrink (V^-1 x)(V^-1 x)^T and the centre
    lost step V^-1 x. shrink is 0 if the last update inverted V."""
    return region.numbers[_SHRINK], region.numbers[_STEP]


@jitable
def has_strayed(region: Region) -> bool:
    """Return True if the last update moved the centre in another direction than V^-1 x."""
    return region.numbers[_STRAYED] != 0.0


@jitable
def mark_strayed(region: Region) -> None:
    """Mark that the centre moved in another direction than V^-1 x.

    Parameters
    ----------
    region : Region
        The region.
    """
    region.numbers[_STRAYED] = 1.0


@jitable
def forget_step(region: Region) -> None:
    """Note that V^-1 changed by more than one rank-one step: all arms are measured again."""
    region.numbers[_SHRINK], region.numbers[_STRAYED] = 0.0, 1.0


# ---- updates


@jitable
def measure(region: Region, x: Floats) -> float:
    """Return ||x||_{V^-1}; `direction` becomes V^-1 x, for the update that follows.

    Parameters
    ----------
    region : Region
        The region.
    x : array of shape (d,)
        Features of an arm.

    Returns
    -------
    float
        ||x||_{V^-1}.
    """
    combine(region.inverse, x, region.direction)
    square = dot(x, region.direction)
    region.numbers[_SQUARE] = square
    return math.sqrt(max(square, 0.0))


@jitable
def norm_of(region: Region, x: Floats) -> float:
    """Return ||x||_{V^-1} and leave `direction` as it is."""
    image = region.scratch[0]
    combine(region.inverse, x, image)
    return math.sqrt(max(dot(x, image), 0.0))


@jitable
def add_observation(region: Region, x: Floats, weight: float) -> float:
    """Add weight x x^T to V, after `measure(region, x)`.

    Parameters
    ----------
    region : Region
        Changes in place.
    x : array of shape (d,)
        Features of the arm last measured.
    weight : float
        Weight of the observation.

    Returns
    -------
    float
        1 + weight ||x||^2_{V^-1}, with the V before.
    """
    growth = 1.0 + weight * region.numbers[_SQUARE]
    region.numbers[_STRAYED] = 1.0
    region.counts[_UPDATES] += 1
    add_outer(region.recent, weight, x)
    if growth * ROUNDING > region.numbers[_NOISE]:
        region.numbers[_NOISE] = growth * ROUNDING
    square = region.numbers[_SQUARE]
    if not (weight * square > region.numbers[_NOISE] or square == 0.0):
        growth = invert_again(region, x, weight)
    elif region.counts[_UPDATES] % CHECK_EVERY == 0 and is_repair_due(region, weight):
        region.counts[_FALLBACKS] += 0 if repair(region, weight / growth) else 1
    else:
        region.numbers[_SHRINK] = weight / growth
        add_outer(region.inverse, -region.numbers[_SHRINK], region.direction)
    grow_volume(region, growth)
    return growth


@jitable
def grow_volume(region: Region, growth: float) -> None:
    """Multiply det V / det V_1 by `growth`."""
    if region.numbers[_GROWTH] * growth > 1e100:
        region.numbers[_LOGDET] = log_volume(region)
        region.numbers[_GROWTH] = 1.0
    region.numbers[_GROWTH] *= growth


@jitable
def measure_by_factor(region: Region, factor: Floats, x: Floats) -> float:
    """Return ||x||_{V^-1}, computed with the Cholesky factor of V; `direction` becomes V^-1 x."""
    half = region.scratch[0]
    square = solve_lower(factor, x, half)
    solve_upper(factor, half, region.direction)
    region.numbers[_SQUARE] = square
    return math.sqrt(square)


@jitable
def add_by_factor(region: Region, factor: Floats, x: Floats, weight: float) -> float:
    """V += weight x x^T in a region with a Cholesky factor, after `measure_by_factor`; return
    1 + weight ||x||^2_{V^-1}.

    V and V^-1 follow the factor, whose digits do not depend on the penalty: the step of V^-1 uses
    the factor's V^-1 x. V^-1 is computed from the factor every 1024 updates, and whenever det V has
    grown by another e^5: errors of a V^-1 that was large would remain in one that is small.
    """
    root, growth = math.sqrt(weight), 1.0 + weight * region.numbers[_SQUARE]
    scaled = region.scratch[0]
    for i in range(x.size):
        scaled[i] = root * x[i]
    add_to_factor(factor, scaled)
    add_outer(region.recent, weight, x)
    region.counts[_UPDATES] += 1
    before = log_volume(region)
    grow_volume(region, growth)
    grown = math.floor(log_volume(region) / FRESH) > math.floor(before / FRESH)
    if grown or region.counts[_UPDATES] % REPAIR_EVERY == 0:
        fold_recent(region)
        invert_factor(factor, region.inverse, scaled)
    else:
        add_outer(region.inverse, -weight / growth, region.direction)
    forget_step(region)
    return growth


@jitable
def is_repair_due(region: Region, weight: float) -> bool:
    """Return True if V^-1 is to be computed from V: after REPAIR_EVERY updates, or earlier if the
    rounding of CHECK_EVERY steps can be as large as weight ||x||^2_{V^-1}."""
    drift = CHECK_EVERY * region.numbers[_NOISE]
    return region.counts[_UPDATES] % REPAIR_EVERY == 0 or weight * region.numbers[_SQUARE] < drift


@jitable
def fold_recent(region: Region) -> None:
    """Add `recent` to `design`."""
    for i in range(region.centre.size):
        for j in range(region.centre.size):
            region.design[i, j] += region.recent[i, j]
            region.recent[i, j] = 0.0


@outlined
def invert_again(region: Region, x: Floats, weight: float) -> float:
    """End an update in which rounding may have produced all of ||x||^2_{V^-1}, or its sign.

    V^-1 may then be indefinite, and rank-one steps would make that grow without end. So V^-1 is
    computed from V, and V^-1 x from that. V already includes x, so V^-1 x is smaller than before by
    `growth`. Where V has too few digits, the rank-one step counts the square as the largest that
    rounding can hide: a step that is too long would leave V^-1 indefinite.
    """
    region.counts[_FALLBACKS] += 1
    hidden = 1.0 + region.numbers[_NOISE]
    repair(region, weight / hidden if region.numbers[_SQUARE] > 0.0 else 0.0)
    square = measure(region, x) ** 2
    if region.numbers[_NOISE] >= 1.0:
        square = measure_coarsely(region, x)
    growth = 1.0 / max(1.0 - weight * square, 1.0 / hidden)
    region.numbers[_SQUARE] = growth * square
    stretch(region.direction, growth)
    return growth


@jitable
def measure_coarsely(region: Region, x: Floats) -> float:
    """Return ||x||^2 / tr V, and set `direction` to x / tr V: V^-1 is at least I / tr V.

    For an x of which rounding leaves nothing in V^-1 x. A step along noise would move the
    predictions of other arms; this one is exact if all arms have one direction.
    """
    size = 0.0
    for i in range(x.size):
        size += region.design[i, i]
    stretch(region.direction, 0.0)
    subtract(region.direction, -1.0 / size, x)
    return dot(x, x) / size


@outlined
def repair(region: Region, shrink: float) -> bool:
    """Sum up V and compute V^-1 from it; return False if V^-1 was only corrected."""
    region.numbers[_SHRINK] = 0.0
    inverted = renew_inverse(region, shrink)
    size, narrowness = 0.0, 0.0
    for i in range(region.centre.size):
        size += region.design[i, i]
        narrowness += region.inverse[i, i]
    typical = size / region.counts[_UPDATES]  # weight ||x||^2 of an arm
    region.numbers[_NOISE] = ROUNDING * typical * narrowness
    return inverted


@jitable
def renew_inverse(region: Region, shrink: float) -> bool:
    """Add `recent` to `design` and invert V by Cholesky. If V has too few digits for that, make the
    rank-one step, bring its result closer to V (see `correct_inverse`) and return False."""
    dim, design, inverse = region.centre.size, region.design, region.inverse
    fold_recent(region)
    inverted = is_well_conditioned(region) and invert(design, inverse, region.scratch)
    if not inverted:
        add_outer(inverse, -shrink, region.direction)
        work, mark = region.scratch[:dim], region.scratch[dim]
        correct_inverse(design, region.numbers[_FLOOR], inverse, work, mark)
    return inverted


@jitable
def is_well_conditioned(region: Region) -> bool:
    """Return True if V is more exact than V^-1: V_ii V^-1_ii is how much of V_ii cancels."""
    for i in range(region.centre.size):
        if SURE * region.design[i, i] * region.inverse[i, i] > 1.0:
            return False
    return True


@outlined
def discount(region: Region, keep: float) -> None:
    """V = keep V + (1 - keep) lambda I: stabilised forgetting (Kulhavy and Zarrop 1993).

    Plain forgetting, V = keep V, would let V vanish in directions that no arm has. With the second
    term V never falls below the penalty. The centre stays, and later rewards count for more.
    O(d^3).
    """
    floor = region.numbers[_FLOOR]
    for i in range(region.centre.size):
        for j in range(region.centre.size):
            region.design[i, j] = keep * (region.design[i, j] + region.recent[i, j])
            region.recent[i, j] = 0.0
            region.inverse[i, j] /= keep  # what is corrected if V has too few digits
        region.design[i, i] += (1.0 - keep) * floor
    recompute(region)


@outlined
def copy_design(region: Region, out: Floats) -> None:
    """Write V into the first d rows of `out` and V theta into the last, for `weaken_since`."""
    dim = region.centre.size
    for i in range(dim):
        out[dim, i] = 0.0
        for j in range(dim):
            out[i, j] = region.design[i, j] + region.recent[i, j]
            out[dim, i] += out[i, j] * region.centre[j]


@outlined
def weaken_since(region: Region, before: Floats, penalty: float, share: float) -> None:
    """Let what was learned since `copy_design` count for a share, in V and in theta = V^-1 b.

    Exact for ridge regression: the reward has the weight `share`. `penalty` is the one before; a
    new one counts in full, and so does a restart, after which V is less than before. O(d^3).
    """
    dim, pull = region.centre.size, region.direction
    added, learned, known = region.numbers[_FLOOR] - penalty, 0.0, 0.0
    for i in range(dim):
        learned += region.design[i, i] + region.recent[i, i] - region.numbers[_FLOOR]
        known += before[i, i] - penalty
    if learned < 0.5 * known:
        return
    for i in range(dim):
        pull[i] = (1.0 - share) * before[dim, i]
        for j in range(dim):
            now = region.design[i, j] + region.recent[i, j]
            pull[i] += share * now * region.centre[j]
            region.design[i, j] = before[i, j] + share * (now - before[i, j])
            region.recent[i, j] = 0.0
        region.design[i, i] += (1.0 - share) * added
        region.design[i, i] = max(region.design[i, i], region.numbers[_FLOOR])
    forget_step(region)
    if recompute(region):
        combine(region.inverse, pull, region.centre)


@jitable
def recompute(region: Region) -> bool:
    """Compute V^-1 and det V / det V_1 from V; return False if V has too few digits for that."""
    floor = region.numbers[_FLOOR]
    if not repair(region, 0.0):
        region.counts[_FALLBACKS] += 1
        return False
    volume = 0.0  # `repair` leaves the triangle of V in the scratch
    for i in range(region.centre.size):
        volume += math.log(region.scratch[i, i] * region.scratch[i, i] / floor)
    region.numbers[_LOGDET], region.numbers[_GROWTH] = max(volume, 0.0), 1.0
    return True


@outlined
def change_penalty(region: Region, penalty: float) -> None:
    """Give V another penalty and set theta = V^-1 b, with the b of ridge regression. O(d^3)."""
    dim, pull, floor = region.centre.size, region.direction, limit_penalty(penalty)
    for i in range(dim):
        pull[i] = 0.0
        for j in range(dim):
            pull[i] += (region.design[i, j] + region.recent[i, j]) * region.centre[j]
    wider = max(region.numbers[_FLOOR] / floor, 1.0)
    for i in range(dim):
        for j in range(dim):
            region.inverse[i, j] *= wider  # what is corrected if V has too few digits
        region.design[i, i] = max(region.design[i, i] + (floor - region.numbers[_FLOOR]), floor)
    region.numbers[_FLOOR] = floor
    region.numbers[_STRAYED] = 1.0
    if recompute(region):
        combine(region.inverse, pull, region.centre)


def shift_centre(region: Region, x: Floats, change: float) -> None:
    """centre += change V^-1 x, for an x that V already includes: its reward was corrected."""
    region.centre[:] += change * np.vecdot(region.inverse, x)  # `@` may wake the threads of BLAS
    forget_step(region)


@jitable
def move_centre(region: Region, step: float) -> None:
    """Subtract step V^-1 x from the centre, for the x last measured and the V before it included x.

    Parameters
    ----------
    region : Region
        Changes in place.
    step : float
        Length of the step.
    """
    region.numbers[_STEP] = step
    region.numbers[_STRAYED] = 0.0
    subtract(region.centre, step, region.direction)
