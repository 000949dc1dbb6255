"""`compile`: fill the cache of compiled code ahead of time, for images and clusters."""

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from numba import typeof

from .._utils.errors import InvalidInputError
from ..agents.agent import Agent
from ..algorithms.catalogue import ALGORITHMS, LINEAR, make_setting
from ..core.cache import folders
from ..core.compile import count_kernels
from ..core.part import check_part
from ..core.protocols import Policy
from ..parts import arms, noises
from ..parts.filters import AdaptiveClip
from ..parts.links import Identity, Logistic
from ..simulation.problem import Problem
from ..simulation.run import simulate
from .options import LINK, NOISE, OneOf, make_algorithm, with_default

DIM, ROWS = 3, 4
# by whether a decision has several plays
ARM_SETS: dict[bool, tuple[Any, ...]] = {
    False: (arms.Fixed, arms.PerRound),
    True: (arms.Fixed, arms.PerDecision),
}


class Compiled(OneOf):
    """An algorithm, or your own policy as "module:name"."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        return value if ":" in value else super().convert(value, param, ctx)


def own_policy(name: str) -> Policy:
    """Return the policy "module:name", or what the function of that name returns."""
    sys.path.insert(0, os.getcwd())  # as `python -m` does
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"{name!r} must be a policy as 'module:name' ({error})") from error
    return check_part(name, found() if callable(found) else found, Policy)


def versions(name: str, link: Any) -> Iterator[Policy]:
    """The policies that an algorithm compiles to: with the theorem's radius and with a constant."""
    known = make_setting(noises.StudentT(3.0), DIM, 1000, link=link, arms=ROWS)
    for constant in (None, 0.1):
        policy: Any = make_algorithm(name, known, constant)
        yield policy
        if name == "LinUCB":
            yield policy._replace(filter=AdaptiveClip())


def warm(policy: Any, problem: Problem) -> None:
    """Let a policy decide, learn, predict and play, in every form that an agent uses."""
    agent, rows = Agent(policy), np.full((ROWS, policy.dim), policy.dim**-0.5)
    for _ in range(policy.plays):
        agent.update(agent.select(rows), 0.0)
    agent.warm_start(rows, np.zeros(ROWS if policy.plays == 1 else (ROWS, policy.plays)))
    if policy.plays == 1:
        agent.select_many([rows, rows])
    agent.predict(rows)
    for kind in ARM_SETS[policy.plays > 1]:
        shown = problem._replace(arms=kind(ROWS, policy.dim))
        simulate(policy, shown, horizon=policy.plays, repetitions=1, progress=False)


@click.command("compile", short_help="Compile ahead of time, for images and clusters.")
@click.argument("names", nargs=-1, type=Compiled(ALGORITHMS), metavar="[NAMES]...")
@click.option(
    "--link",
    type=LINK,
    help="Link function of the mean reward.",
    show_default="that of each algorithm's paper",
)
@with_default("--noise", "t:3", "Noise of the rewards, such as t:3.", type=NOISE)
def compile_command(names: tuple[str, ...], link: Any, noise: Any) -> None:
    """Compile NAMES, so that their first decision and their first simulation find the code ready.

    A name is an algorithm, or a policy of yours as module:name; without names, all algorithms are
    compiled. The compiled code is kept in the folder `NUMBA_CACHE_DIR`, else next to the package,
    else in your home folder. It is for this kind of processor, these versions and these sources.

    \b
    heavybandits compile LinUCB CRTM
    heavybandits compile mine:policy
    """
    for name in dict.fromkeys(names or ALGORITHMS):
        before, linear = count_kernels(), name in ALGORITHMS and ALGORITHMS[name].model == LINEAR
        law = link if link is not None else Identity() if linear else Logistic()
        made = versions(name, law) if name in ALGORITHMS else iter([own_policy(name)])
        for policy in {typeof(policy): policy for policy in made}.values():
            warm(policy, Problem(None, law, noise))  # type: ignore[arg-type]
        new, found = (after - last for after, last in zip(count_kernels(), before, strict=True))
        click.echo(f"{name}: {new} compiled, {found} were there")
    places = [str(folder) for folder in folders() if folder.is_dir()]
    click.echo(f"kept in {', '.join(places[:1]) or 'no folder: none can be written'}")
