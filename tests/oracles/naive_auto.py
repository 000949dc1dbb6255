"""Textbook twin of auto: lists of all rewards, dense V, an explicit inverse for every norm.

Written from the docstrings of `ScaleFreeHuber`, `ScaleFreeRadius` and their functions.
"""

import math
from collections import Counter
from typing import Any

import numpy as np

import naive

FIRST = 32  # rewards that are fitted again
TEN = 10.0  # value of the constant


class Ridge:
    """V, theta and the penalty of rows that end with the constant."""

    def __init__(self, rows: int, penalty: float) -> None:
        self.theta: Any = np.zeros(rows)
        self.design, self.penalty, self.first = penalty * np.eye(rows), penalty, penalty

    def square(self, z: Any) -> float:
        return float(z @ np.linalg.inv(self.design) @ z)

    def step(self, z: Any, gain: float, weight: float) -> None:
        """theta += V^-1 z gain with V before the row; V += weight z z^T."""
        self.theta = self.theta + np.linalg.inv(self.design) @ z * gain
        self.design = self.design + weight * np.outer(z, z)

    def learned(self) -> float:
        slopes = len(self.theta) - 1
        taken = self.penalty * np.trace(np.linalg.inv(self.design)[:slopes, :slopes])
        return max(slopes - float(taken), 1.0)

    def effects(self) -> float:
        """||slopes||^2."""
        return float(self.theta[:-1] @ self.theta[:-1])

    def volume(self) -> float:
        return float(np.linalg.slogdet(self.design / self.penalty)[1])

    def weigh(self, penalty: float) -> None:
        """Another penalty, and the theta of ridge regression."""
        pull = self.design @ self.theta
        self.design = self.design + (penalty - self.penalty) * np.eye(len(pull))
        self.theta, self.penalty = np.linalg.solve(self.design, pull), penalty


class Sizes:
    """A histogram: quarters of octaves, 64 octaves around that of `typical`."""

    def __init__(self, exponent: int) -> None:
        self.exponent, self.counts = exponent, Counter[int]()

    def place(self, size: float) -> int:
        mantissa, octave = math.frexp(size)
        place = 4 * (octave - self.exponent) + math.floor((2.0 * mantissa - 1.0) * 4)
        return min(max(place, -128), 127)

    def middle(self, place: int) -> float:
        octave, quarter = divmod(place, 4)
        return float((1.0 + (quarter + 0.5) / 4.0) * 2.0 ** (octave + self.exponent - 1))

    def add(self, size: float) -> None:
        self.counts[self.place(size)] += 1

    def ranked(self) -> list[int]:
        return sorted(self.counts.elements(), reverse=True)

    def rank(self, rank: float) -> int | None:
        """The place of the rank-th largest."""
        places, wanted = self.ranked(), max(math.ceil(rank - 1e-9), 1)
        return places[wanted - 1] if wanted <= len(places) else None

    def from_place(self, place: int) -> int:
        return sum(n for p, n in self.counts.items() if p >= place)


class Auto:
    """The estimator, the radius and the choice; the name of a link as in `naive.LINKS`."""

    def __init__(self, dim: int, link: str = "Identity", threshold: float = 0.35) -> None:
        self.dim, self.threshold, self.linear = dim, threshold, link == "Identity"
        self.mean, self.slope = naive.LINKS[link]
        self.restarts, self.cuts = 0, 0
        self.begin()

    def begin(self) -> None:
        self.xs: list[Any] = []
        self.ys: list[float] = []
        self.streak, self.exponent, self.cuts_before = 0, 0, self.cuts
        self.middle, self.unit = np.zeros(self.dim), np.zeros(self.dim)
        self.clear()

    def clear(self) -> None:
        self.fit, self.log_fit = (
            Ridge(self.dim + 1, 0.1 * self.dim),
            Ridge(self.dim + 1, 4.0 * self.dim),
        )
        self.level, self.large, self.event, self.typical, self.residual = 0.0, 0.0, 0.0, 0.0, 0.0
        self.rare, self.known, self.small, self.exact, self.sized = False, 0, 0, 0, 0
        self.logs: list[float] = []
        self.squares: list[tuple[float, float]] = []
        self.log_noise, self.debt, self.total = 1.2, 0.0, 0
        self.empty_histograms()

    def empty_histograms(self) -> None:
        self.gains, self.losses = Sizes(self.exponent), Sizes(self.exponent)
        self.residuals = Sizes(self.exponent)

    # ---- rows

    def row(self, x: Any) -> Any:
        row = [
            (x[i] - self.middle[i]) / self.unit[i] if self.unit[i] else 0.0 for i in range(self.dim)
        ]
        return np.array([*row, TEN])

    def new_features(self, x: Any) -> list[int]:
        return [i for i in range(self.dim) if self.unit[i] == 0.0 and x[i] != self.middle[i]]

    def standardise(self) -> None:
        """Means and deviations without arms of more than half of the variance, two at most."""
        left_out: list[int] = []
        for _ in range(3):
            used = [j for j in range(len(self.xs)) if j not in left_out]
            arms = np.array([self.xs[j] for j in used])
            middle, unit = arms.mean(axis=0), arms.std(axis=0)
            if left_out and not unit.any():
                return
            self.middle, self.unit = middle, np.where((arms == arms[0]).all(axis=0), 0.0, unit)
            varied = self.unit > 0.0
            shares = ((arms[:, varied] - middle[varied]) / unit[varied]) ** 2
            far = [
                j
                for j, s in zip(used, shares.sum(axis=1), strict=True)
                if 2 * s > len(used) * varied.sum()
            ]
            if len(used) < 4 or not varied.any() or not far:
                return
            left_out = [far[0], *left_out[:1]]

    # ---- what is known of the noise

    @property
    def s_square(self) -> float:
        weights = sum(weight for weight, _ in self.squares)
        weighted = sum(w * y for w, y in self.squares) / weights if weights > 0.0 else 0.0
        return max(weighted, sum(y for _, y in self.squares) / max(len(self.squares), 1))

    def all_sizes(self) -> Sizes:
        both = Sizes(self.exponent)
        both.counts = self.gains.counts + self.losses.counts
        return both

    def record(self, y: float) -> None:
        self.total += 1
        if y == self.level:
            self.exact += 1
        else:
            (self.gains if y > self.level else self.losses).add(abs(y - self.level))

    def is_event(self, y: float) -> bool:
        return y != self.level and abs(y - self.level) >= self.event

    def find_events(self) -> None:
        sizes = self.all_sizes()
        places = sizes.ranked()
        rank = max(3.0, min(0.02 * self.total, 0.5 * len(places)))
        place = sizes.rank(rank) if len(places) >= 3 else None
        self.large = self.event = self.typical = 0.0
        self.rare, least = False, -128
        if place is not None:
            self.large, least = sizes.middle(place), max(place - 24, -128)
            self.rare = 2 * sizes.from_place(least) <= self.total
            valley = None if self.rare else self.valley(sizes)
            if valley is not None:
                gains, losses = self.gains.from_place(valley), self.losses.from_place(valley)
                if 2 * abs(gains - losses) >= gains + losses:
                    least, self.rare = valley, True
            self.event = sizes.middle(least)
        events = sizes.from_place(least)
        if events:
            middle = sizes.rank(0.5 * events)
            assert middle is not None
            self.typical = sizes.middle(middle)

    def valley(self, sizes: Sizes) -> int | None:
        """The highest two octaves with a quarter at most of what is above; half is below."""
        for low in range(120, -128, -1):
            above = sizes.from_place(low + 8)
            within = sizes.from_place(low) - above
            split = above >= 16 and 4 * within <= above and 2 * (above + within) <= self.total
            if split and sizes.counts[low - 1] > 0:
                return low + 3
        return None

    def find_residual(self) -> None:
        count = len(self.residuals.ranked())
        place = self.residuals.rank(max(0.5 * count, min(3, count))) if count else None
        self.residual = self.residuals.middle(place) if place is not None else 0.0

    # ---- sizes

    def logarithm(self, size: float) -> float:
        return math.log(size) - self.exponent * math.log(2.0)

    def learn_size(self, z: Any, y: float, size: float) -> None:
        self.logs.append(self.logarithm(abs(y - self.level)))
        if size <= 0.0:
            return
        if self.sized == 0:
            self.log_fit.theta[-1] = self.logarithm(self.residual or size) / TEN
        self.sized += 1
        square, most = self.log_fit.square(z), 3.0 * math.sqrt(self.log_noise)
        error = min(max(self.logarithm(size) - z @ self.log_fit.theta, -most), most)
        self.log_noise += (error**2 / (1.0 + square) - self.log_noise) / (self.sized + 10)
        self.log_fit.step(z, error / (1.0 + square), 1.0)

    def relative_size(self, z: Any) -> float:
        if len(self.ys) <= FIRST or not self.rare or self.sized < 8:
            return 1.0
        doubt = 0.5 * math.sqrt(self.log_noise * self.log_fit.square(z))
        size = math.exp(z[:-1] @ self.log_fit.theta[:-1] + doubt)
        return min(max(size, 1.0 / 16.0), 16.0)

    # ---- learning

    def error(self, z: Any, y: float) -> tuple[float, float]:
        at = float(z @ self.fit.theta)
        weight = min(max(self.slope(at), 1e-12), 1e12)
        return (y - self.level - self.mean(at)) / math.sqrt(weight), weight

    def limit(self, square: float, scale: float) -> float:
        limit = math.inf
        if square > 0.0:
            noise = self.threshold * math.sqrt(self.s_square) * (1.0 + square)
            prior = math.sqrt(self.fit.penalty * self.fit.effects())
            limit = noise / math.sqrt(square) + prior * math.sqrt(square)
        least = 16.0 * self.large / scale if self.rare else 2.0 * self.residual
        return max(limit, least * math.sqrt(1.0 + square))

    def most(self, scale: float) -> float:
        if self.rare:
            return (16.0 * self.large / scale) ** 2
        return 9.0 * max(self.s_square, self.residual**2)

    def step(self, z: Any, weight: float, error: float, limit: float) -> float:
        square = weight * self.fit.square(z)
        kept, share = error, 1.0
        if abs(error) > limit:
            self.cuts += 1
            kept = math.copysign(limit, error)
            move = limit * square / (1.0 + square)
            excess = square * (abs(error) - move)
            share = max(move / excess, 1e-9) if excess > 0.0 else 1e-9
        self.fit.step(z, math.sqrt(weight) * kept / (1.0 + square), share * weight)
        return kept

    def weigh(self) -> None:
        design, lam, total = self.fit.design, self.fit.penalty, 0.0
        constant = design[-1, -1] - lam
        for i in range(self.dim):
            mixed = design[i, -1] ** 2 / constant if constant > 0.0 else 0.0
            total += design[i, i] - lam - mixed
        least = 0.1 * self.dim
        limit = math.inf if self.rare else 0.2 * math.sqrt(len(self.ys) * self.dim)
        most = max(min(total / self.dim, limit), least)
        noise, signal = self.fit.learned() * self.s_square, self.fit.effects()
        self.fit.weigh(max(noise / signal, least) if noise < most * signal else most)

    def fit_first(self) -> None:
        self.clear()
        self.cuts = self.cuts_before
        self.standardise()
        self.level = sorted(self.ys)[(len(self.ys) - 1) // 2] if self.linear else 0.0
        gaps = sorted(abs(y - self.level) for y in self.ys if y != self.level)
        if gaps:
            self.exponent = math.frexp(gaps[(len(gaps) - 1) // 2])[1]
        self.empty_histograms()
        for y in self.ys:
            self.record(y)
        if self.linear:
            self.find_events()
        for y in self.ys:
            if self.is_event(y):
                self.residuals.add(abs(y - self.level))
        self.find_residual()
        limit = 16.0 * self.large if self.rare else 4.5 * self.residual
        self.residuals, found = Sizes(self.exponent), []
        for x, y in zip(self.xs, self.ys, strict=True):
            z = self.row(x)
            error, weight = self.error(z, y)
            square = weight * self.fit.square(z)
            unit = math.sqrt(1.0 + square)
            self.step(z, weight, error, limit * unit)
            found.append((square, abs(error) / unit))
            if self.is_event(y) and error != 0.0:
                self.known += 1
                self.residuals.add(abs(error) / unit)
        self.find_residual()
        most = self.most(1.0)
        for square, residual in found:
            self.squares.append((square / (1.0 + square), min(residual**2, most)))
        self.weigh()
        if len(self.ys) == FIRST:
            for x, y, (_, residual) in zip(self.xs, self.ys, found, strict=True):
                if self.rare and self.is_event(y):
                    self.learn_size(self.row(x), y, residual)

    def learn(self, x: Any, y: float) -> None:
        self.xs.append(np.array(x))
        self.ys.append(y)
        n = len(self.ys)
        if n <= FIRST and (n <= 8 or n % 4 == 0):
            self.fit_first()
            return
        for i in self.new_features(x) if n > FIRST else []:
            self.unit[i] = abs(x[i] - self.middle[i]) / math.sqrt(n)
        if self.learn_later(self.row(x), y, n):
            self.begin()
            self.restarts += 1
            self.learn(x, y)
        elif n % 1024 == 0 or n in (64, 128, 256, 512):
            self.weigh()
            if self.sized > 8:
                wanted = (
                    self.log_fit.learned() * self.log_noise / max(self.log_fit.effects(), 1e-12)
                )
                self.log_fit.weigh(max(0.25 * self.dim, min(wanted, 10.0 * self.sized)))

    def has_shrunk(self, y: float, n: int) -> bool:
        gap, least = abs(y - self.level), self.typical / 64.0
        self.small = 0 if gap >= least else self.small + (gap > 0.0)
        if self.rare:
            return self.small >= 8 and 2 * self.exact >= n
        last = self.ys[-12:]
        return n % 4 == 0 and least > 0.0 and 0.0 < max(last) - min(last) < 2.0 * least

    def learn_later(self, z: Any, y: float, n: int) -> bool:
        scale = self.relative_size(z)
        error, weight = self.error(z, y)
        weight, error = weight / scale**2, error / scale
        square = weight * self.fit.square(z)
        limit, unit = self.limit(square, scale), math.sqrt(1.0 + square)
        kept = self.step(z, weight, error, limit)
        if n > FIRST and self.has_shrunk(y, n):
            return True
        residual = abs(error) / unit
        if self.total == self.exact and y != self.level:
            self.exponent = math.frexp(abs(y - self.level))[1]
            self.empty_histograms()
        self.record(y)
        if self.is_event(y) and residual > 0.0:
            self.residuals.add(residual)
            if self.rare and n > FIRST:
                self.learn_size(z, y, residual * scale)
        self.known += residual > 0.0
        if n < 2 * FIRST or n % 8 == 0:
            if self.linear:
                self.find_events()
            self.find_residual()
        self.squares.append((square / (1.0 + square), min((kept / unit) ** 2, self.most(scale))))
        self.owe(n)
        self.streak = self.streak + 1 if abs(error) > 2.0 * limit else 0
        return self.streak >= 8

    def owe(self, n: int) -> None:
        place = self.gains.place(max(self.event, 1e-300))
        if not self.rare or self.gains.from_place(place) < self.losses.from_place(place):
            self.debt = 0.0
            return
        self.debt -= 1.0 if self.debt >= 1.0 else 0.0
        spread = float(np.std(self.logs)) if self.logs else 0.0
        self.debt += 4.0 * min(1.0, 3.0 * spread) * (math.sqrt(n) - math.sqrt(n - 1.0))

    # ---- choosing

    def radius(self) -> float:
        if self.known == 0:
            return 1e100
        s, k = math.sqrt(self.s_square), self.fit.learned()
        effect = math.sqrt(self.fit.penalty * self.fit.effects() / k)
        return (0.4 if self.rare else 1.0) * (0.3 * s + max(effect, s))

    def norm_square(self, x: Any) -> float:
        new = len(self.new_features(x)) * min(len(self.ys), FIRST) / self.fit.penalty
        return self.fit.square(self.row(x)) + new

    def indices(self, arms: Any) -> Any:
        """What the choice maximises."""
        if self.debt >= 1.0:
            return np.array([self.radius() * math.sqrt(self.norm_square(x)) for x in arms])
        return np.array([sum(self.estimate_arm(x)) for x in arms])

    def estimate_arm(self, x: Any) -> tuple[float, float]:
        """z.theta and its width."""
        z, k, square, n = self.row(x), self.fit.learned(), self.norm_square(x), len(self.ys)
        relative = square / self.relative_size(z) ** 2
        logarithm = math.log(1.0 + n * relative / k)
        if self.rare:
            growth = 3.0 + self.fit.volume() / k + logarithm
        else:
            growth = 2.5 + logarithm + 0.1 * relative * logarithm**2
        return float(z @ self.fit.theta), self.radius() * math.sqrt(square * growth)
