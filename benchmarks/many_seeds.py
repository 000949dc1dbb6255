"""The worst problems of policies without tuning, with many more runs than the study has.

    python benchmarks/many_seeds.py --repetitions 1000 --jobs 16 --device cuda --out out/seeds

plays `auto`, CRAL and LinUCB at its eight radii, with and without `AdaptiveClip`, on the problems
of the study `untuned` that have one kind of noise; `--groups shops "fixed arms"` plays worlds of
these groups as well, on the CPU. Writes tables and prints the verdicts. Finished cells stay in the
folder, so a command that was killed resumes.
"""

import argparse
from pathlib import Path
from typing import Any

from heavybandits._utils.tables import to_csv
from heavybandits.cli.reproduce import verdict_text
from heavybandits.experiments.untuned import PROFILES, analyse, collect
from heavybandits.experiments.untuned.catalogue import REPORT
from heavybandits.experiments.untuned.policies import AUTO, CRAL, GRID, HURDLE, RANDOM
from heavybandits.experiments.untuned.problems import PROBLEMS
from heavybandits.sweeps import Runner

CHUNK = 100  # runs of a cell


def settings_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the study for these runs."""
    policies = [RANDOM, AUTO, CRAL, *(row.name for row in GRID)]
    wanted: dict[str, Any] = {"groups": given.groups, "repetitions": given.repetitions}
    wanted |= {"policies": [*policies, HURDLE] if given.groups else policies, "often": 1}
    wanted |= {"problems": list(PROBLEMS)[:: given.every] if given.every else []}
    wanted |= {"scales": [1.0], "sets": [], "sparse": [], "chunk": min(CHUNK, given.repetitions)}
    if given.horizon:
        wanted |= {"horizon": given.horizon, "long_horizon": given.horizon}
    return PROFILES["full"] | wanted


def main() -> None:
    """Play, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=1000, help="runs per problem")
    parser.add_argument(
        "--groups",
        nargs="*",
        default=[],
        choices=list(REPORT),
        metavar="GROUP",
        help="play the worlds of these groups as well, such as shops",
    )
    parser.add_argument("--every", type=int, default=1, help="play every n-th problem; 0 for none")
    parser.add_argument("--horizon", type=int, help="rounds, if not those of the study")
    parser.add_argument("--jobs", type=int, help="workers; all cores if it is left out")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="cuda: a GPU")
    parser.add_argument("--out", type=Path, default=Path("out/seeds"), help="folder of the results")
    given = parser.parse_args()
    runner = Runner(given.out, given.jobs, device=given.device, fallback=True)
    found = analyse(collect(settings_of(given), runner))
    for table in found.tables:
        (given.out / f"{table.name}.csv").write_text(to_csv(table.rows))
    print(verdict_text(found.verdicts))
    for name, why in runner.twins.reasons.items():
        print(f"on the CPU: {name} ({why})")


if __name__ == "__main__":
    main()
