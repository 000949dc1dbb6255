"""Learned noise scales: each reward has a scale that is predicted from the rewards before it."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.errors import InvalidInputError
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer
from ...core.arrays import Floats, Integers
from ...core.capabilities import takes_noise_scale
from ...core.dispatch import choose, estimate_arm, learn, predict, score_arm, tally
from ...core.jit import jitable, outlined
from ...core.linalg import add_outer, bounded, cholesky, clamp, dot, solve_cholesky, subtract
from ...core.order_statistics import median
from ...core.protocols import ArmSet, Policy, Tally

_TYPICAL, _POOLED, _EXPONENT = range(3)  # places in LearnedScaleState.numbers
_SEEN, _END = range(2)  # places in LearnedScaleState.counts
FIRST = 16  # residuals whose median is the typical residual: the first epoch
KEPT = 0.5  # share of its sums that the regression keeps at the end of an epoch
PRIOR = 4.0  # rows that the penalty of the regression counts for
LARGEST_RATIO = 16.0  # limit of a learned scale, relative to the pooled one
CLIP = 6.0  # limit of ln |residual|, relative to the pooled one: a factor of 400
FLOOR = 1.0 / 256.0  # added to |x_i| before its logarithm
NORMAL = 0.6352  # -E ln |z| of a standard normal z
LEAST, MOST = 1e-20, 1e20  # limits of a scale, as for `noise_scale` of an estimator
LN2 = math.log(2.0)


class LearnedScaleState(NamedTuple):
    """State of `LearnedScale`: that of the policy inside, and the regression of ln |residual|.

    Logarithms are relative to 2^exponent, so that rewards times a power of two leave them as they
    are. numbers: the median of ln |residual| of the first epoch, the mean of the last epochs, the
    exponent; counts: residuals seen, those at which the epoch ends; row: the columns of one arm;
    weights: those of this epoch; moments, pull: sums of row row^T and of row ln |residual|; first:
    ln |residual| of the first epoch.
    """

    inner: Any
    numbers: Floats
    counts: Integers
    row: Floats
    weights: Floats
    moments: Floats
    pull: Floats
    first: Floats
    scratch: Floats


class LearnedScale(NamedTuple):
    """A policy such as `crhl` or `cral` that predicts the noise scale of every reward.

    Ridge regression of ln |y - predicted| on x_i, ln(|x_i| + 1/256), ln(1 + |predicted| / typical)
    and a constant. The weights are fitted at the end of every epoch, after 32, 64, 128, ...
    rewards; old epochs count half as much each time. In between they stay as they are. A scale is
    within a factor of 16 of the pooled scale, the geometric mean. So the scale of a reward is known
    before the reward. A scale that comes with a reward is used instead of the predicted one. The
    first 16 rewards have `noise_scale` of the estimator, and their median residual is the typical
    one. O(d^2) per reward, O(d^3) per epoch.

    The region of `cral` stays valid: its theorem allows every scale that is known before the
    reward. The region of `crhl` stays valid as long as no predicted scale is too small, or if
    `noise_scale` bounds all noise (docs/maths/crhl.md). No theorem covers the tuned forms.

    Parameters
    ----------
    policy : Policy
        A policy that takes a noise scale with every reward.
    relative : bool, default False
        False: a scale is in the unit of the rewards, the standard deviation if the noise is
        Gaussian. True: it is `noise_scale` of the estimator times the predicted residual over the
        typical one, which does not depend on the unit of the rewards.

    >>> from heavybandits import crhl
    >>> policy = LearnedScale(crhl(dim=3, noise_scale=1.0, radius_scale=0.1))
    >>> policy.dim, policy.init().weights.size
    (3, 8)
    """

    policy: Policy
    relative: bool = False

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    def check(self) -> None:
        scaled = hasattr(getattr(self.policy, "estimator", None), "noise_scale")
        if not (scaled and takes_noise_scale(self.policy)):
            raise InvalidInputError(
                "LearnedScale.policy must take a noise scale with every reward, as crhl and cral "
                f"do, but {type(self.policy).__name__} does not"
            )

    @property
    def dim(self) -> int:
        return self.policy.dim

    @property
    def plays(self) -> int:
        return self.policy.plays

    @property
    def choice_writes(self) -> tuple[str, ...]:
        return ()

    @property
    def learns_noise_scale(self) -> bool:
        return True

    def init(self) -> LearnedScaleState:
        inner, size = self.policy.init(), 2 * self.dim + 2
        inner.estimate.noise_scale[0] = 0.0
        counts, square = np.array([0, FIRST]), zeros(size, size)
        arrays = zeros(size), zeros(size), square, zeros(size), zeros(FIRST), zeros(size, size)
        return LearnedScaleState(inner, zeros(3), counts, *arrays)

    def is_valid(self, state: LearnedScaleState) -> bool:
        """Return True if the counts are those of an epoch."""
        seen, end = state.counts.tolist()
        return end >= FIRST and math.frexp(end)[0] == 0.5 and 0 <= seen < end

    def choose(self, state: LearnedScaleState, arms: ArmSet, buffer: ArmBuffer) -> int:
        return choose(self.policy, state.inner, arms, buffer)

    def learn(self, state: LearnedScaleState, x: Floats, rewards: Floats) -> None:
        clamp(rewards)
        estimator, estimate = self.policy.estimator, state.inner.estimate  # type: ignore[attr-defined]
        predicted = bounded(predict(estimator, estimate, score_arm(estimator, estimate, x)))
        residual = abs(rewards[0] - predicted)
        fill_row(state, x, predicted)
        if estimate.noise_scale[0] == 0.0:  # none came with the reward
            usual = estimator.noise_scale
            estimate.noise_scale[0] = predict_scale(state, usual, self.relative)
        learn(self.policy, state.inner, x, rewards)
        estimate.noise_scale[0] = 0.0
        if residual > 0.0:
            learn_residual(state, residual)

    def estimate_arm(self, state: LearnedScaleState, x: Floats) -> tuple[float, float]:
        return estimate_arm(self.policy, state.inner, x)

    def tally(self, state: LearnedScaleState) -> Tally:
        return tally(self.policy, state.inner)


@jitable
def log_of(state: LearnedScaleState, size: float) -> float:
    """Return ln size, relative to 2^exponent."""
    share, exponent = math.frexp(size)
    return math.log(share) + (float(exponent) - state.numbers[_EXPONENT]) * LN2


@jitable
def fill_row(state: LearnedScaleState, x: Floats, predicted: float) -> None:
    """Write the columns of an arm into `row`."""
    row, dim = state.row, x.size
    for i in range(dim):
        row[i] = x[i]
        row[dim + i] = math.log(abs(x[i]) + FLOOR)
    row[2 * dim], row[2 * dim + 1] = 0.0, 1.0
    if predicted != 0.0:
        ratio = log_of(state, abs(predicted)) - state.numbers[_TYPICAL]
        row[2 * dim] = ratio if ratio > 36.0 else math.log1p(math.exp(ratio))  # the same from 36 on


@jitable
def predict_scale(state: LearnedScaleState, usual: float, relative: bool) -> float:
    """Return the noise scale of the arm in `row`; `usual` in the first epoch."""
    if state.counts[_SEEN] < FIRST:
        return usual
    most = math.log(LARGEST_RATIO)
    logarithm = min(max(dot(state.row, state.weights), -most), most) + state.numbers[_POOLED]
    if relative:
        scale = usual * math.exp(min(logarithm - state.numbers[_TYPICAL], 50.0))
    else:
        unit = state.numbers[_EXPONENT] * LN2
        scale = math.exp(min(logarithm + NORMAL + unit, 50.0))
    return min(max(scale, LEAST), MOST)


@jitable
def learn_residual(state: LearnedScaleState, residual: float) -> None:
    """Record the residual of the arm in `row`, which is not 0."""
    counts, pooled = state.counts, state.numbers[_POOLED]
    if counts[_SEEN] == 0:
        state.numbers[_EXPONENT] = float(math.frexp(residual)[1])
    logarithm = log_of(state, residual)
    if counts[_SEEN] < FIRST:
        state.first[counts[_SEEN]] = logarithm
    else:
        add_outer(state.moments, 1.0, state.row)
        subtract(state.pull, -min(max(logarithm, pooled - CLIP), pooled + CLIP), state.row)
    counts[_SEEN] += 1
    if counts[_SEEN] == counts[_END]:
        end_epoch(state)


@outlined
def end_epoch(state: LearnedScaleState) -> None:
    """Fit the weights for the next epoch, which ends after twice as many residuals."""
    if state.counts[_SEEN] == FIRST:
        state.numbers[_TYPICAL] = median(state.first, 0, FIRST)
        state.numbers[_POOLED] = state.numbers[_TYPICAL]
    else:
        fit_weights(state)
    state.counts[_END] *= 2
    for i in range(state.row.size):
        state.pull[i] *= KEPT
        for j in range(state.row.size):
            state.moments[i, j] *= KEPT


@jitable
def fit_weights(state: LearnedScaleState) -> None:
    """Ridge regression of ln |residual| minus its mean, the pooled one.

    The penalty of a column is PRIOR times its mean square: the unit of a feature does not matter.
    """
    moments, pull, matrix, last = state.moments, state.pull, state.scratch, state.row.size - 1
    rows = moments[last, last]
    pooled = pull[last] / rows
    for i in range(last + 1):
        state.row[i] = pull[i] - pooled * moments[i, last]
        for j in range(last + 1):
            matrix[i, j] = moments[i, j]
        matrix[i, i] *= 1.0 + PRIOR / rows
        if matrix[i, i] == 0.0:  # a feature that was always 0
            matrix[i, i] = 1.0
    if cholesky(matrix, matrix):
        solve_cholesky(matrix, state.row, state.weights)
        state.numbers[_POOLED] = pooled
