"""Tables by name, and JOIN: public tables that every row looks itself up in.

One public table may be joined several times, by aliases, and one through another (data to wards to buildings). Each row still
looks up at most one row of each, and so still counts once: a JOIN finds, for a row and what it found before, the public rows
whose columns equal given values, and the curator refuses a table in which these columns do not tell all rows apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression, columns_of
from discreet.plan.expressions.evaluate import infer
from discreet.plan.query import Join
from discreet.plan.sql.scalars import scalar
from discreet.plan.sql.scope import PERSON, Scope
from discreet.plan.sql.syntax import name_of, only, refusal
from discreet.plan.sql.tables.private import Selected, join_private

_HOW = "write JOIN regions ON data.region = regions.region, or JOIN regions USING (region)"


def read_joins(
    nodes: Sequence[exp.Expression],
    scope: Scope,
    before: tuple[Join, ...],
    views: Collection[str],
    derive: Callable[[object], tuple[str, Selected] | None],
    persons: Callable[[exp.Expression, Scope, str, bool, str], Scope | None],
) -> tuple[Scope, tuple[Join, ...]]:
    """What is in sight after all JOINs; those of a query within come first. ``views``: names that are no public table's;
    ``derive``: what a query, or the name of one, selects, and what it is called; ``persons``: the scope of one row a person with
    a private table joined to it."""
    joins = list(before)
    for node in nodes:
        query = derive(node.this) if scope.private else None
        if query is not None:
            linked = join_private(node, scope, "", False, *query)
        else:
            name, quoted, alias = read_table(node.this)
            join = persons if scope.people is not None else join_private if scope.private else None
            linked = None if join is None or name.lower() in views else join(node, scope, name, quoted, alias)
        if linked is not None:
            scope = linked
            continue
        public, scope = _join(node, scope, views, joins)
        joins.append(public)
    return scope, tuple(joins)


def move_conditions(tree: exp.Select) -> None:
    """``FROM data d, wards w WHERE d.ward = w.ward`` as ``FROM data d JOIN wards w ON d.ward = w.ward``: a row passes both, or
    neither."""
    where, nodes = tree.args.get("where"), tree.args.get("joins") or []
    names = [str(node.this.alias_or_name).lower() for node in nodes]
    for place, node in enumerate(nodes):
        if not isinstance(where, exp.Where) or any(value for part, value in node.args.items() if part != "this"):
            continue
        tests: list[Any] = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        moved = [test for test in tests if _looks_up(test, names[place], names[place:])]
        kept = [test for test in tests if test not in moved]
        if moved:
            node.set("on", exp.and_(*moved))
            where = exp.Where(this=exp.and_(*kept)) if kept else None
            tree.set("where", where)


def _looks_up(test: object, name: str, unseen: Collection[str]) -> bool:
    """Whether a condition compares a column of a table with what is in sight before it."""
    if not isinstance(test, exp.EQ):
        return False
    for one, other in ((test.this, test.args["expression"]), (test.args["expression"], test.this)):
        tables = {str(column.table).lower() for column in other.find_all(exp.Column)}
        if isinstance(one, exp.Column) and str(one.table).lower() == name and tables and not tables & {*unseen}:
            return True
    return False


def read_table(node: object) -> tuple[str, bool, str]:
    """Name, whether it was in quotes, and the name it goes by; a schema before it says nothing more."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        inside = node.this if isinstance(node, exp.Table) else node
        raise refusal(
            inside,
            "" if isinstance(inside, (exp.Subquery, exp.Select)) else "files and other tables cannot be asked; write FROM data",
        )
    only(node, "this", "alias", "db", "catalog")
    name, quoted = name_of(node.this)
    alias = node.args.get("alias")
    if alias is None:
        return name, quoted, name
    only(alias, "this")
    return name, quoted, name_of(alias.this)[0]


def _join(node: exp.Expression, scope: Scope, views: Collection[str], before: Sequence[Join]) -> tuple[Join, Scope]:
    only(node, "this", "side", "kind", "on", "using", "method")
    side, kind, method = (str(node.args.get(part) or "").upper() for part in ("side", "kind", "method"))
    if method or (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
        raise refusal(node, f"{method or side or kind} JOIN is not answered; {_HOW}")
    name, quoted, alias = read_table(node.this)
    within = scope.people.rows.joins if scope.people else ()
    public = [known for known in scope.schema.public if known not in {join.alias for join in (*before, *within)}]
    if name.lower() in views and scope.people is not None:
        raise refusal(node, f"{name} is a second query; make one row a person in one query, with sum(x) FILTER (WHERE ...)")
    if name.lower() in views:
        raise refusal(node, f"{name} is a query, and a JOIN takes a public table; join that, and put conditions into WHERE")
    if name.lower() == "data":
        raise refusal(node, "The private table is not joined with itself; ask about one row at a time")
    table = next((known for known in public if known == name or (not quoted and known.lower() == name.lower())), None)
    if table is None:
        known = f"there are {', '.join(public)}" if public else "none is declared; give public={'regions': ...} to the curator"
        raise ParameterError(f"There is no public table {name[:60]}; {known}.")
    if alias.lower() in {*scope.tables, *scope.derived}:
        raise ParameterError(f"Two tables go by the name {alias}; give one another alias.")
    mine, keep, again = scope, side == "LEFT", ""
    if table in {join.table for join in before}:
        again = _check_alias(table, alias, scope)
        scope = replace(scope, schema=scope.schema.aliased(table, again))
    called = again or table
    scope = scope.joined(alias, called, keep)
    pairs = [_using(one, mine, scope, called) for one in node.args.get("using") or []]
    if node.args.get("on"):
        pairs += [_pair(one, scope, called) for one in _equalities(node.args["on"])]
    if not pairs:
        raise refusal(node, f"A JOIN needs a condition; {_HOW}")
    for expression, column in pairs:
        theirs = scope.facts[f"{called}.{column}"].kind
        if infer(expression, scope.facts).kind != theirs:
            raise ParameterError(f"{expression} and {called}.{column} are of different types; join columns of one type.")
    return Join(table, tuple(pairs), keep, again), scope


def _check_alias(table: str, alias: str, scope: Scope) -> str:
    """The name that a public table goes by when it is joined again: no other table has it."""
    taken = {"data", *(name.lower() for name in (*scope.schema.public, *scope.schema.tables))}
    if not alias.isidentifier() or alias.lower() in taken:
        raise ParameterError(
            f"{table} is joined twice; the second time give it an alias that no other table has: JOIN {table} AS other ON ..."
        )
    return alias


def _using(node: object, before: Scope, scope: Scope, table: str) -> tuple[Expression, str]:
    name, quoted = name_of(node.this if isinstance(node, exp.Column) else node)
    mine = before.find(name, None, quoted)
    theirs = scope.schema.find(name, table=table, quoted=quoted)
    if mine is None or mine == PERSON or theirs is None:
        raise ParameterError(f"USING ({name}) needs that column in data and in {table}; {_HOW}.")
    return mine, theirs.split(".", 1)[1]


def _equalities(node: object) -> list[exp.Expression]:
    found: list[exp.Expression] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Paren):
            only(one, "this")
            waiting.append(one.this)
        elif isinstance(one, exp.And):
            only(one, "this", "expression")
            waiting += [one.args.get("expression"), one.this]
        elif isinstance(one, exp.EQ):
            found.append(one)
        else:
            raise refusal(one, f"A JOIN is by equality of a private expression with a public column; {_HOW}")
    return found


def _pair(node: exp.Expression, scope: Scope, table: str) -> tuple[Expression, str]:
    only(node, "this", "expression")
    sides = [scalar(node.this, scope), scalar(node.args.get("expression"), scope)]
    for mine, theirs in (sides, sides[::-1]):
        names = list(columns_of(mine))
        public = isinstance(theirs, Column) and theirs.name.startswith(f"{table}.")
        if public and names and not any(name.startswith(f"{table}.") for name in names):
            assert isinstance(theirs, Column)
            return mine, theirs.name.split(".", 1)[1]
    raise refusal(node, f"A JOIN compares private columns, or those of tables joined before it, with a column of {table}; {_HOW}")
