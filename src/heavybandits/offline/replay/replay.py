"""Replay: policies play over data that is already there, and show what they would have made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._utils.errors import InvalidInputError
from ..._utils.threads import run_all
from ..._utils.validation import whole
from ...algorithms.auto import auto
from ...algorithms.linear import linucb
from ...core.arm_buffer import make_arm_buffer
from ...core.arrays import Floats
from ...core.protocols import Policy, Tally
from ...features import FeatureMap
from ...features import tables as frames
from ...features.logs import encode_log
from ...parts.arms import Rows
from ...parts.filters import AdaptiveClip, Clip
from ...parts.policies.checks import check_policies, check_room
from .encoded import read_any
from .kernels import for_pass, rounds_kernel, run_timed
from .log import replay_log
from .protocols import (
    DayRounds,
    GroupRounds,
    Offer,
    Rounds,
    RowRounds,
    choose_scale,
    judge_oracle,
    judge_random,
)
from .result import ReplayResult

Policies = Policy | Mapping[str, Policy | Callable[[int], Policy]]
PROTOCOLS = ("rows", "days", "groups", "logged")
USED = {"group": ("days", "groups"), "arms_per_round": ("rows",), "horizon": ("groups",)}


def default_policies(dim: int) -> dict[str, Any]:
    """`auto`, which needs no constant; and LinUCB at radius 1 as it is, with `Clip` (at three mean
    rewards over ||x||_{V^-1}, so less and less) and with a clip that sets itself.

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
    frame: "frames.Table | Rounds",
    features: Sequence[str] | FeatureMap = (),
    reward: str = "reward",
    policies: Policies | Callable[[int], Policies] | None = None,
    *,
    protocol: str = "rows",
    group: str | None = None,
    arms_per_round: int | None = None,
    orders: int = 20,
    horizon: int | None = None,
    action: str = "action",
    propensity: str = "pscore",
    actions: ArrayLike | Mapping[str, frames.Row] | None = None,
    reward_scale: float | None = None,
    drop_missing: bool = False,
    seed: int = 0,
    jobs: int = 1,
) -> ReplayResult:
    """Let policies play over the rows of a frame.

    Columns of features are standardised, clipped at three deviations, given an intercept and scaled
    so that the longest row has norm 1 (d = features + 1); an `Encoder` makes of them what it will
    make of them behind a product (d = encoder.dim). Policies see rewards divided by `reward_scale`,
    the mean |reward| if not given. Values are reported in the units of the data.

    Parameters
    ----------
    frame : a mapping of columns, pandas, polars, pyarrow, or a CSV or Parquet file; or rounds that
        are ready, such as `heavybandits.integrations.coba.EnvironmentRounds`, to which `policies`,
        `orders`, `reward_scale` and `jobs` apply and nothing else does.
    features : names of columns, or an `Encoder` (any `features.FeatureMap`).
    reward : the name of a column.
    policies : a policy, a mapping from names to policies, or a function of d that gives either;
        None for `default_policies`.
    protocol : "rows": `arms_per_round` rows (10) are the arms of a round, not replaced. "days":
        the rows of a `group` are. "groups": each `group` is one fixed arm that pays its own rows.
        "logged": one action per row was taken (columns `action`, `propensity`), uniformly at random
        (propensity="uniform" if no column says so); the rows on which the policy agrees are learned
        from, the rest is skipped. Any other log is for `evaluate`.
    orders : passes, each in an order of its own, the same for all policies. Order 0 of days and
        logs is that of the data.
    horizon : plays of a pass over groups; the number of rows if not given.
    actions : features of the actions of a log, (A, a); one-hot if not given. The features of an
        action are the products of its own with (1, the context). With an encoder: the columns of
        each offer, {name: {column: value}}; None if the log has them, the same in all its rows.
    drop_missing : leave out rows with a missing value instead of refusing them; with an encoder,
        which has a way with gaps of its own, rows with a missing reward.

    >>> rng = np.random.default_rng(0)
    >>> quality = rng.normal(size=2000)
    >>> frame = {"quality": quality, "spend": quality + rng.standard_t(2, size=2000)}
    >>> result = replay(frame, ["quality"], "spend", orders=2)
    >>> len(result), sorted(result.summary()[0])[:3]
    (8, ['better', 'cpu_seconds', 'difference'])
    """
    if protocol not in PROTOCOLS:
        raise InvalidInputError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    if isinstance(features, str) or not isinstance(features, Iterable | FeatureMap):
        raise InvalidInputError(f"features must be a list of columns, got {features!r}")
    orders, seed = whole("orders", orders), whole("seed", seed, least=0)
    given = {"group": group, "arms_per_round": arms_per_round, "horizon": horizon}
    if isinstance(frame, Rounds):
        named = make_policies(policies, frame.features.shape[1])
        return replay_rounds(frame, named, reward_scale, orders, whole("jobs", jobs))
    check_used(protocol, given)
    if protocol == "logged":
        log = read_any(frame, features, reward, action, propensity, actions, drop_missing)
        named = make_policies(policies, log.dim)
        return replay_log(log, named, reward_scale, orders, seed, whole("jobs", jobs))
    many = 10 if arms_per_round is None else arms_per_round
    rounds = make_rounds(
        frame, features, reward, protocol, group, many, horizon, drop_missing, seed
    )
    named = make_policies(policies, rounds.features.shape[1])
    return replay_rounds(rounds, named, reward_scale, orders, whole("jobs", jobs))


def check_used(protocol: str, given: Mapping[str, Any]) -> None:
    """Refuse what the protocol would not look at.

    >>> check_used("rows", {"group": "day"})
    Traceback (most recent call last):
    heavybandits.InvalidInputError: group is for protocol 'days' or 'groups', not 'rows'
    """
    for name, value in given.items():
        if value is not None and protocol not in USED[name]:
            users = " or ".join(map(repr, USED[name]))
            raise InvalidInputError(f"{name} is for protocol {users}, not {protocol!r}")


def make_policies(policies: Any, dim: int) -> dict[str, Any]:
    """Policies by name, for features of this dimension."""
    made = default_policies if policies is None else policies
    if callable(made):
        made = made(dim)
    if isinstance(made, Mapping):
        made = {name: policy(dim) if callable(policy) else policy for name, policy in made.items()}
    named = check_policies(made)
    for name, policy in named.items():
        if policy.dim != dim:
            raise InvalidInputError(
                f"policies[{name!r}] has dim {policy.dim}, the features with their intercept {dim}"
            )
    return named


def make_rounds(
    frame: Any,
    features: Sequence[str] | FeatureMap,
    reward: str,
    protocol: str,
    group: str | None,
    arms_per_round: int,
    horizon: int | None,
    drop_missing: bool,
    seed: int,
) -> Rounds:
    """The rows of a frame, dealt by one of the protocols."""
    source = frames.read_frame(frame)
    if protocol != "rows" and group is None:
        raise InvalidInputError(f"group must name a column for protocol {protocol!r}, got None")
    named = {} if group is None else {"group": group}
    scaled, rewards, kept = read_rows(source, features, reward, drop_missing, named)
    if group is None:
        return RowRounds(scaled, rewards, arms_per_round, seed)
    groups = frames.column(source, group, "group")[kept]
    if protocol == "days":
        return DayRounds(scaled, rewards, groups, seed)
    return GroupRounds(scaled, rewards, groups, horizon, seed)


def read_rows(
    source: Any, features: Any, reward: str, drop_missing: bool, named: Mapping[str, str] = {}
) -> tuple[Floats, Floats, Any]:
    """The features of the rows, their rewards, and which rows of the frame they are."""
    if isinstance(features, FeatureMap):
        values, kept = frames.table(source, [reward], drop_missing=drop_missing, named=named)
        return encode_log(source, features)[kept], values[:, 0].copy(), kept
    if isinstance(features, str) or not features:
        raise InvalidInputError(f"features must be a list of columns, got {features!r}")
    columns = [*features, reward]
    values, kept = frames.table(source, columns, drop_missing=drop_missing, named=named)
    return frames.scale_features(values[:, :-1]), values[:, -1].copy(), kept


def replay_rounds(
    rounds: Rounds,
    policies: Mapping[str, Any],
    reward_scale: float | None = None,
    orders: int = 20,
    jobs: int = 1,
) -> ReplayResult:
    """Let policies play rounds whose rewards are all known."""
    size = len(rounds.deal(0).offers)
    for name, policy in policies.items():
        if policy.plays > 1 and not rounds.fixed:
            raise InvalidInputError(
                f"policies[{name!r}] plays an arm {policy.plays} times per decision, but the "
                "arms change at every round: use protocol 'groups'"
            )
        check_room(f"policies[{name!r}]", policy, size // policy.plays)
    scale = choose_scale(rounds.rewards, reward_scale)
    scores = rounds.oracle()

    def run(order: int) -> list[dict[str, Any]]:
        offer = rounds.deal(order)
        marks = judge_random(offer, rounds.rewards), judge_oracle(offer, rounds.rewards, scores)
        return [
            _row(name, order, *pass_once(for_pass(policy, order), rounds, offer, scale), *marks)
            for name, policy in policies.items()
        ]

    return ReplayResult.from_passes(run_all(run, range(orders), jobs))


def pass_once(
    policy: Any, rounds: Rounds, offer: Offer, scale: float
) -> tuple[Floats, Tally, float]:
    """The rewards of one pass in the units of the data, what was counted, and CPU seconds."""
    dim = rounds.features.shape[1]
    state, chosen = policy.init(), np.zeros(len(offer.offers), np.int64)
    seconds = run_timed(
        rounds_kernel,
        policy,
        state,
        Rows(rounds.size, dim),
        make_arm_buffer(dim, rounds.size),
        rounds.features,
        offer.offers,
        rounds.rewards / scale,
        offer.payers,
        np.zeros(policy.plays),
        chosen,
    )
    paid = rounds.rewards[offer.payers[np.arange(chosen.size), chosen]]
    return paid, Tally(*map(int, policy.tally(state))), seconds


def _row(
    name: str,
    order: int,
    paid: Floats,
    counted: Tally,
    seconds: float,
    random: float,
    oracle: float,
) -> dict[str, Any]:
    value, gain = float(paid.mean()), oracle - random
    return {
        "policy": name,
        "order": order,
        "rounds": paid.size,
        "value": value,
        "random": random,
        "oracle": oracle,
        "fraction": (value - random) / gain if gain > 0.0 else float("nan"),
        "updates": counted.updates,
        "truncated": counted.truncated,
        "truncated_share": counted.truncated / paid.size,
        "cpu_seconds": seconds,
    }
