"""Advice from a diagnosis: the recommended policy, and the assumptions of the algorithms."""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..._utils.errors import printable
from ..._utils.statistics import Estimate
from ...algorithms import theory
from .sales import LEAST_SALES, MOSTLY, Amounts

if TYPE_CHECKING:
    from .diagnosis import Diagnosis

KAPPA = 1.0  # of the identity link, whose rewards are not bounded
LONGEST = 40  # characters of a name that are printed
LARGE = 20.0  # tail index above which the number says nothing
MILD = 2.5  # tail index above which clipping changed little in our replays of real data


class Advice(NamedTuple):
    """`algorithm` to use, `code` that makes it, `reasons`, and `assumptions` by algorithm."""

    algorithm: str
    code: str
    reasons: tuple[str, ...]
    assumptions: dict[str, str]

    @property
    def reason(self) -> str:
        """The reasons as one text."""
        return ". ".join(self.reasons)


def recommend(diagnosis: "Diagnosis") -> str:
    """Return the name of the policy to use, "none" if no policy can learn from these rewards.

    This is the whole rule. `hurdle` is for sales: rewards that are mostly one value, and otherwise
    gains of different sizes. Its exploration costs little where the amounts do not depend on the
    action, while `auto` can miss an item that sells rarely at a high price. For losses, and for
    events of one size such as clicks, the second model is of no use.
    """
    if diagnosis.moments[1] == "no":
        return "none"
    mostly = diagnosis.base.share >= MOSTLY and diagnosis.amounts is not None
    return "hurdle" if mostly and _gains(diagnosis) and _differ(diagnosis) else "auto"


def advise(diagnosis: "Diagnosis") -> Advice:
    """Return the recommended policy, the reason, and what other algorithms assume."""
    noisy = _deviation(diagnosis) > 0.0
    assumptions = {
        name: about(diagnosis) if noisy else "no parameters to choose: the rewards have no noise"
        for name, about in ABOUT.items()
    }
    name = recommend(diagnosis)
    if name == "none":
        reason = (
            "the tails are so heavy that the mean itself does not exist: no method that ranks arms "
            "by their mean reward can work. Use a bounded version of the reward (its rank, its "
            "logarithm, a cap)"
        )
        return Advice("none", "", (reason,), assumptions)
    code = f"{name}(dim={_dim(diagnosis)})"
    reasons = [*_about_sales(diagnosis, name), *_about_tails(diagnosis), *_about_fit(diagnosis)]
    if diagnosis.heavy:
        reasons.append("check by replaying your data")
    return Advice(name, code, tuple(reasons), assumptions)


def _dim(diagnosis: "Diagnosis") -> str:
    """Return the dimension of the arms: the features and an intercept."""
    return "d" if diagnosis.dim is None else str(diagnosis.dim + 1)


def _about_sales(diagnosis: "Diagnosis", name: str) -> Iterator[str]:
    """Say what rewards that are mostly one value mean for the choice."""
    if diagnosis.base.share < MOSTLY or diagnosis.amounts is None:
        return
    share = f"{diagnosis.base.share:.0%} of the rewards are {diagnosis.base.value:.4g}"
    models = "hurdle learns the rate of sales and the amount by two models"
    if name == "hurdle" and _depends(diagnosis):
        yield f"{share}, and the amounts of the others depend on {_column(diagnosis)}: {models}"
    elif name == "hurdle":
        yield f"{share}, and the others are gains of different sizes: {models}"
        yield _about_amounts(diagnosis.amounts)
    elif not diagnosis.amounts.rows:
        yield f"{share}, and no others show what they are"
    elif not _differ(diagnosis):
        yield f"{share}, and the others are all {diagnosis.amounts.median:.4g}"
    else:
        yield f"{share}, and most others are losses"


def _about_amounts(amounts: Amounts) -> str:
    """Say why `hurdle` is recommended although no dependence of the amounts was found."""
    if amounts.depends is not None:
        return "their sizes do not depend on the action, as far as these rows show"
    if amounts.rows < LEAST_SALES:
        return f"{amounts.rows} sales are too few to see what the sizes depend on"
    return "pass features, and the action, to see what the sizes depend on"


def _about_tails(diagnosis: "Diagnosis") -> Iterator[str]:
    """Say how much a robust policy gains on these rewards."""
    shown = show_index(diagnosis.tail_index)
    if not diagnosis.heavy:
        yield f"not heavy-tailed (tail index {shown}): robustness is not needed"
        yield (
            f"linucb with noise_scale={_deviation(diagnosis):.3g}, for rewards divided by their "
            "mean absolute value, has a theorem for rewards like these; auto needs no parameter "
            "and costs little"
        )
        return
    mild = diagnosis.tail_index.value > MILD
    words = f"{'mildly ' if mild else ''}heavy-tailed (tail index {shown})"
    if _depends(diagnosis):
        yield f"{words}; clipping at one threshold changes the differences between actions"
        return
    if mild:
        yield f"{words}: the variance exists, and clipping changes little either way"
    else:
        yield f"{words}: auto clips rewards at a threshold that adapts"
    if not diagnosis.symmetry.symmetric:
        yield "the noise is skewed: keep an intercept among the features"


def _about_fit(diagnosis: "Diagnosis") -> Iterator[str]:
    missing = suggest(diagnosis)
    if missing:
        yield f"add to the features: {', '.join(map(show_name, missing))}. Then diagnose again"


def suggest(diagnosis: "Diagnosis") -> list[str]:
    """Return the columns that would improve the models of the mean and of the rate of sales."""
    checks = [check for check in (diagnosis.rate, diagnosis.mean) if check is not None]
    return list(dict.fromkeys(name for check in checks for name in check.columns))


def _column(diagnosis: "Diagnosis") -> str:
    amounts = diagnosis.amounts
    return "the action" if amounts is None or amounts.column is None else show_name(amounts.column)


def _depends(diagnosis: "Diagnosis") -> bool:
    return diagnosis.amounts is not None and bool(diagnosis.amounts.depends)


def _gains(diagnosis: "Diagnosis") -> bool:
    """Return True if more than half of the rewards off the base value are above it."""
    return diagnosis.amounts is not None and diagnosis.amounts.median > diagnosis.base.value


def _differ(diagnosis: "Diagnosis") -> bool:
    """Return True if the rewards off the base value are not all equal."""
    others = diagnosis.rewards[diagnosis.rewards != diagnosis.base.value]
    return others.size > 0 and float(others.max()) > float(others.min())


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


def _about_cral(diagnosis: "Diagnosis") -> str:
    """Say for which C the theorem of CRAL would apply, and what no sample can show."""
    found = diagnosis.asymmetry
    interval = f"90%: {found.estimate.low:.2g} to {found.estimate.high:.2g}"
    where = (
        f"; {found.of_group:.2g} for {show_name(found.group)}" if found.group is not None else ""
    )
    needed = round_up(found.needed)
    rarest = f"a prize rarer than 1 in {1.0 / theory.rarest_atom(needed):,.0f}"
    words = (
        f"needs the asymmetry C of the noise, here {found.estimate.value:.2g} ({interval}{where}): "
        f"asymmetry={needed:.2g} is valid if future rewards look like these rows. It excludes a "
        f"mean carried by {rarest if needed >= 0.5 else 'rare prizes'}. No sample bounds C from "
        f"above: these rows may hide a prize of 1 in {1.0 / found.unseen:,.0f}, with "
        f"C = {found.of_unseen:.0f}"
    )
    if diagnosis.symmetry.symmetric:
        words += ". If the noise is symmetric, as it looks, asymmetry=0 is valid"
    return words


def round_up(number: float) -> float:
    """Return the number with two digits, not smaller than it is.

    >>> round_up(2.03), round_up(0.0191), round_up(0.0)
    (2.1, 0.02, 0.0)
    """
    if not number > 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit - 1e-9) * unit:.2g}")


def show_name(name: str) -> str:
    """Return the name of a column or action as it is printed, a long one shortened.

    >>> show_name("price"), len(show_name("x" * 1000))
    ('price', 40)
    """
    shown = printable(name)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 3] + "..."


def show_index(estimate: Estimate) -> str:
    """Return a tail index with its interval, infinity in words."""
    if not estimate.value <= LARGE:
        return "above 20"
    return f"{estimate.value:.2f}, 90%: {estimate.low:.2f} to {show_number(estimate.high)}"


def show_number(index: float) -> str:
    """Return a tail index, a large one in words.

    >>> show_number(1.234), show_number(float("inf"))
    ('1.23', 'above 20')
    """
    return f"{index:.2f}" if index <= LARGE else "above 20"


ABOUT: dict[str, Callable[["Diagnosis"], str]] = {
    "linucb": _about_linucb,
    "crtm": _about_crtm,
    "crmm": _about_crmm,
    "crhl": _about_crhl,
    "cral": _about_cral,
}
