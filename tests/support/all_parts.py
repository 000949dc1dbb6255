"""One or more examples of every part of the library, by family: a new part joins by a row here.

`test_contracts` finds the parts by themselves and fails for one that has no example.
"""

from typing import Any

import numpy as np

from all_policies import DRAWING, POLICIES
from heavybandits.arms import (
    Box,
    Fixed,
    FromArray,
    PerDecision,
    PerRound,
    Rows,
    Storefront,
    UnitBall,
    UnitSphere,
)
from heavybandits.estimators import (
    BallProjection,
    BatchHuber,
    Discounted,
    DoublingHuber,
    EuclideanProjection,
    GrowingHuber,
    HuberNewton,
    LocalNewton,
    MedianRegression,
    NewtonEnsemble,
    NoProjection,
    OnlineNewton,
    OnlineToConfidence,
    Ridge,
    RidgeEnsemble,
    ScaleFreeHuber,
    TruncatedHistory,
    TruncatedRegression,
)
from heavybandits.filters import (
    AdaptiveClip,
    Clip,
    DriftMonitor,
    LeverageClip,
    MeanOfMedians,
    MeanScaledClip,
    Median,
    MedianOfMeans,
    NoFilter,
    TailClip,
    TrimmedMean,
    Truncate,
    TruncateByTime,
)
from heavybandits.links import Exponential, Identity, Logistic, Probit
from heavybandits.noises import (
    AlphaStable,
    Contaminated,
    Gaussian,
    Laplace,
    LogNormal,
    Outlier,
    Pareto,
    StudentT,
    SymmetricPareto,
)
from heavybandits.policies import LearnedScale, TimeDiscounted
from heavybandits.radii import (
    Constant,
    DoublingRadius,
    GradientSum,
    GrowingRadius,
    HuberRadius,
    LogisticRadius,
    LogRadius,
    MedianRadius,
    MiniBatchRadius,
    NewtonEnsembleRadius,
    OnlineToConfidenceRadius,
    PowerRadius,
    PseudoHuberRadius,
    Scaled,
    ScaleFreeRadius,
    SelfNormalised,
    TruncatedRadius,
)
from heavybandits.recorders import Choices, Coverage, Theta, Threshold
from heavybandits.worlds import (
    ConstantDelay,
    Cycle,
    Flip,
    FlipMeans,
    GeometricDelay,
    Heteroskedastic,
    HideBest,
    Jumps,
    LostRewards,
    Multiplicative,
    ParetoDelay,
    Purchases,
    RandomWalk,
    Spikes,
    ZeroInflated,
)

DIM, PLAYS = 3, 3
BALL = BallProjection(1.0)
POWERED = PowerRadius(1.0, 0.5, 1.0, 1.0)

PARTS: dict[str, list[Any]] = {
    "link": [Identity(), Logistic(), Probit(), Exponential()],
    "noise": [
        StudentT(),
        Pareto(),
        Pareto(centred=False),
        SymmetricPareto(),
        Gaussian(),
        Laplace(),
        LogNormal(),
        AlphaStable(),
        Contaminated(Gaussian(), StudentT(), 0.1),
        Outlier(Gaussian(), 3, 1e4),
    ],
    "arm set": [
        PerRound(5, DIM),
        PerDecision(5, DIM),
        Fixed(5, DIM),
        FromArray(np.eye(DIM)),
        Rows(5, DIM),
        Storefront(5),
        UnitBall(DIM),
        UnitSphere(DIM),
        Box(-np.ones(DIM), np.ones(DIM)),
    ],
    "filter": [
        NoFilter(PLAYS),
        Truncate(2.0, PLAYS),
        TruncateByTime(0.25, 2.0, PLAYS),
        Clip(2.0, PLAYS),
        Median(PLAYS),
        MeanOfMedians(PLAYS, 2),
        MedianOfMeans(PLAYS, 2),
        TrimmedMean(PLAYS, 0.2),
        AdaptiveClip(plays=PLAYS),
        AdaptiveClip(0.9, residual=False, weighted=True, truncate=True, plays=PLAYS),
        LeverageClip(plays=PLAYS),
        MeanScaledClip(plays=PLAYS),
        LeverageClip(0.1, 0.2, 0.25, plays=PLAYS),
        TailClip(plays=PLAYS),
        DriftMonitor(NoFilter(PLAYS)),
        DriftMonitor(AdaptiveClip(plays=PLAYS), 0.5, 10.0),
    ],
    "projection": [BALL, EuclideanProjection(1.0), NoProjection()],
    "estimator": [
        OnlineNewton(DIM, Logistic(), 0.1, 1.0, BALL),
        Ridge(DIM, 1.0),
        ScaleFreeHuber(DIM, Identity()),
        Discounted(Ridge(DIM, 1.0), 50.0, 4),
        Discounted(ScaleFreeHuber(DIM, Identity()), 50.0),
        ScaleFreeHuber(DIM, Logistic(), 0.5),
        RidgeEnsemble(DIM, PLAYS, 1.0),
        RidgeEnsemble(DIM, PLAYS, 1.0, include_self=True),
        OnlineToConfidence(DIM, Logistic(), 0.2, 1.0, BALL),
        TruncatedHistory(DIM, 100, 1.0, 10.0, 0.5),
        LocalNewton(DIM, Exponential(), 1.0, BALL),
        HuberNewton(DIM, Logistic(), 0.2, 1.0, BALL, 1.0, 0.5, 0.1, POWERED, LogRadius(3.0, 2.0)),
        DoublingHuber(DIM, Identity(), 1.0, 1.0, 1.0, NoProjection(), 1.0, 0.01, 1.0, 0.05),
        DoublingHuber(DIM, Logistic(), 0.2, 1.3, 1.0, BALL, 1.0, 0.01, 4.0, 0.05, 100),
        GrowingHuber(DIM, Identity(), NoProjection()),
        GrowingHuber(DIM, Logistic(), BALL, 0.2, 0.5, 1.0, 16.0, 2.0),
        NewtonEnsemble(DIM, PLAYS, Logistic(), 0.2, 1.0, BALL, 1.0),
        BatchHuber(DIM, 100, Identity(), 3.0, 3.0, 1.0, 1.0, 1.0, 0.1),
        BatchHuber(DIM, 100, Logistic(), 3.0, 0.6, 1.0, 1.0, 1.0, smooth=True),
    ],
    "per-arm estimator": [
        TruncatedRegression(DIM, 100, 2, 1.5, POWERED, 2),
        MedianRegression(DIM, PLAYS, POWERED, 2),
    ],
    "radius": [
        Constant(4.0),
        LogRadius(1.0, 2.0, 0.5),
        PowerRadius(1.0, 0.5, 1.0, 1.0),
        Scaled(Constant(4.0), 0.5),
        GradientSum(0.5),
        ScaleFreeRadius(),
        MedianRadius(1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 2.0),
        LogisticRadius(0.1, 1.0, 1.0, 0.01),
        OnlineToConfidenceRadius(0.2, 0.5, 1.0, 4.0, 0.01),
        SelfNormalised(1.0, 1.0, 1.0, 0.01),
        TruncatedRadius(1.0, 0.5, 1.0, 0.01),
        TruncatedRadius(1.0, 0.5, 1.0, 0.01, corollary=True),
        MiniBatchRadius(0.5, 100.0, 1.0, 0.01),
        HuberRadius(8.0, 0.1, 1.0, 0.6, 0.01, 2.0, 2.0, 1.0),
        DoublingRadius(),
        GrowingRadius(),
        PseudoHuberRadius(32.0, 25.0, 1.6, 0.01, 7.0, 1.0),
        NewtonEnsembleRadius(1.0, 0.1, 10.0, 3.0),
    ],
    "noise that sees the arm": [
        Heteroskedastic(StudentT(3.0)),
        Multiplicative(Gaussian(0.5)),
        ZeroInflated(Gaussian(0.5), 0.2),
        Purchases(Pareto(2.5, 0.6)),
    ],
    "drift": [Flip(10), Jumps(10), RandomWalk(0.1), Cycle(10)],
    "delay": [ConstantDelay(3), GeometricDelay(5.0), ParetoDelay(1.5), LostRewards(0.1)],
    "adversary": [FlipMeans(5.0), HideBest(5.0), Spikes(5.0, 2.0)],
    "recorder": [Choices(), Coverage(), Theta(DIM), Threshold()],
    "policy": [
        *POLICIES.values(),
        *DRAWING.values(),
        TimeDiscounted(POLICIES["auto"], 60.0),
        LearnedScale(POLICIES["crhl"]),
    ],
}


def _by_class(parts: list[Any]) -> dict[type, list[Any]]:
    return {kind: [p for p in parts if type(p) is kind] for kind in dict.fromkeys(map(type, parts))}


EXAMPLES: dict[str, dict[type, list[Any]]] = {
    family: _by_class(parts) for family, parts in PARTS.items()
}


def examples(*families: str) -> list[Any]:
    """The examples of these families, of all if none is named."""
    tables = [EXAMPLES[family] for family in families or EXAMPLES]
    return [part for table in tables for parts in table.values() for part in parts]
