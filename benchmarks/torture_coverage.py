"""Logs whose truth is known: does every interval that `evaluate` reports contain the truth?

    python benchmarks/torture_coverage.py --logs 300          a table of evaluation_guarantees.md
    python benchmarks/torture_coverage.py --logs 300 --known  the same with a known moment

A cell is a law of the rewards, a policy and a number of rows. An interval that misses is counted
unless the log has no example of the rare reward that the truth depends on: no method can know then.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heavybandits as hb

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], NDArray[np.floating[Any]]]

SIZES = (300, 3_000, 30_000)
PROMISE = 0.93  # of intervals at 95%
OFTEN = 0.2  # share of logs with an interval, from which coverage among them is judged
SIGNIFICANT = 1e-4  # probability of a false alarm per cell
SHIFT = 0.5  # reward of an action more than that of the one before, in units of the mean reward


class Law(NamedTuple):
    """A law of rewards: its draws, mean, second moment (or a lower one), and its rare reward."""

    draw: Draw
    mean: float
    moment: float  # E|reward|^order
    order: float = 2.0
    is_rare: Callable[[NDArray[np.floating[Any]]], NDArray[np.bool_]] | None = None


def refund(probability: float, size: float) -> Law:
    """Gaussian rewards, and rarely a refund."""
    return Law(
        lambda rng, rows: rng.normal(size=rows) - size * (rng.random(rows) < probability),
        -probability * size,
        1.0 + probability * size**2,
        is_rare=lambda rewards: rewards < -size / 2.0,
    )


def sale(probability: float) -> Law:
    """Nothing, or rarely a lognormal sale."""
    return Law(
        lambda rng, rows: (rng.random(rows) < probability) * rng.lognormal(3.0, 1.0, rows),
        probability * math.exp(3.5),
        probability * math.exp(8.0),
        is_rare=lambda rewards: rewards > 0.0,
    )


def click(probability: float) -> Law:
    return Law(
        lambda rng, rows: (rng.random(rows) < probability) * 1.0,
        probability,
        probability,
        is_rare=lambda rewards: rewards > 0.0,
    )


def pareto(shape: float) -> Law:
    order = min(2.0, 0.9 * shape)
    return Law(
        lambda rng, rows: 1.0 + rng.pareto(shape, rows),
        shape / (shape - 1.0),
        shape / (shape - order),
        order,
    )


def lognormal(deviation: float) -> Law:
    return Law(
        lambda rng, rows: rng.lognormal(0.0, deviation, rows),
        math.exp(deviation**2 / 2.0),
        math.exp(2.0 * deviation**2),
    )


def student(dof: float) -> Law:
    """Student's t around one."""
    order = min(2.0, 0.9 * dof)
    own = math.gamma((order + 1.0) / 2.0) * math.gamma((dof - order) / 2.0)
    own *= dof ** (order / 2.0) / (math.sqrt(math.pi) * math.gamma(dof / 2.0))
    moment = (1.0 + own ** (1.0 / order)) ** order  # by Minkowski
    return Law(lambda rng, rows: 1.0 + rng.standard_t(dof, rows), 1.0, moment, order)


def mixture() -> Law:
    """Nine in ten pay a lognormal amount, one in fifty loses an exponential one."""

    def draw(rng: np.random.Generator, rows: int) -> NDArray[np.floating[Any]]:
        kind = rng.random(rows)
        paid = np.where(kind < 0.9, rng.lognormal(0.0, 1.0, rows), 0.0)
        return np.where(kind > 0.98, -20.0 * rng.exponential(size=rows), paid)

    mean, moment = 0.9 * math.exp(0.5) - 0.4, 0.9 * math.exp(2.0) + 0.02 * 800.0
    return Law(draw, mean, moment, is_rare=lambda rewards: rewards < -1.0)


def shop() -> Law:
    """A price, if the customer buys: the higher the price, the rarer the sale."""
    prices, sold = np.array([10.0, 20.0, 50.0, 200.0, 0.0]), np.array([0.1, 0.05, 0.02, 0.005, 0.0])
    sold[-1] = 1.0 - sold.sum()
    return Law(
        lambda rng, rows: rng.choice(prices, rows, p=sold),
        float(prices @ sold),
        float(prices**2 @ sold),
        is_rare=lambda rewards: rewards > 100.0,
    )


LAWS: dict[str, Law] = {
    "Gaussian": Law(lambda rng, rows: 1.0 + rng.normal(size=rows), 1.0, 2.0),
    "click 30%": click(0.3),
    "click 1%": click(0.01),
    "exponential": Law(lambda rng, rows: rng.exponential(size=rows), 1.0, 2.0),
    "lognormal 1": lognormal(1.0),
    "lognormal 2": lognormal(2.0),
    "t 3": student(3.0),
    "t 1.5": student(1.5),
    "Pareto 3": pareto(3.0),
    "Pareto 2.1": pareto(2.1),
    "Pareto 1.5": pareto(1.5),
    "refund of 50, 5%": refund(0.05, 50.0),
    "refund of 10,000, 0.2%": refund(0.002, 10_000.0),
    "refund of 1,000, 0.05%": refund(0.0005, 1_000.0),
    "sale 3%": sale(0.03),
    "sale 0.3%": sale(0.003),
    "mixture with losses": mixture(),
    "shop": shop(),
}


# ---- policies: propensities of the log, and probabilities of the policy, by context


class Setting(NamedTuple):
    """What the log did and what the policy does, (contexts, actions); contexts have `share`s."""

    share: Floats
    logged: Floats
    wanted: Floats


POLICIES: dict[str, Setting] = {
    "weights to 3.3": Setting(np.ones(1), np.array([[0.7, 0.3]]), np.array([[0.0, 1.0]])),
    "weights to 50": Setting(
        np.array([0.1, 0.3, 0.6]),
        np.array([[0.58, 0.4, 0.02], [0.5, 0.4, 0.1], [0.3, 0.3, 0.4]]),
        np.tile([0.0, 0.0, 1.0], (3, 1)),
    ),
    "weights to 4": Setting(
        np.ones(1), np.array([[0.4, 0.3, 0.2, 0.1]]), np.array([[0.1, 0.2, 0.3, 0.4]])
    ),
}


class Case(NamedTuple):
    """One log: the policy, the truth, and whether the log has the rare reward."""

    log: hb.Log
    policy: Floats
    truth: float
    logged: float
    known: dict[str, Any]
    is_knowable: bool


def make_case(law: Law, setting: Setting, rows: int, rng: np.random.Generator) -> Case:
    who = rng.choice(len(setting.share), rows, p=setting.share)
    chances = setting.logged[who]
    taken = (chances.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1)
    taken = np.minimum(taken, chances.shape[1] - 1)
    drawn = law.draw(rng, rows)
    worth = SHIFT * abs(law.mean) * np.arange(chances.shape[1])
    data = {
        "context": np.eye(len(setting.share))[who],
        "action": taken,
        "reward": drawn + worth[taken],
        "pscore": chances[np.arange(rows), taken],
        "n_actions": chances.shape[1],
    }
    of = [float(setting.share @ (table @ worth)) for table in (setting.wanted, setting.logged)]
    root = law.moment ** (1.0 / law.order) + float(worth.max())
    known = {"raw_moment": root**law.order, "epsilon": law.order - 1.0}
    seen = law.is_rare is None or bool(law.is_rare(drawn).any())
    log = hb.Log(data)
    return Case(log, setting.wanted[who], law.mean + of[0], law.mean + of[1], known, seen)


# ---- one cell


class Cell(NamedTuple):
    """How the logs of one law, policy and size came out."""

    law: str
    policy: str
    rows: int
    logs: int
    unknowable: int  # logs without the rare reward in which an interval missed
    reported: int  # intervals of the others
    held: int
    ips_held: int  # plain IPS intervals, of all logs
    differences: int  # reported intervals of the difference, of logs with the rare reward
    differences_held: int

    @property
    def is_fault(self) -> bool:
        """True if the intervals miss significantly more often than 7%.

        Where an interval is rare, a report and a miss come from the same unusual logs; then misses
        are counted among all logs.
        """
        return any(
            _misses(reported - held, reported if reported >= OFTEN * self.logs else self.logs)
            for reported, held in (
                (self.reported, self.held),
                (self.differences, self.differences_held),
            )
        )


def _misses(missed: int, trials: int) -> bool:
    """True if so many misses are significant at a rate of 7% (exact binomial)."""
    rate = 1.0 - PROMISE
    above = sum(
        math.comb(trials, k) * rate**k * PROMISE ** (trials - k) for k in range(missed, trials + 1)
    )
    return missed > 0 and above < SIGNIFICANT


def run_cell(law: str, policy: str, rows: int, logs: int, seed: int, known: bool = False) -> Cell:
    counts: Counter[str] = Counter()
    for number in range(logs):
        places = list(LAWS).index(law), list(POLICIES).index(policy)
        rng = np.random.default_rng([seed, *places, rows, number])
        case = make_case(LAWS[law], POLICIES[policy], rows, rng)
        found = hb.evaluate(case.log, policy=case.policy, **(case.known if known else {}))
        gap = case.truth - case.logged
        held = {
            "value": found.low <= case.truth <= found.high,
            "difference": found.difference.low <= gap <= found.difference.high,
        }
        reported = {"value": not found.reasons, "difference": found.difference.low > -math.inf}
        counts["unknowable"] += not case.is_knowable and reported["value"] and not held["value"]
        for name in held:
            counts[name] += reported[name] and case.is_knowable
            counts[f"{name} held"] += reported[name] and case.is_knowable and held[name]
        low, high = plain_ips(case)
        counts["ips"] += low <= case.truth <= high
    names = ("unknowable", "value", "value held", "ips", "difference", "difference held")
    return Cell(law, policy, rows, logs, *(counts[name] for name in names))


def plain_ips(case: Case) -> tuple[float, float]:
    """The usual interval: the mean of weight times reward, and 1.96 standard errors."""
    log = case.log.decisions
    weights = case.policy[np.arange(log.taken.size), log.taken] / log.propensities
    terms = weights * log.rewards
    half = NormalDist().inv_cdf(0.975) * float(terms.std(ddof=1)) / math.sqrt(terms.size)
    return float(terms.mean()) - half, float(terms.mean()) + half


# ---- all of it


def cover_truth(attempts: int, seed: int) -> Counter[str]:
    """The section `coverage` of torture.py: so many logs per law, policy and size."""
    outcomes: Counter[str] = Counter()
    for law, policy, rows in product(LAWS, POLICIES, SIZES):
        cell = run_cell(law, policy, rows, attempts, seed)
        outcomes["interval holds"] += cell.held
        outcomes["interval misses, at most as often as announced"] += (
            0 if cell.is_fault else cell.reported - cell.held
        )
        outcomes["no interval, with a reason"] += cell.logs - cell.reported - cell.unknowable
        outcomes["misses, and no rare reward is in the log"] += cell.unknowable
        if cell.is_fault:
            outcomes[f"FAULT: {law}, {policy}, {rows} rows"] += cell.reported - cell.held
    return outcomes


def run_cells(given: argparse.Namespace) -> Iterator[Cell]:
    points = list(product(given.law or LAWS, POLICIES, given.rows or SIZES))
    with ProcessPoolExecutor(given.jobs) as pool:
        made = [
            pool.submit(run_cell, *point, given.logs, given.seed, given.known) for point in points
        ]
        for one in made:
            yield one.result()


def write_row(cell: Cell) -> str:
    """One line of the table."""
    share = f"{cell.held / cell.reported:.1%}" if cell.reported else "-"
    both = f"{cell.differences_held / cell.differences:.1%}" if cell.differences else "-"
    numbers: list[Any] = [f"{cell.reported / cell.logs:.0%}", share, both]
    numbers += [cell.unknowable, f"{cell.ips_held / cell.logs:.1%}"]
    numbers += ["FAULT" if cell.is_fault else ""]
    return f"| {cell.law} | {cell.policy} | {cell.rows:,} | " + " | ".join(map(str, numbers)) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--logs", type=int, default=300, help="per law, policy and size (300)")
    parser.add_argument("--law", action="append", choices=list(LAWS), help="may be repeated")
    parser.add_argument("--rows", type=int, action="append", help="of a log, may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--known", action="store_true", help="give evaluate a true moment")
    given = parser.parse_args()
    print("| law | policy | rows | with interval | holds | difference holds | unknowable | IPS | |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    faults = 0
    for cell in run_cells(given):
        print(write_row(cell), flush=True)
        faults += cell.is_fault
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
