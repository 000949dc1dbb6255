"""Replay: policies play over rows whose rewards are all known."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..._utils.errors import InvalidInputError
from ..._utils.progress import Progress
from ..._utils.threads import count_workers, run_all
from ..._utils.validation import one_of, whole
from ...algorithms.auto import auto
from ...algorithms.linear import linucb
from ...core.arm_buffer import make_arm_buffer
from ...core.arrays import Floats
from ...core.protocols import Policy, Tally
from ...core.state import make_state
from ...features import tables as frames
from ...parts.arms import Rows
from ...parts.filters import AdaptiveClip, Clip
from ...parts.policies.checks import check_policies, check_room
from ..log import FeatureColumns, Log, LogLike, as_log, read_rows
from . import protocols
from .kernels import for_pass, rounds_kernel, run_timed
from .protocols import Rounds, Schedule
from .result import ReplayResult

Policies: TypeAlias = Policy | Mapping[str, Policy | Callable[[int], Policy]]
PROTOCOLS = ("rows", "rounds", "groups")
CLIPPED = 0.99  # quantile of the sizes of the rewards at which clipped_value clips
ARM_ORDER = 1  # stream of the order of the arms in a round, beside that of the rounds
USED = {"group": ("rounds", "groups"), "arms_per_round": ("rows",), "horizon": ("groups",)}


def default_policies(dim: int) -> dict[str, Policy]:
    """Return `auto`, and LinUCB at radius 1 without a filter, with `Clip` and with `AdaptiveClip`.

    `Clip` is at three mean rewards over ||x||_{V^-1}, so it clips less as an arm becomes known.

    >>> list(default_policies(5))
    ['auto', 'linucb', 'linucb clip', 'linucb adaptive']
    """
    return {
        "auto": auto(dim=dim),
        "linucb": linucb(dim=dim, radius=1.0),
        "linucb clip": linucb(dim=dim, radius=1.0, filter=Clip(threshold=3.0)),
        "linucb adaptive": linucb(dim=dim, radius=1.0, filter=AdaptiveClip()),
    }


def replay(
    data: "LogLike | Rounds",
    *,
    features: FeatureColumns | None = None,
    reward: str | None = None,
    policies: Policies | Callable[[int], Policies] | None = None,
    protocol: str = "rows",
    group: str | None = None,
    arms_per_round: int | None = None,
    horizon: int | None = None,
    passes: int = 20,
    reward_scale: float | None = None,
    seed: int = 0,
    jobs: int | None = 1,
    progress: bool | None = None,
) -> ReplayResult:
    """Replay a table in which the reward of every row is known, and return what policies earn.

    Columns of features are standardised, clipped at three standard deviations, given an intercept
    and scaled so that the longest row has norm 1 (dim = features + 1). An `Encoder` makes the same
    features as in production (dim = encoder.dim).

    Parameters
    ----------
    data : table, Log or rounds
        A mapping of columns, pandas, polars, pyarrow, or a CSV or Parquet file; a `Log`; or rounds
        such as `heavybandits.integrations.coba.EnvironmentRounds`, to which only `policies`,
        `passes`, `reward_scale` and `jobs` apply.
    features : sequence of str or FeatureMap, optional
        Columns of numbers, or an `Encoder`.
    reward : str, default "reward"
        Column of the rewards.
    policies : policy, mapping of str to policy, or function of dim, optional
        The policies by name. Default: `default_policies`.
    protocol : {"rows", "rounds", "groups"}, default "rows"
        "rows": `arms_per_round` random rows are the arms of a round, each row once. "rounds": the
        rows with the same value of `group` are the arms of a round. "groups": each value of `group`
        is one fixed arm that pays its own rows in random order.
    group : str, optional
        Column of the round, or of the arm.
    arms_per_round : int, default 10
        Arms per round of the protocol "rows".
    horizon : int, optional
        Plays of a pass for the protocol "groups". Default: the number of rows.
    passes : int, default 20
        Passes over the data, each in its own order, the same for all policies. Pass 0 of "rounds"
        has the rounds in the order of the data. The arms of a round are always in random order,
        because a policy plays the first of equal arms.
    reward_scale : float, optional
        Policies see rewards divided by this number; values are reported in the units of the data.
        Default: the mean |reward|.
    seed : int, default 0
        Seed of the orders.
    jobs : int or None, default 1
        Threads; None for all cores. Results do not depend on it.
    progress : bool, optional
        True shows progress on stderr, False does not. Default: only on a terminal.

    Returns
    -------
    ReplayResult
        One row per policy and pass.

    Raises
    ------
    InvalidInputError
        An argument or a column is not valid, or a policy does not have the dimension of the data.

    See Also
    --------
    evaluate : for a log in which only the reward of one action per row is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(size=2000)
    >>> data = {"quality": quality, "spend": quality + rng.standard_t(2, size=2000)}
    >>> result = replay(data, features=["quality"], reward="spend", passes=2)
    >>> len(result), result.policies
    (8, ['auto', 'linucb', 'linucb clip', 'linucb adaptive'])
    """
    one_of("protocol", protocol, PROTOCOLS)
    passes, seed = whole("passes", passes), whole("seed", seed, least=0)
    workers = count_workers(jobs)
    if isinstance(data, Rounds):
        rounds = data
    else:
        given: dict[str, Any] = {
            "group": group,
            "arms_per_round": arms_per_round,
            "horizon": horizon,
        }
        check_used(protocol, given)
        log = as_log(data, features, reward)
        rounds = make_rounds(log, protocol=protocol, seed=seed, **given)
    named = make_policies(policies, rounds.features.shape[1])
    shown: dict[str, Any] = {"seed": seed, "jobs": workers, "progress": progress}
    return replay_rounds(rounds, named, reward_scale=reward_scale, passes=passes, **shown)


def check_used(protocol: str, given: Mapping[str, object]) -> None:
    """Raise an error for an argument that the protocol does not use.

    >>> check_used("rows", {"group": "day"})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: group is for protocol 'rounds' or 'groups', not 'rows'
    """
    for name, value in given.items():
        if value is not None and protocol not in USED[name]:
            users = " or ".join(map(repr, USED[name]))
            raise InvalidInputError(f"{name} is for protocol {users}, not {protocol!r}")


def make_policies(
    policies: Policies | Callable[[int], Policies] | None, dim: int
) -> dict[str, Policy]:
    """Return the policies by name, for features of this dimension."""
    made: Any = default_policies if policies is None else policies
    if callable(made):
        made = made(dim)
    if isinstance(made, Mapping):
        made = {name: policy(dim) if callable(policy) else policy for name, policy in made.items()}
    named = check_policies(made)
    for name, policy in named.items():
        if policy.dim != dim:
            raise InvalidInputError(
                f"policies[{name!r}].dim must be {dim}, the number of features and intercept, "
                f"got {policy.dim}"
            )
    return named


def make_rounds(
    log: Log,
    *,
    protocol: str,
    group: str | None = None,
    arms_per_round: int | None = None,
    horizon: int | None = None,
    seed: int = 0,
) -> Rounds:
    """Arrange the rows of a table in rounds, by one of the protocols."""
    if protocol != "rows" and group is None:
        raise InvalidInputError(f"group must name a column for protocol {protocol!r}, got None")
    rows = read_rows(log, {} if group is None else {"group": group})
    if rows.features is None:
        raise InvalidInputError(f"features must be a list of columns, got {log.features!r}")
    known = rows.features if log.encoder is not None else frames.scale_features(rows.features)
    if group is None:
        size = 10 if arms_per_round is None else arms_per_round
        return protocols.RowRounds(known, rows.rewards, size, seed)
    groups = frames.column(log.frame, group, "group", exact=True)[rows.kept]
    if protocol == "rounds":
        return protocols.NamedRounds(known, rows.rewards, groups, seed)
    return protocols.GroupRounds(known, rows.rewards, groups, horizon, seed)


def replay_rounds(
    rounds: Rounds,
    policies: Mapping[str, Policy],
    *,
    reward_scale: float | None = None,
    passes: int = 20,
    seed: int = 0,
    jobs: int = 1,
    progress: bool | None = False,
) -> ReplayResult:
    """Let policies play rounds whose rewards are all known."""
    size = len(rounds.deal(0).arms)
    for name, policy in policies.items():
        if policy.plays > 1 and not rounds.fixed:
            raise InvalidInputError(
                f"policies[{name!r}] plays an arm {policy.plays} times per decision, but the "
                "arms change at every round: use protocol 'groups'"
            )
        check_room(f"policies[{name!r}]", policy, size // policy.plays)
    scale = protocols.choose_scale(rounds.rewards, reward_scale)
    scores, limit = rounds.oracle(), usual_limit(rounds.rewards)

    def run(number: int) -> list[dict[str, Any]]:
        rng = np.random.default_rng([seed, number, ARM_ORDER])
        dealt = protocols.shuffle_arms(rounds.deal(number), rng, rounds.fixed)
        random = protocols.judge_random(dealt, rounds.rewards)
        oracle = protocols.judge_oracle(dealt, rounds.rewards, scores)
        rows = []
        for name, policy in policies.items():
            played = pass_once(for_pass(policy, number), rounds, dealt, scale)
            row = {"policy": name, "pass": number}
            rows.append(row | _describe(*played, random, oracle, limit))
            display.advance(1.0)
        return rows

    with Progress(passes * len(policies), progress) as display:
        return ReplayResult.from_passes(run_all(run, range(passes), jobs))


def usual_limit(rewards: Floats) -> float:
    """Return the size at which `clipped_value` clips: the 99% quantile of the nonzero |rewards|.

    >>> usual_limit(np.r_[np.zeros(500), np.arange(1.0, 102.0)])
    100.0
    """
    sizes = np.abs(rewards[rewards != 0.0])
    return float(np.quantile(sizes, CLIPPED)) if sizes.size else 0.0


def pass_once(
    policy: Policy, rounds: Rounds, schedule: Schedule, scale: float
) -> tuple[Floats, Tally, float]:
    """Return the rewards of one pass in the units of the data, the counts, and CPU seconds."""
    dim = rounds.features.shape[1]
    state, chosen = make_state(policy), np.zeros(len(schedule.arms), np.int64)
    arms = Rows(rounds.size, dim), make_arm_buffer(dim, rounds.size), rounds.features, schedule.arms
    rewards = rounds.rewards / scale, schedule.payers, np.zeros(policy.plays), chosen
    seconds = run_timed(rounds_kernel, policy, state, *arms, *rewards)
    paid = rounds.rewards[schedule.payers[np.arange(chosen.size), chosen]]
    return paid, Tally(*map(int, policy.tally(state))), seconds


def _describe(
    paid: Floats, counted: Tally, seconds: float, random: float, oracle: float, limit: float
) -> dict[str, Any]:
    """Return the columns of one pass."""
    value, gain = float(paid.mean()), oracle - random
    return {
        "rounds": paid.size,
        "value": value,
        "clipped_value": float(np.clip(paid, -limit, limit).mean()),
        "random": random,
        "oracle": oracle,
        "fraction": (value - random) / gain if gain > 0.0 else float("nan"),
        "updates": counted.updates,
        "truncated": counted.truncated,
        "truncated_share": counted.truncated / paid.size,
        "cpu_seconds": seconds,
    }
