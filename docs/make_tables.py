"""Write the tables of the docs that code and packages know: python docs/make_tables.py"""

import re
from pathlib import Path

from heavybandits.algorithms.catalogue import algorithm_table
from heavybandits.engine.members import contract_table, contracts_table
from heavybandits.parts import Policy
from make_licences import licence_table

PAGES = {
    "algorithms.md": {"algorithms": algorithm_table},
    "contracts.md": {"contracts": contracts_table},
    "licences.md": {"licences": licence_table},
    "own_algorithm.md": {"policy": lambda: contract_table(Policy)},
}


def renew(page: Path) -> str:
    """The text of a page with each of its tables made anew between its two marks."""
    text = page.read_text()
    for name, make in PAGES[page.name].items():
        start, stop = f"<!-- table: {name} -->\n", f"<!-- end: {name} -->"
        pattern = re.compile(re.escape(start) + ".*?" + re.escape(stop), re.DOTALL)
        place = pattern.search(text)
        if place is None:
            raise ValueError(f"{page} has no place for the table {name}")
        text = text[: place.start()] + start + make() + stop + text[place.end() :]
    return text


if __name__ == "__main__":
    for name in PAGES:
        page = Path(__file__).with_name(name)
        page.write_text(renew(page))
