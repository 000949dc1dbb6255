"""The algorithms of the paper's figures and tables, by the names the paper gives them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import algorithms, baselines
from ...links import Logistic
from ...noises import reward_moment
from ...policies import Uniform

LINK = Logistic()  # of all the paper's experiments
DELTA, ARMS = 0.01, 20
RANDOM = "random play"  # the reference: it has no width to tune


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

    >>> from heavybandits import StudentT
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


def _crt(given: Setting, width: float | None, projection: str) -> Any:
    sizes = _raw(given)
    del sizes["horizon"]  # it needs none
    return baselines.crt(**sizes, width=width)


Maker = Callable[[Setting, float | None, str], Any]  # setting, width, projection of the baselines

ROSTER: dict[str, Maker] = {
    "CRTM": lambda s, c, p: algorithms.crtm(**_raw(s), link=s.link, width=c),
    "CRMM": lambda s, c, p: algorithms.crmm(**_central(s), link=s.link, width=c),
    "CRTM, rescaled": lambda s, c, p: algorithms.crtm(
        **_raw(s), link=s.link, width=c, projection="euclidean"
    ),
    "CRMM, rescaled": lambda s, c, p: algorithms.crmm(
        **_central(s), link=s.link, width=c, projection="euclidean"
    ),
    "OL2M": lambda s, c, p: algorithms.ol2m(**_online(s), width=c, projection=p),
    "GLOC": lambda s, c, p: baselines.gloc(**_online(s), width=c, projection=p),
    "OL2M_mom": lambda s, c, p: baselines.ol2m_mom(**_epochs(s), width=c, projection=p),
    "GLOC_mom": lambda s, c, p: baselines.gloc_mom(**_epochs(s), width=c, projection=p),
    "CRT": _crt,
    "TOFU": lambda s, c, p: baselines.tofu(**_raw(s), width=c),
    "SupBTC": lambda s, c, p: baselines.supbtc(**_raw(s), arms=s.arms, width=c),
    "BTC": lambda s, c, p: baselines.btc(**_raw(s), arms=s.arms, width=c),
    "MoM": lambda s, c, p: baselines.mom(**_central(s), width=c),
    "MENU": lambda s, c, p: baselines.menu(**_central(s), width=c),
    "SupBMM": lambda s, c, p: baselines.supbmm(**_central(s), arms=s.arms, width=c),
    "BMM": lambda s, c, p: baselines.bmm(**_central(s), arms=s.arms, width=c),
    RANDOM: lambda s, c, p: Uniform(s.dim),
}


def make_policy(name: str, given: Setting, width: float | None, projection: str = "exact") -> Any:
    """The algorithm of this name; `projection` is that of OL2M, GLOC and their _mom versions.

    >>> from heavybandits import StudentT
    >>> make_policy("CRMM", setting(StudentT(3.0), 10, 10**6), 0.01).plays
    317
    """
    return ROSTER[name](given, width, projection)
