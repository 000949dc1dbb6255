"""What a policy can do, asked of the policy and of the parts inside it.

A part declares what differs from the default by an attribute of `protocols.Extras`. A part that
contains another one declares only what is its own: these functions look at the parts inside.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._utils.errors import PartError
from .part import is_part, walk

# The fields in which a part holds another, and the field of its state that belongs to that one.
# The first field that the state has counts; no names: both parts share one state.
STATE_OF = {
    "policy": ("inner",),
    "filter": ("memory", "inner"),
    "estimator": ("estimate",),
    "base": ("memory",),
    "inner": (),
}


def capacity_of(policy: Any) -> int | None:
    """Return the number of decisions that a policy has room for, or None if there is no limit.

    >>> from heavybandits import linucb, tofu
    >>> capacity_of(tofu(dim=2, horizon=100, raw_moment=1.0))
    100
    >>> capacity_of(linucb(dim=2, radius=1.0)) is None
    True
    """
    capacity: int | None = _declared(policy, "capacity", None)
    return capacity


def is_finite_only(policy: Any) -> bool:
    """Return True if a policy cannot play a continuous arm set.

    >>> from heavybandits import linucb
    >>> from heavybandits.policies import EpsilonGreedy
    >>> is_finite_only(EpsilonGreedy(linucb(dim=2, radius=1.0)))
    True
    """
    return bool(_declared(policy, "finite_only", False))


def accepts_any_norm(policy: Any) -> bool:
    """Return True if a policy takes arms of any length.

    >>> from heavybandits import auto, linucb
    >>> accepts_any_norm(auto(dim=2)), accepts_any_norm(linucb(dim=2, radius=1.0))
    (True, False)
    """
    return bool(_declared(policy, "any_norm", False))


def has_own_rows(policy: Any) -> bool:
    """Return True if theta belongs to other rows than the arms, such as standardised ones.

    >>> from heavybandits import auto, linucb
    >>> has_own_rows(auto(dim=2)), has_own_rows(linucb(dim=2, radius=1.0))
    (True, False)
    """
    return bool(_declared(policy, "own_rows", False))


def choice_writes_of(policy: Any) -> tuple[str, ...] | None:
    """Return the arrays of the state that a choice changes, by dotted name.

    None if the policy, or one inside it, does not declare them: a choice may change any array.

    >>> from heavybandits import linucb
    >>> from heavybandits.policies import EpsilonGreedy
    >>> choice_writes_of(EpsilonGreedy(linucb(dim=2, radius=1.0)))
    ('counts', 'propensity')
    """
    names: tuple[str, ...] | None = getattr(policy, "choice_writes", None)
    held = getattr(policy, "policy", None)
    if names is None or held is None:
        return names
    inner = choice_writes_of(held)
    return None if inner is None else (*names, *(f"inner.{name}" for name in inner))


def check_propensity(policy: Any) -> None:
    """Raise PartError if a policy without `propensity` contains one that draws its arm.

    Its decisions would be logged as certain.
    """
    for part in walk(policy):
        held, kind = getattr(part, "policy", None), type(part).__name__
        if hasattr(held, "propensity") and not hasattr(part, "propensity"):
            raise PartError(
                f"{kind}: {kind}.policy, {type(held).__name__}, draws its arm, so {kind} must have "
                "a method propensity(self, state) that returns the probability of the last choice: "
                "`return propensity(self.policy, state.inner)` if it never changes the choice"
            )


def takes_noise_scale(policy: Any) -> bool:
    """Return True if a reward may come with its own noise scale, as for `crhl`.

    The type that `init` of the estimator returns decides.

    >>> from heavybandits import linucb
    >>> takes_noise_scale(linucb(dim=2, radius=1.0))
    False
    """
    inits = [
        part.init for part in walk(policy) if hasattr(part, "noise_scale") and hasattr(part, "init")
    ]
    kept = [inspect.get_annotations(init).get("return") for init in inits]
    return policy.plays == 1 and any("noise_scale" in getattr(kind, "_fields", ()) for kind in kept)


def keeps_factor(estimator: Any) -> bool:
    """Return True if an estimator keeps a Cholesky factor of V, which cannot be discounted.

    >>> from heavybandits import cral, linucb
    >>> keeps_factor(cral(dim=2).estimator), keeps_factor(linucb(dim=2).estimator)
    (True, False)
    """
    kept = inspect.get_annotations(type(estimator).init).get("return")
    return "factor" in getattr(kept, "_fields", ())


def set_noise_scale(policy: Any, state: Any, noise_scale: float | None) -> None:
    """Set the noise scale of the next reward: by default that of the estimator.

    0 lets a policy that learns the scales predict this one.
    """
    inside, inner = innermost(policy, state)
    if noise_scale is None:
        learned = learns_noise_scale(policy)
        noise_scale = 0.0 if learned else _declared(inside.estimator, "noise_scale", 0.0)
    inner.estimate.noise_scale[0] = noise_scale


def learns_noise_scale(policy: Any) -> bool:
    """Return True if a policy, or one inside it, predicts the noise scale of a reward.

    >>> from heavybandits import cral
    >>> learns_noise_scale(cral(dim=2)), learns_noise_scale(cral(dim=2, learn_noise_scale=True))
    (False, True)
    """
    while (held := getattr(policy, "policy", None)) is not None:
        if getattr(policy, "learns_noise_scale", False):
            return True
        policy = held
    return False


def split_arm(estimator: Any, estimate: Any, x: Any) -> tuple[Any, Any]:
    """Return what each feature of an arm adds to its score, and to its squared norm.

    >>> from heavybandits import linucb
    >>> import numpy as np
    >>> part = linucb(dim=2, radius=1.0, penalty=0.5).estimator
    >>> split_arm(part, part.init(), np.ones(2))[1].tolist()
    [2.0, 2.0]
    """
    own = _declared(estimator, "split_arm", None)
    if own is not None:
        scores, squares = own(estimate, x)
        return scores, squares
    region = estimate.region
    return x * region.centre, x * np.vecdot(region.inverse, x)


def threshold_of(policy: Any, state: Any) -> float | None:
    """Return the threshold for the next reward: that of the filter, else that of the estimator.

    None if neither has a threshold.

    >>> from heavybandits import filters, linucb
    >>> policy = linucb(dim=2, radius=1.0, filter=filters.DriftMonitor(filters.Clip(3.0)))
    >>> threshold_of(policy, policy.init())
    3.0
    """
    for part, own in parts_with_states(policy, state):
        if hasattr(part, "threshold_in_force"):
            return float(part.threshold_in_force(own))
    return None


def is_valid_state(policy: Any, state: Any) -> bool:
    """Return True if every part that can validate its own state finds it valid."""
    pairs = parts_with_states(policy, state)
    return all(part.is_valid(own) for part, own in pairs if hasattr(part, "is_valid"))


def parts_with_states(part: Any, state: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a part and the parts inside it, outermost first, each with its own state.

    >>> from heavybandits import linucb
    >>> from heavybandits.policies import EpsilonGreedy
    >>> policy = EpsilonGreedy(linucb(dim=2, radius=1.0))
    >>> [type(part).__name__ for part, _ in parts_with_states(policy, policy.init())]
    ['EpsilonGreedy', 'UCB', 'NoFilter', 'Ridge']
    """
    yield part, state
    for field, names in STATE_OF.items():
        held = getattr(part, field, None)
        if is_part(held):
            states = [getattr(state, name) for name in names if hasattr(state, name)]
            if states or not names:
                yield from parts_with_states(held, states[0] if states else state)


def innermost(policy: Any, state: Any) -> tuple[Any, Any]:
    """Return the policy that estimates, inside those that contain it, and its state."""
    while hasattr(policy, "policy") and hasattr(state, "inner"):
        policy, state = policy.policy, state.inner
    return policy, state


def _declared(part: Any, name: str, default: Any) -> Any:
    """Return the attribute of the outermost part that has it."""
    found = (getattr(held, name) for held in walk(part) if hasattr(held, name))
    return next(found, default)
