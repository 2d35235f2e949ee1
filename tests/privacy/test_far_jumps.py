"""Promise: sampled Gaussian noise has narrow brackets at any rate and any number of steps, soon; and they hold.

Truths are integrals in balls (two steps; masses of tails), and sums over grids for three. Work is counted in terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.reference_curves import real
from privacy.test_jumps import two_steps
from privacy.test_tight_samples import counted
from support.depth import examples

import discreet as dp
from discreet.arrays import Reals
from discreet.privacy.accountant import composition, far_jumps
from discreet.privacy.accountant.cut_gaussian import CutGaussian, tail_masses
from discreet.privacy.accountant.far_jumps import split_far
from discreet.privacy.losses import Laplace, SampledGaussian, SampledLattice

F = Fraction


def sampled(mu: str, rate: str) -> SampledGaussian:
    return SampledGaussian(F(mu) ** 2, F(rate))


def removing(mu: str, rate: str, count: int, delta: str) -> list[float]:
    """Lower and upper bound with a record removed."""
    return [composition._epsilon(((sampled(mu, rate), count),), F(delta), None, top=top) for top in (False, True)]


@pytest.mark.parametrize(
    ("mu", "rate", "cut", "slope"), [("1.5", "2.85e-5", 5.4, 14.0), ("2.1", "3.86e-9", 11.0, 21.0), ("1", "0.3", 3.0, 9.0)]
)
def test_masses_of_tails(mu: str, rate: str, cut: float, slope: float) -> None:
    """Under Q, and what P has more, relatively: by integrals in balls."""
    found = tail_masses(CutGaussian(sampled(mu, rate), 0.0, 0.0, cut, slope))
    assert found is not None
    n, n_error, d, d_error = found
    with ctx.workprec(200):
        m, q = real(F(mu)), real(F(rate))

        def far(z: acb) -> acb:
            return (-z * z / 2).exp() * -(-(arb(slope) * (z - arb(cut))).exp()).expm1() / (2 * arb.pi()).sqrt()

        def more(z: acb) -> acb:
            return far(z) * q * (m * z - m * m / 2).expm1()

        pieces = list(pairwise(range(-16, 33, 2)))
        for law, value, error in ((far, n, n_error), (more, d, d_error)):
            true = sum(
                (
                    acb.integral(lambda z, _, law=law: law(z), arb(a), arb(b), rel_tol=arb(2) ** -90, abs_tol=arb(2) ** -260)
                    for a, b in pieces
                ),
                acb(0),
            )
            assert abs(true.real - arb(value)) <= arb(error) * arb(value)
            assert error < 1e-11


HARD = [  # mu, rate, delta: jumps that are rare, and those that are not, down to an epsilon of a few rates
    ("1.55", "2.85e-5", "9.2e-8"),
    ("1.733", "9.08e-5", "2.6e-5"),
    ("2.15", "3.86e-9", "1e-10"),
    ("1", "1e-6", "1e-9"),
    ("1", "1e-6", "5e-7"),
]


@pytest.mark.spread(2)
@pytest.mark.parametrize(("mu", "rate", "delta"), HARD)
def test_two_steps_are_what_they_are(mu: str, rate: str, delta: str) -> None:
    low, high = removing(mu, rate, 2, delta)
    assert 0 < high - low <= 1e-4 * high
    with ctx.workprec(128):
        assert not two_steps(F(mu), F(rate), F(low)) < real(F(delta)) * (1 - arb(2) ** -50)
        assert not two_steps(F(mu), F(rate), F(high)) > real(F(delta)) * (1 + arb(2) ** -50)
        split = split_far(((sampled(mu, rate), 2),), None, math.log(F(delta)), 1 << 24)
        assert split is not None
        for epsilon in (low, 0.9 * low, 1.1 * low):
            below, above = split.delta(epsilon)
            truth = two_steps(F(mu), F(rate), F(epsilon))
            assert arb(below) <= truth * (1 + arb(2) ** -50)
            assert truth * (1 - arb(2) ** -50) <= arb(above)


DIFFERENT = [  # two kinds of steps: as rare as each other, and far rarer; jumps of one of them, or of both
    (("0.6", "1.88e-4"), ("0.892", "5.15e-5"), "4.27e-9"),
    (("2.23", "0.0302"), ("0.867", "0.0453"), "1.25e-3"),
    (("2.42", "3.97e-5"), ("1.19", "1.33e-6"), "5.88e-6"),
    (("1.67", "3.95e-5"), ("1.04", "4.82e-6"), "5.41e-8"),
    (("1", "1e-5"), ("0.5", "1e-5"), "1e-12"),
]


@pytest.mark.spread(2)
@pytest.mark.parametrize(("one", "other", "delta"), DIFFERENT)
def test_two_different_steps_are_what_they_are(one: tuple[str, str], other: tuple[str, str], delta: str) -> None:
    parts = composition.canonical(((sampled(*one), 1), (sampled(*other), 1)))
    low, high = (composition._epsilon(parts, F(delta), None, top=top) for top in (False, True))
    assert 0 < high - low <= 1e-4 * high

    def truth(epsilon: Fraction) -> arb:
        return two_steps(F(one[0]), F(one[1]), epsilon, (F(other[0]), F(other[1])))

    with ctx.workprec(128):
        assert not truth(F(low)) < real(F(delta)) * (1 - arb(2) ** -45)
        assert not truth(F(high)) > real(F(delta)) * (1 + arb(2) ** -45)
        farther = F(high) * F(13, 10)
        below, above = (composition._delta(parts, farther, top=top) for top in (False, True))
        assert arb(below) <= truth(farther) * (1 + arb(2) ** -45)
        assert truth(farther) * (1 - arb(2) ** -45) <= arb(above)


def beside_laplace(mu: F, rate: F, epsilon: F, other: F, x: F) -> arb:
    """A sampled Gaussian's closed form, moved by every loss of a sampled Laplace: its two atoms, and its density."""
    with ctx.workprec(300):
        m, q, a, p, e = real(mu), real(rate), real(epsilon), real(other), real(x)

        def both(loss: acb) -> acb:
            """(1 - p + p e^l) times the Gaussian's delta, beside Q's mass at l."""
            ratio = 1 - p + p * loss.exp()
            factor = 1 + (e.exp() / ratio - 1) / q
            inner = factor.log()
            root = arb(2).sqrt()
            base = ((inner / m - m / 2) / root).erfc() / 2 - factor * ((inner / m + m / 2) / root).erfc() / 2
            return ratio * q * base

        total = acb.integral(lambda loss, _: (-(loss + a) / 2).exp() / 4 * both(loss), -a, a, rel_tol=arb(2) ** -120).real
        return total + (both(acb(a)) * (-a).exp() + both(acb(-a))).real / 2


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("mu", "rate", "epsilon", "other", "delta"),
    [("1", "1e-7", "1", "1e-7", "1e-9"), ("1", "1e-7", "1", "1e-7", "1e-8"), ("1.08", "4.05e-6", "1.29", "8.78e-6", "4.86e-9")],
)
def test_a_laplace_beside_a_gaussian(mu: str, rate: str, epsilon: str, other: str, delta: str) -> None:
    parts = composition.canonical(((sampled(mu, rate), 1), (SampledLattice(Laplace(F(epsilon)), F(other)), 1)))
    low, high = (composition._epsilon(parts, F(delta), None, top=top) for top in (False, True))
    assert 0 < high - low <= max(1e-4 * high, 1e-12)
    split = split_far(parts, None, math.log(F(delta)), 1 << 24)
    assert split is not None
    with ctx.workprec(128):
        assert not beside_laplace(F(mu), F(rate), F(epsilon), F(other), F(low)) < real(F(delta)) * (1 - arb(2) ** -50)
        assert not beside_laplace(F(mu), F(rate), F(epsilon), F(other), F(high)) > real(F(delta)) * (1 + arb(2) ** -50)
        for place in (0.7 * low, low, 1.3 * low):
            truth = beside_laplace(F(mu), F(rate), F(epsilon), F(other), F(place))
            below, beyond = split.delta(place)
            assert arb(below) <= truth <= arb(beyond)


@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
def test_ten_steps_with_little_noise(delta: str) -> None:
    """These were up to 9e-9 wide."""
    low, high = (10 * dp.gdp(F(10, 3)).sampled(F("1e-3"))).epsilon_bounds(F(delta))
    assert 0 < high - low <= 1e-9 * high


def above(z: Reals) -> Reals:
    """The normal distribution's tail."""
    return np.array([math.erfc(v) / 2 for v in (z / math.sqrt(2)).ravel()]).reshape(z.shape)


def one_more(mu: float, q: float, curve: Callable[[Reals], Reals], steps: int, epsilon: Reals) -> Reals:
    """delta of so many steps, from that of one fewer, by a sum over the last step's outcomes z.

    Where its loss is so large that the others cannot take it back, z > edge, delta is linear and in closed form. Elsewhere z =
    edge - e^s, and the integrand is smooth in s: a trapezoid rule's error falls exponentially.
    """
    least = steps * math.log1p(-q)
    beyond = epsilon > least  # else every outcome counts
    edge = np.log(np.expm1(np.where(beyond, epsilon - (steps - 1) * math.log1p(-q), 0.0)) / q + 1) / mu + mu / 2
    linear = q * above(edge - mu) - (q + np.expm1(epsilon)) * above(edge)
    if steps == 1:
        return np.where(beyond, linear, -np.expm1(epsilon))
    s = np.arange(-24.0, 3.2, 0.06)
    z = edge[..., None] - np.exp(s)
    loss = np.log1p(q * np.expm1(mu * z - mu * mu / 2))
    mass = np.exp(loss - z * z / 2 + s) * 0.06 / math.sqrt(2 * math.pi)
    return np.where(beyond, linear + (mass * curve(epsilon[..., None] - loss)).sum(axis=-1), -np.expm1(epsilon))


def three_steps(mu: float, q: float, epsilon: float) -> float:
    def one(x: Reals) -> Reals:
        return one_more(mu, q, lambda y: y, 1, x)

    def two(x: Reals) -> Reals:
        return one_more(mu, q, one, 2, x)

    return float(one_more(mu, q, two, 3, np.array([epsilon]))[0])


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("mu", "rate", "delta"), [("1.55", "2.85e-5", "9.2e-8"), ("1.49", "8.5e-6", "4e-6"), ("1.2", "1e-3", "1e-6")]
)
def test_three_steps_are_what_they_are(mu: str, rate: str, delta: str) -> None:
    low, high = removing(mu, rate, 3, delta)
    assert 0 < high - low <= 1e-5 * high
    assert three_steps(float(mu), float(rate), low) >= float(delta) * (1 - 1e-7)
    assert three_steps(float(mu), float(rate), high) <= float(delta) * (1 + 1e-7)


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("count", "rate", "mu", "delta"),
    [(9, "8.5e-6", "1.49", "2e-5"), (21, "1.69e-6", "1.97", "3.4e-10"), (87, "2.66e-6", "1.33", "2.3e-9")],
)
def test_it_does_not_matter_where(count: int, rate: str, mu: str, delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where steps are cut, where jumps begin and how they are tilted: brackets overlap."""
    found = []
    for share, off, rarely in ((0.5, 28.0, 0.2), (0.35, 32.0, 0.2), (0.6, 26.0, math.inf)):
        for name, value in (("_SHARE", share), ("_OFF", off), ("_RARELY", rarely)):
            monkeypatch.setattr(far_jumps, name, value)
        split_far.cache_clear()
        found.append(removing(mu, rate, count, delta))
    split_far.cache_clear()
    assert max(low for low, _ in found) <= min(high for _, high in found)
    assert all(high - low <= 1e-3 * high for low, high in found)


STEPS = st.tuples(
    st.one_of(st.integers(2, 9), st.integers(10, 3000)),
    st.floats(math.log(0.5), math.log(10)).map(math.exp),  # sigma
    st.floats(math.log(1e-6), math.log(0.1)).map(math.exp),  # rate
    st.floats(math.log(1e-10), math.log(1e-3)).map(math.exp),  # delta
)


@given(STEPS)
@settings(max_examples=examples(12), deadline=None, derandomize=True)
def test_any_steps(steps: tuple[int, float, float, float]) -> None:
    """1e-4 relative, 1e-9 from ten steps on, or 1e-12; ``benchmarks/compositions.py --steps`` tries hundreds, with times."""
    count, sigma, rate, delta = steps
    privacy = count * dp.gdp(F(f"{1 / sigma:.3g}")).sampled(F(f"{rate:.3g}"))
    with counted() as work:
        low, high = privacy.epsilon_bounds(F(f"{delta:.3g}"))
    assert high - low <= max((1e-9 if count >= 10 else 1e-4) * low, 1e-12)
    assert sum(work) <= 1 << 25


def test_an_epsilon_of_nothing_is_found_soon() -> None:
    """The total variations add up to more than delta, delta(0) does not."""
    with counted() as work:
        assert (1190 * dp.gdp(F(1) / F("0.511")).sampled(F("8.19e-6"))).epsilon_bounds(F("0.00076")) == (0.0, 0.0)
    assert sum(work) <= 1 << 23
