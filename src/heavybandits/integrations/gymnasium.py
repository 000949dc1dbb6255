"""A Gymnasium environment: import this module to register `heavybandits/HeavyTailedGLB-v0`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._utils.errors import InvalidInputError, optional
from .._utils.validation import whole
from ..core.arm_buffer import ArmBuffer
from ..core.arrays import Floats, Key
from ..core.compile import Function, compiled
from ..core.dispatch import draw, mean, move, refresh
from ..core.part import own_classes
from ..core.protocols import ArmSet, Link, Noise
from ..core.rng import ARMS, NOISE, stream_key
from ..core.world import drift_key, make_world, see
from ..parts.arms import PerRound, Storefront
from ..parts.links import Logistic
from ..parts.noises import StudentT
from ..simulation.problem import Problem, check_problem

gymnasium = optional("gymnasium", "gym")

ENV_ID = "heavybandits/HeavyTailedGLB-v0"


def offer_kernel(stamp: str) -> Function:
    def kernel(arms: ArmSet, view: ArmBuffer, key: Key, play: int) -> None:
        stamp  # noqa: B018
        refresh(arms, view, key, play)

    return kernel


def outcome_kernel(stamp: str) -> Function:
    def kernel(link: Link, scores: Floats, noise: Noise, key: Key, play: int) -> float:
        stamp  # noqa: B018
        for k in range(scores.size):
            scores[k] = mean(link, scores[k])
        return draw(noise, key, play)

    return kernel


class HeavyTailedGLB(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Simulate a generalised linear bandit: the observation is the arms, the action a row of them.

    The reward is mu(x.theta*) + noise, or what the noise, the drift and the adversary of the
    problem make of it; a delay is rejected. `info` contains what a policy must not see:
    `mean_reward`, `noise`, `best_arm`, the `regret` of this step and `total_regret` so far. For
    `hb.worlds.shop` and for arm sets of your own, in which actions come and go, `info` also has
    the `action_mask` of the observation that comes with it: 1 for an action that is available.
    After `horizon` steps the episode is truncated.

    With reset(seed=s), episode e has the arms and the noise of repetition e of
    `simulate(..., seed=s)`, at every step the same, whatever was played before.

    Parameters
    ----------
    problem : Problem, optional
        Arms (a finite set), link, noise and theta*. Default: 20 new arms in 10 dimensions per
        round, the logistic link and Student's t noise with 3 degrees of freedom.
    horizon : int, default 1000
        Steps per episode.

    Examples
    --------
    >>> env = gymnasium.make(ENV_ID, horizon=5)
    >>> arms, info = env.reset(seed=0)
    >>> arms.shape, sorted(env.step(3)[4])
    ((20, 10), ['best_arm', 'mean_reward', 'noise', 'regret', 'total_regret'])
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, problem: Problem | None = None, horizon: int = 1000) -> None:
        if problem is None:
            problem = Problem(PerRound(20, 10), Logistic(), StudentT(3.0))
        self.problem, self.horizon = check_problem(problem), whole("horizon", horizon)
        if self.problem.arms.size == 0:
            raise InvalidInputError(
                f"problem.arms must be a finite set, got {type(problem.arms).__name__}"
            )
        if self.problem.delay is not None:
            raise InvalidInputError(
                "problem.delay must be None, because a step returns its reward: use `simulate`, or "
                f"tickets of an Agent, got {type(self.problem.delay).__name__}"
            )
        self._view = self.problem.arms.make_buffer()
        self._size = int(self.problem.arms.size)
        self._seed: int | None = None
        self._episode = self._play = 0
        self._total = 0.0
        arms, link, law = self.problem[:3]
        key, scores = np.uint64(0), np.zeros(self._size)
        self._refresh = compiled(offer_kernel, arms, self._view, key, 0)
        self._outcome = compiled(outcome_kernel, link, scores, law, key, 0)
        bound = self._bound()
        shape = (self._size, int(self.problem.arms.dim))
        self.observation_space = gymnasium.spaces.Box(-bound, bound, shape, np.float64)
        self.action_space = gymnasium.spaces.Discrete(self._size)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Start an episode and return the arms of its first step.

        Parameters
        ----------
        seed : int, optional
            Start episode 0 with this seed. None starts the next episode.
        options : dict, optional
            Not used.

        Returns
        -------
        observation : array of shape (K, d)
            The arms of the first step.
        info : dict
            Empty, or the `action_mask`.
        """
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            given = seed is not None
            self._seed = int(seed) if given else int(self.np_random.integers(1 << 31))  # type: ignore[arg-type]
            self._episode = 0
        else:
            self._episode += 1
        self._keys = [stream_key(self._seed, self._episode, stream) for stream in (ARMS, NOISE)]
        self._play, self._total = 0, 0.0
        _, _, law, theta, drift, _, adversary = self.problem
        self._theta = theta.copy()
        self._world = make_world(law, theta, drift, None, adversary, plays=1)
        return self._offer(), self._mask()

    def step(self, action: Any) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Play an arm and return the arms of the next step and the reward.

        Parameters
        ----------
        action : int
            Row of the arm, from 0.

        Returns
        -------
        observation : array of shape (K, d)
            The arms of the next step.
        reward : float
            The reward of the arm.
        terminated : bool
            Always False.
        truncated : bool
            True after `horizon` steps.
        info : dict
            What a policy must not see, as above.

        Raises
        ------
        InvalidInputError
            The action is not a row of the arms or not available, or `reset` was not called.
        """
        if not hasattr(self, "_arms"):
            raise InvalidInputError("reset must be called before step: there are no arms yet")
        if not _is_whole(action) or not self.action_space.contains(action):
            last = self._size - 1
            raise InvalidInputError(f"action must be a whole number in 0..{last}, got {action!r}")
        closed = self._view.penalty[: self._size] > 0.0
        if closed[action]:
            raise InvalidInputError(
                f"action must be available, got {action}: info['action_mask'] has 1 for those "
                "that are"
            )
        means = self._arms @ self._theta
        _, link, law = self.problem[:3]
        noise = float(self._outcome(link, means, law, self._keys[1], self._play))
        best, chosen = int(np.where(closed, -np.inf, means).argmax()), float(means[action])
        regret, arm = float(means[best]) - chosen, self._arms[action]
        with np.errstate(over="ignore"):
            seen = see(
                self._world, chosen, float(means[best]), arm, noise, self._keys[0], self._play
            )
        reward = float(seen)
        self._total += regret
        self._play += 1
        info = {"mean_reward": chosen, "noise": noise, "best_arm": best}
        info |= {"regret": regret, "total_regret": self._total}
        offered = self._offer()
        return offered, reward, False, self._play >= self.horizon, info | self._mask()

    def _offer(self) -> NDArray[np.float64]:
        key = drift_key(self._keys[0])
        move(self._world.drift, self._theta, self._world.start, key, self._play)
        self._refresh(self.problem.arms, self._view, self._keys[0], self._play)
        self._arms = self._view.features[:, : self._size].T.copy()
        return self._arms.copy()

    def _mask(self) -> dict[str, Any]:
        """Return the mask of the actions, if this set may have one."""
        arms = self.problem.arms
        if not (isinstance(arms, Storefront) or own_classes(arms)):
            return {}
        return {"action_mask": (self._view.penalty[: self._size] == 0.0).astype(np.int8)}

    def _bound(self) -> float:
        """Return what no component of an arm exceeds: one, unless the arms are given."""
        features = getattr(self.problem.arms, "features", None)
        return 1.0 if features is None else max(1.0, float(np.abs(features).max()))


def _is_whole(action: Any) -> bool:
    """Return True for an integer of Python or NumPy: Discrete takes True for 1."""
    if isinstance(action, np.ndarray):
        return action.ndim == 0 and action.dtype.kind in "iu"
    return isinstance(action, int | np.integer) and not isinstance(action, bool)


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point="heavybandits.integrations.gymnasium:HeavyTailedGLB")
