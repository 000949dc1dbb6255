"""Write the tables of the docs that code and packages know: python docs/make_tables.py"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from heavybandits import arms, links, noises, worlds
from heavybandits._utils.registry import Entry
from heavybandits.algorithms.catalogue import ALGORITHMS, arm_sets, example
from heavybandits.authoring import Policy
from heavybandits.core.conformance import members, written
from heavybandits.core.protocols import CONTRACTS
from make_licences import licence_table


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    heads = list(titles)
    lines = [heads, ["---"] * len(heads), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def promises() -> str:
    """What every algorithm assumes and promises."""
    rows = (
        (name, row.model, row.assumes, row.regret, row.paper) for name, row in ALGORITHMS.items()
    )
    return table(("algorithm", "mean reward", "assumes of the noise", "regret", "paper"), rows)


def costs() -> str:
    """What every algorithm takes: arms, plays, time and space."""
    rows = []
    for name, row in ALGORITHMS.items():
        policy = example(name)
        call = f"`{row.function.__name__}`" + (f", `{row.tuning}`" if row.tuning else "")
        rows.append((name, call, arm_sets(policy), str(policy.plays), row.time, row.space))
    titles = ("function, what is tuned", "arm sets", "plays", "time per decision", "space")
    return table(("algorithm", *titles), rows)


def named(registry: Mapping[str, Entry]) -> Callable[[], str]:
    """The names of a family on the command line."""

    def make() -> str:
        titles = ("name", "what it is", "numbers it takes")
        rows = [(f"`{n}`", e.about, ", ".join(e.numbers)) for n, e in registry.items()]
        kept = 3 if any(e.numbers for e in registry.values()) else 2
        return table(titles[:kept], (row[:kept] for row in rows))

    return make


def contract_table(contract: type) -> str:
    """The members of a contract."""
    rows = (
        (f"`{written(name, member)}`", about(member)) for name, member in members(contract).items()
    )
    return table(("member", "what it is"), rows)


def about(member: object) -> str:
    """Return the docstring of a member up to its first section, on one line."""
    text = re.split(r"\n\n\w[\w ]*\n---", inspect.getdoc(member) or "")[0]
    return " ".join(text.split())


def contracts_table() -> str:
    """Every contract with its table."""
    sections = [
        f"## {kind.capitalize()}\n\n{inspect.getdoc(contract)}\n\n{contract_table(contract)}"
        for kind, contract in CONTRACTS.items()
    ]
    return "\n".join(sections)


PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "algorithms.md": {"promises": promises, "costs": costs},
    "command_names.md": {
        "noises": named(noises.REGISTRY),
        "links": named(links.REGISTRY),
        "arms": named(arms.REGISTRY),
        "worlds": named(worlds.REGISTRY),
    },
    "contracts.md": {"contracts": contracts_table},
    "licences.md": {"licences": licence_table},
    "own_algorithm.md": {"policy": lambda: contract_table(Policy)},
}


def renew(page: Path) -> str:
    """The text of a page with each of its tables made again between its two marks."""
    text = page.read_text()
    for name, make in PAGES[page.name].items():
        start, stop = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        before, found, rest = text.partition(start)
        after = rest.partition(stop)[2]
        if not found or not after:
            raise ValueError(f"{page} has no place for the table {name}")
        text = before + start + make() + stop + after
    return text


if __name__ == "__main__":
    for name in PAGES:
        page = Path(__file__).with_name(name)
        page.write_text(renew(page))
