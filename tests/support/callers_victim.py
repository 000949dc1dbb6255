"""A process to be killed: it forks a child for every ledger named on stdin, and sixteen threads of
the child call one agent.

They report what was acknowledged, a line each, as soon as the call has returned.
"""

import itertools
import os
import sys
import threading
import zlib

import heavybandits as hb

CALLERS = 16
ARMS = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]


def open_agent(ledger: str) -> hb.Agent:
    policy = hb.linucb(dim=3, radius=1.0)
    return hb.Agent(policy, rng=7, ledger=ledger, snapshot_every=50, clock=lambda: 0.0)


def reward_of(event_id: str) -> float:
    return zlib.crc32(event_id.encode()) / 2**30


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def work(ledger: str) -> None:
    """Decide and reward in sixteen threads until killed."""
    agent = open_agent(ledger)

    def call(caller: int) -> None:
        for number in itertools.count():
            event_id = f"{os.getpid()}-{caller}-{number}"
            ticket = agent.select(ARMS, event_id=event_id)
            say("select", event_id)
            agent.update(ticket, reward_of(event_id))
            say("reward", event_id)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                work(line.strip())
            finally:
                os._exit(1)
        say("child", child)
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    hb.Agent(hb.linucb(dim=3, radius=1.0), rng=7).warm()  # compile before the first fork
    say("ready")
    main()
