"""An agent that learns the ledger of another one, follows it, and takes over.

The other agent works on meanwhile. Only the last step needs that nothing happens to it, and takes
as long as the few events that are left.
"""

from collections.abc import Sequence
from pathlib import Path

from ..agents.agent import Agent
from ..agents.agent_policy import AgentPolicy
from ..agents.raw_inputs import RawInputs
from ..agents.tickets import Owner
from ..core.protocols import Policy
from .reader import LedgerReader
from .rebuild import BATCH, Entry, describes, rebuild_state, repeat_entry
from .store import Row, Source

FEW = 20  # events that are left for the last step
MOST_ROUNDS = 100  # of following, if events come as fast as they are repeated
ROWS = f"""SELECT {", ".join(f"events.{name}" for name in Row._fields)},
    {", ".join(f"inputs.{name}" for name in RawInputs._fields)}
FROM events LEFT JOIN inputs ON inputs.event = events.event
WHERE events.event > ? ORDER BY events.event LIMIT ?"""


class Successor:
    """An agent of another policy that has learned a ledger and follows it.

    Parameters
    ----------
    ledger : path or address
        The ledger to learn. Its agent works on.
    policy : Policy
        The policy of the successor.
    output : path or address
        The new ledger of the successor.

    Examples
    --------
    >>> import heavybandits as hb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     agent = hb.Agent(hb.linucb(dim=2, radius=1.0), ledger=f"{folder}/one.db")
    ...     ticket = agent.select([[1.0, 0.0]])
    ...     wider = hb.linucb(dim=2, radius=2.0)
    ...     made = Successor(f"{folder}/one.db", wider, f"{folder}/two.db")
    ...     agent = made.take_over(agent)
    ...     agent.update(ticket.key, 0.5), agent.policy == wider
    ...     agent.close()
    ('applied', True)
    """

    def __init__(self, ledger: str | Path, policy: Policy, output: str | Path) -> None:
        self._state, made, self._log_inputs = rebuild_state(ledger, policy, output=output)
        assert made is not None  # there is an output
        self._ledger, self._learner = made, AgentPolicy(self._state.policy)
        self._reader = LedgerReader(ledger)
        self._same = describes(self._reader.policy, policy)

    def follow(self) -> None:
        """Repeat what has happened since, until little is left."""
        for _ in range(MOST_ROUNDS):
            if self._repeat(BATCH) <= FEW:
                return

    def take_over(self, agent: Agent) -> Agent:
        """Return the successor as the agent that continues where another one is now.

        Nothing may happen to the other agent meanwhile, and it must not be used any more. Its
        tickets, also the latest, are accepted.
        """
        while self._repeat(BATCH):
            pass
        self._reader.close()
        mine = self._state.owners[-1]
        adopted = Owner(agent.id, mine.first)
        self._ledger.own(adopted)
        state = self._state._replace(owners=(*self._state.owners[:-1], adopted))
        return Agent.from_state(state, ledger=self._ledger, log_inputs=self._log_inputs)

    def close(self) -> None:
        """Give up: close the new ledger, which is not used."""
        self._reader.close()
        self._ledger.drop()

    def _repeat(self, most: int) -> int:
        """Repeat so many events at most, and return how many there were."""
        entries = self._reader.read(lambda source: read_entries(source, self._ledger.length, most))
        events = []
        for entry in entries:
            self._state, event = repeat_entry(self._state, entry, self._same, self._learner)
            events.append(event)
        if events:
            self._ledger.write(events)
            self._ledger.snapshot_if_due(self._state)
        return len(events)


def read_entries(source: Source, after: int, most: int) -> Sequence[Entry]:
    """Return the events after this one with their raw inputs, so many at most."""
    columns = len(Row._fields)
    return [
        Entry(Row._make(values[:columns]), _inputs_of(values[columns:]))
        for values in source.rows(ROWS, after, most)
    ]


def _inputs_of(values: Sequence[object]) -> RawInputs | None:
    return None if values[0] is None else RawInputs._make(values)
