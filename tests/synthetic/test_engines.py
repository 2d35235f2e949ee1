"""Synthetic data of tables on other engines: what is counted there, joint histograms, open keys and leaves, is the same to the
last unit, and so is what is released of it. Spark's part stands in ``tests/spark``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from engine.on_postgres import postgres_types
from support.postgres import a_database, server
from synthetic.clinic import COLUMNS, table

import discreet as dp
from discreet.mechanisms.base import recorded

__all__ = ["ASKED", "UNIT", "compare"]

UNIT = dp.person("who", rows=2, groups=2)
ASKED: dict[str, Any] = {"bought": ["city", "debt"], "bins": {"age": 10, "day": 6}, "rows": 3, "seconds": 0.02, "epsilon": 40}


def compare(folder: Path, sources: dict[str, Any]) -> None:
    """A model of the same table by every engine: the first values before noise are the same, with the same sensitivities.

    Later ones depend on what came out; and keys of persons are chosen by a salt, which every ledger draws anew."""
    found = {}
    for name, source in sources.items():
        (folder / name).mkdir()
        curator = dp.Curator(
            source,
            unit=UNIT,
            columns=COLUMNS,
            budget=dp.Budget(epsilon=50, delta=1e-6),
            ledger=folder / name / "clinic.ledger",
            version="2026-11",
        )
        with recorded() as record:
            model = curator.synthesize(**ASKED)
        assert model.measured.complete
        assert model.measured.spent == model.measured.cost.amount
        assert {*(model.domain.columns[-1].values or ())} == {"Bergen", "Oslo"}
        assert len(model.sample(50)) == 50
        assert curator.synthesize(**ASKED).repeated
        leaves = [one for one in record if type(one.mechanism).__name__ == "Gaussian"][:4]
        found[name] = [(one.mechanism, [int(n) for n in one.value.ravel()]) for one in leaves]
        curator.close()
    first, *others = found.values()
    assert len(first) == 4
    assert all(other == first for other in others)


@pytest.fixture
def address() -> Any:
    rows = table(400)
    types = postgres_types(rows.schema)
    assert types is not None
    with a_database() as name:
        with psycopg.connect(server().url(name)) as connection:
            named = ", ".join(f"{column} {kind}" for column, kind in types.items())
            connection.execute(f"CREATE TABLE clinic ({named})")
            with connection.cursor().copy("COPY clinic FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                    copy.write_row(row)
        yield f"{server().url(name)}&table=clinic"


def test_postgres_counts_what_duckdb_counts(address: str, tmp_path: Path) -> None:
    compare(tmp_path, {"duckdb": table(400), "postgres": address})


def test_a_file_and_a_frame_are_counted_alike(tmp_path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table(400), tmp_path / "clinic.parquet")
    order = pa.array(list(range(399, -1, -1)))
    compare(tmp_path, {"file": tmp_path / "clinic.parquet", "frame": table(400), "order": table(400).take(order)})
