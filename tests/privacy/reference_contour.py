"""True curves of long compositions by the inversion formula at high precision, one line for all.

With s = x + it and a period W, e^(-x e) / W sum_j M(s_j)^k e^(-i t_j e) / (s_j (s_j + 1)), t_j = 2 pi j / W, is delta(e) plus
aliases e^(x m W) delta(e + m W), m != 0. Here x and W are not the library's, W is so large that aliases are below 1e-25 of the
answer, and the sum is so long that the rest is too; what is left out is bounded or estimated and added to the ball.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb, ctx
from privacy.reference_curves import real

BITS = 192


class Line:
    """M(x + it)^k on equidistant nodes; ``missing`` e^(K - x e) is what lies beyond the last of them.

    Aliases: delta <= 1 below; above, delta(e) <= M(y)^k e^(-y e) for the pairs (y, M(y)^k) in ``above`` (none: no losses there).
    """

    def __init__(self, x: Fraction, width: Fraction, values: list[acb], missing: arb, above: dict[Fraction, arb]) -> None:
        self.x, self.width, self.values, self.missing, self.above = x, width, values, missing, above

    def __call__(self, epsilon: Fraction) -> arb:
        with ctx.workprec(BITS):
            x, e, dt = real(self.x), real(epsilon), 2 * arb.pi() / real(self.width)
            total = arb(0)
            for j, value in enumerate(self.values):
                s = acb(x, j * dt)
                term = (value * acb(0, -j * dt * e).exp() / (s * (s + 1))).real
                total += 2 * term if j else term
            middle = total * (-x * e).exp() / real(self.width)
            slack = self.missing * self.values[0].real * (-x * e).exp() + 2 * (-x * real(self.width)).exp()
            tops = [2 * top * (-real(y) * e - real((y - self.x) * self.width)).exp() for y, top in self.above.items()]
            return middle + arb(0, (slack + min(tops, key=float, default=arb(0))).upper())


def laplaces(epsilon: Fraction, count: int, x: Fraction, reach: int) -> Line:
    """k real Laplaces, M = (e^(e u) (1 + 1/2u) + e^(-e u) (1 - 1/2u)) e^(-e/2) / 2 at u = s + 1/2; nodes up to t = ``reach``.

    All losses lie in [-k e, k e]. With W >= k e aliases above are exactly 0, those below at most e^(-x W) / (1 - e^(-x W)).
    """
    with ctx.workprec(BITS):
        width = max(count * epsilon, Fraction(100) / x)
        e, dt = real(epsilon), 2 * arb.pi() / real(width)

        def moment(s: acb) -> acb:
            u = s + arb(1) / 2
            return ((e * u).exp() * (1 + 1 / (2 * u)) + (-e * u).exp() * (1 - 1 / (2 * u))) * (-e / 2).exp() / 2

        nodes = math.ceil(reach / float(dt))
        values = [moment(acb(real(x), j * dt)) ** count for j in range(nodes + 1)]
        end = nodes * dt
        u = real(x) + arb(1) / 2
        rest = ((e * u).exp() + (-e * u).exp()) * (1 + 1 / (2 * end)) * (-e / 2).exp() / 2  # |M| beyond the last node
        missing = (rest / moment(acb(real(x))).real) ** count / (arb.pi() * end)
        return Line(x, width, values, missing, {})


def sampled_gaussians(
    squared_mu: Fraction, rate: Fraction, count: int, *, adding: bool, x: Fraction, width: Fraction, digits: int = 30
) -> Line:
    """k Gaussians on Poisson samples: M(s) = E[r^(1+s)] (removing) or E[r^-s] (adding), z standard normal under Q.

    The trapezoid rule of step 1/20 on Im z = +-1/mu, where r^(it) fades: it errs by e^(-2 pi 20 / mu) of a bounded integral.
    Nodes go on until what is left is below 10^-``digits`` of M(x)^k, taking |M| to fall beyond.
    """
    with ctx.workprec(BITS):
        mu, q, dt = real(squared_mu).sqrt(), real(rate), 2 * arb.pi() / real(width)
        step, height = Fraction(1, 20), (-1 if adding else 1) / mu
        power = -real(x) if adding else 1 + real(x)
        low = -16 - (math.sqrt(-2 * float(x) * math.log1p(-float(rate))) if adding else 0)
        high = 16 + (0 if adding else (1 + float(x)) * math.sqrt(squared_mu))
        points = [acb(real(j * step), height) for j in range(math.floor(low / step), math.ceil(high / step) + 1)]
        logs = [(1 - q + q * (mu * z - mu * mu / 2).exp()).log() for z in points]
        starts = [power * log - z * z / 2 for log, z in zip(logs, points, strict=True)]
        speeds = [acb(0, -dt if adding else dt) * log for log in logs]
        turns = [speed.exp() for speed in speeds]
        scale, values = real(step) / (2 * arb.pi()).sqrt(), []
        while True:
            j = len(values)
            if j % 16 == 0:  # repeated products lose digits: start afresh
                terms = [(start + j * speed).exp() for start, speed in zip(starts, speeds, strict=True)]
            else:
                terms = [term * turn for term, turn in zip(terms, turns, strict=True)]
            values.append((scale * sum(terms, acb(0))) ** count)
            missing = (values[-1].abs_upper() / values[0].abs_lower()) / (arb.pi() * (j + 1) * dt)
            if j > 16 and missing < arb(10) ** -digits:
                if adding and float(width) > -count * math.log1p(-float(rate)):  # no loss is larger
                    return Line(x, width, values, 2 * missing, {})
                tops = {y: _moment(mu, q, -real(y) if adding else 1 + real(y)) ** count for y in (x + 1, x + 2, x + 4)}
                return Line(x, width, values, 2 * missing, tops)


def _moment(mu: arb, q: arb, power: arb) -> arb:
    """E[r^power] on the real axis."""
    total = arb(0)
    for j in range(-16 * 20, 20 * math.ceil(16 + max(0.0, float(power)) * float(mu))):
        z = arb(j) / 20
        total += ((1 - q + q * (mu * z - mu * mu / 2).exp()).log() * power - z * z / 2).exp() / 20
    return total / (2 * arb.pi()).sqrt()
