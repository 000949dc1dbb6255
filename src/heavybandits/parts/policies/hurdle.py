"""Hurdle: for rewards that are mostly one value, a model of events and a model of their amounts."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._utils.display import show_part, show_part_html
from ..._utils.errors import InvalidInputError
from ..._utils.validation import Positive
from ...core.allocation import zeros
from ...core.arm_buffer import ArmBuffer, mark_stale, pick
from ...core.arrays import Floats, Integers
from ...core.confidence_region import (
    Region,
    add_observation,
    change_penalty,
    make_region,
    measure,
    move_centre,
    norm_of,
    penalty_of,
    reset_region,
    squared_norm,
)
from ...core.dispatch import choose, count_arms, estimate_arm, learn, tally
from ...core.jit import jitable, outlined
from ...core.linalg import combine, dot, squares
from ...core.protocols import ArmSet, Tally
from ..estimators.auto import (
    BLOCK,
    CONSTANT,
    WARM,
    ScaleFreeEstimate,
    ScaleFreeHuber,
    add_novelty,
    base_of,
    block_width,
    exact_share,
    fill_block,
    fill_row,
    is_due,
    is_event,
    is_exploration_due,
    is_rare,
    learned_directions,
    least_event,
    novelty,
    prior_square,
    restart_count,
    rewards_learned,
    share_from,
    typical_event,
    unit_of,
)
from ..links import Identity
from .ucb import UCB

# Places in HurdleState.numbers and in HurdleState.counts
NOISE, LEAST = range(2)
EVENTS, GAINS, RESTARTS = range(3)

CONVERSION, AMOUNT = 0.1, 0.03  # first penalties, in dimensions; features have variance one
LEAST_AMOUNT, MOST_CONVERSION = 1e-4, 2.0  # limits of later ones, in dimensions
ELASTICITY = -0.5  # of the conversion to the amount, before the data say otherwise
FIRST_NOISE = 0.5  # squared deviation of an amount from its prediction, relative to it, before data
ENOUGH = 3  # events before the two models choose
SMALLEST, LARGEST = 0.3, 16.0  # limits of the noise scale of an amount, in typical amounts
RANGE = 32.0  # limit of a predicted amount as a feature, in typical amounts
MOST = 4.0  # errors of an amount are clipped here, in noise scales
STEPS = 60  # most steps of the search for a logit, which halve an interval or are Newton's
LEAST_WEIGHT = 1e-3  # of a reward in the conversion model
CHECK_EVERY = 8  # rewards between two looks whether other rewards are events now


class HurdleScratch(NamedTuple):
    """row, scaled: the row of an arm, and that row in units of its noise scale; block, lanes: rows
    and numbers of several arms."""

    row: Floats
    scaled: Floats
    block: Floats
    lanes: Floats


class HurdleState(NamedTuple):
    """State of `Hurdle`.

    linear: that of the policy inside; conversion, amounts: the two regressions; scratch: room for
    one choice or update; numbers: the noise of amounts, and the least size of an event when the
    models started; counts: events, gains among them, restarts of the policy inside.
    """

    linear: Any
    conversion: Region
    amounts: Region
    scratch: HurdleScratch
    numbers: Floats
    counts: Integers


# ---- prediction


@jitable
def is_on(state: HurdleState, linear: ScaleFreeEstimate) -> bool:
    """Return True if the two models choose: most rewards are exactly one value, and there are
    events."""
    enough = state.counts[EVENTS] >= ENOUGH and rewards_learned(linear) >= WARM
    return enough and is_rare(linear) and 2.0 * exact_share(linear) >= 1.0


@jitable
def amount_feature(state: HurdleState, linear: ScaleFreeEstimate, amount: float) -> float:
    """Return ln |amount| within limits, in units of `unit_of`. An amount of the other sign than
    most counts as the least one."""
    typical = typical_event(linear) / unit_of(linear)
    if not typical > 0.0:
        return 0.0
    size = amount if 2 * state.counts[GAINS] >= state.counts[EVENTS] else -amount
    return math.log(min(max(size, typical / RANGE), RANGE * typical))


@jitable
def chance_of(logit: float) -> float:
    """Return 1 / (1 + e^-logit)."""
    return 1.0 / (1.0 + math.exp(-min(max(logit, -500.0), 500.0)))


@jitable
def chance_width(chance: float, deviation: float) -> float:
    """Return the width of a probability, from that of its logit: p (1 - p) (u + u^2 / 2), the first
    terms of p(logit + u) - p, and at most 1 - p."""
    rise = chance * (1.0 - chance) * (deviation + 0.5 * deviation * deviation)
    return min(rise, 1.0 - chance)


@jitable
def widen(square: float, count: float, slopes: float) -> float:
    """Return w sqrt(3 + ln(1 + n w^2 / d)): an arm of which little is known gains with ln n."""
    square = max(square, 0.0)
    return math.sqrt(square * (3.0 + math.log1p(count * square / slopes)))


@jitable
def combined_width(chance: float, amount: float, chance_error: float, amount_error: float) -> float:
    """Return the width of p m: sqrt((m dp)^2 + (p dm)^2 + (dp dm)^2)."""
    one, other, both = amount * chance_error, chance * amount_error, chance_error * amount_error
    return math.sqrt(one * one + other * other + both * both)


@jitable
def fill_rows_of(state: HurdleState, linear: ScaleFreeEstimate, x: Floats) -> float:
    """Write the row of x with the logarithm of its predicted amount; return that amount."""
    fill_row(linear, x)
    last = x.size + 1
    for i in range(last):
        state.scratch.row[i] = linear.scratch.row[i]
    amount = dot(linear.scratch.row, state.amounts.centre)
    state.scratch.row[last] = math.sqrt(float(x.size)) * amount_feature(state, linear, amount)
    return amount


@jitable
def logit_of(state: HurdleState) -> float:
    """Return the logit of the arm in `row`."""
    last = state.scratch.row.size - 1
    offset = ELASTICITY * state.scratch.row[last] / math.sqrt(float(last - 1))
    return dot(state.scratch.row, state.conversion.centre) + offset


@jitable
def measure_arms(
    part: Any, state: HurdleState, linear: ScaleFreeEstimate, buffer: ArmBuffer
) -> None:
    """Write p m and its squared width of all arms into `scores` and `squares`. O(K d^2)."""
    conversion, amounts, scratch = state.conversion, state.amounts, state.scratch
    block, lanes = scratch.block, scratch.lanes
    dim = linear.middle.size
    rewards, events = float(rewards_learned(linear)), float(state.counts[EVENTS])
    root, noise = math.sqrt(float(dim)), math.sqrt(state.numbers[NOISE])
    share = penalty_of(linear.region) / penalty_of(conversion)
    for first in range(0, buffer.scores.size, BLOCK):
        count = min(BLOCK, buffer.scores.size - first)
        width = block_width(count)
        gains, norms, logits = lanes[0, :width], lanes[1, :width], lanes[2, :width]
        spreads, above, below = lanes[3, :width], lanes[4, :width], lanes[5, :width]
        news = linear.scratch.lanes[0, :width]
        fill_block(linear, buffer.features, first, count)
        combine(linear.scratch.block, amounts.centre, gains)
        squares(linear.scratch.block, amounts.inverse, norms, above, below)
        for i in range(dim + 1):
            for k in range(count):
                block[i, k] = linear.scratch.block[i, k]
        for k in range(count):
            news[k] = 0.0
            block[dim + 1, k] = root * amount_feature(state, linear, gains[k])
        add_novelty(linear, buffer.features, first, count, news)
        combine(block, conversion.centre, logits)
        squares(block, conversion.inverse, spreads, above, below)
        for k in range(count):
            amount = gains[k]
            chance = chance_of(logits[k] + ELASTICITY * block[dim + 1, k] / root)
            square = spreads[k] + share * news[k]
            error = chance_width(chance, part.width * widen(square, rewards, float(dim)))
            doubt = part.width * noise * widen(norms[k], events, float(dim))
            both = combined_width(chance, amount, error, doubt)
            buffer.scores[first + k] = chance * amount
            buffer.squares[first + k] = both * both


# ---- learning


@outlined
def start_models(state: HurdleState, linear: ScaleFreeEstimate) -> None:
    """Forget both models; the conversion of all arms is that of all rewards so far, with a standard
    deviation of one logit."""
    dim = float(linear.middle.size)
    reset_region(state.conversion, CONVERSION * dim)
    reset_region(state.amounts, AMOUNT * dim)
    state.counts[EVENTS], state.counts[GAINS] = 0, 0
    state.numbers[NOISE], state.numbers[LEAST] = FIRST_NOISE, least_event(linear)
    share = share_from(linear, least_event(linear))
    n = float(min(rewards_learned(linear), 1000))
    share = (n * share + 0.5) / (n + 1.0)
    logit = math.log(share / (1.0 - share))
    typical = typical_event(linear) / unit_of(linear)
    if typical > 0.0:
        logit -= ELASTICITY * math.log(typical)
    state.conversion.centre[linear.middle.size] = logit / CONSTANT
    for i in range(state.scratch.row.size):
        state.scratch.row[i] = CONSTANT if i == linear.middle.size else 0.0
    measure(state.conversion, state.scratch.row)
    add_observation(state.conversion, state.scratch.row, 1.0)


@jitable
def learned_logit(logit: float, square: float, outcome: float) -> float:
    """Return the logit u with u = logit + square (outcome - p(u)): the most probable one after an
    outcome, if it was Gaussian of variance `square` around `logit`.

    A Newton step from `logit` would end far beyond it where p is near 0 or 1.
    """
    low, high = logit - square * chance_of(logit), logit
    if outcome > 0.0:
        low, high = logit, logit + square * chance_of(-logit)
    found, last = logit, high - low
    for _ in range(STEPS):
        chance = chance_of(found)
        beyond = found - logit - square * (outcome - chance)
        if beyond > 0.0:
            high = found
        else:
            low = found
        step = beyond / (1.0 + square * chance * (1.0 - chance))
        if abs(step) > 0.5 * last or not low <= found - step <= high:  # halve the interval
            step = found - 0.5 * (low + high)
        found, last = found - step, abs(step)
        if last <= 1e-12 * square:
            break
    return found


@jitable
def learn_outcome(state: HurdleState, linear: ScaleFreeEstimate, x: Floats, event: bool) -> float:
    """Learn whether a reward is an event, by one implicit step; return the predicted amount."""
    conversion, outcome = state.conversion, 1.0 if event else 0.0
    amount = fill_rows_of(state, linear, x)
    measure(conversion, state.scratch.row)
    chance = chance_of(learned_logit(logit_of(state), max(squared_norm(conversion), 0.0), outcome))
    add_observation(conversion, state.scratch.row, max(chance * (1.0 - chance), LEAST_WEIGHT))
    move_centre(conversion, chance - outcome)
    return amount


@outlined
def learn_first(state: HurdleState, linear: ScaleFreeEstimate) -> None:
    """Learn from the first rewards: the amounts first, because the conversion depends on them."""
    for j in range(WARM):
        if is_event(linear, linear.rewards[j]):
            amount = fill_rows_of(state, linear, linear.arms[j])
            learn_amount(state, linear, amount, linear.rewards[j])
    for j in range(WARM):
        learn_outcome(state, linear, linear.arms[j], is_event(linear, linear.rewards[j]))


@jitable
def learn_amount(
    state: HurdleState, linear: ScaleFreeEstimate, predicted: float, reward: float
) -> None:
    """Learn the amount of an event whose row is in linear.scratch.row, by Huber regression.

    Its noise scale is the predicted amount, within limits. Errors are clipped at 4 noise scales, or
    where they would move the prediction by 0.35 standard errors.
    """
    amounts, scaled, numbers = state.amounts, state.scratch.scaled, state.numbers
    amount = (reward - base_of(linear)) / unit_of(linear)
    typical = typical_event(linear) / unit_of(linear)
    typical = typical if typical > 0.0 else abs(amount)
    if state.counts[EVENTS] == 0:
        amounts.centre[scaled.size - 1] = math.copysign(typical, amount) / CONSTANT
        predicted = math.copysign(typical, amount)
    state.counts[EVENTS] += 1
    state.counts[GAINS] += 1 if amount > 0.0 else 0
    scale = min(max(abs(predicted), SMALLEST * typical), LARGEST * typical)
    for i in range(scaled.size):
        scaled[i] = linear.scratch.row[i] / scale
    measure(amounts, scaled)
    square = max(squared_norm(amounts), 0.0)
    limit = MOST * math.sqrt(1.0 + square)
    if square > 0.0:
        robust = 0.35 * math.sqrt(numbers[NOISE]) * (1.0 + square) / math.sqrt(square)
        limit = max(limit, robust)
    error = (amount - predicted) / scale
    residual = min(error * error / (1.0 + square), 9.0 * max(numbers[NOISE], 0.1))
    numbers[NOISE] += (residual - numbers[NOISE]) / (float(min(state.counts[EVENTS], 1000)) + 3.0)
    kept = min(max(error, -limit), limit)
    add_observation(amounts, scaled, 1.0)
    move_centre(amounts, -kept / (1.0 + square))


@outlined
def update_penalties(state: HurdleState, dim: int) -> None:
    """Give both models the penalty k s^2 / ||slopes||^2, within limits; s = 1 for conversion."""
    slopes, conversion, amounts = float(dim), state.conversion, state.amounts
    fitting = fitting_penalty(conversion, 1.0)
    limited = min(max(fitting, CONVERSION * slopes), MOST_CONVERSION * slopes)
    change_penalty(conversion, limited)
    if state.counts[EVENTS] >= 2 * ENOUGH:
        fitting = fitting_penalty(amounts, state.numbers[NOISE])
        limited = min(max(fitting, LEAST_AMOUNT * slopes), AMOUNT * slopes)
        change_penalty(amounts, limited)


@jitable
def fitting_penalty(region: Region, noise: float) -> float:
    """Return k s^2 / ||slopes||^2, the fixed point of the evidence."""
    signal = max(prior_square(region) / penalty_of(region), 1e-12)
    return learned_directions(region) * noise / signal


@jitable
def must_restart(state: HurdleState, linear: ScaleFreeEstimate) -> bool:
    """Return True if the policy inside has restarted, or if a third of what counted as events are
    none now, or the other way round."""
    if restart_count(linear) != state.counts[RESTARTS]:
        return True
    learned = rewards_learned(linear)
    if learned % CHECK_EVERY != 0 and learned > 2 * WARM:
        return False
    before, now = share_from(linear, state.numbers[LEAST]), share_from(linear, least_event(linear))
    return 3.0 * min(before, now) < 2.0 * max(before, now)


class Hurdle(NamedTuple):
    """A policy for rewards that are mostly one value: sales, claims, clicks with a value.

    The value that most rewards share is the base; every other reward is an event. The index of an
    arm is that of p m, its probability of an event times the amount of the event:

    p m + sqrt((m dp)^2 + (p dm)^2 + (dp dm)^2).

    p comes from logistic regression in one pass on the standardised features and on ln m, with the
    coefficient -1/2 for ln m before any data: conversion falls with the price, and often as its
    power. Each reward makes an implicit step: the new logit of its arm solves u = logit + w^2 (y -
    p(u)), and V grows by p (1 - p) at u. The base of the logits has a standard deviation of one
    before any data, around the share of events among the first rewards. m comes from Huber
    regression of the amounts, each with a noise scale in proportion to its prediction, so that arms
    which never sold have the amount of arms like them. u = width w sqrt(3 + ln(1 + n w^2 / d)), w
    the norm of the arm in each model; dp = p (1 - p) (u + u^2 / 2), at most 1 - p, and dm = u s.
    Penalties follow the evidence, as those of `ScaleFreeHuber`.

    The policy inside, `auto`, finds base, units and events. It chooses alone in the first 32
    decisions, while no three events have come, while most rewards are not exactly one value (with
    noise around it, say), in continuous arm sets, and in 4 sqrt(n) decisions for exploration.
    No theorem covers this policy.

    Parameters
    ----------
    linear : UCB
        The policy `auto`, with the identity link.
    width : float, default 0.8
        Weight of the standard errors.

    >>> from heavybandits import auto
    >>> Hurdle(auto(dim=3)).dim
    3
    """

    linear: UCB
    width: Positive = 0.8

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)

    def check(self) -> None:
        estimator = getattr(self.linear, "estimator", None)
        fits = isinstance(estimator, ScaleFreeHuber) and isinstance(estimator.link, Identity)
        if not (fits and isinstance(self.linear, UCB)):
            raise InvalidInputError(
                "Hurdle.linear must be a policy with the estimator ScaleFreeHuber and the link "
                f"Identity, got {self.linear!r}: use heavybandits.hurdle(dim=...)"
            )
        if self.plays != 1:
            raise InvalidInputError(f"Hurdle.linear must have plays = 1, got {self.plays}")

    @property
    def dim(self) -> int:
        return self.linear.dim

    @property
    def plays(self) -> int:
        """Plays of one arm per decision."""
        return self.linear.plays

    @property
    def choice_writes(self) -> tuple[str, ...]:
        """The arrays of the state in which a choice leaves something that matters later."""
        return ()

    def init(self) -> HurdleState:
        dim = self.dim
        return HurdleState(
            linear=self.linear.init(),
            conversion=make_region(dim + 2, CONVERSION * dim),
            amounts=make_region(dim + 1, AMOUNT * dim),
            scratch=HurdleScratch(
                row=zeros(dim + 2),
                scaled=zeros(dim + 1),
                block=zeros(dim + 2, BLOCK),
                lanes=zeros(6, BLOCK),
            ),
            numbers=zeros(2),
            counts=np.zeros(3, np.int64),
        )

    def is_valid(self, state: HurdleState) -> bool:
        estimator: Any = self.linear.estimator
        inside = estimator.is_valid(state.linear.estimate)
        return bool(inside and state.numbers[NOISE] >= 0.0 and (state.counts >= 0).all())

    def choose(self, state: HurdleState, arms: ArmSet, buffer: ArmBuffer) -> int:
        linear = state.linear.estimate
        if count_arms(arms) == 0 or not is_on(state, linear) or is_exploration_due(linear):
            return choose(self.linear, state.linear, arms, buffer)
        measure_arms(self, state, linear, buffer)
        mark_stale(buffer)
        return pick(buffer, 1.0)

    def learn(self, state: HurdleState, x: Floats, rewards: Floats) -> None:
        learn(self.linear, state.linear, x, rewards)
        linear = state.linear.estimate
        learned = rewards_learned(linear)
        if learned < WARM or (learned > WARM and not is_rare(linear)):
            return
        if learned == WARM or must_restart(state, linear):
            start_models(state, linear)
            state.counts[RESTARTS] = restart_count(linear)
        if learned == WARM:
            learn_first(state, linear)
        else:
            event = is_event(linear, rewards[0])
            amount = learn_outcome(state, linear, x, event)
            if event:
                learn_amount(state, linear, amount, rewards[0])
        if is_due(learned):
            update_penalties(state, x.size)

    def estimate_arm(self, state: HurdleState, x: Floats) -> tuple[float, float]:
        linear = state.linear.estimate
        if not is_on(state, linear):
            return estimate_arm(self.linear, state.linear, x)
        amount, slopes = fill_rows_of(state, linear, x), float(x.size)
        chance = chance_of(logit_of(state))
        share = penalty_of(linear.region) / penalty_of(state.conversion)
        square = norm_of(state.conversion, state.scratch.row) ** 2 + share * novelty(linear, x)
        deviation = self.width * widen(square, float(rewards_learned(linear)), slopes)
        known = norm_of(state.amounts, linear.scratch.row) ** 2
        doubt = self.width * math.sqrt(state.numbers[NOISE])
        doubt *= widen(known, float(state.counts[EVENTS]), slopes)
        width = combined_width(chance, amount, chance_width(chance, deviation), doubt)
        unit = unit_of(linear)
        return base_of(linear) + unit * chance * amount, unit * width

    def tally(self, state: HurdleState) -> Tally:
        return tally(self.linear, state.linear)
