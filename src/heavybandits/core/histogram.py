"""Histograms of sizes over many orders of magnitude, with bins of a quarter of an octave.

A histogram is an array of shape (rows, BINS) of weights; sizes of one kind have one row. Bin
BINS / 2 starts at 2^(exponent - 1): the exponent is that of a typical size, so that sizes times a
power of two leave every bin unchanged.
"""

import math

from .arrays import Floats
from .jit import jitable

PER_OCTAVE = 4
BINS = 256  # 64 octaves; what is outside counts in the first or the last bin


@jitable
def bin_of(size: float, exponent: int) -> int:
    """Return the bin of a positive size.

    >>> bin_of(1.0, 1), bin_of(1.99, 1), bin_of(2.0, 1), bin_of(1e300, 1)
    (128, 131, 132, 255)
    """
    mantissa, power = math.frexp(size)
    place = PER_OCTAVE * (power - exponent) + int((mantissa - 0.5) * 2 * PER_OCTAVE)
    return min(max(place + BINS // 2, 0), BINS - 1)


@jitable
def size_of(place: int, exponent: int) -> float:
    """Return the middle of a bin.

    >>> size_of(128, 1)
    1.125
    """
    shifted = place - BINS // 2
    octave = shifted // PER_OCTAVE
    within = (shifted - PER_OCTAVE * octave + 0.5) / (2 * PER_OCTAVE)
    return math.ldexp(0.5 + within, int(octave + exponent))


@jitable
def weight_at(histogram: Floats, place: int) -> float:
    """Return the weight of a bin, all rows together."""
    total = 0.0
    for row in range(histogram.shape[0]):
        total += histogram[row, place]
    return total


@jitable
def weight_from(histogram: Floats, place: int) -> float:
    """Return the weight of this bin and of all above it, all rows together."""
    total = 0.0
    for i in range(place, BINS):
        total += weight_at(histogram, i)
    return total


@jitable
def rank_place(histogram: Floats, rank: float) -> int:
    """Return the bin of the rank-th largest size, -1 if there are fewer."""
    above = 0.0
    for step in range(BINS):
        above += weight_at(histogram, BINS - 1 - step)
        if above >= rank - 1e-9:
            return BINS - 1 - step
    return -1


@jitable
def find_valley(histogram: Floats, total: float, least: float) -> int:
    """Return a bin in the valley between many small sizes and a second peak of large sizes; -1 if
    there is none.

    A valley is two octaves that have at most a quarter of the weight above them. The weight above
    is at least `least`; at least half of `total`, which includes zeros, is below. No law whose
    sizes have one peak on a logarithmic scale has a valley: a Pareto or Student tail of index one
    has three quarters of its weight in its lowest two octaves.
    """
    above, within = 0.0, 0.0
    for i in range(2 * PER_OCTAVE):
        within += weight_at(histogram, BINS - 1 - i)
    for step in range(2 * PER_OCTAVE, BINS):
        place = BINS - step  # the lowest bin of the two octaves
        low = weight_at(histogram, place - 1)
        split = above >= least and 4.0 * within <= above and 2.0 * (above + within) <= total
        if split and low > 0.0:
            return place + PER_OCTAVE - 1
        top = weight_at(histogram, place + 2 * PER_OCTAVE - 1)
        above += top
        within += low - top
    return -1
