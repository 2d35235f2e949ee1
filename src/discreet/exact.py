"""Plain numbers read as the exact rationals their author wrote, and rounded back in a named direction.

A float parameter means its shortest decimal: ``0.1`` is 1/10, not the nearest double. Everything that
enters a privacy proof travels as an ``int`` or a ``Fraction``; it becomes a float only through ``up``,
``down`` or, where no guarantee hangs on it, ``float``.
"""

from __future__ import annotations

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np

from discreet.errors import ParameterError

_WRITTEN = re.compile(r"-?[0-9]{1,4300}([/.][0-9]{1,4300})?")  # as many digits as Python reads


def rational(name: str, value: object, hint: str = "a number such as 0.5") -> Fraction:
    """Read a public parameter exactly, or refuse it in a sentence.

    >>> rational("epsilon", 0.1)
    Fraction(1, 10)
    """
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be a number, not the truth value {value}; write {hint}.")
    if isinstance(value, Rational):  # int, Fraction, numpy integers
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ParameterError(f"{name} must be finite, not {float(value)}; write {hint}.")
        if value != 0 and abs(float(value)) < sys.float_info.min:
            raise ParameterError(
                f"{name} = {float(value)} is a subnormal float whose digits are not reliable; write {hint}, or an exact Fraction."
            )
        return Fraction(str(value) if isinstance(value, np.floating) else repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ParameterError(f"{name} must be finite, not {shown(value)}; write {hint}.")
        return Fraction(value)
    raise ParameterError(f"{name} must be a number, not {type(value).__name__}; write {hint}.")


def shown(value: object) -> str:
    """A public number as a message may quote it."""
    try:
        text = str(value)
    except ValueError:  # integers of thousands of digits are not printed
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:50]}..."


def read_fraction(text: object) -> Fraction:
    """A number as files hold it, ``"3"``, ``"-1/3"`` or ``"0.5"``; no powers of ten: ``"1e999999999"`` would be a number of a
    billion digits.

    >>> read_fraction("1/3")
    Fraction(1, 3)
    """
    if not isinstance(text, str) or not _WRITTEN.fullmatch(text):
        raise ParameterError("A number that was stored is not written as a fraction, such as 1/3: it is damaged.")
    return Fraction(text)


def positive(name: str, value: object, hint: str = "a number above 0, such as 1") -> Fraction:
    """A rational above zero."""
    exact = rational(name, value, hint)
    if exact <= 0:
        raise ParameterError(f"{name} must be above 0, not {shown(value)}; write {hint}.")
    return exact


def not_negative(name: str, value: object) -> Fraction:
    """A rational of at least zero."""
    exact = rational(name, value)
    if exact < 0:
        raise ParameterError(f"{name} must be at least 0, not {shown(value)}; write a number such as 1.")
    return exact


def sensitivity(value: object) -> int | Fraction:
    """A sensitivity above zero, an ``int`` only if it was given as one: that is what makes a mechanism integral.

    >>> sensitivity(1), sensitivity(1.0)
    (1, Fraction(1, 1))
    """
    exact = positive("sensitivity", value, "the most one record can change the value, such as 1")
    return int(exact) if isinstance(value, Integral) else exact


def probability(name: str, value: object, *, zero: bool, hint: str) -> Fraction:
    """A rational in (0, 1), or in [0, 1) where ``zero`` is allowed."""
    exact = rational(name, value, hint)
    if not (0 <= exact < 1) or (exact == 0 and not zero):
        interval = "[0, 1)" if zero else "(0, 1)"
        raise ParameterError(f"{name} must lie in {interval}, not {shown(value)}; write {hint}.")
    return exact


def whole(name: str, value: object, least: int = 1) -> int:
    """An integer parameter of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {shown(value)}.")
    if int(value) < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {shown(value)}.")
    return int(value)


def root_up(square: Fraction) -> Fraction:
    """The square root from above, to a relative 2^-60; exact for perfect squares."""
    low = root(square)
    return low if low * low == square else low + Fraction(1, square.denominator << 64)


def root(square: Fraction) -> Fraction:
    """The square root from below, to a relative 2^-60."""
    numerator = square.numerator * square.denominator << 128
    return Fraction(math.isqrt(numerator), square.denominator << 64)


def up(value: Fraction) -> float:
    """The smallest float that is not below ``value`` (infinity where none is finite)."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if near >= value else math.nextafter(near, math.inf)


def down(value: Fraction) -> float:
    """The largest float that is not above ``value``."""
    return 0.0 - up(-value)  # never minus zero


def nearest(value: Fraction) -> float:
    """The nearest float, infinite beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
