"""The compiled loops of `replay`: a policy chooses among rows whose rewards are all known, or among
the actions of a log of which one is known."""

import math
import time
from typing import Any

from ...core.compile import Factory, Function, compiled, stamped
from ...core.dispatch import choose, learn
from ...core.dry_run import first_plays
from ...core.jit import jitable
from ...core.part import reseeded
from ...core.rng import NOISE, stream_key


@jitable
def load_offer(view: Any, features: Any, offer: Any) -> None:
    """Put the rows on offer into the view; -1 is an arm that is not there."""
    for k in range(offer.size):
        row = offer[k]
        view.penalty[k] = 0.0 if row >= 0 else math.inf
        for i in range(features.shape[1]):
            view.features[i, k] = features[row, i] if row >= 0 else 0.0
    view.synced[0] = -1


@jitable
def load_actions(view: Any, context: Any, actions: Any) -> None:
    """Put the products of every action's features with the context into the view."""
    for k in range(actions.shape[0]):
        place = 0
        for i in range(actions.shape[1]):
            for j in range(context.size):
                view.features[place, k] = actions[k, i] * context[j]
                place += 1
    view.synced[0] = -1


@jitable
def pass_rounds(
    policy: Any,
    state: Any,
    arms: Any,
    view: Any,
    features: Any,
    offers: Any,
    rewards: Any,
    payers: Any,
    pending: Any,
    chosen: Any,
) -> None:
    """One pass: round t offers the rows offers[t], of which arm k pays rewards[payers[t, k]]."""
    waiting = 0
    arm = 0
    for t in range(chosen.size):
        if waiting == 0:
            load_offer(view, features, offers[t])
            arm = choose(policy, state, arms, view)
        chosen[t] = arm
        pending[waiting] = rewards[payers[t, arm]]
        waiting += 1
        if waiting == pending.size:
            learn(policy, state, view.chosen, pending)
            waiting = 0


@jitable
def pass_log(
    policy: Any,
    state: Any,
    arms: Any,
    view: Any,
    contexts: Any,
    actions: Any,
    taken: Any,
    rewards: Any,
    pending: Any,
    chosen: Any,
) -> None:
    """One pass over a log: learn where the policy chose the action taken, skip the rest."""
    for t in range(chosen.size):
        load_actions(view, contexts[t], actions)
        chosen[t] = choose(policy, state, arms, view)
        if chosen[t] == taken[t]:
            pending[0] = rewards[t]
            learn(policy, state, view.chosen, pending)


@jitable
def pass_encoded(
    policy: Any,
    state: Any,
    arms: Any,
    view: Any,
    rows: Any,
    taken: Any,
    rewards: Any,
    pending: Any,
    chosen: Any,
) -> None:
    """As `pass_log`, over a log that has the features of all actions, rows[t, k]."""
    for t in range(chosen.size):
        for k in range(rows.shape[1]):
            for i in range(rows.shape[2]):
                view.features[i, k] = rows[t, k, i]
        view.synced[0] = -1
        chosen[t] = choose(policy, state, arms, view)
        if chosen[t] == taken[t]:
            pending[0] = rewards[t]
            learn(policy, state, view.chosen, pending)


def rounds_kernel(stamp: str) -> Function:
    return stamped(pass_rounds, stamp)


def log_kernel(stamp: str) -> Function:
    return stamped(pass_log, stamp)


def encoded_kernel(stamp: str) -> Function:
    return stamped(pass_encoded, stamp)


def for_pass(policy: Any, order: int) -> Any:
    """The policy for one pass: what it draws, if it does, it draws anew."""
    return reseeded(policy, stream_key(0, order, NOISE))


def run_timed(factory: Factory, policy: Any, state: Any, arms: Any, *rest: Any) -> float:
    """Run a kernel on these arguments; the CPU seconds it takes, compilation not counted."""
    *given, chosen = (policy, state, arms, *rest)
    kernel = compiled(factory, *given, chosen[: first_plays(policy, arms)])
    started = time.thread_time()
    kernel(*given, chosen)
    return time.thread_time() - started
