"""Thresholds, radii and regret bounds of the theorems, as plain functions of the setting.

The symbols are those of Xue, Wang, Wan, Yi, Zhang (2023), "Efficient Algorithms for Generalized
Linear Bandits with Heavy-tailed Rewards", NeurIPS 36. Theorems carry their printed numbers:
1 = region of CRTM, 2 = regret of CRTM, 3 = region of CRMM, 4 = regret of CRMM. CRHL, CRAL and
CRCM are this library's own: `huber_theorem`, `doubling_theorem` and `column_theorem`, with proofs
in docs/maths.

    dim             d      dimension of the arms, ||x|| <= 1
    horizon         T      number of plays
    raw_moment      u      E|y|^(1+eps) <= u, for truncation
    central_moment  v      E|eta|^(1+eps) <= v, for medians
    noise_scale     nu     E|eta|^(1+eps) <= nu^(1+eps), the root of the central moment
    kappa           kappa  smallest slope of the link on [-S, S]
    lipschitz       L      largest slope of the link on [-S, S]
    bound           U      largest |mean reward| on [-S, S]
    asymmetry       C      |E clip(eta, tau)| <= C E min(eta^2, tau^2) / tau, for CRAL
    norm            S      bound on ||theta*||
    epsilon         eps    in (0, 1]; 1 is finite variance
    delta           delta  probability that the promise fails (CRMM: 2 delta)

The regions of the paper are SQUARED radii. `corrected=True` repairs one step of its proofs: the
printed "triangle inequality" drops a factor 2, and the correct step is ((a + b)^2)/2 <= a^2 + b^2.
"""

from .asymmetry import asymmetry_of, asymmetry_of_atom, asymmetry_of_tail, rarest_atom
from .column_medians import ColumnTheorem, column_theorem
from .doubling import DoublingTheorem, doubling_theorem
from .huber import HuberTheorem, huber_factor, huber_theorem
from .medians import (
    MedianConstants,
    median_constants,
    median_epochs,
    median_plays,
    median_radius,
    median_region,
    median_regret,
    median_tuned,
)
from .truncation import (
    confidence_log,
    growth_log,
    lower_bound,
    regularisation,
    truncation_region,
    truncation_regret,
    truncation_threshold,
    truncation_tuned,
)

__all__ = [
    "ColumnTheorem",
    "DoublingTheorem",
    "HuberTheorem",
    "MedianConstants",
    "asymmetry_of",
    "asymmetry_of_atom",
    "asymmetry_of_tail",
    "column_theorem",
    "confidence_log",
    "doubling_theorem",
    "growth_log",
    "huber_factor",
    "huber_theorem",
    "lower_bound",
    "median_constants",
    "median_epochs",
    "median_plays",
    "median_radius",
    "median_region",
    "median_regret",
    "median_tuned",
    "rarest_atom",
    "regularisation",
    "truncation_region",
    "truncation_regret",
    "truncation_threshold",
    "truncation_tuned",
]
