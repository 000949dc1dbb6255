"""What parts of your own are made of: array helpers, regions, streams, views and verbs.

A part is a `typing.NamedTuple`: its fields are constants, its methods are equations. In compiled
code a method calls another part through a verb, never by attribute, and randomness comes from
`uniform`, addressed by play. Everything here runs compiled and uncompiled to the same bits.

>>> import numpy as np
>>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
11.0
"""

from .engine.arrays import Floats, Integers, Key
from .engine.blocked import combine, squares
from .engine.bounds import Count, Fraction, Index, Interval, NonNegative, Positive, Share
from .engine.contracts import (
    ArmSet,
    Counted,
    Estimate,
    Estimator,
    Filter,
    KnownNoise,
    Link,
    Noise,
    PerArmEstimator,
    Policy,
    Projection,
    Radius,
    TimeRadius,
)
from .engine.jitable import jitable
from .engine.layout import aligned_zeros, state_bytes, zeros
from .engine.linalg import add_outer, cholesky, dot, eigen, invert, norm
from .engine.parts import cast, check_part
from .engine.projections import project_ball
from .engine.regions import (
    CUTS,
    EXPECTED,
    PROJECTIONS,
    SQUARE,
    STRAYED,
    UPDATES,
    Region,
    add_observation,
    log_volume,
    make_region,
    measure,
    move_centre,
)
from .engine.selection import median, select_rank
from .engine.streams import uniform
from .engine.verbs import (
    arm_width,
    choose,
    clean,
    draw,
    estimate_arm,
    estimate_arms,
    learn,
    maximise,
    mean,
    predict,
    project,
    radius,
    refresh,
    remember,
    squared,
    tally,
    top,
    update,
)
from .engine.views import View, best_score, follow, make_view, measure_all, pick, take
from .filters.memory import CUT, SEEN, Memory, make_memory

__all__ = [
    "CUT",
    "CUTS",
    "EXPECTED",
    "PROJECTIONS",
    "SEEN",
    "SQUARE",
    "STRAYED",
    "UPDATES",
    "ArmSet",
    "Count",
    "Counted",
    "Estimate",
    "Estimator",
    "Filter",
    "Floats",
    "Fraction",
    "Index",
    "Integers",
    "Interval",
    "Key",
    "KnownNoise",
    "Link",
    "Memory",
    "Noise",
    "NonNegative",
    "PerArmEstimator",
    "Policy",
    "Positive",
    "Projection",
    "Radius",
    "Region",
    "Share",
    "TimeRadius",
    "View",
    "add_observation",
    "add_outer",
    "aligned_zeros",
    "arm_width",
    "best_score",
    "cast",
    "check_part",
    "cholesky",
    "choose",
    "clean",
    "combine",
    "dot",
    "draw",
    "eigen",
    "estimate_arm",
    "estimate_arms",
    "follow",
    "invert",
    "jitable",
    "learn",
    "log_volume",
    "make_memory",
    "make_region",
    "make_view",
    "maximise",
    "mean",
    "measure",
    "measure_all",
    "median",
    "move_centre",
    "norm",
    "pick",
    "predict",
    "project",
    "project_ball",
    "radius",
    "refresh",
    "remember",
    "select_rank",
    "squared",
    "squares",
    "state_bytes",
    "take",
    "tally",
    "top",
    "uniform",
    "update",
    "zeros",
]
