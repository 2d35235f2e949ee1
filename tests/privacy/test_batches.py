"""Fixed batches: the theorem against mechanisms that are written out, one use against integrals, compositions against an FFT."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import norm
from support.depth import spread

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy

F = Fraction
KINDS = {
    "Gaussian": dp.gdp(1),
    "Laplace": dp.Laplace(sensitivity=1.0, epsilon=1).privacy,
    "discrete Laplace": dp.Laplace(sensitivity=3, epsilon=1).privacy,
    "discrete Gaussian": dp.DiscreteGaussian(sensitivity=1, sigma=3).privacy,
    "pure": dp.pure(1),
    "approximate": dp.approximate(1, 1e-9),
    "exponential": dp.Exponential(sensitivity=1, epsilon=1).privacy,
    "zCDP": dp.zcdp(0.1),
    "no noise": dp.gdp(20),
}


def _respond(records: tuple[int, ...], size: int, flip: float) -> np.ndarray:
    """The law of a randomized answer about the parity of a batch of ``size`` of the records."""
    batches = list(itertools.combinations(records, size))
    odd = sum(sum(one) % 2 for one in batches) / len(batches)
    yes = odd * (1 - flip) + (1 - odd) * flip
    return np.array([yes, 1 - yes])


@pytest.mark.diagonal
@pytest.mark.parametrize(("many", "size"), [(2, 1), (3, 1), (3, 2), (5, 2), (5, 4)])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_no_mechanism_leaks_more_than_is_said(many: int, size: int, times: int) -> None:
    """Every pair of neighbours, and every choice of tables along the way: an adversary may change all other records."""
    epsilon = 1.5
    flip = 1 / (1 + math.exp(epsilon))
    pairs = [
        (_respond((0, *rest), size, flip), _respond((1, *rest), size, flip))
        for rest in itertools.product((0, 1), repeat=many - 1)
    ]
    pairs += [(q, p) for p, q in pairs]
    claimed = times * dp.pure(epsilon, neighbours="replace").batched(size, of=many)
    for chosen in itertools.product({(*p, *q): (p, q) for p, q in pairs}.values(), repeat=times):
        p, q = np.ones(1), np.ones(1)
        for one, other in chosen:
            p, q = np.multiply.outer(p, one).ravel(), np.multiply.outer(q, other).ravel()
        for order in (F(0), F(1, 20), F(1, 3), F(1)):
            assert np.maximum(p - math.exp(order) * q, 0).sum() <= claimed.delta(order) * (1 + 1e-12) + 1e-15


@given(
    mu=some.floats(0.05, 5),
    rate=some.floats(0.001, 0.95),
    others=some.floats(-1, 1),
    order=some.floats(0, 3),
)
def test_one_use_holds_whatever_other_records_are(mu: float, rate: float, others: float, order: float) -> None:
    """Gaussian noise: batches without the record give N(a, 1), a no further than mu from 0 and mu; a = 0 attains the bound."""
    size = max(1, round(1000 * rate))
    q, step = size / 1000, 1e-3
    z = np.arange(-12, 18, step)
    claimed = dp.gdp(F(mu)).batched(size, of=1000).delta(F(order))
    for a in (0.0, mu * (0.5 + others / 2)):
        apart = norm.pdf(z, a)
        gap = (1 - q) * apart + q * norm.pdf(z, mu) - math.exp(order) * ((1 - q) * apart + q * norm.pdf(z))
        delta = np.maximum(gap, 0).sum() * step
        assert delta <= claimed + 1e-6
        assert a or delta == pytest.approx(claimed, abs=1e-6)


def _by_fft(mu: float, q: float, times: int, epsilon: float) -> float:
    """delta of a composition, from the mirrored law on a fine grid; good to three digits, and written without the accountant."""
    step, half = 2e-4, 2**17
    z = np.linspace(mu / 2, mu + 9, 400_001)
    mass = norm.pdf((z[1:] + z[:-1]) / 2) * np.diff(z)
    ratio = 1 - q + q * np.exp(mu * (z[1:] + z[:-1]) / 2 - mu * mu / 2)
    place = np.round(np.log(ratio) / step).astype(int)
    law = np.zeros(2 * half)
    np.add.at(law, half + place, mass * ratio)
    np.add.at(law, half - place, mass)
    law[half] += 1 - law.sum()
    total = np.fft.irfft(np.fft.rfft(np.roll(law, -half)) ** times, 2 * half)
    losses = step * np.where(np.arange(2 * half) < half, np.arange(2 * half), np.arange(2 * half) - 2 * half)
    return float((total * np.maximum(0, 1 - np.exp(np.minimum(epsilon - losses, 0)))).sum())


@pytest.mark.spread(2)
@pytest.mark.parametrize(("mu", "size", "times", "epsilon"), [(1, 1, 10, F(1, 4)), (1, 2, 300, F(1)), (F(1, 2), 10, 50, F(1, 2))])
def test_compositions_agree_with_a_plain_transform(mu: F, size: int, times: int, epsilon: Fraction) -> None:
    low, high = (times * dp.gdp(mu).batched(size, of=100)).delta_bounds(epsilon)
    assert high == pytest.approx(_by_fft(float(mu), size / 100, times, float(epsilon)), rel=2e-3)
    assert low <= high


@pytest.mark.parametrize("kind", KINDS)
def test_promises_of_every_kind(kind: str) -> None:
    base = KINDS[kind]
    for times, sizes in ((1, (0, *spread((1, 5, 49), 2), 50)), (7, (0, 5, 50))):
        wanted = [times * base.batched(size, of=50) for size in sizes]
        bounds = [one.epsilon_bounds(1e-6) for one in wanted]
        assert all(low <= high for low, high in bounds)
        assert all(less[0] <= more[1] * (1 + 1e-12) for less, more in itertools.pairwise(bounds))  # larger batches cost more
        assert wanted[0] == Privacy()
        assert wanted[-1] == times * base
        for one in wanted[1:-1]:
            assert Privacy.from_json(one.to_json()) == one
            assert one.neighbours == "replace"
            assert one.delta_bounds(1)[1] <= (times * base).delta_bounds(1)[1] * (1 + 1e-9) + 1e-300
    poisson = base.sampled(F(1, 10)).epsilon_bounds(1e-6)
    assert base.batched(5, of=50).epsilon_bounds(1e-6)[1] >= poisson[0] * (1 - 1e-12)  # the attained pair is the same


@pytest.mark.parametrize(("epsilon", "size", "times"), [(1, 90, 1000), (1, 99, 1000), (4, 99, 10**4)])
def test_the_exponential_mechanism_attains_no_more_on_a_batch_than_on_all_records(epsilon: int, size: int, times: int) -> None:
    """Its pair bounds a family, none of which attains it: of many uses the zero-concentrated cost allows much less."""
    base = dp.Exponential(sensitivity=1, epsilon=epsilon).privacy
    low, high = (times * base.batched(size, of=100)).epsilon_bounds(1e-6)
    assert low <= (times * base).epsilon_bounds(1e-6)[1]
    assert low <= high <= (times * base).epsilon_bounds(1e-6)[1] * (1 + 1e-9)
    response = dp.pure(F(epsilon, 2)).sampled(F(size, 100))  # two candidates
    assert low == pytest.approx((times * response).epsilon_bounds(1e-6)[0], rel=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be drawn"):
        dp.gdp(1).batched(11, of=10)
    with pytest.raises(ParameterError, match="before composing"):
        (2 * dp.gdp(1)).batched(1, of=10)
    with pytest.raises(ParameterError, match=r"Poisson sample: \.sampled"):
        dp.gdp(1, neighbours="add-remove").batched(1, of=10)
    with pytest.raises(ParameterError, match="seen to report"):
        dp.pure(1, neighbours="local").batched(1, of=10)
    with pytest.raises(ParameterError, match="group"):
        dp.gdp(1).batched(1, of=10).group(2)
    for size, records in [(-1, 10), (1.5, 10), (1, 0), (True, 10)]:
        with pytest.raises(ParameterError):
            dp.gdp(1).batched(size, of=records)  # type: ignore[arg-type]
