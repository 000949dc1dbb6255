"""A process to be killed whose agent is used by many threads: `ledger_victim` with a crowd.

Each thread tells what was acknowledged, a line each, as soon as the call has returned.
"""

import threading
from collections.abc import Callable

import heavybandits as hb
from ledger_victim import arms_of, main, make_policy, open_agent, reward_of, say

CALLERS = 16


def let_threads(
    agent: hb.Agent, rounds: int, tell: Callable[..., object], callers: int
) -> list[hb.LedgerError]:
    """Let threads decide and reward, in twos and out of order; return what ended them."""
    errors: list[hb.LedgerError] = []

    def one() -> None:
        try:
            for _ in range(rounds):
                made = [agent.select(arms_of(0, 1)) for _ in range(2)]
                for ticket in made:
                    tell("select", ticket.id, ticket.arm)
                for ticket in reversed(made):
                    agent.update(ticket, reward_of(ticket.id))
                    tell("reward", ticket.id)
        except hb.LedgerError as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def work(path: str, _: int) -> None:
    """Work until killed; first send the newest rewards again, as callers in doubt do."""
    agent = open_agent(path, 1)
    issued = agent.state.tickets.issued
    for number in range(max(issued - 2 * CALLERS, 0), issued):
        agent.update(number, reward_of(number))
        say("reward", number)
    let_threads(agent, 1 << 30, say, CALLERS)


if __name__ == "__main__":
    agent = hb.Agent(make_policy(1), rng=7)  # compile before the first fork
    agent.update(agent.select(arms_of(0, 1)), 1.0)
    say("ready")
    main(work)
