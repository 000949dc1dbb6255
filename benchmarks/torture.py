"""Try to break the library, section by section, and print what came out.

    python benchmarks/torture.py                 every section, about a quarter of an hour
    python benchmarks/torture.py cache files     some of them
    python benchmarks/torture.py --share 0.01    a hundredth of the attempts

Each section makes attempts and sorts them by outcome. An outcome that begins with FAULT is one that
must never happen: then the exit status is 1, and the seed says how to see it again. One in
parentheses is a note and no attempt. To add a section, write a function from a number of attempts
and a seed to a Counter, and put it into SECTIONS with the attempts that `make torture` makes.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from torture_agents import interleave_agents
from torture_alarms import interrupt_ledgers
from torture_cache import damage_cache
from torture_coverage import cover_truth
from torture_damage import damage_ledgers
from torture_edges import restore_edges
from torture_encoder import encode_odd_values, recognise_categories
from torture_files import fail_calls
from torture_groups import back_up, fill_groups, kill_groups
from torture_helpers import edit_helpers
from torture_ledger import fill_disks, fork_agents, kill_agents
from torture_links import lay_links
from torture_nestings import nest_policies
from torture_numba import compare_public
from torture_parts import break_parts
from torture_policies import play_generated
from torture_postgres import (
    kill_callers,
    lose_messages,
    lose_tails,
    restart_servers,
    take_over,
)
from torture_serve import kill_service
from torture_state import interleave_signals, mangle_states

Section = Callable[[int, int], Counter[str]]

SECTIONS: dict[str, tuple[Section, int]] = {
    "cache": (damage_cache, 500),  # damaged files of compiled kernels
    "helpers": (edit_helpers, 500),  # edited helpers of the user's, in sweeps and kernels
    "files": (fail_calls, 1000),  # I/O errors while something is saved
    "disks": (fill_disks, 1000),  # I/O errors while an agent writes its ledger
    "parts": (break_parts, 1000),  # parts of one's own with a mistake in one method
    "policies": (play_generated, 10_000),  # well-formed policies, uncompiled, bounds checked
    "nestings": (nest_policies, 100),  # randomised policies in each other, against propensities
    "numba": (compare_public, 35),  # kernels by the public API of numba, against the usual ones
    "states": (mangle_states, 100_000),  # mangled state files
    "signals": (interleave_signals, 100_000),  # calls in any order, interrupted
    "agents": (interleave_agents, 100_000),  # several at once, foreign tickets, revisions, rebuilds
    "kills": (kill_agents, 1000),  # of processes that work on a ledger
    "groups": (kill_groups, 1000),  # kills of processes in which 16 threads write a ledger
    "group-disks": (fill_groups, 600),  # I/O errors while eight threads write a ledger
    "backups": (back_up, 200),  # copies of ledgers on which threads work
    "alarms": (interrupt_ledgers, 5000),  # signals to processes that work on a ledger
    "forks": (fork_agents, 1000),  # of processes that work on a ledger
    "edges": (restore_edges, 2000),  # agents at the ends of the range, kept in every way
    "encoder": (recognise_categories, 10_000),  # categories, from each source to each other
    "values": (encode_odd_values, 100_000),  # that no column can be expected to hold
    "coverage": (cover_truth, 300),  # logs per law, policy and size, whose value is known
    "ledgers": (damage_ledgers, 2000),  # damaged ledgers, each before six readers
    "postgres": (kill_callers, 1000),  # of agents on a server, each with 16 callers
    "restarts": (restart_servers, 100),  # of a server, at once, under 16 callers
    "takeovers": (take_over, 1000),  # of a ledger on a server, under 16 callers
    "messages": (lose_messages, 400),  # lost, late or cut between an agent and its server
    "tails": (lose_tails, 300),  # of a ledger, when its server returns to an older state
    "serve": (kill_service, 1000),  # of core and front ends of a service, under 32 clients
    "links": (lay_links, 760),  # links, pipes, foreign files in place of every file of ours
}


def run_section(name: str, share: float, seed: int) -> dict[str, object]:
    section, attempts = SECTIONS[name]
    started = time.perf_counter()
    outcomes = section(max(1, round(share * attempts)), seed)
    seconds = round(time.perf_counter() - started, 1)
    return {
        "section": name,
        "attempts": sum(count for key, count in outcomes.items() if not key.startswith("(")),
        "outcomes": dict(outcomes.most_common()),
        "faults": sum(count for key, count in outcomes.items() if key.startswith("FAULT")),
        "seconds": seconds,
        "seed": seed,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--share", type=float, default=1.0, help="of the attempts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="sections at a time")
    told = parser.parse_args()
    unknown = set(told.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    names = told.sections or list(SECTIONS)
    if len(names) == 1:
        found = run_section(names[0], told.share, told.seed)
        print(json.dumps(found), flush=True)
        return 1 if found["faults"] else 0

    def run(name: str) -> int:
        """A section in a process of its own."""
        options = ["--share", str(told.share), "--seed", str(told.seed)]
        return subprocess.run([sys.executable, __file__, name, *options]).returncode

    with ThreadPoolExecutor(told.jobs) as pool:
        return max(map(abs, pool.map(run, names)))


if __name__ == "__main__":
    sys.exit(main())
