"""Rows are the same whatever holds them and in whatever order, and others wherever one cell is."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.depth import turns

from discreet.engine import open_engine, open_source
from discreet.schema.columns import boolean, category, integer, number, text
from discreet.schema.columns import date as day
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

SALT = b"s" * 32
COLUMNS = {
    "whole": integer(-5, 120),
    "huge": integer(-(2**62), 2**62),
    "real": number(0, 1000, step=0.25, missing=7),
    "word": category("f", "m", "a,b"),
    "grade": category(1, 2, 3),
    "yes": boolean(),
    "when": day("1900-01-01", "2100-01-01"),
    "note": text(length=12),
}
ANYONE = Person("id", 2, 2)
Cells = dict[str, list[object]]


def identity(given: object, columns: Mapping[str, object] = COLUMNS, unit: Unit = ANYONE, salt: bytes = SALT) -> str:
    wanted = [*columns, *([unit.id] if isinstance(unit, Person) else [])]
    engine = open_engine(open_source(given, columns=wanted), schema := Schema(columns, unit), {})  # type: ignore[arg-type]
    try:
        found = engine.identify(schema, salt)
    finally:
        engine.close()
    assert found is not None
    return found


def drawn(seed: int, rows: int = 12) -> Cells:
    """Cells of every kind, some missing, some outside of what is declared, some twice in the same row."""
    draw = random.Random(seed)

    def column(make: Callable[[], object], missing: float = 0.15) -> list[object]:
        return [None if draw.random() < missing else make() for _ in range(rows)]

    table: Cells = {
        "whole": column(lambda: draw.randint(-20, 140)),
        "huge": column(lambda: draw.choice([2**53 + 1, -(2**61) - 1, 2**62, 5]), 0),
        "real": column(lambda: draw.choice([0.25 * draw.randint(-3, 4100), 0.1, 1e9])),
        "word": column(lambda: draw.choice(["f", "m", "a,b", "F", "else"])),
        "grade": column(lambda: draw.randint(0, 4)),
        "yes": column(lambda: draw.random() < 0.5, 0),
        "when": column(lambda: date(draw.randint(1890, 2110), draw.randint(1, 12), draw.randint(1, 28))),
        "note": column(lambda: draw.choice(['say "it"', "a/b", "1:x", "-", "ä" * 20, "no, none", " x "])),
        "id": column(lambda: draw.randint(1, 5)),
    }
    return {name: [*cells, cells[0]] for name, cells in table.items()}  # a row that is there twice


def arrow(table: Cells) -> pa.Table:
    kinds = {
        "whole": pa.int32(),
        "huge": pa.int64(),
        "real": pa.float64(),
        "grade": pa.int8(),
        "when": pa.date32(),
        "id": pa.int64(),
    }
    return pa.table({name: pa.array(cells, kinds.get(name)) for name, cells in table.items()})


def permuted(table: Cells) -> Cells:
    order = random.Random(5).sample(range(len(table["id"])), len(table["id"]))
    return {name: [cells[i] for i in order] for name, cells in reversed(table.items())}


def write_csv(table: Cells, place: Path, **how: object) -> Path:
    with open(place, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", **how)  # type: ignore[arg-type]
        writer.writerow(table)
        writer.writerows(zip(*([("" if cell is None else cell) for cell in cells] for cells in table.values()), strict=True))
    return place


def write_gzip(table: Cells, place: Path) -> Path:
    place.with_suffix(".csv.gz").write_bytes(gzip.compress(write_csv(table, place.with_suffix(".csv")).read_bytes()))
    return place.with_suffix(".csv.gz")


def write_parquet(table: pa.Table, place: Path, **how: object) -> Path:
    parquet.write_table(table, place, **how)
    return place


def write_database(table: Cells, place: Path) -> Path:
    given = arrow(table)
    with duckdb.connect(str(place)) as database:
        database.register("given", given)
        database.execute("CREATE TABLE visits AS SELECT * REPLACE (CAST(real AS DECIMAL(18, 2)) AS real) FROM given")
    return place


def typed_otherwise(table: Cells) -> pa.Table:
    """The same values in the widest, the narrowest and the oddest types that hold them."""
    held = arrow(table)
    for name, kind in (
        ("whole", pa.float64()),
        ("grade", pa.decimal128(5, 1)),
        ("id", pa.float32()),
        ("when", pa.timestamp("us")),
    ):
        held = held.set_column(held.column_names.index(name), name, held[name].cast(kind))
    for name in ("word", "note"):
        held = held.set_column(held.column_names.index(name), name, held[name].dictionary_encode())
    return held.set_column(held.column_names.index("yes"), "yes", held["yes"].cast(pa.int8()))


FORMS: dict[str, Callable[[Cells, Path], object]] = {
    "csv": lambda table, place: write_csv(table, place / "x.csv"),
    "permuted csv": lambda table, place: write_csv(permuted(table), place / "p.csv"),
    "quoted csv": lambda table, place: write_csv(table, place / "q.csv", quoting=csv.QUOTE_ALL),
    "tsv": lambda table, place: write_csv(table, place / "x.tsv", delimiter="\t"),
    "gzip": lambda table, place: write_gzip(table, place / "z"),
    "two files": lambda table, place: (
        [
            write_csv({name: cells[part] for name, cells in table.items()}, place / f"part{i}.csv")
            for i, part in enumerate((slice(0, 4), slice(4, None)))
        ]
        and place / "part*.csv"
    ),
    "parquet": lambda table, place: write_parquet(arrow(table), place / "x.parquet"),
    "permuted parquet": lambda table, place: write_parquet(arrow(permuted(table)), place / "p.parquet", row_group_size=3),
    "database": lambda table, place: write_database(table, place / "x.duckdb"),
    "arrow": lambda table, _: arrow(permuted(table)),
    "other types": lambda table, _: typed_otherwise(table),
    "in pieces": lambda table, _: pa.concat_tables([arrow(table).slice(4), arrow(table).slice(0, 4)]),
    "pandas": lambda table, _: pd.DataFrame(table),
    "pandas from csv": lambda table, place: pd.read_csv(write_csv(table, place / "r.csv")),
    "objects": lambda table, _: pd.DataFrame(table, dtype=object).iloc[::-1],
    "from dicts": lambda table, _: pd.DataFrame(list(pd.DataFrame(table, dtype=object).T.to_dict().values())),
    "concat": lambda table, _: pd.concat([pd.DataFrame(table).iloc[5:], pd.DataFrame(table).iloc[:5]]),
    "category": lambda table, _: pd.DataFrame(table, dtype=object).astype("category"),
    "convert_dtypes": lambda table, _: pd.DataFrame(table).convert_dtypes(),
    "texts": lambda table, _: pd.DataFrame({n: [None if c is None else str(c) for c in cells] for n, cells in table.items()}),
    "polars": lambda table, _: pl.DataFrame(table),
    "lazy": lambda table, _: pl.DataFrame(permuted(table)).lazy(),
}


def test_the_same_rows_are_the_same_in_every_form_and_order(tmp_path: Path) -> None:
    table = drawn(1)
    found = {name: identity(form(table, tmp_path)) for name, form in FORMS.items()}
    assert {name for name, one in found.items() if one != found["csv"]} == set()


OTHERS: Mapping[str, tuple[object, object]] = {
    "whole": (33, 34), "huge": (2**53 + 1, 2**53 + 2), "real": (2.25, 2.5), "word": ("f", "m"), "grade": (1, None),
    "yes": (True, False), "when": (date(2000, 1, 1), date(2000, 1, 2)), "note": ("a", None), "id": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "objects"])
def test_one_cell_makes_other_rows(form: str, tmp_path: Path) -> None:
    """In every column: the cell is another one after cleaning too, and it is the only one. Usually a form has half of them."""
    others = turns(OTHERS, form == "csv", 2)
    table = {name: [*cells[:2], OTHERS[name][0], *cells[3:]] for name, cells in drawn(3).items()}
    found = [identity(FORMS[form](table, tmp_path))]
    for column, (_, other) in others.items():
        cells = table[column]
        found.append(identity(FORMS[form](table | {column: [*cells[:2], other, *cells[3:]]}, tmp_path)))
    assert len({*found}) == 1 + len(others)


def test_what_is_cleaned_away_is_no_difference_and_what_is_not_declared_is_none() -> None:
    first = pa.table({"id": ["a", "b"], "whole": [500, 1], "more": [1, 2]})
    same = pa.table({"id": ["a", "b", None], "whole": [120, 1, 5], "more": [3, 4, 5]})
    wide, narrow = {"whole": integer(-5, 1000)}, {"whole": integer(-5, 120)}
    assert identity(first, narrow) == identity(same, narrow)  # clamped; a row of nobody counts nowhere
    assert identity(first, wide) != identity(same, wide)
    assert identity(first.drop_columns("id"), narrow, Rows()) != identity(same.drop_columns("id"), narrow, Rows())
    assert identity(first, narrow) != identity(first, narrow, salt=b"t" * 32)


ODD: Sequence[object] = [
    1, 2.0, "3", " 4", "1e1", True, None, float("nan"), np.float32(1.5), np.int8(7), Decimal("2.50"), "x", "", b"5", [1], {},
    datetime(2020, 1, 2, 3), date(2020, 1, 2), np.datetime64("2020-01-02"), pd.Timestamp("2020-01-02"), pd.NA, 10**30, "-inf",
]  # fmt: skip


@pytest.mark.parametrize(
    "declared",
    [integer(0, 20), number(0, 20, step=0.5), text(), category("1", "2", "x"), boolean(), day("2000-01-01", "2030-01-01")],
)
def test_an_odd_cell_of_an_object_column_is_what_it_is_beside_others(declared: object) -> None:
    """All odd cells in one column, in any order, and every one beside a text that makes objects of its column."""
    frame = pd.DataFrame({"c": pd.Series([*ODD, "else"], dtype=object)})
    columns = {"c": declared}
    first = identity(frame, columns, Rows())
    assert first == identity(frame.iloc[::-1], columns, Rows())
    parts = pd.concat([pd.DataFrame({"c": pd.Series([cell], dtype=object)}) for cell in [*ODD, "else"]])
    assert first == identity(parts, columns, Rows())
    assert first != identity(frame.iloc[1:], columns, Rows())


def test_rows_that_try_to_look_like_others_do_not(tmp_path: Path) -> None:
    """Signs of ours within texts, cells that change places, rows more or less often: all are different tables."""
    columns = {"a": text(), "b": text()}
    tables = [
        [("x", "y")], [("y", "x")], [("x/1:y", "")], [("", "x/1:y")], [("x", None)], [(None, "x")], [("x", "")], [("", "x")],
        [("1:x", "y")], [(":", None)], [(None, ":")], [("", None)], [(None, "")], [(None, None)], [("-", "-")],
        [("x\0", "y")], [("x", "\0y")],
        [], [("x", "y")] * 2, [("x", "y")] * 4, [("x", "y"), ("u", "v")], [("x", "v"), ("u", "y")],
        [("x", "y"), ("x", "y"), ("u", "v")], [("x", "y"), ("u", "v"), ("u", "v")],
    ]  # fmt: skip
    engine_of = {}
    for rows in tables:
        held = pa.table({name: pa.array([row[j] for row in rows], pa.string()) for j, name in enumerate("ab")})
        engine_of[repr(rows)] = identity(held, columns, Rows())
    assert len({*engine_of.values()}) == len(tables)
    wide = {f"c{i}": integer(0, 9) for i in range(300)}
    held = pa.table({name: [1, 2, None] for name in wide} | {"c9": [1, 2, 3]})
    assert identity(held, wide, Rows()) == identity(held.take([2, 0, 1]), wide, Rows())
    assert identity(held, wide, Rows()) != identity(held.set_column(9, "c9", pa.array([2, 1, 3])), wide, Rows())
    long = pa.table({"a": ["x" * 10**6, "y"], "b": ["", None]})
    assert identity(long, columns, Rows()) == identity(write_parquet(long, tmp_path / "l.parquet"), columns, Rows())
