"""The default engine: DuckDB, embedded, larger than memory.

Everything that comes back is a ``Secret``. Whole numbers stay whole: sums are 128 bits wide in the engine and arrive to the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.engine.base import Counted, Found, Groups
from discreet.engine.duckdb.dialect import DUCKDB
from discreet.engine.duckdb.session import NOTHING, RELATION, Session, exact_integers
from discreet.engine.sources.source import Source
from discreet.engine.sql.counting import Counting
from discreet.engine.sql.statement import Raw, Statement
from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Histograms, Table
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.plan import Plan
from discreet.plan.statistics import MOST_WORK, Histogram, Measure, Persons, Sums
from discreet.schema.table import Schema
from discreet.schema.units import Person

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DuckDBEngine"]

_SMALL = 2**22  # what one unit adds at most, for sums to be read as 64-bit integers: 2^40 units would fill them
_FULL = 2**62
_EXACT = 2**53  # up to here doubles hold all whole numbers

Columns = dict[str, list[int | float | None]]  # sums: whole numbers, also those that are doubles


class DuckDBEngine:
    """Counts exactly what a plan asks for."""

    def __init__(
        self,
        source: Source,
        schema: Schema,
        public: Mapping[str, Source],
        *,
        memory: str | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        """``sources`` says which column of the table a declared name means, where that is not the one of the same name."""
        wanted = [*schema.columns, *([schema.unit.id] if isinstance(schema.unit, Person) else [])]
        names = {name: source.find((sources or {}).get(name, name)) for name in wanted}
        if isinstance(schema.unit, Person) and names[schema.unit.id] in source.no_ids:
            raise ParameterError(
                f"The column {schema.unit.id} is of a type that cannot tell persons apart (bytes, times, lists or nothing); make "
                "texts or whole numbers of it first."
            )
        self._raw = Raw(RELATION, {name: (found, source.raw[found]) for name, found in names.items()})
        self.layout: object = source.layout  # the one that it reads by
        self._session = Session(source, public, memory=memory)

    def rehearse(self, plan: Plan) -> None:
        """Count the same of a table without rows, before anything is paid: what the engine cannot do is refused here.

        Neither rows nor keys that were chosen have a part in it, so that a refusal says nothing about the data.
        """
        counting = Counting(plan, Raw(NOTHING, self._raw.columns), DUCKDB, "")
        listed = plan.keys.listings or tuple((None,) for _ in plan.keys.keys)
        some = Groups(tuple(list(values[:1]) for values in listed), True, plan.keys.size or 2**20)
        try:
            if plan.keys.size is None:
                self._run(counting.open_keys())
            self._count(counting, some)
        except EngineError:
            raise ParameterError(
                "The engine cannot do this question, whatever the data; ask a simpler one. Nothing was paid."
            ) from None

    def keys(self, plan: Plan, salt: str) -> Secret[Mapping[tuple[Value, ...], int]]:
        """How many units share every key that there is: for a private choice among them."""
        table = self._run(self._counting(plan, salt).open_keys())
        columns = [_plain(table.column(j), plan, j) for j in range(len(plan.keys.keys))]
        counts = table.column("n").to_numpy()
        return Secret({key: int(n) for key, n in zip(zip(*columns, strict=True), np.minimum(counts, _FULL - 1), strict=True)})

    def count(self, plan: Plan, groups: Groups, salt: str) -> Found:
        """Every statistic of a plan, over these groups."""
        return self._count(self._counting(plan, salt), groups)

    def _count(self, counting: Counting, groups: Groups) -> Found:
        """Statistics of one kind are counted together: sums in one scan, every histogram in its own."""
        wanted: dict[type, list[Counted]] = {}
        for release in counting.plan.releases:
            if release.mechanism is not None and (release.statistic, release.bits) not in wanted.get(type(release.statistic), []):
                wanted.setdefault(type(release.statistic), []).append((release.statistic, release.bits))
        found: dict[Counted, Secret[NDArray[np.generic]] | Secret[Table]] = {}
        for kind, count in self._COUNT.items():
            if kind in wanted:
                found |= count(self, counting, wanted[kind], groups)
        return found

    def _count_sums(self, counting: Counting, wanted: Sequence[tuple[Sums, int]], groups: Groups) -> Found:
        """A number for every group; of several measures one measure after the other."""
        measures = [(measure, bits) for sums, bits in wanted for measure in sums.of]
        table = self._sums(counting, measures, groups)
        arrays = iter([self._array(table, counting.plan, m, bits, f"s{j}", groups.size) for j, (m, bits) in enumerate(measures)])
        return {(sums, bits): Secret(np.concatenate([next(arrays) for _ in sums.of])) for sums, bits in wanted}

    def _count_persons(self, counting: Counting, wanted: Sequence[tuple[Persons, int]], groups: Groups) -> Found:
        table = self._columns(counting.persons(groups))
        return {(one, bits): Secret(_sums(table, "s0", groups.size, small=True, bits=bits)) for one, bits in wanted}

    def _count_histograms(self, counting: Counting, wanted: Sequence[tuple[Histogram, int]], groups: Groups) -> Found:
        """A line of cells for every group."""
        tables = {one: self._histogram(counting, one, groups) for one, _ in wanted}
        unit = counting.plan.schema.unit
        return {(one, bits): Secret(_finer(tables[one], bits - one.bits(unit))) for one, bits in wanted}

    _COUNT: ClassVar[Mapping[type, Callable[..., Found]]] = {
        Sums: _count_sums,
        Persons: _count_persons,
        Histogram: _count_histograms,
    }

    def _array(self, table: Columns, plan: Plan, measure: Measure, bits: int, name: str, size: int) -> NDArray[np.generic]:
        """One measure of every group; weighted sums of persons are in their parts already, those of rows are multiplied here."""
        unit = plan.schema.unit
        most = unit.rows * measure.bound if isinstance(unit, Person) else measure.bound
        return _sums(table, name, size, small=most << bits < _SMALL, bits=0 if isinstance(unit, Person) else bits)

    def _sums(self, counting: Counting, wanted: Sequence[tuple[Measure, int]], groups: Groups) -> Columns:
        """Sums of rows in doubles while they are sure to be exact, which is faster; else in 128-bit integers."""
        measures = [measure for measure, _ in wanted]
        most = max(measure.bound for measure in measures)
        if most <= _SMALL and not isinstance(counting.plan.schema.unit, Person):
            table = self._columns(counting.quick_sums(measures, groups))
            if max((int(n or 0) for n in table[f"s{len(measures)}"]), default=0) * most <= _EXACT:
                return table
        return self._columns(counting.sums(wanted, groups))

    def _histogram(self, counting: Counting, cells: Histogram, groups: Groups) -> Table:
        """All cells of all groups where they are few enough to hold, else those that are not empty."""
        size = groups.size * cells.count
        if size > MOST_WORK:
            return _histograms(self._run(counting.histogram(cells, groups, streamed=False)), groups.size, cells.count)
        statement = counting.histogram(cells, groups, streamed=True)
        counts = np.zeros(size, dtype=np.int64)
        for batch in _gathered(self._session.stream(statement.text, statement.parameters), size):
            weights = batch["n"].to_numpy() if "n" in batch.schema.names else None
            counts += np.bincount(batch["place"].to_numpy(), weights, size).astype(np.int64)  # whole, and below 2^53 a batch
        return counts.reshape(groups.size, cells.count)

    def progress(self) -> float | None:
        """How far the engine is with what it is counting."""
        return self._session.progress()

    def close(self) -> None:
        """Let go of the table."""
        self._session.close()

    def _counting(self, plan: Plan, salt: str) -> Counting:
        return Counting(plan, self._raw, DUCKDB, salt)

    def _columns(self, statement: Statement) -> Columns:
        return cast(Columns, self._session.columns(statement.text, statement.parameters))

    def _run(self, statement: Statement) -> pyarrow.Table:
        return self._session.fetch(statement.text, statement.parameters)


def _sums(table: Columns, name: str, size: int, *, small: bool, bits: int) -> NDArray[np.generic]:
    """A number for every group, 0 where the engine has no line; 64 bits, or Python's own integers where those might not do."""
    numbers = [int(number or 0) << bits for number in table[name]]
    places = np.array(table["i"], dtype=np.int64)
    if small:
        full = np.zeros(size, dtype=np.int64)
        np.add.at(full, places, np.array([max(-_FULL, min(number, _FULL)) for number in numbers], dtype=np.int64))
        return full
    wide = np.zeros(size, dtype=object)
    for place, number in zip(places, numbers, strict=True):  # numpy would make doubles of a list of large integers
        wide[place] += number
    return wide


def _gathered(batches: Iterable[pyarrow.RecordBatch], size: int) -> Iterator[pyarrow.Table]:
    """Batches about as long as the array they are added to, or a million rows."""
    import pyarrow

    held: list[pyarrow.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= max(size, 2**20):
            yield pyarrow.Table.from_batches(held)
            held = []
    if held:
        yield pyarrow.Table.from_batches(held)


def _histograms(table: pyarrow.Table, size: int, cells: int) -> Histograms:
    counts = np.array([min(number or 0, _FULL) for number in exact_integers(table.column("n"))], dtype=np.int64)
    return Histograms(
        size, cells, table.column("i").to_numpy().astype(np.int64), table.column("x").to_numpy().astype(np.int64), counts
    )


def _finer(table: Table, bits: int) -> Table:
    """The same counts in smaller units."""
    if not bits:
        return table
    return replace(table, counts=table.counts << bits) if isinstance(table, Histograms) else table << bits


def _plain(column: pyarrow.ChunkedArray, plan: Plan, j: int) -> list[Value]:
    """A key's values as a question writes them: whole numbers are integers."""
    values: list[Value] = column.to_pylist()
    step = infer(plan.keys.keys[j].of, plan.facts).step
    if step is not None and step.denominator == 1:
        return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    return values
