"""Promise: Gaussian and real Laplace noise, alone, composed and mixed, cost what closed forms, exact integrals and the inversion
formula say they do. The bracket holds that truth, computed to 20 digits and more, for deltas from 1e-100 to 0.99.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from privacy import reference_contour as contour
from privacy import reference_curves as truth
from privacy.reference_bracket import DELTAS, EPSILONS, holds

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.losses import DiscreteLaplace, Gaussian, Laplace, Response

F = Fraction


@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("squared_mu", ["1e-8", "1e-4", "0.01", "1", "2", "100", "1e4"])
def test_gaussian(squared_mu: str, count: int) -> None:
    each = F(squared_mu) / count
    holds(count * Privacy.of(Gaussian(each)), truth.gaussian(F(squared_mu)))


def test_known_gaussian_values() -> None:
    for sigma, count, epsilon in [(10, 100, 4.886554), (10, 10000, 96.717272), (50, 10000, 10.997151)]:
        low, high = (count * dp.Gaussian(sensitivity=1, sigma=sigma).privacy).epsilon_bounds(1e-6)
        assert low == pytest.approx(epsilon, abs=6e-7)
        assert high == pytest.approx(epsilon, abs=6e-7)


@pytest.mark.diagonal
@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "20"])
def test_laplace(epsilon: str, count: int) -> None:
    e = F(epsilon)
    curve = truth.laplaces(e, count)
    holds(count * Privacy.of(Laplace(e)), curve, epsilons=[*EPSILONS[:: 1 if count == 1 else 2], count * e * F(99, 100)])
    if count == 1:
        assert curve(F(1, 200)).overlaps(truth.laplace(e)(F(1, 200)))


def test_a_hundred_laplaces() -> None:
    curve = truth.laplaces(F(1, 10), 100)
    privacy = 100 * dp.Laplace(sensitivity=1.0, epsilon=0.1).privacy
    holds(privacy, curve, epsilons=[F(1), F(47, 10)], deltas=[F(1, 10**6), F(1, 10**50)])
    assert privacy.epsilon(1e-6) == pytest.approx(4.692667, rel=1e-4)


@pytest.mark.parametrize(
    ("count", "x", "reach", "epsilon"), [(1000, "0.5", 400, 18.950287), (10000, "0.4", 40, 94.235865)], ids=str
)
def test_many_laplaces(count: int, x: str, reach: int, epsilon: float) -> None:
    curve = contour.laplaces(F(1, 10), count, F(x), reach)
    privacy = count * Privacy.of(Laplace(F(1, 10)))
    holds(privacy, curve, epsilons=[F(epsilon), F(epsilon) * F(9, 10)], deltas=[F(1, 10**6)])
    low, high = privacy.epsilon_bounds(1e-6)
    assert low == pytest.approx(epsilon, rel=1e-4)
    assert high == pytest.approx(epsilon, rel=1e-4)


def test_the_two_references_agree() -> None:
    """The inversion formula and the exact integrals, on the same composition."""
    line, exact = contour.laplaces(F(1), 100, F(1, 2), 300), truth.laplaces(F(1), 100)
    for epsilon in (F(40), F(60)):
        assert line(epsilon).overlaps(exact(epsilon))
        assert line(epsilon).rel_accuracy_bits() > 20


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("count", [1, 3, 30])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "20"])
@pytest.mark.parametrize("squared_mu", ["1e-4", "1", "100"])
def test_gaussian_and_pure(squared_mu: str, epsilon: str, count: int) -> None:
    e = F(epsilon)
    curve = truth.with_gaussian(F(squared_mu), truth.pure(e, count))
    holds(Privacy.of(Gaussian(F(squared_mu))) + count * dp.pure(e), curve, epsilons=EPSILONS[::3])


def test_gaussian_and_boxes() -> None:
    """The chance of disclosure is part of the mix."""
    privacy = dp.gdp(1) + 20 * dp.approximate(0.5, 1e-8)
    curve = truth.with_gaussian(F(1), truth.pure(F(1, 2), 20, F(1, 10**8)))
    holds(privacy, curve, epsilons=[F(0), F(2), F(8), F(40)], deltas=[F(1, 10), F(1, 10**3), F(1, 10**6)])


@pytest.mark.parametrize("atoms", ["response", "discrete Laplace"])
def test_gaussian_and_discrete_noise(atoms: str) -> None:
    if atoms == "response":
        part, law = Privacy.of(Response(F(1, 2), 5)), truth.response(F(1, 2), 5, 40)
    else:
        part, law = Privacy.of(DiscreteLaplace(3, F(4))), truth.discrete_laplace(3, F(4), 40)
    holds(dp.gdp(1) + 40 * part, truth.with_gaussian(F(1), law), epsilons=[F(1), F(10)], deltas=DELTAS[1:5])


@pytest.mark.diagonal
@pytest.mark.parametrize("epsilon", ["0.1", "1", "20"])
@pytest.mark.parametrize("squared_mu", ["1e-4", "1", "100"])
def test_gaussian_and_laplace(squared_mu: str, epsilon: str) -> None:
    curve = truth.gaussian_and_laplace(F(squared_mu), F(epsilon))
    deltas = [F(1, 10), F(1, 10**3), F(1, 10**6), F(1, 10**12)]
    holds(
        Privacy.of(Gaussian(F(squared_mu))) + Privacy.of(Laplace(F(epsilon))),
        curve,
        epsilons=[F(0), F(1, 10), F(1)],
        deltas=deltas,
    )


def test_gaussian_and_a_discrete_laplace_of_a_large_sensitivity() -> None:
    """Its law is rounded, and the lower bound must come from the law rounded down."""
    privacy = dp.gdp(1) + Privacy.of(DiscreteLaplace(5000, F(5000)))
    curve = truth.with_gaussian(F(1), truth.discrete_laplace(5000, F(5000), 1))
    holds(privacy, curve, epsilons=[F(1)], deltas=[F(1, 10**6)])


@pytest.mark.parametrize("mu", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("sigma", ["0.1", "0.3", "0.5", "1"])
def test_gaussian_and_a_narrow_discrete_gaussian(sigma: str, mu: str) -> None:
    """The tilt that 1e-100 takes reaches for values whose masses are below all floats."""
    square = F(sigma) ** 2
    privacy = dp.gdp(F(mu)) + dp.DiscreteGaussian(sensitivity=1, sigma=F(sigma)).privacy
    curve = truth.with_gaussian(F(mu) ** 2, truth.discrete_gaussian(square, 1))
    holds(privacy, curve, epsilons=[1 / (2 * square) + 3], deltas=[F(1, 10**6), F(1, 10**90), F(1, 10**100)])
