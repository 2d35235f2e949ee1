"""Batches of reports as Arrow tables and Parquet files: a column ``r``, and the task's hash in the table's metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.arrays import Booleans
from discreet.errors import ParameterError
from discreet.local.protocols.base import Form, Rows
from discreet.local.report import VERSION, UnreadableFile

if TYPE_CHECKING:
    from discreet.local.report import Batch

__all__ = ["Piece", "is_table", "parquet_pieces", "table_pieces", "to_arrow", "to_parquet"]

_VERSION, _TASK = b"discreet.v", b"discreet.task"
_ROWS = 2**17  # rows in memory at a time
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_null)
_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}


@dataclass(frozen=True)
class Piece:
    """A run of reports as they came: who they say they belong to, the rows that have a report's form, and how many had not."""

    version: str
    task: str
    length: int
    rows: Rows | None  # None: nothing in it has a report's form
    there: Booleans
    nonces: list[object] | None


def to_arrow(batch: Batch) -> pa.Table:
    """The batch as a table."""
    rows = batch.rows
    if rows.ndim == 1:
        column = pa.array(rows)
    else:
        width = rows.shape[1] * rows.dtype.itemsize
        column = pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows.tobytes())])
    table = pa.table({"r": column} if batch.nonces is None else {"r": column, "nonce": pa.array(batch.nonces, pa.string())})
    return table.replace_schema_metadata({_VERSION: str(VERSION), _TASK: batch.task})


def to_parquet(batch: Batch, path: str | Path) -> None:
    """The batch as a file."""
    try:
        pq.write_table(to_arrow(batch), path)
    except OSError as problem:
        raise ParameterError(f"{path} cannot be written ({problem.strerror or 'no such place'}); choose another place.") from None


def is_table(value: object) -> bool:
    return isinstance(value, (pa.Table, pa.RecordBatch))


def table_pieces(table: pa.Table | pa.RecordBatch, form: Form) -> Iterator[Piece]:
    """An Arrow table, cut up."""
    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    for batch in whole.to_batches(max_chunksize=_ROWS):
        yield _piece(batch, whole.schema.metadata, form)


def parquet_pieces(path: Path, form: Form) -> Iterator[Piece]:
    """A Parquet file, read a piece at a time."""
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata
            names = [name for name in file.schema_arrow.names if name in ("r", "nonce")]
            for batch in file.iter_batches(batch_size=_ROWS, columns=names):
                yield _piece(batch, metadata, form)
    except (pa.ArrowException, OSError, ValueError, LookupError, MemoryError):
        raise UnreadableFile from None


def _piece(batch: pa.RecordBatch, metadata: dict[bytes, bytes] | None, form: Form) -> Piece:
    told = metadata or {}
    version, task = (told.get(key, b"").decode("ascii", "replace") for key in (_VERSION, _TASK))
    try:
        rows, there, nonces = _read(batch, form)
    except (pa.ArrowException, ValueError):  # buffers that are too short, or missing
        rows, there, nonces = None, np.zeros(batch.num_rows, dtype=np.bool_), None
    return Piece(version, task, batch.num_rows, rows, there, nonces)


def _read(batch: pa.RecordBatch, form: Form) -> tuple[Rows | None, Booleans, list[object] | None]:
    places = {name: batch.schema.get_all_field_indices(name) for name in ("r", "nonce")}
    columns = {name: batch.column(found[0]) for name, found in places.items() if len(found) == 1}
    if "nonce" in columns and columns["nonce"].type in _AS_BYTES:
        columns["nonce"] = columns["nonce"].view(_AS_BYTES[columns["nonce"].type])  # what claims to be text may be none
    for column in columns.values():
        column.validate(full=True)
    rows = _rows(columns["r"], form) if "r" in columns else None
    nonces = columns.get("nonce")
    if rows is None or (nonces is not None and not any(is_kind(nonces.type) for is_kind in _BYTES)):
        return None, np.zeros(batch.num_rows, dtype=np.bool_), None
    there = columns["r"].is_valid().to_numpy(zero_copy_only=False)
    return rows, there, None if nonces is None else nonces.to_pylist()


def _rows(column: pa.Array, form: Form) -> Rows | None:
    """The column as rows of this form; missing entries hold anything."""
    if form.width == 0:
        if not pa.types.is_integer(column.type):
            return None
        filled: Rows = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy()
        return filled
    dtype = np.dtype(form.dtype)
    size = form.width * dtype.itemsize
    if not pa.types.is_fixed_size_binary(column.type) or column.type.byte_width != size:
        return None
    memory = np.frombuffer(column.buffers()[1] or b"", dtype=np.uint8)
    inside = memory[column.offset * size : (column.offset + len(column)) * size]
    return inside.view(dtype).reshape(len(column), form.width)
