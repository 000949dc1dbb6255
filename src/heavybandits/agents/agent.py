"""The agent: a policy in production. `select`, and later, in any order, `update`.

The operations are plain functions of the state in the modules next to this one. Each returns a
plan; `Agent` locks, reads the clock, writes the plan to the ledger and applies it. The next call
finishes or undoes what an interrupt left unfinished.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from .._utils.display import Card, show_html, show_text
from .._utils.errors import ForeignTicketError, InvalidInputError, LedgerError
from .._utils.files import replace_atomically
from .._utils.validation import finite_array, finite_number, flag, whole
from ..core.arrays import Floats
from ..core.part import check_part
from ..core.protocols import ArmSet, Policy
from ..core.state import make_state
from ..features import FeatureMap
from ..ledger.feedback import read_feedback
from ..ledger.moment import Moment
from ..ledger.reader import read_history, read_marks
from ..ledger.sqlite_file import hold_at_fork
from ..ledger.store import Ledger
from ..ledger.stores import open_ledger
from ..offline.log import Log
from ..parts.filters.drift import DriftReport
from . import decide, inspect
from .agent_policy import AgentPolicy
from .events import CancelledAll, Marked, Reset, Revised, Revision
from .explain import Explanation, explain
from .group_commit import GroupCommit
from .inputs import Actions, Context, Inputs, WrittenInputs, check_encoder
from .pending import ActionCount, TicketTable, make_limits
from .revise import check_settled, plan_revision
from .rewards import (
    Receipt,
    RewardLike,
    check_given,
    check_rewards,
    plan_cancel,
    plan_rewards,
)
from .state import (
    AgentState,
    BeforeChoice,
    Plan,
    RandomSource,
    Undo,
    apply,
    make_plan,
    own_generator,
)
from .state_file import pack, read_state, unpack
from .ticket_lookup import find_ticket, read_ticket
from .tickets import (
    POLICY,
    Choices,
    Ticket,
    TicketLike,
    check_event_id,
    check_group,
    check_mark,
    new_owner,
    ticket_number,
)
from .warm_start import RowsLike, plan_warm_start, read_lesson

T = TypeVar("T")
Clock = Callable[[], float]


class Agent:
    """A policy with its state: it decides, takes rewards late and in any order, and can be saved.

    Parameters
    ----------
    policy : Policy
        A policy, as an algorithm such as `crtm` returns it.
    rng : int, SeedSequence, Generator or None, default None
        Breaks ties between arms at random. None takes the lowest arm, as `simulate` does. The
        `propensity` of a ticket does not include it.
    ledger : path or str, optional
        A file in which every decision and reward is stored before a call returns, or the address
        of a ledger on a PostgreSQL server, `postgresql://user@host/database?agent=NAME`. An agent
        that was killed at any moment continues bit-for-bit identically when its ledger is opened
        again. An existing ledger has its own generator, and `rng` is ignored.
    snapshot_every : int, default 1000
        Events between two snapshots of the state in the ledger.
    max_pending : int, default 100,000
        Tickets that may wait at once. One more, and the oldest expires.
    expire_after : float, optional
        Seconds that a ticket waits for its reward; None waits without a limit.
    expired_reward : float, optional
        The reward of a ticket that expires, such as 0.0 for a sale that was not made. None learns
        nothing, as if the ticket were cancelled. A reward that comes later is counted as late.
    clock : function, default time.time
        Returns seconds since a fixed moment, which must be the same after a restart.
    encoder : Encoder or other features.FeatureMap, optional
        Makes features of named inputs, `select(context=..., actions=...)`. State file and ledger
        store it, unless it is a wrapped transformer: give that one again when you load the agent.
    log_inputs : bool, default True
        Store the named inputs as JSON in the ledger, next to the features. `Agent.rebuild` needs
        them for another encoder.
    group_commit : bool, default True
        Write the calls that arrive during a flush of the ledger together, with one flush for all
        of them. No call returns before its flush. It concerns calls of several threads other than
        the main thread.

    Several threads may use one agent. A call that raises changes nothing, and a call that is
    interrupted by a signal takes effect completely or not at all.

    Examples
    --------
    >>> import heavybandits as hb
    >>> agent = hb.Agent(hb.crtm(dim=2, horizon=1000, raw_moment=1.0, radius_scale=0.01))
    >>> ticket = agent.select([[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update(ticket, 0.7)
    'applied'
    >>> agent.updates, agent.counters["pending"]
    (1, 0)
    """

    _state: AgentState
    _policy: AgentPolicy
    _ledger: Ledger | None = None
    _unfinished: Undo | None = None  # finishes or undoes an interrupted call
    _in_batch: bool = False
    _group: GroupCommit | None = None  # writes the calls of many threads together

    def __init__(
        self,
        policy: Policy,
        rng: RandomSource = None,
        *,
        ledger: str | Path | None = None,
        snapshot_every: int = 1000,
        max_pending: int = 100_000,
        expire_after: float | None = None,
        expired_reward: float | None = None,
        clock: Clock = time.time,
        encoder: FeatureMap | None = None,
        log_inputs: bool = True,
        group_commit: bool = True,
    ) -> None:
        policy = check_part("policy", policy, Policy)
        limits = make_limits(max_pending, expire_after, expired_reward)
        generator, every = own_generator(rng), whole("snapshot_every", snapshot_every)
        if encoder is not None:
            check_encoder(encoder, policy)
        self._log_inputs, grouped = (
            flag("log_inputs", log_inputs),
            flag("group_commit", group_commit),
        )
        learned = make_state(policy)
        start = policy, learned, TicketTable(), generator, limits, new_owner((), 0), encoder
        self._start(AgentState(*start), clock)
        if ledger is not None:
            self._ledger = open_ledger(ledger, every)
            self._state = self._ledger.resume(self._state, self._policy)
            self._group = GroupCommit(self.batch) if grouped else None

    def _start(self, state: AgentState, clock: Clock) -> None:
        check_clock(clock)
        self._state, self._clock, self._policy = state, clock, AgentPolicy(state.policy)
        self._lock = threading.RLock()
        hold_at_fork(self._lock)

    @classmethod
    def from_state(
        cls,
        state: AgentState,
        clock: Clock = time.time,
        ledger: Ledger | None = None,
        log_inputs: bool = True,
    ) -> "Agent":
        """Make an agent that continues from a state, which no other agent may use.

        Parameters
        ----------
        state : AgentState
            Everything that the agent is, as `Agent.state` returns it.
        clock : function, default time
            Returns seconds since the same moment as the clock of the earlier agent.
        ledger : Ledger, optional
            The open ledger of the agent, which must end at this state.
        log_inputs : bool, default True
            Store the named inputs in the ledger.

        Returns
        -------
        Agent
            The agent.
        """
        agent = cls.__new__(cls)
        agent._start(state, clock)
        agent._ledger, agent._log_inputs = ledger, log_inputs
        agent._group = None if ledger is None else GroupCommit(agent.batch)
        return agent

    @classmethod
    def load(
        cls,
        path: str | Path,
        parts: Iterable[type] = (),
        clock: Clock = time.time,
        encoder: FeatureMap | None = None,
    ) -> "Agent":
        """Load the agent that `save` wrote; it continues bit-for-bit identically.

        It accepts the tickets that were issued before the file was written, and issues new ones
        under its own `id`: of two agents loaded from one file, neither accepts the new tickets of
        the other.

        Parameters
        ----------
        path : path
            The state file.
        parts : iterable of classes, optional
            Classes of your own parts that the policy uses. They are never taken from the file.
        clock : function, default time.time
            The clock of the saved agent: seconds since the same moment.
        encoder : features.FeatureMap, optional
            The encoder of the saved agent, if the file does not contain it.

        Returns
        -------
        Agent
            The loaded agent, with its own `id`.

        Raises
        ------
        StateError
            The file is damaged, or is not the state file of an agent.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     agent.save(f"{folder}/bandit.state")
        ...     hb.Agent.load(f"{folder}/bandit.state").policy == agent.policy
        True
        """
        state = unpack(read_state(Path(path)), parts, encoder=encoder)
        return cls.from_state(with_new_owner(state), clock)

    @classmethod
    def rebuild(
        cls,
        ledger: str | Path,
        policy: Policy | None = None,
        *,
        encoder: FeatureMap | None = None,
        corrections: Mapping[TicketLike, float] | None = None,
        until: Moment | None = None,
        without: Iterable[TicketLike] = (),
        output: str | Path | None = None,
        parts: Iterable[type] = (),
        clock: Clock = time.time,
    ) -> "Agent":
        """Make an agent that has learned everything in a ledger, with another policy or encoder.

        It learns the decisions in the ledger and their rewards, in the order in which they came,
        bit-for-bit as an agent of that policy would have. It continues with the next ticket, under
        its own `id`, and accepts the tickets that wait. The ledger does not change, and its agent
        may work on it meanwhile: what is read is one moment of it.

        Parameters
        ----------
        ledger : path
            The ledger to read.
        policy : Policy, optional
            None for the policy in the ledger. Limits and `log_inputs` are those of the ledger.
        encoder : features.FeatureMap, optional
            None for the encoder in the ledger. Another one encodes every decision again from its
            logged inputs, and the policy must have its dimension. A column that was not logged is
            missing, if the encoder allows it to be (`allow_missing`).
        corrections : mapping, optional
            Rewards by ticket that were wrong. If given, even as {}, these and all revisions in the
            ledger replace the first rewards. None repeats every revision where it came.
        until : int, float, datetime or str, optional
            Learn only what came until then: the number of an event, a time (in seconds of the
            agent's clock, or as a datetime), or the name of a mark. Tickets that were issued later
            are rejected as foreign. None for all events.
        without : iterable of Ticket, str or int, default ()
            Tickets (also by event id) from which nothing is learned, as if they had been cancelled,
            such as orders that were fraudulent.
        output : path, optional
            A new file for the ledger of the new agent; None for an agent without a ledger.
        parts : iterable of classes, optional
            Classes of your own parts that the policy in the ledger uses.
        clock : function, default time.time
            The clock of the new agent.

        Returns
        -------
        Agent
            The new agent.

        Raises
        ------
        LedgerError
            The ledger is damaged.
        InvalidInputError
            There is no such moment or ticket in the ledger, or another encoder needs inputs that
            the ledger does not have.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
        ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
        ...     hb.Agent.rebuild(f"{folder}/agent.db", hb.linucb(dim=2, radius=9.0)).updates
        1
        """
        from ..ledger.rebuild import rebuild_state  # not needed by an agent that only decides

        check_clock(clock)
        state, store, log_inputs = rebuild_state(
            ledger,
            policy,
            encoder=encoder,
            corrections=corrections,
            until=until,
            without=without,
            output=output,
            parts=parts,
        )
        return cls.from_state(state, clock, store, log_inputs)

    # ---- deciding

    @overload
    def select(
        self,
        arms: ArrayLike | ArmSet | decide.Request | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Context | None = None,
        actions: Actions | None = None,
        k: None = None,
        event_id: str | None = None,
        group: str = POLICY,
    ) -> Ticket: ...

    @overload
    def select(
        self,
        arms: ArrayLike | ArmSet | decide.Request | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Context | None = None,
        actions: Actions | None = None,
        k: int,
        event_id: str | None = None,
        group: str = POLICY,
    ) -> list[Ticket]: ...

    def select(
        self,
        arms: ArrayLike | ArmSet | decide.Request | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Context | None = None,
        actions: Actions | None = None,
        k: int | None = None,
        event_id: str | None = None,
        group: str = POLICY,
    ) -> Ticket | list[Ticket]:
        """Choose an arm. A decision of several plays returns the same arm until it has them.

        Parameters
        ----------
        arms : array (K, d) or arm set, optional
            The features, one row per arm; or an arm set such as `UnitBall(d)`. The decision service
            passes a `Request`, which it has validated.
        mask : array of K booleans, optional
            False for an arm that is not available now.
        context : mapping, optional
            What is known of the moment, by name. Instead of `arms`, for an agent with an encoder.
        actions : mapping, optional
            What is known of each action, by the name of the action. They may change between calls.
        k : int, optional
            Choose a list of k: the arm that would be chosen, the arm that would be chosen if the
            first were not available, and so on. Each ticket takes its own reward. None of them has
            a propensity, because the probability of a list is not that of one of its arms.
        event_id : str, optional
            The caller's id of the decision. The same id again returns the same ticket, so a call
            may be repeated after a failure. With a ledger ids are always remembered, without one
            as long as the ticket is pending.
        group : str, default "policy"
            The group of the decision in the log, such as an experiment that it belongs to.

        Returns
        -------
        Ticket or list of Ticket

        Raises
        ------
        InvalidInputError
            The arms are not finite features of the policy's dimension, or the event id belongs to
            a decision from other arms.
        LedgerError
            The decision could not be written. Nothing has changed.
        """
        if self._group is not None and self._group.takes():
            ask: Callable[[], Any] = partial(
                self.select,
                arms,
                mask,
                context=context,
                actions=actions,
                k=cast(Any, k),
                event_id=event_id,
                group=group,
            )
            return self._group.run(ask)
        if event_id is not None or group is not POLICY:
            event_id, group = check_event_id(event_id), check_group(group)
        request = decide.read_request(
            self._state.encoder,
            self._policy,
            arms=arms,
            mask=mask,
            context=context,
            actions=actions,
        )
        with self._lock:
            if k is not None:
                if event_id is not None:
                    raise InvalidInputError("event_id must be None for a list of k tickets")
                request, size = decide.check_k(self._policy, request, k)
                choose = partial(decide.choose_k, policy=self._policy, request=request, k=size)
                log = None if self._ledger is None else self._log(request)
                return self._select_together(size, choose, self._logged(request.inputs), log, group)
            self._finish()
            if event_id is not None:
                known = find_ticket(self._state, self._ledger, event_id)
                if known is not None:
                    decide.check_same(known, request)
                    return known
            if decide.excess(self._state, 1) > 0:  # reject the call before a ticket expires for it
                self._expire_due()
                decide.check_request(self._state, self._policy, request)
                _check_inputs(self._logged(request.inputs))
            now, before = self._expire_due(room=1), None
            state = self._state
            decision = decide.repeated(state.tickets, request)
            if decision is None:
                self._policy.check_room(state, request.arms)
                before = self._before_choice()
                decision = decide.choose_one(state, self._policy, request)
                decision.group, decision.version = group, state.version
            log = None if self._ledger is None else self._log(request)
            plan = decide.plan_one(state, decision, now, before=before, log=log, event_id=event_id)
            return self._commit(plan)[0]

    def record(
        self,
        context: Context | None = None,
        actions: Actions | None = None,
        *,
        chosen: str | int,
        propensity: float | None = None,
        arms: ArrayLike | decide.Request | None = None,
        mask: ArrayLike | None = None,
        event_id: str | None = None,
        group: str = POLICY,
    ) -> Ticket:
        """Record a decision that was made elsewhere, such as by a baseline or by a person.

        Its reward teaches the policy like any other. In the log it is one decision among the
        others, with its group and its propensity.

        Parameters
        ----------
        context, actions : mapping, optional
            As for `select`, for an agent with an encoder.
        chosen : str or int
            The name of the action that was chosen; the row of `arms` if actions have no names.
        propensity : float, optional
            The probability of the choice; None if it is unknown.
        arms, mask : array, optional
            As for `select`, instead of `context` and `actions`.
        event_id, group : str, optional
            As for `select`.

        Returns
        -------
        Ticket

        Raises
        ------
        InvalidInputError
            The action was not available, or the event id belongs to another decision.
        LedgerError
            The decision could not be written. Nothing has changed.

        Examples
        --------
        >>> import heavybandits as hb
        >>> agent = hb.Agent(hb.linucb(dim=2, radius=1.0))
        >>> ticket = agent.record(arms=[[1.0, 0.0], [0.6, 0.8]], chosen=1, group="holdout")
        >>> agent.update(ticket, 0.7), ticket.group
        ('applied', 'holdout')
        """
        if self._group is not None and self._group.takes():
            return self._group.run(
                partial(
                    self.record,
                    context,
                    actions,
                    chosen=chosen,
                    propensity=propensity,
                    arms=arms,
                    mask=mask,
                    event_id=event_id,
                    group=group,
                )
            )
        event_id, group = check_event_id(event_id), check_group(group)
        request = decide.read_request(
            self._state.encoder,
            self._policy,
            arms=arms,
            mask=mask,
            context=context,
            actions=actions,
        )
        with self._lock:
            self._finish()
            known = self.find(event_id) if event_id is not None else None
            decision = decide.read_recorded(self._state, self._policy, request, chosen, propensity)
            if known is not None:
                decide.check_same(known, request)
                if (known.arm, known.action) != (decision.arm, decision.action):
                    raise InvalidInputError(
                        f"event_id {event_id!r} already has ticket {known.id} with another action: "
                        "give a new decision its own event_id"
                    )
                return known
            decide.check_room(self._state, self._policy, request.arms)
            _check_inputs(self._logged(request.inputs))
            now, state = self._expire_due(room=1), self._state
            decision.group, decision.version = group, state.version
            log = None if self._ledger is None else self._log(request)
            plan = decide.plan_one(state, decision, now, before=None, log=log, event_id=event_id)
            return self._commit(plan)[0]

    def _log(self, request: decide.Request) -> decide.Log:
        return decide.log_request(request, self._log_inputs)

    def select_many(
        self,
        arms: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        contexts: Sequence[Context | None] | None = None,
        actions: Actions | Sequence[Actions] | None = None,
        group: str = POLICY,
    ) -> list[Ticket]:
        """Make many decisions at once, with the same tickets as many `select`s.

        They are encoded and decided in blocks, so that memory does not grow with their number
        times the features of their arms.

        Parameters
        ----------
        arms : array (n, K, d) or n arrays (K, d) of any K, optional
            The features of every decision.
        mask : array (n, K) of booleans, optional
            False for an arm that is not available; for arms that are one array.
        contexts : sequence of mappings, optional
            The context of every decision. Instead of `arms`, for an agent with an encoder.
        actions : mapping, or sequence of mappings, optional
            The actions of all decisions, or a list with the actions of each decision.
        group : str, default "policy"
            The group of all decisions, as for `select`.

        Returns
        -------
        list of Ticket
            One ticket per decision, in their order.

        Raises
        ------
        InvalidInputError
            An argument is not valid. No decision was made.
        LedgerError
            The decisions could not be written. Nothing has changed.
        """
        if self._group is not None and self._group.takes():
            return self._group.run(
                partial(
                    self.select_many, arms, mask, contexts=contexts, actions=actions, group=group
                )
            )
        group = check_group(group)
        with self._lock:
            many = decide.read_many(
                self._state, arms=arms, mask=mask, contexts=contexts, actions=actions
            )
            if decide.excess(self._state, many.size) > 0:
                many.check()  # before a ticket expires for them
            choose = partial(decide.choose_many, policy=self._policy, many=many)
            log = None
            if self._ledger is not None:
                log = decide.log_many(many, self._log_inputs)
            return self._select_together(many.size, choose, self._logged(many.named), log, group)

    def _select_together(
        self,
        size: int,
        choose: Callable[[AgentState], Choices],
        inputs: Inputs | WrittenInputs | None,
        log: decide.Log | None,
        group: str,
    ) -> list[Ticket]:
        """Make room for so many decisions if they can be made, make them, and issue tickets."""
        decide.check_together(self._state, size)
        self._expire_due()
        decide.check_room(self._state, self._policy, None, size)
        if decide.excess(self._state, size) > 0:
            _check_inputs(inputs)
        now, state = self._expire_due(room=size), self._state
        before = self._before_choice()
        choices = choose(state)._replace(group=group)
        plan = decide.plan_many(state, choices, now, before=before, log=log)
        return list(self._commit(plan))

    def _logged(self, inputs: Inputs | WrittenInputs | None) -> Inputs | WrittenInputs | None:
        """Return the named inputs if they are to be logged."""
        return inputs if self._ledger is not None and self._log_inputs else None

    def _before_choice(self) -> BeforeChoice | None:
        """Note what a choice may change; it is undone unless the choice is committed."""
        if not self._policy.leaves_traces(self._state):
            return None
        before = BeforeChoice(self._state)
        self._unfinished = before.undo
        return before

    # ---- learning

    def update(
        self, ticket: TicketLike, reward: float, noise_scale: float | None = None
    ) -> Receipt:
        """Record the reward of a ticket and update the policy.

        With a ledger the reward is on the disk when this returns. The same reward again is counted
        as a duplicate and has no effect, so a caller may repeat it after a failure.

        Parameters
        ----------
        ticket : Ticket, str or int
            The ticket, its `key` or its `id`.
        reward : float
            Any finite number.
        noise_scale : float, optional
            Noise scale nu of this reward, E|noise|^{1+epsilon} <= nu^{1+epsilon}, which must be
            known before the reward is. Only for policies such as `crhl`; None for the policy's own.

        Returns
        -------
        str
            "applied"; "duplicate" for the same reward again; "late" for a ticket that has expired.

        Raises
        ------
        InvalidInputError
            The reward is not finite, or the ticket already has a different reward.
        ForeignTicketError
            Another agent has issued the ticket.
        LedgerError
            The reward could not be written. Nothing has changed.
        """
        if self._group is not None and self._group.takes():
            return self._group.run(partial(self.update, ticket, reward, noise_scale))
        with self._lock:
            given = check_given(self._policy.takes_noise_scale, reward, noise_scale)
            number = ticket if type(ticket) is int else self._number(ticket)
            return self._reward([(number, given)])[0]

    def update_many(self, rewards: Iterable[RewardLike]) -> list[Receipt]:
        """Record several rewards in this order, all of them or none.

        Parameters
        ----------
        rewards : iterable of (ticket, reward) or (ticket, reward, noise_scale)
            As for `update`. If one of them is rejected, none is recorded.

        Returns
        -------
        list of str
            What `update` would return for each of them.
        """
        if self._group is not None and self._group.takes():
            return self._group.run(partial(self.update_many, rewards))
        with self._lock:
            takes = self._policy.takes_noise_scale
            return self._reward(check_rewards(rewards, self._state.owners, takes))

    def _reward(self, rewards: list[Any]) -> list[Receipt]:
        now, ledger = self._expire_due(), self._ledger
        outcome_of = None if ledger is None else ledger.outcome
        plan, receipts = plan_rewards(self._state, rewards, now, outcome_of=outcome_of)
        if plan is not None:
            self._commit(plan)
        return receipts

    def cancel(self, ticket: TicketLike) -> None:
        """Cancel a ticket whose reward will never come.

        If the decision has several plays, the agent plays its arm once more instead.

        Parameters
        ----------
        ticket : Ticket, str or int
            The ticket, its `key` or its `id`.
        """
        if self._group is not None and self._group.takes():
            return self._group.run(partial(self.cancel, ticket))
        with self._lock:
            number, now = self._number(ticket), self._expire_due()
            self._commit(plan_cancel(self._state, number, now))

    def cancel_all(self) -> None:
        """Cancel every pending ticket. The policy learns nothing."""
        self._clear(CancelledAll)

    def reset(self) -> None:
        """Forget everything learned, and every ticket. Ticket numbers are not used again."""
        self._clear(lambda issued, now: Reset(issued, now, self._state.version + 1))

    def _clear(self, kind: Callable[[int, float], CancelledAll | Reset]) -> None:
        with self._lock:
            self._finish()
            issued, now = self._state.tickets.issued, self._now()
            self._commit(make_plan(self._state, [kind(issued, now)]))

    def expire_due(self) -> None:
        """Expire the tickets that are older than `expire_after`. Every other call does so too."""
        with self._lock:
            self._expire_due()

    def revise(self, ticket: TicketLike, reward: float) -> None:
        """Replace a reward that was learned, for example after a refund. It needs a ledger.

        For ridge regression without a filter this is exact: the estimate becomes what it would be
        if `reward` had come first. `auto` and the Newton step with local curvature take one more
        step from where they are, which is close (see the page on refunds). Both rewards are
        filtered with the threshold of today. Other estimators raise: use `Agent.rebuild` with
        `corrections`, which is exact for all. The same revision again is counted as a duplicate.

        Parameters
        ----------
        ticket : Ticket, str or int
            A ticket with a reward, also one that expired with `expired_reward`.
        reward : float
            The right reward.
        """
        if self._group is not None and self._group.takes():
            return self._group.run(partial(self.revise, ticket, reward))
        with self._lock:
            number, given = self._number(ticket), finite_number("reward", reward) + 0.0
            ledger, now = self._needs_ledger("revise"), self._expire_due()
            check_settled(self._state, number)
            x, before, lesson = ledger.learned_from(number)
            later = self._state.tickets.counts["learned"] - lesson - 1
            revised = Revised(number, now, given, Revision(x, before, later), lesson)
            plan = plan_revision(self._state, revised)
            if plan is not None:
                self._commit(plan)

    def warm_start(self, rows: RowsLike, rewards: ArrayLike) -> None:
        """Learn logged rows and rewards, all of them or none.

        The result is bit-for-bit identical to as many decisions with these features and rewards,
        one after another.

        Parameters
        ----------
        rows : array (n, d), or rows by name
            The features of what was played; for an agent with an encoder also whatever its
            `encode_rows` takes, each row of a context and its action.
        rewards : array (n,), or (n, plays) for a policy of several plays
            The rewards.
        """
        with self._lock:
            log = self._ledger is not None and self._log_inputs
            lesson, named = read_lesson(self._state, rows, rewards, log=log)
            now, state = self._expire_due(), self._state
            self._policy.check_room(state, None, len(lesson.rows))
            self._policy.compiled.dry_run(state.learned)
            self._commit(plan_warm_start(state, lesson, now, named=named))

    def mark(self, name: str) -> int:
        """Give this moment a name in the ledger; `Agent.rebuild(until=name)` returns to it.

        Parameters
        ----------
        name : str
            A name that the ledger does not have yet, such as "before-sale".

        Returns
        -------
        int
            The number of the last event before the mark.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
        ...         _ = agent.update(agent.select([[1.0, 0.0]]), 0.5)
        ...         agent.mark("before-sale")
        2
        """
        with self._lock:
            name, ledger = check_mark(name), self._needs_ledger("mark")
            self._finish()
            if name in read_marks(ledger.database):
                raise InvalidInputError(f"name must be new, and {name!r} is a mark already")
            last, issued = ledger.length, self._state.tickets.issued
            self._commit(make_plan(self._state, [Marked(issued, self._now(), name)]))
            return last

    @property
    def marks(self) -> dict[str, int]:
        """Return the last event before each mark, by the name of the mark."""
        return self._read(lambda _: read_marks(self._needs_ledger("marks").database))

    def erase_inputs(self, tickets: Iterable[TicketLike]) -> int:
        """Delete the raw inputs of decisions from the ledger, for example of a person who asks.

        The context, the actions and the features of all arms are deleted. The decision, its reward
        and the features of the chosen arm are kept. The chain of hashes stays intact.

        Parameters
        ----------
        tickets : iterable of Ticket, str or int
            The tickets, their keys, ids or event ids.

        Returns
        -------
        int
            The number of decisions whose inputs were deleted.

        Raises
        ------
        InvalidInputError
            A ticket was never issued. Nothing has changed.
        """
        with self._lock:
            ledger = self._needs_ledger("erase_inputs")
            self._finish()
            return ledger.erase_inputs([self._number_of(ticket) for ticket in tickets])

    def ticket(self, ticket: TicketLike) -> Ticket:
        """Return a ticket that was issued before, by its key, id or event id.

        With a ledger also one that is settled; without one it must be pending.

        Parameters
        ----------
        ticket : str, int or Ticket
            The `key`, the `id`, or the `event_id` that the caller gave.

        Returns
        -------
        Ticket
            The ticket.

        Raises
        ------
        InvalidInputError
            There is no such ticket, or it is settled and the agent has no ledger.
        """
        with self._lock:
            self._finish()
            return read_ticket(self._state, self._ledger, self._number_of(ticket))

    def find(self, event_id: str) -> Ticket | None:
        """Return the ticket with this event id; None if there is none.

        Parameters
        ----------
        event_id : str
            The id that the caller gave. Without a ledger the ticket must be pending.

        Returns
        -------
        Ticket or None
        """
        with self._lock:
            self._finish()
            return find_ticket(self._state, self._ledger, event_id)

    def _number_of(self, ticket: TicketLike) -> int:
        """Return the number of a ticket, also by its event id."""
        if isinstance(ticket, str):
            found = find_ticket(self._state, self._ledger, ticket)
            if found is not None:
                return found.id
        number = self._number(ticket)
        self._state.tickets.check_issued(number)
        return number

    # ---- how a plan takes effect: completely or not at all

    def _number(self, ticket: TicketLike) -> int:
        try:
            return ticket_number(ticket, self._state.owners)
        except ForeignTicketError:
            self._state.tickets.counts["unknown"] += 1
            raise

    def _now(self) -> float:
        return finite_number("clock()", self._clock()) + 0.0

    def _expire_due(self, room: int = 0) -> float:
        """Expire the tickets past their time, and the oldest if `room` is needed; return the time.

        What an interrupt left unfinished is finished first.
        """
        self._finish()
        now, state = self._now(), self._state
        due = state.tickets.due(state.limits, now, room)
        if due:
            self._commit(make_plan(state, due))
        return now

    def _commit(self, plan: Plan) -> Sequence[Ticket]:
        """Write a plan to the ledger and apply it; return its tickets."""
        if self._ledger is None:
            self._unfinished = partial(self._apply, plan)
        else:
            self._unfinished = partial(self._recover, plan, self._ledger.length)
            try:
                self._ledger.write(plan.events)
            except LedgerError:  # nothing is on the disk, unless the ledger says so
                self._unfinished = plan.undo
                self._finish()
                if self._ledger.in_doubt:
                    self._unfinished = self._reload
                raise
        self._apply(plan)
        self._unfinished = None
        if self._ledger is not None:
            self._ledger.snapshot_if_due(self._state)
        return plan.tickets

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Flush the ledger once for all calls in a `with` block, instead of once for each.

        The block locks the agent: other threads wait. When it ends, all calls in it are on the
        disk, or it raises LedgerError and none of them has happened. So do not send an answer to
        anyone before the block has ended. A call that raises in the block has no effect, and
        those before it are stored. Without a ledger the block only locks the agent.

        Yields
        ------
        None
            Nothing; call the agent in the block.

        Raises
        ------
        LedgerError
            The calls could not be written. The agent is as it was before the block.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/agent.db") as agent:
        ...         with agent.batch():
        ...             tickets = [agent.select([[1.0, 0.0], [0.6, 0.8]]) for _ in range(100)]
        ...         len(agent.pending)
        100
        """
        with self._lock:
            self._finish()
            if self._ledger is None or self._in_batch:
                yield
                return
            self._ledger.begin_group()
            self._in_batch = True
            if self._group is not None:
                self._group.enter()
            try:
                yield
            finally:
                if self._group is not None:
                    self._group.leave()
                self._end_batch()

    def _end_batch(self) -> None:
        """Store what a batch has gathered, if there is one."""
        if self._in_batch:
            self._finish()
            self._unfinished = self._store_batch
            self._finish()

    def _store_batch(self) -> None:
        assert self._ledger is not None
        try:
            self._ledger.end_group()
        except LedgerError as error:
            self._unfinished, self._in_batch = self._reload, False
            try:
                self._finish()
            except LedgerError as why:  # the next call tries again
                raise why from error
            raise
        self._in_batch = False
        self._ledger.snapshot_if_due(self._state)

    def _reload(self) -> None:
        """Return to what is stored."""
        assert self._ledger is not None
        self._state = self._ledger.reload(self._state, self._policy)

    def _apply(self, plan: Plan) -> None:
        self._state = apply(self._state, plan, self._policy)

    def _recover(self, plan: Plan, length: int) -> None:
        """After an interrupt: apply the plan if the ledger has it, else undo its choices."""
        if self._ledger is not None and self._ledger.wrote_since(length):
            self._apply(plan)
        elif plan.undo is not None:
            plan.undo()

    def _finish(self) -> None:
        """Finish, or undo, what an interrupt left unfinished."""
        if self._unfinished is not None:
            self._unfinished()
            self._unfinished = None

    # ---- reading

    __repr__, _repr_html_ = show_text, show_html

    def _card(self) -> Card:
        path = None if self._ledger is None else self._ledger.path
        return self._read(lambda state: inspect.describe(state, path))

    def _read(self, read: Callable[[AgentState], T]) -> T:
        with self._lock:
            self._finish()
            return read(self._state)

    @property
    def state(self) -> AgentState:
        """Return everything that the agent is, as a value: to be read, not to be changed."""
        return self._read(lambda state: state)

    @property
    def policy(self) -> Any:
        """Return the policy."""
        return self._state.policy

    @property
    def encoder(self) -> FeatureMap | None:
        """Return what makes features of named inputs; None for an agent that takes features."""
        return self._state.encoder

    @property
    def ledger(self) -> Ledger | None:
        """Return the ledger; None for an agent without one."""
        return self._ledger

    @property
    def id(self) -> str:
        """Return the name under which this agent issues tickets, 16 random hexadecimal digits."""
        return self._state.owners[-1].agent

    @property
    def version(self) -> int:
        """Return the version of the agent, which grows with each reset and rebuild."""
        return self._state.version

    @property
    def theta(self) -> Floats:
        """Return a copy of the centre of the confidence region."""
        return self._read(inspect.theta)

    @property
    def design(self) -> Floats:
        """Return a copy of V."""
        return self._read(inspect.design)

    @property
    def inverse(self) -> Floats:
        """Return a copy of V^-1."""
        return self._read(inspect.inverse)

    @property
    def updates(self) -> int:
        """Return the number of decisions learned."""
        return self._read(inspect.updates)

    @property
    def fallbacks(self) -> int:
        """Return the number of updates in which V^-1 was computed again, because rounding may have
        spoiled it; normally 0."""
        return self._read(inspect.fallbacks)

    @property
    def truncated_share(self) -> float:
        """Return the share of the rewards so far that the filter has changed."""
        return self._read(inspect.truncated_share)

    @property
    def threshold(self) -> float | None:
        """Return the threshold for the next reward: that of the filter or, if it has none, of the
        estimator; None if neither clips. The part documents what is compared with it."""
        return self._read(inspect.threshold)

    @property
    def restarts(self) -> int:
        """Return how often an `auto` has restarted; 0 for every other policy.

        It restarts after eight rewards in a row that no noise explains (another unit, mean reward
        or problem), or after two at the very start that exceed most of the first 32 by far.
        """
        return self._read(inspect.restarts)

    @property
    def drift(self) -> DriftReport:
        """Return how often a change of the rewards was noticed, and how many rewards ago.

        The change may be one of the mean reward, of the unit or of the effect of the features.

        For an `auto`, and for every policy whose filter is wrapped in `filters.DriftMonitor`.
        """
        return self._read(inspect.drift)

    @property
    def pending(self) -> list[int]:
        """Return the ids of the tickets that wait for their rewards, the oldest first."""
        return self._read(lambda state: list(state.tickets.pending))

    @property
    def action_counts(self) -> dict[str, ActionCount]:
        """Return how often each named action was chosen, and how many rewards it has received.

        An action that is no longer available stays in the list; `reset` empties it.
        """
        return self._read(lambda state: dict(state.tickets.action_counts))

    @property
    def counters(self) -> dict[str, int]:
        """Return the number of tickets pending, applied, late, duplicate, unknown, expired,
        cancelled and revised, and of the rows of warm starts.

        With a ledger the rejected ones (late, duplicate, unknown) are stored with each snapshot,
        the others with each event.
        """
        return self._read(inspect.counters)

    @overload
    def predict(self, arms: ArrayLike, return_width: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, arms: ArrayLike, return_width: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(
        self, arms: ArrayLike, return_width: bool = False
    ) -> Floats | tuple[Floats, Floats]:
        """Return the expected mean rewards of the arms.

        Parameters
        ----------
        arms : array (K, d)
            The features, one row per arm.
        return_width : bool, default False
            Also return the confidence widths of x.theta.

        Returns
        -------
        means : array (K,)
            The expected mean reward of each arm.
        widths : array (K,)
            The confidence width of each arm, on the scale of x.theta. Only with `return_width`.
        """
        rows = finite_array("arms", arms, (None, self.policy.dim))
        means, widths = self._read(lambda state: self._policy.compiled.predict(state.learned, rows))
        return (means, widths) if return_width else means

    def explain(
        self,
        arms: ArrayLike | TicketLike | None = None,
        *,
        context: Context | None = None,
        actions: Actions | None = None,
    ) -> Explanation:
        """Explain what each feature adds to the expected reward and to the bonus of an arm.

        Parameters
        ----------
        arms : Ticket, str, int or array (K, d), optional
            Arms, or a ticket, its key, id or event id. The explanation uses the current state of
            the agent; `expected` and `width` of the ticket are those at the time of the choice.
        context, actions : mapping, optional
            Instead of `arms`, for an agent with an encoder.

        Returns
        -------
        Explanation
            The contributions and bonuses of every feature, one row per arm. `print` shows the
            largest.

        Raises
        ------
        InvalidInputError
            The policy has no confidence region, or an argument is not valid.
        """
        with self._lock:
            found = self.ticket(arms) if isinstance(arms, str | int) else arms
            return explain(self.state, self._policy, arms=found, context=context, actions=actions)

    def history(self) -> list[dict[str, Any]]:
        """Return the plays in the ledger, one row each.

        Columns: ticket, time, arm, action, expected, width, propensity, outcome, reward, settled
        (when), first_reward. `reward` is the current reward, `first_reward` that before revisions.

        Returns
        -------
        list of dict
            One dictionary per play.

        Raises
        ------
        InvalidInputError
            The agent has no ledger.
        """
        return self._read(lambda _: read_history(self._needs_ledger("history").database))

    def feedback(self) -> Log:
        """Return the decisions in the ledger that have a reward as a log.

        `evaluate`, `uplift`, `action_means`, `diagnose` and `replay` take it as it is. Its columns
        are ticket, time, event_id, group, version, action, propensity, available and reward (the
        one in force), each input of the context and of the action taken by its own name, and
        `actions`, the inputs of all available actions. A column whose name an input has is called
        "decision_..." instead. `Log.notes` says which decisions are left out. For an agent without
        an encoder `action` is the row of the arm, and `actions` has the features of all rows.

        Returns
        -------
        Log

        Raises
        ------
        InvalidInputError
            The agent has no ledger.

        Examples
        --------
        >>> import heavybandits as hb, tempfile
        >>> policy = hb.policies.EpsilonGreedy(hb.linucb(dim=2, radius=1.0), epsilon=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with hb.Agent(policy, ledger=f"{folder}/agent.db") as agent:
        ...         for _ in range(200):
        ...             ticket = agent.select([[1.0, 0.0], [0.0, 1.0]])
        ...             _ = agent.update(ticket, ticket.arm + 0.1 * (ticket.id % 3))
        ...         log = agent.feedback()
        >>> round(hb.evaluate(log, policy={1: 1.0}).value, 1)
        1.1
        """
        return self._read(
            lambda state: read_feedback(self._needs_ledger("feedback").database, state.encoder)
        )

    def _needs_ledger(self, what: str) -> Ledger:
        if self._ledger is None:
            raise InvalidInputError(f"{what} needs an agent with a ledger, this one has none")
        return self._ledger

    # ---- keeping

    def warm(self) -> None:
        """Compile what traffic needs, on a copy: the first call is then as fast as the others.

        Call it before a process takes traffic. Nothing is recorded or learned.
        """
        copy = self.clone()
        rows = np.zeros((1, copy.policy.dim))
        rows[0, 0] = 1.0
        copy.cancel_all()
        for _ in range(copy.policy.plays):
            copy.update(copy.select(rows), 0.0)
        copy.warm_start(rows, np.zeros(1 if copy.policy.plays == 1 else (1, copy.policy.plays)))
        copy.predict(rows, return_width=True)

    def clone(self, clock: Clock | None = None) -> "Agent":
        """Return an independent copy without a ledger, with this agent's clock or another.

        The copy has its own `id`. Both agents accept the tickets that were issued before. Each
        accepts only its own tickets from now on.

        Parameters
        ----------
        clock : function, optional
            The clock of the copy. Default: the clock of this agent.

        Returns
        -------
        Agent
            The copy.
        """
        with self._lock:
            state = unpack(pack(self.state), policy=self.policy, encoder=self.encoder)
            clock = self._clock if clock is None else clock
        return Agent.from_state(with_new_owner(state), clock)

    def save(self, path: str | Path) -> None:
        """Write policy, state, pending tickets and generator to one file, which `load` reads.

        The file is replaced at once: it never contains half of a state.

        Parameters
        ----------
        path : str or Path
            The file to write. An existing file is replaced.
        """
        data = self._read(pack)
        replace_atomically(Path(path), lambda temporary: temporary.write_bytes(data))

    def backup(self, output: str | Path) -> Path:
        """Copy the ledger to a new one while the agent works; other calls do not wait for it.

        An agent that opens the copy has its own keys: it rejects those that were issued after the
        backup, and never credits them to another decision. `heavybandits ledger backup` does
        the same from another process.

        Parameters
        ----------
        output : path
            The new ledger, in a folder that exists.

        Returns
        -------
        Path
            The absolute path of the copy.

        Raises
        ------
        LedgerError
            The ledger is damaged, or the copy could not be written: there is none then.
        """
        from ..ledger.backup import backup  # not needed by an agent that only decides

        return backup(self._needs_ledger("backup").path, output).path

    def close(self) -> None:
        """Write a last snapshot and close the ledger; without a ledger there is nothing to do."""
        with self._lock:
            if self._ledger is not None:
                self._end_batch()
                self._ledger.close(self.state)

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError(
            "an Agent cannot be pickled or copied: two agents would issue the same tickets. "
            "Use `save` and `Agent.load` to move it, or `clone` for a copy"
        )

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_clock(clock: Clock) -> None:
    """Raise InvalidInputError if this is not a function."""
    if not callable(clock):
        raise InvalidInputError(f"clock must be a function that returns seconds, got {clock!r:.80}")


def with_new_owner(state: AgentState) -> AgentState:
    """Return the state of another agent that continues from here."""
    return state._replace(owners=new_owner(state.owners, state.tickets.issued))


def _check_inputs(inputs: Inputs | WrittenInputs | None) -> None:
    if inputs is not None:
        inputs.check()
