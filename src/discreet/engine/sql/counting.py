"""A plan as SQL statements: sums, presences, histograms and keys, in as few scans as there are kinds of bounding.

Texts are short, because the proofs are about them.

**Rows.** Sum by key, then look the keys up: nobody adds to more than one group.

**Persons, sums** (``weighted``). Per person and group: c rows, and the sums s of what they add. The rows of a cell get the weight
w = min(1, r / c) f, with f = min(1, C / norm) and norm that of the person's min(c, r) over all groups: L2 against r sqrt(m),
or L1 against r m. So weighted counts have norm at most C, and |w s| <= b w c in every group. In doubles w has a relative error
below 2^-49; it is lowered by 2^-40 wherever it is not 1, and products are cut off towards zero, so the bound holds in whole
numbers. Cells with w = 1 are summed exactly, and no order of rows changes anything.

**Persons, presence** (``chosen``): of a person's groups the m with the smallest keyed hash. The hash is followed by the number
of the group, so there are no ties and never m + 1.

**Persons, histograms**: in the chosen groups, with rows that weigh floor(2^12 r / c) where c > r, else 2^12.

**One row a person** (``people``): r = g = 1 and every person has one line, so c = 1 in the one cell that they are in, f = 1, and
the group is chosen: the same numbers without looking for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.engine.base import Groups
from discreet.engine.sql.bounding import chosen, contribution, heavy, marks, number_of_person
from discreet.engine.sql.dialect import Dialect
from discreet.engine.sql.people import PersonStatement
from discreet.engine.sql.statement import Raw, Statement
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.measures import ROWS, Measure
from discreet.plan.plan import Plan
from discreet.plan.query import Key
from discreet.plan.statistics import CELL_BITS, Axis, Histogram
from discreet.schema.units import Person


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
        added, terms = written(new, [measure for measure, _ in measures], doubles=False)
        totals = [self._total(measure, term) for (measure, _), term in zip(measures, terms, strict=True)]
        if not isinstance(self.plan.schema.unit, Person):
            return self._summed(new, added, groups, totals, [self.dialect.total] * len(totals))
        with_keys = self._with(new, added, groups)
        unit, factor = self.plan.schema.unit, self._factor(groups)
        if self._single:
            totals = ["count(*)" if sql == "count(*)" else term for sql, term in zip(totals, terms, strict=True)]
        cells = "".join(f", {sql} AS s{j}" for j, sql in enumerate(totals) if sql != "count(*)")
        text = f"{with_keys},\n{self._cells(groups, f'count(*) AS c{cells}')}"
        if factor:
            text += f",\n{heavy(unit.rows, self._most(groups), self.plan.norm, self.dialect)}"
        each = ", ".join(
            contribution(
                f"s{j}" if m != ROWS else "c",
                unit.rows,
                bits,
                factor=factor,
                bound=unit.rows * m.bound << bits,
                dialect=self.dialect,
            )
            + f" AS s{j}"
            for j, (m, bits) in enumerate(measures)
        )
        cells = "cells LEFT JOIN heavy ON cells.person = heavy.person" if factor else "cells"
        new.text = f"{text}\nSELECT i, {each} FROM {'heavy' if factor and self.dialect.windows else cells} GROUP BY i"
        return new

    def quick_sums(self, measures: Sequence[Measure], groups: Groups) -> Statement:
        """The same for rows, with sums in doubles, and with the number n of rows, last where that is no measure. Exact where n
        times a measure's bound is at most 2^53, since no partial sum in any order leaves the whole numbers that doubles hold.
        Whole numbers that are best clamped where missing cells are the lower bound are added up so, and what those add too much
        or too little is added by their number."""
        new = self._statement()
        coded = {j: found for j, measure in enumerate(measures) if (found := new.added_coded(measure)) is not None}
        added, terms = written(new, [m for j, m in enumerate(measures) if j not in coded], doubles=True)
        totals = []
        for j, measure in enumerate(measures):
            if j not in coded:
                term = terms.pop(0)
                totals.append(f"sum({term})" if measure.what in _DOUBLES else self._total(measure, term))
                continue
            added[f"w{j}"], cell, less = coded[j]
            totals.append(f"sum(w{j})")
            if less:
                added[f"v{j}"] = cell
                totals[-1] += f" + (count(*) - count(v{j})) * {less}"
        again = ["sum({0})" if m.what in _DOUBLES else self.dialect.total for m in measures]
        if ROWS not in measures:
            totals, again = [*totals, "count(*)"], [*again, self.dialect.total]
        return self._summed(new, added, groups, totals, again)

    def _summed(
        self, new: Statement, added: dict[str, str], groups: Groups, totals: Sequence[str], again: Sequence[str]
    ) -> Statement:
        """Rows: sums by group; ``again`` are the aggregates that add up sums of the same key. Long keys are looked up first, so
        that only those that are asked about are kept; others are grouped by what they are made of, made, and looked up, unless
        there can be no more than a few, or they are numbers most of which are asked about: then they are given as they are, k0,
        k1 ... instead of i. Cells that are keys by themselves are only looked up."""
        inside = ", ".join(f"{sql} AS s{j}" for j, sql in enumerate(totals))
        keys = range(len(groups.listed))
        if not keys or self._wide:
            by = f"keys.i AS i, {inside} FROM lines JOIN keys ON {keyed(len(keys))} GROUP BY keys.i" if keys else ""
            new.text = f"{self._with(new, added, groups)}\nSELECT {by or f'0 AS i, {inside} FROM lines'}"
            return new
        facts = [infer(key.of, self.plan.facts) for key in self.plan.keys.keys]
        possible = math.prod(math.inf if one.size is None else one.size for one in facts)
        few = possible <= _FEW
        most = not few and all(one.kind == "number" for one in facts) and possible <= 2 * (self.plan.keys.size or 0)
        by, names = ", ".join(f"k{j}" for j in keys), [f"s{j}" for j in range(len(totals))]
        if few and all(new.is_its_own_key(key.of, listed) for key, listed in self._listed_keys()):
            own = [new.own_key(key.of, groups.listed[j], f"k{j}") for j, (key, _) in enumerate(self._listed_keys())]
            text = new.lines({f"k{j}": cell for j, (cell, _) in enumerate(own)} | added)
            last = f"grouped AS (SELECT {by}, {inside} FROM lines GROUP BY {by})"
            new.text = f"{text},\n{last}\nSELECT {by}, {', '.join(names)} FROM grouped WHERE {' AND '.join(x for _, x in own)}"
            return new
        pairs = [new.grouped_key(key.of, listed, f"k{j}", few=few) for j, (key, listed) in enumerate(self._listed_keys())]
        text = new.lines({f"k{j}": first for j, (first, _, _) in enumerate(pairs)} | added)
        if few and self.dialect.picks_keys and all(apart for _, _, apart in pairs):
            # Only where there are rows, because what does not hang on sums would be looked up for every row.
            picked = {f"k{j}": f"CASE WHEN n > 0 THEN {key} END" for j, (_, key, _) in enumerate(pairs) if key != f"k{j}"}
            last = f"grouped AS (SELECT {by}, {inside}, count(*) AS n FROM lines GROUP BY {by}),\n"
            each = ", ".join([*(f"{picked.get(f'k{j}', f'k{j}')} AS k{j}" for j in keys), *names])
            some = " AND ".join(f"{key} IS NOT NULL" for key in picked) or "TRUE"
            new.text = f"{text},\n{last}made AS (SELECT {each} FROM grouped)\nSELECT * FROM made WHERE {some}"
            return new
        made = ", ".join(f"{key} AS k{j}" for j, (_, key, _) in enumerate(pairs))
        last = f"grouped AS (SELECT {by}, {inside} FROM lines GROUP BY {by}),\n"
        last += f"made AS (SELECT {made}, {', '.join(names)} FROM grouped)"
        each = ", ".join(f"{total.format(name)} AS {name}" for total, name in zip(again, names, strict=True))
        if most or (few and (self.dialect.picks_keys or all(key != f"k{j}" for j, (_, key, _) in enumerate(pairs)))):
            new.text = f"{text},\n{last}\nSELECT {by}, {each} FROM made GROUP BY {by}"
            return new
        sums = f"SELECT keys.i AS i, {each} FROM made AS lines JOIN keys ON {keyed(len(keys))} GROUP BY keys.i"
        new.text = f"{text},\n{self._keys(new, groups)},\n{last}\n{sums}"
        return new

    def persons(self, groups: Groups) -> Statement:
        """i and s0: the distinct persons of every group, each in as many groups as the unit allows."""
        new = self._statement()
        text = f"{self._with(new, {}, groups)},\n{self._cells(groups, self._number(new, groups, 'count(*) AS c'))}"
        kept, choice = self._kept(new, groups)
        new.text = f"{text}{choice}\nSELECT i, count(*) AS s0 FROM {kept} GROUP BY i"
        return new

    def histogram(self, histogram: Histogram, groups: Groups, *, streamed: bool) -> Statement:
        """The rows in every cell x of every group i: a line (i, x, n) for each that is not empty, n rows or weights of rows; or
        ``streamed``, a line for each row: its place i * cells + x, and for persons its weight n."""
        new = self._statement()
        text = self._placed(new, histogram.axes, groups)
        place = f"CAST(placed.i AS BIGINT) * {histogram.count} + x AS place"
        if not isinstance(self.plan.schema.unit, Person) or self._single:
            end = f"SELECT {place} FROM placed" if streamed else "SELECT i, x, count(*) AS n FROM placed GROUP BY i, x"
            new.text = f"{text}\n{end}"
            return new
        if self.dialect.windows and not streamed:
            new.text = f"{text}{self._weighed(new, groups)}"
            return new
        rows = self.plan.schema.unit.rows
        counts = self._number(new, groups, "count(*) AS c")
        text += f",\ncells AS (SELECT person, i, {counts} FROM placed GROUP BY person, i)"
        kept, choice = self._kept(new, groups)
        less = self.dialect.quotient.format(rows << CELL_BITS, "c")
        weight = f"CASE WHEN c <= {rows} THEN {1 << CELL_BITS} ELSE {less} END"
        both = f"FROM placed JOIN {kept} ON placed.person = {kept}.person AND placed.i = {kept}.i"
        grouped = f"SELECT placed.i AS i, x, {self.dialect.total.format(weight)} AS n {both} GROUP BY placed.i, x"
        new.text = f"{text}{choice}\n{f'SELECT {place}, {weight} AS n {both}' if streamed else grouped}"
        return new

    def _weighed(self, new: Statement, groups: Groups) -> str:
        """The same histogram of persons, which reads what is placed once: a person's rows are counted by cell, then by group."""
        assert isinstance(self.plan.schema.unit, Person)
        rows = self.plan.schema.unit.rows
        counts = self._number(new, groups, "count(*) AS q")
        placed = f"(SELECT * FROM placed{self._gather}) AS gathered" if self._gather else "placed"
        text = f",\npieces AS (SELECT person, i, x, {counts} FROM {placed} GROUP BY person, i, x),\n"
        text += "cells AS (SELECT *, sum(q) OVER (PARTITION BY person, i) AS c FROM pieces)"
        kept, choice = self._kept(new, groups, rank="dense_rank")
        less = self.dialect.quotient.format(rows << CELL_BITS, "c")
        weight = f"CASE WHEN c <= {rows} THEN q * {1 << CELL_BITS} ELSE q * ({less}) END"
        total = self.dialect.summed(weight, rows << CELL_BITS)
        return f"{text}{choice}\nSELECT i, x, {total} AS n FROM {kept} GROUP BY i, x"

    def _placed(self, new: Statement, axes: Sequence[Axis], groups: Groups) -> str:
        """``placed``: for every row its group i and its cell x, that of the last axis turning fastest."""
        number, joins = ("keys.i", f" JOIN keys ON {keyed(len(groups.listed))}") if groups.listed else ("0", "")
        columns: dict[str, str] = {}
        tables, tests, x = "", [], ""
        for j, axis in enumerate(axes):
            end = f"{j}" if j else ""
            if axis.values is None:
                away = f"(({new.once(axis.of)} - {self.dialect.rational(axis.first)}) / {self.dialect.rational(axis.width)})"
                columns[f"x{end}"] = self.dialect.rounded(away, 0, axis.count - 1)
                tests.append(f"x{end} IS NOT NULL")
                place = f"x{end}"
            else:
                columns[f"v{end}"] = new.key(axis.of, axis.values)
                kind = infer(axis.of, self.plan.facts).kind
                table = self.dialect.numbered.format(j=f"v{end}", list=new.listed(kind, axis.values), n=len(axis.values))
                tables += f",\nplaces{end} AS (SELECT * FROM {table})"
                joins += f" JOIN places{end} ON lines.v{end} = places{end}.k"
                place = f"places{end}.i"
            x = f"({x}) * {axis.count} + {place}" if x else place
        text = self._with(new, columns, groups) + tables
        who = "person, " if isinstance(self.plan.schema.unit, Person) else ""
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"{text},\nplaced AS (SELECT {who}{number} AS i, {x} AS x FROM lines{joins}{where})"

    def _number(self, new: Statement, groups: Groups, columns: str) -> str:
        """Columns of cells, and the person's number p where groups have to be chosen."""
        if not self._factor(groups):
            return columns
        assert isinstance(self.plan.schema.unit, Person)
        id = self.plan.schema.unit.id
        types = {self.raw.columns[f"{one}.{id}" if one else id][1] for one in self.raw.tables or ("",)}
        whole = types <= self.dialect.whole_types  # else ids of several tables are texts
        return f"{columns}, {number_of_person(new.hide(self.salt), self.dialect, whole=whole)} AS p"

    def _kept(self, new: Statement, groups: Groups, rank: str = "row_number") -> tuple[str, str]:
        """The table of cells that count, and the choice of them where not all can; ``dense_rank`` where a cell has several."""
        if not self._factor(groups):
            return "cells", ""
        mixed, mark = marks(self.salt, new.hide)
        return "chosen", f",\n{chosen(self._most(groups), mark, self.dialect, mixed, rank)}"

    def open_keys(self) -> Statement:
        """g0, g1 ... and n: how many rows, or chosen persons, have a key. Engines keep all keys at once, so a long one, which an
        analyst may have made long, is kept as its hash, and many that are long together as one hash of them all."""
        new = self._statement()
        text, some = self._lines(new, {}), self._all_present(new)
        told = self._told_apart()
        names = [f"g{j}" for j in range(len(told))]
        each, by = ", ".join(f"{sql} AS {name}" for sql, name in zip(told, names, strict=True)), ", ".join(names)
        if isinstance(self.plan.schema.unit, Person):
            text += f",\ncells AS (SELECT DISTINCT person, {each} FROM lines WHERE {some})"
            marks = self.dialect.keyed_hash.format(salt=new.hide(self.salt), person="person", group=self._joined(names))
            text += f",\n{chosen(self.plan.schema.unit.groups, marks, self.dialect)}"
            new.text = f"{text}\nSELECT {by}, count(*) AS n FROM chosen GROUP BY {by}"
        else:
            keys = f"(SELECT {each} FROM lines WHERE {some}) AS keys"
            new.text = f"{text}\nSELECT {by}, count(*) AS n FROM {keys} GROUP BY {by}"
        return new

    def spelled_keys(self, hashes: Sequence[str]) -> Statement:
        """g0, k0, k1 ...: keys as rows have them, by their hashes."""
        new = self._statement()
        text, some = self._lines(new, {}), self._all_present(new)
        (told,), keys = self._told_apart(), [f"k{j}" for j in range(len(self.plan.keys.keys))]
        wanted = self.dialect.is_listed.format(value="g0", list=new.listed("text", hashes))
        each = ", ".join(f"{self.dialect.any_value.format(key)} AS {key}" for key in keys)
        inside = f"SELECT {told} AS g0, {', '.join(keys)} FROM lines WHERE {some}"
        new.text = f"{text}\nSELECT g0, {each} FROM ({inside}) AS g WHERE {wanted} GROUP BY g0"
        return new

    def hashes_among(self, keys: Sequence[tuple[Value, ...]]) -> list[str]:
        """What tells keys apart, where that is their hash."""
        if len(self.plan.keys.keys) > 1:
            return [str(key[0]) for key in keys if len(key) == 1]
        return [text for key in keys if len(text := str(key[0])) > _BRIEF // 4 and len(text.encode()) > _BRIEF]

    def _told_apart(self) -> list[str]:
        """What tells keys apart, of any length, in few bytes."""
        keys = [f"k{j}" for j in range(len(self.plan.keys.keys))]
        if len(keys) > 1 and self._wide:
            return [self.dialect.brief.format(self._joined(keys))]
        return keys if len(keys) > 1 else [self.dialect.brief.format("k0")]

    def _joined(self, keys: Sequence[str]) -> str:
        """Keys as one text that tells them apart."""
        kind = self.dialect.types["text"]
        texts = []
        for name, key in zip(keys, self.plan.keys.keys, strict=False):  # a single name may be of all keys, and is a text
            number = len(keys) == len(self.plan.keys.keys) and infer(key.of, self.plan.facts).kind == "number"
            texts.append((self.dialect.number_text if number else "CAST({0} AS {text})").format(name, text=kind))
        return "(" + " || '/' || ".join(f"CAST(length({text}) AS {kind}) || ':' || {text}" for text in texts) + ")"

    def _all_present(self, new: Statement) -> str:
        """That no key is missing; of keys that are open together with others, still only those that were listed."""
        tests = [f"k{j} IS NOT NULL" for j in range(len(self.plan.keys.keys))]
        for j, key in enumerate(self.plan.keys.keys):
            if key.values is not None:
                listing = new.listed(infer(key.of, self.plan.facts).kind, key.values)
                tests.append(self.dialect.is_listed.format(value=f"k{j}", list=listing))
        return " AND ".join(tests)

    @property
    def _wide(self) -> bool:
        """Whether keys of one row may be long."""
        return sum(infer(key.of, self.plan.facts).length or 0 for key in self.plan.keys.keys) > _BRIEF

    def _total(self, measure: Measure, term: str) -> str:
        """The aggregate that adds up what rows add."""
        if measure == ROWS:
            return "count(*)"
        return f"count({term})" if measure.what == "present" and measure.high == 1 else self.dialect.summed(term, measure.bound)

    def _statement(self) -> Statement:
        kind = PersonStatement if self._single else Statement
        return kind(self.plan, self.raw, self.dialect, self.salt)

    @property
    def _single(self) -> bool:
        """Whether a person has one line at most: it is a cell by itself, in one group, and nothing has to be bounded."""
        return self.plan.query.people is not None

    def _lines(self, new: Statement, columns: dict[str, str]) -> str:
        return new.lines({f"k{j}": new.key(key.of, listed) for j, (key, listed) in enumerate(self._listed_keys())} | columns)

    def _listed_keys(self) -> Iterator[tuple[Key, Sequence[Value] | None]]:
        """Keys, and what is listed of them: None where one is open."""
        keys = self.plan.keys
        return zip(keys.keys, [None] * len(keys.keys) if keys.listings is None else keys.listings, strict=True)

    def _with(self, new: Statement, columns: dict[str, str], groups: Groups) -> str:
        text = self._lines(new, columns)
        return f"{text},\n{self._keys(new, groups)}" if groups.listed else text

    def _keys(self, new: Statement, groups: Groups) -> str:
        kinds = [infer(key.of, self.plan.facts).kind for key in self.plan.keys.keys]
        return new.keys(kinds, groups.listed, product=groups.product)

    def _cells(self, groups: Groups, columns: str) -> str:
        if self._single:
            number, join = ("keys.i", f" JOIN keys ON {keyed(len(groups.listed))}") if groups.listed else ("0", "")
            return f"cells AS (SELECT person, {number} AS i, {columns.replace('count(*)', '1')} FROM lines{join})"
        if not groups.listed:
            return f"cells AS (SELECT person, 0 AS i, {columns} FROM lines GROUP BY person)"
        both = f"lines JOIN keys ON {keyed(len(groups.listed))}"
        if self._factor(groups) and self._gather:
            placed = f"(SELECT lines.*, keys.i AS i FROM {both}{self._gather}) AS gathered"
            return f"cells AS (SELECT person, i, {columns} FROM {placed} GROUP BY person, i)"
        return f"cells AS (SELECT person, keys.i AS i, {columns} FROM {both} GROUP BY person, keys.i)"

    @property
    def _gather(self) -> str:
        """What sends the rows of a person to one place before they are counted, where that is less to send than to count them
        where they are, and to send the counts by cell and then again by person: where a person has few rows in a group."""
        unit = self.plan.schema.unit
        return self.dialect.gathered if isinstance(unit, Person) and unit.rows <= _ROWS else ""

    def _most(self, groups: Groups) -> int:
        """In how many groups a person may be: what the noise was calibrated to."""
        assert isinstance(self.plan.schema.unit, Person)
        most = self.plan.schema.unit.groups
        return most if self.plan.keys.size is None else min(most, groups.size)

    def _factor(self, groups: Groups) -> bool:
        """Whether a person can be in more groups than count."""
        return not self._single and self._most(groups) < groups.size


_VALUES = ("value", "rest")
_DOUBLES = (*_VALUES, "product")
_FEW = 256  # keys that need not be looked up
_ROWS = 20  # of a person in a group, up to which it is quicker to send all of them once
_BRIEF = 64  # bytes of a text that is kept as it is


def written(new: Statement, measures: Sequence[Measure], *, doubles: bool) -> tuple[dict[str, str], list[str]]:
    """Columns of lines, and what is added up of them for every measure: a column, or the product of its factors', each of which
    is written once for all products. ``doubles``: values as doubles."""
    columns: dict[str, str] = {}
    names: dict[Measure, str] = {}
    terms = []
    for j, measure in enumerate(measures):
        for k, one in enumerate(measure.factors or (measure,)):
            if one != ROWS and one not in names:
                names[one] = f"m{j}_{k}" if measure.factors else f"m{j}"
                columns[names[one]] = new.added_in_doubles(one) if doubles and one.what in _VALUES else new.added(one)
        terms.append(" * ".join(names.get(one, "1") for one in measure.factors or (measure,)))
    return columns, terms


def keyed(keys: int) -> str:
    """``ON`` of the join with the table of keys."""
    return " AND ".join(f"lines.k{j} = keys.key{j}" for j in range(keys))
