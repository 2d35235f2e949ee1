"""Operations on numbers: doubles in, doubles out, bounds by exact interval arithmetic.

A quotient whose divisor is zero is missing. ``//`` is the floor of the quotient, ``%`` has the sign of its divisor, ``round``
goes away from zero at halves; to digits, it rounds the product with a power of ten. No result is minus zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal, Value
from discreet.plan.expressions.facts import TINY, Facts, Operation, Takes, common_step, number_facts, undefined, union

ONE = Fraction(1)
_MOST_DIGITS = 15
_MOST_BUCKETS = 10_000


def corners(a: Facts, b: Facts, combine: Callable[[Fraction, Fraction], Fraction]) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of what grows or falls with each of two numbers: the least and the largest of its values at their bounds."""
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
    return number_facts(*corners(a, b, lambda x, y: x * y), step)


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


def over(arguments: Sequence[Facts]) -> Facts:
    """Facts about a quotient."""
    a, b = arguments
    zero = b.lower is None or b.upper is None or b.lower <= 0 <= b.upper
    ranges = [corners(a, side, lambda x, y: x / y) for side in _divisors(b)]
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


def _sign(arguments: Sequence[Facts]) -> Facts:
    (a,) = arguments
    lower, upper = ((sign if bound is None else (bound > 0) - (bound < 0)) for bound, sign in ((a.lower, -1), (a.upper, 1)))
    return number_facts(Fraction(lower), Fraction(upper), ONE)


def _whole(toward: Callable[[Fraction], int]) -> Callable[[Sequence[Facts]], Facts]:
    def rule(arguments: Sequence[Facts]) -> Facts:
        (a,) = arguments
        lower = None if a.lower is None else Fraction(toward(a.lower))
        upper = None if a.upper is None else Fraction(toward(a.upper))
        step = a.step if a.step is not None and a.step.denominator == 1 else ONE
        return number_facts(lower, upper, step)

    return rule


def _to_digits(toward: Callable[[Fraction], int]) -> Callable[[Sequence[Facts]], Facts]:
    def rule(arguments: Sequence[Facts]) -> Facts:
        a, (digits,) = arguments[0], arguments[1].values or (None,)
        if type(digits) is not int or abs(digits) > _MOST_DIGITS:
            raise ParameterError(f"A number is rounded to -{_MOST_DIGITS} to {_MOST_DIGITS} digits; write round(x, 2).")
        step = Fraction(10) ** -digits
        if a.step is not None and (a.step / step).denominator == 1:
            return replace(a, values=None)  # it is there already
        lower, upper = (None if bound is None else toward(bound / step) * step for bound in (a.lower, a.upper))
        return number_facts(lower, upper, step)

    return rule


def _digits(name: str) -> Callable[[Expression, Expression], Expression]:
    """Rounding to digits, by what it is made of."""

    def defined(value: Expression, digits: Expression) -> Expression:
        assert isinstance(digits, Literal)
        assert isinstance(digits.value, int)
        power = Literal(10 ** abs(digits.value))
        if digits.value > 0:
            return Call("/", (Call(name, (Call("*", (value, power)),)), power))
        return Call("*", (Call(name, (Call("/", (value, power)),)), power))

    return defined


def _bucket_facts(arguments: Sequence[Facts]) -> Facts:
    value, low, high, (count,) = *arguments[:3], arguments[3].values or (None,)
    if type(count) is not int or not 1 <= count <= _MOST_BUCKETS:
        raise ParameterError(f"width_bucket makes 1 to {_MOST_BUCKETS} buckets; write width_bucket(age, 0, 100, 10).")
    if low.lower is None or high.lower is None or not float(low.lower) < float(high.lower):
        raise ParameterError("The bounds of width_bucket must increase; write width_bucket(age, 0, 100, 10).")
    least, most = (Fraction(_bucket(bound, low.lower, high.lower, count)) for bound in (value.lower, value.upper))
    first = Fraction(0) if value.lower is None else max(least - 1, Fraction(0))  # a quotient may be rounded past an edge
    last = Fraction(count + 1) if value.upper is None else min(most + 1, Fraction(count + 1))
    exact = value.step is not None and value.step.denominator == 1 and (low.lower.denominator == high.lower.denominator == 1)
    return number_facts(
        least if exact and value.lower is not None else first, most if exact and value.upper is not None else last, ONE
    )


def _bucket(bound: Fraction | None, low: Fraction, high: Fraction, count: int) -> int:
    if bound is None or bound < low:
        return 0
    return count + 1 if bound >= high else math.floor((bound - low) * count / (high - low)) + 1


def _define_bucket(value: Expression, low: Expression, high: Expression, count: Expression) -> Expression:
    assert isinstance(count, Literal)
    assert isinstance(count.value, int)
    share = Call("/", (Call("*", (Call("-", (value, low)), count)), Call("-", (high, low))))
    inside = Call("least", (Call("+", (Call("floor", (share,)), Literal(1))), count))
    beyond = (Call(">=", (value, high)), Literal(count.value + 1))
    return Call("case", (Call("<", (value, low)), Literal(0), Call("<", (value, high)), inside, *beyond, Literal(None)))


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
    Operation("/", 2, 2, _TWO, divide, over, written=2),
    Operation("//", 2, 2, _TWO, _floor_divide, lambda arguments: _floored(over(arguments)), written=2),
    Operation("%", 2, 2, _TWO, _remainder, _modulo, written=8),
    Operation("neg", 1, 1, ("number",), lambda a: 0.0 - a, _negated),
    Operation("abs", 1, 1, ("number",), abs, _size),
    Operation("floor", 1, 1, ("number",), _toward(math.floor), _whole(math.floor)),
    Operation("ceil", 1, 1, ("number",), _toward(math.ceil), _whole(math.ceil)),
    Operation("round", 1, 1, ("number",), _toward(nearest), _whole(nearest)),
    Operation("trunc", 1, 1, ("number",), _toward(math.trunc), _whole(math.trunc)),
    Operation("sign", 1, 1, ("number",), lambda a: float((a > 0) - (a < 0)), _sign),
    Operation("round_to", 2, 2, _TWO, undefined, _to_digits(nearest), constant=1, defined=_digits("round")),
    Operation("trunc_to", 2, 2, _TWO, undefined, _to_digits(math.trunc), constant=1, defined=_digits("trunc")),
    Operation("width_bucket", 4, 4, ("number",), undefined, _bucket_facts, constant=1, defined=_define_bucket),
    Operation("least", 2, None, _ORDERED, lambda *values: min(values, key=_order), _extreme(min, True), written=2),
    Operation("greatest", 2, None, _ORDERED, lambda *values: max(values, key=_order), _extreme(max, False), written=2),
)
