"""Checks of the policy itself, of the arms that it gets, and of inputs that it must reject."""

import warnings
from typing import Any

import numpy as np

from .._utils.errors import InvalidInputError
from ..agents.agent import Agent
from ..agents.state import anonymous, flatten, kept
from ..agents.state_file import pack
from ..core.arrays import Floats
from ..core.capabilities import accepts_any_norm, capacity_of
from ..core.part import build, cast, classes_of, describe, is_part, known_parts
from .check_policy import check, require

ROWS = 5


def still_agent(policy: Any, rng: Any = None) -> Agent:
    """Make an agent whose clock does not advance, so that two of them can be compared."""
    return Agent(policy, rng, clock=lambda: 0.0)


def make_arms(policy: Any, seed: int = 0, rows: int = ROWS) -> Floats:
    """Return random rows of norm at most one."""
    arms = np.random.default_rng(seed).normal(size=(rows, policy.dim))
    return arms / (1.0 + np.linalg.norm(arms, axis=1, keepdims=True))


def make_rewards(size: int, seed: int = 0) -> list[float]:
    """Return rewards with heavy tails."""
    return [float(y) for y in np.random.default_rng(seed).standard_t(2.0, size)]


def decisions(policy: Any, wanted: int = 6) -> int:
    """Return so many decisions, or fewer if the policy has no room for them."""
    room = capacity_of(policy)
    return wanted if room is None else max(1, min(wanted, int(room) // 2))


def train(agent: Agent, rounds: int, seed: int = 0) -> Agent:
    """Let an agent make so many decisions and learn each at once."""
    for t in range(rounds):
        arms = make_arms(agent.policy, seed + t)
        for y in make_rewards(agent.policy.plays, seed + t):
            agent.update(agent.select(arms), y)
    return agent


def trained(policy: Any, rng: Any = None) -> Agent:
    """Make an agent that has learned a few decisions."""
    return train(still_agent(policy, rng), decisions(policy))


def packed(agent: Agent) -> bytes:
    """Return the whole state of an agent but for its id, as bytes."""
    return pack(anonymous(agent.state))


def bits(agent: Agent) -> bytes:
    """Return what an agent has learned, as bytes."""
    return b"".join(array.tobytes() for array in kept(agent.state.learned).values())


def must_reject(agent: Agent, call: Any, what: str) -> None:
    """Require that the call raises InvalidInputError and changes nothing."""
    before = bits(agent), agent.pending, agent.updates
    try:
        call()
    except InvalidInputError:
        pass
    else:
        raise AssertionError(f"{what} was accepted")
    require((bits(agent), agent.pending, agent.updates) == before, f"{what} changed the agent")


# ---- the policy itself


@check
def methods(policy: Any) -> None:
    """It has every method of a policy."""
    wanted = ("init", "choose", "learn", "estimate_arm", "tally", "plays", "dim")
    missing = [name for name in wanted if not hasattr(policy, name)]
    require(not missing, f"it lacks {', '.join(missing)}")


@check
def named_tuple(policy: Any) -> None:
    """It is a NamedTuple whose fields have the types of their annotations."""
    require(is_part(policy), f"it is a {type(policy).__name__}")
    require(describe(cast(policy)) == describe(policy), "casting its fields twice changes them")


@check
def sizes(policy: Any) -> None:
    """`dim` and `plays` are positive integers."""
    for name in ("dim", "plays"):
        value = getattr(policy, name)
        require(type(value) is int and value >= 1, f"{name} is {value!r}")


@check
def description(policy: Any) -> None:
    """It can be described as JSON and built again."""
    again = cast(build(describe(policy), known_parts(classes_of(policy))))
    require(describe(again) == describe(policy), "it is built again as another policy")


@check
def arrays(policy: Any) -> None:
    """Its state consists of NamedTuples of contiguous, finite arrays of floats and integers."""
    for name, array in flatten(policy.init()).items():
        require(isinstance(array, np.ndarray), f"{name} is a {type(array).__name__}")
        require(array.dtype.kind in "fiu", f"{name} has dtype {array.dtype}")
        require(bool(array.flags.c_contiguous), f"{name} is not contiguous")
        require(bool(np.isfinite(array).all()), f"{name} is not finite")


@check
def fresh_states(policy: Any) -> None:
    """Two states share no memory."""
    first, second = flatten(policy.init()), flatten(policy.init())
    for name, array in first.items():
        require(not np.shares_memory(array, second[name]), f"two states share {name}")


# ---- valid inputs


@check
def cold_start(policy: Any) -> None:
    """It decides and predicts before the first reward."""
    agent = still_agent(policy)
    means, widths = agent.predict(make_arms(policy), return_width=True)
    require(bool(np.isfinite(means).all() and np.isfinite(widths).all()), "a prediction is not")
    ticket = agent.select(make_arms(policy))
    require(np.isfinite(ticket.expected) and ticket.width >= 0.0, f"it expects {ticket.expected}")


@check
def chosen_features(policy: Any) -> None:
    """The features of a ticket are those of its arm."""
    agent = trained(policy)
    arms = make_arms(policy, 99)
    ticket = agent.select(arms)
    require(0 <= ticket.arm < ROWS, f"it chose arm {ticket.arm} of {ROWS}")
    require(np.array_equal(ticket.features, arms[ticket.arm]), "the features are not that arm's")


@check
def one_arm(policy: Any) -> None:
    """With a single arm the policy chooses it, without an error."""
    agent = still_agent(policy)
    arms = make_arms(policy, rows=1)
    for _ in range(policy.plays):
        agent.update(agent.select(arms), 1.0)
    require(agent.select(arms).arm == 0, "it did not choose the only arm")


@check
def mask(policy: Any) -> None:
    """A masked arm is not chosen."""
    for arm in range(ROWS):
        agent = trained(policy)
        allowed = np.arange(ROWS) == arm
        require(agent.select(make_arms(policy, 99), allowed).arm == arm, "it chose a masked arm")


@check
def number_of_arms(policy: Any) -> None:
    """The number of arms may change between decisions."""
    agent = still_agent(policy)
    for t in range(decisions(policy)):
        arms = make_arms(policy, t, rows=1 + t % 4)
        for _ in range(policy.plays):
            agent.update(agent.select(arms), 0.5)
    require(agent.updates == decisions(policy), f"it made {agent.updates} updates")


@check
def several_plays(policy: Any) -> None:
    """Its tickets count the plays down, and the arm stays the same within a decision."""
    agent, arms = still_agent(policy), make_arms(policy)
    tickets = [agent.select(arms) for _ in range(policy.plays)]
    left = [ticket.plays_left for ticket in tickets]
    require(left == list(range(policy.plays, 0, -1)), "it counts wrongly")
    require(len({t.arm for t in tickets}) == 1, "it changed the arm within a decision")


@check
def long_arms(policy: Any) -> None:
    """Arms of a norm above one work, with one warning unless it accepts any norm."""
    agent, arms = still_agent(policy), 100.0 * make_arms(policy)
    wanted = 0 if accepts_any_norm(policy) else 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(policy.plays * decisions(policy, 3)):
            agent.update(agent.select(arms), 1.0)
    require(len(caught) == wanted, f"it warned {len(caught)} times")
    require(bool(np.isfinite(agent.predict(arms)).all()), "a prediction is not finite")


@check
def inputs_untouched(policy: Any) -> None:
    """It does not change the arms and the mask of the caller."""
    agent, arms, allowed = still_agent(policy), make_arms(policy), np.ones(ROWS, bool)
    before = arms.copy()
    agent.update(agent.select(arms, allowed), 1.0)
    agent.predict(arms)
    require(np.array_equal(arms, before) and bool(allowed.all()), "it changed its input")


@check
def no_aliases(policy: Any) -> None:
    """Later changes to the arms or to a ticket by the caller have no effect."""
    agent, twin = still_agent(policy), still_agent(policy)
    for _ in range(policy.plays):
        arms = make_arms(policy)
        ticket = agent.select(arms)
        arms[:], ticket.features[:] = 7.0, 7.0
        agent.update(ticket, 1.0)
        twin.update(twin.select(make_arms(policy)), 1.0)
    require(bits(agent) == bits(twin), "it keeps a view of what belongs to the caller")


# ---- invalid inputs


@check
def bad_arms(policy: Any) -> None:
    """It rejects arms that are not finite real numbers of the right shape."""
    agent, good = trained(policy), make_arms(policy)
    hole = good.copy()
    hole[1, 0] = np.nan
    bad = {
        "nan": hole,
        "infinity": np.where(np.isnan(hole), np.inf, good),
        "a missing column": good[:, 1:],
        "a row": good[0],
        "no arm": good[:0],
        "a complex number": good + 1j,
        "words": [["a"] * policy.dim],
        "None": None,
        "ragged rows": [[1.0] * policy.dim, [1.0] * (policy.dim + 1)],
    }
    for what, arms in bad.items():
        must_reject(agent, lambda arms=arms: agent.select(arms), what)
        must_reject(agent, lambda arms=arms: agent.predict(arms), what)


@check
def bad_masks(policy: Any) -> None:
    """It rejects a mask that is not one boolean per arm, or allows none."""
    agent, arms = trained(policy), make_arms(policy)
    for what in ([False] * ROWS, [True] * (ROWS + 1), [1] * ROWS, "yes"):
        must_reject(agent, lambda what=what: agent.select(arms, what), f"the mask {what}")


@check
def bad_rewards(policy: Any) -> None:
    """It rejects a reward that is not a finite real number, and the ticket stays pending."""
    agent = trained(policy)
    ticket = agent.select(make_arms(policy))
    for what in (np.nan, np.inf, -np.inf, "1", None, 1j, [1.0], True, 10**400):
        must_reject(agent, lambda what=what: agent.update(ticket, what), f"the reward {what!r:.20}")
    agent.update(ticket, 1.0)


@check
def bad_tickets(policy: Any) -> None:
    """It rejects unknown tickets, and a second reward of a ticket."""
    agent = trained(policy)
    ticket = agent.select(make_arms(policy))
    agent.update(ticket, 1.0)
    for what in (ticket, ticket.id, ticket.id + 1, -1, 1.5, "0", None, True):
        must_reject(agent, lambda what=what: agent.update(what, 1.0), f"the ticket {what!r:.20}")
    require(packed(agent.clone()) == packed(agent), "rejected calls changed it")
