"""The part of an agent that decides: one arm, a list of arms, or a batch of decisions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from numpy.typing import ArrayLike

from .._utils.errors import InvalidInputError
from .._utils.validation import whole
from ..core.protocols import ArmSet
from ..parts.compiled_policy import Mask
from .agent_policy import repeat
from .batches import Batch, make_batch
from .encoders import encode, offer_names, to_json
from .events import SELECT, Event
from .inspect import Readings
from .state import AgentState, StateDiff
from .tickets import Choices, Decision, Ticket, gather, make_tickets

Offers = Mapping[str, Mapping[str, Any]]  # what is known of each, by name
Told = Sequence[tuple[Any, Any]]  # context and offers of every decision
Tell = Callable[[str], str | None]  # what was offered under a name, as JSON, if it is to be kept


def tell_nothing(name: str) -> str | None:
    return None


class Deciding(Readings):
    """The part of an agent that decides. How that happens, `Agent` itself says."""

    _state: AgentState
    _keep_raw = True
    _unfinished: Callable[[], None] | None = None

    def _commit(self, events: list[Event], undo: Callable[[], None] | None = None) -> None:
        raise NotImplementedError

    def _give_up(self, room: int = 0) -> float:
        raise NotImplementedError

    def _finish(self) -> None:
        raise NotImplementedError

    @overload
    def select(
        self,
        arms: ArrayLike | ArmSet | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        offers: Offers | None = None,
        top: None = None,
    ) -> Ticket: ...

    @overload
    def select(
        self,
        arms: ArrayLike | ArmSet | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        offers: Offers | None = None,
        top: int,
    ) -> list[Ticket]: ...

    def select(
        self,
        arms: ArrayLike | ArmSet | None = None,
        mask: ArrayLike | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        offers: Offers | None = None,
        top: int | None = None,
    ) -> Ticket | list[Ticket]:
        """Choose an arm. While a decision asks for more plays of its arm, that arm comes back.

        Parameters
        ----------
        arms : (K, d) features, one row per arm; or an arm set such as `UnitBall(d)`.
        mask : K booleans, False for an arm that is not on offer now.
        context, offers : instead of arms, for an agent with an encoder: what is known of the
            moment, and what is known of each offer by name. The ticket has the name of the offer.
            Offers may come and go as they like.
        top : None for one arm, k for a list of k tickets, the best first: the arm that would be
            chosen, the one that would be chosen if the first were not on offer, and so on. Each
            takes a reward of its own. None of them has a propensity: how likely a list was is not
            the chance of any one of its arms.
        """
        names: tuple[str, ...] | None = None
        tell: Tell = tell_nothing
        if arms is None and offers is None:
            raise InvalidInputError(
                "select needs arms, or for an agent with an encoder offers and their context"
            )
        if offers is not None or context is not None:
            arms, names, tell = self._read_offers(arms, context, offers)
        told: Told = [] if names is None else [(context, offers)]
        if top is not None:
            return self._select_list(arms, mask, names, told, top)
        with self._lock:
            offered, allowed = self._kernels.check_arms(arms, mask)
            self._check_select(offered, allowed, names, told)
            now = self._give_up(room=1)
            state = self._state
            number, decision = state.book.issued, repeat(state.book, offered, allowed, names)
            left = state.policy.plays if decision is None else decision.left
            if decision is None:
                decision = self._decide(offered, allowed, now, names, tell)
            else:
                raw = None if decision.offer is None else tell(decision.offer)
                again = self._again(decision)
                self._commit([Event(SELECT, number, now, None, decision, again, None, None, raw)])
            return Ticket(
                number,
                decision.arm,
                decision.features.copy(),
                decision.estimate,
                decision.width,
                left,
                decision.propensity,
                decision.offer,
                state.owners[-1].agent,
            )

    def _check_select(
        self, arms: Any, allowed: Mask, names: Sequence[str] | None, told: Told
    ) -> None:
        """Refuse what would be refused before room is made for it: then no ticket need expire."""
        self._finish()
        if self._excess(1) <= 0:
            return
        self._give_up()  # those past their time, whatever comes
        if repeat(self._state.book, arms, allowed, names) is None:
            self._check_room(arms, 1)
        self._check_told(told)

    def _excess(self, size: int) -> int:
        """How many tickets more would wait than may, with so many new ones."""
        return len(self._state.book.pending) + size - self._state.limits.max_pending

    def _check_room(self, arms: Any, size: int) -> None:
        """Refuse more decisions than the policy keeps; those that new ones push out are not."""
        state, excess = self._state, max(self._excess(size), 0)
        unlearned = state.limits.missing is None and state.policy.plays == 1
        self._kernels.check_room(state, arms, size - excess if unlearned else size)

    def _check_told(self, told: Told) -> None:
        """Refuse what cannot be kept, whatever is chosen of it."""
        if self._keeps_offers:
            offers = {id(offered): offered for _, offered in told}  # often the same for all
            to_json([[context for context, _ in told], list(offers.values())])

    def _read_offers(
        self, arms: Any, context: Any, offers: Any
    ) -> tuple[Any, tuple[str, ...], Tell]:
        """What is on offer as rows and names, and what is to be kept of it."""
        if arms is not None:
            raise InvalidInputError("select takes arms, or context and offers, not both")
        rows, names = encode(self._state.encoder, context, offers)
        return rows, names, self._teller(context, offers)

    @property
    def _keeps_offers(self) -> bool:
        """Whether what was offered by name is kept as it was given."""
        return self._ledger is not None and self._keep_raw

    def _teller(self, context: Any, offers: Any) -> Tell:
        """What tells the ledger what was offered under a name."""
        if not self._keeps_offers:
            return tell_nothing
        return lambda name: to_json({"context": context, "name": name, "offer": offers[name]})

    def _again(self, decision: Decision) -> str | None:
        """What a further play of a decision that was drawn leaves in the ledger: its propensity."""
        if decision.propensity == 1.0 or self._ledger is None:
            return None
        return StateDiff(self._state).changes(decision.propensity)

    def _decide(
        self, arms: Any, allowed: Mask, now: float, names: Sequence[str] | None, tell: Tell
    ) -> Decision:
        """A new decision. If it cannot be written down, it was never made."""
        state, kernels, changes, told = self._state, self._kernels, None, None
        kernels.check_room(state, arms)
        before = StateDiff(state) if kernels.leaves_traces(state) else None
        self._unfinished = undo = None if before is None else before.undo
        decision = kernels.choose(state, arms, allowed)
        if names is not None:
            decision.offer = names[decision.arm]
            told = tell(decision.offer)
        if before is not None and self._ledger is not None:
            changes = before.changes(decision.propensity)
        number = state.book.issued
        event = Event(SELECT, number, now, None, decision, changes, None, None, told)
        self._commit([event], undo)
        return decision

    # ---- several at once

    def _select_list(
        self, arms: Any, mask: Any, names: Sequence[str] | None, told: Told, top: Any
    ) -> list[Ticket]:
        with self._lock:
            offered, allowed = self._kernels.check_rows(arms, mask)
            size, kernels = whole("top", top), self._kernels
            if size > allowed.sum():
                raise InvalidInputError(
                    f"top must be at most the {allowed.sum()} on offer, got {size}"
                )
            now = self._ready_for(size, told)
            state = self._state  # not before: an interrupted reset is finished first
            before, decisions = StateDiff(state), []
            self._unfinished = before.undo
            for _ in range(size):
                decision = kernels.choose(state, offered, allowed)
                decision.propensity = None
                decision.offer = None if names is None else names[decision.arm]
                allowed[decision.arm] = False
                decisions.append(decision)
            tell = self._teller(*told[0]) if told else tell_nothing
            return self._issue(gather(decisions), now, before, [tell] * size)

    def select_many(
        self,
        arms: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        contexts: Sequence[Mapping[str, Any] | None] | None = None,
        offers: Offers | Sequence[Offers] | None = None,
    ) -> list[Ticket]:
        """Many decisions in one compiled call: the same tickets as from as many `select`s in a row.

        Parameters
        ----------
        arms : (n, K, d) features; or n arrays (K, d), of any K.
        mask : (n, K) booleans, for arms that are an array.
        contexts, offers : instead of arms, for an agent with an encoder: n contexts, and the offers
            of all of them or, in a list, of each.
        """
        with self._lock:
            batch = self._read_batch(arms, mask, contexts, offers)
            now = self._ready_for(batch.size, batch.told or [])
            before = StateDiff(self._state)
            self._unfinished = before.undo
            choices = self._kernels.choose_many(self._state, batch)
            tells = [self._teller(*pair) for pair in batch.told or ()]
            return self._issue(choices, now, before, tells or [tell_nothing] * batch.size)

    def _read_batch(self, arms: Any, mask: Any, contexts: Any, offers: Any) -> Batch:
        if contexts is None and offers is None:
            return make_batch(arms, mask, self._state.policy.dim)
        if arms is not None or mask is not None:
            raise InvalidInputError("select_many takes arms, or contexts and offers, not both")
        each = offers if isinstance(offers, Sequence) else None
        if contexts is None and each is not None:
            contexts = [None] * len(each)
        if not isinstance(contexts, Sequence) or not contexts:
            raise InvalidInputError(
                f"contexts must be a list, one per decision, got {contexts!r:.80}"
            )
        shown = [offers] * len(contexts) if each is None else each
        if len(shown) != len(contexts):
            raise InvalidInputError(
                f"offers must be {len(contexts)}, one per context, got {len(shown)}"
            )
        encoder, pairs = self._state.encoder, list(zip(contexts, shown, strict=True))
        known = offer_names(encoder, offers) if each is None else None
        read = [encode(encoder, *pair, known) for pair in pairs]
        batch = make_batch([rows for rows, _ in read], None, self._state.policy.dim)
        return batch._replace(names=[names for _, names in read], told=pairs)

    def _ready_for(self, size: int, told: Told) -> float:
        """Make room for so many decisions at once, if they can be made; the time it is."""
        state = self._state
        if state.policy.plays != 1:
            raise InvalidInputError(
                f"this policy plays an arm {state.policy.plays} times before it decides anew: "
                "select one decision at a time"
            )
        if size > state.limits.max_pending:
            raise InvalidInputError(
                f"max_pending is {state.limits.max_pending}: {size} decisions cannot wait at once"
            )
        self._give_up()  # those past their time, whatever comes
        self._check_room(None, size)
        if self._excess(size) > 0:
            self._check_told(told)
        return self._give_up(room=size)

    def _issue(
        self,
        choices: Choices,
        now: float,
        before: StateDiff,
        tells: Sequence[Tell],
    ) -> list[Ticket]:
        """Tickets for decisions that were made together, and are written together."""
        issued = choices._replace(first=self._state.book.issued, time=now)
        events = [Event(SELECT, issued.first, now, many=issued)]
        if self._ledger is not None:
            changes = before.changes_of_many(issued.propensities)
            raws = [None if o is None else tells[n](o) for n, o in enumerate(issued.offers)]
            events = [
                Event(SELECT, number, now, None, issued.decision(number), change, None, None, raw)
                for number, change, raw in zip(issued.numbers, changes, raws, strict=True)
            ]
        self._commit(events, before.undo)
        return make_tickets(issued, self._state.owners[-1].agent)
