"""Operations on numbers: doubles in, doubles out, bounds by exact interval arithmetic.

A quotient whose divisor is zero is missing. ``//`` is the floor of the quotient, ``%`` has the sign of its divisor, ``round``
goes away from zero at halves. No result is minus zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.plan.expressions import Value
from discreet.plan.expressions.facts import TINY, Facts, Operation, Takes, common_step, number_facts, union

__all__ = ["ARITHMETIC"]

ONE = Fraction(1)


def _corners(a: Facts, b: Facts, combine: Callable[[Fraction, Fraction], Fraction]) -> tuple[Fraction | None, Fraction | None]:
    if a.lower is None or a.upper is None or b.lower is None or b.upper is None:
        return None, None
    found = [combine(x, y) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return min(found), max(found)


def _plus(arguments: Sequence[Facts]) -> Facts:
    a, b = arguments
    lower = None if a.lower is None or b.lower is None else a.lower + b.lower
    upper = None if a.upper is None or b.upper is None else a.upper + b.upper
    return number_facts(lower, upper, common_step(arguments))


def _minus(arguments: Sequence[Facts]) -> Facts:
    return _plus((arguments[0], _negated(arguments[1:])))


def _negated(arguments: Sequence[Facts]) -> Facts:
    (a,) = arguments
    return Facts("number", False, None if a.upper is None else -a.upper, None if a.lower is None else -a.lower, a.step)


def _times(arguments: Sequence[Facts]) -> Facts:
    a, b = arguments
    step = None if a.step is None or b.step is None else a.step * b.step
    return number_facts(*_corners(a, b, lambda x, y: x * y), step)


def _divisors(b: Facts) -> list[Facts]:
    """The divisor's range without zero, as one or two intervals; empty where nothing bounds it away from zero."""
    if b.lower is None or b.upper is None:
        return []
    if b.lower > 0 or b.upper < 0:
        return [b]
    if b.step is None:
        return []
    sides = [Facts("number", False, b.lower, -b.step)] if b.lower <= -b.step else []
    return sides + ([Facts("number", False, b.step, b.upper)] if b.upper >= b.step else [])


def _over(arguments: Sequence[Facts]) -> Facts:
    a, b = arguments
    zero = b.lower is None or b.upper is None or b.lower <= 0 <= b.upper
    ranges = [_corners(a, side, lambda x, y: x / y) for side in _divisors(b)]
    lowers, uppers = [low for low, _ in ranges if low is not None], [high for _, high in ranges if high is not None]
    return number_facts(min(lowers, default=None), max(uppers, default=None), None, zero)


def _floored(facts: Facts) -> Facts:
    lower = None if facts.lower is None else Fraction(math.floor(facts.lower))
    upper = None if facts.upper is None else Fraction(math.floor(facts.upper))
    return number_facts(lower, upper, ONE, facts.nullable)


def _modulo(arguments: Sequence[Facts]) -> Facts:
    _, b = arguments
    if b.lower is None or b.upper is None:
        return number_facts(None, None, common_step(arguments), True)
    zero = b.lower <= 0 <= b.upper
    return number_facts(min(b.lower, Fraction(0)), max(b.upper, Fraction(0)), common_step(arguments), zero)


def _size(arguments: Sequence[Facts]) -> Facts:
    (a,) = arguments
    lower, upper = (a.lower, a.upper)
    sizes = [abs(bound) for bound in (lower, upper) if bound is not None]
    apart = (lower is not None and lower > 0) or (upper is not None and upper < 0)
    return Facts("number", False, min(sizes) if apart else Fraction(0), max(sizes) if len(sizes) == 2 else None, a.step)


def _whole(toward: Callable[[Fraction], int]) -> Callable[[Sequence[Facts]], Facts]:
    def rule(arguments: Sequence[Facts]) -> Facts:
        (a,) = arguments
        lower = None if a.lower is None else Fraction(toward(a.lower))
        upper = None if a.upper is None else Fraction(toward(a.upper))
        step = a.step if a.step is not None and a.step.denominator == 1 else ONE
        return number_facts(lower, upper, step)

    return rule


def _extreme(pick: Callable[..., Fraction], lowest: bool) -> Callable[[Sequence[Facts]], Facts]:
    """least is below every argument, so one known upper bound is enough; greatest the other way round."""

    def rule(arguments: Sequence[Facts]) -> Facts:
        lowers = [fact.lower for fact in arguments if fact.lower is not None]
        uppers = [fact.upper for fact in arguments if fact.upper is not None]
        enough, needed = (uppers, lowers) if lowest else (lowers, uppers)
        one = pick(enough) if enough else None
        other = pick(needed) if len(needed) == len(arguments) else None
        lower, upper = (other, one) if lowest else (one, other)
        either = union(arguments, False)
        return replace(either, lower=lower, upper=upper)

    return rule


def _order(value: Value) -> tuple[bool, Value]:
    return (True, 0) if value != value else (False, value)  # engines put NaN last


def divide(a: float, b: float) -> float | None:
    """a / b, missing where b is zero."""
    return a / b + 0.0 if abs(b) >= TINY else None


def _floor_divide(a: float, b: float) -> float | None:
    quotient = divide(a, b)
    return None if quotient is None else _toward(math.floor)(quotient)


def _remainder(a: float, b: float) -> float | None:
    return a % b + 0.0 if abs(b) >= TINY else None


def nearest(value: Fraction | float) -> int:
    """The nearest whole number, away from zero at halves."""
    size = math.floor(abs(Fraction(value)) + Fraction(1, 2))
    return size if value >= 0 else -size


def _toward(whole: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(whole(value)) if math.isfinite(value) else value


_ORDERED: Takes = ("same",)
_TWO: Takes = ("number", "number")

ARITHMETIC = (
    Operation("+", 2, 2, _TWO, lambda a, b: a + b, _plus),
    Operation("-", 2, 2, _TWO, lambda a, b: a - b, _minus),
    Operation("*", 2, 2, _TWO, lambda a, b: a * b + 0.0, _times),
    Operation("/", 2, 2, _TWO, divide, _over, written=2),
    Operation("//", 2, 2, _TWO, _floor_divide, lambda arguments: _floored(_over(arguments)), written=2),
    Operation("%", 2, 2, _TWO, _remainder, _modulo, written=8),
    Operation("neg", 1, 1, ("number",), lambda a: 0.0 - a, _negated),
    Operation("abs", 1, 1, ("number",), abs, _size),
    Operation("floor", 1, 1, ("number",), _toward(math.floor), _whole(math.floor)),
    Operation("ceil", 1, 1, ("number",), _toward(math.ceil), _whole(math.ceil)),
    Operation("round", 1, 1, ("number",), _toward(nearest), _whole(nearest)),
    Operation("least", 2, None, _ORDERED, lambda *values: min(values, key=_order), _extreme(min, True), written=2),
    Operation("greatest", 2, None, _ORDERED, lambda *values: max(values, key=_order), _extreme(max, False), written=2),
)
