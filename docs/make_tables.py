"""Write the tables of the docs that the code knows: python docs/make_tables.py"""

import re
from pathlib import Path

from heavybandits.algorithms.catalogue import algorithm_table
from heavybandits.engine.members import contract_table, contracts_table
from heavybandits.parts import Policy

PAGES = {
    "algorithms.md": {"algorithms": algorithm_table},
    "contracts.md": {"contracts": contracts_table},
    "own_algorithm.md": {"policy": lambda: contract_table(Policy)},
}


def renew(page: Path) -> str:
    """The text of a page with each of its tables made anew between its two marks."""
    text = page.read_text()
    for name, make in PAGES[page.name].items():
        start, stop = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        pattern = re.compile(re.escape(start) + ".*?" + re.escape(stop), re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page} has no place for the table {name}")
        table = start + make() + stop
        text = pattern.sub(lambda _, table=table: table, text)
    return text


if __name__ == "__main__":
    for name in PAGES:
        page = Path(__file__).with_name(name)
        page.write_text(renew(page))
