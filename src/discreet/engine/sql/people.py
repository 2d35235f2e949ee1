"""A statement about persons: between the cleaned rows and the lines of a question, one row is made of the rows of each.

    "cleaned rows"     as ever
    "person rows"      a line for every row that passes the query within: its person, and the values v0, v1 ... of its traits
    "person cells"     the same, and how many rows of the person share a value, where a trait asks for that
    "cleaned persons"  GROUP BY person: the traits, clamped, as whole numbers of units where they are numbers
    lines              a line for every person that passes WHERE

Sums are added up in the engine's widest integers and clamped before they are narrowed, so that no number of rows, and no cell,
makes one overflow or fail. The least and the greatest are of whole numbers, days, and texts by their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from discreet.engine.sql.dialect import selected
from discreet.engine.sql.statement import Statement
from discreet.plan.people import Trait, most_rows
from discreet.plan.plan import Plan
from discreet.schema.columns import Integer, Number

_ROWS = "person rows"  # names that no public table can have
_CELLS = "person cells"
_CLEANED = "cleaned persons"


@dataclass
class PersonStatement(Statement):
    """Collects the pieces of one statement over persons."""

    _values_of: dict[str, str] = field(default_factory=dict)  # SQL of a row's value -> its alias
    _shared: dict[str, str] = field(default_factory=dict)  # alias of the rows that share a value -> SQL

    def __post_init__(self) -> None:
        people = self.plan.query.people
        assert people is not None
        self._traits = {trait.name: trait for trait in people.traits}
        rows = _of_rows(self.plan)
        shared = self.parameters  # constants are numbered through
        self._rows = Statement(rows, self.raw, self.dialect, self.salt, parameters=shared)
        self._most = most_rows(rows.schema)

    @property
    def _cleaned_rows(self) -> str:
        return self.dialect.quote(_CLEANED)

    def _clean_id(self, id: str) -> str:  # noqa: ARG002
        return "person"

    def _clean(self, name: str, *, listed: bool, doubles: bool) -> str:  # noqa: ARG002
        made = self._made(self._traits[name])
        return f"CAST({made} AS {self._type('number')})" if doubles else made

    def _kind_of_cells(self, name: str) -> str | None:  # noqa: ARG002
        return None  # a trait is made of many

    def _clean_rows(self) -> str:
        rows = self.dialect.quote(_ROWS)
        before = self._rows.lines({alias: sql for sql, alias in self._values_of.items()}, rows)
        if self._shared:
            cells = self.dialect.quote(_CELLS)
            before, rows = f"{before},\n{cells} AS (SELECT *, {selected(self._shared)} FROM {rows})", cells
        return f"{before},\n{self._cleaned_rows} AS (SELECT {selected(self._cleaned)} FROM {rows} GROUP BY person)"

    def _made(self, trait: Trait) -> str:
        """SQL of a trait, over the rows of one person."""
        if trait.of is None:
            return self._clamped(trait, "count(*)")
        if trait.what == "distinct":
            return self._clamped(trait, f"count(DISTINCT {self._value(self._rows.key(trait.of, None))})")
        if trait.what == "fullest":
            value = self._value(self._rows.key(trait.of, None))
            self._shared[f"n_{value}"] = f"count({value}) OVER (PARTITION BY person, {value})"
            return self._clamped(trait, f"max(n_{value})")
        measure = trait.measure(self._rows.plan.facts, self._most)
        if measure is None:
            return self._chosen(trait)
        value = self._value(self._rows.added(measure))
        if trait.what == "count":
            return self._clamped(trait, f"count({value})")
        if trait.what == "sum":
            return self._clamped(trait, self.dialect.total.format(value))
        if trait.what == "avg":
            scale, double = trait.scale(measure), self._type("number")
            total = self.dialect.total.format(value)
            mean = (
                f"{self.dialect.nearest.format(total)} / CAST(count({value}) AS {double}) * {self.dialect.double.format(scale)}"
            )
            present = f"CASE WHEN count({value}) > 0 THEN {mean} END"
            return self.dialect.rounded(f"({present})", measure.low * scale, measure.high * scale)
        if trait.what == "median":
            return f"CAST({self.dialect.lower_median.format(value)} + {self.dialect.upper_median.format(value)} AS BIGINT)"
        return self._extreme(trait).format(value)

    def _chosen(self, trait: Trait) -> str:
        """Of texts and days the least or the greatest; of truth values as 0 and 1, which are compared alike everywhere."""
        assert trait.of is not None
        value = self._rows.value(trait.of)
        if self.plan.schema.columns[trait.name].kind != "boolean":
            return self._extreme(trait).format(self._value(value))
        number = self._value(f"CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END")
        return f"({self._extreme(trait).format(number)} = 1)"

    def _extreme(self, trait: Trait) -> str:
        return self.dialect.greatest if trait.what in ("max", "bool_or") else self.dialect.least

    def _value(self, sql: str) -> str:
        """The name of what a row adds to a person."""
        return self._values_of.setdefault(sql, f"v{len(self._values_of)}")

    def _clamped(self, trait: Trait, total: str) -> str:
        """A whole number of any width within public bounds, in units of its step; missing where it is."""
        column = self.plan.schema.columns[trait.name]
        assert isinstance(column, Integer | Number)
        low, high = int(column.lower / column.step), int(column.upper / column.step)
        return f"CAST(CASE WHEN {total} < {low} THEN {low} WHEN {total} > {high} THEN {high} ELSE {total} END AS BIGINT)"


def _of_rows(plan: Plan) -> Plan:
    """The plan of a question about the rows that persons are made of."""
    assert plan.query.people is not None
    return replace(plan, query=plan.query.people.rows, schema=plan.private, declared=None)
