"""Fingerprints: the same bytes, or the same cells, are the same data, whatever they are called, and nothing else is."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.engine.sources import contents
from discreet.engine.sources.source import open_source
from discreet.errors import ParameterError

SALT = b"s" * 32
TABLE = pa.table({"Age": [1, 2, 3], "word": ["a", "b", None]})


def of(source: object, salt: bytes = SALT, known: dict[str, str] | None = None, **more: object) -> str:
    return open_source(source, **more).fingerprint(salt, known)  # type: ignore[arg-type]


class Reads:
    """Counts how often a file's bytes are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, real = 0, contents._of_bytes

        def counted(opened: object, salt: bytes) -> str:
            self.count += 1
            return real(opened, salt)  # type: ignore[arg-type]

        monkeypatch.setattr(contents, "_of_bytes", counted)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


# Files.


def test_a_file_is_its_bytes_whatever_happens_to_its_name_and_time(tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    pq.write_table(TABLE, place)
    first = of(place)
    assert first != of(place, b"t" * 32)
    os.utime(place, ns=(1, 1))
    assert of(place) == first
    shutil.copy(place, tmp_path / "copy.parquet")
    (tmp_path / "else").mkdir()
    place.rename(tmp_path / "else" / "moved.parquet")
    (tmp_path / "link.parquet").symlink_to(tmp_path / "copy.parquet")
    for name in ("copy.parquet", "else/moved.parquet", "link.parquet", "cop*.parquet"):
        assert of(tmp_path / name) == first, name
    source = open_source(tmp_path / "copy.parquet")
    pq.write_table(TABLE.slice(0, 2), tmp_path / "copy.parquet")
    assert source.fingerprint(SALT) != first
    (tmp_path / "copy.parquet").unlink()
    with pytest.raises(ParameterError, match="vanished"):
        source.fingerprint(SALT)


def test_several_files_are_the_same_in_any_order_and_each_counts(tmp_path: Path) -> None:
    for folder, names in (("one", "abc"), ("other", "cba"), ("fewer", "ab"), ("twice", "aabc")):
        (tmp_path / folder).mkdir()
        for number, name in enumerate(names):
            (tmp_path / folder / f"{number}.csv").write_text(f"k\n{name}\n")
    prints = {folder: of(tmp_path / folder / "*.csv") for folder in ("one", "other", "fewer", "twice")}
    assert prints["one"] == prints["other"]
    assert len(set(prints.values())) == 3


def test_the_same_bytes_read_in_another_way_are_other_data(tmp_path: Path) -> None:
    for name in ("x.csv", "x.tsv", "y.2025.csv"):
        (tmp_path / name).write_text("a\tb\n1\t2\n")
    assert of(tmp_path / "x.csv") == of(tmp_path / "y.2025.csv") != of(tmp_path / "x.tsv")


def test_tables_of_one_database_are_told_apart(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute("CREATE TABLE a AS SELECT 1 AS v; CREATE TABLE b AS SELECT 2 AS v")
    shutil.copy(tmp_path / "x.duckdb", tmp_path / "y.duckdb")
    assert of(tmp_path / "x.duckdb", table="a") == of(tmp_path / "y.duckdb", table="a") != of(tmp_path / "x.duckdb", table="b")


def test_a_file_is_read_once_until_anything_changes(tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    place, known = tmp_path / "x.csv", dict[str, str]()
    place.write_text("k\na\n")
    now = place.stat().st_mtime_ns
    monkeypatch.setattr(contents.time, "time_ns", lambda: now + 10**10)  # ten seconds later
    first = of(place, known=known)
    assert (of(place, known=known), reads.count) == (first, 1)
    place.write_text("k\nb\n")  # the same size
    os.utime(place, ns=(now, now))
    assert of(place, known=known) != first
    assert reads.count == 2
    assert of(place, b"t" * 32, known=known) != of(place, known=known)  # what is known under another key says nothing
    assert not any(part in str(known) for part in (str(tmp_path), "x.csv"))


def test_a_change_within_the_grain_of_the_clock_is_seen(tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file system's clock may stand still between two writes: what was written just now is read every time."""
    place, known = tmp_path / "x.csv", dict[str, str]()
    place.write_text("k\na\n")
    state = contents.state_of(place)
    first = of(place, known=known)
    assert known == {}
    place.write_text("k\nb\n")
    monkeypatch.setattr(contents, "state_of", lambda _: state)  # the clock stood still
    assert of(place, known=known) != first
    assert reads.count == 2


def test_a_file_that_is_written_meanwhile_is_read_again_and_then_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, real = tmp_path / "x.csv", contents._of_bytes
    place.write_text("k\na\n")
    writes = [1]

    def interrupted(opened: object, salt: bytes) -> str:
        found = real(opened, salt)  # type: ignore[arg-type]
        if writes[0]:
            writes[0] -= 1
            place.write_text("k\n" + "b" * (9 - writes[0]) + "\n")
        return found

    source = open_source(place)
    monkeypatch.setattr(contents, "_of_bytes", interrupted)
    after = source.fingerprint(SALT)
    assert (writes, after) == ([0], source.fingerprint(SALT))  # what it held before is nobody's fingerprint
    writes[0] = 9
    with pytest.raises(ParameterError, match="being written"):
        source.fingerprint(SALT)


def test_short_reads_change_nothing() -> None:
    class Slow:
        def __init__(self, data: bytes, step: int) -> None:
            self.data, self.step = data, step

        def read(self, _: int) -> bytes:
            piece, self.data = self.data[: self.step], self.data[self.step :]
            return piece

    assert len({contents._of_bytes(Slow(b"abcdefgh", step), SALT) for step in (1, 3, 8)}) == 1  # type: ignore[arg-type]


# Frames.


def test_a_frame_is_its_cells() -> None:
    first = of(TABLE)
    assert first == of(pa.table({"Age": [1, 2, 3], "word": ["a", "b", None]}))
    others = [
        of(TABLE, b"t" * 32),
        of(TABLE.rename_columns(["age", "word"])),
        of(pa.table({"Age": [1.0, 2, 3], "word": ["a", "b", None]})),
        of(pa.table({"Age": [1, 2, 4], "word": ["a", "b", None]})),
        of(pa.table({"Age": [1, 2, 3], "word": ["a", "b", ""]})),
        of(pa.table({"Age": [1, 2, 3], "word": ["ab", "", None]})),
        of(pa.table({"Age": [1, 2, None], "word": ["a", "b", None]})),
        of(TABLE.slice(0, 2)),
        of(TABLE.slice(0, 0)),
        of(pa.table({"Age": [3, 2, 1], "word": [None, "b", "a"]})),  # another order of rows
    ]
    assert len({first, *others}) == 11


PANDAS: Callable[[pa.Table], object] = pa.Table.to_pandas
SAME: dict[str, Callable[[pa.Table], object]] = {
    "pandas": PANDAS,
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "columns in another order": lambda table: table.select(table.column_names[::-1]),
    "in pieces": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)]),
    "a slice of more": lambda table: pa.concat_tables([table, table]).slice(len(table)),
    "dictionaries": lambda table: table.set_column(1, "word", table["word"].dictionary_encode()),
    "pandas from polars": lambda table: pl.from_arrow(table).to_pandas(),  # type: ignore[union-attr]
}

_MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))


@given(st.data(), st.integers(0, 9))
@settings(max_examples=examples(25), deadline=None)
def test_the_same_cells_are_the_same_data_whatever_holds_them(data: st.DataObject, rows: int) -> None:
    def column(cells: st.SearchStrategy[object], *, missing: bool = True) -> list[object]:
        return data.draw(st.lists(cells | st.none() if missing else cells, min_size=rows, max_size=rows))

    table = pa.table(
        {
            "whole": pa.array(column(st.integers(-(2**63), 2**63 - 1), missing=False), pa.int64()),
            "word": pa.array(column(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)), pa.string()),
            "real": pa.array(column(st.floats()), pa.float64()),
            "yes": pa.array(column(st.booleans(), missing=False), pa.bool_()),
            "when": pa.array(column(_MOMENTS), pa.timestamp("us")),
        }
    )
    first = of(table)
    for name, make in SAME.items():
        assert of(make(table)) == first, name


def test_many_rows_are_the_same_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_ROWS", 64)
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.normal(size=1000), "k": [f"k{i}" * (i % 3) for i in range(1000)]})
    pieces = pa.concat_tables([table.slice(i, 37) for i in range(0, 1000, 37)])
    assert of(table) == of(pieces) == of(table.to_pandas()) == of(pl.from_arrow(table))
    changed = table.set_column(0, "x", pa.array([*table["x"].to_pylist()[:-1], 0.0]))
    assert of(changed) != of(table)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None], pa.uint64()),
        pa.array([1.5, None], pa.float32()),
        pa.array([None, None]),
        pa.array([datetime.date(2020, 1, 1), None]),
        pa.array(["1.5", None]).cast(pa.decimal128(5, 1)),
        pa.array([b"\xff", None]),
        pd.Series([1, "a"], dtype=object),
    ],
    ids=str,
)
def test_every_type_has_a_fingerprint(column: object) -> None:
    frame = pd.DataFrame({"c": column}) if isinstance(column, pd.Series) else pa.table({"c": column})
    reverse = frame.iloc[::-1] if isinstance(frame, pd.DataFrame) else frame.take([1, 0])
    assert of(frame) == of(frame)
    if not (isinstance(column, pa.Array) and column.null_count == 2) and not str(column).count("FF"):
        assert of(frame) != of(reverse)


@pytest.mark.skipif(os.name == "nt", reason="links are POSIX")
def test_a_file_is_current_as_long_as_its_name_means_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a name that was given, and of a link, what it means now is looked at, and not only the file that it meant."""
    monkeypatch.setattr("discreet.engine.sources.source.is_settled", lambda *_: True)
    one, other, link = tmp_path / "one.parquet", tmp_path / "other.parquet", tmp_path / "link.parquet"
    pq.write_table(TABLE, one)
    pq.write_table(TABLE.slice(1), other)
    link.symlink_to(one)
    plain, linked, listed = open_source(str(one)), open_source(str(link)), open_source(str(tmp_path / "on*.parquet"))
    assert [one.is_current() for one in (plain, linked, listed)] == [True, True, True]
    link.unlink()
    link.symlink_to(other)
    assert [one.is_current() for one in (plain, linked, listed)] == [True, False, True]
    shutil.copy(other, tmp_path / "ontop.parquet")
    assert [one.is_current() for one in (plain, linked, listed)] == [True, False, False]
    os.replace(other, one)
    assert not plain.is_current()
    one.unlink()
    with pytest.raises(ParameterError, match="There is no file"):
        plain.is_current()


def test_a_file_that_was_just_written_is_never_taken_for_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.engine.sources.source.is_settled", lambda *_: False)
    pq.write_table(TABLE, tmp_path / "one.parquet")
    assert not open_source(str(tmp_path / "one.parquet")).is_current()
