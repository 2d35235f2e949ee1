"""Reports: what clients send. One is compact JSON, a batch has columns; both carry the hash of the task they belong to.

    {"v":1,"task":"<SHA-256 of the task>","r":17}

``r`` is a number, a list of numbers or base64 text, as the protocol says. There is no time, no name and no value in it. A nonce,
``"nonce":"..."``, is optional; it lets a collector refuse a report that arrives twice. As an Arrow table or a Parquet file, a
batch has a column ``r``, and the task's hash in its metadata. (Arrow is loaded where it is used: a client needs none.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Booleans
from discreet.errors import ParameterError
from discreet.local.protocols.base import Form, Plain, Protocol, Rows
from discreet.noise.bits import words

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
_VERSION, _TASK = b"discreet.v", b"discreet.task"
_ROWS = 2**17  # rows in memory at a time


class UnreadableFile(Exception):
    """A file of reports is damaged; collectors count it and go on."""


@dataclass(frozen=True)
class Report:
    """One randomised answer.

    >>> Report("ab12", 3).to_json()
    '{"v":1,"task":"ab12","r":3}'
    """

    task: str
    r: Plain
    nonce: str | None = None

    def to_json(self) -> str:
        """Compact JSON, on one line."""
        facts: dict[str, object] = {"v": VERSION, "task": self.task, "r": self.r}
        if self.nonce is not None:
            facts["nonce"] = self.nonce
        return json.dumps(facts, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class Batch:
    """Randomised answers of many people to one task, one row each."""

    task: str
    rows: Rows
    nonces: tuple[str, ...] | None = None
    _protocol: Protocol = field(repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Report:
        return Report(self.task, self._protocol.plain(self.rows[place]), self.nonces[place] if self.nonces else None)

    def __iter__(self) -> Iterator[Report]:
        return (self[place] for place in range(len(self)))

    def to_arrow(self) -> pa.Table:
        """An Arrow table with the column ``r`` (and ``nonce``) that carries the task's hash."""
        import pyarrow as pa

        rows = self.rows
        if rows.ndim == 1:
            column = pa.array(rows)
        else:
            width = rows.shape[1] * rows.dtype.itemsize
            column = pa.Array.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows.tobytes())])
        table = pa.table({"r": column} if self.nonces is None else {"r": column, "nonce": pa.array(self.nonces, pa.string())})
        return table.replace_schema_metadata({_VERSION: str(VERSION), _TASK: self.task})

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file that carries the task's hash."""
        from pyarrow import parquet

        try:
            parquet.write_table(self.to_arrow(), path)
        except OSError as problem:
            reason = problem.strerror or "no such place"
            raise ParameterError(f"{path} cannot be written ({reason}); choose another place.") from None


def read_facts(report: object) -> dict[str, object] | None:
    """The JSON object of a report, whatever was sent; None where it is none."""
    if isinstance(report, Report):
        return {"v": VERSION, "task": report.task, "r": report.r, "nonce": report.nonce}
    if isinstance(report, (str, bytes)):
        try:
            report = json.loads(report)
        except (ValueError, RecursionError):
            return None
    return report if isinstance(report, dict) else None


def new_nonces(count: int) -> tuple[str, ...]:
    """128 random bits each, as text."""
    text = words(2 * count).tobytes().hex()
    return tuple(text[start : start + 32] for start in range(0, 32 * count, 32))


@dataclass(frozen=True)
class Piece:
    """A run of reports as they came: who they say they belong to, the rows that have a report's form, and how many had not."""

    version: str
    task: str
    length: int
    rows: Rows | None  # None: nothing in it has a report's form
    there: Booleans
    nonces: list[object] | None


def cut_table(table: object, form: Form) -> Iterator[Piece] | None:
    """An Arrow table in pieces; None for anything else."""
    import pyarrow as pa

    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    if not isinstance(whole, pa.Table):
        return None
    return (_read_piece(batch, whole.schema.metadata, form) for batch in whole.to_batches(max_chunksize=_ROWS))


def read_parquet(path: Path, form: Form) -> Iterator[Piece]:
    """A Parquet file, a piece at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata
            names = [name for name in file.schema_arrow.names if name in ("r", "nonce")]
            for batch in file.iter_batches(batch_size=_ROWS, columns=names):
                yield _read_piece(batch, metadata, form)
    except (pa.ArrowException, OSError, ValueError, LookupError, MemoryError):
        raise UnreadableFile from None


def _read_piece(batch: pa.RecordBatch, metadata: dict[bytes, bytes] | None, form: Form) -> Piece:
    import pyarrow as pa

    told = metadata or {}
    version, task = (told.get(key, b"").decode("ascii", "replace") for key in (_VERSION, _TASK))
    try:
        rows, there, nonces = _read_columns(batch, form)
    except (pa.ArrowException, ValueError):  # buffers that are too short, or missing
        rows, there, nonces = None, np.zeros(batch.num_rows, dtype=np.bool_), None
    return Piece(version, task, batch.num_rows, rows, there, nonces)


def _read_columns(batch: pa.RecordBatch, form: Form) -> tuple[Rows | None, Booleans, list[object] | None]:
    import pyarrow as pa

    as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    of_bytes = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_null)
    places = {name: batch.schema.get_all_field_indices(name) for name in ("r", "nonce")}
    columns = {name: batch.column(found[0]) for name, found in places.items() if len(found) == 1}
    if "nonce" in columns and columns["nonce"].type in as_bytes:
        columns["nonce"] = columns["nonce"].view(as_bytes[columns["nonce"].type])  # what claims to be text may be none
    for column in columns.values():
        column.validate(full=True)
    rows = _read_rows(columns["r"], form) if "r" in columns else None
    nonces = columns.get("nonce")
    if rows is None or (nonces is not None and not any(is_kind(nonces.type) for is_kind in of_bytes)):
        return None, np.zeros(batch.num_rows, dtype=np.bool_), None
    there = columns["r"].is_valid().to_numpy(zero_copy_only=False)
    return rows, there, None if nonces is None else nonces.to_pylist()


def _read_rows(column: pa.Array, form: Form) -> Rows | None:
    """The column as rows of this form; missing entries hold anything."""
    import pyarrow as pa

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
