"""The loop of a team whose decisions last many plays: all plays of a decision at once."""

from ..core.dispatch import choose, learn, mean, observe, refresh, tally, top
from ..core.linalg import dot
from ..core.loop import BEST, MEAN, NEXT, PENDING, PLAY, REGRET, play
from .team import lane, lanes_of, sync, twin, writable


@twin(play)
def _(lanes, policy, state, arms, link, theta, view, key, noise, episode, trace, observer):
    def play_many(policy, state, arms, link, theta, view, key, noise, episode, trace, observer):
        """The text of core/loop.py up to the next end: of a decision, of the noise, or a
        checkpoint. Regret is summed up play by play, as there."""
        rewards, numbers, counts = episode
        regret, expected, best = numbers[REGRET], numbers[MEAN], numbers[BEST]
        done, pending, upcoming = counts[PLAY], counts[PENDING], counts[NEXT]
        gap, shared, i = best - expected, writable(rewards), 0
        while i < noise.size:
            if pending == 0:
                if refresh(arms, view, key, done):
                    best = mean(link, top(arms, view, theta))
                choose(policy, state, arms, view)
                expected = mean(link, dot(view.chosen, theta))
                gap = best - expected
            many = min(noise.size - i, rewards.size - pending)
            if upcoming < trace.plays.size:
                many = min(many, trace.plays[upcoming] - done)
            j = lane(lanes)
            while j < many:
                shared[pending + j] = expected + noise[i + j]
                j += lanes
            sync(lanes)
            for _ in range(many):
                regret += gap
            i, pending, done = i + many, pending + many, done + many
            if pending == rewards.size:
                learn(policy, state, view.chosen, rewards)
                observe(observer, policy, state, theta)
                pending = 0
            if upcoming < trace.plays.size and done == trace.plays[upcoming]:
                updates, projections, truncated = tally(policy, state)
                trace.regret[upcoming] = regret
                trace.updates[upcoming] = updates
                trace.projections[upcoming] = projections
                trace.truncated[upcoming] = truncated
                upcoming += 1
        numbers[REGRET], numbers[MEAN], numbers[BEST] = regret, expected, best
        counts[PLAY], counts[PENDING], counts[NEXT] = done, pending, upcoming

    return play_many if lanes_of(episode[0]) else None
