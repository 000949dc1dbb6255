"""The algorithms of the paper's figures and tables, by the names the paper gives them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import algorithms
from ..links import Logistic
from ..noises import reward_moment
from ..policies import Uniform

LINK = Logistic()  # of all the paper's experiments
DELTA, ARMS = 0.01, 20
RANDOM = "random play"  # the reference: it has no constant to tune


class Setting(NamedTuple):
    """What an algorithm is told: sizes, the link, the moments of the noise (u raw, v central)."""

    dim: int
    horizon: int
    raw_moment: float
    central_moment: float
    epsilon: float = 1.0
    delta: float = DELTA
    link: Any = LINK
    arms: int = ARMS


def setting(
    noise: Any,
    dim: int,
    horizon: int,
    epsilon: float = 1.0,
    link: Any = LINK,
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


def _online(given: Setting) -> dict[str, Any]:
    return {"dim": given.dim, "delta": given.delta, "link": given.link}


def _epochs(given: Setting) -> dict[str, Any]:
    return _online(given) | {"horizon": given.horizon}


def _linear(given: Setting, moment: float) -> dict[str, Any]:
    sizes = {"dim": given.dim, "horizon": given.horizon, "delta": given.delta}
    return sizes | {"moment": moment, "epsilon": given.epsilon}


def _raw(given: Setting) -> dict[str, Any]:
    return _linear(given, given.raw_moment)


def _central(given: Setting) -> dict[str, Any]:
    return _linear(given, given.central_moment)


def _crt(given: Setting, constant: float | None, projection: str) -> Any:
    sizes = _raw(given)
    del sizes["horizon"]  # it needs none
    return algorithms.crt(**sizes, radius_scale=constant)


Maker = Callable[
    [Setting, float | None, str], Any
]  # setting, constant, projection of the baselines

ROSTER: dict[str, Maker] = {
    "CRTM": lambda s, c, p: algorithms.crtm(**_raw(s), link=s.link, gamma_scale=c),
    "CRMM": lambda s, c, p: algorithms.crmm(**_central(s), link=s.link, gamma_scale=c),
    "CRTM, rescaled": lambda s, c, p: algorithms.crtm(
        **_raw(s), link=s.link, gamma_scale=c, projection="euclidean"
    ),
    "CRMM, rescaled": lambda s, c, p: algorithms.crmm(
        **_central(s), link=s.link, gamma_scale=c, projection="euclidean"
    ),
    "OL2M": lambda s, c, p: algorithms.ol2m(**_online(s), gamma_scale=c, projection=p),
    "GLOC": lambda s, c, p: algorithms.gloc(**_online(s), gamma_scale=c, projection=p),
    "OL2M_mom": lambda s, c, p: algorithms.ol2m_mom(**_epochs(s), gamma_scale=c, projection=p),
    "GLOC_mom": lambda s, c, p: algorithms.gloc_mom(**_epochs(s), gamma_scale=c, projection=p),
    "CRT": _crt,
    "TOFU": lambda s, c, p: algorithms.tofu(**_raw(s), radius_scale=c),
    "SupBTC": lambda s, c, p: algorithms.supbtc(**_raw(s), arms=s.arms, radius_scale=c),
    "BTC": lambda s, c, p: algorithms.btc(**_raw(s), arms=s.arms, radius_scale=c),
    "MoM": lambda s, c, p: algorithms.mom(**_central(s), radius_scale=c),
    "MENU": lambda s, c, p: algorithms.menu(**_central(s), radius_scale=c),
    "SupBMM": lambda s, c, p: algorithms.supbmm(**_central(s), arms=s.arms, radius_scale=c),
    "BMM": lambda s, c, p: algorithms.bmm(**_central(s), arms=s.arms, radius_scale=c),
    RANDOM: lambda s, c, p: Uniform(s.dim),
}


def make_policy(
    name: str, given: Setting, constant: float | None, projection: str = "exact"
) -> Any:
    """The algorithm of this name; `projection` is that of OL2M, GLOC and their _mom versions.

    >>> from heavybandits.noises import StudentT
    >>> make_policy("CRMM", setting(StudentT(3.0), 10, 10**6), 0.01).plays
    317
    """
    return ROSTER[name](given, constant, projection)
