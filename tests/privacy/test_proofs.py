"""Promise: the lemmas that the accountant's docstrings state hold, on grids, in balls.

Laplace noise on a vector is dominated by one shift; zero-concentrated costs bound every moment; the bounded-range pair dominates
its members and randomized response everything pure; the moment bound is above the hockey-stick; aliases are positive.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from privacy import reference_curves as truth
from privacy import reference_sampled as samples
from privacy.reference_curves import real

from discreet.privacy import Privacy
from discreet.privacy.accountant.tails import moment_delta
from discreet.privacy.losses import Box, DiscreteGaussian, Gaussian, Laplace, Response

F = Fraction
BITS = 300


# One dimension is the worst for Laplace noise.


@pytest.mark.parametrize(("a", "b"), [("0.1", "0.1"), ("0.5", "2"), ("3", "0.01"), ("1", "1"), ("6", "5")])
def test_one_shift_is_worse_than_two(a: str, b: str) -> None:
    """Real noise: E[delta_b(x - L_a)], the density's part in closed form, against delta_(a+b)(x), for x of either sign."""
    with ctx.workprec(BITS):
        u, v = real(F(a)), real(F(b))
        one, single = truth.laplace(F(b)), truth.laplace(F(a) + F(b))
        for i in range(-40, 41):
            x = (F(a) + F(b)) * F(i, 40)
            both = one(x - F(a)) / 2 + (-u).exp() * one(x + F(a)) / 2
            # density e^((l - a)/2)/4 on (-a, a) times delta_b(x - l): 1 - e^(x - l) for l > x + b,
            # 1 - e^((x - l - b)/2) above x - b
            low, high = max(-F(a), min(F(a), x - F(b))), max(-F(a), min(F(a), x + F(b)))
            middle = ((real(high) - u) / 2).exp() / 2 - ((real(low) - u) / 2).exp() / 2
            middle -= ((real(x) - v - u) / 2).exp() * real(high - low) / 4
            top = (1 - ((real(high) - u) / 2).exp()) / 2
            top -= (real(x) - u / 2).exp() * ((-real(high) / 2).exp() - (-u / 2).exp()) / 2
            assert not both + middle + top > single(x)


@pytest.mark.diagonal
@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_one_shift_is_worse_than_many(epsilon: str, count: int) -> None:
    e = F(epsilon)
    many, single = truth.laplaces(e, count), truth.laplace(count * e)
    for i in (0, 1, 3, 6):
        x = count * e * F(i, 7)
        assert not many(x) > single(x)
        upper = Privacy.of(Laplace(count * e)).delta_bounds(x)[1]
        assert (count * Privacy.of(Laplace(e))).delta_bounds(x)[0] <= upper * (1 + 1e-12)


@pytest.mark.parametrize("shifts", [(1, 1), (1, 2), (3, 5), (1, 1, 1, 1), (2, 7, 1)])
@pytest.mark.parametrize("scale", ["0.5", "2", "30"])
def test_one_discrete_shift_is_worse(shifts: tuple[int, ...], scale: str) -> None:
    d, s = sum(shifts), F(scale)
    single = truth.discrete_laplace(d, s, 1)
    with ctx.workprec(BITS):
        law = {F(0): arb(1)}
        for shift in shifts:
            new: dict[Fraction, arb] = {}
            for loss, mass in truth.discrete_laplace(shift, s, 1).items():
                for other, chance in law.items():
                    new[loss + other] = new.get(loss + other, arb(0)) + mass * chance
            law = new
        for i in range(-2 * d, 2 * d + 1):
            x = F(i, 2) / s
            product = sum((m * (1 - real(x - l).exp()) for l, m in law.items() if l > x), arb(0))
            assert not product > single(x) + real(F(1, 10**60))


# Moments.


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "5", "40"])
def test_rho_bounds_every_moment(epsilon: str) -> None:
    """K(s) <= rho s (s + 1): Laplace, pure, responses, bounded range, discrete noise, from the definition of their laws."""
    e = F(epsilon)
    with ctx.workprec(2000):
        x = real(e)
        for i in range(-40, 41):
            s = real(F(2) ** (i // 4))
            u = s + arb(1) / 2
            laplace = (((x * u).exp() * (1 + 1 / (2 * u)) + (-x * u).exp() * (1 - 1 / (2 * u))) * (-x / 2).exp() / 2).log()
            assert not laplace > real(Laplace(e).rho) * s * (s + 1)
            pure = (((s * x).exp() + (-(s + 1) * x).exp()) / (1 + (-x).exp())).log()
            assert not pure > real(Box(e).rho) * s * (s + 1)
            lie = (-x).exp()
            response = (((s * x).exp() + 3 * lie + lie * (-s * x).exp()) / (1 + 4 * lie)).log()
            assert not response > real(Response(e, 5).rho) * s * (s + 1)


@pytest.mark.parametrize("squared_sigma", ["0.05", "0.5", "3", "100"])
def test_rho_of_the_discrete_gaussian(squared_sigma: str) -> None:
    law = truth.discrete_gaussian(F(squared_sigma), 1).items()
    rho = DiscreteGaussian(F(squared_sigma)).rho
    with ctx.workprec(600):
        for s in (F(1, 100), F(1), F(3), F(10)):
            if s * s > 100 * F(squared_sigma):
                continue  # beyond the reference's own reach
            moment = sum((mass * real(s * loss).exp() for loss, mass in law), arb(0)).log()
            assert not moment > real(rho * s * (s + 1)) + real(F(1, 10**40))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "2", "10"])
def test_bounded_range_dominates_its_members(epsilon: str) -> None:
    """Two-point laws with losses t and t - epsilon, 0 < t < epsilon; and that no smaller curve would do."""
    e = F(epsilon)
    with ctx.workprec(BITS):
        curve = samples.bounded_range_at(e)
        for i in range(-19, 20):
            x, best = e * F(i, 20), arb(0)
            for j in range(1, 80):
                t = e * F(j, 80)
                up, low = (-real(t)).exp(), real(e - t).exp()
                p = (low - 1) / (low - up)  # p e^-t + (1 - p) e^(epsilon - t) = 1
                value = p * (1 - real(x - t).exp()) if t > x else arb(0)
                if t - e > x:
                    value += (1 - p) * (1 - real(x - t + e).exp())
                assert not value > curve(real(x))
                best = max(best, value, key=float)
            assert best > curve(real(x)) * real(F(99, 100)) - real(F(1, 10**9))
        with_two = samples.response_at(e / 2, 2)
        for i in range(20):
            assert not with_two(real(e * F(i, 20))) > curve(real(e * F(i, 20)))


@pytest.mark.parametrize("squared_mu", ["0.01", "1", "9"])
def test_the_moment_bound_is_above_the_hockey_stick(squared_mu: str) -> None:
    for i in range(40):
        x = F(i, 4)
        assert arb(moment_delta(((Gaussian(F(squared_mu)), 1),), float(x))) >= truth.gaussian(F(squared_mu))(x)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "8"])
def test_randomized_response_dominates_everything_pure(epsilon: str) -> None:
    """Kairouz, Oh, Viswanath 2015: the two-point pair, against every other pair of the same largest loss."""
    e = F(epsilon)
    with ctx.workprec(BITS):
        worst = samples.response_at(e, 2)
        others = [samples.laplace_at(e), samples.bounded_range_at(e), samples.response_at(e, 3), samples.response_at(e, 50)]
        for i in range(-24, 25):
            x = real(e * F(i, 20))
            assert all(not other(x) > worst(x) for other in others)
        discrete = truth.discrete_laplace(4, 4 / e, 1)
        assert all(not discrete(e * F(i, 20)) > worst(real(e * F(i, 20))) + arb(2) ** -200 for i in range(20))


def test_the_poisson_sum_of_the_contour() -> None:
    """sum_j M(s_j) e^(-s_j e) / (s_j (s_j + 1)) / W = sum_m e^(x m W) delta(e + m W), every alias positive: Gaussian noise."""
    curve = truth.gaussian(F(1))
    with ctx.workprec(BITS):
        for x, w, e in [(F(2), F(3), F(1)), (F(1, 2), F(5), F(0)), (F(5), F(3, 2), F(3))]:
            dt, total = 2 * arb.pi() / real(w), arb(0)
            for j in range(math.ceil(40 / float(dt))):
                t = j * dt
                a, b = real(x) * (real(x) + 1) / 2 - t * t / 2 - real(x * e), (real(x) + arb(1) / 2) * t - t * real(e)
                up, down = real(x) * (real(x) + 1) - t * t, (2 * real(x) + 1) * t  # s (s + 1)
                term = a.exp() * (b.cos() * up + b.sin() * down) / (up * up + down * down)
                total += term if j == 0 else 2 * term
            aliases = [real(x * m * w).exp() * curve(e + m * w) for m in range(-60, 30)]
            assert all(alias > 0 for alias in aliases)
            assert abs(total / real(w) - sum(aliases, arb(0))) < real(F(1, 10**30))
            assert total / real(w) > curve(e)
