"""One agent of a service: decisions, rewards, modes, hold-out and roll-out.

A method that changes something runs in the writer of the agent, one after another. Every public
method is an operation of the table in `routes`.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET

from .._utils.errors import InvalidInputError, LedgerError, LedgerFencedError
from ..agents.agent import Agent
from ..agents.decide import Request, check_same, choose_one
from ..agents.state import BeforeChoice
from ..agents.tickets import POLICY, Decision, Ticket
from ..core.protocols import Policy
from . import history, promotion, schemas
from .config import AgentConfig, Limits
from .construction import check_baseline, encoder_of, make_policy, open_agent, policy_of
from .gate import Reply
from .ledgers import find_ledger
from .marks import FrozenPolicy, pack_learned, write_mark
from .monitor import Monitor
from .prepared import (
    PreparedDecision,
    PreparedDecisions,
    PreparedReward,
    PreparedRewards,
    PreparedTicket,
    Preparer,
    Rejected,
)
from .problems import ProblemError, problem_of
from .rollout import CANARY, Rollout
from .settings import Description, SettingsFile
from .summary import summarize
from .tokens import Signer
from .writer import GroupWriter, InlineWriter, Writer

LOGGER = logging.getLogger("heavybandits.serving")
MOST_REMEMBERED = 100_000  # event ids


class Assigned(NamedTuple):
    """Who decides: a group, and its decision unless it is the policy in force."""

    group: str
    action: str | None = None
    propensity: float | None = None


class ServedAgent:
    """An agent behind the API.

    Parameters
    ----------
    config : AgentConfig
        Its configuration.
    folder : Path
        Where its ledger and its settings are.
    signer : Signer
        Signs its tickets.
    limits : Limits
        Of the service.
    """

    def __init__(self, config: AgentConfig, folder: Path, signer: Signer, limits: Limits) -> None:
        self.name, self.config, self.folder, self._signer = config.name, config, folder, signer
        self._file = SettingsFile(config, folder)
        self.settings = self._file.load()
        self.monitor = Monitor()
        self.encoder = encoder_of(config, folder)
        self.preparer = Preparer(config.name, self.encoder, signer)
        self.agent = self.open()
        self._recent: OrderedDict[str, Ticket] = OrderedDict()
        self._broken = False  # the ledger must be opened again
        self.rollout: Rollout | None = None
        self.frozen: FrozenPolicy | None = None
        self.ready, self.promoting = False, threading.Lock()
        self.writer: Writer = InlineWriter(self.monitor.answered)
        if self.agent.ledger is not None:
            name = f"writer of {self.name}"
            self.writer = GroupWriter(self._batch, self.monitor.answered, name, limits.queue)

    # ---- opening and closing

    def open(self) -> Agent:
        """Open the agent on its ledger."""
        policy = self.policy_of(self.settings.policies)
        ledger = find_ledger(self.config, self.folder, self.settings.ledger)
        return open_agent(self.config, self.encoder, policy, ledger)

    def policy_of(self, policies: list[Description]) -> Policy:
        """Return the last of these policies; without one, that of the configuration."""
        if not policies:
            return policy_of(self.config, self.encoder.dim)
        given = policies[-1]
        numbers = given["parameters"], given["epsilon"], given["seed"]
        return make_policy(given["policy"], self.encoder.dim, *numbers)

    def take_over(self, agent: Agent) -> None:
        """Let another agent decide from now on. The writer must call this."""
        self.agent = agent
        self._recent.clear()

    def describe(self, request: schemas.Policy | schemas.StartRollout) -> Description:
        """Return what the settings store of a policy."""
        return {
            "policy": request.policy,
            "parameters": dict(request.parameters),
            "epsilon": request.epsilon,
            "seed": self.config.seed + self.settings.version,
        }

    def warm(self) -> None:
        """Compile what traffic needs, check that the ledger can be written, load the challenger."""
        self.agent.warm()
        self.agent.expire_due()
        if self.settings.mode == "frozen":
            self._thaw()
        if self.settings.rollout is not None:
            self._load_rollout(self.settings.rollout)
        self.ready = True

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """Write all requests of one commit together; forget them if that fails.

        An agent that cannot say what is on its disk has closed its ledger: it is opened again, and
        if that fails too, before each later commit.
        """
        if self._broken:
            self.agent = self.open()
            self._broken = False
        try:
            with self.agent.batch():
                yield
        except LedgerError as error:
            self._recent.clear()
            if isinstance(error, LedgerFencedError):
                self.ready = False
            else:
                self._broken = self._is_closed()
            raise

    def _is_closed(self) -> bool:
        try:
            assert self.agent.ledger is not None
            self.agent.ledger.database.rows("SELECT 1")
        except LedgerError:
            return True
        return False

    def save(self) -> None:
        """Store the settings."""
        self._file.save(self.settings)

    def close(self) -> None:
        """Finish what waits and close the ledger."""
        self.writer.close()
        self.agent.close()

    def submit(self, operation: Callable[[Any], Any], received: Any, reply: Reply) -> None:
        """Perform an operation in its turn."""
        if not self.ready:
            raise ProblemError(503, "the agent is not ready yet")
        self.writer.submit(operation, received, reply)

    # ---- decisions

    def decide(self, given: PreparedDecision) -> schemas.Decided:
        """Make a decision, or return the one that was made for this event id."""
        request = given.to_request(self.agent.policy.dim)
        known = None if given.event_id is None else self._find(given.event_id)
        if known is not None:
            check_same(known, request)
            self.monitor.counts["repeated"] += 1
            return self._decided(known)
        baseline = given.baseline or self._baseline(given.names)
        settings = self.settings
        if settings.mode == "off":
            told = None, baseline, None, None, None, "off", settings.version, False
            return schemas.Decided(*told, given.event_id)
        ticket = self._record(given, request, self._assign(given, request, baseline))
        self._remember(ticket)
        action = str(ticket.action)
        self.monitor.decided(action, ticket.propensity, ticket.group)
        if self.rollout is not None and self.rollout.watches:
            self.rollout.watch(request, action)
        return self._decided(ticket)

    def _record(self, given: PreparedDecision, request: Request, made: Assigned) -> Ticket:
        if made.action is None:
            return self.agent.select(request, event_id=given.event_id, group=made.group)
        return self.agent.record(
            arms=request,
            chosen=made.action,
            propensity=made.propensity,
            event_id=given.event_id,
            group=made.group,
        )

    def _assign(self, given: PreparedDecision, request: Request, baseline: str) -> Assigned:
        """Return who decides for a unit, and the decision unless it is the policy in force."""
        settings, rollout, place = self.settings, self.rollout, given.place
        if settings.mode == "apprentice":
            self.monitor.agree(self._would(request) == baseline)
            return Assigned("apprentice", baseline, 1.0)
        if place < settings.holdout:
            return Assigned("holdout", baseline, 1.0)
        if rollout is not None and place < settings.holdout + rollout.share:
            made = rollout.choose(request)
            return Assigned(CANARY, made.action, made.propensity)
        if settings.mode == "frozen" and self.frozen is not None:
            made = self.frozen.choose(request)
            return Assigned("frozen", made.action, made.propensity)
        return Assigned(POLICY)

    def _would(self, request: Request) -> str | None:
        """Return what the policy would choose; nothing of it changes."""
        state, policy = self.agent.state, self.agent._policy
        before = BeforeChoice(state)
        made = choose_one(state, policy, request)
        before.undo()
        return made.action

    def _baseline(self, names: tuple[str, ...]) -> str:
        return self.settings.baseline if self.settings.baseline in names else names[0]

    def _decided(self, ticket: Ticket) -> schemas.Decided:
        return schemas.Decided(
            self._signer.sign(self.name, ticket.key),
            str(ticket.action),
            ticket.propensity,
            ticket.expected,
            ticket.width,
            ticket.group,
            self.settings.version,
            True,
            ticket.event_id,
        )

    def decide_many(self, given: PreparedDecisions) -> schemas.Items:
        """Make many decisions, each alone."""
        return schemas.Items([_each(self.decide, one) for one in given.items])

    def _find(self, event_id: str) -> Ticket | None:
        """Return the ticket with this event id; None if it is new."""
        return self._recent.get(event_id) or self.agent.find(event_id)

    def _remember(self, ticket: Ticket) -> None:
        """Keep the latest tickets by event id: an agent without a ledger forgets them."""
        if ticket.event_id is not None:
            self._recent[ticket.event_id] = ticket
            if len(self._recent) > MOST_REMEMBERED:
                self._recent.popitem(last=False)

    # ---- rewards

    def reward(self, given: PreparedReward) -> schemas.Rewarded:
        """Record a reward."""
        key = self._key(given)
        number = int(key.partition(":")[2])
        decision = self.agent.state.tickets.decision_of(number)
        try:
            outcome = self.agent.update(key, given.reward, given.noise_scale)
        except InvalidInputError:
            self.monitor.counts["rejected"] += 1
            raise
        group = POLICY if decision is None else decision.group
        action = "" if decision is None or decision.action is None else decision.action
        self.monitor.rewarded(outcome, given.reward, action, group, key)
        if outcome == "applied" and decision is not None and self.rollout is not None:
            self._teach_challenger(self.rollout, decision, given.reward)
        return schemas.Rewarded(outcome)

    def _teach_challenger(self, rollout: Rollout, decision: Decision, reward: float) -> None:
        rollout.learn(decision.features, reward, decision.group)
        stored = self.settings.rollout
        if stored is not None and rollout.stopped and not stored["stopped"]:
            stored["stopped"] = True
            self.save()
            LOGGER.warning("the challenger earned less", extra={"agent": self.name})

    def _key(self, given: PreparedReward | PreparedTicket) -> str:
        if given.key is not None:
            return given.key
        assert given.event_id is not None
        known = self._find(given.event_id)
        if known is None:
            raise ProblemError(404, "event_id must be that of a decision of this agent")
        return known.key

    def reward_many(self, given: PreparedRewards) -> schemas.Items:
        """Record many rewards, each alone."""
        return schemas.Items([_each(self.reward, one) for one in given.items])

    def revise(self, given: PreparedReward) -> schemas.Done:
        """Replace a reward that was learned."""
        self.agent.revise(self._key(given), given.reward)
        return schemas.Done(True)

    def cancel(self, given: PreparedTicket) -> schemas.Done:
        """Cancel a decision whose reward will never come."""
        self.agent.cancel(self._key(given))
        return schemas.Done(True)

    def explain(self, request: schemas.Explain) -> schemas.Explained:
        """Explain the scores of actions by what the agent knows now."""
        found = self.agent.explain(context=request.context, actions=request.actions)
        arrays = (found.contributions, found.bonuses, found.score, found.mean, found.width)
        return schemas.Explained(
            found.actions, list(found.feature_names), *(array.tolist() for array in arrays)
        )

    # ---- modes and marks

    def describe_settings(self) -> schemas.Settings:
        """Return mode, hold-out share, baseline and version."""
        stored = self.settings
        mode: Any = stored.mode
        return schemas.Settings(mode, stored.holdout, stored.baseline, stored.version)

    def set_mode(self, request: schemas.SetMode) -> schemas.Settings:
        """Set mode, hold-out share and baseline; "frozen" decides from a mark, or from now on."""
        frozen = None
        if request.baseline is not UNSET:
            check_baseline("baseline", self.config, str(request.baseline))
        if request.mode == "frozen":
            name = "frozen" if request.mark is UNSET else self._mark_file(str(request.mark))
            frozen = self._freeze(name)
        elif request.mark is not UNSET:
            raise ProblemError(422, 'mark needs the mode "frozen"')

        def change() -> None:
            stored = self.settings
            for field in ("mode", "holdout", "baseline"):
                value = getattr(request, field)
                if value is not UNSET:
                    setattr(stored, field, value)
            if frozen is not None:
                stored.frozen, self.frozen = frozen
            self.save()

        self.writer.call(change)
        LOGGER.info("mode", extra={"agent": self.name, "mode": self.settings.mode})
        return self.describe_settings()

    def _mark_file(self, name: str) -> str:
        if name not in self.settings.marks:
            raise ProblemError(404, f"there is no mark {name}: POST /marks makes one")
        return str(self.settings.marks[name]["file"])

    def _freeze(self, name: str) -> tuple[str, FrozenPolicy]:
        """Return the file of a state that decides from now on, and its policy."""
        file = name
        if name == "frozen":
            file = f"{self.name}.frozen.state"
            write_mark(self.folder / file, self.writer.call(lambda: pack_learned(self.agent)))
        seed = self.config.seed + int(1e6 * time.time()) % (1 << 40)
        return file, FrozenPolicy(self.folder / file, self.agent.policy, seed)

    def _thaw(self) -> None:
        """Load the policy that decides; one that the configuration freezes is that of now."""
        self.settings.frozen, self.frozen = self._freeze(self.settings.frozen or "frozen")
        self.save()

    def make_mark(self, request: schemas.MakeMark) -> schemas.Done:
        """Name this moment: what is learned until now is stored."""
        if request.name in self.settings.marks:
            raise ProblemError(409, f"there is a mark {request.name} already")
        file, moment = f"{self.name}.{request.name}.mark", time.time()
        write_mark(self.folder / file, self.writer.call(lambda: pack_learned(self.agent)))
        self.settings.marks[request.name] = {"time": moment, "file": file}
        self.writer.call(self.save)
        return schemas.Done(True)

    # ---- promotion and rollback

    def promote(self, request: schemas.Policy) -> schemas.Settings:
        """Replace the policy by one that has learned everything in the ledger."""
        return promotion.promote(self, [*self.settings.policies, self.describe(request)])

    def rollback(self, _: schemas.Empty) -> schemas.Settings:
        """Return to the policy before the last promotion; it has learned everything since."""
        if not self.settings.policies:
            raise ProblemError(409, "nothing was promoted")
        return promotion.promote(self, self.settings.policies[:-1])

    def rebuild(self, _: schemas.Empty) -> schemas.Settings:
        """Learn everything in the ledger again, with the policy in force."""
        return promotion.promote(self, self.settings.policies)

    # ---- roll-out of a challenger

    def start_rollout(self, request: schemas.StartRollout) -> dict[str, Any]:
        """Start a challenger, in the shadow or for a share of the units."""
        stored = self.describe(request) | {
            "seed": self.config.seed + int(time.time()),
            "share": request.share,
            "since": self.agent.state.tickets.issued,
            "stopped": False,
        }
        rollout = self._load_rollout(stored)
        self.settings.rollout = stored
        self.writer.call(self.save)
        return rollout.to_dict()

    def _load_rollout(self, stored: Description) -> Rollout:
        """Make the challenger of stored settings: it learns the ledger, then follows it."""
        challenger = Agent(self.policy_of([stored]), encoder=self.agent.encoder)
        challenger.warm()
        rollout = Rollout(stored, challenger, stored["share"])
        rollout.stopped = stored["stopped"]

        def follow() -> int:
            self.rollout = rollout
            return 0 if self.agent.ledger is None else self.agent.ledger.length

        events = self.writer.call(follow)
        compared = []
        if events:
            rollout.load(*history.read_lessons(self.agent, events))
            compared = history.read_group_rewards(self.agent, stored["since"], events)
        self.writer.call(lambda: rollout.start(compared))
        return rollout

    def stop_rollout(self, _: Any) -> schemas.Done:
        """Stop the challenger."""

        def stop() -> None:
            self.rollout = self.settings.rollout = None
            self.save()

        self.writer.call(stop)
        return schemas.Done(True)

    # ---- reading

    def summary(self, _: Any = None) -> dict[str, Any]:
        """Return the state of the agent for the API and the page."""
        return summarize(self)

    def action_table(self, _: Any = None) -> dict[str, Any]:
        """Return plays, rewards and intervals by action."""
        return {"actions": self.monitor.table()}

    def history(self, request: schemas.Page) -> dict[str, Any]:
        """Return up to 1,000 decisions after a ticket number, with their rewards."""
        return history.read_page(self.agent, request.after)

    def events(self, request: schemas.Page) -> bytes:
        """Return up to 100,000 decisions after a ticket number, with their rewards, as Parquet."""
        return history.write_parquet(self.agent, request.after)


def _each(operation: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of an item of a batch, or its problem."""
    try:
        if isinstance(item, Rejected):
            raise ProblemError(item.status, item.detail)
        return operation(item)
    except Exception as error:
        return schemas.ProblemDocument(**problem_of(error).to_dict())
