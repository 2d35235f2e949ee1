"""Rigorous real numbers: python-flint's balls at a chosen precision, and their directed rounding.

A ball is a midpoint and a radius; every operation returns a ball that contains every possible true
result. So a decision taken because a whole ball lies on one side is a proof. flint's precision is one
setting for the process: too low a setting makes balls wider, never wrong, and the lock here only keeps
our own threads from slowing each other down.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

__all__ = ["arb", "ball", "between", "bits", "floor", "log", "lower", "precision", "upper"]

_lock = threading.RLock()


def _fresh_lock() -> None:
    global _lock
    _lock = threading.RLock()


# A fork can copy the lock while another thread holds it: the child would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Run a block with flint working at ``bits`` bits."""
    with _lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def bits() -> int:
    """The precision that flint works at."""
    return int(ctx.prec)


def ball(value: Fraction | int) -> arb:
    """The ball of a rational at the current precision."""
    if isinstance(value, int):
        return arb(fmpz(value))
    return arb(fmpq(value.numerator, value.denominator))


def between(cell: int, bits: int) -> arb:
    """The ball of the whole interval [cell, cell + 1] / 2^bits, exactly."""
    return arb((2 * cell + 1, -bits - 1), (1, -bits - 1))


def floor(value: arb) -> int | None:
    """The floor of every number in the ball, or None where they disagree."""
    if not value.is_finite():
        return None
    whole = value.floor().unique_fmpz()
    return None if whole is None else int(whole)


def upper(value: arb) -> float:
    """The smallest float that is not below any number in the ball."""
    end = value.upper()
    near = float(end)
    if math.isnan(near):
        raise ArithmeticError("a ball without bounds was rounded; work at a higher precision")
    if near == -math.inf and end.is_finite():
        return -sys.float_info.max
    return near if not arb(near) < end else math.nextafter(near, math.inf)


def lower(value: arb) -> float:
    """The largest float that is not above any number in the ball."""
    return 0.0 - upper(-value)  # never minus zero


def log(value: Fraction) -> float:
    """The natural logarithm of a rational of any size, to a unit or two."""
    with precision(128):
        return float(ball(value).log())
