"""The worlds of the study by group and name. Data only.

`DESIGN` are the worlds that policies of this library were designed on, with seeds of their own;
`REPORT` are the worlds that are reported. A report has the worlds of the design with other seeds,
other shops, and problems that a generator draws (`generate`). Choose nothing on `REPORT`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .worlds import Altered, Linear, Multiplicative, Response, Shop, TwoItems, World

DESIGN_SEED, DESIGN_DRAWS = 1, 0  # of runs, and of the generator of problems
REPORT_SEED, REPORT_DRAWS = 271_828, 1_618_033  # never looked at

SHOPS, OTHER_SHOPS = "shops", "other shops"
LEVELS, UNITS, EXTREMES, CHANGES = "levels", "units", "extreme rewards", "unit changes"
RESPONSES, NOISY, FIXED, LONG = "responses", "uneven noise", "fixed arms", "long runs"
DRIFT, UNSEEN = "drift", "unseen problems"

Named = dict[str, World]


# ---- shops

DESIGN_SHOPS: Named = {
    "shop": Shop(),
    "2% refunds": Shop(refund=0.02),
    "15% refunds": Shop(refund=0.15),
    "baskets of tail index 1.7": Shop(tail=1.7),
    "one reward of -10,000": Altered(Shop(), extreme=-1e4, at=(0.1,)),
    "visits cost 0.5 +- 0.2": Shop(cost=0.5, cost_noise=0.2),
    "level 1,000": Shop(level=1000.0),
    "level -100": Shop(level=-100.0),
    "items come and go": Shop(availability=0.6),
    "indicators of items": Shop(columns="indicators"),
    "prices 1 to 300": Shop(lowest=1.0, highest=300.0),
    "conversion ~ price^-1.3": Shop(power=1.3),
    "conversion ~ price^-1.3, raw price": Shop(power=1.3, columns="raw price"),
    "conversion ~ 1/price": Shop(power=1.0),
    "exponential conversion": Shop(curve="exponential", power=1.0),
    "logistic conversion": Shop(curve="logistic", power=1.0),
    "flat conversion of 5%": Shop(curve="flat", top=0.05),
    "equal prices": Shop(lowest=20.0, highest=21.0, curve="flat", top=0.05),
    "30 items": Shop(arms=30),
    "conversion of at most 5%": Shop(top=0.05),
    "log price": Shop(columns="log price"),
    "baskets of deviation 1": Shop(basket=1.0),
    "raw price": Shop(columns="raw price"),
    "no products of features": Shop(products=False),
    "2% x 100 or 20% x 5": TwoItems(),
    "1% x 300 or 30% x 5": TwoItems(0.01, 300.0, 0.3, 5.0),
    "2% x 50 or 20% x 10": TwoItems(0.02, 50.0, 0.2, 10.0),
}

REPORT_SHOPS: Named = {
    "books, 8 to 40": Shop(20, 8.0, 40.0, "exponential", 1.5, 0.25),
    "electronics, 50 to 900, 8% refunds": Shop(10, 50.0, 900.0, "logistic", 0.7, 0.2, refund=0.08),
    "travel, 90 to 2,500": Shop(15, 90.0, 2500.0, "power", 0.9, 0.05, basket=0.3),
    "groceries, 0.5 to 30": Shop(16, 0.5, 30.0, "logistic", 0.9, 0.5, basket=0.4),
    "market, tail index 1.7, items come and go": Shop(
        25, 2.0, 400.0, power=0.85, tail=1.7, availability=0.4
    ),
    "antiques, tail index 2.2": Shop(8, 30.0, 600.0, "exponential", 0.8, 0.1, tail=2.2),
    "visits cost 2 +- 1": Shop(10, 10.0, 90.0, power=0.6, cost=2.0, cost_noise=1.0),
    "visits cost 0.8": Shop(14, 4.0, 120.0, "exponential", 1.2, cost=0.8, availability=0.7),
    "subscriptions around 250": Shop(9, 6.0, 80.0, "flat", top=0.08, level=250.0),
    "20 items without prices": Shop(20, 3.0, 70.0, "power", 0.6, 0.35, columns="indicators"),
    "log price, conversion ~ price^-1.2": Shop(12, 7.0, 350.0, power=1.2, columns="log price"),
    "30% refunds": Shop(10, 15.0, 200.0, "logistic", 0.8, 0.4, refund=0.3),
    "0.05% losses of 100 x the highest price": Shop(10, 5.0, 60.0, power=0.7, outliers=0.0005),
    "one reward of 10,000": Altered(
        Shop(18, 4.0, 100.0, "exponential", 0.9), extreme=1e4, at=(0.3,)
    ),
    "fashion at 30, tastes only": Shop(24, 29.0, 31.0, "flat", top=0.1, taste=0.9),
    "luxury, 200 to 9,000": Shop(6, 200.0, 9000.0, "power", 0.5, 0.01, basket=0.8),
    "3% x 60 or 25% x 4": TwoItems(0.03, 60.0, 0.25, 4.0),
    "0.5% x 800 or 40% x 3": TwoItems(0.005, 800.0, 0.4, 3.0),
}
OUTLIER_SHOPS = (  # those with single extreme rewards, refunds or no variance
    *("2% refunds", "15% refunds", "baskets of tail index 1.7", "one reward of -10,000"),
    *("electronics, 50 to 900, 8% refunds", "market, tail index 1.7, items come and go"),
    *("30% refunds", "0.05% losses of 100 x the highest price", "one reward of 10,000"),
)


# ---- what a policy sees of one world, altered: regret should not change

PLAIN = "unaltered"
_LEVELLED = Linear("intercept", 6, 6, "t3", 0.3, intercept=1.0)
_MEASURED = Linear("fresh", 8, 10, "t3", 0.5)
_DECADES = tuple(10.0**power for power in (-3, 1, -1, 3, 0, 2, -2, 0))

LEVEL_WORLDS: Named = {
    PLAIN: _LEVELLED,
    **{f"level {level:,g}": Altered(_LEVELLED, level=level) for level in (100.0, 1e3, -1e3)},
}
UNIT_WORLDS: Named = {
    PLAIN: _MEASURED,
    "columns times 10^-2 ... 10": Altered(_MEASURED, units=(0.01, 0.1, 1.0, 10.0)),
    "columns times 10^-3 ... 10^3": Altered(_MEASURED, units=_DECADES),
    "first arms x 30": Altered(_MEASURED, first_arms=30.0),
    "first arms x 1,000": Altered(_MEASURED, first_arms=1000.0),
}


def with_extremes(layout: str) -> Named:
    """Return a world without and with extreme rewards: the first ones, or one in the middle."""
    world, made = Linear(layout, 8, 10, "t3", 0.5), Named()
    made[f"{layout}, {PLAIN}"] = world
    for value in (-1e4, 1e100):
        for count in (1, 2, 20):
            name = f"{layout}, {count} first of {value:,g}"
            made[name] = Altered(world, extreme=value, at=tuple(range(count)))
        name = f"{layout}, one of {value:,g} in the middle"
        made[name] = Altered(world, extreme=value, at=(0.25,))
    return made


EXTREME_WORLDS: Named = with_extremes("fresh") | with_extremes("fixed")
CHANGE_WORLDS: Named = {
    f"{name}, then rewards x {factor:g}": Altered(world, late_factor=factor)
    for name, world in (
        ("fresh", _MEASURED),
        ("fixed", _MEASURED._replace(layout="fixed")),
        ("shop", Shop()),
    )
    for factor in (0.01, 100.0)
}


# ---- rewards of other kinds

RESPONSE_WORLDS: Named = {
    "clicks, 5%": Response("binary", 8, 6, -3.0),
    "clicks, 50%": Response("binary", 8, 6, 0.0),
    "counts": Response("counts", 8, 6, 0.0),
    "claims, 5%": Response("claims", 8, 6, -3.0),
    "claims, 1%": Response("claims", 6, 8, -4.6),
    "sparse rewards, 2%": Response("sparse", 8, 6, -4.0),
    "sparse rewards, 0.5%": Response("sparse", 5, 10, -5.3),
}
NOISY_WORLDS: Named = {
    "noise ~ price, gauss": Multiplicative("gauss"),
    "noise ~ price, t3": Multiplicative("t3"),
    "noise ~ feature, fresh, gauss": Linear("fresh", 10, 20, "gauss", 0.3, heteroskedastic=True),
    "noise ~ feature, fixed, t3": Linear("fixed", 10, 20, "t3", 0.3, heteroskedastic=True),
    "noise ~ feature, intercept, lognormal": Linear(
        "intercept", 10, 10, "lognormal", 0.2, heteroskedastic=True, intercept=1.0
    ),
    "rare jumps, two arms, d 3": Linear("fixed", 3, 2, "jumps", 0.5),
}


# ---- long runs

FIXED_WORLDS: Named = {  # T = 10^5
    f"d {dim}, K {arms}, {noise}": Linear("fixed", dim, arms, noise, 0.5)
    for dim, arms in ((12, 30), (2, 2), (5, 40), (30, 30))
    for noise in ("gauss", "t3", "pareto1.5")
}
FIXED_WORLDS |= {
    f"one-hot, {noise}": Linear("one-hot", 10, 10, noise, 0.5) for noise in ("gauss", "t1.5")
}
LONG_WORLDS: Named = {
    "fresh, t3": Linear("fresh", 10, 20, "t3", 0.5),
    "fresh, pareto1.5": Linear("fresh", 10, 20, "pareto1.5", 0.5),
    "shop": Shop(),
    "shop, items come and go": Shop(availability=0.6),
}
DRIFT_WORLDS: Named = {
    f"fresh, {noise}": Linear("fresh", 10, 20, noise, 0.5, drift=True)
    for noise in ("gauss", "t3", "pareto1.5")
}
DRIFT_WORLDS["intercept, t3"] = Linear("intercept", 8, 10, "t3", 0.3, drift=True, intercept=1.0)


# ---- problems that nobody has looked at


def generate(number: int, draws: int = REPORT_DRAWS) -> World:
    """Return random problem `number`: its kind, sizes, noise and level.

    >>> generate(3, DESIGN_DRAWS) == generate(3, DESIGN_DRAWS)
    True
    """
    rng = np.random.default_rng([draws, number])
    kind = rng.choice(["linear", "shop", "two items", "response", "price"], p=_SHARES)
    if kind == "shop":
        world: World = random_shop(rng)
    elif kind == "two items":
        rare, often = np.exp(rng.uniform(np.log([0.005, 0.1]), np.log([0.05, 0.5])))
        low = float(np.exp(rng.uniform(0.0, 3.0)))
        high = float(low * often / rare * rng.uniform(1.3, 3.0))
        world = TwoItems(float(rare), high, float(often), low, float(rng.uniform(0.1, 1.0)))
    elif kind == "response":
        response = str(rng.choice(["binary", "counts", "claims", "sparse"]))
        intercept = float(rng.uniform(-4.0, 0.0)) if response != "counts" else 0.0
        world = Response(response, int(rng.integers(3, 13)), int(rng.integers(2, 21)), intercept)
    elif kind == "price":
        world = Multiplicative(
            str(rng.choice(["gauss", "t3", "lognormal"])), float(rng.uniform(0.2, 1.0))
        )
    else:
        world = random_linear(rng)
    return alter(world, rng)


_SHARES = (0.5, 0.25, 0.05, 0.15, 0.05)


def random_linear(rng: np.random.Generator) -> Linear:
    """Return linear rewards of random sizes."""
    layout = str(rng.choice(["fresh", "fixed", "context", "one-hot", "intercept"]))
    arms = int(np.exp(rng.uniform(np.log(2.0), np.log(60.0))))
    dim = int(np.exp(rng.uniform(np.log(2.0), np.log(40.0))))
    if layout == "one-hot":
        dim = arms
    if layout == "context":
        arms = min(arms, 8)
        dim = arms * int(rng.integers(2, 8))
    return Linear(
        layout,
        max(dim, 2),
        max(arms, 2),
        str(rng.choice(["t1.2", "t1.5", "t2", "t3", "pareto1.5", "pareto1.8", "gauss", "laplace"])),
        float(np.exp(rng.uniform(np.log(0.05), np.log(3.0))) * rng.choice([-1.0, 1.0])),
        heteroskedastic=bool(rng.random() < 0.15),
        intercept=float(rng.uniform(-20.0, 20.0)),
    )


def random_shop(rng: np.random.Generator) -> Shop:
    """Return a shop of random prices, conversion and costs."""
    lowest = float(np.exp(rng.uniform(0.0, 4.0)))
    return Shop(
        int(rng.integers(4, 31)),
        lowest,
        lowest * float(np.exp(rng.uniform(0.5, 4.0))),
        str(rng.choice(["power", "exponential", "logistic", "flat"])),
        float(rng.uniform(0.4, 1.3)),
        float(np.exp(rng.uniform(np.log(0.03), np.log(0.4)))),
        basket=float(rng.uniform(0.1, 1.0)),
        tail=float(rng.choice([0.0, 0.0, 0.0, 1.7, 2.5])),
        refund=float(rng.choice([0.0, 0.0, 0.02, 0.1])),
        cost=float(rng.choice([0.0, 0.0, 0.5, 2.0])),
        cost_noise=float(rng.choice([0.0, 0.0, 0.3])),
        availability=float(rng.choice([1.0, 1.0, 0.6])),
        columns=str(rng.choice(["price", "price", "raw price", "log price", "indicators"])),
        taste=float(rng.uniform(0.2, 0.9)),
    )


def alter(world: World, rng: np.random.Generator) -> World:
    """Return the world in other units or around another level, three times in ten."""
    chance = rng.random()
    if chance < 0.15:
        return Altered(world, units=tuple((10.0 ** rng.integers(-2, 3, 5)).tolist()))
    has_constant = not isinstance(world, Linear) or world.layout == "intercept"
    if chance < 0.3 and has_constant:
        return Altered(world, level=float(rng.choice([-300.0, 30.0, 500.0])))
    return world


def numbered(count: int, draws: int = REPORT_DRAWS) -> Named:
    """Return the first random problems by their numbers."""
    return {f"problem {number}": generate(number, draws) for number in range(count)}


# ---- all of them

PROBLEMS_UNSEEN = 60

DESIGN: dict[str, Named] = {
    SHOPS: DESIGN_SHOPS,
    LEVELS: LEVEL_WORLDS,
    UNITS: UNIT_WORLDS,
    EXTREMES: EXTREME_WORLDS,
    CHANGES: CHANGE_WORLDS,
    RESPONSES: RESPONSE_WORLDS,
    NOISY: NOISY_WORLDS,
    DRIFT: DRIFT_WORLDS,
    FIXED: FIXED_WORLDS,
    LONG: LONG_WORLDS,
    UNSEEN: numbered(PROBLEMS_UNSEEN, DESIGN_DRAWS),
}
REPORT: dict[str, Named] = (
    {SHOPS: DESIGN_SHOPS, OTHER_SHOPS: REPORT_SHOPS}
    | {group: worlds for group, worlds in DESIGN.items() if group != SHOPS}
    | {UNSEEN: numbered(PROBLEMS_UNSEEN, REPORT_DRAWS)}
)


def listed(groups: Iterable[str], names: Sequence[str] | None) -> list[tuple[str, str, Any]]:
    """Return (group, name, world) of the reported worlds of these names; None for all."""
    return [
        (group, name, world)
        for group in groups
        for name, world in REPORT[group].items()
        if names is None or name in names
    ]
