"""Problems: arms, link, noise and the true parameter."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._utils.display import show_part, show_part_html
from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array
from ..core.part import cast, check_part, own_classes
from ..core.part_checks import check_arm_set, check_draws
from ..core.protocols import Adversary, ArmSet, Delay, Drift, Link, Noise
from ..parts.arms import Rows
from ..parts.links import check_link


class Problem(NamedTuple):
    """Define a simulation: rewards y = mu(x.theta*) + noise, with x from the arm set.

    By default nothing changes while the problem is played. A noise may see the arm and its mean
    reward (`hb.worlds.Heteroskedastic`, ...), theta* may move, rewards may come late or never, and
    an adversary may corrupt them.

    Parameters
    ----------
    arms : ArmSet
        The available arms of each round.
    link : Link
        mu, the mean reward as a function of x.theta*.
    noise : Noise
        The noise of each reward.
    theta : array of shape (d,), optional
        theta*, the true parameter. None for ones / sqrt(d).
    drift : Drift, optional
        How theta* moves (`hb.worlds.Jumps`, ...). Regret is then measured against the best arm of
        each play. None for a theta* that stays.
    delay : Delay, optional
        How many plays after a decision its rewards arrive (`hb.worlds.GeometricDelay`, ...). All
        rewards of one decision arrive together, and the policy learns from them at the end of the
        first decision after their arrival, in the order of their arrival. Until then their arm is
        kept in a buffer; more decisions than its `room` raise an error. Rewards that arrive after
        the last play are lost. None for no delay.
    adversary : Adversary, optional
        How rewards are corrupted, within a budget per run (`hb.worlds.FlipMeans`, ...). Regret is
        that of the uncorrupted mean rewards. None for no corruption.

    Examples
    --------
    >>> import heavybandits as hb
    >>> hb.Problem(hb.arms.PerRound(20, 10), hb.links.Logistic(), hb.noises.StudentT(3.0)).arms.dim
    10
    """

    arms: ArmSet
    link: Link
    noise: Noise
    theta: Any = None
    drift: Drift | None = None
    delay: Delay | None = None
    adversary: Adversary | None = None

    def __repr__(self) -> str:
        return show_part(self)

    def _repr_html_(self) -> str:
        return show_part_html(self)


def check_problem(problem: Any) -> Problem:
    """Return the problem with its parts cast and theta* filled in."""
    if not isinstance(problem, Problem):
        several = "; `sweep` runs several problems" if isinstance(problem, Mapping | list) else ""
        raise InvalidInputError(f"problem must be a Problem, got {type(problem).__name__}{several}")
    arms = check_part("arms", problem.arms, ArmSet)
    if isinstance(arms, Rows):
        raise InvalidInputError(
            "arms must be a set with arms of its own, such as Fixed or FromArray, got Rows, which "
            "its caller fills"
        )
    dim = arms.dim
    given = np.ones(dim) / np.sqrt(dim) if problem.theta is None else problem.theta
    theta = finite_array("theta", given, (dim,))
    noise = check_part("noise", problem.noise, Noise)
    if own_classes(arms):
        check_arm_set(arms, norm=math.inf)
    if own_classes(noise):
        check_draws(noise)
    check_link(problem.link, float(np.linalg.norm(theta)))
    return Problem(
        arms,
        cast(problem.link),
        noise,
        theta,
        _check_optional("drift", problem.drift, Drift),
        _check_optional("delay", problem.delay, Delay),
        _check_optional("adversary", problem.adversary, Adversary),
    )


def _check_optional(name: str, part: Any, contract: Any) -> Any:
    return None if part is None else check_part(name, part, contract)
