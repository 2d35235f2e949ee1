"""Quantiles by private selection: the law, the bound on the error, and intervals that cover.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``); counts of misses are
compared with the binomial quantile of 1e-7, and there are fewer than ten of them.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from reference import laws, statistics
from scipy.stats import binom
from support.depth import deep

from discreet.errors import ParameterError
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.secret import Secret

TABLES = {
    "plain": [1, 5, 9, 3, 2],
    "ties": [0, 7, 0, 7, 0],
    "empty": [0, 0, 0, 0],
    "one": [0, 0, 1],
    "all equal": [0, 12, 0],
}


def losses(counts: list[int], share: Fraction) -> list[Fraction]:
    """max(lt - T, T - le, 0), from the definition."""
    aim = share * sum(counts)
    below = [sum(counts[:i]) for i in range(len(counts) + 1)]
    return [max(below[i] - aim, aim - below[i + 1], Fraction(0)) for i in range(len(counts))]


@pytest.mark.diagonal
@pytest.mark.parametrize("concentrated", [False, True], ids=["permute-and-flip", "exponential"])
@pytest.mark.parametrize("name", TABLES)
def test_the_law(name: str, concentrated: bool) -> None:
    """Selection with weight epsilon / (2 max(share, 1 - share)) a row, by the exact masses; every table meets both shares."""
    counts, turn = TABLES[name], (list(TABLES).index(name) + concentrated) % 2
    share = (Fraction(1, 2), Fraction(9, 10))[turn]
    rounds, epsilon = deep(2_500, 1_500), Fraction(1, 2)
    mechanism = Quantile(share=share, epsilon=epsilon, concentrated=concentrated)
    drawn = Counter(mechanism.release(np.array([counts] * rounds)).tolist())
    scores = [-loss * epsilon / (2 * max(share, 1 - share)) for loss in losses(counts, share)]
    law = laws.softmax if concentrated else laws.permute_and_flip
    masses = [float(mass) for mass in law(scores)]
    assert statistics.chi_square([drawn[i] for i in range(len(counts))], [mass * rounds for mass in masses]) > statistics.ALARM


def test_replacing_and_weights_are_paid_with_more_noise() -> None:
    plain, replaced = Quantile(share=0.5, epsilon=1), Quantile(share=0.5, epsilon=1, neighbours="replace")
    assert (plain.selection.sensitivity, replaced.selection.sensitivity) == (1, 2)  # in units of half a row
    assert Quantile(share=0.9, epsilon=1, weight=7).selection.sensitivity == 63
    assert Quantile(share=0.9, epsilon=1, weight=7, neighbours="replace").selection.sensitivity == 70
    assert replaced.error(0.95, candidates=10) == pytest.approx(2 * plain.error(0.95, candidates=10))
    for mechanism in (plain, replaced):
        assert mechanism.privacy.epsilon(0) == 1


NASTY: dict[str, list[int]] = {
    "ties": [0, 500, 0, 0, 500, 0],
    "empty": [0] * 6,
    "one row": [0, 0, 0, 1, 0, 0],
    "all equal": [0, 0, 1000, 0, 0, 0],
    "ends": [300, 0, 0, 0, 0, 300],
    "long tail": [1000, *range(1, 200)],
}


@pytest.mark.parametrize("counts", NASTY.values(), ids=NASTY.keys())
def test_intervals_cover_every_cell_that_is_the_quantile(counts: list[int]) -> None:
    """Each end is wrong at most once in forty draws, whatever the data, also where there are fewer rows than the offset."""
    rounds, share = 400, Fraction(1, 4)
    right = [i for i, loss in enumerate(losses(counts, share)) if loss == 0]
    table = np.array([counts] * rounds)
    low = Quantile(share=share, epsilon=0.5, side=-1).release(Secret(table))
    high = Quantile(share=share, epsilon=0.5, side=1).release(Secret(table))
    assert np.count_nonzero(low > right[0]) <= binom.isf(1e-7, rounds, 0.025)
    assert np.count_nonzero(high < right[-1]) <= binom.isf(1e-7, rounds, 0.025)


def test_intervals_are_not_everything() -> None:
    """With many rows they close in on the quantile. Ten cells are a thousand rows, the offset is ten: no chance to miss."""
    counts = np.array([[100] * 100])
    low, high = (int(Quantile(share=0.5, epsilon=1, side=side).release(counts)[0]) for side in (-1, 1))
    assert 40 <= low <= 50 <= high <= 60


@pytest.mark.parametrize("concentrated", [False, True], ids=["permute-and-flip", "exponential"])
def test_the_bound_on_the_error_holds(concentrated: bool) -> None:
    counts, rounds, share = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], 2_000, Fraction(1, 2)
    mechanism = Quantile(share=share, epsilon=2, concentrated=concentrated)
    drawn = mechanism.release(np.array([counts] * rounds))
    missed = losses(counts, share)
    far = sum(missed[cell] > mechanism.error(0.8, candidates=len(counts)) for cell in drawn)
    assert far <= binom.isf(1e-7, rounds, 0.2)


def test_counts_too_large_to_add_up_are_cut_off() -> None:
    assert Quantile(share=0.5, epsilon=10).release(np.array([[2**62, 0, 2**62, 2**62]]))[0] == 2


@pytest.mark.parametrize("wrong", [0, 1, -0.5, 0.12345, "half"])
def test_shares_that_make_no_sense(wrong: object) -> None:
    with pytest.raises(ParameterError):
        Quantile(share=wrong, epsilon=1)  # type: ignore[arg-type]


def test_an_epsilon_too_small_for_so_many_cells() -> None:
    with pytest.raises(ParameterError, match="larger epsilon"):
        Quantile(share=0.5, epsilon=Fraction(1, 2**60), side=1).release(np.zeros((1, 1000), dtype=np.int64))
