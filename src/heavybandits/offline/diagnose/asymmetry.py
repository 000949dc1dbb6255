"""C of a sample: the asymmetry in the condition of CRAL, and what a sample cannot show of it."""

from typing import NamedTuple

import numpy as np

from ..._utils.statistics import Estimate
from ...algorithms import theory
from ...core.arrays import Floats
from .columns import Groups

LEAST_ROWS = 50  # of a group whose C is estimated
WORK = 2_000_000  # rows sorted by the bootstrap
UNSEEN = 3.0  # an event of probability 3 / n is in n rows with probability 95%


class Asymmetry(NamedTuple):
    """C of the noise if the law of the noise were the sample.

    `estimate` is that of all rows, with a 90% bootstrap interval; `group` is the action with the
    largest C, `of_group`. `needed` covers both. An event of the probability `unseen` is missing
    from as many rows with probability 5%; as a lone prize it would have C = `of_unseen`.
    """

    estimate: Estimate
    group: str | None
    of_group: float
    needed: float
    unseen: float
    of_unseen: float


def sample_asymmetry(noise: Floats) -> float:
    """Return the smallest C for which a sample, minus its mean, satisfies the condition of CRAL.

        |mean of clip(e, tau)| <= C mean of min(e^2, tau^2) / tau    for all tau > 0

    Between two neighbouring sizes |e| the ratio is (a + b tau) tau / (c + d tau^2), so that its
    largest value is at one of the sizes or at a root of a d tau^2 = 2 b c tau + a c.

    >>> round(sample_asymmetry(np.r_[np.zeros(99), 1.0]), 2), theory.asymmetry_of_atom(0.01)
    (4.5, 4.5)
    >>> sample_asymmetry(np.array([-1.0, 1.0]))
    0.0
    """
    centred = noise / (float(np.abs(noise).max()) or 1.0)
    centred = centred - centred.mean()
    if not centred.any():
        return 0.0
    centred = centred[np.argsort(np.abs(centred))]
    a = np.concatenate([[0.0], np.cumsum(centred)])
    b = np.concatenate([np.cumsum(np.sign(centred)[::-1])[::-1], [0.0]])
    c = np.concatenate([[0.0], np.cumsum(centred**2)])
    d = centred.size - np.arange(centred.size + 1.0)
    low = np.concatenate([[0.0], np.abs(centred)])
    high = np.concatenate([low[1:], low[-1:]])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle, half = b * c / (a * d), np.sqrt((b * c) ** 2 + a * a * c * d) / np.abs(a * d)
        ratios = [
            np.abs(a + b * tau) * tau / (c + d * tau * tau)
            for tau in (high, np.clip(middle - half, low, high), np.clip(middle + half, low, high))
        ]
    best = float(np.nanmax(ratios))
    return best if best > 1e-9 else 0.0


def estimate_asymmetry(
    noise: Floats, groups: Groups | None, rng: np.random.Generator, resamples: int
) -> Asymmetry:
    """Return C of the noise, of the group with the largest C, and what the rows cannot show."""
    rows = noise.size
    drawn = max(20, min(resamples, WORK // rows))
    draws = [sample_asymmetry(noise[rng.integers(rows, size=rows)]) for _ in range(drawn)]
    low, high = (float(q) for q in np.quantile(draws, (0.05, 0.95)))
    value = sample_asymmetry(noise)
    estimate = Estimate(value, min(low, value), max(high, value))
    group, of_group = _largest(noise, groups)
    unseen = min(0.5, UNSEEN / rows)
    return Asymmetry(
        estimate=estimate,
        group=group,
        of_group=of_group,
        needed=max(estimate.high, of_group),
        unseen=unseen,
        of_unseen=theory.asymmetry_of_atom(unseen),
    )


def _largest(noise: Floats, groups: Groups | None) -> tuple[str | None, float]:
    if groups is None:
        return None, 0.0
    sizes = np.bincount(groups.places, minlength=len(groups.names))
    parts = np.split(noise[np.argsort(groups.places, kind="stable")], np.cumsum(sizes)[:-1])
    each = [
        (sample_asymmetry(part), name)
        for part, name in zip(parts, groups.names, strict=True)
        if part.size >= LEAST_ROWS
    ]
    of_group, group = max(each, default=(0.0, None))
    return group, of_group
