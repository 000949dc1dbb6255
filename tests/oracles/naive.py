"""Textbook twins: dense algebra, np.linalg.inv, scipy's root finder, nothing clever.

Written from the papers' formulas, not from the library: where the two agree, both are right.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

# ---- links: (mean, slope)

LINKS: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "Identity": (lambda z: z, lambda z: 1.0),
    "Logistic": (lambda z: 1 / (1 + math.exp(-z)), lambda z: 1 / (2 + 2 * math.cosh(z))),
    "Probit": (lambda z: float(stats.norm.cdf(z)), lambda z: float(stats.norm.pdf(z))),
    "Exponential": (math.exp, math.exp),
}


# ---- filters: rewards, ||x||_{V^-1} -> one number


def raw(rewards: Any, norm: float) -> float:
    return float(np.mean(rewards))


def truncate(level: float) -> Callable[[Any, float], float]:
    return lambda rewards, norm: float(np.mean([y * (norm * abs(y) <= level) for y in rewards]))


def clip(level: float) -> Callable[[Any, float], float]:
    return lambda rewards, norm: float(np.mean(np.clip(rewards, -level / norm, level / norm)))


def median(rewards: Any, norm: float) -> float:
    return float(np.median(rewards))


def mean_of_medians(group: int) -> Callable[[Any, float], float]:
    def clean(rewards: Any, norm: float) -> float:
        size = min(group, len(rewards))
        whole = np.reshape(rewards[: len(rewards) // size * size], (-1, size))
        return float(np.mean(np.median(whole, axis=1)))

    return clean


def median_of_means(blocks: int) -> Callable[[Any, float], float]:
    def clean(rewards: Any, norm: float) -> float:
        count = min(blocks, len(rewards))
        whole = np.reshape(rewards[: len(rewards) // count * count], (count, -1))
        return float(np.median(np.mean(whole, axis=1)))

    return clean


def trimmed_mean(trim: float) -> Callable[[Any, float], float]:
    def clean(rewards: Any, norm: float) -> float:
        cut = min(int(trim * len(rewards)), (len(rewards) - 1) // 2)
        return float(np.mean(np.sort(rewards)[cut : len(rewards) - cut]))

    return clean


# ---- the projection


def project(point: Any, design: Any, limit: float) -> tuple[Any, float]:
    """argmin ||theta - point||_V over ||theta|| <= limit, and its multiplier nu, by brentq."""
    if np.linalg.norm(point) <= limit:
        return np.array(point), 0.0
    values, vectors = np.linalg.eigh(design)
    coordinates = vectors.T @ point

    def shrunk(nu: float) -> Any:
        return values * coordinates / (values + nu)

    highest = values[-1] * (np.linalg.norm(point) / limit - 1.0)
    nu = brentq(
        lambda nu: np.linalg.norm(shrunk(nu)) - limit, 0.0, highest * (1 + 1e-9), xtol=1e-300
    )
    return vectors @ shrunk(nu), nu


# ---- the algorithms


class Newton:
    """The online Newton step of CRTM, CRMM and OL2M."""

    def __init__(
        self, dim: int, link: str, curvature: float, penalty: float, norm: float | None
    ) -> None:
        self.theta, self.design = np.zeros(dim), penalty * np.eye(dim)
        self.mean, self.curvature, self.norm = LINKS[link][0], curvature, norm
        self.multipliers: list[float] = []

    def learn(self, x: Any, reward: float) -> None:
        gradient = (self.mean(float(x @ self.theta)) - reward) * x
        self.design = self.design + self.curvature * np.outer(x, x)
        free = self.theta - np.linalg.inv(self.design) @ gradient
        self.theta, nu = (free, 0.0) if self.norm is None else project(free, self.design, self.norm)
        self.multipliers.append(nu)


class Ridge:
    """theta = (penalty I + X^T X)^-1 X^T y, solved anew every time."""

    def __init__(self, dim: int, penalty: float) -> None:
        self.theta: Any = np.zeros(dim)
        self.penalty = penalty
        self.design, self.moment = penalty * np.eye(dim), np.zeros(dim)

    def learn(self, x: Any, reward: float) -> None:
        self.design = self.design + np.outer(x, x)
        self.moment = self.moment + reward * x
        self.theta = np.linalg.solve(self.design, self.moment)


class Bandit:
    """UCB over an estimator, a filter and a squared radius gamma(updates, design)."""

    def __init__(self, estimator: Any, clean: Any, gamma: Callable[[int, Any], float]) -> None:
        self.estimator, self.clean, self.gamma = estimator, clean, gamma
        self.updates, self.changed = 0, 0

    def norm(self, x: Any) -> float:
        return math.sqrt(x @ np.linalg.inv(self.estimator.design) @ x)

    def indices(self, arms: Any) -> Any:
        width = math.sqrt(self.gamma(self.updates, self.estimator.design))
        return np.array([x @ self.estimator.theta + width * self.norm(x) for x in arms])

    def learn(self, x: Any, rewards: Any) -> None:
        cleaned = self.clean(rewards, self.norm(x))
        self.changed += not math.isclose(cleaned, float(np.mean(rewards)), rel_tol=1e-12)
        self.estimator.learn(x, cleaned)
        self.updates += 1


# ---- radii, as gamma(t, V)

Gamma = Callable[[int, Any], float]


def log_det(design: Any, penalty: float) -> float:
    return float(np.linalg.slogdet(design)[1]) - len(design) * math.log(penalty)


def crtm_theory(
    d: int, T: int, u: float, kappa: float, U: float, S: float, eps: float, dl: float
) -> Gamma:
    lam = max(1.0, kappa / 2)
    volume = math.log(1 + kappa * T / (2 * lam * d))
    gamma = (
        224
        * u ** (2 / (1 + eps))
        * math.log(4 * T / dl) ** (2 * eps / (1 + eps))
        * T ** ((1 - eps) / (1 + eps))
        * (4 * d / kappa)
        * volume
        + 2 * lam * S**2
        + 48 * U**2 * d / kappa * volume
    )
    return lambda t, design: gamma


def crtm_tuned(c: float, d: int, T: int, kappa: float, eps: float, dl: float) -> Gamma:
    lam = max(1.0, kappa / 2)
    logs = math.log(4 * T / dl) ** (2 * eps / (1 + eps)) * math.log(T / (d * lam) + 1)
    return lambda t, design: c * d * logs * T ** ((1 - eps) / (1 + eps))


def crtm_threshold(d: int, T: int, u: float, kappa: float, eps: float, dl: float) -> float:
    lam = max(1.0, kappa / 2)
    return (
        2
        * (u / math.log(4 * T / dl)) ** (1 / (1 + eps))
        * (d * math.log(1 + kappa * T / (2 * lam * d)) / kappa) ** 0.5
        * T ** ((1 - eps) / (2 * (1 + eps)))
    )


def crmm_theory(
    d: int, T: int, v: float, kappa: float, U: float, S: float, eps: float, dl: float, r: int
) -> Gamma:
    lam, q, C = max(1.0, kappa / 2), (1 - eps) / (1 + eps), (4 * v) ** (1 / (1 + eps))
    rho = 2 * C * math.log(4 * T / dl) + 2 * C**-eps * r * v

    def gamma(t: int, design: Any) -> float:
        if t == 0:
            return lam * S**2
        volume = 4 * d / kappa * math.log(1 + kappa * t / (2 * lam * d))
        return (4 * U**2 + C * rho * t**q) * volume + lam * S**2 + 2 * rho**2 / kappa * t**q

    return gamma


def crmm_tuned(c: float, d: int, kappa: float, eps: float) -> Gamma:
    lam = max(1.0, kappa / 2)
    q = (1 - eps) / (1 + eps)
    return lambda t, design: c * d * math.log(t / (d * lam) + 1) * t**q


def ol2m_theory(S: float, penalty: float, dl: float) -> Gamma:
    beta = 1 / (2 * (1 + math.exp(S)))

    def gamma(t: int, design: Any) -> float:
        if t == 0:
            return penalty * S**2
        tau = math.log(2 * max(1, math.ceil(2 * math.log2(t))) * t**2 / dl)
        growth = 2 / beta * log_det(design, penalty)
        return 8 * S + (8 / beta + 16 * S / 3) * tau + growth + penalty * S**2

    return gamma


def ol2m_tuned(c: float, d: int, penalty: float) -> Gamma:
    return lambda t, design: c * d * math.log(t / penalty + 1)


def oful(R: float, S: float, penalty: float, dl: float) -> Gamma:
    def gamma(t: int, design: Any) -> float:
        root = R * math.sqrt(log_det(design, penalty) + 2 * math.log(1 / dl))
        return (root + math.sqrt(penalty) * S) ** 2

    return gamma
