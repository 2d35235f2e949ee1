"""What a sampler must return for given binary digits: the defining formulas at 320 bits, written from the definitions.

``Cell(k, b)`` is the interval [k, k + 1] / 2^b in which a uniform lies once its first b digits are k. The functions give the real
number before flooring at one point; monotonicity takes care of the rest of a cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpz

from reference.laws import real

BITS = 320


def at_full_precision() -> object:
    """A context in which flint works with 320 bits."""
    return ctx.workprec(BITS)


@dataclass(frozen=True)
class Cell:
    """A uniform of which the first ``known`` binary digits, the integer ``digits``, are revealed."""

    digits: int
    known: int

    def extended(self, words: Iterable[int]) -> Cell:
        digits, known = self.digits, self.known
        for word in words:
            digits, known = digits << 64 | word, known + 64
        return Cell(digits, known)

    def ends(self) -> tuple[arb, arb]:
        return dyadic(self.digits, self.known), dyadic(self.digits + 1, self.known)


def dyadic(digits: int, known: int) -> arb:
    return arb(fmpz(digits)) * arb(2) ** -known


def floors(*values: arb) -> set[int]:
    """Every floor these numbers may have; two for a number that is a boundary, as far as 320 bits can tell."""
    ends = [end for value in values for end in (value.lower(), value.upper())]
    return {int(end.floor().unique_fmpz()) for end in ends}


def floor(value: arb) -> int:
    (whole,) = floors(value)
    return whole


def exponential(scale: Fraction, shift: arb, minus: bool, u: arb) -> arb:
    """shift +- scale * (-ln u)."""
    noise = -real(scale) * u.log()
    return shift - noise if minus else shift + noise


def exponential_digits(scale: Fraction, distance: arb, known: int = 63) -> int:
    """The cell in which -scale ln U = distance."""
    return floor((-distance / real(scale)).exp() * arb(2) ** known)


def cut_exponential(scale: Fraction, length: int, shift: arb, minus: bool, w: arb) -> arb:
    """shift +- R, where R is scale * Exp conditioned to lie below length: P(R <= r) = (1 - e^(-r/t)) / (1 - e^(-length/t))."""
    cut = 1 - real(-length / scale).exp()
    noise = -real(scale) * (1 - w * cut).log()
    return shift - noise if minus else shift + noise


def cut_exponential_digits(scale: Fraction, length: int, distance: arb, known: int = 63) -> int:
    """The cell in which R = distance."""
    cut = 1 - real(-length / scale).exp()
    return floor((1 - (-distance / real(scale)).exp()) / cut * arb(2) ** known)


def log_c(scale: Fraction) -> arb:
    """The shift that makes |X| = floor(shift + t Exp) discrete Laplace: t ln(2 / (1 + e^(-1/t)))."""
    return real(scale) * (2 / (1 + real(-1 / scale).exp())).log()


def box_muller(variance: Fraction, u: arb, w: arb) -> tuple[arb, arb]:
    """sigma sqrt(-2 ln u) times cosine and sine of (pi/2) w."""
    radius = (-2 * real(variance) * u.log()).sqrt()
    angle = arb.pi() / 2 * w
    return radius * angle.cos(), radius * angle.sin()


def noise(kind: str, v: arb) -> arb:
    """The three contest noises as falling functions of one uniform."""
    if kind == "exponential":
        return -v.log()
    if kind == "gumbel":
        return -(-(1 - v).log()).log()
    return -(2 * v).log() if v <= arb(1) / 2 else (2 * (1 - v)).log()
