"""Half widths of confidence intervals for a mean: python benchmarks/interval_widths.py --help.

`robust_interval` is valid at all times at once and receives no moment. The others are valid for one
number of rewards: Student's needs a variance and a sample large enough for it to act; Chebyshev's
and the optimal order sqrt(2 ln(2/delta)/n) (Catoni 2012, without its constant) receive the true
variance. They have no entry for a noise without a variance.
"""

import argparse
import math
from statistics import NormalDist
from typing import Any

import numpy as np

import heavybandits as hb
from heavybandits.theory import asymmetry_of

DELTA, BOUND, SEED = 0.05, 10.0, 0
NOISES: dict[str, Any] = {
    "Gaussian": hb.noises.Gaussian(),
    "Student's t, 3": hb.noises.StudentT(3.0),
    "Student's t, 1.5": hb.noises.StudentT(1.5),
    "Cauchy": hb.noises.StudentT(1.0),
    "Pareto 3": hb.noises.Pareto(3.0, 1.0),
    "Pareto 1.5": hb.noises.Pareto(1.5, 1.0),
}


def draw(name: str, count: int) -> Any:
    """Noise with mean (Cauchy: centre) 0."""
    rng, noise = np.random.default_rng(SEED), NOISES[name]
    if isinstance(noise, hb.noises.Gaussian):
        return rng.normal(size=count)
    if isinstance(noise, hb.noises.StudentT):
        return rng.standard_t(noise.dof, size=count)
    return rng.pareto(noise.shape, size=count) + 1.0 - noise.shape / (noise.shape - 1.0)


def half_widths(name: str, count: int) -> list[float]:
    """Anytime with C, with a horizon, Student, Chebyshev, Catoni's order."""
    noise, values = NOISES[name], draw(name, count)
    found = []
    for horizon in (None, count):
        given: dict[str, Any] = {"bound": BOUND, "delta": DELTA, "horizon": horizon}
        ends = hb.robust_interval(values, asymmetry=asymmetry_of(noise), **given)
        assert (ends.low <= 0.0).all()
        assert (ends.high >= 0.0).all()
        found.append(float(ends.high[-1] - ends.low[-1]) / 2.0)
    quantile = NormalDist().inv_cdf(1.0 - DELTA / 2.0)
    variance = float(noise.central_moment(2.0)) if noise.tail_index() > 2.0 else math.nan
    found.append(quantile * float(values.std(ddof=1)) / math.sqrt(count))
    found.append(math.sqrt(variance / (DELTA * count)))
    found.append(math.sqrt(2.0 * math.log(2.0 / DELTA) * variance / count))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--counts", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    counts = parser.parse_args().counts
    print("| noise | C | n | anytime | horizon n | Student | Chebyshev | Catoni's order |")
    print("|---|---|---|---|---|---|---|---|")
    for name, noise in NOISES.items():
        for count in counts:
            row = [f"{width:.4f}" for width in half_widths(name, count)]
            print(
                f"| {name} | {asymmetry_of(noise):.2f} | {count:,} | {' | '.join(row)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
