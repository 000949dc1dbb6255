"""CRHL: the theorems of docs/maths/crhl.md (alpha = 1 there)."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ..._utils.errors import InvalidInputError
from ...parts.radii import Constant, HuberRadius, LogRadius, PowerRadius

LEAST_CONFIDENCE = 2.67  # l_t, below which the induction of Theorem 1 does not close
ROUNDING = math.sqrt(17.0 / 16.0)  # rho: w <= rho u as long as w <= 1/4


def huber_factor(
    *,
    epsilon: float = 1.0,
    ratio: float = 1.0,
    confidence: float = LEAST_CONFIDENCE,
    corrupted: bool = False,
    sharper: bool = False,
) -> float:
    """Return c of beta_t = c Q_t / sqrt(kappa) + sqrt(lambda) S.

    c is 8, or 11 if rewards may be corrupted. The sharper constant is c = (s + sqrt(s^2 + 8e/l)) /
    2 with s = rho (2 h b + 2 sqrt(2) + (4/3)(1 + b 2^-(1+eps) / 4)) + kappa/L, h =
    (1+eps)^((1-eps)/2) and b = eps^eps / (1+eps)^(1+eps). Corruption adds 2 to s and replaces 8e by
    4(3e + 6).

    Parameters
    ----------
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    ratio : float, default 1.0
        kappa / L, the smallest slope of the link divided by the largest.
    confidence : float, default 2.67
        l at t = 1. The default is the smallest l that the theorem allows.
    corrupted : bool, default False
        Return the constant for rewards that may be corrupted.
    sharper : bool, default False
        Return the sharper constant.

    Returns
    -------
    float
        c.

    Examples
    --------
    >>> huber_factor(), huber_factor(corrupted=True)
    (8.0, 11.0)
    >>> [round(huber_factor(epsilon=e, confidence=20.0, sharper=True), 2) for e in (1.0, 0.3)]
    [5.87, 6.52]
    """
    epsilon, ratio = valid.epsilon(epsilon), valid.positive("ratio", ratio)
    corrupted = valid.flag("corrupted", corrupted)
    if not valid.flag("sharper", sharper):
        return 11.0 if corrupted else 8.0
    if confidence < LEAST_CONFIDENCE:
        raise InvalidInputError(
            f"confidence must be at least {LEAST_CONFIDENCE}, got {confidence!r}"
        )
    held = math.pow(1.0 + epsilon, (1.0 - epsilon) / 2.0)
    lost = math.pow(epsilon, epsilon) / math.pow(1.0 + epsilon, 1.0 + epsilon)
    jump = 4.0 / 3.0 * (1.0 + lost * math.pow(2.0, -1.0 - epsilon) / 4.0)
    linear = ROUNDING * (2.0 * held * lost + math.sqrt(8.0) + jump) + ratio
    squares = 2.0 * math.e
    if corrupted:
        linear, squares = linear + 2.0, 3.0 * math.e + 6.0
    return (linear + math.sqrt(linear * linear + 4.0 * squares / confidence)) / 2.0


class HuberTheorem(NamedTuple):
    """Store the constants of CRHL's theorem for one setting, as `huber_theorem` makes them.

    Attributes
    ----------
    dim : int
        Dimension d of the arms.
    noise_scale : float
        nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
    kappa : float
        Smallest slope of the link.
    lipschitz : float
        L, the largest slope of the link.
    norm : float
        S, a bound on ||theta*||.
    epsilon : float
        Order of the moment minus 1.
    delta : float
        Probability with which the bound may fail.
    horizon : int or None
        T, the number of plays; None for a bound valid at all times.
    penalty : float
        lambda; V starts at lambda I.
    threshold : float
        tau0, the threshold of the first reward.
    corruption : float
        Bound on the sum of |falsified minus true reward|.
    factor : float
        c, the multiplier of Q_t in beta_t.

    Examples
    --------
    >>> link = dict(kappa=0.196611933, lipschitz=0.25)
    >>> promise = huber_theorem(dim=10, noise_scale=3**0.5, horizon=10**6, **link)
    >>> [round(v, 4) for v in (promise.threshold, promise.drive(10**6), promise.radius(10**6))]
    [2.1218, 41.4167, 748.241]
    """

    dim: int
    noise_scale: float
    kappa: float
    lipschitz: float
    norm: float
    epsilon: float
    delta: float
    horizon: int | None
    penalty: float
    threshold: float
    corruption: float
    factor: float

    @property
    def power(self) -> float:
        """q = (1-eps) / (2 (1+eps))"""
        return (1.0 - self.epsilon) / (2.0 * (1.0 + self.epsilon))

    @property
    def time_scale(self) -> float:
        """lambda d nu^2 / kappa: K_t = d ln(1 + t / time_scale)"""
        return self.penalty * self.dim * self.noise_scale * self.noise_scale / self.kappa

    @property
    def steady(self) -> float:
        """4 L / sqrt(kappa), with 5 for 4 under corruption: the third term of sigma over p"""
        return (5.0 if self.corruption > 0.0 else 4.0) * self.lipschitz / math.sqrt(self.kappa)

    @property
    def doubt(self) -> float:
        """2 L sqrt(kappa) / tau0: the fourth term of sigma is p sqrt(doubt beta_{t-1} / t^q)"""
        return 2.0 * self.lipschitz * math.sqrt(self.kappa) / self.threshold

    @property
    def floor(self) -> float:
        """Smallest tau0 that the proof covers: 2 4^(1/(1+eps)) w_max"""
        return 2.0 * math.pow(4.0, 1.0 / (1.0 + self.epsilon)) * math.sqrt(self.kappa) / self.steady

    def confidence(self, t: int) -> float:
        """Return l_t = ln(3T/delta), or ln(pi^2 t^2 / (2 delta)) without a horizon.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            l_t.
        """
        if self.horizon is None:
            return math.log(math.pi * math.pi * t * t / (2.0 * self.delta))
        return math.log(3.0 * self.horizon / self.delta)

    def volume(self, t: int) -> float:
        """Return K_t = d ln(1 + kappa n / (lambda d nu^2)), n = T, or t without a horizon.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            K_t.
        """
        return self.dim * math.log(1.0 + (self.horizon or t) / self.time_scale)

    def drive(self, t: int) -> float:
        """Return Q_t = t^q max{tau0 l_t, tau0^-eps K_t^((1+eps)/2)}.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            Q_t.
        """
        bias = math.pow(self.threshold, -self.epsilon)
        bias *= math.pow(self.volume(t), (1.0 + self.epsilon) / 2.0)
        return math.pow(t, self.power) * max(self.threshold * self.confidence(t), bias)

    def check_time(self, t: int, least: int) -> int:
        """Return t if the theorem covers this number of rounds.

        Parameters
        ----------
        t : int
            Number of rounds.
        least : int
            Smallest number of rounds that is allowed.

        Returns
        -------
        int
            t.

        Raises
        ------
        InvalidInputError
            t is smaller than `least` or larger than the horizon.
        """
        rounds = valid.whole("t", t, least)
        if self.horizon is not None and rounds > self.horizon:
            raise InvalidInputError(f"t must be at most the horizon of {self.horizon}, got {t}")
        return rounds

    def radius(self, t: int) -> float:
        """Return the radius beta_t = c Q_t / sqrt(kappa) + sqrt(lambda) S of Theorem 1.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            beta_t.
        """
        t, start = self.check_time(t, 0), math.sqrt(self.penalty) * self.norm
        return start if t == 0 else self.factor * self.drive(t) / math.sqrt(self.kappa) + start

    def region(self) -> PowerRadius | HuberRadius:
        """Return the radius beta_t for all t, as a radius part.

        Returns
        -------
        PowerRadius or HuberRadius
            The radius, as `crhl` uses it.
        """
        scale, start = self.factor / math.sqrt(self.kappa), math.sqrt(self.penalty) * self.norm
        if self.horizon is not None:
            return PowerRadius(scale * self.drive(1), self.power, start, start)
        law = (self.threshold, self.epsilon, self.delta, self.dim, self.time_scale)
        return HuberRadius(scale, self.power, *law, start)

    def volume_region(self) -> Constant | LogRadius:
        """Return sqrt(K_t) for all t, as a radius part.

        Returns
        -------
        Constant or LogRadius
            The root of the volume, as `HuberNewton` uses it.
        """
        if self.horizon is not None:
            return Constant(self.volume(self.horizon))
        return LogRadius(self.dim, self.time_scale)

    def regret(self, t: int) -> float:
        """Return the bound on the regret R(t) of Theorem 2, valid with probability 1 - delta.

            2 L beta_t {1.031 sqrt(K_t t nu^2 / kappa) + (1.0625 K_t / sqrt(lambda))
            [16 L^2/kappa^2 + 2 c (L/kappa) J_t + 2 L S sqrt(lambda/kappa) / tau0]}

        with J_t = max{l_t, tau0^(-1-eps) K_t^((1+eps)/2)}. Under corruption it is Theorem 3.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            The bound, in the unit of the reward.
        """
        volume = self.volume(self.check_time(t, 1))
        weak = math.pow(self.threshold, -1.0 - self.epsilon)
        weak = max(self.confidence(t), weak * math.pow(volume, (1.0 + self.epsilon) / 2.0))
        slopes = self.lipschitz / self.kappa
        seldom = self.steady * self.steady / self.kappa + 2.0 * self.factor * slopes * weak
        reach = 2.0 * self.lipschitz * self.norm
        seldom += reach * math.sqrt(self.penalty / self.kappa) / self.threshold
        usual = 1.031 * self.noise_scale * math.sqrt(volume * t / self.kappa)
        lies = self.corruption * math.sqrt(volume / self.kappa)
        lies *= 1.0625 if self.horizon is not None else 2.125
        total = usual + 1.0625 * volume / math.sqrt(self.penalty) * seldom + lies
        return 2.0 * self.lipschitz * self.radius(t) * total


def huber_theorem(
    *,
    dim: int,
    noise_scale: float,
    kappa: float,
    lipschitz: float,
    norm: float = 1.0,
    epsilon: float = 1.0,
    delta: float = 0.01,
    horizon: int | None = None,
    penalty: float = 1.0,
    threshold: float | None = None,
    corruption: float = 0.0,
    sharper: bool = False,
) -> HuberTheorem:
    """Return CRHL's theorem for one setting.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    noise_scale : float
        nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
    kappa : float
        Smallest slope of the link.
    lipschitz : float
        L, the largest slope of the link.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    epsilon : float, default 1.0
        Order of the moment minus 1, in (0, 1].
    delta : float, default 0.01
        Probability with which the bound may fail.
    horizon : int, optional
        T, the number of plays. None for a bound valid at all times.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    threshold : float, optional
        tau0. None for max{floor, sqrt(K_T) l^(-1/(1+eps))}, or max{floor, sqrt(d)} without a
        horizon.
    corruption : float, default 0.0
        Bound on the sum of |falsified minus true reward|, in the unit of the reward.
    sharper : bool, default False
        Use the sharper constant of `huber_factor`.

    Returns
    -------
    HuberTheorem
        The constants, with the methods `radius`, `region` and `regret`.

    Raises
    ------
    InvalidInputError
        A hypothesis of the theorem is violated.

    Examples
    --------
    >>> setting = dict(dim=10, noise_scale=1.0, kappa=0.196611933, lipschitz=0.25, epsilon=0.5)
    >>> round(huber_theorem(**setting, horizon=10**4).radius(10**4), 3)
    1499.743
    >>> huber_theorem(**setting, delta=0.5)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: delta must be at most 0.34 without a horizon, got 0.5
    """
    kappa, lipschitz = valid.positive("kappa", kappa), valid.positive("lipschitz", lipschitz)
    if kappa > lipschitz:
        raise InvalidInputError(f"kappa must be at most lipschitz = {lipschitz:g}, got {kappa:g}")
    made = HuberTheorem(
        dim=valid.whole("dim", dim),
        noise_scale=valid.positive("noise_scale", noise_scale),
        kappa=kappa,
        lipschitz=lipschitz,
        norm=valid.positive("norm", norm),
        epsilon=valid.epsilon(epsilon),
        delta=valid.fraction("delta", delta),
        horizon=None if horizon is None else valid.whole("horizon", horizon),
        penalty=valid.positive("penalty", penalty),
        threshold=1.0 if threshold is None else valid.positive("threshold", threshold),
        corruption=valid.bounded_number("corruption", corruption, valid.Interval(0.0)),
        factor=0.0,
    )
    _check_confidence(made)
    factor = huber_factor(
        epsilon=made.epsilon,
        ratio=made.kappa / made.lipschitz,
        confidence=made.confidence(1),
        corrupted=made.corruption > 0.0,
        sharper=sharper,
    )
    made = made._replace(factor=factor)
    if threshold is None:
        return made._replace(threshold=max(made.floor, _balanced(made)))
    if made.threshold < made.floor:
        raise InvalidInputError(
            f"threshold must be at least {made.floor:.6g}, the least that the theorem covers, "
            f"got {threshold!r}"
        )
    return made


def _balanced(made: HuberTheorem) -> float:
    """tau0 that makes both arguments of the maximum in Q_T equal; anytime, sqrt(d)."""
    if made.horizon is None:
        return math.sqrt(made.dim)
    power = -1.0 / (1.0 + made.epsilon)
    return math.sqrt(made.volume(made.horizon)) * math.pow(made.confidence(1), power)


def _check_confidence(made: HuberTheorem) -> None:
    if made.confidence(1) >= LEAST_CONFIDENCE:
        return
    if made.horizon is None:
        raise InvalidInputError(f"delta must be at most 0.34 without a horizon, got {made.delta!r}")
    ratio = made.horizon / made.delta
    raise InvalidInputError(f"horizon / delta must be at least 4.82, got {ratio:.3g}")
