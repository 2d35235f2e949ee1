"""Promise: a law that was listed or rounded bounds the truth once what it may err by is taken into account, at any rate.

Hockey-sticks in balls: masses with their stated errors, losses moved by ``blur``, lost mass counted; against closed forms of
several hundred bits. Rates from 1e-9 to 1 - 1e-9, where differences cancel and 1 - q has few digits left. Nothing is forgiven.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from privacy import reference_curves as truth
from privacy import reference_sampled as samples
from privacy.reference_curves import real

import discreet as dp
from discreet.privacy.losses import BoundedRange, Box, DiscreteLaplace, Laplace, Loss, Response, SampledGaussian, SampledLattice
from discreet.privacy.losses.atoms import Atoms, Listed
from discreet.privacy.losses.base import UNIT
from discreet.privacy.losses.rounding import round_atoms

F = Fraction
RATES = ["1e-9", "1e-4", "0.3", "0.999999999"]
BASES: dict[str, Loss] = {
    "pure": Box(F(1)),
    "five options": Response(F(2), 5),
    "Laplace": Laplace(F(1)),
    "Laplace, large": Laplace(F(30)),
    "bounded range": BoundedRange(F(2)),
    "discrete Laplace": DiscreteLaplace(6000, F(3000)),
}


def stick(law: Atoms | Listed, x: Fraction, *, up: bool) -> arb:
    """What the law says of delta(x), with all that it may err by on the safe side."""
    sign = 1 if up else -1
    listed = isinstance(law, Listed)
    at, total = x - sign * F(law.blur), real(F(law.lost)) if up else arb(0)
    place, units = real(at), sign * 4 * UNIT
    for j in np.flatnonzero((law.losses > float(at) - 1e-9) & (law.mass > 0)).tolist():
        loss = arb(float(law.losses[j])) if listed else real(law.first + law.step * j)
        if loss > place:
            mass = float(law.mass[j])
            total += arb(mass) * (1 + arb(sign * law.error) - arb(units * math.log(mass))) * -(place - loss).expm1()
    return total


def curves(base: Loss) -> samples.Curve:
    if isinstance(base, Laplace):
        return samples.laplace_at(base.epsilon)
    if isinstance(base, BoundedRange):
        return samples.bounded_range_at(base.epsilon)
    if isinstance(base, DiscreteLaplace):
        d, t = base.sensitivity, real(base.scale)
        q = (-1 / t).exp()

        def delta(x: arb) -> arb:  # P(X <= m) - e^x Q(X <= m) for any m, the best near where the loss is x
            places = [math.floor((d - float(t) * float(x)) / 2) + i for i in (-1, 0, 1)]
            values = [1 - (q ** (m + 1) + x.exp() * q ** (d - m)) / (1 + q) for m in places if 0 <= m < d]
            return max([arb(0), 1 - x.exp(), *values], key=float)

        return delta
    return samples.response_at(base.epsilon, base.options if isinstance(base, Response) else 2)


def spots(law: Listed) -> list[Fraction]:
    low, high = float(law.losses[0]), float(law.losses[-1])
    inside = [F(low + (high - low) * share) for share in (0.37, 0.61, 0.93, 0.999)]
    return [x for x in inside if x >= 0] + [F(float(law.losses[law.losses.size // 2]))] * (low >= 0)


@pytest.mark.parametrize("adding", [False, True], ids=["removing", "adding"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", BASES)
def test_samples(name: str, rate: str, adding: bool) -> None:
    """One sampled use: the list, and the lattice it is rounded to."""
    loss = SampledLattice(BASES[name], F(rate), adding)
    with ctx.workprec(256):
        exact = samples.sampled(curves(BASES[name]), F(rate))[int(adding)]
        for up in (True, False):
            for law in (loss.listed(up=up), loss.lattice(loss.divisor / 193, up=up)):
                for x in spots(loss.listed(up=True)):
                    said, value = stick(law, x, up=up), exact(x)
                    assert said >= value.lower() if up else said <= value.upper(), f"{type(law).__name__}, {float(x)}, up={up}"


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("adding", [False, True], ids=["removing", "adding"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("squared_mu", ["0.04", "9"])
def test_sampled_gaussians(squared_mu: str, rate: str, adding: bool) -> None:
    loss = SampledGaussian(F(squared_mu), F(rate), adding)
    mean, variance = loss.mean_variance()
    ends = [
        math.log1p(float(F(rate)) * math.expm1(mu * z - mu * mu / 2)) for mu in (math.sqrt(F(squared_mu)),) for z in (-9, mu + 9)
    ]
    step = F(max(math.sqrt(variance) / 40, (ends[1] - ends[0]) / 4000))
    with ctx.workprec(256):
        exact = samples.sampled(samples.gaussian_at(F(squared_mu)), F(rate))[int(adding)]
        for up in (True, False):
            law = loss.lattice(step, up=up)
            for x in (max(F(0), F(mean + n * math.sqrt(variance))) for n in (-0.5, 0.3, 1.7, 4.1)):
                said, value = stick(law, x, up=up), exact(x)
                assert said >= value.lower() if up else said <= value.upper(), f"{float(x)}, up={up}"


@pytest.mark.parametrize(("d", "scale"), [(5000, "2500"), (10007, "77.7"), (9999, "1e6")])
def test_gathered_values(d: int, scale: str) -> None:
    """Too many atoms to list: both pieces are whole laws, and bound the true curve; so do their lattices."""
    loss = DiscreteLaplace(d, F(scale))
    with ctx.workprec(256):
        exact = curves(loss)
        for up in (True, False):
            law = loss.pieces(up=up)
            assert float(law.mass.sum()) == pytest.approx(1, abs=1e-12)
            assert float((law.mass * np.exp(-law.losses)).sum()) == pytest.approx(1, abs=1e-12)
            for one in (law, loss.lattice(None, up=up)):
                for x in (loss.pure * F(n, 7) for n in (0, 1, 3, 6)):
                    said, value = stick(one, x, up=up), exact(real(x))
                    assert said >= value.lower() if up else said <= value.upper(), f"{float(x)}, up={up}"


@pytest.mark.parametrize("step", ["0.003", "0.1", "0.7"])
def test_atoms_on_another_lattice(step: str) -> None:
    atoms = Response(F(1), 5).atoms
    with ctx.workprec(300):
        exact = samples.response_at(F(1), 5)
        for up in (True, False):
            law = round_atoms(atoms, F(step), up=up)
            for x in (F(0), F(1, 10), F(1, 3), F(99, 100)):
                said, value = stick(law, x, up=up), exact(real(x))
                assert said >= value.lower() if up else said <= value.upper(), f"{float(x)}, up={up}"


@pytest.mark.parametrize(("epsilon", "size"), [("0.1", 2), ("1", 3), ("4", 5)])
def test_groups_of_anything_pure(epsilon: str, size: int) -> None:
    """The curve of one step applied k times, by hand: 1 - fnr grows as g(fpr) = min(e^eps fpr, 1 - e^-eps (1 - fpr))."""
    e, k = F(epsilon), size
    grouped = Box(e).group(k)
    with ctx.workprec(300):
        rise = real(e).exp()

        def power(fpr: arb) -> arb:
            for _ in range(k):
                left, right = rise * fpr, 1 - (1 - fpr) / rise
                fpr = left if left < right else right
            return fpr

        corners = [1 / (1 + rise) / rise**i for i in range(-1, k + 1)]  # where the curve's slope changes
        corners = [c for c in corners if c < 1] + [1 - c for c in corners if c < 1]
        for x in (F(0), e / 2, e, e * k * F(9, 10)):
            best = max((power(c) - real(x).exp() * c for c in corners), key=float)
            closed = grouped.hockey_stick(x)
            assert closed is not None
            assert float(closed) == pytest.approx(float(best), rel=1e-12, abs=1e-15)
    assert truth.discrete_laplace(k, 1 / e, 1)(F(0)).overlaps(grouped.hockey_stick(F(0)) + arb(0, 1e-30))


@pytest.mark.parametrize(("sigma", "rate"), [("1", "1e-3"), ("1", "1e-5"), ("1", "1e-7"), ("0.3", "1e-3")])
def test_ten_small_samples_with_lattice_noise_are_listed_to_nine_digits(sigma: str, rate: str) -> None:
    """Values that no outcome has say nothing of how well it is known; narrow noise has few values, and all are tried in balls."""
    delta, privacy = F(1, 10**9), 10 * dp.DiscreteGaussian(sensitivity=1, sigma=F(sigma)).privacy.sampled(F(rate))
    low, high = privacy.epsilon_bounds(delta)
    assert high - low <= max(1e-9 * low, 1e-12)
    if sigma == "1":
        return
    with ctx.workprec(256):
        q, weigh = real(F(rate)), lambda z: (-real(F(z * z) / (2 * F(sigma) ** 2))).exp()
        whole = sum((weigh(z) for z in range(-30, 31)), arb(0))
        pairs = [((1 - q) * weigh(z) + q * weigh(z - 1), weigh(z)) for z in range(-3, 5)]  # others: less than 1e-70
        laws = [[((a / b).log(), a / whole) for a, b in ((x, y) if removed else (y, x) for x, y in pairs)] for removed in (0, 1)]

        def outcomes(law: list[tuple[arb, arb]], left: int) -> Iterator[tuple[arb, arb]]:
            """Total losses, and masses over the factorial of ``left``."""
            (loss, mass), *others = law
            for n in range(left + 1) if others else [left]:
                mine = mass**n / math.factorial(n)
                for more, rest in outcomes(others, left - n) if others else [(arb(0), arb(1))]:
                    yield n * loss + more, mine * rest

        listed = [list(outcomes(law, 10)) for law in laws]

    def curve(x: F) -> arb:
        with ctx.workprec(256):
            found = [sum((m * (1 - (real(x) - l).exp()) for l, m in one if l > real(x)), arb(0)) for one in listed]
            return max((math.factorial(10) * one for one in found), key=lambda value: value.mid())

    assert not curve(F(high)) > real(delta)
    assert not curve(F(low)) < real(delta)
