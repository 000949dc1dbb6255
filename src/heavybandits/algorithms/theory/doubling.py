"""CRAL: the theorems of docs/maths/cral.md."""

import math
from typing import NamedTuple

from ..._utils import validation as valid
from ..._utils.errors import InvalidInputError

LEAST_CONFIDENCE = math.log(100.0)  # l, below which the induction of theorem A does not close
CAPPED = 33.0  # 32 rho^2: rounds at the cap, and what corruption costs
USUAL = 2.001  # 2 rho


class DoublingTheorem(NamedTuple):
    """Store the constants of CRAL's theorem for one setting, as `doubling_theorem` makes them.

    Attributes
    ----------
    dim : int
        Dimension d of the arms.
    asymmetry : float
        C of the condition on the noise.
    kappa : float
        Smallest slope of the link.
    lipschitz : float
        L, the largest slope of the link.
    norm : float
        S, a bound on ||theta*||.
    delta : float
        Probability with which the bound may fail.
    horizon : int or None
        T, the number of plays; None for a bound valid at all times.
    penalty : float
        lambda; V starts at lambda I.
    corruption : float
        Bound on the sum of |falsified minus true reward|.

    Examples
    --------
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
        """Return l_t = ln(10 t^2 (k+1)^2 / delta), or ln(5 T (k+1)^2 / delta) with a horizon T.

        Parameters
        ----------
        t : int, default 1
            Number of rounds.
        doublings : int, default 0
            k, the number of doublings so far.

        Returns
        -------
        float
            l_t.
        """
        epochs = (doublings + 1.0) * (doublings + 1.0)
        if self.horizon is None:
            return math.log(10.0 * float(t) * float(t) * epochs / self.delta)
        return math.log(5.0 * self.horizon * epochs / self.delta)

    def volume(self, t: int) -> float:
        """Return K_t = d ln(1 + kappa t / (lambda d)).

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            K_t.
        """
        return self.dim * math.log1p(self.kappa * t / (self.penalty * self.dim))

    def largest_threshold(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """Return the bound on the threshold of theorem B (a), valid with probability 1 - delta.

            tau_{t+1} <= max{tau_1, 2 tau'}
            tau' = (2.14 / l)^{1/(1+eps)} nu t^q sqrt(K_t),    q = (1-eps) / (2 (1+eps))

        Under corruption 8.9 replaces 2.14. l is ln(10 t^2/delta) if 1 + kappa / (lambda d) <=
        sqrt(10/delta) / e, and l_1 otherwise.

        Parameters
        ----------
        t : int
            Number of rounds.
        noise_scale : float
            nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
        epsilon : float, default 1.0
            Order of the moment minus 1, in (0, 1].

        Returns
        -------
        float
            The largest threshold tau_{t+1}.
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
        """Return the largest number of doublings that theorem B (a) allows in t rounds.

        Parameters
        ----------
        t : int
            Number of rounds.
        noise_scale : float
            nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
        epsilon : float, default 1.0
            Order of the moment minus 1, in (0, 1].

        Returns
        -------
        int
            The number of doublings.
        """
        largest = self.largest_threshold(t, noise_scale, epsilon)
        return math.floor(math.log2(largest / self.threshold) + 1e-12)

    def radius(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """Return the bound on beta_t / sqrt(kappa), beta_t = c tau_t l_t + r.

        It is valid with probability 1 - delta. The algorithm itself uses the beta_t of its own
        threshold, which needs no `noise_scale`.

        Parameters
        ----------
        t : int
            Number of rounds.
        noise_scale : float
            nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
        epsilon : float, default 1.0
            Order of the moment minus 1, in (0, 1].

        Returns
        -------
        float
            The bound on the radius, not squared.
        """
        largest = self.largest_threshold(t, noise_scale, epsilon)
        level = self.confidence(t, self.doublings(t, noise_scale, epsilon))
        return (self.factor * largest * level + self.start) / math.sqrt(self.kappa)

    def regret(self, t: int, noise_scale: float, epsilon: float = 1.0) -> float:
        """Return the bound on the regret R(t) of theorem B (b), valid with probability 1 - delta.

            2.001 (L/kappa) beta_t sqrt(t K_t) + 33 c (c+1) (L/kappa)^2 l_t L S K_t

        A corruption of G adds 33 (c+1) G K_t.

        Parameters
        ----------
        t : int
            Number of rounds.
        noise_scale : float
            nu, a bound on E[|noise|^{1+epsilon}]^{1/(1+epsilon)}, in the unit of the reward.
        epsilon : float, default 1.0
            Order of the moment minus 1, in (0, 1].

        Returns
        -------
        float
            The bound, in the unit of the reward.
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
        """Return t if the theorem covers this number of rounds.

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        int
            t.

        Raises
        ------
        InvalidInputError
            t is larger than the horizon.
        """
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
    """Return CRAL's theorem for one setting.

    Parameters
    ----------
    dim : int
        Dimension d of the arms.
    asymmetry : float
        C of the condition |E clip(eta, tau)| <= C E min(eta^2, tau^2) / tau; 0 for symmetric
        noise. `asymmetry_of` computes it for a known noise.
    kappa : float, default 1.0
        Smallest slope of the link; 1 for linear rewards.
    lipschitz : float, default 1.0
        L, the largest slope of the link; 1 for linear rewards.
    norm : float, default 1.0
        S, a bound on ||theta*||.
    delta : float, default 0.01
        Probability with which the bound may fail.
    horizon : int, optional
        T, the number of plays. None for a bound valid at all times.
    penalty : float, default 1.0
        lambda; V starts at lambda I.
    corruption : float, default 0.0
        Bound on the sum of |falsified minus true reward|, for linear rewards only.

    Returns
    -------
    DoublingTheorem
        The constants, with the methods `radius` and `regret`.

    Raises
    ------
    InvalidInputError
        A hypothesis of the theorem is violated.

    Examples
    --------
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
