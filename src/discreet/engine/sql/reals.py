"""Logarithms and exponentials as SQL: the arithmetic of ``plan.expressions.reals`` in the same order, so with the same doubles.

A value that is used several times gets a name. SQL has no name for a value within an expression, and engines have different ways
round that: ``let`` is the dialect's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.plan.expressions.facts import TINY
from discreet.plan.expressions.reals import (
    EXP_SERIES,
    HALF_ROOT,
    LARGEST,
    LEAST_EXPONENT,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LN_SERIES,
    LOG2_E,
    MOST_EXPONENT,
    ROOT,
)

Let = Callable[[str, str, str], str]  # a name, its value, and SQL in which the name stands


def double(number: float) -> str:
    """A double as every engine reads it back: shortest digits, with an exponent.

    >>> double(0.5), double(-1e-150)
    ('0.5e0', '-1e-150')
    """
    text = repr(number)
    return text if "e" in text else f"{text}e0"


def logarithm(let: Let, log2: str = "log2(x)") -> str:
    """The template of ``ln``; ``log2`` of x is right to a half."""
    above, below = f"q >= {double(ROOT)}", f"q < {double(HALF_ROOT)}"
    z = (
        f"CASE WHEN {above} THEN (q * 0.5e0 - 1e0) / (q * 0.5e0 + 1e0) "
        f"WHEN {below} THEN (q * 2e0 - 1e0) / (q * 2e0 + 1e0) ELSE (q - 1e0) / (q + 1e0) END"
    )
    e = f"(CASE WHEN {above} THEN k + 1e0 WHEN {below} THEN k - 1e0 ELSE k END)"
    found = f"z * {_horner('w', LN_SERIES)} + {e} * {double(LN2)} + 0e0"
    for name, value in (("w", "z * z"), ("z", z), ("q", "x * power(2e0, 0e0 - k)"), ("k", f"floor({log2} + 0.5e0)")):
        found = let(name, value, found)
    return let("x", f"CASE WHEN {{0}} BETWEEN {double(TINY)} AND {double(LARGEST)} THEN {{0}} END", found)


def exponential(let: Let) -> str:
    """The template of ``exp``."""
    found = f"{_horner('r', EXP_SERIES)} * power(2e0, k)"
    found = let("r", f"(x - k * {double(LN2_HIGH)}) - k * {double(LN2_LOW)}", found)
    found = let("k", f"floor(x * {double(LOG2_E)} + 0.5e0)", found)
    least, most = double(float(LEAST_EXPONENT)), double(float(MOST_EXPONENT + 1))
    return let("x", f"CASE WHEN {{0}} < {least} THEN {least} WHEN {{0}} <= {most} THEN {{0}} END", found)


def _horner(variable: str, series: Sequence[float]) -> str:
    total = double(series[-1])
    for coefficient in reversed(series[:-1]):
        total = f"({total} * {variable} + {double(coefficient)})"
    return total
