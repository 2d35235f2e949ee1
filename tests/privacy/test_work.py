"""Promise: work is known in advance, and a way is tried only where it can win; what is cheap is asked first.

Work is counted in terms of contours and points of lattices, as elsewhere.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from privacy.reference_curves import real
from privacy.test_tight_samples import counted

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.accountant import composition
from discreet.privacy.accountant.contour import search_tilts
from discreet.privacy.accountant.enumeration import list_outcomes
from discreet.privacy.accountant.far_jumps import expect
from discreet.privacy.accountant.turning import Nodes, turned_sums, units
from discreet.privacy.losses import Box, DiscreteGaussian, DiscreteLaplace, Laplace, Response, SampledLattice
from discreet.privacy.losses.atoms import LEAST, Atomic
from discreet.privacy.losses.base import Loss

F = Fraction

SUMMITS = {
    "Laplace and pure on a sample": 10 * Privacy.of(Laplace(F("3.48"))) + 17 * dp.pure(F("0.00139")).sampled(F("2.33e-6")),
    "responses": 20 * Privacy.of(Response(F("0.3"), 4)) + 3 * Privacy.of(DiscreteLaplace(5, F(9))),
    "with a leak": 5 * dp.approximate(F(1, 3), F(1, 10**9)) + 2 * Privacy.of(Laplace(F(1, 7))),
    "a leak on a sample": 4 * dp.approximate(F(1, 3), F(1, 10**9)).sampled(F(1, 5)),
}


@pytest.mark.parametrize("name", SUMMITS)
def test_next_to_the_largest_loss_nothing_is_opened(name: str) -> None:
    """Of a delta far below the chance that all losses are as large as they can be, epsilon is their sum."""
    privacy = SUMMITS[name]
    delta = composition.disclosure(privacy.parts) + F(1, 10**60)
    with counted() as work:
        low, high = privacy.epsilon_bounds(delta)
    assert not work
    assert 0 < low <= high <= low * (1 + 1e-12)
    assert high <= float(composition.supremum(privacy.parts) or 0) * (1 + 1e-15)


@pytest.mark.parametrize(
    "loss",
    [
        Box(F(1, 3)),
        Box(F(2), F(1, 100)),
        Response(F(3), 10),
        DiscreteLaplace(3, F(7, 2)),
        DiscreteLaplace(100_000, F(70_000)),
        Laplace(F(5, 4)),
        *(
            SampledLattice(base, rate, adding)
            for base in (Box(F(1, 3)), Box(F(2), F(1, 100)), Response(F(3), 10), Laplace(F(5, 4)))
            for rate in (F(1, 10**7), F(1, 3), 1 - F(1, 10**6))
            for adding in (False, True)
        ),
    ],
    ids=str,
)
def test_the_mass_of_the_largest_loss_is_there(loss: Loss) -> None:
    """delta(S - h) is at least m (1 - e^-h), and for a small h no more than a little above it: m is nearly all there is."""
    mass, largest = loss.pure_mass, loss.pure_below
    assert largest is not None
    assert 0 < mass < 1
    finite = 1 - loss.infinity
    with ctx.workprec(256):
        for h in (F(1, 10), F(1, 10**9)):
            curve = loss.hockey_stick(largest - h * largest)
            assert curve is not None
            least = real(F(mass)) * -(-real(h * largest)).expm1()
            assert not curve - real(loss.infinity) < least * (1 - arb(2) ** -60)
        assert curve - real(loss.infinity) <= least * (1 + arb("1e-5")) * real(1 / finite)


@pytest.mark.parametrize("sigma", ["0.125", "0.3", "1", "40"])
@pytest.mark.parametrize("rate", ["1e-9", "0.3", "0.999"])
def test_a_list_on_a_sample_has_every_mirror_image(sigma: str, rate: str) -> None:
    """Where P's own mass is next to underflow, Q's may be far from it: minus every value that is listed is listed too."""
    base = DiscreteGaussian(F(sigma) ** 2)
    listed = SampledLattice(base, F(rate)).listed(up=True)
    far, q = float(base.atoms.losses[-1]), float(F(rate))
    assert far > -float(base.atoms.losses[0])
    least = math.log1p(q * math.expm1(-far)) if q < 0.5 else math.log(float(1 - F(rate)) + q * math.exp(-far))
    # P's mass at the largest value is Q's at minus that, times 1 - q + q e^-l on the sample.
    mass = float(base.atoms.mass[-1]) * math.exp(least)
    if mass > 1.01 * LEAST:
        assert listed.losses[0] == pytest.approx(least, rel=1e-12)
        assert listed.mass[0] == pytest.approx(mass, rel=1e-9)
    else:
        assert listed.lost > mass
    assert listed.mass.min() > LEAST


def test_a_composition_that_jumps_and_never_fades_has_an_answer() -> None:
    """An estimate of delta may be far above 1: that is no size to work with."""
    privacy = 23_300_000_000_000 * dp.Privacy.of(dp.Exponential(sensitivity=1, epsilon=F("0.00746")).privacy.parts[0][0])
    privacy += 3 * Privacy.of(Laplace(F("0.484"))) + 10 * dp.zcdp(F("0.512")).sampled(F("6.39e-6"))
    low, high = privacy.delta_bounds(F(1, 100))
    assert 0.999 < low <= high <= 1


def test_a_poor_split_does_not_stand_in_the_way() -> None:
    """What was opened for another delta is no answer, however precise it is there: lower bounds were 1,254.5 for a while."""
    privacy = 12_700_000 * Privacy.of(Response(F("3.53"), 4)).sampled(F("0.0149"))
    privacy += 14 * Privacy.of(Response(F("0.152"), 4)).sampled(F("2.79e-5")) + 10 * dp.zcdp(F("3.37")).sampled(F("0.0387"))
    with counted() as work:
        low, high = privacy.epsilon_bounds(F("0.427"))
    gaussian = 10 * dp.gdp(1).sampled(F("0.0387")) + 12_700_000 * Privacy.of(Response(F("3.53"), 4)).sampled(F("0.0149"))
    assert low >= gaussian.epsilon_bounds(F("0.427"))[0] * (1 - 1e-6)
    assert low <= high
    assert sum(work) <= 1 << 25


def test_values_in_rows_and_one_by_one_are_turned_alike() -> None:
    rng = np.random.default_rng(1)
    index = np.arange(5000)
    values = rng.normal(size=5000) + 1j * rng.normal(size=5000)
    rows, apart = Nodes.of(0.01, index, values), Nodes(0.01, index, values)
    assert rows.values.ndim == 2
    for loss in (0.0, 0.3, -7.0, 1e3):
        truth = math.fsum((values * np.exp(-1j * loss * 0.01 * index)).real)
        known = (96 + 8 * 50 * abs(loss)) * 2.0**-53 * float(np.abs(values).sum())
        assert abs(rows.turned(loss) - truth) <= 2 * known
        assert abs(apart.turned(loss) - truth) <= 2 * known
    thin = Nodes.of(0.01, index[::100], values[::100])
    assert thin.values.ndim == 1
    assert Nodes.of(0.01, index[:0], values[:0]).turned(1.0) == 0


STEPS = [(1000, 1.0, "1e-3", "1e-6"), (1000, 1.0, "1e-4", "1e-6"), (20, 3.0, "0.01", "1e-9"), (2, 1.0, "0.01", "1e-6")]


@pytest.mark.parametrize(("count", "sigma", "rate", "delta"), STEPS)
def test_what_is_expected_of_steps_is_near_the_truth(count: int, sigma: float, rate: str, delta: str) -> None:
    """So that contours are opened once, where they belong."""
    privacy = count * dp.gdp(1 / F(str(sigma))).sampled(F(rate))
    parts = next(way for way in composition.directions(privacy.parts) if not getattr(way[0][0], "adding", True))
    expected = expect(parts, math.log(F(delta)))
    assert expected is not None
    with counted() as work:
        low, high = privacy.epsilon_bounds(F(delta))
    assert expected.epsilon(math.log(F(delta))) == pytest.approx(high, rel=0.02)
    assert expected.log_delta(high) == pytest.approx(math.log(F(delta)), abs=0.2)
    assert high - low <= 1e-9 * high
    assert len([terms for terms in work if terms > 1000]) <= 4


def test_nothing_is_expected_where_a_rough_lattice_does_not_say() -> None:
    step = dp.gdp(1).sampled(F(1, 100)).parts
    assert expect(((step[0][0], 10**7),), -14.0) is None
    assert expect(((step[0][0], 100),), -60.0) is None
    assert expect(((Box(F(1, 2)), 100),), -14.0) is None


@pytest.mark.parametrize("size", [5, 20, 200, 3000])
@pytest.mark.parametrize("kept", ["all", "some", "apart"])
def test_sums_over_two_grids_are_the_sums(size: int, kept: str) -> None:
    rng = np.random.default_rng(size)
    index = np.arange(size)
    index = {"all": index, "some": index[rng.random(size) < 0.7], "apart": index[index % 5 != 1][:: 1 + size // 50]}[kept]
    losses, weights = rng.normal(size=70) + 1j * rng.random(70), rng.random(70) + 0j
    t = 0.003 * index
    truth = np.array([math.fsum((np.expm1(1j * one * losses) * weights).real) for one in t.tolist()])
    known = (units(70) + 64) * 2.0**-53 * max(float(t[-1]), 0.01) * float((np.abs(weights) * np.abs(losses)).sum())
    assert np.abs(turned_sums(t, losses, weights).real - truth).max() <= 4 * known


@pytest.mark.parametrize("epsilon", [F(1, 10**6), F(1, 3), F(40)])
@pytest.mark.parametrize("delta", [F(0), F(1, 100)])
def test_two_values_by_hand_are_two_values(epsilon: F, delta: F) -> None:
    box = Box(epsilon, delta)
    for x in (-0.4, 0.0, 0.01, 1.0, 30.0):
        scale, *moments = box.cumulants(x)
        other, *others = Atomic.cumulants(box, x)
        assert scale == pytest.approx(other, rel=1e-9, abs=1e-15)
        assert moments == pytest.approx(others, rel=1e-9)
        assert box.rounding(x, 7.0) == pytest.approx(Atomic.rounding(box, x, 7.0), rel=1e-9)
    assert box.mean_variance() == pytest.approx(Atomic.mean_variance(box), rel=1e-9)


@pytest.mark.parametrize("epsilon", [F(1, 1000), F(1, 3), F(2000)])
@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 10), F(9, 10)])
def test_listed_outcomes_say_where_delta_is_crossed(epsilon: F, delta: F) -> None:
    outcomes = list_outcomes(((Box(epsilon), 3),), math.log(delta))
    assert outcomes is not None
    near = outcomes.crossing(math.log(delta))
    assert near is not None
    low, high = (3 * dp.pure(epsilon)).epsilon_bounds(delta)
    assert low * (1 - 1e-9) - 1e-12 <= near <= high * (1 + 1e-9) + 1e-12


def test_tilts_are_tried_until_the_width_grows() -> None:
    """K(y) = 50 y (y + 1): the width (K - y e - goal) / (y - x) is least in the middle, at one end, or nowhere."""
    tried = list[float]()

    def above(y: float) -> float:
        tried.append(y)
        return 50 * y * (y + 1) if y < 10 else math.inf

    factors = (1.02, 1.05, 1.2, 1.5, 2.0, 3.0, 6.0)
    for goal in (-1.0, -100.0, -1e4):
        tried.clear()
        width, bounds = search_tilts(above, 1.0, factors, 3.0, goal)
        widths = [(above(y) - 3 * y - goal) / (y - 1) for y in factors]
        assert width == min(widths)
        assert all(top == above(y) for y, top in bounds)
    assert search_tilts(lambda _: math.inf, 1.0, factors, 3.0, -1.0) == (math.inf, ())
