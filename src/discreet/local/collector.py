"""The server's side: checks, counts and forgets reports; estimates at any time.

A collector's state is one run of counters, whose length does not depend on how many reports came. States of one task add, and
are kept as JSON. No report can make a collector fail: those it cannot use are counted under a reason, and change nothing else.

Nonces are the exception to constant memory: reports that carry one are remembered by it, so that a second one is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from discreet.errors import ParameterError, ValueRefused
from discreet.local.protocol import Protocol, Rows
from discreet.local.report import VERSION, Batch, Report, UnreadableFile
from discreet.local.state import from_text, to_text
from discreet.noise.coins import Booleans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow

    from discreet.local.columns import Piece
    from discreet.local.task import Task
    from discreet.noise.lazy import Integers

__all__ = ["Collector"]

Result = TypeVar("Result", covariant=True)
_AT_ONCE = 8192  # reports of JSON that are checked together


class Collector(Generic[Result]):
    """Collects the reports of one task.

    >>> from discreet.local import Frequencies
    >>> task = Frequencies(["dark", "blond", "brown", "red"], epsilon=1)
    >>> collector = task.collector()
    >>> collector.add(task.randomize(["dark", "red", "dark"]))
    >>> collector.add('{"v":1,"task":"of somebody else","r":0}')
    >>> collector.count, collector.refused
    (3, {'another task': 1})
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        conclude: Callable[[Integers, int], Result],
        candidates: tuple[str, ...] | None = None,
    ) -> None:
        self.task, self.candidates = task, candidates
        self._protocol, self.conclude = protocol, conclude
        self._tally = np.zeros(protocol.cells, dtype=np.int64)
        self._count = 0
        self._refused: Counter[str] = Counter()
        self._nonces: set[str] = set()

    @property
    def count(self) -> int:
        """How many reports were counted."""
        return self._count

    @property
    def refused(self) -> dict[str, int]:
        """How many reports (or files) were refused, by reason."""
        return dict(self._refused)

    def __repr__(self) -> str:
        return f"Collector(count={self._count}, refused={self.refused})"

    def estimate(self) -> Result:
        """What the reports say about all who sent one."""
        if self._count == 0:
            raise ValueRefused("There are no reports to estimate from; collect at least one.")
        return self.conclude(self._tally, self._count)

    def add(self, reports: Report | Batch | str | bytes | dict[str, object] | Path | pyarrow.Table | Iterable[object]) -> None:
        """Take in a report, a batch, JSON text, an Arrow table, a list of reports, or a file (a ``Path``). Never fails."""
        if isinstance(reports, Path):
            self.add_file(reports)
        elif isinstance(reports, Batch):
            self._add_rows(reports.task, str(VERSION), reports.rows, None, reports.nonces)
        elif isinstance(reports, (Report, str, bytes, dict)):
            self._add_plain([reports])
        elif type(reports).__module__.startswith("pyarrow"):
            from discreet.local.columns import is_table, table_pieces

            if is_table(reports):
                self._add_pieces(table_pieces(reports, self._protocol.form))
            else:
                self._refused["malformed"] += 1
        elif isinstance(reports, Iterable):
            self._add_many(reports)
        else:
            self._refused["malformed"] += 1

    def add_file(self, path: str | Path) -> None:
        """Take in a Parquet file, or a file with one JSON report a line (``.jsonl``), without loading all of it.

        A file that cannot be read to its end is refused as a whole, so that it can be repaired and added again.
        """
        file, part = Path(path), self.fresh()
        if not file.is_file():
            raise ParameterError(f"There is no file {file}; give a Parquet file or a .jsonl file of reports.")
        part._nonces = set(self._nonces)
        try:
            if file.suffix == ".jsonl":
                with file.open("rb") as lines:
                    part._add_many(line for line in lines if line.strip())
            else:
                from discreet.local.columns import parquet_pieces

                part._add_pieces(parquet_pieces(file, self._protocol.form))
        except (OSError, UnreadableFile):
            self._refused["unreadable file"] += 1
        else:
            self.merge(part)

    def _add_many(self, reports: Iterable[object]) -> None:
        waiting: list[object] = []
        for report in reports:
            if isinstance(report, Batch):
                self.add(report)
                continue
            waiting.append(report)
            if len(waiting) == _AT_ONCE:
                self._add_plain(waiting)
                waiting = []
        self._add_plain(waiting)

    def _add_plain(self, reports: list[object]) -> None:
        rows: list[Rows] = []
        nonces: list[object] = []
        for report in reports:
            facts = _facts(report)
            if facts is None:
                self._refused["malformed"] += 1
            elif facts.get("v") != VERSION or type(facts.get("v")) is not int:
                self._refused["another version"] += 1
            elif facts.get("task") != self.task.hash:
                self._refused["another task"] += 1
            elif (row := self._protocol.row(facts.get("r"))) is None:
                self._refused["malformed"] += 1
            else:
                rows.append(row)
                nonces.append(facts.get("nonce"))
        if rows:
            self._add_rows(self.task.hash, str(VERSION), np.stack(rows), None, nonces)

    def _add_pieces(self, pieces: Iterator[Piece]) -> None:
        for piece in pieces:
            if piece.rows is None and piece.task == self.task.hash:
                self._refused["malformed"] += piece.length
            else:
                rows = self._protocol.form.empty(piece.length) if piece.rows is None else piece.rows
                self._add_rows(piece.task, piece.version, rows, piece.there, piece.nonces)

    def _add_rows(self, task: str, version: str, rows: Rows, there: Booleans | None, nonces: Iterable[object] | None) -> None:
        if len(rows) == 0:
            return
        if version != str(VERSION) or task != self.task.hash:
            self._refused["another version" if version != str(VERSION) and task == self.task.hash else "another task"] += len(
                rows
            )
            return
        good = self._protocol.valid(rows) if there is None else self._protocol.valid(rows) & there
        self._refuse("malformed", len(rows) - int(good.sum()))
        if nonces is not None:
            new = good & self._unseen(list(nonces), good)
            self._refuse("duplicate", int(good.sum()) - int(new.sum()))
            good = new
        self._tally += self._protocol.tally(rows if good.all() else rows[good])
        self._count += int(good.sum())

    def _unseen(self, nonces: list[object], good: Booleans) -> Booleans:
        new = np.ones(good.size, dtype=np.bool_)
        for place in np.flatnonzero(good):
            nonce = nonces[place]
            if nonce is not None:
                mark = hashlib.sha256(repr(nonce).encode("utf-8", "replace")).hexdigest()[:32]  # short, whatever was sent
                new[place] = mark not in self._nonces
                self._nonces.add(mark)
        return new

    def _refuse(self, reason: str, count: int) -> None:
        if count:
            self._refused[reason] += count

    def fresh(self) -> Collector[Result]:
        """An empty collector of the same task."""
        return Collector(self.task, self._protocol, self.conclude, self.candidates)

    def merge(self, other: Collector[object]) -> None:
        """Add another collector's reports to this one. Reports that both have counted are counted twice."""
        if not isinstance(other, Collector) or other.task.hash != self.task.hash or other.candidates != self.candidates:
            raise ParameterError("Only collectors of the same task (and the same candidates) can be merged.")
        self._tally += other._tally
        self._count += other._count
        self._refused += other._refused
        self._nonces |= other._nonces

    def __add__(self, other: Collector[object]) -> Collector[Result]:
        both = self.fresh()
        both.merge(self)
        both.merge(other)
        return both

    def to_json(self) -> str:
        """The whole state, with the task; ``discreet.local.read_collector`` reads it back."""
        return to_text(self.task, self.candidates, self._tally, self._count, self._refused, self._nonces)

    def restore(self, text: str) -> None:
        """Add the reports of a state that ``to_json`` wrote for this task."""
        state = from_text(text)
        if state.task != self.task.to_json() or state.candidates != self.candidates or state.tally.size != self._tally.size:
            raise ParameterError("This state belongs to another task or to other candidates; read it with read_collector.")
        self._tally += state.tally
        self._count += state.count
        self._refused += Counter(state.refused)
        self._nonces |= state.nonces


def _facts(report: object) -> dict[str, object] | None:
    """A report's JSON object, or None where it is none."""
    if isinstance(report, Report):
        return {"v": VERSION, "task": report.task, "r": report.r, "nonce": report.nonce}
    if isinstance(report, (str, bytes)):
        try:
            report = json.loads(report)
        except (ValueError, RecursionError):
            return None
    return report if isinstance(report, dict) else None
