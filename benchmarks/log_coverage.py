"""Do the intervals of `evaluate` and `uplift` cover the truth on the logs of agents?

    python benchmarks/log_coverage.py --shops 500

Each shop has an agent with a ledger: prices change every hundred visits, actions come and go, and a
tenth of the visits gets the baseline. Tail index 1.7, 2% of the sales are refunded. The log is what
`Agent.feedback()` returns, and no function receives more, except for the row of a known moment.
Prints a Markdown table: how often there is an interval, and how often it covers the truth.
"Always" is the interval of `interval="always"`, whatever rows carry the mean. Finished
shops are kept in a file, so that a run that was stopped resumes.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import heavybandits as hb
from heavybandits.features import Category, Number
from heavybandits.offline.evaluate.means import mean_interval
from shops import Shop, make_shop

Floats = NDArray[np.float64]
Found = dict[str, Any]

KINDS, ACTIONS = 3, 6
BASELINE = 0  # the place of the action that the hold-out gets; it is always available
HOLDOUT, EPSILON = 0.1, 0.3
ELASTICITY = 1.5  # of the sales with respect to the price
SPELL = 100  # visits between two changes of prices and available actions
DELTA = 0.05
ORDER = 1.6  # of the moment that the known bound is for

NAMES = [f"a{place}" for place in range(ACTIONS)]
ENCODER = hb.Encoder(
    [Category("kind", [str(kind) for kind in range(KINDS)])],
    [Category("name", NAMES), Number("price", 1.0, 0.5)],
    action="name",
)


class Spell(NamedTuple):
    """What is the same for some visits: prices as a factor, what is available, the shop."""

    factors: Floats
    available: list[int]
    shop: Shop


def draw_spells(shop: Shop, visits: int, rng: np.random.Generator) -> Iterator[Spell]:
    """Yield the spells of a shop: prices wander, and every action but the baseline rests at
    times."""
    factors, rests = np.ones(ACTIONS), np.zeros(ACTIONS, np.int64)
    for _ in range(visits // SPELL):
        factors = np.clip(factors * np.exp(0.15 * rng.normal(size=ACTIONS)), 0.5, 2.0)
        rests = np.maximum(rests - 1, 0)
        gone = (rests == 0) & (rng.random(ACTIONS) < 0.15)
        rests[gone] = rng.integers(1, 6, gone.sum())
        rests[BASELINE] = 0
        rates = np.minimum(shop.rates * factors**-ELASTICITY, 1.0)
        sold = shop._replace(rates=rates, prices=shop.prices * factors)
        yield Spell(factors, np.flatnonzero(rests == 0).tolist(), sold)


# ---- policies to evaluate, each a function of a row


def cheapest(row: dict[str, Any]) -> str:
    """Show the action whose price has fallen most."""
    return str(min(row["actions"], key=lambda name: row["actions"][name]["price"]))


def by_kind(row: dict[str, Any]) -> str:
    """Show each kind of visitor another action, the next one if it is not there."""
    first = 2 * int(row["kind"])
    return min(row["actions"], key=lambda name: (NAMES.index(name) - first) % ACTIONS)


def at_random(row: dict[str, Any]) -> dict[str, float]:
    """Show every available action with the same probability."""
    return dict.fromkeys(row["actions"], 1.0 / len(row["actions"]))


POLICIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "cheapest": cheapest,
    "by kind": by_kind,
    "at random": at_random,
}


def true_value(policy: Callable[[dict[str, Any]], Any], spells: list[Spell]) -> float:
    """Return the mean reward of a policy in these spells, over all kinds of visitors."""
    total = 0.0
    for spell in spells:
        actions = {NAMES[a]: {"price": spell.factors[a]} for a in spell.available}
        for kind in range(KINDS):
            answer = policy({"kind": str(kind), "actions": actions})
            shares = answer if isinstance(answer, dict) else {answer: 1.0}
            means = spell.shop.means[kind]
            total += sum(share * means[NAMES.index(name)] for name, share in shares.items())
    return total / (len(spells) * KINDS)


# ---- one shop


class Setting(NamedTuple):
    """Visits, and the tail index of the amounts."""

    visits: int
    tail_index: float


def run_shop(seed: int, setting: Setting) -> Found:
    """Let an agent serve a shop, and compare what its log says with the truth."""
    rng = np.random.default_rng([seed, setting.visits])
    shop = make_shop(rng, KINDS, ACTIONS, tail_index=setting.tail_index)
    spells = list(draw_spells(shop, setting.visits, rng))
    with tempfile.TemporaryDirectory() as folder, open_agent(folder, seed) as agent:
        gains = serve_visits(agent, spells, rng)
        log = agent.feedback()
    truths = {name: true_value(policy, spells) for name, policy in POLICIES.items()}
    made = {
        name: hb.evaluate(log, policy=policy, baseline=None if name == "at random" else at_random)
        for name, policy in POLICIES.items()
    }
    found = {f"value, {n}": describe(truths[n], e.low, e.value, e.high) for n, e in made.items()}
    for name, evaluation in made.items():
        low, high = mean_interval(evaluation.terms, DELTA)
        found[f"value, {name}, always"] = describe(truths[name], low, evaluation.value, high)
    for name in ("cheapest", "by kind"):
        gain, truth = made[name].difference, truths[name] - truths["at random"]
        found[f"difference, {name}"] = describe(truth, gain.low, gain.value, gain.high)
    moment = bound_moment(spells, setting.tail_index)
    known = hb.evaluate(log, policy=by_kind, raw_moment=moment, epsilon=ORDER - 1.0)
    found["value, by kind, known moment"] = describe(
        truths["by kind"], known.low, known.value, known.high
    )
    lift = hb.uplift(log, "policy", "holdout")
    truth = gains - true_value(lambda _: NAMES[BASELINE], spells)
    found["uplift"] = describe(truth, lift.low, lift.difference, lift.high)
    return found


def bound_moment(spells: list[Spell], tail_index: float) -> float:
    """Return the largest E|reward|^1.6 of an action in these spells."""
    amount = (1.0 - 1.0 / tail_index) ** ORDER * tail_index / (tail_index - ORDER)
    return float(max((s.shop.rates * s.shop.prices**ORDER).max() for s in spells) * amount)


def open_agent(folder: str, seed: int) -> hb.Agent:
    inside = hb.auto(dim=ENCODER.dim)
    policy = hb.policies.EpsilonGreedy(inside, epsilon=EPSILON, seed=seed)
    return hb.Agent(policy, encoder=ENCODER, ledger=Path(folder) / "live.db")


def serve_visits(agent: hb.Agent, spells: list[Spell], rng: np.random.Generator) -> float:
    """Decide and reward all visits; return the expected reward of the decisions of the policy."""
    expected = []
    for spell in spells:
        actions = {NAMES[a]: {"name": NAMES[a], "price": spell.factors[a]} for a in spell.available}
        with agent.batch():
            for kind in rng.integers(KINDS, size=SPELL).tolist():
                context = {"kind": str(kind)}
                if rng.random() < HOLDOUT:
                    ticket = agent.record(
                        context, actions, chosen=NAMES[BASELINE], propensity=1.0, group="holdout"
                    )
                else:
                    ticket = agent.select(context=context, actions=actions)
                chosen = NAMES.index(str(ticket.action))
                reward = spell.shop.draw(np.array([kind]), np.array([chosen]), rng)
                agent.update(ticket, float(reward[0]))
                if ticket.group == "policy":
                    expected.append(spell.shop.means[kind, chosen])
    return float(np.mean(expected))


def describe(truth: float, low: float, value: float, high: float) -> Found:
    return {"truth": truth, "low": low, "value": value, "high": high}


# ---- all shops


def measure(setting: Setting, shops: int, jobs: int, store: Path) -> list[Found]:
    """Return what all shops say; run those that are not in the file."""
    known = read_store(store)
    missing = [seed for seed in range(shops) if seed not in known]
    with ProcessPoolExecutor(jobs) as pool, store.open("a") as file:
        work = {pool.submit(partial(run_shop, seed, setting)): seed for seed in missing}
        for done in as_completed(work):
            known[work[done]] = done.result()
            file.write(json.dumps([work[done], done.result()]) + "\n")
            file.flush()
            print(f"\r{len(known)} of {shops} shops", end="", flush=True)
    print()
    return [known[seed] for seed in range(shops)]


def read_store(store: Path) -> dict[int, Found]:
    """Return the finished shops in a file by their seed."""
    if not store.exists():
        return {}
    return dict(json.loads(line) for line in store.read_text().splitlines())


def summarise(found: list[Found]) -> list[dict[str, Any]]:
    """Return one row per quantity: the share with an interval, and that of those which cover."""
    rows = []
    for what in found[0]:
        cells = [one[what] for one in found]
        given = [one for one in cells if np.isfinite(one["high"] - one["low"])]
        covered = [one["low"] <= one["truth"] <= one["high"] for one in given]
        below = [one["high"] < one["truth"] for one in given]
        widths = [(one["high"] - one["low"]) / abs(one["truth"]) for one in given]
        rows.append(
            {
                "quantity": what,
                "with an interval": f"{len(given) / len(cells):.1%}",
                "covers": f"{np.mean(covered):.1%}" if given else "-",
                "too low": f"{np.mean(below):.1%}" if given else "-",
                "median width over truth": f"{np.median(widths):.2f}" if given else "-",
            }
        )
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    print("|", " | ".join(rows[0]), "|")
    print("|", " | ".join("---" for _ in rows[0]), "|")
    for row in rows:
        print("|", " | ".join(row.values()), "|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shops", type=int, default=500)
    parser.add_argument("--visits", type=int, default=4000)
    parser.add_argument("--tail-index", type=float, default=1.7)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out/log_coverage"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    setting = Setting(options.visits, options.tail_index)
    store = options.out / f"{setting.visits}_{setting.tail_index:g}.jsonl"
    print_table(summarise(measure(setting, options.shops, options.jobs, store)))


if __name__ == "__main__":
    main()
