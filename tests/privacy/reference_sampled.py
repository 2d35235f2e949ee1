"""True privacy curves on Poisson samples: one use of any pair that is its own mirror image, and boxes by listing all outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx
from privacy.reference_curves import BITS, Curve, phi, real


def sampled(curve: Callable[[arb], arb], rate: Fraction) -> tuple[Curve, Curve]:
    """One use on a Poisson sample, a record removed and added, of a pair (P, Q) that is its own mirror image.

    (1 - q) Q + q P > e^x Q where P > e^y Q, y = ln(1 + (e^x - 1) / q). And Q > e^x ((1 - q) Q + q P) where Q > e^y P, y = x +
    ln(q / (1 - e^x (1 - q))), or nowhere.
    """

    def removing(x: Fraction) -> arb:
        with ctx.workprec(BITS):
            q = real(rate)
            return q * curve((1 + real(x).expm1() / q).log())

    def adding(x: Fraction) -> arb:
        with ctx.workprec(BITS):
            q, rest = real(rate), 1 - real(x).exp() * (1 - real(rate))
            return rest * curve(real(x) + (q / rest).log()) if rest > 0 else arb(0)

    return removing, adding


def gaussian_at(squared_mu: Fraction) -> Callable[[arb], arb]:
    def delta(x: arb) -> arb:
        mu = real(squared_mu).sqrt()
        return phi(mu / 2 - x / mu) - x.exp() * phi(-mu / 2 - x / mu)

    return delta


def laplace_at(epsilon: Fraction) -> Callable[[arb], arb]:
    def delta(x: arb) -> arb:
        e = real(epsilon)
        return arb(0) if x >= e else 1 - x.exp() if x <= -e else -((x - e) / 2).expm1()

    return delta


def response_at(epsilon: Fraction, options: int) -> Callable[[arb], arb]:
    def delta(x: arb) -> arb:
        e = real(epsilon)
        lie = (-e).exp()
        law = [(e, arb(1)), (arb(0), (options - 2) * lie), (-e, lie)]
        return sum((m * (1 - (x - l).exp()) for l, m in law if l > x), arb(0)) / (1 + (options - 1) * lie)

    return delta


def bounded_range_at(epsilon: Fraction):
    def delta(x: arb) -> arb:
        e = real(epsilon)
        if x >= e:
            return arb(0)
        return 1 - x.exp() if x <= -e else ((e / 2).exp() - (x / 2).exp()) ** 2 / e.expm1()

    return delta


def sampled_boxes(epsilon: Fraction, delta: Fraction, rate: Fraction, count: int, *, adding: bool) -> Curve:
    """k (epsilon, delta) boxes on Poisson samples: their four outcomes, and every way to see each so often."""
    with ctx.workprec(BITS):
        true = real(1 - delta) / (1 + (-real(epsilon)).exp())
        p = [true, real(1 - delta) - true, real(delta), arb(0)]
        q = [p[1], p[0], p[3], p[2]]
        mixed = [real(1 - rate) * b + real(rate) * a for a, b in zip(p, q, strict=True)]
        first, second = (q, mixed) if adding else (mixed, q)
        finite = [(a, (a / b).log()) for a, b in zip(first, second, strict=True) if not (a == 0 or b == 0)]
        infinity = 1 - (1 - sum((a for a, b in zip(first, second, strict=True) if b == 0), arb(0))) ** count
        totals = [(arb(1), arb(0), 0)]
        for i, (mass, loss) in enumerate(finite):
            last = i == len(finite) - 1
            totals = [
                (m * mass**n * math.comb(count - used, n), l + n * loss, used + n)
                for m, l, used in totals
                for n in (range(count - used, count - used + 1) if last else range(count - used + 1))
            ]

    def delta_at(x: Fraction) -> arb:
        with ctx.workprec(BITS):
            return sum((m * (1 - (real(x) - l).exp()) for m, l, _ in totals if l > real(x)), infinity)

    return delta_at
