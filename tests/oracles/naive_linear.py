"""Textbook twins of the baselines: dense algebra over the whole history, nothing clever.

Written from the papers' formulas, not from the library: where the two agree, both are right.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import naive

# ---- estimators for naive.Bandit


class OnlineToConfidence:
    """GLOC as printed: the online iterate, then ridge regression on its predictions."""

    def __init__(self, dim: int, link: str, kappa: float, penalty: float, norm: float) -> None:
        self.mean, self.kappa, self.norm = naive.LINKS[link][0], kappa, norm
        self.theta: Any = np.zeros(dim)
        self.design, self.iterate = penalty * np.eye(dim), np.zeros(dim)
        self.moment, self.squares, self.gradients, self.projected = np.zeros(dim), 0.0, 0.0, 0

    def learn(self, x: Any, reward: float) -> None:
        z = float(x @ self.iterate)
        gradient = self.mean(z) - reward
        self.design = self.design + np.outer(x, x)
        image = np.linalg.solve(self.design, x)
        self.gradients += gradient**2 * float(x @ image)
        self.squares += z**2
        self.moment = self.moment + z * x
        self.theta = np.linalg.solve(self.design, self.moment)
        free = self.iterate - gradient / self.kappa * image
        self.iterate, nu = naive.project(free, self.design, self.norm)
        self.projected += nu > 0.0

    def theory(self, spread: float, penalty: float, delta: float) -> Callable[[int, Any], float]:
        k, S = self.kappa, self.norm

        def gamma(t: int, design: Any) -> float:
            if t == 0:
                return penalty * S**2
            B = self.gradients / (2 * k) + 2 * k * S**2 * penalty
            inner = math.sqrt(1 + 2 / k * B + 4 * spread**4 / (k**4 * delta**2))
            tail = 8 * spread**2 / k**2 * math.log(2 / delta * inner)
            ridge = self.squares - float(self.theta @ self.moment)
            return 1 + 4 / k * B + tail + penalty * S**2 - ridge

        return gamma


class RidgeEnsemble:
    """MENU: k ridge regressions solved anew, all pairs of distances."""

    def __init__(self, dim: int, plays: int, penalty: float, include_self: bool) -> None:
        self.design, self.sums = penalty * np.eye(dim), np.zeros((dim, plays))
        self.theta, self.include_self, self.picks = np.zeros(dim), include_self, set[int]()

    def learn_all(self, x: Any, rewards: Any) -> None:
        self.design = self.design + np.outer(x, x)
        self.sums = self.sums + np.outer(x, rewards)
        thetas = np.linalg.solve(self.design, self.sums).T
        medians = []
        for j, one in enumerate(thetas):
            others = [s for i, s in enumerate(thetas) if self.include_self or i != j]
            gaps = [math.sqrt((one - s) @ self.design @ (one - s)) for s in others]
            medians.append(float(np.median(gaps)))
        self.picks.add(int(np.argmin(medians)))
        self.theta = thetas[int(np.argmin(medians))]


class ManyRidgesBandit(naive.Bandit):
    """A bandit whose estimator takes all rewards of a decision."""

    def learn(self, x: Any, rewards: Any) -> None:
        self.estimator.learn_all(x, rewards)
        self.updates += 1


class TruncatedHistory:
    """TOFU: V^-1/2 by an eigendecomposition, the whole history truncated anew in every round."""

    def __init__(self, dim: int, penalty: float, level: Callable[[int], float]) -> None:
        self.design, self.theta, self.level = penalty * np.eye(dim), np.zeros(dim), level
        self.features: list[Any] = []
        self.rewards: list[float] = []
        self.cuts: list[int] = []

    def learn(self, x: Any, reward: float) -> None:
        self.features.append(x)
        self.rewards.append(reward)
        self.design = self.design + np.outer(x, x)
        values, vectors = np.linalg.eigh(self.design)
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        terms = root @ np.array(self.features).T * np.array(self.rewards)
        kept = np.abs(terms) <= self.level(len(self.rewards))
        self.cuts.append(int((~kept).any(axis=0).sum()))
        self.theta = root @ (terms * kept).sum(axis=1)


# ---- filters


def truncate_by_time(power: float) -> Callable[[Any, float], float]:
    seen = [0]

    def clean(rewards: Any, norm: float) -> float:
        seen[0] += 1
        return float(rewards[0]) if abs(rewards[0]) <= seen[0] ** power else 0.0

    return clean


# ---- radii, as gamma(t, V)


def squared(factor: float, beta: Callable[[int, Any], float]) -> Callable[[int, Any], float]:
    return lambda t, design: (factor * beta(t, design)) ** 2


def crt(v: float, eps: float, delta: float, corollary: bool) -> Callable[[int, Any], float]:
    def beta(t: int, design: Any) -> float:
        if t == 0:
            return 1.0
        volume = math.log(math.sqrt(np.linalg.det(design)) / delta)
        growth = 2 * t ** (1 / (1 + eps))
        if corollary:
            return 2 * math.sqrt(growth * volume) + math.sqrt(2 * v**2 * math.log(t)) + 1
        return 2 * math.sqrt(growth * (volume + v**2 * math.log(t))) + 1

    return beta


def mom(v: float, eps: float, delta: float, m: int, r: int) -> Callable[[int, Any], float]:
    def beta(t: int, design: Any) -> float:
        if t == 0:
            return 1.0
        error = (12 * v) ** (1 / (1 + eps)) * (8 * math.log(2 * m / delta) / r) ** (eps / (1 + eps))
        volume = 2 * math.log(m * math.sqrt(np.linalg.det(design)) / delta)
        return error * (math.sqrt(volume) + math.sqrt(t)) + 1

    return beta


def tofu(d: int, T: int, b: float, eps: float, delta: float) -> Callable[[int, Any], float]:
    L = math.log(2 * d * T / delta)

    def beta(t: int, design: Any) -> float:
        size = 4 * math.sqrt(d) * b ** (1 / (1 + eps)) * L ** (eps / (1 + eps))
        return 1.0 if t == 0 else size * t ** ((1 - eps) / (2 * (1 + eps))) + 1

    return beta


def tofu_threshold(d: int, T: int, b: float, eps: float, delta: float) -> Callable[[int], float]:
    L = math.log(2 * d * T / delta)
    return lambda t: (b / L) ** (1 / (1 + eps)) * t ** ((1 - eps) / (2 * (1 + eps)))


def menu(d: int, c: float, eps: float) -> Callable[[int, Any], float]:
    def beta(n: int, design: Any) -> float:
        size = (9 * d * c) ** (1 / (1 + eps)) * n ** ((1 - eps) / (2 * (1 + eps)))
        return 1.0 if n == 0 else 3 * (size + 1)

    return beta


# ---- base routines: (features, rewards of a level), arms -> means and widths


class Base:
    """Mean and width of every arm from an index set of past decisions."""

    def __init__(self, alpha: float, bias: float, eps: float) -> None:
        self.alpha, self.bias, self.eps, self.cut, self.moved = alpha, bias, eps, 0, 0

    def __call__(self, data: list[tuple[Any, Any]], arms: Any) -> tuple[Any, Any]:
        inverse = np.linalg.inv(np.eye(arms.shape[1]) + sum(np.outer(x, x) for x, _ in data))
        n = max(len(data), 1) ** ((1 - self.eps) / (2 * (1 + self.eps)))
        means = np.array([self.mean(inverse @ x, data) if data else 0.0 for x in arms])
        norms = np.array([math.sqrt(x @ inverse @ x) for x in arms])
        return means, (self.bias + self.alpha * n) * norms

    def mean(self, image: Any, data: list[tuple[Any, Any]]) -> float:
        raise NotImplementedError


class BTC(Base):
    def mean(self, image: Any, data: list[tuple[Any, Any]]) -> float:
        weights = np.array([image @ x for x, _ in data])
        level = (np.abs(weights) ** (1 + self.eps)).sum() ** (1 / (1 + self.eps))
        terms = weights * np.array([y[0] for _, y in data])
        kept = np.abs(terms) <= level
        self.cut += int((~kept).sum())
        return float(terms[kept].sum())


class BMM(Base):
    def mean(self, image: Any, data: list[tuple[Any, Any]]) -> float:
        predictions = sum((image @ x) * y for x, y in data)
        self.moved += abs(np.median(predictions) - np.mean(predictions)) > 1e-3
        return float(np.median(predictions))


class PerArmUCB:
    """The base routine on all that was seen."""

    def __init__(self, base: Base) -> None:
        self.base, self.data = base, list[tuple[Any, Any]]()

    def estimate_arm(self, arms: Any) -> tuple[Any, Any]:
        return self.base(self.data, arms)

    def choose(self, arms: Any) -> int:
        return int(np.argmax(np.add(*self.estimate_arm(arms))))

    def learn(self, x: Any, rewards: Any) -> None:
        self.data.append((x, rewards.copy()))


class Master:
    """SupLinUCB over a base routine, with index sets and levels as printed."""

    def __init__(self, base: Base, T: int) -> None:
        self.base, self.target = base, 1 / math.sqrt(T)
        self.data: list[list[tuple[Any, Any]]] = [
            [] for _ in range(max(1, math.floor(math.log(T))))
        ]
        self.explored: int | None = None
        self.exploited = self.eliminated = 0

    def estimate_arm(self, arms: Any) -> tuple[Any, Any]:
        means, widths = np.zeros(len(arms)), np.zeros(len(arms))
        for k, x in enumerate(arms):
            levels = [self.base(data, x[None]) for data in self.data]
            means[k], widths[k] = min(((m[0], w[0]) for m, w in levels), key=lambda pair: pair[1])
        return means, widths

    def choose(self, arms: Any) -> int:
        alive = list(range(len(arms)))
        for s in range(1, len(self.data) + 1):
            means, widths = self.base(self.data[s - 1], arms)
            upper = means + widths
            if all(widths[a] <= self.target for a in alive):
                break
            wide = [a for a in alive if widths[a] > 2.0**-s]
            if wide:
                self.explored = s - 1
                return max(wide, key=lambda a: widths[a])
            best = max(upper[a] for a in alive)
            survivors = [a for a in alive if upper[a] >= best - 2.0 ** (1 - s)]
            self.eliminated += len(alive) - len(survivors)
            alive = survivors
        self.explored = None
        self.exploited += 1
        return max(alive, key=lambda a: upper[a])

    def level_of(self, x: Any) -> int | None:
        """The first level in which this arm is too wide: where the library stores a reward."""
        for s, data in enumerate(self.data, start=1):
            if self.base(data, x[None])[1][0] > max(2.0**-s, self.target):
                return s - 1
        return None

    def learn(self, x: Any, rewards: Any) -> None:
        level = self.level_of(x)
        if level is not None:
            self.data[level].append((x, rewards.copy()))
