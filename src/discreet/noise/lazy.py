"""Lazy exactness: decide in floating point where that is proved right, and look at more bits where it is not.

Let U be a uniform real in (0, 1) whose binary digits are revealed on demand; after b of them it is known to lie in
the cell [k, k + 1] / 2^b. A sampler is a function T(U) with whole-number values. If a float computation
with a proven error bound gives the same T for every u of the cell, the answer is settled. If not, the *same* U gets 64
more digits and balls (rigorous intervals) decide on the smaller cell, until they can.

The law of the result is exactly that of T(U), whatever the floats do, as long as the bound holds. Drawing afresh instead
would condition on "not near a boundary" and bias the law; that never happens here.

The samplers rely on one fact about the platform: numpy's float64 ``log``, ``log1p`` and ``exp`` err by at most 16 units in
the last place, and + - * / sqrt and integer conversion round correctly (IEEE 754). numpy aims at 4 units; the tests measure it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from discreet.balls import arb, between, precision
from discreet.errors import EntropyError
from discreet.noise.bits import words

T = TypeVar("T")

SLACK = 2.0**-40
"""Half-width of the undecided zone around a boundary, per unit of scale. Each kernel proves a smaller error."""

LARGEST = 2**62
"""No sampler returns more: scales end at 2^52, so it would take a U below 2^-1400."""


def settle(cells: Sequence[int], known: int, decide: Callable[[list[arb]], T | None]) -> T:
    """Reveal further digits of the uniforms until ``decide`` is sure.

    ``cells`` are the integers formed by the first ``known`` binary digits of each uniform; ``decide`` gets one ball a
    uniform, each containing the whole cell, and answers None while the cells are too wide.
    """
    numbers = list(cells)
    while True:
        with precision(2 * known + 128):
            answer = decide([between(number, known) for number in numbers])
        if answer is not None:
            return answer
        if known > 64 * 32:
            raise EntropyError("Two thousand random bits did not settle one draw; the system's generator cannot be working.")
        more = words(len(numbers))
        numbers = [number << 64 | int(word) for number, word in zip(numbers, more, strict=True)]
        known += 64
