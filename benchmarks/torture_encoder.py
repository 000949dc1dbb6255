"""Encoders: categories from every source to every other, and values that no column contains."""

import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import heavybandits as hb
from category_sources import KINDS, SOURCES, count_misses, is_rebuilt, make_batches, make_encoder
from heavybandits.features import Category, Column, Date, Number
from odd_values import VALUES

COLUMNS: list[Column] = [
    Number("v", allow_missing=True),
    Number("v", decimal=","),
    Category("v", ["a", "1", "1.10"], allow_missing=True),
    Category("v", ["a"], normalize="casefold"),
    Date("v", allow_missing=True),
    Date("v", formats=["%d.%m.%Y"]),
]
TABLES: list[Callable[[list[Any]], Any]] = [
    lambda values: [{"v": value, "p": 1.0} for value in values],
    lambda values: {"v": values, "p": [1.0] * len(values)},
    lambda values: pandas.DataFrame({"v": pandas.Series(values, dtype=object), "p": 1.0}),
    lambda values: {"v": pandas.Series(values, dtype=object), "p": [1.0] * len(values)},
]


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


def encode_odd_values(attempts: int, seed: int) -> Counter[str]:
    """Whatever a value is, it is encoded as finite features, or raises an InvalidInputError."""
    outcomes: Counter[str] = Counter()
    dice, kinds = random.Random(seed), list(KINDS.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(attempts):
            column, size = dice.choice(COLUMNS), dice.choice([1, 1, 2, 3])
            odd = dice.random() < 0.7
            values = [dice.choice(VALUES) if odd else dice.choice(kinds)(dice) for _ in range(size)]
            outcomes[_encode_once(column, values, dice)] += 1
    return outcomes


def _encode_once(column: Column, values: list[Any], dice: random.Random) -> str:
    encoder, table = hb.Encoder([column], [Number("p")]), dice.choice(TABLES)(values)
    types = dice.choice([{}, {"v": column.type}])
    sides: Any = {"context_columns": ["v"], "action_columns": ["p"]}
    calls: list[Callable[[], Any]] = [
        lambda: encoder.encode({"v": values[0]}, {"a": {"p": 1.0}}),
        lambda: encoder.encode_rows(table),
        lambda: hb.Encoder.from_data(table, **sides, column_types=types).encode_rows(table),
    ]
    try:
        features = dice.choice(calls)()
    except hb.InvalidInputError as error:
        printable = all(c.isprintable() for c in str(error))
        return "InvalidInputError" if printable else "FAULT: a message with control characters"
    except Exception as error:
        return f"FAULT: {type(error).__name__}"
    fits = np.isfinite(features).all() and (np.linalg.norm(features, axis=1) <= 1.0 + 1e-9).all()
    return "encoded" if fits else "FAULT: features that are not finite or longer than 1"
