"""A category that enters through one source is recognised from every other."""

import pytest

pytest.importorskip("polars", reason="polars is not installed")
pytest.importorskip("pandas", reason="the extra 'lab' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'lab' is not installed")

from category_sources import (
    KINDS,
    SOURCES,
    count_misses,
    is_rebuilt,
    make_batches,
    make_encoder,
)

BATCHES = list(make_batches(len(KINDS) * 20, seed=7, size=10))


@pytest.mark.parametrize(("kind", "batch"), BATCHES)
def test_a_category_is_the_same_from_every_source(kind, batch, tmp_path):
    tables = {name: make(batch, tmp_path) for name, make in SOURCES.items()}
    encoders = {name: make_encoder(table) for name, table in tables.items()}
    misses = {
        (fitted, read): count
        for fitted, encoder in encoders.items()
        for read, table in tables.items()
        if (count := count_misses(encoder, table, batch))
    }
    assert not misses


@pytest.mark.parametrize(("kind", "batch"), BATCHES[: len(KINDS)])
def test_a_new_encoder_reads_the_categories_of_a_ledger(kind, batch, tmp_path):
    assert is_rebuilt(batch, tmp_path / "agent.db")
