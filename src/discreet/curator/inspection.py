"""Do declarations fit the table? What share of a column is missing, is not what was declared, or lies beyond its bounds.

There are two ways to know. ``question`` asks for these shares like for any others: through the gate, with noise, paid for. A
``Look`` has no noise and **no privacy guarantee whatever**: it is for the eyes of the data's owner, who could open the file as
well. It is rounded coarsely, shows no cell, only names that the owner declared, and is neither kept nor stored anywhere; that
somebody looked is written into the ledger first, because declarations that are changed afterwards may say something about the
data that no epsilon counts. Every answer that follows says so.

A column is read in up to three ways: as declared, as text, and within wider bounds. It is *missing* where there is no text,
*unlisted* where there is one that is no declared value, *clamped* where wider bounds give another value.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import accumulate
from typing import NoReturn

from discreet.curator.answer import Answer
from discreet.curator.answer import Column as Output
from discreet.curator.digest import declared_text
from discreet.curator.tables import Tables
from discreet.display import clean, label, text_table
from discreet.engine.base import Engine, groups_of
from discreet.errors import DiscreetError
from discreet.mechanisms.secret import open_secret
from discreet.plan.cost import Cost
from discreet.plan.expressions import Value
from discreet.plan.people import describe_bounds
from discreet.plan.plan import Plan, price
from discreet.plan.private import describe_cut
from discreet.plan.sql import parse_query
from discreet.schema.columns import Category, Column, Date, Integer, Kind, Number, Text
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

_LETTERS = 100  # of a cell, to tell whether there is any, and spaces around a declared value: many columns fit into one question
_MOST_ASKED = 60_000  # letters of one question and of what it reads of a row; parsers and engines take some more
_TOGETHER = 10  # columns in one scan
_MOST_NAMED = 10  # declared values that a line names
_MOST_VALUES = 1000  # of a category, to be looked for one by one
_ALL_ROWS = 2**19  # no person may count for more
_SPELLINGS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d")


@dataclass(frozen=True)
class Reading:
    """Declared columns read in several ways, which column of the table each name means, and a condition for every state."""

    schema: Schema
    sources: Mapping[str, str]
    states: Mapping[tuple[str, str], str]  # column and state -> SQL

    @classmethod
    def of(cls, schema: Schema) -> Reading:
        """The states that the columns of a table can be in."""
        columns: dict[str, Column] = {name: replace(column, missing=None) for name, column in schema.columns.items()}
        sources = {name: name for name in columns}
        states: dict[tuple[str, str], str] = {}

        def also(name: str, way: str, column: Column) -> str:
            new = f"{name} {way}"
            while new.lower() in {known.lower() for known in columns}:
                new += "_"
            columns[new], sources[new] = column, name
            return _named(new, schema)

        for name, column in list(columns.items()):
            value, text = _named(name, schema), also(name, "as text", Text(length=_LETTERS + _longest(column)))
            empty = f"({text} IS NULL OR trim({text}) = '')"
            states[name, "missing"] = empty if isinstance(column, Text) else f"{value} IS NULL AND {empty}"
            if not isinstance(column, Text):
                states[name, "unlisted"] = f"{value} IS NULL AND NOT {empty}"
            wider = _wider(column)
            if wider is not None:
                states[name, "clamped"] = f"{value} <> {also(name, 'in wider bounds', wider)}"
            for how, other in _otherwise(column):
                states[name, how] = f"{value} IS NULL AND {also(name, 'otherwise', other)} IS NOT NULL"
        return cls(Schema(columns, schema.unit, tables=schema.tables), sources, states)


def ask_shares(reading: Reading) -> tuple[list[str], list[tuple[str, str]]]:
    """Questions for the share of rows in every state, one a table unless there are very many, and what all outputs mean, in
    order."""
    asked = [(name, state) for name, state in reading.states if "=" not in state]
    if not reading.schema.tables:
        return _share_questions(reading, asked, "data"), asked
    parts = [(table, [one for one in asked if one[0].startswith(f"{table}.")]) for table in reading.schema.tables]
    return [text for table, mine in parts if mine for text in _share_questions(reading, mine, table)], asked


def _share_questions(reading: Reading, asked: Sequence[tuple[str, str]], table: str) -> list[str]:
    outputs = [f"avg(CASE WHEN {reading.states[one]} THEN 1 ELSE 0 END) AS s{i}" for i, one in enumerate(asked)]
    letters = {reading.sources[name]: made.length for name, made in reading.schema.columns.items() if isinstance(made, Text)}
    weights = [len(text) + 2 * letters[name] for text, (name, _) in zip(outputs, asked, strict=True)]
    each = sum(weights) / math.ceil(sum(weights) / _MOST_ASKED)  # about alike, so that all have about the same noise
    questions: dict[int, list[str]] = {}
    for text, begin in zip(outputs, accumulate(weights, initial=0), strict=False):
        questions.setdefault(int(begin / each), []).append(text)
    return [f"SELECT {', '.join(some)} FROM {table}" for some in questions.values()]


def as_table(answers: Sequence[Answer], asked: Sequence[tuple[str, str]]) -> Answer:
    """The answers to ``ask_shares``, a row for every column and state; estimates and intervals are cut to what a share can be."""
    found = [output for answer in answers for output in answer.outputs.values()]

    def cut(numbers: Iterable[Value]) -> tuple[float, ...]:
        return tuple(min(max(float(number), 0.0), 1.0) for number in numbers)  # type: ignore[arg-type]

    share = Output(
        cut(one.values[0] for one in found),
        tuple((one.errors or (math.nan,))[0] for one in found),
        cut((one.lower or (0.0,))[0] for one in found),
        cut((one.upper or (1.0,))[0] for one in found),
        found[0].mechanism,
    )
    keys: dict[str, tuple[Value, ...]] = {"column": tuple(name for name, _ in asked), "state": tuple(state for _, state in asked)}
    kinds: dict[str, Kind] = {"column": "text", "state": "text", "share": "number"}
    parts, question = tuple(part for one in answers for part in _parts(one)), "; ".join(one.question for one in answers)
    return replace(answers[0], question=question, keys=keys, outputs={"share": share}, parts=parts, kinds=kinds)


def _parts(answer: Answer) -> tuple[tuple[str, str], ...]:
    """All sums are alike, because a row adds 0 or 1. So is the count, unless it is public."""
    (_, noise), (_, last) = answer.parts[0], answer.parts[-1]
    sums = "1 sum" if len(answer.outputs) == 1 else f"{len(answer.outputs)} sums"
    return ((f"count(*) and {sums}", last),) if noise == last else (("count(*)", noise), (sums, last))


@dataclass(frozen=True, repr=False)
class Look:
    """What the owner sees. **Not private.** It can be printed, and neither stored nor copied."""

    head: str
    states: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        table = text_table(["column", "missing", "unlisted", "clamped"], [list(line) for line in self.states], "<>>>")
        return "\n".join(map(clean, [_WARNING, "", self.head])) + "\n\n" + "\n".join([table, *map(clean, self.remarks)])

    def __repr__(self) -> str:
        return "<a look at the data, without noise: print it, and keep it to yourself>"

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise DiscreetError("A look at the data is not private, so it cannot be stored or copied; look again, or buy the shares.")


_WARNING = (
    "NOT PRIVATE: shares without noise, for the eyes of the data's owner. Show, send and store nothing of it. "
    "The ledger notes that you looked; answers will say so if declarations change from now on."
)


def look(tables: Tables) -> Look:
    """Count without noise, and round coarsely."""
    schema, reading = tables.schema, Reading.of(tables.schema)
    with tables.declared_as(reading.schema, reading.sources) as declared:
        engine = declared.engine("")
        rows = int(_counts(engine, reading.schema, Rows(), {"n": "TRUE"})["n"])
        asked, found = list(reading.states.items()), dict[tuple[str, str], float]()
        for start in range(0, len(asked), 3 * _TOGETHER):
            some = asked[start : start + 3 * _TOGETHER]
            counts = _counts(engine, reading.schema, Rows(), {f"n{i}": condition for i, (_, condition) in enumerate(some)})
            found |= {key: counts[f"n{i}"] for i, (key, _) in enumerate(some)}
        head, remarks = _persons(engine, reading.schema, rows)
        for name, column in schema.columns.items():
            if isinstance(column, Category) and column.kind == "text" and len(column.values) <= _MOST_VALUES:
                remarks += _never(engine, reading, name, column)
            unread = found.get((name, "unlisted"), 0.0)
            for (other, how), count in found.items():
                if other == name and "=" in how and count > unread / 2:
                    remarks.append(f"{name}: most of what cannot be read could be, declared with {how}.")
    states = tuple(
        (clean(name), *(_share(found.get((name, state)), rows) for state in ("missing", "unlisted", "clamped")))
        for name in schema.columns
    )
    return Look(head, states, tuple(remarks))


def look_at_all(several: Iterable[tuple[str, Tables]]) -> Look:
    """One look after the other, at tables by their names."""
    looks = [(name, look(tables)) for name, tables in several]
    if [name for name, _ in looks] == [""]:
        return looks[0][1]
    states = tuple((f"{name}.{line[0]}", *line[1:]) for name, one in looks for line in one.states)
    remarks = tuple(f"{name}: {remark}" for name, one in looks for remark in one.remarks)
    return Look("\n".join(f"{name}: {one.head}" for name, one in looks), states, remarks)


def _persons(engine: Engine, schema: Schema, rows: int) -> tuple[str, list[str]]:
    """How many rows and persons there are, and how many rows are beyond what a person may count for."""
    unit = schema.unit
    if not isinstance(unit, Person):
        return f"{_about(rows)} rows.".capitalize(), []

    def counted(most: int) -> float:
        return _counts(engine, schema, Person(unit.id, most, 1), {"n": "TRUE"})["n"]

    persons, known = int(_persons_of(engine, schema)), counted(_ALL_ROWS)
    head = f"{_about(rows).capitalize()} rows; {unit.id} has {_about(persons)} different values."
    remarks = []
    if persons < 10 <= rows:
        remarks.append(f"{unit.id} has {persons} different value{'s' if persons != 1 else ''}: does it tell persons apart?")
    if rows > known:
        remarks.append(f"{_share(rows - known, rows)} of rows have no {unit.id}, and never count.")
    limits = {unit.rows: f"rows={unit.rows}, all that a person counts for in one group"}
    if unit.groups > 1:
        limits[unit.rows * unit.groups] = f"rows={unit.rows} in groups={unit.groups} groups, all that a person counts for"
    for most, what in limits.items():
        beyond = known - (counted(most) if most < _ALL_ROWS else known)
        if beyond >= 0.5:  # a person's rows are weighed in steps, so that less is nothing
            remarks.append(f"{_share(beyond, known)} of rows are beyond {what}.")
    return head, remarks


def _never(engine: Engine, reading: Reading, name: str, column: Category) -> list[str]:
    """Declared values that do not occur, and those that occur in another spelling only; what occurs instead is not said."""
    exact = _by_value(engine, reading.schema, _quoted(name), [str(value) for value in column.values])
    text = next(new for new, source in reading.sources.items() if source == name and new != name)
    plain = sorted({_plain(value) for value in column.values})
    loose = _by_value(engine, reading.schema, f"lower(trim({_quoted(text)}))", plain)
    absent = [value for value in column.values if not exact[str(value)]]
    owned = {_plain(value) for value in column.values if exact[str(value)]}
    respelled = [value for value in absent if loose[_plain(value)] and _plain(value) not in owned]
    remarks = []
    if respelled:
        remarks.append(f"{name}: {_listed(respelled)} not found as declared, but with other capital letters or spaces around it.")
    never = [value for value in absent if value not in respelled]
    if never:
        remarks.append(f"{name}: {_listed(never)} not found.")
    return remarks


def declarations(schema: Schema) -> dict[str, str]:
    """A short hash of what is declared of every column, and of who is protected under the name "" (which no column has)."""
    facts = {"": declared_text(schema.unit), **{name: declared_text(column) for name, column in schema.columns.items()}}
    return {name: hashlib.sha256(fact.encode(errors="surrogatepass")).hexdigest()[:16] for name, fact in facts.items()}


def looked_at(tables: Tables, salt: bytes) -> list[tuple[str | None, dict[str, str]]]:
    """What a look notes: the name of every table, and what is declared of it. Several frames, which have no names, are told apart
    by those of their columns."""
    found = []
    for name, one in tables.alone():
        of, declared = one.name(salt), declarations(one.schema)
        prefix = f"{name}." if name and of is None else ""
        found.append((of, {f"{prefix}{column}" if column else "": fact for column, fact in declared.items()}))
    return found


def remark_changes(
    now: Mapping[str, str], table: str | None, looks: Iterable[tuple[str | None, Mapping[str, str]]]
) -> tuple[str, ...]:
    """What an answer says where a declaration is not the one under which somebody looked at the same table.

    Frames have no name, so those that pay from one ledger count as one table.
    """
    before = [declared for looked_at, declared in looks if looked_at == table]
    other = [name for name in now if any(name in look and look[name] != now[name] for look in before)]
    if not other:
        return ()
    what = ", ".join(name or "who is protected" for name in other)
    return (f"Declarations changed after the owner looked at the data ({what}): what they say about it is in no epsilon.",)


def remark_bounds(plan: Plan, unit: Unit) -> tuple[str, ...]:
    """What an answer says where persons count for a part of their rows only, or once each; and how many rows are joined."""
    if plan.query.people is not None:
        return (describe_bounds(plan.query.people.traits, plan.schema), *describe_cut(plan.query.people.rows.tables))
    if not isinstance(unit, Person):
        return ()
    rows = "1 row" if unit.rows == 1 else f"{unit.rows} rows"
    groups = "1 group's" if unit.groups == 1 else f"{unit.groups} groups'"
    bounded = (
        f"Persons are bounded: each counts for at most {rows} in a group and {groups} worth in all. Where they have more, counts "
        "and sums lie below the table's own; contributions() says by how much."
    )
    return (bounded, *describe_cut(plan.query.tables))


def _counts(engine: Engine, schema: Schema, unit: Unit, conditions: Mapping[str, str]) -> dict[str, float]:
    """How many rows meet every condition, exactly; under a person's unit, how many count."""
    outputs = ", ".join(f"count(*) FILTER (WHERE {condition}) AS {name}" for name, condition in conditions.items())
    return {name: counts[0] for name, counts in _exact(engine, replace(schema, unit=unit), f"SELECT {outputs} FROM data").items()}


def _persons_of(engine: Engine, schema: Schema) -> float:
    assert isinstance(schema.unit, Person)
    one = replace(schema, unit=Person(schema.unit.id, 1, 1))
    return _exact(engine, one, f"SELECT count(DISTINCT {_quoted(schema.unit.id)}) AS n FROM data")["n"][0]


def _by_value(engine: Engine, schema: Schema, expression: str, values: Sequence[str]) -> dict[str, float]:
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    text = f"SELECT {expression} AS k, count(*) AS n FROM data WHERE {expression} IN ({listed}) GROUP BY k"
    schema = replace(schema, unit=Rows())
    plan = price(parse_query(text, schema), schema, _FREE)
    keys = [str(row[0]) for row in plan.keys.rows()]
    return dict.fromkeys(values, 0.0) | dict(zip(keys, _exact(engine, schema, text)["n"], strict=True))


def _exact(engine: Engine, schema: Schema, text: str) -> dict[str, list[float]]:
    """What a question counts, before noise: the one place outside mechanisms and the auditor that opens a secret."""
    plan = price(parse_query(text, schema), schema, _FREE)
    found = engine.count(plan, groups_of(plan), "")
    counts = {name: (one, open_secret(found[one.statistic, one.bits])) for name, (one,) in plan.behind.items()}
    return {name: [int(number) / 2**one.bits for number in numbers] for name, (one, numbers) in counts.items()}


_FREE = Cost("epsilon", Fraction(1))  # plans want a price; nothing is released at it


def _wider(column: Column) -> Column | None:
    """The same declaration with bounds one step further out, where there is room for them."""
    if isinstance(column, Integer):
        return replace(column, lower=max(column.lower - 1, 1 - 2**63), upper=min(column.upper + 1, 2**63 - 1))
    if isinstance(column, Number):
        room = 2**53 * column.step
        return replace(column, lower=max(column.lower - column.step, -room), upper=min(column.upper + column.step, room))
    if isinstance(column, Date):
        day = timedelta(days=1)
        return replace(
            column,
            lower=column.lower if column.lower == date.min else column.lower - day,
            upper=column.upper if column.upper == date.max else column.upper + day,
        )
    return None


def _longest(column: Column) -> int:
    """The most letters of a declared value."""
    return max(len(str(value)) for value in column.values) if isinstance(column, Category) else 0


def _otherwise(column: Column) -> list[tuple[str, Column]]:
    """Declarations under which more of the texts might be read."""
    if isinstance(column, (Integer, Number)):
        sign = "," if column.decimal == "." else "."
        return [(f'decimal="{sign}"', replace(column, decimal=sign))]
    if isinstance(column, Date):
        return [(f'format="{how}"', replace(column, format=how)) for how in _SPELLINGS if how != column.format]
    return []


def _share(count: float | None, rows: float) -> str:
    """A share to a few per cent.

    >>> [_share(n, 1000) for n in (None, 0, 3, 94, 437, 995, 1000)]
    ['', 'none', 'under 1 %', '9 %', '45 %', 'over 99 %', 'all']
    """
    if count is None:
        return ""
    if not count:
        return "none"
    percent = 100 * count / rows
    if percent >= 99:
        return "all" if count == rows else "over 99 %"
    return "under 1 %" if percent < 1 else f"{round(percent) if percent < 9.5 else min(5 * round(percent / 5), 95)} %"


def _about(count: int) -> str:
    """A number to one digit.

    >>> [_about(n) for n in (0, 7, 123, 96_000)]
    ['0', '7', 'about 100', 'about 100,000']
    """
    unit = 10 ** (len(str(count)) - 1)
    return f"about {(count + unit // 2) // unit * unit:,}" if count >= 10 else str(count)


def _plain(value: object) -> str:
    return str(value).strip().lower()


def _listed(values: Sequence[object]) -> str:
    shown = ", ".join(f"'{label(str(value))}'" for value in values[:_MOST_NAMED])
    return shown + (f" and {len(values) - _MOST_NAMED:,} more" if len(values) > _MOST_NAMED else "")


def _named(name: str, schema: Schema) -> str:
    """A column in SQL; of one of several tables, with the table's name before it."""
    return ".".join(map(_quoted, name.split(".", 1))) if schema.tables else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
