"""The sparse vector technique: scales, exact comparisons, values, and a stream that cannot answer more than was paid for.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import copy
import math
import os
import pickle
import threading
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics
from support.recorded import replay

from discreet import SparseVector
from discreet.errors import Exhausted
from discreet.noise import laplace

STILL = 2**64 - 2  # the random word whose noise is 0 at every scale
SURE = 10**9  # so far above or below that noise never matters


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2, 10, 1000])
@pytest.mark.parametrize("sensitivity", [1, 3, 0.25])
def test_the_scales_spend_exactly_epsilon(sensitivity: Any, cutoff: int, monotonic: bool) -> None:
    technique = SparseVector(sensitivity=sensitivity, epsilon=0.7, cutoff=cutoff, monotonic=monotonic)
    threshold, query = technique.scales
    factor = cutoff if monotonic else 2 * cutoff
    first, second = Fraction(sensitivity) / threshold, factor * Fraction(sensitivity) / query
    assert first + second == Fraction(7, 10)
    assert float(second / first) == pytest.approx(factor ** (2 / 3), abs=1e-3)
    assert (Fraction(sensitivity) / technique.step).denominator == 1  # the lattice contains the sensitivity


@pytest.mark.parametrize("value_epsilon", [None, 0.5, Fraction(1, 3)])
def test_released_values_are_charged(value_epsilon: Any) -> None:
    technique = SparseVector(sensitivity=1, epsilon=1, cutoff=2, value_epsilon=value_epsilon)
    paid = Fraction(str(value_epsilon or 0))
    assert technique.privacy.epsilon() == pytest.approx(float(1 + paid), rel=1e-15)
    assert technique.scales == SparseVector(sensitivity=1, epsilon=1, cutoff=2).scales


def law(technique: SparseVector, values: tuple[int, ...]) -> dict[tuple[bool, ...], float]:
    """The chance of every answer for whole values and threshold 0, summed over the noise that the threshold gets once."""
    threshold, query = technique.scales
    reach = math.ceil(40 * threshold)
    bars = {bar: float(laws.discrete_laplace(threshold, bar)) for bar in range(-reach, reach + 1)}
    below = {x: float(laws.discrete_laplace_cdf(query, x)) for x in range(-reach - 9, reach + 10)}
    chances: dict[tuple[bool, ...], float] = {}
    for answers in product((False, True), repeat=len(values)):
        ends = [i for i, above in enumerate(answers, 1) if sum(answers[:i]) == technique.cutoff]
        answer = answers[: ends[0]] if ends else answers
        asked = list(zip(values, answer, strict=False))
        miss = ((p, [below[bar - v - 1] for v, _ in asked]) for bar, p in bars.items())
        chances[answer] = sum(p * math.prod(1 - m if up else m for m, (_, up) in zip(ms, asked, strict=True)) for p, ms in miss)
    return chances


@pytest.mark.parametrize("cutoff", [1, 2])
def test_answers_follow_the_exact_law(cutoff: int) -> None:
    technique = SparseVector(sensitivity=1, epsilon=2, cutoff=cutoff)
    exact = law(technique, (0, 1, -1))
    assert sum(exact.values()) == pytest.approx(1, abs=1e-12)
    found = Counter(tuple(technique.release([0, 1, -1], threshold=0)) for _ in range(4_000))
    assert statistics.chi_square([found[a] for a in exact], [4_000 * p for p in exact.values()]) > statistics.ALARM


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2])
def test_privacy_by_the_exact_law(cutoff: int, monotonic: bool) -> None:
    """Two streams whose values all move, together or apart: no answer's chance changes by more than e^epsilon."""
    technique = SparseVector(sensitivity=1, epsilon=1, cutoff=cutoff, monotonic=monotonic)
    one = law(technique, (0, 0, 0))
    for move in product((0, 1) if monotonic else (-1, 1), repeat=3):
        other = law(technique, move)
        assert all(abs(math.log(one[answer] / other[answer])) <= 1 + 1e-9 for answer in one)


def test_the_cutoff() -> None:
    technique = SparseVector(sensitivity=1, epsilon=1, cutoff=3)
    assert technique.release([-SURE, SURE, SURE, -SURE, SURE, SURE], 0) == [False, True, True, False, True]
    assert technique.release([-SURE] * 20_000 + [SURE] * 5, 0) == [False] * 20_000 + [True] * 3
    assert technique.release([], 0) == []


def test_an_adaptive_stream() -> None:
    stream = SparseVector(sensitivity=1.0, epsilon=1, cutoff=2).start(0)
    assert stream.left == 2
    assert [stream.ask(-SURE), stream.ask(SURE), stream.left, stream.ask(-SURE), stream.ask(SURE)] == [
        False,
        True,
        1,
        False,
        True,
    ]
    assert stream.left == 0
    for question in (lambda: stream.ask(-SURE), lambda: stream.ask(SURE), lambda: stream.answer([1, 2])):
        with pytest.raises(Exhausted, match="spent"):
            question()


@pytest.mark.parametrize("sensitivity", [1, 0.5])
def test_values_have_noise_of_their_own(sensitivity: Any) -> None:
    technique = SparseVector(sensitivity=sensitivity, epsilon=1, cutoff=5000, value_epsilon=5000)
    answers = technique.release([SURE] * 5000, 0)
    assert all(type(x) is (int if sensitivity == 1 else float) for x in answers)
    noise = np.array(answers) - SURE
    scale = 5000 * Fraction(sensitivity) / 5000
    if sensitivity == 1:
        assert statistics.fit(noise, lambda x: laws.discrete_laplace(scale, x), -15, 15) > statistics.ALARM
    else:
        edges = [round(2**19 * x) for x in np.linspace(-3, 3, 31)]
        cells = np.array([round(x * 2**20) for x in noise.tolist()])
        assert (
            statistics.fit_bins(cells, lambda x: laws.laplace_cdf(scale * 2**20, Fraction(2 * x + 1, 2)), edges)
            > statistics.ALARM
        )


def test_a_value_is_not_released_when_it_is_below() -> None:
    technique = SparseVector(sensitivity=1, epsilon=1, cutoff=2, value_epsilon=1)
    answers = technique.release([-SURE, SURE, -SURE, 2 * SURE, SURE], 0)
    assert [x is False for x in answers] == [True, False, True, False]


@pytest.mark.parametrize(
    ("threshold", "value", "above"),
    [
        (0.1 + 0.2, 0.1 + 0.2, True),
        (0.1 + 0.2, Fraction(3, 10), False),
        (Fraction(3, 10), 0.1 + 0.2, True),
        (2.0**60, 2**60 - 1, False),
        (2**60 - 1, 2.0**60, True),
        (2**60 + 1, 2.0**60, False),
        (Fraction(1, 3), 1 / 3, Fraction(1 / 3) >= Fraction(1, 3)),
        (5e-324, 0.0, False),
        (np.int64(7), 7, True),
    ],
)
@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_ties_are_decided_exactly(sensitivity: Any, threshold: Any, value: Any, above: bool) -> None:
    assert replay(lambda: laplace.discrete(Fraction(5), 1), [STILL]).value.tolist() == [0]
    technique = SparseVector(sensitivity=sensitivity, epsilon=1, cutoff=1)
    assert replay(lambda: technique.release([value], threshold), [STILL, STILL]).value == [above]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_threshold_that_is_a_large_numpy_integer() -> None:
    assert SparseVector(sensitivity=1.0, epsilon=1, cutoff=1).release([2.0**43], np.int64(2**45)) == [False]


def test_a_threshold_of_single_precision() -> None:
    assert SparseVector(sensitivity=1.0, epsilon=1, cutoff=1).release([SURE], np.float32(0)) == [True]


@pytest.mark.parametrize(
    ("sensitivity", "threshold", "values"),
    [(1e307, 1e308, [-1.7e308, 1.7e308]), (1, 10**400, [10**399, 10**401])],
    ids=["doubles", "integers"],
)
def test_values_at_the_end_of_the_doubles(sensitivity: Any, threshold: Any, values: list[Any]) -> None:
    assert SparseVector(sensitivity=sensitivity, epsilon=1000, cutoff=1).release(values, threshold) == [False, True]


def test_an_integral_technique_does_not_equal_a_real_one() -> None:
    assert SparseVector(sensitivity=1, epsilon=1, cutoff=1) != SparseVector(sensitivity=1.0, epsilon=1, cutoff=1)


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_a_stream_cannot_be_copied(remake: Any) -> None:
    stream = SparseVector(sensitivity=1, epsilon=1, cutoff=1).start(0)
    with pytest.raises(Exhausted, match="copied or pickled"):
        remake(stream)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_stream_does_not_follow_a_fork() -> None:
    stream = SparseVector(sensitivity=1, epsilon=1, cutoff=1).start(0)
    child = os.fork()
    if child == 0:
        try:
            stream.ask(SURE)
        except Exhausted:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert stream.ask(SURE) is True


def test_racing_threads_share_one_payment() -> None:
    stream = SparseVector(sensitivity=1, epsilon=1, cutoff=50).start(0)
    gate, found = threading.Barrier(16), []

    def ask() -> None:
        gate.wait()
        try:
            while True:
                found.extend(x for x in stream.answer([SURE, -SURE, SURE]) if x)
        except Exhausted:
            pass

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 50
    assert stream.left == 0
