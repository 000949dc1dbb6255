"""CRTM on fresh arms as a careful NumPy user writes it: what compiling is measured against.

The same arms and the same noise as `heavybandits.simulate`, so the regret must agree.
"""

import time
from typing import Any

import numpy as np

from heavybandits.core.arm_buffer import LANES
from heavybandits.core.rng import ARMS, NOISE, stream_key, uniform_in_registers

BLOCK = 512  # rounds whose arms and noise are drawn in one go
REPAIR_EVERY = 1024

uniforms: Any = uniform_in_registers  # its text takes arrays as well as it takes numbers


def draw_arms(key: Any, start: int, rounds: int, dim: int, size: int) -> Any:
    """Arms of the rounds from start on: shape (rounds, dim, size), columns of length one."""
    columns = -(-size // LANES) * LANES  # the library addresses arms in multiples of its lanes
    first, last = (round_ * dim * columns for round_ in (start, start + rounds))
    arms = uniforms(key, np.arange(first, last)).reshape(rounds, dim, columns)[:, :, :size]
    return arms / np.sqrt((arms * arms).sum(axis=1, keepdims=True))


def draw_noise(key: Any, start: int, rounds: int) -> Any:
    """Student t with three degrees of freedom (Bailey 1994)."""
    plays = 4 * np.arange(start, start + rounds)
    excess = np.expm1(-2.0 / 3.0 * np.log(uniforms(key, plays)))
    return np.sqrt(3.0 * excess) * np.cos(2.0 * np.pi * uniforms(key, plays + 1))


def project(inverse: Any, theta: Any) -> Any:
    """The nearest point of the unit ball in the V-norm: the secular equation in V's eigenbasis."""
    if theta @ theta <= 1.0:
        return theta
    values, vectors = np.linalg.eigh(inverse)
    target = vectors.T @ theta
    shift = 0.0
    for _ in range(60):  # Newton on 1 / ||x(shift)||, concave: it comes up from the left
        point = target / (1.0 + shift * values)
        squared = point @ point
        if squared <= 1.0 + 1e-14:
            break
        bend = (point * point) @ (values / (1.0 + shift * values))
        shift += (np.sqrt(squared) - 1.0) * squared / bend
    return vectors @ point


def first_arm(policy: Any, arms: Any, seed: int) -> int:
    """What the library plays first. All arms tie exactly then, and only rounding chooses."""
    buffer = arms.make_buffer()
    with np.errstate(over="ignore"):
        arms.refresh(buffer, stream_key(seed, 0, ARMS), 0)
    return int(policy.choose(policy.init(), arms, buffer))


def run(horizon: int, seed: int, policy: Any, arms: Any) -> tuple[float, float]:
    """Regret and CPU seconds of one run of CRTM on these fresh arms."""
    dim, size = arms.dim, arms.size
    width, level = policy.radius.radius(None, 0), policy.filter.threshold
    first = first_arm(policy, arms, seed)
    arms_key, noise_key = (stream_key(seed, 0, stream) for stream in (ARMS, NOISE))
    decay = np.exp(-1.0)
    curvature = decay / (1.0 + decay) ** 2 / 2.0
    star = np.ones(dim) / np.sqrt(dim)
    theta, inverse, design = np.zeros(dim), np.eye(dim), np.eye(dim)
    regret, started = 0.0, time.process_time()
    with np.errstate(over="ignore"):
        for start in range(0, horizon, BLOCK):
            rounds = min(BLOCK, horizon - start)
            offered = draw_arms(arms_key, start, rounds, dim, size)
            noise = draw_noise(noise_key, start, rounds)
            means = 1.0 / (1.0 + np.exp(-np.einsum("d,tdk->tk", star, offered)))
            best = means.max(axis=1)
            for t in range(rounds):
                features = offered[t]
                squares = (features * (inverse @ features)).sum(axis=0)
                arm = int((theta @ features + width * np.sqrt(squares)).argmax())
                if start + t == 0:
                    arm = first
                regret += best[t] - means[t, arm]
                x, reward = features[:, arm], means[t, arm] + noise[t]
                direction = inverse @ x
                square = x @ direction
                if np.sqrt(square) * abs(reward) > level:
                    reward = 0.0
                growth = 1.0 + curvature * square
                gradient = 1.0 / (1.0 + np.exp(-(x @ theta))) - reward
                design += curvature * np.outer(x, x)
                if (start + t + 1) % REPAIR_EVERY == 0:
                    inverse[:] = np.linalg.inv(design)
                else:
                    inverse -= curvature / growth * np.outer(direction, direction)
                theta = project(inverse, theta - gradient / growth * direction)
    return float(regret), time.process_time() - started
