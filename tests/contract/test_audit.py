"""A black-box audit: no event may be e^epsilon times as likely under one of two neighbouring inputs as under the other.

For events fixed in advance the probabilities are bounded by Clopper-Pearson; a claim is refuted when the least probability
that the draws allow under one input exceeds e^epsilon times the largest they allow under the other. Each audit looks at a fixed
number of events and shares 1e-7 among them: **a true claim is refuted with probability at most 1e-7 per audit**. The lower
bounds (what an audit should find at least) are missed with probability below 1e-7: the binomial quantiles at 1e-9 of all counts
still prove more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import discreet as dp

ALARM = 1e-7
DRAWS = 200_000
LOOPS = 4_000  # for mechanisms that answer one question at a time
Event = Callable[[np.ndarray], np.ndarray]


def least(hits: int, draws: int, alarm: float) -> float:
    return float(beta.ppf(alarm, hits, draws - hits + 1)) if hits else 0.0


def largest(hits: int, draws: int, alarm: float) -> float:
    return float(beta.ppf(1 - alarm, hits + 1, draws - hits)) if hits < draws else 1.0


def proven_epsilon(one: np.ndarray, other: np.ndarray, events: Sequence[Event]) -> float:
    """The largest epsilon that the two samples refute, at 1e-7 for all events and both directions together."""
    alarm = ALARM / (4 * len(events))
    found = 0.0
    for event in events:
        hits = [int(np.count_nonzero(event(sample))) for sample in (one, other)]
        for a, b in ((0, 1), (1, 0)):
            low, high = least(hits[a], one.size, alarm), largest(hits[b], other.size, alarm)
            found = max(found, math.log(low / high) if low > 0 else 0.0)
    return found


def equals(values: Sequence[Any]) -> list[Event]:
    return [lambda sample, value=value: sample == value for value in values]


def fine_digits(sample: np.ndarray) -> np.ndarray:
    return (np.abs(sample) < 0.25) & (np.ldexp(sample, 53) % 1 != 0)


def often(mechanism: Any, value: Any, draws: int = LOOPS) -> np.ndarray:
    return np.array([mechanism.release(value) for _ in range(draws)])


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_laplace_on_integers(sensitivity: int) -> None:
    mechanism = dp.Laplace(sensitivity=sensitivity, epsilon=1)
    one, other = (mechanism.release(np.full(DRAWS, x)) for x in (0, sensitivity))
    events = [*equals(range(-2, 6)), lambda x: x <= 0, lambda x: x > 2, lambda x: x % 2 == 0]
    assert 0.8 < proven_epsilon(one, other, events) <= 1


@pytest.mark.parametrize(("here", "there"), [(0.0, 1.0), (0.1, 1.1), (1 / 3, -2 / 3), (5e-324, 1.0)])
def test_laplace_on_reals(here: float, there: float) -> None:
    """Among the events: bits of the released doubles, which betray the input when noise is a rounded float."""
    mechanism = dp.Laplace(sensitivity=Fraction(1) + Fraction(1, 10**15), epsilon=1)
    one, other = (mechanism.release(np.full(DRAWS, x)) for x in (here, there))
    bits: list[Event] = [lambda x, shift=shift: (x.view(np.int64) >> shift) % 2 == 1 for shift in range(0, 52, 4)]
    cells: list[Event] = [lambda x, k=k: np.ldexp(x, 20 - k) % 2 == 0 for k in range(4)]
    low_bytes: list[Event] = [fine_digits, lambda x: x.view(np.int64) % 256 == 0, lambda x: x.view(np.int64) % 2**32 == 0]
    areas: list[Event] = [lambda x: x <= here, lambda x: x >= there, lambda x: np.abs(x - here) < 0.1]
    assert proven_epsilon(one, other, bits + cells + low_bytes + areas) <= 1
    assert proven_epsilon(one, other, areas) > 0.8


def test_naive_floating_point_laplace_is_caught() -> None:
    """What the events on bits are for: near 0, 0 + noise has digits below 2^-53, and 1 + noise cannot have them."""
    noise = np.random.default_rng().laplace(size=2 * DRAWS)
    assert proven_epsilon(0 + noise[:DRAWS], 1 + noise[DRAWS:], [fine_digits]) > 3


def test_linear() -> None:
    """A person who weighs two and changes cells moves four of six answers; the event is that all four lie on the far side."""
    mechanism = dp.Linear(strategy=[[1, 1], [1, 0], [0, 1]] * 2, epsilon=3, weight=2, neighbours="replace")
    samples = []
    for counts in ([2, 0], [0, 2]):
        noisy = np.array([mechanism.release(counts) for _ in range(LOOPS)])
        samples.append((noisy[:, [1, 4]] >= 2).all(axis=1) & (noisy[:, [2, 5]] <= 0).all(axis=1))
    assert 0.8 < proven_epsilon(*samples, equals([True])) <= 3


@pytest.mark.parametrize("options", [(True, False), ("a", "b", "c", "d")])
def test_randomized_response(options: tuple[Any, ...]) -> None:
    mechanism = dp.RandomizedResponse(epsilon=1, options=options)
    one, other = (mechanism.release([answer] * DRAWS) for answer in options[:2])
    assert 0.9 < proven_epsilon(one, other, equals(options)) <= 1


def test_loose_randomized_response_costs_less_than_its_parameter() -> None:
    mechanism = dp.RandomizedResponse.loose(epsilon=2)
    one, other = (mechanism.release([answer] * DRAWS) for answer in (True, False))
    assert math.log(3) - 0.1 < proven_epsilon(one, other, equals([True, False])) <= math.log(3)


# Between neighbours every score may move by 1, in either direction: the last pair is the worst for report noisy max.
SINGLE = ([0, 0, 0, 0], [1, 0, 0, 0])
OPPOSITE = ([0, *[1] * 11], [1, *[0] * 11])


@pytest.mark.diagonal
@pytest.mark.parametrize("make", [dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip])
@pytest.mark.parametrize(("pair", "monotonic", "found"), [(OPPOSITE, False, 0.5), (SINGLE, True, 0.5)])
def test_selection(make: Any, pair: tuple[list[int], list[int]], monotonic: bool, found: float) -> None:
    mechanism = make(sensitivity=1, epsilon=2, monotonic=monotonic)
    one, other = (often(mechanism, np.array(scores)) for scores in pair)
    assert found < proven_epsilon(one, other, equals([0, 1])) <= 2


def test_half_the_noise_is_caught() -> None:
    """The audit is able to fail: at half the noise it proves 2.2 at least where 2 is claimed, but once in 1e8."""
    halved = dp.NoisyMax(sensitivity=1, epsilon=4)
    one, other = (often(halved, np.array(scores)) for scores in OPPOSITE)
    assert proven_epsilon(one, other, equals([0, 1])) > 2


def test_report_noisy_max_on_scores_that_are_not_monotonic_costs_more_than_the_lecture_says() -> None:
    """Noise of scale sensitivity / epsilon is for scores that move together; on these it costs up to 2 epsilon."""
    wrongly = dp.NoisyMax(sensitivity=1, epsilon=2, monotonic=True)
    one, other = (often(wrongly, np.array(scores)) for scores in OPPOSITE)
    assert 2 < proven_epsilon(one, other, equals([0, 1])) <= 4


@pytest.mark.parametrize(("sensitivity", "monotonic"), [(1, False), (1.0, True)])
def test_sparse_vector(sensitivity: Any, monotonic: bool) -> None:
    """All below but the last, which is above, against the same with every value moved by the sensitivity."""
    mechanism = dp.SparseVector(sensitivity=sensitivity, epsilon=2, cutoff=1, monotonic=monotonic)
    moved = [1, 1, 1, 1] if monotonic else [1, 1, 1, -1]
    streams = ([0, 0, 0, 1], [x + y for x, y in zip([0, 0, 0, 1], moved, strict=True)])
    one, other = (
        np.array([len(a) + 4 * a[-1] for a in (mechanism.release(values, threshold=1) for _ in range(LOOPS))])
        for values in streams
    )
    assert 0.1 < proven_epsilon(one, other, equals([4, 5, 6, 7, 8])) <= 2


@pytest.mark.diagonal
@pytest.mark.parametrize("noise", ["geometric", "gaussian"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_threshold(noise: Any, count: int) -> None:
    """(epsilon, delta): the excess P(S) - e^epsilon P'(S) stays below delta for every event."""
    mechanism = dp.Threshold(epsilon=1, delta=0.05, noise=noise)
    samples = []
    for n in (count, count + 1):
        shown = mechanism.release(dict.fromkeys(range(DRAWS), n))
        samples.append(np.array([shown.get(i, -1) for i in range(DRAWS)]))
    values = [-1, *range(mechanism.cut + 1, mechanism.cut + 8)]
    events = [*equals(values), lambda x: x >= 0, lambda x: x > count + mechanism.cut]
    alarm = ALARM / (4 * len(events))
    for event in events:
        one, other = (int(np.count_nonzero(event(sample))) for sample in samples)
        for a, b in ((one, other), (other, one)):
            assert least(a, DRAWS, alarm) - math.e * largest(b, DRAWS, alarm) <= 0.05
