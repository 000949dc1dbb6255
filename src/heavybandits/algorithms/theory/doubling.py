"""CRAL: the theorems of docs/maths/cral.md."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ..._utils.errors import InvalidInputError

LEAST_CONFIDENCE = math.log(100.0)  # l, below which the induction of theorem A does not close
CAPPED = 33.0  # 32 rho^2: rounds at the cap, and what corruption costs
USUAL = 2.001  # 2 rho


class DoublingTheorem(NamedTuple):
    """CRAL's constants for one setting. Made by `doubling_theorem`.

    >>> promise = doubling_theorem(dim=10, asymmetry=0.0)
    >>> promise.factor, promise.start, round(promise.threshold, 6)
    (9.0, 1.0, 0.144765)
    >>> round(promise.radius(10**6, noise_scale=1.0))
    1834
    """

    dim: int
    asymmetry: float
    kappa: float
    lipschitz: float
    norm: float
    delta: float
    horizon: int | None
    penalty: float
    corruption: float

    @property
    def factor(self) -> float:
        """c = 9 + 20 C, and 11 + 26 C under corruption"""
        if self.corruption > 0.0:
            return 11.0 + 26.0 * self.asymmetry
        return 9.0 + 20.0 * self.asymmetry

    @property
    def ratio(self) -> float:
        """L / kappa"""
        return self.lipschitz / self.kappa

    @property
    def start(self) -> float:
        """r = sqrt(kappa lambda) S"""
        return math.sqrt(self.kappa * self.penalty) * self.norm

    @property
    def threshold(self) -> float:
        """tau_1 = r / l_1"""
        return self.start / self.confidence(1)

    @property
    def least_threshold(self) -> float:
        """4 (L/kappa) r sqrt(c (c+1) / l_1): no reward is clipped at less, in its own unit"""
        factor = self.factor
        return (
            4.0 * self.ratio * self.start * math.sqrt(factor * (factor + 1.0) / self.confidence())
        )

    def confidence(self, t: int = 1, doublings: int = 0) -> float:
        """l_t = ln(10 t^2 (k+1)^2 / delta), or ln(5 T (k+1)^2 / delta) with a horizon T"""
        epochs = (doublings + 1.0) * (doublings + 1.0)
        if self.horizon is None:
            return math.log(10.0 * float(t) * float(t) * epochs / self.delta)
        return math.log(5.0 * self.horizon * epochs / self.delta)

    def volume(self, t: int) -> float:
        """K_t = d ln(1 + kappa t / (lambda d))"""
        return self.dim * math.log1p(self.kappa * t / (self.penalty * self.dim))

    def largest_threshold(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """tau_{t+1} <= max{tau_1, 2 tau°}, theorem B (a), with probability 1 - delta:

            tau° = (2.14 / l)^{1/(1+eps)} nu t^q sqrt(K_t),   q = (1-eps) / (2 (1+eps)),

        with 8.9 for 2.14 under corruption. l is ln(10 t^2/delta) if 1 + kappa / (lambda d) <=
        sqrt(10/delta) / e, and l_1 if not.
        """
        t, eps = self.check_time(t), valid.epsilon(epsilon)
        sharp = (
            1.0 + self.kappa / (self.penalty * self.dim) <= math.sqrt(10.0 / self.delta) / math.e
        )
        level = self.confidence(t if sharp else 1)
        constant = 8.9 if self.corruption > 0.0 else 2.14
        noise = math.pow(constant / level, 1.0 / (1.0 + eps)) * valid.positive(
            "noise_scale", noise_scale
        )
        growth = math.pow(float(t), (1.0 - eps) / (2.0 * (1.0 + eps)))
        return max(self.threshold, 2.0 * noise * growth * math.sqrt(self.volume(t)))

    def doublings(self, t: int, noise_scale: float, epsilon: float = 1.0) -> int:
        """The largest number of doublings that theorem B (a) allows until t."""
        largest = self.largest_threshold(t, noise_scale, epsilon)
        return math.floor(math.log2(largest / self.threshold) + 1e-12)

    def radius(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """beta_t / sqrt(kappa) at most, beta_t = c tau_t l_t + r, with probability 1 - delta.

        The algorithm itself uses the beta_t of its own threshold, which needs no `noise_scale`.
        """
        largest = self.largest_threshold(t, noise_scale, epsilon)
        level = self.confidence(t, self.doublings(t, noise_scale, epsilon))
        return (self.factor * largest * level + self.start) / math.sqrt(self.kappa)

    def regret(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """Theorem B (b): with probability 1 - delta R(t) is at most

            2.001 (L/kappa) beta_t sqrt(t K_t) + 33 c (c+1) (L/kappa)^2 l_t L S K_t,

        plus 33 (c+1) G K_t under a corruption of G.
        """
        volume, factor = self.volume(self.check_time(t)), self.factor
        level = self.confidence(t, self.doublings(t, noise_scale, epsilon))
        beta = self.radius(t, noise_scale, epsilon) * math.sqrt(self.kappa)
        seldom = (
            factor * level * self.ratio * self.ratio * self.lipschitz * self.norm + self.corruption
        )
        usual = USUAL * self.ratio * beta * math.sqrt(t * volume)
        return usual + CAPPED * (factor + 1.0) * seldom * volume

    def check_time(self, t: int) -> int:
        """Return t if the theorem covers this number of rounds, else raise."""
        rounds = valid.whole("t", t)
        if self.horizon is not None and rounds > self.horizon:
            raise InvalidInputError(f"t must be at most the horizon of {self.horizon}, got {t}")
        return rounds


def doubling_theorem(
    *,
    dim: int,
    asymmetry: float,
    kappa: float = 1.0,
    lipschitz: float = 1.0,
    norm: float = 1.0,
    delta: float = 0.01,
    horizon: int | None = None,
    penalty: float = 1.0,
    corruption: float = 0.0,
) -> DoublingTheorem:
    """Return CRAL's theorem for these numbers; raise if its hypotheses do not hold.

    Parameters
    ----------
    asymmetry : float
        C of the condition |E clip(eta, tau)| <= C E min(eta^2, tau^2) / tau; 0 for symmetric
        noise. `asymmetry_of` computes it for a known noise.
    kappa, lipschitz : float, default 1.0
        Smallest and largest slope of the link; 1 for linear rewards.
    corruption : float, default 0.0
        Bound on the sum of |falsified minus true reward|, for linear rewards only.

    >>> round(doubling_theorem(dim=10, asymmetry=1.0).regret(10**9, noise_scale=1.0) / 10**9, 2)
    7.66
    >>> doubling_theorem(dim=10, asymmetry=0.0, delta=0.2)
    Traceback (most recent call last):
    heavybandits.InvalidInputError: delta must be at most 0.1 without a horizon, got 0.2
    """
    kappa, lipschitz = valid.positive("kappa", kappa), valid.positive("lipschitz", lipschitz)
    if kappa > lipschitz:
        raise InvalidInputError(f"kappa must be at most lipschitz = {lipschitz:g}, got {kappa:g}")
    made = DoublingTheorem(
        dim=valid.whole("dim", dim),
        asymmetry=valid.bounded_number("asymmetry", asymmetry, valid.Interval(0.0, 1e6)),
        kappa=kappa,
        lipschitz=lipschitz,
        norm=valid.positive("norm", norm),
        delta=valid.fraction("delta", delta),
        horizon=None if horizon is None else valid.whole("horizon", horizon),
        penalty=valid.positive("penalty", penalty),
        corruption=valid.bounded_number("corruption", corruption, valid.Interval(0.0, 1e100)),
    )
    _check_hypotheses(made)
    return made


def _check_hypotheses(made: DoublingTheorem) -> None:
    if made.corruption > 0.0 and made.ratio != 1.0:
        raise InvalidInputError(
            "corruption must be 0 with a link other than Identity, which the theorem does not "
            f"cover, got {made.corruption:g}"
        )
    if made.confidence() >= LEAST_CONFIDENCE * (1.0 - 1e-12):
        return
    if made.horizon is None:
        raise InvalidInputError(f"delta must be at most 0.1 without a horizon, got {made.delta!r}")
    ratio = made.horizon / made.delta
    raise InvalidInputError(f"horizon / delta must be at least 20, got {ratio:.3g}")
