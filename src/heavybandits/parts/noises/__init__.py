"""Noises eta: a reward is y = mu(x.theta) + eta.

Each draws the noise of a play from at most four uniforms of that play, in any order, and knows
its moments without drawing: `location` is E[eta] (nan if there is none), `moment(p, s)` is
E|s + eta|^p for p > 0 (inf if it is infinite), `central_moment(p)` is E|eta - E eta|^p,
`tail_index` is the order from which moments are infinite and `symmetric` means about zero.
A noise of your own needs only `draw`; it may use uniforms 0, 1, 2 (3 is that of Contaminated), and
`known` finds its moments.
"""

from functools import partial

from ..._utils.registry import Entry
from .heavy import AlphaStable, Pareto, StudentT, SymmetricPareto
from .light import Gaussian, Laplace, LogNormal
from .mixtures import Contaminated, Outlier
from .moments import known, reward_moment

__all__ = [
    "REGISTRY",
    "AlphaStable",
    "Contaminated",
    "Gaussian",
    "Laplace",
    "LogNormal",
    "Outlier",
    "Pareto",
    "StudentT",
    "SymmetricPareto",
    "known",
    "reward_moment",
]

# By the names of the command line, with the numbers that follow after colons.
REGISTRY = {
    "t": Entry(StudentT, "Student's t", ("degrees of freedom", "scale")),
    "pareto": Entry(Pareto, "Pareto minus its mean", ("shape", "minimum")),
    "pareto-raw": Entry(
        partial(Pareto, centred=False), "Pareto as the paper prints it", ("shape", "minimum")
    ),
    "symmetric-pareto": Entry(SymmetricPareto, "Pareto with a random sign", ("shape", "minimum")),
    "gaussian": Entry(Gaussian, "normal", ("scale",)),
    "laplace": Entry(Laplace, "exponential with a random sign", ("scale",)),
    "lognormal": Entry(LogNormal, "log-normal minus its mean", ("sigma", "scale")),
    "stable": Entry(AlphaStable, "alpha-stable", ("alpha", "skew", "scale")),
}
