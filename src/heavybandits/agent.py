"""The agent: a policy behind a product. `select`, and later, in any order, `update`."""

import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import state as state_file
from .arms import FreshArms, View, make_view
from .compiling import Function, compiled
from .kernels import choose_kernel, learn_kernel, predict_kernel
from .parts import is_part
from .regions import Region
from .simulate import check_policies
from .validation import InvalidInput, finite_array, finite_number
from .verbs import tally

Floats = NDArray[np.float64]


class Ticket(NamedTuple):
    """One play that was asked for. Give it, or its `id`, back with the reward.

    `arm` is the row of the arms given (-1 for a set without rows), `features` its features,
    `estimate` the mean reward expected, `width` how uncertain x.theta is, and `plays` how many
    plays of this arm the decision still asks for, this one included.
    """

    id: int
    arm: int
    features: Floats
    estimate: float
    width: float
    plays: int


class Decision:
    """An arm that was chosen, and the rewards of its plays as they come in."""

    __slots__ = ("arm", "estimate", "features", "plays", "rewards", "width")

    def __init__(
        self, arm: int, features: Floats, estimate: float, width: float, plays: int
    ) -> None:
        self.arm, self.features, self.plays = arm, features, plays
        self.estimate, self.width = estimate, width
        self.rewards: dict[int, float | None] = {}

    @property
    def complete(self) -> bool:
        return len(self.rewards) == self.plays and None not in self.rewards.values()


class Agent:
    """A policy with its state: it decides, takes rewards late and in any order, and can be saved.

    Parameters
    ----------
    policy : what an algorithm such as `crtm` returns.
    rng : how ties between arms are broken. None takes the lowest arm, as `simulate` does; an
        int, SeedSequence or Generator breaks them at random.

    An agent may be called from several threads. A reward that is refused changes nothing.

    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.crtm(dim=2, horizon=1000, moment=1.0, width=0.01))
    >>> ticket = agent.select([[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update(ticket, 0.7)
    >>> agent.updates, agent.counters["pending"]
    (1, 0)
    """

    def __init__(self, policy: Any, rng: Any = None) -> None:
        self.policy = check_policies(policy)["policy"]
        self._rng = None if rng is None else np.random.default_rng(rng)
        self._lock = threading.RLock()
        self._kernels: dict[Any, Function] = {}
        self._sets: dict[Any, tuple[Any, View]] = {}
        self._warned = False
        self.reset()

    def reset(self) -> None:
        """Forget everything that was learned, and every ticket."""
        with self._lock:
            self._state = self.policy.init()
            self._pending: dict[int, Decision] = {}
            self._open: list[Decision] = []
            self._issued = 0
            self._counts = dict.fromkeys(("applied", "duplicate", "unknown", "cancelled"), 0)

    # ---- deciding

    def select(self, arms: Any, mask: Any = None) -> Ticket:
        """Choose an arm. While a decision asks for more plays of its arm, that arm comes back.

        Parameters
        ----------
        arms : (K, d) features, a row an arm; or an arm set such as `UnitBall(d)`.
        mask : K booleans, False for an arm that is not on offer now.
        """
        with self._lock:
            offered = arms if is_part(arms) else finite_array("arms", arms, (None, self.policy.dim))
            allowed = self._check_mask(mask, offered)
            decision = self._again(offered, allowed) or self._decide(offered, allowed)
            return self._issue(decision)

    def _decide(self, arms: Any, allowed: NDArray[np.bool_] | None) -> Decision:
        part, view, order = self._show(arms, allowed)
        arm, estimate, width = self._kernel(choose_kernel, part, view)
        if order is not None and arm >= 0:
            arm = order[arm]
        decision = Decision(int(arm), view.chosen.copy(), estimate, width, self.policy.plays)
        self._open.append(decision)
        return decision

    def _show(self, arms: Any, allowed: NDArray[np.bool_] | None) -> tuple[Any, View, Any]:
        """The arms in a view; shuffled, with their order, where ties are broken at random."""
        if is_part(arms):
            return *self._arm_set(arms), None
        self._warn_norm(arms)
        size = arms.shape[0]
        part, view = self._rows(size)
        order = None if self._rng is None else self._rng.permutation(size)
        view.features[:] = arms.T if order is None else arms[order].T
        view.penalty[:] = 0.0
        if allowed is not None:
            view.penalty[~(allowed if order is None else allowed[order])] = np.inf
        return part, view, order

    def _rows(self, size: int) -> tuple[Any, View]:
        if size not in self._sets:
            if len(self._sets) > 64:  # sizes that come and go must not pile up
                self._sets.clear()
            part = FreshArms(size, self.policy.dim, 0.0)
            self._sets[size] = part, make_view(self.policy.dim, size)
        return self._sets[size]

    def _arm_set(self, arms: Any) -> tuple[Any, View]:
        if arms.dim != self.policy.dim:
            raise InvalidInput(f"arms must have dim {self.policy.dim}, got {arms.dim}")
        view = arms.view()
        arms.refresh(view, np.uint64(0), 0)
        return arms, view

    def _again(self, arms: Any, allowed: NDArray[np.bool_] | None) -> Decision | None:
        """The decision that still asks for plays, if its arm is on offer."""
        if not self._open:
            return None
        decision = self._open[0]
        if is_part(arms):
            return decision
        arm = decision.arm
        here = arm < arms.shape[0] and np.array_equal(arms[arm], decision.features)
        if not here or (allowed is not None and not allowed[arm]):
            raise InvalidInput(
                f"arms must still offer arm {arm}: this policy plays it "
                f"{decision.plays - len(decision.rewards)} more times before it decides anew. "
                "Keep the arms as they are for a decision, or call abandon()"
            )
        return decision

    def _issue(self, decision: Decision) -> Ticket:
        ticket = self._issued
        left = decision.plays - len(decision.rewards)
        decision.rewards[ticket] = None
        self._pending[ticket] = decision
        self._issued += 1
        if left == 1:
            self._open.remove(decision)
        return Ticket(
            ticket, decision.arm, decision.features, decision.estimate, decision.width, left
        )

    # ---- learning

    def update(self, ticket: Ticket | int, reward: float) -> None:
        """The reward of a play: any finite number, once."""
        with self._lock:
            number = finite_number("reward", reward)
            self._apply(self._find(ticket), number)

    def update_many(self, rewards: Iterable[tuple[Ticket | int, float]]) -> None:
        """Several rewards at once, in this order. If one of them is refused, none is taken."""
        with self._lock:
            checked = [(self._find(ticket), finite_number("reward", y)) for ticket, y in rewards]
            seen: set[int] = set()
            for ticket, _ in checked:
                if ticket in seen:
                    self._counts["duplicate"] += 1
                    raise InvalidInput(f"ticket {ticket} must have one reward, got two")
                seen.add(ticket)
            for ticket, number in checked:
                self._apply(ticket, number)

    def cancel(self, ticket: Ticket | int) -> None:
        """The reward of this play will never come. A decision of several plays asks for it anew."""
        with self._lock:
            number = self._find(ticket)
            decision = self._pending.pop(number)
            del decision.rewards[number]
            self._counts["cancelled"] += 1
            if decision.plays > 1 and decision not in self._open:
                self._open.append(decision)

    def abandon(self) -> None:
        """Give up every decision that still waits: its tickets are cancelled, none is learned."""
        with self._lock:
            self._counts["cancelled"] += len(self._pending)
            self._pending.clear()
            self._open.clear()

    def _find(self, ticket: Ticket | int) -> int:
        number = ticket.id if isinstance(ticket, Ticket) else ticket
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InvalidInput(f"ticket must be a Ticket or its id, got {ticket!r}")
        if number in self._pending:
            return int(number)
        if 0 <= number < self._issued:
            self._counts["duplicate"] += 1
            raise InvalidInput(f"ticket {number} must be pending, but has been settled already")
        self._counts["unknown"] += 1
        raise InvalidInput(f"ticket {number} must be one of the {self._issued} issued so far")

    def _apply(self, ticket: int, reward: float) -> None:
        decision = self._pending.pop(ticket)
        decision.rewards[ticket] = reward
        self._counts["applied"] += 1
        if decision.complete:
            rewards = np.fromiter(decision.rewards.values(), np.float64, decision.plays)
            self._kernel(learn_kernel, decision.features, rewards)

    # ---- looking

    def predict(self, arms: Any, return_width: bool = False) -> Any:
        """The mean rewards expected of the arms; with `return_width` also the widths of x.theta."""
        with self._lock:
            rows = finite_array("arms", arms, (None, self.policy.dim))
            out = np.empty((2, rows.shape[0]))
            self._kernel(predict_kernel, rows, out)
            return (out[0], out[1]) if return_width else out[0]

    @property
    def theta(self) -> Floats:
        """The centre of the confidence region (a copy)."""
        return self._region().centre.copy()

    @property
    def design(self) -> Floats:
        """V (a copy)."""
        return self._region().design.copy()

    @property
    def inverse(self) -> Floats:
        """V^-1 (a copy)."""
        return self._region().inverse.copy()

    @property
    def updates(self) -> int:
        """Decisions learned from."""
        return int(tally(self.policy, self._state)[0])

    @property
    def truncated_share(self) -> float:
        """The share of the rewards so far that the filter cut."""
        cut = int(tally(self.policy, self._state)[2])
        return cut / max(self._counts["applied"], 1)

    @property
    def counters(self) -> dict[str, int]:
        """Tickets pending, applied, duplicate, unknown and cancelled."""
        with self._lock:
            return {"pending": len(self._pending), **self._counts}

    def _region(self) -> Region:
        try:
            return self._state.estimate.region
        except AttributeError:
            name = type(self.policy).__name__
            raise AttributeError(f"{name} keeps no single confidence region") from None

    # ---- keeping

    def clone(self) -> "Agent":
        """An independent copy."""
        return state_file.unpack(state_file.pack(self), parts=state_file.classes_of(self.policy))

    def save(self, path: str | Path) -> None:
        """Write policy, state, pending tickets and generator to one file, at once or not at all."""
        state_file.save(self, Path(path))

    def _check_mask(self, mask: Any, arms: Any) -> NDArray[np.bool_] | None:
        if mask is None:
            return None
        if is_part(arms):
            raise InvalidInput("mask must be None for an arm set without rows")
        allowed = np.asarray(mask)
        if allowed.dtype != np.bool_ or allowed.shape != arms.shape[:1]:
            raise InvalidInput(
                f"mask must be {arms.shape[0]} booleans, got {allowed.dtype} {allowed.shape}"
            )
        if not allowed.any():
            raise InvalidInput("mask must leave at least one arm, got none")
        return allowed

    def _warn_norm(self, arms: Floats) -> None:
        if self._warned:
            return
        longest = float(np.sqrt(np.einsum("kd,kd->k", arms, arms).max()))
        if longest > 1.0 + 1e-9:
            self._warned = True
            warnings.warn(
                f"an arm has norm {longest:.3g}; the theory assumes at most 1. Divide all features "
                "by the largest norm you expect (and multiply `norm` by it)",
                stacklevel=4,
            )

    def _kernel(self, factory: Any, *arguments: Any) -> Any:
        """Call a kernel on policy and state; resolved once for each kind of argument."""
        key = (factory, *(type(a) for a in arguments))
        if key not in self._kernels:
            self._kernels[key] = compiled(factory, self.policy, self._state, *arguments)
        return self._kernels[key](self.policy, self._state, *arguments)
