"""Play decisions of many plays with a team: the lanes make all plays of a decision at once."""

from ..core.dispatch import choose, learn, mean, observe, refresh, tally, top
from ..core.linalg import dot
from ..core.loop import Progress, load_progress, play, store_progress
from .team import lane, lanes_of, sync, twin, writable


@twin(play)
def _(lanes, policy, state, arms, link, theta, buffer, key, noise, episode, trace, observer, world):
    def play_many(
        policy, state, arms, link, theta, buffer, key, noise, episode, trace, observer, world
    ):
        """Do what `play` in core/loop.py does in `STILL`, the world in which nothing changes.

        Each turn of the loop makes all plays up to the end of the decision, the end of the noise or
        the next checkpoint, whichever is first. It adds up regret play by play, as the CPU does.
        """
        rewards = episode.rewards
        regret, expected, best, done, pending, upcoming = load_progress(episode)
        gap, shared, i = best - expected, writable(rewards), 0
        while i < noise.size:
            if pending == 0:
                if refresh(arms, buffer, key, done):
                    best = mean(link, top(arms, buffer, theta))
                choose(policy, state, arms, buffer)
                expected = mean(link, dot(buffer.chosen, theta))
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
                learn(policy, state, buffer.chosen, rewards)
                observe(observer, policy, state, theta)
                pending = 0
            if upcoming < trace.plays.size and done == trace.plays[upcoming]:
                updates, projections, truncated = tally(policy, state)
                trace.regret[upcoming] = regret
                trace.updates[upcoming] = updates
                trace.projections[upcoming] = projections
                trace.truncated[upcoming] = truncated
                upcoming += 1
        store_progress(episode, Progress(regret, expected, best, done, pending, upcoming))

    return play_many if lanes_of(episode[0]) else None
