"""A SELECT statement as a query: its select list, keys and conditions.

HAVING and ORDER BY are expressions over the columns of the noisy result: aliases, keys and aggregates are in sight. An
aggregate, or a formula of aggregates, that is not selected is released beside those that are, and not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import Combined
from discreet.plan.aggregates.base import OfExpression, name_from
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, both, columns_of
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.query import Key, Order, Output, Query
from discreet.plan.sql.around import as_one
from discreet.plan.sql.derived import read_source
from discreet.plan.sql.formulas import is_formula, read_formula
from discreet.plan.sql.grouping import LEVELLED, Grouped, Item, in_order, read_group, read_grouping
from discreet.plan.sql.scalars import aggregates_in, is_total, scalar
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.synonyms import several
from discreet.plan.sql.syntax import name_of, only, refusal, unname
from discreet.plan.sql.tables.private import read_members
from discreet.schema.table import Schema

_OVER = (
    "Window functions over groups are sum(...) OVER () alone, of counts and sums; select the aggregate itself, AS n, and rank or "
    "compute with the noisy n, which is free"
)
_BESIDE = (
    "A query within a query is not answered beside aggregates; for a share of all groups write count(*) / sum(count(*)) OVER (), "
    "else ask both questions, and compute with their answers, which is free"
)
_PERSONS = "Which persons a question is about stands in its WHERE; write WHERE id IN (SELECT id FROM data WHERE ...)"
_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Paren)
_PARTS = ("with_", "distinct", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset")

_TABLES = re.compile(r"\b[^\W\d]\w*\.")


def read_select(tree: exp.Select, schema: Schema) -> Query:
    """The query that a statement means."""
    tree = as_one(tree, schema)
    only(tree, *_PARTS)
    source = read_source(tree, schema)
    scope, joins = source.scope, source.joins
    items, scope = _items(tree, scope)
    if not items:
        raise ParameterError("Nothing is selected; write SELECT count(*) FROM data.")
    _check_rows(tree.args.get("where"))
    tables = read_members(tree.args.get("where"), scope)
    where = _read_condition(tree.args.get("where"), scope, "WHERE takes a condition; write WHERE age >= 18.")
    where = both(source.where, where)
    grouped, levels = read_group(tree.args.get("group"), items, scope)
    grouped = _distinct(tree.args.get("distinct"), grouped, items)
    keys = tuple(_key(of, values, items, where, scope) for of, values in grouped)
    outputs = tuple(_output(item, scope) for item in items if item.key is None)
    _check_keys(items, keys)
    _check_names([key.name for key in keys] + [output.name for output in outputs])
    made = iter(outputs)
    by_key = {key.of: key.name for key in keys}
    selected = [next(made).name if item.key is None else by_key[item.key] for item in items]
    hidden: list[Output] = []
    after = results(scope, keys, outputs, hidden, margins=levels is not None)
    having = _read_condition(tree.args.get("having"), after, "HAVING takes a condition on the result; write HAVING n > 100.")
    order = _read_order(tree.args.get("order"), after, selected)
    limit, offset = _read_limit(tree.args.get("limit")), _read_offset(tree.args.get("offset"))
    people = scope.people
    outputs = (*outputs, *hidden)
    return Query(outputs, where, keys, joins, having, order, limit, offset, people, tables, levels)


def _items(tree: exp.Select, scope: Scope) -> tuple[list[Item], Scope]:
    """The select list; what it names is in sight of what comes after it, where no column has that name."""
    items: list[Item] = []
    for node in _written_out(tree.expressions):
        item = _item(node, scope)
        if item.name is not None:
            scope = replace(scope, named={**scope.named, item.name: item.key})
        items.append(item)
    return items, scope


def _written_out(nodes: Sequence[exp.Expression]) -> Iterator[exp.Expression]:
    """A select list in which a list of quantiles is as many entries, ``q_0_25`` and so on where it is called ``q``."""
    for node in nodes:
        alias = name_of(node.args.get("alias"))[0] if isinstance(node, exp.Alias) else None
        listed = several(node.this if isinstance(node, exp.Alias) else node)
        for name, one in listed:
            yield one if alias is None else exp.Alias(this=one, alias=exp.to_identifier(f"{alias}_{name}", quoted=True))
        if not listed:
            yield node


def _item(node: exp.Expression, scope: Scope) -> Item:
    name, node = unname(node)
    if isinstance(node, (exp.Star, exp.Subquery)):
        raise refusal(node)
    for window in node.find_all(exp.Window):
        if not is_total(window) and any(one is not window.this for one in window.find_all(exp.AggFunc)):
            raise refusal(window, _OVER)
    for query in node.find_all(exp.Subquery):
        raise refusal(query, _PERSONS if isinstance(query.parent, exp.In) else _BESIDE)
    if aggregates_in(node):
        return Item(name, node, None)
    if name is None and isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        plain, exact = name_of(node.this)
        name = scope.called(plain, str(node.table) or None, exact)
    return Item(name, node, scalar(node, scope))


def _distinct(node: object, grouped: Grouped, items: Sequence[Item]) -> Grouped:
    """SELECT DISTINCT of keys alone groups by them; of a grouped result that shows all its keys it says nothing new."""
    if node is None:
        return grouped
    assert isinstance(node, exp.Distinct)
    selected = [item.key for item in items]
    if node.args.get("on"):
        raise refusal(node, "DISTINCT ON would show single rows; write GROUP BY with count(*)")
    if not grouped and None not in selected:
        return [(key, None) for key in dict.fromkeys(selected) if key is not None]
    if any(of not in selected for of, _ in grouped):
        raise refusal(node, "DISTINCT compares noisy results, of which hardly two are equal; leave it out")
    return grouped


def _key(of: Expression, values: tuple[Value, ...] | None, items: Sequence[Item], where: Expression | None, scope: Scope) -> Key:
    names = [item.name for item in items if item.key == of]
    if len(names) > 1:
        raise ParameterError(f"{of} is selected twice; select every key once.")
    plain = of.name.rsplit(".", 1)[-1] if isinstance(of, Column) else name_from(str(of))
    if values is None:
        values = _told(of, where, scope)
    return Key((names and names[0]) or plain, of, values)


def _told(of: Expression, where: Expression | None, scope: Scope) -> tuple[Value, ...] | None:
    """The keys that WHERE allows, where no declaration lists them."""
    tests = where.arguments if isinstance(where, Call) and where.name == "and" else (where,)
    for test in tests:
        if not isinstance(test, Call) or test.name not in ("in", "=") or test.arguments[0] != of:
            continue
        if all(isinstance(one, Literal) for one in test.arguments[1:]) and listing(of, scope.facts) is None:
            return in_order(test.arguments[1:])
    return None


def _output(item: Item, scope: Scope) -> Output:
    found = read_formula(item.node, scope)
    plain = found.name
    if scope.derived and isinstance(found.aggregate, (OfExpression, Combined)):
        # named after what was written, and not after what that stands for
        plain = name_from(_TABLES.sub("", item.node.sql().lower()))
    return Output(plain if item.name is None else item.name, found.aggregate)


def _check_rows(where: object) -> None:
    if isinstance(where, exp.Where) and aggregates_in(where):
        raise ParameterError(
            "WHERE is about single rows, and an aggregate is about many; put a condition on it into HAVING, HAVING count(*) > 5."
        )


def _check_keys(items: Sequence[Item], keys: Sequence[Key]) -> None:
    for item in items:
        if item.key is not None and not any(True for _ in columns_of(item.key)):
            raise ParameterError(f"{item.key} is a constant; select an aggregate such as count(*).")
        if item.key is not None and all(key.of != item.key for key in keys):
            raise ParameterError(
                f"{item.key} alone would show the rows of single persons; write GROUP BY {item.key}, or an aggregate of it."
            )


def _check_names(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or len(name) > 200 or "." in name or not name.isprintable():
            raise ParameterError(f"{name[:40]!r} cannot name a column of the result; write AS n.")
        if name.lower() in seen:
            raise ParameterError(f"Two columns of the result are called {name}; give one another name with AS.")
        seen.add(name.lower())


def results(
    scope: Scope, keys: Sequence[Key], outputs: Sequence[Output], hidden: list[Output], *, margins: bool = False
) -> Scope:
    """The scope after noise: names of keys and outputs; what is selected may also be repeated in full, and aggregates that are
    not selected are added to what is hidden. Of ``margins``, GROUPING says which keys are added up over."""
    facts = Query((*outputs, *hidden), keys=tuple(keys)).result(scope.facts)
    names = tuple(name for name in facts if all(name != output.name for output in hidden))
    own = {key.name: scope.words[key.of.name] for key in keys if isinstance(key.of, Column) and key.of.name in scope.words}

    def named(node: exp.Expression) -> Expression | None:
        if node.args.get("table") is not None or not isinstance(node.this, exp.Identifier):
            return None
        name, exact = name_of(node.this)
        found = [known for known in names if known == name or (not exact and known.lower() == name.lower())]
        return Column(found[0]) if found else None

    def repeated(node: object) -> Expression | None:
        try:
            meant = scalar(node, scope)
        except ParameterError:
            return None
        return next((Column(key.name) for key in keys if key.of == meant), None)

    def computed(node: exp.Expression) -> Expression:
        meant = read_formula(node, scope)
        for output in (*outputs, *hidden):
            if output.aggregate == meant.aggregate:
                return Column(output.name)
        name = meant.name
        while any(name.lower() == taken.lower() for taken in facts):
            name += "_"
        hidden.append(Output(name, meant.aggregate, shown=False))
        facts[name] = meant.aggregate.result(scope.facts)
        return Column(name)

    def key_of(node: exp.Expression) -> Expression | None:
        found = named(node) or repeated(node)
        return found if margins and found in [Column(key.name) for key in keys] else None

    def special(node: object) -> Expression | None:
        if isinstance(node, LEVELLED):
            return read_grouping(node, key_of)
        if isinstance(node, exp.Expression) and not isinstance(node, _CONDITIONS) and is_formula(node):
            return computed(node)
        if isinstance(node, exp.Column):
            found = named(node) or repeated(node)
            if found is None:
                raise ParameterError(
                    f"HAVING and ORDER BY see the columns of the result, {', '.join(names)}, and not {str(node.name)[:60]}; "
                    f"put a condition on rows into WHERE{scope.in_quotes(str(node.name), bool(node.this.args.get('quoted')))}."
                )
            return found
        if isinstance(node, (exp.Func, exp.Binary)) and not isinstance(node, exp.Connector):
            return repeated(node)
        return None

    return Scope(scope.schema, {}, facts, special=special, words=own)


def _read_condition(node: object, scope: Scope, otherwise: str) -> Expression | None:
    """What WHERE or HAVING asks for; a sentence where that is neither true nor false."""
    if node is None or (isinstance(node, exp.Where) and node.this is None):
        return None
    assert isinstance(node, (exp.Having, exp.Where))
    only(node, "this")
    found = scalar(node.this, scope)
    if infer(found, scope.facts).kind != "boolean":
        raise ParameterError(otherwise)
    return found


def _read_order(node: object, scope: Scope, selected: Sequence[str]) -> tuple[Order, ...]:
    """The order of the result; a number n is the n-th selected column."""
    if node is None:
        return ()
    if not isinstance(node, exp.Order):
        raise refusal(node)
    only(node, "expressions")
    found: list[Order] = []
    for one in node.expressions:
        found += _ordered(one, scope, selected)
    return tuple(found)


def _ordered(node: exp.Expression, scope: Scope, selected: Sequence[str]) -> list[Order]:
    if not isinstance(node, exp.Ordered):
        raise refusal(node)
    only(node, "this", "desc", "nulls_first")
    descending, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    if isinstance(node.this, exp.Var) and str(node.this.this).upper() == "ALL":
        return [Order(Column(name), descending, first) for name in selected]
    number = node.this
    if isinstance(number, exp.Literal) and not number.is_string:
        place = str(number.this)
        if not place.isdecimal() or not 1 <= len(place) < 6 or not 1 <= int(place) <= len(selected):
            raise ParameterError(f"ORDER BY {place[:20]} names no selected column; there are {len(selected)}.")
        by: Expression = Column(selected[int(place) - 1])
    else:
        by = scalar(number, scope)
    if not any(True for _ in columns_of(by)):
        raise ParameterError("ORDER BY takes a column of the result; write ORDER BY n DESC.")
    infer(by, scope.facts)
    return [Order(by, descending, first)]


def _read_limit(node: object) -> int | None:
    """How many rows of the result are shown: LIMIT 10, FETCH FIRST 10 ROWS ONLY, or TOP 10."""
    if node is None:
        return None
    assert isinstance(node, (exp.Limit, exp.Fetch))
    part = "expression" if isinstance(node, exp.Limit) else "count"
    only(node, part, "direction", "limit_options")
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise refusal(node, "A part of the result is chosen by a number of rows; write LIMIT 10, without percent and ties")
    if node.args.get(part) is None and isinstance(node, exp.Fetch):
        return 1
    return _whole(node.args.get(part), "LIMIT")


def _read_offset(node: object) -> int:
    """How many rows of the result are left out before."""
    if node is None:
        return 0
    assert isinstance(node, exp.Offset)
    only(node, "expression")
    return _whole(node.args.get("expression"), "OFFSET")


def _whole(node: object, what: str) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or not str(node.this).isdecimal() or len(str(node.this)) > 18:
        raise ParameterError(f"{what} takes a whole number; write {what} 10.")
    return int(str(node.this))
