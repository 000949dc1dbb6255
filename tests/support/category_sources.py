"""Values of categories and the sources that an encoder reads them from.

A batch has values of one kind, because a column of a frame has one type. `SOURCES` turns a batch
into a table; `count_misses` says how many values one source does not recognise of another.
"""

import csv
import enum
import json
import random
import string
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet

import heavybandits as hb
from heavybandits.features.values import to_plain

Batch = list[Any]  # None is a missing value
Make = Callable[[random.Random], Any]
Source = Callable[[Batch, Path], Any]

START = datetime(1999, 1, 1)
ALPHABET = string.ascii_letters + "éÅñßøžΩж漢 -_/&'(),;|"


class Plan(str, enum.Enum):  # noqa: UP042 - StrEnum writes itself as its value
    FREE = "free"
    PRO = "Pro"
    NUMBERED = "2"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 20


def make_word(dice: random.Random) -> str:
    text = "".join(dice.choices(ALPHABET, k=dice.randint(1, 12)))
    return unicodedata.normalize(dice.choice(["NFC", "NFD"]), "w" + text)


def make_number_text(dice: random.Random) -> str:
    """Texts that readers of files take for numbers: prices, versions, codes, hexadecimal ids."""
    made: list[Make] = [
        lambda d: f"{d.randint(0, 99)}.{d.randint(0, 99):02}",
        lambda d: f"{d.randint(0, 99_999):05}",
        lambda d: f"{d.randint(1, 99)}e{d.randint(1, 9)}",
        lambda d: f"{d.randint(1, 9)}.{d.randint(0, 20)}",
        lambda d: str(d.randint(-(10**6), 10**6)),
        lambda d: f"{d.randint(0, 99)}.0",
    ]
    return str(dice.choice(made)(dice))


def make_moment(dice: random.Random) -> datetime:
    units: list[dict[str, int]] = [
        {"days": dice.randint(0, 15_000)},
        {"minutes": dice.randint(0, 20_000_000)},
        {"seconds": dice.randint(0, 10**9)},
        {"microseconds": dice.randint(0, 10**15)},
    ]
    return START + timedelta(**dice.choice(units))


def make_aware(dice: random.Random) -> datetime:
    zone = timezone(timedelta(minutes=60 * dice.randint(-12, 13)))
    return make_moment(dice).replace(tzinfo=dice.choice([UTC, zone]))


KINDS: dict[str, Make] = {
    "bool": lambda d: d.random() < 0.5,
    "int": lambda d: d.randint(-1000, 1000),
    "id": lambda d: d.randint(2**53, 2**63 - 1),
    "whole float": lambda d: float(d.randint(-(10**6), 10**6)),
    "float": lambda d: d.choice([d.uniform(-5, 5), round(d.uniform(0, 9), 2), d.gauss(0, 1e-7)]),
    "decimal": lambda d: Decimal(d.randint(-(10**6), 10**6)).scaleb(-d.randint(0, 4)),
    "long decimal": lambda d: Decimal(d.randint(10**20, 10**25)).scaleb(-2),
    "word": make_word,
    "number text": make_number_text,
    "boolean text": lambda d: d.choice(["true", "False", "TRUE", "false"]),
    "time text": lambda d: f"{d.randint(0, 23):02}:{d.randint(0, 59):02}",
    "datetime": make_moment,
    "aware": make_aware,
    "date": lambda d: make_moment(d).date(),
    "time": lambda d: make_moment(d).time(),
    "str enum": lambda d: d.choice(list(Plan)),
    "int enum": lambda d: d.choice(list(Level)),
    "bytes": lambda d: make_word(d).encode(),
    "uuid": lambda d: uuid.UUID(int=d.getrandbits(128)),
    "numpy int": lambda d: np.int64(d.randint(-(10**12), 10**12)),
    "numpy float": lambda d: np.float64(d.randint(-100, 100) / 4),
    "numpy bool": lambda d: np.bool_(d.random() < 0.5),
    "numpy datetime": lambda d: np.datetime64(make_moment(d), d.choice(["s", "us"])),
}


def make_batches(count: int, seed: int, size: int = 25) -> Iterator[tuple[str, Batch]]:
    """Yield batches of every kind in turn, with `count` values that are not missing."""
    dice, kinds = random.Random(seed), list(KINDS)
    made = 0
    for number in range(count):
        if made >= count:
            return
        kind = kinds[number % len(kinds)]
        values = [KINDS[kind](dice) for _ in range(min(size, count - made))]
        made += len(values)
        for _ in range(dice.choice([0, 0, 1, 3])):
            values.insert(dice.randint(0, len(values)), None)
        yield kind, values


# ---- sources


def simple(value: Any) -> Any:
    """Convert what frames have no type for."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, uuid.UUID):
        return str(value)
    return value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value


def _columns(values: Sequence[Any]) -> dict[str, list[Any]]:
    return {"v": list(values), "p": [float(n) for n in range(len(values))]}


def _textual(values: Sequence[Any]) -> list[Any]:
    return [v.decode() if isinstance(v, bytes) else simple(v) for v in values]


def as_dict(batch: Batch, folder: Path) -> Any:
    return [{"v": value, "p": float(n)} for n, value in enumerate(batch)]


def as_pandas(batch: Batch, folder: Path) -> Any:
    return pandas.DataFrame({"v": _as_series(batch), "p": np.arange(float(len(batch)))})


def _as_series(batch: Batch) -> Any:
    """Integers beyond 2^53 with gaps as Int64: as floats pandas has lost their digits already."""
    large = None in batch and any(type(v) is int and v > 2**53 for v in batch)
    return pandas.Series(batch, dtype="Int64" if large else None)


def as_nullable_pandas(batch: Batch, folder: Path) -> Any:
    """Types with NA: Int64, boolean, string."""
    return as_pandas([simple(v) for v in batch], folder).convert_dtypes()


def as_polars(batch: Batch, folder: Path) -> Any:
    return polars.DataFrame(_columns([to_zone(simple(v)) for v in batch]), strict=False)


def to_zone(value: Any) -> Any:
    """A column of polars has one time zone."""
    aware = isinstance(value, datetime) and value.tzinfo
    return value.astimezone(UTC) if aware else value


def as_pyarrow(batch: Batch, folder: Path) -> Any:
    return pyarrow.table(_columns([simple(v) for v in batch]))


def as_csv(batch: Batch, folder: Path) -> Any:
    with (folder / "plain.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["v", "p"])
        writer.writerows(["" if v is None else v, n] for n, v in enumerate(_textual(batch)))
    return folder / "plain.csv"


def as_pandas_csv(batch: Batch, folder: Path) -> Any:
    as_pandas(_textual(batch), folder).to_csv(folder / "pandas.csv", index=False)
    return folder / "pandas.csv"


def as_polars_csv(batch: Batch, folder: Path) -> Any:
    as_polars(_textual(batch), folder).write_csv(folder / "polars.csv")
    return folder / "polars.csv"


def as_pyarrow_csv(batch: Batch, folder: Path) -> Any:
    table = as_pyarrow(_textual(batch), folder)
    pyarrow.csv.write_csv(table, folder / "pyarrow.csv")
    return folder / "pyarrow.csv"


def as_parquet(batch: Batch, folder: Path) -> Any:
    pyarrow.parquet.write_table(as_pyarrow(batch, folder), folder / "batch.parquet")
    return folder / "batch.parquet"


def as_json(batch: Batch, folder: Path) -> Any:
    """As a ledger writes what an agent was given."""
    return json.loads(json.dumps(as_dict(batch, folder), default=to_plain))


SOURCES: dict[str, Source] = {
    "dict": as_dict,
    "pandas": as_pandas,
    "pandas with NA": as_nullable_pandas,
    "polars": as_polars,
    "pyarrow": as_pyarrow,
    "csv": as_csv,
    "csv of pandas": as_pandas_csv,
    "csv of polars": as_polars_csv,
    "csv of pyarrow": as_pyarrow_csv,
    "parquet": as_parquet,
    "json": as_json,
}


def make_encoder(table: Any, interactions: str = "none") -> hb.Encoder:
    return hb.Encoder.from_data(
        table,
        context_columns=["v"],
        action_columns=["p"],
        column_types={"v": "category"},
        allow_missing=["v"],
        max_categories=1000,
        interactions=interactions,
    )


def count_misses(encoder: hb.Encoder, table: Any, batch: Batch) -> int:
    """Count the rows that the encoder does not recognise, or reads otherwise than live values."""
    features, names = encoder.encode_rows(table), list(encoder.names)
    live = np.vstack(
        [encoder.encode({"v": v}, {"a": {"p": float(n)}}) for n, v in enumerate(batch)]
    )
    other, missing = (features[:, names.index(f"v=({word})")] for word in ("other", "missing"))
    gaps = np.array([value is None for value in batch])
    return int(((other > 0.0) | ((missing > 0.0) != gaps) | (features != live).any(axis=1)).sum())


def is_rebuilt(batch: Batch, path: Path) -> bool:
    """Return True if a new encoder reads a ledger as an agent that had it from the beginning."""
    first = make_encoder(as_dict(batch, path))
    new = hb.Encoder(first.context_columns, first.action_columns, interactions="all")
    lived = hb.Agent(hb.linucb(dim=new.dim, radius=1.0), encoder=new)
    past = hb.Agent(hb.linucb(dim=first.dim, radius=1.0), encoder=first, ledger=path)
    with past:
        for agent in (past, lived):
            for n, value in enumerate(batch):
                ticket = agent.select(context={"v": value}, actions={"a": {"p": float(n)}})
                agent.update(ticket, float(n))
    rebuilt = hb.Agent.rebuild(path, hb.linucb(dim=new.dim, radius=1.0), encoder=new)
    same: bool = rebuilt.theta.tobytes() == lived.theta.tobytes()
    return same
