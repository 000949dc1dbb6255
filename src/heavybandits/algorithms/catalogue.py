"""The one registry of algorithms: whatever lists them reads it, so to add one is to add a row.

The command line, the roster of the experiments, the tables of the docs and the tests all do.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError
from ..core.capabilities import is_finite_only
from ..core.protocols import Policy
from ..parts.policies import Uniform
from .auto import auto
from .finite import bmm, btc, supbmm, supbtc
from .glm import crmm, crtm, tell
from .glm_rivals import gloc, gloc_mom, ol2m, ol2m_mom
from .linear import crt, linucb, menu, mom, tofu
from .robust import crcm, crhl
from .robust_rivals import gada_oful, heavy_oful, hvt_ucb

RAW, CENTRAL, SPREAD = "raw", "central", "spread"
_BOUNDS = {
    RAW: "E|y|^{1+eps} <= u",
    CENTRAL: "E|noise|^{1+eps} <= v",
    SPREAD: "E|noise|^{1+eps} <= nu^{1+eps}",
}
_TUNED = ("radius_scale", "radius_scale", "radius")


class Algorithm(NamedTuple):
    """One algorithm: how it is made, where it is from, what its paper assumes and promises.

    Rates leave out constants and logarithms; K arms of dimension d, T plays, of which t are made.

    >>> ALGORITHMS["TOFU"].space, ALGORITHMS["TOFU"].tuning
    ('T d', 'radius_scale')
    """

    make: Callable[..., Policy]
    paper: str
    model: str  # of the mean reward
    moment: str | None  # the one it is told: RAW, u; CENTRAL, v; SPREAD, nu; or none
    noise: str  # what else is assumed of it
    regret: str
    time: str  # per decision
    space: str

    @property
    def assumes(self) -> str:
        """All that is assumed of the noise.

        >>> ALGORITHMS["CRMM"].assumes
        'symmetric, E|noise|^{1+eps} <= v'
        """
        bound = _BOUNDS[self.moment] if self.moment else ""
        return ", ".join(words for words in (self.noise, bound) if words)

    @property
    def tuning(self) -> str | None:
        """The argument that experiments tune, if there is one."""
        takes = inspect.signature(self.make).parameters
        return next((name for name in _TUNED if name in takes), None)

    def build(
        self, constant: float | None = None, argument: str | None = None, **known: Any
    ) -> Policy:
        """The policy, told what it takes of what is known; `constant` is for the tuned argument.

        That is `tuning`, or any other `argument` of the function. Of `raw_moment` and
        `central_moment` it gets the one that its theorem is about, or the root of the latter.

        >>> ALGORITHMS["CRMM"].build(dim=10, horizon=10**6, central_moment=3.0, arms=20).plays
        317
        """
        told = dict(known)
        if self.moment == SPREAD:
            told["spread"] = known["central_moment"] ** (1.0 / (1.0 + known.get("epsilon", 1.0)))
        elif self.moment:
            told["moment"] = known[f"{self.moment}_moment"]
        takes = inspect.signature(self.make).parameters
        if argument is not None and argument not in takes:
            names = ", ".join(takes)
            raise InvalidInputError(
                f"argument of {self.make.__name__} must be one of {names}, got {argument!r}"
            )
        tuned = argument or self.tuning
        if tuned and constant is not None:
            told[tuned] = constant
        return tell(self.make, told)


GLM, LINEAR = "mu(x.theta)", "x.theta"
HEAVY, ROOT = "d T^{1/(1+eps)}", "d T^{1/2}"
FINITE = "d^{1/2} T^{1/(1+eps)}"
NEWTON, SMALL = "K d^2", "d^2"

XUE23 = "Xue, Wang, Wan, Yi, Zhang (2023)"
XUE20 = "Xue, Wang, Wang, Zhang (2020)"
ZHANG = "Zhang, Yang, Jin, Xiao, Zhou (2016)"
JUN = "Jun, Bhargava, Nowak, Willett (2017)"
ZHONG = "Zhong, Huang, Yang, Wang (2021)"
ABBASI = "Abbasi-Yadkori, Pal, Szepesvari (2011)"
MEDINA = "Medina, Yang (2016)"
SHAO = "Shao, Yu, King, Lyu (2018)"
OURS = "this library"
WANG = "Wang, Zhang, Zhao, Zhou (2025)"
HUANG = "Huang, Zhong, Wang, Yang (2023)"
YU = "Yu, Baek, Li, Sun (2025)"

# By the name that the paper gives it; in lower case that is the function.
ALGORITHMS: dict[str, Algorithm] = {
    "Auto": Algorithm(auto, OURS, GLM, None, "a mean", "none proved", NEWTON, SMALL),
    "CRTM": Algorithm(crtm, XUE23, GLM, RAW, "", HEAVY, NEWTON, SMALL),
    "CRMM": Algorithm(crmm, XUE23, GLM, CENTRAL, "symmetric", HEAVY, NEWTON, SMALL),
    "CRHL": Algorithm(crhl, OURS, GLM, SPREAD, "", HEAVY, NEWTON, SMALL),
    "CRCM": Algorithm(crcm, OURS, GLM, CENTRAL, "", HEAVY, "K d^2 + d r + r^2", "d^2 + d r + r^2"),
    "OL2M": Algorithm(ol2m, ZHANG, GLM, None, "bounded rewards", ROOT, NEWTON, SMALL),
    "GLOC": Algorithm(gloc, JUN, GLM, None, "sub-Gaussian", ROOT, NEWTON, SMALL),
    "OL2M_mom": Algorithm(
        ol2m_mom, ZHONG, GLM, None, "symmetric, any tail", "none proved", NEWTON, "d^2 + r"
    ),
    "GLOC_mom": Algorithm(
        gloc_mom, ZHONG, GLM, None, "symmetric, any tail", ROOT, NEWTON, "d^2 + r"
    ),
    "LinUCB": Algorithm(
        linucb, ABBASI, LINEAR, None, "sub-Gaussian (with `NoFilter`)", ROOT, NEWTON, SMALL
    ),
    "CRT": Algorithm(crt, MEDINA, LINEAR, RAW, "", "d T^{(2+eps)/(2(1+eps))}", NEWTON, SMALL),
    "MoM": Algorithm(
        mom, MEDINA, LINEAR, CENTRAL, "", "d^{1/2} T^{(1+2eps)/(1+3eps)}", NEWTON, "d^2 + r"
    ),
    "TOFU": Algorithm(
        tofu, SHAO, LINEAR, RAW, "", HEAVY, "K d^2, and d^2 per reward near its level", "T d"
    ),
    "MENU": Algorithm(
        menu, SHAO, LINEAR, CENTRAL, "", HEAVY, "K d^2 + d r + r^2", "d^2 + d r + r^2"
    ),
    "BTC": Algorithm(btc, XUE20, LINEAR, RAW, "", "none proved", "K d t", "T (d + K)"),
    "BMM": Algorithm(bmm, XUE20, LINEAR, CENTRAL, "", "none proved", "K d (d + r)", "d (d + r)"),
    "SupBTC": Algorithm(supbtc, XUE20, LINEAR, RAW, "", FINITE, "K d n per stage", "T (d + K)"),
    "SupBMM": Algorithm(
        supbmm, XUE20, LINEAR, CENTRAL, "", FINITE, "K d (d + r) per stage", "ln T d (d + r)"
    ),
    "Hvt_UCB": Algorithm(hvt_ucb, WANG, LINEAR, SPREAD, "", HEAVY, NEWTON, SMALL),
    "Heavy_OFUL": Algorithm(heavy_oful, HUANG, LINEAR, SPREAD, "", HEAVY, "K d^2 + t d^2", "T d"),
    "GAda_OFUL": Algorithm(gada_oful, YU, GLM, SPREAD, "eps = 1", ROOT, "K d^2 + t d^2", "T d"),
    "random play": Algorithm(Uniform, "", "any", None, "nothing", "T", "K", "1"),
}

SIZES: dict[str, Any] = {"dim": 100, "horizon": 10_000, "arms": 20}


def example(name: str) -> Policy:
    """The policy of this name for d = 100, T = 10^4, K = 20, with the constants of its theorem.

    >>> example("CRMM").plays
    244
    """
    return ALGORITHMS[name].build(**SIZES, raw_moment=3.0, central_moment=3.0)


def arm_sets(policy: Policy) -> str:
    """Which arm sets this policy can play.

    >>> arm_sets(example("CRTM")), arm_sets(example("SupBMM"))
    ('any', 'finite, still for a decision')
    """
    size = "finite" if is_finite_only(policy) else "any"
    return size if policy.plays == 1 else f"{size}, still for a decision"
