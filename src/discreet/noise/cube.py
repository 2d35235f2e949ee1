"""Noise in a cube, as exact integers: a vector whose density falls with its largest number, e^(-max |x_j| / t).

The vector is t R (2 U_1 - 1), ..., t R (2 U_m - 1), with independent uniforms U and R = -ln(V_1 ... V_(m+1)), a sum of m + 1
exponentials. *Proof.* Given R it is uniform in the cube of half-width t R. The density at a point whose largest number is t r is
the integral over R > r of (R^m e^-R / m!) / (2 t R)^m, which is e^-r / (m! (2 t)^m).

Each number is floor(s_j + 1/2 + t R (2 U_j - 1)) for a given s_j: the rounding of the ideal vector around s, its post-processing.
All uniforms get as many digits as it takes for balls to settle every floor (``lazy``): no float takes part, whatever t.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.balls import arb, ball, floor
from discreet.noise.bits import words
from discreet.noise.lazy import settle


def rounded(scale: Fraction, centre: Sequence[Fraction]) -> list[int]:
    """One draw around a centre, whole numbers, for a rational scale above 0.

    >>> len(rounded(Fraction(5, 2), [Fraction(0)] * 3))
    3
    """
    size = len(centre)
    raised = [place + Fraction(1, 2) for place in centre]

    def decide(uniforms: list[arb]) -> list[int] | None:
        product = arb(1)
        for one in uniforms[size:]:
            product *= one
        reach = -ball(scale) * product.log()
        found = []
        for place, one in zip(raised, uniforms, strict=False):
            whole = floor(ball(place) + reach * (2 * one - 1))
            if whole is None:
                return None
            found.append(whole)
        return found

    return settle([int(word) for word in words(2 * size + 1)], 64, decide)
