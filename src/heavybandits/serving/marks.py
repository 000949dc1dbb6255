"""Marks: named moments of an agent, as files of its learned state."""

from pathlib import Path

from .._utils.files import replace_atomically
from ..agents.agent import Agent
from ..agents.agent_policy import AgentPolicy
from ..agents.decide import Request, choose_one
from ..agents.pending import TicketTable
from ..agents.state import AgentState
from ..agents.state_file import pack, read_state, unpack
from ..agents.tickets import Decision
from ..core.part import own_classes
from ..core.protocols import Policy


def pack_learned(agent: Agent) -> bytes:
    """Return what an agent has learned, without its tickets, in the format of a state file.

    The writer of the agent must call this: nothing may change meanwhile.
    """
    state = agent.state
    tickets = TicketTable(state.tickets.issued)
    tickets.counts = state.tickets.counts.copy()
    return pack(state._replace(tickets=tickets))


def write_mark(path: Path, data: bytes) -> None:
    """Store a mark; the file is replaced at once."""
    replace_atomically(path, lambda temporary: temporary.write_bytes(data))


class FrozenPolicy:
    """A policy that decides and does not learn.

    Parameters
    ----------
    path : Path
        The file of a mark.
    policy : Policy
        The policy in force, whose classes of your own the file may name.
    seed : int
        Seed of its random draws. It must differ each time the file is loaded: the same draws again
        would not have the propensities that they claim.
    """

    def __init__(self, path: Path, policy: Policy, seed: int) -> None:
        state = reseed(unpack(read_state(path), own_classes(policy)), seed)
        self._state, self._policy = state, AgentPolicy(state.policy)

    def choose(self, request: Request) -> Decision:
        """Return the decision of the policy."""
        return choose_one(self._state, self._policy, request)


def reseed(state: AgentState, seed: int) -> AgentState:
    """Return the state with another seed, if its policy draws."""
    policy = state.policy
    if "seed" not in getattr(policy, "_fields", ()):
        return state
    return state._replace(policy=policy._replace(seed=seed))  # type: ignore[attr-defined]
