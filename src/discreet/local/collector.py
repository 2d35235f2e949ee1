"""The server's side: checks, counts and forgets reports; estimates at any time.

A collector's state (``state.py``) is one run of counters, whose length does not depend on how many reports came. States of one
task add, and are kept as JSON. No report can make a collector fail: those it cannot use are counted under a reason, and change
nothing else. Files and other collectors are taken in once only.

Nonces are the exception to constant memory: reports that carry one are remembered by it, so that a second one is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from discreet.arrays import Booleans
from discreet.errors import ParameterError, ValueRefused
from discreet.local.protocols.base import Protocol, Rows
from discreet.local.report import VERSION, Batch, Report, UnreadableFile, report_facts
from discreet.local.state import MOST_REPORTS, State
from discreet.local.state_text import Stored, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow

    from discreet.arrays import Integers
    from discreet.local.columns import Piece
    from discreet.local.task import Task

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
        self._state = State.empty(protocol.cells)

    @property
    def count(self) -> int:
        """How many reports were counted."""
        return self._state.count

    @property
    def refused(self) -> dict[str, int]:
        """How many reports (or files) were refused, by reason."""
        return dict(self._state.refused)

    def __repr__(self) -> str:
        return f"Collector(count={self.count}, refused={self.refused})"

    def estimate(self) -> Result:
        """What the reports say about all who sent one."""
        if self.count == 0:
            raise ValueRefused("There are no reports to estimate from; collect at least one.")
        return self.conclude(self._state.tally, self.count)

    def add(self, reports: Report | Batch | str | bytes | dict[str, object] | Path | pyarrow.Table | Iterable[object]) -> None:
        """Take in a report, a batch, JSON text, an Arrow table, a list of reports, or a file (a ``Path``).

        Never fails, whatever is sent; only a file that is not there is refused with a sentence.
        """
        if isinstance(reports, Path):
            self.add_file(reports)
        elif isinstance(reports, Batch):
            self._add_batch(reports)
        elif isinstance(reports, (Report, str, bytes, dict)):
            self._add_plain([reports])
        elif type(reports).__module__.startswith("pyarrow"):
            from discreet.local.columns import is_table, table_pieces

            if is_table(reports):
                self._add_pieces(table_pieces(reports, self._protocol.form))
            else:
                self._state.refuse("malformed")
        elif isinstance(reports, Iterable):
            self._add_many(reports)
        else:
            self._state.refuse("malformed")

    def add_file(self, path: str | Path) -> None:
        """Take in a Parquet file, or a file with one JSON report a line (``.jsonl``), without loading all of it.

        A file that cannot be read to its end is refused as a whole, so that it can be repaired and added again; so is one whose
        bytes have been counted before.
        """
        file, part = Path(path), self.fresh()
        if not file.is_file():
            raise ParameterError(f"There is no file {file}; give a Parquet file or a .jsonl file of reports.")
        part._state.nonces = set(self._state.nonces)
        try:
            with file.open("rb") as whole:
                mark = hashlib.file_digest(whole, "sha256").hexdigest()[:32]
            if mark in self._state.files:
                self._state.refuse("collected before")
                return
            if file.suffix == ".jsonl":
                with file.open("rb") as lines:
                    part._add_many(line for line in lines if line.strip())
            else:
                from discreet.local.columns import parquet_pieces

                part._add_pieces(parquet_pieces(file, self._protocol.form))
        except (OSError, UnreadableFile):
            self._state.refuse("unreadable file")
            return
        if part.count:
            part._state.files[mark] = None
        if self.count + part.count > MOST_REPORTS:
            self._state.refuse("no room", part.count)
        else:
            self._state.add(part._state)

    def _add_many(self, reports: Iterable[object]) -> None:
        waiting: list[object] = []
        for report in reports:
            if isinstance(report, Batch):
                self._add_batch(report)
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
            facts = report_facts(report)
            if facts is None:
                self._state.refuse("malformed")
            elif type(facts.get("v")) is not int or facts["v"] != VERSION:
                self._state.refuse("another version")
            elif not isinstance(facts.get("task"), str) or facts["task"] != self.task.hash:
                self._state.refuse("another task")
            elif (row := self._protocol.row(facts.get("r"))) is None:
                self._state.refuse("malformed")
            else:
                rows.append(row)
                nonces.append(facts.get("nonce"))
        if rows:
            self._add_rows(np.stack(rows), np.ones(len(rows), dtype=np.bool_), nonces)

    def _add_batch(self, batch: Batch) -> None:
        if batch.task != self.task.hash:
            self._state.refuse("another task", len(batch))
        elif not self._protocol.form.fits(batch.rows) or (batch.nonces is not None and len(batch.nonces) != len(batch)):
            self._state.refuse("malformed", len(batch))
        else:
            self._add_rows(batch.rows, np.ones(len(batch), dtype=np.bool_), batch.nonces)

    def _add_pieces(self, pieces: Iterator[Piece]) -> None:
        for piece in pieces:
            if piece.task != self.task.hash:
                self._state.refuse("another task", piece.length)
            elif piece.version != str(VERSION):
                self._state.refuse("another version", piece.length)
            elif piece.rows is None:
                self._state.refuse("malformed", piece.length)
            else:
                self._add_rows(piece.rows, piece.there, piece.nonces)

    def _add_rows(self, rows: Rows, there: Booleans, nonces: Sequence[object] | None) -> None:
        """Count those rows of this task's form that are there, are honest and new."""
        if self.count + len(rows) > MOST_REPORTS:
            self._state.refuse("no room", len(rows))
            return
        good = self._protocol.valid(rows) & there
        if nonces is not None:
            good &= np.array([nonce is None or isinstance(nonce, (str, bytes)) for nonce in nonces], dtype=np.bool_)
        self._state.refuse("malformed", len(rows) - int(good.sum()))
        if nonces is not None:
            new = good & self._unseen(nonces, good)
            self._state.refuse("duplicate", int(good.sum()) - int(new.sum()))
            good = new
        self._state.tally += self._protocol.tally(rows if good.all() else rows[good])
        self._state.count += int(good.sum())

    def _unseen(self, nonces: Sequence[object], good: Booleans) -> Booleans:
        new = np.ones(good.size, dtype=np.bool_)
        for place in np.flatnonzero(good).tolist():
            nonce = nonces[place]
            if isinstance(nonce, (str, bytes)):
                raw = nonce.encode("utf-8", "surrogatepass") if isinstance(nonce, str) else nonce
                mark = hashlib.sha256(raw).hexdigest()[:32]  # short, whatever was sent
                new[place] = mark not in self._state.nonces
                self._state.nonces.add(mark)
        return new

    def fresh(self) -> Collector[Result]:
        """An empty collector of the same task."""
        return Collector(self.task, self._protocol, self.conclude, self.candidates)

    def shares(self, other: Collector[object]) -> bool:
        """Whether one was taken in by the other before, as it is or as it was, or both have taken in the same one."""
        return self._state.shares(other._state)

    def merge(self, other: Collector[object]) -> None:
        """Add another collector's reports to this one. Reports that came to both by different ways are counted twice."""
        if not isinstance(other, Collector) or other.task.hash != self.task.hash or other.candidates != self.candidates:
            raise ParameterError("Only collectors of the same task (and the same candidates) can be merged.")
        other._state.name()
        if other is self or self.shares(other):
            raise ParameterError("These collectors have reports in common, which would count twice; merge each collector once.")
        self._state.add(other._state)

    def __add__(self, other: Collector[object]) -> Collector[Result]:
        both = self.fresh()
        both.merge(self)
        both.merge(other)
        return both

    def to_json(self) -> str:
        """The whole state, with the task; ``discreet.local.read_collector`` reads it back."""
        self._state.name()
        return to_text(self.task, self.candidates, self._state)

    def restore(self, stored: Stored) -> None:
        """Begin with a state of this task that was read back."""
        if self.count or stored.task != self.task.to_json() or stored.candidates != self.candidates:
            raise ParameterError("This state belongs to another task or to other candidates; read it with read_collector.")
        self._state = stored.state(self._protocol)
