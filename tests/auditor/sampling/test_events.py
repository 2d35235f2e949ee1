"""Broken mechanisms are found out, at error probability 5 %.

Each gets ten times the draws within which the median of five runs must find it (``benchmarks/audit_detection.py`` prints
these; they are far below), and never fewer than 10,000. Log-wealth grows in proportion to the draws, with a standard
deviation of about the root of twice its mean; at these limits its mean is at least 60 for every case, where 3.1 suffices: a
test fails by chance with probability below 1e-6. Those that take more than 30,000 draws are left to the benchmark.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.broken import BROKEN, laplace

import discreet as dp

_random = np.random.default_rng()


@pytest.mark.parametrize("name", [name for name, case in BROKEN.items() if case.draws <= 30_000])
def test_a_broken_mechanism_is_found_out(name: str) -> None:
    case = BROKEN[name]
    finding = dp.audit(case.function, case.a, case.b, epsilon=1, delta=case.delta, draws=max(10_000, 10 * case.draws))
    assert finding.violated
    assert finding.verdict.startswith("violated: the claim epsilon=1")
    assert finding.epsilon >= 1
    assert "runs on a" in finding.event
    assert finding.error == 0.05


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda rows: {name: laplace(1) for name in rows}, "output['B'] is present"),
        (lambda rows: 1 / (len(rows) - 2) + laplace(1), "ZeroDivisionError"),
        (lambda rows: "B" in rows, "the output is"),
        (lambda rows: [0.5, len(rows) + laplace(0.1)], "output[1] is"),
        (lambda rows: laplace(1) if len(rows) > 1 else math.nan, "output is"),
        (lambda rows: float(len(rows)) + _random.laplace() if len(rows) > 1 else _random.laplace(), "output"),
    ],
    ids=["key", "exception", "answer", "coordinate", "nan", "grain"],
)
def test_the_event_is_said_in_words(function: object, words: str) -> None:
    finding = dp.audit(function, ["A", "B"], ["A"], epsilon=1, draws=20_000)  # type: ignore[arg-type]
    assert finding.violated
    assert words in finding.event
    hits, runs = finding.hits, finding.runs
    assert f"{hits[0]:,} of {runs[0]:,} runs on a, {hits[1]:,} of {runs[1]:,} on b" in finding.event
    assert abs(sum(runs) - 2 * finding.draws) <= 1


def naive(rows: list[int]) -> float:
    return float(sum(rows)) + float(_random.laplace())


def test_low_bits_are_told_from_a_wrong_sensitivity() -> None:
    """Naive noise that is right but for its low bits, and noise that is not."""
    finding = dp.audit(naive, [1], [], epsilon=1, draws=10_000, error=1e-6)
    assert finding.violated
    assert finding.event.startswith("floating-point noise: the low bits of the output tell the inputs apart (output is ")
    assert 'floats="ignore"' in finding.hint
    assert not dp.audit(naive, [1], [], epsilon=1, draws=10_000, error=1e-6, floats="ignore").violated
    wrong = dp.audit(naive, [5], [], epsilon=1, draws=10_000, error=1e-6, floats="ignore")
    assert wrong.violated
    assert "low bits" not in str(wrong)
    several = dp.audit(lambda rows: {"n": naive(rows), "m": 1}, [1], [], epsilon=1, draws=10_000, error=1e-6)
    assert "the low bits of the output" in several.event


def test_whether_an_integer_is_even_is_no_floating_point_noise() -> None:
    finding = dp.audit(lambda x: x + 2 * round(50 * laplace(1)), 0, 1, epsilon=1, draws=10_000)
    assert finding.violated
    assert "floating" not in str(finding)


@pytest.mark.parametrize("pair", [([1, 1], [0, 1]), ((1, 1), (1, 0)), (np.array([1, 1]), np.array([1, 0]))], ids=str)
def test_a_pair_that_replaces_one_is_hinted_at(pair: tuple[list[int], list[int]]) -> None:
    def mean(rows: list[int]) -> float:
        return sum(rows) + laplace(0.5)

    finding = dp.audit(mean, *pair, epsilon=1, draws=10_000)
    assert "differ in one element" in finding.hint
    assert finding.hint in str(finding)
    assert not dp.audit(mean, [1, 1], [1], epsilon=1, draws=10_000).hint
    assert not dp.audit(sum, *pair, epsilon=0.1, draws=10_000).hint  # broken for adding and removing as well


def test_a_rare_leak_is_found() -> None:
    """One output in 500 is the input itself: about 10 / p draws suffice at best; here 100 / p are allowed."""

    def leak(name: str) -> str:
        return name if _random.random() < 0.002 else "nothing"

    finding = dp.audit(leak, "Ann", "Bob", epsilon=1, delta=1e-4, draws=100_000)
    assert finding.violated
    assert finding.delta == 1e-4


@pytest.mark.parametrize("claim", [dp.gdp(0.7), dp.zcdp(0.2), dp.approximate(0.5, 1e-3)], ids=str)
def test_a_curve_is_refuted(claim: dp.Privacy) -> None:
    def gaussian(x: float) -> float:
        return math.floor((x + float(_random.normal())) * 2**20) / 2**20

    finding = dp.audit(gaussian, 0.0, 1.0, privacy=claim, draws=60_000)
    assert finding.violated


def test_it_stops_early_and_certifies_more_with_more_noise_missing() -> None:
    strong, weak = (dp.audit(lambda x, s=s: x + laplace(s), 0, 1, epsilon=1, draws=20_000) for s in (0.1, 0.5))
    assert strong.draws <= 500
    assert strong.epsilon > 1.2
    assert weak.draws <= 10_000
