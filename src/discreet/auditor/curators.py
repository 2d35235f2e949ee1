"""The audit of a curator: its questions replayed on made-up tables that differ in one protected unit."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from discreet.auditor.neighbours import Pair, extreme_pairs, neighbours, split
from discreet.auditor.replay.compare import Difference, Replay, follow
from discreet.auditor.replay.shrink import shrink_pair
from discreet.auditor.replay.trace import Committed, Released, Reserved, Trace, watch
from discreet.curator import Curator
from discreet.errors import ParameterError
from discreet.schema.table import Schema
from discreet.schema.units import Person

if TYPE_CHECKING:
    import pyarrow

Make = Callable[[Any, Path], Curator]


@dataclass(frozen=True)
class Witness:
    """Two made-up tables, and what a replay found on them."""

    pair: Pair
    replay: Replay

    def __str__(self) -> str:
        return f"{self.replay}\nOn: {self.pair}"


@dataclass(frozen=True)
class Search:
    """How many pairs were tried, how many releases they were compared on, and the smallest pair that shows a violation."""

    pairs: int
    releases: int
    witness: Witness | None = None

    @property
    def violated(self) -> bool:
        return self.witness is not None

    def __str__(self) -> str:
        tried = f"{self.pairs:,} pair{'s' * (self.pairs != 1)} of neighbours ({self.releases:,} releases)"
        return f"Not refuted by {tried}." if self.witness is None else f"{self.witness}\nFound after {tried}."


def replay_curator(
    make: Make, question: str | Callable[[Curator], object], schema: Schema, *, examples: int = 0, **cost: object
) -> Search:
    """Ask a new curator on every table of every pair, and compare; the first violation is shrunk and reported.

    ``make(table, ledger)`` opens a curator on a made-up table, with a ledger at that path, by the facts of ``schema``; where that
    has several tables, on a dictionary of them.
    ``question`` is SQL, asked at ``cost`` (such as epsilon=1), or a function that asks. After the extreme pairs come ``examples``
    random ones, for which ``hypothesis`` is needed.

    >>> from discreet import Budget, integer, person
    >>> facts = Schema({"age": integer(0, 120)}, person("patient", rows=1, groups=1))
    >>> def hospital(table, ledger):
    ...     return Curator(table, unit=facts.unit, columns=facts.columns, budget=Budget(epsilon=1), ledger=ledger)
    >>> print(replay_curator(hospital, "SELECT sum(age) AS s FROM data", facts, epsilon=1))
    Not refuted by 13 pairs of neighbours (13 releases).
    """
    id = schema.unit.id if isinstance(schema.unit, Person) else ""
    with tempfile.TemporaryDirectory() as folder:
        state = str(Path(folder, "state"))
        with patch.dict(os.environ, XDG_STATE_HOME=state, LOCALAPPDATA=state):
            several = (lambda table, ledger: make(split(table, schema.tables, id), ledger)) if schema.tables else make
            trial = _Trial(Path(folder), several, question, cost)
            found = next((pair for pair in extreme_pairs(schema) if trial.violated(pair)), None)
            if found is None and examples:
                found = _search_random(schema, trial, examples)
            if not trial.releases and trial.raised:
                raise ParameterError(f"Nothing was released, so there was nothing to compare: {trial.raised}")
            pairs, releases = trial.pairs, trial.releases
            if found is None:
                return Search(pairs, releases)
            kinds = trial.replay(found).kinds
            least = shrink_pair(found, schema, lambda pair: bool(kinds & trial.replay(pair).kinds))
            return Search(pairs, releases, Witness(least, trial.replay(least)))


class _Trial:
    """One curator after another, each with a ledger of its own."""

    def __init__(self, folder: Path, make: Make, question: str | Callable[[Curator], object], cost: dict[str, object]) -> None:
        self._folder, self._make, self._question, self._cost = folder, make, question, cost
        self._watched: dict[object, Trace] = {}  # many pairs have one table in common
        self.pairs = self.releases = 0
        self.raised: str | None = None

    def violated(self, pair: Pair) -> bool:
        found = self.replay(pair)
        self.pairs += 1
        self.releases += found.releases
        return found.violated

    def replay(self, pair: Pair) -> Replay:
        before, key = pair.before, (pair.columns, pair.rest, pair.out)
        if key not in self._watched:
            self._watched[key] = watch(self._ask, before)
        first = self._watched[key]
        self.raised = self.raised or first.raised
        found = follow(self._ask, first, before, pair.after)
        return replace(found, differences=(*found.differences, *_find_unpaid(first)))

    def _ask(self, table: pyarrow.Table) -> object:
        for name in ("ledger", "state"):  # always the same paths, which errors may name
            shutil.rmtree(self._folder / name, ignore_errors=True)
        (self._folder / "ledger").mkdir()
        curator = self._make(table, self._folder / "ledger" / "audit.ledger")
        try:
            if isinstance(self._question, str):
                return curator.sql(self._question, **self._cost)  # type: ignore[arg-type]
            return self._question(curator)
        finally:
            curator.close()


def _find_unpaid(trace: Trace) -> list[Difference]:
    """Releases outside of a payment."""
    paid, number, found = False, 0, []
    for step in trace.steps:
        number += isinstance(step, Released)
        paid = isinstance(step, Reserved) or (paid and not isinstance(step, Committed))
        if isinstance(step, Released) and not paid:
            found.append(Difference("payment", f"release {number} ({step.name}) leaves before it is paid for"))
    return found


def _search_random(schema: Schema, trial: _Trial, examples: int) -> Pair | None:
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import NoSuchExample

    plain = settings(
        max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    try:
        return find(neighbours(schema), trial.violated, settings=plain)
    except NoSuchExample:
        return None
