"""Rejection replay of logged decisions (Li, Chu, Langford and Wang 2011)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._utils.errors import InvalidInputError
from ..._utils.threads import run_all
from ..._utils.validation import finite_array
from ...core.arm_buffer import make_arm_buffer
from ...core.arrays import Floats
from ...core.protocols import Tally
from ...features import tables as frames
from ...parts.arms import Rows
from ...parts.policies.checks import check_room
from .kernels import for_pass, log_kernel, run_timed
from .protocols import choose_scale
from .result import ReplayResult

UNIFORM = "uniform"  # in place of a column: every action was as likely as the other


class Log(NamedTuple):
    """Decisions taken uniformly at random: contexts (with intercept), features of the actions, the
    action taken and its reward."""

    contexts: Floats
    actions: Floats
    taken: NDArray[np.int64]
    rewards: Floats

    @property
    def dim(self) -> int:
        return int(self.contexts.shape[1] * self.actions.shape[1])

    @property
    def size(self) -> int:
        """The number of actions."""
        return len(self.actions)

    def take(self, places: Any) -> "Log":
        """These rows, in this order."""
        return Log(self.contexts[places], self.actions, self.taken[places], self.rewards[places])

    def play(
        self, policy: Any, state: Any, arms: Any, view: Any, rewards: Floats, chosen: Any
    ) -> float:
        """Let a policy pass over the rows; CPU seconds."""
        rows = (self.contexts, self.actions, self.taken, rewards, np.zeros(1), chosen)
        return run_timed(log_kernel, policy, state, arms, view, *rows)


def read_log(
    frame: Any,
    features: Sequence[str],
    reward: str,
    action: str,
    propensity: str,
    actions: Any,
    drop_missing: bool,
) -> Log:
    """A log from columns, or from a dictionary with Open Bandit Pipeline's names.

    The latter has `context` (n, c), `action` (n,), `reward` (n,) and, if there, `pscore` (n,),
    `action_context` (A, a) and `n_actions`.
    """
    if isinstance(frame, Mapping) and np.ndim(np.asarray(frame.get("context"))) == 2:
        return _read_feedback(frame, actions, propensity)
    source = frames.read_frame(frame)
    names = [*features, reward, action]
    if propensity != UNIFORM:
        names.append(find_propensity(propensity, frames.column_names(source)))
    values, _ = frames.table(source, names, drop_missing=drop_missing)
    width = len(features)
    scores = UNIFORM if propensity == UNIFORM else values[:, width + 2]
    return make_log(values[:, :width], values[:, width + 1], values[:, width], scores, actions)


def find_propensity(propensity: str, names: Sequence[str]) -> str:
    """A log that does not say how likely its actions were is not taken for a uniform one."""
    if propensity not in names:
        raise InvalidInputError(
            f"propensity must be a column of the log, got {propensity!r}: if every action was as "
            f"likely as the other, say so: propensity={UNIFORM!r}"
        )
    return propensity


def _read_feedback(feedback: Mapping[str, Any], actions: Any, propensity: str) -> Log:
    for name in ("action", "reward"):
        if name not in feedback:
            raise InvalidInputError(
                f"frame must have {name!r} beside 'context', got {list(feedback)}"
            )
    given = feedback.get("action_context") if actions is None else actions
    if given is None and feedback.get("n_actions") is not None:
        given = np.eye(int(feedback["n_actions"]))
    contexts = finite_array("context", feedback["context"], (None, None))
    if feedback.get("context_of") == "arm":  # an agent's: of the arm that was played, of no other
        contexts = contexts[:, :0]
    return make_log(
        contexts,
        finite_array("action", feedback["action"], (None,)),
        finite_array("reward", feedback["reward"], (None,)),
        UNIFORM if propensity == UNIFORM else feedback[find_propensity(propensity, list(feedback))],
        given,
    )


def make_log(
    contexts: Floats, action: Floats, rewards: Floats, propensity: Any, actions: Any
) -> Log:
    """Checked, and scaled so that no features of an action are longer than 1."""
    if not len(contexts) == action.size == rewards.size:
        raise InvalidInputError(
            f"action and reward must have {len(contexts)} rows like context, "
            f"got {action.size} and {rewards.size}"
        )
    taken = action.astype(np.int64)
    if (taken != action).any() or taken.min() < 0:
        raise InvalidInputError("action must hold whole numbers from 0 on")
    given = np.eye(int(taken.max()) + 1) if actions is None else actions
    known = finite_array("actions", given, (None, None))
    if taken.max() >= len(known):
        raise InvalidInputError(f"action must lie in 0..{len(known) - 1}, got {taken.max()}")
    check_uniform(propensity, taken.size, len(known))
    longest = float(np.sqrt((known * known).sum(axis=1).max())) or 1.0
    wide = frames.scale_features(contexts) if contexts.shape[1] else np.ones((taken.size, 1))
    return Log(wide, np.ascontiguousarray(known / longest), taken, rewards.copy())


def check_uniform(propensity: Any, rows: int, actions: int) -> None:
    """Rejection is unbiased only where all actions were equally likely."""
    if isinstance(propensity, str):
        return
    scores = finite_array("propensity", np.ravel(propensity), (rows,))
    off = np.flatnonzero(np.abs(scores * actions - 1.0) > 1e-3)
    if off.size:
        raise InvalidInputError(
            f"propensity must be 1 / {actions}, the actions having been taken uniformly at random; "
            f"got {scores[off[0]]:.4g} in row {off[0]}. Use evaluate, which weighs the rows of any "
            "log with known propensities"
        )


class Playable(Protocol):
    """A log that policies can pass over: `Log`, or the one of an encoder."""

    @property
    def taken(self) -> NDArray[np.int64]: ...

    @property
    def rewards(self) -> Floats: ...

    @property
    def dim(self) -> int: ...

    @property
    def size(self) -> int: ...

    def take(self, places: Any) -> "Playable": ...

    def play(
        self, policy: Any, state: Any, arms: Any, view: Any, rewards: Floats, chosen: Any
    ) -> float: ...


def replay_log(
    log: Playable,
    policies: Mapping[str, Any],
    reward_scale: float | None,
    orders: int,
    seed: int,
    jobs: int,
) -> ReplayResult:
    """Let policies play a log; only rows on which they agree with it count."""
    for name, policy in policies.items():
        if policy.plays > 1:
            raise InvalidInputError(
                f"policies[{name!r}] plays an arm {policy.plays} times per decision, but in a log "
                "the context changes at every row"
            )
        check_room(f"policies[{name!r}]", policy, log.taken.size)
    scale = choose_scale(log.rewards, reward_scale)

    def run(order: int) -> list[dict[str, Any]]:
        shuffled = _shuffle(log, seed, order)
        return [
            _pass_log(name, for_pass(policy, order), shuffled, order, scale)
            for name, policy in policies.items()
        ]

    return ReplayResult.from_passes(run_all(run, range(orders), jobs))


def _shuffle(log: Playable, seed: int, order: int) -> Playable:
    if order == 0:
        return log
    return log.take(np.random.default_rng([seed, order]).permutation(log.taken.size))


def _pass_log(name: str, policy: Any, log: Playable, order: int, scale: float) -> dict[str, Any]:
    state, chosen = policy.init(), np.zeros(log.taken.size, np.int64)
    arms, buffer = Rows(log.size, log.dim), make_arm_buffer(log.dim, log.size)
    seconds = log.play(policy, state, arms, buffer, log.rewards / scale, chosen)
    agreed = chosen == log.taken
    accepted, cut = int(agreed.sum()), int(Tally(*policy.tally(state)).truncated)
    return {
        "policy": name,
        "order": order,
        "rounds": log.taken.size,
        "accepted": accepted,
        "acceptance": accepted / log.taken.size,
        "value": float(log.rewards[agreed].mean()) if accepted else float("nan"),
        "random": float(log.rewards.mean()),
        "updates": accepted,
        "truncated": cut,
        "truncated_share": cut / max(accepted, 1),
        "cpu_seconds": seconds,
    }
