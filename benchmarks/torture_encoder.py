"""Categories of every type, written to every source and read from every other."""

import tempfile
from collections import Counter
from pathlib import Path

from category_sources import SOURCES, count_misses, is_rebuilt, make_batches, make_encoder


def recognise_categories(attempts: int, seed: int) -> Counter[str]:
    """A value that enters through one source must be recognised from every other.

    An attempt is a value; each is read from all sources by the encoders of all sources.
    """
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number, (kind, batch) in enumerate(make_batches(attempts, seed)):
            values = sum(value is not None for value in batch)
            tables = {name: make(batch, folder) for name, make in SOURCES.items()}
            missed: Counter[str] = Counter()
            for fitted, table in tables.items():
                encoder = make_encoder(table)
                for read, other in tables.items():
                    missed[f"{fitted} to {read}"] = count_misses(encoder, other, batch)
            outcomes["(reads of a value)"] += len(tables) ** 2 * values
            worst, misses = max(missed.items(), key=lambda pair: pair[1])
            if misses:
                outcomes[f"FAULT: {kind} missed, {worst}"] += values
            elif is_rebuilt(batch, folder / f"{number}.db"):
                outcomes["recognised from every source and after a rebuild"] += values
            else:
                outcomes[f"FAULT: {kind} read otherwise by a rebuild"] += values
    return outcomes
