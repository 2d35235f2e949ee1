"""The scalar part of a syntax tree as an expression, by two tables of nodes that are allowed; all others are refused by name.

Most nodes are a call of one operation (``_CALLS``). The others have a form of their own (``_FORMS``): constants, which are exact,
CASE, CAST, BETWEEN, chains of AND, parts of dates.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import SQL
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.sql.scalars import casts, dates, functions
from discreet.plan.sql.scalars.constants import Form, Named, Read, check_small, compare, is_text, read_constant
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.synonyms import NAMES
from discreet.plan.sql.syntax import name_of, only, refusal

__all__ = ["aggregates_in", "is_aggregate", "scalar"]

_KNOWN = (
    "of one row there are + - * / // % and comparisons, AND, OR, NOT, IN, CASE, CAST; abs, floor, ceil, round, trunc, "
    "sign, sqrt, power, exp, ln, log2, log10, least, greatest, coalesce, nullif, width_bucket, bin; length, lower, upper, trim, "
    "left, right, substring, concat, replace, split_part, strpos, lpad, rpad, LIKE, starts_with, ends_with, contains, "
    "regexp_matches, regexp_extract; year, quarter, month, week, day, weekday, extract, date_trunc, datediff, strftime, INTERVAL"
)

_OURS = ("weekday", "days", "months", "dow", "isoyear")  # functions that sqlglot does not know


def _column(node: exp.Expression, _: Read, scope: Scope) -> Expression:
    only(node, "this", "table", "db", "catalog")
    if isinstance(node.this, exp.Star):
        raise refusal(node.this)
    name, quoted = name_of(node.this)
    table = node.args.get("table")
    return scope.column(name, None if table is None else name_of(table)[0], quoted)


def _constant(value: bool | None) -> Form:
    return lambda _, __, ___: Literal(value)


def _truth(node: exp.Expression, _: Read, __: Scope) -> Expression:
    return Literal(bool(node.this))


def _brackets(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this")
    return read(node.this)


def _negative(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this")
    inner = read(node.this)
    if isinstance(inner, Literal) and isinstance(inner.value, (int, Fraction)) and not isinstance(inner.value, bool):
        return Literal(-inner.value)
    return Call("neg", (inner,))


def _plus(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expression")
    later = dates.shifted(node, read, scope, 1)
    return later or Call("+", (read(node.this), read(node.args.get("expression"))))


def _minus(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expression")
    earlier = dates.shifted(node, read, scope, -1)
    if earlier is not None:
        return earlier
    sides = [read(node.this), read(node.args.get("expression"))]
    if any(not is_text(side) and scope.kind(side) == "date" for side in sides):
        return compare("days", sides, scope)
    return Call("-", tuple(sides))


def _chain(name: str) -> Form:
    def form(node: exp.Expression, read: Read, _: Scope) -> Expression:
        parts: list[object] = []
        waiting: list[object] = [node]
        while waiting:  # a long chain is no deep tower
            one = waiting.pop()
            bare = one
            while isinstance(bare, exp.Paren):
                bare = bare.this
            if type(bare) is type(node):
                only(bare, "this", "expression")
                waiting += [bare.args.get("expression"), bare.this]
            else:
                parts.append(one)
        flat: list[Expression] = []
        for part in parts:
            found = read(part)
            flat += found.arguments if isinstance(found, Call) and found.name == name else (found,)
        return Call(name, tuple(flat))

    return form


def _between(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "low", "high")
    value, low, high = (read(node.args.get(part)) for part in ("this", "low", "high"))
    check_small(value)
    return Call("and", (compare(">=", [value, low], scope), compare("<=", [value, high], scope)))


def _in(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    if node.args.get("query") or node.args.get("field") or node.args.get("unnest"):
        raise refusal(node, "IN takes a list of constants; write x IN ('a', 'b')")
    only(node, "this", "expressions")
    return compare("in", [read(node.this), *(read(one) for one in node.args.get("expressions") or [])], scope)


def _like(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "expression", "negate")
    value, pattern = read(node.this), read(node.args.get("expression"))
    if isinstance(node, exp.ILike):
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            raise refusal(node, "ILIKE takes a text constant; write x ILIKE 'a%'")
        value, pattern = Call("lower", (value,)), Literal(pattern.value.lower())
    found = Call("like", (value, pattern))
    return Call("not", (found,)) if node.args.get("negate") else found


def _is(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "expression")
    value, what = read(node.this), node.args.get("expression")
    if isinstance(what, exp.Null):
        return Call("is_null", (value,))
    if isinstance(what, exp.Boolean):
        return Call("coalesce", (value if what.this else Call("not", (value,)), Literal(False)))
    raise refusal(node, "IS takes NULL, TRUE or FALSE; write x IS NULL, or x = y")


def _case(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "ifs", "default")
    subject = None if node.this is None else check_small(read(node.this))
    arguments: list[Expression] = []
    for one in node.args.get("ifs") or []:
        only(one, "this", "true")
        test = read(one.this)
        arguments += [test if subject is None else compare("=", [subject, test], scope), read(one.args.get("true"))]
    default = node.args.get("default")
    return Call("case", (*arguments, Literal(None) if default is None else read(default)))


def _if(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "true", "false")
    default = node.args.get("false")
    return Call("case", (read(node.this), read(node.args.get("true")), Literal(None) if default is None else read(default)))


def _substring(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "start", "length")
    length = node.args.get("length")
    return Call(
        "substring",
        (read(node.this), read(node.args.get("start")), Literal(functions.MOST_TEXT) if length is None else read(length)),
    )


_NAMED: Mapping[str, tuple[int, int, Named]] = {**dates.NAMED, **functions.NAMED}


def _named(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expressions")
    name, arguments = str(node.this).lower(), node.args.get("expressions") or []
    if name in _NAMED:
        least, most, form = _NAMED[name]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} or more"
            raise ParameterError(f"{name} takes {wanted} arguments here, not {len(arguments)}.")
        return form(node, name, arguments, read, scope)
    if name not in _OURS:
        raise refusal(node, otherwise=_KNOWN)
    return compare(name, [read(one) for one in arguments], scope)


_FORMS: Mapping[type[exp.Expression], Form] = {
    exp.Column: _column,
    exp.Literal: lambda node, _, __: read_constant(node),
    exp.Boolean: _truth,
    exp.Null: _constant(None),
    exp.Paren: _brackets,
    exp.Neg: _negative,
    exp.Add: _plus,
    exp.Sub: _minus,
    exp.And: _chain("and"),
    exp.Or: _chain("or"),
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: casts.cast,
    exp.TryCast: casts.cast,
    exp.Substring: _substring,
    exp.Extract: dates.extract,
    exp.Anonymous: _named,
    **functions.FORMS,
}


_DEEPEST = 100

# Nodes that are calls of one operation, with the parts that are its arguments; then the flags that say what it means anyway.
_CALLS: dict[type[exp.Expression], tuple[str, tuple[str, ...], tuple[str, ...]]] = {
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
    exp.Length: ("length", ("this",), ()),
    exp.Left: ("left", ("this", "expression"), ()),
    exp.Right: ("right", ("this", "expression"), ()),
    exp.Concat: ("concat", ("expressions",), ("safe", "coalesce")),
    exp.DPipe: ("||", ("this", "expression"), ("safe",)),
    exp.StartsWith: ("starts_with", ("this", "expression"), ()),
    exp.Contains: ("contains", ("this", "expression"), ()),
    exp.EndsWith: ("ends_with", ("this", "expression"), ()),
    exp.StrPosition: ("strpos", ("this", "substr"), ()),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index"), ()),
    exp.Replace: ("replace", ("this", "expression", "replacement"), ()),
    exp.Sign: ("sign", ("this",), ()),
    exp.Sqrt: ("sqrt", ("this",), ()),
    exp.Exp: ("exp", ("this",), ()),
    exp.Ln: ("ln", ("this",), ()),
    exp.Pow: ("power", ("this", "expression"), ()),
    exp.WidthBucket: ("width_bucket", ("this", "min_value", "max_value", "num_buckets"), ()),
    exp.SafeDivide: ("/", ("this", "expression"), ()),
    exp.Year: ("year", ("this",), ()),
    exp.Quarter: ("quarter", ("this",), ()),
    exp.Month: ("month", ("this",), ()),
    exp.Day: ("day", ("this",), ()),
    exp.DayOfMonth: ("day", ("this",), ()),
    exp.DayOfWeekIso: ("weekday", ("this",), ()),
    exp.DayOfYear: ("dayofyear", ("this",), ()),
    exp.Week: ("week", ("this",), ()),
    exp.WeekOfYear: ("week", ("this",), ()),
}
# Aggregates that sqlglot does not know, and that are not answered by that name alone.
_STRANGERS: tuple[str, ...] = ("list", "arg_min", "arg_max", "quantile_disc", "product")
_STRANGERS += ("histogram", "choose", "quantile_only", "fsum", "sumkahan", "kahan_sum", "favg")
_STRANGERS += ("reservoir_quantile", "mad", "kurtosis_pop", "sem", "geomean", "entropy")


def is_aggregate(node: object) -> bool:
    """Whether a node makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in (*_STRANGERS, *NAMES, *SQL)
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls)) or is_total(node)


def is_total(node: object) -> bool:
    """Whether a node adds up the aggregates of groups: ``sum(count(*)) OVER ()``."""
    if not isinstance(node, exp.Window) or not isinstance(node.this, exp.Sum) or not isinstance(node.this.this, exp.Expression):
        return False
    return bool(aggregates_in(node.this.this))


def aggregates_in(node: exp.Expression) -> list[exp.Expression]:
    """The outermost aggregates of an expression; none where another window or another query stands around them."""
    inside = [*node.walk()]
    within = any(isinstance(one, exp.Query) or (isinstance(one, exp.Window) and not is_total(one)) for one in inside)
    if within or not any(map(is_aggregate, inside)):
        return []
    return [one for one in node.walk(prune=is_aggregate) if isinstance(one, exp.Expression) and is_aggregate(one)]


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
        return compare(name, arguments, scope)
    if kind in _FORMS and not is_aggregate(node):
        return _FORMS[kind](node, lambda part: scalar(part, scope, depth + 1), scope)
    if is_aggregate(node):
        raise refusal(
            node,
            "An aggregate is of many rows, and no part of what is made of one: it stands in the SELECT list, HAVING or ORDER BY, "
            "or in agg(); name it, and use the name in HAVING or afterwards",
        )
    raise refusal(node, otherwise=_KNOWN)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
