"""A query around a grouped one, as one query: what it does, it does with the noisy result.

``SELECT ward, n FROM (SELECT ward, count(*) AS n FROM data GROUP BY ward) WHERE n > 10 ORDER BY n`` is the query within, with
HAVING and ORDER BY: the syntax tree is rewritten, and the one query that comes out is read, checked and priced as any other.
Names that the select list gives, places in it and GROUP BY ALL are written out first, because the select list changes; where a
name would then mean something else, nothing is rewritten, and the question is refused as one that groups within.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.sql.scalars import aggregates_in, is_aggregate
from discreet.plan.sql.scope import match
from discreet.plan.sql.syntax import name_of
from discreet.schema.table import Schema
from discreet.schema.units import Person

_MOST = 2**13  # nodes of what stands for names
_BEFORE = (
    "A condition on groups stands around a total of all groups, and not beside it, where it would leave out groups first: write "
    "SELECT * FROM (SELECT ward, count(*) AS n, sum(count(*)) OVER () AS total FROM data GROUP BY ward) WHERE n > 10."
)
_AROUND = ("with_", "expressions", "from_", "where", "order", "limit", "offset")  # parts of a query that only refines


def as_one(tree: exp.Select, schema: Schema) -> exp.Select:
    """One query for one around a grouped query; the same query where it is none."""
    _check_totals(tree)
    clauses = [tree.args[part] for part in ("where", "order") if tree.args.get(part)]
    refines = all(part in _AROUND for part, value in tree.args.items() if value)
    if not refines or any(map(aggregates_in, (*tree.expressions, *clauses))):
        return tree
    inner, alias, names = _within(tree)
    if inner is None or (inner.args.get("with_") and tree.args.get("with_")):
        return tree
    held = inner.copy()
    if (with_ := tree.args.get("with_")) is not None:
        seen = [one.copy() for one in with_.expressions[: _place(tree)]]
        held.set("with_", exp.With(**{**with_.args, "expressions": seen}) if seen else None)
    held.meta.update(tree.meta)
    inner = as_one(held, schema)
    totals = any(node.find(exp.Window) for node in (*tree.expressions, *clauses))
    later = totals or any(tree.args.get(part) for part in ("where", "order", "limit", "offset"))
    if totals and _is_grouped(inner, schema) and (tree.args.get("where") or inner.args.get("having")):
        raise ParameterError(_BEFORE)
    if not _is_grouped(inner, schema) or ((inner.args.get("limit") or inner.args.get("offset")) and later):
        return tree
    columns = _columns(inner, names)
    if columns is None or not _write_out(inner, schema):
        return tree
    found = _Merging(columns, alias).merged(tree, inner)
    return tree if _is_captured(found, columns) else found


def _check_totals(tree: exp.Select) -> None:
    """Refuse totals of groups where HAVING leaves out groups before they are added up: those of all groups would be others."""
    having, rest = tree.args.get("having"), [*tree.expressions, tree.args.get("order")]
    if having is not None and any(node.find(exp.Window) for node in (having, *rest) if isinstance(node, exp.Expression)):
        raise ParameterError(_BEFORE)


def _within(tree: exp.Select) -> tuple[exp.Select | None, str, tuple[str, ...]]:
    """The query after FROM, what it is called, and names for its columns."""
    source = tree.args.get("from_")
    node = source.this if isinstance(source, exp.From) else None
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
        alias = node.args.get("alias")
        return node.this, str(node.alias), tuple(str(one.name) for one in (alias.args.get("columns") or [] if alias else []))
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
        return None, "", ()
    with_ = tree.args.get("with_")
    for view in reversed(with_.expressions if isinstance(with_, exp.With) and not with_.args.get("recursive") else []):
        if str(view.alias).lower() == node.name.lower() and isinstance(view.this, exp.Select):
            named = tuple(str(one.name) for one in view.args["alias"].args.get("columns") or [])
            return view.this, str(node.alias or node.name), named
    return None, "", ()


def _place(tree: exp.Select) -> int | None:
    """How many of the queries in WITH the one after FROM sees: those before it, all where it has no name there."""
    names = [str(view.alias).lower() for view in tree.args["with_"].expressions]
    node = tree.args["from_"].this
    return names.index(node.name.lower()) if isinstance(node, exp.Table) and node.name.lower() in names else None


def _is_grouped(inner: exp.Select, schema: Schema) -> bool:
    """Whether a query makes a noisy result, and not one row a person."""
    group = inner.args.get("group")
    if isinstance(schema.unit, Person) and isinstance(group, exp.Group):
        id = schema.unit.id.lower()
        if any(isinstance(one, exp.Column) and one.name.lower() in (id, "person") for one in group.expressions):
            return False
    return bool(group) or any(map(aggregates_in, inner.expressions))


def _columns(inner: exp.Select, names: tuple[str, ...]) -> dict[str, exp.Expression] | None:
    """What the names of the query within stand for; None where one of its columns has none that could be used."""
    found: dict[str, exp.Expression] = {}
    for place, node in enumerate(inner.expressions):
        name = names[place] if place < len(names) else str(node.alias_or_name)
        name = name or str(place)  # nobody can write it, but * means it
        if isinstance(node, exp.Star) or match(name, found, False) is not None:
            return None
        found[name] = node.this if isinstance(node, exp.Alias) else node
    return found if len(names) <= len(found) else None


def _write_out(inner: exp.Select, schema: Schema) -> bool:
    """What its select list says, in place of names, places and ALL that refer to it; False where it has no such place."""
    items = [node.this if isinstance(node, exp.Alias) else node for node in inner.expressions]
    named = {str(node.alias).lower(): node.this for node in inner.expressions if isinstance(node, exp.Alias)}
    columns = {name.lower().rsplit(".", 1)[-1] for table in (schema.columns, *schema.public.values()) for name in table}
    within = _within(inner)[0]
    columns |= {str(node.alias_or_name).lower() for node in (within.expressions if within else [])}
    group = inner.args.get("group")
    if isinstance(group, exp.Group):
        keys = [one for one in items if not aggregates_in(one)] if group.args.get("all") else []
        for one in group.expressions:
            place = int(one.name) if isinstance(one, exp.Literal) and not one.is_string and one.name.isdecimal() else None
            if place is not None and not 1 <= place <= len(items):
                return False
            keys.append(one if place is None else items[place - 1])
        plain = {name: node for name, node in named.items() if name not in columns}
        inner.set("group", exp.Group(**{**group.args, "all": None, "expressions": [_without_names(one, plain) for one in keys]}))
        if isinstance(where := inner.args.get("where"), exp.Where):
            inner.set("where", _without_names(where, plain))
    for part in ("having", "order"):
        if isinstance(node := inner.args.get(part), exp.Expression):
            inner.set(part, _without_names(node, named))
    ordered = inner.args.get("order")
    return not isinstance(ordered, exp.Order) or not any(
        isinstance(one.this, (exp.Literal, exp.Var)) for one in ordered.expressions
    )


def _without_names(node: exp.Expression, named: Mapping[str, exp.Expression]) -> exp.Expression:
    """A copy with what names stand for; within an aggregate they are columns."""
    top = exp.Paren(this=node.copy())
    for one in list(top.walk(prune=is_aggregate)):
        if isinstance(one, exp.Expression) and _is_name(one) and not one.args.get("table") and one.name.lower() in named:
            one.replace(named[one.name.lower()].copy())
    found: exp.Expression = top.this.pop()
    return found


def _is_captured(found: exp.Select, columns: Mapping[str, exp.Expression]) -> bool:
    """Whether a name of the result is that of a column within which it does not stand for: HAVING would mean the wrong one."""
    outside = {
        one.name.lower()
        for node in columns.values()
        for one in node.walk(prune=is_aggregate)
        if isinstance(one, exp.Column) and not is_aggregate(one)
    }
    names = [node for node in found.expressions if isinstance(node, exp.Alias) and str(node.alias).lower() in outside]
    return any(not _is_name(node.this) or node.this.name.lower() != str(node.alias).lower() for node in names)


class _Merging:
    """Writes what the names of the query within stand for in their places, and counts how much that is."""

    def __init__(self, columns: Mapping[str, exp.Expression], alias: str) -> None:
        self._columns, self._alias, self._copied = columns, alias, 0
        self._sizes = {name: sum(1 for _ in node.walk()) for name, node in columns.items()}

    def merged(self, tree: exp.Select, inner: exp.Select) -> exp.Select:
        expressions: list[exp.Expression] = []
        for node in tree.expressions:
            star = node.this if isinstance(node, exp.Column) else node
            if isinstance(star, exp.Star) and not any(star.args.values()):
                expressions += [self._named(name) for name in self._columns]
            elif isinstance(node, exp.Column):
                expressions.append(self._named(self._find(node)))
            else:
                expressions.append(self._replaced(node))
        inner.set("expressions", expressions)
        if isinstance(where := tree.args.get("where"), exp.Where):
            test, before = self._replaced(where.this), inner.args.get("having")
            both = exp.and_(before.this, test, copy=False) if isinstance(before, exp.Having) else test
            inner.set("having", exp.Having(this=both))
        shown = {str(node.alias).lower() for node in tree.expressions if isinstance(node, exp.Alias)}
        for part in ("order", "limit", "offset"):
            if isinstance(node := tree.args.get(part), exp.Expression):
                inner.set(part, self._ordered(node, shown) if part == "order" else self._replaced(node))
        return inner

    def _named(self, name: str) -> exp.Expression:
        if name.isdecimal():
            return self._copy(name)
        return exp.Alias(this=self._copy(name), alias=exp.to_identifier(name, quoted=True))

    def _replaced(self, node: exp.Expression) -> exp.Expression:
        return node.copy().transform(
            lambda one: exp.Paren(this=self._copy(self._find(one))) if _is_name(one) else one, copy=False
        )

    def _ordered(self, node: exp.Expression, shown: set[str]) -> exp.Expression:
        """ORDER BY: a name alone is that of the result, where it has one."""

        def is_shown(one: exp.Expression) -> bool:
            return _is_name(one.this) and not one.this.args.get("table") and one.this.name.lower() in shown

        made = [one.copy() if is_shown(one) else self._replaced(one) for one in node.expressions]
        return exp.Order(**{**node.args, "expressions": made})

    def _find(self, node: exp.Expression) -> str:
        name, quoted = name_of(node.this)
        table = str(node.args["table"].name) if node.args.get("table") else self._alias
        found = match(name, self._columns, quoted) if table.lower() == self._alias.lower() else None
        if found is None:
            there = ", ".join(name for name in self._columns if not name.isdecimal())
            raise ParameterError(f"There is no column {name[:60]}; the query within has {there}.")
        return found

    def _copy(self, name: str) -> exp.Expression:
        self._copied += self._sizes[name]
        if self._copied > _MOST:
            raise ParameterError(
                f"With every name written out this question has more than {_MOST:,} terms; compute less from one step to the "
                "next."
            )
        return self._columns[name].copy()


def _is_name(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier)
