"""A table of one row a person, with a private table joined to it.

``FROM (SELECT pid, sum(cost) AS total FROM visits GROUP BY pid) AS t JOIN patients USING (pid)``: of a table that brings one row
of a person at most (``at_most={"patients": 1}``), the joined row is what is made of that person's rows when it is joined to
*them*. It repeats beside each of them, so that counts and sums are the same, and any_value of a column is its one value; a person
without such a row goes, or, LEFT, has none of its values. So the question is about one row a person again, made of joined rows,
and both theorems hold for it (``plan.private``, ``plan.people``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression
from discreet.plan.people import Trait, most_rows
from discreet.plan.sql.scope import PERSON, Scope, of_table, private
from discreet.plan.sql.tables.private import all_of, beside_id, find_private, own_condition, person_of, private_of, side_of
from discreet.schema.table import Schema


def join_persons(
    node: exp.Expression, scope: Scope, schema: Schema, name: str, quoted: bool, alias: str, used: Collection[str]
) -> Scope | None:
    """The scope with a private table joined to one row a person; None for other tables. ``schema``: of the private tables;
    ``used``: the names of columns, in lower case, that the question has anywhere."""
    table, people = find_private(name, quoted, schema), scope.people
    if table is None or people is None:
        return None
    unit = person_of(scope)
    how = side_of(node, table, unit)
    if any(one.table == table for one in people.rows.tables):
        raise ParameterError(f"{table} is read in the query within already; select what you need of it there, any_value(x).")
    if schema.tables[table] > 1:
        raise ParameterError(
            f"A person may bring {schema.tables[table]:,} rows of {table} into a join, and is one row here; declare "
            f"at_most={{{table!r}: 1}}, or join {table} in the query within and select any_value({table}.x) there."
        )
    if alias.lower() in {*scope.tables, *scope.derived}:
        raise ParameterError(f"Two tables go by the name {alias}; give one another alias.")
    mine = of_table(schema, table, alias)
    tests = beside_id(node, scope, replace(mine, derived=scope.derived), table, alias)
    where = all_of([own_condition(one, mine, mine) for one in tests], mine)
    facts = {column: replace(one, nullable=one.nullable or how == "left") for column, one in mine.facts.items()}
    columns: dict[str, Expression] = {unit.id: PERSON}
    added: list[Trait] = []
    for short, column in schema.names(table).items():
        if short.lower() in used and short.lower() != unit.id.lower():
            added.append(Trait(_free(short, [*people.traits, *added]), "any_value", Column(column)))
            columns[short] = Column(added[-1].name)
    joined = sum(one.joined for one in people.rows.tables)
    tables = [*people.rows.tables]
    tables.insert(joined, replace(private_of(schema, table, how), where=where))
    declared = {trait.name: trait.column(facts, most_rows(schema)) for trait in added}
    made = replace(scope.schema, columns={**scope.schema.columns, **declared})
    seen = private(made, alias)
    return replace(
        scope,
        schema=made,
        facts={**scope.facts, **seen.facts},
        words={**scope.words, **seen.words},
        derived={**scope.derived, alias.lower(): columns},
        people=replace(people, rows=replace(people.rows, tables=tuple(tables)), traits=(*people.traits, *added)),
    )


def _free(name: str, traits: Collection[Trait]) -> str:
    """A name that no other trait has."""
    taken, found, i = {trait.name.lower() for trait in traits}, name, 2
    while found.lower() in taken:
        found, i = f"{name}_{i}", i + 1
    return found
