"""Constants of a question, and calls in which they meet what they are compared with: a day or a word written as a text."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal, size
from discreet.plan.expressions.values import check_words
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import only, refusal

Read = Callable[[object], Expression]  # a part of a syntax tree
Form = Callable[[exp.Expression, Read, Scope], Expression]
Named = Callable[[exp.Expression, str, Sequence[exp.Expression], Read, Scope], Expression]  # of a function with its arguments


def refuse_always(hint: str) -> Named:
    """A function that is known and not answered."""

    def refuse(node: exp.Expression, *_: object) -> Expression:
        raise refusal(node, hint)

    return refuse


_SMALL = 50  # nodes
_DIGITS = 50
_EQUALITIES = ("=", "<>", "in")
_COMPARISONS = (*_EQUALITIES, "<", "<=", ">", ">=", "days")


def compare(name: str, arguments: list[Expression], scope: Scope) -> Expression:
    """A call; where a date meets a text literal, that literal is a date too; where a category does, it is one of its words."""
    if name in _EQUALITIES:
        check_words(arguments, scope.words)
    if name in _COMPARISONS and any(map(is_text, arguments)):
        others = [one for one in arguments if not is_text(one)]
        if any(scope.kind(one) == "date" for one in others):
            arguments = [read_day(one) if is_text(one) else one for one in arguments]
    return Call(name, tuple(arguments))


def check_small(expression: Expression) -> Expression:
    """An expression that will stand in several places; a large one is refused, since nesting would double it again and again."""
    if size(expression, _SMALL) > _SMALL:
        raise ParameterError(
            "This BETWEEN, CASE or CAST is about too large an expression; write CASE WHEN x >= 1 AND x <= 2 THEN ..."
        )
    return expression


def is_text(expression: Expression) -> bool:
    """Whether this is a text constant."""
    return isinstance(expression, Literal) and isinstance(expression.value, str)


def read_day(expression: Expression) -> Literal:
    """The day that a text constant names."""
    assert isinstance(expression, Literal)
    try:
        if len(str(expression.value)) != 10:
            raise ValueError
        return Literal(datetime.date.fromisoformat(str(expression.value)))
    except ValueError:
        raise ParameterError(f"{expression} is no day of the calendar; write DATE '2026-01-31'.") from None


def read_constant(node: exp.Expression) -> Literal:
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
