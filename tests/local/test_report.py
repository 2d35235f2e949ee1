"""Batches in columns, from Arrow tables and Parquet files: strange ones, damaged ones, and ones larger than memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local.tasks import FIRST, TASKS, counted, some
from support.depth import deep

from discreet.errors import ParameterError
from discreet.local import Frequencies


def arrow(columns: dict[str, pa.Array], task: Frequencies = FIRST) -> pa.Table:
    return pa.table(columns).replace_schema_metadata({"discreet.v": "1", "discreet.task": task.hash})


def with_nonces(nonces: pa.Array) -> pa.Table:
    return arrow({"r": pa.array([0, 1]), "nonce": nonces})


def test_strange_columns(tmp_path: Path) -> None:
    doubled = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["r", "r"])
    doubled = doubled.replace_schema_metadata({"discreet.v": "1", "discreet.task": FIRST.hash})
    cases: list[tuple[pa.Table, int, dict[str, int]]] = [
        (arrow({"r": pa.array([1, None, 25, -1, 19], pa.int32())}), 2, {"malformed": 3}),
        (arrow({"r": pa.array([1, 2**64 - 1], pa.uint64())}), 1, {"malformed": 1}),
        (arrow({"r": pa.array(["1", "2"])}), 0, {"malformed": 2}),
        (arrow({"r": pa.array([1.0, float("nan")])}), 0, {"malformed": 2}),
        (arrow({"s": pa.array([1, 2])}), 0, {"malformed": 2}),
        (arrow({"r": pa.array([], pa.int64())}), 0, {}),
        (pa.table({"r": [1, 2]}), 0, {"another task": 2}),
        (doubled, 0, {"malformed": 1}),
        (with_nonces(pa.array([2**62, 1], pa.timestamp("us"))), 0, {"malformed": 2}),
        (with_nonces(pa.array([1, 1])), 0, {"malformed": 2}),
        (with_nonces(pa.array([{"a": 1}, None])), 0, {"malformed": 2}),
        (with_nonces(pa.array(["a", "b"]).dictionary_encode()), 0, {"malformed": 2}),
        (with_nonces(pa.nulls(2)), 2, {}),
        (with_nonces(pa.array(["a", None])), 2, {}),
        (with_nonces(pa.array([b"\xff", b"\xff"])), 1, {"duplicate": 1}),
        (with_nonces(pa.array([b"\xff", b"\xfe"]).view(pa.string())), 2, {}),
    ]
    for table, count, refused in cases:
        collector = FIRST.collector()
        collector.add(table)
        assert (collector.count, collector.refused) == (count, refused), table
        if table is not doubled:
            pq.write_table(table, tmp_path / "t.parquet")
            collector = FIRST.collector()
            collector.add(tmp_path / "t.parquet")
            assert (collector.count, collector.refused) == (count, refused), table


def test_slices_and_gaps_of_binary_columns() -> None:
    task = TASKS[4]  # unary
    batch = some(task, 40)
    collector = task.collector()
    collector.add(batch.to_arrow().slice(7, 20))
    assert collector.estimate().values.tolist() == counted(task, batch.rows[7:27])
    width = batch.rows.shape[1]
    gaps = pa.array([batch.rows[0].tobytes(), None, batch.rows[2].tobytes()], pa.binary(width))
    collector = task.collector()
    collector.add(arrow({"r": gaps}, task))
    assert (collector.count, collector.refused) == (2, {"malformed": 1})
    collector.add(arrow({"r": pa.array([b"toolong"], pa.binary(7))}, task))
    assert collector.refused == {"malformed": 2}


@pytest.mark.parametrize("keep", [0, 3, 100, -5])
def test_a_damaged_file_is_refused_whole(tmp_path: Path, keep: int) -> None:
    file = tmp_path / "cut.parquet"
    some(FIRST, 1000).to_parquet(file)
    file.write_bytes(file.read_bytes()[:keep])
    collector = FIRST.collector()
    collector.add(some(FIRST, 10))
    collector.add(file)
    assert (collector.count, collector.refused) == (10, {"unreadable file": 1})


def test_damage_in_the_middle_of_a_file_leaves_nothing_half_counted(tmp_path: Path) -> None:
    file, group = tmp_path / "bad.parquet", deep(100_000, 20_000)
    pq.write_table(some(FIRST, 3 * group).to_arrow(), file, row_group_size=group, compression="gzip", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 4000] = bytes(4000)
    file.write_bytes(content)
    collector = FIRST.collector()
    collector.add(file)
    assert (collector.count, collector.refused) == (0, {"unreadable file": 1})


def test_a_missing_file_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no file"):
        FIRST.collector().add(tmp_path / "nothing.parquet")
    with pytest.raises(ParameterError, match="no file"):
        FIRST.collector().add_file(tmp_path)
    with pytest.raises(ParameterError, match="cannot be written"):
        some(FIRST, 3).to_parquet(tmp_path / "no" / "such.parquet")


def test_memory_does_not_grow_with_the_reports(tmp_path: Path) -> None:
    """Four times the reports from a file: the same peak, to within a piece's size."""
    task = Frequencies(range(1000), 1, protocol="k-ary")
    peaks = []
    for copies in (4, 16):
        file = tmp_path / f"{copies}.parquet"
        pq.write_table(pa.concat_tables([some(task, 100_000).to_arrow()] * copies), file, row_group_size=100_000)
        collector = task.collector()
        tracemalloc.start()
        collector.add(file)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert collector.count == copies * 100_000
    assert peaks[1] < 1.2 * peaks[0] + 100_000
