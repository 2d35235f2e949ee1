"""HAVING and ORDER BY: expressions over the columns of the noisy result; aliases, keys and selected aggregates are in sight."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import aggregate
from discreet.plan.check import facts_of_result
from discreet.plan.evaluate import infer
from discreet.plan.expressions import Column, Expression, columns_of, quoted
from discreet.plan.query import Key, Order, Output, Query
from discreet.plan.scalars import is_aggregate, scalar
from discreet.plan.scope import Scope
from discreet.plan.tree import name_of, only, refusal

__all__ = ["condition", "limit", "order", "results"]


def results(scope: Scope, keys: Sequence[Key], outputs: Sequence[Output]) -> Scope:
    """The scope after noise: names of keys and outputs; what is selected may also be repeated in full."""
    facts = facts_of_result(Query(tuple(outputs), keys=tuple(keys)), scope.facts)
    own = {key.name: scope.words[key.of.name] for key in keys if isinstance(key.of, Column) and key.of.name in scope.words}

    def named(node: exp.Expression) -> Expression | None:
        if node.args.get("table") is not None or not isinstance(node.this, exp.Identifier):
            return None
        name, exact = name_of(node.this)
        found = [known for known in facts if known == name or (not exact and known.lower() == name.lower())]
        return Column(found[0]) if found else None

    def repeated(node: object) -> Expression | None:
        try:
            meant = scalar(node, scope)
        except ParameterError:
            return None
        return next((Column(key.name) for key in keys if key.of == meant), None)

    def special(node: object) -> Expression | None:
        if is_aggregate(node):
            meant = aggregate(node, scope)
            for output in outputs:
                if output.aggregate == meant:
                    return Column(output.name)
            raise ParameterError(f"HAVING and ORDER BY see what is selected; select {meant} AS x first, and use x.")
        if isinstance(node, exp.Column):
            found = named(node) or repeated(node)
            if found is None:
                raise ParameterError(
                    f"HAVING and ORDER BY see the columns of the result, {', '.join(facts)}, and not {str(node.name)[:60]}; "
                    f"put a condition on rows into WHERE{scope.in_quotes(str(node.name), bool(node.this.args.get('quoted')))}."
                )
            return found
        if isinstance(node, (exp.Func, exp.Binary)) and not isinstance(node, exp.Connector):
            return repeated(node)
        return None

    return Scope(scope.schema, {}, facts, special=special, words=own)


def condition(node: object, scope: Scope, otherwise: str) -> Expression | None:
    """What WHERE or HAVING asks for; a sentence where that is neither true nor false."""
    if node is None:
        return None
    assert isinstance(node, (exp.Having, exp.Where))
    only(node, "this")
    found = scalar(node.this, scope)
    if infer(found, scope.facts).kind != "boolean":
        raise ParameterError(otherwise)
    return found


def order(node: object, scope: Scope, selected: Sequence[str]) -> tuple[Order, ...]:
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


def limit(node: object) -> int | None:
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
