"""Promise: floating-point results are as close to the truth as their own bounds say.

Characteristic functions and moments against balls of 192 bits, for tilts from 0.1 to 50 and frequencies up to 1000; |phi| below
``decay`` at and beyond every t; numpy's transforms within 16 log2(n) units of the sum of what goes in.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx
from privacy.reference_curves import real
from support.depth import spread

from discreet.privacy.accountant.contour import decay
from discreet.privacy.accountant.lattice import convolve
from discreet.privacy.losses import (
    BoundedRange,
    Box,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Loss,
    Response,
    SampledGaussian,
)
from discreet.privacy.losses.atoms import Atoms
from discreet.privacy.losses.base import UNIT

F = Fraction
BITS = 192
TILTS = [0.1, 0.5, 3.0, 12.0, 50.0]
TIMES = [0.0, 0.01, 0.7, 3.0, 31.4, 200.0, 1000.0]


def moment(loss: Loss, s: acb) -> acb:
    """M(s) from the definition."""
    if isinstance(loss, Laplace):
        e, u = real(loss.epsilon), s + arb(1) / 2
        return ((e * u).exp() * (1 + 1 / (2 * u)) + (-e * u).exp() * (1 - 1 / (2 * u))) * (-e / 2).exp() / 2
    if isinstance(loss, BoundedRange):
        e, u = real(loss.epsilon), s + arb(1) / 2
        return ((e * u).exp() - (-e * u).exp()) / (4 * u * (e / 2).sinh())
    if isinstance(loss, Gaussian):
        return (real(loss.squared_mu) * s * (s + 1) / 2).exp()
    if isinstance(loss, (Box, Response)):
        e, others = real(loss.epsilon), (loss.options if isinstance(loss, Response) else 2) - 2
        lie = (-e).exp()
        return ((s * e).exp() + others * lie + lie * (-s * e).exp()) / (1 + (1 + others) * lie)
    if isinstance(loss, DiscreteLaplace):
        d, scale = loss.sensitivity, real(loss.scale)
        q = (-1 / scale).exp()
        law = [(d - 2 * x, q**x * (1 - q)) for x in range(1, d)] + [(d, arb(1)), (-d, q**d)]
        return sum(((s * l / scale).exp() * m for l, m in law), acb(0)) / (1 + q)
    if isinstance(loss, DiscreteGaussian):
        square = real(loss.squared_sigma)
        reach = 60 + int(60 * math.sqrt(loss.squared_sigma)) + int(abs(float(s.real)) + 1)
        weights = [(x, (-arb(x * x) / (2 * square)).exp()) for x in range(-reach, reach + 1)]
        total = sum((m for _, m in weights), arb(0))
        return sum(((s * (1 - 2 * x) / (2 * square)).exp() * m for x, m in weights), acb(0)) / total
    assert isinstance(loss, SampledGaussian)
    mu, q = real(loss.squared_mu).sqrt(), real(loss.rate)
    power = -s if loss.adding else 1 + s
    height, x = (-1 if loss.adding else 1) / mu, abs(float(s.real))
    low = -14 - (math.sqrt(-2 * x * math.log1p(-float(loss.rate))) if loss.adding else 0)
    high = 14 + (0 if loss.adding else (1 + x) * float(mu))
    step, total = F(1, max(20, math.ceil(20 * float(mu)))), acb(0)
    for j in range(math.floor(low / step), math.ceil(high / step) + 1):
        z = acb(real(j * step), height)
        total += (power * (1 - q + q * (mu * z - mu * mu / 2).exp()).log() - z * z / 2).exp()
    return total * real(step) / (2 * arb.pi()).sqrt()


LOSSES: list[Loss] = [
    *(Laplace(F(e)) for e in ("0.01", "1", "20")),
    *(BoundedRange(F(e)) for e in ("0.01", "1", "20")),
    *(Gaussian(F(m)) for m in ("0.0001", "1", "50")),
    Box(F(1)),
    Box(F(30)),
    Response(F(1, 2), 7),
    DiscreteLaplace(10, F(7)),
    DiscreteLaplace(5000, F(2500)),
    DiscreteGaussian(F(1, 4)),
    DiscreteGaussian(F(9)),
    *(SampledGaussian(F(m), F(q), adding) for m, q in [("1", "0.01"), ("4", "0.5"), ("0.04", "0.1")] for adding in (False, True)),
]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_characteristic_functions(loss: Loss) -> None:
    """And K(x), within 256 units of max(1, |K|), wherever it is given."""
    slow = isinstance(loss, (SampledGaussian, DiscreteLaplace, DiscreteGaussian))
    for x in spread(TILTS[::2] if slow else TILTS, 2 if slow else 3):
        if math.isinf(loss.log_moment(x)):  # a tilt that it does not answer for: nothing is computed there
            assert isinstance(loss, DiscreteGaussian)
            continue
        times = spread(TIMES, 4)
        found = loss.characteristic(x, np.array(times))
        with ctx.workprec(BITS + 512):
            scale = moment(loss, acb(F(x).numerator) / F(x).denominator).real
            truth = float(scale.log())
            assert abs(loss.log_moment(x) - truth) <= max(256 * max(1.0, abs(truth)) * UNIT, loss.rounding(x, 0.0)) + 1e-15
            for t, value in zip(times, found.tolist(), strict=True):
                exact = moment(loss, acb(arb(x), arb(t))) / scale
                error = float(abs(exact - acb(value.real, value.imag)))
                assert error <= loss.rounding(x, t), f"tilt {x}, t {t}"


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not isinstance(loss, DiscreteGaussian)], ids=str)
def test_decay(loss: Loss) -> None:
    """A bound at t and at every later t; at the start it is 1 at most."""
    rng = np.random.default_rng(7)
    for x in TILTS:
        times = np.sort(np.exp(rng.uniform(math.log(1e-3), math.log(3e3), 200)))
        sizes = np.abs(loss.characteristic(x, times))
        later = np.maximum.accumulate(sizes[::-1])[::-1]
        for i in range(0, 200, 20):
            bound = loss.decay(x, float(times[i]))
            assert later[i] <= bound + loss.rounding(x, float(times[-1]))
            assert bound <= 1 + 1e-12
            assert decay(((loss, 3),), x, float(times[i])) >= later[i] ** 3 * (1 - 1e-9) - 1e-13


@pytest.mark.diagonal
@pytest.mark.parametrize("size", [2**3, 2**8, 2**12, 2**17])
@pytest.mark.parametrize("kind", ["spike", "flat", "geometric", "random"])
def test_transforms(size: int, kind: str) -> None:
    """Forward: a few outputs against sums in balls. Back: what comes back."""
    rng = np.random.default_rng(size)
    values = {
        "spike": np.eye(1, size, 3)[0],
        "flat": np.full(size, 1 / size),
        "geometric": np.exp(-np.arange(size) * 40.0 / size),
        "random": rng.random(size) ** 8,
    }[kind]
    values = values / values.sum()
    spectrum = np.fft.rfft(values)
    level = 16 * math.log2(size) * UNIT
    with ctx.workprec(128):
        weights = [(n, arb(v)) for n, v in enumerate(values.tolist()) if v]
        for k in sorted({0, 1, size // 3, size // 2 - 1}) if size < 2**15 else [size // 3]:
            exact = sum((w * acb(2 * arb(-n * k % size) / size).exp_pi_i() for n, w in weights), acb(0))
            assert float(abs(exact - acb(float(spectrum[k].real), float(spectrum[k].imag)))) <= level * float(values.sum())
    back = np.fft.irfft(spectrum, size)
    assert float(np.abs(back - values).max()) <= level + level * float(np.abs(spectrum).mean())


@pytest.mark.parametrize("tilt", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("count", [2, 17, 3000])
def test_convolutions(count: int, tilt: float) -> None:
    """The tilted law of k draws against the binomial one, point by point, within the error that is claimed."""
    atoms = Box(F(1, 10)).atoms
    law = convolve([(atoms, count)], tilt)
    assert law is not None
    with ctx.workprec(300):
        p = 1 / (1 + (-real(F(1, 10))).exp())
        up, down = p * (arb(tilt) / 10).exp(), (1 - p) * (-arb(tilt) / 10).exp()
        share = up / (up + down)
        log_scale = float(count * (up + down).log())
        assert law.log_scale == pytest.approx(log_scale, abs=1e-9)
        masses = law.law.tolist()
        for i in range(0, len(masses), max(1, len(masses) // 50)):
            ups = round((float(law.losses[i]) / 0.1 + count) / 2)
            if not 0 <= ups <= count:
                continue
            exact = arb(math.comb(count, ups)) * share**ups * (1 - share) ** (count - ups)
            assert abs(float(exact) - masses[i]) <= law.error + 2.0**-58 + 1e-12 * float(exact)


def test_convolutions_of_two_laws() -> None:
    """Two atoms each, by hand; different steps, one common lattice."""
    left = Atoms(F(-1), F(2), np.array([0.25, 0.75]))
    right = Atoms(F(-1, 2), F(1), np.array([0.4, 0.6]))
    law = convolve([(left, 1), (right, 1)], 0.3)
    assert law is not None
    for e in (-1.6, -0.7, 0.0, 0.4, 0.9, 1.4):
        atoms = [(-1.5, 0.1), (-0.5, 0.15), (0.5, 0.3), (1.5, 0.45)]
        exact = sum(m * -math.expm1(e - l) for l, m in atoms if l > e)
        assert law.delta(e, up=False) <= exact * (1 + 1e-15) <= law.delta(e, up=True) * (1 + 2e-15)
        assert law.delta(e, up=True) - law.delta(e, up=False) <= 1e-11
