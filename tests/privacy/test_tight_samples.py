"""Promise: brackets are narrow for small sampling rates, few steps, sampled lattice noise and mixes without a lattice.

1e-9 relative for sampled Gaussian noise, sampled lattice and Laplace noise from ten uses on, and for hundreds of different
guarantees; 1e-4 everywhere. Work is counted in terms, not in seconds. Truths are balls: integrals, lists of all outcomes,
products of polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import acb, arb, arb_poly, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy import reference_contour as contour
from privacy.reference_bracket import width
from privacy.reference_curves import real
from privacy.reference_sampled import gaussian_at, phi, sampled
from support.depth import deep, examples
from support.patience import within

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.accountant import composition, enumeration, far_jumps, far_values, jumps, methods
from discreet.privacy.accountant.cut_gaussian import cut_gaussian
from discreet.privacy.accountant.enumeration import list_outcomes
from discreet.privacy.accountant.turning import turned_sums
from discreet.privacy.losses import DiscreteLaplace, Laplace, Response, SampledGaussian

F = Fraction
MILLIONTH = F(1, 10**6)


def steps(count: int, rate: str, mu: object = 1) -> Privacy:
    return count * dp.gdp(mu).sampled(F(rate))


def laplace(epsilon: F) -> Privacy:
    return Privacy.of(Laplace(epsilon))


def noise(sigma: int) -> Privacy:
    return dp.DiscreteGaussian(sensitivity=1, sigma=sigma).privacy


PURE = sum((dp.pure(F(1000 + 7 * i, 100003)) for i in range(300)), Privacy())
MIX = sum((dp.pure(F(1000 + 7 * i, 100003)) + laplace(F(1000 + 11 * i, 100019)) for i in range(150)), Privacy())
NINE = {
    **{f"1,000 steps at {rate}": steps(1000, rate) for rate in ("1e-3", "1e-4", "1e-6")},
    "100,000 steps at 1e-4": steps(100_000, "1e-4"),
    **{f"{k} steps": steps(k, "0.01") for k in (2, 3, 5, 9, 10, 12, 20)},
    **{f"{k} sampled discrete Gaussians": k * noise(1).sampled(F(1, 100)) for k in (1, 2, 10, 20, 100, 1000)},
    "sampled discrete Gaussians of 4": 100 * noise(4).sampled(F(1, 10)),
    "10 sampled discrete Gaussians of 3": 10 * noise(3).sampled(F(1, 100)),
    **{f"{k} sampled Laplaces": k * laplace(F(1)).sampled(F(1, 100)) for k in (1, 10, 1000)},
    "300 pure": PURE,
    "150 Laplace and 150 pure": MIX,
}
FOUR = {
    "Laplace and pure": laplace(F(1, 3)) + dp.pure(F(1, 7)),
    "three Laplaces and pure": 2 * laplace(F(1, 3)) + laplace(F(2, 7)) + dp.pure(F(1, 7)),
}
LISTED = {
    "pure and responses": 2 * dp.pure(F(1, 3)) + dp.pure(F("0.1234567")) + Privacy.of(Response(F(1, 2), 3)),
    "several kinds": 3 * Privacy.of(Response(F("0.7"), 4)) + Privacy.of(DiscreteLaplace(2, F(7))) + dp.approximate(0.2, 1e-8),
    "on samples": 3 * dp.pure(1).sampled(F(1, 10)) + 2 * Privacy.of(Response(F(1), 3)).sampled(F(1, 100)),
}


@contextmanager
def counted() -> Iterator[list[int]]:
    """Terms of every smoothed contour that is opened, and points of every lattice."""
    done: list[int] = []
    smoothed, convolved = methods.open_smoothed, methods.convolve

    def open_smoothed(*arguments: object) -> object:
        found = smoothed(*arguments)  # type: ignore[arg-type]
        done.append(found.work if found else 0)
        return found

    def convolve(*arguments: object) -> object:
        found = convolved(*arguments)  # type: ignore[arg-type]
        done.append(found.losses.size if found else 0)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "open_smoothed", open_smoothed)
        patch.setattr(jumps, "open_smoothed", open_smoothed)
        patch.setattr(far_jumps, "open_smoothed", open_smoothed)
        patch.setattr(far_values, "open_smoothed", open_smoothed)
        jumps.take_apart.cache_clear()
        far_jumps.split_far.cache_clear()
        far_values.split_values.cache_clear()
        patch.setattr(methods, "convolve", convolve)
        composition.epsilon_bounds.cache_clear()
        composition.delta_bounds.cache_clear()
        yield done


@pytest.fixture
def work() -> Iterator[list[int]]:
    with counted() as done:
        yield done


@pytest.mark.spread(6)
@pytest.mark.parametrize("privacy", NINE.values(), ids=NINE.keys())
def test_nine_digits(privacy: Privacy, work: list[int]) -> None:
    low, high = privacy.epsilon_bounds(MILLIONTH)
    assert high - low <= max(1e-9 * low, 1e-12)
    assert sum(work) <= 1 << 25


@pytest.mark.parametrize("privacy", FOUR.values(), ids=FOUR.keys())
def test_four_digits(privacy: Privacy, work: list[int]) -> None:
    assert width(privacy) <= 1e-4
    assert sum(work) <= 1 << 27


@pytest.mark.parametrize("privacy", LISTED.values(), ids=LISTED.keys())
def test_few_outcomes_are_listed(privacy: Privacy, work: list[int]) -> None:
    assert width(privacy) <= 1e-11
    assert not work
    outcomes = list_outcomes(privacy.parts, math.log(1e-6))
    assert outcomes is not None
    assert outcomes.size <= 1000


def test_halves_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes shared between two lists, against all of them in balls: 10 uses of three values, and 3 of others."""
    monkeypatch.setattr(enumeration, "_MOST", 64)
    each = Privacy.of(Response(F(1), 3)).sampled(F(1, 10))
    parts = (10 * each + 3 * dp.pure(F(1, 7))).parts
    list_outcomes.cache_clear()
    outcomes = list_outcomes(parts, math.log(1e-6))
    list_outcomes.cache_clear()
    assert outcomes is not None
    assert outcomes.other.size > 1
    with ctx.workprec(200):
        lie, q = (-arb(1)).exp(), real(F(1, 10))
        plain = [(arb(1), 1 / (1 + 2 * lie)), (arb(0), lie / (1 + 2 * lie)), (-arb(1), lie / (1 + 2 * lie))]
        pairs = [((1 - q) * mass * (-loss).exp() + q * mass, mass * (-loss).exp()) for loss, mass in plain]
        sampled_law = [((a / b).log(), a) for a, b in pairs]
        seventh = real(F(1, 7))
        pure = [(seventh, 1 / (1 + (-seventh).exp())), (-seventh, 1 / (1 + seventh.exp()))]
        for epsilon in (F(0), F(3, 10), F(1), F(3, 2)):
            total = arb(0)
            for i in range(11):
                for j in range(11 - i):
                    counts = (i, j, 10 - i - j)
                    ways = math.factorial(10) // math.prod(map(math.factorial, counts))
                    loss = sum((n * value for n, (value, _) in zip(counts, sampled_law, strict=True)), arb(0))
                    mass = math.prod((m**n for n, (_, m) in zip(counts, sampled_law, strict=True)), start=arb(ways))
                    for n in range(4):
                        at = loss + n * pure[0][0] + (3 - n) * pure[1][0]
                        if at > real(epsilon):
                            total += (
                                mass
                                * math.comb(3, n)
                                * pure[0][1] ** n
                                * pure[1][1] ** (3 - n)
                                * (1 - (real(epsilon) - at).exp())
                            )
            low, high = (outcomes.delta(float(epsilon), top=top) for top in (False, True))
            assert arb(low) <= total <= arb(high)
            assert high - low <= 1e-11 * high + 1e-17


def crosses(curve: object, privacy: Privacy, delta: F) -> None:
    """The true delta at the upper end is at most delta, at the lower end at least."""
    low, high = privacy.epsilon_bounds(delta)
    with ctx.workprec(256):
        assert not curve(F(high)) > real(delta)  # type: ignore[operator]
        assert not curve(F(low)) < real(delta)  # type: ignore[operator]


@pytest.mark.parametrize("name", LISTED)
def test_listed_outcomes_are_all_there(name: str) -> None:
    """Every sequence of outcomes, in balls."""
    e = {key: real(F(value)) for key, value in {"third": "1/3", "odd": "0.1234567", "half": "1/2", "most": "0.7"}.items()}

    def response(epsilon: arb, options: int) -> list[tuple[arb, arb]]:
        lie = (-epsilon).exp()
        middle = [(arb(0), (options - 2) * lie)] if options > 2 else []
        return [(loss, mass / (1 + (options - 1) * lie)) for loss, mass in [(epsilon, arb(1)), *middle, (-epsilon, lie)]]

    def on_sample(law: list[tuple[arb, arb]], rate: F, adding: bool) -> list[tuple[arb, arb]]:
        q = real(rate)
        pairs = [(mass, mass * (-loss).exp()) for loss, mass in law]
        mixed = [((1 - q) * b + q * a, b) for a, b in pairs]
        return [((b / a).log(), b) if adding else ((a / b).log(), a) for a, b in mixed]

    with ctx.workprec(256):
        geometric = (-real(F(1, 7))).exp()
        three = [(real(F(2, 7)), arb(1)), (arb(0), geometric * (1 - geometric)), (-real(F(2, 7)), geometric**2)]
        two = [(loss, mass / (1 + geometric)) for loss, mass in three]
        box = [(loss, mass * real(1 - F(1, 10**8))) for loss, mass in response(real(F(1, 5)), 2)]
        laws = {
            "pure and responses": [[response(e["third"], 2)] * 2 + [response(e["odd"], 2), response(e["half"], 3)]],
            "several kinds": [[response(e["most"], 4)] * 3 + [two, box]],
            "on samples": [
                [on_sample(response(arb(1), 2), F(1, 10), adding)] * 3 + [on_sample(response(arb(1), 3), F(1, 100), adding)] * 2
                for adding in (False, True)
            ],
        }[name]
        sure = real(F(1, 10**8)) if name == "several kinds" else arb(0)

        def truth(x: F) -> arb:
            found = []
            for law in laws:
                total = sure
                for outcome in product(*law):
                    loss, mass = sum((o[0] for o in outcome), arb(0)), math.prod((o[1] for o in outcome), start=arb(1))
                    total += mass * (1 - (real(x) - loss).exp()) if loss > real(x) else 0
                found.append(total)
            return max(found, key=lambda value: value.mid())

        crosses(truth, LISTED[name], MILLIONTH)


@pytest.mark.parametrize(("rate", "delta"), [("0.01", "1e-6"), ("1e-3", "1e-9")])
def test_two_steps(rate: str, delta: str) -> None:
    """One step's closed form, integrated over the other step: a record is removed, which is the worse direction here."""
    q = F(rate)
    one = sampled(gaussian_at(F(1)), q)[0]
    assert one(F(0)) > 0

    def truth(x: F) -> arb:
        with ctx.workprec(128):
            e, share = real(x), real(q)
            edge = (((e.exp() / (1 - share)) - 1 + share) / share).log() + arb(1) / 2  # beyond it e - l < ln(1 - q)

            def ratio(z: acb) -> acb:
                return 1 - share + share * (z - arb(1) / 2).exp()

            def below(z: acb, _: bool) -> acb:
                inner = ((e.exp() / ratio(z) - 1 + share) / share).log()  # the base's epsilon
                root = arb(2).sqrt()
                base = ((inner - arb(1) / 2) / root).erfc() / 2 - inner.exp() * ((inner + arb(1) / 2) / root).erfc() / 2
                return (-z * z / 2).exp() * ratio(z) * share * base

            def above(z: acb, _: bool) -> acb:
                return (-z * z / 2).exp() * (ratio(z) - e.exp())

            total = acb.integral(below, arb(-14), edge - arb(2) ** -60, rel_tol=arb(2) ** -70).real
            total += acb.integral(above, edge, arb(14), rel_tol=arb(2) ** -70).real
            return total / (2 * arb.pi()).sqrt() + arb(0, arb(2) ** -60)

    crosses(truth, steps(2, rate), F(delta))
    assert phi(arb(0)) == arb(1) / 2


def test_a_thousand_steps_at_a_small_rate() -> None:
    curve = contour.sampled_gaussians(F(1), F(1, 10**4), 1000, adding=False, x=F(20), width=F(16), digits=20)
    crosses(curve, steps(1000, "1e-4"), MILLIONTH)


def test_smoothing_encloses_a_product_of_polynomials() -> None:
    """Sixty different pure guarantees that do share a lattice, on the road of those that do not."""
    epsilons = [F(20 + i, 1000) for i in range(60)]
    with ctx.workprec(400):
        law = arb_poly([1])
        for epsilon in epsilons:
            n, lie = int(2 * epsilon * 1000), (-real(epsilon)).exp()
            law *= arb_poly([lie / (1 + lie), *[0] * (n - 1), 1 / (1 + lie)])
        least, step = sum(epsilons), (-real(F(1, 1000))).exp()
        masses = law.coeffs()

    def truth(x: F) -> arb:
        """x is a lattice point: losses x + j / 1000 above it."""
        with ctx.workprec(400):
            total, factor = arb(0), arb(1)
            for mass in masses[int((x + least) * 1000) :]:
                total, factor = total + mass * (1 - factor), factor * step
            return total

    parts = sum((dp.pure(epsilon) for epsilon in epsilons), Privacy()).parts
    for log_delta in (-14.0, -60.0):
        aim = methods.Aim(log_delta=log_delta)
        bounds = [methods._bound_smoothed(parts, aim, 0.0, top=top) for top in (False, True)]
        for x in (F(1, 2), F(1)):
            low, high = (bound(float(x)) for bound in bounds if bound)
            with ctx.workprec(400):
                assert arb(low) <= truth(x) <= arb(high)
            if log_delta == -14:
                assert high - low <= 1e-5 * high


@given(st.floats(1e-4, 0.9), st.floats(-4, 4))
@settings(max_examples=examples(50), deadline=None)
def test_the_smoothed_payoff_is_within_its_bump(mu: float, at: float) -> None:
    """f <= F <= f + mu / sqrt(2 pi) e^(-u/2 - u^2 / (2 mu^2))."""
    with ctx.workprec(200):
        m, u = arb(mu), arb(mu) * arb(at)
        smooth = phi(m / 2 + u / m) - (-u).exp() * phi(-m / 2 + u / m)
        sharp = 1 - (-u).exp() if u > 0 else arb(0)
        bump = m / (2 * arb.pi()).sqrt() * (-u / 2 - u * u / (2 * m * m)).exp()
        assert sharp <= smooth
        assert smooth <= sharp + bump


@pytest.mark.parametrize(("mu", "rate", "x"), [("1", "1e-4", 40.0), ("2", "0.3", 3.0), ("0.5", "1e-6", 900.0), ("1", "0.9", 8.0)])
@pytest.mark.parametrize("adding", [False, True])
def test_a_cut_law_is_the_kept_part(mu: str, rate: str, x: float, adding: bool) -> None:
    """Moments of the cut sampled Gaussian, by integrals in balls, within the rounding it states."""
    loss = cut_gaussian(SampledGaussian(F(mu) ** 2, F(rate), adding), 1e-20)
    with ctx.workprec(128):
        q, m = real(F(rate)), real(F(mu))

        def moment(s: acb) -> acb:
            def inside(z: acb, _: bool) -> acb:
                ratio = (1 - q + q * (m * z - m * m / 2).exp()).log()
                kept = -(arb(loss.slope) * (z - arb(loss.cut))).exp() if not adding else acb(0)
                return (ratio * (-s if adding else 1 + s) + kept - z * z / 2).exp()

            return acb.integral(inside, arb(-13), arb(15), rel_tol=arb(2) ** -70) / (2 * arb.pi()).sqrt()

        plain = moment(acb(x))
        assert abs(arb(loss.log_moment(x)) - plain.real.log()) <= arb(loss.rounding(x, 0.0))
        for t in (50.0, 1000.0):
            found = complex(loss.characteristic(x, np.array([t]))[0])
            true = moment(acb(x, t)) / plain
            assert abs(acb(found.real, found.imag) - true) <= arb(loss.rounding(x, t))


def test_turned_sums_agree_with_balls() -> None:
    losses, weights = np.linspace(-0.3, 0.4, 97), np.full(97, 1 / 97)
    t = 0.37 * np.arange(1000)
    found = turned_sums(t, losses, weights)
    with ctx.workprec(128):
        for j in (0, 1, 63, 64, 999):
            true = sum(
                (arb(w) * (acb(0, arb(float(t[j])) * arb(l)).exp() - 1) for l, w in zip(losses, weights, strict=True)), acb(0)
            )
            assert abs(acb(complex(found[j]).real, complex(found[j]).imag) - true) < 1e-13 * max(1.0, float(t[j]))


KINDS = [
    dp.gdp(F(1, 2)),
    dp.gdp(1),
    laplace(F(1, 3)),
    dp.pure(F(1, 7)),
    dp.approximate(F(1, 5), F(1, 10**9)),
    Privacy.of(Response(F(1, 2), 4)),
    Privacy.of(DiscreteLaplace(3, F(7))),
    noise(2),
    dp.Exponential(sensitivity=1, epsilon=F(1, 3)).privacy,
    dp.zcdp(F(1, 50)),
]
USES = st.tuples(
    st.sampled_from(KINDS),
    st.one_of(st.just(1.0), st.floats(1e-9, 1.0)),
    st.one_of(st.integers(1, 12), st.integers(1, 10**16)),
)


@given(st.lists(USES, min_size=1, max_size=3), st.one_of(st.floats(1e-12, 0.99), st.floats(-300, 0).map(lambda x: 10**x)))
@settings(max_examples=deep(10, 3), deadline=None, derandomize=True)
def test_any_composition(uses: list[tuple[Privacy, float, int]], delta: float) -> None:
    """Lower <= upper, and one more use never lowers: the lower bound of less is at most the upper bound of more; soon enough.

    ``benchmarks/compositions.py`` tries hundreds, with their times.
    """
    each = [kind.sampled(F(str(rate))) for kind, rate, _ in uses]
    less = sum((count * one for one, (_, _, count) in zip(each, uses, strict=True)), Privacy())
    more = less + each[0]
    allowed = min(max(F(str(delta)), F(1, 10**300)), F(99, 100))
    with within(3_000_000), counted() as work:
        low, high = less.epsilon_bounds(allowed)
        below, above = less.delta_bounds(F(1))
    assert sum(work) <= 1 << 26
    assert 0 <= low <= high
    assert 0 <= below <= above <= 1
    assert low <= more.epsilon_bounds(allowed)[1] * (1 + 1e-12)
    assert below <= more.delta_bounds(F(1))[1] * (1 + 1e-12)
