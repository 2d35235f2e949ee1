"""The Laplace mechanism's loss, real and discrete.

**One dimension is the worst.** A vector query of L1 sensitivity d shifts several coordinates; shifting one by d is worse.
Under Q, r = P/Q of a shift by a has mass 1/2 at e^-a, e^-a / 2 at e^a, and ln r has density e^(-(l+a)/2) / 4 between (scale
1). For shifts a and b together ln r is a sum of two; collecting terms (an end of one with the density of the other), its
density inside (-a-b, a+b) is at least 2/8 e^(-(l+a+b)/2), the density for the shift a + b, while its mass at both ends is half
as large. So the two laws of r, of equal mean 1, differ in sign + - + : the single shift is larger in convex order, which is to
say it dominates. The same count on the lattice holds for the discrete law, with ends 1/(1+q) and q^d/(1+q) and (1-q) q^j/(1+q)
between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball, precision, upper
from discreet.privacy.losses.atoms import LEAST, Atomic, Atoms, Listed
from discreet.privacy.losses.base import UNIT, tanh_rho
from discreet.privacy.losses.law import Law, list_law
from discreet.privacy.losses.rounding import Smooth, atoms_to_cells

_MOST_ATOMS = 1 << 12
_MANY = 1 << 20  # atoms of a law to look at; above, the loss's own coarser lattice has to do


@dataclass(frozen=True)
class Laplace(Smooth):
    """Real Laplace noise with sensitivity / scale = epsilon: atoms at +-epsilon, density e^((l - epsilon)/2) / 4 between."""

    epsilon: Fraction
    kind = "Laplace"

    @property
    def rho(self) -> Fraction:
        """The mean loss epsilon - 1 + e^-epsilon.

        M(u - 1/2) = e^(-epsilon/2) (cosh(epsilon u) + sinh(epsilon u) / 2u) has, as a function of v = u^2, only real negative
        zeros (those of the two terms interlace), so ln M is concave in v, hence below its tangent at v = 1/4: K(s) <= K'(0) s
        (s + 1).
        """
        with precision(160):
            return Fraction(upper(ball(self.epsilon) + (-ball(self.epsilon)).expm1()))

    @property
    def pure_mass(self) -> float:
        return 0.5

    def log_moment(self, x: float) -> float:
        e, u, size = self._number, abs(x + 0.5), x if x >= -0.5 else -1 - x  # symmetric about -1/2; all digits of small x
        return size * e + math.log((1 + 0.5 / u + math.exp(-2 * u * e) * (1 - 0.5 / u)) / 2) if u else math.log(1 + e / 2) - e / 2

    def characteristic(self, x: float, t: Reals) -> Complex:
        e, u = self._number, x + 0.5 + 1j * t
        turn = np.exp(1j * t * e)
        real = x + 0.5
        scale = 1 + 0.5 / real + math.exp(-2 * real * e) * (1 - 0.5 / real)
        result: Complex = (turn * (1 + 0.5 / u) + math.exp(-2 * real * e) * turn.conj() * (1 - 0.5 / u)) / scale
        return result

    def reach(self, x: float) -> float:
        return self._number * (1 + abs(x) / 4)

    def decay(self, x: float, t: float) -> float:
        """The atoms never fade; the density's part does like 1/t."""
        e, real = self._number, x + 0.5
        scale = 1 + 0.5 / real + math.exp(-2 * real * e) * (1 - 0.5 / real)
        return min(1.0, (1 + 0.5 / t) * (1 + math.exp(-2 * real * e)) / scale * (1 + 64 * UNIT))

    def hockey_stick(self, epsilon: Fraction) -> arb:
        return ball(0) if epsilon >= self.epsilon else -ball((epsilon - self.epsilon) / 2).expm1()

    def mean_variance(self) -> tuple[float, float]:
        e = self._number
        mean = e + math.expm1(-e)
        # E[L^2] = e^2 (1 + e^-e)/2 + the density's integral of l^2 e^((l-e)/2)/4 over (-e, e)
        inside = (
            (e * e - 4 * e + 8) / 2 - math.exp(-e) * (e * e + 4 * e + 8) / 2
            if e > 0.1
            else e**3 / 6 * (1 - e / 2 + 11 * e * e / 60)
        )
        return mean, max(0.0, e * e * (1 + math.exp(-e)) / 2 + inside - mean * mean)

    def between(self, left: Reals, width: Reals | float) -> tuple[Reals, float]:
        return np.exp((left + width - self._number) / 2) * -np.expm1(-np.asarray(width) / 2) / 2, 0.5

    def distribution(self) -> Law:
        return self._law(0.5, 0.5)

    def group(self, size: int) -> Laplace:
        return Laplace(size * self.epsilon)


@dataclass(frozen=True)
class DiscreteLaplace(Atomic):
    """Discrete Laplace noise of a scale at an integer L1 sensitivity d: losses (d - 2j) / scale, j = 0 .. d."""

    sensitivity: int
    scale: Fraction
    kind = "discrete Laplace"

    @property
    def title(self) -> str:
        return f"{self.kind} ε = {float(self.pure):.4g}"

    def distribution(self) -> Law:
        """Losses (d - 2j) / scale: q^j (1 - q) / (1 + q) inside, all that lies beyond at either end."""
        if self.sensitivity >= _MANY:
            return super().distribution()
        d, scale = self.sensitivity, float(self.scale)
        j = np.arange(d, -1, -1)
        masses = np.exp(-j / scale) * -math.expm1(-1 / scale)
        masses[0], masses[-1] = math.exp(-d / scale), 1.0
        return list_law((d - 2 * j) / scale, masses / (1 + math.exp(-1 / scale)), 0.0)

    @property
    def pure(self) -> Fraction:
        return self.sensitivity / self.scale

    @property
    def pure_mass(self) -> float:
        return (1 - 2.0**-48) / (1 + math.exp(-1 / float(self.scale)))

    @property
    def rho(self) -> Fraction:
        return tanh_rho(self.pure)

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        if self.sensitivity <= _MOST_ATOMS:
            return self.atoms
        law = self.pieces(up=up)
        step = 2 * self.pure / _MOST_ATOMS
        return atoms_to_cells(law.losses, law.mass, -self.pure, step, up=up, error=law.error, blur=law.blur)

    def pieces(self, *, up: bool) -> Listed:
        """Too many atoms to list are gathered, w - 1 values of x between two multiples of w, masses by geometric sums.

        P and Q of x_0 + 1 .. x_0 + w - 1 have the ratio of their middle x_0 + w/2: *down*, they are merged there; *up*, split
        into the atoms at x_0 and x_0 + w, both masses kept, in the ratio 1 : e^(-w / scale). Both are whole laws.
        """
        if self.sensitivity <= _MOST_ATOMS:
            return super().pieces(up=up)
        d, t = self.sensitivity, float(self.scale)
        w = -(-d // (4 * _MOST_ATOMS))
        cells = -(-d // w)
        start, width = np.arange(cells) * float(w), np.full(cells, float(w))
        width[-1] = d - (cells - 1) * w
        total = 1 + math.exp(-1 / t)
        inner = np.exp(-(start + 1) / t) * -np.expm1(-(width - 1) / t) / total
        mass = np.append(np.exp(-start / t) * -math.expm1(-1 / t), math.exp(-d / t)) / total
        mass[0] = 1 / total
        x = np.append(start, float(d))
        if up:
            lower = np.exp(-width / t) / (1 + np.exp(-width / t))
            mass[1:] += inner * lower
            mass[:-1] += inner / (1 + np.exp(-width / t))
        else:
            x, mass = np.append(x, start + width / 2), np.append(mass, inner)
        order = np.argsort(-x)
        x, mass = x[order], mass[order]
        held = mass > LEAST
        losses = (d - 2 * x[held]) / t
        return Listed(losses, mass[held], 64 * UNIT, 8 * UNIT * float(self.pure), mass.size * LEAST)

    def _transform(self, x: float, t: Reals) -> Complex:
        """M(x + it) e^(-x d / scale) with the geometric sum in closed form: fit for any sensitivity."""
        d, scale = self.sensitivity, float(self.scale)
        rate = (1 + 2 * (x + 1j * t)) / scale
        inside = np.exp(-rate) * np.expm1(-(d - 1) * rate) / np.expm1(-rate)
        q = math.exp(-1 / scale)
        result: Complex = np.exp(1j * t * (d / scale)) * (1 - math.expm1(-1 / scale) * inside + np.exp(-d * rate)) / (1 + q)
        return result

    def log_moment(self, x: float) -> float:
        if self.sensitivity <= _MOST_ATOMS:
            return super().log_moment(x)
        return x * float(self.pure) + math.log(float(self._transform(x, np.zeros(1)).real[0]))

    def characteristic(self, x: float, t: Reals) -> Complex:
        if self.sensitivity <= _MOST_ATOMS:
            return super().characteristic(x, t)
        return self._transform(x, t) / float(self._transform(x, np.zeros(1)).real[0])

    def rounding(self, x: float, t: float) -> float:
        return super().rounding(x, t) + (256 + 8 * (t + abs(x)) * float(self.pure)) * UNIT

    @cached_property
    def atoms(self) -> Atoms:
        if self.sensitivity > _MOST_ATOMS:
            return self.lattice(None, up=True)
        d, q = self.sensitivity, math.exp(-1 / float(self.scale))
        rise = np.exp(-np.arange(d, -1, -1) / float(self.scale)) * -math.expm1(-1 / float(self.scale))
        rise[0] = math.exp(-d / float(self.scale))
        rise[-1] = 1.0
        return Atoms(-self.pure, 2 / self.scale, rise / (1 + q))

    def hockey_stick(self, epsilon: Fraction) -> arb:
        """P(x <= m) - e^epsilon Q(x <= m) for the largest m with (d - 2m) / scale > epsilon."""
        if epsilon >= self.pure:
            return ball(0)
        m = math.ceil((self.sensitivity - self.scale * epsilon) / 2) - 1
        q = (-ball(1 / self.scale)).exp()
        return 1 - (q ** (m + 1) + ball(epsilon).exp() * q ** (self.sensitivity - m)) / (1 + q)

    def group(self, size: int) -> DiscreteLaplace:
        return DiscreteLaplace(size * self.sensitivity, self.scale)
