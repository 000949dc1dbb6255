"""Noises eta: a reward is y = mu(x.theta) + eta.

Each draws the noise of a play from at most four uniforms of that play, in any order, and knows
its moments without drawing: `location` is E[eta] (nan if there is none), `moment(p, s)` is
E|s + eta|^p for p > 0 (inf if it is infinite), `central_moment(p)` is E|eta - E eta|^p,
`tail_index` is the order from which moments are infinite and `symmetric` means about zero.
A noise of your own needs only `draw`; it may use uniforms 0, 1, 2 (3 is that of Contaminated).
"""

from .heavy import AlphaStable, Pareto, StudentT, SymmetricPareto
from .light import Gaussian, Laplace, LogNormal
from .mixtures import Contaminated, Outlier
from .moments import reward_moment

__all__ = [
    "AlphaStable",
    "Contaminated",
    "Gaussian",
    "Laplace",
    "LogNormal",
    "Outlier",
    "Pareto",
    "StudentT",
    "SymmetricPareto",
    "reward_moment",
]
