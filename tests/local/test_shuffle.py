"""Amplification by shuffling, against exact enumeration, against the published numbers, and against itself."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from local.protocols import SMALL, every_report, label
from scipy.stats import binom

from discreet.balls import ball, precision
from discreet.errors import ParameterError
from discreet.local import Amplified, Attributes, Bit, Distribution, Frequencies, HeavyHitters, Mean, amplified
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.k_ary import KAry
from discreet.local.shuffle import Clones
from discreet.local.task import Task


@cache
def of_two(n: int) -> Amplified:
    """Epsilon 2 of each of n people."""
    return amplified(2, n, 1e-6, trusted_shuffler=True)


def clones(epsilon0: Fraction, n: int, share: Fraction = Fraction(1)) -> Clones:
    """For reports whose total variation is this share of the largest."""
    with precision(256):
        return Clones(epsilon0, n, ball(share) / (1 + ball(epsilon0).exp()))


def by_enumeration(epsilon0: Fraction, n: int, chance: float, epsilon: float) -> float:
    """delta(epsilon) of the pair of laws in the theorem, one pair of counts after the other."""
    often = chance * math.exp(float(epsilon0))
    first: dict[tuple[int, int], float] = {}
    second: dict[tuple[int, int], float] = {}
    for c in range(n):
        for a in range(c + 1):
            mass = math.comb(n - 1, c) * (2 * chance) ** c * (1 - 2 * chance) ** (n - 1 - c) * math.comb(c, a) / 2**c
            for law, zero, one in ((first, often, chance), (second, chance, often)):
                for counts, weight in (((a + 1, c - a), zero), ((a, c - a + 1), one), ((a, c - a), 1 - often - chance)):
                    law[counts] = law.get(counts, 0) + mass * weight
    return sum(max(0.0, first[counts] - math.exp(epsilon) * second[counts]) for counts in first)


@pytest.mark.parametrize("variation", [Fraction(1), Fraction(9, 10), Fraction(1, 20)], ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("epsilon0", [Fraction(1, 2), Fraction(2), Fraction(6)], ids=str)
def test_deltas_are_those_of_the_theorem_for_few_people(epsilon0: Fraction, n: int, variation: Fraction) -> None:
    pair = clones(epsilon0, n, variation)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        epsilon = share * float(epsilon0)
        low, high = pair.deltas(epsilon, 1000)
        exact = by_enumeration(epsilon0, n, float(pair.chance), epsilon)
        assert low <= exact * (1 + 1e-12) + 1e-300
        assert exact * (1 - 1e-12) <= high
        assert high - low < 1e-7 * (exact + 1e-3)


def k_ary(epsilon0: float, values: int, n: int, epsilon: float) -> float:
    """The true delta of shuffled k-ary randomized response: one person has 0 or 1, all the others have 2."""
    e = math.exp(epsilon0)
    truth, lie = e / (e + values - 1), 1 / (e + values - 1)
    rest = 1 - 2 * lie

    def law(own: list[float]) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        for zeros in range(n):
            for ones in range(n - zeros):
                mass = math.comb(n - 1, zeros) * math.comb(n - 1 - zeros, ones)
                chance = mass * lie ** (zeros + ones) * rest ** (n - 1 - zeros - ones)
                for place, more in enumerate([(1, 0), (0, 1), (0, 0)]):
                    counts = (zeros + more[0], ones + more[1])
                    found[counts] = found.get(counts, 0) + chance * own[place]
        return found

    other = 1 - truth - lie
    first, second = law([truth, lie, other]), law([lie, truth, other])
    return sum(max(0.0, first[counts] - math.exp(epsilon) * second[counts]) for counts in first)


@pytest.mark.parametrize("values", [3, 10, 100])
@pytest.mark.parametrize("epsilon0", [0.5, 2.0, 4.0])
def test_a_real_protocol_is_never_worse_and_comes_close(epsilon0: float, values: int) -> None:
    """Of k-ary response the theorem is the truth: the others' reports are marks, or tell nothing."""
    variation = KAry(Fraction(epsilon0), values).rates.gain
    pair = clones(Fraction(epsilon0), 25, Fraction(variation) / Fraction(math.tanh(epsilon0 / 2)))
    for share in (0.2, 0.5, 0.8):
        true = k_ary(epsilon0, values, 25, share * epsilon0)
        low, high = pair.deltas(share * epsilon0, 1000)
        assert low * (1 - 1e-6) <= true <= high * (1 + 1e-6) + 1e-15
        assert high < 1.001 * true + 1e-12


@pytest.mark.spread(32)
@pytest.mark.parametrize("protocol", SMALL, ids=label)
def test_the_total_variation_is_that_of_the_likelihoods(protocol: FrequencyProtocol) -> None:
    """Over all reports and pairs of values; of hashing, for one seed, where it may be less."""
    codes = range(protocol.size)
    reports = list(every_report(protocol))
    table = np.array([[float(protocol.likelihood(report, code)) for report in reports] for code in codes])
    largest = max(np.abs(table[one] - table[other]).sum() / 2 for one in codes for other in codes)
    assert float(protocol.total_variation()) == pytest.approx(largest, rel=1e-9)


@pytest.mark.parametrize(
    "task",
    [Distribution(0, 1, 1, bins=20), Distribution(0, 1, 6, bins=9), Mean(0, 15, 1, step=1), Bit(2), Mean(0, 15, 4, step=1)],
    ids=lambda task: f"{task.kind} {float(task.epsilon):g}",
)
def test_no_two_values_are_further_apart_than_told(task: Task) -> None:
    protocol = task.protocol
    codes = range(getattr(protocol, "bins", getattr(protocol, "steps", 1) + 1))
    table = np.array([[float(protocol.likelihood(np.array(row), code)) for row in range(protocol.cells)] for code in codes])
    largest = max(np.abs(table[one] - table[other]).sum() / 2 for one in codes for other in codes)
    assert largest <= float(protocol.total_variation()) * (1 + 1e-12)


def test_a_task_tells_its_own_total_variation() -> None:
    """k-ary over 100 values, epsilon 2, 10,000 people: 0.114 for the worst protocol, 0.029 for this one."""
    worst = of_two(10_000)
    found = amplified(Frequencies(range(100), 2, protocol="k-ary"), 10_000, 1e-6, trusted_shuffler=True)
    assert 0.113 < worst.lower < worst.upper < 0.116
    assert 0.028 < found.lower < found.upper < 0.030
    both = Attributes({"a": Bit(2), "b": Frequencies(range(100), 2, protocol="k-ary")})
    assert found.upper < amplified(both, 10_000, 1e-6, trusted_shuffler=True).upper < worst.upper
    words = amplified(HeavyHitters(2, length=2), 10_000, 1e-6, trusted_shuffler=True)
    assert words.upper < worst.upper


def test_the_published_number() -> None:
    """epsilon0 = 4, n = 10^5, delta = 10^-6: 0.118 for the clones of 2022."""
    found = amplified(4, 10**5, 1e-6, trusted_shuffler=True)
    assert 0.117 < found.lower < found.upper < 0.119


@pytest.mark.parametrize("n", [200, 5000])
def test_blocks_only_widen_the_bounds(n: int) -> None:
    pair = clones(Fraction(2), n)
    exact_low, exact_high = pair.deltas(0.3, 10**6)
    low, high = pair.deltas(0.3, 20)
    assert low <= exact_low <= exact_high <= high
    assert high < 5 * exact_high


def test_the_number_of_clones_has_its_law() -> None:
    """Against scipy, and that what is left out is counted."""
    for n, epsilon0 in ((50, Fraction(1)), (10**6, Fraction(3)), (10**4, Fraction(1, 1000)), (1000, Fraction(12))):
        pair = clones(epsilon0, n)
        first, found, outside = pair._counts
        counts = first + np.arange(found.size)
        assert found == pytest.approx(binom.pmf(counts, n, 2 * float(pair.chance)), rel=1e-6, abs=1e-40)
        assert abs(found.sum() - 1) < 1e-9
        assert 0 <= outside < 1e-25


def test_more_people_and_larger_deltas_cost_less() -> None:
    by_people = [of_two(n).upper for n in (1, 100, 10**4)]
    assert by_people == sorted(by_people, reverse=True)
    by_delta = [amplified(2, 1000, delta, trusted_shuffler=True).upper for delta in (1e-12, 0.5)]
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
    found = amplified(Mean(0, 15, 2), 10_000, 1e-6, trusted_shuffler=True)
    assert found == of_two(10_000)  # nothing better is known of it
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
