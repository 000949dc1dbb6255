"""Textbook twins of CRAL: dense V, a fresh solve for every norm, and the state of the page.

Written from the formulas of docs/maths/cral.md, not from the library.
"""

import math
from typing import Any

import numpy as np

import naive


def clip(z: float, c: float) -> float:
    return max(-c, min(z, c))


class Cral:
    """Section "The algorithm": select, update and the variants of the extensions."""

    def __init__(
        self,
        d: int,
        *,
        r: float,
        C: float = 0.0,
        delta: float = 0.01,
        lam: float = 1.0,
        T: int | None = None,
        link: str = "Identity",
        kappa: float = 1.0,
        L: float = 1.0,
        S: float | None = None,
        Gam: float = 0.0,
    ) -> None:
        self.c = 11 + 26 * C if Gam else 9 + 20 * C
        self.r, self.delta, self.T, self.Gam, self.S = r, delta, T, Gam, S
        self.mean, self.kappa, self.Lam = naive.LINKS[link][0], kappa, L / kappa
        self.theta, self.design = np.zeros(d), lam * np.eye(d)
        self.t, self.k, self.N, self.cuts, self.projected = 1, 0, 0.0, 0, 0
        self.tau = r / self.log()
        self.terms: set[int] = set()

    def log(self) -> float:
        if self.T is not None:
            return math.log(5 * self.T * (self.k + 1) ** 2 / self.delta)
        return math.log(10 * self.t**2 * (self.k + 1) ** 2 / self.delta)

    @property
    def beta(self) -> float:
        return self.c * self.tau * self.log() + self.r

    def norm(self, x: Any) -> float:
        return math.sqrt(x @ np.linalg.solve(self.design, x))

    def indices(self, arms: Any) -> Any:
        width = self.beta / math.sqrt(self.kappa)
        return np.array([x @ self.theta + width * self.norm(x) for x in arms])

    def learn(self, x: Any, y: float, s: float = 1.0) -> None:
        if not x.any():
            return
        log, tau, p = self.log(), self.tau, self.norm(x)
        b = self.beta / tau
        units = [s, 4 * self.Lam * math.sqrt(self.kappa * self.c * b) * p]
        units.append(4 * math.sqrt(self.Gam * p / (tau * log)))
        sigma = max(units)
        self.terms.add(int(np.argmax(units)))
        w = math.sqrt(self.kappa) * p / sigma
        u = w / math.sqrt(1 + w * w)
        raw = (y - self.mean(float(x @ self.theta))) / sigma
        psi = clip(raw, tau / u)
        self.cuts += psi != raw
        self.design = self.design + self.kappa * np.outer(x, x) / sigma**2
        self.theta = self.theta + np.linalg.solve(self.design, x) * psi / sigma
        if self.S is not None:
            self.theta, moved = naive.project(self.theta, self.design, self.S)
            self.projected += moved > 0
        self.N += (u * psi / tau) ** 2
        if 3 * log < self.N:
            self.tau, self.k, self.N = 2 * tau, self.k + 1, 0.0
        self.t += 1


class Tuned:
    """Section "The tuned form"."""

    def __init__(
        self,
        d: int,
        *,
        share: float = 0.4,
        floor: float = 0.0,
        limit: float = 64.0,
        lam: float = 0.001,
    ) -> None:
        self.share, self.floor, self.limit, self.growth = share, floor, limit, math.sqrt(2)
        self.lam = lam
        self.theta, self.design = np.zeros(d), lam * np.eye(d)
        self.tau, self.N, self.B, self.k, self.cuts = 0.0, 0.0, 0.0, 0, 0
        self.projected = 0

    @property
    def beta(self) -> float:
        if self.tau == 0:
            return 1e100
        noise = self.share * math.sqrt(self.B) + self.floor * self.tau
        unknown = min(1.0, self.lam * float(np.trace(np.linalg.inv(self.design))))
        bias = math.sqrt(self.lam * unknown) * float(np.linalg.norm(self.theta))
        return max(noise, 1.25 * bias)

    def norm(self, x: Any) -> float:
        return math.sqrt(x @ np.linalg.solve(self.design, x))

    def indices(self, arms: Any) -> Any:
        return np.array([x @ self.theta + self.beta * self.norm(x) for x in arms])

    def learn(self, x: Any, y: float, s: float = 1.0) -> None:
        if not x.any():
            return
        w = self.norm(x) / s
        u = w / math.sqrt(1 + w * w)
        e = (y - x @ self.theta) / s
        if self.tau == 0 and e != 0:
            self.tau = abs(e) * u
        psi = clip(e, self.tau / u)
        self.cuts += not math.isclose(psi, e, rel_tol=1e-12)
        q = psi / e if e != 0 else 1.0
        self.design = self.design + q * np.outer(x, x) / s**2
        self.theta = self.theta + np.linalg.solve(self.design, x) * psi / s
        if self.tau > 0:
            self.B += (u * psi) ** 2 / max(1.0, w * w)
            self.N += (u * psi / self.tau) ** 2
            if min(self.limit, 16.0 * (self.k + 1)) < self.N:
                self.tau, self.N, self.k = self.tau * self.growth, 0.0, self.k + 1
