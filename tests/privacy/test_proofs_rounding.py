"""Promise: a law rounded up to a lattice dominates the loss, and one rounded down is dominated by it.

Hockey-sticks of the rounded laws against the exact ones, at lattice points and between them, at epsilons of either sign, for
every loss that has a lattice.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from privacy import reference_curves as truth
from privacy import reference_sampled as samples
from privacy.reference_curves import Curve, real

from discreet.privacy.losses import (
    Atoms,
    BoundedRange,
    Box,
    DiscreteLaplace,
    Laplace,
    Loss,
    Response,
    SampledGaussian,
    SampledLattice,
)

F = Fraction
BITS = 300


def stick(atoms: Atoms, x: float) -> float:
    above = atoms.losses > x
    return float((atoms.mass[above] * -np.expm1(x - atoms.losses[above])).sum()) + atoms.lost


def curve_of(loss: Loss) -> Curve:
    """delta(x) of one use for x of either sign, by hand."""
    if isinstance(loss, Laplace):
        return truth.laplace(loss.epsilon)
    if isinstance(loss, DiscreteLaplace):
        return truth.discrete_laplace(loss.sensitivity, loss.scale, 1)
    if isinstance(loss, BoundedRange):
        at = samples.bounded_range_at(loss.epsilon)
        return lambda x: at(real(x))
    base = {
        Laplace: lambda b: samples.laplace_at(b.epsilon),
        BoundedRange: lambda b: samples.bounded_range_at(b.epsilon),
        Box: lambda b: samples.response_at(b.epsilon, 2),
        Response: lambda b: samples.response_at(b.epsilon, b.options),
    }
    if isinstance(loss, SampledGaussian):
        pair = samples.sampled(samples.gaussian_at(loss.squared_mu), loss.rate)
    else:
        assert isinstance(loss, SampledLattice)
        pair = samples.sampled(base[type(loss.base)](loss.base), loss.rate)
    forward, backward = pair[::-1] if loss.adding else pair
    # below 0 by the mirror image of the pair: delta(x) = 1 - e^x + e^x delta'(-x)
    return lambda x: forward(x) if x >= 0 else 1 - real(x).exp() * (1 - backward(-x))


SAMPLES = [
    SampledLattice(base, F(rate), adding)
    for base in (Box(F(1)), Response(F(2), 4), Laplace(F(1)), Laplace(F(1, 20)), BoundedRange(F(2)))
    for rate in ("0.01", "0.6")
    for adding in (False, True)
]
ROUNDED: list[tuple[Loss, Fraction | None]] = [
    *((Laplace(e), e / n) for e in (F(1, 100), F(1), F(12)) for n in (1, 7, 256)),
    *((BoundedRange(e), e / n) for e in (F(1, 100), F(1), F(12)) for n in (1, 7, 256)),
    (DiscreteLaplace(5000, F(5000)), None),
    (DiscreteLaplace(10007, F(1000)), None),
    (DiscreteLaplace(9999, F(10**6)), None),
    *((loss, None) for loss in SAMPLES),
    *((loss, loss.divisor / 37) for loss in SAMPLES),
    *(
        (SampledGaussian(F(m), F(q), adding), F(1, h))
        for m, q in [("1", "0.01"), ("4", "0.3")]
        for h in (50, 2000)
        for adding in (False, True)
    ),
]


@pytest.mark.parametrize(("loss", "step"), ROUNDED, ids=str)
def test_rounding_keeps_its_side(loss: Loss, step: Fraction | None) -> None:
    exact = curve_of(loss)
    up, down = loss.lattice(step, up=True), loss.lattice(step, up=False)
    assert up is not None
    assert down is not None
    ends = [F(float(up.losses[0])), F(float(up.losses[-1]))]
    spots = [ends[0] + (ends[1] - ends[0]) * F(i, 60) for i in range(-3, 62)] + [
        F(float(x)) for x in up.losses[:: max(1, up.losses.size // 20)]
    ]
    with ctx.workprec(BITS):
        for x in spots:
            value = exact(x)
            slack = 1e-12 * float(value) + 1e-14  # masses are floats; what they may err by is allowed for elsewhere
            assert stick(down, float(x)) <= float(value) + slack, f"down at {float(x)}"
            assert stick(up, float(x)) >= float(value) - slack, f"up at {float(x)}"
    assert up.mass.sum() + up.lost <= 1 + 1e-9
    assert up.mass.sum() + up.lost >= 1 - 1e-12 - (float(loss.infinity) if loss.infinity else 0)
