"""The privacy loss as a random variable, against the pair of distributions it comes from and against certified numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from support.refusals import refused

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy
from discreet.privacy.loss_variable import LossVariable
from discreet.privacy.losses import BoundedRange, Box, DiscreteGaussian, DiscreteLaplace, Family, Laplace, Response

ONE = Fraction(1)


def once(loss: Any) -> Privacy:
    return Privacy.of(loss)


# Every kind of loss, used once.
SINGLE = {
    "pure": dp.pure(1),
    "small pure": dp.pure(0.01),
    "response": once(Response(ONE, 4)),
    "Laplace": once(Laplace(ONE)),
    "small Laplace": once(Laplace(ONE / 50)),
    "large Laplace": once(Laplace(8 * ONE)),
    "discrete Laplace": once(DiscreteLaplace(3, 2 * ONE)),
    "Gaussian": dp.gdp(1),
    "discrete Gaussian": once(DiscreteGaussian(4 * ONE)),
    "bounded range": once(BoundedRange(ONE)),
    "family": once(Family("both", Laplace(ONE), Box(ONE / 2))),
    "sampled Gaussian": dp.gdp(1).sampled(0.1),
    "sampled pure": dp.pure(1).sampled(0.2),
    "sampled Laplace": once(Laplace(ONE)).sampled(0.2),
    "sampled range": once(BoundedRange(2 * ONE)).sampled(0.05),
}
COMPOSED = {
    "100 pure": 100 * dp.pure(0.1),
    "3 Laplace": 3 * once(Laplace(ONE / 2)),
    "200 Laplace": 200 * once(Laplace(ONE / 10)),
    "discrete Gaussians": 30 * once(DiscreteGaussian(100 * ONE)),
    "500 sampled Gaussians": 500 * dp.gdp(1).sampled(0.01),
    "50 sampled Laplace": 50 * once(Laplace(ONE)).sampled(0.1),
    "pure and Gaussian": 20 * dp.pure(0.2) + dp.gdp(1),
    "two Laplaces": 2 * once(Laplace(ONE)) + 3 * once(Laplace(ONE / 3)),
    "pure of two sizes": 20 * dp.pure(0.1) + 7 * dp.pure(0.17),
}
EVERY = SINGLE | COMPOSED
every = pytest.mark.parametrize("privacy", EVERY.values(), ids=EVERY.keys())


def expectation(loss: LossVariable, function: Any, *, start: float = -math.inf) -> float:
    """E[function(L)] over finite losses above ``start``: atoms plus the density, integrated piece by piece."""
    law = loss.law
    above = law.losses > start
    total = float(law.masses[above] @ function(law.losses[above])) if above.any() else 0.0
    if law.spread:
        low, high = max(law.spread.low, start), law.spread.high
        knots = [low, *sorted(law.losses[(law.losses > low) & (law.losses < high)].tolist()), high]
        for left, right in pairwise(knots):
            x = np.linspace(left, right, 1 + 8 * math.ceil(4000 / len(knots) + 100))
            middle = (x[1:] + x[:-1]) / 2
            total += float(loss.density(middle) @ function(middle)) * (x[1] - x[0])
    return total


def test_the_lecture_s_laplace() -> None:
    """Real Laplace noise at epsilon = 1: support [-1, 1], an atom at either end, mean 1/e."""
    loss = dp.Laplace(sensitivity=1.0, epsilon=1).privacy.loss
    assert loss.support == (-1, 1)
    assert loss.atoms == [(-1, pytest.approx(math.exp(-1) / 2)), (1, 0.5)]
    assert loss.mean == pytest.approx(math.exp(-1), rel=1e-14)
    assert loss.density([-1.5, 0, 1.5]) == pytest.approx([0, math.exp(-0.5) / 4, 0])
    assert loss.cdf([-1.01, -1, 0.999999999, 1]) == pytest.approx([0, math.exp(-1) / 2, 0.5, 1], abs=1e-8)
    assert loss.mass([-1, 0, 1, math.inf]) == pytest.approx([math.exp(-1) / 2, 0, 0.5, 0])
    assert loss.tail(1) == 0


def test_the_lecture_s_discrete_laplace_has_two_atoms_only() -> None:
    loss = dp.Laplace(sensitivity=1, epsilon=1).privacy.loss
    true = 1 / (1 + math.exp(-1))
    assert loss.atoms == [(-1, pytest.approx(1 - true)), (1, pytest.approx(true))]
    assert not loss.density(np.linspace(-2, 2, 101)).any()
    assert loss.mean == pytest.approx(math.tanh(0.5))


@pytest.mark.parametrize("adding", [False, True])
@pytest.mark.parametrize("rate", [1, 0.3])
@pytest.mark.parametrize(
    ("noise", "privacy"),
    [
        (stats.laplace(scale=1 / 0.8), once(Laplace(Fraction(4, 5)))),
        (stats.norm(scale=1 / 0.8), dp.gdp(0.8)),
    ],
)
def test_against_the_pair_itself(noise: Any, privacy: Privacy, rate: float, adding: bool) -> None:
    """ln P/Q on a fine grid of outputs, weighted by P."""
    x = np.linspace(-60, 61, 500_001)
    without, with_one = noise.pdf(x), noise.pdf(x - 1)
    mixed = (1 - rate) * without + rate * with_one
    p, q = (without, mixed) if adding else (mixed, without)
    weights = p * (x[1] - x[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.where(weights > 1e-300, np.log(p) - np.log(q), 0.0)
    loss = privacy.sampled(rate).loss
    loss = loss.reverse if adding else loss
    assert loss.mean == pytest.approx(float(weights @ losses), abs=1e-6)
    assert loss.variance == pytest.approx(float(weights @ losses**2) - float(weights @ losses) ** 2, abs=1e-6)
    for at in np.linspace(losses.min() * 0.9, losses.max() * 0.9, 7)[1:-1]:
        if abs(at) < 3:
            assert float(loss.cdf(at)) == pytest.approx(float(weights[losses <= at].sum()), abs=1e-4)


@every
def test_it_is_a_law(privacy: Privacy) -> None:
    """All mass is there, the mean and the variance are those of the law, and E[e^-L] = 1 where nothing is disclosed."""
    loss = privacy.loss
    assert expectation(loss, np.ones_like) == pytest.approx(1, abs=1e-4)
    assert expectation(loss, lambda x: x) == pytest.approx(loss.mean, abs=2e-4 * math.sqrt(loss.variance))
    assert expectation(loss, lambda x: (x - loss.mean) ** 2) == pytest.approx(loss.variance, rel=1e-3)
    assert expectation(loss, lambda x: np.exp(-x)) == pytest.approx(1, abs=1e-3)
    assert loss.support[0] < 0 < loss.support[1]
    assert loss.mean > 0


@pytest.mark.spread(8)
@every
def test_it_gives_the_certified_delta(privacy: Privacy) -> None:
    """delta(epsilon) = E[(1 - e^(epsilon - L))+], never above P[L > epsilon]."""
    loss = privacy.loss
    for at in (0.0, loss.mean, loss.mean + math.sqrt(loss.variance), loss.mean + 2.5 * math.sqrt(loss.variance)):
        stick = expectation(loss, lambda x, at=at: -np.expm1(at - x), start=at)
        low, high = privacy.delta_bounds(at)
        bounded = any(isinstance(part, (BoundedRange, Family)) for part, _ in privacy.parts)
        assert stick == pytest.approx(high, rel=1e-2, abs=1e-5) or (bounded and low <= stick)
        assert stick <= loss.tail(at) + 1e-5


@every
def test_cdf_tail_and_density_agree(privacy: Privacy) -> None:
    loss = privacy.loss
    low, high = loss.law.mean - 6 * math.sqrt(loss.variance), loss.law.mean + 6 * math.sqrt(loss.variance)
    x = np.linspace(low, high, 201)
    cdf = loss.cdf(x)
    assert np.all(np.diff(cdf) >= -1e-12)
    assert cdf[0] < 0.05
    assert cdf[-1] > 0.95
    for at, below in zip(x[::50].tolist(), cdf[::50].tolist(), strict=True):
        assert loss.tail(at) == pytest.approx(1 - below, abs=1e-6)
    assert loss.cdf(math.inf) == 1
    assert loss.cdf(-math.inf) == 0


def test_the_gaussian_loss_is_normal() -> None:
    loss = dp.gdp(2).loss
    normal = stats.norm(2, 2)
    x = np.linspace(-6, 10, 33)
    assert loss.density(x) == pytest.approx(normal.pdf(x))
    assert loss.cdf(x) == pytest.approx(normal.cdf(x))
    assert loss.tail(22) == pytest.approx(normal.sf(22), rel=1e-9)
    assert loss.atoms == []
    assert loss.support == (-math.inf, math.inf)


def test_composing_pure_privacy_is_a_binomial() -> None:
    loss = (100 * dp.pure(0.1)).loss
    truth = stats.binom(100, 1 / (1 + math.exp(-0.1)))
    losses, masses = (np.array(column) for column in zip(*loss.atoms, strict=True))
    assert losses == pytest.approx(0.2 * np.arange(101) - 10)
    assert masses == pytest.approx(truth.pmf(np.arange(101)), rel=1e-9)
    assert loss.tail(5.1) == pytest.approx(truth.sf(75), rel=1e-9)
    assert loss.mean == pytest.approx(100 * 0.1 * math.tanh(0.05))


def test_two_laplaces() -> None:
    """Atoms at -2e, 0, 2e; between them the atoms of one meet the density of the other, and the densities each other."""
    e = 0.5
    loss = (2 * once(Laplace(Fraction(1, 2)))).loss
    low, high = math.exp(-e) / 2, 0.5
    assert loss.atoms == [
        (pytest.approx(-2 * e), pytest.approx(low**2)),
        (pytest.approx(0, abs=1e-12), pytest.approx(2 * low * high)),
        (pytest.approx(2 * e), pytest.approx(high**2)),
    ]

    def one(x: float) -> float:
        return math.exp((x - e) / 2) / 4 if abs(x) < e else 0.0

    for at in (-0.9, -0.3, 0.2, 0.7):
        both = integrate.quad(lambda x, at=at: one(x) * one(at - x), max(-e, at - e), min(e, at + e))[0]
        assert float(loss.density(at)) == pytest.approx(2 * low * one(at + e) + 2 * high * one(at - e) + both, rel=1e-3)


@pytest.mark.parametrize("at", [1, 3, 6, 8])
def test_far_tails_keep_their_digits(at: float) -> None:
    """Randomized response and Gaussian noise together: a mixture of two normal laws."""
    loss = (dp.pure(0.5) + dp.gdp(1)).loss
    true = 1 / (1 + math.exp(-0.5))
    truth = true * stats.norm(1, 1).sf(at) + (1 - true) * stats.norm(0, 1).sf(at)
    assert loss.tail(at) == pytest.approx(truth, rel=2e-3)


@every
def test_means_and_variances_add_up(privacy: Privacy) -> None:
    loss, thrice = privacy.loss, (3 * privacy).loss
    assert thrice.mean == pytest.approx(3 * loss.mean, rel=1e-9)
    assert thrice.variance == pytest.approx(3 * loss.variance, rel=1e-9)


def test_disclosure_is_an_atom_at_infinity() -> None:
    loss = dp.approximate(0, 1e-6).loss
    assert loss.atoms == [(0, pytest.approx(1 - 1e-6)), (math.inf, 1e-6)]
    assert loss.support == (0, math.inf)
    assert loss.mean == loss.variance == math.inf
    assert loss.cdf([0, 100, math.inf]) == pytest.approx([1 - 1e-6, 1 - 1e-6, 1])
    assert loss.tail(5) == loss.mass(math.inf) == pytest.approx(1e-6)
    twice = (2 * dp.approximate(1, 0.1)).loss
    assert twice.tail(2) == pytest.approx(0.19)
    assert sum(mass for _, mass in twice.atoms) == pytest.approx(1)


def test_sampling_a_leak() -> None:
    """With a record removed the leak is sampled too; with one added nothing leaks, and Q's own mass has the largest loss."""
    loss = dp.approximate(1, 0.1).sampled(0.2).loss
    assert loss.mass(math.inf) == pytest.approx(0.02)
    assert sum(mass for _, mass in loss.atoms) == pytest.approx(1)
    added = loss.reverse
    assert added.atoms[-1] == (pytest.approx(-math.log(0.8)), pytest.approx(0.1))
    assert sum(mass for _, mass in added.atoms) == pytest.approx(1)


def test_nothing_spent() -> None:
    loss = Privacy().loss
    assert loss.atoms == [(0, 1)]
    assert loss.mean == loss.variance == 0
    assert loss.cdf([-1, 0, 1]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("privacy", [dp.zcdp(0.5), dp.renyi({2: 0.1}), dp.zcdp(0.5) + dp.pure(1)])
def test_moments_name_no_law(privacy: Privacy) -> None:
    refused(lambda: privacy.loss, ParameterError, "names no loss distribution")


def test_too_many_atoms_are_blurred_not_listed() -> None:
    parts = sum((40 * dp.pure(size) for size in (0.1, 0.1234, 0.0777, 0.0567, 0.0391)), Privacy())
    loss = parts.loss
    refused(lambda: loss.atoms, ParameterError, "too many atoms")
    refused(lambda: loss.mass(0), ParameterError, "too many atoms")
    assert float(loss.cdf(loss.mean)) == pytest.approx(0.5, abs=0.02)
    assert loss.tail(2.0) >= parts.delta_bounds(2)[0]


def test_it_can_be_read() -> None:
    loss = (3 * dp.approximate(1, 1e-6)).loss
    assert repr(loss).startswith("LossVariable(3 × (ε = 1, δ = 1e-06): from -3 to 3, mean 1.386")
    assert "total disclosure" in loss._repr_html_()
    assert "<script" not in LossVariable(((Family("<script>", Laplace(ONE), Box(ONE)), 1),))._repr_html_()
    assert loss == (3 * dp.approximate(1, 1e-6)).loss
