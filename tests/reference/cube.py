"""Noise in a cube a second time: a sum of logarithms, one uniform after the other, at 400 bits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, ctx, fmpq


def draw(scale: Fraction, centre: Sequence[Fraction], words: Sequence[int]) -> list[int]:
    """What words of 64 digits come to: the first are for directions, the others for the radius."""
    with ctx.workprec(400):
        middles = [arb(fmpq(2 * word + 1, 2**65)) for word in words]
        radius = arb(0)
        for one in middles[len(centre) :]:
            radius -= one.log()
        found = []
        for place, one in zip(centre, middles, strict=False):
            exact = arb(fmpq(place.numerator, place.denominator)) + arb(fmpq(1, 2))
            moved = arb(fmpq(scale.numerator, scale.denominator)) * radius * (one + one - 1)
            found.append(int((exact + moved).floor().unique_fmpz()))
        return found
