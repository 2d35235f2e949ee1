"""Whether the order of draws tells anything: bounds that hold in every case, and no alarm for outputs that are merely rare."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import deep, examples

import discreet as dp
from discreet.auditor.sampling import features
from discreet.auditor.sampling.features import Sample
from discreet.auditor.sampling.outputs import read_exception, read_output
from discreet.auditor.sampling.state import bound_autocorrelation, bound_change_point, bound_trend, find_dependence

_random = np.random.default_rng()


def _holds(bounds: list[float]) -> None:
    """A bound is one: it is at most b for at most e^b of all orders."""
    sorted_bounds = np.sort(bounds)
    below = np.searchsorted(sorted_bounds, sorted_bounds + 1e-9, side="right") / len(bounds)
    assert (below <= np.exp(sorted_bounds) + 1e-9).all()


@pytest.mark.parametrize("size", [2, 4, 5])
def test_the_chance_of_a_trend_is_bounded_in_every_case(size: int) -> None:
    for kinds in itertools.combinations_with_replacement(range(4), size):
        _holds([bound_trend(np.array(order)) for order in itertools.permutations(kinds)])


@pytest.mark.parametrize("size", range(2, 12))
def test_the_chance_of_an_echo_and_of_a_change_is_bounded_in_every_case(size: int) -> None:
    for ones in range(1, size):
        rows = [np.isin(np.arange(size), places) for places in itertools.combinations(range(size), ones)]
        for lag in (1, 2, 3):
            _holds([bound_autocorrelation(row, lag) for row in rows])
        _holds([bound_change_point(row.astype(np.int64)) for row in rows])


def test_what_is_strong_is_seen() -> None:
    late = np.arange(1_000) > 600
    assert bound_trend((late & (_random.random(1_000) < 0.9)).astype(np.int64)) < -100
    assert bound_autocorrelation(np.arange(1_000) % 2 == 0, 1) < -100
    assert bound_autocorrelation(np.arange(1_000) % 6 < 3, 3) < -100
    assert bound_change_point(np.array([0] * 990 + [1] * 10)) < -40


_numbers = st.floats(-10, 10)
_outputs = st.one_of(
    st.none(),
    _numbers,
    st.text("a1.", max_size=3),
    st.tuples(_numbers, _numbers),
    st.lists(_numbers, max_size=4),
    st.dictionaries(st.sampled_from("abc"), st.one_of(_numbers, st.none()), max_size=2),
    st.just(ValueError("no 3")),
)


@settings(max_examples=examples(60), deadline=None)
@given(outputs=st.lists(_outputs, min_size=1, max_size=30), cuts=st.sets(st.integers(1, 29)))
def test_a_column_says_the_same_however_the_draws_came(outputs: list[object], cuts: set[int]) -> None:
    """Every entry is a function of its own output: not of when that output, or another like it, was seen first."""
    pieces = [0, *sorted(cut for cut in cuts if cut < len(outputs)), len(outputs)]
    samples = Sample(), Sample()
    for sample, ends in zip(samples, ([0, len(outputs)], pieces), strict=True):
        for start, end in itertools.pairwise(ends):
            some = [read_exception(o) if isinstance(o, ValueError) else read_output(o) for o in outputs[start:end]]
            sample.add(some, [True] * len(some))
    assert samples[0].numbers.keys() == samples[1].numbers.keys()
    for name, column in samples[0].numbers.items():
        np.testing.assert_array_equal(column, samples[1].numbers[name], name)
    assert not samples[1].incomplete


def _fails() -> object:
    return ValueError("no")


USUAL: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "a number": _random.normal,
    "a pair": lambda: (float(_random.normal()), 1),
    "a word": lambda: "yes" if _random.random() < 0.7 else "no",
}
RARE: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "a tuple": lambda: (1.0, 2.0),
    "a dictionary": lambda: {"a": float(_random.normal())},
    "a long list": lambda: _random.normal(size=9).tolist(),
    "lists of all lengths": lambda: _random.normal(size=_random.integers(1, 60)).tolist(),
    "an exception": _fails,
    "a text with a number": lambda: f"n is {_random.integers(9)}",
}


RATES = [0.001, 0.003, 0.01, 0.05]
EVERY_TWO = [(usual, rare, RATES[(i + j) % 4]) for i, usual in enumerate(USUAL) for j, rare in enumerate(RARE)]


@pytest.mark.spread(10)
@pytest.mark.parametrize(("usual", "rare", "rate"), EVERY_TWO)
def test_rare_outputs_are_no_state(usual: str, rare: str, rate: float) -> None:
    """As an audit batches its draws; a function without state is called one that has it with probability at most 1e-7."""
    sample, size = Sample(), 100
    while sample.size < 3_000:
        values = [RARE[rare]() if _random.random() < rate else USUAL[usual]() for _ in range(size)]
        sample.add(
            [read_exception(v) if isinstance(v, ValueError) else read_output(v) for v in values], list(_random.random(size) < 0.5)
        )
        sample.choose()
        size = max(50, int(0.15 * sample.size))
    assert find_dependence(sample) == ""


def test_wide_outputs_that_cannot_all_be_kept_are_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "_KEPT", 20_000)
    sample = Sample()
    for _ in range(10):
        sample.add([read_output(_random.normal(size=200)) for _ in range(100)], list(_random.random(100) < 0.5))
        sample.choose()
    assert sample.incomplete
    assert find_dependence(sample) == ""


def test_a_rare_leak_is_called_a_leak() -> None:
    """One run in a hundred gives the input away as a tuple: log-wealth is above 60 within the draws (failure below 1e-6)."""

    def leaks(x: int) -> object:
        return (x, x) if _random.random() < 0.01 else None

    for _ in range(deep(5, 2)):
        finding = dp.audit(leaks, 0, 1, epsilon=1, draws=15_000)
        assert finding.violated, finding


def drifts() -> Callable[[int], object]:
    runs = itertools.count()
    return lambda _: "yes" if _random.random() < 0.3 + 0.4 * next(runs) / 8_000 else "no"


def fails_more_and_more() -> Callable[[int], object]:
    runs = itertools.count()
    return lambda _: ("late",) if _random.random() < 0.2 * next(runs) / 8_000 else float(_random.normal())


@pytest.mark.parametrize("make", [drifts, fails_more_and_more])
def test_a_slow_change_is_state(make: Callable[[], Callable[[int], object]]) -> None:
    """Expected: 12 standard deviations and more on each side, where 7.5 suffice on one; missed on both below 1e-10."""
    finding = dp.audit(make(), 0, 1, epsilon=1, draws=4_000, error=1e-6)
    assert finding.verdict.startswith("cannot be audited: the function keeps state"), finding
