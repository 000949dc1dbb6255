"""The clipped mean: rows far out count as if they lay at a level that the sample sets itself.

The level M of weight L solves sum min(e^2 / M^2, 1) = L, where e is the distance from the median
(Wang et al. 2021): M sqrt(L) / n is then the standard error of the clipped mean, whatever the tail,
and about L rows lie beyond it if the tail is heavy.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._utils.statistics import Estimate, student_quantile
from ..._utils.validation import epsilon as check_epsilon
from ..._utils.validation import positive
from ...core.arrays import Floats

STEP = 10.0**0.5  # from one weight to the next
TIGHTEST = 0.1  # of the rows: the largest weight there is
DOUBT = 2.5  # standard errors by which two clipped means, or two tails, may differ
HEAVIEST = 0.9  # 1 / tail index; the mean of a tail with index near 1 cannot be told


class Sizes(NamedTuple):
    """Squared distances, the largest first, and the sums of what follows each of them."""

    squares: Floats
    rest: Floats

    @classmethod
    def of(cls, distances: Floats) -> "Sizes":
        squares = np.sort(distances * distances)[::-1]
        return cls(squares, np.cumsum(squares[::-1])[::-1])

    def level(self, weight: float) -> float:
        """The level M of this weight. If fewer rows than that differ from the median, there is
        none: then it is the largest distance, and nothing is clipped.

        >>> Sizes.of(np.ones(100)).level(4.0)
        5.0
        >>> Sizes.of(np.array([50.0, 50.0] + 98 * [0.0])).level(3.0)
        50.0
        """
        beyond = np.arange(min(math.ceil(weight), self.squares.size))  # rows beyond M
        level = self.rest[beyond] / (weight - beyond)
        found = level[np.argmax(level >= self.squares[beyond])]
        return math.sqrt(found if found > 0.0 else self.squares[0])


def clipped_mean(values: Floats, delta: float) -> Estimate:
    """A mean that clips as tightly as the two tails agree, with an interval that clips little.

    The interval is that of the mean clipped at weight ln(1 / delta), widened on either side by what
    may lie beyond the level there: one more row of that size, or what Hill's estimate of the two
    tails says that they have beyond it, if that is more. The value is a mean clipped tighter, which
    varies less, as long as it agrees with the first within 2.5 standard errors and the rows beyond
    its level fall on both sides alike; for skewed numbers it is the first.

    >>> rng = np.random.default_rng(0)
    >>> clipped = clipped_mean(rng.standard_t(1.5, 2000), 0.05)
    >>> abs(clipped.value) < 0.1, clipped.low < 0.0 < clipped.high
    (True, True)
    """
    centre = float(np.median(values))
    away = values - centre
    sizes, weight = Sizes.of(away), math.log(1.0 / delta)
    level = sizes.level(weight)
    loose = np.clip(away, -level, level)
    error = float(loose.std()) / math.sqrt(values.size)
    half = student_quantile(1.0 - delta / 2.0, values.size - 1) * error
    above, below = (unseen(sign * away, level) for sign in (1.0, -1.0))
    more = [min(level, float(side.max())) / values.size for side in (away, -away)]
    middle = float(loose.mean())
    low = middle - half - max(more[1], below - above)
    high = middle + half + max(more[0], above - below)
    value = min(max(tighten(away, loose, sizes, weight), low), high)
    return Estimate(centre + value, centre + low, centre + high)


def unseen(away: Floats, level: float) -> float:
    """E(e - M)+ of one side, from Hill's estimate xi of its tail (k the root of the rows).

        P(e > M) M / (1 / xi - 1),    P(e > M) = (k / n) (e_(k) / M)^(1 / xi)

    >>> unseen(np.linspace(-1.0, 1.0, 100), 5.0) < 1e-6
    True
    """
    count = round(math.sqrt(away.size))
    top = np.partition(away, away.size - count - 1)[-count - 1 :]
    base = float(top.min())
    if base <= 0.0 or level <= 0.0:
        return 0.0
    shape = min(float(np.mean(np.log(top / base))) * (count + 1) / count, HEAVIEST)
    if shape <= 0.0:
        return 0.0
    beyond = count / away.size * math.exp(math.log(base / level) / shape)
    return beyond * level / (1.0 / shape - 1.0)


def tighten(away: Floats, loose: Floats, sizes: Sizes, weight: float) -> float:
    """The tightest mean that agrees with the loose one, and whose two tails agree.

    >>> skewed = np.linspace(0.0, 10.0, 100) ** 2
    >>> tighten(skewed, skewed, Sizes.of(skewed), 3.0) == float(skewed.mean())
    True
    """
    value, size = float(loose.mean()), away.size
    weight *= STEP
    while weight <= TIGHTEST * size:
        level = sizes.level(weight)
        tight = np.clip(away, -level, level)
        gap = loose - tight
        above, below = int(np.sum(away > level)), int(np.sum(away < -level))
        if abs(gap.mean()) > DOUBT * gap.std() / math.sqrt(size):
            break
        if abs(above - below) > DOUBT * math.sqrt(above + below):
            break
        value = float(tight.mean())
        weight *= STEP
    return value


def bounded_mean(
    terms: Floats, weights: Floats, offset: Floats, raw_moment: float, epsilon: float, delta: float
) -> Estimate:
    """The mean of offset + terms if E|term|^p <= raw_moment weight^p in every row, p = 1 + epsilon.

    Terms are clipped at M = (v n / ln(2 / delta))^(1 / p), v = raw_moment mean(weight^p). What that
    takes away is at most (p - 1)^(p - 1) / p^p v M^(1 - p), and the interval has room for it on
    both sides: this is what only a known moment can give.

    >>> rng = np.random.default_rng(0)
    >>> one, none = np.ones(1000), np.zeros(1000)
    >>> bounded = bounded_mean(rng.pareto(3.0, 1000), one, none, 1.0, 1.0, 0.05)
    >>> bounded.low < 0.5 < bounded.high
    True
    """
    order, size = 1.0 + check_epsilon(epsilon), terms.size
    logarithm = math.log(2.0 / delta)
    total = positive("raw_moment", raw_moment) * float(np.mean(weights**order))
    level = (total * size / logarithm) ** (1.0 / order)
    lost = epsilon**epsilon / order**order * total * level**-epsilon
    clipped = offset + np.clip(terms, -level, level)
    half = student_quantile(1.0 - delta / 2.0, size - 1) * float(clipped.std()) / math.sqrt(size)
    half += lost + min(level, float(np.abs(terms).max())) / size
    value = float(clipped.mean())
    return Estimate(value, value - half, value + half)
