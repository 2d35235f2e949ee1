"""Promise: mechanisms on a Poisson sample cost what the definition says, with a record added and with one removed.

One use from the definition at 640 bits; many from the inversion formula at 192 bits, on another line than the library's; boxes by
listing all their outcomes.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from privacy import reference_contour as contour
from privacy import reference_curves as truth
from privacy import reference_sampled as samples
from privacy.reference_bracket import EPSILONS, holds
from privacy.reference_curves import Curve
from support.depth import deep

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.accountant import composition
from discreet.privacy.losses import Laplace, Response, SampledGaussian

F = Fraction
DELTAS = [F(1, 10), F(1, 10**3), F(1, 10**6), F(1, 10**12)]


def larger(*curves: Curve) -> Curve:
    def delta(epsilon: Fraction) -> arb:
        values = [curve(epsilon) for curve in curves]
        return max(values, key=lambda value: value.mid())

    return delta


@pytest.mark.diagonal
@pytest.mark.parametrize("rate", ["1e-4", "0.01", "0.5", "0.99"])
@pytest.mark.parametrize("squared_mu", ["0.01", "1", "25"])
def test_one_gaussian(squared_mu: str, rate: str) -> None:
    curve = larger(*samples.sampled(samples.gaussian_at(F(squared_mu)), F(rate)))
    holds(Privacy.of(SampledGaussian(F(squared_mu), F(rate))), curve, epsilons=EPSILONS[1:8:2])


@pytest.mark.diagonal
@pytest.mark.parametrize("rate", ["1e-3", "0.1", "0.5", "0.99"])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "5"])
def test_one_laplace_and_one_response(epsilon: str, rate: str) -> None:
    e, q = F(epsilon), F(rate)
    laplace = larger(*samples.sampled(samples.laplace_at(e), q))
    response = larger(*samples.sampled(samples.response_at(e, 10), q))
    holds(Privacy.of(Laplace(e)).sampled(q), laplace, epsilons=EPSILONS[2:7], deltas=DELTAS[:3])
    holds(Privacy.of(Response(e, 10)).sampled(q), response, epsilons=EPSILONS[2:7], deltas=DELTAS[:3])


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("count", "x", "width", "digits", "epsilons", "deltas"),
    [
        (10, "7", 20, 17, ["0.3", "0.6"], ["1e-6"]),
        (1000, "5", 40, 30, ["0.5", "2", "3"], ["1e-3", "1e-6", "1e-9"]),
        (10000, "4", 60, 30, ["2", "7", "9"], ["0.1", "1e-6", "1e-9"]),
        (100000, "1.5", 120, 30, ["20", "28"], ["1e-6"]),
    ],
    ids=["10", "1000", "10000", "100000"],
)
@pytest.mark.parametrize("adding", [False, True], ids=["removing", "adding"])
def test_gradient_descent(
    adding: bool, count: int, x: str, width: int, digits: int, epsilons: list[str], deltas: list[str]
) -> None:
    """Rate 0.01, sigma 1, each direction by itself."""
    if count == 10 and adding:
        x, width, epsilons = "60", 2, ["0.03", "0.05"]
    line = contour.sampled_gaussians(F(1), F(1, 100), count, adding=adding, x=F(x), width=F(width), digits=digits)
    parts = ((SampledGaussian(F(1), F(1, 100), adding), count),)
    for epsilon in map(F, epsilons[: deep(3, 1)]):
        value = line(epsilon)
        assert value.rel_accuracy_bits() > 30
        assert not arb(composition._delta(parts, epsilon, top=False)) > value
        assert not arb(composition._delta(parts, epsilon, top=True)) < value
    if not adding:  # which is the costlier direction
        holds(count * dp.gdp(1).sampled(0.01), line, epsilons=[], deltas=map(F, deltas))


@pytest.mark.spread(2)
@pytest.mark.parametrize(("epsilon", "adding"), [("0.2", False), ("1", False), ("0.01", True)])
def test_two_gaussians(epsilon: str, adding: bool) -> None:
    """E[delta(epsilon - L)] over the first loss, delta being the closed form of the second: the trapezoid rule, good to 1e-11."""
    x, step = F(epsilon), F(1, 1500)
    parts = ((SampledGaussian(F(1), F(1, 100), adding), 2),)
    with ctx.workprec(128):
        q, total = arb(1) / 100, arb(0)
        for j in range(-12 * 1500, 13 * 1500):
            z = truth.real(j * step)
            ratio = 1 - q + q * (z - arb(1) / 2).exp()
            at = truth.real(x).exp() * (ratio if adding else 1 / ratio)  # e^(epsilon - L)
            rest = (1 / at if adding else at) - 1 + q
            edge = (rest / q).log() + arb(1) / 2 if rest > 0 else None
            if adding:
                one = truth.phi(edge) * (1 - at * (1 - q)) - at * q * truth.phi(edge - 1) if edge is not None else arb(0)
            else:
                one = (1 - q - at) * truth.phi(-edge) + q * truth.phi(1 - edge) if edge is not None else 1 - at
            total += (-z * z / 2).exp() * (1 if adding else ratio) * one
        value = float(total * truth.real(step) / (2 * arb.pi()).sqrt())
    assert composition._delta(parts, x, top=False) <= value * (1 + 1e-11)
    assert composition._delta(parts, x, top=True) >= value * (1 - 1e-11)


@pytest.mark.parametrize(("count", "epsilon"), [(1000, 2.124515), (10000, 6.907384), (100000, 27.672598)])
def test_known_values(count: int, epsilon: float) -> None:
    low, high = (count * dp.Gaussian(sensitivity=1, sigma=1).privacy.sampled(0.01)).epsilon_bounds(1e-6)
    assert low == pytest.approx(epsilon, abs=6e-7)
    assert high == pytest.approx(epsilon, abs=6e-7)


def test_two_lines_agree() -> None:
    """The reference does not depend on where it is taken."""
    lines = [
        contour.sampled_gaussians(F(1), F(1, 100), 1000, adding=False, x=F(x), width=F(w), digits=25)
        for x, w in [(4, 50), (6, 36)]
    ]
    for epsilon in (F(1), F(2), F(5, 2)):
        assert lines[0](epsilon).overlaps(lines[1](epsilon))


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize(("epsilon", "delta", "rate"), [("1", "0.1", "0.5"), ("1", "1e-6", "0.1"), ("3", "0.01", "0.5")])
def test_boxes(epsilon: str, delta: str, rate: str, count: int) -> None:
    """What one record may disclose for sure is disclosed only if it is drawn; where it is not, the loss is ln(1 - q)."""
    e, d, q = F(epsilon), F(delta), F(rate)
    curve = larger(*(samples.sampled_boxes(e, d, q, count, adding=adding) for adding in (False, True)))
    sure = 1 - (1 - q * d) ** count
    deltas = [x for x in DELTAS if x > sure * (1 + F(1, 10**6))]
    holds(count * dp.approximate(e, d).sampled(q), curve, epsilons=[F(0), F(1, 10), F(1, 3), F(3, 4)], deltas=deltas)


@pytest.mark.parametrize("count", [1, 2, 5, 30])
@pytest.mark.parametrize(("epsilon", "rate"), [("0.1", "0.01"), ("1", "0.1"), ("3", "0.9")])
def test_pure(epsilon: str, rate: str, count: int) -> None:
    e, q = F(epsilon), F(rate)
    curve = larger(*(samples.sampled_boxes(e, F(0), q, count, adding=adding) for adding in (False, True)))
    holds(count * dp.pure(e).sampled(q), curve, epsilons=[F(0), F(1, 100), F(1, 3)], deltas=[*DELTAS, F(1, 10**50)])
