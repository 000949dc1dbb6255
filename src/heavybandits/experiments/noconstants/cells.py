"""The cells of this experiment: policies on one problem, or on rows of which few pay."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.compile import compiled
from ...core.kernels import noise_kernel, play_kernel
from ...core.loop import Unobserved, make_episode, make_trace
from ...core.protocols import ArmSet, Policy
from ...core.rng import ARMS, NOISE, stream_key
from ...features.tables import scale_features
from ...offline.replay.protocols import RowRounds, judge_oracle, judge_random
from ...offline.replay.replay import pass_once
from ...parts.arms import Fixed, FromArray, PerRound
from ...parts.links import Identity
from ...simulation.problem import Problem, check_problem
from ...sweeps.simulation_cell import build_parts
from .arm_sets import Offers
from .settings import NOISES, PROBLEMS, Spec

Floats = NDArray[np.float64]
INTERCEPT = 20.0  # effect of the constant feature, in those of the others


def make_arms(spec: Spec) -> ArmSet:
    """The arms of a problem."""
    if spec.kind == "one-hot":
        return FromArray(np.eye(spec.dim))
    if spec.kind in ("fresh", "fixed"):
        return (PerRound if spec.kind == "fresh" else Fixed)(spec.size, spec.dim, -1.0)
    if spec.kind == "positive":
        return Fixed(spec.size, spec.dim)
    return Offers(spec.size, spec.dim, spec.kind == "context", spec.kind == "fixed intercept")


def make_theta(spec: Spec, seed: int, repetition: int) -> Floats:
    """The effects: all alike, or drawn where arms are not."""
    rng = np.random.default_rng([seed, repetition])
    if spec.kind == "one-hot":
        return rng.random(spec.dim)
    if spec.kind == "context":
        return rng.normal(size=spec.dim)
    theta = np.ones(spec.dim)
    if spec.kind in ("intercept", "fixed intercept"):
        theta[0] = INTERCEPT
        return theta
    return np.asarray(theta / np.sqrt(spec.dim))


def make_problem(spec: Spec, scale: float, seed: int, repetition: int) -> Problem:
    """The problem with its rewards times `scale`."""
    noise = rescale(NOISES[spec.noise], scale * spec.level)
    theta = scale * make_theta(spec, seed, repetition)
    return check_problem(Problem(make_arms(spec), Identity(), noise, theta))


def rescale(noise: Any, factor: float) -> Any:
    """The noise times a factor, whatever its scale is called.

    >>> from heavybandits.noises import Contaminated, Gaussian, StudentT
    >>> rescale(Contaminated(Gaussian(1.0), StudentT(3.0)), 2.0).outlier
    StudentT(dof=3.0, scale=2.0)
    """
    if hasattr(noise, "base"):
        parts = {name: rescale(getattr(noise, name), factor) for name in ("base", "outlier")}
        return noise._replace(**parts)
    name = "scale" if hasattr(noise, "scale") else "minimum"
    return noise._replace(**{name: factor * getattr(noise, name)})


def play_once(policy: Policy, spec: Spec, problem: Problem, horizon: int, keys: Any) -> float:
    """The regret of one run; where the problem drifts, effects change halfway."""
    trace = make_trace(np.array([horizon]))
    state, buffer, episode = policy.init(), problem.arms.make_buffer(), make_episode(1)
    noise, theta = np.empty(horizon), problem.theta.copy()
    compiled(noise_kernel, problem.noise, keys[1], 0, noise)(problem.noise, keys[1], 0, noise)
    setting = (policy, state, problem.arms, problem.link, theta, buffer, keys[0])
    record = (episode, trace, Unobserved())
    play = compiled(play_kernel, *setting, noise, *record)
    half = horizon // 2 if spec.drifts else horizon
    play(*setting, noise[:half], *record)
    if spec.drifts:
        theta[:] = np.roll(problem.theta, spec.dim // 2) * (-1.0) ** np.arange(spec.dim)
        play(*setting, noise[half:], *record)
    return float(trace.regret[0])


def largest_gap(spec: Spec, problem: Problem, key: Any) -> float:
    """Between the best and the worst arm, in the first sets of arms."""
    buffer, gap = problem.arms.make_buffer(), 0.0
    for play in range(1 if problem.arms.redraw == "never" else 20):
        problem.arms.refresh(buffer, key, play)
        means = problem.theta @ buffer.features[:, : spec.size]
        gap = max(gap, float(means.max() - means.min()))
    return gap


def regret_cell(
    problem: str,
    scale: float,
    policies: list[dict[str, Any]],
    horizon: int,
    repetitions: int,
    seed: int,
) -> dict[str, Any]:
    """Final regret, (policies, repetitions), in the unit of the rewards at scale 1."""
    spec, players = PROBLEMS[problem], [build_parts(policy) for policy in policies]
    started = time.thread_time()
    regret, gaps = np.zeros((len(players), repetitions)), np.zeros(repetitions)
    for r in range(repetitions):
        made = make_problem(spec, scale, seed, r)
        keys = stream_key(seed, r, ARMS), stream_key(seed, r, NOISE)
        gaps[r] = largest_gap(spec, made, keys[0]) / scale
        for i, player in enumerate(players):
            regret[i, r] = play_once(player, spec, made, horizon, keys) / scale
    return {"regret": regret, "gap": gaps, "cpu_seconds": time.thread_time() - started}


def sparse_rows(share: float, seed: int) -> RowRounds:
    """20 000 rows of four features; a share of them pays, more often where the first is large."""
    rng = np.random.default_rng([seed, int(1e6 * share)])
    features = rng.normal(size=(20_000, 4))
    pays = rng.random(20_000) < share * np.exp(features[:, 0] - 0.5)
    rewards = np.where(pays, 10.0 * np.exp(0.5 * rng.normal(size=20_000)), 0.0)
    return RowRounds(scale_features(features), rewards, 10, seed)


def sparse_cell(
    share: float, policies: list[dict[str, Any]], draws: int, seed: int
) -> dict[str, Any]:
    """Value of every policy, (policies, draws), of random play and of the oracle, (draws,)."""
    players, columns = [build_parts(policy) for policy in policies], []
    started = time.thread_time()
    for draw in range(draws):
        rounds = sparse_rows(share, seed + draw)
        offer, scores = rounds.deal(0), rounds.oracle()
        columns.append(
            {
                "value": [float(pass_once(p, rounds, offer, 1.0)[0].mean()) for p in players],
                "random": judge_random(offer, rounds.rewards),
                "oracle": judge_oracle(offer, rounds.rewards, scores),
            }
        )
    made = {name: np.array([column[name] for column in columns]).T for name in columns[0]}
    return {**made, "cpu_seconds": time.thread_time() - started}
