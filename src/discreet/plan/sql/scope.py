"""Which names a piece of SQL may use, and what is known of their values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression, Literal, columns_of
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.expressions.values import words_of
from discreet.plan.query import People
from discreet.schema.table import Schema
from discreet.schema.units import Person

__all__ = ["Scope", "private"]


@dataclass(frozen=True)
class Scope:
    """The tables in sight, by the names they go by, and facts about all columns in sight.

    ``free``: names allowed though nothing is known of them. ``special`` may read a node in its own way before anybody else does.
    ``words``: the declared values of columns that are categories of words. ``people``: the table of one row a person that is in
    sight instead of the private one, of which those rows are asked about that were ``kept``.
    """

    schema: Schema
    tables: Mapping[str, str]
    facts: Mapping[str, Facts]
    free: Collection[str] = ()
    special: Callable[[object], Expression | None] = field(default=lambda _: None)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    people: People | None = None
    kept: Expression | None = None

    def column(self, name: str, table: str | None, quoted: bool) -> Expression:
        """The column that is meant; unknown ones are refused with the names there are, nearest first."""
        if table is None and name in self.free:
            return Column(name)
        if table is not None and table.lower() not in self.tables:
            raise ParameterError(f"There is no table {table} in this question; there are {', '.join(self.tables)}.")
        wanted = list(self.tables.values()) if table is None else [self.tables[table.lower()]]
        for one in wanted:
            found = self.schema.find(name, table=one, quoted=quoted)
            if found is not None:
                return Column(found)
        raise ParameterError(f"There is no column {name}; {self._declared(name)}{self.in_quotes(name, quoted)}.")

    def in_quotes(self, name: str, quoted: bool) -> str:
        """A word about single quotes, where something unknown looks like a text and not like a name."""
        known = any(name.lower() == one.lower() for one in self.schema.columns)
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

    def _declared(self, name: str) -> str:
        if isinstance(self.schema.unit, Person) and name.lower() == self.schema.unit.id.lower():
            return f"it is the id of persons and not declared: it serves count(DISTINCT {name}), and nothing else"
        known = [*self.facts, *self.free]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        listed = [*near, *(one for one in known if one not in near)]
        return f"declared are {', '.join(listed[:20])}{', ...' if len(listed) > 20 else ''}"


def private(schema: Schema, alias: str = "data", free: Collection[str] = ()) -> Scope:
    """The private table alone."""
    facts = {name: facts_of_column(column) for name, column in schema.columns.items()}
    words = {name: values for name, values in words_of(schema.columns).items() if name not in free}
    return Scope(schema, {alias.lower(): "data"}, facts, free, words=words)
