"""Which names a piece of SQL may use, and what is known of their values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression, Literal, columns_of, depth, size
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.expressions.values import words_of
from discreet.plan.private import Private
from discreet.plan.query import People
from discreet.schema.table import Schema
from discreet.schema.units import Person

MOST_COPIED = 2**13  # nodes of all expressions that stand where a name was written
_DEEPEST = 50  # operations within operations, behind a name
PERSON = Column(".person")  # the id of persons: no declared name begins with a point


@dataclass(frozen=True)
class Scope:
    """The tables in sight, by the names they go by, and facts about all columns in sight.

    ``free``: names allowed though nothing is known of them. ``special`` may read a node in its own way before anybody else does.
    ``words``: the declared values of columns that are categories of words. ``derived``: queries within this one, by the names
    they go by, each with its columns; one that is joined is among the ``tables`` too, of whose columns it shows only these.
    ``named``: what SELECT calls its expressions, seen where no column has that name; None for an aggregate. ``people``: the table
    of one row a person that is in sight instead of the private one.
    """

    schema: Schema
    tables: Mapping[str, str]
    facts: Mapping[str, Facts]
    free: Collection[str] = ()
    special: Callable[[object], Expression | None] = field(default=lambda _: None)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    derived: Mapping[str, Mapping[str, Expression]] = field(default_factory=dict)
    named: Mapping[str, Expression | None] = field(default_factory=dict)
    copied: list[int] = field(default_factory=list)  # nodes of expressions that stand for names, so far
    people: People | None = None
    private: tuple[Private, ...] = ()  # the private tables of this question, where "data" is not the only one
    views: Collection[str] = ()  # names that WITH gave to queries

    def column(self, name: str, table: str | None, quoted: bool) -> Expression:
        """The column that is meant; unknown ones are refused with the names there are, nearest first."""
        if table is None and name in self.free:
            return Column(name)
        found = self.find(name, table, quoted)
        if found is None and table is None:
            found = self._alias(name, quoted)
        if found is None or found == PERSON:
            raise ParameterError(f"There is no column {name}; {self._declared(name)}{self.in_quotes(name, quoted)}.")
        return found

    def find(self, name: str, table: str | None, quoted: bool) -> Expression | None:
        """What a name of a column stands for; ``PERSON`` for the id of a query within this one; None for what is no column."""
        self._check_table(table)
        if table is None:
            self._check_meaning(name, quoted)
        for alias, columns in self.derived.items():
            known = match(name, columns, quoted) if table is None or table.lower() == alias else None
            if known is not None:
                return self._copy(columns[known])
        for alias, one in self.tables.items():
            mine = alias not in self.derived and (table is None or table.lower() == alias)
            found = self.schema.find(name, table=one, quoted=quoted) if mine else None
            if found is not None:
                return Column(found)
        return None

    def called(self, name: str, table: str | None, quoted: bool) -> str | None:
        """What a query within this one calls a column; None for a column of a table."""
        for alias, columns in self.derived.items():
            known = match(name, columns, quoted) if table is None or table.lower() == alias else None
            if known is not None:
                return known
        return None

    def is_person(self, name: str, table: str | None, quoted: bool) -> bool:
        """Whether a name is the id of persons."""
        unit = self.schema.unit
        if not isinstance(unit, Person):
            return False
        if any(self.schema.is_private(one) and (table is None or table.lower() == alias) for alias, one in self.tables.items()):
            stands_for = name == "person" and "person" not in {one.rsplit(".", 1)[-1] for one in self.schema.columns}
            return stands_for or match(name, (unit.id,), quoted) is not None
        found = self.find(name, table, quoted)
        return found in (PERSON, Column(unit.id), *(Column(f"{one}.{unit.id}") for one in self.schema.tables))

    def columns(self, table: str | None = None) -> dict[str, Expression]:
        """All columns in sight, as * means them; of two that have the same name, the first. The id of persons is one."""
        self._check_table(table)
        found: dict[str, Expression] = {}
        unit = self.schema.unit
        for alias, columns in self.derived.items():
            if table is None or table.lower() == alias:
                found = dict(columns) | found
        for alias, one in self.tables.items():
            if alias in self.derived or (table is not None and table.lower() != alias):
                continue
            mine: dict[str, Expression] = {name: Column(of) for name, of in self.schema.names(one).items()}
            if self.schema.is_private(one) and isinstance(unit, Person) and match(unit.id, mine, False) is None:
                mine[unit.id] = PERSON
            known = {name.lower() for name in found}
            found |= {name: of for name, of in mine.items() if name.lower() not in known}
        return found

    def _check_table(self, table: str | None) -> None:
        known = (*self.derived, *self.tables)
        if table is not None and table.lower() not in known:
            raise ParameterError(f"There is no table {table} in this question; there are {', '.join(known)}.")

    def _alias(self, name: str, quoted: bool) -> Expression | None:
        known = match(name, self.named, quoted)
        if known is None:
            return None
        of = self.named[known]
        if of is None:
            raise ParameterError(f"{name} is an aggregate of many rows, and this is about single rows; write HAVING for it.")
        return self._copy(of)

    def _copy(self, of: Expression) -> Expression:
        """An expression that stands where a name was written: copies are counted, since names of names double again and again."""
        self.copied.append(size(of, MOST_COPIED))
        if sum(self.copied) > MOST_COPIED:
            raise ParameterError(
                f"With every name written out this question has more than {MOST_COPIED:,} terms; compute less from one step to "
                "the next."
            )
        if depth(of) > _DEEPEST:
            raise ParameterError("With every name written out this question is nested too deeply; ask a simpler one.")
        return of

    def _check_meaning(self, name: str, quoted: bool) -> None:
        """Refuse a name that several private tables have, but for the person's id: joined by it, all of them mean the same."""
        found = [f"{alias}.{known}" for alias, columns in self.derived.items() if (known := match(name, columns, quoted))]
        tables = [one for alias, one in self.tables.items() if alias not in self.derived and self.schema.is_private(one)]
        own = [self.schema.find(name, table=one, quoted=quoted) for one in tables]
        found += [one for one in own if one is not None]
        unit = self.schema.unit
        if len(found) > 1 and not (isinstance(unit, Person) and name.lower() == unit.id.lower()):
            raise ParameterError(f"{name} is a column of several tables; write {' or '.join(found)}.")

    def in_quotes(self, name: str, quoted: bool) -> str:
        """A word about single quotes, where something unknown looks like a text and not like a name."""
        known = any(name.lower() == one.lower().rsplit(".", 1)[-1] for one in self.schema.columns)
        looks = quoted or any(name in words for words in self.words.values())
        return f"; a text is written in single quotes: {Literal(name[:60])}" if looks and not known else ""

    def kind(self, expression: Expression) -> str | None:
        """The type of an expression, where all its columns are known."""
        return infer(expression, self.facts).kind if self.knows(expression) else None

    def knows(self, expression: Expression) -> bool:
        """Whether something is known of all columns."""
        return all(name in self.facts for name in columns_of(expression))

    def joined(self, alias: str, table: str, keep: bool) -> Scope:
        """The scope with a public table in sight; where rows without a match stay, its columns may be missing."""
        columns = {f"{table}.{name}": facts_of_column(column) for name, column in self.schema.public[table].items()}
        facts = {name: replace(fact, nullable=fact.nullable or keep) for name, fact in columns.items()}
        return replace(self, tables={**self.tables, alias.lower(): table}, facts={**self.facts, **facts})

    def linked(self, alias: str, private: Private) -> Scope:
        """The scope with one more private table in sight."""
        new = of_table(self.schema, private.table, alias)
        keep = private.how == "left"
        facts = {name: replace(fact, nullable=fact.nullable or keep) for name, fact in new.facts.items()}
        return replace(
            self,
            tables={**self.tables, **new.tables},
            facts={**self.facts, **facts},
            words={**self.words, **new.words},
            private=(*self.private, private),
        )

    def _declared(self, name: str) -> str:
        if isinstance(self.schema.unit, Person) and name.lower() == self.schema.unit.id.lower():
            return f"it is the id of persons and not declared: it serves count(DISTINCT {name}), and nothing else"
        inner = [name for columns in self.derived.values() for name, of in columns.items() if of != PERSON]
        known = [*(inner or self.facts), *self.free]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        listed = [*near, *(one for one in known if one not in near)]
        there = "the query within has" if inner else "declared are"
        return f"{there} {', '.join(listed[:20])}{', ...' if len(listed) > 20 else ''}"


def match(name: str, names: Iterable[str], quoted: bool) -> str | None:
    """The name that is meant, whatever its case unless it is in quotes."""
    known = list(names)
    return name if name in known else None if quoted else next((one for one in known if one.lower() == name.lower()), None)


def of_table(schema: Schema, table: str, alias: str) -> Scope:
    """One private table alone, of those that there are."""
    if not schema.tables:
        return private(schema, alias)
    columns = {name: column for name, column in schema.columns.items() if name.startswith(f"{table}.")}
    facts = {name: facts_of_column(column) for name, column in columns.items()}
    return Scope(schema, {alias.lower(): table}, facts, words=words_of(columns))


def private(schema: Schema, alias: str = "data", free: Collection[str] = ()) -> Scope:
    """The private table alone."""
    facts = {name: facts_of_column(column) for name, column in schema.columns.items()}
    words = {name: values for name, values in words_of(schema.columns).items() if name not in free}
    return Scope(schema, {alias.lower(): "data"}, facts, free, words=words)
