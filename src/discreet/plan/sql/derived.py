"""What FROM means: the private table, or a query within the question; with public tables joined.

A query within selects, filters and computes: its columns are names for expressions, and it has a condition.

**No new proof is needed.** Such a query has one row for every row that it keeps of the private table, with values computed from
that row alone. Asking it is asking the private table with every name written out, and with all conditions connected by AND: a
row is kept by both queries if and only if both conditions are true of it. So the question that is priced and counted is an
ordinary one, and its sensitivities are those of the rows and persons of the private table.

Written out, names of names can double from one step to the next; the scope counts what is copied, and refuses too much of it
before anybody walks over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, both
from discreet.plan.expressions.evaluate import infer
from discreet.plan.query import Join, Query
from discreet.plan.sql.people import is_of_people, read_people
from discreet.plan.sql.scalars import aggregates_in, scalar
from discreet.plan.sql.scope import PERSON, Scope, match, private
from discreet.plan.sql.syntax import name_of, only, refusal
from discreet.plan.sql.tables.persons import join_persons
from discreet.plan.sql.tables.private import Selected, begin, read_members
from discreet.plan.sql.tables.public import move_conditions, read_joins, read_table
from discreet.schema.table import Schema
from discreet.schema.units import Person

_PARTS = ("expressions", "from_", "joins", "where", "with_", "order")  # an order within says nothing about the result
_MOST_COLUMNS = 2**10


@dataclass(frozen=True)
class Source:
    """What FROM and its JOINs mean: the names in sight, the public tables, and what queries within the question filter by."""

    scope: Scope
    joins: tuple[Join, ...] = ()
    where: Expression | None = None


@dataclass(frozen=True)
class View:
    """A query that WITH gives a name to: its text, names for its columns, and the views that it sees itself."""

    query: exp.Select
    columns: tuple[str, ...] = ()
    sees: Mapping[str, View] = field(default_factory=dict)


def read_source(tree: exp.Select, schema: Schema, views: Mapping[str, View] | None = None) -> Source:
    """What is in sight after WITH, FROM and all JOINs. ``views``: what was named around this query."""
    known = _views(tree.args.get("with_"), views or {})
    source = tree.args.get("from_")
    if not isinstance(source, exp.From):
        raise ParameterError("A question is about the private table; write FROM data.")
    only(source, "this")
    move_conditions(tree)
    first, nodes = _persons_first(source.this, tree.args.get("joins") or [], schema, known)
    found = _from(first, schema, known)

    def derive(node: object) -> tuple[str, Selected] | None:
        return _selected_from(node, schema, known)

    def persons(node: exp.Expression, scope: Scope, name: str, quoted: bool, alias: str) -> Scope | None:
        used = {str(column.name).lower() for column in tree.find_all(exp.Column)}
        return join_persons(node, scope, schema, name, quoted, alias, used)

    scope, joins = read_joins(nodes, found.scope, found.joins, known, derive, persons)
    return replace(found, scope=replace(scope, views=frozenset(known)), joins=joins)


def _persons_first(
    first: exp.Expression, nodes: Sequence[exp.Expression], schema: Schema, views: Mapping[str, View]
) -> tuple[exp.Expression, Sequence[exp.Expression]]:
    """FROM and its JOINs, such that a query of one row a person comes first where it is joined to a private table: both ways
    mean the same."""
    if not schema.tables or not nodes or not _is_query(nodes[0].this, views) or _is_query(first, views):
        return first, nodes
    node = nodes[0]
    if _from(node.this, schema, views).scope.people is None:
        return first, nodes
    if str(node.args.get("side") or "").upper() == "LEFT":
        assert isinstance(schema.unit, Person)
        raise ParameterError(
            f"{node.this.alias_or_name} has one row of a person, or none; make one row a person of both tables: SELECT "
            f"{schema.unit.id}, any_value(...), sum(...) FROM {first.name} LEFT JOIN ... USING ({schema.unit.id}) GROUP BY "
            f"{schema.unit.id}."
        )
    turned = node.copy()
    turned.set("this", first.copy())
    return node.this, [turned, *nodes[1:]]


def _is_query(node: object, views: Mapping[str, View]) -> bool:
    """Whether a table is a query within the question, or the name of one."""
    if isinstance(node, exp.Subquery):
        return isinstance(node.this, exp.Select)
    return isinstance(node, exp.Table) and not node.args.get("db") and node.name.lower() in views


def _views(node: object, around: Mapping[str, View]) -> dict[str, View]:
    """Queries by the names that WITH gives them; each sees those before it. They are read where they are used."""
    found = dict(around)
    if node is None:
        return found
    assert isinstance(node, exp.With)
    if node.args.get("recursive"):
        raise ParameterError("WITH RECURSIVE is not answered: a question reads every row once; write WITH, without RECURSIVE.")
    only(node, "expressions")
    own: set[str] = set()
    for one in node.expressions:
        only(one, "this", "alias", "materialized")
        alias, query = one.args["alias"], one.this
        only(alias, "this", "columns")
        name = name_of(alias.this)[0].lower()
        if name in own or name == "data":
            raise ParameterError(f"Two tables go by the name {name}; give the query in WITH another name.")
        if not isinstance(query, exp.Select):
            raise refusal(
                query, "" if isinstance(query, exp.SetOperation) else "WITH names queries; write WITH a AS (SELECT ...)"
            )
        own.add(name)
        found[name] = View(query, tuple(name_of(column)[0] for column in alias.args.get("columns") or []), dict(found))
    return found


def _from(node: object, schema: Schema, views: Mapping[str, View]) -> Source:
    """The private table, or a query within this one."""
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
        only(node, "this", "alias")
        alias = node.args.get("alias")
        if alias is not None:
            only(alias, "this", "columns")
        names = () if alias is None else tuple(name_of(column)[0] for column in alias.args.get("columns") or [])
        called = "a query" if alias is None or alias.this is None else name_of(alias.this)[0]
        return _derived(View(node.this, names, views), called, schema)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.this.args.get("joins"):
        only(node, "this")
        return _from(node.this, schema, views)
    name, quoted, alias = read_table(node)
    view = match(name, views, False) if isinstance(node, exp.Table) and not node.args.get("db") else None
    if view is not None:
        return _derived(views[view], alias, schema)
    if schema.tables:
        return Source(begin(name, quoted, alias, schema))
    if name != "data" and (quoted or name.lower() != "data"):
        raise ParameterError(f'There is one private table, "data", and no {name[:60]!r} to ask; write FROM data.')
    return Source(private(schema, alias))


def _selected_from(node: object, schema: Schema, views: Mapping[str, View]) -> tuple[str, Selected] | None:
    """What a query that is joined is called, and what it selects; None for the name of a table."""
    if not schema.tables or not _is_query(node, views):
        return None
    assert isinstance(node, exp.Expression)
    found, alias = _from(node, schema, views), str(node.alias_or_name)
    if not alias:
        raise ParameterError("A query that is joined needs a name; write JOIN (SELECT ...) AS v.")
    if found.joins:
        raise ParameterError(f"{alias} is a query with a JOIN of its own; join its tables one after the other.")
    return alias, Selected(found.scope, next(iter(found.scope.derived.values()), {}), found.where)


def _derived(view: View, alias: str, schema: Schema) -> Source:
    """What is in sight of a query within a question."""
    tree = view.query
    if (tree.args.get("group") or tree.args.get("distinct")) and is_of_people(
        tree, (rows := read_source(tree, schema, view.sees)).scope
    ):
        tables = read_members(tree.args.get("where"), rows.scope)
        scope, kept = read_people(tree, rows.scope, Query((), rows.where, joins=rows.joins, tables=tables), alias, view.columns)
        return Source(scope, (), kept)
    _check_rows(tree, schema)
    found = read_source(tree, schema, view.sees)
    columns = _columns(tree, found.scope)
    if len(view.columns) > len(columns):
        raise ParameterError(f"{alias} has {len(columns)} columns, and {len(view.columns)} names are given; give one for each.")
    named: dict[str, Expression] = {}
    for place, (name, of) in enumerate(columns):
        called = view.columns[place] if place < len(view.columns) else name
        if called is None:
            continue
        if match(called, named, False) is not None:
            raise ParameterError(f"Two columns of {alias} are called {called}; give one another name with AS.")
        named[called] = of
    where, tables = found.where, read_members(tree.args.get("where"), found.scope)
    if isinstance(node := tree.args.get("where"), exp.Where) and node.this is not None:
        only(node, "this")
        mine = scalar(node.this, replace(found.scope, named={name: of for name, of in named.items() if of != PERSON}))
        if infer(mine, found.scope.facts).kind != "boolean":
            raise ParameterError("WHERE takes a condition; write WHERE age >= 18.")
        where = both(where, mine)
    scope = replace(found.scope, tables={}, derived={alias.lower(): named}, named={}, private=tables)
    return Source(scope, found.joins, where)


def _check_rows(tree: exp.Select, schema: Schema) -> None:
    """Refuse a query whose rows are not rows of the table."""
    person = f", or GROUP BY {schema.unit.id} for one row a person" if isinstance(schema.unit, Person) else ""
    if tree.args.get("group") or tree.args.get("having") or any(map(aggregates_in, tree.expressions)):
        raise ParameterError(
            f"A query within a question selects, filters and computes{person}; it does not count or group otherwise: ask for its "
            "aggregates first, and compute with the noisy result, which is free."
        )
    if tree.args.get("limit") or tree.args.get("offset"):
        raise ParameterError("LIMIT within a query would choose single rows; leave it out, or put it at the end of the question.")
    if tree.args.get("distinct"):
        raise ParameterError(f"DISTINCT within a query compares the rows of different persons; leave it out{person}.")
    only(tree, *_PARTS)


def _columns(tree: exp.Select, scope: Scope) -> list[tuple[str | None, Expression]]:
    """The select list, * written out."""
    found: list[tuple[str | None, Expression]] = []
    for node in tree.expressions:
        star = node.this if isinstance(node, exp.Column) else node
        if isinstance(star, exp.Star):
            table = node.args.get("table") if isinstance(node, exp.Column) else None
            found += _starred(star, scope, None if table is None else name_of(table)[0])
        else:
            found.append(_selected(node, scope))
        if len(found) > _MOST_COLUMNS:
            raise ParameterError(f"A query within a question may have {_MOST_COLUMNS:,} columns; select fewer.")
    return found


def _starred(star: exp.Expression, scope: Scope, table: str | None) -> list[tuple[str | None, Expression]]:
    only(star, "except_", "replace")
    found = scope.columns(table)
    for node in star.args.get("except_") or []:
        name, quoted = name_of(node.this if isinstance(node, exp.Column) else node)
        known = match(name, found, quoted)
        if known is None:
            raise ParameterError(f"There is no column {name} to leave out; there are {', '.join(found)}.")
        del found[known]
    for node in star.args.get("replace") or []:
        called, of = _selected(node, scope)
        known = match(called or "", found, False)
        if known is None:
            raise ParameterError(f"There is no column {called} to replace; there are {', '.join(found)}.")
        found[known] = of
    return list(found.items())


def _selected(node: exp.Expression, scope: Scope) -> tuple[str | None, Expression]:
    name = None
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        name, node = name_of(node.args.get("alias"))[0], node.this
    if isinstance(node, (exp.Subquery, exp.Window)):
        raise refusal(node)
    if isinstance(node, exp.Column):
        only(node, "this", "table", "db", "catalog")
        plain, quoted = name_of(node.this)
        table = node.args.get("table")
        if scope.is_person(plain, None if table is None else name_of(table)[0], quoted):
            declared = scope.find(plain, None if table is None else name_of(table)[0], quoted)
            return name or plain, declared or PERSON
        return name or plain, scalar(node, scope)
    of = scalar(node, scope)
    infer(of, scope.facts)
    return name, of
