"""One agent of a service: modes, hold-out, decisions, rewards, marks, promotion and rollback.

Every method that changes something runs in the writer of the agent, one after another.
"""

import hashlib
import json
import logging
import random
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from msgspec import UNSET

from .._utils.errors import InvalidInputError, LedgerError
from .._utils.files import replace_atomically
from ..agents.agent import Agent
from ..agents.tickets import POLICY, Decision, Ticket
from ..core.protocols import Policy
from . import schemas
from .config import AgentConfig, Limits, make_policy, open_agent
from .monitor import Monitor
from .peek import peek
from .problems import ProblemError, problem_of
from .rollout import Rollout
from .summary import summarize
from .tokens import Signer
from .writer import GroupWriter, InlineWriter, Writer

LOGGER = logging.getLogger("heavybandits.serving")
MOST_HISTORY = 1000  # decisions of one page
MOST_REMEMBERED = 100_000  # event ids
SPACE = 1 << 64  # of the hash of a unit


@dataclass
class Stored:
    """What the service remembers of an agent between two starts, in a small JSON file."""

    mode: str
    holdout: float
    baseline: str
    version: int = 1
    ledger: str | None = None
    policies: list[dict[str, Any]] = field(default_factory=list)  # promoted, the newest last
    marks: dict[str, dict[str, Any]] = field(default_factory=dict)


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
        self.name, self.config, self._folder, self._signer = config.name, config, folder, signer
        self._file = folder / f"{config.name}.service.json"
        self.stored = self._load()
        self.agent = self._open()
        self._recent: OrderedDict[str, Ticket] = OrderedDict()
        self.monitor = Monitor()
        self.rollout: Rollout | None = None
        self._frozen = self._thaw() if self.stored.mode == "frozen" else None
        self.writer: Writer = InlineWriter()
        if self.agent.ledger is not None:
            self.writer = GroupWriter(self._batch, f"writer of {self.name}", limits.queue)
        self.ready = False

    # ---- opening

    def _load(self) -> Stored:
        config = self.config
        if self._file.exists():
            return Stored(**json.loads(self._file.read_text()))
        return Stored(config.mode, config.holdout, config.baseline, ledger=config.ledger)

    def _save(self) -> None:
        text = json.dumps(asdict(self.stored), indent=1)
        replace_atomically(self._file, lambda path: path.write_text(text))

    def _open(self) -> Agent:
        ledger, policies = self.stored.ledger, self.stored.policies
        if ledger is not None and "://" not in ledger:
            ledger = str(self._folder / ledger)
        agent = open_agent(self.config, self._folder, ledger=None)
        if not policies and ledger is None:
            return agent
        policy = self._make_policy(policies[-1], agent) if policies else None
        return open_agent(self.config, self._folder, policy=policy, ledger=ledger)

    def _make_policy(self, given: Mapping[str, Any], agent: Agent | None = None) -> Policy:
        dim = (agent or self.agent).policy.dim
        return make_policy(
            given["policy"], dim, given["parameters"], given["epsilon"], self.config.seed
        )

    @property
    def _frozen_file(self) -> Path:
        return self._folder / f"{self.name}.frozen.state"

    def _thaw(self) -> Agent:
        """Return the agent as it was when its mode was set to frozen."""
        if not self._frozen_file.exists():  # frozen by the configuration, at the first start
            self.agent.save(self._frozen_file)
        return Agent.load(self._frozen_file)

    def warm(self) -> None:
        """Compile what traffic needs, and check that the ledger can be written."""
        self.agent.warm()
        self.agent.expire_due()
        self.ready = True

    @contextmanager
    def _batch(self) -> Iterator[None]:
        """Write all requests of one commit together; forget them if that fails."""
        try:
            with self.agent.batch():
                yield
        except LedgerError:
            self._recent.clear()
            raise

    def close(self) -> None:
        """Finish what waits and close the ledger."""
        self.writer.close()
        self.agent.close()

    # ---- decisions

    def decide(self, request: schemas.Decide) -> schemas.Decided:
        """Make a decision, or return the one that was made for this event id."""
        if request.event_id is not None:
            known = self._find(request.event_id)
            if known is not None:
                self.monitor.counts["repeated"] += 1
                return self._decided(known)
        baseline = self._baseline(request)
        if self.stored.mode == "off":
            return schemas.Decided(
                None,
                baseline,
                None,
                None,
                None,
                "off",
                self.stored.version,
                False,
                request.event_id,
            )
        chosen, propensity, group = self._choose(request, baseline)
        if chosen is None:
            ticket = self.agent.select(
                context=request.context,
                actions=request.actions,
                event_id=request.event_id,
                group=group,
            )
        else:
            ticket = self.agent.record(
                request.context,
                request.actions,
                chosen=chosen,
                propensity=propensity,
                event_id=request.event_id,
                group=group,
            )
        assert ticket.action is not None
        self._remember(ticket)
        self.monitor.decided(ticket.action, ticket.propensity, group)
        if self.rollout is not None:
            self.rollout.watch(request.context, request.actions, ticket.action)
        return self._decided(ticket)

    def _find(self, event_id: str) -> Ticket | None:
        """Return the ticket with this event id; None if it is new."""
        return self._recent.get(event_id) or self.agent.find(event_id)

    def _remember(self, ticket: Ticket) -> None:
        """Keep the latest tickets by event id: an agent without a ledger forgets them."""
        if ticket.event_id is not None:
            self._recent[ticket.event_id] = ticket
            if len(self._recent) > MOST_REMEMBERED:
                self._recent.popitem(last=False)

    def _choose(
        self, request: schemas.Decide, baseline: str
    ) -> tuple[str | None, float | None, str]:
        """Return action and propensity, both None if the policy decides, and the group."""
        mode, place = self.stored.mode, self._place(request)
        if mode == "apprentice":
            would = peek(self.agent, request.context, request.actions).action
            self.monitor.agree(would == baseline)
            return baseline, 1.0, "apprentice"
        if place < self.stored.holdout:
            return baseline, 1.0, "holdout"
        if mode == "frozen" and self._frozen is not None:
            made = peek(self._frozen, request.context, request.actions)
            return made.action, made.propensity, "frozen"
        rollout = self.rollout
        if rollout is not None and place < self.stored.holdout + rollout.share:
            made = rollout.choose(request.context, request.actions)
            return made.action, made.propensity, "canary"
        return None, None, "policy"

    def _place(self, request: schemas.Decide) -> float:
        """Return a number in [0, 1) that is the same for all requests of a unit."""
        unit = request.unit or request.event_id
        if unit is None:
            return random.random()
        digest = hashlib.blake2b(f"{self.name}\0{unit}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / SPACE

    def _baseline(self, request: schemas.Decide) -> str:
        if request.baseline is not None:
            if request.baseline not in request.actions:
                raise ProblemError(422, "baseline must be the name of one of the actions")
            return request.baseline
        named = self.stored.baseline
        return named if named in request.actions else next(iter(request.actions))

    def _decided(self, ticket: Ticket) -> schemas.Decided:
        return schemas.Decided(
            self._signer.sign(self.name, ticket.key),
            str(ticket.action),
            ticket.propensity,
            ticket.expected,
            ticket.width,
            ticket.group,
            self.stored.version,
            True,
            ticket.event_id,
        )

    def decide_many(self, request: schemas.Decisions) -> schemas.Items:
        """Make many decisions, each alone."""
        return schemas.Items([self._each(self.decide, one) for one in request.decisions])

    def _each(self, operation: Any, request: Any) -> Any:
        try:
            return operation(request)
        except Exception as error:
            return schemas.ProblemDocument(**problem_of(error).to_dict())

    # ---- rewards

    def _key(self, request: schemas.Reward | schemas.TicketOnly) -> str:
        if (request.ticket is None) == (request.event_id is None):
            raise ProblemError(422, "give ticket or event_id, one of them")
        if request.ticket is not None:
            return self._signer.verify(self.name, request.ticket)
        assert request.event_id is not None
        known = self._find(request.event_id)
        if known is None:
            raise ProblemError(404, "event_id must be that of a decision of this agent")
        return known.key

    def reward(self, request: schemas.Reward) -> schemas.Rewarded:
        """Record a reward."""
        key = self._key(request)
        decision = self._pending(key)
        group = POLICY if decision is None else decision.group
        try:
            outcome = self.agent.update(key, request.reward, request.noise_scale)
        except InvalidInputError:
            self.monitor.counts["rejected"] += 1
            raise
        action = "" if decision is None or decision.action is None else decision.action
        self.monitor.rewarded(outcome, request.reward, action, group, key)
        if outcome == "applied" and decision is not None and self.rollout is not None:
            self.rollout.learn(decision.features, request.reward, group)
        return schemas.Rewarded(outcome)

    def _pending(self, key: str) -> Decision | None:
        """Return the decision of a ticket that waits for its reward; None for any other."""
        number = int(key.partition(":")[2])
        return self.agent.state.tickets.decision_of(number)

    def reward_many(self, request: schemas.Rewards) -> schemas.Items:
        """Record many rewards, each alone."""
        return schemas.Items([self._each(self.reward, one) for one in request.rewards])

    def revise(self, request: schemas.Reward) -> schemas.Done:
        """Replace a reward that was learned."""
        self.agent.revise(self._key(request), request.reward)
        return schemas.Done(True)

    def cancel(self, request: schemas.TicketOnly) -> schemas.Done:
        """Cancel a decision whose reward will never come."""
        self.agent.cancel(self._key(request))
        return schemas.Done(True)

    def explain(self, request: schemas.Explain) -> schemas.Explained:
        """Explain the scores of actions by what the agent knows now."""
        found = self.agent.explain(context=request.context, actions=request.actions)
        arrays = (found.contributions, found.bonuses, found.score, found.mean, found.width)
        return schemas.Explained(
            found.actions, list(found.feature_names), *(array.tolist() for array in arrays)
        )

    # ---- modes

    @property
    def settings(self) -> schemas.Settings:
        """Return mode, hold-out share, baseline and version."""
        stored = self.stored
        return schemas.Settings(
            stored.mode,  # type: ignore[arg-type]
            stored.holdout,
            stored.baseline,
            stored.version,
        )

    def set_mode(self, request: schemas.SetMode) -> schemas.Settings:
        """Set mode, hold-out share and baseline."""
        stored = self.stored
        if request.mode == "frozen":
            self.agent.save(self._frozen_file)
            self._frozen = self._thaw()
        for name in ("mode", "holdout", "baseline"):
            value = getattr(request, name)
            if value is not UNSET:
                setattr(stored, name, value)
        self._save()
        LOGGER.info("mode", extra={"agent": self.name, "mode": stored.mode})
        return self.settings

    # ---- marks, promotion, rollback

    def make_mark(self, request: schemas.MakeMark) -> schemas.Done:
        """Name this moment: a copy of the state is stored."""
        if request.name in self.stored.marks:
            raise ProblemError(409, f"there is a mark {request.name} already")
        file = f"{self.name}.{request.name}.state"
        self.agent.save(self._folder / file)
        self.stored.marks[request.name] = {"time": time.time(), "file": file}
        self._save()
        return schemas.Done(True)

    def promote(self, request: schemas.Policy) -> schemas.Settings:
        """Replace the policy by one that has learned everything in the ledger."""
        policy = {
            "policy": request.policy,
            "parameters": dict(request.parameters),
            "epsilon": request.epsilon,
        }
        return self._swap([*self.stored.policies, policy])

    def rollback(self, _: schemas.Empty) -> schemas.Settings:
        """Return to the policy before the last promotion; it has learned everything since."""
        if not self.stored.policies:
            raise ProblemError(409, "nothing was promoted")
        return self._swap(self.stored.policies[:-1])

    def rebuild(self, _: Any) -> schemas.Settings:
        """Learn everything in the ledger again, with the policy in force."""
        return self._swap(self.stored.policies)

    def _swap(self, policies: list[dict[str, Any]]) -> schemas.Settings:
        agent, version = self.agent, self.stored.version + 1
        if agent.ledger is None:
            raise ProblemError(409, "this needs an agent with a ledger")
        fresh = open_agent(self.config, self._folder)
        policy = self._make_policy(policies[-1]) if policies else fresh.policy
        old, new = agent.ledger.path, self._new_ledger(version)
        agent.close()
        self._recent.clear()
        try:
            made = Agent.rebuild(old, policy, output=self._folder / new)
        except Exception:
            self.agent = self._open()
            raise
        self.agent = made
        self.stored.policies, self.stored.version, self.stored.ledger = policies, version, new
        self.rollout = None
        self._save()
        LOGGER.info("promoted", extra={"agent": self.name, "version": version})
        return self.settings

    def _new_ledger(self, version: int) -> str:
        first = Path(str(self.config.ledger))
        return str(first.with_name(f"{first.stem}.v{version}{first.suffix}"))

    # ---- roll-out of a challenger

    def start_rollout(self, request: schemas.StartRollout) -> dict[str, Any]:
        """Start a challenger, in the shadow or for a share of the units."""
        given = {
            "policy": request.policy,
            "parameters": dict(request.parameters),
            "epsilon": request.epsilon,
        }
        challenger = Agent(self._make_policy(given), encoder=self.agent.encoder)
        challenger.warm()
        self.rollout = Rollout(given, challenger, request.share, self.monitor)
        return self.rollout.to_dict()

    def stop_rollout(self, _: Any) -> schemas.Done:
        """Stop the challenger."""
        self.rollout = None
        return schemas.Done(True)

    # ---- reading

    def summary(self, _: Any = None) -> dict[str, Any]:
        """Return the state of the agent for the API and the page."""
        return summarize(self)

    def action_table(self, _: Any = None) -> dict[str, Any]:
        """Return plays, rewards and intervals by action."""
        return {"actions": self.monitor.table()}

    def history(self, query: bytes) -> dict[str, Any]:
        """Return up to 1,000 decisions after a ticket number, with their rewards."""
        text = dict(urllib.parse.parse_qsl(query.decode("latin-1"))).get("after", "-1")
        if not text.removeprefix("-").isdecimal() or len(text) > 18:
            raise ProblemError(422, "after must be the number of a ticket")
        if self.agent.ledger is None:
            raise ProblemError(409, "this needs an agent with a ledger")
        rows = [row for row in self.agent.history() if row["ticket"] > int(text)]
        return {"decisions": rows[:MOST_HISTORY], "more": len(rows) > MOST_HISTORY}
