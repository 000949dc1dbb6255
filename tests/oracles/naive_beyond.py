"""Textbook twins of CRHL, CRCM, their rivals and the filters that set themselves.

Written from the formulas on the pages of docs/maths, not from the library: dense algebra, every
inverse anew, the whole history kept. Where the two agree, both are right.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

import naive

Beta = Callable[[int], float]


def half_excess(eps: float) -> float:
    """q = (1 - eps)/(2 (1 + eps))"""
    return (1 - eps) / (2 * (1 + eps))


def design_norm(x: Any, design: Any) -> float:
    """||x||_{V^-1}"""
    return math.sqrt(x @ np.linalg.inv(design) @ x)


class Bandit(naive.Bandit):
    """UCB whose estimator cleans for itself and takes all rewards of a decision."""

    def __init__(self, estimator: Any, beta: Beta) -> None:
        super().__init__(estimator, naive.raw, lambda t, design: beta(t) ** 2)

    def learn(self, x: Any, rewards: Any) -> None:
        self.estimator.learn(x, rewards)
        self.updates += 1


# ---- one pass: CRHL and Hvt-UCB


class HuberConstants:
    """Section "The constants" of the page on CRHL; T = None is the anytime form."""

    def __init__(
        self,
        d: int,
        kappa: float,
        L: float,
        sigma_min: float,
        *,
        T: int | None = None,
        eps: float = 1.0,
        delta: float = 0.01,
        S: float = 1.0,
        lam: float = 1.0,
        alpha: float = 1.0,
        tau0: float | None = None,
        C: float = 0.0,
        sharp: bool = False,
    ) -> None:
        self.d, self.kappa, self.T, self.eps, self.delta = d, kappa, T, eps, delta
        self.S, self.lam, self.alpha, self.sigma_min = S, lam, alpha, sigma_min
        self.q = half_excess(eps)
        self.steady = 5.0 if C > 0 else 4.0
        self.floor = 2 * 4 ** (1 / (1 + eps)) * kappa / (self.steady * math.sqrt(alpha) * L)
        best = math.sqrt(d) if T is None else math.sqrt(self.K(T)) * self.l(T) ** (-1 / (1 + eps))
        self.tau0 = max(self.floor, best) if tau0 is None else tau0
        self.factor = 11.0 if C > 0 else 8.0
        if sharp:
            self.factor = self.sharp_factor(kappa / L, C > 0)

    def l(self, t: int) -> float:  # noqa: E743  the page's letter
        if self.T is None:
            return math.log(math.pi**2 * t**2 / (2 * self.delta))
        return math.log(3 * self.T / self.delta)

    def K(self, t: int) -> float:
        n = t if self.T is None else self.T
        inner = self.kappa * n / (self.alpha * self.lam * self.d * self.sigma_min**2)
        return self.d * math.log(1 + inner)

    def Q(self, t: int) -> float:
        if t == 0:
            return 0.0
        bias = self.tau0**-self.eps * self.K(t) ** ((1 + self.eps) / 2)
        return t**self.q * max(self.tau0 * self.l(t), bias)

    def beta(self, t: int) -> float:
        start = math.sqrt(self.lam) * self.S
        return self.factor * math.sqrt(self.alpha / self.kappa) * self.Q(t) + start

    def sharp_factor(self, ratio: float, lies: bool) -> float:
        e, rho = self.eps, math.sqrt(17 / 16)
        h, b = (1 + e) ** ((1 - e) / 2), e**e / (1 + e) ** (1 + e)
        inner = 2 * h * b + 2 * math.sqrt(2) + 4 / 3 * (1 + b * 2 ** -(1 + e) / 4)
        s = rho * inner + ratio + 2 * lies
        squares = 4 * (3 * math.e + 6) if lies else 8 * math.e
        return (s + math.sqrt(s**2 + squares / self.l(1))) / 2


def huber_tuned(c: float, d: int, eps: float, lam: float = 1.0) -> Beta:
    q = half_excess(eps)
    return lambda t: math.sqrt(c * d * math.log(1 + t / (d * lam)) * t ** (2 * q)) if t else 0.0


class Huber:
    """One round of CRHL; without `trust`, sigma = max(nu, guard p)."""

    def __init__(
        self,
        d: int,
        link: str,
        kappa: float,
        L: float,
        *,
        nu: float,
        tau0: float,
        beta: Beta,
        eps: float = 1.0,
        lam: float = 1.0,
        S: float = 1.0,
        alpha: float = 1.0,
        sigma_min: float = 0.0,
        trust: bool = True,
        guard: float = 0.0,
        steady: float = 4.0,
        corruption: Callable[[int], float] = lambda t: 0.0,
    ) -> None:
        self.mean, self.kappa, self.L, self.alpha, self.S = naive.LINKS[link][0], kappa, L, alpha, S
        self.nu, self.tau0, self.beta, self.q = nu, tau0, beta, half_excess(eps)
        self.sigma_min, self.trust = sigma_min, trust
        self.guard, self.steady, self.corruption = guard, steady, corruption
        self.theta, self.design = np.zeros(d), lam * np.eye(d)
        self.t, self.cuts, self.projected = 0, 0, 0
        self.sigmas: list[float] = []
        self.taus: list[float] = []
        self.terms: list[int] = []
        self.free: list[Any] = []

    def sigma(self, p: float, nu: float) -> float:
        slope, lies = math.sqrt(self.kappa / self.alpha), self.corruption(self.t)
        terms = [max(nu, self.sigma_min), self.guard * p, 0.0, math.sqrt(lies * p * slope)]
        if self.trust:
            doubt = 2 * self.L * self.beta(self.t - 1) * slope / (self.tau0 * self.t**self.q)
            terms[1:3] = [self.steady * self.L * p / math.sqrt(self.kappa), p * math.sqrt(doubt)]
        self.terms.append(int(np.argmax(terms)))
        return max(terms)

    def learn(self, x: Any, rewards: Any, nu: float | None = None) -> None:
        self.t += 1
        p = design_norm(x, self.design)
        if p == 0.0:
            return
        sigma = self.sigma(p, self.nu if nu is None else nu)
        w = math.sqrt(self.kappa / self.alpha) * p / sigma
        tau = self.tau0 * self.t**self.q * math.sqrt(1 + w**2) / w
        z = (float(rewards[0]) - self.mean(float(x @ self.theta))) / sigma
        psi = min(max(z, -tau), tau)
        self.cuts += abs(z) > tau
        self.design = self.design + self.kappa / self.alpha * np.outer(x, x) / sigma**2
        free = self.theta + np.linalg.inv(self.design) @ x * psi / sigma
        self.theta, multiplier = naive.project(free, self.design, self.S)
        self.projected += multiplier > 0.0
        self.sigmas.append(sigma)
        self.taus.append(tau)
        self.free.append(free)


def crhl(
    d: int,
    link: str,
    kappa: float,
    L: float,
    nu: float,
    *,
    T: int | None = None,
    eps: float = 1.0,
    delta: float = 0.01,
    S: float = 1.0,
    lam: float = 1.0,
    tau0: float | None = None,
    C: float = 0.0,
) -> Bandit:
    """The theorem's form."""
    made = HuberConstants(d, kappa, L, nu, T=T, eps=eps, delta=delta, S=S, lam=lam, tau0=tau0, C=C)
    step = Huber(
        d, link, kappa, L, nu=nu, tau0=made.tau0, beta=made.beta, eps=eps, lam=lam, S=S,
        sigma_min=nu, steady=made.steady, corruption=lambda t: C / math.sqrt(made.K(t)),
    )  # fmt: skip
    return Bandit(step, made.beta)


def crhl_tuned(
    d: int, link: str, kappa: float, L: float, nu: float, c: float, *, eps: float = 1.0,
    S: float = 1.0, lam: float = 1.0, tau0: float = 0.5, alpha: float = 1.0, C: float = 0.0,
) -> Bandit:  # fmt: skip
    """The tuned form: sigma is large enough that an error of S is not taken for noise."""
    beta, made = huber_tuned(c, d, eps, lam), HuberConstants(d, kappa, L, nu, S=S, lam=lam)
    guard = math.sqrt(2 * L * math.sqrt(kappa / alpha * lam) * S / tau0)
    step = Huber(
        d, link, kappa, L, nu=nu, tau0=tau0, beta=beta, eps=eps, lam=lam, S=S, alpha=alpha,
        trust=False, guard=guard, corruption=lambda t: C / math.sqrt(made.K(t)),
    )  # fmt: skip
    return Bandit(step, beta)


def hvt_ucb(d: int, T: int, nu: float, *, eps: float = 1.0, delta: float = 0.01, S: float = 1.0):
    """Hvt-UCB as printed: identity link, alpha 4, lambda d, no third term of sigma."""
    q, lg, lam, sigma_min = half_excess(eps), math.log(2 * T**2 / delta), d, 1 / math.sqrt(T)
    kap = d * math.log(1 + T / (4 * sigma_min**2 * lam * d))
    tau0 = math.sqrt(2 * kap) * math.log(3 * T) ** q / lg ** (1 / (1 + eps))

    def beta(t: int) -> float:
        return 107 * lg * tau0 * t**q * (t > 0) + math.sqrt(lam * (2 + 4 * S**2))

    step = Huber(
        d, "Identity", 1.0, 1.0, nu=nu, tau0=tau0, beta=beta, eps=eps, lam=lam, S=S, alpha=4.0,
        sigma_min=sigma_min, steady=0.0,
    )  # fmt: skip
    return Bandit(step, beta)


# ---- columns: CRCM


class Columns:
    """k Newton columns with one matrix; the centre is the column in their midst."""

    def __init__(
        self, d: int, link: str, curvature: float, penalty: float, norm: float | None, k: int
    ) -> None:
        self.mean, self.curvature, self.norm = naive.LINKS[link][0], curvature, norm
        self.design, self.thetas = penalty * np.eye(d), np.zeros((k, d))
        self.theta, self.projected, self.picks = np.zeros(d), 0, set[int]()

    def learn(self, x: Any, rewards: Any) -> None:
        self.design = self.design + self.curvature * np.outer(x, x)
        inverse = np.linalg.inv(self.design)
        for j, y in enumerate(rewards):
            gradient = (self.mean(float(x @ self.thetas[j])) - y) * x
            self.thetas[j] = self.brought_back(self.thetas[j] - inverse @ gradient)
        medians = [float(np.median([self.gap(j, i) for i in self.all()])) for j in self.all()]
        best = int(np.argmin(medians))
        self.picks.add(best)
        self.theta = self.thetas[best].copy()

    def all(self) -> range:
        return range(len(self.thetas))

    def gap(self, j: int, i: int) -> float:
        away = self.thetas[j] - self.thetas[i]
        return math.sqrt(away @ self.design @ away)

    def brought_back(self, free: Any) -> Any:
        if self.norm is None:
            return free
        theta, multiplier = naive.project(free, self.design, self.norm)
        self.projected += multiplier > 0.0
        return theta


def crcm_plays(T: int, delta: float) -> int:
    return math.ceil(4.04 * math.log(T / delta))


def crcm_beta(
    d: int, v: float, kappa: float, L: float, *, eps: float = 1.0, S: float = 1.0
) -> Beta:
    q, lam = half_excess(eps), max(1.0, 16 * L**2 / kappa)

    def beta(n: int) -> float:
        K = 1.032 * d * math.log(1 + kappa * n / (lam * d))
        G = (16 * v) ** (1 / (1 + eps)) * n**q * math.sqrt(K) if n else 0.0
        return 3 * (2.84 * G / math.sqrt(kappa) + math.sqrt(lam) * S)

    return beta


def crcm(
    d: int, link: str, kappa: float, L: float, k: int, beta: Beta, *, norm: float | None = 1.0
) -> Bandit:
    return Bandit(Columns(d, link, kappa, max(1.0, 16 * L**2 / kappa), norm, k), beta)


# ---- batch: Heavy-OFUL and GAdaOFUL


def huber_psi(z: Any, tau: Any) -> tuple[Any, Any]:
    return np.clip(z, -tau, tau), (np.abs(z) <= tau) * 1.0


def pseudo_psi(z: Any, tau: Any) -> tuple[Any, Any]:
    return tau * z / np.sqrt(tau**2 + z**2), tau**3 / (tau**2 + z**2) ** 1.5


class Batch:
    """argmin over the ball of (ridge/2)||theta||^2 + the losses of all rewards."""

    def __init__(
        self,
        d: int,
        link: str,
        ridge: float,
        lam: float,
        B: float,
        psi: Any,
        sigma: Callable[[float], float],
        tau0: float,
        q: float = 0.0,
        *,
        every_round_until: int = 10**9,
    ) -> None:
        self.mean, self.slope = naive.LINKS[link]
        self.ridge, self.B, self.psi, self.sigma, self.tau0, self.q = ridge, B, psi, sigma, tau0, q
        self.theta, self.design = np.zeros(d), lam * np.eye(d)
        self.rows: list[tuple[Any, float, float, float]] = []
        self.every_round_until, self.fitted, self.fits = every_round_until, -math.inf, 0
        self.projected, self.cuts = 0, 0

    def learn(self, x: Any, rewards: Any) -> None:
        t = len(self.rows) + 1
        p = design_norm(x, self.design)
        sigma = self.sigma(p)
        w = p / sigma
        tau = self.tau0 * math.sqrt(1 + w**2) / w * t**self.q
        self.rows.append((x, float(rewards[0]), sigma, tau))
        self.design = self.design + np.outer(x, x) / sigma**2
        volume = float(np.linalg.slogdet(self.design)[1])
        if t <= self.every_round_until or volume >= self.fitted + math.log(1.05):
            self.fitted = volume
            self.fits += 1
            self.theta = self.minimum()

    def derivatives(self, theta: Any, shift: float) -> tuple[Any, Any]:
        X, y, sigma, tau = (np.array(column) for column in zip(*self.rows, strict=True))
        u = X @ theta
        z = (y - np.vectorize(self.mean)(u)) / sigma
        psi, rate = self.psi(z, tau)
        self.cut_now = int((np.abs(z) > tau).sum())
        weights = np.vectorize(self.slope)(u) * rate / sigma**2
        ridge = self.ridge + shift
        gradient = ridge * theta - X.T @ (psi / sigma)
        return gradient, ridge * np.eye(len(theta)) + X.T @ (weights[:, None] * X)

    def stationary(self, shift: float) -> Any:
        """Newton from zero, halving until the gradient falls."""
        theta = np.zeros(len(self.theta))
        gradient, hessian = self.derivatives(theta, shift)
        for _ in range(200):
            step, length = np.linalg.solve(hessian, gradient), 1.0
            while True:
                moved = theta - length * step
                after, curved = self.derivatives(moved, shift)
                if np.linalg.norm(after) < np.linalg.norm(gradient) or length < 1e-12:
                    break
                length /= 2
            if np.linalg.norm(after) >= np.linalg.norm(gradient):
                break
            theta, gradient, hessian = moved, after, curved
        return theta

    def minimum(self) -> Any:
        theta = self.stationary(0.0)
        if np.linalg.norm(theta) <= self.B:
            self.cuts = self.cut_now
            return theta
        self.projected += 1
        high = 1.0
        while np.linalg.norm(self.stationary(high)) > self.B:
            high *= 4
        shift = brentq(
            lambda s: np.linalg.norm(self.stationary(s)) - self.B, 0.0, high, xtol=1e-14, rtol=1e-15
        )
        theta = self.stationary(shift)
        self.cuts = self.cut_now
        return theta


def heavy_constants(d: int, T: int, eps: float, delta: float, lam: float) -> dict[str, float]:
    q, lg = half_excess(eps), math.log(2 * T**2 / delta)
    kap = d * math.log(1 + T**2 / (d * lam))
    return {
        "lg": lg,
        "kap": kap,
        "c0": 1 / math.sqrt(23 * lg),
        "c1": math.log(3 * T) ** (2 * q) / (48 * lg ** (2 / (1 + eps))),
        "tau0": math.sqrt(2 * kap) * math.log(3 * T) ** q / lg ** (1 / (1 + eps)),
    }


def heavy_oful(
    d: int, T: int, nu: float, *, eps: float = 1.0, delta: float = 0.01, B: float = 1.0, **more: Any
) -> Bandit:
    """Heavy-OFUL (Huang et al. 2023), ||x|| <= 1."""
    lam, q, sigma_min = d / B**2, half_excess(eps), 1 / math.sqrt(T)
    made = heavy_constants(d, T, eps, delta, lam)
    kap = made["kap"]

    def sigma(p: float) -> float:
        last = math.sqrt(B * p) / (2 * made["c1"] * kap) ** 0.25
        return max(nu, sigma_min, p / made["c0"], last)

    def beta(t: int) -> float:
        growth = 24 * t**q * math.sqrt(2 * kap) * math.log(3 * T) ** q
        growth *= made["lg"] ** (eps / (1 + eps))
        return 3 * math.sqrt(lam) * B + growth if t else math.sqrt(lam) * B

    batch = Batch(d, "Identity", lam, lam, B, huber_psi, sigma, made["tau0"], q, **more)
    return Bandit(batch, beta)


def gada_constants(
    d: int, T: int, delta: float, lam: float, B: float, K: float, C: float
) -> dict[str, float]:
    lg = math.log(2 * T**2 / delta)
    kap, m1 = d * math.log(1 + T**2 / (d * lam)), 1 / (42 * lg)
    return {
        "lg": lg,
        "kap": kap,
        "m0": 1 / (6 * math.sqrt(3 * lg)),
        "m1": m1,
        "tau0": max(math.sqrt(2 * kap), 2 * math.sqrt(d)) / math.sqrt(lg),
        "alpha": max(math.sqrt(B * K) / (m1 * d) ** 0.25, math.sqrt(C) * kap**-0.25),
    }


def gada_oful(
    d: int, T: int, nu: float, link: str, k: float, K: float, *, delta: float = 0.01,
    B: float = 1.0, C: float = 0.0, **more: Any,
) -> Bandit:  # fmt: skip
    """GAdaOFUL (Yu et al. 2025), ||x|| <= 1."""
    lam, sigma_min = d / B**2, 1 / math.sqrt(T)
    made = gada_constants(d, T, delta, lam, B, K, C)
    kap, tau0 = made["kap"], made["tau0"]

    def sigma(p: float) -> float:
        return max(nu, sigma_min, p / made["m0"], made["alpha"] * math.sqrt(p))

    def beta(t: int) -> float:
        if t == 0:
            return math.sqrt(lam) * B
        log = math.log(2 * t**2 / delta)
        inner = kap / tau0 + math.sqrt(kap * log) + tau0 * log
        return (4 * math.sqrt(kap) / k) * (C > 0) + 32 / k * inner + 5 * math.sqrt(lam) * B

    batch = Batch(d, link, lam * k, lam, B, pseudo_psi, sigma, tau0, **more)
    return Bandit(batch, beta)


def batch_tuned(
    d: int, link: str, k: float, nu: float, c: float, *, psi: Any, eps: float = 1.0,
    tau0: float = 1.0, B: float = 1.0, **more: Any,
) -> Bandit:  # fmt: skip
    """Both in the form that experiments tune: sigma = max(nu, p), beta^2 = c d ln(1 + t/d) t^2q."""
    lam, q = d / B**2, half_excess(eps)
    batch = Batch(d, link, lam * k, lam, B, psi, lambda p: max(nu, p), tau0, q, **more)
    return Bandit(batch, huber_tuned(c, d, eps))


# ---- filters that set themselves


class SelfSetting:
    """y moved to predicted +- a limit; the first four rewards tell the scale and nothing else."""

    def __init__(self) -> None:
        self.sizes: list[float] = []
        self.log, self.cuts = 0.0, 0

    def limit(self, norm: float) -> float:
        raise NotImplementedError

    def follow(self, log: float) -> None:
        raise NotImplementedError

    def apply(self, reward: float, norm: float, predicted: float) -> float:
        error = reward - predicted
        if error == 0.0:
            return reward
        self.sizes.append(abs(error))
        limit = self.limit(norm) if len(self.sizes) > 4 else 0.0
        self.follow(math.log(abs(error)))
        if abs(error) <= limit:
            return reward
        self.cuts += 1
        return predicted + math.copysign(limit, error)


class LeverageClip(SelfSetting):
    """limit = threshold s n^power sqrt((1 + w^2)/w^2), w^2 = curvature norm^2, s running median."""

    def __init__(self, threshold: float = 0.5, curvature: float = 1.0, power: float = 0.0) -> None:
        super().__init__()
        self.threshold, self.curvature, self.power = threshold, curvature, power

    def limit(self, norm: float) -> float:
        n = len(self.sizes)
        scale = self.start() if n <= 32 else math.exp(self.log)
        square = self.curvature * norm**2
        if square == 0.0:
            return math.inf
        return self.threshold * scale * n**self.power * math.sqrt((1 + square) / square)

    def start(self) -> float:
        """The median, of an even number the geometric mean of two."""
        return math.exp(float(np.median(np.log(self.sizes))))

    def follow(self, log: float) -> None:
        n = len(self.sizes)
        if n <= 32:
            self.log = math.log(self.start())
        else:
            self.log += math.copysign(0.5 / math.sqrt(n), log - self.log)


class TailClip(SelfSetting):
    """limit = M, the running root of mean min(e^2, M^2)/M^2 = z ln(n)/n."""

    def __init__(self, z: float = 3.0) -> None:
        super().__init__()
        self.z = z

    def limit(self, norm: float) -> float:
        n = len(self.sizes)
        return self.start() if n <= 32 else math.exp(self.log)

    def start(self) -> float:
        """The largest size but a quarter of them."""
        ordered = sorted(self.sizes)
        return ordered[max(len(ordered) - 1 - max(len(ordered) // 4, 1), 0)]

    def follow(self, log: float) -> None:
        n = len(self.sizes)
        if n <= 32:
            self.log = math.log(self.start())
        else:
            share = min(self.z * math.log(n) / n, 0.5)
            self.log += (min(1.0, math.exp(2 * (log - self.log))) / share - 1) / n


def tail_root(errors: Any, share: float) -> float:
    """The exact root M of mean min(e^2, M^2)/M^2 = share, which TailClip follows in one pass."""
    squares = np.asarray(errors, float) ** 2

    def excess(log: float) -> float:
        return float(np.minimum(squares / math.exp(2 * log), 1.0).mean()) - share

    return math.exp(brentq(excess, -30.0, 30.0))
