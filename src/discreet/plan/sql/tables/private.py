"""Private tables about the same persons in one question: which are read, and how they are joined by the person's id.

``JOIN visits USING (pid)``, ``ON patients.pid = visits.pid``, both also LEFT, and of a query that selects from one table; ``pid
IN (SELECT pid FROM visits WHERE ...)``, also with ``GROUP BY pid HAVING ...``, ``EXISTS (SELECT 1 FROM visits WHERE visits.pid =
patients.pid AND ...)`` and their opposites, each of them a condition of its own that WHERE connects with AND. Anything else would
make rows that belong to two persons, and is refused (``plan.private``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, columns_of, conjuncts
from discreet.plan.expressions.evaluate import infer
from discreet.plan.private import How, Private
from discreet.plan.query import Query
from discreet.plan.sql.people import read_people
from discreet.plan.sql.scalars import scalar
from discreet.plan.sql.scope import PERSON, Scope, of_table
from discreet.plan.sql.syntax import name_of, only, refusal
from discreet.schema.table import Schema
from discreet.schema.units import Person


def begin(name: str, quoted: bool, alias: str, schema: Schema) -> Scope:
    """The scope of the table after FROM, of several."""
    table = find_private(name, quoted, schema)
    if table is None:
        raise ParameterError(f"There is no private table {name[:60]!r}; write FROM {' or FROM '.join(schema.tables)}.")
    return replace(of_table(schema, table, alias), private=(private_of(schema, table, "first"),))


@dataclass(frozen=True)
class Selected:
    """A query that selects from a private table, and is joined: what it calls columns of that table, and which rows it keeps."""

    scope: Scope
    columns: Mapping[str, Expression]
    where: Expression | None

    def table(self, unit: Person, alias: str) -> str:
        """The one private table that it selects from, with the id of persons."""
        if self.scope.people is not None or len(self.scope.private) != 1:
            raise ParameterError(
                f"{alias} is a query, and a query that is joined selects from one private table and filters its rows; put its "
                "other conditions into WHERE, or join the tables themselves. One row a person comes first: FROM (SELECT "
                f"{unit.id}, ... GROUP BY {unit.id}) AS {alias} JOIN ..."
            )
        table = self.scope.private[0].table
        id = next((of for name, of in self.columns.items() if name.lower() == unit.id.lower()), None)
        if id not in (PERSON, Column(f"{table}.{unit.id}")):
            raise ParameterError(f"{alias} is joined by {unit.id}, which it does not select; write SELECT {unit.id}, ... in it.")
        return table


def join_private(
    node: exp.Expression, scope: Scope, name: str, quoted: bool, alias: str, selected: Selected | None = None
) -> Scope | None:
    """The scope with a private table, or with a query that selects from one, joined by the person's id; None for others."""
    unit = person_of(scope)
    table = find_private(name, quoted, scope.schema) if selected is None else selected.table(unit, alias)
    if table is None:
        return None
    how = side_of(node, table, unit)
    if any(one.table == table for one in scope.private):
        raise ParameterError(
            f"{table} is joined with itself, which is not answered; for persons that have such a row write WHERE {unit.id} IN "
            f"(SELECT {unit.id} FROM {table} WHERE ...)."
        )
    if alias.lower() in {*scope.tables, *scope.derived}:
        raise ParameterError(f"Two tables go by the name {alias}; give one another alias.")
    private = private_of(scope.schema, table, how)
    linked = scope.linked(alias, private)
    if selected is not None:
        _check_kept(selected.columns, alias, left=how == "left")
        linked = replace(linked, derived={**linked.derived, alias.lower(): dict(selected.columns)})
    tests = beside_id(node, scope, linked, table, alias)
    mine = of_table(scope.schema, table, alias)
    kept = [] if selected is None or selected.where is None else [selected.where]
    private = replace(private, where=all_of([*kept, *(own_condition(one, mine, linked) for one in tests)], mine))
    return replace(linked, private=(*scope.private, private))


def beside_id(node: exp.Expression, scope: Scope, linked: Scope, table: str, alias: str) -> list[exp.Expression]:
    """The conditions of a JOIN beside equality of the person's id, without which it is refused; ``linked``: with its table."""
    unit = person_of(scope)
    using = [name_of(one.this if isinstance(one, exp.Column) else one) for one in node.args.get("using") or []]
    strange = [one for one, _ in using if one.lower() != unit.id.lower()]
    by_id = bool(using) and not strange and all(scope.is_person(one, None, quoted) for one, quoted in using)
    tests: list[exp.Expression] = []
    for one in _conjuncts(node.args.get("on")):
        if _pair(one, linked) in ((alias.lower(), ""), ("", alias.lower())):
            by_id = True
        else:
            tests.append(one)
    if strange or not by_id:
        raise ParameterError(
            f"Private tables are joined by {unit.id} only, so that every row belongs to one person; write JOIN {table} USING "
            f"({unit.id}), and put further conditions into WHERE."
        )
    return tests


def side_of(node: exp.Expression, table: str, unit: Person) -> How:
    """How a table is joined; refused are ways that make rows of nobody."""
    only(node, "this", "side", "kind", "on", "using")
    side, kind = (str(node.args.get(part) or "").upper() for part in ("side", "kind"))
    if (side, kind) not in (("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")):
        raise refusal(node, f"{side or kind} JOIN is not answered; write JOIN {table} USING ({unit.id}), or LEFT JOIN")
    return "left" if side == "LEFT" else "inner"


def _check_kept(columns: Mapping[str, Expression], alias: str, *, left: bool) -> None:
    """Refuse to compute in a query that is joined LEFT: where it has no row, its columns are missing, whatever is computed."""
    strange = next((name for name, of in columns.items() if not isinstance(of, Column)), None)
    if left and strange is not None:
        raise ParameterError(
            f"{strange} is computed in {alias}, which is joined LEFT and need not have a row; select columns there, and compute "
            "around it."
        )


def link(name: str, scope: Scope, *, left: bool) -> Scope:
    """The same for a table that is named in Python: joined by the person's id, whatever else is asked."""
    table = find_private(name, False, scope.schema)
    if table is None or any(one.table == table for one in scope.private):
        others = [one for one in scope.schema.tables if all(one != known.table for known in scope.private)]
        raise ParameterError(f"{name[:60]} cannot be joined here; there is {', '.join(others) or 'no other private table'}.")
    return scope.linked(table, private_of(scope.schema, table, "left" if left else "inner"))


def read_members(where: object, scope: Scope) -> tuple[Private, ...]:
    """The private tables of a question: those that are joined, and those that WHERE asks about a row's person. The conditions
    that do so are taken out of the tree."""
    if not isinstance(where, exp.Where) or not isinstance(scope.schema.unit, Person):
        return scope.private
    tests = _conjuncts(where.this)
    found = [(one, _member(one, scope)) for one in tests]
    members = tuple(member for _, member in found if member is not None)
    rest = [one for one, member in found if member is None]
    if any(_asks(inside) for one in rest for inside in one.walk()):
        raise ParameterError(
            "Whether a person has rows is asked by a condition of its own, which AND connects with the others of WHERE, and not "
            "within OR, CASE or NOT (...); ask two questions, or put the condition first."
        )
    if not members:
        return scope.private
    if scope.people is not None:
        raise ParameterError("Whether a person has rows is asked in the query within, before GROUP BY; put the condition there.")
    where.set("this", exp.and_(*rest, copy=False) if rest else None)
    return (*(scope.private or (Private("data", scope.schema.unit.id),)), *members)


def check_present(table: str, scope: Scope) -> bool:
    """Refuse to ask for the persons of a table that need not have a row; else true."""
    if any(one.table == table and one.how == "left" for one in scope.private):
        raise ParameterError(
            f"After LEFT JOIN {table} a row need not have a person there; write JOIN {table} for persons with rows in it, "
            "or the id of the first table."
        )
    return True


def find_private(name: str, quoted: bool, schema: Schema) -> str | None:
    """The private table that a name means; None where there is none."""
    return next((one for one in schema.tables if one == name or (not quoted and one.lower() == name.lower())), None)


def private_of(schema: Schema, table: str, how: How) -> Private:
    """A private table that a question reads in some way, with the rows of a person that it brings."""
    assert isinstance(schema.unit, Person)
    return Private(table, schema.unit.id, how, schema.tables.get(table, 1) if how not in ("semi", "anti") else 1)


def _asks(node: object) -> bool:
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def person_of(scope: Scope) -> Person:
    """The unit of a question about persons."""
    assert isinstance(scope.schema.unit, Person)
    return scope.schema.unit


def _conjuncts(node: object) -> list[exp.Expression]:
    """The conditions that AND connects, in their order."""
    if isinstance(node, exp.Paren):
        only(node, "this")
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.args.get("expression"))]
    return [node] if isinstance(node, exp.Expression) else []


def _id_of(node: object, scope: Scope) -> str | None:
    """The alias of the table whose person's id a node is, "" where none is named; None for anything else."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    only(node, "this", "table", "db", "catalog")
    name, quoted = name_of(node.this)
    table = node.args.get("table")
    alias = "" if table is None else name_of(table)[0].lower()
    return alias if scope.is_person(name, alias or None, quoted) else None


def _pair(node: exp.Expression, scope: Scope) -> tuple[str, str] | None:
    """Of an equality of two ids of persons: the newest of both tables by its alias, beside "" for any other."""
    if not isinstance(node, exp.EQ):
        return None
    sides = [_id_of(node.this, scope), _id_of(node.args.get("expression"), scope)]
    newest = list(scope.tables)[-1]
    if not all(sides) or sides.count(newest) != 1:  # a name without a table would be the newest's own
        return None
    for other in sides:
        if other and other != newest:
            check_present(scope.tables.get(other, ""), scope)
    return ("", newest) if sides[1] == newest else (newest, "")


def own_condition(node: exp.Expression, mine: Scope, whole: Scope) -> Expression:
    """A condition on the rows of one table."""
    found = scalar(node, whole)
    if not {*columns_of(found)} <= {*mine.facts}:
        table = next(iter(mine.tables.values()))
        raise ParameterError(
            f"Beside the person's id, ON may have conditions on rows of {table} only, and {found} reads other tables; put it "
            "into WHERE."
        )
    return found


def all_of(tests: Sequence[Expression], scope: Scope) -> Expression | None:
    """One condition of several on the rows of a table; None of none."""
    parts = tuple(part for test in tests for part in conjuncts(test))
    if not parts:
        return None
    found = parts[0] if len(parts) == 1 else Call("and", parts)
    if infer(found, scope.facts).kind != "boolean":
        raise ParameterError("Rows are chosen by a condition that is true or false; write for example cost > 100.")
    return found


def _member(node: exp.Expression, scope: Scope) -> Private | None:
    """What a condition asks about the person of a row, where it does."""
    how: How = "semi"
    while isinstance(node, (exp.Not, exp.Paren)):
        how = ("anti" if how == "semi" else "semi") if isinstance(node, exp.Not) else how
        node = node.this
    if isinstance(node, exp.Exists):
        only(node, "this")
        return _exists(node.this, how, scope)
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        only(node, "this", "query")
        return _in(node.this, node.args["query"], how, scope)
    if isinstance(node, exp.Is) and isinstance(node.args.get("expression"), exp.Null):
        return _present(node.this, "anti" if how == "semi" else "semi", scope)
    return None


def _present(node: object, how: How, scope: Scope) -> Private | None:
    """``visits.pid IS NULL`` after LEFT JOIN visits: no row of the person is there."""
    alias = _id_of(node, scope)
    left = next((one for one in scope.private if alias and one.table == scope.tables.get(alias) and one.how == "left"), None)
    return None if left is None else replace(left, how=how, most=1)


def _in(left: object, query: object, how: How, scope: Scope) -> Private:
    unit = person_of(scope)
    select = _select(query)
    inner, table = _inner(select, scope, "group", "having")
    chosen = [one.this if isinstance(one, exp.Alias) else one for one in select.expressions]
    if _id_of(left, scope) is None or len(chosen) != 1 or _id_of(chosen[0], inner) is None:
        raise ParameterError(
            f"A query within IN asks about persons, by {unit.id} on both sides; write {unit.id} IN (SELECT {unit.id} FROM "
            f"{table} WHERE ...). Else IN takes constants: x IN (1, 2)."
        )
    alias = _id_of(left, scope)
    if alias:
        check_present(scope.tables.get(alias, ""), scope)
    if select.args.get("group") or select.args.get("having"):
        return _grouped(select, inner, table, how)
    tests = _conjuncts(_where(select))
    return replace(private_of(scope.schema, table, how), where=all_of([scalar(one, inner) for one in tests], inner))


def _grouped(select: exp.Select, inner: Scope, table: str, how: How) -> Private:
    """``IN (SELECT pid FROM visits GROUP BY pid HAVING count(*) > 2)``: persons by what is made of their rows."""
    unit, own = person_of(inner), private_of(inner.schema, table, "first")
    if not select.args.get("group"):
        raise ParameterError(f"HAVING is about what is made of a person's rows; write GROUP BY {unit.id} before it.")
    made, kept = read_people(select, inner, Query((), tables=(own,) if inner.schema.tables else ()), "persons")
    assert made.people is not None
    return Private(table, unit.id, how, 1, made.people.rows.where, made.people.traits if kept else (), kept)


def _exists(query: object, how: How, scope: Scope) -> Private:
    unit = person_of(scope)
    select = _select(query)
    inner, table = _inner(select, scope)
    alias = next(iter(inner.tables))
    both = replace(scope, tables={**{name: of for name, of in scope.tables.items() if name != alias}, alias: table})
    tests, linked = [], False
    for one in _conjuncts(_where(select)):
        if _pair(one, both) is not None:
            linked = True
        else:
            tests.append(one)
    if not linked:
        outer = next(iter(scope.tables))
        raise ParameterError(
            f"EXISTS asks about the person of a row: it needs {alias}.{unit.id} = {outer}.{unit.id} among its conditions, "
            "connected by AND, and both tables under names of their own."
        )
    return replace(private_of(scope.schema, table, how), where=all_of([scalar(one, inner) for one in tests], inner))


def _select(query: object) -> exp.Select:
    while isinstance(query, exp.Subquery):
        only(query, "this")
        query = query.this
    if not isinstance(query, exp.Select):
        raise refusal(query)
    return query


def _inner(select: exp.Select, scope: Scope, *more: str) -> tuple[Scope, str]:
    """The scope of a query that asks about persons, and its table; ``more``: parts that it may have beside WHERE."""
    unit, distinct = person_of(scope), select.args.get("distinct")
    if distinct is not None:
        only(distinct)
    for part, value in select.args.items():
        if value and part not in ("expressions", "from_", "where", "distinct", *more):
            what = part.strip("_").upper()
            raise ParameterError(
                f"A query that asks about persons reads one table: SELECT {unit.id} FROM ... WHERE ...; it has no {what}. "
                "Connect several such conditions with AND."
            )
    source = select.args.get("from_")
    table = source.this if isinstance(source, exp.From) else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise refusal(table if isinstance(table, exp.Expression) else select)
    only(table, "this", "alias", "db", "catalog")
    name, quoted = name_of(table.this)
    if name.lower() in scope.views and not table.args.get("db"):
        raise refusal(table, f"{name} is a query, and persons are asked about in a private table; write its conditions there")
    known = find_private(name, quoted, scope.schema) if scope.schema.tables else ("data" if name.lower() == "data" else None)
    if known is None:
        listed = ", ".join(scope.schema.tables or ("data",))
        raise ParameterError(f"There is no private table {name[:60]!r} to ask about persons in; there is {listed}.")
    alias = table.args.get("alias")
    return of_table(scope.schema, known, name if alias is None else name_of(alias.this)[0]), known


def _where(select: exp.Select) -> object:
    where = select.args.get("where")
    return where.this if isinstance(where, exp.Where) else None
