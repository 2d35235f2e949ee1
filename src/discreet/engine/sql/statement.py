"""One SQL statement in the making: cleaned columns, kept rows, keys, and the constants bound in it.

Every statement is a chain of common table expressions, each reading the one before:

    "cleaned rows"   declared columns, cleaned, and the person's id; a name that no public table can have
    lines     a line for every row that passes WHERE: its person, its keys k0, k1 ..., and what the shape at hand adds
    keys      the listed keys and their numbers i = 0, 1 ...

What a user wrote is bound, never pasted; names are quoted; numbers of the schema are written out. What differs between engines
is in the dialect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.engine.sql.conditions import as_it_is, compared_column
from discreet.engine.sql.dialect import Dialect, as_constants, selected
from discreet.engine.sql.expressions import write
from discreet.engine.sql.joining import joined_rows, table_name
from discreet.plan.expressions import Column, Expression, Value, columns_of, conjuncts
from discreet.plan.expressions.evaluate import infer
from discreet.plan.measures import Measure
from discreet.plan.people import person_table
from discreet.plan.plan import Plan, facts_of
from discreet.plan.private import Private
from discreet.plan.query import Query, people_of
from discreet.schema.columns import Boolean, Category, Integer, Kind, Number, Text
from discreet.schema.units import Person

_CLEANED = "cleaned rows"  # no identifier, so that no public table can have this name
_ONCE = "discreet value "
_CODED = 2**14  # values of a column of which writers of Parquet keep a list
_EXACT = 2**53  # whole numbers below this are doubles, and no other whole number is rounded to one of them


@dataclass(frozen=True)
class Raw:
    """Where the private table is: a relation in SQL, and the name and type there of every declared column and of the id.

    Of several tables ``tables`` has the relations by name; ``columns`` then has ``visits.cost``, and ``visits.pid`` for the id.
    ``coded``: cells of few values arrive as places in a list of values.
    """

    relation: str
    columns: Mapping[str, tuple[str, str]]
    tables: Mapping[str, str] = field(default_factory=dict)
    coded: bool = False


@dataclass
class Statement:
    """Collects the pieces of one statement over the rows that a question is about."""

    plan: Plan
    raw: Raw
    dialect: Dialect
    salt: str = ""  # by which rows are chosen where not all can be joined
    rows: str = _CLEANED
    text: str = ""
    parameters: dict[str, object] = field(default_factory=dict)
    _cleaned: dict[str, str] = field(default_factory=dict)  # alias -> SQL, in the table of cleaned columns
    _values: dict[str, str] = field(default_factory=dict)  # a name in the question -> SQL of its value, numbers as doubles
    _once: dict[str, str] = field(default_factory=dict)  # SQL -> its alias, of what is calculated before the lines are
    _fitting: list[str] = field(default_factory=list)  # conditions on lines, of keys that are cells as they are

    def bind(self, value: object) -> str:
        """A placeholder for a constant."""
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return self.dialect.placeholder.format(name, len(self.parameters))

    def hide(self, value: object) -> str:
        """The same for what is as secret as the salt: no plan or log of an engine may show it."""
        place = self.bind(value)
        return self.dialect.hidden.format(f"p{len(self.parameters) - 1}") if self.dialect.hidden else place

    def value(self, expression: Expression) -> str:
        """SQL of an expression over a row."""
        for name in dict.fromkeys(columns_of(expression)):
            if name not in self._values:
                self._values[name] = self._column(name)
        return write(expression, self._values, self.bind, self.dialect, self.plan.facts)

    def once(self, expression: Expression) -> str:
        """A name for the value of an expression that is needed several times over: engines look at every copy of a text anew."""
        return self._once.setdefault(self.value(expression), self.dialect.quote(f"{_ONCE}{len(self._once)}"))

    def _column(self, name: str) -> str:
        column = self.plan.schema.column(name)
        if name in self.plan.schema.columns:
            value = self._alias(name)
        else:
            table, public = name.split(".", 1)
            value = f"{self.dialect.quote(table)}.{self.dialect.quote(public)}"
            if column.kind == "text":  # whatever its type is: a private text is never converted to it
                value = f"CAST({value} AS {self._type('text')})"
        if column.kind != "number":
            return value
        step = column.step if isinstance(column, Number) and name in self.plan.schema.columns else Fraction(1)
        return self.dialect.scaled(f"CAST({value} AS {self._type('number')})", step, bounded=True)

    def _alias(self, name: str, *, listed: bool = True, doubles: bool = False) -> str:
        """The alias of a cleaned column; ``listed``: a category outside its list is missing; ``doubles``: units as doubles."""
        alias = f"{'d' if doubles else 'c' if listed else 'r'}{list(self.plan.schema.columns).index(name)}"
        self._cleaned[alias] = self._clean(name, listed=listed, doubles=doubles)
        return f"{self._cleaned_rows}.{alias}"

    def _kind_of_cells(self, name: str) -> str | None:
        """The type of a declared column's cells as they are; None where that is no column of the table."""
        return self.raw.columns[name][1] if name in self.plan.schema.columns else None

    def _raw_alias(self, name: str) -> str:
        """The alias of a column's cells as they are."""
        alias = f"g{list(self.plan.schema.columns).index(name)}"
        self._cleaned[alias] = self.dialect.quote(self.raw.columns[name][0])
        return f"{self._cleaned_rows}.{alias}"

    def _grouped_alias(self, name: str) -> tuple[str, str]:
        """The cells of a column, as they are, to group by, and their type: one that is quickest where it is the only key."""
        cell, (kind, column) = self._raw_alias(name), (self.raw.columns[name][1], self.plan.schema.columns[name])
        size = self.plan.facts[name].size if self.raw.coded else None
        return (cell, kind) if len(self.plan.keys.keys) > 1 else self.dialect.group_alone(cell, kind, column.kind, size)

    def _clean(self, name: str, *, listed: bool, doubles: bool) -> str:
        """SQL of a cleaned cell."""
        source, kind = self.raw.columns[name]
        column = self.plan.schema.columns[name]
        cell = self.dialect.quote(source)
        return self.dialect.clean(column, cell, kind, doubles=doubles) if listed else self.dialect.clean_key(column, cell, kind)

    def _clean_id(self, id: str) -> str:
        """SQL of a person's id."""
        tables = self.plan.query.tables
        return self._id_of(tables[0].table if tables else "", id)

    def _id_of(self, table: str, id: str) -> str:
        source, kind = self.raw.columns[f"{table}.{id}" if table in self.raw.tables else id]
        found = self.dialect.clean_id(self.dialect.quote(source), kind)
        kinds = {self.dialect.id_kind(self.raw.columns[f"{one}.{id}"][1]) for one in self.raw.tables}
        return f"CAST({found} AS {self._type('text')})" if len(kinds) > 1 else found

    def _clean_rows(self) -> str:
        """``WITH``, and the table of cleaned rows: of the one table that a question reads, or of several that are joined."""
        tables = self.plan.query.tables
        if len(tables) > 1:
            return f"WITH {self._joined(tables)}"
        relation = self._relation(tables[0].table if tables else "")
        return f"WITH {self._cleaned_rows} AS (SELECT {selected(self._cleaned)} FROM {relation})"

    def _joined(self, tables: Sequence[Private]) -> str:
        """The rows of several tables, joined by the person's id."""
        unit = self.plan.schema.unit
        assert isinstance(unit, Person)
        cells: list[dict[str, str]] = []
        conditions: list[str] = []
        members = {j: self._persons_kept(one) for j, one in enumerate(tables) if one.having is not None}
        for j, one in enumerate(tables):
            if j in members:
                cells, conditions = [*cells, {}], [*conditions, ""]
                continue
            inner = Statement(self.plan, self.raw, self.dialect, rows=table_name(j), parameters=self.parameters)
            conditions.append("" if one.where is None else inner.value(one.where))
            asked = [alias for alias in self._cleaned if one.joined and alias != "person" and self._table_of(alias) == one.table]
            mine = {"person": self._id_of(one.table, unit.id), **{alias: self._cleaned[alias] for alias in asked}}
            cells.append(mine | inner._cleaned)
        relations = [self._relation(one.table) for one in tables]
        salt = lambda: self.hide(self.salt)  # noqa: E731
        return joined_rows(self._cleaned_rows, tables, cells, conditions, relations, members, salt, self.dialect)

    def _persons_kept(self, asked: Private) -> str:
        """A query of the persons for whom a condition holds, on what is made of their rows."""
        from discreet.engine.sql.people import PersonStatement  # a statement of its own, about persons

        private, people = self.plan.private, people_of(asked, several=bool(self.raw.tables))
        schema = person_table(people.traits, private, facts_of(private, people.rows.tables))
        plan = replace(self.plan, query=Query((), asked.having, people=people), schema=schema, declared=private)
        made = PersonStatement(plan, self.raw, self.dialect, self.salt, parameters=self.parameters)
        return f"{made.lines({}, 'lines')} SELECT person FROM lines"

    def _relation(self, table: str) -> str:
        return self.raw.tables.get(table, self.raw.relation)

    def _table_of(self, alias: str) -> str:
        """The table of a cleaned column."""
        name = list(self.plan.schema.columns)[int(alias[1:])]
        return name.split(".", 1)[0] if self.raw.tables else "data"

    @property
    def _cleaned_rows(self) -> str:
        return self.dialect.quote(self.rows)

    def _type(self, kind: Kind) -> str:
        return self.dialect.types[kind]

    def key(self, expression: Expression, listed: Sequence[Value] | None) -> str:
        """SQL of a value that is joined with a list, or grouped by (None).

        A category by itself is not compared with its own list where the join does that. Numbers that were calculated are rounded
        to their grid, as those of the list are: 3 * 0.1 is the key 0.3.
        """
        if isinstance(expression, Column) and expression.name in self.plan.schema.columns:
            column = self.plan.schema.columns[expression.name]
            if isinstance(column, Category) and column.kind == "text" and column.missing is None:
                return self._alias(expression.name, listed=listed is None or not {*listed} <= {*column.values})
            return self.value(expression)
        facts = infer(expression, self.plan.facts)
        if facts.kind != "number":
            return self.value(expression)
        value = self.once(expression)
        if facts.step is not None:
            half = self.dialect.double.format("0.5")
            value = self.dialect.scaled(
                self.dialect.floor.format(f"{self.dialect.scaled(value, 1 / facts.step)} + {half}"), facts.step
            )
        return f"CASE WHEN {self.dialect.is_finite.format(value)} THEN {value} END"

    def grouped_key(
        self, expression: Expression, listed: Sequence[Value] | None, name: str, *, few: bool
    ) -> tuple[str, str, bool]:
        """SQL of what rows are grouped by, and of the key that such a group has, of a column ``name`` that holds the first; and
        whether such groups have different keys, or none.

        A cell that takes up a few bytes is cleaned once for its group and not in every row: no two cells that are equal have
        different fates. Of a text so much is kept that all words of the list can be told apart; it is looked up in its list where
        there are ``few`` words, or where others are something else than missing.
        """
        kind = self._kind_of_cells(expression.name) if isinstance(expression, Column) else None
        if isinstance(expression, Column) and kind is not None:
            column = self.plan.schema.columns[expression.name]
            if kind in self.dialect.brief_types and not isinstance(column, Number | Text):
                cell, kind = self._grouped_alias(expression.name)
                key = self.dialect.clean(column, name, kind)
                key = f"CAST({key} AS {self._type('number')})" if column.kind == "number" else key
                return cell, key, False
            if isinstance(column, Category) and column.kind == "text" and (few or column.missing is not None):
                key = self.dialect.clean(column, name, self._type("text"))
                return self._alias(expression.name, listed=False), key, column.missing is None
        return self.key(expression, listed), name, True

    def is_its_own_key(self, expression: Expression, listed: Sequence[Value] | None) -> bool:
        """Whether a cell, as it is, is one of the keys in a list, or none: then groups need no other key, and no adding up."""
        kind = self._kind_of_cells(expression.name) if isinstance(expression, Column) and self.dialect.fits else None
        if not isinstance(expression, Column) or kind is None or listed is None:
            return False
        column = self.plan.schema.columns[expression.name]
        if column.missing is not None:
            return False
        if isinstance(column, Boolean):
            return kind == self._type("boolean")
        if not isinstance(column, Category) or not {*listed} <= {*column.values}:
            return False
        if column.kind == "text":
            return kind == self._type("text")
        return kind in self.dialect.whole_types and all(abs(int(value)) < _EXACT for value in column.values)

    def own_key(self, expression: Expression, listed: Sequence[Value], name: str) -> tuple[str, str]:
        """SQL of such a cell, and whether ``name``, which holds it, is in the list. A text that is longer than all words is not
        carried along, and four bytes are the most a character has; or it is cut where it is longer by one, and is none of them.
        Whole numbers are compared as doubles, of which those of the list are no other's."""
        assert isinstance(expression, Column)
        column, (cell, _) = self.plan.schema.columns[expression.name], self._grouped_alias(expression.name)
        if isinstance(column, Category) and column.kind == "text":
            if self.raw.coded and self.dialect.cut:
                cell = self.dialect.cut.format(cell, column.length + 1)
            else:
                self._fitting.append(self.dialect.fits.format(cell, 4 * column.length))
        if isinstance(column, Boolean):
            return cell, f"{name} IS NOT NULL"
        assert isinstance(column, Category)
        if self.dialect.byte and not self.raw.coded and all(isinstance(one, int) and 0 <= one < 2**8 for one in column.values):
            cell = self.dialect.byte.format(cell)
        return cell, self.dialect.is_listed.format(value=name, list=self.listed(column.kind, listed))

    def added_in_doubles(self, measure: Measure) -> str:
        """The same whole number as ``added``, as a double; for values."""
        of = measure.of
        if isinstance(of, Column) and self._is_in_doubles(of.name, measure.step):
            units = self._alias(of.name, doubles=True)
            if measure.what == "rest":
                return f"({self.dialect.double.format(measure.shift)} - {units})"
            return f"({units} - {self.dialect.double.format(measure.shift)})" if measure.shift else units
        return f"CAST({self.added(measure)} AS {self._type('number')})"

    def _is_in_doubles(self, name: str, step: Fraction) -> bool:
        """Whether a declared column's multiples of this step are cleaned as doubles."""
        column, kind = self.plan.schema.columns.get(name), self._kind_of_cells(name)
        if isinstance(column, Integer):
            return step == 1 and kind is not None and self.dialect.in_doubles(column, kind)
        return isinstance(column, Number) and column.step == step

    def added_coded(self, measure: Measure) -> tuple[str, str, int] | None:
        """A whole number between its bounds, written so that it is found once for each value that a column has, where there are
        few; there a missing cell is the lower bound. Beside it the cell, and what a missing one adds too little. None where that
        is not quicker, or the measure is something else."""
        of = measure.of
        if not isinstance(of, Column) or not self.raw.coded or measure.what != "value" or measure.shift or measure.step != 1:
            return None
        column, kind = self.plan.schema.columns.get(of.name), self._kind_of_cells(of.name)
        if not isinstance(column, Integer) or kind not in self.dialect.coded_types or column.upper - column.lower >= _CODED:
            return None
        cell, less = self._raw_alias(of.name), (column.missing or 0) - column.lower
        within = self.dialect.clamped.format(cell, column.lower, column.upper)
        return within if less else f"CAST({within} AS {self._type('number')})", cell, less

    def added(self, measure: Measure) -> str:
        """What a row adds to a measure: a whole number between its bounds; NULL where it adds nothing. A product has no text of
        its own: its factors are written once for all products, and multiplied where they are added up."""
        if measure.of is None:
            return f"{measure.high}"
        if measure.what == "present":
            return f"CASE WHEN {self.value(measure.of)} IS NOT NULL THEN {measure.high} END"
        if measure.what == "rest":
            return f"({measure.shift} - {self._units(measure, measure.shift - measure.high, measure.shift - measure.low)})"
        if measure.what == "value":
            units = self._units(measure, measure.low + measure.shift, measure.high + measure.shift)
            return f"({units} - {measure.shift})" if measure.shift else units
        reach = math.isqrt(measure.high + measure.lift)
        away = f"({self._units(measure, measure.shift - reach, measure.shift + reach)} - {measure.shift})"
        return f"({away} * {away} - {measure.lift})"

    def _units(self, measure: Measure, low: int, high: int) -> str:
        """A value in units of a measure's step, a whole number from ``low`` to ``high``."""
        of = measure.of
        assert of is not None
        if isinstance(of, Column) and of.name in self.plan.schema.columns:
            column = self.plan.schema.columns[of.name]
            if (column.step if isinstance(column, Number) else 1) == measure.step:
                return self._alias(of.name)
        return self.dialect.rounded(self.dialect.scaled(self.once(of), 1 / measure.step), low, high)

    def lines(self, columns: Mapping[str, str], name: str = "lines") -> str:
        """``WITH cleaned ..., lines ...``: the rows that a question is about, with these columns; no person, no row."""
        tests = [*self._fitting, *(f"({self._test(one)})" for one in conjuncts(self.plan.query.where))]
        joins = "".join(self._join(i) for i in range(len(self.plan.query.joins)))
        wanted = dict(columns)
        if isinstance(self.plan.schema.unit, Person):
            self._cleaned["person"] = self._clean_id(self.plan.schema.unit.id)
            wanted = {"person": f"{self._cleaned_rows}.person", **wanted}
            tests.append(f"{self._cleaned_rows}.person IS NOT NULL")
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        text, cleaned = f"{self._clean_rows()},\n{name}", self._cleaned_rows
        if not self._once:
            return f"{text} AS (SELECT {selected(wanted)} FROM {cleaned}{joins}{where})"
        once = tuple(self._once.values())  # no name of a column is in there
        later = {alias: sql for alias, sql in wanted.items() if any(one in sql for one in once)}
        first = {alias: sql for alias, sql in wanted.items() if alias not in later}
        inner = selected(first | {alias: sql for sql, alias in self._once.items()})
        outer = selected({alias: later.get(alias, alias) for alias in wanted})
        return f"{text} AS (SELECT {outer} FROM (SELECT {inner} FROM {cleaned}{joins}{where}{self.dialect.fence}) AS inside)"

    def _test(self, condition: Expression) -> str:
        """SQL of a condition that must hold for every line; on cells as they are, where that is the same."""
        name = compared_column(condition)
        kind = None if name is None else self._kind_of_cells(name)
        if name is not None and kind is not None:
            column = self.plan.schema.columns[name]
            match as_it_is(condition, column, kind, self.dialect):
                case "word":
                    return write(condition, {name: self._alias(name, listed=False)}, self.bind, self.dialect)
                case "cell":
                    cell = self._raw_alias(name)
                    cell = f"CAST({cell} AS {self._type('number')})" if column.kind == "number" else cell
                    return write(condition, {name: cell}, self.bind, self.dialect)
        return self.value(condition)

    def _join(self, i: int) -> str:
        join = self.plan.query.joins[i]
        name, alias = self.dialect.quote(self.dialect.public.format(join.table)), self.dialect.quote(join.alias or join.table)
        if name != alias:
            name = f"{name} AS {alias}"
        on = " AND ".join(f"{self.value(mine)} = {self.value(Column(f'{join.name}.{theirs}'))}" for mine, theirs in join.on)
        return f" {'LEFT ' if join.keep else ''}JOIN {name} ON {on}"

    def listed(self, kind: Kind, values: Sequence[Value]) -> str:
        """A list of constants."""
        return self.dialect.constants.format(placeholder=self.bind(as_constants(values)), type=self._type(kind))

    def keys(self, kinds: Sequence[Kind], listed: Sequence[Sequence[Value]], *, product: bool) -> str:
        """``keys``: numbered keys, from one list for every key; all combinations of them (``product``), or line by line."""
        tables = []
        for j, (kind, values) in enumerate(zip(kinds, listed, strict=True)):
            tables.append(self.dialect.numbered.format(j=j, list=self.listed(kind, values), n=len(values)))
        number = "t0.i"
        for j, values in enumerate(listed[1:], 1):
            number = f"({number}) * {len(values)} + t{j}.i" if product else number
        together = (
            "" if product or len(tables) == 1 else f" WHERE {' AND '.join(f't{j}.i = t0.i' for j in range(1, len(tables)))}"
        )
        columns = ", ".join(f"t{j}.k AS key{j}" for j in range(len(tables)))
        return f"keys AS (SELECT {columns}, {number} AS i FROM {', '.join(tables)}{together})"
