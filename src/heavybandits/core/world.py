"""What may happen to theta and to the rewards of a problem while it is played.

A `World` has one field for each; None is a problem without it, and compiles to no code.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .._utils.errors import InvalidInputError
from .arrays import Floats, Integers, Key
from .dispatch import attack, reward, wait
from .jit import jitable
from .protocols import Adversary, Delay, Drift, Noise

# They separate the streams of a world from that of the arms.
_RESPONSE, _DRIFT = np.uint64(0x8CB92BA72F3D8DD7), np.uint64(0xA0761D6478BD642F)
_DELAY, _ATTACK = np.uint64(0xE7037ED1A0B428DB), np.uint64(0x589965CC75374CC3)
# Places in Mail.counts. Only the functions of this module use them.
_WAITING, _DECISIONS, _LOST = 0, 1, 2


class Mail(NamedTuple):
    """The decisions whose rewards have not arrived."""

    delay: Delay
    features: Floats  # (room, d)
    rewards: Floats  # (room, plays)
    due: Integers  # by place: the play after which the rewards arrive
    numbers: Integers  # by place: the number of the decision
    heap: Integers  # places, first those that wait (a heap by due and number), then the free ones
    counts: Integers  # decisions that wait, decisions so far, decisions without a place


class World(NamedTuple):
    """What changes or distorts a problem; None for each thing that does not."""

    law: Any = None  # the noise, where it sees the arm
    drift: Any = None
    start: Any = None  # theta before the first play
    adversary: Any = None
    purse: Any = None  # of the adversary: the sum of |changes| so far, and the budget
    mail: Mail | None = None


STILL = World()


def make_world(
    law: Noise,
    theta: Floats,
    drift: Drift | None,
    delay: Delay | None,
    adversary: Adversary | None,
    plays: int,
) -> World:
    """Make the world of a run before its first play."""
    sees_arm = hasattr(type(law), "reward")
    return World(
        law if sees_arm else None,
        drift,
        None if drift is None else theta.copy(),
        adversary,
        None if adversary is None else np.array([0.0, adversary.budget]),
        None if delay is None else make_mail(delay, theta.size, plays),
    )


def make_mail(delay: Delay, dim: int, plays: int) -> Mail:
    """Make room for the decisions whose rewards have not arrived."""
    room = delay.room
    due, numbers = np.zeros((2, room), np.int64)
    features, rewards = np.zeros((room, dim)), np.zeros((room, plays))
    return Mail(delay, features, rewards, due, numbers, np.arange(room), np.zeros(3, np.int64))


def overflow_of(world: World) -> int:
    """Return the number of decisions for which there was no room."""
    return 0 if world.mail is None else int(world.mail.counts[_LOST])


def is_lost(counts: Integers) -> Any:
    """Return which of many worlds had no room for a decision; the first axis is `Mail.counts`'."""
    return counts[_LOST] > 0


def no_room(delay: Any) -> InvalidInputError:
    """Return the error for more decisions without their rewards than a delay has room for."""
    return InvalidInputError(
        f"delay must leave at most {delay.room} decisions without their rewards "
        f"({type(delay).__name__}.room), and left more: pass a larger `room`"
    )


def changing_of(world: World) -> tuple[Any, ...]:
    """Return the arrays that must be restored before the next run."""
    counts = () if world.mail is None else (world.mail.counts,)
    return (*counts, *(() if world.purse is None else (world.purse,)))


@jitable
def drift_key(key: Key) -> Key:
    """Return the key of the stream of a drift; `key` is that of the arms."""
    return key ^ _DRIFT


@jitable
def see(
    world: World, mean: float, best: float, x: Floats, noise: float, key: Key, play: int
) -> float:
    """Return the reward that the policy sees."""
    made = reward(world.law, mean, x, noise, key ^ _RESPONSE, play)
    return corrupt(world.adversary, world.purse, made, mean, best, key, play)


@jitable
def corrupt(
    adversary: Any, purse: Any, made: float, mean: float, best: float, key: Key, play: int
) -> float:
    """Return the reward after the attack, which costs at most what is left of the budget."""
    if adversary is None:
        return made
    change = attack(adversary, made, mean, best, key ^ _ATTACK, play) - made
    left = max(purse[1] - purse[0], 0.0)
    if abs(change) > left:
        change = math.copysign(left, change)
    purse[0] += abs(change)
    return made + change


@jitable
def post(mail: Any, x: Floats, rewards: Floats, key: Key, play: int) -> bool:
    """Send the rewards of a decision; return True if any arrive at this play, its own or others."""
    if mail is None:
        return True
    number = mail.counts[_DECISIONS]
    mail.counts[_DECISIONS] += 1
    plays = wait(mail.delay, key ^ _DELAY, number)
    if plays >= 0:
        add_mail(mail, x, rewards, play + plays, number)
    return is_due(mail, play)


@jitable
def receive(mail: Any, x: Floats, rewards: Floats) -> tuple[Floats, Floats]:
    """Return the arm and the rewards that arrive next."""
    if mail is None:
        return x, rewards
    place = pop_first(mail)
    return mail.features[place], mail.rewards[place]


@jitable
def add_mail(mail: Any, x: Floats, rewards: Floats, due: int, number: int) -> None:
    """Store a decision until its rewards are due."""
    i = mail.counts[_WAITING]
    if i == mail.heap.size:
        mail.counts[_LOST] += 1
        return
    place = mail.heap[i]
    for j in range(x.size):
        mail.features[place, j] = x[j]
    for j in range(rewards.size):
        mail.rewards[place, j] = rewards[j]
    mail.due[place], mail.numbers[place] = due, number
    mail.counts[_WAITING] += 1
    while i > 0 and is_earlier(mail, place, mail.heap[(i - 1) // 2]):
        mail.heap[i] = mail.heap[(i - 1) // 2]
        i = (i - 1) // 2
    mail.heap[i] = place


@jitable
def pop_first(mail: Any) -> int:
    """Return the place of the decision that is due first, and free it."""
    first, size = mail.heap[0], mail.counts[_WAITING] - 1
    mail.counts[_WAITING] = size
    moved, i, child = mail.heap[size], 0, 1
    while child < size:
        if child + 1 < size and is_earlier(mail, mail.heap[child + 1], mail.heap[child]):
            child += 1
        if not is_earlier(mail, mail.heap[child], moved):
            break
        mail.heap[i] = mail.heap[child]
        i, child = child, 2 * child + 1
    mail.heap[i] = moved
    mail.heap[size] = first
    return first


@jitable
def is_earlier(mail: Any, one: int, other: int) -> bool:
    """Return True if the rewards at one place arrive before those at the other."""
    if mail.due[one] != mail.due[other]:
        return mail.due[one] < mail.due[other]
    return mail.numbers[one] < mail.numbers[other]


@jitable
def is_due(mail: Any, play: int) -> bool:
    """Return True if rewards have arrived that the policy has not learned from."""
    if mail is None:
        return False
    return mail.counts[_WAITING] > 0 and mail.due[mail.heap[0]] <= play
