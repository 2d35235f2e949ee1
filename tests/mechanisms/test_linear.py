"""The matrix mechanism: what is special to it beside the contract of all mechanisms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics
from support.refusals import refused

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.mechanisms.base import Moved, recorded
from discreet.mechanisms.matrix.strategy import Margins
from discreet.mechanisms.secret import Secret
from discreet.privacy import Privacy
from discreet.privacy.losses import Gaussian

PREFIXES = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_noise_is_calibrated_to_the_exact_norm() -> None:
    assert dp.Linear(strategy=PREFIXES, epsilon=1).noise == dp.Laplace(sensitivity=3, epsilon=1, neighbours="add-remove")
    both = dp.Linear(strategy=PREFIXES, epsilon=1, neighbours="replace")
    assert both.sensitivity == 3  # the first cell against none
    assert dp.Linear(strategy=np.eye(3, dtype=int), epsilon=1, neighbours="replace").sensitivity == 2
    root = dp.Linear(strategy=PREFIXES, rho=0.5)
    assert float(root.sensitivity) ** 2 == pytest.approx(3)
    assert root.noise.sigma == pytest.approx(3**0.5)
    assert 0.5 * (1 - 1e-15) <= root.privacy.rho <= 0.5
    assert root.privacy.delta(1.0) == pytest.approx(dp.gdp(1).delta(1.0), rel=1e-9)
    assert dp.Linear(strategy=PREFIXES, rho=0.5, weight=7, cells=1).noise.sigma == pytest.approx(7 * 3**0.5)


def test_answers_are_those_of_the_strategy() -> None:
    """So little noise that it is none: it reaches 1/2 with probability below e^-1000."""
    for cost in ({"epsilon": 10**5}, {"rho": 10**7}):
        mechanism = dp.Linear(strategy=PREFIXES, **cost)
        for counts in ([5, 6, 7], np.array([5, 6, 7]), np.array([[5], [6], [7]]), Secret(np.array([5, 6, 7]))):
            noisy = mechanism.release(counts)
            assert noisy.tolist() == [5, 11, 18]
            assert noisy.dtype == np.int64
        table = dp.Linear(strategy=Margins((2, 2), (((0,), 1), ((), 10))), **cost)
        assert table.release([[1, 2], [3, 4]]).tolist() == [3, 7, 100]


def test_the_type_of_an_answer_never_depends_on_the_size_of_counts() -> None:
    mechanism = dp.Linear(strategy=PREFIXES, epsilon=10**5)
    assert mechanism.release([2**62] * 3).tolist() == [2**62, 2**63 - 1, 2**63 - 1]  # cut off
    assert mechanism.release([2**62] * 3).dtype == mechanism.release([0] * 3).dtype == np.int64
    boxed = mechanism.release(np.array([2**70] * 3, dtype=object))
    assert (boxed.dtype, boxed.tolist()) == (object, [2**70, 2**71, 3 * 2**70])
    coarse = dp.Linear(strategy=PREFIXES, epsilon=Fraction(1, 2**60))
    assert coarse.release([1, 2, 3]).dtype == object
    assert all(x % coarse.grid == 0 for x in coarse.release([1, 2, 3]))


def test_a_unit_is_measured_as_far_as_it_moved() -> None:
    def moved(mechanism: Any, before: Any, after: Any) -> Moved:
        with recorded() as record:
            for counts in (before, after):
                mechanism.release(Secret(np.array(counts)))
        assert all(release.mechanism is mechanism for release in record)
        return mechanism.moved(*record)

    laplace = dp.Linear(strategy=PREFIXES, epsilon=3)
    assert moved(laplace, [1, 2, 3], [1, 2, 3]) == Moved()
    assert moved(laplace, [1, 2, 3], [1, 3, 3]) == Moved(dp.pure(2))
    assert moved(laplace, [1, 2, 3], [2, 3, 3]).far == "moved by 5, declared 3 (L1): [1, 3, 6] and [2, 5, 8]"
    gaussian = dp.Linear(strategy=PREFIXES, rho=0.5)
    found = moved(gaussian, [1, 2, 3], [2, 2, 3])
    assert found.far is None
    assert found.cost == Privacy.of(Gaussian(3 / gaussian.noise.squared_sigma))
    assert moved(gaussian, [0, 0, 0], [1, 1, 0]).far == "moved by 3, declared 1.73205 (L2): [0, 0, 0] and [1, 2, 2]"


@pytest.mark.parametrize("cost", [{"epsilon": 3000}, {"rho": 300}], ids=["Laplace", "Gaussian"])
def test_every_answer_has_noise_of_its_own(cost: dict[str, float]) -> None:
    """Chi-square, a false alarm below 1e-7; noise that is a tenth too small or too large is found 99 times in 100."""
    mechanism = dp.Linear(strategy=[[1, 1], [1, 0], [0, 2]] * 5000, **cost)
    noise, drawn = mechanism.noise, mechanism.release([3, 4]) - np.tile([7, 3, 8], 5000)
    law = lambda x: (  # noqa: E731
        laws.discrete_laplace(noise.scale, x)
        if isinstance(noise, dp.Laplace)
        else laws.rounded_gaussian(noise.squared_sigma, Fraction(0), x)
    )
    assert statistics.fit(drawn, law, -60, 60) > statistics.ALARM
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 8 / drawn.size**0.5  # nor is it shared by neighbours


def test_words() -> None:
    mechanism = dp.Linear(strategy=PREFIXES, epsilon=1)
    assert mechanism.label == "Laplace noise on 3 linear questions"
    assert mechanism.describe(unit=0.5) == "Laplace noise of scale 1.5 on 3 linear questions"
    assert "Matrix(3 questions of 3 cells)" in repr(mechanism)


@pytest.mark.parametrize("cost", [{}, {"delta": 1e-6}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 1e-6}])
def test_one_cost_is_given(cost: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=r"write Linear\(strategy="):
        dp.Linear(strategy=PREFIXES, **cost)


@pytest.mark.parametrize("counts", [[1, 2], 5, [[1, 2], [3, 4]], [], [1.0, 2.0, 3.0], [1, 2, None], "123"])
def test_what_is_no_count_for_every_cell_is_refused(counts: Any) -> None:
    refused(lambda: dp.Linear(strategy=PREFIXES, epsilon=1).release(counts), ValueRefused)
