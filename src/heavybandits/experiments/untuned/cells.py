"""The cells of this study: some policies on one world, on one problem, or on sparse rows."""

import time
from typing import Any, NamedTuple

import numpy as np

from ..._utils.errors import InvalidInputError
from ...core.arm_buffer import ArmBuffer
from ...core.compile import Function
from ...core.part import reseeded
from ...core.protocols import Policy
from ...core.rng import ARMS, NOISE, stream_key
from ...features.tables import scale_features
from ...gpu.batches import Job
from ...offline.diagnose.diagnosis import diagnose
from ...offline.replay.kernels import rounds_kernel
from ...offline.replay.protocols import RowRounds, judge_oracle, judge_random
from ...offline.replay.replay import pass_once
from ...parts.arms import Rows
from ...parts.compiled_policy import CompiledPolicy
from ...parts.policies.checks import check_policies
from ...simulation.player import play_job
from ...sweeps.gpu_cells import on_device
from ...sweeps.simulation_cell import build_parts
from .draws import Floats
from .problems import PROBLEMS, largest_gap, make_problem
from .worlds import Chunk, Span, World, read_world

ENTRIES = 1 << 19  # numbers in the features of a chunk: larger chunks leave the caches

# ---- worlds


class Player(NamedTuple):
    """A policy in the middle of a run."""

    policy: Policy
    state: Any
    kernel: Function
    arms: Rows
    buffer: ArmBuffer
    pending: Floats

    def play(self, chunk: Chunk) -> Any:
        """Play these rounds and return the arms that were chosen."""
        n, size, dim = chunk.arms.shape
        rows = np.arange(n * size).reshape(n, size)
        shown = rows if chunk.available is None else np.where(chunk.available, rows, -1)
        chosen = np.zeros(n, np.int64)
        features, rewards = chunk.arms.reshape(-1, dim), chunk.rewards.ravel()
        given = features, shown, rewards, rows, self.pending, chosen
        self.kernel(self.policy, self.state, self.arms, self.buffer, *given)
        return chosen


def make_player(described: dict[str, Any], world: World, seed: int, run: int) -> Player:
    """Return a policy before the first round of a run of a world."""
    policy = check_policies(build_parts(described))["policy"]
    policy = reseeded(policy, stream_key(seed, run, NOISE))
    state, rows = policy.init(), Rows(world.arms, world.dim)
    buffer, pending = rows.make_buffer(), np.zeros(policy.plays)
    features, indices = np.zeros((world.arms, world.dim)), np.zeros((1, world.arms), np.int64)
    given = features, indices, np.zeros(world.arms), indices, pending, np.zeros(1, np.int64)
    compiled_policy = CompiledPolicy(policy)
    kernel = compiled_policy.compile(rounds_kernel, state, rows, buffer, *given)
    return Player(compiled_policy.policy, state, kernel, rows, buffer, pending)


def chunk_size(world: World, plays: int) -> int:
    """Return the rounds of a chunk: a multiple of the plays of one decision."""
    rounds = max(1, ENTRIES // (world.arms * world.dim))
    return max(1, rounds // plays) * plays


def play_world(world: World, policies: list[dict[str, Any]], span: Span) -> Floats:
    """Return the regret of every policy in one run, (policies, 2): in all, and of the last tenth.

    All policies meet the same chunks.
    """
    players = [make_player(policy, world, span.seed, span.run) for policy in policies]
    regret = np.zeros((len(players), 2))
    step = chunk_size(world, max(player.policy.plays for player in players))
    for first in range(0, span.horizon, step):
        chunk = world.draw(span._replace(first=first, last=min(first + step, span.horizon)))
        gaps, rounds = chunk.gaps(), np.arange(len(chunk.arms))
        late = max(0, span.horizon - span.horizon // 10 - first)
        for place, player in enumerate(players):
            lost = gaps[rounds, player.play(chunk)]
            regret[place] += lost.sum(), lost[late:].sum()
    return regret


def world_cell(
    world: dict[str, Any],
    policies: list[dict[str, Any]],
    horizon: int,
    runs_from: int,
    runs_to: int,
    seed: int,
) -> dict[str, Any]:
    """Regret, and regret of the last tenth, (policies, runs), of runs from `runs_from`."""
    made, started = read_world(world), time.thread_time()
    spans = [Span(horizon, seed, run, 0, horizon) for run in range(runs_from, runs_to)]
    lost = np.stack([play_world(made, policies, span) for span in spans], axis=1)
    seconds = time.thread_time() - started
    return {"regret": lost[..., 0], "late": lost[..., 1], "cpu_seconds": seconds}


def log_rows(world: World, span: Span) -> tuple[Floats, Floats]:
    """Return features and rewards of decisions drawn uniformly from the available arms."""
    chunk = world.draw(span)
    rng = np.random.default_rng([span.seed, span.run])
    scores = rng.random(chunk.means.shape)
    if chunk.available is not None:
        scores = np.where(chunk.available, scores, -1.0)
    rounds, chosen = np.arange(span.size), scores.argmax(axis=1)
    return chunk.arms[rounds, chosen], chunk.rewards[rounds, chosen]


def advice_cell(
    world: dict[str, Any], rows: int, horizon: int, runs_from: int, runs_to: int, seed: int
) -> dict[str, Any]:
    """The algorithm that `diagnose` recommends from so many logged rows of every run."""
    made, started, found = read_world(world), time.thread_time(), []
    for run in range(runs_from, runs_to):
        features, rewards = log_rows(made, Span(horizon, seed, run, 0, rows))
        varied = features[:, np.ptp(features, axis=0) > 0.0]
        diagnosis = diagnose(rewards, features=varied, horizon=horizon)
        found.append(diagnosis.advice.algorithm)
    return {"algorithms": "\n".join(found), "cpu_seconds": time.thread_time() - started}


# ---- problems


def jobs_of_problem(
    problem: str,
    scale: float,
    policies: list[dict[str, Any]],
    horizon: int,
    runs_from: int,
    runs_to: int,
    seed: int,
) -> list[Job]:
    """Return the runs of every policy; if effects are drawn, every run is a job of its own."""
    spec, players = PROBLEMS[problem], [build_parts(policy) for policy in policies]
    ends = [(runs_from, runs_to)]
    if spec.draws_effects:
        ends = [(run, run + 1) for run in range(runs_from, runs_to)]
    runs = [(make_problem(spec, scale, seed, end[0], horizon), end) for end in ends]
    return [
        Job(player, made, horizon, (horizon,), seed, *end)
        for player in players
        for made, end in runs
    ]


def device_jobs(problem: str, **settings: Any) -> list[Job]:
    """Return the jobs of `jobs_of_problem` if all runs have the same effects."""
    if PROBLEMS[problem].draws_effects:
        raise InvalidInputError("device='cuda' plays runs with the same effects together")
    return jobs_of_problem(problem, **settings)


def problem_cell(**settings: Any) -> dict[str, Any]:
    """Final regret, (policies, runs), in the unit of the rewards; see `jobs_of_problem`."""
    jobs = jobs_of_problem(**settings)
    return join_jobs(jobs, [play_job(job) for job in jobs])


def join_jobs(jobs: list[Job], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of `problem_cell`, of what was played for every job."""
    runs = max(job.last for job in jobs) - min(job.first for job in jobs)
    regret = np.concatenate([one["regret"][:, 0] for one in found])
    return {
        "regret": regret.reshape(-1, runs),
        "cpu_seconds": float(sum(one["cpu_seconds"].sum() for one in found)),
    }


problem_cell_on_device = on_device(device_jobs, join_jobs)


def gap_cell(problem: str, runs_from: int, runs_to: int, seed: int) -> dict[str, Any]:
    """The largest gap of a problem in every run, at scale 1."""
    spec, started = PROBLEMS[problem], time.thread_time()
    gaps = [
        largest_gap(spec, make_problem(spec, 1.0, seed, run), stream_key(seed, run, ARMS))
        for run in range(runs_from, runs_to)
    ]
    return {"gap": np.array(gaps), "cpu_seconds": time.thread_time() - started}


# ---- rows of which few pay


def sparse_rows(share: float, seed: int) -> RowRounds:
    """20,000 rows of four features; a share of them pays, more often where the first is large."""
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
        shown, scores = rounds.deal(0), rounds.oracle()
        columns.append(
            {
                "value": [float(pass_once(p, rounds, shown, 1.0)[0].mean()) for p in players],
                "random": judge_random(shown, rounds.rewards),
                "oracle": judge_oracle(shown, rounds.rewards, scores),
            }
        )
    made = {name: np.array([column[name] for column in columns]).T for name in columns[0]}
    return {**made, "cpu_seconds": time.thread_time() - started}
