"""The scalar part of a syntax tree as an expression: a table of nodes that are allowed; others are ``forms`` or refused."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression
from discreet.plan.forms import FORMS, KNOWN
from discreet.plan.literals import compared
from discreet.plan.scope import Scope
from discreet.plan.tree import only, refusal

__all__ = ["is_aggregate", "scalar"]

_DEEPEST = 100

# Nodes that are calls of one operation, with the parts that are its arguments; then the flags that say what it means anyway.
_CALLS: dict[type[exp.Expression], tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    exp.Add: ("+", ("this", "expression"), ()),
    exp.Mul: ("*", ("this", "expression"), ()),
    exp.Div: ("/", ("this", "expression"), ()),
    exp.IntDiv: ("//", ("this", "expression"), ()),
    exp.Mod: ("%", ("this", "expression"), ()),
    exp.EQ: ("=", ("this", "expression"), ()),
    exp.NEQ: ("<>", ("this", "expression"), ()),
    exp.LT: ("<", ("this", "expression"), ()),
    exp.LTE: ("<=", ("this", "expression"), ()),
    exp.GT: (">", ("this", "expression"), ()),
    exp.GTE: (">=", ("this", "expression"), ()),
    exp.Not: ("not", ("this",), ()),
    exp.Abs: ("abs", ("this",), ()),
    exp.Floor: ("floor", ("this",), ()),
    exp.Ceil: ("ceil", ("this",), ()),
    exp.Least: ("least", ("this", "expressions"), ("ignore_nulls",)),
    exp.Greatest: ("greatest", ("this", "expressions"), ("ignore_nulls",)),
    exp.Coalesce: ("coalesce", ("this", "expressions"), ()),
    exp.Nullif: ("nullif", ("this", "expression"), ()),
    exp.Lower: ("lower", ("this",), ()),
    exp.Upper: ("upper", ("this",), ()),
    exp.Trim: ("trim", ("this",), ()),
    exp.Length: ("length", ("this",), ()),
    exp.Left: ("left", ("this", "expression"), ()),
    exp.Right: ("right", ("this", "expression"), ()),
    exp.Concat: ("concat", ("expressions",), ("safe", "coalesce")),
    exp.DPipe: ("||", ("this", "expression"), ("safe",)),
    exp.StartsWith: ("starts_with", ("this", "expression"), ()),
    exp.Contains: ("contains", ("this", "expression"), ()),
    exp.Year: ("year", ("this",), ()),
    exp.Quarter: ("quarter", ("this",), ()),
    exp.Month: ("month", ("this",), ()),
    exp.Day: ("day", ("this",), ()),
    exp.DayOfMonth: ("day", ("this",), ()),
    exp.DayOfWeekIso: ("weekday", ("this",), ()),
    exp.DayOfYear: ("dayofyear", ("this",), ()),
}
# Aggregates that sqlglot does not know.
_STRANGERS: tuple[str, ...] = ("mean", "std", "stdev", "var", "list", "arg_min", "arg_max", "quantile_disc", "product")
_STRANGERS += ("histogram", "choose", "fsum", "sumkahan", "kahan_sum", "favg")
_STRANGERS += ("reservoir_quantile", "mad", "kurtosis_pop", "sem", "geomean", "entropy")


def is_aggregate(node: object) -> bool:
    """Whether a node makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in _STRANGERS
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls))


def scalar(node: object, scope: Scope, depth: int = 0) -> Expression:
    """The expression that a node means; anything that is not allowed is refused by name."""
    if depth > _DEEPEST:
        raise ParameterError("This expression is nested too deeply; ask a simpler question.")
    if not isinstance(node, exp.Expression):
        raise ParameterError("A part of this expression is empty; write it out.")
    special = scope.special(node)
    if special is not None:
        return special
    kind = type(node)
    if kind in _CALLS:
        name, parts, flags = _CALLS[kind]
        only(node, *parts, *flags)
        arguments = [scalar(one, scope, depth + 1) for part in parts for one in _listed(node.args.get(part))]
        return compared(name, arguments, scope)
    if kind in FORMS and not is_aggregate(node):
        return FORMS[kind](node, lambda part: scalar(part, scope, depth + 1), scope)
    if is_aggregate(node):
        raise refusal(
            node,
            "An aggregate stands alone in the SELECT list, or in agg(); name it, and use the name in HAVING or afterwards",
        )
    raise refusal(node, otherwise=KNOWN)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
