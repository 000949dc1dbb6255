"""Advice from a diagnosis: the recommended policy, and the assumptions of the algorithms."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._utils.files import jsonable
from ..._utils.statistics import Estimate
from ...algorithms import theory
from .tail_index import Tail

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

KAPPA = 1.0  # of the identity link, whose rewards are not bounded
LARGE = 20.0  # tail index above which the number says nothing
MILD = 2.5  # tail index above which clipping changed little in our replays of real data


class Advice(NamedTuple):
    """`algorithm` to use, `code` that makes it, `reason`, and `assumptions` by algorithm."""

    algorithm: str
    code: str
    reason: str
    assumptions: dict[str, str]


def advise(diagnosis: "Diagnosis") -> Advice:
    """Recommend `auto`, unless no method can learn from these rewards."""
    assumptions = {
        "linucb": _about_linucb(diagnosis),
        "crtm": _about_crtm(diagnosis),
        "crmm": _about_crmm(diagnosis),
        "crhl": _about_crhl(diagnosis),
    }
    if not _deviation(diagnosis) > 0.0:
        assumptions = dict.fromkeys(
            assumptions, "no parameters to choose: the rewards have no noise"
        )
    if diagnosis.moments[1] == "no":
        reason = (
            "so heavy that the mean itself does not exist: no method that ranks arms by their mean "
            "reward can work. Use a bounded version of the reward (its rank, its logarithm, a cap)"
        )
        return Advice("none", "", reason, assumptions)
    code = f"auto(dim={_dim(diagnosis)})"
    return Advice("auto", code, _reason(diagnosis), assumptions)


def _dim(diagnosis: "Diagnosis") -> str:
    """Return the dimension of the arms: the features and an intercept."""
    return "d" if diagnosis.dim is None else str(diagnosis.dim + 1)


def _reason(diagnosis: "Diagnosis") -> str:
    """Say how much a robust policy gains on these rewards."""
    shown = _shown(diagnosis.tail_index)
    if not diagnosis.heavy:
        return (
            f"not heavy-tailed (tail index {shown}): robustness is not needed, and auto, "
            "which needs no parameter, costs little. linucb with "
            f"noise_scale={_deviation(diagnosis):.3g} has a theorem for rewards like these"
        )
    if diagnosis.tail_index.value > MILD:
        words = (
            f"mildly heavy-tailed (tail index {shown}): the variance exists, and clipping changes "
            "little either way"
        )
    else:
        words = f"heavy-tailed (tail index {shown}): clip rewards at a threshold that adapts"
    if not diagnosis.symmetry.symmetric:
        words += (
            ". The noise is skewed, so clipping shifts all rewards alike: keep an intercept among "
            "the features"
        )
    return f"{words}. Check by replaying your data"


def _deviation(diagnosis: "Diagnosis") -> float:
    return float((diagnosis.noise / diagnosis.scale).std())  # squares in other units overflow


def _about_linucb(diagnosis: "Diagnosis") -> str:
    ten = diagnosis.square_shares.get("10", 1.0)
    carried = f"the 10 largest of {diagnosis.rows} rows carry {ten:.0%} of the sum of squares"
    if diagnosis.heavy:
        return f"needs sub-Gaussian noise, which this is not: {carried}"
    return f"needs sub-Gaussian noise, which these rewards may have: {carried}"


def _about_crtm(diagnosis: "Diagnosis") -> str:
    epsilon, moment = diagnosis.epsilon.value, diagnosis.raw_moment
    words = (
        f"needs E|y|^{1 + epsilon:.2f} <= u: for rewards divided by {diagnosis.scale:.4g}, "
        f"u = {moment.value:.3g} (90%: {moment.low:.3g} to {moment.high:.3g}), so epsilon = "
        f"{epsilon:.2f} and raw_moment = {moment.high:.3g}"
    )
    if diagnosis.dim is None:
        return words
    threshold = theory.truncation_threshold(
        dim=diagnosis.dim + 1,
        horizon=diagnosis.horizon,
        raw_moment=moment.high,
        kappa=KAPPA,
        epsilon=epsilon,
        delta=diagnosis.delta,
    )
    beyond = int((abs(diagnosis.rewards) > threshold * diagnosis.scale).sum())
    return (
        f"{words}. Its threshold Gamma = {threshold:.3g} truncates {beyond} of {diagnosis.rows} "
        "rewards in the first rounds (||x||_{V^-1} = 1) and fewer later"
    )


def _about_crmm(diagnosis: "Diagnosis") -> str:
    plays = theory.median_plays(horizon=diagnosis.horizon, delta=diagnosis.delta)
    updates = diagnosis.horizon // plays
    symmetry = diagnosis.symmetry
    if symmetry.symmetric:
        words = (
            f"needs symmetric noise, and this is (distance of both sides {symmetry.distance:.2f})"
        )
    else:
        words = (
            f"needs symmetric noise, which this is not (distance of both sides "
            f"{symmetry.distance:.2f}, trimmed mean {symmetry.shift:+.2f} scales off the median)"
        )
    left = f"{updates} updates" if updates != 1 else "1 update"
    return (
        f"{words}, and r plays of one arm per decision, here {plays}, which leaves {left} in "
        f"{diagnosis.horizon} plays; v = {diagnosis.central_moment.value:.3g}"
    )


def _about_crhl(diagnosis: "Diagnosis") -> str:
    """Say what CRHL needs, and when it is the better choice (experiment `beyond`)."""
    order, moment = 1.0 + diagnosis.epsilon.value, diagnosis.central_moment.high
    words = (
        f"needs E|noise|^{order:.2f} <= nu^{order:.2f}, and neither symmetry nor repeated plays: "
        f"for rewards divided by {diagnosis.scale:.4g}, noise_scale = {moment ** (1.0 / order):.3g}"
    )
    if diagnosis.heavy and diagnosis.tail_index.value <= 2.0:
        words += (
            ". Without a variance nu says little about most errors: there linucb with AdaptiveClip "
            "had half its regret"
        )
    return (
        f"{words}. It is the choice if you know how noisy each reward is: update(noise_scale=...)"
    )


def _shown(estimate: Estimate) -> str:
    """Return a number with its interval, infinity in words."""
    if not estimate.value <= LARGE:
        return "above 20"
    return f"{estimate.value:.2f}, 90%: {estimate.low:.2f} to {_plain(estimate.high)}"


def _describe_tail(name: str, tail: Tail | None) -> str:
    if tail is None:
        return f"  {name:<6} no tail to speak of (too few different values)"
    ladder = tail.ladder
    rungs = range(0, ladder.count.size, max(1, ladder.count.size // 6))
    shown = "  ".join(f"{ladder.count[i]}:{_plain(ladder.index[i])}" for i in rungs)
    pareto = f"generalised Pareto xi {tail.pareto:+.2f} +- {tail.error:.2f}"
    if not math.isfinite(tail.pareto):
        pareto = "no generalised Pareto fit (too many equal values)"
    if tail.contradicted:
        pareto += ", which contradicts it: look at the plot before you rely on either"
    return (
        f"  {name:<6} Hill {_plain(tail.index)} ({_plain(tail.low)} to {_plain(tail.high)}) from "
        f"the {tail.count} rows beyond {tail.threshold:.4g}; {pareto}\n         k:Hill  {shown}"
    )


def _plain(index: float) -> str:
    """Return a tail index, a large one in words.

    >>> _plain(1.234), _plain(math.inf)
    ('1.23', 'above 20')
    """
    return f"{index:.2f}" if index <= LARGE else "above 20"


def write_text(diagnosis: "Diagnosis") -> str:
    """Return the diagnosis as a page of text."""
    advice, symmetry = advise(diagnosis), diagnosis.symmetry
    moments = ", ".join(f"{order}: {word}" for order, word in diagnosis.moments.items())
    shares = ", ".join(
        f"{k}: {v:.1%}" for k, v in diagnosis.square_shares.items() if k != "per_mille"
    )
    kind = (
        "noise left by a linear fit" if diagnosis.dim is not None else "rewards about their median"
    )
    lines = [
        f"{diagnosis.rows} rewards, {diagnosis.zeros:.1%} of them zero; mean |reward| "
        f"{diagnosis.scale:.4g}",
        f"tails of the {kind}",
        _describe_tail("upper", diagnosis.upper),
        _describe_tail("lower", diagnosis.lower),
        f"tail index      {_shown(diagnosis.tail_index)}",
        f"moments exist   {moments}",
        f"sum of squares  carried by the largest rows: {shares}",
        f"symmetric       {'yes' if symmetry.symmetric else 'no'} (distance of both sides "
        f"{symmetry.distance:.3f}, chance at 1%: {symmetry.error:.3f})",
        f"epsilon         {diagnosis.epsilon.value:.2f} ({diagnosis.epsilon.low:.2f} to "
        f"{diagnosis.epsilon.high:.2f})",
        f"u, raw          {diagnosis.raw_moment.value:.4g} ({diagnosis.raw_moment.low:.4g} to "
        f"{diagnosis.raw_moment.high:.4g}) for rewards / {diagnosis.scale:.4g}",
        f"v, central      {diagnosis.central_moment.value:.4g} "
        f"({diagnosis.central_moment.low:.4g} to {diagnosis.central_moment.high:.4g})",
        "",
        f"Verdict: {advice.reason}.",
        *([f"  {advice.code}"] if advice.code else []),
        *(f"  {name}: {words}." for name, words in advice.assumptions.items()),
    ]
    return "\n".join(lines)


def write_dict(diagnosis: "Diagnosis") -> dict[str, Any]:
    """Return the diagnosis as plain values; infinite numbers become None."""
    advice = advise(diagnosis)
    names = ("rows", "dim", "horizon", "delta", "zeros", "scale", "heavy", "moments")
    plain = {name: getattr(diagnosis, name) for name in names}
    plain["square_shares"] = diagnosis.square_shares
    for name in ("tail_index", "epsilon", "raw_moment", "central_moment", "symmetry"):
        plain[name] = getattr(diagnosis, name)._asdict()
    for name in ("upper", "lower"):
        tail = getattr(diagnosis, name)
        plain[name] = None if tail is None else vars(tail) | {"ladder": vars(tail.ladder)}
    return jsonable({**plain, "advice": advice._asdict()})
