"""Every algorithm by name, with what its paper assumes and promises: the table of the docs."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .finite import bmm, btc, supbmm, supbtc
from .glm import crmm, crtm, gloc, gloc_mom, ol2m, ol2m_mom
from .linear import crt, linucb, menu, mom, tofu


class Entry(NamedTuple):
    """One algorithm. Rates leave out constants and logarithms; t is the round, n a level's plays.

    >>> CATALOGUE["tofu"].memory
    'T d'
    """

    make: Callable[..., Any]
    model: str  # of the mean reward
    noise: str  # what is assumed of it
    regret: str
    time: str  # a decision
    memory: str
    paper: str


RAW, CENTRAL = "E\\|y\\|^{1+eps} <= u", "E\\|noise\\|^{1+eps} <= v"
HEAVY = "d T^{1/(1+eps)}"
FINITE = "d^{1/2} T^{1/(1+eps)}"
NEWTON, SMALL = "K d^2", "d^2"

XUE23 = "Xue, Wang, Wan, Yi, Zhang (2023)"
XUE20 = "Xue, Wang, Wang, Zhang (2020)"
SHAO = "Shao, Yu, King, Lyu (2018)"
MEDINA = "Medina, Yang (2016)"
ZHONG = "Zhong, Huang, Yang, Wang (2021)"

CATALOGUE: dict[str, Entry] = {
    "crtm": Entry(crtm, "mu(x.theta)", RAW, HEAVY, NEWTON, SMALL, XUE23),
    "crmm": Entry(crmm, "mu(x.theta)", f"symmetric, {CENTRAL}", HEAVY, NEWTON, SMALL, XUE23),
    "ol2m": Entry(
        ol2m, "mu(x.theta)", "bounded rewards", "d T^{1/2}", NEWTON, SMALL, "Zhang et al. (2016)"
    ),
    "gloc": Entry(
        gloc, "mu(x.theta)", "sub-Gaussian", "d T^{1/2}", NEWTON, SMALL, "Jun et al. (2017)"
    ),
    "ol2m_mom": Entry(
        ol2m_mom, "mu(x.theta)", "symmetric, any tail", "none proved", NEWTON, "d^2 + n", ZHONG
    ),
    "gloc_mom": Entry(
        gloc_mom, "mu(x.theta)", "symmetric, any tail", "d T^{1/2}", NEWTON, "d^2 + n", ZHONG
    ),
    "linucb": Entry(
        linucb,
        "x.theta",
        "sub-Gaussian (with `Raw`)",
        "d T^{1/2}",
        NEWTON,
        SMALL,
        "Abbasi-Yadkori, Pal, Szepesvari (2011)",
    ),
    "crt": Entry(crt, "x.theta", RAW, "d T^{(2+eps)/(2(1+eps))}", NEWTON, SMALL, MEDINA),
    "mom": Entry(
        mom, "x.theta", CENTRAL, "d^{1/2} T^{(1+2eps)/(1+3eps)}", NEWTON, "d^2 + r", MEDINA
    ),
    "tofu": Entry(
        tofu, "x.theta", RAW, HEAVY, "K d^2, and d^2 a reward near its level", "T d", SHAO
    ),
    "menu": Entry(menu, "x.theta", CENTRAL, HEAVY, "K d^2 + d k + k^2", "d^2 + d k + k^2", SHAO),
    "btc": Entry(btc, "x.theta", RAW, "none proved", "K d t", "T (d + K)", XUE20),
    "bmm": Entry(bmm, "x.theta", CENTRAL, "none proved", "K d (d + r)", "d (d + r)", XUE20),
    "supbtc": Entry(supbtc, "x.theta", RAW, FINITE, "K d n a level", "T (d + K)", XUE20),
    "supbmm": Entry(
        supbmm, "x.theta", CENTRAL, FINITE, "K d (d + r) a level", "ln T d (d + r)", XUE20
    ),
}

SIZES: dict[str, Any] = {"dim": 100, "horizon": 10_000, "arms": 20, "moment": 3.0}


def example(name: str) -> Any:
    """The policy of this name for d = 100, T = 10^4, K = 20, with the constants of its theorem.

    >>> example("crmm").plays
    244
    """
    make = CATALOGUE[name].make
    takes = inspect.signature(make).parameters
    return make(**{key: value for key, value in SIZES.items() if key in takes})


def arm_sets(policy: Any) -> str:
    """Which arm sets this policy can play.

    >>> arm_sets(example("crtm")), arm_sets(example("supbmm"))
    ('any', 'finite, still for a decision')
    """
    size = "finite" if getattr(policy, "finite_only", False) else "any"
    return size if policy.plays == 1 else f"{size}, still for a decision"


def algorithm_table() -> str:
    """The catalogue as a Markdown table.

    >>> algorithm_table().splitlines()[0][:24]
    '| algorithm | mean rewar'
    """
    titles = ("algorithm", "mean reward", "assumes of the noise", "regret", "time a decision")
    head = (*titles, "memory", "arm sets", "plays a decision", "paper")
    lines = [_row(head), _row(["---"] * len(head))]
    for name, entry in CATALOGUE.items():
        policy = example(name)
        facts = (entry.model, entry.noise, entry.regret, entry.time, entry.memory)
        lines.append(_row([f"`{name}`", *facts, arm_sets(policy), str(policy.plays), entry.paper]))
    return "\n".join(lines) + "\n"


def _row(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"
