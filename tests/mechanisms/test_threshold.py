"""Private key selection: the cut, who may be shown, and in what order.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from reference import laws, statistics
from reference.laws import real
from support.patience import within

from discreet import Threshold

GRID = [
    (epsilon, delta, keys)
    for epsilon in (Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(5))
    for delta in (Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 100), Fraction(9, 10))
    for keys in (1, 3, 50)
]


def mass(epsilon: Fraction, k: int, x: int) -> arb:
    """P(X = x) for mass proportional to e^(-epsilon |x|) on [-k, k], summed term by term at 300 bits."""
    with ctx.workprec(300):
        terms = [real(-epsilon * i).exp() for i in range(k + 1)]
        return terms[abs(x)] / (terms[0] + 2 * sum(terms[1:], arb(0)))


@pytest.mark.spread(16)
@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_the_geometric_cut_is_the_least_that_hides_a_single_person(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    k = Threshold(epsilon=epsilon, delta=delta, keys=keys).cut
    assert mass(epsilon / keys, k, k) <= real(delta / keys)
    assert k == 1 or mass(epsilon / keys, k - 1, k - 1) > real(delta / keys)


@pytest.mark.parametrize(("epsilon", "delta", "keys"), GRID)
def test_the_gaussian_cut_is_the_least_that_hides_a_persons_own_keys(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    mechanism = Threshold(epsilon=epsilon, delta=delta, keys=keys, noise="gaussian")
    with ctx.workprec(300):

        def loss(cut: int) -> arb:  # -m ln P(sigma Z < cut - 1/2)
            return -keys * laws.normal_cdf(mechanism._squared_sigma, cut - Fraction(1, 2)).log()

        assert loss(mechanism.cut) <= real(delta / 2)
        assert mechanism.cut == 1 or loss(mechanism.cut - 1) > real(delta / 2)


def released(mechanism: Threshold, count: int, draws: int) -> np.ndarray:
    """The count shown for ``draws`` keys alike, 0 where none is."""
    shown = mechanism.release(dict.fromkeys(range(draws), count))
    return np.array([shown.get(key, 0) for key in range(draws)])


@pytest.mark.parametrize("count", [1, 3, 5, 20])
def test_the_law_of_geometric_releases(count: int) -> None:
    mechanism = Threshold(epsilon=1, delta=0.01)
    k, drawn = mechanism.cut, released(mechanism, count, 100_000)
    assert ((drawn == 0) | (drawn > k)).all()
    assert np.abs(drawn[drawn > 0] - count).max(initial=0) <= k
    above = [mass(Fraction(1), k, x - count) if abs(x - count) <= k else arb(0) for x in range(k + 1, k + count + 1)]
    masses = [float(1 - sum(above, arb(0))), *map(float, above)]
    counts = [np.count_nonzero(drawn == x) for x in (0, *range(k + 1, k + count + 1))]
    assert statistics.chi_square(counts, np.array(masses) * drawn.size) > statistics.ALARM


@pytest.mark.parametrize("count", [1, 5])
def test_the_law_of_gaussian_releases(count: int) -> None:
    mechanism = Threshold(epsilon=1, delta=0.1, noise="gaussian")
    drawn, top = released(mechanism, count, 100_000), mechanism.cut + 12
    assert ((drawn == 0) | (drawn > mechanism.cut)).all()
    cells = range(mechanism.cut + 1, top)
    masses = [float(laws.rounded_gaussian(mechanism._squared_sigma, Fraction(0), x - count)) for x in cells]
    tail = float(laws.normal_cdf(mechanism._squared_sigma, count - top + Fraction(1, 2)))
    expected = [1 - sum(masses) - tail, *masses, tail]
    counts = [np.count_nonzero(drawn == 0), *(np.count_nonzero(drawn == x) for x in cells), np.count_nonzero(drawn >= top)]
    assert statistics.chi_square(counts, np.array(expected) * drawn.size) > statistics.ALARM


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("delta", [1e-6, 0.9])
def test_a_key_that_nobody_has_is_never_shown(noise: Any, delta: float) -> None:
    mechanism = Threshold(epsilon=0.1, delta=delta, noise=noise)
    nobody = dict.fromkeys(range(20_000), 0)
    assert mechanism.release(nobody) == {}
    assert mechanism.select(nobody) == []
    assert mechanism.release({}) == {}
    assert mechanism.select({}) == []


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("verb", ["release", "select"])
def test_keys_that_many_share_are_shown(noise: Any, verb: str) -> None:
    mechanism = Threshold(epsilon=1, delta=1e-6, keys=2, noise=noise)
    shown = getattr(mechanism, verb)({"the": 10**6, "of": np.int64(10**5), "rare": 1})
    assert {"the", "of"} <= set(shown)


@pytest.mark.parametrize("verb", ["release", "select"])
def test_the_order_of_the_data_does_not_show(verb: str) -> None:
    """Counts so far apart that noise cannot exchange them; and counts alike, in the order of their names."""
    mechanism = Threshold(epsilon=1, delta=1e-6)
    counts = {f"key {i:03}": 1000 * (1 + i % 7) for i in range(200)}
    for order in (sorted(counts), sorted(counts, reverse=True), sorted(counts, key=lambda key: key[::-1])):
        shown = getattr(mechanism, verb)({key: counts[key] for key in order})
        if verb == "select":
            assert shown == sorted(counts)
        else:
            assert list(shown.items()) == sorted(shown.items(), key=lambda item: (-item[1], item[0]))


def test_keys_of_different_types_can_be_ordered() -> None:
    counts = {"a": 1000, 1: 1000, None: 1000, (1, "b"): 1000, 2.5: 1000}
    mechanism = Threshold(epsilon=1, delta=1e-6)
    assert set(mechanism.select(counts)) == set(mechanism.release(counts)) == set(counts)


def test_a_single_person_is_shown_no_more_often_than_delta() -> None:
    """200 000 keys that one person has each, at delta = 1/100 (exact law; the chi-square above checks the rest)."""
    for noise, share in (("geometric", 1), ("gaussian", 0.5)):
        mechanism = Threshold(epsilon=1, delta=0.01, noise=noise)
        shown = len(mechanism.release(dict.fromkeys(range(200_000), 1)))
        assert shown < 200_000 * 0.01 * share + 8 * (200_000 * 0.01) ** 0.5


@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
def test_the_cost_is_what_was_asked(noise: Any) -> None:
    mechanism = Threshold(epsilon=0.5, delta=1e-6, keys=4, noise=noise)
    assert mechanism.privacy.epsilon(1e-6) == 0.5
    assert mechanism.privacy.epsilon(1e-7) == float("inf")
    assert mechanism.privacy.delta(0.5) == pytest.approx(1e-6, rel=1e-15)


def test_select_follows_its_law() -> None:
    """p(1) = delta and p(2) = e^epsilon delta + delta, at epsilon 1 and delta 1/50."""
    mechanism = Threshold(epsilon=1, delta=0.02)
    for count, chance in ((1, 0.02), (2, 0.02 * (1 + np.e)), (50, 1.0)):
        shown = len(mechanism.select(dict.fromkeys(range(100_000), count)))
        if chance == 1:
            assert shown == 100_000
        else:
            assert statistics.chi_square([shown, 100_000 - shown], [100_000 * chance, 100_000 * (1 - chance)]) > statistics.ALARM


@pytest.mark.parametrize("delta", [0.5, 2**-20, Fraction(1, 2**30)], ids=["half", "2^-20", "2^-30"])
def test_a_dyadic_delta(delta: Any) -> None:
    with within(10_000):
        assert Counter(Threshold(epsilon=1, delta=delta).select({"a": 1}))["a"] <= 1
