"""A plan as SQL statements: sums, presences, histograms and keys, in as few scans as there are kinds of bounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.engine.dialect import Dialect
from discreet.engine.shapes import chosen, contribution, heavy, keyed, mark, number_of_person, summed
from discreet.engine.statement import Raw, Statement
from discreet.mechanisms import Laplace
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.plan import Plan, facts_of
from discreet.plan.statistics import CELL_BITS, ROWS, Cells, Measure
from discreet.schema.units import Person

__all__ = ["Counting", "Groups"]


@dataclass(frozen=True)
class Groups:
    """The listed groups of a question: one list for every key, all combinations of them or line by line."""

    listed: tuple[Sequence[Value], ...]
    product: bool
    size: int


@dataclass(frozen=True)
class Counting:
    """Writes the statements of one plan. ``salt`` decides which of a person's groups count where not all can."""

    plan: Plan
    raw: Raw
    dialect: Dialect
    salt: str

    def sums(self, measures: Sequence[tuple[Measure, int]], groups: Groups) -> Statement:
        """i and s0, s1 ...: the measures of every group that has any, each in its 2^-bits units."""
        new = self._statement()
        added = {f"m{j}": new.added(measure) for j, (measure, _) in enumerate(measures) if measure != ROWS}
        totals = [_total(measure, j) for j, (measure, _) in enumerate(measures)]
        with_keys = self._with(new, added, groups)
        if not isinstance(self.plan.schema.unit, Person):
            new.text = f"{with_keys}\n{summed(totals, len(groups.listed))}"
            return new
        unit, factor = self.plan.schema.unit, self._factor(groups)
        cells = "".join(f", {sql} AS s{j}" for j, sql in enumerate(totals) if sql != "count(*)")
        text = f"{with_keys},\n{self._cells(groups, f'count(*) AS c{cells}')}"
        if factor:
            norm = 1 if any(isinstance(part.mechanism, Laplace) for part in self.plan.parts) else 2
            text += f",\n{heavy(unit.rows, self._most(groups), norm)}"
        each = ", ".join(
            contribution(
                f"s{j}" if m != ROWS else "c",
                unit.rows,
                bits,
                factor=factor,
                wide=unit.rows * m.bound << bits >= 2**62,
                dialect=self.dialect,
            )
            + f" AS s{j}"
            for j, (m, bits) in enumerate(measures)
        )
        join = " LEFT JOIN heavy ON cells.person = heavy.person" if factor else ""
        new.text = f"{text}\nSELECT i, {each} FROM cells{join} GROUP BY i"
        return new

    def quick_sums(self, measures: Sequence[Measure], groups: Groups) -> Statement:
        """The same for rows, with sums in doubles, and n: rows. Exact where n times a measure's bound is at most 2^53, since no
        partial sum in any order leaves the whole numbers that doubles hold."""
        new = self._statement()
        added = {
            f"m{j}": new.added_in_doubles(measure) if measure.what == "value" else new.added(measure)
            for j, measure in enumerate(measures)
            if measure != ROWS
        }
        totals = [*(_total(measure, j) for j, measure in enumerate(measures)), "count(*)"]
        new.text = f"{self._with(new, added, groups)}\n{summed(totals, len(groups.listed))}"
        return new

    def persons(self, groups: Groups) -> Statement:
        """i and s0: the distinct persons of every group, each in as many groups as the unit allows."""
        new = self._statement()
        text = f"{self._with(new, {}, groups)},\n{self._cells(groups, self._number(new, groups, 'count(*) AS c'))}"
        kept, choice = self._kept(groups)
        new.text = f"{text}{choice}\nSELECT i, count(*) AS s0 FROM {kept} GROUP BY i"
        return new

    def histogram(self, cells: Cells, groups: Groups, *, streamed: bool) -> Statement:
        """The rows in every cell x of every group i: a line (i, x, n) for each that is not empty, n rows or weights of rows; or
        ``streamed``, a line for each row: its place i * cells + x, and for persons its weight n."""
        new = self._statement()
        text = self._placed(new, cells, groups)
        place = f"CAST(placed.i AS BIGINT) * {cells.count} + x AS place"
        if not isinstance(self.plan.schema.unit, Person):
            end = f"SELECT {place} FROM placed" if streamed else "SELECT i, x, count(*) AS n FROM placed GROUP BY i, x"
            new.text = f"{text}\n{end}"
            return new
        rows = self.plan.schema.unit.rows
        counts = self._number(new, groups, "count(*) AS c")
        text += f",\ncells AS (SELECT person, i, {counts} FROM placed GROUP BY person, i)"
        kept, choice = self._kept(groups)
        less = self.dialect.quotient.format(rows << CELL_BITS, "c")
        weight = f"CASE WHEN c <= {rows} THEN {1 << CELL_BITS} ELSE {less} END"
        both = f"FROM placed JOIN {kept} ON placed.person = {kept}.person AND placed.i = {kept}.i"
        grouped = f"SELECT placed.i AS i, x, sum({weight}) AS n {both} GROUP BY placed.i, x"
        new.text = f"{text}{choice}\n{f'SELECT {place}, {weight} AS n {both}' if streamed else grouped}"
        return new

    def _placed(self, new: Statement, cells: Cells, groups: Groups) -> str:
        """``placed``: for every row its group i and its cell x."""
        number, join = ("keys.i", f" JOIN keys ON {keyed(len(groups.listed))}") if groups.listed else ("0", "")
        if cells.values is None:
            away = f"(({new.once(cells.of)} - {_double(cells.first)}) / {_double(cells.width)})"
            text = self._with(new, {"x": new.rounded(away, 0, cells.count - 1)}, groups)
            x, end = "x", " WHERE x IS NOT NULL"
        else:
            text = self._with(new, {"v": new.key(cells.of, cells.values)}, groups)
            kind = infer(cells.of, facts_of(self.plan.schema)).kind
            table = self.dialect.numbered.format(j="v", values=new.listed(kind, cells.values), n=len(cells.values))
            text += f",\nplaces AS (SELECT * FROM {table})"
            x, end = "places.i", " JOIN places ON lines.v = places.k"
        who = "person, " if isinstance(self.plan.schema.unit, Person) else ""
        return f"{text},\nplaced AS (SELECT {who}{number} AS i, {x} AS x FROM lines{join}{end})"

    def _number(self, new: Statement, groups: Groups, columns: str) -> str:
        """Columns of cells, and the person's number p where groups have to be chosen."""
        if not self._factor(groups):
            return columns
        assert isinstance(self.plan.schema.unit, Person)
        whole = self.raw.columns[self.plan.schema.unit.id][1] in self.dialect.whole_types
        number = number_of_person(new.bind(self.salt), self.dialect, whole=whole)
        return f"{columns}, any_value({number}) AS p"

    def _kept(self, groups: Groups) -> tuple[str, str]:
        """The table of cells that count, and the choice of them where not all can."""
        if not self._factor(groups):
            return "cells", ""
        return "chosen", f",\n{chosen(self._most(groups), mark(self.salt), self.dialect)}"

    def open_keys(self) -> Statement:
        """key0, key1 ... and n: how many rows, or chosen persons, have a key."""
        new = self._statement()
        keys = [f"k{j}" for j in range(len(self.plan.keys.keys))]
        text = self._lines(new, {})
        tests = [f"{key} IS NOT NULL" for key in keys]
        kinds = facts_of(self.plan.schema)
        for key, asked in zip(keys, self.plan.keys.keys, strict=True):
            if asked.values is not None:  # of keys that are open together with others, still only those that were listed
                tests.append(f"{key} IN (SELECT unnest({new.listed(infer(asked.of, kinds).kind, asked.values)}))")
        some, listed = " AND ".join(tests), ", ".join(keys)
        if isinstance(self.plan.schema.unit, Person):
            texts = [f"CAST({key} AS {self.dialect.types['text']})" for key in keys]
            group = " || '/' || ".join(f"length({text}) || ':' || {text}" for text in texts)
            text += f",\ncells AS (SELECT DISTINCT person, {listed}, {group} AS i FROM lines WHERE {some})"
            marks = self.dialect.keyed_hash.format(salt=new.bind(self.salt), person="person", group="i")
            text += f",\n{chosen(self.plan.schema.unit.groups, marks, self.dialect)}"
            new.text = f"{text}\nSELECT {listed}, count(*) AS n FROM chosen GROUP BY {listed}"
        else:
            new.text = f"{text}\nSELECT {listed}, count(*) AS n FROM lines WHERE {some} GROUP BY {listed}"
        return new

    def _statement(self) -> Statement:
        return Statement(self.plan.query, self.plan.schema, self.raw, self.dialect)

    def _lines(self, new: Statement, columns: dict[str, str]) -> str:
        keys = self.plan.keys
        listings = [None] * len(keys.keys) if keys.listings is None else keys.listings
        pairs = zip(keys.keys, listings, strict=True)
        return new.lines({f"k{j}": new.key(key.of, listed) for j, (key, listed) in enumerate(pairs)} | columns)

    def _with(self, new: Statement, columns: dict[str, str], groups: Groups) -> str:
        text = self._lines(new, columns)
        if not groups.listed:
            return text
        facts = facts_of(self.plan.schema)
        kinds = [infer(key.of, facts).kind for key in self.plan.keys.keys]
        return f"{text},\n{new.keys(kinds, groups.listed, product=groups.product)}"

    def _cells(self, groups: Groups, columns: str) -> str:
        if not groups.listed:
            return f"cells AS (SELECT person, 0 AS i, {columns} FROM lines GROUP BY person)"
        return (
            f"cells AS (SELECT person, keys.i AS i, {columns} FROM lines JOIN keys ON {keyed(len(groups.listed))} "
            "GROUP BY person, keys.i)"
        )

    def _most(self, groups: Groups) -> int:
        """In how many groups a person may be: what the noise was calibrated to."""
        assert isinstance(self.plan.schema.unit, Person)
        most = self.plan.schema.unit.groups
        return most if self.plan.keys.size is None else min(most, groups.size)

    def _factor(self, groups: Groups) -> bool:
        """Whether a person can be in more groups than count."""
        return self._most(groups) < groups.size


def _total(measure: Measure, j: int) -> str:
    """The aggregate that adds up what rows add."""
    return "count(*)" if measure == ROWS else f"count(m{j})" if measure.what == "present" else f"sum(m{j})"


def _double(number: Fraction) -> str:
    return f"({number.numerator}e0 / {number.denominator}e0)" if number.denominator > 1 else f"{number.numerator}e0"
