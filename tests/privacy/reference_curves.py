"""True privacy curves delta(epsilon), by methods that share nothing with the library: balls of several hundred bits.

A curve is a function from a rational epsilon of either sign to a ball around delta(epsilon) = E[(1 - e^(epsilon - L))+], L being
the total loss. Losses on a lattice are powers of polynomials, Gaussian ones a closed form, mixtures sums or integrals of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from flint import acb, arb, arb_poly, ctx, fmpq, fmpz, fmpz_poly

Curve = Callable[[Fraction], arb]
BITS = 640  # digits left after a sum over masses down to 1e-100


def real(value: Fraction | int) -> arb:
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian(squared_mu: Fraction) -> Curve:
    """Gaussian noise (Balle and Wang 2018)."""

    def delta(epsilon: Fraction) -> arb:
        with ctx.workprec(BITS):
            mu, e = real(squared_mu).sqrt(), real(epsilon)
            return phi(mu / 2 - e / mu) - e.exp() * phi(-mu / 2 - e / mu)

    return delta


class Atoms:
    """A total loss on the lattice first + j step, with masses, and what lies at infinity."""

    def __init__(self, first: Fraction, step: Fraction, masses: Sequence[arb], infinity: arb | int = 0) -> None:
        self.first, self.step, self.infinity = first, step, arb(infinity)
        with ctx.workprec(BITS):  # sums of p and of p e^-l from the top, so that a question costs nothing
            ratio, factor = (-real(step)).exp(), (-real(first + (len(masses) - 1) * step)).exp()
            self.p, self.q = [arb(0)], [arb(0)]
            for mass in reversed(masses):
                self.p.append(self.p[-1] + mass)
                self.q.append(self.q[-1] + mass * factor)
                factor /= ratio

    def __call__(self, epsilon: Fraction) -> arb:
        below = math.floor((epsilon - self.first) / self.step) + 1  # atoms with l <= epsilon
        above = min(max(len(self.p) - 1 - below, 0), len(self.p) - 1)
        with ctx.workprec(BITS):
            return self.p[above] - real(epsilon).exp() * self.q[above] + self.infinity

    def items(self) -> list[tuple[Fraction, arb]]:
        with ctx.workprec(BITS):
            masses = [high - low for low, high in zip(self.p[:-1], self.p[1:], strict=True)][::-1]
        return [(self.first + j * self.step, mass) for j, mass in enumerate(masses)]


def power(first: Fraction, step: Fraction, law: Callable[[], list[arb]], count: int) -> Atoms:
    """The k-fold sum of one lattice law: polynomials with integers in units of 2^-BITS, rounded down after every product.

    If coefficients err by a and b units and each sums to at most 1, those of the product err by at most a + b + 2: 4k in all.
    """
    with ctx.workprec(BITS + 64):
        one = fmpz_poly([(mass * arb(2) ** BITS).floor().mid().unique_fmpz() for mass in law()])
        result, square, left = fmpz_poly([fmpz(1) << BITS]), one, count
        while left:
            if left & 1:
                result = fmpz_poly([c >> BITS for c in (result * square).coeffs()])
            left >>= 1
            if left:
                square = fmpz_poly([c >> BITS for c in (square * square).coeffs()])
        size = (one.length() - 1) * count + 1
        units = [int(c) for c in result.coeffs()] + [0] * (size - result.length())
        return Atoms(count * first, step, [arb((unit, -BITS), (4 * count, -BITS)) for unit in units])


def pure(epsilon: Fraction, count: int, delta: Fraction = Fraction(0)) -> Atoms:
    """(epsilon, delta) boxes: randomized response between two, by the binomial law; 1 - (1 - delta)^k at infinity."""
    with ctx.workprec(BITS):
        truth = real(1 - delta) / (1 + (-real(epsilon)).exp())
        lie = real(1 - delta) - truth
        mass, ratio = lie**count, truth / lie
        masses = [mass]
        for j in range(count):  # j + 1 times the truth
            mass = mass * ratio * (count - j) / (j + 1)
            masses.append(mass)
        return Atoms(-count * epsilon, 2 * epsilon, masses, 1 - real(1 - delta) ** count)


def response(epsilon: Fraction, options: int, count: int) -> Atoms:
    """Randomized response among several options."""

    def law() -> list[arb]:
        lie = (-real(epsilon)).exp()
        total = 1 + (options - 1) * lie
        return [lie / total, (options - 2) * lie / total, 1 / total]

    return power(-epsilon, epsilon, law, count)


def discrete_laplace(sensitivity: int, scale: Fraction, count: int) -> Atoms:
    """P(x) proportional to e^(-|x| / scale) against its shift by d: every x, one by one, the two tails summed up."""

    def law() -> list[arb]:
        q, d = (-1 / real(scale)).exp(), sensitivity
        norm = (1 - q) / (1 + q)
        # loss (|x - d| - |x|) / scale under P: d for x <= 0, d - 2x between, -d for x >= d; ascending in loss
        inside = [norm * q**x for x in range(d - 1, 0, -1)]
        return [norm * q**d / (1 - q), *inside, norm / (1 - q)]

    return power(-sensitivity / Fraction(scale), 2 / Fraction(scale), law, count)


def discrete_gaussian(squared_sigma: Fraction, count: int) -> Atoms:
    """Losses (1 - 2x) / (2 sigma^2); values are left out where their mass is below 2^-600."""
    reach = math.isqrt(math.ceil(squared_sigma * 2 * 600)) + 2
    first = (1 - 2 * Fraction(reach)) / (2 * squared_sigma)

    def law() -> list[arb]:
        weights = [(-real(Fraction(x * x) / (2 * squared_sigma))).exp() for x in range(reach, -reach - 1, -1)]
        total = sum(weights, arb(0))
        return [weight / total for weight in weights]

    return power(first, 1 / squared_sigma, law, count)


def with_gaussian(squared_mu: Fraction, atoms: Atoms) -> Curve:
    """A Gaussian and a lattice law: the Gaussian's curve, moved by every atom."""
    smooth, items = gaussian(squared_mu), atoms.items()

    def delta(epsilon: Fraction) -> arb:
        with ctx.workprec(BITS):
            return sum((mass * smooth(epsilon - loss) for loss, mass in items), arb(0)) + atoms.infinity

    return delta


def laplace(epsilon: Fraction) -> Curve:
    """One real Laplace: 1 - e^((x - epsilon) / 2) on [-epsilon, epsilon]."""

    def delta(x: Fraction) -> arb:
        with ctx.workprec(BITS):
            if x >= epsilon:
                return arb(0)
            return 1 - real(x).exp() if x <= -epsilon else 1 - real((x - epsilon) / 2).exp()

    return delta


def laplaces(epsilon: Fraction, count: int) -> Curve:
    """k real Laplaces, exactly.

    e^(-l/2) dP is the symmetric measure (e^(-epsilon/2) / 2) (both ends + half the uniform density). With w for one integration
    and z for a shift by 2 epsilon its k-th power is ((1 + w/2) + z (1 - w/2))^k: piecewise polynomial, integrated term by term
    against e^(-l/2) - e^(x + l/2) over l < -x.
    """
    bits = BITS + 4 * count

    @cache
    def pieces(m: int) -> list[arb]:
        with ctx.workprec(bits):
            half = arb(1) / 2
            found = arb_poly([1, half]) ** (count - m) * arb_poly([1, -half]) ** m
            return [arb(fmpz(math.comb(count, m))) * c for c in found.coeffs()]

    def delta(x: Fraction) -> arb:
        with ctx.workprec(bits):
            total = arb(0)
            for m in range(count + 1):
                start = (2 * m - count) * epsilon
                if start >= -x:
                    break
                b = real(-x - start)
                left, right = (-real(start) / 2).exp(), (real(x) + real(start) / 2).exp()
                # integrals over y in [0, b] of y^(j-1)/(j-1)! e^(-y/2) and e^(y/2), by parts from j = 1
                minus, plus, edge = arb(0), arb(0), arb(1)
                terms = pieces(m)
                total += terms[0] * (left - right)
                for j in range(1, len(terms)):
                    if j == 1:
                        minus, plus = -2 * (-b / 2).expm1(), 2 * (b / 2).expm1()
                    else:
                        edge = edge * b / (j - 1)
                        minus, plus = 2 * (minus - edge * (-b / 2).exp()), 2 * (edge * (b / 2).exp() - plus)
                    total += terms[j] * (left * minus - right * plus)
            return total * (-count * real(epsilon) / 2).exp() / arb(2) ** count

    return delta


def gaussian_and_laplace(squared_mu: Fraction, epsilon: Fraction) -> Curve:
    """The Gaussian's curve, moved by the Laplace's atoms and integrated over its density."""

    def delta(x: Fraction) -> arb:
        with ctx.workprec(256):
            mu, e, at = real(squared_mu).sqrt(), real(epsilon), real(x)

            def smooth(loss: acb) -> acb:
                y, root = at - loss, arb(2).sqrt()
                return ((y / mu - mu / 2) / root).erfc() / 2 - y.exp() * ((y / mu + mu / 2) / root).erfc() / 2

            inside = acb.integral(lambda loss, _: ((loss - e) / 2).exp() / 4 * smooth(loss), -e, e, rel_tol=arb(2) ** -200).real
            ends = smooth(acb(e)).real / 2 + (-e).exp() * smooth(acb(-e)).real / 2
            return inside + ends

    return delta
