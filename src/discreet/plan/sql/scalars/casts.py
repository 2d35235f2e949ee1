"""Casts, where public types say what they mean: the type that a value has anyway, rounding to decimals, texts of whole numbers,
days and truth values, and numbers and days that are written in texts.

A text that is no number or day is missing, whether ``CAST``, ``::`` or ``TRY_CAST`` asks: here no row can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.sql.scalars.constants import Read, check_small, is_text, read_day
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import only, refusal

_TYPES: dict[str, str] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "INT128", "UNSIGNED", "INTEGER"), "whole"),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL", "FLOAT64", "NUMBER"), "real"),
    **dict.fromkeys(("DECIMAL", "NUMERIC"), "decimal"),
    **dict.fromkeys(("VARCHAR", "TEXT", "NVARCHAR", "STRING"), "text"),
    "DATE": "date",
    "BOOLEAN": "boolean",
}
_BARE = (18, 3)  # what the parser makes of DECIMAL without digits, which keeps all of them
_STYLES = {
    **dict.fromkeys((20, 21, 23, 120, 121, 126), "%Y-%m-%d"),
    101: "%m/%d/%Y",
    102: "%Y.%m.%d",
    103: "%d/%m/%Y",
    104: "%d.%m.%Y",
    105: "%d-%m-%Y",
    110: "%m-%d-%Y",
    111: "%Y/%m/%d",
    112: "%Y%m%d",
}
_WITH_TIME = (20, 21, 120, 121, 126)  # after the tenth character
_WHOLE = "CAST to a whole number rounds on some systems and cuts off on others; write round(x), floor(x) or trunc(x)"
_ELSE = "This CAST is not answered: types come from the declared columns; write floor(x) or round(x) for whole numbers"


def cast(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    """``CAST(x AS INT)``, ``x::int``, ``TRY_CAST(x AS DOUBLE)``."""
    only(node, "this", "to", "safe", "format")
    to, inner = node.args["to"], read(node.this)
    if node.args.get("format") is not None:
        return _styled(node, inner, read(node.args["format"]), scope)
    return convert(node, inner, *_target(to), scope)


def convert(node: exp.Expression, inner: Expression, target: str | None, digits: Sequence[int], scope: Scope) -> Expression:
    """An expression as another type."""
    if target == "date" and is_text(inner) and not isinstance(node, exp.TryCast):
        return read_day(inner)
    if target is None or not scope.knows(inner):
        raise refusal(node, _ELSE)
    facts = infer(inner, scope.facts)
    form = _CASTS.get((facts.kind, target))
    if form is None:
        raise refusal(node, _ELSE)
    return form(node, inner, facts, tuple(digits))


def _styled(node: exp.Expression, inner: Expression, style: Expression, scope: Scope) -> Expression:
    """``CONVERT(VARCHAR(10), d, 104)``: a day as a text, in one of SQL Server's styles."""
    target, digits = _target(node.args["to"])
    number = style.value if isinstance(style, Literal) else None
    known = scope.kind(inner) == "date" and target == "text" and isinstance(number, int) and number in _STYLES
    if not known or (number in _WITH_TIME and not (digits and digits[0] <= 10)):
        raise refusal(
            node,
            "Of the styles of CONVERT those of days as texts are answered, CONVERT(VARCHAR(10), d, 23); write strftime(d, "
            "'%Y-%m-%d')",
        )
    assert isinstance(number, int)
    found = Call("strftime", (inner, Literal(_STYLES[number])))
    return Call("left", (found, Literal(digits[0]))) if digits else found


def _target(to: object) -> tuple[str | None, tuple[int, ...]]:
    """The type that is meant, and its digits or length."""
    if not isinstance(to, exp.DataType) or to.args.get("nested"):
        return None, ()
    name = str(to.args.get("kind") or to.this.name).upper() if to.this == exp.DType.USERDEFINED else str(to.this.name)
    digits = [one.this for one in to.expressions if isinstance(one, exp.DataTypeParam)]
    if len(digits) < len(to.expressions) or not all(isinstance(one, exp.Literal) and str(one.this).isdigit() for one in digits):
        return None, ()
    return _TYPES.get(name), tuple(int(one.this) for one in digits)


Cast = Callable[[exp.Expression, Expression, Facts, tuple[int, ...]], Expression]


def _same(_: exp.Expression, inner: Expression, __: Facts, ___: tuple[int, ...]) -> Expression:
    return inner


def _whole(node: exp.Expression, inner: Expression, facts: Facts, _: tuple[int, ...]) -> Expression:
    if facts.step is None or facts.step.denominator != 1:
        raise refusal(node, _WHOLE)
    return inner


def _decimal(node: exp.Expression, inner: Expression, facts: Facts, digits: tuple[int, ...]) -> Expression:
    if digits in ((), _BARE):
        return inner
    places = digits[1] if len(digits) > 1 else 0
    bounds = [abs(bound) for bound in (facts.lower, facts.upper) if bound is not None]
    if bounds and round(max(bounds), places) >= 10 ** (digits[0] - places):
        raise refusal(
            node, f"Numbers up to {float(max(bounds)):g} do not fit into DECIMAL({digits[0]}, {places}); give it more digits"
        )
    return Call("round_to", (inner, Literal(places)))


def _number_of_truth(_: exp.Expression, inner: Expression, __: Facts, ___: tuple[int, ...]) -> Expression:
    return Call("case", (check_small(inner), Literal(1), Call("not", (inner,)), Literal(0), Literal(None)))


def _text_of_truth(_: exp.Expression, inner: Expression, __: Facts, ___: tuple[int, ...]) -> Expression:
    return Call("case", (check_small(inner), Literal("true"), Call("not", (inner,)), Literal("false"), Literal(None)))


def _number_of_text(_: exp.Expression, inner: Expression, __: Facts, ___: tuple[int, ...]) -> Expression:
    return Call("try_number", (inner,))


def _decimal_of_text(_: exp.Expression, inner: Expression, __: Facts, digits: tuple[int, ...]) -> Expression:
    found = Call("try_number", (inner,))
    return found if digits in ((), _BARE) else Call("round_to", (found, Literal(digits[1] if len(digits) > 1 else 0)))


def _cut(_: exp.Expression, inner: Expression, __: Facts, digits: tuple[int, ...]) -> Expression:
    return Call("left", (inner, Literal(digits[0]))) if digits else inner


def _text_of_number(_: exp.Expression, inner: Expression, __: Facts, digits: tuple[int, ...]) -> Expression:
    found = Call("as_text", (inner,))
    return Call("left", (found, Literal(digits[0]))) if digits else found


_CASTS: dict[tuple[str, str], Cast] = {
    ("number", "real"): _same,
    ("number", "whole"): _whole,
    ("number", "decimal"): _decimal,
    ("number", "text"): _text_of_number,
    ("number", "boolean"): lambda _, inner, __, ___: Call("<>", (inner, Literal(0))),
    ("boolean", "boolean"): _same,
    ("boolean", "whole"): _number_of_truth,
    ("boolean", "real"): _number_of_truth,
    ("boolean", "decimal"): _number_of_truth,
    ("boolean", "text"): _text_of_truth,
    ("text", "text"): _cut,
    ("text", "real"): _number_of_text,
    ("text", "whole"): lambda _, inner, __, ___: Call("try_whole", (inner,)),
    ("text", "decimal"): _decimal_of_text,
    ("text", "date"): lambda _, inner, __, ___: Call("try_date", (inner,)),
    ("date", "date"): _same,
    ("date", "text"): lambda _, inner, __, ___: Call("strftime", (inner, Literal("%Y-%m-%d"))),
}
