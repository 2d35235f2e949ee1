"""Answers in files: one a line, or a column of CSV or Parquet. A text stands for the answer of the task that is spelled so."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.task import Task

TRUTHS: dict[str, bool | str] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_AT_ONCE = 2**16
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def read_meaning(task: Task) -> Callable[[object], object]:
    """What an entry of a file means to a task; None where it means none of its answers."""
    if task.takes_texts:
        return lambda entry: entry
    if getattr(task, "scale", None) is not None:
        return _number
    items = getattr(getattr(task, "domain", None), "items", None)
    if items is None:
        return lambda entry: entry
    if isinstance(items, range):
        return lambda entry: int(entry) if isinstance(entry, str) and _WHOLE.fullmatch(entry.strip()) else entry
    known: dict[str, object] = {str(item): item for item in items if not isinstance(item, bool)}
    if any(isinstance(item, bool) for item in items):
        known = {text: truth for text, truth in TRUTHS.items() if truth in items} | known
        return lambda entry: known.get(entry.strip(), known.get(entry.strip().lower())) if isinstance(entry, str) else entry
    return lambda entry: known.get(entry, known.get(entry.strip())) if isinstance(entry, str) else entry


def _number(entry: object) -> object:
    try:
        return float(entry) if isinstance(entry, str) else entry
    except ValueError:
        return None


def read_values(source: Path, column: str | None) -> Iterator[list[object]]:
    """The entries of a file, some at a time; ``-`` is standard input."""
    kind = source.suffix.lower()
    tables = {".csv": _csv, ".tsv": _csv, ".parquet": _parquet}
    if kind in tables and column is None:
        raise ParameterError(f"Which column of {source}? Write --column hair.")
    if kind not in tables and column is not None:
        raise ParameterError(f"{source} has no columns: its answers stand one a line; leave out --column.")
    try:
        if column is None:
            yield from _pieces(_lines(source))
        else:
            yield from tables[kind](source, column)
    except csv.Error:
        raise ParameterError(f"{source} cannot be read as a table; check it.") from None
    except OSError as problem:
        raise ParameterError(f"{source} cannot be read ({problem.strerror or 'it is damaged'}); check it.") from None


def _lines(source: Path) -> Iterator[object]:
    if str(source) == "-":
        yield from (line.rstrip("\r\n") for line in sys.stdin)
        return
    with source.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        yield from (line.rstrip("\r\n") for line in file)


def _csv(source: Path, column: str) -> Iterator[list[object]]:
    with source.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter="\t" if source.suffix.lower() == ".tsv" else ",")
        place = _place(source, column, next(rows, []))
        yield from _pieces(row[place] if place < len(row) else None for row in rows if row)


def _parquet(source: Path, column: str) -> Iterator[list[object]]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(source) as file:
            _place(source, column, file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=_AT_ONCE, columns=[column]):
                yield batch.column(0).to_pylist()
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
        raise ParameterError(f"{source} is not a Parquet file, or it is damaged; check it.") from None


def _place(source: Path, column: str, names: list[str]) -> int:
    if names.count(column) != 1:
        raise ParameterError(f"{source} has no column {column!r}, or several; its columns are {', '.join(names[:20])}.")
    return names.index(column)


def _pieces(entries: Iterable[object]) -> Iterator[list[object]]:
    waiting = iter(entries)
    while piece := list(islice(waiting, _AT_ONCE)):
        yield piece
