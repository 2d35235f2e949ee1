"""The scalar part of a syntax tree as an expression, by two tables of nodes that are allowed; all others are refused by name.

Most nodes are a call of one operation (``_CALLS``). The others have a form of their own (``_FORMS``): constants, which are exact,
CASE, CAST, BETWEEN, chains of AND, parts of dates.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import SQL
from discreet.plan.expressions import Call, Expression, Literal, size
from discreet.plan.expressions.evaluate import OPERATIONS, infer
from discreet.plan.expressions.values import check_words
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.synonyms import NAMES
from discreet.plan.sql.syntax import name_of, only, refusal

__all__ = ["aggregates_in", "is_aggregate", "scalar"]

_KNOWN = f"in an expression there are {', '.join(name for name in OPERATIONS if name not in ('neg', 'is_null'))}"

Read = Callable[[object], Expression]
Form = Callable[[exp.Expression, Read, Scope], Expression]

_OURS = ("weekday", "days", "bin")  # functions that sqlglot does not know
_PARTS = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "DAY": "day", "ISODOW": "weekday", "DOY": "dayofyear"}
_REST = 10**6  # characters: what substring(x, 3) takes
_WHOLE = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT}
_REAL = {exp.DType.DOUBLE, exp.DType.FLOAT}


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


def _minus(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expression")
    sides = [read(node.this), read(node.args.get("expression"))]
    if any(not _is_text(side) and scope.kind(side) == "date" for side in sides):
        return _compare("days", sides, scope)
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
    _check_small(value)
    return Call("and", (_compare(">=", [value, low], scope), _compare("<=", [value, high], scope)))


def _in(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    if node.args.get("query") or node.args.get("field") or node.args.get("unnest"):
        raise refusal(node, "IN takes a list of constants; write x IN ('a', 'b')")
    only(node, "this", "expressions")
    return _compare("in", [read(node.this), *(read(one) for one in node.args.get("expressions") or [])], scope)


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
    subject = None if node.this is None else _check_small(read(node.this))
    arguments: list[Expression] = []
    for one in node.args.get("ifs") or []:
        only(one, "this", "true")
        test = read(one.this)
        arguments += [test if subject is None else _compare("=", [subject, test], scope), read(one.args.get("true"))]
    default = node.args.get("default")
    return Call("case", (*arguments, Literal(None) if default is None else read(default)))


def _if(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "true", "false")
    default = node.args.get("false")
    return Call("case", (read(node.this), read(node.args.get("true")), Literal(None) if default is None else read(default)))


def _cast(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "to", "safe")
    to, inner = node.args["to"], read(node.this)
    target = to.this if isinstance(to, exp.DataType) and not to.expressions else None
    facts = infer(inner, scope.facts) if scope.knows(inner) else None
    if target == exp.DType.DATE and _is_text(inner):
        return _read_day(inner)
    if facts is not None:
        same = {exp.DType.DATE: "date", exp.DType.VARCHAR: "text", exp.DType.TEXT: "text", exp.DType.BOOLEAN: "boolean"}
        whole = target in _WHOLE and facts.step is not None and facts.step.denominator == 1
        if (target is not None and same.get(target) == facts.kind) or (facts.kind == "number" and (target in _REAL or whole)):
            return inner
        if facts.kind == "boolean" and target in _WHOLE | _REAL:
            return Call("case", (_check_small(inner), Literal(1), Call("not", (inner,)), Literal(0), Literal(None)))
    raise refusal(
        node, "This CAST is not answered: types come from the declared columns; write floor(x) or round(x) for whole numbers"
    )


def _round(node: exp.Expression, read: Read, _: Scope) -> Expression:
    if node.args.get("decimals"):
        raise refusal(node, "round takes one number; write round(x * 100) / 100, or round(x / 1000) * 1000")
    only(node, "this")
    return Call("round", (read(node.this),))


def _substring(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "start", "length")
    length = node.args.get("length")
    return Call("substring", (read(node.this), read(node.args.get("start")), Literal(_REST) if length is None else read(length)))


def _extract(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "expression")
    return _part(node, str(node.this.this), read(node.args.get("expression")))


def _part(node: exp.Expression, part: str, day: Expression) -> Expression:
    if part.upper() not in _PARTS:
        raise refusal(node, f"The part {part[:20]} of a date is not answered; there are {', '.join(_PARTS).lower()}")
    return Call(_PARTS[part.upper()], (day,))


def _datediff(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expression", "unit", "date_part_boundary")
    unit = node.args.get("unit")
    if unit is not None and str(unit.this).upper() != "DAY":
        raise refusal(node, "Dates are subtracted in days; write datediff('day', a, b), or year(b) - year(a)")
    return _compare("days", [read(node.this), read(node.args.get("expression"))], scope)


def _named(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    only(node, "this", "expressions")
    name, arguments = str(node.this).lower(), node.args.get("expressions") or []
    if name in ("date_part", "datepart") and len(arguments) == 2 and isinstance(arguments[0], exp.Literal):
        return _part(node, str(arguments[0].this), read(arguments[1]))
    if name not in _OURS:
        raise refusal(node, otherwise=_KNOWN)
    return _compare(name, [read(one) for one in arguments], scope)


_FORMS: Mapping[type[exp.Expression], Form] = {
    exp.Column: _column,
    exp.Literal: lambda node, _, __: _read_constant(node),
    exp.Boolean: _truth,
    exp.Null: _constant(None),
    exp.Paren: _brackets,
    exp.Neg: _negative,
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
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Round: _round,
    exp.Substring: _substring,
    exp.Extract: _extract,
    exp.DateDiff: _datediff,
    exp.Anonymous: _named,
}


_SMALL = 50  # nodes
_DIGITS = 50
_EQUALITIES = ("=", "<>", "in")
_COMPARISONS = (*_EQUALITIES, "<", "<=", ">", ">=", "days")


def _compare(name: str, arguments: list[Expression], scope: Scope) -> Expression:
    """A call; where a date meets a text literal, that literal is a date too; where a category does, it is one of its words."""
    if name in _EQUALITIES:
        check_words(arguments, scope.words)
    if name in _COMPARISONS and any(map(_is_text, arguments)):
        others = [one for one in arguments if not _is_text(one)]
        if any(scope.kind(one) == "date" for one in others):
            arguments = [_read_day(one) if _is_text(one) else one for one in arguments]
    return Call(name, tuple(arguments))


def _check_small(expression: Expression) -> Expression:
    """An expression that will stand in several places; a large one is refused, since nesting would double it again and again."""
    if size(expression, _SMALL) > _SMALL:
        raise ParameterError(
            "This BETWEEN, CASE or CAST is about too large an expression; write CASE WHEN x >= 1 AND x <= 2 THEN ..."
        )
    return expression


def _is_text(expression: Expression) -> bool:
    """Whether this is a text constant."""
    return isinstance(expression, Literal) and isinstance(expression.value, str)


def _read_day(expression: Expression) -> Literal:
    """The day that a text constant names."""
    assert isinstance(expression, Literal)
    try:
        if len(str(expression.value)) != 10:
            raise ValueError
        return Literal(datetime.date.fromisoformat(str(expression.value)))
    except ValueError:
        raise ParameterError(f"{expression} is no day of the calendar; write DATE '2026-01-31'.") from None


def _read_constant(node: exp.Expression) -> Literal:
    """A number or a text."""
    only(node, "this", "is_string")
    text = str(node.this)
    if node.args.get("is_string"):
        if "\x00" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
            raise ParameterError("A text in a question must be proper Unicode without the character zero; leave that out.")
        return Literal(text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ParameterError(f"{text[:40]} is no number; write 12, 0.5 or 1e-3.") from None
    if (
        len("".join(map(str, number.as_tuple().digits)).rstrip("0")) > _DIGITS
        or not number.is_finite()
        or (number and not -300 <= number.adjusted() <= 150)
    ):
        raise ParameterError(f"A number in a question must lie between 1e-300 and 1e150 in size, with at most {_DIGITS} digits.")
    exact = Fraction(number)
    return Literal(int(exact) if exact.denominator == 1 else exact)


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
# Aggregates that sqlglot does not know, and that are not answered by that name alone.
_STRANGERS: tuple[str, ...] = ("list", "arg_min", "arg_max", "quantile_disc", "product")
_STRANGERS += ("histogram", "choose", "quantile_only", "fsum", "sumkahan", "kahan_sum", "favg")
_STRANGERS += ("reservoir_quantile", "mad", "kurtosis_pop", "sem", "geomean", "entropy")


def is_aggregate(node: object) -> bool:
    """Whether a node makes one value of many rows."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() in (*_STRANGERS, *NAMES, *SQL)
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls))


def aggregates_in(node: exp.Expression) -> list[exp.Expression]:
    """The outermost aggregates of an expression; none where a window or another query stands around them."""
    if isinstance(node, exp.Window) or node.find(exp.Window, exp.Query) is not None:
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
        return _compare(name, arguments, scope)
    if kind in _FORMS and not is_aggregate(node):
        return _FORMS[kind](node, lambda part: scalar(part, scope, depth + 1), scope)
    if is_aggregate(node):
        raise refusal(
            node,
            "An aggregate stands alone in the SELECT list, or in agg(); name it, and use the name in HAVING or afterwards",
        )
    raise refusal(node, otherwise=_KNOWN)


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
