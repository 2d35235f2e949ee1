"""Promise: sampled mechanisms beside Gaussian noise cost what the definition says.

delta(x) = E[delta_mu(x - L)] over the sampled loss L, delta_mu being the Gaussian's closed form: atoms one by one, densities by
Gauss and Legendre's rule (good to 1e-13), in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from privacy.reference_bracket import raw_delta, raw_epsilon
from privacy.reference_curves import real
from privacy.reference_sampled import gaussian_at

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.losses import BoundedRange

F = Fraction
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
Pieces = list[tuple[arb, arb]]


def laplace(e: Fraction) -> Pieces:
    inside = [(real(e) * arb(v), real(e) * arb(w)) for v, w in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True)]
    ends = [(real(e), arb(1) / 2), (-real(e), (-real(e)).exp() / 2)]
    return ends + [(l, w * ((l - real(e)) / 2).exp() / 4) for l, w in inside]


def bounded_range(e: Fraction) -> Pieces:
    inside = [(real(e) * arb(v), real(e) * arb(w)) for v, w in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True)]
    return [(l, w * ((l - real(e)) / 2).exp() / 2 / -(-real(e)).expm1()) for l, w in inside]


def discrete_laplace(d: int, scale: Fraction) -> Pieces:
    q = (-1 / real(scale)).exp()
    law = [(d - 2 * x, q**x * (1 - q)) for x in range(1, d)] + [(d, arb(1)), (-d, q**d)]
    return [(real(l / scale), m / (1 + q)) for l, m in law]


def response(e: Fraction, options: int) -> Pieces:
    lie = (-real(e)).exp()
    masses = [arb(1), (options - 2) * lie, lie]
    return [(real(l), m / (1 + (options - 1) * lie)) for l, m in zip((e, F(0), -e), masses, strict=True)]


def beside(mu: Fraction, pieces: Pieces, rate: Fraction, x: Fraction) -> arb:
    """The larger of both directions."""
    with ctx.workprec(128):
        gaussian, q, values = gaussian_at(mu**2), real(rate), []
        for adding in (False, True):
            total = arb(0)
            for loss, p in pieces:
                other, moved = p * (-loss).exp(), (q * loss.expm1()).log1p()
                total += other * gaussian(real(x) + moved) if adding else ((1 - q) * other + q * p) * gaussian(real(x) - moved)
            values.append(total)
        return max(values, key=float)


MIXES: dict[str, tuple[Callable[[], Privacy], Callable[[], Pieces]]] = {
    "Laplace": (lambda: dp.Laplace(sensitivity=1.0, epsilon=1).privacy, lambda: laplace(F(1))),
    "Laplace 0.1": (lambda: dp.Laplace(sensitivity=1.0, epsilon=0.1).privacy, lambda: laplace(F(1, 10))),
    "bounded range": (lambda: Privacy.of(BoundedRange(F(1))), lambda: bounded_range(F(1))),
    "discrete Laplace": (lambda: dp.Laplace(sensitivity=3, scale=2).privacy, lambda: discrete_laplace(3, F(2))),
    "discrete Laplace of 5,000 steps": (
        lambda: dp.Laplace(sensitivity=5000, scale=5000).privacy,
        lambda: discrete_laplace(5000, F(5000)),
    ),
    "five options": (lambda: dp.RandomizedResponse(epsilon=2, options=range(5)).privacy, lambda: response(F(2), 5)),
}


RATES = [(name, rate) for name in MIXES for rate in ("1e-9", "0.1", "0.999") if "steps" not in name or rate == "0.1"]


@pytest.mark.spread(8)
@pytest.mark.parametrize(("name", "rate"), RATES)
def test_beside_a_gaussian(name: str, rate: str) -> None:
    make, pieces = MIXES[name]
    privacy = dp.gdp(1) + make().sampled(F(rate))
    for epsilon in (F(1, 2), F(9, 2)):
        low, high = raw_delta(privacy, epsilon)
        value = float(beside(F(1), pieces(), F(rate), epsilon))
        if name != "bounded range":  # which nothing attains
            assert low <= value * (1 + 1e-13)
            assert high <= low * (1 + 1e-6)
        assert value * (1 - 1e-13) <= high
        assert low <= high
    low, high = raw_epsilon(privacy, F(1, 10**6))
    assert low <= high
    assert float(beside(F(1), pieces(), F(rate), F(high))) <= 1e-6 * (1 + 1e-13)
    if name != "bounded range":
        assert float(beside(F(1), pieces(), F(rate), F(low))) >= 1e-6 * (1 - 1e-13)


def test_known_values() -> None:
    """The true delta at an epsilon that was once certified for delta = 1e-6; gdp(1) alone needs 4.8866."""
    assert float(beside(F(1), laplace(F(1)), F(1, 10), F("4.8234"))) == pytest.approx(1.516133e-6, rel=1e-6)
    mix = dp.gdp(1) + dp.Laplace(sensitivity=1.0, epsilon=1).privacy.sampled(F(1, 10))
    low, high = mix.epsilon_bounds(1e-6)
    assert low == pytest.approx(4.9120605, abs=1e-6)
    assert high == pytest.approx(4.9120605, abs=1e-6)
    assert (dp.gdp(1) + dp.Exponential(sensitivity=1, epsilon=1).privacy.sampled(0.1)).epsilon(1e-6) > 4.8866


@pytest.mark.parametrize("count", [2, 40])
def test_many_small_samples(count: int) -> None:
    """Five options at a rate of 1e-9, by listing all outcomes of k draws: once a lower bound above the truth."""
    q, options = F(1, 10**9), 5
    privacy = count * dp.RandomizedResponse(epsilon=1, options=range(options)).privacy.sampled(q)
    with ctx.workprec(256):
        law = [((real(q) * l.expm1()).log1p(), (1 - real(q)) * m * (-l).exp() + real(q) * m) for l, m in response(F(1), options)]
        up, middle, down = law
        terms = []
        for i in range(count + 1):
            for j in range(count + 1 - i):
                ways, k = math.comb(count, i) * math.comb(count - i, j), count - i - j
                terms.append((i * up[0] + j * middle[0] + k * down[0], ways * up[1] ** i * middle[1] ** j * down[1] ** k))
        for epsilon in (F(1, 10**9), F(3, 10**9), F(count, 10**9)):
            exact = sum((m * -(real(epsilon) - l).expm1() for l, m in terms if l > real(epsilon)), arb(0))
            low, high = raw_delta(privacy, epsilon)
            assert arb(low) <= exact.upper()
            assert arb(high) >= exact.lower()
