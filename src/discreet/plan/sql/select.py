"""A SELECT statement as a query: its select list, keys and conditions.

HAVING and ORDER BY are expressions over the columns of the noisy result: aliases, keys and aggregates are in sight. An
aggregate, or a formula of aggregates, that is not selected is released beside those that are, and not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates.base import name_from
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, columns_of, quoted
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.query import Key, Order, Output, Query
from discreet.plan.sql.formulas import is_formula, read_formula
from discreet.plan.sql.scalars import aggregates_in, scalar
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import name_of, only, refusal
from discreet.plan.sql.tables import read_tables
from discreet.schema.table import Schema

__all__ = ["read_select"]

_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Paren)
_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit")


@dataclass(frozen=True)
class _Item:
    """One entry of the select list: an aggregate, or what should be a key."""

    name: str | None
    node: exp.Expression
    key: Expression | None  # None: an aggregate


def read_select(tree: exp.Select, schema: Schema) -> Query:
    """The query that a statement means."""
    only(tree, *_PARTS)
    scope, joins = read_tables(tree, schema)
    items = [_item(node, scope) for node in tree.expressions]
    if not items:
        raise ParameterError("Nothing is selected; write SELECT count(*) FROM data.")
    _check_rows(tree.args.get("where"))
    where = _read_condition(tree.args.get("where"), scope, "WHERE takes a condition; write WHERE age >= 18.")
    grouped = _group(tree.args.get("group"), items, scope)
    keys = tuple(_key(of, values, items, where, scope) for of, values in grouped)
    outputs = tuple(_output(item, scope) for item in items if item.key is None)
    _check_keys(items, keys)
    _check_names([key.name for key in keys] + [output.name for output in outputs])
    if not outputs:
        raise ParameterError("Only keys are selected; select an aggregate too, such as count(*) AS n.")
    made = iter(outputs)
    by_key = {key.of: key.name for key in keys}
    selected = [next(made).name if item.key is None else by_key[item.key] for item in items]
    hidden: list[Output] = []
    after = _results(scope, keys, outputs, hidden)
    having = _read_condition(tree.args.get("having"), after, "HAVING takes a condition on the result; write HAVING n > 100.")
    order = _read_order(tree.args.get("order"), after, selected)
    return Query((*outputs, *hidden), where, keys, joins, having, order, _read_limit(tree.args.get("limit")))


def _item(node: exp.Expression, scope: Scope) -> _Item:
    name = None
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        name, node = name_of(node.args.get("alias"))[0], node.this
    while isinstance(node, exp.Paren):
        only(node, "this")
        node = node.this
    if isinstance(node, (exp.Star, exp.Subquery)):
        raise refusal(node)
    if aggregates_in(node):
        return _Item(name, node, None)
    return _Item(name, node, scalar(node, scope))


def _group(node: object, items: Sequence[_Item], scope: Scope) -> list[tuple[Expression, tuple[Value, ...] | None]]:
    """The keys in order, each once; ``key IN (...)`` for a selected key lists the keys to show."""
    if node is None:
        return []
    assert isinstance(node, exp.Group)
    plain = [str(item.key) for item in items if item.key is not None]
    if node.args.get("all") and plain:
        raise ParameterError(f"GROUP BY ALL is not answered; name the keys: GROUP BY {', '.join(plain)}.")
    only(node, "expressions")
    selected = [item.key for item in items]
    found: dict[Expression, tuple[Value, ...] | None] = {}
    for one in node.expressions:
        of, values = _grouped(one, items, scope), None
        if isinstance(of, Call) and of.name == "in" and of not in selected and of.arguments[0] in selected:
            infer(of, scope.facts)
            values, of = _sorted(of.arguments[1:]), of.arguments[0]
        if not any(True for _ in columns_of(of)):
            raise ParameterError("GROUP BY takes columns or expressions over them; write GROUP BY region.")
        infer(of, scope.facts)
        found[of] = values
    return list(found.items())


def _grouped(node: exp.Expression, items: Sequence[_Item], scope: Scope) -> Expression:
    if isinstance(node, exp.Literal) and not node.is_string:
        place = str(node.this)
        if not place.isdecimal() or not 1 <= len(place) < 6 or not 1 <= int(place) <= len(items):
            raise ParameterError(f"GROUP BY {place[:20]} names no selected column; there are {len(items)}.")
        key = items[int(place) - 1].key
        if key is None:
            raise ParameterError(f"GROUP BY {place} names an aggregate; group by a column.")
        return key
    if isinstance(node, exp.Column) and node.args.get("table") is None and isinstance(node.this, exp.Identifier):
        name, quoted = name_of(node.this)
        known = any(scope.schema.find(name, table=table, quoted=quoted) for table in scope.tables.values())
        for item in items:
            same = item.name is not None and (item.name == name or (not quoted and item.name.lower() == name.lower()))
            if same and not known and item.key is not None:
                return item.key
    if aggregates_in(node):
        raise ParameterError("GROUP BY takes columns, not aggregates; put a condition on them into HAVING.")
    return scalar(node, scope)


def _key(of: Expression, values: tuple[Value, ...] | None, items: Sequence[_Item], where: Expression | None, scope: Scope) -> Key:
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
            return _sorted(test.arguments[1:])
    return None


def _sorted(literals: Sequence[Expression]) -> tuple[Value, ...]:
    return tuple(sorted({one.value for one in literals if isinstance(one, Literal)}))  # type: ignore[type-var]


def _output(item: _Item, scope: Scope) -> Output:
    found = read_formula(item.node, scope)
    return found if item.name is None else Output(item.name, found.aggregate)


def _check_rows(where: object) -> None:
    if isinstance(where, exp.Where) and aggregates_in(where):
        raise ParameterError(
            "WHERE is about single rows, and an aggregate is about many; put a condition on it into HAVING, HAVING count(*) > 5."
        )


def _check_keys(items: Sequence[_Item], keys: Sequence[Key]) -> None:
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


def _results(scope: Scope, keys: Sequence[Key], outputs: Sequence[Output], hidden: list[Output]) -> Scope:
    """The scope after noise: names of keys and outputs; what is selected may also be repeated in full, and aggregates that are
    not selected are added to what is hidden."""
    facts = Query(tuple(outputs), keys=tuple(keys)).result(scope.facts)
    names = tuple(facts)
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

    def special(node: object) -> Expression | None:
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
    if node is None:
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
    return tuple(_ordered(one, scope, selected) for one in node.expressions)


def _ordered(node: exp.Expression, scope: Scope, selected: Sequence[str]) -> Order:
    if not isinstance(node, exp.Ordered):
        raise refusal(node)
    if isinstance(node.this, exp.Var) and str(node.this.this).upper() == "ALL":
        raise ParameterError(f"ORDER BY ALL is not answered; name the columns: ORDER BY {', '.join(map(quoted, selected))}.")
    if node.args.get("nulls_first"):
        raise refusal(node, "NULLS FIRST is not answered; missing keys come last")
    only(node, "this", "desc")
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
    return Order(by, bool(node.args.get("desc")))


def _read_limit(node: object) -> int | None:
    """How many rows of the result are shown."""
    if node is None:
        return None
    if not isinstance(node, exp.Limit):
        raise refusal(node, "Write LIMIT 10")
    only(node, "expression")
    number = node.args.get("expression")
    if not isinstance(number, exp.Literal) or number.is_string or not str(number.this).isdecimal() or len(str(number.this)) > 18:
        raise ParameterError("LIMIT takes a whole number; write LIMIT 10.")
    return int(str(number.this))
