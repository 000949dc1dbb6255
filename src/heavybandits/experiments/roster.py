"""The setting of an experiment, and what the algorithms are told of it."""

from typing import Any, NamedTuple

from ..algorithms.catalogue import ALGORITHMS
from ..core.protocols import KnownNoise, Link, Policy
from ..parts.links import Logistic
from ..parts.noises import reward_moment

LINK = Logistic()  # of all the paper's experiments
DELTA, ARMS = 0.01, 20
RANDOM = "random play"  # the reference: it has no constant to tune

# name: (algorithm, its projection). These have one of their own, whatever the reading says of
# OL2M, GLOC and their _mom versions.
VARIANTS = {
    "CRTM": ("CRTM", "exact"),
    "CRMM": ("CRMM", "exact"),
    "CRTM, rescaled": ("CRTM", "euclidean"),
    "CRMM, rescaled": ("CRMM", "euclidean"),
}


class Setting(NamedTuple):
    """What an algorithm is told: sizes, the link, the moments of the noise (u raw, v central)."""

    dim: int
    horizon: int
    raw_moment: float
    central_moment: float
    epsilon: float = 1.0
    delta: float = DELTA
    link: Link = LINK
    arms: int = ARMS


def setting(
    noise: KnownNoise,
    dim: int,
    horizon: int,
    epsilon: float = 1.0,
    link: Link = LINK,
    arms: int = ARMS,
) -> Setting:
    """The setting for a noise, its moments computed exactly for means in [mu(-1), mu(1)].

    >>> from heavybandits.noises import StudentT
    >>> made = setting(StudentT(3.0), dim=10, horizon=10**6)
    >>> round(made.raw_moment, 4), round(made.central_moment, 4)
    (3.5344, 3.0)
    """
    raw = reward_moment(noise, link.mean(-1.0), link.mean(1.0), epsilon)
    central = float(noise.central_moment(1.0 + epsilon))
    return Setting(dim, horizon, raw, central, epsilon, DELTA, link, arms)


def make_policy(
    name: str,
    given: Setting,
    constant: float | None,
    projection: str = "exact",
    argument: str | None = None,
    **more: Any,
) -> Policy:
    """The algorithm of this name; `projection` is that of OL2M, GLOC and their _mom versions.

    `argument` is what the constant is for, if it is not what experiments tune; `more` are arguments
    of the algorithm that the setting does not fix.

    >>> from heavybandits.noises import StudentT
    >>> make_policy("CRMM", setting(StudentT(3.0), 10, 10**6), 0.01).plays
    317
    """
    algorithm, own = VARIANTS.get(name, (name, projection))
    given_all = given._asdict() | {"projection": own} | more
    return ALGORITHMS[algorithm].build(constant, argument, **given_all)
