"""Parts as people write them the first time; the guilty line of each says `here`."""

from typing import Any, NamedTuple

import numpy as np

import heavybandits as hb
from heavybandits.authoring import Floats, Key, make_memory, uniform
from heavybandits.links import Identity

TABLE = {1: 0.5}


class Cut(NamedTuple):
    """A filter without a fault: rewards cut at a level."""

    level: float
    plays: int = 1

    def init(self) -> Any:
        return make_memory(self.plays)

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        return min(rewards[0], self.level)


class Misspelt(Cut):
    __slots__ = ()

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        return min(rewards[0], self.levle)  # type: ignore[attr-defined] # here


class Distant(Cut):
    """Out of bounds from the sixth reward on."""

    __slots__ = ()

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        memory.counts[0] += 1
        if memory.counts[0] > 5:
            return rewards[99]  # here
        return rewards[0]


class Assigning(Cut):
    __slots__ = ()

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        self.level = rewards[0]  # type: ignore[misc] # here
        return rewards[0]


class Silent(Cut):
    __slots__ = ()

    def apply(  # here
        self, memory: Any, rewards: Floats, norm: float, predicted: float
    ) -> float:
        return None  # type: ignore[return-value]


class Stateless(Cut):
    """Its memory has no counts."""

    __slots__ = ()

    def init(self) -> Any:
        return ()


class Dividing(Cut):
    """Stops Python at its first reward, and compiled code never."""

    __slots__ = ()

    def apply(self, memory: Any, rewards: Floats, norm: float, predicted: float) -> float:
        return min(rewards[0], 1.0 / (self.level - self.level))


# ---- what runs in Python and does not compile


class Draw(NamedTuple):
    """A noise without a fault."""

    scale: float = 1.0
    link: Any = Identity()

    def draw(self, key: Key, play: int) -> float:
        return self.scale * (uniform(key, 4 * play) - 0.5)

    def half(self) -> float:
        return 0.5


def plain(x: float) -> float:
    return x - 0.5


class Making(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        pair = np.zeros(2)  # here
        pair[0] = uniform(key, 4 * play)
        return pair[0]


class Methodical(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        return self.link.mean(uniform(key, 4 * play))  # here


class Calling(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        return plain(uniform(key, 4 * play))  # here


class Looking(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        return uniform(key, 4 * play) - TABLE[1]  # here


class Numeric(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        return float(np.i0(uniform(key, 4 * play)))  # here


class Fickle(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        pair = (0.0, 1.0)
        if play > 10**9:
            pair = (0.0, 1.0, 2.0)  # type: ignore[assignment]
        return pair[play % 2]  # here


class Careful(Draw):
    __slots__ = ()

    def draw(self, key: Key, play: int) -> float:
        with np.errstate(all="ignore"):  # here
            return uniform(key, 4 * play)


def simulate_cell(name: str) -> dict[str, Any]:
    """Simulate with the broken filter of this name, as a cell of a sweep does."""
    policy = hb.linucb(dim=3, radius=1.0, filter=globals()[name](1.0))
    problem = hb.Problem(hb.arms.PerRound(4, 3), Identity(), hb.noises.StudentT(1.5))
    hb.simulate(policy, problem, horizon=40, repetitions=1, checkpoints=4)
    return {}
