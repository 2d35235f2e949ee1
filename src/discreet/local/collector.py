"""A collector: the server's side, which checks, counts and forgets reports, and estimates at any time.

Its state is one run of counters, whose length does not depend on how many reports came. States of one task add, and are kept as
JSON. No report can make a collector fail: those it cannot use are counted under a reason, and change nothing else.

A state remembers the latest files it has counted, by their SHA-256, and the latest collectors it has taken in, by names that they
are given when they leave: so nothing that is given twice counts twice. Nonces are the exception to constant memory: reports that
carry one are remembered by it, so that a second one is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.local.protocols.base import Protocol, Rows
from discreet.local.report import VERSION, Batch, Piece, Report, UnreadableFile, cut_table, read_facts, read_parquet
from discreet.local.task import Task, canonical, read_task
from discreet.noise.bits import words

if TYPE_CHECKING:
    import pyarrow

Result = TypeVar("Result", covariant=True)

MOST_REPORTS = 2**32
"""So many reports fit in the counters of every protocol."""
MOST_REMEMBERED = 4096
"""Files and collectors."""
REASONS = ("malformed", "another version", "another task", "duplicate", "unreadable file", "collected before", "no room")
"""Why reports and files are refused."""

_AT_ONCE = 8192  # reports of JSON that are checked together
_STATE_VERSION = 1
_STRANGE = "This text is not the state of a collector, or it is damaged; give what Collector.to_json() wrote."
_MARK = re.compile(r"[0-9a-f]{32}")


@dataclass(eq=False)
class State:
    """What a collector knows. ``files`` and ``collectors`` are dictionaries for their order alone, the latest last."""

    tally: Integers
    count: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    nonces: set[str] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)
    collectors: dict[str, None] = field(default_factory=dict)

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what is not counted."""
        if count:
            self.refused[reason] += count

    def name(self) -> None:
        """Give a state that leaves a name, unless it has one or is empty."""
        if self.count and not self.collectors:
            self.collectors[words(2).tobytes().hex()] = None

    def add(self, other: State) -> None:
        """Count the other's reports here as well; whose they are is not asked."""
        if self.count + other.count > MOST_REPORTS:
            raise ParameterError(f"A collector holds at most {MOST_REPORTS:,} reports; begin another one.")
        self.tally += other.tally
        self.count += other.count
        self.refused += other.refused
        self.nonces |= other.nonces
        self.files = _keep_latest(self.files | other.files)
        self.collectors = _keep_latest(self.collectors | other.collectors)

    @property
    def facts(self) -> dict[str, object]:
        """The state as JSON, its counters compressed, in base64."""
        packed = base64.b64encode(zlib.compress(self.tally.astype("<i8").tobytes(), 6)).decode("ascii")
        facts = {"count": self.count, "refused": dict(self.refused), "tally": packed, "nonces": sorted(self.nonces)}
        return facts | {"files": list(self.files), "collectors": list(self.collectors)}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> State:
        """The state that ``facts`` described, without its counters, whose number the protocol knows; ValueError for others."""
        count, refused, lists = facts["count"], facts["refused"], [facts[name] for name in ("nonces", "files", "collectors")]
        if not all(isinstance(marks, list) and all(_MARK.fullmatch(mark) for mark in marks) for marks in lists):
            raise ValueError
        nonces, files, collectors = (dict.fromkeys(marks) for marks in lists)
        if (
            not all(type(number) is int and 0 <= number < 2**63 for number in (count, *refused.values()))
            or not set(refused) <= set(REASONS)
            or not max(len(nonces), len(collectors)) <= count <= MOST_REPORTS
            or max(len(files), len(collectors)) > MOST_REMEMBERED
        ):
            raise ValueError
        return cls(np.empty(0, dtype=np.int64), count, Counter(refused), set(nonces), files, collectors)


@dataclass(frozen=True)
class Stored:
    """A collector as text: its task, its candidates, its packed counters, and the rest of its state."""

    task: str
    candidates: tuple[str, ...] | None
    tally: str
    rest: State


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
        self._state = State(np.zeros(protocol.cells, dtype=np.int64))

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
            pieces = cut_table(reports, self._protocol.form)
            self._state.refuse("malformed") if pieces is None else self._add_pieces(pieces)
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
                part._add_pieces(read_parquet(file, self._protocol.form))
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
            facts = read_facts(report)
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
            new = good & self._find_unseen(nonces, good)
            self._state.refuse("duplicate", int(good.sum()) - int(new.sum()))
            good = new
        self._state.tally += self._protocol.tally(rows if good.all() else rows[good])
        self._state.count += int(good.sum())

    def _find_unseen(self, nonces: Sequence[object], good: Booleans) -> Booleans:
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
        return bool(self._state.collectors.keys() & other._state.collectors.keys())

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
        facts = {"discreet": "local collector", "version": _STATE_VERSION, "task": json.loads(self.task.to_json())}
        listed = {} if self.candidates is None else {"candidates": list(self.candidates)}
        return canonical({**facts, **self._state.facts, **listed})

    def restore(self, stored: Stored) -> None:
        """Begin with a state of this task that was read back, where reports can have left it."""
        if self.count or stored.task != self.task.to_json() or stored.candidates != self.candidates:
            raise ParameterError("This state belongs to another task or to other candidates; read it with read_collector.")
        tally = _unpack(stored.tally, self._protocol.cells)
        if tally is None or not self._protocol.possible(tally, stored.rest.count):
            raise ParameterError(_STRANGE)
        self._state = replace(stored.rest, tally=tally)


@called_as("text")
def read_collector(text: str) -> Collector[object]:
    """The collector whose state ``to_json`` wrote, with its task."""
    stored = read_stored(text)
    collector = read_task(stored.task).collector(stored.candidates)
    collector.restore(stored)
    return collector


def read_stored(text: str) -> Stored:
    """What ``to_json`` wrote, checked as far as that goes without its task; anybody may have written it."""
    try:
        facts = json.loads(text)
        if facts["discreet"] != "local collector" or facts["version"] != _STATE_VERSION:
            raise ValueError
        if not all(isinstance(candidate, str) for candidate in facts.get("candidates") or []):
            raise ValueError
        candidates = None if facts.get("candidates") is None else tuple(facts["candidates"])
        return Stored(canonical(facts["task"]), candidates, facts["tally"], State.from_facts(facts))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ParameterError(_STRANGE) from None


def _keep_latest(marks: dict[str, None]) -> dict[str, None]:
    return dict.fromkeys(list(marks)[-MOST_REMEMBERED:])


def _unpack(packed: str, cells: int) -> Integers | None:
    """So many counters, or None; never more memory than they take."""
    try:
        inflating = zlib.decompressobj()
        raw = inflating.decompress(base64.b64decode(packed, validate=True), 8 * cells + 1)
    except (ValueError, TypeError, zlib.error):
        return None
    return np.frombuffer(raw, dtype="<i8").astype(np.int64) if len(raw) == 8 * cells and inflating.eof else None
