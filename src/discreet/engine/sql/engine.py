"""An engine that speaks SQL: every statistic of a plan as a statement of its dialect, run in its session.

Everything that comes back is a ``Secret``. Whole numbers stay whole: sums are 128 bits wide in the engine and arrive to the
last bit.
"""

from __future__ import annotations

import itertools
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import ClassVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.engine.base import Counted, Found, Groups, Session, Source, Unreachable, hashed
from discreet.engine.sql.counting import Counting
from discreet.engine.sql.dialect import NUMBERS_OR_TEXTS, WHOLE_IDS, Dialect, as_constants
from discreet.engine.sql.rows import read_blocks, write_identity, write_rows
from discreet.engine.sql.statement import Raw, Statement
from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Histograms, Table
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.measures import ROWS, Measure
from discreet.plan.plan import Plan, Prepared, Reading
from discreet.plan.statistics import MOST_WORK, Histogram, Margin, Persons, Sums
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

_SMALL = 2**22  # what one unit adds at most, for sums to be read as 64-bit integers: 2^40 units would fill them
_FULL = 2**62
_EXACT = 2**53  # up to here doubles hold all whole numbers
_KEY = 16  # bytes of the key of rows: with few more, most rows would take up two blocks of their hash
_MANY = 2**12  # groups whose numbers come as arrays
_NONE = np.zeros(0, dtype=np.int64)
_CANNOT = "The engine cannot do this question, whatever the data; ask a simpler one. Nothing was paid."

Batch = dict[str, NDArray[np.generic]]
Numbers = list[int | float | None] | NDArray[np.generic]  # whole ones, also those that are doubles; NaN is None
Columns = dict[str, Numbers]


def raw_columns(source: Source, schema: Schema, columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The name and type in a table of every declared column and of the persons' ids, which ``columns`` may call otherwise."""
    wanted = [*schema.columns, *([schema.unit.id] if isinstance(schema.unit, Person) else [])]
    return _found(source, {name: columns.get(name, name) for name in wanted}, schema.unit)


def raw_tables(sources: Mapping[str, Source], schema: Schema, columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The same for several tables, by the names that questions use: ``visits.cost``, and ``visits.pid`` for ids."""
    assert isinstance(schema.unit, Person)
    found: dict[str, tuple[str, str]] = {}
    for table, source in sources.items():
        declared = {f"{table}.{schema.unit.id}", *(name for name in schema.columns if name.startswith(f"{table}."))}
        local = {name.split(".", 1)[1]: columns.get(name, name).split(".", 1)[1] for name in declared}
        found |= {f"{table}.{name}": one for name, one in _found(source, local, schema.unit).items()}
    return found | {schema.unit.id: found[f"{next(iter(sources))}.{schema.unit.id}"]}


def check_ids(sources: Mapping[str, Source], unit: Person, dialect: Dialect) -> None:
    """Refuse tables whose ids cannot be compared. Numbers and texts can: by the text of each cell, in which a whole number has no
    point whatever type holds it. So what a type is, which in a frame one missing or odd cell may decide, changes nothing for the
    other cells. Days, truth values and the like are compared with their own kind only."""
    kinds = {table: dialect.id_kind(_found(source, {unit.id: unit.id}, unit)[unit.id][1]) for table, source in sources.items()}
    if len({NUMBERS_OR_TEXTS if kind == WHOLE_IDS else kind for kind in kinds.values()}) > 1:
        said = ", ".join(f"{kind} in {table}" for table, kind in kinds.items())
        raise ParameterError(
            f"{unit.id} is of different types ({said}), and ids are compared as they are; make texts or whole numbers of all."
        )


def _found(source: Source, wanted: Mapping[str, str], unit: Unit) -> dict[str, tuple[str, str]]:
    names = {name: source.find(meant) for name, meant in wanted.items()}
    if isinstance(unit, Person) and names[unit.id] in source.no_ids:
        raise ParameterError(
            f"The column {unit.id} is of a type that cannot tell persons apart (bytes, times, lists or nothing); make "
            "texts or whole numbers of it first."
        )
    return {name: (found, source.raw[found]) for name, found in names.items()}


class SqlEngine:
    """Counts exactly what a plan asks for."""

    def __init__(self, session: Session, dialect: Dialect, raw: Mapping[str, tuple[str, str]], layout: object) -> None:
        self._session, self._dialect, self._raw = session, dialect, raw
        self.layout: object = layout  # the one that it reads by
        self._passed = WeakKeyDictionary[Prepared, set[object]]()  # what was rehearsed, in which units

    def rehearse(self, asked: Plan | Reading) -> None:
        """Count or read the same of a table without rows, before anything is paid: what the engine cannot do is refused here.

        Neither rows nor keys that were chosen have a part in it, so that a refusal says nothing about the data. What passed once
        passes again: plans of one question differ by their cost, which no statement knows but for the units that it counts in.
        """
        passed, units = set[object](), None
        if isinstance(asked, Plan) and asked.prepared is not None and self._dialect.alone:
            passed, units = self._passed.setdefault(asked.prepared, passed), asked.units
        if units in passed:
            return
        try:
            if isinstance(asked, Reading):
                deque(self._read(write_rows(asked, self._rows(nothing=True), self._dialect, "")), 0)
            else:
                self._rehearse_plan(asked)
        except Unreachable:
            raise
        except EngineError:
            raise ParameterError(_CANNOT) from None
        passed.add(units)

    def _rehearse_plan(self, plan: Plan) -> None:
        counting = Counting(plan, self._rows(nothing=True), self._dialect, "")
        listed = plan.keys.listings or tuple((None,) for _ in plan.keys.keys)
        some = Groups(tuple(list(values[:1]) for values in listed), True, plan.keys.size or 2**20)
        if plan.keys.size is None:
            told = self._fetch(counting.open_keys())
            if len(told) == 2:  # one column and the counts: what tells keys apart may be a hash
                self._fetch(counting.spelled_keys([""]))
        self._count(counting, some)

    def rows(self, reading: Reading, salt: str) -> Iterator[Secret[Block]]:
        """The rows that a learner reads, block by block."""
        batches = self._read(write_rows(reading, self._rows(nothing=False), self._dialect, salt))
        return (Secret(block) for block in read_blocks(reading, batches))

    def identify(self, schema: Schema, salt: bytes) -> str | None:
        """A keyed hash of the rows as they are declared, in any order and whatever holds them; None where the engine has none."""
        if not self._dialect.row_hash:
            return None
        raw, key = self._rows(nothing=False), b64encode(bytes.fromhex(hashed(salt, [b"rows"]))[:_KEY]).decode().rstrip("=")
        parts = []
        for table, relation in (raw.tables or {"": raw.relation}).items():
            sql = write_identity(relation, *self._cells(schema, f"{table}." if table else ""), self._dialect)
            parts += [table, *(str(value) for (value,) in self._session.fetch(sql, {"p0": key}).values())]
        return hashed(salt, (part.encode(errors="surrogatepass") for part in ("rows", *parts)))

    def _cells(self, schema: Schema, table: str) -> tuple[list[tuple[str, bool]], str | None]:
        """SQL of every declared column of a table, and whether it is a text, in the order of their names; and of the id."""
        quote, text, unit = self._dialect.quote, self._dialect.types["text"], schema.unit
        cells = []
        for name, column in sorted(schema.columns.items()):
            if name.startswith(table):
                source, kind = self._raw[name]
                cells.append((self._dialect.clean(column, quote(source), kind), column.kind == "text"))
        if not isinstance(unit, Person):
            return cells, None
        source, kind = self._raw[f"{table}{unit.id}"]
        return cells, f"CAST({self._dialect.clean_id(quote(source), kind)} AS {text})"

    def keys(self, plan: Plan, salt: str) -> Secret[Mapping[tuple[Value, ...], int]]:
        """How many units share every key that there is: for a private choice among them."""
        *columns, counts = self._fetch(self._counting(plan, salt).open_keys()).values()
        keys = _keys(plan, columns)
        return Secret(dict(zip(keys, (min(n, _FULL - 1) for n in cast(list[int], counts)), strict=True)))

    def spell(self, plan: Plan, keys: Sequence[tuple[Value, ...]], salt: str) -> list[tuple[Value, ...]]:
        """Keys that were chosen, as rows have them: long ones were counted by their hashes."""
        counting = self._counting(plan, salt)
        if not (hashes := counting.hashes_among(keys)):
            return list(keys)
        told, *columns = self._fetch(counting.spelled_keys(hashes)).values()
        found: dict[object, tuple[Value, ...]] = dict(zip(told, _keys(plan, columns), strict=True))
        return [found.get(key[0], key) for key in keys]  # no key that is no hash is as long as one

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

    def _count_margins(self, counting: Counting, wanted: Sequence[tuple[Margin, int]], groups: Groups) -> Found:
        """Cells are counted once, and added up."""
        measures = list(dict.fromkeys((margin.of, bits) for margin, bits in wanted))
        table = self._sums(counting, measures, groups)
        cells = {
            (measure, bits): self._array(table, counting.plan, measure, bits, f"s{j}", groups.size)
            for j, (measure, bits) in enumerate(measures)
        }
        return {(margin, bits): Secret(_added_up(cells[margin.of, bits], margin)) for margin, bits in wanted}

    def _count_persons(self, counting: Counting, wanted: Sequence[tuple[Persons, int]], groups: Groups) -> Found:
        table = self._columns(counting.persons(groups), groups)
        return {(one, bits): Secret(_sums(table, "s0", groups.size, small=True, bits=bits)) for one, bits in wanted}

    def _count_histograms(self, counting: Counting, wanted: Sequence[tuple[Histogram, int]], groups: Groups) -> Found:
        """A line of cells for every group."""
        tables = {one: self._histogram(counting, one, groups) for one, _ in wanted}
        unit = counting.plan.schema.unit
        return {(one, bits): Secret(_finer(tables[one], bits - one.bits(unit))) for one, bits in wanted}

    _COUNT: ClassVar[Mapping[type, Callable[..., Found]]] = {
        Sums: _count_sums,
        Margin: _count_margins,
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
            table = _numbered(self._columns(counting.quick_sums(measures, groups), groups), groups)
            rows = measures.index(ROWS) if ROWS in measures else len(measures)
            if int(np.max(_as_doubles(table.get(f"s{rows}", _NONE)), initial=0.0)) * most <= _EXACT:
                return table
        return _numbered(self._columns(counting.sums(wanted, groups), groups), groups)

    def _histogram(self, counting: Counting, cells: Histogram, groups: Groups) -> Table:
        """All cells of all groups where they are few enough to hold, else those that are not empty."""
        size = groups.size * cells.count
        if size > MOST_WORK or self._dialect.sends_cells:
            batches = list(self._stream(counting.histogram(cells, groups, streamed=False)))
            places, cell, rows = (np.concatenate([*(batch[name] for batch in batches), _NONE]) for name in ("i", "x", "n"))
            capped = np.minimum(rows, _FULL).astype(np.int64)  # counts of any width, which nobody can make overflow
            if size <= MOST_WORK:
                counts = np.zeros(size, dtype=np.int64)
                np.add.at(counts, places.astype(np.int64) * cells.count + cell.astype(np.int64), capped)
                return counts.reshape(groups.size, cells.count)
            return Histograms(groups.size, cells.count, places.astype(np.int64), cell.astype(np.int64), capped)
        counts = np.zeros(size, dtype=np.int64)
        for batch in _gathered(self._stream(counting.histogram(cells, groups, streamed=True)), size):
            found = np.bincount(batch["place"].astype(np.int64), cast(Reals | None, batch.get("n")), size)
            counts += found.astype(np.int64)  # whole, and below 2^53 a batch
        return counts.reshape(groups.size, cells.count)

    def reading(self) -> AbstractContextManager[None]:
        """A block in which all is counted in one state of the tables."""
        return self._session.reading()

    def progress(self) -> float | None:
        """How far the engine is with what it is counting."""
        return self._session.progress()

    def close(self) -> None:
        """Let go of the table."""
        self._session.close()

    def _counting(self, plan: Plan, salt: str) -> Counting:
        return Counting(plan, self._rows(nothing=False), self._dialect, salt)

    def _rows(self, *, nothing: bool) -> Raw:
        """Where private tables are, or where the same columns are without rows."""
        several = {name: pair[nothing] for name, pair in self._session.several.items()}
        return Raw(self._session.nothing if nothing else self._session.relation, self._raw, several, self._session.coded)

    def _columns(self, statement: Statement, groups: Groups) -> Columns:
        if groups.size < _MANY:
            return cast(Columns, self._fetch(statement))
        batches = list(self._stream(statement))
        return dict(_joined(batches)) if batches else {}

    def _fetch(self, statement: Statement) -> dict[str, list[object]]:
        return self._session.fetch(statement.text, statement.parameters)

    def _read(self, statement: Statement) -> Iterator[Batch]:
        return self._session.read(statement.text, statement.parameters)

    def _stream(self, statement: Statement) -> Iterator[Batch]:
        return self._session.stream(statement.text, statement.parameters)


def _numbered(table: Columns, groups: Groups) -> Columns:
    """Sums by the numbers of groups, also where they came by keys; keys of no group are left out."""
    if "i" in table or not table:
        return table
    listed, found = [as_constants(values) for values in groups.listed], [table[f"k{j}"] for j in range(len(groups.listed))]
    sums = {name: column for name, column in table.items() if name.startswith("s")}
    if groups.product and groups.size >= _MANY:
        place, known = _places(listed, [_as_doubles(column) for column in found])
        return {name: np.asarray(column)[known] for name, column in (sums | {"i": place}).items()}
    keys = itertools.product(*listed) if groups.product else zip(*listed, strict=True)
    number = {key: i for i, key in enumerate(keys)}
    lines = [number.get(key) for key in zip(*found, strict=True)]
    return {
        name: [one for one, i in zip(column, lines, strict=True) if i is not None]
        for name, column in (sums | {"i": lines}).items()
    }


def _places(listed: Sequence[Sequence[Value]], found: Sequence[Reals]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The numbers of keys among all combinations of what is listed, and which of them are there at all."""
    place, known = np.zeros(len(found[0]), dtype=np.int64), np.ones(len(found[0]), dtype=bool)
    for values, keys in zip(listed, found, strict=True):
        at = _find(numbers := np.array(values, dtype=np.float64), keys)
        place, known = place * len(numbers) + at, known & (numbers[at] == keys)
    return place, known


def _find(numbers: Reals, keys: Reals) -> NDArray[np.int64]:
    """Where keys are among numbers; anywhere, where they are not. Most lists are steps: there the first guess is right."""
    first, last = numbers[0], len(numbers) - 1
    steps = (np.nan_to_num(keys, nan=first) - first) * (last / (numbers[-1] - first or 1.0))
    at: NDArray[np.int64] = np.clip(np.rint(steps), 0, last).astype(np.int64)
    missed = np.flatnonzero(numbers[at] != keys)
    if len(missed):
        order = np.argsort(numbers)
        at[missed] = order[np.minimum(np.searchsorted(numbers[order], keys[missed]), last)]
    return at


def _as_doubles(column: Numbers) -> Reals:
    """Whole numbers to the nearest double; what is missing is NaN."""
    return np.array(column, dtype=np.float64)


def _sums(table: Columns, name: str, size: int, *, small: bool, bits: int) -> NDArray[np.generic]:
    """A number for every group, 0 where the engine has no line; 64 bits, or Python's own integers where those might not do."""
    places, column = np.array(table.get("i", _NONE), dtype=np.int64), table.get(name, _NONE)
    doubles = np.nan_to_num(_as_doubles(column))
    if np.abs(doubles).sum() < _EXACT >> bits:  # so all of them, and all sums of them, are exact
        whole = np.bincount(places, doubles, size).astype(np.int64) << bits
        return whole if small else whole.astype(object)
    found = column.tolist() if isinstance(column, np.ndarray) else column
    numbers = [0 if number is None or number != number else int(number) << bits for number in found]
    if small:
        full = np.zeros(size, dtype=np.int64)
        np.add.at(full, places, np.array([max(-_FULL, min(number, _FULL)) for number in numbers], dtype=np.int64))
        return full
    wide = np.zeros(size, dtype=object)
    for place, number in zip(places, numbers, strict=True):  # numpy would make doubles of a list of large integers
        wide[place] += number
    return wide


def _added_up(cells: NDArray[np.generic], margin: Margin) -> NDArray[np.generic]:
    """What a margin leaves of all cells; 64-bit integers are cut off as before, which moves no sum further."""
    table, axes = cells.reshape(margin.sizes), tuple(i for i in range(len(margin.sizes)) if i not in margin.kept)
    if cells.dtype == object:
        return np.asarray(table.sum(axis=axes), dtype=object).ravel()
    high, low = (np.asarray(half.sum(axis=axes)).ravel().astype(object) for half in np.divmod(table.astype(np.int64), 2**31))
    return np.array([max(-_FULL, min(number, _FULL)) for number in high * 2**31 + low], dtype=np.int64)


def _gathered(batches: Iterable[Batch], size: int) -> Iterator[Batch]:
    """Batches about as long as the array they are added to, or a million rows."""
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch["place"])
        if rows >= max(size, 2**20):
            yield _joined(held)
            held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(batches: Sequence[Batch]) -> Batch:
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]} if len(batches) > 1 else batches[0]


def _finer(table: Table, bits: int) -> Table:
    """The same counts in smaller units."""
    if not bits:
        return table
    return replace(table, counts=table.counts << bits) if isinstance(table, Histograms) else table << bits


def _keys(plan: Plan, columns: Sequence[Sequence[object]]) -> Iterator[tuple[Value, ...]]:
    """Keys as a question writes them: whole numbers are integers."""
    found = []
    for key, column in zip(plan.keys.keys, cast(Sequence[Sequence[Value]], columns), strict=False):
        step = infer(key.of, plan.facts).step
        whole = step is not None and step.denominator == 1
        found.append([int(v) if whole and isinstance(v, float) and v.is_integer() else v for v in column])
    return zip(*found, strict=True)
