"""The agent: a policy behind a product. `select`, and later, in any order, `update`."""

import math
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from ..policies.checks import check_policies
from ..support.errors import InvalidInput, LedgerError
from ..support.files import replace_atomically
from ..support.validation import finite_number, whole
from .book import (
    Book,
    Decision,
    Event,
    Given,
    Kind,
    Ticket,
    check_given,
    check_rewards,
    make_limits,
    ticket_number,
)
from .database import hold_at_fork
from .kernels import Allowed, Kernels, repeat
from .ledger import Ledger
from .readings import Readings
from .state import AgentState, StateDiff, Step, carry_out, own_generator, plan
from .state_file import pack, read_state, unpack


class Agent(Readings):
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

    An agent may be called from several threads. A reward that is refused changes nothing, and
    whatever signal interrupts a call, its rewards are taken whole or not at all.

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
        checked = check_policies(policy)["policy"]
        limits, generator = make_limits(max_pending, expire_after, missing), own_generator(rng)
        every = whole("snapshot_every", snapshot_every)
        self._begin(AgentState(checked, checked.init(), Book(), generator, limits), clock)
        if ledger is not None:
            self._ledger = Ledger(ledger, every)
            self._state = self._ledger.resume(self._state, self._kernels.learn)

    @classmethod
    def from_state(cls, state: AgentState, clock: Callable[[], float] = time.time) -> "Agent":
        """An agent in memory that goes on from a state, which must be nobody else's."""
        agent = cls.__new__(cls)
        agent._begin(state, clock)
        return agent

    def _begin(self, state: AgentState, clock: Callable[[], float]) -> None:
        self._state, self._clock, self._kernels = state, clock, Kernels(state.policy, state.learned)
        self._lock = threading.RLock()
        hold_at_fork(self._lock)

    _state: AgentState
    _unfinished: Callable[[], None] | None = None

    # ---- deciding

    def select(self, arms: Any, mask: Any = None) -> Ticket:
        """Choose an arm. While a decision asks for more plays of its arm, that arm comes back.

        Parameters
        ----------
        arms : (K, d) features, a row an arm; or an arm set such as `UnitBall(d)`.
        mask : K booleans, False for an arm that is not on offer now.
        """
        with self._lock:
            offered, allowed = self._kernels.offers.check(arms, mask)
            now = self._give_up(room=1)
            state = self._state
            number, decision = state.book.issued, repeat(state.book, offered, allowed)
            left = state.policy.plays if decision is None else decision.left
            if decision is None:
                decision = self._decide(offered, allowed, now)
            else:
                self._commit(
                    [Event(Kind.SELECT, number, now, None, decision, self._again(decision))]
                )
            x, chance = decision.features.copy(), decision.propensity
            return Ticket(number, decision.arm, x, decision.estimate, decision.width, left, chance)

    def _again(self, decision: Decision) -> str | None:
        """What a further play of a decision that was drawn leaves in the ledger: its propensity."""
        if decision.propensity == 1.0 or self._ledger is None:
            return None
        return StateDiff(self._state).changes(decision.propensity)

    def _decide(self, arms: Any, allowed: Allowed, now: float) -> Decision:
        """A new decision. If it cannot be written down, it was never made."""
        state, kernels, changes = self._state, self._kernels, None
        kernels.check_room(state, arms)
        before = StateDiff(state) if kernels.leaves_traces(state) else None
        self._unfinished = undo = None if before is None else before.undo
        decision = kernels.choose(state, arms, allowed)
        if before is not None and self._ledger is not None:
            changes = before.changes(decision.propensity)
        event = Event(Kind.SELECT, state.book.issued, now, None, decision, changes)
        self._commit([event], undo)
        return decision

    # ---- learning

    def update(self, ticket: Ticket | int, reward: float, spread: float | None = None) -> None:
        """The reward of a play: any finite number, once.

        With a ledger the reward is on the disk when this returns, and the same reward again is
        counted and otherwise ignored, so that a caller in doubt may repeat it.

        Parameters
        ----------
        spread : nu of this reward, for policies such as `crhl` whose noise may differ from reward
            to reward: E|noise|^{1+epsilon} <= nu^{1+epsilon}, known before the reward is. None for
            the policy's own.
        """
        with self._lock:
            given = check_given(self._kernels.takes_spread, reward, spread)
            self._take([(ticket_number(ticket), given)])

    def update_many(self, rewards: Iterable[tuple[Any, ...]]) -> None:
        """Several rewards at once, in this order: pairs (ticket, reward), or triples with a spread.

        If one of them is refused, none is taken.
        """
        with self._lock:
            self._take(check_rewards(rewards, self._kernels.takes_spread))

    def _take(self, told: list[tuple[int, Given]]) -> None:
        now, pending = self._give_up(), self._state.book.pending
        fresh: dict[int, Given] = {}
        for number, given in told:
            if number in pending and number not in fresh:
                fresh[number] = given
            else:
                self._repeated(number, given, fresh.get(number))
        if fresh:
            kind = Kind.REWARD
            self._commit([Event(kind, n, now, y, spread=nu) for n, (y, nu) in fresh.items()])

    def cancel(self, ticket: Ticket | int) -> None:
        """The reward of this play will never come. A decision of several plays asks for it anew."""
        with self._lock:
            number, now, book = ticket_number(ticket), self._give_up(), self._state.book
            if number not in book.pending:
                book.refuse(number)
            self._commit([Event(Kind.CANCEL, number, now)])

    def abandon(self) -> None:
        """Give up every decision that waits: its tickets are cancelled, nothing is learned."""
        self._happen(Kind.ABANDON)

    def reset(self) -> None:
        """Forget everything that was learned, and every ticket; their numbers do not come again."""
        self._happen(Kind.RESET)

    def expire(self) -> None:
        """Give up the tickets that are older than `expire_after`. Every other call does so too."""
        with self._lock:
            self._give_up()

    def _repeated(self, number: int, given: Given, earlier: Given | None) -> None:
        """A reward for a ticket that is not pending, or the second one in a batch."""
        book, kind = self._state.book, Kind.REWARD if earlier is not None else None
        if earlier is None:
            book.check_issued(number)
            kind, earlier = self._outcome(number)
        if kind == Kind.EXPIRE:
            book.counts["late"] += 1
        elif self._ledger is not None and kind == Kind.REWARD and earlier == given:
            book.counts["duplicate"] += 1
        elif earlier is not None:
            book.counts["duplicate"] += 1
            raise InvalidInput(f"ticket {number} must have one reward, got {earlier} and {given}")
        else:
            book.refuse(number)

    def _outcome(self, number: int) -> tuple[Kind | None, Given | None]:
        """What became of a ticket, as far as it is known."""
        if number in self._state.book.expired:
            return Kind.EXPIRE, None
        return (None, None) if self._ledger is None else self._ledger.outcome(number)

    # ---- events: written first, then done; whatever an interrupt leaves half done is done later

    def _now(self) -> float:
        now = self._clock()
        if type(now) is float and math.isfinite(now):
            return now + 0.0
        return finite_number("clock()", now) + 0.0

    def _give_up(self, room: int = 0) -> float:
        """Let tickets expire, those past their time and those too many; the time it is."""
        self._finish()
        now, state = self._now(), self._state
        due = state.book.due(state.limits, now, room)
        if due:
            self._commit(due)
        return now

    def _happen(self, kind: Kind) -> None:
        with self._lock:
            self._finish()
            self._commit([Event(kind, self._state.book.issued, self._now())])

    def _commit(self, events: list[Event], undo: Callable[[], None] | None = None) -> None:
        step = plan(self._state, events)
        if self._ledger is None:
            self._unfinished = partial(self._do, step)
        else:
            self._unfinished = partial(self._recover, step, self._ledger.length, undo)
            try:
                self._ledger.write(events)
            except LedgerError:  # nothing is on the disk
                self._unfinished = undo
                self._finish()
                raise
        self._do(step)
        self._unfinished = None
        if self._ledger is not None:
            self._ledger.snapshot_if_due(self._state)

    def _do(self, step: Step) -> None:
        self._state = carry_out(self._state, step, self._kernels.learn)

    def _recover(self, step: Step, length: int, undo: Callable[[], None] | None) -> None:
        """After an interrupt: was it written? Then it happened."""
        if self._ledger is not None and self._ledger.wrote_since(length):
            self._do(step)
        elif undo is not None:
            undo()

    def _finish(self) -> None:
        """Finish, or undo, what an interrupt has left half done."""
        if self._unfinished is not None:
            self._unfinished()
            self._unfinished = None

    # ---- looking

    @property
    def state(self) -> AgentState:
        """All that makes this agent what it is, as a value: to be read, not to be changed."""
        with self._lock:
            self._finish()
            return self._state

    # ---- keeping

    def clone(self, clock: Callable[[], float] | None = None) -> "Agent":
        """An independent copy in memory, with this agent's clock or another."""
        with self._lock:
            state = unpack(pack(self.state), policy=self.policy)
            return Agent.from_state(state, self._clock if clock is None else clock)

    def save(self, path: str | Path) -> None:
        """Write policy, state, pending tickets and generator to one file, at once or not at all."""
        with self._lock:
            data = pack(self.state)
        replace_atomically(Path(path), lambda temporary: temporary.write_bytes(data))

    def close(self) -> None:
        """Keep a last snapshot and let the ledger go; without a ledger there is nothing to do."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close(self.state)

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load(
    path: str | Path, parts: Iterable[type] = (), clock: Callable[[], float] = time.time
) -> Agent:
    """The agent that `Agent.save` wrote: it goes on, bit for bit, where that one stood.

    Parameters
    ----------
    parts : classes of your own parts that the policy uses. Never taken from the file.
    clock : what the saved agent had: seconds since the same moment.

    >>> import heavybandits as hb, tempfile
    >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent.save(f"{folder}/bandit.state")
    ...     hb.load(f"{folder}/bandit.state").policy == agent.policy
    True
    """
    return Agent.from_state(unpack(read_state(Path(path)), parts), clock)
