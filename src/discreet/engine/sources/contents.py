"""What a table holds, as a keyed hash: whether it is the data of an earlier question, whatever happened to its name and time.

A file is its bytes: touched, copied, moved or renamed it is the same, and several files are the same in any order. It is hashed
once, and known again by device, inode, size and times; a file that changed in the last seconds is hashed every time, because one
more change could leave its times as they are. A frame is its cells: the same columns with the same types are the same in pandas,
polars and Arrow, in any order of columns and in pieces of any size. That is what can be said without reading a table as it is
declared. Whether a file and a frame, or two files, hold the same rows is known by these (``Engine.identify``): that is a scan.

The key is the ledger's salt, so a hash tells nobody anything; it is never shown.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.engine.base import Known, hashed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow

_SUFFIXES = (".csv", ".tsv", ".gz", ".parquet", ".duckdb", ".db", ".wal")  # those that say how bytes are read
_PIECE = 2**20
_ROWS = 2**16
_TRIES = 3
_FRESH = 2 * 10**9  # nanoseconds: the coarsest clock of a file system that is still in use


def of_files(files: Iterable[Path], salt: bytes, known: Known, table: str = "") -> str:
    """The hash of files that are read as one table, or of a ``table`` of a database."""
    found: dict[str, str] = {}
    labels = [f"{_of_file(file, salt, known, found)} {_read_as(file)}" for file in files]
    if found:
        known.update(found)
    return hashed(salt, (part.encode(errors="surrogatepass") for part in ("files", table, *sorted(labels))))


def of_frame(frame: pyarrow.Table, salt: bytes) -> str:
    """The hash of an Arrow table that the engine reads."""
    columns = sorted(zip(frame.column_names, frame.columns, strict=True), key=lambda column: column[0])
    parts = (hashed(salt, [name.encode(), *_column(array)]) for name, array in columns)
    return hashed(salt, (part.encode() for part in ("frame", str(frame.num_rows), *parts)))


def _of_file(file: Path, salt: bytes, known: Known, found: dict[str, str]) -> str:
    for _ in range(_TRIES):
        begin, before = time.time_ns(), state_of(file)
        label = hashed(salt, [repr(before).encode()])
        kept = known.get(label)
        if kept is not None:
            return kept
        try:
            with open(file, "rb", buffering=0) as opened:
                content = _of_bytes(opened, salt)
        except OSError:
            raise ParameterError(f"{file} cannot be read; mend that, or open another table.") from None
        if state_of(file) == before:
            if is_settled(before, begin):
                found[label] = content
            return content
    raise ParameterError(
        f"{file} is being written, so nobody can say what it holds; ask again when that is done, or declare a version=."
    )


def _of_bytes(opened: RawIOBase, salt: bytes) -> str:
    state = blake2b(key=salt[:64], digest_size=32)
    while piece := opened.read(_PIECE):  # of any length: a read may be cut short
        state.update(piece)
    return state.hexdigest()


def state_of(file: Path | str) -> tuple[int, ...]:
    """What changes with a file's bytes, unless somebody takes great care."""
    try:
        now = os.stat(file)
    except OSError:
        raise ParameterError(f"{file} has vanished; bring it back, or open another table.") from None
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def is_settled(state: tuple[int, ...], now: int) -> bool:
    """Whether a file's state, seen at this time, says that it is unchanged: one more change would show in its times."""
    return now - max(state[3:]) > _FRESH


def _read_as(file: Path) -> str:
    return "".join(suffix for suffix in map(str.lower, file.suffixes) if suffix in _SUFFIXES)


def _column(array: pyarrow.ChunkedArray) -> Iterator[bytes]:
    """The cells of a column: its kind of values, then rows by rows which are there, and what they are."""
    import pyarrow
    from pyarrow import types

    kind = array.type
    if types.is_string(kind) or types.is_string_view(kind):
        array = array.cast(pyarrow.large_string())
    elif types.is_integer(kind) and not types.is_uint64(kind):
        array = array.cast(pyarrow.int64())
    yield str(array.type).encode()
    for start in range(0, len(array), _ROWS):
        piece = array.slice(start, _ROWS).combine_chunks()
        yield from _cells(piece.combine_chunks() if isinstance(piece, pyarrow.ChunkedArray) else piece)


def _cells(array: pyarrow.Array) -> Iterator[bytes]:
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    there = array.is_valid().to_numpy(zero_copy_only=False)
    if types.is_floating(kind):  # not a number is missing, as pandas writes it
        there = there & ~np.isnan(array.to_numpy(zero_copy_only=False))
        array = compute.if_else(pyarrow.array(there), array, pyarrow.scalar(0, kind))
    yield np.packbits(there).tobytes()
    if types.is_struct(kind):
        for part in array.flatten():
            yield from _cells(part)
    elif types.is_large_string(kind):
        filled = array.fill_null("")
        yield compute.binary_length(filled).to_numpy(zero_copy_only=False).astype("<i8").tobytes()
        ends = np.frombuffer(filled.buffers()[1], dtype="<i8")[filled.offset : filled.offset + len(filled) + 1]
        text = filled.buffers()[2]
        yield b"" if text is None else bytes(memoryview(text)[ends[0] : ends[-1]])
    elif types.is_boolean(kind):
        yield np.packbits(array.fill_null(False).to_numpy(zero_copy_only=False)).tobytes()
    elif types.is_integer(kind) or types.is_floating(kind):
        yield array.fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    elif types.is_timestamp(kind) or types.is_date64(kind):
        yield array.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    elif types.is_date32(kind):
        yield array.cast(pyarrow.int32()).fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    elif not types.is_null(kind):
        yield pyarrow.record_batch([array], names=["cells"]).serialize().to_pybytes()
