"""The agent: a policy behind a product. `select`, and later, in any order, `update`.

Whatever happens to it is written first, then done; what an interrupt leaves half done is done by
the next call.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.errors import ForeignTicketError, InvalidInputError, LedgerError
from .._utils.files import replace_atomically
from .._utils.validation import finite_number, flag, whole
from ..core.part import check_part
from ..core.protocols import Policy
from ..features import FeatureMap
from ..ledger.sqlite import hold_at_fork, spare_ledger
from ..ledger.store import Ledger
from .agent_policy import AgentPolicy
from .encoders import check_encoder
from .events import REWARD, Book, Event, Kind, make_limits
from .state import AgentState, Step, carry_out, own_generator, plan
from .state_file import pack, unpack
from .tickets import Given, Ticket, check_given, check_rewards, new_owner, ticket_number
from .warm_start import Teaching


class Agent(Teaching):
    """A policy with its state: it decides, takes rewards late and in any order, and can be saved.

    Parameters
    ----------
    policy : what an algorithm such as `crtm` returns.
    rng : how ties between arms are broken. None takes the lowest arm, as `simulate` does; an
        int, SeedSequence or Generator breaks them at random. A ticket's `propensity` knows the
        chance that the policy takes, and nothing of this one.
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
    encoder : an `Encoder`, or another `features.FeatureMap`, that makes features of what is offered
        by name, `select(context=..., offers=...)`. It is kept in the agent's file and ledger; one
        that cannot be written down, such as a wrapped transformer, is yours to keep and to give
        again.
    keep_raw : whether a ledger keeps, beside the features, what was offered by name, as JSON: only
        then can `rebuild` read it with another encoder.

    An agent may be called from several threads. A reward that is refused changes nothing, and
    whatever signal interrupts a call, its rewards are taken whole or not at all.

    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.crtm(dim=2, horizon=1000, raw_moment=1.0, radius_scale=0.01))
    >>> ticket = agent.select([[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update(ticket, 0.7)
    >>> agent.updates, agent.counters["pending"]
    (1, 0)
    """

    def __init__(
        self,
        policy: Policy,
        rng: int | np.random.SeedSequence | np.random.Generator | None = None,
        *,
        ledger: str | Path | None = None,
        snapshot_every: int = 1000,
        max_pending: int = 100_000,
        expire_after: float | None = None,
        missing: float | None = None,
        clock: Callable[[], float] = time.time,
        encoder: FeatureMap | None = None,
        keep_raw: bool = True,
    ) -> None:
        checked: Any = check_part("policy", policy, Policy)
        limits, generator = make_limits(max_pending, expire_after, missing), own_generator(rng)
        every = whole("snapshot_every", snapshot_every)
        if encoder is not None:
            check_encoder(encoder, checked)
        start = (checked, checked.init(), Book(), generator, limits, new_owner((), 0), encoder)
        self._keep_raw = flag("keep_raw", keep_raw)
        self._begin(AgentState(*start), clock)
        if ledger is not None:
            if not isinstance(ledger, str | Path):
                raise InvalidInputError(f"ledger must be the path of a file, got {ledger!r:.80}")
            self._ledger = Ledger(ledger, every)
            self._state = self._ledger.resume(self._state, self._kernels)

    @classmethod
    def from_state(
        cls,
        state: AgentState,
        clock: Callable[[], float] = time.time,
        ledger: Ledger | None = None,
        keep_raw: bool = True,
    ) -> "Agent":
        """An agent that goes on from a state, which must be nobody else's, in memory or with a
        ledger that ends there."""
        agent = cls.__new__(cls)
        agent._begin(state, clock)
        agent._ledger, agent._keep_raw = ledger, keep_raw
        return agent

    # ---- learning

    def update(
        self, ticket: Ticket | int | str, reward: float, noise_scale: float | None = None
    ) -> None:
        """The reward of a play: any finite number, once.

        With a ledger the reward is on the disk when this returns, and the same reward again is
        counted and otherwise ignored, so that a caller in doubt may repeat it.

        Parameters
        ----------
        noise_scale : nu of this reward, for policies such as `crhl` whose noise may differ from
            reward to reward: E|noise|^{1+epsilon} <= nu^{1+epsilon}, known before the reward is.
            None for the policy's own.
        """
        with self._lock:
            given = check_given(self._kernels.takes_noise_scale, reward, noise_scale)
            number = ticket if type(ticket) is int else self._number(ticket)
            self._take([(number, given)])

    def update_many(self, rewards: Iterable[tuple[Any, ...]]) -> None:
        """Several rewards at once, in order: (ticket, reward), or (ticket, reward, noise_scale).

        If one of them is refused, none is taken.
        """
        with self._lock:
            owners = self._state.owners
            self._take(check_rewards(rewards, owners, self._kernels.takes_noise_scale))

    def _number(self, ticket: Ticket | int | str) -> int:
        try:
            return ticket_number(ticket, self._state.owners)
        except ForeignTicketError:
            self._state.book.counts["unknown"] += 1
            raise

    def _take(self, told: list[tuple[int, Given]]) -> None:
        now, pending = self._give_up(), self._state.book.pending
        fresh: dict[int, Given] = {}
        for number, given in told:
            if number in pending and number not in fresh:
                fresh[number] = given
            else:
                self._repeated(number, given, fresh.get(number))
        if fresh:
            self._commit([Event(REWARD, n, now, y, None, None, nu) for n, (y, nu) in fresh.items()])

    def cancel(self, ticket: Ticket | int | str) -> None:
        """The reward of this play will never come. A decision of several plays asks for it anew."""
        with self._lock:
            number, now, book = self._number(ticket), self._give_up(), self._state.book
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
            raise InvalidInputError(
                f"ticket {number} must have one reward, got {earlier} and {given}"
            )
        else:
            book.refuse(number)

    def _outcome(self, number: int) -> tuple[Kind | None, Given | None]:
        """What became of a ticket, as far as it is known."""
        if number in self._state.book.expired:
            return Kind.EXPIRE, None
        return (None, None) if self._ledger is None else self._ledger.outcome(number)

    # ---- how events happen: each whole or not at all

    def _begin(self, state: AgentState, clock: Callable[[], float]) -> None:
        check_clock(clock)
        self._state, self._clock, self._kernels = state, clock, AgentPolicy(state.policy)
        self._lock = threading.RLock()
        hold_at_fork(self._lock)

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
        self._state = carry_out(self._state, step, self._kernels)

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

    @property
    def state(self) -> AgentState:
        """All that makes this agent what it is, as a value: to be read, not to be changed."""
        with self._lock:
            self._finish()
            return self._state

    # ---- keeping

    def clone(self, clock: Callable[[], float] | None = None) -> "Agent":
        """An independent copy in memory, with this agent's clock or another.

        It is another agent, with an `identity` of its own: it takes the tickets that were issued
        before, as this one does, and from now on each takes its own alone.
        """
        with self._lock:
            state = unpack(pack(self.state), policy=self.policy, encoder=self.encoder)
            return Agent.from_state(renamed(state), self._clock if clock is None else clock)

    def save(self, path: str | Path) -> None:
        """Write policy, state, pending tickets and generator to one file, at once or not at all."""
        with self._lock:
            data = pack(self.state)
        spare_ledger(path)
        replace_atomically(Path(path), lambda temporary: temporary.write_bytes(data))

    def close(self) -> None:
        """Keep a last snapshot and let the ledger go; without a ledger there is nothing to do."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close(self.state)

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_clock(clock: Callable[[], float]) -> None:
    if not callable(clock):
        raise InvalidInputError(f"clock must be a function that tells the time, got {clock!r:.80}")


def renamed(state: AgentState) -> AgentState:
    """The state of another agent that goes on from here."""
    return state._replace(owners=new_owner(state.owners, state.book.issued))
