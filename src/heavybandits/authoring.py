"""Everything that a part of your own needs: contracts, types, arrays, regions, buffers, streams.

A part is a `typing.NamedTuple`: its fields are parameters, its methods are equations. In compiled
code a method calls another part through a dispatch function, `mean(self.link, z)`, never by
attribute. Randomness comes from `uniform`, addressed by play. Compiled and uncompiled, everything
here gives the same bits.

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
    ArmBuffer,
    best_score,
    follow,
    load_rows,
    make_arm_buffer,
    mark_stale,
    measure_all,
    pick,
    take,
)
from .core.arrays import Floats, Integers, Key
from .core.confidence_region import (
    Region,
    add_observation,
    clipped_count,
    count_clipped,
    count_projection,
    log_volume,
    make_region,
    mark_strayed,
    measure,
    move_centre,
    projection_count,
    squared_norm,
    update_count,
)
from .core.dispatch import (
    apply,
    arm_width,
    choose,
    draw,
    estimate_arm,
    estimate_arms,
    learn,
    maximise,
    mean,
    predict,
    project,
    propensity,
    radius,
    refresh,
    remember,
    squared,
    tally,
    top,
    update,
)
from .core.jit import jitable
from .core.linalg import (
    add_outer,
    cholesky,
    combine,
    dot,
    eigen,
    invert,
    norm,
    squares,
    stretch,
    subtract,
)
from .core.order_statistics import median, select_rank
from .core.part import cast, check_part
from .core.part_checks import check_arm_set, check_link, check_noise
from .core.projection import project_ball
from .core.protocols import (
    Adversary,
    ArmNoise,
    ArmSet,
    Counted,
    Delay,
    Drift,
    Estimate,
    Estimator,
    Extras,
    Filter,
    KnownNoise,
    Link,
    Noise,
    Observation,
    PerArmEstimator,
    Policy,
    Projection,
    Radius,
    Redraw,
    Tally,
    TimeRadius,
)
from .core.rng import ARMS, NOISE, stream_key, uniform
from .parts.estimators.projection import project_centre
from .parts.filters.memory import (
    Memory,
    count_seen,
    count_truncated,
    make_memory,
    seen_count,
    truncated_count,
)

# fmt: off
__all__ = [  # noqa: RUF022 (by what they are for)
    # contracts and their validation
    "Adversary", "ArmNoise", "ArmSet", "Counted", "Delay", "Drift", "Estimate", "Estimator",
    "Extras", "Filter", "KnownNoise", "Link", "Noise", "PerArmEstimator", "Policy", "Projection",
    "Radius", "TimeRadius", "cast", "check_arm_set", "check_link", "check_noise", "check_part",
    # types and bounds of fields
    "Count", "Features", "Floats", "Fraction", "Index", "Integers", "Interval", "Key",
    "NonNegative", "Point", "Positive", "Redraw", "Share",
    # values that parts exchange, and arrays of a state
    "Observation", "Tally", "aligned_zeros", "state_bytes", "zeros",
    # the memory of a filter
    "Memory", "count_seen", "count_truncated", "make_memory", "seen_count", "truncated_count",
    # loops over vectors and matrices
    "add_outer", "cholesky", "combine", "dot", "eigen", "invert", "jitable", "median", "norm",
    "select_rank", "squares", "stretch", "subtract",
    # confidence regions
    "Region", "add_observation", "clipped_count", "count_clipped", "count_projection", "log_volume",
    "make_region", "mark_strayed", "measure", "move_centre", "project_ball", "project_centre",
    "projection_count", "squared_norm", "update_count",
    # arms
    "ArmBuffer", "best_score", "follow", "load_rows", "make_arm_buffer", "mark_stale",
    "measure_all", "pick", "take",
    # randomness that can be addressed
    "ARMS", "NOISE", "stream_key", "uniform",
    # dispatch functions
    "apply", "arm_width", "choose", "draw", "estimate_arm", "estimate_arms", "learn", "maximise",
    "mean", "predict", "project", "propensity", "radius", "refresh", "remember", "squared", "tally",
    "top", "update",
]
