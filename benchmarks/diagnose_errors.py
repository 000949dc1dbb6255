"""How often `diagnose` is wrong, on laws whose tails are known.

Its rules were set on other seeds than these. Prints a Markdown table: for each law and number of
rows, the share of samples called heavy-tailed and, where the tail index is finite, the share whose
90% interval contains it.

    python benchmarks/diagnose_errors.py [--samples 100]
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from heavybandits.offline.diagnose.diagnosis import diagnose

Law = Callable[[np.random.Generator, int], Any]


def sales_with_refunds(share: float) -> Law:
    """Sales of tail index 1.7, of which a share comes back, most of the money with it."""

    def draw(rng: np.random.Generator, rows: int) -> Any:
        sales = 30.0 + 12.0 * rng.pareto(1.7, rows)
        back = rng.random(rows) < share
        return np.where(back, -sales * rng.uniform(0.5, 1.0, rows), sales)

    return draw


REPORT = 2  # the first word of the seeds reported; the rules were set on 1

# name: (draw, tail index or None, should it be called heavy? None: a matter of taste)
LAWS: dict[str, tuple[Law, float | None, bool | None]] = {
    "Gaussian": (lambda r, n: r.normal(size=n), None, False),
    "uniform": (lambda r, n: r.random(n), None, False),
    "Laplace": (lambda r, n: r.laplace(size=n), None, False),
    "exponential": (lambda r, n: r.exponential(size=n), None, False),
    "gamma, shape 0.5": (lambda r, n: r.gamma(0.5, size=n), None, False),
    "lognormal, sigma 0.5": (lambda r, n: np.exp(0.5 * r.normal(size=n)), None, False),
    "0 or 1": (lambda r, n: (r.random(n) < 0.3) * 1.0, None, False),
    "Student t, 10": (lambda r, n: r.standard_t(10, n), 10.0, False),
    "Student t, 5": (lambda r, n: r.standard_t(5, n), 5.0, None),
    "Student t, 4": (lambda r, n: r.standard_t(4, n), 4.0, None),
    "lognormal, sigma 1": (lambda r, n: np.exp(r.normal(size=n)), None, None),
    "Student t, 3": (lambda r, n: r.standard_t(3, n), 3.0, True),
    "Student t, 2": (lambda r, n: r.standard_t(2, n), 2.0, True),
    "Student t, 1.5": (lambda r, n: r.standard_t(1.5, n), 1.5, True),
    "Pareto, 3": (lambda r, n: r.pareto(3, n) + 1.0, 3.0, True),
    "Pareto, 2": (lambda r, n: r.pareto(2, n) + 1.0, 2.0, True),
    "Pareto, 1.5": (lambda r, n: r.pareto(1.5, n) + 1.0, 1.5, True),
    "Lomax, 3": (lambda r, n: r.pareto(3, n), 3.0, True),
    "90% zeros, Pareto 2": (lambda r, n: (r.random(n) < 0.1) * (r.pareto(2, n) + 1.0), 2.0, True),
    "lognormal, sigma 2": (lambda r, n: np.exp(2.0 * r.normal(size=n)), None, True),
    "1% Gaussian, ten times wider": (
        lambda r, n: r.normal(size=n) * np.where(r.random(n) < 0.01, 10.0, 1.0),
        None,
        True,
    ),
    "sales, 0.5% refunds": (sales_with_refunds(0.005), 1.7, True),
    "sales, 1% refunds": (sales_with_refunds(0.01), 1.7, True),
    "sales, 2% refunds": (sales_with_refunds(0.02), 1.7, True),
    "sales, 5% refunds": (sales_with_refunds(0.05), 1.7, True),
    "whole hundreds, half of them 300": (
        lambda r, n: np.where(r.random(n) < 0.5, 300.0, np.round(r.lognormal(6.0, 0.5, n), -2)),
        None,
        False,
    ),
}
ROWS = (300, 1000, 5000, 20_000)


def judge(law: str, rows: int, samples: int) -> tuple[float, float]:
    """The share of samples called heavy, and the share of intervals that contain the index."""
    draw, index, _ = LAWS[law]
    heavy = held = 0
    for sample in range(samples):
        found = diagnose(draw(np.random.default_rng([REPORT, sample]), rows), resamples=50)
        heavy += found.heavy
        held += index is not None and found.tail_index.low <= index <= found.tail_index.high
    return heavy / samples, held / samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=100)
    samples = parser.parse_args().samples
    head = " | ".join(f"{rows} rows" for rows in ROWS)
    print(f"| law | heavy? | {head} | interval contains the index ({ROWS[-1]} rows) |")
    print("|---|---|" + "---|" * (len(ROWS) + 1))
    for law, (_, index, truth) in LAWS.items():
        shares = [judge(law, rows, samples) for rows in ROWS]
        word = {True: "yes", False: "no", None: "so-so"}[truth]
        called = " | ".join(f"{heavy:.0%}" for heavy, _ in shares)
        held = f"{shares[-1][1]:.0%}" if index is not None else "-"
        print(f"| {law} | {word} | {called} | {held} |", flush=True)


if __name__ == "__main__":
    main()
