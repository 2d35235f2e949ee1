"""Promise: Laplace noise and the exponential mechanism on samples are sums over a path, as precise as they say.

Truths are integrals in balls, along the real axis.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx
from privacy.reference_curves import real

from discreet.privacy.accountant.sampled_density import SampledDensity, has_path
from discreet.privacy.losses import BoundedRange, Laplace, SampledLattice

F = Fraction


def moment(loss: SampledDensity, s: acb) -> acb:
    """E[r^c] under Q, r = 1 - q + q e^l."""
    base, q = loss.whole.base, real(loss.whole.rate)
    assert isinstance(base, (Laplace, BoundedRange))
    e, power = real(base.epsilon), -s if loss.whole.adding else 1 + s
    height = arb(1) / 4 if isinstance(base, Laplace) else 1 / (2 * (1 - (-e).exp()))

    def ratio(l: acb) -> acb:
        return ((1 - q + q * l.exp()).log() * power).exp()

    def inside(l: acb, _: bool) -> acb:
        return height * (-(l + e) / 2).exp() * ratio(l)

    total = acb.integral(inside, -e, e, rel_tol=arb(2) ** -100, eval_limit=200_000)
    return total + (ratio(acb(-e)) + (-e).exp() * ratio(acb(e))) / 2 if isinstance(base, Laplace) else total


BASES = {
    "Laplace": Laplace(F(1)),
    "Laplace, little noise": Laplace(F(5)),
    "Laplace, much noise": Laplace(F(1, 100)),
    "exponential": BoundedRange(F(3)),
    "exponential, hardly any choice": BoundedRange(F(1, 50)),
}


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(
    ("adding", "rate", "x"),
    [(adding, *at) for adding in (False, True) for at in (("0.01", 0.0), ("0.5", 7.0), ("0.99", 0.5), ("1e-9", 5000.0))]
    + [(False, "1", 3.0)],  # its own mirror image
)
def test_sums_over_the_path(name: str, adding: bool, rate: str, x: float) -> None:
    loss = SampledDensity(SampledLattice(BASES[name], F(rate), adding), 10.0)
    with ctx.workprec(160):
        plain = moment(loss, acb(x))
        assert abs(arb(loss.log_moment(x)) - plain.real.log()) <= arb(loss.rounding(x, 0.0))
        _, _, variance = loss.cumulants(x)
        assert variance > 0
        for turns in (0.3, 3.0, 30.0):
            t = turns / math.sqrt(variance)
            small = complex(loss.increment(x, np.array([t]))[0])
            true = moment(loss, acb(x, t)) / plain - 1
            assert abs(acb(small.real, small.imag) - true) <= arb(loss.rounding(x, t))
            for later in (1.0, 1.3, 2.7):
                assert abs(loss.characteristic(x, np.array([later * t]))[0]) <= loss.decay(x, t)
        apart, spread = loss.scatter(x)[1], math.sqrt(variance)
        assert spread <= apart / 2 * (1 + 1e-6)


def test_errors_are_small() -> None:
    """Otherwise the test above says little: a few hundred units, or as many of the losses where these are small."""
    for rate, most in (("0.01", 1e-14), ("1e-9", 1e-18)):
        loss = SampledDensity(SampledLattice(Laplace(F(1)), F(rate)), 30.0)
        assert loss.rounding(1.0, 0.0) <= most


def test_paths_have_an_end() -> None:
    """Where the density spans too much for one path, lists of cells still serve."""
    assert has_path(SampledLattice(Laplace(F(5)), F(1, 2)))
    assert not has_path(SampledLattice(Laplace(F(50)), F(1, 2)))
    assert not math.isfinite(SampledDensity(SampledLattice(Laplace(F(5)), F(1, 2))).log_moment(1e6))
