"""Sources: what is accepted, what is refused before anything is read, names and fingerprints."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sources.source import LocalSource, open_source
from discreet.errors import ParameterError

SALT = b"s" * 32
TABLE = pa.table({"Age": [1, 2, 3], "word": ["a", "b", None]})


def total(source: LocalSource) -> int:
    with DuckDBSession(source) as session:
        return int(session.fetch(f'SELECT sum("Age")::BIGINT AS s FROM {DuckDBSession.relation}')["s"][0])


def database(place: Path, *tables: str) -> Path:
    with duckdb.connect(str(place)) as made:
        for table in tables:
            made.execute(f"CREATE TABLE {table} AS SELECT 1 + i AS \"Age\", 'a' AS word FROM range(3) AS t(i)")
        made.execute("CREATE VIEW seen AS SELECT 1 AS x")
    return place


@pytest.mark.parametrize(
    "make",
    [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow, lambda t: pl.from_arrow(t).lazy()],
    ids=["arrow", "pandas", "polars", "lazy"],
)
def test_frames_are_opened(make: object) -> None:
    source = open_source(make(TABLE))  # type: ignore[operator]
    assert source.names == ("Age", "word")
    assert source.raw == {"Age": "BIGINT", "word": "VARCHAR"}
    assert total(source) == 6


def test_files_are_opened(tmp_path: Path) -> None:
    for name in ("one.parquet", "two.parquet"):
        pq.write_table(TABLE, tmp_path / name)
    one = open_source(str(tmp_path / "one.parquet"))
    assert (one.names, one.files, total(one)) == (("Age", "word"), (tmp_path / "one.parquet",), 6)
    both = open_source(tmp_path / "*.parquet")
    assert (len(both.files), total(both)) == (2, 12)
    (tmp_path / "three.parquet").symlink_to(tmp_path / "one.parquet")
    assert open_source(str(tmp_path / "*.parquet")).files == both.files  # a link is no second table
    held = database(tmp_path / "x.duckdb", "people")
    assert total(open_source(held)) == 6
    assert open_source(held, table="people").raw == {"Age": "BIGINT", "word": "VARCHAR"}


def test_a_relative_path_holds_when_the_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(TABLE, tmp_path / "it's.parquet")
    monkeypatch.chdir(tmp_path)
    source = open_source("it's.parquet")
    monkeypatch.chdir("/")
    assert total(source) == 6


def test_tables_of_a_database_are_named(tmp_path: Path) -> None:
    held = database(tmp_path / "x.db", "people", "visits")
    with pytest.raises(ParameterError, match="people, visits"):
        open_source(held)
    for wrong in ("others", "seen", "people; DROP TABLE visits"):
        with pytest.raises(ParameterError, match="table="):
            open_source(held, table=wrong)
    assert total(open_source(held, table="visits")) == 6


def test_texts_of_a_database_are_compared_letter_by_letter(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as made:
        made.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE)")
        made.execute("INSERT INTO t VALUES ('yes'), ('YES')")
    with DuckDBSession(open_source(tmp_path / "x.duckdb")) as session:
        assert len(session.fetch(f"SELECT x FROM {DuckDBSession.relation} GROUP BY x")["x"]) == 2


@pytest.mark.parametrize("source", [None, 5, b"x.csv", [1, 2], {"a": [1]}, object, "", "x\0.csv"], ids=repr)
def test_what_is_no_table_is_refused(source: object) -> None:
    if type(source) is object:
        source = type("Thing", (), {})()
    with pytest.raises(ParameterError):
        open_source(source)


def test_bad_paths_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.parquet").write_bytes(b"not parquet")
    (tmp_path / "x.duckdb").write_bytes(b"not duckdb" * 1000)
    (tmp_path / "x.xlsx").write_bytes(b"")
    (tmp_path / "x.csv").write_bytes(b"a\n1\n")
    (tmp_path / "a[1].csv").write_bytes(b"a\n1\n")
    for name in ("x.parquet", "x.duckdb", "x.xlsx", "gone.csv", "*.none", "x.*", ".", "a[1].csv", "x"):
        with pytest.raises(ParameterError):
            open_source(tmp_path / name)
    with pytest.raises(ParameterError, match="table="):
        open_source(tmp_path / "x.csv", table="t")
    with pytest.raises(ParameterError, match="table="):
        open_source(TABLE, table="t")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ParameterError, match="may not be read"):
        open_source(tmp_path / "x.csv")


def test_files_with_different_schemas_are_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "one.parquet")
    for other in (
        pa.table({"Age": [1.0], "word": ["a"]}),
        pa.table({"Age": [1]}),
        pa.table({"word": ["a"], "Age": [1]}).rename_columns(["word", "age"]),
    ):
        pq.write_table(other, tmp_path / "two.parquet")
        with pytest.raises(ParameterError, match="same columns"):
            open_source(tmp_path / "*.parquet")


def test_columns_are_found_by_exact_name_then_by_letters() -> None:
    source = open_source(pa.table({"Age": [1], "size": [2], "SIZE": [3]}), columns=["age", "SIZE"])
    assert source.names == ("Age", "size", "SIZE")
    assert list(source.raw) == ["Age", "SIZE"]
    assert (source.find("AGE"), source.find("size"), source.find("SIZE")) == ("Age", "size", "SIZE")
    for name, said in (("Size", "several"), ("Agee", "did you mean Age"), ("zzz", "no column zzz")):
        with pytest.raises(ParameterError, match=said):
            source.find(name)
    with DuckDBSession(source) as session:
        assert session.fetch(f"SELECT * FROM {DuckDBSession.relation}") == {"Age": [1], "SIZE": [3]}


def test_columns_that_the_engine_could_confuse_are_refused(tmp_path: Path) -> None:
    alike = pa.table({"size": [2], "SIZE": [3]})
    with pytest.raises(ParameterError, match="case"):
        open_source(alike)
    pq.write_table(alike, tmp_path / "x.parquet")
    with pytest.raises(ParameterError, match="case"):
        open_source(tmp_path / "x.parquet")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    for bad in (twice, pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), pd.DataFrame({0: [1]}), pd.DataFrame()):
        with pytest.raises(ParameterError):
            open_source(bad)


def test_names_are_quoted_everywhere(tmp_path: Path) -> None:
    name = 'a"; DROP TABLE x; --'
    pq.write_table(pa.table({name: [1]}), tmp_path / "x.parquet")
    for source in (pa.table({name: [1]}), tmp_path / "x.parquet"):
        with DuckDBSession(open_source(source)) as session:
            assert list(session.fetch(f"SELECT * FROM {DuckDBSession.relation}")) == [name]


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "x.parquet")
    for source in (TABLE.slice(0, 0), tmp_path / "x.parquet", pl.from_arrow(TABLE.slice(0, 0))):
        with DuckDBSession(open_source(source)) as session:
            assert session.fetch(f"SELECT count(*) AS n FROM {DuckDBSession.relation}") == {"n": [0]}
