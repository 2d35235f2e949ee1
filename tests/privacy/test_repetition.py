"""The price of the best of a random number of runs, against laws of searches that are written out exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from discreet.errors import ParameterError
from discreet.privacy.repetition import LAWS, Repetition

MEANS = (1.5, 6, 40, 1000)


def generating(law: Repetition) -> Callable[[float], float]:
    """E[x^K], in closed form."""
    g = float(law.parameter)
    if law.law == "geometric":
        return lambda x: g * x / (1 - (1 - g) * x)
    if law.law == "logarithmic":
        return lambda x: math.log1p(-(1 - g) * x) / math.log(g)
    return lambda x: (math.exp(g * (x - 1)) - math.exp(-g)) / -math.expm1(-g)


def best(law: Repetition, run: np.ndarray) -> np.ndarray:
    """The law of the best result, of runs whose results stand in the order of their scores."""
    of = generating(law)
    return np.diff([of(min(one, 1.0)) for one in np.concatenate([[0.0], np.cumsum(run)])])


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(logsumexp(order * np.log(p / q), b=q)) / (order - 1)


def pairs(seed: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Two laws over five results whose ratios are at most e^epsilon, some of them just that."""
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.full(5, 0.4)) + 1e-9
    moved = p * np.exp(random.choice([-1.0, 1.0], 5) * epsilon / 2)
    return p / p.sum(), moved / moved.sum()  # the sum is within e^(+-epsilon/2)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("law", LAWS)
def test_as_many_runs_are_expected_as_are_asked_for(law: str, mean: float) -> None:
    assert Repetition.expecting(law, mean).mean == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0])
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("law", LAWS)
def test_no_search_of_pure_runs_is_worse_than_its_claim(law: str, mean: float, epsilon: float) -> None:
    often = Repetition.expecting(law, mean)
    claimed = epsilon * float(Fraction(1) / often.run_epsilon(Fraction(1)))
    flip = np.array([1, math.exp(epsilon)]) / (1 + math.exp(epsilon))
    for p, q in [(flip, flip[::-1]), *(pairs(seed, epsilon) for seed in range(20))]:
        assert np.abs(np.log(p / q)).max() <= epsilon * (1 + 1e-9)
        found, other = best(often, p), best(often, q)
        assert found.sum() == pytest.approx(1)
        sure = (found > 1e-9) & (other > 1e-9)  # below that differences of floats say nothing
        assert np.abs(np.log(found[sure] / other[sure])).max() <= claimed * (1 + 1e-6)


@pytest.mark.parametrize(("law", "factor"), [("logarithmic", 2), ("geometric", 3)])
def test_the_pure_claim_is_attained(law: str, factor: int) -> None:
    """A rare result below one that is e^epsilon likelier on the neighbour, and e^epsilon rarer there itself."""
    p, q = np.array([0.9 - 1e-6, 1e-6, 0.1]), np.array([1 - 0.1 * math.e - 1e-6 / math.e, 1e-6 / math.e, 0.1 * math.e])
    often = Repetition(law, Fraction(1, 10**4))
    assert math.log(best(often, p)[1] / best(often, q)[1]) > factor - 0.02
    assert Fraction(1) / often.run_epsilon(Fraction(1)) == factor


@pytest.mark.diagonal
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("law", LAWS)
def test_no_search_of_concentrated_runs_is_worse_than_its_claim(law: str, mean: float) -> None:
    often = Repetition.expecting(law, mean)
    orders = np.concatenate([1 + np.logspace(-3, 0, 20), np.linspace(2, 60, 60)])
    for seed in range(6):
        p, q = pairs(seed, (0.1, 0.7, 2.0)[seed % 3])
        rho = max(max(divergence(p, q, one), divergence(q, p, one)) / one for one in orders) * 1.01 + 1e-12
        total = often.total(Fraction(rho))
        found, other = best(often, p), best(often, q)
        sure = (found > 1e-9) & (other > 1e-9)
        (loss,) = [part for part, _ in total.parts]
        for order, claimed in loss.divergences:  # type: ignore[attr-defined]
            if order < 60:
                assert divergence(found[sure], other[sure], float(order)) <= claimed + 1e-9
                assert divergence(other[sure], found[sure], float(order)) <= claimed + 1e-9
        for epsilon in (0.1, 1.0, 3.0):
            assert np.maximum(found - math.exp(epsilon) * other, 0).sum() <= total.delta(epsilon) + 1e-12


@pytest.mark.parametrize("mean", MEANS[1:])
@pytest.mark.parametrize(("law", "eta"), [("logarithmic", 0), ("geometric", 1)])
def test_the_claim_is_the_theorem_at_its_best_order(law: str, eta: int, mean: float) -> None:
    often = Repetition.expecting(law, mean)
    g, others = float(often.parameter), np.logspace(0, 4, 4000)
    for rho in (1e-4, 0.01, 1.0, 50.0):
        (loss,) = [part for part, _ in often.total(Fraction(rho)).parts]
        least = float(np.min((1 + eta) * (1 - 1 / others) * others * rho + (1 + eta) * math.log(1 / g) / others))
        for order, claimed in loss.divergences:  # type: ignore[attr-defined]
            wanted = float(order) * rho + least + math.log(often.mean) / float(order - 1)
            assert float(claimed) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5])
@pytest.mark.parametrize("mean", MEANS[1:])
@pytest.mark.parametrize("law", LAWS)
def test_the_largest_of_normal_numbers_costs_no_more_than_its_claim(law: str, mean: float, rho: float) -> None:
    """A run is a normal number, which is its own score: the density of the best is f'(normal cdf) times the normal density."""
    often, mu = Repetition.expecting(law, mean), math.sqrt(2 * rho)
    g, size = float(often.parameter), often.mean
    y = np.linspace(-14, 14, 8001)

    def density(at: float) -> np.ndarray:  # in logarithms
        beaten = norm.sf(y - at)
        steep = -g * beaten if law == "poisson" else (1 + (law == "geometric")) * np.log(g / (g + (1 - g) * beaten))
        return math.log(size) + steep + norm.logpdf(y - at)

    (loss,) = [part for part, _ in often.total(Fraction(rho)).parts]
    for p, q in [(density(0), density(mu)), (density(mu), density(0))]:
        assert np.trapezoid(np.exp(p), y) == pytest.approx(1, abs=1e-6)
        for order, claimed in loss.divergences:  # type: ignore[attr-defined]
            if mu * float(order) < 6:  # beyond that the integral leaves the grid
                a = float(order)
                found = logsumexp(a * p + (1 - a) * q) + math.log(y[1] - y[0])
                assert found / (a - 1) <= float(claimed) * (1 + 1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_what_is_asked_is_never_exceeded_and_nearly_used_up(law: str) -> None:
    for mean, epsilon, delta in [(1.1, 1, 1e-5), (16, 0.05, 1e-9), (200, 8, 1e-6), (1000, 1, 1e-6)]:
        often = Repetition.expecting(law, mean)
        found = often.total(often.run_rho(epsilon, delta)).epsilon(delta)
        assert 0.999 * epsilon < found <= epsilon
    assert often.run_epsilon(Fraction(1)) < 1


def test_laws_and_runs_that_are_none_are_refused() -> None:
    for law, runs, said in [("uniform", 3, "geometric"), ("geometric", 1, "runs=20"), ("poisson", 10**9, "runs=20")]:
        with pytest.raises(ParameterError, match=said):
            Repetition.expecting(law, runs)
    with pytest.raises(ParameterError, match="runs"):
        Repetition.expecting("geometric", float("nan"))
