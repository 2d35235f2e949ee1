"""Whether arithmetic surely stays within what doubles hold, from public facts: for engines that fail where it does not.

Facts bound numbers from above: where they do, nothing exceeds 1e150, and no sum, product or quotient overflows. What is not zero
can still come too near to it: 1e-200 times itself is zero in doubles, which some engines take for an error. So the least size of
what is not zero is bounded from below as well, where that is easily seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.expressions.evaluate import OPERATIONS, infer
from discreet.plan.expressions.facts import Facts

_TINY = 1e-290
_EXACT = 2**53
_WHOLE: tuple[str, ...] = (
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "length",
    "strpos",
    "year",
    "quarter",
    "month",
    "day",
    "weekday",
    "dow",
)
_WHOLE += ("dayofyear", "days", "week", "isoyear", "months", "//")
_ONE_OF = ("least", "greatest", "coalesce", "nullif")


def is_tame(call: Call, facts: Mapping[str, Facts] | None) -> bool:
    """Whether a call of an arithmetic operation can neither overflow nor vanish, whatever the row; of any other function whether
    its argument is short to write."""
    if facts is None:
        return False
    if call.name not in ("+", "-", "*", "/", "//", "%"):
        return all(isinstance(argument, Column | Literal) for argument in call.arguments)
    sizes = [_most(argument, facts) for argument in call.arguments]
    if None in sizes:
        return False
    if call.name in ("+", "-"):
        return True
    a, b = (_least(argument, facts) for argument in call.arguments)
    return a * b > _TINY if call.name == "*" else a / max(sizes[1] or 0.0, 1.0) > _TINY


def _most(expression: Expression, facts: Mapping[str, Facts]) -> float | None:
    """The largest size of a number, where it is known."""
    known = infer(expression, facts)
    if known.lower is None or known.upper is None or max(-known.lower, known.upper) > Fraction(10) ** 150:
        return None
    return float(max(-known.lower, known.upper, Fraction(0)))


def _least(expression: Expression, facts: Mapping[str, Facts]) -> float:
    """A lower bound of the size of a number that is not zero; 0 where none is known."""
    if isinstance(expression, Column):
        step = facts[expression.name].step  # public numbers, which have a table's name, are not on their grid
        return 0.0 if step is None or "." in expression.name else 0.9 * float(step)
    if isinstance(expression, Literal):
        return abs(float(expression.value)) if isinstance(expression.value, int | float | Fraction) else 0.0
    defined = OPERATIONS[expression.name].defined
    if defined is not None:
        return _least(defined(*expression.arguments), facts)
    if expression.name in _WHOLE:
        return 1.0
    inside = expression.arguments
    if expression.name in ("abs", "neg"):
        return _least(inside[0], facts)
    if expression.name == "*":
        return 0.9 * _least(inside[0], facts) * _least(inside[1], facts)
    if expression.name == "/":
        most = _most(inside[1], facts)
        return 0.0 if most is None else 0.9 * _least(inside[0], facts) / max(most, 1.0)
    if expression.name in ("+", "-"):
        return 1.0 if all(_is_whole(one, facts) for one in (expression, *inside)) else 0.0
    if expression.name in _ONE_OF:
        return min(_least(one, facts) for one in inside)
    if expression.name == "case":
        return min(_least(one, facts) for one in (*inside[1::2], inside[-1]) if one != Literal(None))
    return 0.0


def _is_whole(expression: Expression, facts: Mapping[str, Facts]) -> bool:
    """Whether all values are whole numbers that doubles hold."""
    known, most = infer(expression, facts), _most(expression, facts)
    return known.step is not None and known.step.denominator == 1 and most is not None and most < _EXACT
