"""What parts of your own are made of: contracts, types, arrays, regions, views, streams and verbs.

A part is a `typing.NamedTuple`: its fields are constants, its methods are equations. In compiled
code a method calls another part through a verb, never by attribute, and randomness comes from
`uniform`, addressed by play. Everything here runs compiled and uncompiled to the same bits.

>>> import numpy as np
>>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
11.0
"""

from ._utils.validation import (
    Count,
    Features,
    Fraction,
    Index,
    Interval,
    NonNegative,
    Point,
    Positive,
    Share,
)
from .core.allocation import aligned_zeros, state_bytes, zeros
from .core.arm_buffer import (
    View,
    best_score,
    follow,
    load_rows,
    make_view,
    measure_all,
    pick,
    take,
)
from .core.arrays import Floats, Integers, Key
from .core.blocked import combine, squares
from .core.confidence_region import (
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
from .core.dispatch import (
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
from .core.jit import jitable
from .core.linalg import add_outer, cholesky, dot, eigen, invert, norm, stretch, subtract
from .core.order_statistics import median, select_rank
from .core.part import cast, check_part
from .core.projection import project_ball
from .core.protocols import (
    ArmSet,
    Counted,
    Estimate,
    Estimator,
    Extras,
    Filter,
    KnownNoise,
    Link,
    Noise,
    PerArmEstimator,
    Policy,
    Projection,
    Radius,
    Tally,
    TimeRadius,
)
from .core.rng import ARMS, NOISE, stream_key, uniform
from .parts.filters.truncation import CUT, SEEN, Memory, make_memory

# fmt: off
__all__ = [  # noqa: RUF022 (by what they are for)
    # the contracts, and the door where they are kept
    "ArmSet", "Counted", "Estimate", "Estimator", "Extras", "Filter", "KnownNoise", "Link", "Noise",
    "PerArmEstimator", "Policy", "Projection", "Radius", "TimeRadius", "cast", "check_part",
    # types and bounds of fields
    "Count", "Features", "Floats", "Fraction", "Index", "Integers", "Interval", "Key",
    "NonNegative", "Point", "Positive", "Share",
    # what a state is made of
    "CUT", "SEEN", "Memory", "Tally", "aligned_zeros", "make_memory", "state_bytes", "zeros",
    # loops over vectors and matrices
    "add_outer", "cholesky", "combine", "dot", "eigen", "invert", "jitable", "median", "norm",
    "select_rank", "squares", "stretch", "subtract",
    # confidence regions
    "CUTS", "EXPECTED", "PROJECTIONS", "SQUARE", "STRAYED", "UPDATES", "Region", "add_observation",
    "log_volume", "make_region", "measure", "move_centre", "project_ball",
    # what is on offer
    "View", "best_score", "follow", "load_rows", "make_view", "measure_all", "pick", "take",
    # randomness that can be addressed
    "ARMS", "NOISE", "stream_key", "uniform",
    # the verbs
    "arm_width", "choose", "clean", "draw", "estimate_arm", "estimate_arms", "learn", "maximise",
    "mean", "predict", "project", "radius", "refresh", "remember", "squared", "tally", "top",
    "update",
]
