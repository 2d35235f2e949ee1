"""Amplification by shuffling, against exact enumeration, against the published numbers, and against itself."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.balls import ball, precision
from discreet.errors import ParameterError
from discreet.local import Bit, Frequencies, amplified
from discreet.local.shuffle import Clones


def clones(epsilon0: Fraction, n: int) -> Clones:
    with precision(128):
        return Clones(epsilon0, n, 2 / (1 + ball(epsilon0).exp()))


def by_enumeration(epsilon0: Fraction, n: int, chance: float, epsilon: float) -> float:
    """delta(epsilon) of the pair of laws in the theorem, one pair of counts after the other."""
    truth = 1 / (1 + math.exp(-float(epsilon0)))
    first: dict[tuple[int, int], float] = {}
    second: dict[tuple[int, int], float] = {}
    for c in range(n):
        for a in range(c + 1):
            mass = math.comb(n - 1, c) * chance**c * (1 - chance) ** (n - 1 - c) * math.comb(c, a) / 2**c
            for one, other in ((first, second), (second, first)):
                counts = (a + 1, c - a) if one is first else (a, c - a + 1)
                one[counts] = one.get(counts, 0) + mass * truth
                other[counts] = other.get(counts, 0) + mass * (1 - truth)
    return sum(max(0.0, first[counts] - math.exp(epsilon) * second[counts]) for counts in first)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("epsilon0", [Fraction(1, 2), Fraction(2), Fraction(6)], ids=str)
def test_deltas_are_those_of_the_theorem_for_few_people(epsilon0: Fraction, n: int) -> None:
    pair = clones(epsilon0, n)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        epsilon = share * float(epsilon0)
        low, high = pair.deltas(epsilon, 1000)
        exact = by_enumeration(epsilon0, n, float(pair.chance), epsilon)
        assert low <= exact * (1 + 1e-12) + 1e-300
        assert exact * (1 - 1e-12) <= high
        assert high - low < 1e-7 * (exact + 1e-3)


def three_values(epsilon0: float, n: int, epsilon: float) -> float:
    """The true delta of shuffled 3-ary randomized response: one person has 0 or 1, all the others have 2."""
    e = math.exp(epsilon0)
    truth, lie = e / (e + 2), 1 / (e + 2)

    def law(own: list[float]) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        for zeros in range(n):
            for ones in range(n - zeros):
                mass = math.comb(n - 1, zeros) * math.comb(n - 1 - zeros, ones)
                chance = mass * lie ** (zeros + ones) * truth ** (n - 1 - zeros - ones)
                for place, more in enumerate([(1, 0), (0, 1), (0, 0)]):
                    counts = (zeros + more[0], ones + more[1])
                    found[counts] = found.get(counts, 0) + chance * own[place]
        return found

    first, second = law([truth, lie, lie]), law([lie, truth, lie])
    return sum(max(0.0, first[counts] - math.exp(epsilon) * second[counts]) for counts in first)


@pytest.mark.parametrize("epsilon0", [0.5, 2.0, 4.0])
def test_a_real_protocol_is_never_worse_and_comes_close(epsilon0: float) -> None:
    pair = clones(Fraction(epsilon0), 25)
    for share in (0.2, 0.5, 0.8):
        true = three_values(epsilon0, 25, share * epsilon0)
        _, high = pair.deltas(share * epsilon0, 1000)
        assert true <= high
        assert epsilon0 < 4 or high < 1.5 * true  # the theorem gives little away


def test_the_published_numbers() -> None:
    """epsilon0 = 4, n = 10^5, delta = 10^-6: between 0.168 and 0.173 for the clones of 2021, which are half as many."""
    with precision(128):
        older = Clones(Fraction(4), 10**5, (-ball(4)).exp())
    low, high = older.epsilons(Fraction(1, 10**6))
    assert 0.168 < low < high < 0.173
    found = amplified(4, 10**5, 1e-6, trusted_shuffler=True)
    assert 0.117 < found.lower < found.upper < 0.119


@pytest.mark.parametrize("n", [200, 5000])
def test_blocks_only_widen_the_bounds(n: int) -> None:
    pair = clones(Fraction(2), n)
    exact_low, exact_high = pair.deltas(0.3, 10**6)
    low, high = pair.deltas(0.3, 20)
    assert low <= exact_low <= exact_high <= high
    assert high < 2 * exact_high


def test_the_number_of_clones_has_its_law() -> None:
    """Against scipy, and that what is left out is counted."""
    for n, epsilon0 in ((50, Fraction(1)), (10**6, Fraction(3)), (10**4, Fraction(1, 1000)), (1000, Fraction(12))):
        pair = clones(epsilon0, n)
        first, found, outside = pair._counts
        counts = first + np.arange(found.size)
        assert found == pytest.approx(binom.pmf(counts, n - 1, float(pair.chance)), rel=1e-6, abs=1e-40)
        assert abs(found.sum() - 1) < 1e-9
        assert 0 <= outside < 1e-25


def test_more_people_and_larger_deltas_cost_less() -> None:
    by_people = [amplified(2, n, 1e-6, trusted_shuffler=True).upper for n in (1, 10, 1000, 10**5, 10**8)]
    assert by_people == sorted(by_people, reverse=True)
    by_delta = [amplified(2, 1000, delta, trusted_shuffler=True).upper for delta in (1e-12, 1e-6, 1e-3, 0.5)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_people[0] <= 2
    assert by_delta[-1] < 1e-3


def test_bounds_are_ordered_and_never_above_the_local_epsilon() -> None:
    for epsilon0, n, delta in ((0.001, 10**4, 1e-9), (90, 10, 1e-3), (8, 10**4, 1e-6), (1, 1, 0.01), (3, 10**10, 1e-12)):
        found = amplified(epsilon0, n, delta, trusted_shuffler=True)
        assert 0 <= found.lower <= found.upper <= epsilon0
        assert found.upper - found.lower < 0.01 * found.upper
    alone = amplified(1, 1, 0.01, trusted_shuffler=True)  # randomized response: delta = (e - e^epsilon) / (e + 1)
    assert alone.lower <= math.log(math.e - 0.01 * (math.e + 1)) <= alone.upper


def test_a_task_may_be_given_and_the_guarantee_taken() -> None:
    found = amplified(Frequencies(range(100), 2), 10_000, 1e-6, trusted_shuffler=True)
    assert found == amplified(2, 10_000, 1e-6, trusted_shuffler=True)
    assert found.privacy.epsilon(delta=1e-6) == pytest.approx(found.upper)
    assert "shuffler" in str(found)


@pytest.mark.parametrize("said", [False, None, 1, "yes"], ids=str)
def test_nothing_is_amplified_without_a_trusted_shuffler(said: object) -> None:
    with pytest.raises(ParameterError, match="trusted_shuffler=True"):
        amplified(Bit(1), 1000, 1e-6, trusted_shuffler=said)  # type: ignore[arg-type]


def test_bad_parameters() -> None:
    for epsilon0, n, delta in (
        (0, 10, 0.1),
        (1, 0, 0.1),
        (1, 2.5, 0.1),
        (1, 10, 0),
        (1, 10, 1),
        (101, 10, 0.1),
        (1, 10**11, 0.1),
    ):
        with pytest.raises(ParameterError):
            amplified(epsilon0, n, delta, trusted_shuffler=True)  # type: ignore[arg-type]
