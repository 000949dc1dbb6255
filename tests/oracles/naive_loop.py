"""A run of a policy on a problem of any world: one play at a time, with lists and dictionaries."""

from typing import Any, NamedTuple

import numpy as np

from heavybandits.authoring import dot
from heavybandits.core.rng import ARMS, NOISE, stream_key

# They separate the streams of a world from that of the arms.
RESPONSE, DRIFT = 0x8CB92BA72F3D8DD7, 0xA0761D6478BD642F
DELAY, ATTACK = 0xE7037ED1A0B428DB, 0x589965CC75374CC3


class Letter(NamedTuple):
    """The rewards of a decision on their way."""

    due: int
    decision: int
    arm: Any
    rewards: list[float]


class Seen(NamedTuple):
    """What happened in a run."""

    regret: list[float]  # after every play
    rewards: list[float]  # that the policy would see, in the order of the plays
    honest: list[float]  # before the attacks
    thetas: list[Any]
    learned: list[int]  # decisions, in the order in which the policy learned from them
    due: list[int]  # by decision; negative for never
    truncated: int


def play_naively(policy: Any, problem: Any, horizon: int, seed: int, repetition: int) -> Seen:
    """Play a policy on a problem whose arms are a finite set."""
    arms, link, law, start, drift, delay, adversary = problem
    arm_key, noise_key = (stream_key(seed, repetition, stream) for stream in (ARMS, NOISE))
    keys = {name: np.uint64(int(arm_key) ^ name) for name in (RESPONSE, DRIFT, DELAY, ATTACK)}
    state, buffer, theta = policy.init(), arms.make_buffer(), start.copy()
    spent, total = 0.0, 0.0
    rewards: list[float] = []
    waiting: list[Letter] = []
    seen = Seen([], [], [], [], [], [], 0)
    for play in range(horizon):
        if drift is not None:
            drift.move(theta, start, keys[DRIFT], play)
        if not rewards:
            arms.refresh(buffer, arm_key, play)
            policy.choose(state, arms, buffer)
            arm = buffer.chosen.copy()
        means = [
            link.mean(dot(np.ascontiguousarray(column), theta))
            for column, penalty in zip(buffer.features.T, buffer.penalty, strict=True)
            if penalty == 0.0
        ]
        mean, best = link.mean(dot(arm, theta)), max(means)
        noise = law.draw(noise_key, play)
        honest = mean + noise
        if hasattr(law, "reward"):
            honest = law.reward(mean, arm, noise, keys[RESPONSE], play)
        reward = honest
        if adversary is not None:
            change = adversary.attack(honest, mean, best, keys[ATTACK], play) - honest
            change = float(np.clip(change, spent - adversary.budget, adversary.budget - spent))
            spent += abs(change)
            reward = honest + change
        total += best - mean
        rewards.append(reward)
        seen.regret.append(total)
        seen.rewards.append(reward)
        seen.honest.append(honest)
        seen.thetas.append(theta.copy())
        if len(rewards) == policy.plays:
            decision = len(seen.due)
            plays = 0 if delay is None else delay.wait(keys[DELAY], decision)
            seen.due.append(play + plays if plays >= 0 else -1)
            if plays >= 0:
                waiting.append(Letter(play + plays, decision, arm, rewards))
            rewards = []
            for letter in sorted(letter for letter in waiting if letter.due <= play):
                policy.learn(state, letter.arm, np.array(letter.rewards))
                seen.learned.append(letter.decision)
            waiting = [letter for letter in waiting if letter.due > play]
    return seen._replace(truncated=policy.tally(state)[2])
