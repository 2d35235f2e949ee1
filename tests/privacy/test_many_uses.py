"""Promise: any number of uses, to 10^16, has an epsilon from above and from below, close together and soon.

Truths are balls: k-fold randomized response is two binomial laws, whose tails are incomplete beta functions at any k.
"""

from __future__ import annotations

import ast
import inspect
import math
from fractions import Fraction
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.reference_curves import real
from privacy.reference_sampled import phi
from support.depth import examples
from support.patience import within

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.accountant import composition, cutting, lattice, methods, smoothing
from discreet.privacy.accountant.cutting import CutList, cut_list
from discreet.privacy.accountant.tails import typical_delta
from discreet.privacy.losses import BoundedRange, Box, DiscreteGaussian, DiscreteLaplace, Laplace, Response, SampledLattice, atoms

F = Fraction
MILLIONTH = F(1, 10**6)


def binomial(k: int, each: F, epsilon: F) -> arb:
    """delta of k-fold randomized response: P[j of k tell the truth] - e^epsilon Q[...], over losses (2j - k) each > epsilon."""
    e, x = real(each), real(epsilon)
    m = math.floor((epsilon / each + k) / 2) + 1
    truth = 1 / (1 + (-e).exp())
    above, below = (p.beta_lower(arb(m), arb(k - m + 1), 1) for p in (truth, 1 - truth))
    return above - x.exp() * below


@pytest.mark.parametrize(
    ("k", "each"), [(2 * 10**6, "1e-3"), (10**9, "1e-4"), (10**12, "1e-6"), (10**16, "1e-8"), (10**16, "3e-9"), (10**10, "1")]
)
def test_pure_uses_enclose_the_binomial_law(k: int, each: str) -> None:
    low, high = (k * dp.pure(F(each))).epsilon_bounds(MILLIONTH)
    assert high - low <= 1e-5 * low
    with ctx.workprec(256):
        assert binomial(k, F(each), F(high)) <= real(MILLIONTH)
        assert binomial(k, F(each), F(low)) >= real(MILLIONTH)


NEARLY_GAUSSIAN = {
    "Laplace": 10**14 * Privacy.of(Laplace(F(1, 10**7))),
    "Laplace on samples": 10**12 * Privacy.of(Laplace(F(1, 10**3))).sampled(F(1, 1000)),
    "response": 10**12 * Privacy.of(Response(F(3, 10**6), 9)),
    "discrete Laplace": 10**12 * Privacy.of(DiscreteLaplace(3, F(3 * 10**6))),
}


@pytest.mark.parametrize("name", NEARLY_GAUSSIAN)
def test_small_losses_approach_gaussian_noise(name: str) -> None:
    """Losses of variance v: k of them tend to Gaussian noise of mu^2 = k v, to less than a few / sqrt(k) of epsilon."""
    privacy = NEARLY_GAUSSIAN[name]
    (loss, count), *_ = privacy.parts
    low, high = privacy.epsilon_bounds(MILLIONTH)
    limit = dp.gdp(F(count * loss.mean_variance()[1]).limit_denominator(10**15) ** F(1, 2)).epsilon(MILLIONTH)
    assert high - low <= 1e-4 * low
    assert low * (1 - 1e-4) <= limit <= high * (1 + 1e-4)


LARGE = {
    "pure": 10**16 * dp.pure(1),
    "discrete Laplace": 10**12 * Privacy.of(DiscreteLaplace(100, F(20))),
    "Laplace": 10**12 * Privacy.of(Laplace(F(7))),
    "discrete Gaussian": 10**12 * dp.DiscreteGaussian(sensitivity=1, sigma=10).privacy,
    "pure on samples": 10**14 * dp.pure(7).sampled(F(3, 1000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_losses(name: str) -> None:
    """epsilon / k tends to the mean loss."""
    composition.epsilon_bounds.cache_clear()
    with within(2_000_000):
        low, high = LARGE[name].epsilon_bounds(MILLIONTH)
    assert high - low <= 1e-6 * low
    (loss, count), *_ = LARGE[name].parts
    assert low / count == pytest.approx(loss.mean_variance()[0], rel=1e-4)


def test_more_uses_cost_more_where_methods_change() -> None:
    """Lists, lattices and sums of small terms: brackets of neighbouring counts are in order."""
    for each in (dp.pure(F(1, 1000)), Privacy.of(Response(F(1, 1000), 4)), Privacy.of(Laplace(F(1, 1000)))):
        counts = [10**5, 131_071, 131_073, 999_999, 10**6, 10**6 + 1, 2 * 10**6, 10**8]
        brackets = [(k * each).epsilon_bounds(MILLIONTH) for k in counts]
        for (low, high), (_, more) in pairwise(brackets):
            assert high - low <= 1e-4 * low
            assert low <= more


def listed(loss: Box | Response | DiscreteLaplace | DiscreteGaussian | SampledLattice) -> CutList:
    return cut_list(loss, 0.0, up=True)


LISTS = {
    "pure": listed(Box(F(1, 3))),
    "tiny": listed(Box(F(1, 10**9))),
    "with disclosure": listed(Box(F(1, 2), F(1, 1000))),
    "response": listed(Response(F(2), 5)),
    "discrete Gaussian": listed(DiscreteGaussian(F(4))),
    "on samples": listed(SampledLattice(Box(F(5)), F(1, 10**6))),
    "added": listed(SampledLattice(DiscreteLaplace(4, F(3)), F(1, 10), True)),
}


def masses(loss: CutList) -> list[tuple[arb, arb]]:
    """Losses and masses of the law that a list stands for, in balls."""
    base = loss.whole.base if isinstance(loss.whole, SampledLattice) else loss.whole
    if isinstance(base, Box):
        e, kept = real(base.epsilon), real(1 - base.delta)
        law = [(e, kept / (1 + (-e).exp())), (-e, kept * (-e).exp() / (1 + (-e).exp()))]
    elif isinstance(base, Response):
        e, n = real(base.epsilon), base.options
        lie = (-e).exp()
        law = [(l, m / (1 + (n - 1) * lie)) for l, m in ((e, arb(1)), (arb(0), (n - 2) * lie), (-e, lie))]
    elif isinstance(base, DiscreteLaplace):
        d, q = base.sensitivity, (-real(1 / base.scale)).exp()
        inner = [(real(F(d - 2 * j) / base.scale), q**j * (1 - q)) for j in range(1, d)]
        law = [(l, m / (1 + q)) for l, m in [(real(base.pure), arb(1)), *inner, (-real(base.pure), q**d)]]
    else:
        assert isinstance(base, DiscreteGaussian)
        v = real(base.squared_sigma)
        weights = {x: (-(arb(x) ** 2) / (2 * v)).exp() for x in range(-120, 121)}
        total = sum(weights.values(), arb(0))
        law = [((1 - 2 * arb(x)) / (2 * v), w / total) for x, w in weights.items()]
    if not isinstance(loss.whole, SampledLattice):
        return law
    q, found = real(loss.whole.rate), []
    for l, m in law:
        other = m * (-l).exp()
        mixed = (1 - q) * other + q * m
        found.append(((other / mixed).log(), other) if loss.whole.adding else ((mixed / other).log(), mixed))
    return found


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("x", [0.01, 3.0, 20.0])
def test_moments_of_lists_are_known_as_well_as_they_say(name: str, x: float) -> None:
    loss = LISTS[name]
    with ctx.workprec(256):
        law, tilt = masses(loss), arb(x)
        moment = sum((m * (tilt * l).exp() for l, m in law), arb(0))
        assert abs(arb(loss.log_moment(x)) - moment.log()) <= arb(loss.rounding(x, 0.0))
        _, _, variance = loss.cumulants(x)
        for t in (0.1 / math.sqrt(variance), 3 / math.sqrt(variance)):
            small = complex(loss.increment(x, np.array([t]))[0])
            real_part = sum((m * (tilt * l).exp() * ((arb(t) * l).cos() - 1) for l, m in law), arb(0)) / moment
            turned = sum((m * (tilt * l).exp() * (arb(t) * l).sin() for l, m in law), arb(0)) / moment
            off = ((arb(small.real) - real_part) ** 2 + (arb(small.imag) - turned) ** 2).sqrt()
            assert off <= arb(loss.rounding(x, t))


@pytest.mark.parametrize("name", LISTS)
def test_moduli_fall_with_the_variance(name: str) -> None:
    """|phi(t)| <= e^(-2 t^2 V / pi^2) for t <= pi / D."""
    loss = LISTS[name]
    for x in (0.01, 3.0):
        variance, apart = loss.scatter(x)
        t = np.linspace(0, math.pi / apart, 200)
        assert (np.abs(loss.characteristic(x, t)) <= np.exp(-2 * t * t * variance / math.pi**2) * (1 + 1e-12)).all()


@given(st.floats(1.0, 40.0), st.floats(-100, 100), st.floats(1.0, 12.0))
@settings(max_examples=examples(50), deadline=None)
def test_a_payoff_that_is_moved_is_below(mu: float, u: float, away: float) -> None:
    """F(u - c) <= f(u) + e^(-a^2 / 2), c = mu^2 / 2 + mu a."""
    with ctx.workprec(400):
        m, at = arb(mu), arb(u) - arb(mu) ** 2 / 2 - arb(mu) * arb(away)
        smooth = phi(m / 2 + at / m) - (-at).exp() * phi(-m / 2 + at / m)
        sharp = 1 - (-arb(u)).exp() if u > 0 else arb(0)
        assert smooth <= sharp + (-(arb(away) ** 2) / 2).exp()


def test_mechanisms_that_hardly_ever_matter_are_set_aside() -> None:
    """Seven huge losses on tiny samples: their total variation is far below delta, and so is that of the rest."""
    privacy = 7 * Privacy.of(DiscreteLaplace(516, F(1))).sampled(F(1, 10**9))
    privacy += 1000 * Privacy.of(BoundedRange(F("1.148"))).sampled(F(1, 10**9))
    composition.epsilon_bounds.cache_clear()
    with within(100_000):
        assert privacy.epsilon_bounds(MILLIONTH) == (0, 0)
    low, high = (privacy + dp.pure(1)).epsilon_bounds(MILLIONTH)
    alone = dp.pure(1).epsilon_bounds(MILLIONTH)
    assert alone[0] <= high
    assert low <= high <= alone[1] * (1 + 1e-5)


@pytest.mark.parametrize(("k", "each"), [(10, "1"), (1000, "0.1"), (2 * 10**6, "1e-3"), (10**9, "1e-4"), (10**10, "1")])
def test_what_is_typical_of_lists_is_less_than_what_is_true(k: int, each: str) -> None:
    """And nearly all where losses are large: delta is 1 but for nothing, and says so."""
    parts, mean = (k * dp.pure(F(each))).parts, float(k * F(each) * F(math.tanh(float(F(each)) / 2)))
    for epsilon in (0.0, mean / 2, mean):
        low = typical_delta(parts, epsilon)
        with ctx.workprec(256):
            assert arb(low) <= binomial(k, F(each), F(epsilon)) + arb(2) ** -200
    assert mean < 100 or typical_delta(parts, 1.0) > 0.999


VERY_MANY = {
    "a group under discrete noise": 170_000_000 * Privacy.of(DiscreteLaplace(10_000, F(5000) / F("7.72"))),
    "beside answers": 10**15 * Privacy.of(DiscreteLaplace(10_000, F(50_000)))
    + 675_000_000 * Privacy.of(Response(F("0.0238"), 10)).sampled(F("0.000165")),
    "on samples": 874_000_000 * dp.DiscreteGaussian(sensitivity=1, sigma=F("0.4")).privacy.sampled(F("0.113")),
}


@pytest.mark.parametrize("name", VERY_MANY)
def test_long_lists_are_made_and_measured_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is made a few times, not for every moment; how far it scatters is asked once for a contour, and for its work."""
    made, asked, opened = list[object](), list[float](), list[object]()
    pieces, scatter, smoothed = DiscreteLaplace.pieces, CutList.scatter, smoothing._scatters
    monkeypatch.setattr(DiscreteLaplace, "pieces", lambda self, *, up: made.append(self) or pieces(self, up=up))
    monkeypatch.setattr(CutList, "scatter", lambda self, x: asked.append(x) or scatter(self, x))
    monkeypatch.setattr(smoothing, "_scatters", lambda parts, x: opened.append(parts) or smoothed(parts, x))
    for cache in (
        cutting.list_of,
        cutting._settled,
        smoothing.open_smoothed,
        composition.epsilon_bounds,
        composition.delta_bounds,
    ):
        cache.cache_clear()
    privacy = VERY_MANY[name]
    low, high = privacy.epsilon_bounds(MILLIONTH)
    assert low <= high <= low * 1.001
    assert privacy.delta_bounds(F(1, 100))[0] > 0.999
    assert len(made) <= 16
    assert len(asked) <= 2 * len(opened) * len(privacy.parts)


def test_no_lattice_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, rounded = list[object](), methods._round

    def note(parts: object, saddle: object, step: F, *, shared: bool, top: bool) -> object:
        tried.append((parts, saddle, step, shared, top))
        return rounded(parts, saddle, step, shared=shared, top=top)  # type: ignore[arg-type]

    monkeypatch.setattr(methods, "_round", note)
    privacy = 11 * dp.zcdp(F("1.19")).sampled(F("0.000776"))
    composition.epsilon_bounds.cache_clear()
    privacy.epsilon_bounds(F("1.66e-147"))
    assert tried
    assert len(set(tried)) == len(tried)


def test_both_sides_of_a_delta_are_found_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """1/100 is no double: what is opened for the double below it would not serve the one above."""
    places, settle = set[object](), methods.settle

    def note(parts: object, *, top: bool, epsilon: float | None = None, log_delta: float | None = None) -> object:
        places.add(epsilon)
        return settle(parts, top=top, epsilon=epsilon, log_delta=log_delta)  # type: ignore[arg-type]

    monkeypatch.setattr(methods, "settle", note)
    composition.delta_bounds.cache_clear()
    low, high = (5 * Privacy.of(Laplace(F(1, 7))).sampled(F(1, 9)) + 2 * dp.pure(F(1, 11))).delta_bounds(F(1, 100))
    assert low <= high <= low * (1 + 1e-4)
    assert len(places) == 1


@pytest.mark.parametrize("module", [atoms, cutting, lattice, smoothing])
def test_long_sums_are_not_products_of_vectors(module: ModuleType) -> None:
    """Those are given to threads from 10,000 terms on, which spin: a sum of 20 microseconds took 8 milliseconds."""
    tree = ast.parse(inspect.getsource(module))
    assert not any(isinstance(node, ast.MatMult) for node in ast.walk(tree))
