"""The agent: a policy behind a product. `select`, and later, in any order, `update`."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine.compiling import Function, compiled
from ..engine.identity import classes_of
from ..engine.kernels import choose_kernel, learn_kernel, predict_kernel
from ..engine.parts import is_part
from ..engine.regions import Region
from ..engine.verbs import tally
from ..policies.checks import check_finite, check_policies, check_room
from ..support.errors import InvalidInput
from ..support.validation import finite_array, finite_number, positive, whole
from . import state as state_file
from .changes import StateDiff
from .ledger import Ledger, NoLedger
from .offers import Allowed, Offers
from .state_book import own_generator
from .tickets import Book, Decision, Event, Kind, Limits, ticket_number
from .tickets import Ticket as Ticket

Floats = NDArray[np.float64]


class Agent:
    """A policy with its state: it decides, takes rewards late and in any order, and can be saved.

    Parameters
    ----------
    policy : what an algorithm such as `crtm` returns.
    rng : how ties between arms are broken. None takes the lowest arm, as `simulate` does; an
        int, SeedSequence or Generator breaks them at random.
    ledger : a file in which every decision and reward is kept before a call returns, so that an
        agent killed at any moment comes back bit for bit when it is opened again. Then the ledger
        knows the generator, and `rng` only matters for a new one. None keeps nothing.
    snapshot_every : events between two snapshots of the state in the ledger.
    max_pending : tickets that wait at most; one more, and the oldest expires.
    expire_after : seconds a ticket waits for its reward; None waits for ever.
    missing : the reward that is assumed of a ticket that expires, e.g. 0.0 for a sale that was not
        made. None assumes nothing: it is as if the ticket were cancelled, so that a decision of
        several plays asks for that play anew. A reward that comes later is counted and dropped.
    clock : seconds since any fixed moment; it must go on through restarts.

    An agent may be called from several threads. A reward that is refused changes nothing.

    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.crtm(dim=2, horizon=1000, moment=1.0, gamma_scale=0.01))
    >>> ticket = agent.select([[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update(ticket, 0.7)
    >>> agent.updates, agent.counters["pending"]
    (1, 0)
    """

    def __init__(
        self,
        policy: Any,
        rng: Any = None,
        *,
        ledger: str | Path | None = None,
        snapshot_every: int = 1000,
        max_pending: int = 100_000,
        expire_after: float | None = None,
        missing: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.policy = check_policies(policy)["policy"]
        self._rng = None if rng is None else own_generator(rng)
        self._limits = Limits(
            whole("max_pending", max_pending),
            None if expire_after is None else positive("expire_after", expire_after),
            None if missing is None else finite_number("missing", missing),
        )
        self._clock = clock
        self._lock = threading.RLock()
        self._kernels: dict[Any, Function] = {}
        self._offers = Offers(self.policy.dim)
        self._ledger: Ledger | NoLedger = NoLedger()
        self._state, self._book = self.policy.init(), Book()
        if ledger is not None:
            self._ledger = Ledger(ledger, self, whole("snapshot_every", snapshot_every))

    def reset(self) -> None:
        """Forget everything that was learned, and every ticket; their numbers do not come again."""
        with self._lock:
            self._commit([Event(Kind.RESET, self._book.issued, self._clock())])

    # ---- deciding

    def select(self, arms: Any, mask: Any = None) -> Ticket:
        """Choose an arm. While a decision asks for more plays of its arm, that arm comes back.

        Parameters
        ----------
        arms : (K, d) features, a row an arm; or an arm set such as `UnitBall(d)`.
        mask : K booleans, False for an arm that is not on offer now.
        """
        with self._lock:
            offered, allowed = self._offers.check(arms, mask)
            self._give_up(room=1)
            number, decision = self._book.issued, self._again(offered, allowed)
            left = self.policy.plays if decision is None else decision.left
            if decision is None:
                decision = self._decide(offered, allowed)
            else:
                self._commit([Event(Kind.SELECT, number, self._clock(), decision=decision)])
            x = decision.features.copy()
            return Ticket(number, decision.arm, x, decision.estimate, decision.width, left)

    def _decide(self, arms: Any, allowed: Allowed) -> Decision:
        """A new decision. If it cannot be written down, it was never made."""
        before = StateDiff(self) if self._ledger.durable else None
        try:
            decision = self._choose(arms, allowed)
            changes = None if before is None else before.changes()
            event = Event(Kind.SELECT, self._book.issued, self._clock(), None, decision, changes)
            self._ledger.write([event])
        except BaseException:
            if before is not None:
                before.undo()
            raise
        self._do([event])
        return decision

    def _choose(self, arms: Any, allowed: Allowed) -> Decision:
        self._check_policy(arms)
        rows = 0 if is_part(arms) or self._rng is None else arms.shape[0]
        order = self._rng.permutation(rows) if self._rng is not None and rows else None
        part, view = self._offers.show(arms, allowed, order)
        arm, estimate, width = self._kernel(choose_kernel, part, view)
        if order is not None and arm >= 0:
            arm = order[arm]
        return Decision(int(arm), view.chosen.copy(), estimate, width, self.policy.plays)

    def _check_policy(self, arms: Any) -> None:
        """Refuse what this policy cannot play: a set without end, or more than it has room for."""
        if is_part(arms):
            check_finite("policy", self.policy, arms)
        if getattr(self.policy, "capacity", None) is not None:
            waiting = len({id(decision) for decision in self._book.pending.values()})
            check_room("policy", self.policy, self.updates + waiting + 1)

    def _again(self, arms: Any, allowed: Allowed) -> Decision | None:
        """The decision that still asks for plays, if its arm is on offer."""
        if not self._book.open:
            return None
        decision = self._book.open[0]
        if is_part(arms):
            return decision
        arm = decision.arm
        here = arm < arms.shape[0] and np.array_equal(arms[arm], decision.features)
        if not here or (allowed is not None and not allowed[arm]):
            raise InvalidInput(
                f"arms must still offer arm {arm}: this policy plays it "
                f"{decision.left} more times before it decides anew. "
                "Keep the arms as they are for a decision, or call abandon()"
            )
        return decision

    # ---- learning

    def update(self, ticket: Ticket | int, reward: float) -> None:
        """The reward of a play: any finite number, once.

        With a ledger the reward is on the disk when this returns, and the same reward again is
        counted and otherwise ignored, so that a caller in doubt may repeat it.
        """
        self.update_many([(ticket, reward)])

    def update_many(self, rewards: Iterable[tuple[Ticket | int, float]]) -> None:
        """Several rewards at once, in this order. If one of them is refused, none is taken."""
        with self._lock:
            given = [(ticket_number(ticket), finite_number("reward", y)) for ticket, y in rewards]
            self._give_up()
            fresh: dict[int, float] = {}
            for number, reward in given:
                if number in self._book.pending and number not in fresh:
                    fresh[number] = reward
                else:
                    self._repeated(number, reward, fresh.get(number))
            if fresh:
                now = self._clock()
                self._commit([Event(Kind.REWARD, number, now, y) for number, y in fresh.items()])

    def cancel(self, ticket: Ticket | int) -> None:
        """The reward of this play will never come. A decision of several plays asks for it anew."""
        with self._lock:
            number = ticket_number(ticket)
            self._give_up()
            if number not in self._book.pending:
                self._book.refuse(number)
            self._commit([Event(Kind.CANCEL, number, self._clock())])

    def abandon(self) -> None:
        """Give up every decision that waits: its tickets are cancelled, nothing is learned."""
        with self._lock:
            self._commit([Event(Kind.ABANDON, None, self._clock())])

    def expire(self) -> None:
        """Give up the tickets that are older than `expire_after`. Every other call does so too."""
        with self._lock:
            self._give_up()

    def _give_up(self, room: int = 0) -> None:
        """Let the oldest tickets expire: those past their time, and those too many."""
        due = self._book.due(self._limits, self._clock(), room)
        if due:
            self._commit(due)

    def _repeated(self, number: int, reward: float, earlier: float | None) -> None:
        """A reward for a ticket that is not pending, or the second one in a batch."""
        kind: Kind | None = Kind.REWARD
        if earlier is None:
            self._book.check_issued(number)
            kind, earlier = self._ledger.outcome(number)
        if kind == Kind.EXPIRE:
            self._book.counts["late"] += 1
        elif self._ledger.durable and kind == Kind.REWARD and earlier == reward:
            self._book.counts["duplicate"] += 1
        elif earlier is not None:
            self._book.counts["duplicate"] += 1
            raise InvalidInput(f"ticket {number} must have one reward, got {earlier} and {reward}")
        else:
            self._book.refuse(number)

    # ---- events: written first, then done; a ledger that is read again only does them

    def _commit(self, events: list[Event]) -> None:
        self._ledger.write(events)
        self._do(events)

    def _do(self, events: list[Event]) -> None:
        try:
            for event in events:
                self._apply(event)
        except BaseException:  # an interrupt, say: memory is behind the ledger now
            self._ledger.drop()
            raise
        self._ledger.rest(self)

    def _apply(self, event: Event) -> None:
        if event.kind == Kind.SELECT:
            self._book.issue(event)
        elif event.kind == Kind.ABANDON:
            self._book.abandon()
        elif event.kind == Kind.RESET:
            self._state, self._book = self.policy.init(), Book(event.ticket or 0)
        elif event.ticket is not None:
            decision = self._book.settle(event.ticket, event)
            if decision is not None:
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
        with self._lock:
            return self._region().centre.copy()

    @property
    def design(self) -> Floats:
        """V (a copy)."""
        with self._lock:
            region = self._region()
            return np.asarray(region.design + region.recent)

    @property
    def inverse(self) -> Floats:
        """V^-1 (a copy)."""
        with self._lock:
            return self._region().inverse.copy()

    @property
    def updates(self) -> int:
        """Decisions learned from."""
        return int(tally(self.policy, self._state)[0])

    @property
    def truncated_share(self) -> float:
        """The share of the rewards so far that the filter cut."""
        cut = int(tally(self.policy, self._state)[2])
        assumed = 0 if self._limits.missing is None else self._book.counts["expired"]
        return cut / max(self._book.counts["applied"] + assumed, 1)

    @property
    def pending(self) -> list[int]:
        """The ids of the tickets that wait for their rewards, the oldest first."""
        with self._lock:
            return list(self._book.pending)

    @property
    def counters(self) -> dict[str, int]:
        """Tickets pending, applied, late, duplicate, unknown, expired and cancelled.

        With a ledger the refused ones (late, duplicate, unknown) are kept with each snapshot, the
        others with each event.
        """
        with self._lock:
            return {"pending": len(self._book.pending), **self._book.counts}

    def _region(self) -> Region:
        try:
            return self._state.estimate.region
        except AttributeError:
            name = type(self.policy).__name__
            raise AttributeError(f"{name} keeps no single confidence region") from None

    # ---- keeping

    def clone(self) -> "Agent":
        """An independent copy."""
        return state_file.unpack(state_file.pack(self), parts=classes_of(self.policy))

    def save(self, path: str | Path) -> None:
        """Write policy, state, pending tickets and generator to one file, at once or not at all."""
        state_file.save(self, Path(path))

    def history(self) -> list[dict[str, Any]]:
        """The plays in the ledger: when, which arm, what was expected, what became of it."""
        with self._lock:
            if not isinstance(self._ledger, Ledger):
                raise InvalidInput("history needs an agent with a ledger, this one has none")
            return self._ledger.history()

    def close(self) -> None:
        """Keep a last snapshot and let the ledger go; without a ledger there is nothing to do."""
        with self._lock:
            self._ledger.close(self)

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take_over(self, other: "Agent") -> None:
        """Become what the other agent is; it must not be used any more."""
        self._state, self._rng, self._book = other._state, other._rng, other._book

    def _kernel(self, factory: Any, *arguments: Any) -> Any:
        """Call a kernel on policy and state; resolved once for each kind of argument."""
        key = (factory, *(type(a) for a in arguments))
        if key not in self._kernels:
            self._kernels[key] = compiled(factory, self.policy, self._state, *arguments)
        return self._kernels[key](self.policy, self._state, *arguments)
