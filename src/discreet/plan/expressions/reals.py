"""Square roots, logarithms, exponentials and powers, the same to the last bit on every engine.

Systems' own ``ln``, ``exp`` and ``power`` differ in their last bits, and then the same question would have different answers.
Here they are made of operations that IEEE 754 fixes, in a fixed order, each rounded by itself: ``+ - * /``, square root, floor,
comparison, and a product with a power of two.

ln x: let k be a whole number within 1 of log2 x. Then q = x 2^-k is exact, and half or twice of it, exact too, is the one
number m of [0.7071..., 1.4142...) with x = m 2^e. m and e do not depend on k, so any engine's log2 that is right to a half
gives the same m and e; the rest, ln m = 2 artanh((m - 1) / (m + 1)) by its series to z^21, is arithmetic. The series is cut off
below 2e-18, and the result is right to about 1e-15.

exp x: k = floor(x log2 e + 1/2) is arithmetic; r = x - k ln 2 in two parts, the first product exact; the series to r^13 is cut
off below 5e-18. A power of two as a factor is exact, as ``power(2, k)`` is on every engine in use (the engine's tests ask for
each k).

log2 and log10 are ln x times a constant, rounded to multiples of 2^-40, so that those of powers of 2 and of 10 are whole
numbers. log(b, x) of any other constant b is ln x / ln b: two of these and one division, which IEEE 754 fixes too. x to a whole
power of at most 16 is a product; to any other it is exp(y ln x), for x above zero. What has no value is missing: roots and
logarithms of what is negative, logarithms of zero. Bounds are those of the exact functions with a margin outwards, a thousand
times these errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.facts import TINY, Facts, Operation, number_facts, undefined

LARGEST = 1e150  # of what has a logarithm
MOST_EXPONENT = 345  # e to this is below 1e150
LEAST_EXPONENT = -700  # e to what is below counts as e to this
HALF_ROOT, ROOT = 0.7071067811865476, 1.4142135623730951
LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first has 21 bits to spare
LOG2_E = 1.4426950408889634
LN_SERIES = tuple(2 / (2 * j + 1) for j in range(11))
EXP_SERIES = tuple(1 / math.factorial(j) for j in range(14))
_FINE = 2**40
_MOST_FACTORS = 16


def horner(variable: float, series: Sequence[float]) -> float:
    """A polynomial, from its last coefficient down."""
    total = series[-1]
    for coefficient in reversed(series[:-1]):
        total = total * variable + coefficient
    return total


def logarithm(x: float) -> float | None:
    """ln x.

    >>> logarithm(1.0), logarithm(10.0), logarithm(0.0)
    (0.0, 2.3025850929940455, None)
    """
    if not TINY <= x <= LARGEST:
        return None
    k = math.floor(math.log2(x) + 0.5)
    q = x * 2.0**-k
    if q >= ROOT:
        q, k = q * 0.5, k + 1
    elif q < HALF_ROOT:
        q, k = q * 2.0, k - 1
    z = (q - 1.0) / (q + 1.0)
    return z * horner(z * z, LN_SERIES) + k * LN2 + 0.0


def exponential(x: float) -> float | None:
    """e to the x.

    >>> exponential(0.0), exponential(1.0)
    (1.0, 2.7182818284590455)
    """
    if not x <= MOST_EXPONENT + 1:
        return None
    t = max(x, float(LEAST_EXPONENT))
    k = math.floor(t * LOG2_E + 0.5)
    r = (t - k * LN2_HIGH) - k * LN2_LOW
    return horner(r, EXP_SERIES) * 2.0**k


def _root(x: float) -> float | None:
    return math.sqrt(x) + 0.0 if 0.0 <= x <= 1e300 else None


def _outwards(value: float, up: bool) -> Fraction:
    """A bound near a double that is right to a few bits: 12 digits, away from what it bounds."""
    margin = 1e-12 * abs(value) + 1e-12
    context = Context(prec=12, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return Fraction(context.create_decimal(Decimal(value + margin if up else value - margin)))


def _bounds(
    a: tuple[Fraction | None, Fraction | None], of: Callable[[float], float], exact: Callable[[Fraction], Fraction | None]
) -> tuple[Fraction | None, Fraction | None]:
    """Bounds of a growing function; where ``exact`` knows its value, that."""
    lower, upper = a
    low = None if lower is None else exact(lower)
    high = None if upper is None else exact(upper)
    if low is None and lower is not None:
        low = _outwards(of(float(lower)), up=False)
    if high is None and upper is not None:
        high = _outwards(of(float(upper)), up=True)
    return low, high


def _positive(a: Facts) -> tuple[Fraction | None, Fraction | None]:
    """The range of what is above zero: it begins with a step where one is known."""
    if a.upper is not None and a.upper <= 0:
        raise ParameterError("This logarithm or power is of a number that is never above zero; write a column that can be.")
    return (a.lower if a.lower is not None and a.lower > 0 else a.step), a.upper


def _logarithm_of(base: int | None) -> Callable[[Sequence[Facts]], Facts]:
    def exact(x: Fraction) -> Fraction | None:
        if base is None or x < 1:
            return Fraction(0) if x == 1 else None
        power = round(math.log(x) / math.log(base))
        return Fraction(power) if Fraction(base) ** power == x else None

    def of(x: float) -> float:
        return math.log(x) if base is None else math.log2(x) if base == 2 else math.log10(x)

    def rule(arguments: Sequence[Facts]) -> Facts:
        (a,) = arguments
        return number_facts(*_bounds(_positive(a), of, exact), None, a.lower is None or a.lower <= 0)

    return rule


def _exponential_facts(arguments: Sequence[Facts]) -> Facts:
    (a,) = arguments
    if a.upper is None or a.upper > MOST_EXPONENT:
        raise ParameterError("This exponential can grow beyond 1e150; bound what is inside, exp(least(x, 10)).")
    lower = None if a.lower is None else max(a.lower, Fraction(LEAST_EXPONENT))
    low, high = _bounds((lower, a.upper), math.exp, lambda x: Fraction(1) if x == 0 else None)
    return number_facts(max(low or Fraction(0), Fraction(0)), high, None)


def _root_facts(arguments: Sequence[Facts]) -> Facts:
    (a,) = arguments
    if a.upper is not None and a.upper < 0:
        raise ParameterError("This square root is of a number that is never positive; write a column that can be.")

    def exact(x: Fraction) -> Fraction | None:
        root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
        return root if root * root == x else None

    lower = Fraction(0) if a.lower is None else max(a.lower, Fraction(0))
    low, high = _bounds((lower, a.upper), math.sqrt, exact)
    return number_facts(max(low or Fraction(0), Fraction(0)), high, None, a.lower is None or a.lower < 0)


def _whole_power(exponent: object) -> int | None:
    whole = isinstance(exponent, int) and not isinstance(exponent, bool) and abs(exponent) <= _MOST_FACTORS
    return exponent if whole else None  # type: ignore[return-value]


def _power_facts(arguments: Sequence[Facts]) -> Facts:
    x, y = arguments
    exponent = y.values[0] if y.values is not None and len(y.values) == 1 else None
    whole = _whole_power(exponent)
    if whole is None and exponent == Fraction(1, 2):
        return _root_facts((x,))
    if whole is None:
        return _real_power(x, y)
    ends = None if x.lower is None or x.upper is None else (x.lower, x.upper)
    if ends is not None and max(map(abs, ends)) > 1 and abs(whole) * math.log10(max(map(abs, ends))) > 160:
        raise ParameterError("This power can grow beyond 1e150; bound what is inside, power(least(x, 1000), 3).")
    size = abs(whole)
    low, high = (None, None) if ends is None else (min(end**size for end in ends), max(end**size for end in ends))
    if size % 2 == 0:
        crosses = ends is None or ends[0] <= 0 <= ends[1]
        low = (Fraction(0) if size else Fraction(1)) if crosses else low
    found = number_facts(low, high, None if x.step is None else x.step**size)
    if whole >= 0:
        return found
    from discreet.plan.expressions.arithmetic import over

    return over((Facts("number", False, Fraction(1), Fraction(1)), found))


def _real_power(x: Facts, y: Facts) -> Facts:
    """exp(y ln x)."""
    from discreet.plan.expressions.arithmetic import corners

    low, high = _positive(x)
    zero = x.lower is None or x.lower <= 0
    missing = x.lower is None or x.lower < 0 or (zero and (y.lower is None or y.lower <= 0))
    logs = _bounds((low, high), math.log, lambda one: Fraction(0) if one == 1 else None)
    small, large = corners(Facts("number", False, *logs), y, lambda a, b: a * b)
    if small is None and zero and y.lower is not None and y.lower > 0 and logs[1] is not None and y.upper is not None:
        large = max(logs[1] * y.lower, logs[1] * y.upper)  # no step is known, but powers of small numbers are small
    if large is None:
        return number_facts(Fraction(0), None, None, True)
    found = _exponential_facts((Facts("number", False, small, large),))
    return number_facts(Fraction(0) if zero else found.lower, found.upper, None, missing)


def _product(x: Expression, y: Expression) -> Expression:
    """A power, by what it is made of."""
    exponent = y.value if isinstance(y, Literal) else None
    whole = _whole_power(exponent)
    if whole is None:
        if exponent == Fraction(1, 2):
            return Call("sqrt", (x,))
        real: Expression = Call("exp", (Call("*", (y, Call("ln", (x,)))),))
        return Call("case", (Call("and", (Call("=", (x, Literal(0))), Call(">", (y, Literal(0))))), Literal(0), real))
    found: Expression = Call("+", (Call("*", (x, Literal(0))), Literal(1))) if whole == 0 else x
    for _ in range(abs(whole) - 1):
        found = Call("*", (found, x))
    return found if whole >= 0 else Call("/", (Literal(1), found))


def _fine_logarithm(base: int) -> Callable[[Expression], Expression]:
    factor = Fraction(_FINE / math.log(base))

    def defined(x: Expression) -> Expression:
        scaled = Call("+", (Call("*", (Call("ln", (x,)), Literal(factor))), Literal(Fraction(1, 2))))
        return Call("/", (Call("floor", (scaled,)), Literal(_FINE)))

    return defined


REALS = (
    Operation("sqrt", 1, 1, ("number",), _root, _root_facts, written=2),
    Operation("ln", 1, 1, ("number",), logarithm, _logarithm_of(None), written=15),
    Operation("exp", 1, 1, ("number",), exponential, _exponential_facts, written=12),
    Operation("log2", 1, 1, ("number",), undefined, _logarithm_of(2), defined=_fine_logarithm(2)),
    Operation("log10", 1, 1, ("number",), undefined, _logarithm_of(10), defined=_fine_logarithm(10)),
    Operation("power", 2, 2, ("number", "number"), undefined, _power_facts, defined=_product),
)
