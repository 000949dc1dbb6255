"""In coba: our policies as its learners, and its environments as rounds for `replay`.

Nothing here imports coba: it takes learners and environments by their methods.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from .._utils.errors import InvalidInputError
from .._utils.validation import finite_array, positive, whole
from ..agents.agent import Agent, with_new_owner
from ..agents.state_file import pack, unpack
from ..agents.tickets import Ticket
from ..core.arrays import Floats
from ..core.protocols import Policy
from ..offline.replay.protocols import Schedule, fit_oracle

__all__ = ["EnvironmentRounds", "Learner", "products"]

Features = Callable[[Any, Sequence[Any]], Any]


def products(context: Any, actions: Sequence[Any]) -> Floats:
    """Return one row per action: its features times each of (1, the context).

    Without a context it is the features alone. coba calls these features "a" and "ax". An action
    that is a single number is one feature.

    Parameters
    ----------
    context : sequence of float or None
        Features of the context.
    actions : sequence
        Features of each action.

    Returns
    -------
    array of shape (K, d)
        One row per action.

    Examples
    --------
    >>> products([0.5], [(1, 0), (0, 1)]).tolist()
    [[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.5]]
    """
    try:
        rows = np.array([np.ravel(action) for action in actions], np.float64)
    except ValueError as error:
        raise InvalidInputError(
            f"actions must be numbers or rows of them, got {actions!r:.80}: give `features`"
        ) from error
    if context is None:
        return rows
    try:
        known = np.concatenate([[1.0], np.ravel(context).astype(np.float64)])
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"context must be a number or a row of them, got {context!r:.80}: give `features`"
        ) from error
    return (rows[:, :, None] * known).reshape(len(rows), -1)


class Learner:
    """Use a policy as a learner of coba (https://github.com/VowpalWabbit/coba).

    The learner learns from its own choices (coba's learn="on"), because a reward belongs to a
    ticket.

    Parameters
    ----------
    policy : Policy
        The result of an algorithm such as `linucb`.
    features : function, default products
        A function of the context and the actions that returns the arms, an array of shape (K, d).
    scale : float, default 1.0
        Number by which features are divided, so that no arm is longer than 1.
    name : str, default "heavybandits"
        Name of the learner in coba's tables.
    rng : int or Generator, optional
        Breaks ties between arms, as in `Agent`.

    Examples
    --------
    >>> import heavybandits as hb
    >>> learner = Learner(hb.linucb(dim=2, radius=1.0))
    >>> action, probability, more = learner.predict(None, [(1.0, 0.0), (0.0, 1.0)])
    >>> learner.learn(None, action, 0.5, probability, **more)
    >>> action, learner.agent.updates
    ((1.0, 0.0), 1)
    """

    def __init__(
        self,
        policy: Policy,
        *,
        features: Features = products,
        scale: float = 1.0,
        name: str = "heavybandits",
        rng: Any = None,
    ) -> None:
        self.agent, self._features = Agent(policy, rng), features
        self._scale, self.params = positive("scale", scale), {"family": name}

    def predict(self, context: Any, actions: Sequence[Any]) -> tuple[Any, float, dict[str, Any]]:
        """Choose an action in this context.

        Parameters
        ----------
        context : object
            Context of the interaction, as `features` takes it.
        actions : sequence
            The available actions.

        Returns
        -------
        action : object
            The chosen action.
        probability : float
            Its propensity.
        more : dict
            Keywords for `learn`: the ticket.
        """
        arms = np.asarray(self._features(context, actions), np.float64) / self._scale
        ticket = self.agent.select(arms)
        return actions[ticket.arm], ticket.propensity or 1.0, {"ticket": ticket}

    def learn(
        self, context: Any, action: Any, reward: float, probability: Any, ticket: Ticket
    ) -> None:
        """Record the reward of an action.

        Parameters
        ----------
        context : object
            Context of the interaction; not used.
        action : object
            The action; not used.
        reward : float
            The reward, any finite number.
        probability : float
            Its propensity; not used.
        ticket : Ticket
            The ticket that `predict` returned.
        """
        self.agent.update(ticket, float(reward))

    def __getstate__(self) -> dict[str, Any]:  # coba copies learners, and sends them to processes
        return vars(self) | {"agent": (self.agent.policy, pack(self.agent.state))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        policy, data = state["agent"]
        copied = with_new_owner(unpack(data, policy=policy))  # a copy is another agent
        vars(self).update(state | {"agent": Agent.from_state(copied)})


class Environment(Protocol):
    """What coba calls an environment: it can be read again and again."""

    def read(self) -> Iterable[Any]: ...


class EnvironmentRounds:
    """Read the interactions of a coba environment as rounds for `replay`.

    Pass 0 has the order of the environment, the others a random order. All features are divided by
    the longest row; the oracle is the least-squares fit on all rewards.

    Parameters
    ----------
    environment : object with a `read` method
        A simulation of coba, not a log: `read()` gives interactions with `actions`, `rewards`, and
        `context` if there is one.
    features : function, default products
        A function of the context and the actions that returns the arms, an array of shape (K, d).
    limit : int, optional
        Largest number of interactions to read. None for all.
    seed : int, default 0
        Seed of the orders.

    Examples
    --------
    >>> import heavybandits as hb
    >>> class Simulation:
    ...     def read(self):
    ...         for t in range(200):
    ...             yield {"context": None, "actions": [(1, 0), (0, 1)], "rewards": [t % 2, 3.0]}
    >>> rounds = EnvironmentRounds(Simulation())
    >>> result = hb.replay(rounds, policies=hb.linucb(dim=2, radius=1.0), passes=2)
    >>> bool(result.values("policy").mean() > 2.9)
    True
    """

    fixed = False

    def __init__(
        self,
        environment: Environment,
        features: Features = products,
        limit: int | None = None,
        seed: int = 0,
    ) -> None:
        most = None if limit is None else whole("limit", limit, least=2)
        read = [_read(each, features) for each in islice(environment.read(), most)]
        if len(read) < 2:
            raise InvalidInputError(
                f"environment must give two interactions or more, got {len(read)}"
            )
        self.seed, sizes = whole("seed", seed, least=0), [len(paid) for _, paid in read]
        self.size = max(sizes)
        widths = sorted({arms.shape[1] for arms, _ in read})
        if len(widths) > 1:
            raise InvalidInputError(
                f"features must give rows of one length, got {widths[0]} and {widths[-1]} numbers"
            )
        rows = np.concatenate([arms for arms, _ in read])
        self.features = np.ascontiguousarray(rows / (np.linalg.norm(rows, axis=1).max() or 1.0))
        self.rewards = np.concatenate([paid for _, paid in read])
        self._rows = np.full((len(sizes), self.size), -1, np.int64)
        self._rows[np.arange(self.size) < np.array(sizes)[:, None]] = np.arange(sum(sizes))

    def deal(self, number: int) -> Schedule:
        """Return the rounds of one pass.

        Parameters
        ----------
        number : int
            Number of the pass, from 0.

        Returns
        -------
        Schedule
            The rounds, in the order of the pass.
        """
        rng = np.random.default_rng([self.seed, number])
        rows = self._rows if number == 0 else self._rows[rng.permutation(len(self._rows))]
        return Schedule(rows, rows)

    def oracle(self) -> Floats:
        """Return the scores of all arms by least squares on all rewards.

        Returns
        -------
        array
            One score per arm.
        """
        return fit_oracle(self.features, self.rewards)


def _read(interaction: Any, features: Features) -> tuple[Floats, Floats]:
    """The arms of an interaction and what each of them pays; rewards are numbers or a function."""
    try:
        actions, rewards = interaction["actions"], interaction["rewards"]
    except KeyError as error:
        raise InvalidInputError(
            f"environment must give the rewards of all actions, got an interaction without {error}"
        ) from error
    paid = [rewards(action) for action in actions] if callable(rewards) else list(rewards)
    if not paid or len(paid) != len(actions):
        raise InvalidInputError(
            f"environment must give a reward per action, got {len(paid)} for {len(actions)} actions"
        )
    arms = finite_array("features", features(interaction.get("context"), actions), (None, None))
    return arms, finite_array("rewards", paid, (len(arms),))
