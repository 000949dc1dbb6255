"""A run that looks, after every update, whether the region still contains theta*."""

from typing import Any

import numpy as np

from ...engine.compiling import Function, compiled
from ...engine.jitable import jitable
from ...engine.kernels import noise_kernel
from ...engine.linalg import dot
from ...engine.loop import make_episode
from ...engine.parts import cast
from ...engine.regions import UPDATES
from ...engine.streams import ARMS, NOISE, stream_key
from ...engine.verbs import choose, learn, mean, radius, refresh
from ...simulation.problem import Problem, check_problem
from ...simulation.run import CHUNK
from ...sweep.simulation import build_parts

CHECKS, COVERED, WORST, SQUARED, DISTANCE = range(5)  # places in what is watched


@jitable
def distance(region: Any, theta: Any) -> float:
    """||theta - centre||_V^2."""
    total = 0.0
    for i in range(theta.size):
        row = 0.0
        for j in range(theta.size):
            row += (region.design[i, j] + region.recent[i, j]) * (theta[j] - region.centre[j])
        total += (theta[i] - region.centre[i]) * row
    return total


@jitable
def look(policy: Any, estimate: Any, theta: Any, seen: Any) -> None:
    """Compare the distance with the squared radius, and remember the worst."""
    region = estimate.region
    width = radius(policy.radius, estimate, region.counts[UPDATES])
    seen[SQUARED] = width * width
    seen[DISTANCE] = distance(region, theta)
    seen[CHECKS] += 1
    if seen[DISTANCE] <= seen[SQUARED]:
        seen[COVERED] += 1
    seen[WORST] = max(seen[WORST], seen[DISTANCE] / seen[SQUARED])


def watch_kernel(stamp: str) -> Function:
    def kernel(
        policy: Any,
        state: Any,
        arms: Any,
        link: Any,
        theta: Any,
        view: Any,
        key: Any,
        noise: Any,
        episode: Any,
        seen: Any,
    ) -> None:
        stamp  # noqa: B018
        rewards, numbers, counts = episode
        for i in range(noise.size):
            if counts[1] == 0:
                refresh(arms, view, key, counts[0])
                choose(policy, state, arms, view)
                numbers[0] = mean(link, dot(view.chosen, theta))
            rewards[counts[1]] = numbers[0] + noise[i]
            counts[0] += 1
            counts[1] += 1
            if counts[1] == rewards.size:
                learn(policy, state, view.chosen, rewards)
                look(policy, state.estimate, theta, seen)
                counts[1] = 0

    return kernel


def watch(policy: Any, problem: Problem, horizon: int, seed: int, repetition: int) -> Any:
    """Checks, those that covered theta*, worst distance over radius, and both at the end."""
    arms_key, noise_key = (stream_key(seed, repetition, stream) for stream in (ARMS, NOISE))
    noise, seen = np.empty(min(CHUNK, horizon)), np.zeros(5)
    episode = make_episode(policy.plays)
    run = (policy, policy.init(), problem.arms, problem.link, problem.theta, problem.arms.view())
    draw = compiled(noise_kernel, problem.noise, noise_key, 0, noise)
    play = compiled(watch_kernel, *run, arms_key, noise, episode, seen)
    with np.errstate(over="ignore"):
        for start in range(0, horizon, noise.size):
            piece = noise[: min(noise.size, horizon - start)]
            draw(problem.noise, noise_key, start, piece)
            play(*run, arms_key, piece, episode, seen)
    return seen


def coverage_cell(
    policy: Any,
    problem: Any,
    horizon: int,
    repetitions_from: int,
    repetitions_to: int,
    seed: int,
    checkpoints: list[int],
) -> dict[str, Any]:
    """What `watch` saw in each repetition."""
    made, where = cast(build_parts(policy)), check_problem(build_parts(problem))
    repetitions = range(repetitions_from, repetitions_to)
    return {"seen": np.array([watch(made, where, horizon, seed, r) for r in repetitions])}
