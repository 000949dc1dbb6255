"""The one registry of algorithms: to add an algorithm is to add a row.

The command line, the experiments, the tables of the docs and the tests read it.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .._utils.errors import InvalidInputError
from .._utils.validation import did_you_mean
from ..core.capabilities import is_finite_only
from ..core.part import describe
from ..core.protocols import KnownNoise, Link, Policy
from ..parts.links import Logistic
from ..parts.noises import reward_moment
from ..parts.policies import Uniform
from . import references
from .adaptive import cral
from .auto import auto
from .finite import bmm, btc, supbmm, supbtc
from .glm import crmm, crtm, gloc, gloc_mom, ol2m, ol2m_mom
from .hurdle import hurdle
from .linear import crt, linucb, menu, mom, tofu
from .robust import crcm, crhl, gada_oful, heavy_oful, hvt_ucb

RAW, CENTRAL, NOISE_SCALE = "raw_moment", "central_moment", "noise_scale"
_BOUNDS = {
    RAW: "E|y|^{1+eps} <= u",
    CENTRAL: "E|noise|^{1+eps} <= v",
    NOISE_SCALE: "E|noise|^{1+eps} <= nu^{1+eps}",
}
_TUNED = ("radius_scale", "radius")
RANDOM = "random play"  # the reference: it has no parameter to tune


class Setting(NamedTuple):
    """What is known of a problem: sizes, the link, the moments of the noise (u raw, v central)."""

    dim: int
    horizon: int
    raw_moment: float
    central_moment: float
    epsilon: float = 1.0
    delta: float = 0.01
    link: Link = Logistic()
    arms: int = 20


def make_setting(
    noise: KnownNoise,
    dim: int,
    horizon: int,
    *,
    epsilon: float = 1.0,
    link: Link = Logistic(),
    arms: int = 20,
) -> Setting:
    """Return the setting for a noise, with its exact moments for means in [mu(-1), mu(1)].

    >>> from heavybandits.noises import StudentT
    >>> made = make_setting(StudentT(3.0), dim=10, horizon=10**6)
    >>> round(made.raw_moment, 4), round(made.central_moment, 4)
    (3.5344, 3.0)
    """
    raw = reward_moment(noise, link.mean(-1.0), link.mean(1.0), epsilon)
    central = float(noise.central_moment(1.0 + epsilon))
    return Setting(dim, horizon, raw, central, epsilon, link=link, arms=arms)


class Algorithm(NamedTuple):
    """One algorithm: its function, its paper, what the paper assumes and promises.

    Rates leave out constants and logarithms; K arms of dimension d, T plays, of which t are made.

    >>> ALGORITHMS["TOFU"].space, ALGORITHMS["TOFU"].tuning
    ('T d', 'radius_scale')
    """

    function: Callable[..., Policy]
    paper: str
    model: str  # of the mean reward
    moment: str | None  # that it needs: RAW, u; CENTRAL, v; NOISE_SCALE, nu; or none
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
        return next((name for name in _TUNED if name in self.parameters), None)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments of the function."""
        return tuple(inspect.signature(self.function).parameters)

    def make(self, **known: Any) -> Policy:
        """Make the policy from the facts of a problem and arguments of the function.

        The facts are the fields of `Setting`: the function receives those that it takes, and the
        noise scale as the root of `central_moment`. Every other keyword must be an argument of the
        function.

        Raises
        ------
        InvalidInputError
            A keyword is neither a fact nor an argument of the function, or a moment is missing.

        >>> ALGORITHMS["CRMM"].make(dim=10, horizon=10**6, central_moment=3.0, arms=20).plays
        317
        >>> ALGORITHMS["CRMM"].make(dim=10, horizon=10**6, central_moment=3.0, radius_scales=1.0)
        Traceback (most recent call last):
        heavybandits.InvalidInputError: crmm has no argument 'radius_scales': did you mean
        radius_scale?
        """
        takes, name = self.parameters, self.function.__name__
        for word in known:
            if word not in takes and word not in Setting._fields:
                raise InvalidInputError(
                    f"{name} has no argument {word!r}{did_you_mean(word, takes)}"
                )
        given = {word: value for word, value in known.items() if word in takes}
        if self.moment == NOISE_SCALE and NOISE_SCALE not in known and CENTRAL in known:
            given[NOISE_SCALE] = known[CENTRAL] ** (1.0 / (1.0 + known.get("epsilon", 1.0)))
        if self.moment and self.moment not in given:
            needed = CENTRAL if self.moment == NOISE_SCALE else self.moment
            raise InvalidInputError(f"{name} needs {needed}, got {', '.join(known) or 'nothing'}")
        return self.function(**given)


GLM, LINEAR, EVENTS = "mu(x.theta)", "x.theta", "probability times amount"
HEAVY, ROOT = "d T^{1/(1+eps)}", "d T^{1/2}"
FINITE = "d^{1/2} T^{1/(1+eps)}"
NEWTON, SMALL = "K d^2", "d^2"
REFIT, HISTORY = "K d^2 + t d^2", "T d"
ENSEMBLE, THETAS, PLAYS = "K d^2 + d r + r^2", "d^2 + d r + r^2", "d^2 + r"
ANY_TAIL, UNPROVED = "symmetric, any tail", "none proved"

OURS = "this library"

# By the name that the paper gives it; in lower case that is the function.
ALGORITHMS: dict[str, Algorithm] = {
    "Auto": Algorithm(auto, OURS, GLM, None, "a mean", UNPROVED, NEWTON, SMALL),
    "Hurdle": Algorithm(hurdle, OURS, EVENTS, None, "mostly one value", UNPROVED, NEWTON, SMALL),
    "CRTM": Algorithm(crtm, references.XUE23.short, GLM, RAW, "", HEAVY, NEWTON, SMALL),
    "CRMM": Algorithm(
        crmm, references.XUE23.short, GLM, CENTRAL, "symmetric", HEAVY, NEWTON, SMALL
    ),
    "CRHL": Algorithm(crhl, OURS, GLM, NOISE_SCALE, "", HEAVY, NEWTON, SMALL),
    "CRAL": Algorithm(
        cral,
        OURS,
        GLM,
        None,
        "|E clip(noise, tau)| <= C E min(noise^2, tau^2) / tau",
        HEAVY,
        NEWTON,
        SMALL,
    ),
    "CRCM": Algorithm(crcm, OURS, GLM, CENTRAL, "", HEAVY, ENSEMBLE, THETAS),
    "OL2M": Algorithm(
        ol2m, references.ZHANG.short, GLM, None, "bounded rewards", ROOT, NEWTON, SMALL
    ),
    "GLOC": Algorithm(gloc, references.JUN.short, GLM, None, "sub-Gaussian", ROOT, NEWTON, SMALL),
    "OL2M_mom": Algorithm(
        ol2m_mom, references.ZHONG.short, GLM, None, ANY_TAIL, UNPROVED, NEWTON, PLAYS
    ),
    "GLOC_mom": Algorithm(
        gloc_mom, references.ZHONG.short, GLM, None, ANY_TAIL, ROOT, NEWTON, PLAYS
    ),
    "LinUCB": Algorithm(
        linucb,
        references.ABBASI.short,
        LINEAR,
        None,
        "sub-Gaussian (with `NoFilter`)",
        ROOT,
        NEWTON,
        SMALL,
    ),
    "CRT": Algorithm(
        crt, references.MEDINA.short, LINEAR, RAW, "", "d T^{(2+eps)/(2(1+eps))}", NEWTON, SMALL
    ),
    "MoM": Algorithm(
        mom,
        references.MEDINA.short,
        LINEAR,
        CENTRAL,
        "",
        "d^{1/2} T^{(1+2eps)/(1+3eps)}",
        NEWTON,
        PLAYS,
    ),
    "TOFU": Algorithm(
        tofu,
        references.SHAO.short,
        LINEAR,
        RAW,
        "",
        HEAVY,
        "K d^2, and d^2 per reward near its threshold",
        HISTORY,
    ),
    "MENU": Algorithm(menu, references.SHAO.short, LINEAR, CENTRAL, "", HEAVY, ENSEMBLE, THETAS),
    "BTC": Algorithm(btc, references.XUE20.short, LINEAR, RAW, "", UNPROVED, "K d t", "T (d + K)"),
    "BMM": Algorithm(
        bmm, references.XUE20.short, LINEAR, CENTRAL, "", UNPROVED, "K d (d + r)", "d (d + r)"
    ),
    "SupBTC": Algorithm(
        supbtc, references.XUE20.short, LINEAR, RAW, "", FINITE, "K d n per stage", "T (d + K)"
    ),
    "SupBMM": Algorithm(
        supbmm,
        references.XUE20.short,
        LINEAR,
        CENTRAL,
        "",
        FINITE,
        "K d (d + r) per stage",
        "ln T d (d + r)",
    ),
    "Hvt_UCB": Algorithm(
        hvt_ucb, references.WANG.short, LINEAR, NOISE_SCALE, "", HEAVY, NEWTON, SMALL
    ),
    "Heavy_OFUL": Algorithm(
        heavy_oful, references.HUANG.short, LINEAR, NOISE_SCALE, "", HEAVY, REFIT, HISTORY
    ),
    "GAda_OFUL": Algorithm(
        gada_oful, references.YU.short, GLM, NOISE_SCALE, "eps = 1", ROOT, REFIT, HISTORY
    ),
    RANDOM: Algorithm(Uniform, "", "any", None, "nothing", "T", "K", "1"),
}

SIZES: dict[str, Any] = {"dim": 100, "horizon": 10_000, "arms": 20}


def example(name: str) -> Policy:
    """The policy of this name for d = 100, T = 10^4, K = 20, with the constants of its theorem.

    >>> example("CRMM").plays
    244
    """
    return ALGORITHMS[name].make(**SIZES, raw_moment=3.0, central_moment=3.0)


def arm_sets(policy: Policy) -> str:
    """Which arm sets this policy can play.

    >>> arm_sets(example("CRTM")), arm_sets(example("SupBMM"))
    ('any', 'finite, still for a decision')
    """
    size = "finite" if is_finite_only(policy) else "any"
    return size if policy.plays == 1 else f"{size}, still for a decision"


# ---- which algorithm a policy is


def find_algorithms(parts: Mapping[str, Any], called: str = "") -> list[str]:
    """Return the algorithms that a described policy may be; `called` decides between several.

    >>> from heavybandits.core.part import describe
    >>> find_algorithms(describe(example("TOFU")))
    ['TOFU']
    """
    for found in _policies_in(parts):
        for size in (3, 2, 1):  # all parts; estimator and radius; estimator
            wanted = _signature(found)[:size]
            names = dict.fromkeys(n for n, known in _signatures() if known[:size] == wanted)
            if names:
                exact = [name for name in names if name.casefold() == called.casefold()]
                return exact or list(names)
    return []


def _policies_in(parts: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the descriptions of policies with an estimator or a base, outermost first."""
    if isinstance(parts, Mapping) and isinstance(parts.get("fields"), Mapping):
        if {"estimator", "base"} & set(parts["fields"]):
            yield parts
        for inner in parts["fields"].values():
            yield from _policies_in(inner)


def _signature(parts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of estimator, radius and filter; of base and policy if there is a base."""
    fields = parts["fields"]
    names = ("base",) if "base" in fields else ("estimator", "radius", "filter")
    inner = (fields.get(name) for name in names)
    kinds = tuple(each.get("part", "") if isinstance(each, Mapping) else "" for each in inner)
    return (*kinds, parts.get("part", "")) if "base" in fields else kinds


@functools.cache
def _signatures() -> list[tuple[str, tuple[str, ...]]]:
    """Return the signatures of all algorithms, with the radius of the theorem and a tuned one."""
    made = []
    for name, row in ALGORITHMS.items():
        if name != RANDOM:
            tuned = [{}] if row.tuning is None else [{}, {row.tuning: 0.1}]
            policies = (row.make(**SIZES, raw_moment=3.0, central_moment=3.0, **t) for t in tuned)
            made += [(name, _signature(next(_policies_in(describe(p))))) for p in policies]
    return made
