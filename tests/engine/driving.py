"""Drive the engine by hand, without the curator: plan, count, open; and compare with the reference."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from engine import reference_counting as reference
from engine.on_postgres import engine_on_postgres, without_nuls
from engine.second import SECOND, SecondSession
from support.depth import deep

from discreet.engine import open_engine, open_public, open_source
from discreet.engine.base import Engine, groups_of
from discreet.engine.duckdb.session import _RAW, DuckDBSession, _name
from discreet.engine.sources.public import PublicTable
from discreet.engine.sql.engine import SqlEngine
from discreet.mechanisms.secret import open_secret
from discreet.plan.cost import Cost
from discreet.plan.measures import Frame
from discreet.plan.plan import Plan, Reading, price
from discreet.plan.query import Query
from discreet.plan.release import Additive
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Histogram, KeyCounts, Margin, Persons, Sums
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

__all__ = ["PURE", "RHO", "agree", "count", "count_in_turn", "keys", "marginal", "open_rows", "planned", "read_rows", "rehearse"]
__all__ += ["table"]

PURE = Cost("epsilon", Fraction(1))
RHO = Cost("rho", Fraction(1, 2), Fraction(1, 10**6))
Rows = Sequence[Mapping[str, Any]]
T = TypeVar("T")
_TURNS = itertools.count()
_MOST_SENT = 20_000  # rows


def planned(
    question: str | Query,
    columns: Mapping[str, Column],
    unit: Unit,
    share: Cost = PURE,
    public: Mapping[str, Rows] | None = None,
) -> Plan:
    """A priced plan; public tables are given as rows."""
    schema = Schema(columns, unit, {name: opened.columns for name, opened in _public(public).items()})
    return price(parse_query(question, schema) if isinstance(question, str) else question, schema, share)


def marginal(plan: Plan) -> Plan:
    """The same plan, which releases one histogram over all expressions of its histograms, with noise on every cell."""
    axes = dict.fromkeys(axis for one in plan.releases if isinstance(one.statistic, Histogram) for axis in one.statistic.axes)
    return replace(plan, releases=Additive(Histogram(tuple(axes))).releases(_frame(plan), plan.share))


def _frame(plan: Plan) -> Frame:
    query = plan.query
    whole_table = query.where is None and not query.keys and all(join.keep for join in query.joins)
    return Frame(plan.schema.unit, plan.keys.size, whole_table)


def table(plan: Plan, rows: Rows, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Rows as an Arrow table of the columns that a plan's schema names; types are inferred unless given."""
    return pa.table({name: pa.array([row[name] for row in rows], (types or {}).get(name)) for name in _names(plan)})


def count(plan: Plan, source: object, chosen: Any = None, public: Mapping[str, Rows] | None = None) -> dict[Any, Any]:
    """Every statistic of a plan, opened: integers by group, or by group and cell. All engines count the same."""
    return _alike(plan, source, public, lambda engine: _counted(engine, plan, chosen))


def count_in_turn(plan: Plan, source: object, chosen: Any = None) -> dict[Any, Any]:
    """The same, by one engine or the other from call to call: for neighbours, which may be counted by different ones. The second
    takes twice as long; what it counts is the same as a law of its own, so usually it has every fourth call."""
    with _engines(plan, source, None) as engines:
        return _counted(engines[next(_TURNS) % deep(2, 4) == 1], plan, chosen)


def _counted(engine: Engine, plan: Plan, chosen: Any) -> dict[Any, Any]:
    found = engine.count(plan, groups_of(plan, chosen), reference.SALT)
    held = {key: open_secret(secret) for key, secret in found.items()}
    return {
        (statistic, bits): [row.tolist() for row in held] if statistic.tabular else [int(x) for x in held]
        for (statistic, bits), held in held.items()
    }


def read_rows(reading: Reading, source: object, salt: str = reference.SALT) -> list[list[tuple[Any, ...]]]:
    """The rows of a reading, opened: a list for every unit, in an order of their own. All engines read the same."""

    return _alike(reading.plan, source, None, lambda engine: open_rows(engine, reading, salt))


def open_rows(engine: Engine, reading: Reading, salt: str = reference.SALT) -> list[list[tuple[Any, ...]]]:
    """The rows that one engine reads, rehearsed first."""
    engine.rehearse(reading)
    units = []
    for secret in engine.rows(reading, salt):
        block = open_secret(secret)
        lines = list(zip(*(block[name].tolist() for name in reading.columns), strict=True))
        ends = [*range(len(lines) + 1)] if block.starts is None else [*block.starts.tolist(), block.height]
        units += [sorted(lines[a:b], key=repr) for a, b in itertools.pairwise(ends)]
    return sorted(units, key=repr)


def rehearse(plan: Plan, source: object) -> None:
    """No engine refuses a plan."""
    _alike(plan, source, None, lambda engine: engine.rehearse(plan))


def keys(plan: Plan, source: object) -> dict[tuple[Any, ...], int]:
    """Open keys, opened."""

    def counted(engine: Engine) -> dict[tuple[Any, ...], int]:
        found = open_secret(engine.keys(plan, reference.SALT))
        assert all(len(str(value).encode()) <= 65 for key in found for value in key)
        return dict(zip(engine.spell(plan, list(found), reference.SALT), found.values(), strict=True))

    return _alike(plan, source, None, counted)


def _alike(plan: Plan, source: object, public: Mapping[str, Rows] | None, count: Callable[[Engine], T]) -> T:
    """What every engine counts: the same."""
    with _engines(plan, source, public) as engines:
        found = [count(engine) for engine in engines]
    assert all(one == found[0] for one in found)
    _alike_on_postgres(plan, source, public, count, found[0])
    return found[0]


def _alike_on_postgres(
    plan: Plan, source: object, public: Mapping[str, Rows] | None, count: Callable[[Engine], T], found: T
) -> None:
    """A server counts the same, where it can hold the table; texts with a NUL, which it cannot hold, are missing to both."""
    held = _held(plan, source)
    sources = held if isinstance(held, dict) else {"": held}
    if any(one.frame is None or one.frame.num_rows > _MOST_SENT for one in sources.values()):
        return
    tables = {name: without_nuls(one.frame) for name, one in sources.items()}
    facts = (plan.private, public, [(name, one.layout) for name, one in sources.items()])
    engine = engine_on_postgres(tables, plan.private, _public(public), facts)
    if engine is None:
        return
    if any(tables[name] is not one.frame for name, one in sources.items()):
        with _engines(plan, tables if isinstance(held, dict) else tables[""], public) as engines:
            found = count(engines[0])
    assert count(engine) == found


@contextmanager
def _engines(plan: Plan, source: object, public: Mapping[str, Rows] | None) -> Iterator[list[Engine]]:
    """DuckDB's, and a second one that speaks another dialect to the same database. Several tables are given by their names."""
    first = _opened(_held(plan, source), plan.private, public)
    yield [first, SqlEngine(SecondSession(first._session), SECOND, first._raw, first.layout)]


def _held(plan: Plan, source: object) -> Any:
    if isinstance(source, dict):
        return {name: open_source(one) for name, one in source.items()}
    return open_source(source, columns=_names(plan))


_KEPT = 6
_last: list[tuple[SqlEngine, object]] = []


def _is(source: Any) -> object:
    """Which files a source reads, and in what state: a file that was written anew is opened anew, as it is in life."""
    states = [(file, file.stat()) for file in map(Path, source.files)]
    return [(str(file), of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns) for file, of in states]


def _opened(held: Any, private: Schema, public: Mapping[str, Rows] | None) -> SqlEngine:
    """The engine over a table. To open a database takes longer than most questions: where only rows differ from one of the last
    tables', they take the place of those, by the name that they have in that database; and files that nobody touched are read
    by whoever read them last."""
    sources = held if isinstance(held, dict) else {"": held}
    facts = (private, public, [(name, one.layout, one.frame is not None, _is(one)) for name, one in sources.items()])
    for place, (engine, known) in enumerate(_last):
        if known == facts:
            session = engine._session
            session._sources = dict(sources)
            for cursor, (name, one) in itertools.product(session._idle, sources.items()):
                if one.held is not None:
                    cursor.register(_name(_RAW, name), one.held)
            _last.append(_last.pop(place))
            return engine
    while len(_last) >= _KEPT:
        _last.pop(0)[0].close()
    engine = open_engine(held, private, _public(public))
    assert isinstance(engine, SqlEngine)
    assert isinstance(engine._session, DuckDBSession)
    _last.append((engine, facts))
    return engine


def _public(public: Mapping[str, Rows] | None) -> dict[str, PublicTable]:
    return {name: open_public(pa.Table.from_pylist(list(rows))) for name, rows in (public or {}).items()}


def agree(plan: Plan, found: Mapping[Any, Any], rows: Rows, chosen: Any = None, public: Mapping[str, Rows] | None = None) -> None:
    """The engine's integers are those of the reference."""
    given = reference.lines(plan, rows, public)
    groups = reference.group_numbers(plan, chosen)
    wanted = {(one.statistic, one.bits) for one in plan.releases if one.mechanism is not None}
    assert set(found) == {(statistic, bits) for statistic, bits in wanted if not isinstance(statistic, KeyCounts)}
    for (statistic, bits), held in found.items():
        if isinstance(statistic, Sums):
            ranges = [one for each in reference.sums(plan, [(m, bits) for m in statistic.of], given, groups) for one in each]
            _within(held, ranges, str(statistic))
        elif isinstance(statistic, Margin):
            finer = 1 if isinstance(plan.schema.unit, Person) else 2**bits  # rows are multiplied after they are counted
            ranges = [(finer * low, finer * high) for low, high in reference.sums(plan, [(statistic.of, bits)], given, groups)[0]]
            _within(held, [(sum(low), sum(high)) for low, high in _added_up(statistic, ranges)], str(statistic))
        elif isinstance(statistic, Persons):
            assert held == reference.persons(plan, given, groups)
        else:
            assert isinstance(statistic, Histogram)
            scale = 2 ** (bits - statistic.bits(plan.schema.unit))
            expected = reference.histogram(plan, statistic, given, groups)
            assert held == [[scale * cell for cell in line] for line in expected], str(statistic)


def _added_up(margin: Margin, cells: Sequence[reference.Range]) -> list[tuple[list[Fraction | int], list[Fraction | int]]]:
    """Of every cell of a margin the ends of all that are added up in it."""
    found: dict[tuple[int, ...], tuple[list[Fraction | int], list[Fraction | int]]] = {}
    for place, (low, high) in zip(itertools.product(*map(range, margin.sizes)), cells, strict=True):
        ends = found.setdefault(tuple(place[axis] for axis in margin.kept), ([], []))
        ends[0].append(low)
        ends[1].append(high)
    return [found[place] for place in sorted(found)]


def _within(held: Sequence[int], ranges: Sequence[reference.Range], name: str) -> None:
    assert len(held) == len(ranges)
    for number, (low, high) in zip(held, ranges, strict=True):
        assert low <= number <= high, (name, number, float(low), float(high))


def _names(plan: Plan) -> list[str]:
    schema = plan.private
    own = [schema.unit.id] if isinstance(schema.unit, Person) and schema.unit.id not in schema.columns else []
    return [*schema.columns, *own]
