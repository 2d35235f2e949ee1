"""Promise: few steps on small samples, and very many, have brackets that hold and are narrow.

Truths are integrals in balls. Where jumps are taken apart, it does not matter where: brackets of different cuts overlap.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.reference_curves import real
from support.depth import examples, spread

import discreet as dp
from discreet.privacy.accountant import composition, jumps, tails
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.jumps import Jumps, beyond, take_apart
from discreet.privacy.losses import Gaussian, SampledGaussian

F = Fraction


def steps(count: int, rate: str, mu: str = "1") -> dp.Privacy:
    return count * dp.gdp(F(mu)).sampled(F(rate))


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("count", "rate", "mu", "delta"),
    [
        (10, "1e-3", "1", "1e-9"),
        (10, "1e-4", "1", "1e-6"),
        (29, "0.0015", "1.15", "1.4e-7"),
        (29, "1e-4", "1", "1e-9"),
        (300, "1e-3", "0.8", "1e-9"),
        (1000, "1e-4", "1", "1e-9"),
        (12, "0.00767", "1.43", "1.32e-10"),
    ],
)
def test_nine_digits_from_ten_steps_on(count: int, rate: str, mu: str, delta: str) -> None:
    low, high = steps(count, rate, mu).epsilon_bounds(F(delta))
    assert 0 < high - low <= 1e-9 * high


@pytest.mark.parametrize(("rate", "mu", "delta"), [("1e-4", "1", "1e-6"), ("1e-3", "1", "1e-9"), ("0.02", "0.5", "1e-12")])
def test_four_digits_with_two(rate: str, mu: str, delta: str) -> None:
    low, high = steps(2, rate, mu).epsilon_bounds(F(delta))
    assert 0 < high - low <= 1e-4 * high


def two_steps(mu: Fraction, rate: Fraction, epsilon: Fraction, other: tuple[Fraction, Fraction] | None = None) -> arb:
    """The closed form of the other step (of this mu and rate, or the same ones), integrated over one; a record is removed."""
    with ctx.workprec(128):
        e, q, m = real(epsilon), real(rate), real(mu)
        n, p = map(real, other or (mu, rate))
        edge = ((e.exp() / (1 - p) - 1 + q) / q).log() / m + m / 2  # beyond it epsilon - L is below every loss

        def ratio(z: acb) -> acb:
            return 1 - q + q * (m * z - m * m / 2).exp()

        def below(z: acb, _: bool) -> acb:
            inner, root = ((e.exp() / ratio(z) - 1 + p) / p).log(), arb(2).sqrt()
            base = ((inner / n - n / 2) / root).erfc() / 2 - inner.exp() * ((inner / n + n / 2) / root).erfc() / 2
            return (-z * z / 2).exp() * ratio(z) * p * base

        total = acb.integral(below, arb(-15), edge - arb(2) ** -60, rel_tol=arb(2) ** -60).real
        total += acb.integral(lambda z, _: (-z * z / 2).exp() * (ratio(z) - e.exp()), edge, arb(18), rel_tol=arb(2) ** -60).real
        return total / (2 * arb.pi()).sqrt()


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("mu", "rate", "delta"),
    [("1", "1e-4", "1e-9"), ("1.5", "0.000137", "1.85e-9"), ("0.5", "0.01", "1e-10"), ("2", "1e-3", "1e-7")],
)
def test_two_steps_are_what_they_are(mu: str, rate: str, delta: str) -> None:
    parts = ((SampledGaussian(F(mu) ** 2, F(rate)), 2),)
    low, high = (composition._epsilon(parts, F(delta), None, top=top) for top in (False, True))
    with ctx.workprec(128):
        truths = {epsilon: two_steps(F(mu), F(rate), epsilon) for epsilon in (F(low), F(low) / 2, 2 * F(low))}
        assert not truths[F(low)] < real(F(delta)) * (1 - arb(2) ** -50)
        assert not two_steps(F(mu), F(rate), F(high)) > real(F(delta)) * (1 + arb(2) ** -50)
        for epsilon, truth in truths.items():
            below, above = (composition._delta(parts, epsilon, top=top) for top in (False, True))
            assert arb(below) <= truth * (1 + arb(2) ** -50)
            assert truth * (1 - arb(2) ** -50) <= arb(above)
            assert above - below <= 1e-5 * above


def moment(loss: CutGaussian, s: acb) -> acb:
    """E[r^(1+s)] of what is kept, by an integral in balls."""
    m, q = real(loss.whole.squared_mu).sqrt(), real(loss.whole.rate)

    def inside(z: acb, _: bool) -> acb:
        kept = (1 - q + q * (m * z - m * m / 2).exp()).log() * (1 + s) - z * z / 2
        if loss.slope:
            kept -= (arb(loss.slope) * (z - arb(loss.cut))).exp()
        begun = -(-(arb(loss.rise) * (z - arb(loss.begin))).exp()).expm1() if loss.rise else acb(1)
        return kept.exp() * begun

    pieces = pairwise(range(-14, 31, 4))
    total = sum((acb.integral(inside, arb(a), arb(b), rel_tol=arb(2) ** -70, abs_tol=arb(2) ** -160) for a, b in pieces), acb(0))
    return total / (2 * arb.pi()).sqrt()


NEAR = [
    (SampledGaussian(F(1), F(1, 1000)), 0.05, 11.0, 0.0),
    (SampledGaussian(F(1), F(1, 10**4)), 0.006, 19.0, 1e-22),
    (SampledGaussian(F(9, 4), F(1, 100)), 1.0, 2.0, 1e-20),
]


@pytest.mark.spread(2)
@pytest.mark.parametrize(("whole", "loss", "x", "most"), NEAR)
def test_jumps_are_what_is_not_small(whole: SampledGaussian, loss: float, x: float, most: float) -> None:
    """Moments of at least one jump, A - B in balls, within the rounding that is stated; and its decay; in 1, 2 and 25 steps."""
    step, times = cut_gaussian(whole, most, 1.0 if most else 0.0), spread((0.0, 3.0, 200.0, 4000.0), 3)
    with ctx.workprec(200):
        moments = {t: (moment(step, acb(x, t)), moment(beyond(step, loss), acb(x, t))) for t in times}
        for count in (1, 2, 25):
            found = Jumps(((step, count),), loss)
            assert found.is_rare(x)
            jumps_at = {t: all_of**count - (all_of - far) ** count for t, (all_of, far) in moments.items()}
            plain = jumps_at.pop(0.0)
            assert abs(arb(found.log_moment(x)) - plain.real.log()) <= arb(found.rounding(x, 0.0))
            assert found.rounding(x, 0.0) < 1e-10
            for t, jump in jumps_at.items():
                value = complex(found.characteristic(x, np.array([t]))[0])
                assert abs(acb(value.real, value.imag) - jump / plain) <= arb(found.rounding(x, t))
                assert abs(jump / plain) <= arb(found.decay(x, t))


def test_jumps_of_several_kinds() -> None:
    kinds = tuple(
        (cut_gaussian(SampledGaussian(F(mu), F(1, 1000)), 0.0, 0.0), count) for mu, count in ((1, 1), (2, 3), (F(1, 2), 2))
    )
    found, x = Jumps(kinds, 0.3), 4.0
    assert found.is_rare(x)
    with ctx.workprec(200):

        def jump(s: acb) -> acb:
            all_of, small = acb(1), acb(1)
            for step, count in kinds:
                a, b = moment(step, s), moment(beyond(step, 0.3), s)
                all_of, small = all_of * a**count, small * (a - b) ** count
            return all_of - small

        for t in (1.0, 50.0):
            value, true = complex(found.characteristic(x, np.array([t]))[0]), jump(acb(x, t)) / jump(acb(x))
            assert abs(acb(value.real, value.imag) - true) <= arb(found.rounding(x, t))


@pytest.mark.parametrize(("count", "rate", "delta"), [(3, "1e-3", "1e-8"), (12, "1e-3", "1e-9"), (200, "1e-4", "1e-7")])
def test_it_does_not_matter_where(count: int, rate: str, delta: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, found = ((SampledGaussian(F(1), F(rate)), count),), []
    for share, rise in ((0.5, 10.0), (0.35, 8.0), (0.8, 12.0)):
        monkeypatch.setattr(jumps, "_SHARE", share)
        monkeypatch.setattr(jumps, "_RISE", rise)
        take_apart.cache_clear()
        found.append([composition._epsilon(parts, F(delta), None, top=top) for top in (False, True)])
    take_apart.cache_clear()
    assert max(low for low, _ in found) <= min(high for _, high in found)
    assert all(high - low <= 1e-6 * high for low, high in found)


@pytest.mark.parametrize("x", [-0.9, -0.5, -1e-3, 0.5, 3.0])
def test_moments_of_very_many_uses(x: float) -> None:
    """K(x) of 1e16 uses to nine digits: their errors are those of small terms, and of a rule that is fine enough."""
    for mu, rate in (("1", "1e-9"), ("0.1", "1e-6"), ("0.001", "0.01"), ("2", "0.3")):
        loss = cut_gaussian(SampledGaussian(F(mu) ** 2, F(rate)), 0.0, 0.0, math.log(1e16))
        with ctx.workprec(256):
            true = moment(loss, acb(x)).real
            assert abs(arb(loss.log_moment(x)) - true.log()) <= arb(loss.rounding(x, 0.0))
        assert 1e16 * loss.rounding(x, 0.0) <= 1e16 * float(F(rate)) * 1e-12


@given(st.floats(1e-3, 1e6), st.floats(1e-12, 0.99))
@settings(max_examples=examples(100), deadline=None)
def test_what_is_typical_is_less_than_what_is_true(mu: float, delta: float) -> None:
    """For Gaussians, whose curve is a closed form; and not much less where losses are large."""
    parts = ((Gaussian(F(mu) ** 2), 1),)
    low, high = tails.typical_epsilon(parts, delta), composition.epsilon_bounds(parts, F(delta))[1]
    assert 0 <= low <= high
    assert low >= 0.98 * high or mu < 1000
    for epsilon in (0.0, mu * mu / 4, mu * mu / 2):
        assert tails.typical_delta(parts, epsilon) <= composition.delta_bounds(parts, F(epsilon))[1]


def test_where_nothing_of_a_step_is_known_no_jump_divides_by_it() -> None:
    """Warnings are errors here: a factor that was given up is nothing."""
    low, high = steps(10, "1e-3", "0.05").epsilon_bounds(F(1, 10**9))
    assert 0 < low <= high <= (1 + 1e-9) * low


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("rate", "mu"), [("1e-9", "1"), ("1e-7", "0.001"), ("1e-5", "1"), ("1e-3", "0.001"), ("0.1", "1"), ("0.5", "0.001")]
)
def test_very_many_samples_have_two_sides(rate: str, mu: str) -> None:
    privacy = steps(10**16, rate, mu)
    low, high = privacy.epsilon_bounds(F(1, 10**6))
    assert 0 < low <= high <= 1.1 * low
    below, above = privacy.delta_bounds(F(1, 100))
    assert 0 <= below <= above <= max(1.1 * below, 1e-12)
